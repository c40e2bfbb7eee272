"""One fitted column: its posteriors, its mapping, and what follows from the two."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catbayes.core.arrays import TINY
from catbayes.core.combinations import Index
from catbayes.core.draw_scale import Spread
from catbayes.core.drawing import Found, LeftOut, draw, draw_strata
from catbayes.core.evidence import ColumnEvidence
from catbayes.core.extra_outputs import Beside
from catbayes.core.posteriors import Entries, Posteriors
from catbayes.core.random import Purpose, number_of
from catbayes.core.selection import ColumnSpec
from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes
from catbayes.families import Family, no_signal
from catbayes.kinds.linked_prior import LinkedPrior
from catbayes.mappings import Mapping

EXPECTATION_DRAWS = 100
EXPECTATION_STRATA = 50


@dataclass(frozen=True, slots=True)
class EncodedColumn(ColumnSpec):
    """A fitted column or interaction: its posteriors, its mapping, and what is expected of every slot, (slot, output).

    Outputs are those of the mapping, and behind them what is no function of θ: effects, and the categories themselves.
    """

    posteriors: Posteriors
    mapping: Mapping
    spread: Spread
    beside: Beside
    names_rare: bool  # whether a model comes to know which one of its many categories a row has
    expectation: Array
    stream: int  # which random numbers are its own, whatever encoder of this seed it is in

    @classmethod
    def of(
        cls,
        seen: ColumnEvidence,
        posteriors: Posteriors,
        mapping: Mapping,
        spread: Spread,
        beside: Beside,
        names_rare: bool,
        seed: int,
    ) -> EncodedColumn:
        """Work out what is expected of every slot; the mapping is bound to the column's prior."""
        stream = stream_of(seen)
        expectation = expect(mapping, posteriors.entries, spread=spread, seed=seed, stream=stream)
        about = (posteriors, mapping, spread, beside, names_rare, beside.behind(expectation), stream)
        column = cls(seen.position, seen.name, seen.parts, *about)
        return replace(column, expectation=column.flattened(column.expectation))

    def within(self, index: Index, seed: int) -> EncodedColumn:
        """The same column with more slots, of which no rows were seen."""
        moved = index.moved(self.posteriors.index)
        statistics = self.posteriors.statistics.place(moved, index.n_slots)
        prior = self.posteriors.prior
        assert isinstance(prior, LinkedPrior)  # or a new slot would be as good as unseen
        prior = prior.within(index, statistics)
        before = np.full(index.n_slots, self.posteriors.index.unseen)
        before[moved] = np.arange(len(moved))
        posteriors = Posteriors.of(index, statistics, prior, self.posteriors.learnt)
        beside = self.beside.take(before)
        expectation = expect(self.mapping, posteriors.entries, spread=self.spread, seed=seed, stream=self.stream)
        return replace(self, posteriors=posteriors, beside=beside, expectation=beside.behind(expectation))

    @property
    def outputs(self) -> list[str]:
        """What the outputs are called, behind the name of the column."""
        return [*self.mapping.names(), *self.beside.names]

    @property
    def entries(self) -> Entries:
        """The posterior of every slot, and its rows."""
        return self.posteriors.entries

    @property
    def family(self) -> Family:
        """The posterior of every slot."""
        return self.posteriors.entries.family

    @property
    def is_silent(self) -> bool:
        """Whether the column has no signal, so that its prior is as strong as we please, and its spread as small."""
        strength = self.posteriors.prior.prior.strength
        return bool(strength >= 0.99 * no_signal(self.posteriors.statistics.count.sum()))

    @property
    def is_flat(self) -> bool:
        """Whether the column has no signal, so that all outputs of its mapping are the same.

        They differ by what an endless strength leaves, and trees would split on it.
        """
        return self.is_silent and not self.posteriors.prior.by_slot and not self.has_known

    def usual(self, n_rows: int) -> Array:
        """The outputs of the mapping of a category of which nothing is known, for so many rows."""
        usual = self.expectation[self.posteriors.index.unseen, : len(self.mapping.names())]
        return np.broadcast_to(usual, (n_rows, len(usual)))

    def flattened(self, outputs: Array) -> Array:
        """Outputs of rows or slots, (…, output), those of the mapping the same for all if the column is flat."""
        if not self.is_flat:
            return outputs
        usual = self.expectation[self.posteriors.index.unseen]
        return np.where(np.arange(len(usual)) < len(self.mapping.names()), usual, outputs)

    def variances(self) -> tuple[Array, float]:
        """How much the draws of each slot vary, and how much the means of rows do."""
        family, count = self.family, self.posteriors.statistics.count
        if self.is_silent:
            return np.zeros(len(count)), 0.0
        mean, variance = family.mean()[:, family.location], family.variance()[:, family.location]
        between = ((mean - np.average(mean, axis=0, weights=count)) ** 2).sum(axis=1)
        within = self.spread.factor(self.entries) ** 2 * np.where(np.isfinite(variance), variance, 0.0).sum(axis=1)
        return within, float(np.average(between, weights=count))

    @property
    def has_known(self) -> bool:
        """Whether some outputs are functions of the posterior itself, which nothing random hides."""
        return self.mapping.known(self.family.take(slice(0, 1))) is not None

    def left_out(self, slots: Codes, target: Target, weight: Array | None) -> Found | LeftOut:
        """What training rows are drawn from: the posteriors of their slots, each without the row's own target."""
        about = (self.entries, self.posteriors.prior)
        return LeftOut.find(*about, slots, target.values, weight, target.n_classes)

    def strata(self, n_draws: int, *, seed: int, spread: Spread | None = None, slots: Any = None) -> Array:
        """All outputs of stratified draws of every slot, or of some, to predict with, (draw, slot, output).

        Another `spread` than that of the training asks for all doubt, and so for that about priors and effects too.
        """
        entries = self.entries if spread is None else self.posteriors.told()
        entries = entries if slots is None else entries.take(slots)
        key = (Purpose.PREDICT, self.stream, n_draws)
        drawn = draw_strata(entries, self.mapping, n_draws, seed=seed, key=key, spread=spread or self.spread)
        return self.beside.moving(drawn, slice(None) if slots is None else slots, in_full=spread is not None)


