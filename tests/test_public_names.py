"""What is public is small and documented: names, submodules, docstrings with the parameters of the signature."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from numpydoc.docscrape import FunctionDoc

import catbayes

SUBMODULES = {
    *("comparison", "datasets", "errors", "families", "inspect", "kinds", "mappings", "priors", "report"),
    *("skl2onnx", "spark", "torch"),
}
MODULES = ["catbayes", *(f"catbayes.{name}" for name in sorted(SUBMODULES))]
SOURCE = Path(catbayes.__file__).parent


def load(module):
    if module == "catbayes.torch":
        pytest.importorskip("torch", reason="torch is not installed: pip install 'catbayes[torch]'")
    return importlib.import_module(module)


def public(module):
    """Classes and functions of ours that a module lists."""
    values = ((name, getattr(load(module), name)) for name in load(module).__all__)
    return {
        name: value
        for name, value in values
        if callable(value) and getattr(value, "__module__", "").startswith("catbayes")
    }


def callables(module):
    """Names, and what a user can call by them: functions, constructors and public methods."""
    for name, value in public(module).items():
        yield name, value
        if inspect.isclass(value):
            for method, member in inspect.getmembers(value, inspect.isfunction):
                if method[0] != "_" and member.__module__.startswith("catbayes"):
                    yield f"{name}.{method}", member


def documented(value):
    """Parameters of a docstring, each with its type and default as text; None without such a section."""
    text = inspect.getdoc(value) or ""
    if "Parameters\n----------" not in text:
        return None
    entries = FunctionDoc(None, doc=text)["Parameters"]
    return {name.strip().lstrip("*"): entry.type for entry in entries for name in entry.name.split(",")}


def signature(value):
    parameters = inspect.signature(value).parameters.values()
    return {parameter.name: parameter for parameter in parameters if parameter.name not in ("self", "cls")}


def test_there_are_at_most_sixteen_names_and_the_listed_submodules():
    assert len(catbayes.__all__) <= 16
    assert set(dir(catbayes)) == {*catbayes.__all__, *SUBMODULES}
    assert not SUBMODULES & {*catbayes.__all__}  # no module hides a name
    with pytest.raises(AttributeError, match="module 'catbayes' has no attribute 'nonsense'"):
        catbayes.nonsense  # noqa: B018


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_docstring_with_an_example(module):
    assert load(module).__doc__
    for name, value in public(module).items():
        assert ">>> " in (inspect.getdoc(value) or ""), f"{module}.{name}"


@pytest.mark.parametrize("module", MODULES)
def test_documented_parameters_and_defaults_are_those_of_the_signature(module):
    words = {"None": None, "True": True, "False": False}
    for name, value in callables(module):
        given = documented(value)
        if given is None:
            continue
        assert list(given) == list(signature(value)), f"{module}.{name}"
        for parameter, text in given.items():
            default, where = signature(value)[parameter].default, f"{module}.{name}({parameter}): {text!r}"
            named = re.search(r"\bdefaults?(?: to|=|:)?\s*([^\s,;)]+)", text)
            if named is not None:
                assert (words[named[1]] if named[1] in words else ast.literal_eval(named[1])) == default, where
            elif text and isinstance(default, int | float):
                raise AssertionError(f"{where}: name the default, {default!r}")
            elif isinstance(default, str) and text.startswith('"'):
                assert text.startswith(f'"{default}"'), where
            elif text and default is None:
                assert re.search(r"optional|None", text), where


@pytest.mark.parametrize("estimator", ["SamplingBayesianEncoder", "SamplingClassifier", "SamplingRegressor"])
def test_every_parameter_of_an_estimator_is_documented(estimator):
    value = getattr(catbayes, estimator)
    assert list(documented(value)) == list(signature(value))


def loaded(code, libraries):
    code = f"import sys; {code}; print([name for name in {libraries} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_loads_nothing_until_a_name_is_used():
    libraries = ("numpy", "scipy", "sklearn", "pandas", "narwhals", "catbayes.errors")
    assert loaded("import catbayes; dir(catbayes)", libraries) == "[]"
    assert loaded("from catbayes import InputError", libraries) == "['catbayes.errors']"
    frames = ("pandas", "polars", "pyarrow")
    assert loaded("from catbayes import *", frames) == loaded("import sklearn.model_selection", frames)


# --------------------------------------------------------------------------- rules of docs/architecture.md

MAKERS = r"\brandom\.(default_rng|Generator|RandomState|SeedSequence|seed|rand|randn|shuffle|permutation)\("


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_random_numbers_come_from_streams_and_warnings_from_one_function(path):
    name = path.relative_to(SOURCE).as_posix()
    text = re.sub(r"^ *(>>>|\.\.\.) .*$", "", path.read_text(encoding="utf-8"), flags=re.M)  # without examples
    if not name.startswith(("core/random", "datasets")):
        assert not re.search(rf"\bnp\.{MAKERS}", text), "use core.random.stream"
    assert name == "errors.py" or "stacklevel=" not in text, "errors.warn finds the user's line"
