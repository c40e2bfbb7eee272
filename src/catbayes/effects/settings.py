"""The effect of each category given everything else: the other columns of categories, and the numbers.

A posterior is about the target of a category, whatever else its rows have. An effect is what the category adds where
all else is equal, on the scale on which effects add up: that of the target for numbers, of its logarithm for rates, of
log-odds for classes, one class against all others. Numbers take part by lines that bend at their quantiles. Classes and
rates are brought to that scale by Newton steps, as generalised linear models are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes
from catbayes.effects.mixed import Components, Crossed
from catbayes.effects.parts import Part, Terms, functions_of
from catbayes.effects.scale import scale_of
from catbayes.effects.slopes import Slope, gain, most_telling, worth_a_slope
from catbayes.interactions import Coding, beyond_chance

__all__ = ["EffectTable", "Effects", "RowEffects"]

MOST_PARTS = 3
"""Slopes are looked for in so many classes at most."""
ARRAYS = ("mean", "sd", "known", "scale")
FREE = 100.0
"""Units of lines that slopes are about: their weights, which are this much smaller, are hardly shrunk."""


EffectsLike: TypeAlias = bool | Literal["slopes"] | Mapping[Any, Sequence[Any]]
"""What the parameter `effects` takes."""
ALWAYS = 2
"""The last slots, of missing and of unseen ones, stay: they are there whatever the rows are."""


@dataclass(frozen=True, slots=True)
class Effects:
    """Slopes to estimate with the effects: none, those of named columns, or "auto" for those that are worth it."""

    slopes: Mapping[Any, Sequence[Any]] | Literal["auto"] | None = None

    def pairs(self) -> list[tuple[Any, Any]]:
        """Columns, and the numbers that their categories have slopes of, one at a time."""
        if self.slopes is None or isinstance(self.slopes, str):
            return []
        return [(column, number) for column, numbers in self.slopes.items() for number in numbers]


@dataclass(frozen=True, slots=True)
class EffectTable:
    """The effects of the categories of one column, (slot, output): expectation and standard deviation.

    Outputs are an effect for each part of the target (the classes, or just one for two classes and for numbers), then
    the slopes of one number after the other, as many each.
    """

    mean: Array
    sd: Array  # of the posterior about the average of the categories, with the uncertainty of all other terms
    known: Array  # n / (n + λ): the weight that the rows of the category have against the prior
    scale: Array  # of the prior: the standard deviation of effects, (output,)
    slopes: tuple[Slope, ...] = ()

    @property
    def n_parts(self) -> int:
        """Parts of the target."""
        return int(self.mean.shape[1] // (1 + len(self.slopes)))

    def zeros(self) -> EffectTable:
        """The same with effects of zero, because a tree finds splits in the smallest of differences."""
        return EffectTable(**{name: np.zeros_like(getattr(self, name)) for name in ARRAYS}, slopes=self.slopes)

    def at(self, places: Codes) -> EffectTable:
        """The effects of other slots, each of which has its place among these."""
        return replace(self, mean=self.mean[places], sd=self.sd[places], known=self.known[places])

    def spread(self, temperature: float | None) -> Array:
        """How far from the mean effects are drawn, as posteriors are: see `Slots.factor`.

        It depends on the number of rows of a category alone. The posterior's own standard deviation is larger where
        the target of a category is unusual, and would reveal that.
        """
        factor = np.sqrt(self.known) if temperature is None else temperature
        return np.asarray(factor * np.sqrt(1.0 - self.known) * self.scale)


class Weighed(NamedTuple):
    """Rows of a table, and the slots of each column numbered anew, without categories that have no weight.

    A sampler that drew their effects would go another way than in a table without them.
    """

    rows: Codes
    columns: tuple[Coding, ...]  # of these rows
    places: tuple[Codes, ...]  # the new slot of each slot of the table; one without weight is as the last, unseen
    slots: tuple[Codes, ...]  # of all rows of the table, as they were

    @classmethod
    def of(cls, columns: Sequence[Coding], weight: Array) -> Weighed:
        """Leave out what has no weight, unless nothing has any."""
        rows = np.flatnonzero(weight if weight.any() else np.ones(len(weight)))
        taken, places = list[Coding](), list[Codes]()
        for slots, size in columns:
            has_rows = np.bincount(slots[rows], minlength=size) > 0
            has_rows[-ALWAYS:] = True
            n_used = int(has_rows.sum())
            places.append(np.where(has_rows, np.cumsum(has_rows) - 1, n_used - 1))
            taken.append((places[-1][slots[rows]], n_used))
        return cls(rows, tuple(taken), tuple(places), tuple(slots for slots, _ in columns))


@dataclass(frozen=True, slots=True)
class RowEffects:
    """A fitted model of effects, with the rows that it was fitted on."""

    weighed: Weighed  # the rows of the table that the parts are of
    chosen: tuple[int, ...]  # the columns of the table that take part; what follows is of these
    parts: tuple[Part, ...]  # of the target
    slopes: tuple[tuple[Slope, ...], ...]  # of every column; in the design they come after all columns, in order
    components: tuple[Components, ...]  # one a part
    informative: tuple[bool, ...]  # of every column: whether its effects are beyond chance; others are 0 for all rows
    unit: float  # of the target in which all of these are
    columns: tuple[EffectTable, ...]  # of all columns of the table: those that take no part have no effects

    @classmethod
    def fit(
        cls,
        columns: Sequence[Coding],
        numbers: Mapping[int, Array],
        target: Target,
        weight: Array | None,
        slopes: Mapping[int, Sequence[int]] | None = MappingProxyType({}),
        n_rows: float | None = None,
    ) -> RowEffects:
        """Estimate the variances of all terms, then the terms; `slopes` of columns by number, None to look for them.

        Of hundreds of columns, the most informative ones are used, and those with slopes.
        `n_rows` is how many rows the weights stand for, if they have been multiplied by an exposure.
        """
        scale, y = scale_of(target), target.parts()
        weight = np.ones(y.shape[1]) if weight is None else weight
        n_rows = float(weight.sum()) if n_rows is None else n_rows
        weighed = Weighed.of(columns, weight)
        y, weight = y[:, weighed.rows], weight[weighed.rows]
        chosen = sorted({*most_telling(weighed.columns, y, weight), *(slopes or {})})
        columns = [weighed.columns[number] for number in chosen]
        numbers = {position: values[weighed.rows] for position, values in numbers.items()}
        unit = float(np.ptp(y)) if scale.linear and weight.any() else 1.0  # no square of it overflows
        y = y / (unit or 1.0)
        functions = functions_of(numbers, y, weight)
        design = Crossed(tuple(slots for slots, _ in columns), tuple(size for _, size in columns), functions)
        if slopes is None:
            found = worth_a_slope(numbers, [Part.of(design, scale, one, weight, n_rows) for one in y[:MOST_PARTS]])
            slopes = {chosen[number]: positions for number, positions in found.items()}
        own = [tuple(Slope.of(p, numbers[p]) for p in slopes.get(number, ())) for number in chosen]
        every = [(number, slope) for number, found in enumerate(own) for slope in found]
        lines = {slope.position: slope.factor(numbers[slope.position]) for _, slope in every}
        design = replace(
            design,
            numbers=np.column_stack([functions, *(FREE * line for line in lines.values())]),
            n_free=len(lines),  # what all categories have in common is no slope of theirs
            slots=(*design.slots, *(design.slots[number] for number, _ in every)),
            sizes=(*design.sizes, *(design.sizes[number] for number, _ in every)),
            factors=(*[None] * len(columns), *(lines[slope.position] for _, slope in every)),
        )
        parts = tuple(Part.of(design, scale, one, weight, n_rows) for one in y)
        components, terms = zip(*(part.solve(number) for number, part in enumerate(parts)), strict=True)
        informative = _informative(parts, terms, len(columns), len(weighed.columns))
        fitted = cls(weighed, tuple(chosen), parts, tuple(own), components, informative, unit or 1.0, ())
        tables = dict(zip(chosen, fitted._tables(terms), strict=True))
        for number in {*range(len(weighed.places))} - {*chosen}:  # no effects
            nothing = np.zeros((weighed.columns[number][1], len(parts)))
            tables[number] = EffectTable(nothing, nothing, nothing, nothing[0])
        return replace(fitted, columns=tuple(tables[n].at(places) for n, places in enumerate(weighed.places)))

    def without(self, folds: Iterable[tuple[Codes, Codes]], temperature: float | None) -> list[tuple[Array, Array]]:
        """The effects of each row's category as the other folds have them, and their spread, (row, output) by column.

        The variances stay: they are what all rows have in common. A row that no fold holds out has no effect.
        """
        slots = self.weighed.slots
        found = [np.zeros((2, len(own), table.mean.shape[1])) for own, table in zip(slots, self.columns, strict=True)]
        for train, test in folds:
            left_out = np.flatnonzero(~np.isin(self.weighed.rows, train))
            parts = [part.without(left_out) for part in self.parts]
            solved = [part.solve(0, components)[1] for part, components in zip(parts, self.components, strict=True)]
            for number, table in zip(self.chosen, self._tables(solved), strict=True):
                place = self.weighed.places[number][slots[number][test]]
                found[number][:, test] = table.mean[place], table.spread(temperature)[place]
        return [(mean, spread) for mean, spread in found]

    def _tables(self, parts: Sequence[Terms]) -> tuple[EffectTable, ...]:
        """The effects of each column for all parts, slopes included."""
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
            own = [part.variances[number] for part in parts if part.variances]
            sd = np.sqrt(np.stack(own, axis=1)) if own else np.zeros_like(mean)
            return EffectTable(self.unit * mean, self.unit * sd, known, self.unit * np.sqrt(variance))

        every, place = [table(number) for number in range(len(design.sizes))], len(self.slopes)
        found = []
        for number, own in enumerate(self.slopes):
            effects = every[number] if self.informative[number] else every[number].zeros()
            tables = [effects, *every[place : place + len(own)]]
            place += len(own)
            arrays = {name: np.concatenate([getattr(t, name) for t in tables], axis=-1) for name in ARRAYS}
            found.append(EffectTable(**arrays, slopes=own))
        return tuple(found)


def _informative(parts: Sequence[Part], terms: Sequence[Terms], n_columns: int, n_candidates: int) -> tuple[bool, ...]:
    """Whether the effects of each column, the best of so many, predict other rows of its categories, in any part."""
    gains = np.zeros(n_columns)
    for part, found in zip(parts, terms, strict=True):
        residual, slope = part.left_over(found.terms)
        columns = zip(part.design.slots, part.design.sizes, part.design.effects(found.terms), strict=True)
        for number, (slots, size, effects) in zip(range(n_columns), columns, strict=False):
            gains[number] = max(gains[number], gain(slots, size, residual + slope * effects[slots], slope))
    return tuple((gains > beyond_chance(max(n_candidates, 1))).tolist())
