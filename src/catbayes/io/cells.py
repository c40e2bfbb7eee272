"""What the cells of a text file are taken for, by every engine alike.

A cell that is empty or a word such as NA is missing. A column is of the first of PATTERNS that all of its other cells
look like, in all files together, and else text. So 007 is text, like every number with a leading zero or of more than
18 digits: it names something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

TEXT = "text"

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
    "instant": f"{_DATE}[ T]{_TIME}Z",
    "time": f"{_DATE}[ T]{_TIME}Z?",
}
_WORDS = "(?:NA|N/A|NaN|nan|NULL|null)?"
MISSING = f"^{_WORDS}$"
ALLOWED = {TEXT: MISSING} | {kind: f"^(?:{_WORDS}|{pattern})$" for kind, pattern in PATTERNS.items()}
"""What all cells of a column of a kind match; TEXT stands for one without any but missing cells."""


def is_number(cell: str) -> bool:
    """Tell whether a cell is a number."""
    return re.fullmatch(PATTERNS["number"], cell) is not None


def likely(cells: Iterable[str | None]) -> list[str]:
    """What some cells may be; TEXT among them if they are all missing, which nothing else tells."""
    known = {cell for cell in cells if cell is not None and not re.fullmatch(_WORDS, cell)}
    kinds = [kind for kind, pattern in PATTERNS.items() if all(re.fullmatch(pattern, cell) for cell in known)]
    return kinds if known else [TEXT, *kinds]
