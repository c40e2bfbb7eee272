"""Distinct text in Arrow arrays: sorted and looked up without making Python strings, which would take most of a fit."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from catbayes.core.validation import Codes

__all__ = ["Text", "order_of_list", "order_of_text"]

WORD = 8
"""Bytes of a number of the machine."""


class Text(Sequence[Hashable]):
    """Distinct text as Arrow holds it, until it is read: a tuple takes many times the memory."""

    __slots__ = ("_values",)

    def __init__(self, words: Any) -> None:
        self._values = words

    @property
    def words(self) -> Any:
        """The Arrow array; None once the text was read."""
        values = self._values  # another thread may put a tuple there
        return None if isinstance(values, tuple) else values

    def _tuple(self) -> tuple[Hashable, ...]:
        values = self._values
        if not isinstance(values, tuple):
            self._values = values = tuple(values.to_pylist())
        return values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: Any) -> Any:
        return self._tuple()[place]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._tuple())

    def __eq__(self, other: object) -> bool:
        return self._tuple() == (other._tuple() if isinstance(other, Text) else other)

    def __hash__(self) -> int:
        return hash(self._tuple())

    def __repr__(self) -> str:
        return repr(self._tuple())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._tuple(),)  # whoever gets a copy may have no Arrow


def order_of_text(words: Any) -> Codes:
    """Sort distinct text, an Arrow array of large strings without gaps: the order of bytes is that of the text.

    The eight bytes after the common beginning are compared as one number, ten times as fast as text; if they do not
    tell all of it apart, Arrow sorts.
    """
    import pyarrow.compute

    if len(words) > 1:
        _, offsets, data = words.buffers()
        text = np.append(np.frombuffer(data, dtype=np.uint8), np.zeros(WORD, dtype=np.uint8))
        start = np.frombuffer(offsets, dtype=np.int64)[words.offset : words.offset + len(words) + 1]
        ends = [value.encode() for value in pyarrow.compute.min_max(words).as_py().values()]
        common = next((place for place, (a, b) in enumerate(zip(*ends, strict=False)) if a != b), len(ends[0]))
        length = np.clip(np.diff(start) - common, 0, WORD)
        numbers = np.ndarray(len(text) - WORD + 1, ">u8", text, strides=(1,))[start[:-1] + common].astype(np.uint64)
        beyond = (8 * (WORD - length)).astype(np.uint64)  # bits of the next text
        numbers = np.where(beyond < 8 * WORD, numbers >> beyond << beyond, np.uint64(0))
        order = np.argsort(numbers)
        numbers = numbers[order]
        if (numbers[1:] > numbers[:-1]).all():
            return order
    return np.asarray(pyarrow.compute.sort_indices(words).to_numpy())


def order_of_list(values: list[Any]) -> list[int]:
    """Sort distinct values of one type; text by Arrow, if it is installed."""
    if isinstance(values[0], str) and find_spec("pyarrow"):
        import pyarrow

        try:
            return list(order_of_text(pyarrow.array(values, pyarrow.large_string())).tolist())
        except UnicodeEncodeError:  # half a surrogate pair
            pass
    return sorted(range(len(values)), key=values.__getitem__)
