"""A comparison as one HTML file that works offline, or its ranking as Markdown or JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from catbayes import InputError
from catbayes.comparison import Comparison
from catbayes.report.summary import summarise

__all__ = ["render", "summarise", "write"]


def write(comparison: Comparison, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a comparison as one HTML file, or the ranking as Markdown or JSON.

    Parameters
    ----------
    comparison : Comparison
        Result of `catbayes.compare`.
    path : str or path
        File to write: HTML, unless it ends in .md or .json.
    overwrite : bool, default=False
        Replace it if it exists.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import catbayes, tempfile
    >>> from pathlib import Path
    >>> from catbayes.datasets import make_transactions
    >>> from catbayes.report import write
    >>> payments = make_transactions(150)
    >>> result = catbayes.compare(payments.table, payments.y, encoders=["target"], models=["linear"], repeats=1)
    >>> page = write(result, Path(tempfile.mkdtemp()) / "report.html")
    >>> page.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists already. Name another file, or set overwrite=True.")
    if path.suffix == ".json":
        page = json.dumps(comparison.to_dict(), ensure_ascii=False, indent=1)
    else:
        page = _markdown(comparison) if path.suffix == ".md" else render(summarise(comparison))
    temporary = path.with_name(f"{path.name}.part")  # a reader never sees half of a page
    temporary.write_text(page, encoding="utf-8", errors="replace")
    os.replace(temporary, path)
    return path


def render(summary: dict[str, Any]) -> str:
    """Make the page of a summary.

    Names of categories are data. In the page's text they are escaped; for the script they are JSON in which `<` is
    replaced, and the script inserts them as text only. The page's own policy lets no other script run, and nothing be
    fetched.

    Parameters
    ----------
    summary : dict
        Result of `summarise`.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> import catbayes
    >>> from catbayes.datasets import make_transactions
    >>> from catbayes.report import render, summarise
    >>> payments = make_transactions(150)
    >>> result = catbayes.compare(payments.table, payments.y, encoders=["target"], models=["linear"], cv=2, repeats=1)
    >>> render(summarise(result)).count("<section>")
    5
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise ImportError('The report needs jinja2: pip install "catbayes[report]".') from None
    folder = files("catbayes.report")
    template, style, script = ((folder / f"page.{end}").read_text(encoding="utf-8") for end in ("html", "css", "js"))
    explored = {name: summary[name] for name in ("columns", "meaning")}
    data = json.dumps(explored, allow_nan=False).replace("<", "\\u003c")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(template)
    return str(page.render(summary, style=style, script=script, data=data, digest=digest))


def _markdown(comparison: Comparison) -> str:
    table = comparison.table()
    rows = [list(table), ["---"] * table.shape[1], *table.astype(str).to_numpy().tolist()]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    title, notes = f"# Predicting {comparison.rows.target}", [*comparison.reasons, *comparison.rows.notes]
    parts = [title, comparison.sentence, f"{comparison.rows.described}.", "\n".join(lines), *notes]
    return "\n\n".join([*parts, f"```python\n{comparison.code}\n```\n"])
