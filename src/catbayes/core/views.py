"""Short text numbered by its bytes: Arrow and polars hold up to twelve of them in place, beside their number.

Such a view of sixteen bytes, zeros behind the text, is two numbers of the machine, and equal where the text is. So a
column is numbered by a few passes over arrays in the cache, in less time than a hash table of text takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catbayes.core.validation import Codes

__all__ = ["Views", "same_rows", "views_of", "words_of"]

IN_PLACE = 12
"""Bytes of the longest text that lies in its view."""
SOME_ROWS = 1 << 14
"""Rows that are worked on at a time, so that what is made of them stays in the cache."""
MIXING = 0x9E3779B97F4A7C15
"""An odd number: the high bits of a product with it depend on all bits below them."""

Views = np.ndarray[Any, np.dtype[np.uint64]]


def views_of(column: Any) -> Views | None:
    """The views of an Arrow array of them, (row, half); None where a text is missing or long."""
    if column.null_count or not len(column):
        return None
    buffer, rows = column.buffers()[1], slice(column.offset, column.offset + len(column))
    length = np.frombuffer(buffer, dtype=np.int32).reshape(-1, 4)[rows, 0]
    return None if length.max() > IN_PLACE else np.frombuffer(buffer, dtype=np.uint64).reshape(-1, 2)[rows]


def words_of(views: Views) -> Any:
    """The text of views, as an Arrow array of large strings."""
    import pyarrow

    length = views.view(np.int32)[:, 0]
    letters = views.view(np.uint8)[:, -IN_PLACE:]
    text = letters[np.arange(IN_PLACE) < length[:, None]]
    stops = np.append(0, np.cumsum(length, dtype=np.int64))
    return pyarrow.LargeStringArray.from_buffers(len(views), pyarrow.py_buffer(stops), pyarrow.py_buffer(text))


def places_of(views: Views, bits: int, multiplier: int) -> Codes:
    """A place for each view, by all of its bytes: equal views have the same, others seldom."""
    mixed = views[:, 1] * np.uint64(MIXING)
    # A product carries upwards only: the last letters of either half are to tell as much as the others.
    mixed ^= mixed >> np.uint64(32)
    mixed ^= views[:, 0]
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(multiplier)
    mixed >>= np.uint64(64 - bits)
    return mixed.view(np.intp)


def same_rows(views: Views, multiplier: int = 0xC2B2AE3D27D4EB4F) -> Codes:
    """Some row that has the same view, for each row: one and the same for all that are equal.

    Every row goes to a place that its bytes tell, and one of those there stands for all of its kind; those of another
    kind, which are few, go on to other places.
    """
    bits = max(len(views).bit_length(), 8)
    table, found = np.empty(1 << bits, dtype=np.int32), np.empty(len(views), dtype=np.int32)
    parts = [slice(start, min(start + SOME_ROWS, len(views))) for start in range(0, len(views), SOME_ROWS)]
    for part in parts:
        found[part] = places = places_of(views[part], bits, multiplier)
        table[places] = np.arange(part.start, part.stop, dtype=np.int32)
    others = []
    for part in parts:
        standing = table.take(found[part])
        theirs = views.take(standing, axis=0)
        differ = theirs[:, 0] != views[part, 0]
        differ |= theirs[:, 1] != views[part, 1]
        found[part] = standing
        others.append(part.start + np.flatnonzero(differ))
    left = np.concatenate(others)
    if len(left):
        found[left] = left[same_rows(views[left], multiplier * MIXING % (1 << 64))]
    return found