def stream_of(seen: ColumnEvidence) -> int:
    """The number of a column's random streams, by its name; in an array, by its position and its counts.

    Two encoders of one seed beside each other, each for a column of its own, are otherwise given the same numbers.
    Counts tell the columns of arrays apart, which are all at position 0 then: as shares of the rows, rounded, which do
    not depend on how the rows were added up, and sorted, because what the categories are called changes nothing. Arrays
    of equal counts stay alike, because means do depend on how they were added up: names, or seeds, tell those apart.
    """
    names = seen.name if isinstance(seen.name, tuple) else (seen.name,)
    if all(isinstance(name, str) for name in names):
        return number_of(json.dumps(seen.name).encode())
    count = seen.statistics.count
    shares = np.sort(np.round(count / max(count.sum(), TINY), 6))
    return number_of(f"{seen.position} ".encode() + shares.astype("<f8").tobytes())


def expect(mapping: Mapping, entries: Entries, *, spread: Spread, seed: int, stream: int) -> Array:
    """All outputs of every entry, the drawn ones by their expectation, (entry, output)."""
    factor, posterior = spread.factor(entries), entries.family
    if mapping.quadratic or np.isin(factor, (0.0, 1.0)).all():
        at_mean = mapping.drawn(posterior.mean())
        expected = at_mean + factor[:, None] ** 2 * (_in_full(mapping, posterior, seed, stream) - at_mean)
        return mapping.joined(expected, posterior)
    # Closed forms are those of the whole posterior.
    how: dict[str, Any] = {"seed": seed, "key": (Purpose.EXPECTATION, stream), "spread": spread}
    return np.asarray(draw_strata(entries, mapping, EXPECTATION_STRATA, **how).mean(axis=0))


def _in_full(mapping: Mapping, posterior: Family, seed: int, stream: int) -> Array:
    """E f(θ) over the whole posterior, (entry, output)."""
    expected = mapping.expected(posterior)
    if expected is not None:
        return expected
    keys = ((Purpose.EXPECTATION, stream, number) for number in range(EXPECTATION_DRAWS))
    every = Found.each(Entries(posterior, np.zeros(len(posterior.strength))))
    draws = (draw(every, mapping, seed=seed, key=key, sampler="exact", spread=Spread()) for key in keys)
    return np.asarray(sum(draws) / EXPECTATION_DRAWS)
