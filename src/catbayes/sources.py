"""Tables that stay where they are: files, lazy frames, record batches and clusters.

A source is opened in one of two ways: as a lazy frame, on which the engine that owns the rows counts, or as batches of
rows in their order, which pass through memory one at a time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from glob import glob, has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals as nw

from catbayes._validation import check_option
from catbayes.errors import InputError

__all__ = ["BATCH_ROWS", "Batch", "Files", "batches", "is_reader", "is_source", "lazy_frame"]

ENGINES = ("auto", "duckdb", "polars")
BATCH_ROWS = 1 << 17
KINDS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".csv.gz": "csv"}


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a source in their order: an Arrow table, the file that holds it, and the number of its first row."""

    table: Any
    file: str
    start: int


@dataclass(frozen=True, slots=True)
class Files:
    """Parquet or CSV files of one schema, to be read by an engine."""

    paths: tuple[Path, ...]
    kind: str
    engine: str
    memory_limit: str | None
    text: tuple[str, ...] = ()  # columns of a CSV file that are text, whatever they look like

    @classmethod
    def of(cls, source: Any, engine: str, memory_limit: str | None, text: tuple[str, ...] = ()) -> Files:
        """Find the files of a path, a folder, a glob, or a list of those."""
        check_option("engine", engine, ENGINES)
        given = [source] if isinstance(source, str | os.PathLike) else source
        paths = [path for part in given for path in _find(part)]
        kinds = {_kind(path) for path in paths}
        if len(kinds) > 1:
            raise InputError(f"{_shown(given)} holds both Parquet and CSV files. Give one kind at a time.")
        if engine == "auto":
            engine = next((name for name in ("duckdb", "polars") if find_spec(name)), "none")
        if not find_spec(engine):
            raise ImportError(f'Reading files needs duckdb or polars (here: {engine}): pip install "catbayes[duckdb]".')
        files = cls(tuple(paths), kinds.pop(), engine, memory_limit)
        files._check_schemas()
        return replace(files, text=tuple(name for name in files.names() if name in text))

    def scan(self) -> nw.LazyFrame[Any]:
        """All files as one lazy frame."""
        frame: nw.LazyFrame[Any] = nw.from_native(self._native(self.paths)).lazy()
        return frame

    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._schema(self.paths[0]))

    def count_rows(self) -> int:
        """Number of rows, without reading them where the format tells."""
        return int(self.scan().select(nw.len()).collect().item())

    def batches(self) -> Iterator[Batch]:
        """Read the files one after the other, in batches."""
        for path in self.paths:
            yield from _number(_arrow_batches(self._native([path])), path.name)

    def _native(self, paths: Any) -> Any:
        names = [str(path) for path in paths]
        if self.engine == "polars":
            import polars

            if self.kind == "parquet":
                return polars.scan_parquet(names)
            return polars.scan_csv(names, schema_overrides=dict.fromkeys(self.text, polars.String))
        import duckdb

        settings: dict[str, Any] = {"temp_directory": tempfile.gettempdir()}
        if self.memory_limit is not None:
            settings["memory_limit"] = self.memory_limit
        try:
            connection = duckdb.connect(config=settings)
        except duckdb.Error as error:
            raise InputError(f"memory_limit={self.memory_limit!r}: {error}".splitlines()[0]) from error
        if self.kind == "parquet":
            return connection.read_parquet(names)
        return connection.read_csv(names, header=True, dtype=dict.fromkeys(self.text, "VARCHAR"))

    def _check_schemas(self) -> None:
        """Require the same columns of all files: a difference is most often a file that does not belong."""
        first = self._schema(self.paths[0])
        for path in self.paths[1:]:
            schema = self._schema(path)
            if schema == first:
                continue
            for column in [*first, *schema]:
                here, there = schema.get(column, "nothing"), first.get(column, "nothing")
                if here != there:
                    raise InputError(
                        f"{path} has another schema than {self.paths[0]}: column {column!r} is {here} in the one and "
                        f"{there} in the other. Give files of one schema."
                    )
            raise InputError(f"{path} has the columns of {self.paths[0]} in another order. Give files of one schema.")

    def _schema(self, path: Path) -> dict[str, str]:
        try:
            if self.kind == "parquet":
                import pyarrow.parquet

                return {field.name: str(field.type) for field in pyarrow.parquet.read_schema(path)}
            names = nw.from_native(self._native([path])).collect_schema().names()
            return dict.fromkeys(names, "there")
        except Exception as error:
            if isinstance(error, ImportError | KeyboardInterrupt):
                raise
            raise InputError(f"{path} cannot be read as {self.kind.upper()}: {str(error).splitlines()[0]}") from error


def is_reader(source: Any) -> bool:
    """Tell whether the source is a stream of Arrow record batches, which can be read once only."""
    return type(source).__module__.startswith("pyarrow") and hasattr(source, "read_next_batch")


def is_source(X: Any) -> bool:
    """Tell whether X is a table that is not in memory: a path, a list of paths, a lazy frame or a reader."""
    if isinstance(X, str | os.PathLike) or is_reader(X):
        return True
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(part, str | os.PathLike) for part in X)
    return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)


def lazy_frame(source: Any, engine: str, memory_limit: str | None, text: tuple[str, ...] = ()) -> nw.LazyFrame[Any]:
    """Open a source as a lazy frame."""
    frame = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return frame
    return Files.of(source, engine, memory_limit, text).scan()


def batches(source: Any) -> Iterator[Batch]:
    """Read a lazy frame or a reader in batches; `Files.batches` does the same for files."""
    return _number(source if is_reader(source) else _arrow_batches(source), "")


def _number(tables: Any, name: str) -> Iterator[Batch]:
    import pyarrow

    start = 0
    for part in tables:
        table = pyarrow.Table.from_batches([part]) if isinstance(part, pyarrow.RecordBatch) else part
        if len(table):
            yield Batch(table, name, start)
        start += len(table)


def _arrow_batches(native: Any) -> Iterator[Any]:
    """Arrow tables or record batches of a lazy frame, in the order of its rows."""
    library = type(native).__module__.partition(".")[0]
    if library == "polars":
        for frame in native.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            yield frame.to_arrow()
    elif library in ("duckdb", "_duckdb"):
        # the name has changed from one version to the next
        yield from getattr(native, "to_arrow_reader", native.fetch_record_batch)(BATCH_ROWS)
    else:
        yield nw.from_native(native).lazy().collect(backend="pyarrow").to_native()


def _find(part: Any) -> list[Path]:
    path = Path(part)
    if path.is_dir():
        found = sorted(child for child in path.iterdir() if child.is_file() and _kind(child, strict=False))
        if not found:
            raise InputError(f"{path} is a folder without Parquet or CSV files.")
        return found
    found = sorted(map(Path, glob(str(part), recursive=True))) if has_magic(str(part)) else [path]
    found = [file for file in found if file.is_file()]
    if not found:
        hint = " For a remote one, pass a lazy frame, such as polars.scan_parquet(…)." if "://" in str(part) else ""
        raise InputError(f"No file matches {str(part)!r}.{hint}")
    for file in found:
        _kind(file)
    return found


def _kind(path: Path, strict: bool = True) -> str:
    kind = next((kind for ending, kind in KINDS.items() if path.name.lower().endswith(ending)), "")
    if strict and not kind:
        raise InputError(f"{path} is neither Parquet nor CSV by its name: expected one of {', '.join(KINDS)}.")
    return kind


def _shown(given: Any) -> str:
    return ", ".join(map(str, given))
