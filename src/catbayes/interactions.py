"""Choose interactions: which columns inform about the target, and which pairs and triples improve on them.

On the scale on which effects add up, log-odds for classes and logarithms for rates, a row expects its target to be μ.
The rows of a cell have residuals r = y - μ, with the sum S, and v are the slopes of μ, with the sum V. The other rows
of its cell move the expectation of a row by a Newton step,

    p = (S - r) / (V - v + λ),

and the gain is what that adds to the log-likelihood, with the dispersion σ² of the residuals:

    Σ (r p - v p² / 2) / σ²,

at the best of a few λ. Each row is left out of its own step, so noise gains nothing on average. A single column is
measured where all rows expect the mean. A pair is measured on the residuals of all single columns, which are fitted one
after the other, several times, with each row left out as well. What one more step of a single column would gain is
subtracted from its pairs: where a category determines the target, such steps never end. Numeric columns take part by
their deciles. Large tables are sampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from catbayes.core.arrays import TINY, positive
from catbayes.core.random import Purpose, stream
from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes
from catbayes.effects.scale import Scale, scale_of

__all__ = ["PENALTIES", "Coding", "Screened", "beyond_chance", "screen"]

CHANCE = 3.0
"""A gain that one column of noise in a hundred exceeds; for pairs, the logarithm of their number is added."""
LEAST_GAIN = 0.0
"""What a pair must gain to be encoded once the best one is beyond chance; pairs of noise have less on average."""
PENALTIES = (2.0, 10.0, 50.0, 250.0, 1000.0)
SWEEPS = 3
BINS = 10
FEWEST_CHOSEN = 5  # this many interactions are allowed, however few columns there are
MOST_COLUMNS = 64
MOST_CLASSES = 8
MOST_WORK = 20_000_000  # rows times pairs: a second or two
FEWEST_ROWS = 5_000
FARTHEST = 30.0  # scores are cut off here: a category may determine its class

Coding = tuple[Codes, int]
"""The cell of every row, and the number of cells."""
Parts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Screened:
    """The gain of every combination of categories, and the informative columns."""

    gains: dict[Parts, float]
    informative: frozenset[int]

    @property
    def chosen(self) -> list[Parts]:
        """The interactions to encode, the best ones first, at most as many as there are columns: they cost as much."""
        ranked = sorted(self.gains, key=lambda parts: -self.gains[parts])
        if not ranked or self.gains[ranked[0]] <= beyond_chance(len(ranked)):
            return []
        most = max(FEWEST_CHOSEN, len({place for parts in ranked for place in parts}))
        return [parts for parts in ranked[:most] if self.gains[parts] > LEAST_GAIN]


def beyond_chance(n_weighed: int) -> float:
    """The gain that the best of n combinations hardly has by chance."""
    return float(CHANCE + np.log(n_weighed))


def screen(
    columns: Mapping[int, Coding], numbers: Mapping[int, Array], target: Target, weight: Array | None
) -> Screened:
    """Measure the gains of categorical columns: alone, in pairs and triples, and with numeric columns."""
    rows = _some_rows(len(target.values), len(columns), len(numbers))
    values = target.values[rows] if weight is None else target.values[rows][weight[rows] > 0]
    if (values == values[:1]).all():  # a first batch of one row or one class tells columns not apart
        return Screened({}, frozenset(columns))
    left = _Residuals.of(target, weight, rows)
    every = {place: (codes[rows], size) for place, (codes, size) in columns.items()}
    every |= {place: _binned(values[rows]) for place, values in numbers.items()}
    alone = {place: left.gain(*coding) for place, coding in every.items()}
    every = _most_telling(every, alone, columns)
    for _ in range(SWEEPS):
        left = left.without(list(every.values()))
    informative = {place for place in columns if alone[place] > CHANCE}
    pairs = [pair for pair in combinations(every, 2) if all(place in columns for place in pair)]
    # Pairs with a number only matter for columns that are not informative by themselves.
    pairs += [(one, other) for one in every for other in every if one in {*columns} - informative and other in numbers]
    gains = _gains_together(pairs, every, left)
    bar = beyond_chance(max(len(pairs), 1))
    informative |= {place for pair, gain in gains.items() if gain > bar for place in pair if place in columns}
    found = Screened(
        {pair: gain for pair, gain in gains.items() if all(p in columns for p in pair)}, frozenset(informative)
    )
    return _with_triples(found, every, left)


def _with_triples(found: Screened, every: Mapping[int, Coding], left: _Residuals) -> Screened:
    """Measure triples of which all pairs were chosen, on the residuals of those pairs."""
    pairs = found.chosen
    triples = [
        triple
        for triple in combinations(sorted({place for pair in pairs for place in pair}), 3)
        if all(pair in pairs for pair in combinations(triple, 2))
    ]
    left = left.without([_joined([every[place] for place in pair]) for pair in pairs])
    gains = _gains_together(triples, every, left)
    bar = beyond_chance(max(len(gains), 1))
    return Screened(found.gains | {triple: gain for triple, gain in gains.items() if gain > bar}, found.informative)


def _gains_together(found: Sequence[Parts], every: Mapping[int, Coding], left: _Residuals) -> dict[Parts, float]:
    """The gain of columns together beyond the best gain with one of them left out."""

    def gain(parts: Parts) -> float:
        return left.gain(*_joined([every[place] for place in parts]))

    fewer = {parts: list(combinations(parts, len(parts) - 1)) for parts in found}
    already = {part: max(gain(part), 0.0) for part in {part for parts in fewer.values() for part in parts}}
    return {parts: gain(parts) - max(already[part] for part in fewer[parts]) for parts in found}


@dataclass(frozen=True, slots=True)
class _Residuals:
    """Target and expectation of each part of the target, (part, row); weights are relative to equal ones."""

    y: Array
    score: Array  # on the scale on which effects add up
    scale: Scale
    weight: Array | None
    freedom: float
    residual: Array = field(init=False)  # both times the weight of the row
    slope: Array = field(init=False)

    def __post_init__(self) -> None:
        """Compute the residual and the slope of every row, once for all combinations."""
        mean, slope = self.scale.respond(self.score)
        one = 1.0 if self.weight is None else self.weight
        object.__setattr__(self, "residual", one * (self.y - mean))
        object.__setattr__(self, "slope", one * positive(slope))

    @classmethod
    def of(cls, target: Target, weight: Array | None, rows: Codes) -> _Residuals:
        """Start from the mean: of a number, or of the indicators of the most frequent classes."""
        values, freedom = target.values[rows], 1.0
        parts = [np.asarray(values, dtype=np.float64)]
        scale = scale_of(target)
        scale = scale if scale.linear else replace(scale, farthest=FARTHEST)
        if target.classes is not None:
            count = np.bincount(values, minlength=target.n_classes)
            labels = [label for label in np.argsort(-count, kind="stable") if 0 < count[label] < len(values)]
            parts = [(values == label).astype(np.float64) for label in labels[:MOST_CLASSES]]
            freedom = 1.0 - 1.0 / target.n_classes  # indicators sum to one
        if weight is not None:
            weight = weight[rows] * (weight[rows].sum() / max((weight[rows] ** 2).sum(), TINY))
        y = np.reshape(parts, (len(parts), len(values)))
        mean = np.average(y, axis=1, weights=weight)[:, None]
        return cls(y, np.repeat(scale.link(mean), len(values), axis=1), scale, weight, freedom)

    def gains(self, codes: Codes, size: int) -> Array:
        """The gain of each part at each penalty, (penalty, part), from sums over the cells."""
        residual, slope = self.residual, self.slope
        usual, count = slope.mean(axis=1, keepdims=True), np.maximum(np.bincount(codes, minlength=size), 1.0)
        total, squares, slopes = (_sums(codes, part, size) for part in (residual, residual**2, slope))
        dispersion = np.maximum(squares.sum(axis=1), TINY) / slopes.sum(axis=1)
        found = []
        for penalty in PENALTIES:
            others = slopes * (1.0 - 1.0 / count) + penalty * usual
            product = (total**2 - squares) / others
            square = slopes / count * (np.maximum(count - 2.0, 0.0) * total**2 + squares) / others**2
            found.append((product - square / 2.0).sum(axis=1) / dispersion)
        return np.array(found)

    def gain(self, codes: Codes, size: int) -> float:
        """The gain of some cells, of all parts together."""
        return float(self.gains(codes, size).sum(axis=1).max() * self.freedom) if len(self.y) else 0.0

    def without(self, columns: Sequence[Coding]) -> _Residuals:
        """Fit one column after the other, and move the expectation of each row where the gain is positive."""
        left = self
        for codes, size in columns:
            gains = left.gains(codes, size)
            residual, slope = left.residual, left.slope
            penalty = np.array(PENALTIES)[gains.argmax(axis=0)][:, None] * slope.mean(axis=1, keepdims=True)
            others = _sums(codes, slope, size)[:, codes] - slope + penalty
            step = (_sums(codes, residual, size)[:, codes] - residual) / others
            pays = (gains.max(axis=0) > 0.0)[:, None]
            left = replace(left, score=np.where(pays, left.score + step, left.score))
        return left


def _sums(codes: Codes, parts: Array, size: int) -> Array:
    """Sums over the rows of each cell, (part, cell)."""
    return np.reshape([np.bincount(codes, part, size) for part in parts], (len(parts), size))


def _most_telling(
    every: Mapping[int, Coding], alone: Mapping[int, float], first: Mapping[int, Coding]
) -> dict[int, Coding]:
    """The columns with the largest gains, categorical ones first, if there are too many for all pairs."""
    ranked = sorted(every, key=lambda place: (place not in first, -alone[place]))
    return {place: every[place] for place in sorted(ranked[:MOST_COLUMNS])}


def _binned(values: Array) -> Coding:
    """Deciles, and one more cell for missing and infinite values."""
    known = np.isfinite(values)
    edges = np.unique(np.quantile(values[known], np.arange(1, BINS) / BINS)) if known.any() else np.empty(0)
    codes = np.where(known, np.searchsorted(edges, values), len(edges) + 1)
    return codes.astype(np.intp), len(edges) + 2


def _joined(columns: Sequence[Coding]) -> Coding:
    """Number the cells of several columns together; those that occur, if there could be many more."""
    cells, size = columns[0]
    cells = cells.astype(np.intp)
    for codes, more in columns[1:]:
        cells, size = cells * more + codes, size * more
        if size > 4 * len(cells):
            _, cells = np.unique(cells, return_inverse=True)
            size = int(cells.max()) + 1
    return cells, size


def _some_rows(n_rows: int, n_columns: int, n_numbers: int) -> Codes:
    """A sample of rows in their order; the number of pairs decides how many."""
    n_columns = min(n_columns, MOST_COLUMNS)
    n_pairs = n_columns * (n_columns - 1) // 2 + n_columns * min(n_numbers, MOST_COLUMNS - n_columns)
    most = max(FEWEST_ROWS, MOST_WORK // max(n_pairs, 1))
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(stream(0, Purpose.SCREEN).choice(n_rows, most, replace=False))
