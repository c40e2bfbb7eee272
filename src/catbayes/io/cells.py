"""What the cells of a text file mean: the one rule for the types of columns and for missing words.

A cell that is empty or a word such as NA is missing. A column has the first type of PATTERNS that all of its other
cells match, in all files together, and else it is text. So 007 is text, like every number with a leading zero or of
more than 18 digits: it names something.
"""

from __future__ import annotations

from typing import Any

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


def widen(kind: str | None, cells: Any) -> str | None:
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
        convert(cells, kind)
    except pyarrow.ArrowInvalid:
        return False
    return True


def convert(cells: Any, kind: str | None) -> Any:
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
