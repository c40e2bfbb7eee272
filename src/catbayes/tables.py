"""One face for every table in memory: names, column types, and one column at a time.

A table is a numpy array (or nested lists), or a frame that narwhals reads: pandas, polars, pyarrow. Columns are
handed out as they are, never copied into another library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np

from catbayes._validation import is_number
from catbayes.errors import InputError

__all__ = [
    "CATEGORICAL",
    "Group",
    "Table",
    "check_free",
    "find_columns",
    "find_groups",
    "is_column_list",
    "make_frame",
    "no_column",
    "shown",
]

INTERACTIONS = ("pairs", "triples", "auto")
MOST_INTERACTIONS = 500
CATEGORICAL = (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Object)
"""Column types, as narwhals has them, that `columns="auto"` encodes."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table in memory, of any kind.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes.tables import Table
    >>> table = Table.of(pd.DataFrame({"city": ["Oslo", "Rome"], "age": [31, 45]}))
    >>> table.names, table.n_rows, table.categorical()
    (['city', 'age'], 2, [0])
    """

    frame: nw.DataFrame[Any] | None
    array: np.ndarray[Any, Any] | None

    @classmethod
    def of(cls, X: Any) -> Table:
        """Wrap a frame or a two-dimensional array."""
        if isinstance(X, np.ndarray):
            return cls(None, X)
        try:
            frame = nw.from_native(X)
        except nw.exceptions.DuplicateError as error:
            raise InputError(f"Column names must be unique. {error}. Rename the columns that repeat.") from error
        except TypeError as error:
            raise InputError(
                f"X is a {type(X).__name__}: expected a two-dimensional array or a frame of pandas, polars or pyarrow."
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
    def names(self) -> list[Any]:
        """Column names; an array has positions only."""
        return list(range(self.n_columns)) if self.frame is None else list(self.frame.columns)

    @property
    def backend(self) -> Any:
        """The library that holds the frame, as narwhals names it; None for an array."""
        return None if self.frame is None else self.frame.implementation

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
        dtypes = [self._frame[:, i].dtype for i in positions]  # the whole schema would be read once for every column
        return all(dtype.is_numeric() or dtype == nw.Boolean for dtype in dtypes)

    def values(self, position: int) -> np.ndarray[Any, Any]:
        """One column as a numpy array; a missing number becomes NaN."""
        if self.array is not None:
            return self.array[:, position]
        series = self._frame[:, position]
        if self.numeric([position]) and series.null_count():
            series = series.cast(nw.Float64).fill_null(float("nan"))
        return np.asarray(series.to_numpy())


def _is_lazy(X: Any) -> bool:
    return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)


def find_columns(names: list[Any], categorical: list[int], columns: Any) -> list[int]:
    """Positions of the columns to encode, of those with these names; `categorical` are what "auto" takes.

    Examples
    --------
    >>> from catbayes.tables import find_columns
    >>> find_columns(["city", "age", "shop"], [0], "auto"), find_columns(["city", "age", "shop"], [0], ["shop", 0])
    ([0], [2, 0])
    """
    if isinstance(columns, str):
        if columns not in ("auto", "all"):
            raise InputError(f'columns="{columns}": expected "auto", "all" or a list, such as columns=["{columns}"].')
        return list(range(len(names))) if columns == "all" else _find_by_type(names, categorical)
    if isinstance(columns, Iterable):
        columns = list(columns)
    if not isinstance(columns, list) or not columns:
        raise InputError(f'columns={columns!r}: expected "auto", "all" or a list of names or positions.')
    positions = [_find_column(names, column) for column in columns]
    if len(set(positions)) < len(positions):
        raise InputError(f"columns={columns!r} names a column twice. Name each one once.")
    return positions


def _find_by_type(names: list[Any], categorical: list[int]) -> list[int]:
    if not categorical and not any(isinstance(name, str) for name in names):
        return list(range(len(names)))  # columns numbered 0, 1, …: an array that was put in a frame
    if not categorical:
        raise InputError(
            'columns="auto" found no string, categorical, boolean or object column. Integer codes have to be '
            f'named: columns={names[:2]!r}, or columns="all".'
        )
    return categorical


def _find_column(names: list[Any], column: Any) -> int:
    if column in names and not isinstance(column, bool):
        return names.index(column)
    if is_number(column) and column in range(-len(names), len(names)):
        return int(column) % len(names)
    raise InputError(f"columns names {column!r}, and X has no such column. It has {shown(names)}.")


@dataclass(frozen=True, slots=True)
class Group:
    """Columns whose values together are the categories of one encoded column.

    A column alone stands at its position. So does one in a hierarchy, behind its ancestors, the farthest first. An
    interaction has a position behind all columns of the table.

    Examples
    --------
    >>> Group(position=1, name="town", parts=(0, 1))  # within the column at position 0
    Group(position=1, name='town', parts=(0, 1))
    """

    position: int
    name: Any
    parts: tuple[int, ...]


def find_groups(
    names: list[Any],
    categorical: list[int],
    columns: Any,
    interactions: Any = None,
    hierarchy: Any = None,
    aside: Sequence[int] = (),
) -> list[Group]:
    """What to encode of a table with these columns; those set `aside` are not.

    Examples
    --------
    >>> for group in find_groups(["user", "door", "age"], [0, 1], "auto", interactions="pairs"):
    ...     print(group.name, group.position, group.parts)
    user 0 (0,)
    door 1 (1,)
    ('user', 'door') 3 (0, 1)
    """
    categorical = [position for position in categorical if position not in aside]
    positions = [position for position in find_columns(names, categorical, columns) if position not in aside]
    ancestors = find_ancestors(names, positions, hierarchy)
    groups = [Group(position, names[position], (*ancestors.get(position, ()), position)) for position in positions]
    found = find_interactions(names, positions, interactions)
    return groups + [
        Group(len(names) + number, tuple(names[part] for part in parts), parts) for number, parts in enumerate(found)
    ]


def find_ancestors(names: list[Any], columns: list[int], hierarchy: Any) -> dict[int, tuple[int, ...]]:
    """Positions of the columns that hold the ancestors of each column in a hierarchy, the farthest first."""
    found: dict[int, tuple[int, ...]] = {}
    for child, parents in _hierarchies(hierarchy).items():
        position = _find_column(names, child)
        if position not in columns:
            raise InputError(f"hierarchy names {child!r}, which is not encoded. Name it among the columns.")
        if not is_column_list(parents):
            continue  # a table of parents, which the encoder reads
        above = tuple(reversed([_find_column(names, parent) for parent in parents]))
        if len({*above, position}) < len(above) + 1:
            raise InputError(f"hierarchy={{{child!r}: {parents!r}}} names a column twice. Name each one once.")
        found[position] = above
    return found


def _hierarchies(hierarchy: Any) -> Mapping[Any, Any]:
    if hierarchy is None:
        return {}
    if not isinstance(hierarchy, Mapping):
        raise InputError(
            f"hierarchy={hierarchy!r}: expected a dictionary of columns, each with its parent columns or a table of "
            'parents, such as {"postcode": ["region", "country"]}.'
        )
    return hierarchy


def is_column_list(parents: Any) -> bool:
    """Tell whether the parents of a column are named as columns of the table, and not given as a table.

    Examples
    --------
    >>> is_column_list(["region", "country"]), is_column_list({"Oslo": "Norway"})
    (True, False)
    """
    return isinstance(parents, list | tuple) and len(parents) > 0 and not any(isinstance(p, Mapping) for p in parents)


def find_interactions(names: list[Any], columns: list[int], interactions: Any) -> list[tuple[int, ...]]:
    """Positions of the columns of each interaction: those named, or all pairs (and triples) of the encoded columns."""
    if interactions is None:
        return []
    if isinstance(interactions, str):
        if interactions not in INTERACTIONS:
            raise _no_interactions(interactions)
        orders = (2, 3) if interactions == "triples" else (2,)
        found = [tuple(parts) for order in orders for parts in combinations(columns, order)]
        if len(found) > MOST_INTERACTIONS:
            raise InputError(
                f'interactions="{interactions}" makes {len(found)} interactions of {len(columns)} columns, more than '
                f"{MOST_INTERACTIONS}: name those that matter, such as interactions=[{tuple(names[:2])!r}]."
            )
        return found
    if not isinstance(interactions, Iterable):
        raise _no_interactions(interactions)
    found = []
    for interaction in interactions:
        if isinstance(interaction, str) or not isinstance(interaction, Iterable):
            raise _no_interactions(interactions)
        parts = tuple(_find_column(names, column) for column in interaction)
        if len(parts) < 2 or len(set(parts)) < len(parts):
            raise InputError(f"interactions names {interaction!r}: expected two or more columns, each one once.")
        found.append(parts)
    if len({frozenset(parts) for parts in found}) < len(found):
        raise InputError(f"interactions={interactions!r} names a combination twice. Name each one once.")
    return found


def _no_interactions(given: Any) -> InputError:
    return InputError(
        f'interactions={given!r}: expected None, "pairs", "triples", "auto", or a list of tuples of columns, such as '
        '[("user", "door")].'
    )


def check_free(names: list[str]) -> None:
    """Refuse names that an engine's queries use for columns of their own.

    Examples
    --------
    >>> from catbayes.tables import check_free
    >>> check_free(["city", "age"])
    """
    taken = [name for name in names if name.startswith("catbayes_")]
    if taken:
        raise InputError(f"Column {taken[0]!r}: names that begin with 'catbayes_' are for the queries. Rename it.")


def no_column(name: Any, names: list[Any]) -> InputError:
    """What to raise where a table lacks a column that was named.

    Examples
    --------
    >>> from catbayes.tables import no_column
    >>> str(no_column("town", ["city", "age"]))
    "The table has no column 'town'. It has 'city', 'age'."
    """
    return InputError(f"The table has no column {name!r}. It has {shown(names)}.")


def shown(names: list[Any]) -> str:
    """Column names for a message, the first twenty of them.

    Examples
    --------
    >>> from catbayes.tables import shown
    >>> shown(["city", "age"])
    "'city', 'age'"
    """
    return ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")


def make_frame(record: dict[str, Any], library: Any) -> Any:
    """Make a frame of columns, in the library that the table came in; for an array, in one that is installed.

    Examples
    --------
    >>> from catbayes.tables import make_frame
    >>> make_frame({"city": ["Oslo", "Rome"], "count": [3, 4]}, "polars").shape
    (2, 2)
    """
    if library is None:
        library = next((name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None)
        if library is None:
            raise ImportError("What was asked for is a frame: install pandas, polars or pyarrow.")
    is_pandas = str(library).lower().endswith("pandas")
    columns = {
        name: _one_type(values, is_pandas) if isinstance(values, list) else values for name, values in record.items()
    }
    return nw.from_dict(columns, backend=library).to_native()


def _one_type(values: list[Any], is_pandas: bool) -> Any:
    """Names as a frame takes them: of several types, all of them text."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        return [value if value is None else str(value) for value in values]
    if is_pandas and None in values and kinds and str not in kinds:
        objects = np.empty(len(values), dtype=object)  # or the missing value would make integers floats
        objects[:] = values
        return objects
    return values
