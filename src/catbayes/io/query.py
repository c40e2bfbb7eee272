"""The queries that an engine answers: one look at the target, and one group-by a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from catbayes.core.arrays import TINY
from catbayes.core.categories import Categories, canonical_list, cells_of
from catbayes.core.combinations import Index
from catbayes.core.evidence import ColumnEvidence
from catbayes.core.selection import ColumnSpec
from catbayes.core.statistics import Moments, Tally
from catbayes.core.table import no_column
from catbayes.core.target import (
    check_exposed,
    check_no_amount,
    check_units,
    join_classes,
    label_array,
    no_dates,
    warn_of_fractions,
)
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.families import (
    Family,
    check_numbers_as_classes,
    family_of_classes,
    family_of_numbers,
)

KEY, TARGET, WEIGHT = "catbayes_key", "catbayes_target", "catbayes_weight"
BAD, SQUARE = "catbayes_bad", "catbayes_square"
MOST_COLUMNS = 20


def check_names(frame: nw.LazyFrame[Any], names: list[str], **given: Any) -> None:
    """Require a target, and whatever else is given, that are columns of the frame."""
    taken = [name for name in names if name.startswith("catbayes_")]
    if taken:
        raise InputError(f"Column {taken[0]!r}: names that begin with 'catbayes_' are used by the queries. Rename it.")
    for what, name in given.items():
        if name is None and what != "target":
            continue
        if not isinstance(name, str):
            raise InputError(
                f"The {what} of a table that is not in memory must be the name of one of its columns. "
                "Give that, or bring the table into memory by .collect()."
            )
        if name not in names:
            raise no_column(name, names)
        _check_dots(frame, name)


def _check_dots(frame: nw.LazyFrame[Any], name: str) -> None:
    if "." in name and frame.implementation.is_pyspark():
        raise InputError(f"Column {name!r}: Spark takes the dot for a field of a struct. Rename the column.")


def read_column(target: str, dtype: Any, wanted: type[Family] | None, known: Any) -> nw.Expr:
    """The target as the families take it."""
    y = nw.col(target)
    if isinstance(dtype, nw.Date | nw.Datetime | nw.Duration | nw.Time):
        raise no_dates()
    if wanted is not None and not wanted.classes and not (dtype.is_numeric() or dtype == nw.Boolean):
        raise InputError(f"y must hold numbers for {wanted.__name__}, and {target!r} is {dtype}.")
    if isinstance(dtype, nw.Categorical | nw.Enum):
        return y.cast(nw.String)
    if isinstance(dtype, nw.Decimal):
        return y.cast(nw.Float64)
    if dtype == nw.Boolean and known is not None and not all(isinstance(label, bool) for label in known):
        return y.cast(nw.Int64)
    return y


def check_numeric(what: str, name: str, dtype: Any) -> None:
    """Require a column of numbers."""
    if not dtype.is_numeric():
        raise InputError(f"{what} must hold numbers, and {name!r} is {dtype}.")


def unusable(number: nw.Expr) -> nw.Expr:
    """Whether a number is missing, NaN or infinite."""
    return number.is_null() | ~number.is_finite()


def how_many(counted: float | None, total: float | None) -> float | str:
    """In how many rows a number cannot be used, by its count and by a sum or a maximum of all numbers.

    DuckDB may answer what is asked of each number by the statistics of a Parquet file, which leave NaN out, and count
    none; but sums and maxima are those of the rows.
    """
    return counted or ("some" if total is not None and np.isnan(total) else 0)


def per_unit_lazily(
    frame: nw.LazyFrame[Any], target: Any, weight: Any, exposure: Any, wanted: type[Family] | None
) -> tuple[nw.LazyFrame[Any], str, float]:
    """Divide events by their exposure: the target becomes a rate, and the column of the exposure the weight."""
    schema = frame.collect_schema()
    check_exposed(wanted)
    assert wanted is not None
    check_names(frame, list(schema.names()), target=target, weight=weight, exposure=exposure)
    check_numeric("exposure", exposure, schema[exposure])
    events = read_column(target, schema[target], wanted, None).cast(nw.Float64)
    units = nw.col(exposure).cast(nw.Float64)
    bad = unusable(units) | (units <= 0.0)
    counts, rows = units, nw.len()
    if weight is not None:
        check_numeric("sample_weight", weight, schema[weight])
        counts, rows = nw.col(weight).cast(nw.Float64) * units, nw.col(weight).cast(nw.Float64).sum()
    sums = {"bad": bad.cast(nw.Int64).sum(), "units": units.sum(), "counts": counts.sum(), "rows": rows}
    sums |= {"low": events.min(), "high": events.max(), "fractions": (events % 1.0 != 0.0).cast(nw.Int64).sum()}
    found = collect(frame.select(*(value.alias(name) for name, value in sums.items())))
    bad_rows, all_units, total, n_rows, low, high, fractions = (found[name].to_list()[0] or 0 for name in sums)
    check_units(how_many(bad_rows, all_units))
    wanted.check_target(low, high, events=True)
    if wanted.exposure == "attempts":
        warn_of_fractions(fractions)
    frame = frame.with_columns((events / units).alias(target), counts.alias(exposure))
    frame = frame if weight is None else frame.drop(weight)
    return frame, exposure, total / n_rows if n_rows > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Query:
    """A lazy frame with the target and the weight checked, ready to be grouped."""

    frame: nw.LazyFrame[Any]
    family: type[Family]
    classes: np.ndarray[Any, Any] | None
    weighted: bool
    squares: float

    @classmethod
    def of(cls, frame: nw.LazyFrame[Any], target: Any, weight: Any, wanted: type[Family] | None, known: Any) -> Query:
        """Look at the target and the weight once, in one query or two."""
        schema = frame.collect_schema()
        check_names(frame, list(schema.names()), target=target, weight=weight)
        dtype = schema[target]
        frame = frame.with_columns(read_column(target, dtype, wanted, known).alias(TARGET))
        if weight is not None:
            check_numeric("sample_weight", weight, schema[weight])
            w = nw.col(weight).cast(nw.Float64)
            bad = unusable(w) | (w < 0.0)
            frame = frame.with_columns(w.alias(WEIGHT), bad.cast(nw.Int64).alias(BAD), (w * w).alias(SQUARE))
        numeric = dtype.is_float() or isinstance(dtype, nw.Decimal) or (wanted is not None and not wanted.classes)
        facts = cls._look_at_numbers(frame, weight) if numeric else {}
        if wanted is None and facts.get("fractions"):
            if known is None:
                wanted = family_of_numbers()
            else:
                check_no_amount(known)
        if wanted is not None and not wanted.classes:
            squares = cls._check(facts, weight, target)
            wanted.check_target(float(facts["low"]), float(facts["high"]))
            number = nw.col(TARGET).cast(nw.Float64)
            frame = frame.with_columns(number.log() if wanted.log_target else number)
            return cls(frame, wanted, None, weight is not None, squares)
        seen, facts = cls._look_at_classes(frame, weight, facts)
        squares = cls._check(facts, weight, target)
        classes = label_array(seen) if known is None else join_classes(canonical_list(list(known)), seen)[0]
        if wanted is None and (dtype.is_numeric() or dtype == nw.String):
            check_numbers_as_classes(classes.tolist())
        return cls(frame, family_of_classes(len(classes), wanted), classes, weight is not None, squares)

    @staticmethod
    def _look_at_numbers(frame: nw.LazyFrame[Any], weight: Any) -> dict[str, Any]:
        """Count what would be wrong with a numeric target, in one query."""
        y = nw.col(TARGET).cast(nw.Float64)
        infinite = (y == float("inf")) | (y == -float("inf"))
        counts = {"unusable": unusable(y), "infinite": infinite, "fractions": y % 1.0 != 0.0}
        ask = [nw.len().alias("rows"), y.min().alias("low"), y.max().alias("high")]
        ask += [rows.cast(nw.Int64).sum().alias(name) for name, rows in counts.items()]
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
        missing = sum(count for label, count in zip(seen, rows, strict=True) if label is None)
        sums = {name: sum(groups[name].to_list()) for name in groups.columns if name != TARGET}
        return sorted(label for label in seen if label is not None), facts | sums | {"missing": missing}

    @staticmethod
    def _check(facts: dict[str, Any], weight: Any, target: str) -> float:
        """Refuse a target or weights that cannot be used; return Σ w²."""
        if not facts["rows"]:
            raise InputError("The table holds no rows: there is nothing to learn from.")
        infinite = facts.get("infinite") or 0
        missing = facts.get("missing") or how_many((facts.get("unusable") or 0) - infinite, facts.get("high"))
        if missing:
            raise InputError(f"Target {target!r} is missing in {missing} rows. Drop those rows before fitting.")
        if infinite:
            raise InputError(f"Target {target!r} holds infinite values. Drop those rows before fitting.")
        if weight is None:
            return float(facts["rows"])
        bad = how_many(facts[BAD], facts[WEIGHT])
        if bad:
            raise InputError(f"sample_weight is missing, negative or infinite in {bad} rows: use 0 to leave a row out.")
        if not facts[WEIGHT]:
            raise InputError("sample_weight is zero for every row: nothing is left to learn from.")
        return float(facts[SQUARE])

    def group(self, spec: ColumnSpec, inputs: list[str], schema: Any, known: dict[int, Categories]) -> ColumnEvidence:
        """Group by one column, or by several; `known` are the categories of the columns so far, and is added to."""
        names = [inputs[part] for part in spec.parts]
        keys, statistics = self._group([self._key(name, schema[name]) for name in names])
        if len(keys) == 1:  # its values are distinct
            known[spec.position], slots = Categories.of(keys[0])
            index = Index.of_column(known[spec.position])
        else:
            keys = [canonical_list(key) for key in keys]
            for part, own in zip(spec.parts, keys, strict=True):
                if part not in known:
                    known[part], _ = Categories.of_distinct(list(dict.fromkeys(own)))
            sources = [known[part] for part in spec.parts]
            index, slots = Index.of(sources, [k.slots(list(v)) for k, v in zip(sources, keys, strict=True)])
        return ColumnEvidence(spec.position, spec.name, spec.parts, index, statistics.place(slots, index.n_slots))

    def _key(self, name: str, dtype: Any) -> nw.Expr:
        """A column to group by, one spelling for each category."""
        _check_dots(self.frame, name)
        if isinstance(dtype, nw.List | nw.Array | nw.Struct):
            raise InputError(f"Column {name!r} is {dtype}: a category must be a single value. Turn it into text first.")
        key = nw.col(name)
        if dtype.is_float():
            return nw.when(~key.is_nan()).then(key + 0.0)  # NaN is missing, and -0.0 is 0.0
        return key.cast(nw.String) if isinstance(dtype, nw.Categorical | nw.Enum) else key

    def _group(self, keys: list[nw.Expr]) -> tuple[list[Sequence[Any]], Any]:
        """Values of the keys of each group, and its statistics."""
        names = [f"{KEY}_{number}" for number in range(len(keys))]
        wanted = [nw.col(TARGET), *([nw.col(WEIGHT)] if self.weighted else [])]
        frame = self.frame.select(*(key.alias(name) for key, name in zip(keys, names, strict=True)), *wanted)
        if self.classes is None:
            return self._describe(frame, names)
        return self._count(frame, names, self.classes.tolist())

    def _count(self, frame: nw.LazyFrame[Any], keys: list[str], labels: list[Any]) -> tuple[list[Sequence[Any]], Tally]:
        """Keys, and the weight of each class for each of them: a column a class, or for many classes a row."""
        one = nw.col(WEIGHT) if self.weighted else nw.lit(1)
        if len(labels) > MOST_COLUMNS:
            return self._count_long(frame.with_columns(one.alias(WEIGHT)), keys, labels)
        counted = {f"class_{number}": label for number, label in enumerate(labels)}
        if not self.weighted:
            counted.pop("class_0")  # it is what the others leave of the total
        frame = frame.with_columns(
            nw.when(nw.col(TARGET) == label).then(one).otherwise(nw.lit(0)).alias(name)
            for name, label in counted.items()
        )
        sums = nw.len().alias("total"), *(nw.col(name).sum() for name in counted)
        groups = frame.group_by(*keys, drop_null_keys=False).agg(*sums)
        groups = groups.with_columns(nw.col(name).cast(nw.Float64) for name in ("total", *counted))
        found = collect(groups)
        weights = [_numbers(found, name) for name in counted]
        if not self.weighted:
            weights.insert(0, _numbers(found, "total") - np.sum(weights, axis=0))
        return [_values(found[key]) for key in keys], Tally(np.stack(weights, axis=1))

    def _count_long(
        self, frame: nw.LazyFrame[Any], keys: list[str], labels: list[Any]
    ) -> tuple[list[Sequence[Any]], Tally]:
        groups = frame.group_by(*keys, TARGET, drop_null_keys=False).agg(nw.col(WEIGHT).sum())
        found = _collect_sorted(groups, keys)
        values = list(zip(*(canonical_list(_values(found[key])) for key in keys), strict=True))
        row = {value: number for number, value in enumerate(dict.fromkeys(values))}
        place = {label: number for number, label in enumerate(labels)}
        weight = np.zeros((len(row), len(labels)))
        where = [row[value] for value in values], [place[label] for label in canonical_list(found[TARGET].to_list())]
        weight[where] = _numbers(found, WEIGHT)
        return [list(column) for column in zip(*row, strict=True)], Tally(weight)

    def _describe(self, frame: nw.LazyFrame[Any], keys: list[str]) -> tuple[list[Sequence[Any]], Moments]:
        """Keys, and count, mean and centred squares for each of them; never sums of squares about zero."""
        y = nw.col(TARGET)
        if not self.weighted and not frame.implementation.is_dask():
            wanted = nw.len().alias("count"), y.mean().alias("mean"), y.var(ddof=0).alias("variance")
            found = collect(frame.group_by(*keys, drop_null_keys=False).agg(*wanted))
            count = _numbers(found, "count")
            moments = Moments(count, _numbers(found, "mean"), count * _numbers(found, "variance"))
            return [_values(found[key]) for key in keys], moments

        # No engine has a weighted variance, and that of dask is a sum of squares: means first, then squares about them.
        def sums(rows: nw.LazyFrame[Any], **columns: Any) -> nw.LazyFrame[Any]:
            groups = rows.with_columns(**columns).group_by(*keys, drop_null_keys=False)
            return groups.agg(*(nw.col(name).sum() for name in columns))

        w = nw.col(WEIGHT) if self.weighted else nw.lit(1.0)
        means = sums(frame, count=w + 0.0 * y, total=w * y)  # 0 · y makes a column of a literal
        mean_of = nw.when(nw.col("count") > 0).then(nw.col("total") / nw.col("count")).otherwise(nw.lit(0.0))
        means = means.with_columns(mean=mean_of)
        found = _collect_sorted(means.select(*keys, "count", "mean"), keys)
        count, mean = _numbers(found, "count"), _numbers(found, "mean")
        lacking = np.any([found[key].is_null().to_numpy() for key in keys], axis=0)  # no join finds those
        usual = float((count * mean)[lacking].sum() / max(count[lacking].sum(), TINY))
        rest = y - nw.coalesce(nw.col("mean"), nw.lit(usual))
        near = frame.join(means.select(*keys, "mean"), on=keys, how="left")
        squares = _collect_sorted(sums(near, slip=w * rest, square=w * rest * rest), keys)
        slip = np.divide(_numbers(squares, "slip"), count, out=np.zeros_like(count), where=count > 0)
        origin = np.where(lacking, usual, mean)
        m2 = np.maximum(_numbers(squares, "square") - count * slip**2, 0.0)
        return [_values(found[key]) for key in keys], Moments(count, origin + slip, m2)


def _numbers(groups: nw.DataFrame[Any], name: str) -> Array:
    return np.asarray(groups[name].to_numpy(), dtype=np.float64)


def _values(key: nw.Series[Any]) -> Any:
    """Values of a key, one spelling for each: text stays in Arrow, others become Python's types."""
    if key.dtype == nw.String:
        return key.to_arrow()
    return canonical_list(cells_of(key.to_native())) if key.dtype.is_temporal() else key.to_list()


def _collect_sorted(groups: nw.LazyFrame[Any], keys: list[str]) -> nw.DataFrame[Any]:
    """Run the query; Python sees the groups only, in their order."""
    if groups.implementation.is_pyspark():  # which would shuffle them once more
        return collect(groups).sort(*keys, nulls_last=True)
    return collect(groups.sort(*keys, nulls_last=True))


def collect(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Run a query with the engine's bounded memory, where it has a choice."""
    if frame.implementation.is_polars():
        return frame.collect(engine="streaming")
    return frame.collect()
