"""Rows to compare on: a table of any kind, its target, and the roles of its columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from catbayes import InputError, InputWarning, SamplingBayesianEncoder
from catbayes.io import is_source, read_arrow

MOST_CLASSES = 100
MANY_CLASSES = 5


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A pandas table, the target as class numbers or as numbers, and the role of every column.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from catbayes.comparison import Rows
    >>> from catbayes.families import BetaBernoulli
    >>> table = pd.DataFrame({"city": ["Rome", "Oslo"], "age": [31.0, 45.0]})
    >>> rows = Rows(table, np.array([0, 1]), "late", BetaBernoulli, ("no", "yes"), ("city",), ("age",), ())
    >>> rows.task, rows.described
    ('binary', "2 rows; columns: 1 categorical, 1 numeric; target 'late': two classes, 50.0% of the rows are 'yes'")
    """

    X: Any
    y: np.ndarray[Any, Any]
    target: str
    family: type[Any]
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
        """How the table was read, in a sentence."""
        columns = f"{len(self.categorical)} categorical, {len(self.numeric)} numeric"
        columns += f", {len(self.dates)} of dates" if self.dates else ""
        if self.classes is None:
            target = f"a number, mean {self.y.mean():,.4g}, from {self.y.min():,.4g} to {self.y.max():,.4g}"
        elif len(self.classes) == 2:
            target = f"two classes, {np.mean(self.y == 1):.1%} of the rows are {str(self.classes[1])!r}"
        else:
            target = f"{len(self.classes)} classes"
        return f"{len(self.y):,} rows; columns: {columns}; target {self.target!r}: {target}"


def read_rows(
    table: Any,
    y: Any,
    *,
    columns: Any = "auto",
    drop: Any = (),
    family: Any = "auto",
    groups: Any = None,
    time: str | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Rows:
    """Read a table, and find the roles of its columns and the kind of its target; parameters are those of `compare`."""
    import pandas

    if groups is not None and time is not None:
        raise InputError("groups and time were both given: rows are held out by group or by time. Choose one.")
    X = _read(table)
    if isinstance(y, str):
        _require(X, [y])
        target, labels = y, X.pop(y)
    else:
        target, labels = str(getattr(y, "name", None) or "y"), pandas.Series(_values(y, len(X), "y"), index=X.index)
    chosen = [columns] if isinstance(columns, str) and columns not in ("auto", "all") else columns
    _require(X, [*drop, *(chosen if isinstance(chosen, list | tuple) else ())])
    notes, warned = [], []

    known = labels.notna()
    if not known.all():
        warned.append(f"{(~known).sum():,} of {len(known):,} rows are left out: their {target!r} is missing.")
    if groups is not None:
        if isinstance(groups, str):
            _require(X, [groups])
            groups = X.pop(groups)
        groups = pandas.Series(pandas.factorize(_values(groups, len(X), "groups"), use_na_sentinel=False)[0], X.index)
    X = X[known]
    if sample is not None and sample < len(X):
        X = X.sample(sample, random_state=seed).sort_index()
        notes.append(f"A random sample of {sample:,} rows is used.")
    if time is not None:
        _require(X, [time])
        times = _times(X.pop(time))
        if times.isna().any():
            notes.append(f"{times.isna().sum():,} rows without a {time!r} are taken for the latest.")
        X = X.loc[times.sort_values(kind="stable").index]
    labels, groups = labels[X.index], None if groups is None else groups[X.index].to_numpy()
    X = X.drop(columns=list(drop)).reset_index(drop=True)

    likelihood, classes, values = _read_target(labels, target, family)
    whole = classes is not None and all(isinstance(label, int) for label in classes)
    if classes is not None and whole and len(classes) > MANY_CLASSES and family == "auto":
        notes.append(
            f"The {len(classes)} different whole numbers of {target!r} are taken for classes, as the encoders do: "
            'set family="normal" for an amount, "poisson" for a count.'
        )
    X, roles, more = _with_roles(X, chosen)
    warned += _suspicious(X, *roles[:2])
    return Rows(
        X, values, target, likelihood, classes, *roles, groups, time is not None, (*notes, *more), tuple(warned)
    )


def _read(table: Any) -> Any:
    """Return a pandas frame of the table with text as column names."""
    import pandas

    if is_source(table):
        table = read_arrow(table)
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        array = np.asarray(table)
        if array.ndim != 2:
            raise InputError(f"The table has {array.ndim} dimensions: expected a frame, a path or a 2-d array.")
        return pandas.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])]).infer_objects()
    native = frame.to_native() if frame.implementation.is_pandas() else _from_arrow(frame.to_arrow())
    return native.rename(columns=str).reset_index(drop=True)


def _from_arrow(table: Any) -> Any:
    """Convert decimals to floats, dates to times, and leave whole numbers with gaps whole."""
    import pandas
    import pyarrow

    whole = {pyarrow.int64(): pandas.Int64Dtype(), pyarrow.int32(): pandas.Int32Dtype()}
    for i, field in enumerate(table.schema):
        if pyarrow.types.is_decimal(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pyarrow.float64()))
    return table.to_pandas(date_as_object=False, types_mapper=whole.get)


