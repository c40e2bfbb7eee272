"""Distinct text in Arrow arrays: sorted and looked up without making Python strings, which would take most of a fit."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from catbayes.core.validation import Codes

__all__ = ["Text", "order_of", "words_of"]

WORD = 8
"""Bytes of a number of the machine."""


class Text(Sequence[Hashable]):
    """Distinct text as Arrow holds it: a tuple takes many times the memory, and is made when it is read."""

    def __init__(self, words: Any) -> None:
        self.words = words

    @cached_property
    def _tuple(self) -> tuple[Hashable, ...]:
        return tuple(self.words.to_pylist())

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, place: Any) -> Any:
        return self._tuple[place]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._tuple)

    def __eq__(self, other: object) -> bool:
        return self._tuple == (other._tuple if isinstance(other, Text) else other)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._tuple,)  # whoever gets a copy may have no Arrow

    def find(self, words: Any, unknown: int) -> Codes:
        """Find the place of each word."""
        import pyarrow.compute

        places = pyarrow.compute.index_in(words, self.words)
        return np.asarray(places.fill_null(unknown).to_numpy())


def words_of(values: Sequence[Any]) -> Any:
    """Turn values that are all text into an Arrow array of large strings, if Arrow is installed; else None."""
    if hasattr(values, "to_pylist"):
        return values
    if set(map(type, values)) != {str} or find_spec("pyarrow") is None:
        return None
    import pyarrow

    try:
        return pyarrow.array(values, pyarrow.large_string())
    except UnicodeEncodeError:  # half a surrogate pair
        return None


def order_of(words: Any) -> Codes:
    """Sort distinct text: the order of bytes is that of the text.

    Eight bytes of each, after those that all begin with, are compared as one number, ten times as fast as text. If two
    texts have the same number, Arrow sorts.
    """
    import pyarrow.compute

    if len(words) > 1:
        first, last = (value.encode() for value in pyarrow.compute.min_max(words).as_py().values())
        pairs = enumerate(zip(first, last, strict=False))
        numbers = _numbers(words, next((place for place, (a, b) in pairs if a != b), len(first)))
        order = np.argsort(numbers)
        numbers = numbers[order]
        if (numbers[1:] > numbers[:-1]).all():
            return order
    return np.asarray(pyarrow.compute.sort_indices(words).to_numpy())


def _numbers(words: Any, skip: int) -> Any:
    """Read eight bytes of each word, after those to skip, as a number; the order of numbers is that of the bytes."""
    _, offsets, data = words.buffers()
    text = np.append(np.frombuffer(data or b"", dtype=np.uint8), np.zeros(WORD, dtype=np.uint8))
    start = np.frombuffer(offsets, dtype=np.int64)[words.offset : words.offset + len(words) + 1]
    length = np.clip(np.diff(start) - skip, 0, WORD)
    every = np.ndarray(len(text) - WORD + 1, ">u8", text, strides=(1,))
    numbers = every[np.minimum(start[:-1] + skip, len(every) - 1)].astype(np.uint64)
    beyond = (8 * (WORD - length)).astype(np.uint64)  # bits of the next text
    return np.where(beyond < 8 * WORD, numbers >> beyond << beyond, np.uint64(0))
