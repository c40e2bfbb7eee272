"""Posteriors of categories: picked by row, rid of a row's own target, and drawn from.

A slot is a category of a column, or what stands for missing and unseen values. Draws are exact, or by the large-sample
normal of Appendix B, from streams that are functions of their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from catbayes.core.arrays import namespace, positive, rounding, where
from catbayes.core.random import KeyedRandom, Keys, Purpose, chunks, stream
from catbayes.core.statistics import Statistics
from catbayes.core.validation import Array, Codes
from catbayes.families import Family
from catbayes.families.family import Random

__all__ = ["RowSlots", "Sampler", "Slots"]

Sampler = Literal["auto", "exact", "normal"]
RandomOf = Callable[[int, Any], Random]
"""The generator for one kind of draw and some of the rows."""

NORMAL_TOLERANCE = 0.005
"""The sampler "auto" takes a normal where its Kolmogorov distance to the posterior is bounded by this."""

_EXACT, _NORMAL = 0, 1


@dataclass(frozen=True, slots=True)
class Slots:
    """Posteriors of θ, one for each slot, and the number of rows of each.

    Draws may be brought closer to the mean of their posterior: θ becomes mean + factor · (θ - mean). A temperature is
    the same factor for all. Without one (None) it goes by count: √(n / (n + ν)) after n rows, where the prior is worth
    ν rows. The draws then vary as the posterior mean itself would from one sample of n rows to the next: for the mean
    of every family here Var(mean | θ) = n / (n + ν) · Var(θ | rows), averaged over θ. A category without rows has draws
    equal to its mean.
    """

    family: Family
    count: Array
    # Var m / V, where m is the mean of a slot's prior, estimated from the rows of linked slots, and V the variance of a
    # target around its mean. Zero unless slots are linked.
    prior_variance: Array = field(default_factory=lambda: np.zeros(()))

    @classmethod
    def update(cls, prior: Family, statistics: Statistics, empty: Family) -> Slots:
        """Update one prior, or one for each slot, by the rows of each slot; slots without rows get `empty`."""
        return cls(prior.update(statistics).where(statistics.count > 0, empty), statistics.count)

    @classmethod
    def join(cls, parts: Sequence[Slots]) -> Slots:
        """Put slots one after the other."""
        variances = [part.prior_variance for part in parts]
        variance = np.concatenate(variances) if variances[0].ndim else variances[0]
        family = parts[0].family.join([part.family for part in parts[1:]])
        return cls(family, np.concatenate([part.count for part in parts]), variance)

    def take(self, at: Any) -> Slots:
        """Pick slots, as often as the index asks."""
        variance = self.prior_variance[at] if self.prior_variance.ndim else self.prior_variance
        return Slots(self.family.take(at), self.count[at], variance)

    def without(self, target: Any, weight: Any, prior: Family) -> Slots:
        """Take one row out of each posterior; a slot of which no other row is left has its prior."""
        alone = self.count - weight <= rounding(self.count) * self.count
        taken = where(alone, 0.0, weight)
        family = self.family.where(~alone, prior).leave_out(target, taken)
        return Slots(family, where(alone, 0.0, self.count - taken), self.prior_variance)

    # ------------------------------------------------------------------------------------------- draws

    def factor(self, temperature: float | None) -> Array:
        """Compute how far draws of each slot lie from its mean, as a multiple of how far the posterior's do."""
        if temperature is not None:
            return 0.0 * self.count + temperature
        strength = positive(self.family.strength)
        share = self.count / strength
        # The mean of the prior varies too, and has its own share in the posterior's.
        share = share + (1.0 - share) ** 2 * self.prior_variance * positive(strength - self.family.curvature)
        xp = namespace(share)
        factor: Array = xp.sqrt(xp.clip(share, None, 1.0))
        return factor

    def settle(self, temperature: float | None) -> Slots:
        """Let slots without rows, whose prior is uncertain, vary as the mean of the prior does.

        Draws of θ itself, brought close to the mean, would do so too, but if θ is nearly 0 or 1 they take two values,
        which hide nothing.
        """
        variance = self.prior_variance
        if temperature is not None or not variance.ndim:
            return self
        known = (1.0 / positive(variance) + self.family.curvature).clip(1e-3)
        bare = (self.count == 0) & (variance > 0)
        return Slots(self.family.worth(where(bare, known, self.family.strength)), self.count, variance)

    def closer(self, theta: Array, temperature: float | None) -> Array:
        """Bring a draw of each slot closer to its mean."""
        if temperature == 1.0:
            return theta
        mean = self.family.mean()
        return mean + self.factor(temperature)[:, None] * (theta - mean)

    def sampler(self, temperature: float | None, sampler: Sampler = "auto") -> Callable[[Codes, RandomOf], Array]:
        """Prepare draws: the result draws θ for rows at any slots, (row, parameter).

        What a draw needs of a slot is computed once, however many rows share the slot.
        """
        slots = self.settle(temperature)
        family = slots.family
        exact = np.full(slots.count.shape, sampler == "exact")
        if sampler == "auto":
            exact = family.normal_error() > NORMAL_TOLERANCE

        def draw_exactly(at: Codes, random: Random) -> Array:
            some = slots.take(at)
            return some.closer(some.family.sample(random), temperature)

        if exact.all():
            return lambda at, random: draw_exactly(at, random(_EXACT, ...))
        normals = family.normal() if sampler == "auto" else family.normal().straight()
        normals = normals.closer(slots.factor(temperature))

        def draw(at: Codes, random: RandomOf) -> Array:
            few = np.flatnonzero(exact.take(at))
            if len(few) == len(at):
                return draw_exactly(at, random(_EXACT, ...))
            normal = normals.take(at)
            theta = normal.draw(random(_NORMAL, ...).standard_normal(normal.level.shape))
            if len(few):
                theta[few] = draw_exactly(at[few], random(_EXACT, few))
            return theta

        return draw

    def strata(self, n_draws: int, temperature: float | None, random: np.random.Generator | None) -> Array:
        """Draw θ of every slot from each of `n_draws` strata of equal probability, (draw, slot, parameter).

        A Latin hypercube: each of the uniforms that `transport` makes θ of visits every stratum once, in an order of
        its own, so that few draws cover the posterior evenly. All slots share the uniforms, so equal posteriors have
        equal draws. Without `random`, draws are in the middle of their strata, in orders that are always the same.
        """
        distinct, same = self.settle(temperature)._distinct()
        n_parameters = distinct.family.mean().shape[-1]
        shuffle = stream(0, Purpose.EXPECTATION) if random is None else random
        order = shuffle.permuted(np.tile(np.arange(n_draws), (n_parameters, 1)), axis=1).T
        uniform = (order + (0.5 if random is None else random.random(order.shape))) / n_draws
        theta = np.stack([distinct.closer(distinct.family.transport(u), temperature) for u in uniform])
        return np.asarray(theta[:, same])

    def _distinct(self) -> tuple[Slots, Codes]:
        """Find slots that differ, and which of them each one is: rare categories share few, slow to invert."""
        variance = np.broadcast_to(self.prior_variance, self.count.shape)
        arrays = [*self.family.arrays().values(), self.count, variance]
        table = np.hstack([values.reshape(len(values), int(np.prod(values.shape[1:]))) for values in arrays])
        _, first, same = np.unique(table, axis=0, return_index=True, return_inverse=True)
        return self.take(first), same.reshape(-1)