def _require(X: Any, names: list[str]) -> None:
    for name in names:
        if name not in X:
            raise InputError(f"There is no column {name!r}. The table has {', '.join(map(str, X.columns))}.")


def _values(given: Any, n_rows: int, what: str) -> np.ndarray[Any, Any]:
    """Return one value per row as an array."""
    values = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_rows,):
        raise InputError(f"{what} has the shape {values.shape}: expected one value for each of {n_rows} rows.")
    return values


def _times(column: Any) -> Any:
    """Return a column to sort by: numbers, dates, or texts that are dates."""
    import pandas
    from pandas.api import types

    if _is_number(column) or types.is_datetime64_any_dtype(column):
        return column
    try:
        return pandas.to_datetime(column, format="ISO8601", utc=True)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"time={column.name!r} has texts that are not dates such as 2024-12-31, and their alphabetical order may "
            "be wrong. Convert them to dates or numbers first."
        ) from error


def _read_target(labels: Any, target: str, family: Any) -> tuple[type[Any], tuple[Any, ...] | None, Any]:
    """Find the family as an encoder does; return it with the classes, and the target as class numbers or numbers."""
    plain = isinstance(labels.dtype, np.dtype) and labels.dtype != object
    y = labels.to_numpy() if plain else np.asarray(labels.tolist())
    if y.dtype.kind == "f" and (y == np.floor(y)).all():
        y = y.astype(np.int64)  # labels are 1, and not 1.0
    if len(set(y.tolist())) < 2:
        raise InputError(f"The target {target!r} has fewer than two different values. Is it the right column?")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        encoder = SamplingBayesianEncoder("all", family=family).fit(np.zeros((len(y), 1)), y)
    if encoder.classes_ is None:
        return encoder.family_, None, y.astype(np.float64)
    classes, values = np.unique(y, return_inverse=True)
    if len(classes) > MOST_CLASSES and family == "auto":
        raise InputError(
            f"The target {target!r} has {len(classes):,} different values, such as {str(classes[0])!r}. Is it the "
            'right column? If they are classes, set family="categorical".'
        )
    return encoder.family_, tuple(classes.tolist()), values


def _with_roles(X: Any, columns: Any) -> tuple[Any, tuple[Any, Any, Any], list[str]]:
    """Sort columns into categories, numbers and dates, and remove those without information."""
    import pandas
    from pandas.api import types

    constant = [name for name in X if X[name].astype(str).nunique(dropna=False) == 1]
    notes = [f"Columns with a single value are left out: {', '.join(constant)}."] if constant else []
    X = X.drop(columns=constant)
    is_number = {name: _is_number(X[name]) for name in X}
    is_date = {name: types.is_datetime64_any_dtype(X[name]) for name in X}
    if columns == "auto":
        categorical = [name for name in X if not (is_number[name] or is_date[name])]
    else:
        categorical = [name for name in X if columns == "all" or name in columns]
    if not categorical:
        raise InputError(
            "No column has texts or categories. If numbers are categories, name them: "
            'columns="all", or columns=["a", "b"].'
        )
    dates = [name for name in X if name not in categorical and is_date[name]]
    numeric = [name for name in X if name not in categorical and not is_date[name]]
    texts = [name for name in numeric if not is_number[name] and not types.is_bool_dtype(X[name])]
    if texts:
        raise InputError(
            f"Column {texts[0]!r} is not numeric, and not in columns: add it there, or leave it out by drop={texts!r}."
        )
    roles = dict.fromkeys(categorical, _as_category) | dict.fromkeys(numeric, _as_number)
    X = pandas.DataFrame({name: roles[name](X[name]) if name in roles else X[name] for name in X})
    return X, (tuple(categorical), tuple(numeric), tuple(dates)), notes


def _is_number(column: Any) -> bool:
    from pandas.api import types

    number = types.is_numeric_dtype(column) and not types.is_bool_dtype(column)
    return number or types.is_timedelta64_dtype(column)


def _as_number(column: Any) -> Any:
    """Convert to floats: lengths of time to seconds, infinite values to missing ones."""
    from pandas.api import types

    numbers = column.dt.total_seconds() if types.is_timedelta64_dtype(column) else column.astype(np.float64)
    return numbers.where(np.isfinite(numbers))


def _as_category(column: Any) -> Any:
    """Return whole numbers as they are, and everything else as text, a missing value missing."""
    from pandas.api import types

    if types.is_integer_dtype(column) and not column.isna().any():
        return column.astype(np.int64)
    missing = column.isna()
    return column.astype(object).where(~missing, "").map(str).astype(object).where(~missing, np.nan)


def _suspicious(X: Any, categorical: Any, numeric: Any) -> list[str]:
    """Return warnings of columns that look like identifiers."""
    notes = []
    for name in categorical:
        share = X[name].astype(str).nunique() / len(X)
        if share > 0.9:
            notes.append(
                f"Column {name!r} has another value in {share:.0%} of the rows: it looks like an identifier or free "
                "text, which does not help on new rows. Consider dropping it."
            )
    for name in numeric:
        values = X[name].sort_values().to_numpy()
        if len(values) > 20 and (np.diff(values) == 1).all():
            notes.append(f"Column {name!r} numbers the rows: it looks like an identifier. Consider dropping it.")
    return notes
