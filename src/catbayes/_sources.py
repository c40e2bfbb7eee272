"""Tables that stay where they are: files, lazy frames, record batches and clusters.

A source is opened in one of two ways: as a lazy frame, on which the engine that owns the rows counts, or as batches of
rows in their order, which pass through memory one at a time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from glob import glob, has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import narwhals as nw

from catbayes._validation import check_option
from catbayes.errors import InputError

__all__ = ["BATCH_ROWS", "ENGINES", "Batch", "Files", "batches", "is_reader", "is_source", "lazy_frame", "need_arrow"]

Engine = Literal["auto", "duckdb", "polars"]
ENGINES = get_args(Engine)
"""What may read files; "auto" is DuckDB where it is installed, else polars."""
BATCH_ROWS = 1 << 17
"""Rows that pass through memory at a time."""
KINDS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".csv.gz": "csv"}


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


@dataclass(frozen=True, slots=True)
class Files:
    """Parquet or CSV files of one schema, to be read by an engine.

    Examples
    --------
    >>> import os, tempfile
    >>> import polars as pl
    >>> from catbayes._sources import Files
    >>> path = os.path.join(tempfile.mkdtemp(), "visits.parquet")
    >>> pl.DataFrame({"city": ["Oslo", "Rome"]}).write_parquet(path)
    >>> files = Files.of(path, "polars", None)
    >>> files.names(), files.count_rows()
    (['city'], 2)
    """

    paths: tuple[Path, ...]
    kind: str
    engine: str
    memory_limit: str | None
    types: dict[str, Any] | None = None  # of the columns of CSV files, found in all of them together

    @classmethod
    def of(cls, source: Any, engine: str, memory_limit: str | None, text: tuple[str, ...] = ()) -> Files:
        """Find the files of a path, a folder, a glob, or a list of those; `text` columns of a CSV file stay text."""
        given = [source] if isinstance(source, str | os.PathLike) else source
        paths = [path for part in given for path in _find(part)]
        kinds = {_kind(path) for path in paths}
        if len(kinds) > 1:
            raise InputError(f"{', '.join(map(str, given))} holds both Parquet and CSV files. Give one kind at a time.")
        if len({path.resolve() for path in paths}) < len(paths):
            raise InputError(f"{', '.join(map(str, given))} names a file twice. Name each one once.")
        files = cls(tuple(paths), kinds.pop(), _choose(engine, memory_limit), memory_limit)
        need_arrow("Reading files")
        files._check_schemas()
        return files if files.kind == "parquet" else replace(files, types=files._find_types(text))

    @contextmanager
    def scan(self, paths: tuple[Path, ...] | None = None) -> Iterator[Any]:
        """All files, or some, as one lazy frame of the engine."""
        names = [str(path) for path in paths or self.paths]
        if self.engine == "polars":
            yield self._scan_polars(names)
            return
        with tempfile.TemporaryDirectory(prefix="catbayes-") as spill, self._connect(spill) as connection:
            yield self._scan_duckdb(connection, names)

    def _scan_polars(self, names: list[str]) -> Any:
        import polars

        if self.kind == "parquet":
            return polars.scan_parquet(names, glob=False)
        if self.types is None:
            return polars.scan_csv(names, glob=False, infer_schema_length=None)
        return polars.scan_csv(names, glob=False, schema=self.types)

    def _scan_duckdb(self, connection: Any, names: list[str]) -> Any:
        literal = [_escaped(name) for name in names]
        if self.kind == "parquet":
            return connection.read_parquet(literal)
        # Types are guessed from all rows, and "" in quotes is text and not missing: as polars does.
        options = {"sample_size": -1, "allow_quoted_nulls": False, "header": True}
        return connection.read_csv(literal, dtype=self.types, **options)

    def _connect(self, spill: str) -> Any:
        import duckdb

        settings: dict[str, Any] = {"temp_directory": spill}
        if self.memory_limit is not None:
            settings["memory_limit"] = self.memory_limit
        try:
            return duckdb.connect(config=settings)
        except duckdb.Error as error:
            raise InputError(f"memory_limit={self.memory_limit!r}: {error}".splitlines()[0]) from error

    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._schema(self.paths[0]))

    def count_rows(self) -> int:
        """Number of rows, without reading them where the format tells."""
        with self.scan() as native:
            return int(nw.from_native(native).lazy().select(nw.len()).collect().item())

    def batches(self) -> Iterator[Batch]:
        """Read the files one after the other, in batches."""
        for path in self.paths:
            with self.scan((path,)) as native:
                yield from _number(_arrow_batches(native), path.name)

    def _find_types(self, text: tuple[str, ...]) -> dict[str, Any]:
        """Types of the columns of all CSV files together: guessed file by file, they would differ."""
        with self.scan() as native:
            if self.engine == "polars":
                import polars

                return {name: polars.String if name in text else t for name, t in native.collect_schema().items()}
            found = zip(native.columns, native.types, strict=True)
            return {name: "VARCHAR" if name in text else str(kind) for name, kind in found}

    def _check_schemas(self) -> None:
        """Require the same columns of all files: a difference is most often a file that does not belong."""
        first = self._schema(self.paths[0])
        for path in self.paths[1:]:
            schema = self._schema(path)
            if list(schema.items()) == list(first.items()):
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
            if not path.stat().st_size:
                raise InputError(f"{path} is empty.")
            with self.scan((path,)) as native:
                return dict.fromkeys(nw.from_native(native).lazy().collect_schema().names(), "there")
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{path} cannot be read as {self.kind.upper()}: {str(error).splitlines()[0]}") from error


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


def is_source(X: Any) -> bool:
    """Tell whether X is a table that is not in memory: a path, a list of paths, a lazy frame or a reader.

    Examples
    --------
    >>> from catbayes._sources import is_source
    >>> is_source("visits/*.parquet"), is_source([["Oslo"], ["Rome"]])
    (True, False)
    """
    if isinstance(X, str | os.PathLike) or is_reader(X):
        return True
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(part, str | os.PathLike) for part in X)
    return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)


@contextmanager
def lazy_frame(
    source: Any, engine: str, memory_limit: str | None, text: tuple[str, ...] = ()
) -> Iterator[nw.LazyFrame[Any]]:
    """Open a source as a lazy frame.

    Examples
    --------
    >>> import polars as pl
    >>> from catbayes._sources import lazy_frame
    >>> with lazy_frame(pl.LazyFrame({"city": ["Oslo"]}), "auto", None) as frame:
    ...     print(frame.collect_schema().names())
    ['city']
    """
    frame = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        yield frame
        return
    with Files.of(source, engine, memory_limit, text).scan() as native:
        yield nw.from_native(native).lazy()


def batches(source: Any) -> Iterator[Batch]:
    """Read a lazy frame or a reader in batches; `Files.batches` does the same for files.

    Examples
    --------
    >>> import polars as pl
    >>> from catbayes._sources import batches
    >>> [batch.table.num_rows for batch in batches(pl.LazyFrame({"city": ["Oslo", "Rome"]}))]
    [2]
    """
    return _number(source if is_reader(source) else _arrow_batches(source), "")


def need_arrow(what: str) -> None:
    """Require pyarrow, which carries batches from one library to another.

    Examples
    --------
    >>> from catbayes._sources import need_arrow
    >>> need_arrow("Reading files")  # an ImportError that names the extra, where it is missing
    """
    if not find_spec("pyarrow"):
        raise ImportError(f'{what} needs pyarrow: pip install "catbayes[arrow]".')


def _choose(engine: str, memory_limit: str | None) -> str:
    check_option("engine", engine, ENGINES)
    wanted = ["duckdb", "polars"] if engine == "auto" else [engine]
    found = next((name for name in wanted if find_spec(name)), None)
    if found is None:
        raise ImportError(f'Reading files needs {" or ".join(wanted)}: pip install "catbayes[{wanted[0]}]".')
    if found == "polars" and memory_limit is not None:
        raise InputError(f"memory_limit={memory_limit!r}: only DuckDB has one. Leave it out, or use engine='duckdb'.")
    return found


def _number(tables: Any, name: str) -> Iterator[Batch]:
    import pyarrow

    start = 0
    for part in tables:
        table = pyarrow.Table.from_batches([part]) if isinstance(part, pyarrow.RecordBatch) else part
        if len(table):
            yield Batch(table, name, start)
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


def _find(part: Any) -> list[Path]:
    path = Path(part)
    if path.is_dir():
        found = sorted(child for child in path.iterdir() if child.is_file() and _kind(child, strict=False))
        if not found:
            raise InputError(f"{path} is a folder without Parquet or CSV files. For those below it, try '{path}/**/*'.")
        return found
    if path.is_file():  # whatever its name looks like
        found = [path]
    else:
        found = sorted(map(Path, glob(str(part), recursive=True))) if has_magic(str(part)) else []
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


def _escaped(name: str) -> str:
    """A path that DuckDB takes as it is, and not for a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
