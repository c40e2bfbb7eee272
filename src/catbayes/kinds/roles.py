"""Categories in several roles: a team at home and away, a sender and a receiver. What one role says, the others hear.

Of each category, θ in R roles lies about the mean μ of its role as that of κ rows would, and two roles lie apart as the
mean of ω rows would. In units of rows the precision is κ I + ω (R I - 1 1ᵀ), and n rows of a role add n to its entry.
What the other roles r know of this one is then, with a = κ + ω R + n and S = Σ 1 / a over them,

    c = κ + ω (R - 1) - ω² S / (1 - ω S) rows        m = μ + ω Σ n (ȳ - μ_r) / a / (1 - ω S) / c

which is exact for normals; the family makes its own prior of c and m. Where a good category in one role is bad for the
target in the other, ȳ - μ_r has the other sign. κ and ω make this role's rows most likely given those of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catbayes.core.combinations import Index
from catbayes.core.statistics import Statistics
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.families import Family
from catbayes.kinds.strengths import LOWEST, likeliest, means_of, repeated, told
from catbayes.priors import Prior

__all__ = ["Heard", "Roles"]


@dataclass(frozen=True, slots=True)
class Heard:
    """What the other roles say of the categories of this one; it makes links as the classes of others do."""

    others: tuple[Statistics, ...]
    opposed: bool = False
    whole: tuple[Statistics, ...] = ()  # which the means of roles are those of, if `others` are some of the rows only

    def __call__(self, root: Any, strengths: tuple[float, ...]) -> Roles:
        """Links of these strengths."""
        return Roles(root, strengths, self)

    def fit(
        self,
        index: Index,
        statistics: Statistics,
        family: type[Family],
        prior: Prior,
        column: Statistics,
        units: float = 1.0,
    ) -> Roles:
        """Find the likeliest κ and ω."""
        if self.opposed and family.classes and not family.binary:
            raise InputError(
                "Shared(opposed=True): of three classes or more none is the opposite of another. Leave it out."
            )
        seen = np.flatnonzero(statistics.count[: index.missing] > 0)
        own = statistics.take(seen)

        def cost(root: Any, tie: float) -> float:
            return -float(self(root, (tie,)).heard_of(index)[0].take(seen).log_marginal(own).sum())

        fitted = prior.fit(family, column, units)
        root, tie = likeliest(fitted, prior, float(statistics.count.sum()), cost)
        return self(root, (tie,))


@dataclass(frozen=True, slots=True)
class Roles:
    """What links a role to the others: the mean that it is held to, by κ rows, and the strength ω of the tie."""

    root: Any
    strengths: tuple[float, ...]  # of the tie
    heard: Heard

    def given(self, others: Sequence[Statistics]) -> Roles:
        """The same links, if only these statistics were known of the other roles, such as those of the other folds."""
        whole = self.heard.whole or self.heard.others
        return replace(self, heard=replace(self.heard, others=tuple(others), whole=whole))

    def heard_of(self, index: Index) -> tuple[Any, Array]:
        """The prior of every category by what the other roles say, and the variance of its mean."""
        held, tie, n_roles = float(self.root.strength), self.strengths[0], len(self.heard.others) + 1
        some = [other.take(np.arange(index.missing)) for other in self.heard.others]
        known = [held + tie * n_roles + other.count for other in some]
        rest: Array = 1.0 - tie * np.sum([1.0 / each for each in known], axis=0)
        worth = held + tie * (n_roles - 1) - tie * (1.0 - rest) / rest
        share = [tie / each / rest for each in known]
        every = [other.take(np.arange(index.missing)) for other in self.heard.whole or self.heard.others]
        gaps = [_gaps(other, _centre(whole)) for other, whole in zip(some, every, strict=True)]
        gap: Array = np.sum([part[:, None] * each for part, each in zip(share, gaps, strict=True)], axis=0)
        prior = told(self.root, worth, -gap if self.heard.opposed else gap, type(some[0]))
        by_chance = np.sum([part**2 * other.count for part, other in zip(share, some, strict=True)], axis=0)
        return prior, by_chance / (worth * np.maximum(worth - prior.curvature, LOWEST))

    def priors(self, index: Index, statistics: Any) -> tuple[Family, Array, Family]:
        """The prior of every slot and its variance; and that of a category of which nothing is known in any role."""
        own, variance = self.heard_of(index)
        held, tie, n_roles = float(self.root.strength), self.strengths[0], len(self.heard.others) + 1
        outer = self.root.take(np.newaxis).worth(np.array([held * (held + tie * n_roles) / (held + tie)]))
        every = own.join([repeated(outer.take(0), 2)]).varying_as(self.root)
        return every, np.append(variance, np.zeros(2)), outer.take(0)


def _centre(role: Any) -> Array:
    """The mean of all rows of a role; that of some folds would tell the folds, and so the targets, apart."""
    return means_of(role.total()) if role.count.any() else np.zeros((1, 1))


def _gaps(other: Any, centre: Array) -> Array:
    """Sums of y - μ in each category."""
    count, means = other.count[:, None], means_of(other)
    return np.where(count > 0, count * (np.where(count > 0, means, 0.0) - centre), 0.0)
