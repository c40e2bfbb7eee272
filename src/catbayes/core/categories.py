"""Values to codes: what the categories of a column are, and which one each row has.

Slots 0 … V-1 are the categories in sorted order, slot V is *missing*, slot V+1 is *unseen*. Rows are numbered by
the library that holds them (one hash pass in compiled code); Python only ever sees the distinct values.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import islice, repeat
from operator import lt
from typing import Any, ClassVar, NamedTuple
from uuid import UUID

import narwhals as nw
import numpy as np

from catbayes.core.table import spelled
from catbayes.core.times import by_the_clock, cells_of, python_time
from catbayes.core.validation import Array, Codes
from catbayes.core.views import Views, same_rows, views_of, words_of
from catbayes.core.words import Dictionary, Values, order_of, order_of_arrow, order_of_list, ranks
from catbayes.errors import InputError

__all__ = ["Categories", "canonical_list", "declared_levels", "numbers_of"]


MANY = 10_000
"""From so many categories on, a dict of them lies all over the memory, and takes long to look up."""


TIMES = datetime.date, datetime.timedelta, np.datetime64, np.timedelta64
"""What tells a time or a span, whichever library it came from."""


@dataclass(frozen=True, slots=True)
class Categories:
    """The distinct values of a column, and the slots of its rows."""

    values: Sequence[Hashable]
    declared: tuple[Hashable, ...] | None = None  # all that the type of the column names, in its order, if it was asked
    _index: dict[Hashable, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _words: list[Dictionary | None] = field(default_factory=list, init=False, repr=False, compare=False)

    listed: ClassVar[bool] = True  # whether a value is one of them or unseen, which any engine can look up
    fixed: ClassVar[bool] = False  # whether they stay when they have no rows any more

    @property
    def _slot(self) -> dict[Hashable, int]:
        """Slots by value, made when they are first asked for: a million of them take a while."""
        if not self._index:
            self._index.update(zip((*self.values, None), range(len(self.values) + 1), strict=True))
        return self._index

    @property
    def _dictionary(self) -> Dictionary | None:
        """Slots by word, for many of them at a time; None if there are few, or something else than words."""
        if not self._words:
            many = len(self.values) >= MANY and self.is_text
            self._words.append(Dictionary.of(self.values) if many else None)
        return self._words[0]

    @classmethod
    def of(cls, column: Any) -> tuple[Categories, Codes]:
        """Find the categories of a column, and the slot of each row."""
        found = _number(column)
        if found.words is not None:
            values, slots = _in_order(found.words)
            categories = cls(values)
        elif found.plain:
            return cls(found.values), found.filled()
        else:
            categories, slots = cls.of_distinct(found.values)
        return categories, np.append(slots, np.int32(categories.missing)).take(found.codes, mode="wrap")

    @classmethod
    def of_distinct(cls, values: Sequence[Any]) -> tuple[Categories, Codes]:
        """Make categories of distinct values, None for missing; returns the slot of each.

        Two of them may have one canonical spelling, and then share a slot.
        """
        values = list(values)
        kinds = set(map(type, values))
        if kinds not in ({str}, {int}):  # values that may be missing, or equal in two spellings
            values = canonical_list(values)
            categories = cls(_sorted(set(values) - {None}))
            return categories, categories._place(np.arange(len(values)), values)
        if all(map(lt, values, islice(values, 1, None))):  # they came in order
            return cls(tuple(values)), np.arange(len(values), dtype=np.int32)
        order = order_of_list(values) if kinds == {str} else order_of(values)
        return cls(tuple(map(values.__getitem__, order.tolist()))), ranks(order)

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

    def labels(self) -> list[Any]:
        """What each slot is called; None for missing and unseen."""
        return [*self.values, None, None]

    @property
    def is_text(self) -> bool:
        """Whether every category is text."""
        known = isinstance(self.values, Values) and self.values.words is not None  # and nobody has to read them
        return known or set(map(type, self.values)) <= {str}

    @property
    def n_slots(self) -> int:
        """Number of slots, missing and unseen included."""
        return len(self.values) + 2

    def codes(self, column: Any) -> Codes:
        """Slot of each row of another column."""
        found = _number(column)
        numbers = self._dictionary if found.words is not None else None
        if numbers is None:
            return self._place(found.codes, found.listed())
        slots = np.append(numbers.find(found.words, self.unseen), np.int32(self.missing))
        return np.asarray(slots.take(found.codes, mode="wrap"))

    def slots(self, values: list[Any]) -> Codes:
        """Slot of each of some values, which may repeat."""
        return self._place(np.arange(len(values)), canonical_list(values))

    def strangers(self, column: Any, most: int = 3) -> list[Hashable]:
        """Some values of the column that are not among the categories, for a message."""
        values = _number(column).listed()
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

    def keep(self, slots: Codes) -> Categories:
        """Some of the categories."""
        return Categories(tuple(self.values[slot] for slot in slots), self.declared)

    def keep_used(self, slots: Codes) -> tuple[Categories, Codes]:
        """The categories that some slots name, and where those slots went; missing stays missing."""
        used = np.unique(slots[slots < self.missing])
        return self.keep(used), np.where(slots == self.missing, len(used), np.searchsorted(used, slots))

    def moved(self, part: Categories) -> Codes:
        """Where the slots of a part of these categories are among them."""
        slots = [self._slot[value] for value in part.values]
        return np.array([*slots, self.missing, self.unseen], dtype=np.intp)

    def _place(self, codes: Codes, values: Sequence[Hashable]) -> Codes:
        """Translate codes into `values` (None is missing, -1 too) into slots of the categories."""
        slots = np.fromiter(map(self._slot.get, values, repeat(self.unseen)), dtype=np.int32, count=len(values))
        return np.asarray(np.append(slots, np.int32(self.missing))[codes])  # the last entry, -1, is missing


def _sorted(values: Any) -> tuple[Hashable, ...]:
    """Put values in an order that depends on them alone; mixed types go by type name, then by text."""
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=lambda value: (type(value).__name__, spelled(value))))


class _Numbered(NamedTuple):
    """The number of each row's value among some values, which may repeat; -1, or that of None, is missing."""

    codes: Codes
    values: Sequence[Any]
    plain: bool = False  # whether the values are text or whole numbers that differ, in their order
    words: Any = None  # in the place of values, text that differs, in any order: an Arrow array of large strings

    def listed(self) -> Sequence[Any]:
        """The values, one spelling for each."""
        if self.words is not None:
            return Values(self.words)
        return self.values if self.plain else canonical_list(list(self.values))

    def filled(self) -> Codes:
        """Codes of 32 bits in which missing is a number too, behind those of the values."""
        codes = self.codes.astype(np.int32, copy=False)
        return np.where(codes < 0, np.int32(len(self.values)), codes) if codes.min(initial=0) < 0 else codes


