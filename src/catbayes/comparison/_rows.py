"""Rows to compare on: a table of any kind, its target, and what its columns are taken for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catbayes.comparison._target import is_missing, note_on_classes, read_labels, target_values
from catbayes.comparison._text import number
from catbayes.core.random import Purpose, stream
from catbayes.core.table import Table, no_column, shown
from catbayes.core.validation import check_count
from catbayes.errors import InputError
from catbayes.families import Family
from catbayes.io.sources import is_source, read_arrow


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A pandas table, the target as class numbers or as numbers, and the role of every column."""

    X: Any
    y: np.ndarray[Any, Any]
    target: str
    family: type[Family]
    classes: tuple[Any, ...] | None
    categorical: tuple[str, ...]
    numeric: tuple[str, ...]
    dates: tuple[str, ...]
    groups: np.ndarray[Any, Any] | None = None
    ordered: bool = False
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """What is predicted: "binary", "multiclass" or "regression"."""
        if self.classes is None:
            return "regression"
        return "binary" if len(self.classes) == 2 else "multiclass"

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None for a number."""
        return None if self.classes is None else len(self.classes)

    @property
    def described(self) -> str:
        """What the table was taken for, in a sentence."""
        columns = f"{len(self.categorical)} categorical, {len(self.numeric)} numeric"
        columns += f", {len(self.dates)} of dates" if self.dates else ""
        if self.classes is None:
            mean, low, high = map(number, (self.y.mean(), self.y.min(), self.y.max()))
            target = f"a number, mean {mean}, from {low} to {high}"
        elif len(self.classes) == 2:
            target = f"two classes, {np.mean(self.y == 1):.1%} of the rows are {str(self.classes[1])!r}"
        else:
            target = f"{len(self.classes)} classes"
        return f"{len(self.y):,} rows; columns: {columns}; target {self.target!r}: {target}"


def read_rows(
    table: Any,
    y: Any,
    *,
    columns: Any,
    drop: tuple[str, ...],
    family: Any,
    groups: Any,
    time: str | None,
    sample: int | None,
    seed: int,
) -> Rows:
    """Read a table, and say what each column and the target were taken for; parameters are those of `compare`."""
    import pandas

    if groups is not None and time is not None:
        raise InputError("groups and time were both given: rows are held out by group or by time. Choose one.")
    if isinstance(columns, str) and columns not in ("auto", "all"):
        columns = [columns]
    X, target, labels = _split(_read(table), y)
    by_group = None if groups is None or isinstance(groups, str) else _given_groups(groups, len(X))
    aside = [name for name in (groups if by_group is None else None, time) if name is not None]
    for name in (*drop, *aside, *(() if isinstance(columns, str) else columns)):
        if name not in X.columns:
            raise InputError(f"{name!r} is the target.") if name == target else no_column(name, list(X.columns))
    notes, warnings = [], []
    known = ~is_missing(labels)
    if not known.all():
        warnings.append(f"{(~known).sum():,} of {len(known):,} rows are left out: their {target!r} is missing.")
    kept = np.flatnonzero(known)
    if sample is not None and check_count("sample", sample, 2) < len(kept):
        kept = np.sort(stream(seed, Purpose.SUBSET).choice(kept, sample, replace=False))
        notes.append(f"A random sample of {sample:,} rows is used.")
    X, labels = X.iloc[kept].reset_index(drop=True), labels[kept]
    if time is not None:
        if X[time].isna().any():
            notes.append(f"{X[time].isna().sum():,} rows without a {time!r} are taken for the latest.")
        order = _in_time(X[time]).sort_values(kind="stable").index.to_numpy()
        X, labels = X.iloc[order].reset_index(drop=True), labels[order]
    if groups is not None:
        of_rows = X[groups] if by_group is None else by_group[kept]
        by_group = pandas.factorize(of_rows, use_na_sentinel=False)[0]
    X = X.drop(columns=[*drop, *aside])
    chosen, classes, values = read_labels(labels, target, family)
    notes += note_on_classes(classes, target, family)
    roles: tuple[Any, Any, Any] = (), (), ()
    rows = Rows(X, values, target, chosen, classes, *roles, by_group, time is not None, tuple(notes), tuple(warnings))
    return _with_roles(rows, columns)


def _given_groups(groups: Any, n_rows: int) -> np.ndarray[Any, Any]:
    """Groups that were given as values, one for each row of the table."""
    values = np.asarray(groups.to_numpy() if hasattr(groups, "to_numpy") else groups, dtype=object)
    if values.shape != (n_rows,):
        raise InputError(
            f"groups has the shape {values.shape} and the table {n_rows} rows: expected one value for each row, or the "
            "name of a column."
        )
    return values


def _in_time(series: Any) -> Any:
    """A column to sort by: numbers, dates, or texts that are dates."""
    import pandas
    from pandas.api import types

    if _is_number(series) or types.is_datetime64_any_dtype(series):
        return series
    try:
        return pandas.to_datetime(series, format="ISO8601", utc=True)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"time={series.name!r} holds texts that are no dates such as 2024-12-31: sorted by letters, they would be "
            "out of order. Turn them into dates or numbers first."
        ) from error


def _read(table: Any) -> Any:
    """A pandas frame of the table, its column names text."""
    import pandas

    if is_source(table):
        table = read_arrow(table)
    if not Table.is_frame(table):
        array = np.asarray(table)
        if array.ndim != 2:
            raise InputError(f"The table has {array.ndim} dimensions: expected a frame, a path or a 2-d array.")
        return pandas.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])]).infer_objects()
    frame = Table.of(table).frame  # names are unique
    assert frame is not None
    native = frame.to_pandas() if frame.implementation.is_pandas() else _to_pandas(frame.to_arrow())
    native = native.rename(columns=str)
    if not native.columns.is_unique:
        raise InputError(f"Column names must differ as text: {shown(list(native.columns))}. Rename some.")
    return native


def _to_pandas(table: Any) -> Any:
    """Numbers of any Arrow type as numpy's, whole ones with gaps as such, dates as times, the rest as pandas has it."""
    import pandas
    import pyarrow

    for i, field in enumerate(table.schema):
        if pyarrow.types.is_decimal(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pyarrow.float64()))
    gaps = [f.name for f in table.schema if pyarrow.types.is_integer(f.type) and table[f.name].null_count]
    whole = {name: pandas.array(table[name].to_pylist(), dtype=pandas.Int64Dtype()) for name in gaps}
    return table.to_pandas(date_as_object=False).assign(**whole)


