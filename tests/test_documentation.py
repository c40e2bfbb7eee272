"""The documentation is complete: the reference equals `__all__`, and links lead somewhere."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
PAGES += [path for path in sorted((ROOT / "docs").rglob("*.md")) if not {"api", "gallery"} & {*path.parts}]


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    sys.modules["reference"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_a_place_for_every_public_name_and_for_no_other(tmp_path, torch):
    reference = load_reference()
    (tmp_path / "gone.rst").write_text("of a name that is no more")
    reference.write_reference(tmp_path, ROOT / "examples")
    pages = {path.stem: path.read_text() for path in tmp_path.glob("*.rst")}
    modules = reference.public_modules()
    names = {name.path: name for module in modules for name in reference.listed(module)}
    assert pages.keys() == {"index", *modules, *(path for path, name in names.items() if name.kind != "data")}
    for path, name in names.items():
        page = pages[name.home if name.kind == "data" else path]
        directive = "py:data" if name.kind == "data" else f"auto{name.kind}"
        assert f".. {directive}:: {name.name}\n" in page, path
    for module in modules:
        assert f"   {module}\n" in pages["index"]


def links(text):
    """Targets of Markdown links outside of code."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", prose)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_to_files(page):
    for link in links(page.read_text(encoding="utf-8")):
        path, _, _ = link.partition("#")
        if "://" in link or not path or {"gallery", "api"} & {*Path(path).parts}:
            continue  # the built pages are checked by docs/check.py
        assert (page.parent / path).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_python_block_is_run(page):
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE):
        if page.name != "architecture.md":  # tests/test_worked_example.py follows that one
            assert block.startswith(">>> "), block[:60]
            assert block.endswith("\n\n"), f"a blank line ends the output: {block[-60:]}"


def test_every_example_of_the_gallery_is_run_and_draws():
    scripts = sorted((ROOT / "examples").glob("*.py"))
    assert len(scripts) >= 6
    for script in scripts:
        assert script.name.startswith("plot_"), "only those are run"
        text = script.read_text(encoding="utf-8")
        assert "fetch_" not in text, "data come from the network"
        assert "datasets.load" not in text, "data come from the network"
        assert "plt" in text, "nothing is drawn"


def tables_of(name):
    """The tables of a page: rows by what stands above each cell, without the stars of the best."""
    for lines in re.findall(r"(?:^\|.*\|\n)+", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE):
        head, _, *rows = ([cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines.splitlines())
        yield [dict(zip(head, row, strict=True)) for row in rows if len(row) == len(head)]


def test_the_front_page_has_the_numbers_that_the_commands_wrote():
    names = {"ours": "catbayes", "LightGBM's own": "native"}
    measured = [row for table in tables_of("docs/quality.md") for row in table]
    shown = [row for table in tables_of("README.md") for row in table if "TargetEncoder ×5" in row]
    assert len(shown) == 8
    for row in shown:
        written = {names.get(name, name): value for name, value in row.items()}
        assert any(written.items() <= found.items() for found in measured), row
    for rival, words in {
        "native": r"on (\d+), within one on (\d+) and worse on (\d+)",
        "TargetEncoder": r"\((\d+), (\d+) and (\d+)",
    }.items():
        counts = [row for table in tables_of("docs/other_tables.md") for row in table if row.get("against") == rival]
        front = " ".join((ROOT / "README.md").read_text(encoding="utf-8").partition("more tables")[2].split())
        assert list(counts[0].values())[1:] == list(re.search(words, front).groups())


def test_messages_and_pages_name_extras_that_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    files = [*PAGES, *(ROOT / "src").rglob("*.py")]
    named = {
        extra
        for path in files
        for names in re.findall(r"(?:catbayes|\.)\[([a-z0-9,]+)\]\"", path.read_text(encoding="utf-8"))
        for extra in names.split(",")
    }
    assert named
    assert named <= {*extras}


def test_fragments_of_changes_have_a_kind_that_is_known():
    kinds = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]["type"]
    for path in (ROOT / "changes").glob("*.md"):
        assert re.fullmatch(r"\+\w+\.(" + "|".join(kind["directory"] for kind in kinds) + r")\.md", path.name), (
            path.name
        )


def test_a_name_is_documented_where_users_import_it_from():
    reference = load_reference()
    homes = {name.name: name.home for name in reference.listed("catbayes")}
    assert set(homes.values()) == {"catbayes"}
    families = {name.name: name.home for name in reference.listed("catbayes.families")}
    assert families["BetaBernoulli"] == "catbayes.families"
