"""Widen posteriors by the uncertainty of a prior that was estimated from the same column.

The prior's mean is estimated from W = Σ n s rows, where s is its share in the mean of a category of n rows. It adds to
the variance of the category's θ

    s² V / W,    s = ν / (ν + n) for a prior of ν rows, V the variance of a target

and the strength ν adds the variance between the posteriors of other strengths. These are weighed by the marginal
likelihood of the column, with the mean integrated out, and by the uniform shrinkage prior: all shares ν / (ν + n) of a
usual n are equally likely (Daniels, *Canadian Journal of Statistics* 27, 1999).

Intervals are those of a posterior with the same mean, and so much less strength that it has that variance. Features are
drawn from the posterior itself: all rows of a column share the prior, so its uncertainty does not distinguish any.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catbayes.core.arrays import positive
from catbayes.core.statistics import Moments, Statistics, Tally
from catbayes.core.validation import Array
from catbayes.families import Family
from catbayes.kinds.links import Links, centre_of

__all__ = ["inflation_by_mean", "inflation_by_prior", "inflation_by_root", "prior_share", "widen"]

MANY = 1000
"""From this number of categories on, the uncertainty of the strength is negligible."""

STEPS = 25
"""Strengths on a grid, twice: over the whole range, then over those that are likely."""

FAR = 12.0
"""Range of strengths: the logarithm of their ratio to the rows of a usual category."""

LEAST = 1e-2
"""Smallest strength: the variance of a probability is bounded."""


def prior_share(posterior: Any, count: Array) -> Array:
    """Compute the share s of the prior's mean in the mean of each posterior."""
    return np.asarray(np.clip(1.0 - count / posterior.strength, 0.0, 1.0))


def inflation_by_mean(posterior: Any, count: Array, share: Array) -> Array:
    """Compute the variance of each posterior with the uncertainty of a shared mean, as a multiple of that without."""
    rows = (count * share).sum()
    if not rows > 0.0:  # no row informs about the mean
        return np.where(share > 0.0, np.inf, 1.0)
    return np.asarray(1.0 + share**2 * np.maximum(posterior.strength - posterior.curvature, 0.0) / rows)


def inflation_by_prior(prior: Any, statistics: Any, posterior: Any) -> Array:
    """Compute the variance of each posterior with the uncertainty of the prior, as a multiple of that without."""
    count = statistics.count
    seen = np.flatnonzero(count > 0)
    least = inflation_by_mean(posterior, count, prior_share(posterior, count))
    if not 1 < len(seen) < MANY:
        return least
    means, variance = _means(posterior), 0.0
    for strength, chance in zip(*_likely_strengths(prior, statistics.take(seen)), strict=True):
        other = prior.worth(strength)
        other = other.update(statistics).where(count > 0, other)
        within = inflation_by_mean(other, count, prior_share(other, count)) * _variances(other)
        variance = variance + chance * (within + ((_means(other) - means) ** 2).sum(axis=1))
    ratio = variance / positive(_variances(posterior))
    return np.where(np.isfinite(ratio), np.maximum(ratio, least), least)


def inflation_by_root(links: Links, root: Family, index: Any, statistics: Statistics, posterior: Family) -> Array:
    """Compute the same of linked categories, with the uncertainty of the mean of their root; strengths are as known.

    The prior of a slot moves with the root by as much as it does not move with the rows of others, if all of these are
    moved alike: from the mean of the root to another place. Classes move from the last to the first, and numbers that
    cannot be negative half of the way to zero.
    """
    count, centre = statistics.count, centre_of(root)
    here: Any
    there: Any
    if isinstance(statistics, Tally):
        here, there = (Tally(count[:, None] * share) for share in (centre, np.eye(len(centre))[0]))
        way = -float(centre[-1])
    else:
        signed = root.support is None or root.log_target
        way = -max(abs(float(centre[0])) / 2.0, float(signed))
        here, there = (Moments(count, np.full_like(count, mean), 0.0 * count) for mean in (centre[0], centre[0] + way))
    before, after = (links.slot_priors(index, rows).priors.mean()[:, posterior.location] for rows in (here, there))
    by_rows = (after - before)[:, -1] / way
    share = prior_share(posterior, count) * np.clip(1.0 - by_rows, 0.0, 1.0)
    return inflation_by_mean(posterior, count, share)


def widen(posterior: Any, ratio: Array) -> Any:
    """Multiply the variances, and leave the means as they are."""
    strength, curvature = posterior.strength, posterior.curvature
    worth = np.maximum(curvature + (strength - curvature) / ratio, np.maximum(1.1 * curvature, LEAST))
    return posterior.worth(np.minimum(worth, strength))


def _usual(count: Array) -> float:
    """Compute the harmonic mean of the rows of categories, without those of negligible weight."""
    part = np.minimum(count / min(1.0, float(count.mean())), 1.0) ** 2
    return float(1.0 / np.average(1.0 / count, weights=part))


def _likely_strengths(prior: Any, own: Any) -> tuple[Array, Array]:
    """Find the likely strengths of the prior, and the probability of each."""
    usual = _usual(own.count)

    def log_chance(x: float) -> float:
        strength = usual * np.exp(x)
        shrinkage = strength / (strength + usual)
        rows = (own.count * strength / (strength + own.count)).sum()
        likely = prior.worth(strength).log_marginal(own).sum() - 0.5 * np.log(rows)  # the mean integrated out
        return float(likely + np.log(shrinkage * (1.0 - shrinkage)))  # d shrinkage / dx

    high = FAR
    low = min(max(-FAR, float(np.log(positive(1.1 * prior.curvature / usual)))), FAR - 1.0)
    for _ in range(2):
        places = np.linspace(low, high, STEPS)
        found = np.array([log_chance(x) for x in places])
        likely = np.flatnonzero(found >= found.max() - 9.0)  # of a likelihood of 1e17, 9 is nothing
        low, high = places[max(likely[0] - 1, 0)], places[min(likely[-1] + 1, STEPS - 1)]
    chance = np.exp(found - found.max())
    return usual * np.exp(places), chance / chance.sum()


def _means(family: Family) -> Array:
    return family.mean()[:, family.location]


def _variances(family: Family) -> Array:
    """Add up the variances of all means of an entry."""
    return np.asarray(family.variance()[:, family.location].sum(axis=1))
