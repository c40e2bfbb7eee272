"""What the cells of a text file are taken for, by every engine alike.

A cell that is empty or one of MISSING is missing. A column is of the first of PATTERNS that all of its other cells look
like, in all files together, and else text. So 007 is text, like every number with a leading zero or of more than 18
digits: it names something.

Expressions are those of the engines themselves, because tables may have thousands of columns: a CASE for each takes
DuckDB seconds, a list of words becomes a join for each, and narwhals goes through all columns for each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

MISSING = ("NA", "N/A", "NaN", "nan", "NULL", "null")
TEXT = "text"
SAMPLE = 1_000

_WHOLE = r"[+-]?(?:0|[1-9]\d{0,17})"
_POWER = r"(?:[eE][+-]?\d{1,3})?"
_LONG, _SHORT = r"(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])", r"(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
_LEAP = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29"
_DATE = rf"(?:\d{{4}}-(?:{_LONG}|{_SHORT}|02-(?:0[1-9]|1\d|2[0-8]))|{_LEAP})"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?"
PATTERNS = {
    "whole": _WHOLE,
    "number": rf"{_WHOLE}(?:\.\d*)?{_POWER}|[+-]?\.\d+{_POWER}|[+-]?inf",
    "truth": "[Tt]rue|[Ff]alse|TRUE|FALSE",
    "date": _DATE,
    "time": f"{_DATE}[ T]{_TIME}Z?",
}
_MISSING = f"(?:{'|'.join(MISSING)})?"
_SQL = {"whole": "BIGINT", "number": "DOUBLE", "truth": "BOOLEAN", "date": "DATE", "time": "TIMESTAMP"}


def is_number(cell: str) -> bool:
    """Tell whether a cell is a number."""
    return re.fullmatch(PATTERNS["number"], cell) is not None


def find_types(native: Any, engine: str, names: Sequence[str], text: Sequence[str]) -> dict[str, str]:
    """What each column of a frame of texts holds: guessed from its first rows, and then held against all of them."""
    head = native.limit(SAMPLE).fetchall() if engine == "duckdb" else native.head(SAMPLE).collect().rows()
    columns = zip(*head, strict=True) if head else [()] * len(names)
    likely = {name: _likely(cells) for name, cells in zip(names, columns, strict=True)}
    asked = [(name, kind) for name in names if name not in text for kind in likely[name]]
    found = dict(zip(asked, _holds(native, engine, names, asked), strict=True))
    return {
        name: next((kind for kind in PATTERNS if found.get((name, kind)) and not found.get((name, TEXT))), TEXT)
        for name in names
    }


def _likely(cells: Iterable[str | None]) -> list[str]:
    """What some cells may be; TEXT among them if they are all missing, which nothing else tells."""
    known = {cell for cell in cells if cell is not None and not re.fullmatch(_MISSING, cell)}
    kinds = [kind for kind, pattern in PATTERNS.items() if all(re.fullmatch(pattern, cell) for cell in known)]
    return kinds if known else [TEXT, *kinds]


def _holds(native: Any, engine: str, names: Sequence[str], asked: Sequence[tuple[str, str]]) -> list[bool]:
    """Whether all cells of a column are of a kind or missing, for each column and kind; reads every cell."""
    patterns = [f"^(?:{_MISSING}|{PATTERNS[kind]})$" if kind != TEXT else f"^{_MISSING}$" for _, kind in asked]
    if engine == "duckdb":
        counts = [f"count({quoted(name)})" for name in names]
        checks = [
            f"bool_and(regexp_matches({quoted(name)}, '{p}'))" for (name, _), p in zip(asked, patterns, strict=True)
        ]
        found = native.aggregate(", ".join([*counts, *checks])).fetchall()[0]
    else:
        import polars

        counted = [polars.col(name).count().alias(f"n{i}") for i, name in enumerate(names)]
        checked = [
            polars.col(name).str.contains(p).all().alias(str(i))
            for i, ((name, _), p) in enumerate(zip(asked, patterns, strict=True))
        ]
        found = native.select(*counted, *checked).collect(engine="streaming").row(0)
    return [answer is not False for answer in found[len(names) :]]  # none, where all cells are empty


def convert(native: Any, engine: str, types: dict[str, str]) -> Any:
    """A frame of texts as what they were found to be."""
    if engine == "polars":
        return native.select(*(_with_polars(name, kind).alias(name) for name, kind in types.items()))
    return native.project(", ".join(f"{_with_duckdb(quoted(n), kind)} AS {quoted(n)}" for n, kind in types.items()))


def _with_duckdb(name: str, kind: str) -> str:
    if kind == TEXT:
        return f"CASE WHEN NOT regexp_matches({name}, '^{_MISSING}$') THEN {name} END"
    number = f"TRY_CAST({name} AS {_SQL[kind]})"  # nothing but missing cells fail
    return f"CASE WHEN NOT isnan({number}) THEN {number} END" if kind == "number" else number


def _with_polars(name: str, kind: str) -> Any:
    import polars

    text = polars.col(name)
    if kind == TEXT:
        return polars.when(~text.str.contains(f"^{_MISSING}$")).then(text)
    if kind == "truth":
        return text.str.to_lowercase().replace_strict(
            {"true": True, "false": False}, default=None, return_dtype=polars.Boolean
        )
    if kind == "date":
        return text.str.to_date("%Y-%m-%d", strict=False)
    if kind == "time":
        text = text.str.replace("T", " ", literal=True).str.replace("Z", "", literal=True)
        text = text.str.replace("^(.{16})$", "${1}:00")
        return text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    number = text.cast(polars.Int64 if kind == "whole" else polars.Float64, strict=False)
    return number if kind == "whole" else number.fill_nan(None)


def quoted(name: str) -> str:
    """A name for SQL."""
    return '"' + name.replace('"', '""') + '"'
