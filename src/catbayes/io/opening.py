"""Opening a source of any kind: as a lazy frame, or into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import narwhals as nw

from catbayes.errors import InputError
from catbayes.io.batches import batches, is_reader
from catbayes.io.files import Files


def is_source(X: Any) -> bool:
    """Tell whether X is a table that is not in memory: a path, a list of paths, a lazy frame or a reader."""
    if are_files(X) or is_reader(X):
        return True
    try:
        return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)
    except nw.exceptions.DuplicateError:  # a table in memory, which whoever reads it refuses
        return False


def are_files(X: Any) -> bool:
    """Tell whether X is a path, or a list of paths."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(part, str | os.PathLike) for part in X)
    return isinstance(X, str | os.PathLike)


@contextmanager
def lazy_frame(
    source: Any, engine: str, memory_limit: str | None, text: tuple[str, ...] = ()
) -> Iterator[nw.LazyFrame[Any]]:
    """Open a source as a lazy frame; `text` columns of a text file stay text."""
    frame = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        yield frame
        return
    with Files.of(source, engine, memory_limit, text).by_column() as files, files.scan() as native:
        yield nw.from_native(native).lazy()


def read_arrow(source: Any) -> Any:
    """Read a source into memory, as an Arrow table."""
    import pyarrow

    rows = Files.of(source, "auto", None).batches() if are_files(source) else batches(source)
    tables = [batch.table for batch in rows]
    if not tables:
        raise InputError("The table holds no rows: there is nothing to read.")
    return pyarrow.concat_tables(tables)
