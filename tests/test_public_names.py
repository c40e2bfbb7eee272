"""Contracts that walk `__all__`: every public name is documented, and its defaults are told truly."""

import importlib
import inspect
import subprocess
import sys

import pytest

import catbayes

MODULES = [
    "catbayes",
    *(f"catbayes.{name}" for name in dir(catbayes) if name not in catbayes.__all__),
]
CLASSES = [getattr(catbayes, name) for name in catbayes.__all__ if inspect.isclass(getattr(catbayes, name))]


@pytest.mark.parametrize("module", MODULES)
def test_every_name_in_all_exists_and_has_a_docstring(module, request):
    if module == "catbayes.torch":
        request.getfixturevalue("torch")
    module = importlib.import_module(module)
    assert module.__doc__
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value) and type(value).__name__ not in ("UnionType",):
            assert inspect.getdoc(value), name


@pytest.mark.parametrize("public", CLASSES, ids=lambda c: c.__name__)
def test_public_classes_show_an_example(public):
    if issubclass(public, tuple | Warning):
        return  # shown where they are returned or raised
    assert "Examples\n--------" in inspect.getdoc(public)


ESTIMATORS = [public for public in CLASSES if hasattr(public, "get_params")]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda c: c.__name__)
def test_parameters_are_documented_in_order_with_the_default_first(estimator):
    section = inspect.getdoc(estimator).split("Parameters\n----------\n")[1].split("\n\n")[0]
    documented = dict(line.split(" : ") for line in section.splitlines() if line[0] != " ")
    signature = inspect.signature(estimator).parameters
    assert list(documented) == list(signature)
    for name, parameter in signature.items():
        if isinstance(parameter.default, str):
            assert documented[name].startswith(f'"{parameter.default}"'), name


def loaded(code, libraries):
    code = f"import sys; {code}; print([name for name in {libraries} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_loads_nothing_until_a_name_is_asked_for():
    libraries = ("numpy", "scipy", "sklearn", "pandas", "narwhals", "catbayes.errors")
    assert loaded("import catbayes; dir(catbayes)", libraries) == "[]"
    assert loaded("from catbayes import InputError", libraries) == "['catbayes.errors']"
    assert loaded("import catbayes; catbayes.errors", libraries) == "['catbayes.errors']"


def test_all_public_names_load_no_more_frame_libraries_than_scikit_learn_does():
    libraries = ("pandas", "polars", "pyarrow")
    assert loaded("from catbayes import *", libraries) == loaded("import sklearn.model_selection", libraries)


def test_dir_shows_the_public_names_and_submodules_and_nothing_else():
    importlib.import_module("catbayes.core.random")
    modules = {module.removeprefix("catbayes.") for module in MODULES[1:]}
    assert set(dir(catbayes)) == {*catbayes.__all__, *modules}
    assert len(dir(catbayes)) == len(catbayes.__all__) + len(modules)  # no module hides a name
    with pytest.raises(AttributeError, match="module 'catbayes' has no attribute 'nonsense'"):
        catbayes.nonsense  # noqa: B018
    assert "_" not in {name[0] for name in dir(catbayes)}
