"""Write a Markdown twin of each page, and llms.txt, which lists them, into the built pages."""

from __future__ import annotations

import re
from pathlib import Path

SITE = "Bayesian target encoding for high-cardinality categories, with scikit-learn, LightGBM, XGBoost and CatBoost."


def plain(text: str) -> str:
    """Remove what only Sphinx understands: front matter, hidden blocks, and the fences of directives."""
    text = re.sub(r"\A---\n.*?\n---\n+", "", text, flags=re.DOTALL)
    text = re.sub(r"^```\{(?:toctree|image|include)\}.*?^```\n+", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^:{3,}\{tab-item\} (.*)$", r"**\1**\n", text, flags=re.MULTILINE)
    return re.sub(r"^:{3,}.*\n|^:[\w-]+:.*\n", "", text, flags=re.MULTILINE)


def summary(text: str) -> tuple[str, str]:
    """Return the title of a page and its first sentence."""
    title, _, rest = text.lstrip("# ").partition("\n")
    paragraph = " ".join(rest.strip().partition("\n\n")[0].split())
    return title.strip(), re.split(r"(?<=[.?!]) ", paragraph)[0]


def write_twins(sources: Path, names: list[str], folder: Path) -> None:
    """Write the twins of pages that are written by hand, and the list of them."""
    lines = ["# catbayes", "", f"> {SITE}", "", "## Pages", ""]
    for name in names:
        source = sources / f"{name}.md"
        text = plain(source.read_text(encoding="utf-8")) if source.exists() else ""
        if not text.strip():
            continue  # the reference and the gallery have no Markdown; two pages only include another file
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        title, first = summary(text)
        lines.append(f"- [{title}]({name}.md): {first}")
    (folder / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
