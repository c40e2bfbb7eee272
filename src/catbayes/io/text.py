"""Reading CSV and other delimited text, as one parser for every engine and every purpose.

pyarrow splits the lines into cells of text, `find_types` finds the types of the columns over all files, and whatever
counts or encodes afterwards sees typed Arrow batches.

- Text is UTF-8; the name of the file may end in .gz.
- Cells are separated by tabs where the name ends in .tsv or .tab; otherwise by that of comma, semicolon, tab and bar of
  which the first line has most.
- The first line names the columns where the name ends in .csv, .tsv or .tab. Otherwise it does so unless one of its
  cells is a number, empty or repeated; then columns are called column0, column1, …
- Spaces around cells are dropped. Quotes hold a cell together that begins with one.
- A cell that is empty or a word such as NA is missing. A column has the first type of PATTERNS that all of its other
  cells match, in all files together, and else it is text. So 007 is text, like every number with a leading zero or of
  more than 18 digits: it names something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catbayes.core.validation import named_twice
from catbayes.errors import InputError

SEPARATORS = ",;\t|"
TABBED = (".tsv", ".tab")
NAMED = (".csv", *TABBED)
BLOCK_BYTES = 1 << 21
"""Bytes of text that are parsed at a time; a line must not be longer."""

TEXT = "text"
MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null")

_WHOLE = r"[+-]?(?:0|[1-9]\d{0,17})"
_POWER = r"(?:[eE][+-]?\d{1,3})?"
_DATE = r"[1-9]\d{3}-\d\d-\d\d"
_TIME = rf"{_DATE}[ T]\d\d:\d\d(?::\d\d(?:\.\d{{1,6}})?)?"
PATTERNS = {
    "whole": _WHOLE,
    "number": rf"{_WHOLE}(?:\.\d*)?{_POWER}|[+-]?\.\d+{_POWER}|[+-]?inf",
    "truth": "[Tt]rue|[Ff]alse|TRUE|FALSE",
    "date": _DATE,
    "instant": f"{_TIME}Z",
    "time": f"{_TIME}Z?",
}
_WIDER = {"whole": "number", "instant": "time"}
"""The type that holds all cells of another one."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file, what separates its cells, and the names of its columns."""

    path: Path
    separator: str
    names: tuple[str, ...]
    header: tuple[str, ...] | None  # the cells of its first line, if they are the names

    @classmethod
    def of(cls, path: Path) -> TextFile:
        """Look at the first line of a file."""
        ending = Path(path.name.lower().removesuffix(".gz")).suffix
        first = _first_line(path)
        separator = "\t" if ending in TABBED else max(SEPARATORS, key=re.sub(r'"[^"]*"', "", first).count)
        header = _reader(path, separator).schema.names
        cells = [name.strip(" ") for name in header]
        odd = len({*cells}) < len(cells) or not all(cells)
        odd = odd or any(re.fullmatch(PATTERNS["number"], cell) for cell in cells)
        has_header = ending in NAMED or not odd
        names = tuple(cell if has_header and cell else f"column{i}" for i, cell in enumerate(cells))
        twice = named_twice(names)
        if twice is not None:
            raise InputError(
                f"{path}: its first line names {twice!r} twice, capitals aside. Rename one of them; if that line is a "
                "row, and the file has no names, end the name of the file in .data."
            )
        return cls(path, separator, names, tuple(header) if has_header else None)

    def cells(self) -> Iterator[Any]:
        """Yield record batches of text, missing cells as null, in the order of the rows."""
        import pyarrow
        import pyarrow.compute as pc

        batch, missing = None, pyarrow.array(MISSING)
        try:
            for batch in _reader(self.path, self.separator, self.names, self.header):
                trimmed = [pc.utf8_trim(column, " ") for column in batch.columns]
                columns = [pc.if_else(pc.is_in(column, missing), None, column) for column in trimmed]
                yield pyarrow.RecordBatch.from_arrays(columns, list(self.names))
        except pyarrow.ArrowInvalid as error:
            raise _unreadable(self.path, error) from error
        last = batch.columns[-1][-1].as_py() if batch is not None and batch.num_rows else ""
        if "\n" in last and not _ends_quoted(self.path):
            raise InputError(f"{self.path}: a quote is opened and not closed. Quotes inside of quotes are doubled.")

    def batches(self, types: Mapping[str, str | None]) -> Iterator[Any]:
        """Yield record batches of typed columns."""
        import pyarrow

        for batch in self.cells():
            columns = [_convert(batch[name], types[name]) for name in self.names]
            yield pyarrow.RecordBatch.from_arrays(columns, list(self.names))


