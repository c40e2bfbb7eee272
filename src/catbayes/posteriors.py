"""The posterior of every category of a column, and how to read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.categories import Categories
from catbayes.combinations import Combinations
from catbayes.families import Family
from catbayes.hierarchy import Chain, Tree
from catbayes.priors import Prior
from catbayes.statistics import Statistics

__all__ = ["ColumnPosterior"]


@dataclass(frozen=True, slots=True)
class ColumnPosterior:
    """Categories, statistics, prior and posteriors of one column; entries go by slot.

    A slot without observations, the unseen one above all, holds `unseen`: the prior, or the proper prior that stands
    in for one too weak to be drawn from. In a hierarchy each slot has a prior of its `own`, from those above it.

    Examples
    --------
    >>> from catbayes import BetaBernoulli, SamplingBayesianEncoder
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]
    >>> column = SamplingBayesianEncoder(prior=BetaBernoulli(alpha=1, beta=1)).fit(X, y).columns_fitted_[0].posterior
    >>> column.posterior.mean()[:, 0].tolist()  # a, b, missing, unseen
    [0.5, 0.75, 0.5, 0.5]
    >>> column.record(None)["shrinkage"].tolist()  # of those that can occur
    [0.5, 0.5, 1.0]
    """

    categories: Categories | Combinations | Tree
    statistics: Statistics
    prior: Any
    unseen: Any
    posterior: Family
    own: Any = None  # the prior of every slot, in a hierarchy
    doubt: Any = None  # how much the mean of that prior varies with those that it was learnt from
    chain: Chain | None = None

    @classmethod
    def fit(
        cls,
        categories: Categories | Combinations,
        statistics: Statistics,
        family: type[Family],
        prior: Prior,
        evidence: Statistics,
    ) -> ColumnPosterior:
        """Make the prior from `evidence`, the column itself as a rule, and update it category by category."""
        before, unseen = prior.fit(family, evidence)
        return cls(categories, statistics, before, unseen, posterior_of(statistics, before, unseen))

    @classmethod
    def fit_tree(
        cls, tree: Tree, statistics: Statistics, family: type[Family], prior: Prior, evidence: Statistics
    ) -> ColumnPosterior:
        """Find what links the levels of a hierarchy, and update the prior of each category."""
        return cls.of_tree(tree, statistics, Chain.fit(tree, statistics, family, prior, evidence))

    @classmethod
    def of_tree(cls, tree: Tree, statistics: Statistics, chain: Chain) -> ColumnPosterior:
        """Update the priors that a hierarchy gives to its categories."""
        own, doubt, outer = chain.priors(tree, statistics)
        return cls(tree, statistics, outer, outer, posterior_of(statistics, own, own), own, doubt, chain)

    def given(self, statistics: Statistics) -> Family:
        """Posteriors after other statistics, such as those of the other folds.

        The prior is the same; in a hierarchy its root and strengths are, and parents learn from these statistics too.
        """
        if self.chain is None or not isinstance(self.categories, Tree):
            return posterior_of(statistics, self.prior, self.unseen)
        return self.of_tree(self.categories, statistics, self.chain).posterior

    def unseen_at(self, slots: Any) -> Family:
        """What rows of some slots draw from if nothing is known of their category."""
        unseen: Family = self.unseen if self.own is None else self.own.take(slots)
        return unseen

    def record(self, labels: Sequence[Any] | None, coverage: float = 0.9) -> dict[str, Any]:
        """One row per category (and class), as columns ready for a frame.

        `raw_mean` is what was counted, `mean` what is believed, `sd`, `lower` and `upper` how firmly, and
        `shrinkage` the share of the mean that comes from the prior.
        """
        slots = np.arange(self.categories.n_slots)
        slots = slots[(slots != self.categories.missing) | (self.statistics.count > 0)]
        kind = np.full(self.categories.n_slots, "seen", dtype=object)
        kind[[self.categories.missing, self.categories.unseen]] = ["missing", "unseen"]
        kind[self.categories.unseen + 1 :] = "parent"
        chosen = self.posterior.take(slots)
        location = self.posterior.location
        tail = (1.0 - coverage) / 2.0
        strength = np.broadcast_to((self.prior if self.own is None else self.own.take(slots)).strength, len(slots))
        raw = self.posterior.observed(self.statistics)[slots]
        columns = {
            "raw_mean": np.where(self.statistics.count[slots][:, None] > 0, raw, np.nan),
            "mean": chosen.mean()[:, location],
            "sd": np.sqrt(chosen.variance()[:, location]),
            "lower": chosen.quantile(tail)[:, location],
            "upper": chosen.quantile(1.0 - tail)[:, location],
        }
        width = columns["mean"].shape[1]
        values = self.categories.labels()
        record: dict[str, Any] = {
            "category": [values[slot] for slot in slots for _ in range(width)],
            "kind": np.repeat(kind[slots], width).tolist(),
        }
        if width > 1:
            record["class"] = [label for _ in slots for label in (labels or range(width))]
        record["count"] = np.repeat(self.statistics.count[slots], width)
        record |= {name: column.reshape(-1) for name, column in columns.items()}
        share = np.where(self.statistics.count[slots] > 0, strength / chosen.strength, 1.0)
        return record | {"shrinkage": np.repeat(share, width)}


def posterior_of(statistics: Statistics, prior: Any, unseen: Any) -> Family:
    """Update the prior; a category without observations draws from `unseen`."""
    posterior: Family = prior.update(statistics)
    return posterior.where(statistics.count > 0, unseen)
