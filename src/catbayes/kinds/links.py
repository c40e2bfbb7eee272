"""What links the categories of a column, and the arithmetic that all links share.

Every category varies about a common mean as the mean of κ rows would, and learns from the categories that it is linked
to, as ω rows would inform it. A category's own rows never enter its prior, so nothing is counted twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.optimize import minimize

from catbayes.core.combinations import Index
from catbayes.core.statistics import Moments, Statistics, Tally
from catbayes.core.validation import Array
from catbayes.families.arithmetic import no_signal

LOWEST = 1e-3
"""Strengths κ and ω, in rows, below which a link has no effect."""

STARTS = 7
"""The search starts at the best point of a grid of this many κ and ω."""


Priors = tuple[Any, Any]
"""The prior of a column, and the distribution that an unseen category draws from."""


class SlotPriors(NamedTuple):
    """The prior of each slot, given the rows of the categories that it is linked to."""

    priors: Any  # one distribution for each slot
    variance: Array  # of the mean of each prior from sample to sample, as a multiple of the variance of a target
    root: Any  # the prior of a category without data


@dataclass(frozen=True, slots=True)
class Links(ABC):
    """Fitted links: the distribution that all categories vary about, and the strength of each link, in rows."""

    root: Any
    strengths: tuple[float, ...]

    joins: ClassVar[bool] = False  # whether several categories may become one slot

    @classmethod
    def of(cls, index: Index, root: Any, strengths: tuple[float, ...], others: Sequence[Statistics] = ()) -> Self:
        """Make links of known strengths, as read from a file."""
        return cls(root, strengths)

    @classmethod
    @abstractmethod
    def fit(
        cls, index: Index, statistics: Statistics, priors: Priors, free: bool, others: Sequence[Statistics] = ()
    ) -> Self:
        """Estimate the strengths by marginal likelihood, if they are `free`; otherwise the prior fixes them.

        `others` are the statistics of the same categories in other columns.
        """

    @abstractmethod
    def slot_priors(self, index: Index, statistics: Any) -> SlotPriors:
        """Compute the prior of each slot from the statistics of the slots that it is linked to."""

    def given(self, others: Sequence[Statistics]) -> Self:
        """Use other statistics of the other columns, such as those of some folds."""
        return self

    def constrain(self, posterior: Any, root: Any, index: Index) -> Any:
        """Adjust posteriors to a constraint on their means, if there is one."""
        return posterior


def fit_root_and_strength(
    priors: Priors, free: bool, total: float, cost: Callable[[Any, float], float]
) -> tuple[Any, float]:
    """Find the root, of strength κ, and the ω of least cost; κ stays that of the prior unless it is `free`.

    Where nothing is better than a root so strong that all categories equal it, that is the answer.
    """
    base, proper = priors
    low, high = np.log(LOWEST), np.log(no_signal(total))

    def at(x: Any) -> tuple[Any, float]:
        return base.worth(np.exp(x[1])) if free else proper, float(np.exp(x[0]))

    def price(x: Any) -> float:
        return cost(*at(x))

    grid = np.linspace(low, high, STARTS)
    starts = product(grid, grid) if free else product(grid)
    _, best = minimise(
        price, starts, (low, high), silent=(low, high) if free else None, xatol=1e-3, fatol=1e-4, maxiter=200
    )
    return at(best)


def minimise(
    cost: Callable[[Any], float],
    starts: Iterable[Sequence[float]],
    bounds: tuple[float, float],
    silent: Sequence[float] | None = None,
    step: float | None = None,
    **options: Any,
) -> tuple[float, Any]:
    """Find the least cost and its place, from the best of some starts: logarithms of strengths, within the bounds.

    Where nothing is better than `silent`, by more than chance, that is the answer. The first steps are a twentieth of
    the start, or `step`: a start near 0 would otherwise be taken for the end. Needs no gradient.
    """
    first = min(starts, key=cost)
    options = {"xatol": 1e-2, "fatol": 1e-2, "maxiter": 300} | options
    if step is not None:
        inward = np.where(np.asarray(first) + step > bounds[1], -step, step)
        options["initial_simplex"] = np.vstack([first, first + np.diag(inward)])
    found = minimize(cost, first, bounds=[bounds] * len(first), method="Nelder-Mead", options=options)
    if silent is not None and (price := cost(silent)) - found.fun < 1e-2:
        return price, np.asarray(silent)
    return float(found.fun), found.x


def shifted_priors(root: Any, worth: Array, gap: Array, kind: type[Statistics]) -> Any:
    """Priors of strength `worth`, whose means lie `gap` / `worth` from that of the root; `gap` is (category, …)."""
    rows, centre = np.maximum(worth - root.strength, 0.0), centre_of(root)
    more: Any
    if kind is Tally:
        more = Tally(np.maximum(rows[:, None] * centre + gap, 0.0))
    else:
        away = np.divide(gap[:, 0], rows, out=np.zeros_like(rows), where=rows > 0)
        mean = np.where(rows > 0, centre[0] + away, 0.0)
        if root.support is not None and not root.log_target:  # a mean of counts is not negative
            mean = np.maximum(mean, 0.0)
        more = Moments(rows, mean, np.zeros_like(rows))
    return repeated(root, len(rows)).update(more).varying_as(root)


def append_unseen(own: Any, variance: Array, root: Any, strength: float) -> SlotPriors:
    """Append the priors of missing and unseen values to those of the categories: of this strength about the root."""
    outer = root.take(np.newaxis).worth(np.array([strength]))
    every = own.join([repeated(outer.take(0), 2)]).varying_as(root)
    return SlotPriors(every, np.append(variance, np.zeros(2)), outer.take(0))


def means_of(statistics: Any) -> Array:
    """Means of the categories, (category, class), or of one column for numbers; undefined where there are no rows."""
    return np.asarray(statistics.mean if statistics.mean.ndim > 1 else statistics.mean[:, None])


def centre_of(root: Any) -> Array:
    """The mean of a prior in the same form: the share of each class, or a number."""
    if not root.classes:
        return np.asarray(root.mean()[root.location])
    ones, others = root.class_betas()
    share = ones / (ones + others)
    return np.append(1.0 - share, share) if root.binary else share


def repeated(root: Any, times: int) -> Any:
    """Repeat one distribution."""
    return root.take(np.newaxis).take(np.zeros(times, dtype=np.intp))
