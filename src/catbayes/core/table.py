"""One face for every table in memory: names, column types, and one column at a time.

A table is a numpy array (or nested lists), or a frame that narwhals reads: pandas, polars, pyarrow. Columns are
handed out as they are, never copied into another library.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np

from catbayes.core.validation import Array, is_number
from catbayes.errors import InputError

__all__ = [
    "Named",
    "Table",
    "called_columns",
    "categorical_columns",
    "check_free",
    "did_you_mean",
    "find_column",
    "find_columns",
    "make_frame",
    "name_of",
    "no_column",
    "shown",
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
        try:
            frame = nw.from_native(X)
        except nw.exceptions.DuplicateError as error:
            raise InputError(f"Column names must be unique. {error}. Rename the columns that repeat.") from error
        except TypeError as error:
            raise InputError(
                f"X is a {type(X).__name__}: expected a two-dimensional array or a frame of pandas, polars or pyarrow. "
                "Make one of it, such as X.to_frame() of a series and pandas.DataFrame(X) of a dictionary."
            ) from error
        if isinstance(frame, nw.LazyFrame):
            raise InputError("X is a lazy frame: call .collect() first.")
        return cls(frame, None, list(frame.columns), len(frame))

    @staticmethod
    def is_frame(X: Any) -> bool:
        """Tell whether X is a frame (eager or lazy), not an array or a list."""
        return bool(nw.dependencies.is_into_dataframe(X)) or isinstance(
            nw.from_native(X, pass_through=True), nw.LazyFrame
        )

    @property
    def native(self) -> Any:
        """The array, or the frame of its library."""
        return self.array if self.frame is None else self.frame.to_native()

    @property
    def backend(self) -> Any:
        """The library that holds the frame, as narwhals names it; None for an array."""
        return None if self.frame is None else self.frame.implementation

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
        if len(positions) == 1:  # the whole schema takes as long as all of its columns
            return _is_numeric(self.frame[:, positions[0]].dtype)
        dtypes = list(self.frame.schema.values())
        return all(_is_numeric(dtypes[position]) for position in positions)

    def values(self, position: int) -> np.ndarray[Any, Any]:
        """One column as a numpy array; a missing number becomes NaN."""
        if self.array is not None:
            return self.array[:, position]
        series = self.frame[:, position]
        if _is_numeric(series.dtype) and series.null_count():
            series = series.cast(nw.Float64).fill_null(float("nan"))
        return np.asarray(series.to_numpy())

    def numbers(self, position: int) -> Array | None:
        """One column as floats; None if it holds anything else: of an array of objects, by its cells."""
        values = self.values(position)
        if not self.numeric([position]):
            if self.frame is not None or any(isinstance(cell, str | bool | np.bool_) for cell in values):
                return None
            try:
                return np.asarray(values, dtype=np.float64)
            except (TypeError, ValueError):
                return None
        return np.asarray(values, dtype=np.float64)


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


def check_free(names: list[str]) -> None:
    """Require names other than those that the queries of engines add."""
    taken = [name for name in names if name.startswith("catbayes_")]
    if taken:
        raise InputError(f"Column {taken[0]!r}: names that begin with 'catbayes_' are used by the queries. Rename it.")


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

    @classmethod
    def like(cls, y: Any, values: np.ndarray[Any, Any]) -> Named:
        """Give other values the name of a target."""
        return cls.of(values, name_of(y))


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
