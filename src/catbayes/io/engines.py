"""The libraries that count rows of files: DuckDB and polars. Both open files as lazy frames that narwhals knows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Literal, get_args

from catbayes.core.validation import check_option
from catbayes.errors import InputError

Engine = Literal["auto", "duckdb", "polars"]
ENGINES = get_args(Engine)
"""Each is the name of a module, and of our extra that installs it; "auto" is the first that is installed."""

UUIDS = "extension<arrow.uuid>"


def choose(engine: str, memory_limit: str | None) -> str:
    """Return the name of an engine that is installed and can do what is asked of it."""
    check_option("engine", engine, ENGINES)
    wanted = [engine] if engine != "auto" else [name for name in ENGINES if name != "auto"]
    found = next((name for name in wanted if find_spec(name)), None)
    if found is None:
        raise ImportError(f'Counting rows of files needs {" or ".join(wanted)}: pip install "catbayes[{wanted[0]}]".')
    if memory_limit is not None and found != "duckdb":
        raise InputError(f"memory_limit={memory_limit!r}: only DuckDB has one. Leave it out, or use engine='duckdb'.")
    return found


@contextmanager
def scan(paths: Sequence[str], kind: str, engine: str, memory_limit: str | None) -> Iterator[Any]:
    """Open files of one kind, "Parquet" or "Arrow", as one lazy frame of an engine."""
    if choose(engine, memory_limit) == "polars":
        yield _scan_by_polars(paths, kind)
        return
    with tempfile.TemporaryDirectory(prefix="catbayes-") as spill, _connect(spill, memory_limit) as connection:
        if kind == "Arrow":
            import pyarrow.dataset

            yield connection.from_arrow(pyarrow.dataset.dataset(paths, format="ipc"))
        else:
            yield connection.read_parquet([_escaped(path) for path in paths])


def owns_batches(frame: object) -> bool:
    """Tell whether a lazy frame is of a library whose rows come in batches and in their order."""
    return type(frame).__module__.partition(".")[0] in ("duckdb", "_duckdb", "polars")


def batches_of(frame: Any, n_rows: int) -> Iterator[Any]:
    """Yield Arrow tables or record batches of about `n_rows` rows of a lazy frame of DuckDB or polars."""
    if type(frame).__module__.startswith("polars"):
        yield from (part.to_arrow() for part in frame.collect_batches(chunk_size=n_rows, maintain_order=True))
    else:
        read = getattr(frame, "to_arrow_reader", None) or frame.fetch_record_batch  # its new and its old name
        yield from read(n_rows)


def _connect(spill: str, memory_limit: str | None) -> Any:
    """Connect to a database in memory, which writes to a folder what does not fit."""
    import duckdb

    settings: dict[str, Any] = {"temp_directory": spill}
    if memory_limit is not None:
        settings["memory_limit"] = memory_limit
    try:
        return duckdb.connect(config=settings)
    except duckdb.Error as error:
        raise InputError(f"memory_limit={memory_limit!r}: {error}".splitlines()[0]) from error


def _escaped(path: str) -> str:
    """A path that DuckDB takes as it is, and not for a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def _scan_by_polars(paths: Sequence[str], kind: str) -> Any:
    from pathlib import Path

    import polars
    import pyarrow.ipc
    import pyarrow.parquet

    parquet = kind == "Parquet"
    frame = polars.scan_parquet(paths, glob=False) if parquet else polars.scan_ipc([Path(path) for path in paths])
    schema = pyarrow.parquet.read_schema(paths[0]) if parquet else pyarrow.ipc.open_file(paths[0]).schema
    return frame.with_columns(*(_spelled(field.name) for field in schema if str(field.type) == UUIDS))


def _spelled(name: str) -> Any:
    """A column of UUIDs as text, as DuckDB gives it; polars takes them for bytes."""
    import polars

    digits = polars.col(name).bin.encode("hex")
    parts = [digits.str.slice(start, length) for start, length in ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))]
    return polars.concat_str(parts, separator="-").alias(name)
