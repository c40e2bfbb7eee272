"""Tables that are not in memory: finding files, opening them as lazy frames, and reading any source in batches."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals as nw

from catbayes.core.random import Purpose, stream
from catbayes.core.validation import named_twice
from catbayes.errors import InputError
from catbayes.io.engines import UUIDS, batches_of, owns_batches, scan
from catbayes.io.text import NAMED, TextFile, arrow_type, find_types

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
IN_FOLDERS = (*PARQUET, *ARROW, *NAMED, *(f"{ending}.gz" for ending in NAMED))
BATCH_ROWS = 1 << 17
"""Rows that pass through memory at a time."""


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


def is_reader(X: Any) -> bool:
    """Tell whether X is a stream of Arrow record batches, which can be read once only."""
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "read_next_batch")


# ------------------------------------------------------------------------------------------------ files


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one kind, "Parquet", "Arrow" or "CSV" (any delimited text), and of the same columns."""

    paths: tuple[Path, ...]
    kind: str
    names: tuple[str, ...]
    texts: tuple[TextFile, ...] = ()  # of CSV files

    @classmethod
    def of(cls, source: Any) -> Files:
        """Find the files of a path, a folder, a glob, or a list of those, and check that they belong together."""
        require_arrow("Reading files")
        paths = find_files(source)
        kinds = sorted({_kind(path) for path in paths})
        if len(kinds) > 1:
            raise InputError(f"{source} holds both {kinds[0]} and {kinds[1]} files. Give one kind at a time.")
        if len({path.resolve() for path in paths}) < len(paths):
            raise InputError(f"{source} names a file twice. Name each one once.")
        texts = tuple(TextFile.of(path) for path in paths) if kinds == ["CSV"] else ()
        schemas = [dict.fromkeys(text.names, "there") for text in texts] or [_schema(path) for path in paths]
        _check_schemas(paths, schemas)
        return cls(tuple(paths), kinds[0], tuple(schemas[0]), texts)

    def batches(self, is_text: Mapping[Any, bool]) -> tuple[Iterator[Batch], int]:
        """Read the files one after the other; also the number of rows.

        Columns of CSV files are of the types that `find_types` finds, which takes `is_text`.
        """
        if self.texts:
            types, n_rows = find_types(self.texts, is_text)
            return (batch for text in self.texts for batch in _numbered(text.batches(types), text.path.name)), n_rows
        with_rows = ((path, _open(path)) for path in self.paths)
        return (batch for path, parts in with_rows for batch in _numbered(parts, path.name)), self._count_rows()

    def _count_rows(self) -> int:
        import pyarrow.dataset

        kind = "parquet" if self.kind == "Parquet" else "ipc"
        return int(pyarrow.dataset.dataset(list(map(str, self.paths)), format=kind).count_rows())

    @contextmanager
    def scan(self, engine: str, memory_limit: str | None, is_text: Mapping[Any, bool]) -> Iterator[Any]:
        """Open the files as one lazy frame of an engine.

        CSV is first written as Parquet, in a temporary folder: there is a query for each column, and each one would
        parse the whole text.
        """
        if not self.texts:
            with scan(list(map(str, self.paths)), self.kind, engine, memory_limit) as native:
                yield native
            return
        import pyarrow.parquet

        with tempfile.TemporaryDirectory(prefix="catbayes-") as folder:
            copy, types = str(Path(folder, "rows.parquet")), find_types(self.texts, is_text)[0]
            schema = pyarrow.schema([(name, arrow_type(types[name])) for name in self.names])
            with pyarrow.parquet.ParquetWriter(copy, schema) as writer:
                for text in self.texts:
                    for part in text.batches(types):
                        writer.write_batch(part)
            with scan([copy], "Parquet", engine, memory_limit) as native:
                yield native


def find_files(source: Any) -> list[Path]:
    """Return the files of a path, a folder, a glob, or a list of those."""
    parts = [source] if isinstance(source, str | os.PathLike) else source
    return [path for part in parts for path in _find(part)]


def _find(part: Any) -> list[Path]:
    path = Path(part)
    if path.is_dir():
        found = sorted(child for child in path.iterdir() if child.is_file() and child.name.lower().endswith(IN_FOLDERS))
        if not found:
            raise InputError(f"{path} is a folder without Parquet or CSV files. For those below it, try '{path}/**/*'.")
        return found
    if path.is_file():  # whatever its name looks like
        return [path]
    found = sorted(map(Path, glob(str(part), recursive=True))) if has_magic(str(part)) else []
    found = [file for file in found if file.is_file()]
    if not found:
        hint = " For a remote one, pass a lazy frame, such as polars.scan_parquet(…)." if "://" in str(part) else ""
        raise InputError(f"No file matches {str(part)!r}.{hint}")
    return found


