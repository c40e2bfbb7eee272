"""How much a file may unfold to: what is read takes time and memory in proportion to its bytes, whoever wrote it.

Files of ours have about one row a byte (a million categories of ten letters), 70 numbers a byte (rare categories of
thousands of classes, nearly all of them zero) and 20 letters a byte. What is far beyond is no file of ours.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from catbayes.errors import InputError

ROWS, TEXT, NUMBERS = 20, 500, 8000
"""Rows, bytes of text and bytes of numbers that there may be for a byte of the file."""

FREE = 1 << 24
"""So many bytes are no burden, however few they came in."""

AT_A_TIME = 256
"""Rows that are unfolded before they are weighed: a long text may be written once and meant in every row."""

COLLISIONS = 1000
"""So many categories of one hash are no burden."""


def require_regular(path: Any) -> None:
    """Refuse a path of what is no regular file: a device or a pipe may never end."""
    if isinstance(path, str | os.PathLike) and not os.path.isfile(path):
        found = "is no regular file" if os.path.exists(path) else "does not exist"
        raise InputError(f"There is no file {os.fspath(path)!r}: it {found}.")


def size_of(path: Any) -> int:
    """Bytes of a path or of an open binary file."""
    if isinstance(path, str | os.PathLike):
        return os.path.getsize(path)
    place = path.tell()
    size = path.seek(0, os.SEEK_END)
    path.seek(place)
    return int(size)


def read_bounded(file: Any, size: int) -> Any:
    """Read a Parquet file of so many bytes, unless there is more in it than they can hold."""
    import pyarrow

    if file.metadata.num_rows > ROWS * size:
        raise ValueError(f"{file.metadata.num_rows} rows do not fit in {size} bytes")
    schema = file.schema_arrow.remove_metadata()
    texts = [name for name in schema.names if pyarrow.types.is_string(schema.field(name).type)]
    parts, text, all_bytes = [], 0, 0
    for part in file.iter_batches(AT_A_TIME, use_threads=False):  # so few rows only lose by waking threads
        text += sum(part[name].nbytes for name in texts)
        all_bytes += part.nbytes
        if text > TEXT * size + FREE or all_bytes - text > NUMBERS * size + FREE:
            raise ValueError(f"what it unfolds to does not fit in {size} bytes")
        parts.append(part)
    return pyarrow.Table.from_batches(parts, file.schema_arrow).combine_chunks()


def check_spread(values: Sequence[Any]) -> None:
    """Refuse categories that Python cannot tell apart fast: those of one hash are compared with each other.

    Hashes of text are salted, those of numbers are not: multiples of 2⁶¹ - 1 all have the same.
    """
    if len(values) - len({hash(value) for value in values}) > COLLISIONS:
        raise ValueError("its categories were chosen to be slow")
