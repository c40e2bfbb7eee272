"""Columns whose slots lean on each other: below their parents in a tree, or beside their neighbours in an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from catbayes.core.combinations import Index
from catbayes.core.posteriors import ColumnPrior
from catbayes.core.prior_uncertainty import doubt_of_mean, relying
from catbayes.core.slots import Slots
from catbayes.core.statistics import Moments, Statistics, Tally
from catbayes.core.validation import Array
from catbayes.families import Family
from catbayes.kinds.kind import Kind
from catbayes.kinds.links import Links, centre_of
from catbayes.kinds.tree import Tree

__all__ = ["LinkedPrior", "links_of"]


def links_of(index: Index) -> type[Links] | None:
    """How the slots of an index are linked; None if they all have one prior."""
    if index.kind is not None:
        kind: Kind = index.kind
        return kind.links
    return Tree if index.levels else None


@dataclass(frozen=True, slots=True)
class LinkedPrior(ColumnPrior):
    """A prior for each slot of a column, from those that it is linked to.

    `unseen` is that of every slot, and `prior` that of a category of which nothing is known.
    """

    index: Index
    links: Links
    variance: Array  # of the mean of each prior

    by_slot: ClassVar[bool] = True

    @classmethod
    def of(cls, index: Index, links: Links, statistics: Statistics) -> LinkedPrior:
        """Let every slot know what the statistics tell of the others."""
        own, variance, outer = links.slot_priors(index, statistics)
        return cls(outer, own, index, links, variance)

    def given(self, statistics: Statistics, others: Sequence[Statistics] = ()) -> LinkedPrior:
        """Root and strengths stay, and the rest is learnt from these statistics."""
        return self.of(self.index, self.links.given(others), statistics)

    def within(self, index: Index, statistics: Statistics) -> LinkedPrior:
        """The same links in a larger index."""
        return self.of(index, self.links, statistics)

    def update(self, statistics: Statistics) -> Slots:
        """Update the prior of each slot; one without rows stays on it."""
        posterior = self.unseen.update(statistics)
        chosen = posterior.where(statistics.count > 0, self.unseen)
        chosen = self.links.constrain(chosen, self.prior, self.index)
        return Slots(chosen, statistics.count, self.variance)

    def doubt(self, statistics: Statistics, posterior: Family) -> Array:
        """The same for the mean that all slots are held to; strengths are taken as known.

        The prior of a slot goes with that mean by as much as it does not go with the rows of others, were these all
        moved alike.
        """
        before, after, way = _moved(statistics, self.prior)
        priors = [
            self.links.slot_priors(self.index, rows).priors.mean()[:, posterior.location] for rows in (before, after)
        ]
        by_rows = (priors[1] - priors[0])[:, -1] / way
        share = relying(posterior, statistics.count) * np.clip(1.0 - by_rows, 0.0, 1.0)
        return doubt_of_mean(posterior, statistics.count, share)


def _moved(statistics: Any, root: Any) -> tuple[Any, Any, float]:
    """As many rows in every slot, all at the mean of a root, and all at another place; and the way from one to other.

    Classes move from the last to the first; numbers that cannot be negative go half of the way to zero.
    """
    count, centre = statistics.count, centre_of(root)
    if isinstance(statistics, Tally):
        first = np.eye(len(centre))[0]
        return Tally(count[:, None] * centre), Tally(count[:, None] * first), -float(centre[-1])
    signed = root.support is None or root.log_target
    way = -max(abs(float(centre[0])) / 2.0, float(signed))
    here, there = (Moments(count, np.full_like(count, place), 0.0 * count) for place in (centre[0], centre[0] + way))
    return here, there, way
