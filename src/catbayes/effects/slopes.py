"""Slopes of numbers by category, and what a column's effects or slopes are worth beyond chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from catbayes.core.arrays import TINY
from catbayes.core.validation import LARGEST, Array, Codes
from catbayes.effects.parts import Part, differs
from catbayes.interactions import PENALTIES, Coding, beyond_chance

__all__ = ["Slope", "gain", "most_telling", "worth_a_slope"]

COST = 3.0
"""What slopes must gain beyond chance: they take time."""
MOST_COLUMNS = 100
"""Columns that always take part: with more, time goes with the square."""


class Slope(NamedTuple):
    """A number that the categories of a column have slopes of: its column of the table, and its unit."""

    position: int
    centre: float
    unit: float

    @classmethod
    def of(cls, position: int, values: Array) -> Slope:
        """In standard units of all rows."""
        known = values[np.abs(values) <= LARGEST]  # sums of squares of larger ones are soon no numbers
        centre, unit = (float(known.mean()), float(known.std())) if len(known) else (0.0, 1.0)
        return cls(position, centre, unit if unit > 0 else 1.0)

    def factor(self, values: Array) -> Array:
        """What slopes are multiplied by; a gap is as the mean."""
        known = np.abs(values) <= LARGEST
        return np.asarray(np.where(known, (np.where(known, values, 0.0) - self.centre) / self.unit, 0.0))


def gain(slots: Codes, size: int, residual: Array, slope: Array, line: Array | float = 1.0) -> float:
    """What effects of the categories of a column, or slopes along a line, add to the log-likelihood of new rows.

    As interactions are weighed: the other rows of its category move a row's expectation by a Newton step.
    """
    dispersion = max(float((residual**2).sum()), TINY) / max(float(slope.sum()), TINY)
    own, square = residual * line, slope * line**2
    sums, squares = (np.bincount(slots, values, size)[slots] for values in (own, square))
    best, usual = 0.0, float(slope.mean())
    for penalty in PENALTIES:
        step = line * (sums - own) / np.maximum(squares - square + penalty * usual, TINY)
        best = max(best, float((residual * step - slope * step**2 / 2.0).sum()) / dispersion)
    return best


def most_telling(columns: Sequence[Coding], y: Array, weight: Array) -> list[int]:
    """All columns, or of hundreds those that gain most by themselves, each beyond chance; others have no effects.

    A column that is informative only given others is left out then. Hundreds of columns of
    noise would explain the rows between them, and take the place of the others.
    """
    if len(columns) <= MOST_COLUMNS:
        return list(range(len(columns)))
    left = weight * (y - y @ weight[:, None] / max(float(weight.sum()), TINY))
    gains = np.array([max(gain(slots, size, one, weight) for one in left) for slots, size in columns])
    n_taken = int(np.clip((gains > beyond_chance(1)).sum(), 1, MOST_COLUMNS))
    return sorted(np.argsort(-gains, kind="stable")[:n_taken].tolist())


def worth_a_slope(numbers: Mapping[int, Array], parts: Sequence[Part]) -> dict[int, tuple[int, ...]]:
    """For each column the number whose slopes gain most of what all terms leave over, if that is beyond chance."""
    used, design = parts[0].weight > 0, parts[0].design
    several = {place: values for place, values in numbers.items() if differs(values[used])}
    lines = {place: Slope.of(place, values[used]).factor(values) for place, values in several.items()}
    if not lines:
        return {}
    gains: dict[tuple[int, int], float] = {}
    for part in parts:
        residual, slope = part.left_over(part.solve(0)[1].terms)
        for (number, slots), (place, line) in product(enumerate(design.slots), lines.items()):
            gained = gain(slots, design.sizes[number], residual, slope, line)
            gains[number, place] = max(gains.get((number, place), 0.0), gained)
    bar = COST + beyond_chance(max(len(gains), 1))
    best = {n: max(lines, key=lambda place: gains[n, place]) for n in range(len(design.sizes))}
    return {number: (place,) for number, place in best.items() if gains[number, place] > bar}
