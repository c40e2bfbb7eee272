"""Values as JSON and as text, for files: plain values and our own objects, never code."""

from __future__ import annotations

import datetime
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any

import numpy as np

from catbayes.core.config import Ordered
from catbayes.errors import InputError
from catbayes.families import FAMILIES, Family, family_name
from catbayes.kinds import KINDS
from catbayes.mappings import MAPPINGS, PosteriorMoments, PredictiveQuantiles
from catbayes.priors import Empirical, Scaled

_MICROSECOND = datetime.timedelta(microseconds=1)
_TYPES: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "bool": (bool, str, {"True": True, "False": False}.__getitem__),
    "int": (int, str, lambda text: int(text, 0)),
    "float": (float, repr, float),
    "str": (str, str, str),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "timedelta": (datetime.timedelta, lambda span: str(span // _MICROSECOND), lambda text: int(text) * _MICROSECOND),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
}
_OBJECTS: Mapping[str, type[Any]] = ChainMap(
    {kind.__name__: kind for kind in (Empirical, Scaled, PosteriorMoments, PredictiveQuantiles, Ordered)},
    {type(mapping).__name__: type(mapping) for mapping in MAPPINGS.values()},
    KINDS,
)
"""Our own dataclasses, which are written by their names and fields."""


def write_texts(values: Any, what: str) -> list[tuple[str | None, str | None]]:
    """Write values as pairs of type and text; None has neither."""
    if set(map(type, values)) <= {str}:
        return [("str", value) for value in values]
    return [(None, None) if value is None else _write_text(value, what) for value in values]


def _write_text(value: Any, what: str) -> tuple[str, str]:
    for name, (kind, write, _) in _TYPES.items():
        if type(value) is kind:
            return name, write(value)
    raise InputError(
        f"A {what} is a {type(value).__name__}, {value!r}, which cannot be saved. Turn such values into text."
    )


def read_text(pair: Any) -> Any:
    """Read a value from its type and text."""
    kind, text = pair
    return None if kind is None else _TYPES[kind][2](text)


def write_json(value: Any, name: str) -> Any:
    """Write a value as JSON; `name` is the parameter or field that holds it."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and np.isfinite(value)):
        return value
    if isinstance(value, list):
        return [write_json(one, name) for one in value]
    if isinstance(value, tuple):
        return {"tuple": write_json(list(value), name)}
    if isinstance(value, Mapping):
        return {"table": [write_json([*pair], name) for pair in value.items()]}
    if isinstance(value, type) and issubclass(value, Family):
        return family_name(value)
    if isinstance(value, Family):
        return {"family": family_name(type(value)), **{one: found.tolist() for one, found in value.arrays().items()}}
    if _OBJECTS.get(type(value).__name__) is type(value):
        shown = {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.repr}
        return {"object": type(value).__name__, **{entry: write_json(one, name) for entry, one in shown.items()}}
    if any(type(value) is kind for kind, _, _ in _TYPES.values()):
        return {"text": _write_text(value, name)}
    raise InputError(
        f"{name}={value!r} cannot be saved, because a file holds no code. Replace it by a plain value first, by "
        f"set_params({name}=…)."
    )


def read_json(record: Any) -> Any:
    """Read what `write_json` made."""
    if isinstance(record, list):
        return [read_json(one) for one in record]
    if not isinstance(record, dict):
        return record
    if "tuple" in record:
        return tuple(read_json(record["tuple"]))
    if "table" in record:
        return {read_json(key): read_json(value) for key, value in record["table"]}
    if "text" in record:
        return read_text(record["text"])
    if "family" in record:
        return _read_family(**record)
    given = {name: read_json(entry) for name, entry in record.items()}
    return _OBJECTS[given.pop("object")](**given)


def _read_family(family: str, **values: Any) -> Family:
    """Read a prior; a flat one may have zeros, but none has NaN or anything below."""
    prior = FAMILIES[family](**values)
    for name, found in prior.arrays().items():
        if not np.isfinite(found).all() or (name not in prior.signed and (found < 0).any()):
            raise ValueError(f"a prior cannot have {name}={found.tolist()}")
    return prior


def write_settings(parameters: dict[str, Any]) -> dict[str, Any]:
    """Write the parameters of an encoder or a model as JSON."""
    return {name: write_json(value, name) for name, value in parameters.items()}


def read_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Read what `write_settings` made."""
    return {name: read_json(value) for name, value in settings.items()}
