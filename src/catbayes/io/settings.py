"""Values and settings as JSON, for the headers of files: plain values and our own objects, never code."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from catbayes.core.leakage import Ordered
from catbayes.errors import InputError
from catbayes.families import FAMILIES, Family, family_name
from catbayes.kinds import KINDS
from catbayes.mappings import MAPPINGS, PosteriorMoments, PredictiveQuantiles
from catbayes.priors import Empirical, Scaled

_TYPES: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "bool": (bool, str, {"True": True, "False": False}.__getitem__),
    "int": (int, str, lambda text: int(text, 0)),
    "float": (float, repr, float),
    "str": (str, str, str),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "timedelta": (
        datetime.timedelta,
        lambda span: str(span // datetime.timedelta(microseconds=1)),
        lambda text: datetime.timedelta(microseconds=int(text)),
    ),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
}


def write_values(values: Any, what: str) -> list[tuple[str | None, str | None]]:
    """Values as pairs of type and text."""
    if set(map(type, values)) <= {str}:
        return [("str", value) for value in values]
    return [write_value(value, what) for value in values]


def write_value(value: Any, what: str) -> tuple[str | None, str | None]:
    """A value as its type and text; None has neither."""
    if value is None:
        return None, None
    for name, (kind, write, _) in _TYPES.items():
        if type(value) is kind:
            return name, write(value)
    raise InputError(
        f"A {what} is a {type(value).__name__}, {value!r}, which cannot be saved. Turn such values into text."
    )


def read_value(pair: Any) -> Any:
    """A value from its type and text; no type is None."""
    kind, text = pair
    return None if kind is None else _TYPES[kind][2](text)


def write_name(name: Any) -> str | int:
    """The name of a column or a target as JSON."""
    if isinstance(name, str):
        return name
    if isinstance(name, int | np.integer):
        return int(name)
    raise InputError(f"Column {name!r} cannot be saved: its name must be text. Rename it.")


def write_family(prior: Family) -> dict[str, Any]:
    """A prior as JSON."""
    return {"family": family_name(type(prior)), **{name: values.tolist() for name, values in prior.arrays().items()}}


def read_family_object(record: dict[str, Any]) -> Family:
    """A prior from JSON; a flat one may have zeros, but none has NaN or anything below."""
    values = {name: value for name, value in record.items() if name != "family"}
    prior = FAMILIES[record["family"]](**values)
    for name, found in prior.arrays().items():
        if not np.isfinite(found).all() or (name not in prior.signed and (found < 0).any()):
            raise ValueError(f"a prior cannot have {name}={found.tolist()}")
    return prior


OBJECTS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Empirical, Scaled, PosteriorMoments, PredictiveQuantiles, Ordered)
}
OBJECTS |= KINDS
OBJECTS |= {type(mapping).__name__: type(mapping) for mapping in MAPPINGS.values()}
"""Our own objects, which are written by their names and fields."""


def write_settings(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an encoder as JSON."""
    return {name: _write_setting(name, value) for name, value in parameters.items()}


def _write_setting(name: str, value: Any) -> Any:
    """A parameter as JSON: plain values as they are, our own objects by name and fields."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if name == "columns" and isinstance(value, list | tuple | np.ndarray):
        return [write_name(column) for column in value]
    if name == "interactions" and isinstance(value, list | tuple):
        return [[write_name(column) for column in interaction] for interaction in value]
    if name == "effects" and isinstance(value, Mapping):
        return [[write_name(column), list(map(write_name, numbers))] for column, numbers in value.items()]
    if name == "kinds":
        return [[_write_names(columns), _write_setting("kind", kind)] for columns, kind in value.items()]
    if name == "family" and isinstance(value, type):
        return family_name(value)
    if isinstance(value, Family):
        return write_family(value)
    if OBJECTS.get(type(value).__name__) is type(value) and is_dataclass(value):
        shown = [entry.name for entry in fields(value) if entry.repr]
        return {"object": type(value).__name__, **{entry: _write_field(getattr(value, entry), name) for entry in shown}}
    raise InputError(
        f"{name}={value!r} cannot be saved, because a file holds no code. Replace it by a plain value first, by "
        f"set_params({name}=…)."
    )


def _write_names(columns: Any) -> Any:
    return [write_name(column) for column in columns] if isinstance(columns, tuple) else write_name(columns)


def _write_field(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):  # a table of tuples, such as the parents of categories
        return {"table": [[write_value(key, name), write_values(entry, name)] for key, entry in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        return [_write_field(one, name) for one in value]
    return _write_setting(name, value)


def _read_field(value: Any) -> Any:
    if isinstance(value, dict) and "table" in value:
        return {read_value(key): tuple(map(read_value, entry)) for key, entry in value["table"]}
    return tuple(value) if isinstance(value, list) else value


def _read_setting(name: str, value: Any) -> Any:
    if name == "effects" and isinstance(value, list):
        return dict(value)
    if name == "kinds" and value is not None:
        names = [tuple(columns) if isinstance(columns, list) else columns for columns, _ in value]
        return {name: _read_setting("kind", kind) for name, (_, kind) in zip(names, value, strict=True)}
    if name == "interactions" and isinstance(value, list):
        return [tuple(interaction) for interaction in value]
    if not isinstance(value, dict):
        return value
    if "object" in value:
        given = {name: _read_field(entry) for name, entry in value.items()}
        return OBJECTS[str(given.pop("object"))](**given)
    return read_family_object(value)


def read_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an encoder from JSON."""
    return {name: _read_setting(name, value) for name, value in settings.items()}
