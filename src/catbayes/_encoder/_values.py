"""Categories and labels in a file: the type of a value, and its text."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from catbayes.core.table import spelled
from catbayes.errors import InputError

_TYPES: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "bool": (bool, str, {"True": True, "False": False}.__getitem__),
    "int": (int, spelled, lambda text: int(text, 0)),
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
