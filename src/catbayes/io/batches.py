"""Rows in their order, some at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import narwhals as nw

from catbayes.core.random import Purpose, stream
from catbayes.io.engine import FileEngine
from catbayes.io.engines import owner

BATCH_ROWS = 1 << 17
"""Rows that pass through memory at a time."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a source in their order: an Arrow table, the file that holds it, and the number of its first row."""

    table: Any
    file: str
    start: int


def is_reader(source: Any) -> bool:
    """Tell whether the source is a stream of Arrow record batches, which can be read once only."""
    return type(source).__module__.startswith("pyarrow") and hasattr(source, "read_next_batch")


def batches(source: Any, engine: FileEngine | None = None, file: str = "") -> Iterator[Batch]:
    """Read a reader or a lazy frame in batches; one that is of no engine of ours is read at once."""
    import pyarrow

    engine = engine or owner(source)
    parts: Iterable[Any]
    if engine is not None:
        parts = engine.batches(source, BATCH_ROWS)
    elif is_reader(source):
        parts = source
    else:
        parts = [nw.from_native(source).lazy().collect(backend="pyarrow").to_native()]
    start = 0
    for part in parts:
        table = pyarrow.Table.from_batches([part]) if isinstance(part, pyarrow.RecordBatch) else part
        if len(table):
            yield Batch(table, file, start)
        start += len(table)


def some_rows(frame: nw.LazyFrame[Any], most: int) -> Any:
    """An Arrow table of about so many rows at most, taken at random; all rows, if there are no more."""
    import pyarrow

    native, n_rows = nw.to_native(frame), int(frame.select(nw.len()).collect().item())
    share = most / max(n_rows, 1)
    if share < 1.0 and owner(native) is None and hasattr(native, "sample"):  # a cluster sends no more than it must
        native = native.sample(frac=share) if hasattr(native, "npartitions") else native.sample(share)
        return pyarrow.concat_tables([batch.table for batch in batches(native)])
    random = stream(0, Purpose.SCREEN, 1)
    parts = [
        batch.table if share >= 1.0 else batch.table.filter(random.random(len(batch.table)) < share)
        for batch in batches(native)
    ]
    return pyarrow.concat_tables(parts) if parts else frame.collect(backend="pyarrow").to_native()


def need_arrow(what: str) -> None:
    """Require pyarrow, which carries batches from one library to another."""
    if not find_spec("pyarrow"):
        raise ImportError(f'{what} needs pyarrow: pip install "catbayes[arrow]".')
