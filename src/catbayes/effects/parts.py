"""One number or class of the target, modelled by terms that add up: Newton steps, and lines of numbers that bend.

Classes and rates are brought to the scale on which terms add up as generalised linear models are: a step fits a linear
model to what the score was, plus how far the target is from its mean in units of the slope.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from catbayes.core.arrays import TINY
from catbayes.core.random import Purpose, stream
from catbayes.core.validation import Array, Codes
from catbayes.effects.gibbs import learn
from catbayes.effects.mixed import Components, Crossed, Equations, solve
from catbayes.effects.scale import Scale

__all__ = ["Part", "Terms", "differs", "functions_of"]

KNOTS = 8
MOST_NUMBERS, MOST_FUNCTIONS = 20_000_000, 600
"""Values of functions of numbers, of all rows together, and functions, which are no more than half the rows either: of
more numbers, those that go with the target are taken, and of fewer, these bend."""
NEWTON_STEPS = 12
LONGEST_STEP = 1.5
LEARN_AT = (0, 2, 4)
"""Newton steps at which variances are learnt anew, briefly but for the last time."""
SETTLED = 1e-3


class Terms(NamedTuple):
    """All terms of one part, and of every column, how much the rows of each category weigh."""

    terms: Array
    counts: list[Array]
    variances: list[Array]  # posterior ones of the effects of each column; none where their components were given


@dataclass(frozen=True, slots=True)
class Part:
    """One number or class, to be modelled by the terms of a design."""

    design: Crossed
    scale: Scale
    y: Array
    weight: Array
    n_rows: float  # that the weights stand for, whatever the exposure of each
    equations: Equations | None = None  # of numbers; those of classes and rates change with each step

    @classmethod
    def of(cls, design: Crossed, scale: Scale, y: Array, weight: Array, n_rows: float) -> Part:
        """With the equations of numbers, which stay."""
        equations = Equations.of(design, y, weight, n_rows=n_rows) if scale.linear else None
        return cls(design, scale, y, weight, n_rows, equations)

    def without(self, rows: Codes) -> Part:
        """The same, some rows left out."""
        weight = self.weight.copy()
        weight[rows] = 0.0
        return replace(self, weight=weight, equations=self.equations and self.equations.without(rows))

    def solve(self, number: int, components: Components | None = None) -> tuple[Components, Terms]:
        """All terms and their variances, which are learnt if not given."""
        mean = np.average(self.y, weights=self.weight) if self.weight.any() else 0.0
        with np.errstate(divide="ignore"):  # a class that no row of the other folds has
            score = self.scale.bounded(np.full(len(self.y), self.scale.link(mean)))
        learn_at = LEARN_AT if components is None else ()
        variances, step = list[Array](), 0
        while True:
            equations = self.equations or Equations.of(self.design, *self._working(score), n_rows=self.n_rows)
            if components is None or step in learn_at:
                random = stream(0, Purpose.EFFECTS, number, step, 0)
                brief = not self.scale.linear and step < LEARN_AT[-1]
                components, variances = learn(equations, random, self.scale.noise, self.scale.most, brief)
            terms = solve(equations, components)
            # Where a step leads is known near by only.
            longest = np.inf if self.scale.linear else LONGEST_STEP
            move = np.clip(self.scale.bounded(self.design.at_rows(terms)) - score, -longest, longest)
            score, step = score + move, step + 1
            moved = np.sqrt(np.average(move**2, weights=self.weight + TINY))
            settled = moved < SETTLED and step > max(learn_at, default=0)
            if self.scale.linear or settled or step == NEWTON_STEPS:
                return components, Terms(terms, self.design.counts(equations.weight), variances)

    def left_over(self, terms: Array) -> tuple[Array, Array]:
        """How far targets are from the mean that all terms give, and how steep it is, both by the weight of the row."""
        mean, slope = self.scale.respond(self.design.at_rows(terms))
        return self.weight * (self.y - mean), self.weight * slope

    def _working(self, score: Array) -> tuple[Array, Array]:
        """The response that a linear model of the score is fitted to, and its weights."""
        mean, slope = self.scale.respond(score)
        return score + (self.y - mean) / slope, self.weight * slope


def functions_of(numbers: Mapping[int, Array], y: Array, weight: Array) -> Array:
    """Lines that bend at quantiles, of every number, in standard units, (row, function); gaps are as the mean."""
    n_rows = max(y.shape[1], 1)
    most = max(1, min(MOST_NUMBERS // n_rows, MOST_FUNCTIONS, n_rows // 2))
    chosen, lines = _most_telling(numbers, y, most), list[Array]()
    room = most - len(chosen)  # for bends
    for values in chosen:
        known = values[np.isfinite(values) & (weight > 0)]
        lines.append(values)
        inner = np.unique(np.quantile(known, np.arange(1, KNOTS + 1) / (KNOTS + 1))) if len(known) else known
        if len(inner) <= room and differs(known):
            lines += [np.maximum(values - knot, 0.0) for knot in inner if known.min() < knot < known.max()]
            room -= len(inner)
    if not lines:
        return np.empty((y.shape[1], 0))
    return np.column_stack([_standard(line, weight) for line in lines])


def _most_telling(numbers: Mapping[int, Array], y: Array, most: int) -> list[Array]:
    """As many columns of numbers as there is room for, those first that go with the target, if not all may bend."""
    if sum(1 + KNOTS * differs(values) for values in numbers.values()) <= most:
        return list(numbers.values())

    def together(values: Array) -> float:
        line = _standard(values, np.ones(len(values)))
        return float(np.abs((y - y.mean(axis=1, keepdims=True)) @ line).max())

    return sorted(numbers.values(), key=together, reverse=True)[:most]


def _standard(values: Array, weight: Array) -> Array:
    known = np.isfinite(values)
    largest = float(np.abs(values[known]).max(initial=0.0)) or 1.0  # no square of it overflows
    usual: Any = np.average(values[known] / largest, weights=weight[known] + TINY) if known.any() else 0.0
    centred = np.where(known, values / largest, usual) - usual
    spread = np.sqrt(np.average(centred**2, weights=weight + TINY))
    return np.asarray(centred / spread if spread > 0 else centred)


def differs(values: Array) -> bool:
    """Whether a number has more than two values: what has two is as well a category."""
    known = values[np.isfinite(values)]
    return len(known) > 0 and bool(((known != known.min()) & (known != known.max())).any())
