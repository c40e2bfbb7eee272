"""Checks of parameters, worded the same everywhere: what was given, what is accepted, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from catbayes.errors import InputError, warn

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.signedinteger[Any]]

LARGEST = 1e100
"""Targets beyond it have squares that are no numbers."""
HEAVIEST = 1e30
"""Weights and exposures beyond it, or below its inverse, are mistakes: no count is so large."""


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


def numbers_by_row(name: str, given: Any, n_rows: int) -> Array:
    """Require a number for each row; a single one serves all of them."""
    refuse_masked(name, given)
    try:
        values = np.asarray(given)
        cells = values.flat if values.dtype == object else ()
        # numpy would make numbers of spans of time, in whatever unit they came.
        times = values.dtype.kind in "mM" or any(isinstance(cell, np.datetime64 | np.timedelta64) for cell in cells)
        numbers: Array = np.asarray(given, dtype=None if times or values.dtype.kind == "c" else np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers: {error}.") from error
    if numbers.dtype.kind == "c":
        raise InputError(f"{name} must hold numbers: complex ones have no order.")
    if times:
        raise InputError(f"{name} holds dates or spans of time: expected numbers. Divide spans by a unit of time.")
    if numbers.ndim == 0:
        numbers = np.full(n_rows, numbers)
    if numbers.shape != (n_rows,):
        raise InputError(f"{name} has shape {numbers.shape}: expected one number for each of {n_rows} rows.")
    return numbers


def refuse_masked(name: str, given: Any) -> None:
    """Refuse an array of numpy that hides some of its values: all else would read what is behind the mask."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        raise InputError(
            f"{name} is a masked array, and hides {int(np.ma.getmaskarray(given).sum())} values. Drop those rows, or "
            "fill them, with .filled(…)."
        )


def check_weights(weight: Any, n_rows: int, whole: bool = True) -> Array | None:
    """Require one finite weight ≥ 0 a row, a `whole` table's not all zero; a single number serves all rows."""
    if weight is None:
        return None
    weights = numbers_by_row("sample_weight", weight, n_rows)
    if not np.isfinite(weights).all():
        raise InputError("sample_weight holds NaN or infinite values: give such rows the weight 0 to leave them out.")
    if weights.min() < 0:
        raise InputError(f"sample_weight holds {weights.min():g}: expected weights ≥ 0; use 0 to leave a row out.")
    strange = weights[(weights > HEAVIEST) | ((weights > 0) & (weights < 1.0 / HEAVIEST))]
    if len(strange):
        raise InputError(
            f"sample_weight holds {strange[0]:g}: expected 0, or from {1 / HEAVIEST:g} to {HEAVIEST:g}. Scale the "
            "weights to a mean of 1."
        )
    if whole and not weights.any():
        raise InputError("sample_weight is zero for every row: nothing is left to learn from.")
    return weights


def warn_of_small(weights: Array) -> None:
    """Say so where rows of such weights say next to nothing of their categories."""
    if weights.mean() < 0.01:
        warn(
            f"sample_weight has a mean of {weights.mean():.2g}: a weight says how many rows a row stands for, so these "
            "say next to nothing. Scale them to a mean of 1 unless you mean that."
        )
