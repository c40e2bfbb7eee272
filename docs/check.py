"""Checks the built pages: every link inside leads somewhere, nothing is fetched, and the reference equals `__all__`.

python docs/check.py build/docs
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from reference import listed, public_modules


class Page(HTMLParser):
    """The links, the fetched files and the anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember what a tag points to, and what can be pointed to."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("img", "script", "iframe", "source") and "src" in given:
            self.fetched.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload", "modulepreload"):
            self.fetched.append(given["href"])


def problems(folder: Path) -> list[str]:
    """What is wrong with the links of the pages, and with the names of the reference."""
    files = [path for path in folder.rglob("*.html") if "_static" not in path.parts]  # which holds templates
    pages = {path.resolve(): Page(path) for path in files}
    found = []
    for path, page in pages.items():
        for link in {*page.links, *page.fetched}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.fetched and parts.scheme != "data":
                    found.append(f"{path.relative_to(folder.resolve())}: fetches {link}")
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists():
                found.append(f"{path.relative_to(folder.resolve())}: {link} is not there")
            elif there in pages and unquote(parts.fragment) not in pages[there].anchors:
                found.append(f"{path.relative_to(folder.resolve())}: {link} has no such anchor")
    return sorted(found) + wrong_names(pages, folder)


def wrong_names(pages: dict[Path, Page], folder: Path) -> list[str]:
    """Names of `__all__` without a place in the reference, and pages of the reference for other names."""
    public = {name.path: name for module in public_modules() for name in listed(module)}
    anchors = {anchor for page in pages.values() for anchor in page.anchors}
    missing = [f"{path} is in __all__ and not in the reference" for path in public if path not in anchors]
    allowed = {*public, *public_modules(), "index"}
    written = {path.stem for path in (folder / "api").glob("*.html")}
    return missing + [f"api/{stem}.html is about no public name" for stem in sorted(written - allowed)]


def main() -> int:
    """Print what is wrong; 1 if something is."""
    folder = Path(sys.argv[1])
    found = problems(folder)
    print("\n".join(found) or f"{sum(1 for _ in folder.rglob('*.html'))} pages: all links inside lead somewhere.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
