"""Read a table in memory: a numpy array or nested lists, or a frame that narwhals reads, of pandas, polars or pyarrow.

Columns are handed out as they are, never copied into another library.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from importlib.util import find_spec
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from catbayes.core.categories import numbers_of
from catbayes.core.validation import Array, is_number
from catbayes.errors import InputError

__all__ = [
    "Named",
    "Table",
    "called_columns",
    "categorical_columns",
    "did_you_mean",
    "find_column",
    "find_columns",
    "input_names",
    "library_of",
    "make_frame",
    "name_of",
    "no_column",
    "read_new",
    "read_table",
    "shown",
    "take_named",
    "times_as_numbers",
]

_CATEGORICAL = (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Object)
_OF_FRAMES = (str, int, float, bytes, datetime.datetime, datetime.time, datetime.timedelta, Decimal)


@dataclass(frozen=True, slots=True)
class Table:
    """A table in memory, of any kind: a frame, or an array, whose columns have positions for names."""

    frame: Any  # as narwhals has it, or None
    array: np.ndarray[Any, Any] | None
    names: list[Any]
    n_rows: int

    @classmethod
    def of(cls, X: Any) -> Table:
        """Wrap a frame or a two-dimensional array."""
        if isinstance(X, np.ndarray):
            return cls(None, X, list(range(X.shape[1])), len(X))
        frame = _wrapped(X)
        if isinstance(frame, nw.LazyFrame):
            raise InputError("X is a lazy frame: call .collect() first.")
        if not isinstance(frame, nw.DataFrame):
            raise InputError(
                f"X is a {type(X).__name__}: expected a two-dimensional array or a frame of pandas, polars or pyarrow. "
                "Make one of it, such as X.to_frame() of a series and pandas.DataFrame(X) of a dictionary."
            )
        return cls(frame, None, list(frame.columns), len(frame))

    @staticmethod
    def is_frame(X: Any) -> bool:
        """Tell whether X is a frame (eager or lazy), not an array or a list."""
        return isinstance(_wrapped(X), nw.DataFrame | nw.LazyFrame)

    @property
    def native(self) -> Any:
        """The array, or the frame of its library."""
        return self.array if self.frame is None else self.frame.to_native()

    def take(self, rows: Any) -> Any:
        """Some of the rows, as an array or as a frame of its library."""
        return self.array[rows] if self.array is not None else self.frame[rows, :].to_native()

    def column(self, position: int) -> Any:
        """One column, as its library holds it."""
        return self.array[:, position] if self.array is not None else self.frame[:, position].to_native()

    def categorical(self) -> list[int]:
        """Find the columns of a categorical type; an array has no types, so all of its columns."""
        if self.frame is None:
            return list(range(len(self.names)))
        return categorical_columns(self.frame.schema.values())

    def numeric(self, positions: Sequence[int]) -> bool:
        """Tell whether the types of all these columns are numeric."""
        if self.array is not None:
            return self.array.dtype.kind in "iufb"
        return all(_is_numeric(self.frame[:, position].dtype) for position in positions)

    def values(self, position: int) -> np.ndarray[Any, Any]:
        """One column as a numpy array; a missing number becomes NaN."""
        if self.array is not None:
            return self.array[:, position]
        series = self.frame[:, position]
        if _is_numeric(series.dtype) and series.null_count():
            series = series.cast(nw.Float64).fill_null(float("nan"))
        values = np.asarray(series.to_numpy())
        if values.ndim > 1:
            raise InputError(
                f"Column {self.names[position]!r} is {series.dtype}: it holds several values in a cell. Split it into "
                "columns, or drop it."
            )
        return values

    def by_row(self, given: Any) -> Any:
        """Values of the rows: those given, or of the column of this name."""
        if not isinstance(given, str):
            return given
        if given not in self.names:
            raise no_column(given, self.names)
        return self.values(self.names.index(given))

    def numbers(self, position: int) -> Array | None:
        """One column as floats; None if it holds anything else: of an array of objects, by its cells."""
        column, are_numbers = self.column(position), self.numeric([position])
        if not are_numbers and self.frame is not None:
            return None
        if not are_numbers and any(isinstance(cell, str | bool | np.bool_) for cell in column):
            return None
        try:
            return numbers_of(column)
        except (AttributeError, TypeError, ValueError):
            return None


def _wrapped(X: Any) -> Any:
    """A frame or a series as narwhals has it; anything else as it is."""
    try:
        return nw.from_native(X, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError(f"Column names must be unique. {error}. Rename the columns that repeat.") from error


def read_table(X: Any, estimator: Any) -> Table:
    """Wrap X; whatever is no frame must become a two-dimensional array."""
    if isinstance(X, str | PathLike):
        raise InputError(f"X is a path, {str(X)!r}: catbayes.encode encodes files, and fit learns from them.")
    if _wrapped(X) is X and type(X) is not dict:  # some sparse arrays are dictionaries too
        how = {"ensure_all_finite": False, "estimator": estimator, "input_name": "X"}
        array = check_array(X, dtype=None, **how)
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):  # a list of mixed cells, turned into text
            array = check_array(X, dtype=object, **how)
        return Table.of(array)
    table = Table.of(X)
    if table.n_rows == 0 or len(table.names) == 0:
        raise InputError(f"X has {table.n_rows} rows and {len(table.names)} columns: expected at least one of each.")
    kinds = {type(name).__name__ for name in table.names}
    if "str" in kinds and len(kinds) > 1:
        raise InputError(f"Column names are of several types, {', '.join(sorted(kinds))}: turn them all into text.")
    return table


def read_new(X: Any, fitted: Any) -> Table:
    """Wrap a table like the one that an encoder or a model was fitted on."""
    check_is_fitted(fitted)
    table = read_table(X, fitted)
    validate_data(fitted, table.native, reset=False, skip_check_array=True)
    return table


def take_named(table: Table, *given: Any) -> tuple[Any, ...]:
    """Take the target, the weight and the exposure out of a table in memory, where they are given by name."""
    named = list(dict.fromkeys(name for name in given if isinstance(name, str)))
    if not named:
        return table, *given
    if table.frame is None:
        raise no_column(named[0], table.names)
    values = [table.by_row(one) for one in given]
    return Table.of(table.frame.drop(named).to_native()), *values


def input_names(fitted: Any, given: Any = None) -> list[Any]:
    """Names of the columns that an estimator was fitted on; those given must agree with them."""
    known = getattr(fitted, "feature_names_in_", None)
    if given is None:
        return list(known) if known is not None else [f"x{i}" for i in range(fitted.n_features_in_)]
    if known is not None and list(known) != list(given):
        raise ValueError("input_features is not equal to feature_names_in_")
    if len(given) != fitted.n_features_in_:
        raise ValueError("input_features should have length equal to number of features")
    return list(given)


def library_of(X: Any) -> Any:
    """The library that a table came in, as narwhals names it; None for an array, files and the like."""
    frame = nw.from_native(X, pass_through=True)
    return frame.implementation if isinstance(frame, nw.DataFrame) or type(X).__module__.startswith("polars") else None


def categorical_columns(dtypes: Iterable[Any]) -> list[int]:
    """Find the types that `columns="auto"` encodes: text, categories, booleans and objects."""
    return [position for position, dtype in enumerate(dtypes) if isinstance(dtype, _CATEGORICAL)]


def _is_numeric(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype == nw.Boolean)


def find_columns(names: list[Any], categorical: list[int], columns: Any) -> list[int]:
    """Find the positions of the columns to encode; `categorical` are those of "auto"."""
    if isinstance(columns, str):
        if columns in names and columns not in ("auto", "all"):
            return [names.index(columns)]
        if columns not in ("auto", "all"):
            near = did_you_mean(columns, names)
            raise InputError(
                f'columns="{columns}": expected "auto", "all", a column or a list of them.{near} X has {shown(names)}.'
            )
        numbered = not any(isinstance(name, str) for name in names)  # an array that was put in a frame
        if columns == "all" or (not categorical and numbered):
            return list(range(len(names)))
        if not categorical:
            raise InputError(
                'columns="auto" found no string, categorical, boolean or object column. Integer codes have to be '
                f'named: columns={names[:2]!r}, or columns="all".'
            )
        return categorical
    if isinstance(columns, Iterable):
        columns = list(columns)
    if not isinstance(columns, list) or not columns:
        raise InputError(f'columns={columns!r}: expected "auto", "all" or a list of names or positions.')
    positions = [find_column(names, column) for column in columns]
    if len(set(positions)) < len(positions):
        raise InputError(f"columns={columns!r} names a column twice. Name each one once.")
    return positions


def called_columns(choose: Callable[[Any], Any], table: Table) -> list[Any]:
    """Choose columns by a function of the table, as in ColumnTransformer: it returns names, positions or a mask."""
    found = choose(table.native)
    if isinstance(found, str):
        return [found]
    if isinstance(found, slice):
        return list(range(len(table.names)))[found]
    found = list(found)
    is_mask = len(found) == len(table.names) and all(isinstance(one, bool | np.bool_) for one in found)
    return np.flatnonzero(found).tolist() if is_mask else found


def find_column(names: list[Any], column: Any, where: str = "columns") -> int:
    """Find the position of a column by its name or position; `where` is the parameter that names it."""
    if column in names and not isinstance(column, bool):
        return names.index(column)
    if is_number(column) and column in range(-len(names), len(names)):
        return int(column) % len(names)
    near = did_you_mean(column, names)
    raise InputError(f"{where} names {column!r}, and X has no such column.{near} It has {shown(names)}.")


def no_column(name: Any, names: list[Any]) -> InputError:
    """Make the error for a column that the table does not have."""
    return InputError(f"The table has no column {name!r}.{did_you_mean(name, names)} It has {shown(names)}.")


def did_you_mean(name: Any, names: list[Any]) -> str:
    """Ask for the names most similar to an unknown one; an empty text if none is similar."""
    lower = {str(known).lower(): known for known in names}
    near = get_close_matches(str(name).lower(), lower, n=2)
    return f" Did you mean {' or '.join(repr(lower[known]) for known in near)}?" if near else ""


def shown(names: list[Any]) -> str:
    """List the first twenty column names for a message."""
    return ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")


def name_of(y: Any) -> str | None:
    """Find the name of a target: the given one, that of its series or that of its only column; else None."""
    if isinstance(y, str):
        return y
    names = getattr(y, "columns", [getattr(y, "name", None)])
    return str(names[0]) if len(names) == 1 and names[0] not in (None, "") else None


class Named(np.ndarray[Any, Any]):
    """Values of a target that carry its name."""

    name: str | None = None

    @classmethod
    def of(cls, values: Any, name: str | None) -> Named:
        """Name some values."""
        found = np.asarray(values).view(cls)
        found.name = name
        return found


def times_as_numbers(frame: Any) -> Any:
    """Convert dates of a frame to days since 1970-01-01 in UTC, and spans of time to seconds; a missing one is NaN."""
    table = nw.from_native(frame, eager_only=True)
    found = []
    for position, dtype in enumerate(table.schema.values()):
        if isinstance(dtype, nw.Date | nw.Datetime):
            found.append(table[:, position].dt.timestamp("us").cast(nw.Float64) / 86_400e6)
        elif dtype == nw.Duration:
            found.append(table[:, position].dt.total_microseconds().cast(nw.Float64) / 1e6)
    return table.with_columns(*(column.fill_null(np.nan) for column in found)).to_native()


def make_frame(record: dict[str, Any], library: Any) -> Any:
    """Make a frame of columns, in the library that the table came in; for an array, in one that is installed."""
    if library is None:
        library = next((name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None)
        if library is None:
            raise ImportError("The result is a frame: install pandas, polars or pyarrow.")
    is_pandas = str(library).lower().endswith("pandas")
    columns = {
        name: _one_type(values, is_pandas) if isinstance(values, list) else values for name, values in record.items()
    }
    return nw.from_dict(columns, backend=library).to_native()


def _one_type(values: list[Any], is_pandas: bool) -> Any:
    """Turn values of several types, or of a type that not every library has, into text."""
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    known = [value for value in values if value is not None]
    kinds = set(map(type, known))
    if len(kinds) > 1 or kinds == {str} or not all(issubclass(kind, _OF_FRAMES) for kind in kinds):
        return [value if value is None else str(value) for value in values]
    if is_pandas and None in values and kinds and str not in kinds:
        objects = np.empty(len(values), dtype=object)  # or the missing value would make integers floats
        objects[:] = values
        return objects
    return values
