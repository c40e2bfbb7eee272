"""The prior of a column, the posterior of every category, and how to read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from catbayes.core.combinations import Index
from catbayes.core.prior_uncertainty import doubt_of_prior, wider
from catbayes.core.slots import Slots
from catbayes.core.statistics import Statistics
from catbayes.core.validation import Array
from catbayes.families import Family
from catbayes.priors import Prior

__all__ = ["ColumnPrior", "Posteriors"]


@dataclass(frozen=True, slots=True)
class ColumnPrior:
    """What is believed of the slots of a column before their rows are seen: the same of all of them.

    `LinkedPrior` is the one in which each slot has its own, from those that it is linked to.
    """

    prior: Family
    unseen: Family  # what a slot without rows draws from: the prior, or a proper one where it is too weak for that

    by_slot: ClassVar[bool] = False  # whether each slot has a prior of its own

    @classmethod
    def fit(cls, family: type[Family], prior: Prior, statistics: Statistics, units: float = 1.0) -> ColumnPrior:
        """Make the prior from statistics, those of the column itself as a rule, of rows with so much exposure."""
        return cls(*prior.fit(family, statistics, units))

    def given(self, statistics: Statistics, others: Sequence[Statistics] = ()) -> Self:
        """The priors if only these statistics were known, such as those of the other folds: still the same.

        `others` is what the same categories say in other roles.
        """
        return self

    def update(self, statistics: Statistics) -> Slots:
        """The posterior of every slot; a slot without rows draws from what an unseen one does."""
        return Slots.update(self.prior, statistics, self.unseen)

    def doubt(self, statistics: Statistics, posterior: Family) -> Array:
        """The variance of each posterior, were the prior learnt from these statistics, as a multiple of its own."""
        return doubt_of_prior(self.prior, statistics, posterior)


@dataclass(frozen=True, slots=True)
class Posteriors:
    """Categories, statistics, prior and posteriors of one column."""

    index: Index
    statistics: Statistics
    prior: ColumnPrior
    slots: Slots
    learnt: bool = False  # whether the prior was, from the same statistics

    @classmethod
    def of(cls, index: Index, statistics: Statistics, prior: ColumnPrior, learnt: bool = False) -> Posteriors:
        """Update the prior of every slot by its rows."""
        return cls(index, statistics, prior, prior.update(statistics), learnt)

    def told(self) -> Slots:
        """The posteriors as firm as they are: with the doubt about the prior, where it was learnt.

        A family that knows no other strengths than its own takes the prior as known.
        """
        family = self.slots.family
        if not self.learnt or type(family).worth is Family.worth:
            return self.slots
        return replace(self.slots, family=wider(family, self.prior.doubt(self.statistics, family)))

    def given(self, statistics: Statistics, others: Sequence[Statistics] = ()) -> Slots:
        """Posteriors after other statistics, such as those of the other folds; `others` are those of other roles."""
        return self.prior.given(statistics, others).update(statistics)

    def record(self, labels: Sequence[Any] | None, coverage: float = 0.9) -> dict[str, Any]:
        """One row per category (and class), as columns ready for a frame.

        `raw_mean` is what was counted, `mean` what is believed, `sd`, `lower` and `upper` how firmly (see `told`), and
        `shrinkage` the share of the mean that comes from the prior.
        """
        index, count = self.index, self.statistics.count
        slots = self.possible()
        kind = np.full(index.n_slots, "seen", dtype=object)
        kind[[index.missing, index.unseen]] = ["missing", "unseen"]
        kind[index.unseen + 1 :] = "parent"
        chosen, strength = self.told().family.take(slots), self.slots.family.strength[slots]
        location, tail = chosen.location, (1.0 - coverage) / 2.0
        raw = chosen.observed(self.statistics)[slots]
        columns = {
            "raw_mean": np.where(count[slots][:, None] > 0, raw, np.nan),
            "mean": chosen.mean()[:, location],
            "sd": np.sqrt(chosen.variance()[:, location]),
            "lower": chosen.quantile(tail)[:, location],
            "upper": chosen.quantile(1.0 - tail)[:, location],
        }
        width = columns["mean"].shape[1]
        values = index.labels()
        record: dict[str, Any] = {
            "category": [values[slot] for slot in slots for _ in range(width)],
            "kind": np.repeat(kind[slots], width).tolist(),
        }
        if index.kind is not None and index.kind.names_parents:
            above = index.up()[slots]
            record["parent"] = [values[slot] for slot in above for _ in range(width)]  # of what is unseen, None
        if width > 1:
            record["class"] = [label for _ in slots for label in (labels or range(width))]
        record["count"] = np.repeat(count[slots], width)
        record |= {name: column.reshape(-1) for name, column in columns.items()}
        share = np.where(count[slots] > 0, (strength - count[slots]) / strength, 1.0)
        return record | {"shrinkage": np.repeat(share, width)}

    def possible(self) -> Any:
        """Slots that rows may have: all but that of missing values, if there were none."""
        slots = np.arange(self.index.n_slots)
        return slots[(slots != self.index.missing) | (self.statistics.count > 0)]
