"""A family owns all that is known of it: outside `families/` none is named, so a new one is a file and a line."""

import ast
import re
from pathlib import Path

import pytest

import catbayes
from catbayes.families import FAMILIES

SOURCE = Path(catbayes.__file__).parent
CLASSES = {family.__name__ for family in FAMILIES.values()}
QUOTED = re.compile(rf'"({"|".join(FAMILIES)})"')
OTHER_MEANINGS = {  # words that are no family where they stand
    ("core/slots.py", "normal"): "a sampler",
    ("comparison/_result.py", "categorical"): "columns",
}
FILES = sorted(
    path
    for path in SOURCE.rglob("*.py")
    if "families" not in path.relative_to(SOURCE).parts and path != SOURCE / "__init__.py"  # whose names are public
)


def named(tree):
    """Names of family classes, however they are reached, and strings that are or quote the word for a family."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        for name in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "name", None)):
            if name in CLASSES:
                yield node, name
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            words = [node.value] if node.value in FAMILIES else QUOTED.findall(node.value)
            yield from ((node, word) for word in words)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_module_names_a_family(path):
    file = path.relative_to(SOURCE).as_posix()
    found = [
        f"{file}:{getattr(node, 'lineno', '?')} names {name}"
        for node, name in named(ast.parse(path.read_text(encoding="utf-8")))
        if (file, name) not in OTHER_MEANINGS
    ]
    assert not found, "Ask the family instead, by an attribute or a method of it: " + "; ".join(found)


@pytest.mark.parametrize(("file", "word"), OTHER_MEANINGS)
def test_every_exception_is_needed(file, word):
    assert word in {name for _, name in named(ast.parse((SOURCE / file).read_text(encoding="utf-8")))}


@pytest.mark.parametrize(
    "code",
    [
        "from catbayes.families import NormalGamma",
        "isinstance(prior, families.GammaPoisson)",
        "family == 'poisson'",
        "{'lognormal': 1}",
        "raise ValueError('set family=\"categorical\" instead')",
        "raise ValueError(f'{y}: set family=\"normal\" instead')",
    ],
)
def test_a_name_would_be_found(code):
    assert list(named(ast.parse(code)))


def test_docstrings_may_name_families():
    assert not list(named(ast.parse('def f():\n    """For family="poisson", GammaPoisson."""')))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_docstring_lists_the_families(path):
    """A list of them all would have to grow with every new one; `catbayes.families.FAMILIES` is that list."""
    listed = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if len(QUOTED.findall(line)) > 2]
    assert not listed
