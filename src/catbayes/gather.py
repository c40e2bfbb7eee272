"""Rows to statistics: what each category of a column says about the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from catbayes._validation import Array, Codes
from catbayes.families import Family
from catbayes.statistics import Moments, Statistics, Tally

__all__ = ["Target", "gather_codes"]


@dataclass(frozen=True, slots=True)
class Target:
    """The target of every row: class codes with their labels, or numbers."""

    values: npt.NDArray[Any]
    family: type[Family]
    classes: npt.NDArray[Any] | None = None


def gather_codes(codes: Codes, target: Target, weight: Array | None, n_slots: int, rows: Any = None) -> Statistics:
    """Count (or describe) the target by category code, over all rows or some; the unseen slot learns nothing."""
    values = target.values
    if rows is not None:
        codes, values = codes[rows], values[rows]
        weight = None if weight is None else weight[rows]
    statistics: Statistics
    if target.classes is not None:
        statistics = Tally.from_codes(codes, values, weight, n_slots=n_slots, n_classes=len(target.classes))
    else:
        statistics = Moments.from_codes(codes, values, weight, n_slots=n_slots)
    return statistics.without(n_slots - 1)
