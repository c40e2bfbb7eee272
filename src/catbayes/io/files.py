"""Files of one schema, and the engine that reads them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from glob import glob, has_magic
from itertools import chain
from pathlib import Path
from typing import Any

import narwhals as nw

from catbayes.core.validation import named_twice
from catbayes.errors import InputError
from catbayes.io.batches import BATCH_ROWS, Batch, batches, need_arrow
from catbayes.io.engine import FileEngine, MisreadError
from catbayes.io.engines import choose
from catbayes.io.text import NAMED, Layout, readable

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
IN_FOLDERS = (*PARQUET, *ARROW, *NAMED, *(f"{ending}.gz" for ending in NAMED))


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one kind and schema, to be read by an engine: Parquet, Arrow, or text such as CSV."""

    paths: tuple[Path, ...]
    kind: str
    engine: FileEngine
    memory_limit: str | None
    layout: Layout | None = None  # of text
    types: dict[str, str] | None = None  # of its columns, found in all files together

    @classmethod
    def of(cls, source: Any, engine: str, memory_limit: str | None, text: tuple[str, ...] = ()) -> Files:
        """Find the files of a path, a folder, a glob, or a list of those; `text` columns of a text file stay text."""
        given, paths = _parts(source), find_files(source)
        kinds = sorted({_kind(path) for path in paths})
        if len(kinds) > 1:
            raise InputError(
                f"{', '.join(map(str, given))} holds both {kinds[0]} and {kinds[1]} files. Give one kind at a time."
            )
        if len({path.resolve() for path in paths}) < len(paths):
            raise InputError(f"{', '.join(map(str, given))} names a file twice. Name each one once.")
        files = cls(tuple(paths), kinds[0], choose(engine, memory_limit), memory_limit)
        need_arrow("Reading files")
        if files.kind == "CSV":
            return files._with_types([Layout.of(path) for path in paths], text)
        files._check_schemas([files._schema(path) for path in paths])
        return files

    @contextmanager
    def scan(self, paths: tuple[Path, ...] | None = None) -> Iterator[Any]:
        """All files, or some, as one lazy frame of the engine."""
        with (
            readable(paths or self.paths, self.layout) as (names, layout),
            self.engine.scan(names, self.kind, layout, self.memory_limit) as native,
        ):
            yield native if self.types is None else self.engine.convert(native, self.types)

    @contextmanager
    def by_column(self) -> Iterator[Files]:
        """Files of which a query reads the columns that it asks for: text becomes Parquet, in a folder of its own.

        Every query would parse all of a text file anew, and there is one for each column.
        """
        if self.kind != "CSV":
            yield self
            return
        import pyarrow.parquet

        with tempfile.TemporaryDirectory(prefix="catbayes-") as folder, self.scan() as native:
            copy, parts = Path(folder, "rows.parquet"), self.engine.batches(native, BATCH_ROWS)
            first = next(parts, None)
            if first is None:
                yield self
                return
            with pyarrow.parquet.ParquetWriter(copy, first.schema) as writer:
                for part in chain([first], parts):
                    writer.write(part)
            yield replace(self, paths=(copy,), kind="Parquet", layout=None, types=None)

    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.types or self._schema(self.paths[0]))

    def count_rows(self) -> int:
        """Number of rows, without reading them where the format tells."""
        with self.scan() as native:
            return int(nw.from_native(native).lazy().select(nw.len()).collect().item())

    def batches(self) -> Iterator[Batch]:
        """Read the files one after the other, in batches."""
        for path in self.paths:
            with self.scan((path,)) as native:
                yield from batches(native, self.engine, path.name)

    def _with_types(self, layouts: list[Layout], text: tuple[str, ...]) -> Files:
        """Text files with the types of their columns, which are found in all of them together."""
        self._check_schemas([dict.fromkeys(layout.names, "there") for layout in layouts])
        first = layouts[0]
        for path, layout in zip(self.paths, layouts, strict=True):
            if layout != first:
                raise InputError(
                    f"{path} is laid out otherwise than {self.paths[0]}: separated by {layout.separator!r} and not by "
                    f"{first.separator!r}, or with rows from line {layout.skipped + 1} on and not from line "
                    f"{first.skipped + 1}. Write them alike."
                )
        failed: Exception | None = None
        for copied in dict.fromkeys([any(layout.copied for layout in layouts), True]):
            try:
                return replace(self, layout=replace(first, copied=copied))._typed(text)
            except Exception as error:
                if not isinstance(error, MisreadError) and not self.engine.blames_file(error):
                    raise
                for path in self.paths:
                    first.check(path)  # says which line is wrong, whatever the engine
                failed = error
        reason = str(failed).splitlines()[0]
        raise InputError(f"{', '.join(map(str, self.paths))} cannot be read as CSV: {reason}") from failed

    def _typed(self, text: tuple[str, ...]) -> Files:
        """Text files with the types that their cells have, as the engine reads them."""
        assert self.layout is not None
        with self.scan() as native:
            return replace(self, types=self.engine.find_types(native, self.layout, text))

    def _check_schemas(self, schemas: list[dict[str, str]]) -> None:
        """Require the same columns of all files: a difference is most often a file that does not belong."""
        first = schemas[0]
        for path, schema in zip(self.paths, schemas, strict=True):
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
        """Columns and types of a Parquet or Arrow file."""
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet

        try:
            read = pyarrow.parquet.read_schema(path) if self.kind == "Parquet" else pyarrow.ipc.open_file(path).schema
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(f"{path} cannot be read as {self.kind}: {str(error).splitlines()[0]}") from error
        twice = named_twice(read.names)
        if twice is not None or "" in read.names:
            wrong = "a column without a name" if twice is None else f"{twice!r} twice, capitals aside"
            raise InputError(f"{path} has {wrong}. Rename that column; DuckDB would do so by itself.")
        return {field.name: str(field.type) for field in read}


def find_files(source: Any) -> list[Path]:
    """The files of a path, a folder, a glob, or a list of those."""
    return [path for part in _parts(source) for path in _find(part)]


def _parts(source: Any) -> Any:
    return [source] if isinstance(source, str | os.PathLike) else source


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
