"""Rules that the architecture page states and no checker knows, read from the source."""

import ast
from pathlib import Path

import pytest

import catbayes

SOURCE = Path(catbayes.__file__).parent
FILES = {
    path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")
}
MAKERS = {"default_rng", "Generator", "RandomState", "SeedSequence", "seed", "rand", "randn", "shuffle", "permutation"}


def made(tree):
    """Calls of numpy's makers of random numbers, `np.random.default_rng` and its like."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MAKERS:
            owner = node.func.value
            if isinstance(owner, ast.Attribute) and owner.attr == "random":
                yield node.func.attr
        elif isinstance(node, ast.Attribute) and node.attr == "default_rng":
            yield node.attr


@pytest.mark.parametrize("file", FILES)
def test_only_random_and_keyed_make_random_numbers(file):
    if not file.startswith("datasets"):  # which makes tables
        assert file in ("core/random.py", "core/random_keys.py") or not list(made(FILES[file])), (
            "use core.random.stream"
        )


def test_what_makes_random_numbers_is_found():
    assert list(made(FILES["core/random.py"]))
    assert list(made(FILES["core/random_keys.py"]))
    assert list(made(ast.parse("np.random.default_rng(0)")))
    assert list(made(ast.parse("columns = map(np.random.default_rng, seeds)")))


def stack_levels(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "stacklevel"]


@pytest.mark.parametrize("file", FILES)
def test_nobody_counts_stack_levels_by_hand(file):
    assert file == "errors.py" or not stack_levels(FILES[file]), "errors.warn finds the user's line"


def test_the_public_modules_are_few_and_listed():
    public = {name for name in dir(catbayes) if name not in catbayes.__all__ and not name.startswith("_")}
    assert public == {
        *("comparison", "datasets", "errors", "families", "inspect", "kinds", "mappings", "priors", "report"),
        *("skl2onnx", "spark", "torch"),
    }
