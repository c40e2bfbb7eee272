"""Categories below others: a postcode in its region, a region in its country. Priors by belief propagation.

The θ of a child varies about that of its parent as the mean of ν rows would, with a ν for each level. So a child has
the prior

    mean: that of its parent, learnt from its siblings;   strength: S ν / (S + ν), where the parent is known by S rows

(S ν / (S + ν + 1) for classes; see `arithmetic.around`), which adds the variance of the parent's θ to that of children
about it. In turn, n rows of a child inform its parent as n ν / (n + ν) rows would, n (ν + 1) / (n + ν) for classes,
however many they are. These are the messages of belief propagation on a tree: up, what the children know; down, what
the parent knows without the message of that child. So a child's own rows do not enter its prior, and nothing is counted
twice. A row's own target is in the posterior of its category, from which it can be taken, and but for that only in the
root and the strengths, which all rows share.

But the prior reveals the own target: of four children with a row each and the targets 0, 0, 1 and 1, those with a 1
have siblings of mean 1/3, those with a 0 siblings of mean 2/3. So a training row draws its prior's mean too, as wide as
it varies with the siblings (the *variance* of a prior). Where nothing is drawn, priors come from the other folds.

The strengths make each child as likely as can be given its siblings, θ integrated out, one level after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np

from catbayes.core.arrays import positive
from catbayes.core.combinations import Index
from catbayes.core.statistics import Statistics
from catbayes.core.validation import Array
from catbayes.families import Family
from catbayes.families.arithmetic import around, likeliest_strength, no_signal
from catbayes.kinds.links import Links, Priors, SlotPriors, minimise, repeated

LOWEST = np.log(1e-2)
"""The least strength, as a logarithm."""

SWEEPS = 4
"""Strengths decide the messages of children, and these in turn the strengths: repeated this many times."""


@dataclass(frozen=True, slots=True)
class Tree(Links):
    """Links of a hierarchy: the prior at its root, and the strength ν of each level about the next, leaves first."""

    @classmethod
    def fit(
        cls, index: Index, statistics: Statistics, priors: Priors, free: bool, others: Sequence[Statistics] = ()
    ) -> Self:
        """Find the strengths that make the tree most likely, or take that of a prior that is given for all of them."""
        base, proper = priors
        n_levels = len(index.levels) + 1
        if not free:
            return cls(proper, (float(proper.strength),) * n_levels)
        links = cls(base, (float(base.strength),) * n_levels)
        for _ in range(SWEEPS):
            links = links._improved(index, statistics)
        return links

    def slot_priors(self, index: Index, statistics: Any) -> SlotPriors:
        """The prior of every slot and its variance; and the prior of a category of which nothing is known.

        The variance of a prior is that of its mean from one sample of siblings to the next, as a multiple of the
        variance of a target.
        """
        levels = self._propagate(index, statistics)
        outer = self._outer()
        unseen, variances = [repeated(outer[0].take(0), 2)], [levels[0].variance, np.zeros(2)]
        for number, level in enumerate(levels[1:], start=1):  # unseen children of each node
            below = level.prior.update(level.statistics)
            variances.append(_variance(level.prior, below, level.variance))
            for strength in reversed(self.strengths[:number]):
                below = around(below, strength)
            unseen.append(below)
        # How much targets vary within a category is the same for all.
        own = levels[0].prior.join(unseen).varying_as(self.root)
        return SlotPriors(own, np.concatenate(variances), outer[0].take(0))

    def _outer(self) -> list[Family]:
        """The distribution of θ at every level of an entry without seen ancestors, leaves first."""
        found = [self.root.take(np.newaxis).worth(np.array([self.strengths[-1]]))]
        for strength in reversed(self.strengths[:-1]):
            found.insert(0, around(found[0], strength))
        return found

    def _propagate(self, index: Index, statistics: Any) -> list[_Beliefs]:
        """Pass messages up from children to parents, then down from parents to children, without their own."""
        known = [statistics.take(np.arange(index.missing))]
        messages = []
        for level, strength in zip(index.levels, self.strengths, strict=False):
            messages.append(_message(known[-1], strength, self.root.curvature))
            child = np.flatnonzero(level.above >= 0)
            known.append(messages[-1].take(child).place(level.above[child], len(level.names)))
        outer = self._outer()
        n_top = len(known[-1].count)
        levels = [_Beliefs(known[-1], repeated(outer[-1].take(0), n_top), np.zeros(n_top))]
        for number in reversed(range(len(index.levels))):
            above, parent = index.levels[number].above, levels[0]
            rest, prior = parent.statistics.take(above) - messages[number], parent.prior.take(above)
            cavity = prior.update(rest).where(above >= 0, outer[number + 1])
            variance = np.where(above >= 0, _variance(prior, cavity, parent.variance[above]), 0.0)
            levels.insert(0, _Beliefs(known[number], around(cavity, self.strengths[number]), variance, cavity))
        return levels

    def _top(self, index: Index, levels: list[_Beliefs]) -> Any:
        """Messages to the topmost nodes; an entry without a parent informs a node of its own."""
        messages = [levels[-1].statistics]
        for number, level in enumerate(index.levels):
            own = levels[number].statistics
            own = own.take(np.flatnonzero((level.above < 0) & (own.count > 0)))
            for strength in self.strengths[number : len(index.levels)]:
                own = _message(own, strength, self.root.curvature)
            messages.append(own)
        ends = list(accumulate(len(each.count) for each in messages))
        top = messages[0].place(np.arange(ends[0]), ends[-1])
        for each, start, end in zip(messages[1:], ends, ends[1:], strict=False):
            top = top + each.place(np.arange(start, end), ends[-1])
        return top

    def _improved(self, index: Index, statistics: Any) -> Self:
        """Better strengths, each given the others."""
        levels = self._propagate(index, statistics)
        root = self.root.of_nodes(self._top(index, levels), self.root)
        strengths = [float(root.strength)]
        for level in reversed(levels[:-1]):
            strengths.insert(0, likeliest_strength(level.cavity, level.statistics, root))
        return type(self)(root, tuple(strengths))


@dataclass(frozen=True, slots=True)
class Likeness(Tree):
    """Links of a tree that was found by likeness: parents have few children, which may differ much.

    A child that varies by more than its rows do informs its parent by less than a row, so that the messages to parents
    are hardly observations. The strengths are found by what they make of the leaves, whose rows are observations: each
    leaf is to be as likely as can be given the others.
    """

    joins: ClassVar[bool] = True

    @classmethod
    def fit(
        cls, index: Index, statistics: Statistics, priors: Priors, free: bool, others: Sequence[Statistics] = ()
    ) -> Likeness:
        """Find all strengths at once; of a prior that is given, all have its own."""
        base, proper = priors
        n_levels = len(index.levels) + 1
        if not free:
            return cls(proper, (float(proper.strength),) * n_levels)
        leaves = np.flatnonzero(statistics.count[: index.missing] > 0)
        own, highest = statistics.take(leaves), np.log(no_signal(statistics.count.sum()))

        def cost(x: Any) -> float:
            prior = cls(base, tuple(np.exp(x)))._propagate(index, statistics)[0].prior
            return -float(prior.varying_as(base).take(leaves).log_marginal(own).sum())

        start = np.clip(np.log(float(base.strength)), LOWEST, highest)
        _, best = minimise(cost, [[start] * n_levels], (LOWEST, highest), silent=[highest] * n_levels, step=1.0)
        return cls(base, tuple(np.exp(best).tolist()))


@dataclass(frozen=True, slots=True)
class _Beliefs:
    """The entries of one level: the messages to each, its prior with its variance, and the parent without it."""

    statistics: Any
    prior: Any
    variance: Any
    cavity: Any = None


def _variance(prior: Any, posterior: Any, variance: Any) -> Array:
    """How much the mean of a posterior varies with its rows, and with the messages to its prior.

    n / S of its variance, which is 1 / (S - v₂) of that of a target; and of the prior's mean, whose
    share in it is ν / S.
    """
    share = np.clip(1.0 - prior.strength / posterior.strength, 0.0, 1.0)
    return np.asarray(share / positive(posterior.strength - prior.curvature) + (1.0 - share) ** 2 * variance)


def _message(statistics: Any, strength: float, curvature: float | Array) -> Any:
    """The message of children to their parent: n rows count as n (ν - v₂) / (n + ν)."""
    share = np.maximum(strength - curvature, 0.0) / (statistics.count + strength)
    return statistics.scaled(np.minimum(share, 1.0))
