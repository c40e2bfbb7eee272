"""Files by DuckDB."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from catbayes.errors import InputError
from catbayes.io.cells import MISSING, TEXT
from catbayes.io.engine import FileEngine
from catbayes.io.text import Layout

_SQL = {
    "whole": "BIGINT",
    "number": "DOUBLE",
    "truth": "BOOLEAN",
    "date": "DATE",
    "instant": "TIMESTAMPTZ",
    "time": "TIMESTAMP",
}


class DuckDB(FileEngine):
    """Relations of a connection, which writes to disk what does not fit in memory."""

    modules = ("duckdb", "_duckdb")
    has_memory_limit = True
    sure = '^([^"]|$)'  # behind two blanks or more it takes quotes for letters

    @contextmanager
    def scan(self, paths: Sequence[str], kind: str, layout: Layout | None, memory_limit: str | None) -> Iterator[Any]:
        """Relations that live as long as their connection."""
        with tempfile.TemporaryDirectory(prefix="catbayes-") as spill, _connect(spill, memory_limit) as connection:
            literal = [_escaped(path) for path in paths]
            if kind == "Parquet":
                yield connection.read_parquet(literal)
            elif kind == "Arrow":
                import pyarrow.dataset

                yield connection.from_arrow(pyarrow.dataset.dataset(paths, format="ipc"))
            else:
                assert layout is not None
                cells = connection.read_csv(
                    literal,
                    delimiter=layout.separator,
                    quotechar='"',
                    escapechar='"',
                    header=False,
                    skiprows=layout.skipped,
                    columns=dict.fromkeys(layout.names, "VARCHAR"),
                    auto_detect=False,
                    **({"lineterminator": "\\n"} if layout.copied else {}),  # or the first in a cell would be it
                )
                yield cells.project(", ".join(f"trim({name}, ' ') AS {name}" for name in map(_quoted, layout.names)))

    def batches(self, frame: Any, n_rows: int) -> Iterator[Any]:
        """Record batches."""
        read = getattr(frame, "to_arrow_reader", None) or frame.fetch_record_batch  # its new and its old name
        yield from read(n_rows)

    def head(self, frame: Any, n_rows: int) -> list[tuple[str | None, ...]]:
        """The first rows."""
        return list(frame.limit(n_rows).fetchall())

    def match(self, frame: Any, names: Sequence[str], asked: Sequence[tuple[str, str]]) -> Sequence[bool | None]:
        """One aggregate for all."""
        counts = [f"count({_quoted(name)})" for name in names]
        checks = [f"bool_and(regexp_matches({_quoted(name)}, '{pattern}'))" for name, pattern in asked]
        found: tuple[bool | None, ...] = frame.aggregate(", ".join([*counts, *checks])).fetchall()[0]
        return found[len(names) :]

    def convert(self, frame: Any, types: dict[str, str]) -> Any:
        """One projection for all."""
        return frame.project(", ".join(f"{_converted(_quoted(n), kind)} AS {_quoted(n)}" for n, kind in types.items()))

    def blames_file(self, error: Exception) -> bool:
        """Neither Ctrl-C nor a lack of memory is the file's fault."""
        return self.owns(error) and type(error).__name__ not in ("InterruptException", "OutOfMemoryException")


def _connect(spill: str, memory_limit: str | None) -> Any:
    import duckdb

    settings: dict[str, Any] = {"temp_directory": spill}
    if memory_limit is not None:
        settings["memory_limit"] = memory_limit
    try:
        return duckdb.connect(config=settings)
    except duckdb.Error as error:
        raise InputError(f"memory_limit={memory_limit!r}: {error}".splitlines()[0]) from error


def _converted(name: str, kind: str) -> str:
    if kind == TEXT:
        return f"CASE WHEN NOT regexp_matches({name}, '{MISSING}') THEN {name} END"
    number = f"TRY_CAST({name} AS {_SQL[kind]})"  # nothing but missing cells fail
    return f"CASE WHEN NOT isnan({number}) THEN {number} END" if kind == "number" else number


def _quoted(name: str) -> str:
    """A name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _escaped(path: str) -> str:
    """A path that is taken as it is, and not for a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)