def _kind(path: Path) -> str:
    """Parquet or Arrow by the ending of its name; whatever else is text, which we call CSV."""
    name = path.name.lower()
    return "Parquet" if name.endswith(PARQUET) else "Arrow" if name.endswith(ARROW) else "CSV"


def _schema(path: Path) -> dict[str, str]:
    """Columns and types of a Parquet or Arrow file."""
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet

    kind = _kind(path)
    try:
        read = pyarrow.parquet.read_schema(path) if kind == "Parquet" else pyarrow.ipc.open_file(path).schema
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read as {kind}: {str(error).splitlines()[0]}") from error
    twice = named_twice(read.names)
    if twice is not None or "" in read.names:
        wrong = "a column without a name" if twice is None else f"{twice!r} twice, capitals aside"
        raise InputError(f"{path} has {wrong}. Rename that column; DuckDB would do so by itself.")
    return {field.name: str(field.type) for field in read}


def _check_schemas(paths: list[Path], schemas: list[dict[str, str]]) -> None:
    """Require the same columns of all files: a difference is most often a file that does not belong."""
    first = schemas[0]
    for path, schema in zip(paths, schemas, strict=True):
        differ = [column for column in [*first, *schema] if schema.get(column) != first.get(column)]
        if differ:
            here, there = (one.get(differ[0], "nothing") for one in (schema, first))
            raise InputError(
                f"{path} has another schema than {paths[0]}: column {differ[0]!r} is {here} in the one and {there} in "
                "the other. Give files of one schema."
            )
        if list(schema) != list(first):
            raise InputError(f"{path} has the columns of {paths[0]} in another order. Give files of one schema.")


# ------------------------------------------------------------------------------------------------ batches


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a source in their order: an Arrow table, the file that holds it, and the number of its first row."""

    table: Any
    file: str
    start: int


def batches(source: Any) -> Iterator[Batch]:
    """Read a reader or a lazy frame in batches; one of a library other than DuckDB and polars is read at once."""
    if owns_batches(source):
        return _numbered(batches_of(source, BATCH_ROWS))
    if is_reader(source):
        return _numbered(source)
    return _numbered([nw.from_native(source).lazy().collect(backend="pyarrow").to_native()])


def _numbered(parts: Iterable[Any], file: str = "") -> Iterator[Batch]:
    import pyarrow

    start = 0
    for part in parts:
        table = pyarrow.Table.from_batches([part]) if isinstance(part, pyarrow.RecordBatch) else part
        if len(table):
            yield Batch(table, file, start)
        start += len(table)


def _open(path: Path) -> Iterator[Any]:
    """Yield the rows of a Parquet or Arrow file in batches; UUIDs as text, as DuckDB gives them."""
    import pyarrow.ipc
    import pyarrow.parquet

    if _kind(path) == "Parquet":
        with pyarrow.parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            yield from map(_spelled, file.iter_batches(BATCH_ROWS))
        return
    with pyarrow.memory_map(str(path)) as mapped, pyarrow.ipc.open_file(mapped) as file:
        for number in range(file.num_record_batches):
            yield _spelled(file.get_batch(number))


def _spelled(batch: Any) -> Any:
    import pyarrow

    for place, field in enumerate(batch.schema):
        if str(field.type) == UUIDS:
            values = [None if value is None else str(value) for value in batch.column(place).to_pylist()]
            batch = batch.set_column(place, field.name, pyarrow.array(values, pyarrow.string()))
    return batch


def read_arrow(source: Any) -> Any:
    """Read a source into memory, as an Arrow table."""
    import pyarrow

    rows = Files.of(source).batches({})[0] if are_files(source) else batches(source)
    tables = [batch.table for batch in rows]
    if not tables:
        raise InputError("The table holds no rows: there is nothing to read.")
    return pyarrow.concat_tables(tables)


def some_rows(frame: nw.LazyFrame[Any], most: int) -> Any:
    """Take about `most` rows at random, or all if there are no more, as an Arrow table."""
    import pyarrow

    native, n_rows = nw.to_native(frame), int(frame.select(nw.len()).collect().item())
    share = most / max(n_rows, 1)
    if share < 1.0 and not owns_batches(native) and hasattr(native, "sample"):  # a cluster sends no more than it must
        native = native.sample(frac=share) if hasattr(native, "npartitions") else native.sample(share)
        return pyarrow.concat_tables([batch.table for batch in batches(native)])
    random = stream(0, Purpose.SCREEN, 1)
    parts = [batch.table.filter(random.random(len(batch.table)) < share) for batch in batches(native)]
    return pyarrow.concat_tables(parts) if parts else frame.collect(backend="pyarrow").to_native()


def require_arrow(what: str) -> None:
    """Require pyarrow, which carries batches from one library to another."""
    if not find_spec("pyarrow"):
        raise ImportError(f'{what} needs pyarrow: pip install "catbayes[arrow]".')
