"""What docstrings say is so: parameters, types and defaults are those of the signature; every name has an example."""

import ast
import importlib
import inspect
import re

import pytest
from numpydoc.docscrape import FunctionDoc

import catbayes

MODULES = ["catbayes", *(f"catbayes.{name}" for name in dir(catbayes) if name not in catbayes.__all__)]
TORCH = "catbayes.torch"
USERS = {
    "catbayes",
    "catbayes.comparison",
    "catbayes.datasets",
    "catbayes.inspect",
    "catbayes.report",
    "catbayes.spark",
    TORCH,
}
WORDS = {"None": None, "True": True, "False": False}
TYPES = {"int": ("int",), "bool": ("bool",), "float": ("float", "number"), "str": ("str", "path")}


def ours(value):
    return getattr(value, "__module__", "").startswith("catbayes")


def load(module):
    if module == TORCH:
        pytest.importorskip("torch", reason="torch is not installed: pip install 'catbayes[torch]'")
    return importlib.import_module(module)


def public(module):
    """Classes and functions that a module lists, and that are ours."""
    loaded = load(module)
    values = {name: getattr(loaded, name) for name in loaded.__all__}
    return {name: value for name, value in values.items() if ours(value) and (callable(value))}


def callables(module):
    """Names, and what a user can call by them: functions, constructors and public methods."""
    for name, value in public(module).items():
        yield name, value
        if inspect.isclass(value):
            for method, member in inspect.getmembers(value, callable):
                if method[0] != "_" and ours(member) and not inspect.isclass(member):
                    yield f"{name}.{method}", member


def documented(value):
    """Parameters of a docstring: name to what stands after the colon."""
    text = inspect.getdoc(value) or ""
    if "Parameters\n----------" not in text:
        return None
    found = {}
    for entry in FunctionDoc(None, doc=text)["Parameters"]:
        for name in entry.name.split(","):
            found[name.strip().lstrip("*")] = entry.type
    return found


def signature(value):
    parameters = inspect.signature(value).parameters.values()
    return {parameter.name: parameter for parameter in parameters if parameter.name not in ("self", "cls")}


def said_default(said):
    """The default that a docstring names: `default=5`, `default 5`, or nothing."""
    found = re.search(r"\bdefaults?(?: to|=|:)?\s*([^\s,;)]+)", said)
    return None if found is None else found.group(1)


@pytest.mark.parametrize("module", MODULES)
def test_parameters_are_those_of_the_signature_in_their_order(module):
    for name, value in callables(module):
        said = documented(value)
        if said is not None:
            assert list(said) == list(signature(value)), f"{module}.{name}"


@pytest.mark.parametrize("module", MODULES)
def test_defaults_are_those_of_the_signature(module):
    for name, value in callables(module):
        for parameter, said in (documented(value) or {}).items():
            default, where = signature(value)[parameter].default, f"{module}.{name}({parameter}): {said!r}, {{}}"
            named = said_default(said)
            if not said:
                continue  # "X, y: as for fit"
            if isinstance(default, int | float):
                assert named is not None, where.format(f"and the signature says {default!r}")
            if named is not None:
                literal = WORDS[named] if named in WORDS else ast.literal_eval(named)
                assert literal == default, where.format(default)
            if isinstance(default, str) and said.startswith(('"', "{")):
                assert said.strip("{").startswith(f'"{default}"'), where.format(default)
            if default is None:
                assert re.search(r"optional|None", said), where.format("and the default is None")
            elif said.endswith("optional"):
                raise AssertionError(where.format(default))


@pytest.mark.parametrize("module", MODULES)
def test_types_are_those_of_the_signature(module):
    for name, value in callables(module):
        for parameter, said in (documented(value) or {}).items():
            annotation = str(signature(value)[parameter].annotation)
            kinds = [kind for kind in annotation.split(" | ") if kind in TYPES]
            if said and kinds and not said.startswith(('"', "{")):
                assert any(word in said for kind in kinds for word in TYPES[kind]), f"{module}.{name}({parameter})"


@pytest.mark.parametrize("module", MODULES)
def test_functions_and_constructors_that_take_something_say_what(module):
    for name, value in public(module).items():
        if inspect.isfunction(value) and signature(value) and module in USERS:
            assert documented(value) is not None, f"{module}.{name}"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_shows_an_example(module):
    missing = [name for name, value in public(module).items() if ">>> " not in (inspect.getdoc(value) or "")]
    assert not missing, f"{module}: {missing}"
