"""Numbers, names and tables as text and as HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

LONGEST = 60
FIGURES = 4  # of the largest number of a column


def counted(count: float, noun: str, nouns: str | None = None) -> str:
    """A number of things, by their singular and plural."""
    return f"{number(count)} {noun if count == 1 else nouns or noun + 's'}"


def in_rows(strength: float) -> str:
    """What a prior is worth, in rows: whole ones of many, and two figures of few."""
    written = number(round(strength)) if strength >= 10 else f"{float(f'{strength:.2g}'):g}"
    return f"{written} {'row' if written == '1' else 'rows'}"


def number(value: Any) -> str:
    """One number: 71,030, 0.1234, nothing for NaN."""
    return column([value])[0]


def column(values: Sequence[Any]) -> list[str]:
    """Values below each other: numbers with as many decimals as the largest one needs, the rest as text."""
    numbers = [float(value) for value in values if _is_number(value) and math.isfinite(value)]
    whole = all(value == round(value) for value in numbers)
    largest = max(map(abs, numbers), default=0.0)
    decimals = 0 if whole or largest == 0 else min(max(FIGURES - 1 - math.floor(math.log10(largest)), 0), FIGURES)
    return [_written(value, decimals) for value in values]


def printable(text: str) -> str:
    r"""A text for a terminal: what would move its cursor or change its colours is spelled out."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or (hasattr(value, "dtype") and value.dtype.kind in "iuf")


def _written(value: Any, decimals: int) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, bool) or not _is_number(value):
        text = printable(" ".join(str(value).split()))
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= 1e9 or 0 < abs(value) < 0.5 * 10.0**-decimals <= 0.5 * 10.0**-FIGURES:
        return f"{value:.1g}"
    return f"{value:,.{decimals}f}"


NAMES = ("column", "category", "class")


def texts(heading: str, values: list[Any]) -> list[Any]:
    """Values to be written below a heading; names that are numbers are no quantities."""
    return [None if v is None or v != v else str(v) for v in values] if heading in NAMES else values


def text_of(headings: Sequence[str], lines: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """A table as lines of text, some of its columns set to the right."""
    widths = [max(len(line[i]) for line in [headings, *lines]) for i in range(len(headings))]
    return [
        "  ".join(
            text.rjust(width) if after else text.ljust(width)
            for text, width, after in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in [headings, *lines]
    ]


def html_of(
    before: Sequence[str],
    headings: Sequence[str],
    lines: Sequence[Sequence[str]],
    after: Sequence[str],
    right: Sequence[bool],
) -> str:
    """Paragraphs, a table with some columns set to the right, and paragraphs; texts stay text, whatever they hold."""
    given = [f' style="text-align:{"right" if after else "left"}"' for after in right]

    def row(tag: str, line: Sequence[str]) -> str:
        return "".join(f"<{tag}{a}>{html.escape(str(t))}</{tag}>" for a, t in zip(given, line, strict=True))

    table = [f"<tr>{row('th', headings)}</tr>", *(f"<tr>{row('td', line)}</tr>" for line in lines)]
    paragraphs = [[f"<p>{html.escape(text)}</p>" for text in texts if text] for texts in (before, after)]
    shown = f"<table>{''.join(table)}</table>" if lines else ""
    return f'<div style="overflow-x:auto">{"".join(paragraphs[0])}{shown}{"".join(paragraphs[1])}</div>'
