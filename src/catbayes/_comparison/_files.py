"""Reading a file of one's own into memory: CSV, Parquet or Arrow, and what is wrong with it if it cannot be read."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from catbayes._sources import need_arrow
from catbayes.errors import InputError

SEPARATORS = ",;\t|"
MOST_LINES_OF_A_CELL = 100


def read_file(path: Path, text: Sequence[str] = ()) -> Any:
    """Read a file into an Arrow table: Parquet or Arrow by its name, anything else as CSV.

    A CSV file may be separated by commas, semicolons, tabs or bars. Its first line names the columns, unless a number
    is among its cells and its name does not end in .csv or .tsv; then they are called column0, column1, … Blanks around
    cells are dropped, and an empty cell is missing. `catbayes fit` reads files by an engine, because they may be large;
    here one sees what is wrong.

    Parameters
    ----------
    path : Path
        The file.
    text : sequence of str
        Columns of a CSV file that are text, whatever they look like: codes such as 007.

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
        raise InputError(f"{str(path)!r} is a folder." if path.is_dir() else f"There is no file {str(path)!r}.")
    if not path.stat().st_size:
        raise InputError(f"{path} is empty: expected a table.")
    ending = path.suffix.lower()
    try:
        if ending in (".parquet", ".pq"):
            return pyarrow.parquet.read_table(path)
        if ending in (".arrow", ".feather", ".ipc"):
            return pyarrow.feather.read_table(path)
        return _checked(_read_csv(path, text), path)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, csv.Error) as error:
        kind = ending[1:] if ending in (".parquet", ".pq", ".arrow", ".feather", ".ipc") else "CSV"
        if isinstance(error, UnicodeDecodeError):
            raise InputError(f"{path}: its text is not UTF-8. Save the file as UTF-8.") from error
        reason = next(iter(str(error).splitlines()), "").removeprefix("CSV parse error: ").replace("Row #", "line ")
        raise InputError(f"{path} cannot be read as {kind}: {reason}.") from error


def _read_csv(path: Path, text: Sequence[str]) -> Any:
    import pyarrow
    from pyarrow import csv as arrow

    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rb") as file:
        if b"\0" in file.read(4096):
            raise InputError(f"{path} is not a table: it holds bytes that are no text. Give CSV, Parquet or Arrow.")
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        first = next((line for line in file if line.strip()), "")
        separator = max(SEPARATORS, key=re.sub(r'"[^"]*"', "", first).count)
        file.seek(0)
        reader = csv.reader(file, delimiter=separator)
        cells = [cell.strip() for cell in next((record for record in reader if record), [])]
        lines = reader.line_num
    headed = bool({".csv", ".tsv"} & {ending.lower() for ending in path.suffixes}) or not any(map(_is_number, cells))
    names = [cell if headed and cell else f"column{i}" for i, cell in enumerate(cells)]
    if len(set(names)) < len(names):
        raise InputError(f"{path} names a column twice: {', '.join(map(repr, names[:20]))}. Rename one of them.")
    with opener(path, "rb") as file:
        return arrow.read_csv(
            file,
            # One block, one thread: an error then tells its line.
            read_options=arrow.ReadOptions(
                use_threads=False, block_size=(1 << 31) - 1, column_names=names, skip_rows=lines if headed else 0
            ),
            parse_options=arrow.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=arrow.ConvertOptions(
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                column_types={name: pyarrow.string() for name in text if name in names},
            ),
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
        trimmed = compute.utf8_trim_whitespace(table.column(i))
        table = table.set_column(i, field.name, compute.if_else(compute.equal(trimmed, ""), None, trimmed))
    if not len(table):
        raise InputError(f"{path} names columns and holds no rows.")
    return table


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell.lower() not in ("nan", "inf", "infinity")
