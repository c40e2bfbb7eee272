"""One fitted column: its posteriors, its mapping, and what follows from the two."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catbayes.core.arrays import TINY
from catbayes.core.combinations import Index
from catbayes.core.evidence import ColumnEvidence
from catbayes.core.extra_outputs import Beside
from catbayes.core.posteriors import Posteriors
from catbayes.core.random import Purpose, number_of, stream
from catbayes.core.random_keys import Keys
from catbayes.core.selection import ColumnSpec
from catbayes.core.slots import RowSlots, Sampler, Slots
from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes
from catbayes.families import Family
from catbayes.families.arithmetic import no_signal
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
    temperature: float | None  # of its draws; None where it goes by count
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
        temperature: float | None,
        beside: Beside,
        names_rare: bool,
        seed: int,
    ) -> EncodedColumn:
        """Work out what is expected of every slot; the mapping is bound to the column's prior."""
        stream = stream_of(seen)
        expectation = expect(mapping, posteriors.slots, temperature, seed=seed, stream_number=stream)
        about = (posteriors, mapping, temperature, beside, names_rare, beside.behind(expectation), stream)
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
        about: dict[str, Any] = {"seed": seed, "stream_number": self.stream}
        expectation = expect(self.mapping, posteriors.slots, self.temperature, **about)
        return replace(self, posteriors=posteriors, beside=beside, expectation=beside.behind(expectation))

    @property
    def outputs(self) -> list[str]:
        """What the outputs are called, behind the name of the column."""
        return [*self.mapping.names(), *self.beside.names]

    @property
    def posterior(self) -> Slots:
        """The posterior of every slot, and its rows."""
        return self.posteriors.slots

    @property
    def family(self) -> Family:
        """The posterior of every slot."""
        return self.posteriors.slots.family

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
        within = self.posterior.factor(self.temperature) ** 2 * np.where(np.isfinite(variance), variance, 0.0).sum(
            axis=1
        )
        return within, float(np.average(between, weights=count))

    @property
    def has_known(self) -> bool:
        """Whether some outputs are functions of the posterior itself, which nothing random hides."""
        return self.mapping.known(self.family.take(slice(0, 1))) is not None

    def left_out(self, slots: Codes, target: Target, weight: Array | None) -> RowSlots:
        """What training rows are drawn from: the posteriors of their slots, each without the row's own target."""
        about = (target.values, weight, self.posteriors.prior.unseen, target.n_classes)
        return RowSlots.leave_one_out(self.posterior, slots, *about)

    def strata(self, n_draws: int, *, seed: int, in_full: bool = False, slots: Any = None) -> Array:
        """All outputs of stratified draws of every slot, or of some, to predict with, (draw, slot, output).

        `in_full`, draws are those of the whole posterior, whatever the training had, with the uncertainty of the prior
        and of effects. Columns without signal have no such draws: how far theirs lie apart is of our making, and a
        scaler in front of a model would make much of it.
        """
        in_full = in_full and not self.is_silent
        posterior = self.posteriors.told() if in_full else self.posterior
        posterior = posterior if slots is None else posterior.take(slots)
        random = stream(seed, Purpose.PREDICT, self.stream, n_draws)
        theta = posterior.strata(n_draws, 1.0 if in_full else self.temperature, random)
        drawn = self.mapping.outputs(theta, posterior.family)
        return self.beside.moving(drawn, slice(None) if slots is None else slots, in_full=in_full)


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


def draw_features(
    rows: RowSlots,
    mapping: Mapping,
    temperature: float | None,
    sampler: Sampler,
    *,
    seed: int,
    key: tuple[int, ...],
    identity: Keys | None = None,
    known: RowSlots | None = None,
) -> Array:
    """Draw θ for every row and map it, (row, output).

    Outputs that are no function of θ are those of the posteriors that are `known`, or of the rows' own.
    """
    features: Array | None = None
    for some, theta in rows.draw(temperature, sampler, seed=seed, key=key, identity=identity):
        mapped = mapping.drawn(theta)
        if features is None:
            features = np.empty((len(rows), mapped.shape[1]), order="F")
        features[some] = mapped
    assert features is not None
    if known is None and rows.target is None:
        known = rows
    table = None if known is None else mapping.known(known.slots.family)
    return features if known is None or table is None else np.concatenate([features, table[known.at]], axis=1)


def expect(mapping: Mapping, posterior: Slots, temperature: float | None, *, seed: int, stream_number: int) -> Array:
    """All outputs of every slot, the drawn ones by their expectation, (slot, output)."""
    factor, family = posterior.factor(temperature), posterior.family
    if mapping.quadratic or np.isin(factor, (0.0, 1.0)).all():
        at_mean = mapping.drawn(family.mean())
        expected = at_mean + factor[:, None] ** 2 * (_in_full(mapping, family, seed, stream_number) - at_mean)
        return mapping.joined(expected, family)
    # Closed forms are those of the whole posterior.
    theta = posterior.strata(EXPECTATION_STRATA, temperature, stream(seed, Purpose.EXPECTATION, stream_number))
    return np.asarray(mapping.outputs(theta, family).mean(axis=0))


def _in_full(mapping: Mapping, family: Family, seed: int, stream_number: int) -> Array:
    """E f(θ) over the whole posterior, (slot, output)."""
    expected = mapping.expected(family)
    if expected is not None:
        return expected
    every = RowSlots.each(Slots(family, np.zeros(len(family.strength))))
    keys = ((Purpose.EXPECTATION, stream_number, number) for number in range(EXPECTATION_DRAWS))
    draws = (draw_features(every, mapping, 1.0, "exact", seed=seed, key=key) for key in keys)
    return np.asarray(sum(draws) / EXPECTATION_DRAWS)
