"""How a text file is laid out, for every engine and every purpose.

- Text is UTF-8. Other encodings are refused, and the line is told.
- Cells are separated by tabs where the name ends in .tsv or .tab; otherwise by that of comma, semicolon, tab and bar of
  which the first line has most. The name may end in .gz as well.
- The first line names the columns where the name ends in .csv, .tsv or .tab. Otherwise it does so unless one of its
  cells is a number, empty or there twice; then columns are called column0, column1, …
- Blanks around cells are dropped; what is in them is told by `_cells`.
- Quotes hold a cell together where it begins with one; inside of a cell that does not, they are letters.
- A line ends in a line feed, a carriage return, or both.

Engines differ where quotes and line ends are odd. Such files are read from a plain copy, which Python's reader writes.
"""

from __future__ import annotations

import csv
import gzip
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from catbayes.core.validation import named_twice
from catbayes.errors import InputError
from catbayes.io.cells import is_number

SEPARATORS = ",;\t|"
TABBED = (".tsv", ".tab")
NAMED = (".csv", *TABBED)
LOOKED_AT = 1_000
LONGEST_CELL = 1 << 24


@dataclass(frozen=True, slots=True)
class Layout:
    """What separates the cells of a text file, the names of its columns, and the lines before its first row."""

    separator: str
    names: tuple[str, ...]
    skipped: int
    copied: bool = field(default=False, compare=False)  # whether engines read a plain copy

    @classmethod
    def of(cls, path: Path) -> Layout:
        """Look at the first lines of a file."""
        _check_text(path)
        ending = _ending(path)
        head = _first_line(path)
        separator = "\t" if ending in TABBED else _most_frequent(head)
        first, cells = next(((n, cells) for n, cells in _records(path, separator) if any(cells)), (0, []))
        if not cells:
            raise InputError(f"{path} is empty: expected a table.")
        odd = len({*cells}) < len(cells) or not all(cells) or any(map(is_number, cells))
        named = ending in NAMED or not odd
        names = tuple(cell if named and cell else f"column{i}" for i, cell in enumerate(cells))
        twice = named_twice(names)
        if twice is not None:
            raise InputError(
                f"{path}: its first line names {twice!r} twice, capitals aside. Rename one of them; if that line is a "
                "row, and the file has no names, end the name of the file in .data."
            )
        layout = cls(separator, names, first - 1 + named, copied=head.endswith("\r"))  # polars would find one line
        layout.check(path, LOOKED_AT)
        return layout

    def check(self, path: Path, most: int | None = None) -> None:
        """Refuse a file that has more or fewer cells in some line than in its first one."""
        for _ in islice(self._checked(path), most):
            pass

    def copy(self, path: Path, to: Path) -> None:
        """Write the rows of a file in the one way that engines read alike: quotes around every cell, and line feeds."""
        width = len(self.names)
        rows = (cells or [""] for line, cells in self._checked(path) if line > self.skipped)
        with to.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=self.separator, quoting=csv.QUOTE_ALL, lineterminator="\n")
            writer.writerows(cells for cells in rows if len(cells) == width)  # an empty line is no row

    def _checked(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        """The records of a file, as long as they have as many cells as the first one, or are empty lines."""
        for line, cells in _records(path, self.separator):
            if any(cells) and len(cells) != len(self.names):
                raise InputError(
                    f"{path}, line {line}: {len(cells)} cells where the first line has {len(self.names)}, separated by "
                    f"{self.separator!r}. Correct or delete one of them; quotes go around text that holds a separator."
                )
            yield line, cells


@contextmanager
def readable(paths: Sequence[Path], layout: Layout | None) -> Iterator[tuple[list[str], Layout | None]]:
    """The files that an engine is to read, and their layout: the files themselves, or plain copies of them."""
    if layout is None or not layout.copied:
        yield [str(path) for path in paths], layout
        return
    with tempfile.TemporaryDirectory(prefix="catbayes-") as folder:
        copies = [Path(folder, f"{number}.csv") for number in range(len(paths))]
        for path, copy in zip(paths, copies, strict=True):
            layout.copy(path, copy)
        yield [str(copy) for copy in copies], replace(layout, skipped=0)


def _records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the line that each record begins in, and its cells without blanks around them."""
    before = 0
    csv.field_size_limit(max(LONGEST_CELL, csv.field_size_limit()))
    try:
        with _open(path) as file:
            reader = csv.reader(file, delimiter=separator, skipinitialspace=True, strict=True)
            for cells in reader:
                yield before + 1, [cell.strip(" ") for cell in cells]
                before = reader.line_num
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    except EOFError as error:
        raise InputError(f"{path} cannot be read as CSV: {error}.") from error
    except csv.Error as error:
        raise InputError(
            f"{path}, line {before + 1}: a quote is opened there and not closed ({error}). Correct that line; quotes "
            "inside of quotes are doubled."
        ) from error


def _first_line(path: Path) -> str:
    """The first line that is not blank, with its end."""
    try:
        with _open(path) as file:
            return next((line for line in file if line.strip()), "")
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error


def _most_frequent(first: str) -> str:
    """The separator that the first line has most of, quotes aside."""
    return max(SEPARATORS, key=re.sub(r'"[^"]*"', "", first).count)


def _open(path: Path, mode: str = "rt") -> Any:
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    return opener(path, mode) if mode == "rb" else opener(path, mode, encoding="utf-8-sig", newline="")


def _ending(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _check_text(path: Path) -> None:
    """Refuse pictures, archives and the like by the bytes that no text holds."""
    try:
        with _open(path, "rb") as file:
            head = file.read(4096)
    except (gzip.BadGzipFile, EOFError) as error:
        raise InputError(f"{path} cannot be read as CSV: {error}.") from error
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path}: its text is UTF-16. Save it as UTF-8.")
    if b"\0" in head:
        raise InputError(f"{path} is not a table: it holds bytes that are no text. Give CSV, Parquet or Arrow.")


def _not_utf8(path: Path) -> InputError:
    """Find the line that is not UTF-8."""
    with _open(path, "rb") as file:
        number = next(n for n, line in enumerate(file, 1) if line.decode(errors="ignore").encode() != line)
    return InputError(
        f"{path}, line {number}: its text is not UTF-8. Save the file as UTF-8; if it is Latin-1, by "
        f"iconv -f latin1 -t utf-8 {path.name} > new{_ending(path)}"
    )