@dataclass(frozen=True, slots=True)
class RowSlots:
    """The slot of each row, and the row's own target where that has to be taken out of the posterior."""

    slots: Slots
    at: Codes
    target: Any = None  # to take out
    weight: Array | None = None
    prior: Family | None = None  # of rows that are the only ones of their slots: one, or one for each slot

    @classmethod
    def each(cls, slots: Slots) -> RowSlots:
        """Take every slot as a row."""
        return cls(slots, np.arange(len(slots.count)))

    def of(self, rows: slice) -> Slots:
        """Find the posteriors of some rows."""
        at = self.at[rows]
        slots = self.slots.take(at)
        if self.target is None or self.prior is None:
            return slots
        weight = np.ones(len(at)) if self.weight is None else self.weight[rows]
        prior = self.prior if np.size(self.prior.strength) == 1 else self.prior.take(at)
        return slots.without(self.target[rows], weight, prior)

    def draw(
        self,
        function: Callable[[Array], Array],
        temperature: float | None,
        sampler: Sampler,
        *,
        seed: int,
        key: tuple[int, ...],
        identity: Keys | None = None,
    ) -> Array:
        """Draw θ of every row, and apply a function of it, (row, output).

        Row n's draw depends on the seed, the key, n and its own posterior, and on the rows before it in its chunk, but
        not on how many follow. With `identity`, a key for each row, it depends on that and its posterior alone.
        """
        shared = self.target is None and len(self.slots.count) < len(self.at)
        draw = self.slots.sampler(temperature, sampler) if shared else None
        features: Array | None = None
        for number, rows in chunks(len(self.at)):
            random = _generators(seed, key, number, None if identity is None else identity[rows])
            if draw is not None:
                drawn = function(draw(self.at[rows].astype(np.intp), random))
            else:
                each = np.arange(rows.stop - rows.start)
                drawn = function(self.of(rows).sampler(temperature, sampler)(each, random))
            if features is None:
                features = np.empty((len(self.at), drawn.shape[1]), order="F")
            features[rows] = drawn
        assert features is not None
        return features


def _generators(seed: int, key: tuple[int, ...], chunk: int, identity: Keys | None) -> RandomOf:
    """Make the generator for some rows of a chunk and one kind of draw: by their keys, or by the chunk's stream."""
    if identity is None:
        return lambda kind, some: stream(seed, *key, chunk, kind)
    return lambda kind, some: KeyedRandom(seed, (*key, kind), identity[some])