def _split(X: Any, y: Any) -> tuple[Any, str, np.ndarray[Any, Any]]:
    """The table without its target, the target's name, and its values."""
    if isinstance(y, str):
        if y not in X.columns:
            raise no_column(y, list(X.columns))
        return X.drop(columns=y), y, target_values(X[y])
    values = target_values(y)
    if len(values) != len(X):
        raise InputError(f"y has {len(values)} values and the table {len(X)} rows: expected one for each row.")
    return X, str(getattr(y, "name", None) or "y"), values


def _with_roles(rows: Rows, columns: Any) -> Rows:
    """Sort the columns into categories, numbers and dates; leave out what says nothing."""
    import pandas
    from pandas.api import types

    X, notes = rows.X, list(rows.notes)
    for name in () if isinstance(columns, str) else columns:
        if name not in X.columns:
            raise InputError(f"{name!r} is among columns, and dropped or set aside as well. Choose one.")
    empty = [name for name in X if X[name].isna().all()]
    constant = [name for name in X if name not in empty and X[name].astype(str).nunique(dropna=False) == 1]
    for names, what in ((empty, "hold no value"), (constant, "hold one value only")):
        if names:
            notes.append(f"Left out, because they {what}: {shown(names)}.")
    X = X.drop(columns=[*empty, *constant])
    if not len(X.columns):
        raise InputError("No column is left to predict from: those that hold one value only do not help.")
    names = list(X.columns)
    if columns == "auto":
        found = [name for name in names if not (_is_number(X[name]) or types.is_datetime64_any_dtype(X[name]))]
        categorical = found
        if not found:
            raise InputError(
                'No column holds texts or categories. If numbers name categories, say so: columns="all", or '
                'columns=["a", "b"].'
            )
    else:
        categorical = names if columns == "all" else [name for name in columns if name in names]
        if not categorical:
            raise InputError(f"columns={columns!r}: none of them holds more than one value. Name others.")
    dates = [name for name in names if name not in categorical and types.is_datetime64_any_dtype(X[name])]
    numeric = [name for name in names if name not in categorical and name not in dates]
    for name in numeric:
        if not _is_number(X[name]) and not types.is_bool_dtype(X[name]):
            raise InputError(
                f"Column {name!r} holds no numbers, and is not among columns: name it there too, or leave it out, "
                f"drop=[{name!r}]."
            )
    kept = {name: _as_category(X[name]) for name in categorical}
    kept |= {name: X[name] for name in dates}
    kept |= {name: X[name].astype(np.float64) for name in numeric if not types.is_timedelta64_dtype(X[name])}
    kept |= {name: X[name].dt.total_seconds() for name in numeric if name not in kept}
    infinite = [name for name in numeric if np.isinf(kept[name]).any()]
    if infinite:
        notes.append(f"Infinite values are taken for missing in {shown(infinite)}.")
        kept |= {name: kept[name].where(np.isfinite(kept[name])) for name in infinite}
    X = pandas.DataFrame({name: kept[name] for name in names})
    return replace(
        rows,
        X=X,
        categorical=tuple(categorical),
        numeric=tuple(numeric),
        dates=tuple(dates),
        notes=tuple(notes),
        warnings=(*rows.warnings, *_suspicious(X, categorical, numeric)),
    )


def _is_number(series: Any) -> bool:
    from pandas.api import types

    number = types.is_numeric_dtype(series) and not types.is_bool_dtype(series)
    return number or types.is_timedelta64_dtype(series)


def _as_category(series: Any) -> Any:
    """Whole numbers as they are; everything else as text, a missing value missing."""
    from pandas.api import types

    if types.is_integer_dtype(series) and not series.isna().any():
        return series.astype(np.int64)
    missing = series.isna()
    return series.astype(object).where(~missing, "").map(str).astype(object).where(~missing, np.nan)


def _suspicious(X: Any, categorical: list[str], numeric: list[str]) -> list[str]:
    """Columns that name rows instead of describing them."""
    notes = []
    for name in categorical:
        share = X[name].astype(str).nunique() / len(X)
        if share > 0.9:
            notes.append(
                f"Column {name!r} has another value in {share:.0%} of the rows: it looks like an identifier or "
                "free text, from which nothing can be learned for new rows. Consider dropping it."
            )
    for name in numeric:
        values = X[name]
        whole = not values.isna().any() and len(values) > 20 and values.nunique() == len(values)
        if whole and (values == np.floor(values)).all() and values.max() - values.min() == len(values) - 1:
            notes.append(f"Column {name!r} numbers the rows: it looks like an identifier. Consider dropping it.")
    return notes
