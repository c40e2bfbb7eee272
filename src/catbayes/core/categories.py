"""Values to codes: what the categories of a column are, and which one each row has.

Slots 0 … V-1 are the categories in sorted order, slot V is *missing*, slot V+1 is *unseen*. Rows are numbered by
the library that holds them (one hash pass in compiled code); Python only sees the distinct values.
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import repeat
from typing import Any, ClassVar
from uuid import UUID

import narwhals as nw
import numpy as np

from catbayes.core.text import Text, order_of, words_of
from catbayes.core.validation import Array, Codes
from catbayes.errors import InputError

__all__ = ["Categories", "canonical_list", "cells_of", "declared_levels", "numbers_of"]

MANY = 1_000
"""From so many words on, they are looked up without making Python strings."""


@dataclass(frozen=True, slots=True)
class Categories:
    """The distinct values of a column, and the slots of its rows."""

    values: Sequence[Hashable]
    declared: tuple[Hashable, ...] | None = None  # all levels of the column's type, in its order, if it was asked
    _index: dict[Hashable, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    listed: ClassVar[bool] = True  # whether a value is one of them or unseen, which any engine can look up
    fixed: ClassVar[bool] = False  # whether they stay when they have no rows any more

    @property
    def _slot(self) -> dict[Hashable, int]:
        """Slots by value, made when they are first asked for: a million of them take a while."""
        if not self._index:
            self._index.update(zip((*self.values, None), range(len(self.values) + 1), strict=True))
        return self._index

    @classmethod
    def of(cls, column: Any) -> tuple[Categories, Codes]:
        """Find the categories of a column, and the slot of each row."""
        codes, values = _number(column)
        categories, slots = cls.of_distinct(values)
        return categories, categories._of_rows(slots, codes)

    @classmethod
    def of_distinct(cls, values: Sequence[Any]) -> tuple[Categories, Codes]:
        """Make categories of distinct values, None for missing; returns the slot of each.

        Two of them may have one canonical spelling, and then share a slot.
        """
        words = words_of(values)
        if words is not None:
            order = order_of(words)
            slots = np.empty(len(order), dtype=np.int32)
            slots[order] = np.arange(len(order))
            if isinstance(values, list):  # of strings that Python has already
                return cls(tuple(map(values.__getitem__, order.tolist()))), slots
            return cls(Text(words.take(order))), slots
        if set(map(type, values)) == {int} and values == sorted(values):  # as arrays give them
            return cls(tuple(values)), np.arange(len(values), dtype=np.int32)
        categories = cls(_sorted({*canonical_list(values)} - {None}))
        return categories, categories.slots(values)

    @property
    def missing(self) -> int:
        """Slot of missing values."""
        return len(self.values)

    @property
    def unseen(self) -> int:
        """Slot of values that are not among the categories."""
        return len(self.values) + 1

    def to_dict(self) -> dict[str, Any]:
        """What a file holds of them but for their names."""
        return {}

    @classmethod
    def from_dict(cls, record: Any, values: Sequence[Any]) -> Categories:
        """Read what `to_dict` made."""
        return cls(values)

    @property
    def is_text(self) -> bool:
        """Whether every category is text."""
        return isinstance(self.values, Text) or set(map(type, self.values)) <= {str}

    @property
    def n_slots(self) -> int:
        """Number of slots, missing and unseen included."""
        return len(self.values) + 2

    def codes(self, column: Any) -> Codes:
        """Slot of each row of another column."""
        codes, values = _number(column)
        return self._of_rows(self.slots(values), codes)

    def slots(self, values: Sequence[Any]) -> Codes:
        """Slot of each of some values, which may repeat."""
        known = self.values
        words = words_of(values) if isinstance(known, Text) and len(values) >= MANY else None
        if isinstance(known, Text) and words is not None:
            return known.find(words, self.unseen)
        values = canonical_list(values)
        slots = map(self._slot.get, values, repeat(self.unseen))
        return np.fromiter(slots, dtype=np.int32, count=len(values))

    def _of_rows(self, slots: Codes, codes: Codes) -> Codes:
        """Slot of each row, from the number of its value among those that have these slots; -1 is missing."""
        return np.append(slots, np.int32(self.missing)).take(codes, mode="wrap")

    def unseen_values(self, column: Any, most: int = 3) -> list[Hashable]:
        """Some values of the column that are not among the categories, for a message."""
        values = canonical_list(_number(column)[1])
        return [value for value in values if value not in self._slot][:most]

    def union(self, other: Categories) -> tuple[Categories, Codes, Codes]:
        """Join two sets of categories; returns where each slot of `self` and of `other` went."""
        if None not in (self.declared, other.declared) and self.declared != other.declared:
            raise InputError(
                f"The type of a column names {list(self.declared or ())[:20]} in one table and "
                f"{list(other.declared or ())[:20]} in the other. Give both the same levels."
            )
        joint = Categories(_sorted({*self.values, *other.values}), self.declared or other.declared)
        return joint, joint.moved(self), joint.moved(other)

    def used(self, codes: Codes, rows: Any) -> tuple[Categories, Codes]:
        """The categories of some rows, and the slot of every row: other categories are unseen, as if left out."""
        used = np.unique(codes[rows & (codes < self.missing)])
        if self.fixed or len(used) == self.missing:
            return self, codes
        found = self.keep(used)
        moved = np.full(self.n_slots, found.unseen, dtype=np.int32)
        moved[used], moved[self.missing] = np.arange(len(used)), found.missing
        return found, moved[codes]

    def keep(self, slots: Codes) -> Categories:
        """Some of the categories."""
        return Categories(tuple(self.values[slot] for slot in slots), self.declared)

    def moved(self, part: Categories) -> Codes:
        """Where the slots of a part of these categories are among them."""
        slots = [self._slot[value] for value in part.values]
        return np.array([*slots, self.missing, self.unseen], dtype=np.intp)


def _sorted(values: Any) -> tuple[Hashable, ...]:
    """Put values in an order that depends on them alone; mixed types go by type name, then by text."""
    values = list(values)
    if values and isinstance(values[0], frozenset):  # < of sets is no order, and their text depends on hashes
        return tuple(sorted(values, key=lambda value: str(sorted(map(str, value)))))
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=lambda value: (type(value).__name__, str(value))))


# ------------------------------------------------------------------------------------ one spelling for every value


def canonical_list(values: Sequence[Any]) -> Sequence[Any]:
    """One spelling for every value."""
    if hasattr(values, "to_pylist"):  # text of Arrow
        return list(values.to_pylist())
    if set(map(type, values)) <= {str, int, bool, type(None)}:  # the most common kinds
        return values
    return [_canonical(value) for value in values]


def _canonical(value: Any) -> Hashable:
    """One spelling for a value, whichever library it came from; anything missing is None.

    Dates are midnights. A time with a zone is an instant, in UTC: Python compares two times of one zone by the clock,
    which at the end of summer time is the same for two instants. Times are exact to the microsecond, as in Python.
    """
    if isinstance(value, str | int):
        return value
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _canonical(value.astype(f"{value.dtype.kind}8[us]").item())
    if isinstance(value, np.generic):
        item = value.item()
        return item if isinstance(item, np.generic) else _canonical(item)  # numpy alone has long doubles
    if isinstance(value, UUID):
        return str(value)  # as databases give it
    if type(value).__name__ in {"NAType", "NaTType"} or value != value:  # NaN is not itself
        return None
    if isinstance(value, datetime.date):
        if not isinstance(value, datetime.datetime):
            return datetime.datetime(value.year, value.month, value.day)
        moment: datetime.datetime = value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
        return moment if moment.utcoffset() is None else moment.astimezone(datetime.UTC)
    if hasattr(value, "to_pytimedelta"):
        span: datetime.timedelta = value.to_pytimedelta()
        return span
    if isinstance(value, float) and value == 0.0:
        return 0.0
    return value  # type: ignore[no-any-return]


def cells_of(column: Any) -> list[Any]:
    """Cells of a column that its library holds, in Python's types; slow, so ask for distinct ones."""
    library = type(column).__module__.partition(".")[0]
    if library == "pyarrow":
        return _cells_of_arrow(column)
    if library == "polars":
        return list(column.to_list())
    if hasattr(column.dtype, "pyarrow_dtype"):  # of pandas
        return _cells_of_arrow(column.array.__arrow_array__())
    if isinstance(column, np.ndarray) and column.dtype.kind in "mM":
        column = column.astype(f"{column.dtype.kind}8[us]")
    return list(column.tolist())


