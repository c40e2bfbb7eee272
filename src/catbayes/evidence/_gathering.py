"""Gathering where the rows are: one group-by a column, run by the engine that owns them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from catbayes._validation import Array, check_weights
from catbayes.categories import Categories, canonical_list
from catbayes.errors import InputError
from catbayes.evidence._evidence import ColumnEvidence, Evidence, gather_table
from catbayes.evidence._target import (
    check_counts,
    check_integer_classes,
    check_no_amount,
    choose_family,
    label_array,
    read_family,
    read_target,
)
from catbayes.families import Family, GammaPoisson, NormalGamma
from catbayes.sources import batches, is_reader, is_source, lazy_frame
from catbayes.statistics import Moments, Statistics, Tally
from catbayes.tables import CATEGORICAL, Table, find_columns, shown

READER_ROWS = 1 << 20
KEY, TARGET, WEIGHT = "catbayes_key", "catbayes_target", "catbayes_weight"
BAD, SQUARE = "catbayes_bad", "catbayes_square"

Progress = Callable[[int, int], None]


def gather(
    source: Any,
    columns: Any = "auto",
    target: Any = None,
    *,
    family: Any = "auto",
    weight: Any = None,
    classes: Any = None,
    like: Evidence | None = None,
    engine: str = "auto",
    memory_limit: str | None = None,
    progress: Progress | None = None,
) -> Evidence:
    """Count what each category says about the target, wherever the rows are.

    Parameters
    ----------
    source : table, lazy frame, reader, path, glob, or list of paths
        Frames and arrays in memory; lazy frames of polars, DuckDB, Spark, ibis, sqlframe and dask, which count by
        themselves; readers of Arrow record batches; Parquet and CSV files.
    columns : "auto", "all", or list of names or positions
        What to encode, as for the encoders.
    target : str or array-like
        Name of the target; for a table in memory, its values.
    family : "auto", "bernoulli", "categorical", "normal", "poisson", or a family class
        Likelihood of the target.
    weight : str or array-like, optional
        Name of a column of weights; for a table in memory, their values.
    classes : list, optional
        Class labels that are known already, though this table need not hold all of them.
    like : Evidence, optional
        Evidence that this is to be added to or taken from, for the same columns and kind of target.
    engine : "auto", "duckdb", "polars"
        What reads files.
    memory_limit : str, optional
        Limit for DuckDB, such as "1GB"; what does not fit goes to disk.
    progress : callable, optional
        Told the number of columns done and of all columns.

    Returns
    -------
    Evidence
        What `SamplingBayesianEncoder.fit` takes in the place of a table; mergeable, so that `gather(monday) +
        gather(tuesday)` is `gather` of both.

    Examples
    --------
    >>> import polars as pl
    >>> from catbayes import SamplingBayesianEncoder, gather
    >>> table = pl.LazyFrame({"city": ["Oslo", "Oslo", "Rome", None], "paid": [1, 0, 1, 1]})
    >>> evidence = gather(table, target="paid")
    >>> evidence.columns[0].statistics.weight.tolist()  # (zeros, ones) of Oslo, Rome, missing, unseen
    [[1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    >>> SamplingBayesianEncoder(prior=0).fit(evidence).transform(pl.DataFrame({"city": ["Rome", "Bonn"]})).round(2)
    array([[0.67],
           [0.5 ]])
    """
    text: tuple[str, ...] = ()
    if like is not None:
        columns = [column.name for column in like.columns]
        if like.classes is None:
            family = like.family
        else:
            classes = [*like.classes.tolist(), *(classes if classes is not None else ())]
        text = tuple(column.name for column in like.columns if column.categories.is_text)
    if not is_source(source):
        return _gather_memory(Table.of(source), columns, target, family, weight, classes)
    if is_reader(source):
        return _gather_batches(source, columns, target, family, weight, classes)
    frame = lazy_frame(source, engine, memory_limit, text)
    return _gather_lazy(frame, columns, target, family, weight, classes, progress or (lambda done, total: None))


def _gather_lazy(
    frame: nw.LazyFrame[Any],
    columns: Any,
    target: Any,
    family: Any,
    weight: Any,
    classes: Any,
    progress: Progress,
) -> Evidence:
    """Let the engine group: one query a column, and one or two to look at the target."""
    query, schema = _Query.of(frame, target, weight, family, classes), frame.collect_schema()
    inputs = [name for name in schema.names() if name not in (target, weight)]
    categorical = [position for position, name in enumerate(inputs) if isinstance(schema[name], CATEGORICAL)]
    positions = find_columns(inputs, categorical, columns)
    dotted = [inputs[position] for position in positions if "." in inputs[position]]
    if dotted and frame.implementation.is_pyspark():
        raise InputError(f"Column {dotted[0]!r}: Spark takes the dot for a field of a struct. Rename the column.")
    found: list[ColumnEvidence] = []
    for position in positions:
        progress(len(found), len(positions))
        found.append(query.column(position, inputs[position], schema[inputs[position]]))
    progress(len(found), len(positions))
    return Evidence(tuple(found), query.family, query.classes, tuple(inputs), query.squares, weight is not None)


def _gather_memory(table: Table, columns: Any, target: Any, family: Any, weight: Any, classes: Any) -> Evidence:
    names = table.names
    for name in (target, weight):
        if isinstance(name, str) and name not in names:
            raise _no_column(name, names)
    y = table.values(names.index(target)) if isinstance(target, str) else np.asarray(target)
    weights = table.values(names.index(weight)) if isinstance(weight, str) else weight
    named = [name for name in (target, weight) if isinstance(name, str)]
    if named and table.frame is not None:
        table = Table(table.frame.drop(named), None)
    positions = find_columns(table.names, table.categorical(), columns)
    evidence, _ = gather_table(
        table, positions, read_target(y, family, table.n_rows, classes), check_weights(weights, table.n_rows)
    )
    return evidence


def _gather_batches(reader: Any, columns: Any, target: Any, family: Any, weight: Any, classes: Any) -> Evidence:
    """Read a stream once, a million rows at a time; the first ones settle the family and the columns."""
    import pyarrow

    evidence: Evidence | None = None

    def add(parts: list[Any]) -> Evidence:
        table = pyarrow.concat_tables(parts)
        fresh = gather(table, columns, target, family=family, weight=weight, classes=classes, like=evidence)
        return fresh if evidence is None else evidence + fresh

    parts: list[Any] = []
    for batch in batches(reader):
        parts.append(batch.table)
        if sum(map(len, parts)) >= READER_ROWS:
            evidence, parts = add(parts), []
    if parts or evidence is None:
        if not parts:
            raise InputError("The reader holds no rows: there is nothing to learn from.")
        evidence = add(parts)
    return evidence


def _no_column(name: Any, names: list[Any]) -> InputError:
    return InputError(f"The table has no column {name!r}. It has {shown(names)}.")


@dataclass(frozen=True, slots=True)
class _Query:
    """A lazy frame with the target and the weight checked, ready to be grouped."""

    frame: nw.LazyFrame[Any]
    family: type[Family]
    classes: np.ndarray[Any, Any] | None
    labels: list[Any]
    weighted: bool
    squares: float

    @classmethod
    def of(cls, frame: nw.LazyFrame[Any], target: Any, weight: Any, family: Any, known: Any) -> _Query:
        """Look at the target and the weight once, in one query or two."""
        schema = frame.collect_schema()
        names = list(schema.names())
        for name, what in ((target, "target"), (weight, "weight")):
            if name is None and what == "weight":
                continue
            if not isinstance(name, str):
                raise InputError(
                    f"The {what} of a table that is not in memory must be the name of one of its columns. "
                    "Give that, or bring the table into memory by .collect()."
                )
            if name not in names:
                raise _no_column(name, names)
        wanted, dtype = read_family(family), schema[target]
        y = nw.col(target)
        if isinstance(dtype, nw.Categorical | nw.Enum):
            y = y.cast(nw.String)
        numeric = dtype.is_numeric() or dtype == nw.Boolean
        if wanted is not None and not wanted.classes and not numeric:
            raise InputError(f"y must hold numbers for {wanted.__name__}, and {target!r} is {dtype}.")
        frame = frame.with_columns(y.alias(TARGET))
        if weight is not None:
            if not schema[weight].is_numeric():
                raise InputError(f"sample_weight must hold numbers, and {weight!r} is {schema[weight]}.")
            frame = frame.with_columns(nw.col(weight).cast(nw.Float64).alias(WEIGHT))
            w = nw.col(WEIGHT)
            bad = w.is_null() | w.is_nan() | (w < 0.0) | (w == float("inf"))
            frame = frame.with_columns(bad.cast(nw.Int64).alias(BAD), (w * w).alias(SQUARE))
        number = dtype.is_float() or isinstance(dtype, nw.Decimal) or (wanted is not None and not wanted.classes)
        facts = cls._look_at_numbers(frame, weight, dtype) if number else {}
        if wanted is None and facts.get("fractions"):
            if known is None:
                wanted = NormalGamma
            else:
                check_no_amount(known)
        seen: list[Any] = []
        if wanted is None or wanted.classes:
            seen, facts = cls._look_at_classes(frame, weight, facts)
        squares = cls._check(facts, weight, target)
        if wanted is not None and not wanted.classes:
            if wanted is GammaPoisson:
                check_counts(float(facts["low"]))
            frame = frame.with_columns(nw.col(TARGET).cast(nw.Float64))
            return cls(frame, wanted, None, [], weight is not None, squares)
        if wanted is None and known is None and dtype.is_numeric():
            check_integer_classes(len(seen))
        labels = sorted({*seen, *canonical_list(list(known if known is not None else ()))})
        classes = label_array(labels, np.asarray(labels).dtype if numeric else np.dtype(object))
        return cls(frame, choose_family(wanted, len(classes)), classes, labels, weight is not None, squares)

    @staticmethod
    def _look_at_numbers(frame: nw.LazyFrame[Any], weight: Any, dtype: Any) -> dict[str, Any]:
        """Count what would be wrong with a numeric target, in one query."""
        y = nw.col(TARGET).cast(nw.Float64)
        ask = [nw.len().alias("rows"), nw.col(TARGET).is_null().cast(nw.Int64).sum().alias("nulls")]
        ask += [y.min().alias("low"), y.max().alias("high"), (y != y.floor()).cast(nw.Int64).sum().alias("fractions")]
        if dtype.is_float():
            ask += [y.is_nan().cast(nw.Int64).sum().alias("nans")]
        if weight is not None:
            ask += [nw.col(name).sum() for name in (BAD, WEIGHT, SQUARE)]
        row = collect(frame.select(*ask))
        return {name: row[name].to_list()[0] for name in row.columns}

    @staticmethod
    def _look_at_classes(
        frame: nw.LazyFrame[Any], weight: Any, facts: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Find the classes, and count what would be wrong with them, in one query."""
        ask = [nw.len().alias("rows")]
        if weight is not None:
            ask += [nw.col(name).sum() for name in (BAD, WEIGHT, SQUARE)]
        groups = collect(frame.group_by(TARGET, drop_null_keys=False).agg(*ask))
        seen = canonical_list(groups[TARGET].to_list())
        rows = groups["rows"].to_list()
        nulls = sum(count for label, count in zip(seen, rows, strict=True) if label is None)
        sums = {name: sum(groups[name].to_list()) for name in groups.columns if name != TARGET}
        return [label for label in seen if label is not None], facts | sums | {"nulls": nulls}

    @staticmethod
    def _check(facts: dict[str, Any], weight: Any, target: str) -> float:
        """Refuse a target or weights that cannot be used; return Σ w²."""
        if not facts["rows"]:
            raise InputError("The table holds no rows: there is nothing to learn from.")
        rows = max(facts["nulls"], facts.get("nans") or 0)
        if rows:
            raise InputError(f"Target {target!r} is missing in {rows} rows. Drop those rows before fitting.")
        if np.isinf([float(facts.get("low") or 0.0), float(facts.get("high") or 0.0)]).any():
            raise InputError(f"Target {target!r} holds infinite values. Drop those rows before fitting.")
        if weight is None:
            return float(facts["rows"])
        if facts[BAD]:
            raise InputError(
                f"sample_weight is missing, negative or infinite in {facts[BAD]:g} rows: use 0 to leave a row out."
            )
        if not facts[WEIGHT]:
            raise InputError("sample_weight is zero for every row: nothing is left to learn from.")
        return float(facts[SQUARE])

    def column(self, position: int, name: str, dtype: Any) -> ColumnEvidence:
        """Group by one column."""
        if isinstance(dtype, nw.List | nw.Array | nw.Struct):
            raise InputError(f"Column {name!r} is {dtype}: a category must be a single value. Turn it into text first.")
        key = nw.col(name)
        if dtype.is_float():
            key = nw.when(~key.is_nan()).then(key + 0.0)  # NaN is missing, and -0.0 is 0.0
        elif isinstance(dtype, nw.Categorical | nw.Enum):
            key = key.cast(nw.String)
        wanted = [nw.col(TARGET), *([nw.col(WEIGHT)] if self.weighted else [])]
        frame = self.frame.select(key.alias(KEY), *wanted)
        groups = self._count(frame) if self.classes is not None else self._describe(frame)
        categories, slots = Categories.of_distinct(groups[KEY].to_list())
        return ColumnEvidence(position, name, categories, self._read(groups).place(slots, categories.n_slots))

    def _count(self, frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
        """Weight of each class in each group."""
        one = nw.col(WEIGHT) if self.weighted else nw.lit(1.0)
        names = [f"class_{number}" for number in range(len(self.labels))]
        counted = frame.with_columns(
            nw.when(nw.col(TARGET) == label).then(one).otherwise(nw.lit(0.0)).alias(name)
            for label, name in zip(self.labels, names, strict=True)
        )
        return _collect_groups(counted.group_by(KEY, drop_null_keys=False).agg(*(nw.col(name).sum() for name in names)))

    def _describe(self, frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
        """Count, mean and variance of each group; never sums of squares."""
        y = nw.col(TARGET)
        if not self.weighted and not frame.implementation.is_dask():
            wanted = nw.len().alias("count"), y.mean().alias("mean"), y.var(ddof=0).alias("variance")
            return _collect_groups(frame.group_by(KEY, drop_null_keys=False).agg(*wanted))

        # No engine has a weighted variance, and that of dask is a sum of squares: means first, then squares about them.
        def sums(rows: nw.LazyFrame[Any], **columns: Any) -> nw.LazyFrame[Any]:
            groups = rows.with_columns(**columns).group_by(KEY, drop_null_keys=False)
            return groups.agg(*(nw.col(name).sum() for name in columns))

        w = nw.col(WEIGHT) if self.weighted else nw.lit(1.0)
        means = sums(frame, count=w + 0.0 * y, total=w * y)
        means = means.with_columns(mean=nw.when(nw.col("count") > 0).then(nw.col("total") / nw.col("count")))
        found = _collect_groups(means.select(KEY, "count", "mean"))
        null = found.filter(nw.col(KEY).is_null())["mean"].to_list()
        rest = y - nw.coalesce(nw.col("mean"), nw.lit(float(null[0] or 0.0) if null else 0.0))
        near = frame.join(means.select(KEY, "mean"), on=KEY, how="left")
        squares = _collect_groups(sums(near, slip=w * rest, square=w * rest * rest))
        return found.with_columns(squares["slip"], squares["square"])

    def _read(self, groups: nw.DataFrame[Any]) -> Statistics:
        def array(name: str) -> Array:
            return np.nan_to_num(groups[name].to_numpy().astype(np.float64))

        if self.classes is not None:
            return Tally(np.stack([array(f"class_{number}") for number in range(len(self.labels))], axis=1))
        count, mean = array("count"), array("mean")
        if "variance" in groups.columns:
            return Moments(count, mean, count * array("variance"))
        slip = np.divide(array("slip"), count, out=np.zeros_like(count), where=count > 0)
        return Moments(count, mean + slip, np.maximum(array("square") - count * slip**2, 0.0))


def _collect_groups(groups: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Run the query; Python sees the groups only, in their order."""
    return collect(groups.sort(KEY, nulls_last=True))


def collect(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Run a query with the engine's bounded memory, where it has a choice."""
    if frame.implementation.is_polars():
        return frame.collect(engine="streaming")
    return frame.collect()
