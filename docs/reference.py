"""Writes the pages of the API reference: what every public module lists in `__all__`, and nothing else.

A name has one page, at the shortest path that it can be imported from; other modules that list it link to that page.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import catbayes

USERS = {
    "catbayes": "What most users need",
    "catbayes.kinds": "Kinds of columns",
    "catbayes.inspect": "Diagnostics and plots",
    "catbayes.comparison": "Comparing encoders",
    "catbayes.report": "The report",
    "catbayes.datasets": "Data sets",
    "catbayes.torch": "PyTorch",
    "catbayes.spark": "Spark",
    "catbayes.cli": "The command line",
}


@dataclass(frozen=True, slots=True)
class Name:
    """A public name: where it is documented, and what it is."""

    home: str
    name: str
    value: Any

    @property
    def path(self) -> str:
        """Where it is imported from."""
        return f"{self.home}.{self.name}"

    @property
    def kind(self) -> str:
        """What Sphinx calls it."""
        if inspect.isclass(self.value):
            return "exception" if issubclass(self.value, BaseException) else "class"
        return "function" if inspect.isroutine(self.value) else "data"


def public_modules() -> list[str]:
    """The package and its modules without an underscore, those that users need first."""
    found = ["catbayes", *(f"catbayes.{name}" for name in dir(catbayes) if name not in catbayes.__all__)]
    return [*(name for name in USERS if name in found), *sorted(name for name in found if name not in USERS)]


def load(module: str) -> ModuleType:
    """Import a module; torch may be missing, and is then stood in for by Sphinx's mock."""
    if module == "catbayes.torch" and not find_spec("torch"):
        from sphinx.ext.autodoc.mock import mock

        with mock(["torch"]):
            return importlib.import_module(module)
    return importlib.import_module(module)


def listed(module: str) -> Iterator[Name]:
    """What a module lists in `__all__`, each name with the module that documents it."""
    loaded = load(module)
    for name in loaded.__all__:
        value = getattr(loaded, name)
        yield Name(_home(name, value, module), name, value)


def _home(name: str, value: Any, module: str) -> str:
    """The first public module that lists this very value under this name."""
    for candidate in public_modules():
        loaded = load(candidate)
        if name in loaded.__all__ and getattr(loaded, name) is value:
            return candidate
    return module


def members(value: type) -> list[str]:
    """Public methods and properties that a class has from us, and not from scikit-learn, torch or Spark."""
    owned = {}
    for kind in reversed(value.__mro__):
        if not kind.__module__.startswith("catbayes"):
            continue
        for name, member in vars(kind).items():
            if name[0] == "_" or inspect.isclass(member):
                continue
            found = member.fget if isinstance(member, property) else getattr(value, name, None)  # some are conditional
            if callable(found) and getattr(found, "__module__", "").startswith("catbayes") and found.__doc__:
                owned[name] = member
    return list(owned)


def summary(value: Any) -> str:
    """The first sentence of a docstring, on one line; a constant has none."""
    if not callable(value):
        return ""
    text = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
    return text.replace("|", r"\|")


def write_reference(folder: Path, examples: Path) -> None:
    """Write the pages, and remove those of names that are gone."""
    used = "\n".join(path.read_text(encoding="utf-8") for path in sorted(examples.glob("plot_*.py")))
    pages = {"index": _index()}
    for module in public_modules():
        names = list(listed(module))
        pages[module] = _module_page(module, names)
        for name in names:
            if name.home == module and name.kind != "data":
                pages[name.path] = _name_page(name, used)
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for stem, text in pages.items():
        path = folder / f"{stem}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _title(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n\n"


def _toctree(entries: list[str], hidden: bool = True) -> str:
    options = "   :hidden:\n" if hidden else "   :maxdepth: 1\n"
    return ".. toctree::\n" + options + "\n" + "".join(f"   {entry}\n" for entry in entries) + "\n"


def _index() -> str:
    modules = public_modules()
    inner = [module for module in modules if module not in USERS]
    text = _title("API reference")
    text += "Everything that a public module lists in ``__all__``, and nothing else.\n\n"
    text += _title("For users", "-")
    text += _table((f":doc:`{module} <{module}>`", f"{title}.") for module, title in USERS.items() if module in modules)
    text += _title("The parts", "-")
    text += "What the encoders are made of, for those who build on it: see :doc:`../architecture`.\n\n"
    text += _table((f":doc:`{module} <{module}>`", summary_of_module(module)) for module in inner)
    return text + _toctree(modules)


def summary_of_module(module: str) -> str:
    """The first sentence of a module's docstring."""
    return (load(module).__doc__ or "").partition("\n\n")[0].replace("\n", " ").replace("*", r"\*")


def _table(rows: Any) -> str:
    text = ".. list-table::\n   :widths: 35 65\n   :class: names\n\n"
    for name, said in rows:
        text += f"   * - {name}\n     - {said}\n"
    return text + "\n"


def _module_page(module: str, names: list[Name]) -> str:
    text = _title(module) + f".. automodule:: {module}\n   :no-members:\n\n"
    text += f".. currentmodule:: {module}\n\n"
    rows = [(_link(name, module), summary(name.value)) for name in names if name.kind != "data"]
    if rows:
        text += _table(rows)
    data = [name for name in names if name.kind == "data"]
    for name in data:
        if name.home == module:
            text += f".. py:data:: {name.name}\n\n   {_said_of_constant(name)}\n\n"
    return text + _toctree([name.path for name in names if name.home == module and name.kind != "data"])


def _said_of_constant(name: Name) -> str:
    """The text below the assignment of a constant, and the keys of a table."""
    if callable(name.value) and inspect.getdoc(name.value):
        return summary(name.value)
    found = load(name.home)
    place = Path(found.__file__ or "")
    for path in sorted(place.parent.glob("*.py")) if place.name == "__init__.py" else [place]:
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for statement, text in pairwise(body):
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            if any(getattr(target, "id", "") == name.name for target in targets) and isinstance(text, ast.Expr):
                said = str(ast.literal_eval(text.value)).replace("\n", " ")
                keys = name.value if isinstance(name.value, dict | tuple) else ()
                return said + (f" They are {', '.join(f'``{_shown(key)}``' for key in keys)}." if keys else "")
    raise ValueError(f"{name.path} has no text below its assignment.")


def _shown(key: Any) -> str:
    return key.__name__ if inspect.isclass(key) else repr(key).replace("'", '"')


def _link(name: Name, module: str) -> str:
    role = {"class": "class", "exception": "exc", "function": "func"}[name.kind]
    shown = name.name if name.home == module else name.path
    return f":py:{role}:`{shown} <{name.path}>`"


def _name_page(name: Name, used: str) -> str:
    text = _title(name.name) + f".. currentmodule:: {name.home}\n\n"
    text += f".. auto{name.kind}:: {name.name}\n"
    if name.kind == "class":
        for member in members(name.value):
            kind = "property" if isinstance(inspect.getattr_static(name.value, member), property) else "method"
            text += f"\n   .. auto{kind}:: {member}\n"
    text += "\n"
    if re.search(rf"\b{name.name}\b", used) and name.home in USERS:
        text += f".. minigallery:: {name.path}\n   :add-heading: In the gallery\n   :heading-level: -\n\n"
    return text
