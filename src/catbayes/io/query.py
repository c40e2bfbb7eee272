"""The queries that an engine answers: one look at the target, and one group-by a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from catbayes.core.arrays import TINY
from catbayes.core.categories import Categories, canonical_list, cells_of
from catbayes.core.combinations import Index
from catbayes.core.evidence import ColumnEvidence
from catbayes.core.selection import ColumnSpec
from catbayes.core.statistics import Moments, Statistics, Tally
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
from catbayes.core.validation import Array, Codes
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


def _read_target(target: str, dtype: Any, wanted: type[Family] | None, known: Any) -> nw.Expr:
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


def _read_numbers(what: str, name: str, dtype: Any) -> nw.Expr:
    """A column of numbers as floats."""
    if not dtype.is_numeric():
        raise InputError(f"{what} must hold numbers, and {name!r} is {dtype}.")
    return nw.col(name).cast(nw.Float64)


def _unusable(number: nw.Expr) -> nw.Expr:
    return number.is_null() | ~number.is_finite()


def _how_many(counted: float | None, total: float | None) -> float | str:
    """In how many rows a number cannot be used, by its count and by a sum or a maximum of all numbers.

    DuckDB may answer what is asked of each number by the statistics of a Parquet file, which leave NaN out, and count
    none; but sums and maxima are those of the rows.
    """
    return counted or ("some" if total is not None and np.isnan(total) else 0)


def _ask(frame: nw.LazyFrame[Any], sums: dict[str, nw.Expr]) -> dict[str, Any]:
    """Find sums over all rows, in one query."""
    row = collect(frame.select(*(value.alias(name) for name, value in sums.items())))
    return {name: row[name].to_list()[0] for name in sums}


def _count_of(condition: nw.Expr) -> nw.Expr:
    return condition.cast(nw.Int64).sum()


def per_unit_lazily(
    frame: nw.LazyFrame[Any], target: Any, weight: Any, exposure: Any, wanted: type[Family] | None
) -> tuple[nw.LazyFrame[Any], str, float]:
    """Divide events by their exposure: the target becomes a rate, and the column of the exposure the weight."""
    schema = frame.collect_schema()
    check_exposed(wanted)
    assert wanted is not None
    check_names(frame, list(schema.names()), target=target, weight=weight, exposure=exposure)
    units = _read_numbers("exposure", exposure, schema[exposure])
    events = _read_target(target, schema[target], wanted, None).cast(nw.Float64)
    counts, rows = units, nw.len()
    if weight is not None:
        w = _read_numbers("sample_weight", weight, schema[weight])
        counts, rows = w * units, w.sum()
    sums = {"bad": _count_of(_unusable(units) | (units <= 0.0)), "units": units.sum(), "counts": counts.sum()}
    sums |= {"rows": rows, "low": events.min(), "high": events.max(), "fractions": _count_of(events % 1.0 != 0.0)}
    found = {name: value or 0 for name, value in _ask(frame, sums).items()}
    check_units(_how_many(found["bad"], found["units"]))
    wanted.check_target(found["low"], found["high"], events=True)
    if wanted.exposure == "attempts":
        warn_of_fractions(found["fractions"])
    frame = frame.with_columns((events / units).alias(target), counts.alias(exposure))
    frame = frame if weight is None else frame.drop(weight)
    return frame, exposure, found["counts"] / found["rows"] if found["rows"] > 0 else 1.0


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
        frame = frame.with_columns(_read_target(target, dtype, wanted, known).alias(TARGET))
        if weight is not None:
            w = _read_numbers("sample_weight", weight, schema[weight])
            bad = _unusable(w) | (w < 0.0)
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
        """Find what would be wrong with a numeric target, in one query."""
        y = nw.col(TARGET).cast(nw.Float64)
        sums = {"rows": nw.len(), "low": y.min(), "high": y.max(), "fractions": _count_of(y % 1.0 != 0.0)}
        sums["missing"] = _count_of(y.is_null() | y.is_nan())
        if weight is not None:
            sums |= {name: nw.col(name).sum() for name in (BAD, WEIGHT, SQUARE)}
        return _ask(frame, sums)

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
        missing = sum(count for label, count in zip(seen, groups["rows"].to_list(), strict=True) if label is None)
        sums = {name: sum(groups[name].to_list()) for name in groups.columns if name != TARGET}
        return sorted(label for label in seen if label is not None), facts | sums | {"missing": missing}

    @staticmethod
    def _check(facts: dict[str, Any], weight: Any, target: str) -> float:
        """Refuse a target or weights that cannot be used; return Σ w²."""
        if not facts["rows"]:
            raise InputError("The table holds no rows: there is nothing to learn from.")
        high = facts.get("high")
        missing = _how_many(facts["missing"], high)
        if missing:
            raise InputError(f"Target {target!r} is missing in {missing} rows. Drop those rows before fitting.")
        if high is not None and not np.isfinite([facts["low"], high]).all():
            raise InputError(f"Target {target!r} holds infinite values. Drop those rows before fitting.")
        if weight is None:
            return float(facts["rows"])
        bad = _how_many(facts[BAD], facts[WEIGHT])
        if bad:
            raise InputError(f"sample_weight is missing, negative or infinite in {bad} rows: use 0 to leave a row out.")
        if not facts[WEIGHT]:
            raise InputError("sample_weight is zero for every row: nothing is left to learn from.")
        return float(facts[SQUARE])

    def group(self, spec: ColumnSpec, inputs: list[str], schema: Any, known: dict[int, Categories]) -> ColumnEvidence:
        """Group by one column, or by several; `known` are the categories of the columns so far, and is added to."""
        keys = {f"{KEY}_{part}": self._key(inputs[part], schema[inputs[part]]) for part in spec.parts}
        wanted = [nw.col(TARGET), *([nw.col(WEIGHT)] if self.weighted else [])]
        frame = self.frame.filter(nw.col(WEIGHT) > 0.0) if self.weighted else self.frame  # others are left out
        frame = frame.select(*(key.alias(name) for name, key in keys.items()), *wanted)
        statistics: Statistics
        if self.classes is not None and len(self.classes) > MOST_COLUMNS:
            index, statistics = self._count_long(frame, [*keys], spec, known)
        else:
            found, rows = (self._describe if self.classes is None else self._count)(frame, [*keys])
            index, slots = _index([_values(found[key]) for key in keys], spec, known)
            statistics = rows.place(slots, index.n_slots)
        return ColumnEvidence(spec.position, spec.name, spec.parts, index, statistics)

    def _key(self, name: str, dtype: Any) -> nw.Expr:
        """A column to group by, one spelling for each category."""
        _check_dots(self.frame, name)
        if isinstance(dtype, nw.List | nw.Array | nw.Struct):
            raise InputError(f"Column {name!r} is {dtype}: a category must be a single value. Turn it into text first.")
        key = nw.col(name)
        if dtype.is_float():
            return nw.when(~key.is_nan()).then(key + 0.0)  # NaN is missing, and -0.0 is 0.0
        return key.cast(nw.String) if isinstance(dtype, nw.Categorical | nw.Enum) else key

    def _count(self, frame: nw.LazyFrame[Any], keys: list[str]) -> tuple[nw.DataFrame[Any], Tally]:
        """Groups, and the weight of each class in each of them: a column a class."""
        assert self.classes is not None
        one = nw.col(WEIGHT) if self.weighted else nw.lit(1)
        counted = {f"class_{number}": label for number, label in enumerate(self.classes.tolist())}
        if not self.weighted:
            counted.pop("class_0")  # it is what the others leave of the total
        frame = frame.with_columns(
            nw.when(nw.col(TARGET) == label).then(one).otherwise(nw.lit(0)).alias(name)
            for name, label in counted.items()
        )
        sums = nw.len().alias("total"), *(nw.col(name).sum() for name in counted)
        groups = frame.group_by(*keys, drop_null_keys=False).agg(*sums)
        found = collect(groups.with_columns(nw.col(name).cast(nw.Float64) for name in ("total", *counted)))
        weights = [_numbers(found, name) for name in counted]
        if not self.weighted:
            weights.insert(0, _numbers(found, "total") - np.sum(weights, axis=0))
        return found, Tally(np.stack(weights, axis=1))

    def _count_long(
        self, frame: nw.LazyFrame[Any], keys: list[str], spec: ColumnSpec, known: dict[int, Categories]
    ) -> tuple[Index, Tally]:
        """The weight of each of many classes: a row for each that occurs in a group."""
        assert self.classes is not None
        weight = nw.col(WEIGHT).sum() if self.weighted else nw.len().alias(WEIGHT)
        found = collect(frame.group_by(*keys, TARGET, drop_null_keys=False).agg(weight))
        index, slots = _index([_values(found[key]) for key in keys], spec, known)
        place = {label: number for number, label in enumerate(self.classes.tolist())}
        target = np.array([place[label] for label in canonical_list(found[TARGET].to_list())])
        sizes = {"n_slots": index.n_slots, "n_classes": len(place)}
        return index, Tally.from_codes(slots, target, _numbers(found, WEIGHT), **sizes)

    def _describe(self, frame: nw.LazyFrame[Any], keys: list[str]) -> tuple[nw.DataFrame[Any], Moments]:
        """Groups, and count, mean and centred squares for each of them; never sums of squares about zero."""
        y = nw.col(TARGET)
        if not self.weighted and not frame.implementation.is_dask():
            wanted = nw.len().alias("count"), y.mean().alias("mean"), y.var(ddof=0).alias("variance")
            found = collect(frame.group_by(*keys, drop_null_keys=False).agg(*wanted))
            count = _numbers(found, "count")
            return found, Moments(count, _numbers(found, "mean"), count * _numbers(found, "variance"))

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
        return found, Moments(count, origin + slip, m2)


def _index(keys: list[Any], spec: ColumnSpec, known: dict[int, Categories]) -> tuple[Index, Codes]:
    """The categories of some groups by the values of their keys, and the slot of each group."""
    if len(keys) == 1:
        known[spec.position], slots = Categories.of(keys[0])
        return Index.of_column(known[spec.position]), slots
    keys = [canonical_list(key) for key in keys]
    for part, own in zip(spec.parts, keys, strict=True):
        if part not in known:
            known[part], _ = Categories.of_distinct(list(dict.fromkeys(own)))
    sources = [known[part] for part in spec.parts]
    return Index.of(sources, [source.slots(list(own)) for source, own in zip(sources, keys, strict=True)])


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
