"""Categories in an order: sizes, grades, ages, hours. Each is smoothed towards adjacent ones.

θ of the levels is a random walk along the order, shrunk towards a common mean: a step is as wide as the mean of ω rows
would be, and a level by itself lies about the mean as that of κ rows would. In units of rows, θ has the precision

    κ I + ω L,    L the Laplacian of the line, or of the ring where the last level is the neighbour of the first

and n rows of a level add n to its entry. Then Q = κ I + ω L + diag(n), and with G = Q⁻¹ the prior of level k, which
all other levels have a part in and its own rows have not, is worth and centred

    c = 1 / G_kk - n_k        m = μ + (Σ_j G_kj n_j (ȳ_j - μ) / G_kk - n_k (ȳ_k - μ)) / c

That is exact for normals, on the line and on the ring, and the family makes its own prior of c and m. κ = ∞ is a column
without signal, ω = 0 the prior of a column without an order, and κ = 0 a walk that is free to go anywhere. κ and ω
are the likeliest of all, θ integrated out: level after level is predicted by those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import isotonic_regression

from catbayes.core.combinations import Index
from catbayes.core.statistics import Moments, Statistics, Tally
from catbayes.core.validation import Array, check_option
from catbayes.errors import InputError
from catbayes.kinds.kind import Kind
from catbayes.kinds.links import (
    LOWEST,
    Links,
    Priors,
    SlotPriors,
    append_unseen,
    centre_of,
    fit_root_and_strength,
    means_of,
    shifted_priors,
)

Monotone = Literal["increasing", "decreasing"]


@dataclass(frozen=True, slots=True)
class RandomWalk(Links):
    """Links of levels in their order: the root, of strength κ, and the strength ω of a step."""

    @property
    def step(self) -> float:
        """ω: at most how many rows a level is worth to its neighbour."""
        return self.strengths[0]

    @classmethod
    def fit(
        cls, index: Index, statistics: Statistics, priors: Priors, free: bool, others: Sequence[Statistics] = ()
    ) -> RandomWalk:
        """Find the likeliest κ and ω; a prior that is not free fixes κ."""
        root, proper = priors
        if index.kind.monotone is not None and root.classes and not root.binary:
            raise InputError(
                f"monotone={index.kind.monotone!r}: three classes or more do not rise and fall together. Leave it out."
            )
        seen = np.flatnonzero(statistics.count[: index.missing] > 0)
        if len(seen) < 2:
            return cls(root if free else proper, (LOWEST,))
        own, (lengths, directions) = statistics.take(seen), _spectrum(index)

        def cost(root: Any, step: float) -> float:
            walk = cls(root, (step,))
            return -walk._log_marginal((directions[seen] * walk._variances(lengths)) @ directions[seen].T, own)

        root, step = fit_root_and_strength(priors, free, float(statistics.count.sum()), cost)
        return cls(root, (step,))

    def _log_marginal(self, covariance: Array, own: Statistics) -> float:
        """Log-probability of the rows of the levels that were seen: each given the levels before it.

        With the Cholesky factor R of the covariance of the means of levels, level k is predicted with the variance
        R_kk² less that of its own rows, and with the mean ȳ_k - R_kk z_k, where R z = ȳ - μ.
        """
        noise = 1.0 / own.count
        factor = cholesky(covariance + np.diag(noise), lower=True)
        gap = means_of(own) - centre_of(self.root)
        spread = np.diagonal(factor)
        surprise = spread[:, None] * solve_triangular(factor, gap, lower=True)
        worth = 1.0 / np.maximum(spread**2 - noise, 1e-300)
        before = shifted_priors(self.root, worth, worth[:, None] * (gap - surprise), type(own))
        return float(before.log_marginal(own).sum())

    def _variances(self, lengths: Array) -> Array:
        """Eigenvalues of (κ I + ω L)⁻¹."""
        return np.asarray(1.0 / (self.root.strength + self.step * lengths))

    def slot_priors(self, index: Index, statistics: Any) -> SlotPriors:
        """Condition each level on the rows of the others; missing and unseen vary about the mean as levels do."""
        lengths, directions = _spectrum(index)
        variances, levels = self._variances(lengths), statistics.take(np.arange(index.missing))
        count = levels.count
        inverse = np.linalg.inv((directions / variances) @ directions.T + np.diag(count))
        known = np.diagonal(inverse)
        share = inverse / known[:, None]
        gap = np.where(count[:, None] > 0, means_of(levels) - centre_of(self.root), 0.0) * count[:, None]
        worth = np.maximum(1.0 / known - count, self.root.strength)
        own = shifted_priors(self.root, worth, share @ gap - gap, type(levels))
        others = (share**2) @ count - count
        variance = np.maximum(others, 0.0) / (worth * np.maximum(worth - own.curvature, LOWEST))
        about_mean = variances[1:] if len(variances) > 1 else self._variances(np.zeros(1))  # the first is common to all
        return append_unseen(own, variance, self.root, 1.0 / float(np.mean(about_mean)))

    def constrain(self, posterior: Any, root: Any, index: Index) -> Any:
        """Make the means rise or fall along the levels by isotonic regression; strengths stay.

        Levels that would go the other way share one mean, that of all their rows and priors. So the rows of one level
        enter the mean of another, and a row's own target is excluded by folds.
        """
        if index.kind.monotone is None:
            return posterior
        levels, rest = posterior.take(np.arange(index.missing)), posterior.take(np.arange(index.missing, index.n_slots))
        means, centre = levels.mean()[:, levels.location][:, 0], centre_of(root)
        found = isotonic_regression(means, weights=levels.strength, increasing=index.kind.monotone == "increasing").x
        gap = (found - centre[-1])[:, None] * (np.array([-1.0, 1.0]) if root.classes else np.ones(1))
        weak = root.worth(LOWEST * levels.strength.min())
        moved = shifted_priors(
            weak, levels.strength, levels.strength[:, None] * gap, Tally if root.classes else Moments
        )
        return moved.varying_as(levels).join([rest])


def _spectrum(index: Index) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of the Laplacian of the line or ring of levels."""
    edge = np.eye(index.missing, k=1)
    if index.kind.cyclic and index.missing > 2:
        edge[0, -1] = 1.0
    edge = edge + edge.T
    lengths, directions = np.linalg.eigh(np.diag(edge.sum(axis=0)) - edge)
    return np.maximum(lengths, 0.0), directions


class OrderedKind(Kind):
    """A kind whose categories are levels in an order."""

    cyclic: bool
    monotone: Monotone | None

    links: ClassVar[type[Links]] = RandomWalk

    def __post_init__(self) -> None:
        """Require a direction, or none; a ring has none."""
        if self.monotone is not None:
            check_option("monotone", self.monotone, get_args(Monotone))
            if self.cyclic:
                raise InputError(
                    f"monotone={self.monotone!r} with cyclic=True: a cycle cannot be monotone. Leave one out."
                )

    @property
    def pools_means(self) -> bool:
        """Isotonic regression does."""
        return self.monotone is not None
