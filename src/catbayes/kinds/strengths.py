"""Priors of categories that are held to a common mean, by κ rows, and told more by others, as ω says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize

from catbayes.core.statistics import Moments, Statistics, Tally
from catbayes.core.validation import Array
from catbayes.families import no_signal
from catbayes.priors import Empirical, Prior

__all__ = ["LOWEST", "centre_of", "climb", "likeliest", "means_of", "repeated", "told"]

LOWEST = 1e-3
"""Strengths κ and ω, in rows, below which nothing is held any more."""

STARTS = 7
"""The climb begins at the best point of a grid of so many κ and ω."""


def likeliest(
    fitted: tuple[Any, Any], prior: Prior, total: float, cost: Callable[[Any, float], float]
) -> tuple[Any, float]:
    """The root, of strength κ, and the ω of least cost; of a `prior` that is given, κ is its own.

    Where nothing beats a root so strong that all categories sit on it, that is the answer.
    """
    base, proper = fitted
    free = isinstance(prior, Empirical)
    low, high = np.log(LOWEST), np.log(no_signal(total))

    def at(x: Any) -> tuple[Any, float]:
        return base.worth(np.exp(x[1])) if free else proper, float(np.exp(x[0]))

    def price(x: Any) -> float:
        return cost(*at(x))

    grid = np.linspace(low, high, STARTS)
    value, best = climb(price, product(grid, grid) if free else product(grid), (low, high), near=(1e-3, 1e-4), most=200)
    silent = (low, high)
    return at(silent if free and price(silent) - value < 1e-2 else best)


def climb(
    cost: Callable[[Any], float],
    starts: Iterable[Sequence[float]],
    bounds: tuple[float, float],
    near: tuple[float, float] = (1e-2, 1e-2),
    most: int = 300,
    step: float | None = None,
) -> tuple[float, Any]:
    """The least cost and where it is, from the best of some starts: logarithms of strengths, all within the bounds.

    `near` is how near both must be, the place and the cost, and `most` the steps. The first ones are a twentieth of the
    start, or `step`: a start near 0 would be taken for the end. No slopes are asked for.
    """
    first = min(starts, key=cost)
    options: dict[str, Any] = {"xatol": near[0], "fatol": near[1], "maxiter": most}
    if step is not None:
        inward = np.where(np.asarray(first) + step > bounds[1], -step, step)
        options["initial_simplex"] = np.vstack([first, first + np.diag(inward)])
    found = minimize(cost, first, bounds=[bounds] * len(first), method="Nelder-Mead", options=options)
    return float(found.fun), found.x


def told(root: Any, worth: Array, gap: Array, kind: type[Statistics]) -> Any:
    """Priors that are worth so many rows, whose means lie `gap` / `worth` from that of the root, (category, …)."""
    rows, centre = np.maximum(worth - root.strength, 0.0), centre_of(root)
    more: Any
    if kind is Tally:
        more = Tally(np.maximum(rows[:, None] * centre + gap, 0.0))
    else:
        away = np.divide(gap[:, 0], rows, out=np.zeros_like(rows), where=rows > 0)
        mean = np.where(rows > 0, centre[0] + away, 0.0)
        if root.support is not None and not root.log_target:  # counts: nobody is told of fewer than none
            mean = np.maximum(mean, 0.0)
        more = Moments(rows, mean, np.zeros_like(rows))
    return repeated(root, len(rows)).update(more).varying_as(root)


def means_of(statistics: Any) -> Array:
    """Means of the categories, (category, class), or of one column for numbers; of no rows NaN or anything."""
    return np.asarray(statistics.mean if statistics.mean.ndim > 1 else statistics.mean[:, None])


def centre_of(root: Any) -> Array:
    """The mean of a prior in the place of those: the share of each class, or a number."""
    if not root.classes:
        return np.asarray(root.mean()[root.location])
    ones, others = root.class_betas()
    share = ones / (ones + others)
    return np.append(1.0 - share, share) if root.binary else share


def repeated(root: Any, times: int) -> Any:
    """One distribution so many times."""
    return root.take(np.newaxis).take(np.zeros(times, dtype=np.intp))
