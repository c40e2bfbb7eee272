"""Rows in their order, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import narwhals as nw

BATCH_ROWS = 1 << 17
"""Rows that pass through memory at a time."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a source in their order: an Arrow table, the file that holds it, and the number of its first row.

    Examples
    --------
    >>> import polars as pl
    >>> from catbayes._sources import batches
    >>> batch = next(batches(pl.LazyFrame({"city": ["Oslo", "Rome"]})))
    >>> batch.table.num_rows, batch.start
    (2, 0)
    """

    table: Any
    file: str
    start: int


def is_reader(source: Any) -> bool:
    """Tell whether the source is a stream of Arrow record batches, which can be read once only.

    Examples
    --------
    >>> import pyarrow
    >>> from catbayes._sources import is_reader
    >>> table = pyarrow.table({"city": ["Oslo"]})
    >>> is_reader(table), is_reader(table.to_reader())
    (False, True)
    """
    return type(source).__module__.startswith("pyarrow") and hasattr(source, "read_next_batch")


def batches(source: Any, file: str = "") -> Iterator[Batch]:
    """Read a lazy frame or a reader in batches; `Files.batches` does the same for files.

    Examples
    --------
    >>> import polars as pl
    >>> from catbayes._sources import batches
    >>> [batch.table.num_rows for batch in batches(pl.LazyFrame({"city": ["Oslo", "Rome"]}))]
    [2]
    """
    import pyarrow

    start = 0
    for part in source if is_reader(source) else _arrow_batches(source):
        table = pyarrow.Table.from_batches([part]) if isinstance(part, pyarrow.RecordBatch) else part
        if len(table):
            yield Batch(table, file, start)
        start += len(table)


def _arrow_batches(native: Any) -> Iterator[Any]:
    """Arrow tables or record batches of a lazy frame, in the order of its rows; of a rare kind, all at once."""
    library = type(native).__module__.partition(".")[0]
    if library == "polars":
        for frame in native.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            yield frame.to_arrow()
    elif library in ("duckdb", "_duckdb"):
        read = getattr(native, "to_arrow_reader", None) or native.fetch_record_batch  # its new and its old name
        yield from read(BATCH_ROWS)
    else:
        yield nw.from_native(native).lazy().collect(backend="pyarrow").to_native()


def need_arrow(what: str) -> None:
    """Require pyarrow, which carries batches from one library to another.

    Examples
    --------
    >>> from catbayes._sources import need_arrow
    >>> need_arrow("Reading files")  # an ImportError that names the extra, where it is missing
    """
    if not find_spec("pyarrow"):
        raise ImportError(f'{what} needs pyarrow: pip install "catbayes[arrow]".')
