"""How firmly categories are known where their prior was learnt from the same column, and is in doubt itself.

Its mean is known from W = Σ n s rows, where s is the share of that mean in what is believed of a category of n rows. It
adds to the variance of the category's θ

    s² V / W,    s = ν / (ν + n) for a prior of ν rows, V the variance of a target

and the strength ν adds what the posteriors of other strengths differ by. How likely these are is told by the column, by
its marginal likelihood over the mean too; before, all shares ν / (ν + n) of a usual n are as likely as each other:
the uniform shrinkage prior (Daniels, *Canadian Journal of Statistics* 27, 1999).

What is told of a category is its posterior with the same mean, and so much less strength that it has that variance.
Features are drawn from the posterior as it is: all rows of a column share the prior, so its doubt tells none apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catbayes.core.arrays import positive
from catbayes.core.validation import Array
from catbayes.families import Family

__all__ = ["doubt_of_mean", "doubt_of_prior", "relying", "wider"]

MANY = 1000
"""Of so many categories the strength is known well enough."""

STEPS = 25
"""Strengths that are weighed, twice: among all of them, then among those that are likely."""

FAR = 12.0
"""How many times more or fewer rows than a usual category has they may be worth, as a logarithm."""

LEAST = 1e-2
"""Rows that anything is worth: a probability varies no more than a coin does."""


def relying(posterior: Any, count: Array) -> Array:
    """The share s of its prior's mean in that of each posterior."""
    return np.asarray(np.clip(1.0 - count / posterior.strength, 0.0, 1.0))


def doubt_of_mean(posterior: Any, count: Array, share: Array) -> Array:
    """The variance of each posterior with the doubt about a mean that they share, as a multiple of that without."""
    rows = (count * share).sum()
    if not rows > 0.0:  # no row says what the mean is
        return np.where(share > 0.0, np.inf, 1.0)
    return np.asarray(1.0 + share**2 * np.maximum(posterior.strength - posterior.curvature, 0.0) / rows)


def doubt_of_prior(prior: Any, statistics: Any, posterior: Any) -> Array:
    """The variance of each posterior with all doubt about one prior of all, as a multiple of that without."""
    count = statistics.count
    seen = np.flatnonzero(count > 0)
    least = doubt_of_mean(posterior, count, relying(posterior, count))
    if not 1 < len(seen) < MANY:
        return least
    means, variance = _means(posterior), 0.0
    for strength, chance in zip(*_likely_strengths(prior, statistics.take(seen)), strict=True):
        other = prior.worth(strength)
        other = other.update(statistics).where(count > 0, other)
        within = doubt_of_mean(other, count, relying(other, count)) * _variances(other)
        variance = variance + chance * (within + ((_means(other) - means) ** 2).sum(axis=1))
    doubt = variance / positive(_variances(posterior))
    return np.where(np.isfinite(doubt), np.maximum(doubt, least), least)


def wider(posterior: Any, doubt: Array) -> Any:
    """The same means, of so many times the variance."""
    strength, curvature = posterior.strength, posterior.curvature
    worth = np.maximum(curvature + (strength - curvature) / doubt, np.maximum(1.1 * curvature, LEAST))
    return posterior.worth(np.minimum(worth, strength))


def _usual(count: Array) -> float:
    """The harmonic mean of the rows of categories; one of which next to nothing is left has no part in it."""
    part = np.minimum(count / min(1.0, float(count.mean())), 1.0) ** 2
    return float(1.0 / np.average(1.0 / count, weights=part))


def _likely_strengths(prior: Any, own: Any) -> tuple[Array, Array]:
    """Strengths of the prior, and the chance of each."""
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
    """Of all means of an entry together."""
    return np.asarray(family.variance()[:, family.location].sum(axis=1))
