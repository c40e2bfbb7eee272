"""Encoding Spark data frames: a broadcast join with the posteriors, and draws in `mapInArrow`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any
from urllib.parse import unquote

import numpy as np
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DoubleType, StructField, StructType

from catbayes.core.categories import Categories, canonical_list
from catbayes.core.column import FittedColumn, draw_features
from catbayes.core.random import Purpose
from catbayes.core.random_keys import row_keys
from catbayes.core.slots import RowSlots, Sampler, Slots
from catbayes.core.table import check_free
from catbayes.core.target import check_weights
from catbayes.core.validation import Array, Codes
from catbayes.errors import InputError, warn
from catbayes.families import Family
from catbayes.io.plan import Plan, read_known_target
from catbayes.mappings import Mapping

__all__ = ["encode_frame"]

KEY, FILE, ROW = "catbayes_key", "catbayes_file", "catbayes_row"


def encode_frame(frame: DataFrame, plan: Plan) -> DataFrame:
    """Add encoded columns to a data frame; `catbayes.encode` is its public face."""
    names = list(frame.columns)
    plan.check(names)
    plan.require_listed()
    plan.encoding.settings.refuse_nan("Spark")
    lower = [name.lower() for name in [*names, *plan.added]]  # Spark tells names apart by more than case
    if len(set(lower)) < len(lower):
        twice = next(name for name in lower if lower.count(name) > 1)
        raise InputError(f"Two columns would be called {twice!r}, which Spark cannot tell apart. Rename one.")
    check_free(lower)
    by_row = plan.by_row
    if by_row and plan.row_id is None:
        frame = _with_identity(frame)
    tables = [_parameters(column) for column in plan.columns] if by_row else plan.by_slot()
    for column, table in zip(plan.columns, tables, strict=True):
        frame = _join(frame, column, table, plan)
    kept = [name for name in names if not (plan.drop and name in plan.replaced)]
    added = plan.added
    if by_row:
        new = [StructField(name, DoubleType(), False) for name in added]
        schema = StructType([frame.schema[name] for name in kept] + new)
        frame = frame.mapInArrow(_Drawing.of(plan, kept), schema)
    return frame.select(*[quoted(name) for name in [*kept, *added]])


def _with_identity(frame: DataFrame) -> DataFrame:
    """Add the file name and row number of each row; only Parquet files tell."""
    files = [unquote(path).rpartition("/")[2] for path in frame.inputFiles()]
    if len(set(files)) < len(files):
        raise InputError("Two files have one name, so their rows cannot be told apart. Give row_id.")
    try:
        return frame.withColumns({FILE: F.col("_metadata.file_name"), ROW: F.col("_metadata.row_index")})
    except AnalysisException as error:
        raise InputError(
            "This data frame does not come straight from Parquet files, so its rows have no numbers. "
            "Give row_id, the column that identifies them."
        ) from error


def _parameters(column: FittedColumn) -> dict[str, Array]:
    """Posterior parameters and counts of every slot, and its prior if it has its own, by the names of their columns."""
    posterior, families = column.posterior, [column.family]
    found = {_count(column): posterior.count}
    if column.links is not None:
        found[f"{_count(column)}_variance"] = posterior.prior_variance
        families.append(column.slot_priors)
    for family, places in zip(families, _places(column), strict=True):
        for names, values in zip(places, family.arrays().values(), strict=True):
            found |= dict(zip(names, values.reshape(len(values), -1).T, strict=True))
    return found if column.extra is None else found | dict(zip(_kept(column), column.extra.values.T, strict=True))


def _places(column: FittedColumn) -> list[list[list[str]]]:
    """The columns that hold each parameter of the posterior, one for each class if it has those; and of a prior."""
    arrays = column.family.arrays()
    widths = {name: 1 if values.ndim == 1 else values.shape[1] for name, values in arrays.items()}
    kinds = ["posterior", "prior"] if column.links is not None else ["posterior"]
    start = _count(column)
    return [[[f"{start}_{kind}_{name}_{c}" for c in range(width)] for name, width in widths.items()] for kind in kinds]


def _count(column: FittedColumn) -> str:
    return f"catbayes_{column.position}"


def _kept(column: FittedColumn) -> list[str]:
    """The columns that hold the categories themselves, where they are kept."""
    return [f"{_count(column)}_kept_{number}" for number in range(len(column.extra_names))]


def _join(frame: DataFrame, column: FittedColumn, slots: dict[str, Array], plan: Plan) -> DataFrame:
    """Look the values of a column up, level by level; `slots` are the values to add, one for each slot."""
    index, sources = column.index, _sources(frame, column, plan)
    missing_policy = plan.encoding.settings.missing
    names = list(frame.columns)
    tables = index.tables()
    for number, (cells, places) in enumerate(tables):
        kept = (missing_policy == "category") | ~index.incomplete()[places]
        found = {f"{name}_{number}": values[places[kept]] for name, values in slots.items()}
        frame = _join_level(frame, sources[: cells.shape[1]], cells[kept], found, number)
    levels = range(len(tables))
    unseen = {name: F.lit(float(values[index.unseen])) for name, values in slots.items()}
    filled = {name: F.coalesce(*(F.col(quoted(f"{name}_{n}")) for n in levels), unseen[name]) for name in slots}
    if len(sources) == 1:
        missing = sources[0].value.isNull()
        first = F.col(quoted(f"{next(iter(slots))}_0"))
        _refuse(frame, sources[0], plan, first.isNull() & ~missing)
        at_missing = index.missing if missing_policy == "category" else index.unseen
        filled = {
            name: F.when(missing, F.lit(float(values[at_missing]))).otherwise(filled[name])
            for name, values in slots.items()
        }
    return frame.withColumns(filled).select(*[quoted(name) for name in [*names, *slots]])


def _join_level(
    frame: DataFrame, sources: list[_Source], cells: Codes, slots: dict[str, Array], number: int
) -> DataFrame:
    """Add the values of the keys of one level; null where a row has none of them."""
    import pyarrow

    kept, keys = np.arange(len(cells)), []
    for source, cell in zip(sources, cells.T, strict=True):
        found, place = _as_type(list(source.categories.values), source.arrow_type)
        if source.categories.values and not len(found):
            _warn_of_type(source)
        row = np.full(source.categories.n_slots, -1)
        row[place], row[source.categories.missing] = np.arange(len(found)), len(found)
        some = pyarrow.concat_arrays([found, pyarrow.nulls(1, source.arrow_type)])
        keys.append(some.take(pyarrow.array(np.maximum(row[cell], 0))))
        kept = kept[row[cell[kept]] >= 0]
    names = [f"{KEY}_{number}_{part}" for part in range(len(sources))]
    table = {name: key.take(pyarrow.array(kept)) for name, key in zip(names, keys, strict=True)}
    table |= {name: pyarrow.array(values[kept]) for name, values in slots.items()}
    lookup = F.broadcast(frame.sparkSession.createDataFrame(pyarrow.table(table)))
    matches = [source.value.eqNullSafe(F.col(name)) for source, name in zip(sources, names, strict=True)]
    return frame.join(lookup, reduce(and_, matches), "left").drop(*names)


@dataclass(frozen=True, slots=True)
class _Source:
    """A column of the frame that an encoded column is made of: NaN is null."""

    name: str
    value: Any
    type_name: str
    arrow_type: Any
    categories: Categories


def _sources(frame: DataFrame, column: FittedColumn, plan: Plan) -> list[_Source]:
    zone, found = str(frame.sparkSession.conf.get("spark.sql.session.timeZone")), []
    for part, categories in zip(column.parts, column.index.sources, strict=True):
        name = plan.inputs[part]
        dtype, value = frame.schema[name].dataType, F.col(quoted(name))
        if dtype.typeName() in ("float", "double"):
            value = F.when(~F.isnan(value), value)
        arrow_type = to_arrow_type(dtype, timezone=zone)
        found.append(_Source(name, value, dtype.simpleString(), arrow_type, categories))
    return found


def _warn_of_type(source: _Source) -> None:
    warn(
        f"Column {source.name!r} is {source.type_name}, and none of its categories at fit was: every row counts as "
        "unseen. Convert the column to its former type."
    )


def _refuse(joined: DataFrame, source: _Source, plan: Plan, strange: Any) -> None:
    """Apply the policies that call for an error: one more pass over the column for each."""
    settings = plan.encoding.settings
    if settings.missing == "error":
        settings.refuse_missing(joined.where(source.value.isNull()).count(), source.name)
    strangers = joined.where(strange).select(quoted(source.name)).limit(3)
    if settings.unseen == "error" and (found := strangers.collect()):
        settings.refuse_unseen([row[0] for row in found], source.name)


def _as_type(values: list[Any], dtype: Any) -> tuple[Any, Codes]:
    """The categories that a column of this type can hold as they are, and their slots."""
    import pyarrow

    def same(found: list[Any], wanted: list[Any]) -> bool:
        return all(one == other for one, other in zip(canonical_list(found), wanted, strict=True))

    try:
        keys = pyarrow.array(values, dtype)
        if same(keys.to_pylist(), values):
            return keys, np.arange(len(values))
    except (pyarrow.ArrowException, OverflowError, TypeError, ValueError):
        pass
    kept, found = [], []
    for slot, value in enumerate(values):
        try:
            key = pyarrow.scalar(value, dtype).as_py()
        except (pyarrow.ArrowException, OverflowError, TypeError, ValueError):
            continue
        if same([key], [value]):
            found.append(key)
            kept.append(slot)
    return pyarrow.array(found, dtype), np.array(kept, dtype=np.intp)


def quoted(name: str) -> str:
    """A column name that Spark takes as it is, dots and all."""
    return f"`{name.replace('`', '``')}`"


@dataclass(frozen=True)
class _DrawnColumn:
    """What a worker needs to draw one column: everything but the posteriors, which come with the rows."""

    stream: int
    names: list[str]
    family: type[Family]
    places: list[
        list[list[str]]
    ]  # the columns that hold each parameter of the posterior, and where slots are linked of the prior
    count: str
    kept: list[str]
    mapping: Mapping
    unseen: Family
    temperature: float | None

    @classmethod
    def of(cls, column: FittedColumn, plan: Plan) -> _DrawnColumn:
        """Leave the posteriors behind."""
        about = (column.mapping, column.slot_priors, column.temperature)
        return cls(
            column.stream,
            plan.names(column),
            type(column.family),
            _places(column),
            _count(column),
            _kept(column),
            *about,
        )


@dataclass(frozen=True)
class _Drawing:
    """Draws for batches of rows that carry the parameters of their posteriors."""

    columns: list[_DrawnColumn]
    kept: list[str]
    n_draws: int
    seed: int
    sampler: Sampler
    row_id: str | None
    target: str | None
    weight: str | None
    family: type[Family]
    classes: Any

    @classmethod
    def of(cls, plan: Plan, kept: list[str]) -> _Drawing:
        """Collect what the workers need."""
        encoding, columns = plan.encoding, [_DrawnColumn.of(column, plan) for column in plan.columns]
        evidence, n_draws = encoding.evidence, plan.n_draws or 1
        about = (plan.row_id, plan.target, plan.weight, evidence.family, evidence.classes)
        return cls(columns, kept, n_draws, encoding.seed, encoding.settings.sampler, *about)

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Encode batch after batch: what `mapInArrow` runs."""
        import pyarrow

        for batch in batches:
            kept, added = [batch.column(name) for name in self.kept], self._draw(batch)
            arrays = [*kept, *(pyarrow.array(values) for values in added.values())]
            yield pyarrow.RecordBatch.from_arrays(arrays, [*self.kept, *added])

    def _draw(self, batch: Any) -> dict[str, Array]:
        def values(name: str) -> Any:
            return batch.column(name).to_numpy(zero_copy_only=False)

        n_rows, target = batch.num_rows, None
        weight: Array | None = np.ones(n_rows)
        if self.row_id is None:
            names = [unquote(name) for name in values(FILE)]  # Spark gives them as in a URL
            identity = row_keys((names, values(ROW)), n_rows)
        else:
            identity = row_keys(values(self.row_id), n_rows)
        if self.target is not None:
            target = read_known_target(values(self.target), self.family, self.classes, self.target)
        if self.weight is not None:
            weight = check_weights(values(self.weight), n_rows, whole=False)
        found: dict[str, Array] = {}
        for column in self.columns:
            posterior, *own = (_family(column.family, places, values) for places in column.places)
            variance = values(f"{column.count}_variance") if own else np.zeros(())
            slots = Slots(posterior, values(column.count), variance)
            if target is not None and weight is not None:
                slots = slots.without(target.values, weight, own[0] if own else column.unseen)
            rows, purpose = RowSlots.each(slots), Purpose.SAMPLE if target is None else Purpose.TRAIN
            how: Any = (column.mapping, column.temperature, self.sampler)
            keys = [(purpose, column.stream, k) for k in range(self.n_draws)]
            kept = np.array([values(name) for name in column.kept]).reshape(-1, n_rows).T
            draws = (draw_features(rows, *how, seed=self.seed, key=key, identity=identity) for key in keys)
            parts = [np.concatenate([block, kept], axis=1) for block in draws]
            found |= dict(zip(column.names, np.concatenate(parts, axis=1).T, strict=True))
        return found


def _family(family: type[Family], places: list[list[str]], values: Any) -> Family:
    """The distributions of some rows, from the columns that hold their parameters."""
    parts = [[values(place) for place in names] for names in places]
    return family(*(part[0] if len(part) == 1 else np.stack(part, axis=1) for part in parts))
