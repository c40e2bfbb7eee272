"""Reading a file of one's own into memory: CSV, Parquet or Arrow, and what is wrong with it if it cannot be read."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

from catbayes.errors import InputError
from catbayes.sources import need_arrow

SEPARATORS = ",;\t|"
MOST_LINES_OF_A_CELL = 100


def read_file(path: Path) -> Any:
    """Read a file into an Arrow table: Parquet or Arrow by its name, anything else as CSV.

    A CSV file may be separated by commas, semicolons, tabs or bars. Its first line names the columns, unless a number
    is among its cells; then they are called column0, column1, … Blanks around cells are dropped.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    pyarrow.Table
        All of it.
    """
    need_arrow("Reading files")
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet

    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}.")
    if not path.stat().st_size:
        raise InputError(f"{path} is empty.")
    ending = path.suffix.lower()
    try:
        if ending in (".parquet", ".pq"):
            return pyarrow.parquet.read_table(path)
        if ending in (".arrow", ".feather", ".ipc"):
            return pyarrow.feather.read_table(path)
        return _checked(_read_csv(path), path)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, csv.Error) as error:
        kind = ending[1:] if ending in (".parquet", ".pq", ".arrow", ".feather", ".ipc") else "CSV"
        reason = next(iter(str(error).splitlines()), "").removeprefix("CSV parse error: ").replace("Row #", "line ")
        raise InputError(f"{path} cannot be read as {kind}: {reason}.") from error


def _read_csv(path: Path) -> Any:
    from pyarrow import csv as arrow

    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rb") as file:
        start = file.read(1 << 16)
    if b"\0" in start:
        raise InputError(f"{path} is not a table: it holds bytes that are no text. Give CSV, Parquet or Arrow.")
    first = start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").splitlines()[0].decode()
    separator = max(SEPARATORS, key=first.count)
    cells = [cell.strip() for cell in next(csv.reader([first], delimiter=separator))]
    headed = not any(_is_number(cell) for cell in cells)
    names = cells if headed else [f"column{i}" for i in range(len(cells))]
    if len(set(names)) < len(names):
        raise InputError(f"{path} names a column twice: {', '.join(map(repr, names[:20]))}. Rename one of them.")
    return arrow.read_csv(
        path,
        # One block, one thread: an error then tells its line.
        read_options=arrow.ReadOptions(
            use_threads=False, block_size=(1 << 31) - 1, column_names=names, skip_rows=int(headed)
        ),
        parse_options=arrow.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=arrow.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False),
    )


def _checked(table: Any, path: Path) -> Any:
    """Texts without blanks around them; refuse other encodings, and cells that swallowed the rows after them."""
    import pyarrow
    from pyarrow import compute

    for i, field in enumerate(table.schema):
        if pyarrow.types.is_binary(field.type):
            raise InputError(f"{path}, column {field.name!r}: its text is not UTF-8. Save the file as UTF-8.")
        if not pyarrow.types.is_string(field.type):
            continue
        lines = compute.max(compute.count_substring(table.column(i), "\n")).as_py() or 0
        if lines > MOST_LINES_OF_A_CELL:
            raise InputError(f"{path}, column {field.name!r}: one cell holds {lines:,} lines. Is a quote missing?")
        table = table.set_column(i, field.name, compute.utf8_trim_whitespace(table.column(i)))
    if not len(table):
        raise InputError(f"{path} holds no rows.")
    return table


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell.lower() not in ("nan", "inf", "infinity")
