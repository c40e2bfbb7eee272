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

from catbayes.core.validation import is_number, refuse_masked
from catbayes.errors import InputError

__all__ = [
    "CATEGORICAL",
    "Named",
    "Table",
    "called_columns",
    "check_free",
    "did_you_mean",
    "find_column",
    "find_columns",
    "make_frame",
    "name_of",
    "no_column",
    "shown",
    "spelled",
]

CATEGORICAL = (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Object)
"""Column types, as narwhals has them, that `columns="auto"` encodes."""

_OF_FRAMES = (str, int, float, bytes, datetime.datetime, datetime.time, datetime.timedelta, Decimal)
_INT64 = np.iinfo(np.int64)
_WIDEST = 10_000  # bits of a whole number that Python writes in decimal digits


@dataclass(frozen=True, slots=True)
class Table:
    """A table in memory, of any kind."""

    frame: nw.DataFrame[Any] | None
    array: np.ndarray[Any, Any] | None

    @classmethod
    def of(cls, X: Any) -> Table:
        """Wrap a frame or a two-dimensional array."""
        refuse_masked("X", X)
        if isinstance(X, np.ndarray):
            return cls(None, X)
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
        return cls(frame, None)

    @staticmethod
    def is_frame(X: Any) -> bool:
        """Tell whether X is a frame (eager or lazy), not an array or a list."""
        return bool(nw.dependencies.is_into_dataframe(X)) or _is_lazy(X)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.array) if self.array is not None else len(self._frame)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.array.shape[1] if self.array is not None else len(self._frame.columns)

    @property
    def _frame(self) -> nw.DataFrame[Any]:
        assert self.frame is not None
        return self.frame

    @property
    def native(self) -> Any:
        """The array, or the frame of its library."""
        return self.array if self.frame is None else self.frame.to_native()

    @property
    def names(self) -> list[Any]:
        """Column names; an array has positions only."""
        return list(range(self.n_columns)) if self.frame is None else list(self.frame.columns)

    @property
    def backend(self) -> Any:
        """The library that holds the frame, as narwhals names it; None for an array."""
        return None if self.frame is None else self.frame.implementation

    def take(self, rows: Any) -> Any:
        """Some of the rows, as an array or as a frame of its library."""
        return self.array[rows] if self.array is not None else self._frame[rows, :].to_native()

    def column(self, position: int) -> Any:
        """One column, as its library holds it."""
        if self.array is not None:
            return self.array[:, position]
        return self._frame[:, position].to_native()

    def categorical(self) -> list[int]:
        """Positions of the columns whose type says category; an array has no types, so all of its columns."""
        if self.frame is None:
            return list(range(self.n_columns))
        return [i for i, dtype in enumerate(self.frame.schema.values()) if isinstance(dtype, CATEGORICAL)]

    def numeric(self, positions: Sequence[int]) -> bool:
        """Tell whether all these columns hold numbers."""
        if self.array is not None:
            return self.array.dtype.kind in "iufb"
        if len(positions) == 1:  # the whole schema takes as long as all of its columns
            return _is_numeric(self._frame[:, positions[0]].dtype)
        dtypes = list(self._frame.schema.values())
        return all(_is_numeric(dtypes[position]) for position in positions)

    def values(self, position: int) -> np.ndarray[Any, Any]:
        """One column as a numpy array; a missing number becomes NaN."""
        if self.array is not None:
            return self.array[:, position]
        series = self._frame[:, position]
        if _is_numeric(series.dtype) and series.null_count():
            series = series.cast(nw.Float64).fill_null(float("nan"))
        return np.asarray(series.to_numpy())


def _is_numeric(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype == nw.Boolean)


def _is_lazy(X: Any) -> bool:
    return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)


def find_columns(names: list[Any], categorical: list[int], columns: Any) -> list[int]:
    """Positions of the columns to encode, of those with these names; `categorical` are what "auto" takes."""
    if isinstance(columns, str):
        if columns in names and columns not in ("auto", "all"):
            return [names.index(columns)]
        if columns not in ("auto", "all"):
            near = did_you_mean(columns, names)
            raise InputError(
                f'columns="{columns}": expected "auto", "all", a column or a list of them.{near} X has {shown(names)}.'
            )
        return list(range(len(names))) if columns == "all" else _find_by_type(names, categorical)
    if isinstance(columns, Iterable):
        columns = list(columns)
    if not isinstance(columns, list) or not columns:
        raise InputError(f'columns={columns!r}: expected "auto", "all" or a list of names or positions.')
    positions = [find_column(names, column) for column in columns]
    if len(set(positions)) < len(positions):
        raise InputError(f"columns={columns!r} names a column twice. Name each one once.")
    return positions