def _number(column: Any) -> _Numbered:
    """Number the values of a column, by the library that holds it."""
    library = type(column).__module__.partition(".")[0]
    number = _LIBRARIES.get(library, _numpy)
    try:
        return number(column)
    except TypeError as error:
        if "hash" not in str(error):
            raise
        raise InputError(
            f"A category must be hashable, and this column holds another cell: {str(error)[:60]}. "
            "Turn such cells into strings or tuples first."
        ) from error


def canonical_list(values: list[Any]) -> list[Any]:
    """One spelling for every value."""
    if set(map(type, values)) <= {str, int, bool, type(None)}:  # nothing to do for the most common kinds
        return values
    return [_canonical(value) for value in values]


def declared_levels(column: Any) -> tuple[Hashable, ...] | None:
    """All levels of a column in the order that its type says: of an ordered categorical or an enum; else None."""
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


def _canonical(value: Any) -> Hashable:
    """One spelling for a value, whichever library it came from; anything missing is None."""
    if isinstance(value, str | int):
        return value
    if isinstance(value, TIMES):
        moment: Hashable = python_time(value)
        return moment
    if isinstance(value, np.floating):
        return _canonical(float(value))  # the item of a longdouble is another longdouble
    if isinstance(value, np.complexfloating):
        return _canonical(complex(value))
    if isinstance(value, np.generic):
        return _canonical(value.item())
    if isinstance(value, UUID):
        return str(value)  # as databases give it
    if type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if value != value:  # NaN
        return None
    if isinstance(value, float) and value == 0.0:
        return 0.0
    return value  # type: ignore[no-any-return]


def _numpy(column: Any) -> _Numbered:
    kind = column.dtype.kind if isinstance(column, np.ndarray) else "O"
    if kind in "iu":
        return _integers(column)
    if kind in "bfmM":
        values, codes = np.unique(column, return_inverse=True)
        return _Numbered(codes, list(values) if kind == "f" else cells_of(values))
    objects = list(column) if not isinstance(column, np.ndarray) else column.tolist()
    distinct = dict.fromkeys(objects)
    if by_the_clock(distinct):
        objects = canonical_list(objects)
        distinct = dict.fromkeys(objects)
    number = {value: code for code, value in enumerate(distinct)}
    codes = np.fromiter(map(number.__getitem__, objects), dtype=np.intp, count=len(objects))
    return _Numbered(codes, list(number))


