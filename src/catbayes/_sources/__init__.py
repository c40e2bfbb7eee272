"""Tables that stay where they are: files, lazy frames, record batches and clusters.

A source is opened in one of two ways: as a lazy frame, on which the engine that owns the rows counts, or as batches of
rows in their order, which pass through memory one at a time. Files are read by an engine, one of FILE_ENGINES, and
`_text` tells how text is.
"""

from catbayes._sources._batches import BATCH_ROWS, Batch, batches, is_reader, need_arrow, some_rows
from catbayes._sources._engines import ENGINES, FILE_ENGINES, Engine
from catbayes._sources._files import Files, find_files
from catbayes._sources._opening import are_files, is_source, lazy_frame, read_arrow

__all__ = [
    "BATCH_ROWS",
    "ENGINES",
    "FILE_ENGINES",
    "Batch",
    "Engine",
    "Files",
    "are_files",
    "batches",
    "find_files",
    "is_reader",
    "is_source",
    "lazy_frame",
    "need_arrow",
    "read_arrow",
    "some_rows",
]
