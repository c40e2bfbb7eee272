"""From what was found to a page in Markdown; nothing on it is typed by hand."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from catbayes.comparison import written
from catbayes.io.atomic import replacing
from experiments.effort import Effort
from experiments.table import CLOSE

TEMPLATE = Path(__file__).with_name("results.md")
NAMES = {
    "leave_one_out": "LeaveOneOutEncoder",
    "sampling": "sampling",
    "category_means": "plain category means",
    "leave_one_out_printed": "LeaveOneOutEncoder, its own printed forest",
}
"""What things are called on the page, where it is not what they are called here."""


def render(found: dict[str, Any], effort: Effort, folder: Path, page: Path) -> None:
    """Write the page; pictures are linked from where it is."""
    pictures = Path(os.path.relpath(folder, page.parent)).as_posix()
    every = [environment for part in found.values() if part for environment in part["environments"]]
    values = {"found": found, "effort": effort, "pictures": pictures, "close": CLOSE}
    write(TEMPLATE, page, values | {"environments": distinct(every)})


def write(template: Path, page: Path, values: dict[str, Any]) -> None:
    """Fill in a template; a name that it lacks is an error."""
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"number": number, "signed": signed, "called": called}
    text = environment.from_string(template.read_text(encoding="utf-8")).render(values)
    with replacing(page) as temporary:
        temporary.write_text(text, encoding="utf-8")


def distinct(environments: list[dict[str, str]]) -> list[dict[str, str]]:
    """Each of them once."""
    return [environment for place, environment in enumerate(environments) if environment not in environments[:place]]


def number(value: float | None, digits: int = 4) -> str:
    """A number with so many decimals; a dash if there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 4) -> str:
    """A difference, its sign always told."""
    return "–" if value is None else f"{value:+.{digits}f}".replace("-", "−")


def score(value: float | None) -> str:
    """A score with as many digits as it needs; a dash if there is none."""
    return "–" if value is None else written(value)


def gap(value: float | None) -> str:
    """A difference of two scores, its sign always told."""
    return "–" if value is None else ("−" if value < 0 else "+") + written(abs(value))


def called(name: str) -> str:
    """What something is called on the page."""
    return NAMES.get(name, name)


def put(page: Path, name: str, text: str) -> None:
    """Put a table between the marks of its name on a page that is written by hand."""
    mark = rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)"
    after, marks = re.subn(mark, rf"\g<1>\n{text}\n\g<2>", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    if marks != 1:
        raise SystemExit(f"{page} has {marks} places for {name}: expected one.")
    page.write_text(after, encoding="utf-8")
