"""Files of one schema, and the engine that reads them."""

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

from catbayes._sources._batches import Batch, batches, need_arrow
from catbayes._sources._cells import convert, find_types, quoted
from catbayes._sources._text import NAMED, Layout
from catbayes._validation import check_option
from catbayes.errors import InputError

Engine = Literal["auto", "duckdb", "polars"]
ENGINES = get_args(Engine)
"""What may read files; "auto" is DuckDB where it is installed, else polars."""
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
MANY_COLUMNS = 200
IN_FOLDERS = (*PARQUET, *ARROW, *NAMED, *(f"{ending}.gz" for ending in NAMED))


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one kind and schema, to be read by an engine: Parquet, Arrow, or text such as CSV.

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
    layout: Layout | None = None  # of text
    types: dict[str, str] | None = None  # of its columns, found in all files together

    @classmethod
    def of(cls, source: Any, engine: str, memory_limit: str | None, text: tuple[str, ...] = ()) -> Files:
        """Find the files of a path, a folder, a glob, or a list of those; `text` columns of a text file stay text."""
        given = [source] if isinstance(source, str | os.PathLike) else source
        paths = [path for part in given for path in _find(part)]
        kinds = sorted({_kind(path) for path in paths})
        if len(kinds) > 1:
            raise InputError(
                f"{', '.join(map(str, given))} holds both {kinds[0]} and {kinds[1]} files. Give one kind at a time."
            )
        if len({path.resolve() for path in paths}) < len(paths):
            raise InputError(f"{', '.join(map(str, given))} names a file twice. Name each one once.")
        files = cls(tuple(paths), kinds[0], _choose(engine, memory_limit), memory_limit)
        need_arrow("Reading files")
        if files.kind == "CSV":
            return files._with_types([Layout.of(path) for path in paths], text)
        files._check_schemas([files._schema(path) for path in paths])
        return files

    @contextmanager
    def scan(self, paths: tuple[Path, ...] | None = None) -> Iterator[Any]:
        """All files, or some, as one lazy frame of the engine."""
        names = [str(path) for path in paths or self.paths]
        if self.engine == "polars":
            yield self._typed(self._scan_polars(names))
            return
        with tempfile.TemporaryDirectory(prefix="catbayes-") as spill, self._connect(spill) as connection:
            yield self._typed(self._scan_duckdb(connection, names))

    def _scan_polars(self, names: list[str]) -> Any:
        import polars

        if self.kind == "Parquet":
            return polars.scan_parquet(names, glob=False)
        if self.kind == "Arrow":
            return polars.scan_ipc([Path(name) for name in names])
        layout = self._layout
        frame = polars.scan_csv(
            names,
            glob=False,
            separator=layout.separator,
            has_header=False,
            skip_rows=layout.skipped,
            schema=dict.fromkeys(layout.names, polars.String),
        )
        some = polars.any_horizontal(polars.all().is_not_null())  # an empty line is no row
        if len(layout.names) > MANY_COLUMNS:  # polars would take a minute to optimise this for thousands
            frame = frame.map_batches(lambda rows: rows.filter(some), schema=frame.collect_schema(), streamable=True)
        elif len(layout.names) > 1:
            frame = frame.filter(some)
        return frame.with_columns(polars.all().str.strip_chars(" "))

    def _scan_duckdb(self, connection: Any, names: list[str]) -> Any:
        literal = [_escaped(name) for name in names]
        if self.kind == "Parquet":
            return connection.read_parquet(literal)
        if self.kind == "Arrow":
            import pyarrow.dataset

            return connection.from_arrow(pyarrow.dataset.dataset(names, format="ipc"))
        layout = self._layout
        cells = connection.read_csv(
            literal,
            delimiter=layout.separator,
            quotechar='"',
            escapechar='"',
            header=False,
            skiprows=layout.skipped,
            columns=dict.fromkeys(layout.names, "VARCHAR"),
            auto_detect=False,
        )
        return cells.project(", ".join(f"trim({name}) AS {name}" for name in map(quoted, layout.names)))

    def _typed(self, native: Any) -> Any:
        return native if self.types is None else convert(native, self.engine, self.types)

    @property
    def _layout(self) -> Layout:
        assert self.layout is not None
        return self.layout

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
        return list(self.types or self._schema(self.paths[0]))

    def count_rows(self) -> int:
        """Number of rows, without reading them where the format tells."""
        with self.scan() as native:
            return int(nw.from_native(native).lazy().select(nw.len()).collect().item())

    def batches(self) -> Iterator[Batch]:
        """Read the files one after the other, in batches."""
        for path in self.paths:
            with self.scan((path,)) as native:
                yield from batches(native, path.name)

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
        files = replace(self, layout=first)
        try:
            with files.scan() as native:
                return replace(files, types=find_types(native, self.engine, first.names, text))
        except Exception as error:
            library, name = type(error).__module__.partition(".")[0], type(error).__name__
            if library not in ("duckdb", "_duckdb", "polars") or name in ("InterruptException", "OutOfMemoryException"):
                raise
            for path in self.paths:
                first.check(path)  # says which line is wrong, whatever the engine
            reason = str(error).splitlines()[0]
            raise InputError(f"{', '.join(map(str, self.paths))} cannot be read as CSV: {reason}") from error

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
            return {field.name: str(field.type) for field in read}
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(f"{path} cannot be read as {self.kind}: {str(error).splitlines()[0]}") from error


def _choose(engine: str, memory_limit: str | None) -> str:
    check_option("engine", engine, ENGINES)
    wanted = ["duckdb", "polars"] if engine == "auto" else [engine]
    found = next((name for name in wanted if find_spec(name)), None)
    if found is None:
        raise ImportError(f'Reading files needs {" or ".join(wanted)}: pip install "catbayes[{wanted[0]}]".')
    if found == "polars" and memory_limit is not None:
        raise InputError(f"memory_limit={memory_limit!r}: only DuckDB has one. Leave it out, or use engine='duckdb'.")
    return found


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


def _escaped(name: str) -> str:
    """A path that DuckDB takes as it is, and not for a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
