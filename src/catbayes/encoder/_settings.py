"""The settings of an encoder as JSON, for the header of its file: plain values and our own objects, never code."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from catbayes.encoder._base import PosteriorEncoder
from catbayes.encoder._reading import read_parents
from catbayes.encoder._values import read_value, write_value, write_values
from catbayes.errors import InputError
from catbayes.families import FAMILIES, Family, family_name
from catbayes.groups import is_column_list
from catbayes.mappings import MAPPINGS, Mapping, PredictiveQuantiles
from catbayes.priors import Empirical, Scaled


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
    """A prior from JSON."""
    values = {name: value for name, value in record.items() if name != "family"}
    return FAMILIES[record["family"]](**values)


def write_settings(encoder: PosteriorEncoder) -> dict[str, Any]:
    """The parameters of an encoder as JSON."""
    return {name: _write_setting(name, value) for name, value in encoder.get_params(deep=False).items()}


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
    if name == "hierarchy":
        return [[write_name(child), _write_parents(parents, child)] for child, parents in value.items()]
    if name == "family" and isinstance(value, type):
        return family_name(value)
    if isinstance(value, Empirical | Scaled) and is_dataclass(value):
        record = {field.name: _write_setting(field.name, getattr(value, field.name)) for field in fields(value)}
        return {"prior": type(value).__name__, **record}
    if isinstance(value, Family):
        return write_family(value)
    if isinstance(value, Mapping):
        if isinstance(value, PredictiveQuantiles):
            return {"mapping": type(value).__name__, "probabilities": [float(p) for p in value.probabilities]}
        for known, mapping in MAPPINGS.items():
            if type(mapping) is type(value):
                return {"mapping": known, "drop_first": True} if value.drop_first else known
    raise InputError(
        f"{name}={value!r} cannot be saved, because a file holds no code. Replace it by a plain value first: "
        f"encoder.set_params({name}=…)."
    )


def _write_parents(parents: Any, child: Any) -> Any:
    """Names of columns, or a table of parents as pairs of a child and its ancestors."""
    if is_column_list(parents):
        return [write_name(column) for column in parents]
    table, what = read_parents(parents, child), f"parent in the hierarchy of {child!r}"
    return {"table": [[write_value(key, what), write_values(above, what)] for key, above in table.items()]}


def _read_parents(parents: Any) -> Any:
    if isinstance(parents, list):
        return parents
    return {read_value(key): tuple(map(read_value, above)) for key, above in parents["table"]}


def _read_setting(name: str, value: Any) -> Any:
    if name == "hierarchy" and value is not None:
        return {child: _read_parents(parents) for child, parents in value}
    if not isinstance(value, dict):
        return value
    if "prior" in value:
        kinds: dict[str, Any] = {"Empirical": Empirical, "Scaled": Scaled}
        return kinds[value["prior"]](**{name: entry for name, entry in value.items() if name != "prior"})
    if "drop_first" in value:
        return replace(MAPPINGS[value["mapping"]], drop_first=value["drop_first"])
    if "mapping" in value:
        return {"PredictiveQuantiles": PredictiveQuantiles}[value["mapping"]](tuple(value["probabilities"]))
    return read_family_object(value)


def read_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an encoder from JSON."""
    return {name: _read_setting(name, value) for name, value in settings.items()}