def called_columns(choose: Callable[[Any], Any], table: Table) -> list[Any]:
    """Columns that a function chooses of a table, as in ColumnTransformer: names, positions or a mask."""
    found = choose(table.array if table.frame is None else table.frame.to_native())
    if isinstance(found, str):
        return [found]
    if isinstance(found, slice):
        return list(range(len(table.names)))[found]
    found = list(found)
    is_mask = len(found) == len(table.names) and all(isinstance(one, bool | np.bool_) for one in found)
    return np.flatnonzero(found).tolist() if is_mask else found


def _find_by_type(names: list[Any], categorical: list[int]) -> list[int]:
    if not categorical and not any(isinstance(name, str) for name in names):
        return list(range(len(names)))  # columns numbered 0, 1, …: an array that was put in a frame
    if not categorical:
        raise InputError(
            'columns="auto" found no string, categorical, boolean or object column. Integer codes have to be '
            f'named: columns={names[:2]!r}, or columns="all".'
        )
    return categorical


def find_column(names: list[Any], column: Any, where: str = "columns") -> int:
    """Position of a column, by its name or its position; `where` it was named is for the message."""
    if column in names and not isinstance(column, bool):
        return names.index(column)
    if is_number(column) and column in range(-len(names), len(names)):
        return int(column) % len(names)
    near = did_you_mean(column, names)
    raise InputError(f"{where} names {column!r}, and X has no such column.{near} It has {shown(names)}.")


def check_free(names: list[str]) -> None:
    """Refuse names that an engine's queries use for columns of their own."""
    taken = [name for name in names if name.startswith("catbayes_")]
    if taken:
        raise InputError(f"Column {taken[0]!r}: names that begin with 'catbayes_' are for the queries. Rename it.")


def no_column(name: Any, names: list[Any]) -> InputError:
    """What to raise where a table lacks a column that was named."""
    return InputError(f"The table has no column {name!r}.{did_you_mean(name, names)} It has {shown(names)}.")


def did_you_mean(name: Any, names: list[Any]) -> str:
    """The names that are nearest to one that there is not, as a question; nothing if none is near."""
    lower = {str(known).lower(): known for known in names}
    near = get_close_matches(str(name).lower(), lower, n=2)
    return f" Did you mean {' or '.join(repr(lower[known]) for known in near)}?" if near else ""


def shown(names: list[Any]) -> str:
    """Column names for a message, the first twenty of them."""
    return ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")


def name_of(y: Any) -> str | None:
    """What a target is called: a name that was given for it, or that of its series or its only column; else None."""
    if isinstance(y, str):
        return y
    names = getattr(y, "columns", [getattr(y, "name", None)])
    return str(names[0]) if len(names) == 1 and names[0] not in (None, "") else None


class Named(np.ndarray[Any, Any]):
    """A target in memory that is called as another one was, before it was read."""

    name: str | None = None

    @classmethod
    def of(cls, values: Any, name: str | None) -> Named:
        """Values, by a name."""
        found = np.asarray(values).view(cls)
        found.name = name
        return found

    @classmethod
    def like(cls, y: Any, values: np.ndarray[Any, Any]) -> Named:
        """Other values, by the name of a target."""
        return cls.of(values, name_of(y))


def make_frame(record: dict[str, Any], library: Any) -> Any:
    """Make a frame of columns, in the library that the table came in; for an array, in one that is installed."""
    if library is None:
        library = next((name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None)
        if library is None:
            raise ImportError("What was asked for is a frame: install pandas, polars or pyarrow.")
    is_pandas = str(library).lower().endswith("pandas")
    columns = {
        name: _one_type(values, is_pandas) if isinstance(values, list) else values for name, values in record.items()
    }
    return nw.from_dict(columns, backend=library).to_native()


def spelled(value: Any) -> str:
    """A value as proper text; a whole number of thousands of digits, for which Python has none, in hexadecimal ones."""
    if isinstance(value, int) and value.bit_length() > _WIDEST:
        return hex(value)
    text = str(value)
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def _one_type(values: list[Any], is_pandas: bool) -> Any:
    """Names as a frame takes them: of several types, or of one that not every library has, all of them text."""
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    known = [value for value in values if value is not None]
    kinds = set(map(type, known))
    strange = kinds == {int} and not all(_INT64.min <= value <= _INT64.max for value in known)
    if len(kinds) > 1 or strange or kinds == {str} or not all(issubclass(kind, _OF_FRAMES) for kind in kinds):
        return [value if value is None else spelled(value) for value in values]
    if is_pandas and None in values and kinds and str not in kinds:
        objects = np.empty(len(values), dtype=object)  # or the missing value would make integers floats
        objects[:] = values
        return objects
    return values
