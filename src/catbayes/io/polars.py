"""Files by polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from catbayes.io.cells import MISSING, TEXT
from catbayes.io.engine import FileEngine
from catbayes.io.text import Layout

MANY_COLUMNS = 200
UUIDS = "extension<arrow.uuid>"


class Polars(FileEngine):
    """Lazy frames, which polars runs in its streaming engine."""

    modules = ("polars",)
    sure = r'^[^"\r]*$'  # it takes quotes behind blanks for letters, and carriage returns alone too

    @contextmanager
    def scan(self, paths: Sequence[str], kind: str, layout: Layout | None, memory_limit: str | None) -> Iterator[Any]:
        """Lazy frames, which need nothing to live in."""
        import polars
        import pyarrow.ipc
        import pyarrow.parquet

        if layout is not None:
            yield _scan_text(paths, layout)
            return
        parquet = kind == "Parquet"
        frame = polars.scan_parquet(paths, glob=False) if parquet else polars.scan_ipc([Path(path) for path in paths])
        schema = pyarrow.parquet.read_schema(paths[0]) if parquet else pyarrow.ipc.open_file(paths[0]).schema
        yield frame.with_columns(*(_spelled(field.name) for field in schema if str(field.type) == UUIDS))

    def batches(self, frame: Any, n_rows: int) -> Iterator[Any]:
        """Tables."""
        for part in frame.collect_batches(chunk_size=n_rows, maintain_order=True):
            yield part.to_arrow()

    def head(self, frame: Any, n_rows: int) -> list[tuple[str | None, ...]]:
        """The first rows."""
        return list(frame.head(n_rows).collect().rows())

    def match(self, frame: Any, names: Sequence[str], asked: Sequence[tuple[str, str]]) -> Sequence[bool | None]:
        """One query for all."""
        import polars

        counts = [polars.col(name).count().alias(f"n{i}") for i, name in enumerate(names)]
        checks = [polars.col(name).str.contains(p).all().alias(str(i)) for i, (name, p) in enumerate(asked)]
        found: tuple[bool | None, ...] = frame.select(*counts, *checks).collect(engine="streaming").row(0)
        return found[len(names) :]

    def convert(self, frame: Any, types: dict[str, str]) -> Any:
        """One projection for all."""
        return frame.select(*(_converted(name, kind).alias(name) for name, kind in types.items()))


def _spelled(name: str) -> Any:
    """A column of UUIDs as text, as other engines give it; polars takes them for bytes."""
    import polars

    digits = polars.col(name).bin.encode("hex")
    parts = [digits.str.slice(start, length) for start, length in ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))]
    return polars.concat_str(parts, separator="-").alias(name)


def _scan_text(paths: Sequence[str], layout: Layout) -> Any:
    import polars

    frame = polars.scan_csv(
        paths,
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


def _converted(name: str, kind: str) -> Any:
    import polars

    text = polars.col(name)
    if kind == TEXT:
        return polars.when(~text.str.contains(MISSING)).then(text)
    if kind == "truth":
        return text.str.to_lowercase().replace_strict(
            {"true": True, "false": False}, default=None, return_dtype=polars.Boolean
        )
    if kind == "date":
        return text.str.to_date("%Y-%m-%d", strict=False)
    if kind in ("instant", "time"):
        text = text.str.replace("T", " ", literal=True).str.replace("Z", "", literal=True)
        text = text.str.replace("^(.{16})$", "${1}:00")
        time = text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
        return time.dt.replace_time_zone("UTC") if kind == "instant" else time
    number = text.cast(polars.Int64 if kind == "whole" else polars.Float64, strict=False)
    return number if kind == "whole" else number.fill_nan(None)
