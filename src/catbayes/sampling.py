"""Draws of θ: exact, or by the large-sample normal of Appendix B, from streams that nothing can disturb."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes._arrays import at_least, namespace, positive, rounding, where
from catbayes._keyed import KeyedRandom, Keys
from catbayes._random import chunks, stream
from catbayes._validation import Array
from catbayes.families import Family, Random

__all__ = ["NORMAL_TOLERANCE", "SAMPLERS", "Entries", "Spread", "draw", "draw_strata", "leave_one_out"]

SAMPLERS = ("auto", "exact", "normal")
"""What the parameter `sampler` of the encoder may be."""

NORMAL_TOLERANCE = 0.005
"""The sampler "auto" takes the normal where its Kolmogorov distance to the posterior is bounded by this."""

_EXACT, _NORMAL = 0, 1


@dataclass(frozen=True, slots=True)
class Entries:
    """Distributions of θ, one an entry, and the rows that each has seen.

    Examples
    --------
    >>> from catbayes.families import BetaBernoulli
    >>> entries = Entries(BetaBernoulli(alpha=[1.0, 3.0], beta=[1.0, 1.0]), count=np.array([0.0, 2.0]))
    >>> entries.take([1, 1]).count.tolist()
    [2.0, 2.0]
    """

    family: Family
    count: Array
    doubt: Array | None = None  # of the mean of their priors, in a hierarchy: see there

    def take(self, index: Any) -> Entries:
        """Pick entries, as often as the index asks."""
        return Entries(self.family.take(index), self.count[index], None if self.doubt is None else self.doubt[index])


@dataclass(frozen=True, slots=True)
class Spread:
    """How far draws lie from the mean of their distribution: θ becomes mean + factor · (θ - mean).

    A temperature is the same factor for all. Without one it goes by count: √(n / (n + ν)) after n rows, where the
    prior is worth ν rows. The draws then vary as the posterior mean itself would from one sample of n rows to the next:
    for the mean of every family here Var(mean | θ) = n / (n + ν) · Var(θ | rows), averaged over θ. A category of which
    nothing is known has no spread. From `steady` rows on the factor is 0.

    Examples
    --------
    >>> from catbayes.families import BetaBernoulli
    >>> posterior = BetaBernoulli(alpha=[2.0, 3.0, 52.0], beta=[2.0, 2.0, 152.0])
    >>> entries = Entries(posterior, count=np.array([0.0, 1.0, 200.0]))
    >>> Spread(temperature=None, steady=100.0).factor(entries).round(3)
    array([0.   , 0.447, 0.   ])
    """

    temperature: float | None = 1.0
    steady: float = np.inf  # in the weight of rows
    row: float = 1.0  # the weight of a row

    @property
    def full(self) -> bool:
        """Tell whether all draws stay as they are."""
        return self.temperature == 1.0 and np.isinf(self.steady)

    def factor(self, entries: Entries) -> Array:
        """The factor of every entry."""
        if self.temperature is not None:
            return where(self.is_steady(entries.count), 0.0, 0.0 * entries.count + self.temperature)
        strength = positive(entries.family.strength)
        share = entries.count / strength
        if entries.doubt is not None:  # the mean of the prior varies too, and has its own share in the posterior's
            share = share + (1.0 - share) ** 2 * entries.doubt * positive(strength - entries.family.curvature)
        xp = namespace(share)
        return where(self.is_steady(entries.count), 0.0, xp.sqrt(xp.clip(share, None, 1.0)))

    def settle(self, entries: Entries) -> Entries:
        """Entries to draw from: one without rows, whose prior is in doubt, varies as the mean of its prior does.

        Draws of θ itself, brought close to the mean, would do so too, but if θ is nearly 0 or 1 they take two values,
        which hide nothing.
        """
        if self.temperature is not None or entries.doubt is None:
            return entries
        family = entries.family
        known = at_least(1.0 / positive(entries.doubt) + family.curvature, 1e-3)
        bare = (entries.count == 0) & (entries.doubt > 0)
        return Entries(family.worth(where(bare, known, family.strength)), entries.count, entries.doubt)

    def is_steady(self, count: Array) -> Any:
        """Tell which categories of so many rows are frequent enough to be encoded without drawing."""
        return count >= self.steady * (1.0 - 1e-9)

    def keeps_own(self, count: Any, weight: Any) -> Any:
        """Tell which rows stay in the posterior of their category, being a small part of it however heavy they are."""
        return self.is_steady(count) & (weight * self.steady <= count * self.row * (1.0 + 1e-9))

    def apply(self, theta: Array, entries: Entries) -> Array:
        """Draw θ closer to its mean."""
        if self.full:
            return theta
        mean = entries.family.mean()
        return mean + self.factor(entries)[:, None] * (theta - mean)


def leave_one_out(entries: Entries, unseen: Family, own: Any, weight: Array, spread: Spread) -> Entries:
    """Take each row's own target out of its posterior, unless its category is so frequent that it need not be.

    Where nothing else is known, the row is as if unseen.

    Examples
    --------
    >>> from catbayes.families import BetaBernoulli
    >>> rows = Entries(BetaBernoulli(alpha=[3.0, 2.0], beta=[1.0, 1.0]), count=np.array([2.0, 1.0]))
    >>> left = leave_one_out(rows, BetaBernoulli(1.0, 1.0), np.array([1, 1]), np.ones(2), Spread())
    >>> left.family.alpha.tolist(), left.count.tolist()  # the second row is alone in its category
    ([2.0, 1.0], [1.0, 0.0])
    """
    count = entries.count
    alone = count - weight <= rounding(count) * count
    taken = where(alone | spread.keeps_own(count, weight), 0.0, weight)
    family = entries.family.where(~alone, unseen).leave_out(own, taken)
    return Entries(family, where(alone, 0.0, count - taken), entries.doubt)


def draw(
    entries: Callable[[slice], Entries],
    through: Callable[[Array], Array],
    n_rows: int,
    *,
    seed: int,
    key: tuple[int, ...],
    sampler: str = "auto",
    spread: Spread | None = None,
    identity: Keys | None = None,
) -> Array:
    """Draw θ for every row and map it, chunk by chunk, (row, output).

    `entries(rows)` gives the distributions of some rows, and `through` is the mapping. Row n's draw depends on the
    seed, the key, n and its own distribution, and on the rows before it in its chunk, but not on how many follow. With
    `identity`, a key for each row, it depends on that and its distribution alone.

    Examples
    --------
    >>> from catbayes.families import BetaBernoulli
    >>> known = Entries(BetaBernoulli(alpha=[30.0, 1.0], beta=[1.0, 30.0]), count=np.array([29.0, 29.0]))
    >>> features = draw(lambda rows: known.take([0, 0, 1][rows]), lambda theta: theta, 3, seed=0, key=(0,))
    >>> features.shape, bool(features[0, 0] > features[2, 0])
    ((3, 1), True)
    """
    features: Array | None = None
    for number, rows in chunks(n_rows):
        some = entries(rows) if spread is None else spread.settle(entries(rows))
        own = None if identity is None else identity[rows]
        theta = _draw_chunk(some.family, sampler, _generators(seed, key, number, own))
        mapped = through(theta if spread is None else spread.apply(theta, some))
        if features is None:
            features = np.empty((n_rows, mapped.shape[1]), order="F")
        features[rows] = mapped
    assert features is not None
    return features


def draw_strata(
    entries: Entries,
    through: Callable[[Array], Array],
    n_draws: int,
    *,
    seed: int,
    key: tuple[int, ...],
    spread: Spread,
) -> Array:
    """Draw θ of every entry from each of `n_draws` strata of equal probability and map it, (draw, entry, output).

    A Latin hypercube: each of the uniforms that `transport` makes θ of visits every stratum once, in an order of its
    own, so that few draws cover the posterior evenly. All entries share the uniforms, so equal posteriors have equal
    draws.

    Examples
    --------
    >>> from catbayes.families import BetaBernoulli
    >>> uniform = Entries(BetaBernoulli(alpha=[1.0], beta=[1.0]), count=np.zeros(1))
    >>> draws = draw_strata(uniform, lambda theta: theta, 4, seed=0, key=(0,), spread=Spread())
    >>> sorted((draws[:, 0, 0] * 4).astype(int).tolist())  # one in each quarter
    [0, 1, 2, 3]
    """
    entries = spread.settle(entries)
    family = entries.family
    random, n_parameters = stream(seed, *key), family.mean().shape[-1]
    order = random.permuted(np.tile(np.arange(n_draws), (n_parameters, 1)), axis=1).T
    uniform = (order + random.random(order.shape)) / n_draws
    return np.stack([through(spread.apply(family.transport(u), entries)) for u in uniform])


def _generators(seed: int, key: tuple[int, ...], chunk: int, identity: Keys | None) -> Callable[[int, Any], Random]:
    """Make the generator for some entries of a chunk and one kind of draw: by their keys, or by the chunk's stream."""
    if identity is None:
        return lambda kind, some: stream(seed, *key, chunk, kind)
    return lambda kind, some: KeyedRandom(seed, (*key, kind), identity[some])


def _draw_chunk(family: Family, sampler: str, random: Callable[[int, Any], Random]) -> Array:
    if sampler == "exact":
        return family.sample(random(_EXACT, ...))
    if sampler == "normal":
        return family.sample_normal(random(_NORMAL, ...))
    rough = family.normal_error() > NORMAL_TOLERANCE
    if rough.all():
        return family.sample(random(_EXACT, ...))
    theta = family.sample_normal(random(_NORMAL, ...))
    if rough.any():
        few = np.flatnonzero(rough)
        theta[few] = family.take(few).sample(random(_EXACT, few))
    return theta