def find_types(files: Sequence[TextFile], is_text: Mapping[Any, bool]) -> tuple[dict[str, str | None], int]:
    """Find the types of the columns in all files together, and the number of rows.

    `is_text` has the columns that an encoder was fitted on. Those that were text stay text. The others must not become
    text: none of their cells would be a category that the encoder knows.
    """
    import pyarrow

    types: dict[str, str | None] = {name: TEXT if is_text.get(name) else None for name in files[0].names}
    n_rows = 0
    for file in files:
        for batch in file.cells():
            n_rows += batch.num_rows
            for name, kind in types.items():
                types[name] = _widen(kind, batch[name])
                if types[name] == TEXT and not is_text.get(name, True):
                    cell = next(cell for cell in batch[name] if _widen(kind, pyarrow.array([cell])) == TEXT)
                    raise InputError(
                        f"{file.path}: column {name!r} holds {cell.as_py()!r}, and no text where the encoder was "
                        "fitted, so that no cell would be a category that it knows. Correct the cell, leave it empty, "
                        "or fit again."
                    )
    return types, n_rows


def _widen(kind: str | None, cells: Any) -> str | None:
    """Return the type of a column that had the type `kind` so far, and has these cells as well.

    None stands for a column that has had missing cells only.
    """
    import pyarrow.compute as pc

    if kind == TEXT:
        return TEXT
    known = pc.unique(cells).drop_null()
    if not len(known):
        return kind
    if kind is None:
        return next((kind for kind in PATTERNS if _fits(known, kind)), TEXT)
    while kind != TEXT and not _fits(known, kind):
        kind = _WIDER.get(kind, TEXT)
    return kind


def _fits(cells: Any, kind: str) -> bool:
    """Whether all cells are values of a type; days and hours must be those of the calendar."""
    import pyarrow
    import pyarrow.compute as pc

    if not pc.all(pc.match_substring_regex(cells, f"^(?:{PATTERNS[kind]})$")).as_py():
        return False
    try:
        _convert(cells, kind)
    except pyarrow.ArrowInvalid:
        return False
    return True


def _convert(cells: Any, kind: str | None) -> Any:
    """Convert texts, none of which is a missing word, to the type that was found for them."""
    import pyarrow.compute as pc

    if kind in ("whole", "number"):
        cells = pc.utf8_ltrim(cells, "+")
    if kind == "time":
        cells = pc.utf8_rtrim(cells, "Z")
    return cells.cast(arrow_type(kind))


def arrow_type(kind: str | None) -> Any:
    """Return the Arrow type of a type that was found; a column without cells is text."""
    import pyarrow

    types = {
        "whole": pyarrow.int64(),
        "number": pyarrow.float64(),
        "truth": pyarrow.bool_(),
        "date": pyarrow.date32(),
        "instant": pyarrow.timestamp("us", "UTC"),
        "time": pyarrow.timestamp("us"),
    }
    return types.get(kind or TEXT, pyarrow.string())


def _reader(path: Path, separator: str, names: Sequence[str] = (), header: Sequence[str] | None = ()) -> Any:
    """Open a file as batches of text; without a `header`, its first line is a row of the columns `names`."""
    import pyarrow
    import pyarrow.csv as csv

    columns = dict.fromkeys(names if header is None else header, pyarrow.string())
    try:
        return csv.open_csv(
            _open(path),
            csv.ReadOptions(column_names=names if header is None else None, block_size=BLOCK_BYTES),
            csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            csv.ConvertOptions(column_types=columns, strings_can_be_null=False),
        )
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    """What to raise where the parser fails, with what to do."""
    reason = str(error).splitlines()[0]
    hint = "Correct that line; quotes go around text that holds a separator."
    if "UTF8" in reason:
        hint = f"Save the file as UTF-8; if it is Latin-1, by iconv -f latin1 -t utf-8 {path.name} > new{path.suffix}"
    return InputError(f"{path} cannot be read as CSV: {reason}. {hint}")


def _open(path: Path) -> Any:
    import pyarrow

    return pyarrow.input_stream(str(path), compression="gzip" if path.suffix.lower() == ".gz" else None)


def _first_line(path: Path) -> str:
    """The first line that is not blank; pictures, archives and UTF-16 are refused by bytes that no UTF-8 text has."""
    try:
        with _open(path) as file:
            head = file.read(1 << 16)
    except OSError as error:
        raise InputError(f"{path} cannot be read as CSV: {error}.") from error
    if b"\0" in head[:4096]:
        raise InputError(f"{path} is no table in UTF-8: it has bytes that are no text. Give CSV, Parquet or Arrow.")
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise InputError(f"{path} is empty: expected a table.")
    return first


def _ends_quoted(path: Path) -> bool:
    """Whether the last cell of a file ends in a quote; one that holds a line break must."""
    tail = b""
    with _open(path) as file:
        while block := file.read(1 << 20):
            tail = (tail + block)[-64:]
    return tail.rstrip().endswith(b'"')
