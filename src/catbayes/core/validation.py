"""Types of arguments, and checks of them, worded the same everywhere: what was given, what is accepted, what to do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import IO, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from narwhals.typing import IntoDataFrame, IntoLazyFrame, IntoSeries

from catbayes.errors import InputError

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.signedinteger[Any]]

Name: TypeAlias = str | int
"""A column, by its name or position."""
Columns: TypeAlias = Literal["auto", "all"] | Name | Sequence[Name] | Callable[[Any], Any]
Interactions: TypeAlias = Literal["pairs", "triples", "auto"] | Sequence[tuple[Name, ...]] | None
Kinds: TypeAlias = Mapping[Any, Any] | None
"""Columns to kinds: see `catbayes.kinds`."""

TableLike: TypeAlias = IntoDataFrame | npt.ArrayLike
"""A table in memory."""
Source: TypeAlias = TableLike | IntoLazyFrame | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A table in memory, or one that stays where it is: files, lazy frames, readers of record batches."""
ByRow: TypeAlias = IntoSeries | npt.ArrayLike | None
"""A value for each row."""
ByRowOrName: TypeAlias = ByRow | str
"""A value for each row, or the name of a column that holds them."""
RowId: TypeAlias = ByRowOrName | tuple[str | Sequence[str], npt.ArrayLike]
"""What identifies rows: ids, the column that holds them, or the name of a file with the numbers of its rows."""
Labels: TypeAlias = np.ndarray[Any, Any]
"""Values of one type that the user chose: class labels, names."""
Seed: TypeAlias = int | np.random.RandomState | None
File: TypeAlias = str | os.PathLike[str] | IO[bytes]

LARGEST = 1e100
"""Numbers beyond it have squares that are no numbers."""


def is_number(value: Any) -> bool:
    """Tell whether `value` is a real number; a boolean is none."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def named_twice(names: Iterable[str]) -> str | None:
    """A name that is there before, capitals aside: DuckDB and most databases do not tell them apart."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return None


def check_option(name: str, value: Any, options: Iterable[str]) -> None:
    """Require one of a few strings."""
    options = list(options)
    if not (isinstance(value, str) and value in options):
        accepted = ", ".join(f'"{option}"' for option in options)
        raise InputError(f"{name}={value!r}: expected one of {accepted}.")


def check_number(name: str, value: Any, low: float, high: float = np.inf) -> float:
    """Require a finite real number between `low` and `high`."""
    if not is_number(value) or not low <= value <= high or not np.isfinite(value):
        bound = f"≥ {low:g}" if high == np.inf else f"from {low:g} to {high:g}"
        raise InputError(f"{name}={value!r}: expected a number {bound}.")
    return float(value)


def check_count(name: str, value: Any, low: int = 1, high: int | None = None) -> int:
    """Require a whole number between `low` and `high`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not low <= int(value) <= (high or np.inf):
        bound = f"≥ {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{name}={value!r}: expected a whole number {bound}.")
    return int(value)
