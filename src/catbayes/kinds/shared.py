"""Categories in several roles: a team at home and away, a sender and a receiver. Rows of one role inform the others.

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
from typing import Any, ClassVar, Self

import numpy as np

from catbayes.core.combinations import Index
from catbayes.core.statistics import Statistics
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.kinds.kind import Kind
from catbayes.kinds.links import (
    LOWEST,
    Links,
    Priors,
    SlotPriors,
    append_unseen,
    fit_root_and_strength,
    means_of,
    shifted_priors,
)


@dataclass(frozen=True, slots=True)
class Roles(Links):
    """Links of a role to the others: the root, of strength κ, and the strength ω of the tie."""

    others: tuple[Statistics, ...] = ()  # of the other roles
    opposed: bool = False
    whole: tuple[Statistics, ...] = ()  # of all rows, where `others` are those of some folds: the means of roles

    @classmethod
    def of(cls, index: Index, root: Any, strengths: tuple[float, ...], others: Sequence[Statistics] = ()) -> Self:
        """Make links of known strengths."""
        return cls(root, strengths, tuple(others), index.kind.opposed)

    @classmethod
    def fit(
        cls, index: Index, statistics: Statistics, priors: Priors, free: bool, others: Sequence[Statistics] = ()
    ) -> Self:
        """Find the κ and ω that make the rows of this role most likely given those of the others."""
        if index.kind.opposed and priors[0].classes and not priors[0].binary:
            raise InputError(
                "Shared(opposed=True): of three classes or more none is the opposite of another. Leave it out."
            )
        seen = np.flatnonzero(statistics.count[: index.missing] > 0)
        own = statistics.take(seen)

        def cost(root: Any, tie: float) -> float:
            prior, _ = cls.of(index, root, (tie,), others).by_category(index)
            return -float(prior.take(seen).log_marginal(own).sum())

        root, tie = fit_root_and_strength(priors, free, float(statistics.count.sum()), cost)
        return cls.of(index, root, (tie,), others)

    def given(self, others: Sequence[Statistics]) -> Self:
        """Use other statistics of the other roles; the means of roles stay those of all rows."""
        return replace(self, others=tuple(others), whole=self.whole or self.others)

    def by_category(self, index: Index) -> tuple[Any, Array]:
        """The prior of every category given the other roles, and the variance of its mean."""
        root, tie, n_roles = float(self.root.strength), self.strengths[0], len(self.others) + 1
        some = [other.take(np.arange(index.missing)) for other in self.others]
        known = [root + tie * n_roles + other.count for other in some]
        rest: Array = 1.0 - tie * np.sum([1.0 / each for each in known], axis=0)
        worth = root + tie * (n_roles - 1) - tie * (1.0 - rest) / rest
        share = [tie / each / rest for each in known]
        every = [other.take(np.arange(index.missing)) for other in self.whole or self.others]
        gap: Array = np.sum(
            [part[:, None] * _gaps(*pair) for part, *pair in zip(share, some, every, strict=True)], axis=0
        )
        prior = shifted_priors(self.root, worth, -gap if self.opposed else gap, type(some[0]))
        by_chance = np.sum([part**2 * other.count for part, other in zip(share, some, strict=True)], axis=0)
        return prior, by_chance / (worth * np.maximum(worth - prior.curvature, LOWEST))

    def slot_priors(self, index: Index, statistics: Any) -> SlotPriors:
        """Condition each category on its rows in the other roles."""
        own, variance = self.by_category(index)
        root, tie, n_roles = float(self.root.strength), self.strengths[0], len(self.others) + 1
        return append_unseen(own, variance, self.root, root * (root + tie * n_roles) / (root + tie))


def _gaps(role: Any, whole: Any) -> Array:
    """Sums of y - μ in each category; a mean of some folds would reveal the folds, and so the targets."""
    centre = means_of(whole.total()) if whole.count.any() else 0.0
    count = role.count[:, None]
    return np.where(count > 0, count * (np.where(count > 0, means_of(role), 0.0) - centre), 0.0)


@dataclass(frozen=True)
class Shared(Kind):
    """Columns that have the same things in several roles: home and away, sender and receiver.

    A category in one role is shrunk towards what is known of it in the others: as far as roles agree, which is
    estimated, and each about the mean of its role. So a team that was never at home is known from its games away. No
    row may have one category in two roles.

    Parameters
    ----------
    opposed : bool, default=False
        Whether what is good for the target in one role is bad for it in the others: of a team that often wins, the
        target "the home team wins" is high if it is at home, and low if it is away. For two columns, and
        for numbers and two classes.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.kinds import Shared
    >>> random = np.random.default_rng(0)
    >>> home, away = random.integers(0, 30, (2, 90))
    >>> skill = random.normal(size=30)
    >>> away = np.where(away == home, (away + 1) % 30, away)
    >>> margin = 0.5 + skill[home] - skill[away] + random.normal(size=90)
    >>> games = pd.DataFrame({"home": home, "away": away}).astype(str)
    >>> for kinds in (None, {("home", "away"): Shared(opposed=True)}):
    ...     encoder = SamplingBayesianEncoder(kinds=kinds).fit(games, margin)
    ...     known = encoder.transform(pd.DataFrame({"home": range(30), "away": range(30)}).astype(str))[:, 0]
    ...     print(round(float(np.corrcoef(known, skill)[0, 1]), 2))
    0.87
    0.9
    """

    opposed: bool = False

    links: ClassVar[type[Links]] = Roles
    in_memory: ClassVar[bool] = True

    def check_columns(self, columns: Any) -> None:
        """Require two columns or more."""
        if not isinstance(columns, tuple) or len(columns) < 2:
            raise InputError(
                f"kinds: {columns!r} is a Shared: expected a tuple of two or more columns, such as "
                '{("home", "away"): Shared()}.'
            )
        if self.opposed and len(columns) > 2:
            raise InputError(
                f"kinds: {columns!r} are Shared(opposed=True): expected two columns. Of three, two would be opposed to "
                "the third, and so not to each other."
            )

    def index(self, seen: Index, name: Any, peers: Sequence[Index] = ()) -> Index:
        """The categories of all roles."""
        joint = seen
        for peer in peers:
            joint, _, _ = joint.union(peer)
        return replace(joint, kind=self)
