"""Distinct text in Arrow arrays: sorted and looked up without making Python strings, which would take most of a fit.

Eight bytes of each text are compared as one number, ten times as fast as text.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from catbayes.core.validation import Codes

__all__ = ["Text", "order_of_list", "order_of_text"]

WORD = 8
"""Bytes of a number of the machine."""

Numbers = npt.NDArray[np.uint64]


class Text(Sequence[Hashable]):
    """Distinct, sorted text as Arrow holds it: a tuple takes many times the memory, and is made when it is read."""

    __slots__ = ("_numbers", "_read", "words")

    def __init__(self, words: Any) -> None:
        self.words = words
        self._read: tuple[Hashable, ...] | None = None
        self._numbers: tuple[int, Numbers] | None = None

    def _tuple(self) -> tuple[Hashable, ...]:
        if self._read is None:
            self._read = tuple(self.words.to_pylist())
        return self._read

    def __len__(self) -> int:
        return len(self.words)

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

    def find(self, words: Any) -> tuple[Codes, npt.NDArray[np.bool_]]:
        """Find the place of each word, -1 if it is not one of these; the second result marks words not decided.

        A word is not decided if several of these have its number.
        """
        import pyarrow.compute

        if self._numbers is None:
            common = _common_length(self.words)
            self._numbers = common, _numbers(self.words, common)
        common, numbers = self._numbers
        wanted = _numbers(words, common)
        place = np.searchsorted(numbers, wanted)
        at = np.minimum(place, len(numbers) - 1)
        equal = pyarrow.compute.equal(self.words.take(pyarrow.array(at)), words).to_numpy(zero_copy_only=False)
        repeated = numbers[np.minimum(place + 1, len(numbers) - 1)] == wanted
        return np.where(equal, at, -1), repeated & ~equal & (place + 1 < len(numbers))


def _common_length(words: Any) -> int:
    """Count the bytes that all words begin with."""
    import pyarrow.compute

    first, last = (value.encode() for value in pyarrow.compute.min_max(words).as_py().values())
    return next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))


def _numbers(words: Any, skip: int) -> Numbers:
    """Read eight bytes of each word, after those to skip, as a number; the order of numbers is that of the bytes."""
    _, offsets, data = words.buffers()
    text = np.append(np.frombuffer(data or b"", dtype=np.uint8), np.zeros(WORD, dtype=np.uint8))
    start = np.frombuffer(offsets, dtype=np.int64)[words.offset : words.offset + len(words) + 1]
    length = np.clip(np.diff(start) - skip, 0, WORD)
    every = np.ndarray(len(text) - WORD + 1, ">u8", text, strides=(1,))
    numbers = every[np.minimum(start[:-1] + skip, len(every) - 1)].astype(np.uint64)
    beyond = (8 * (WORD - length)).astype(np.uint64)  # bits of the next text
    return np.where(beyond < 8 * WORD, numbers >> beyond << beyond, np.uint64(0))


def order_of_text(words: Any) -> Codes:
    """Sort distinct text, an Arrow array of large strings without gaps: the order of bytes is that of the text.

    If two texts have the same number, Arrow sorts.
    """
    import pyarrow.compute

    if len(words) > 1:
        numbers = _numbers(words, _common_length(words))
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
