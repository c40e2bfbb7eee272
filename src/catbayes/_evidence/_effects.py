"""The effect of each category given everything else: the other columns of categories, and the numbers.

A posterior is about the target of a category, whatever else its rows have. An effect is what the category adds where
all else is equal, on the scale on which effects add up: that of the target for numbers, of its logarithm for rates, of
log-odds for classes, one class against all others. Numbers take part by lines that bend at their quantiles. Classes and
rates are brought to that scale by Newton steps, as generalised linear models are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from catbayes._arrays import TINY
from catbayes._evidence._scale import Scale, scale_of
from catbayes._evidence._screening import Coding
from catbayes._evidence._target import Target
from catbayes._mixed import Components, Crossed, Equations, learn, solve
from catbayes._random import Purpose, stream
from catbayes._validation import Array, Codes, check_option
from catbayes.errors import InputError

__all__ = ["EffectTable", "Effects", "RowEffects", "Slope", "resolve_effects"]

KNOTS = 8
MOST_NUMBERS = 20_000_000
"""Values of functions of numbers, of all rows together: of more numbers, those that go with the target are taken."""
NEWTON_STEPS = 12
LONGEST_STEP = 1.5
LEARN_AT = (0, 2, 4)
"""Newton steps at which variances are learnt anew; the others only settle what they imply."""
SETTLED = 1e-3
PENALTIES = (2.0, 10.0, 50.0, 250.0)
CHANCE = 6.0
"""The gain that slopes need, and the logarithm of how many are looked at: less may be chance, and costs time."""
MOST_PARTS = 3
ARRAYS = ("mean", "sd", "known", "scale")


@dataclass(frozen=True, slots=True)
class Effects:
    """What columns say beside their posteriors: effects, and slopes, of their categories where all else is equal.

    Parameters
    ----------
    slopes : dict of columns to lists of columns of numbers, "auto", or None
        Numbers that count for more in some categories than in others: `{"customer": ["price"]}` learns for each
        customer how the target goes with the price, next to all customers. "auto" finds for each column the number
        that is worth it most, if there is one. Slopes are shrunk as effects are, and those of unseen categories are
        that of all.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from catbayes import Effects, SamplingBayesianEncoder
    >>> random = np.random.default_rng(0)
    >>> X = pd.DataFrame({"customer": random.choice(list("abcd"), 400), "price": random.normal(size=400)})
    >>> y = np.where(X["customer"] == "a", 3.0, 1.0) * X["price"] + 0.1 * random.normal(size=400)
    >>> encoder = SamplingBayesianEncoder(effects=Effects(slopes={"customer": ["price"]}), random_state=0)
    >>> encoder.fit(X, y).posteriors_["customer"]["slope_price"].round(1).tolist()  # of a, b, c, d and unseen ones
    [1.5, -0.5, -0.5, -0.5, 0.0]
    """

    slopes: Mapping[Any, Sequence[Any]] | Sequence[tuple[Any, Sequence[Any]]] | Literal["auto"] | None = None

    def pairs(self) -> list[tuple[Any, Any]]:
        """Columns, and the numbers that their categories have slopes of, one at a time."""
        if self.slopes is None or isinstance(self.slopes, str):
            return []
        return [(column, number) for column, numbers in dict(self.slopes).items() for number in numbers]

    def check(self) -> None:
        """Require slopes that can be read."""
        if isinstance(self.slopes, str):
            check_option("effects.slopes", self.slopes, ("auto",))
            return
        try:
            readable = not any(isinstance(numbers, str) for numbers in dict(self.slopes or {}).values())
        except (TypeError, ValueError):
            readable = False
        if not readable:
            raise InputError(
                f"effects.slopes={self.slopes!r}: expected columns with lists of columns of numbers, such as "
                '{"customer": ["price"]}, or "auto", or None.'
            )


def resolve_effects(effects: Any) -> Effects | None:
    """Read the parameter `effects` of an encoder.

    Examples
    --------
    >>> from catbayes._evidence import resolve_effects
    >>> resolve_effects(True), resolve_effects(False)
    (Effects(slopes=None), None)
    """
    if isinstance(effects, bool):
        return Effects() if effects else None
    if isinstance(effects, Effects):
        effects.check()
        return effects
    raise InputError(f"effects={effects!r}: expected True, False, or an object Effects(slopes=…).")


class Slope(NamedTuple):
    """A number that the categories of a column have slopes of: its column of the table, and its unit."""

    position: int
    centre: float
    unit: float

    @classmethod
    def of(cls, position: int, values: Array) -> Slope:
        """In standard units of all rows."""
        known = values[np.isfinite(values)]
        centre, unit = (float(known.mean()), float(known.std())) if len(known) else (0.0, 1.0)
        return cls(position, centre, unit if unit > 0 else 1.0)

    def factor(self, values: Array) -> Array:
        """What slopes are multiplied by; a gap is as the mean."""
        return np.asarray(np.where(np.isfinite(values), (values - self.centre) / self.unit, 0.0))


@dataclass(frozen=True, slots=True)
class EffectTable:
    """The effects of the categories of one column, (slot, output): what is expected of them, and how firmly.

    Outputs are an effect for each part of the target (the classes, or just one for two classes and for numbers), then
    the slopes of one number after the other, as many each.

    Examples
    --------
    >>> from catbayes._evidence import EffectTable
    >>> one = np.ones((1, 1))
    >>> EffectTable(mean=one, sd=one, known=0.8 * one, scale=np.array([2.0])).spread(None).round(3).tolist()
    [[0.8]]
    """

    mean: Array
    sd: Array  # of the posterior about the average of the categories, with the doubt about all other terms
    known: Array  # n / (n + λ): the weight that the rows of the category have against the prior
    scale: Array  # of the prior: the standard deviation of effects, (output,)
    slopes: tuple[Slope, ...] = ()

    @property
    def n_parts(self) -> int:
        """Parts of the target."""
        return int(self.mean.shape[1] // (1 + len(self.slopes)))

    def spread(self, temperature: float | None) -> Array:
        """How far from the mean effects are drawn, as posteriors are: see `Spread`.

        It goes by the number of rows alone. The posterior's own standard deviation is larger where the target of a
        category is unusual, and would tell so.
        """
        factor = np.sqrt(self.known) if temperature is None else temperature
        return np.asarray(factor * np.sqrt(1.0 - self.known) * self.scale)


@dataclass(frozen=True, slots=True)
class RowEffects:
    """A fitted model of effects, with the rows that it was fitted on.

    Examples
    --------
    >>> from catbayes._evidence import RowEffects, read_target
    >>> city, size = np.tile([0, 1], 50), np.repeat([0.0, 1.0], 50)
    >>> y = 2.0 * city + 5.0 * size + np.tile([0.1, 0.0, -0.1, 0.0, 0.05], 20)
    >>> found = RowEffects.fit([(city, 3)], {1: size}, read_target(y, "normal", 100), None)
    >>> found.columns[0].mean[:, 0].round(1).tolist()  # of two categories, and of one without rows
    [-1.0, 1.0, 0.0]
    """

    parts: tuple[_Part, ...]  # of the target
    slopes: tuple[tuple[Slope, ...], ...]  # of every column; in the design they stand behind all columns, in order
    components: tuple[Components, ...]  # one a part
    columns: tuple[EffectTable, ...]

    @classmethod
    def fit(
        cls,
        columns: Sequence[Coding],
        numbers: Mapping[int, Array],
        target: Target,
        weight: Array | None,
        slopes: Mapping[int, Sequence[int]] | None = MappingProxyType({}),
    ) -> RowEffects:
        """Learn the variances of all terms, then the terms; `slopes` of columns by number, None to look for them."""
        scale, y = scale_of(target), target.parts()
        weight = np.ones(y.shape[1]) if weight is None else weight
        functions = _functions(numbers, y, weight)
        design = Crossed(tuple(slots for slots, _ in columns), tuple(size for _, size in columns), functions)
        if slopes is None:
            slopes = _worth_a_slope(design, numbers, [_Part.of(design, scale, one, weight) for one in y[:MOST_PARTS]])
        used = weight > 0
        own = [tuple(Slope.of(p, numbers[p][used]) for p in slopes.get(number, ())) for number in range(len(columns))]
        every = [(number, slope) for number, found in enumerate(own) for slope in found]
        lines = {slope.position: slope.factor(numbers[slope.position]) for _, slope in every}
        design = replace(
            design,
            numbers=np.column_stack([functions, *lines.values()]),
            n_free=len(lines),  # what all categories have in common is no slope of theirs
            slots=(*design.slots, *(design.slots[number] for number, _ in every)),
            sizes=(*design.sizes, *(design.sizes[number] for number, _ in every)),
            factors=(*[None] * len(columns), *(lines[slope.position] for _, slope in every)),
        )
        parts = tuple(_Part.of(design, scale, one, weight) for one in y)
        found = [part.learn(number) for number, part in enumerate(parts)]
        components = tuple(components for components, _, _ in found)
        fitted = cls(parts, tuple(own), components, ())
        tables = fitted._tables([terms for _, terms, _ in found], [variances for _, _, variances in found])
        return replace(fitted, columns=tables)

    def without(self, folds: Iterable[tuple[Codes, Codes]], temperature: float | None) -> list[tuple[Array, Array]]:
        """The effects of each row's category as the other folds have them, and their spread, (row, output) by column.

        The variances stay: they are what all rows have in common. A row that no fold holds out has no effect.
        """
        design = self.parts[0].design
        found = [np.zeros((2, len(design.numbers), table.mean.shape[1])) for table in self.columns]
        for train, test in folds:
            left_out = np.setdiff1d(np.arange(len(design.numbers)), train, assume_unique=True)
            parts = [part.without(left_out) for part in self.parts]
            solved = [part.solve(components) for part, components in zip(parts, self.components, strict=True)]
            for column, slots, table in zip(found, design.slots, self._tables(solved), strict=False):
                column[:, test] = table.mean[slots[test]], table.spread(temperature)[slots[test]]
        return [(mean, spread) for mean, spread in found]

    def _tables(
        self, parts: Sequence[_Terms], variances: Sequence[list[Array]] | None = None
    ) -> tuple[EffectTable, ...]:
        """What all parts have learnt of each column, slopes included."""
        noise, design = np.array([one.noise for one in self.components]), self.parts[0].design

        def table(number: int) -> EffectTable:
            mean = np.stack([design.effects(part.terms)[number] for part in parts], axis=1)
            count = np.stack([part.counts[number] for part in parts], axis=1)
            # With a free intercept, and a free line for slopes, effects add up to nothing. A solver takes long to get
            # there, and a level that differs between folds and the whole would move all predictions.
            seen = count > 0
            level = mean.sum(axis=0, where=seen) / np.maximum(seen.sum(axis=0), 1)
            mean = np.where(seen, mean - level, mean)
            variance = np.array([one.columns[number] for one in self.components])
            known = count / (count + noise / variance)
            sd = np.sqrt((1.0 - known) * variance)
            if variances is not None:
                sd = np.sqrt(np.stack([columns[number] for columns in variances], axis=1))
            return EffectTable(mean, sd, known, np.sqrt(variance))

        every, behind = [table(number) for number in range(len(design.sizes))], len(self.slopes)
        found = []
        for number, own in enumerate(self.slopes):
            tables = [every[number], *every[behind : behind + len(own)]]
            behind += len(own)
            arrays = {name: np.concatenate([getattr(t, name) for t in tables], axis=-1) for name in ARRAYS}
            found.append(EffectTable(**arrays, slopes=own))
        return tuple(found)


def _worth_a_slope(design: Crossed, numbers: Mapping[int, Array], parts: Sequence[_Part]) -> dict[int, tuple[int, ...]]:
    """For each column the number whose slopes gain most, if that is beyond chance.

    As interactions are weighed: what the other rows of its category say of the slope moves a row's expectation by a
    Newton step, and the gain is what that adds to the log-likelihood of what all terms leave over.
    """
    used = parts[0].weight > 0
    several = {place: values for place, values in numbers.items() if _differs(values[used])}
    lines = {place: Slope.of(place, values[used]).factor(values) for place, values in several.items()}
    gains: dict[tuple[int, int], float] = {}
    for part in parts:
        residual, weight = part.left_over()
        dispersion = max(float(weight @ residual**2) / max(float(weight.sum()), TINY), TINY)
        for (number, slots), (place, line) in product(enumerate(design.slots), lines.items()):
            size = design.sizes[number]
            own, square = weight * residual * line, weight * line**2
            sums, squares = (np.bincount(slots, values, size)[slots] for values in (own, square))
            for penalty in PENALTIES:
                step = line * (sums - own) / (squares - square + penalty)
                gain = float(weight @ (residual * step - step**2 / 2.0)) / dispersion
                gains[number, place] = max(gains.get((number, place), 0.0), gain)
    bar = CHANCE + np.log(max(len(gains), 1))
    best = {n: max(lines, key=lambda place: gains[n, place]) for n in range(len(design.sizes)) if lines}
    return {number: (place,) for number, place in best.items() if gains[number, place] > bar}


def _differs(values: Array) -> bool:
    """Whether a number has more than two values: what has two is as well a category."""
    known = values[np.isfinite(values)]
    return len(known) > 0 and bool(((known != known.min()) & (known != known.max())).any())


class _Terms(NamedTuple):
    """All terms of one part, and how much the rows of each category of every column weighed."""

    terms: Array
    counts: list[Array]


@dataclass(frozen=True, slots=True)
class _Part:
    """One number or class, to be modelled by the terms of a design."""

    design: Crossed
    scale: Scale
    y: Array
    weight: Array
    equations: Equations | None = None  # of numbers; those of classes and rates change with each step

    @classmethod
    def of(cls, design: Crossed, scale: Scale, y: Array, weight: Array) -> _Part:
        """With the equations of numbers, which stay."""
        return cls(design, scale, y, weight, Equations.of(design, y, weight) if scale.linear else None)

    def without(self, rows: Codes) -> _Part:
        """The same, some rows left out."""
        weight = self.weight.copy()
        weight[rows] = 0.0
        return replace(self, weight=weight, equations=self.equations and self.equations.without(rows))

    def learn(self, number: int, brief: bool = False) -> tuple[Components, _Terms, list[Array]]:
        """Variances of the terms, the terms, and the posterior variance of the effects of each column."""
        score = self._start()
        for step in range(NEWTON_STEPS):
            equations = self.equations or Equations.of(self.design, *self._working(score))
            if step in LEARN_AT:
                random = stream(0, Purpose.EFFECTS, number, step)
                learnt = learn(equations, random, self.scale.noise, self.scale.most, brief)
            terms = solve(equations, learnt.components)
            score, move = self._next(score, terms)
            if self.scale.linear or (move < SETTLED and step >= LEARN_AT[-1]):
                break
        return learnt.components, _Terms(terms, self.design.counts(equations.weight)), learnt.centred

    def solve(self, components: Components) -> _Terms:
        """All terms, by variances that are known."""
        score = self._start()
        for _ in range(NEWTON_STEPS):
            equations = self.equations or Equations.of(self.design, *self._working(score))
            terms = solve(equations, components)
            score, move = self._next(score, terms)
            if self.scale.linear or move < SETTLED:
                break
        return _Terms(terms, self.design.counts(equations.weight))

    def left_over(self) -> tuple[Array, Array]:
        """What all terms leave over of the response, and the weights of rows."""
        _, found, _ = self.learn(0, brief=True)
        score = self.scale.bounded(self.design.at_rows(found.terms))
        z, weight = self._working(score)
        return z - score, weight

    def _start(self) -> Array:
        mean = np.average(self.y, weights=self.weight) if self.weight.any() else 0.0
        with np.errstate(divide="ignore"):  # a class that no row of the other folds has
            return self.scale.bounded(np.full(len(self.y), self.scale.link(mean)))

    def _working(self, score: Array) -> tuple[Array, Array]:
        """The response that a linear model of the score is fitted to, and its weights."""
        mean, slope = self.scale.respond(score)
        return score + (self.y - mean) / slope, self.weight * slope

    def _next(self, score: Array, terms: Array) -> tuple[Array, float]:
        """Scores after a step that is not too long, for where it leads is known near by only; and how far it went."""
        move = self.scale.bounded(self.design.at_rows(terms)) - score
        if not self.scale.linear:
            move = np.clip(move, -LONGEST_STEP, LONGEST_STEP)
        return score + move, float(np.sqrt(np.average(move**2, weights=self.weight + TINY)))


def _functions(numbers: Mapping[int, Array], y: Array, weight: Array) -> Array:
    """Lines that bend at quantiles, of every number, in standard units, (row, function); gaps are as the mean."""
    most = max(1, MOST_NUMBERS // max(y.shape[1], 1))
    lines: list[Array] = []
    for values in _most_telling(numbers, y, most):
        known = values[np.isfinite(values) & (weight > 0)]
        lines.append(values)
        inner = np.unique(np.quantile(known, np.arange(1, KNOTS + 1) / (KNOTS + 1))) if len(known) else known
        if len(lines) + len(inner) <= most and _differs(known):
            lines += [np.maximum(values - knot, 0.0) for knot in inner if known.min() < knot < known.max()]
    if not lines:
        return np.empty((y.shape[1], 0))
    return np.column_stack([_standard(line, weight) for line in lines])


def _most_telling(numbers: Mapping[int, Array], y: Array, most: int) -> list[Array]:
    """As many columns of numbers as there is room for, those first that go with the target."""
    if len(numbers) <= most:
        return list(numbers.values())

    def together(values: Array) -> float:
        line = _standard(values, np.ones(len(values)))
        return float(np.abs((y - y.mean(axis=1, keepdims=True)) @ line).max())

    return sorted(numbers.values(), key=together, reverse=True)[:most]


def _standard(values: Array, weight: Array) -> Array:
    known = np.isfinite(values)
    usual: Any = np.average(values[known], weights=weight[known] + TINY) if known.any() else 0.0
    centred = np.where(known, values, usual) - usual
    spread = np.sqrt(np.average(centred**2, weights=weight + TINY))
    return np.asarray(centred / spread if spread > 0 else centred)