def _integers(array: np.ndarray[Any, Any]) -> _Numbered:
    """Whole numbers in a narrow range are their own codes; others are sorted."""
    low, high = (int(array.min()), int(array.max())) if len(array) else (0, 0)
    if high - low > 2 * len(array) + 1000 or high > np.iinfo(np.intp).max:
        values, codes = np.unique(array, return_inverse=True)
        return _Numbered(codes, Values(values), True)
    shifted = array.astype(np.intp) - low
    present = np.flatnonzero(np.bincount(shifted, minlength=high - low + 1))
    code = np.empty(high - low + 1, dtype=np.int32)
    code[present] = np.arange(len(present))
    return _Numbered(code.take(shifted), Values(present + low), True)


def _pandas(column: Any) -> _Numbered:
    if str(column.dtype).startswith(("list", "large_list", "fixed_size_list", "struct", "map")):
        raise TypeError(f"unhashable type: {column.dtype}")
    if getattr(column.dtype, "storage", None) == "pyarrow":  # strings
        return _pyarrow(column.array.__arrow_array__())
    codes, values = column.factorize(use_na_sentinel=True)
    cells = cells_of(values)
    if column.dtype == object and by_the_clock(cells):
        return _numpy(column.to_numpy())
    return _Numbered(codes, cells)


def _polars(column: Any) -> _Numbered:
    import polars

    if column.dtype.is_nested():
        raise TypeError(f"unhashable type: {column.dtype}")
    if column.null_count():
        known = _polars(column.drop_nulls())
        codes = np.full(len(column), -1, dtype=np.intp)
        codes[column.is_not_null().to_numpy()] = known.codes
        return known._replace(codes=codes)
    text = column.dtype == polars.String
    if text and _encodes_views():
        return _pyarrow(column.to_arrow(compat_level=polars.CompatLevel.newest()))
    numbers = (column.cast(polars.Categorical) if text else column).to_physical()
    machine = numbers.dtype.is_float() or numbers.dtype.is_integer() or numbers.dtype == polars.Boolean
    if not machine or "128" in str(numbers.dtype):
        return _numpy(column.to_list())  # decimals, bytes, objects
    found = _numpy(numbers.to_numpy())
    if column.dtype.is_integer():
        return found
    row = np.empty(len(found.values), dtype=np.intp)
    row[found.codes] = np.arange(len(column))  # some row of each code
    distinct = column[row]
    if not text:
        return _Numbered(found.codes, cells_of(distinct))
    order = distinct.arg_sort()
    return _Numbered(ranks(order.to_numpy()).take(found.codes), tuple(distinct[order].to_list()), True)


@cache
def _encodes_views() -> bool:
    """Whether there is an Arrow that numbers text as polars holds it, which saves a copy, and polars a detour."""
    import polars

    if find_spec("pyarrow") is None:
        return False
    import pyarrow

    try:
        polars.Series(["a"]).to_arrow(compat_level=polars.CompatLevel.newest()).dictionary_encode()
    except (pyarrow.ArrowException, KeyError):  # old ones have no such type
        return False
    return True


def _pyarrow(column: Any) -> _Numbered:
    import pyarrow
    import pyarrow.compute

    if pyarrow.types.is_nested(column.type):
        raise TypeError(f"unhashable type: {column.type}")
    views = views_of(column) if str(column.type) == "string_view" and isinstance(column, pyarrow.Array) else None
    if views is not None:
        return _short_text(views)
    declared = pyarrow.types.is_dictionary(column.type)
    try:
        encoded = column if declared else column.dictionary_encode()
    except pyarrow.ArrowNotImplementedError:  # types of extensions, and narrow decimals
        return _numpy(column.to_pylist())
    if isinstance(encoded, pyarrow.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    gaps = encoded.null_count > 0
    codes = (encoded.indices.cast("int64").fill_null(-1) if gaps else encoded.indices).to_numpy(zero_copy_only=False)
    if declared:  # a dictionary may list values that no row has
        values = cells_of(encoded.dictionary)
        found = _integers(codes)
        return _Numbered(found.codes, [None if code < 0 else values[code] for code in found.values])
    if not _is_text(column.type):
        return _Numbered(codes, cells_of(encoded.dictionary))
    return _Numbered(codes, [], words=encoded.dictionary.cast("large_string"))


def _short_text(views: Views) -> _Numbered:
    """Text that lies in its views, by these."""
    first = same_rows(views)
    distinct = np.flatnonzero(first == np.arange(len(first)))
    number = np.empty(len(first), dtype=np.int32)
    number[distinct] = np.arange(len(distinct))
    return _Numbered(number.take(first), [], words=words_of(views[distinct]))


def _in_order(words: Any) -> tuple[Values, Codes]:
    """Text of Arrow in its order, and the place of each in it."""
    import pyarrow

    order = order_of_arrow(words)
    return Values(words.take(pyarrow.array(order))), ranks(order)


def _is_text(kind: Any) -> bool:
    """Whether a type of Arrow is one of its strings."""
    return str(kind) in ("string", "large_string", "string_view")


_LIBRARIES: dict[str, Callable[[Any], _Numbered]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _pyarrow,
}