def _cells_of_arrow(column: Any) -> list[Any]:
    """Without pandas, Arrow has no type of Python for nanoseconds."""
    import pyarrow

    kind, temporal = column.type, pyarrow.types
    if getattr(kind, "unit", None) == "ns":
        zone = getattr(kind, "tz", None)
        kind = pyarrow.timestamp("us", zone) if temporal.is_timestamp(kind) else kind
        kind = pyarrow.duration("us") if temporal.is_duration(kind) else kind
        column = column.cast(pyarrow.time64("us") if temporal.is_time(kind) else kind, safe=False)
    return list(column.to_pylist())


def declared_levels(column: Any) -> tuple[Hashable, ...] | None:
    """All levels of a column in the order of its type: of an ordered categorical or an enum; else None."""
    series = nw.from_native(column, series_only=True, pass_through=True)
    kind = series.dtype if isinstance(series, nw.Series) else None
    return tuple(canonical_list(list(kind.categories))) if isinstance(kind, nw.Enum) else None


def numbers_of(column: Any) -> Array:
    """One column, as its library holds it, as floats; what is missing becomes NaN."""
    series = nw.from_native(column, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        return np.asarray(series.cast(nw.Float64).fill_null(float("nan")).to_numpy(), dtype=np.float64)
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return column.astype(np.float64)
    cells = canonical_list(list(column))
    numbers = [np.nan if cell is None else cell.__float__() for cell in cells]  # text has none, though float("7") is 7
    return np.array(numbers, dtype=np.float64)


# ------------------------------------------------------------------------------------------------ numbering the rows

Numbered = tuple[Codes, Any]
"""The number of each row's value among some values, distinct but for their spelling; -1, or that of None, is missing.

Text that an Arrow array holds stays there.
"""


def _number(column: Any) -> Numbered:
    """Number the values of a column, by the library that holds it."""
    series = nw.from_native(column, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and series.dtype.is_integer() and not series.null_count():
        column = series.to_numpy()
    library = type(column).__module__.partition(".")[0]
    number = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow}.get(library, _numpy)
    try:
        return number(column)
    except TypeError as error:
        if "hash" not in str(error):
            raise
        name = getattr(column, "name", None)
        raise InputError(
            f"{'A column' if name is None else f'Column {name!r}'} holds cells that are no hashable values "
            f"({str(error)[:60]}). Turn such cells into strings or tuples, or name the column in kinds, as Tags()."
        ) from error


def _numpy(column: Any) -> Numbered:
    kind = column.dtype.kind if isinstance(column, np.ndarray) else "O"
    if kind in "iu":
        return _integers(column)
    if kind in "bfmM":
        values, codes = np.unique(column, return_inverse=True)
        return codes, cells_of(values)
    objects = column.tolist() if isinstance(column, np.ndarray) else list(column)
    if _has_times(objects):
        objects = canonical_list(objects)
    number = {value: code for code, value in enumerate(dict.fromkeys(objects))}
    return np.fromiter(map(number.__getitem__, objects), dtype=np.intp, count=len(objects)), list(number)


def _has_times(values: list[Any]) -> bool:
    """Tell whether there are times, of which Python may take two instants for one."""
    return any(issubclass(kind, datetime.datetime) for kind in set(map(type, values)))


def _integers(array: np.ndarray[Any, Any]) -> Numbered:
    """Number whole numbers: in a narrow range by counting, which is much faster than sorting."""
    low, high = (int(array.min()), int(array.max())) if len(array) else (0, 0)
    if high - low > 2 * len(array) + 1000 or high > np.iinfo(np.intp).max:
        values, codes = np.unique(array, return_inverse=True)
        return codes, values.tolist()
    shifted = array.astype(np.intp) - low
    present = np.flatnonzero(np.bincount(shifted, minlength=high - low + 1))
    code = np.empty(high - low + 1, dtype=np.int32)
    code[present] = np.arange(len(present))
    return code.take(shifted), (present + low).tolist()


def _pandas(column: Any) -> Numbered:
    if getattr(column.dtype, "storage", None) == "pyarrow":
        return _pyarrow(column.array.__arrow_array__())
    codes, values = column.factorize()
    cells = cells_of(values)
    return _numpy(column.to_numpy()) if column.dtype == object and _has_times(cells) else (codes, cells)


def _polars(column: Any) -> Numbered:
    if find_spec("pyarrow") is None or str(column.dtype) in ("Object", "Int128", "UInt128"):
        return _numpy(column.to_list())
    return _pyarrow(column.to_arrow())


def _pyarrow(column: Any) -> Numbered:
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)  # a dictionary may list a value twice, or one that no row has
    try:
        encoded = column.dictionary_encode()
    except pyarrow.ArrowNotImplementedError:  # lists, types of extensions, and narrow decimals
        return _numpy(column.to_pylist())
    if isinstance(encoded, pyarrow.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    indices = encoded.indices.cast("int64").fill_null(-1) if encoded.null_count else encoded.indices
    values = encoded.dictionary
    if str(values.type) in ("string", "large_string", "string_view"):
        return indices.to_numpy(), values.cast("large_string")
    return indices.to_numpy(), cells_of(values)
