"""How far draws of θ lie from the mean of their distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catbayes.core.arrays import at_least, namespace, positive, rounding, where
from catbayes.core.posteriors import Entries
from catbayes.core.validation import Array
from catbayes.families import Family

__all__ = ["Spread", "leave_one_out"]


@dataclass(frozen=True, slots=True)
class Spread:
    """How far draws lie from the mean of their distribution: θ becomes mean + factor · (θ - mean).

    A temperature is the same factor for all. Without one it goes by count: √(n / (n + ν)) after n rows, where the
    prior is worth ν rows. The draws then vary as the posterior mean itself would from one sample of n rows to the next:
    for the mean of every family here Var(mean | θ) = n / (n + ν) · Var(θ | rows), averaged over θ. A category of which
    nothing is known has no spread.
    """

    temperature: float | None = 1.0

    @property
    def full(self) -> bool:
        """Tell whether all draws stay as they are."""
        return self.temperature == 1.0

    def factor(self, entries: Entries) -> Array:
        """The factor of every entry."""
        if self.temperature is not None:
            return 0.0 * entries.count + self.temperature
        strength = positive(entries.family.strength)
        share = entries.count / strength
        # The mean of the prior varies too, and has its own share in the posterior's.
        share = share + (1.0 - share) ** 2 * entries.prior_variance * positive(strength - entries.family.curvature)
        xp = namespace(share)
        factor: Array = xp.sqrt(xp.clip(share, None, 1.0))
        return factor

    def settle(self, entries: Entries) -> Entries:
        """Entries to draw from: one without rows, whose prior is in doubt, varies as the mean of its prior does.

        Draws of θ itself, brought close to the mean, would do so too, but if θ is nearly 0 or 1 they take two values,
        which hide nothing.
        """
        variance = entries.prior_variance
        if self.temperature is not None or not variance.ndim:
            return entries
        family = entries.family
        known = at_least(1.0 / positive(variance) + family.curvature, 1e-3)
        bare = (entries.count == 0) & (variance > 0)
        return Entries(family.worth(where(bare, known, family.strength)), entries.count, variance)

    def apply(self, theta: Array, entries: Entries) -> Array:
        """Draw θ closer to its mean."""
        if self.full:
            return theta
        mean = entries.family.mean()
        return mean + self.factor(entries)[:, None] * (theta - mean)


def leave_one_out(entries: Entries, unseen: Family, own: Any, weight: Array) -> Entries:
    """Take each row's own target out of its posterior; where nothing else is known, the row is as if unseen."""
    count = entries.count
    alone = count - weight <= rounding(count) * count
    taken = where(alone, 0.0, weight)
    family = entries.family.where(~alone, unseen).leave_out(own, taken)
    return Entries(family, where(alone, 0.0, count - taken), entries.prior_variance)
