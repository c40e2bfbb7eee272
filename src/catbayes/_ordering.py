"""Text in its order: names that mostly begin alike are sorted as numbers, by where they begin to differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catbayes._validation import Codes

__all__ = ["order_of", "order_of_arrow", "order_of_list", "ranks"]

WORD = 8
"""Bytes of a number of the machine."""


def ranks(order: Codes) -> Codes:
    """Place of each of some values in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes._ordering import ranks
    >>> ranks(np.array([2, 0, 1])).tolist()  # the third comes first
    [1, 2, 0]
    """
    found = np.empty(len(order), dtype=np.int32)
    found[order] = np.arange(len(order))
    return found


def order_of_list(values: list[str]) -> Codes:
    """The numbers of different words in the order of the words.

    Examples
    --------
    >>> from catbayes._ordering import order_of_list
    >>> order_of_list(["level_7", "level_12", "level_1"]).tolist()
    [2, 1, 0]
    """
    text = "".join(values)
    if text and text.isascii():
        length = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
        order = _by_word(np.frombuffer(text.encode(), dtype=np.uint8), np.cumsum(length) - length, length)
        if order is not None:
            return order
    return order_of(values)


def order_of(values: Sequence[Any]) -> Codes:
    """The numbers of different values of any one type in the order of the values.

    Examples
    --------
    >>> from catbayes._ordering import order_of
    >>> order_of([70, 10**30, 8]).tolist()
    [2, 0, 1]
    """
    return np.array(sorted(range(len(values)), key=values.__getitem__))


def order_of_arrow(values: Any) -> Codes:
    """The same for an array of large strings of Arrow, without gaps: the order of their bytes is that of the words.

    Examples
    --------
    >>> import pyarrow
    >>> from catbayes._ordering import order_of_arrow
    >>> order_of_arrow(pyarrow.array(["level_7", "level_12", "level_1"], pyarrow.large_string())).tolist()
    [2, 1, 0]
    """
    import pyarrow.compute

    _, offsets, data = values.buffers()
    if data is not None and len(values) > 1:
        start = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
        order = _by_word(np.frombuffer(data, dtype=np.uint8), start[:-1], np.diff(start))
        if order is not None:
            return order
    return np.asarray(pyarrow.compute.sort_indices(values).to_numpy())


def _by_word(text: np.ndarray[Any, Any], start: Codes, length: Codes) -> Codes | None:
    """Sort by the eight bytes behind what all have in common; None if those do not tell all of them apart."""
    padded = np.append(text, np.zeros(WORD, dtype=np.uint8))
    words = np.ndarray(len(text) + 1, dtype=">u8", buffer=padded, strides=(1,))  # those that begin at each byte
    common, shortest = 0, int(length.min())
    while True:
        word = words[start + common].astype(np.uint64)
        same = (8 * WORD - int(np.bitwise_or.reduce(word ^ word[0])).bit_length()) // 8
        if same == 0 or common == shortest:
            break
        common = min(common + same, shortest)
    behind = 8 * (WORD - np.minimum(length - common, WORD)).astype(np.uint64)  # bits that belong to the next words
    word = np.where(behind < 8 * WORD, word >> behind << behind, np.uint64(0))
    order = np.argsort(word)
    word = word[order]
    return order if (word[1:] > word[:-1]).all() else None
