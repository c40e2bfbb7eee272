"""Pages in Markdown, filled in from results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from experiments.trials import write_text


def write(template: str, page: Path, values: dict[str, Any]) -> None:
    """Fill in a template of this folder; a name that it lacks is an error."""
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"number": number, "signed": signed}
    environment.globals |= {"score": score, "gap": gap, "versions": versions}
    text = Path(__file__).with_name(template).read_text(encoding="utf-8")
    write_text(page, environment.from_string(text).render(values))


def put(page: Path, name: str, text: str) -> None:
    """Replace the table between the marks of its name on a page that is written by hand."""
    mark = rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)"
    after, marks = re.subn(mark, rf"\g<1>\n{text}\n\g<2>", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    if marks != 1:
        raise SystemExit(f"{page} has {marks} places for {name}: expected one.")
    write_text(page, after)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Format a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def versions(environments: list[dict[str, str]]) -> str:
    """Join the versions of several environments, different ones of a library with "or"."""
    names = dict.fromkeys(name for environment in environments for name in environment)
    found = {name: dict.fromkeys(one[name] for one in environments if name in one) for name in names}
    return ", ".join(f"{name} {' or '.join(found[name])}" for name in names if "not installed" not in found[name])


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with fixed decimals; a dash if there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 4) -> str:
    """Format a difference with its sign."""
    return "–" if value is None else f"{value:+.{digits}f}".replace("-", "−")


def score(value: float | None) -> str:
    """Format a score: four decimals, fewer of a large number, two digits of a tiny one."""
    if value is None:
        return "–"
    if 0 < abs(value) < 5e-5:
        return f"{value:.1e}"
    digits = 4 if abs(value) < 100 else 1 if abs(value) < 10_000 else 0
    return f"{value:,.{digits}f}"


def gap(value: float | None) -> str:
    """Format a difference of two scores with its sign."""
    return "–" if value is None else ("−" if value < 0 else "+") + score(abs(value))
