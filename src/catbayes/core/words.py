"""Words as numbers of the machine: sorted by where they begin to differ, and looked up, eight bytes at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from catbayes.core.validation import Codes

__all__ = ["Dictionary", "Values", "order_of", "order_of_arrow", "order_of_list", "ranks"]

WORD = 8
"""Bytes of a number of the machine."""
LONGEST = 64
"""Bytes of words that are looked up as numbers, at most."""
CROWD = 64
"""Words whose numbers begin with the same bits, at most: they are looked at one after the other."""
MIXING = np.uint64(0x9E3779B97F4A7C15)
"""An odd number by which all bits of a product depend on those below them."""


def ranks(order: Codes) -> Codes:
    """Place of each of some values in their order."""
    found = np.empty(len(order), dtype=np.int32)
    found[order] = np.arange(len(order))
    return found


class Values(Sequence[Hashable]):
    """Different values as Arrow or numpy holds them, until somebody reads one: a tuple takes many times the memory."""

    __slots__ = ("_held",)

    def __init__(self, held: Any) -> None:
        self._held = held

    @property
    def words(self) -> Any:
        """The array of Arrow, if there is one."""
        held = self._held  # another thread may put a tuple there
        return held if hasattr(held, "to_pylist") else None

    def _tuple(self) -> tuple[Hashable, ...]:
        held = self._held
        if not isinstance(held, tuple):
            self._held = held = tuple(held.to_pylist() if hasattr(held, "to_pylist") else held.tolist())
        return held

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, place: Any) -> Any:
        return self._tuple()[place]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._tuple())

    def __eq__(self, other: object) -> bool:
        return self._tuple() == other._tuple() if isinstance(other, Values) else self._tuple() == other

    def __hash__(self) -> int:
        return hash(self._tuple())

    def __repr__(self) -> str:
        return repr(self._tuple())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._tuple(),)  # whoever gets a copy may have no Arrow


def order_of_list(values: list[str]) -> Codes:
    """The numbers of different words in the order of the words."""
    text = "".join(values)
    if text and text.isascii():
        length = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
        order = _by_word(np.frombuffer(text.encode(), dtype=np.uint8), np.cumsum(length) - length, length)
        if order is not None:
            return order
    return order_of(values)


def order_of(values: Sequence[Any]) -> Codes:
    """The numbers of different values of any one type in the order of the values."""
    return np.array(sorted(range(len(values)), key=values.__getitem__))


def order_of_arrow(values: Any) -> Codes:
    """The same for an array of large strings of Arrow, without gaps: the order of their bytes is that of the words."""
    import pyarrow.compute

    order = _by_word(*_bytes(values)) if len(values) > 1 else None
    if order is not None:
        return order
    return np.asarray(pyarrow.compute.sort_indices(values).to_numpy())


def _by_word(text: np.ndarray[Any, Any], start: Codes, length: Codes) -> Codes | None:
    """Sort by the eight bytes behind what all have in common; None if those do not tell all of them apart."""
    words = _beginning(text)
    common, shortest = 0, int(length.min())
    while True:
        word = words[start + common].astype(np.uint64)
        same = (8 * WORD - int(np.bitwise_or.reduce(word ^ word[0])).bit_length()) // 8
        if same == 0 or common == shortest:
            break
        common = min(common + same, shortest)
    word = _cut(word, length - common)
    order = np.argsort(word)
    word = word[order]
    return order if (word[1:] > word[:-1]).all() else None


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary:
    """Different words, and the number of each: to look up many at once costs a tenth of what a dict takes.

    They are found by a number made of their bytes, and compared with what was found.
    """

    words: Any  # an Arrow array of large strings
    keys: np.ndarray[Any, Any]  # in their order, and the largest number behind them
    number: Codes  # of the word that has the key
    start: Codes  # by the first bits of a key: where those begin that have them
    rest: np.uint64  # bits of a key that are not among the first

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self | None:
        """None where two words have one key, or many of them crowd together, or one is very long or no proper text."""
        import pyarrow

        words = values.words if isinstance(values, Values) else None
        try:
            words = pyarrow.array(values, pyarrow.large_string()) if words is None else words
        except UnicodeEncodeError:
            return None
        text, start, length = _bytes(words)
        if length.max(initial=0) > LONGEST:
            return None
        keys = _keys(text, start, length)
        number = np.argsort(keys)
        keys = keys[number]
        bits = max(len(keys).bit_length(), 1)
        rest = np.uint64(8 * WORD - bits)
        crowd = np.bincount((keys >> rest).astype(np.intp), minlength=1 << bits)
        if not (keys[1:] > keys[:-1]).all() or crowd.max() > CROWD:
            return None
        start = (np.cumsum(crowd) - crowd).astype(np.int32)
        return cls(words, np.append(keys, ~np.uint64(0)), number.astype(np.int32), start, rest)

    def find(self, words: Any, lacking: int) -> Codes:
        """The number of each of some words, an Arrow array of large strings without gaps; `lacking` of others."""
        import pyarrow
        import pyarrow.compute

        keys = _keys(*_bytes(words))
        place = self.start.take((keys >> self.rest).astype(np.intp))
        before = np.flatnonzero(self.keys.take(place) < keys)
        while len(before):
            place[before] += 1
            before = before[self.keys.take(place[before]) < keys[before]]
        number = self.number.take(place, mode="clip")
        same = pyarrow.compute.equal(self.words.take(pyarrow.array(number)), words).to_numpy(zero_copy_only=False)
        return np.where(same, number, np.int32(lacking))


def _bytes(values: Any) -> tuple[np.ndarray[Any, Any], Codes, Codes]:
    """The bytes of an array of large strings of Arrow, and where each of them begins and how long it is."""
    _, offsets, data = values.buffers()
    text = np.empty(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    if not len(values):
        return text, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    start = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    return text, start[:-1], np.diff(start)


def _beginning(text: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The eight bytes that begin at each byte, and behind the last."""
    padded = np.append(text, np.zeros(WORD, dtype=np.uint8))
    return np.ndarray(len(text) + 1, dtype=">u8", buffer=padded, strides=(1,))


def _cut(word: np.ndarray[Any, Any], length: Codes) -> np.ndarray[Any, Any]:
    """Eight bytes, of which those behind so many are the next word's, without these."""
    behind = 8 * (WORD - np.clip(length, 0, WORD)).astype(np.uint64)
    return np.where(behind < 8 * WORD, word >> behind << behind, np.uint64(0))


def _keys(text: np.ndarray[Any, Any], start: Codes, length: Codes) -> np.ndarray[Any, Any]:
    """A number for each word, of all its bytes; two words rarely have the same."""
    words, key = _beginning(text), length.astype(np.uint64)
    for step in range(0, int(length.max(initial=0)), WORD):
        word = words[np.minimum(start + step, len(text))].astype(np.uint64)
        mixed = (key ^ _cut(word, length - step)) * MIXING
        key = np.where(length > step, mixed ^ (mixed >> np.uint64(32)), key)  # whatever the others' lengths are
    return key
