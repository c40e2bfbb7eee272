"""Categories below others: a postcode in its region, a region in its country.

The θ of a child varies about that of its parent as the mean of ν rows would, with a ν for each level. So a child has
the prior

    mean: that of its parent, learnt from its siblings;   strength: S ν / (S + ν), where the parent is known by S rows

(S ν / (S + ν + 1) for classes; see `Family.around`), which adds the variance of the parent's θ to that of children
about it. In turn, n rows of a child tell no more of its parent than n ν / (n + ν) rows would, n (ν + 1) / (n + ν) for
classes, however many they are. A child's own rows have no part in its prior: what its siblings say of the parent is
what the parent knows less what the child told it. So nothing is counted twice. A row's own target is in the posterior
of its category, from which it can be taken, and but for that only in the root and the strengths, which all rows share.

What is learnt from all siblings but one gives that one away: of a child with one row, the prior is its parent's mean
without it. So a training row draws its prior's mean too, as wide as it varies with the siblings (the *doubt* of a
prior); and where nothing is drawn, priors come from the other folds like everything else.

The strengths make each child as likely as can be given its siblings, θ integrated out, one level after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from catbayes._arrays import positive
from catbayes._validation import Array, Codes
from catbayes.categories import Categories
from catbayes.combinations import Combinations, label
from catbayes.families import Family, likeliest_strength
from catbayes.priors import Empirical, Prior
from catbayes.statistics import Statistics

__all__ = ["Chain", "Tree"]

SWEEPS = 4
"""Strengths decide what children tell their parents, and that in turn the strengths: so many times in turn."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """The categories of a column, and those that they are below: slots for both.

    The leaves have the slots that they have without a tree, missing and unseen included. Behind them are the nodes of
    each level, the parents first: a row of an unseen child has the slot of its nearest ancestor that was seen.

    Examples
    --------
    >>> country, countries = Categories.of(["no", "no", "it"])
    >>> town, towns = Categories.of(["Oslo", "Bergen", "Rome"])
    >>> leaves, _ = Combinations.of((country, town), (countries, towns))
    >>> tree = Tree.of_columns(leaves)
    >>> tree.labels()
    ['it&Rome', 'no&Bergen', 'no&Oslo', None, None, 'it', 'no']
    >>> tree.codes((country.codes(["no", "no", "se"]), town.codes(["Oslo", "Moss", "Lund"]))).tolist()
    [2, 6, 4]
    """

    leaves: Categories | Combinations
    above: tuple[Codes, ...]  # of each leaf, then of each node of level 1, …: the number of the node above it, or -1
    names: tuple[list[Any], ...]  # of the nodes of each level
    nodes: tuple[Combinations, ...] = ()  # the nodes of each level, where they are columns of the table

    @classmethod
    def of_columns(cls, leaves: Combinations) -> Tree:
        """Make a tree of combinations of (…, grandparent, parent, child)."""
        above, nodes, below = [], [], leaves
        for _ in range(len(leaves.parents) - 1):
            found, number = Combinations.of(below.parents[:-1], list(below.cells[:, :-1].T))
            above.append(number)
            nodes.append(found)
            below = found
        names = tuple([label(value) for value in found.values] for found in nodes)
        return cls(leaves, tuple(above), names, tuple(nodes))

    @classmethod
    def of_table(cls, seen: Categories, parents: Mapping[Any, tuple[Any, ...]]) -> Tree:
        """Make a tree of a table that gives the ancestors of each child, the parent first.

        Children that were not seen are leaves as well, without rows.
        """
        leaves, _, _ = seen.union(Categories.of(list(parents))[0])
        paths: list[Any] = [parents.get(value) for value in leaves.values]
        above, names = [], []
        for _ in next(iter(parents.values())):
            number = {path: place for place, path in enumerate(dict.fromkeys(path for path in paths if path))}
            above.append(np.array([number.get(path, -1) if path else -1 for path in paths], dtype=np.intp))
            names.append([label(tuple(reversed(path))) for path in number])
            paths = [path[1:] for path in number]
        return cls(leaves, tuple(above), tuple(names))

    @property
    def missing(self) -> int:
        """Slot of missing values."""
        return self.leaves.missing

    @property
    def unseen(self) -> int:
        """Slot of rows of which no ancestor was seen."""
        return self.leaves.unseen

    @property
    def starts(self) -> list[int]:
        """The first slot of the nodes of each level, and the end of the last."""
        return list(accumulate(map(len, self.names), initial=self.leaves.n_slots))

    @property
    def n_slots(self) -> int:
        """Number of slots: leaves, missing, unseen, and the nodes of every level."""
        return self.starts[-1]

    @property
    def lacking(self) -> Codes:
        """Slots with a missing part."""
        starts = zip(self.starts, self.nodes, strict=False)
        return np.concatenate([self.leaves.lacking, *(start + nodes.lacking for start, nodes in starts)])

    def up(self) -> Codes:
        """The slot above each slot; above the topmost is unseen."""
        found = np.full(self.n_slots, self.unseen, dtype=np.intp)
        places = [0, *self.starts]
        for place, start, above in zip(places, self.starts, self.above, strict=False):
            found[place : place + len(above)] = np.where(above < 0, self.unseen, start + above)
        return found

    def labels(self) -> list[Any]:
        """What each slot is called; None for missing and unseen."""
        return [*self.leaves.labels(), *(name for names in self.names for name in names)]

    def codes(self, parts: Sequence[Codes]) -> Codes:
        """Slot of each row, from the slots that it has in each column: its own, or that of its nearest ancestor."""
        codes = np.asarray(self.leaves.codes(parts) if isinstance(self.leaves, Combinations) else parts[0])
        for number, (start, nodes) in enumerate(zip(self.starts, self.nodes, strict=False), start=1):
            node = nodes.codes(parts[:-number])
            codes = np.where((codes == self.unseen) & (node != nodes.unseen), start + node, codes)
        return codes

    def placed(self, seen: Categories | Combinations, statistics: Statistics) -> Statistics:
        """Statistics by the slots of the tree, of what was seen."""
        return statistics.place(self.moved(seen), self.n_slots)

    def moved(self, seen: Categories | Combinations) -> Codes:
        """Where the slots of what was seen are in the tree."""
        if isinstance(self.leaves, Categories) and isinstance(seen, Categories):
            return self.leaves.moved(seen)
        return np.arange(seen.n_slots)


@dataclass(frozen=True, slots=True)
class Chain:
    """What links the levels of a tree: the prior at its root, and the strength ν of each level about the next.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import SamplingBayesianEncoder
    >>> X = pd.DataFrame({"town": ["Oslo", "Moss", "Rome", "Bari"] * 30})
    >>> parents = {"Oslo": "Norway", "Moss": "Norway", "Rome": "Italy", "Bari": "Italy"}
    >>> encoder = SamplingBayesianEncoder(hierarchy={"town": parents}).fit(X, [1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0] * 10)
    >>> towns, countries = encoder.columns_fitted_[0].posterior.chain.strengths
    >>> towns > countries  # towns of a country are alike, and countries are not
    True
    """

    root: Any
    strengths: tuple[float, ...]  # of the leaves about their parents, …, of the topmost nodes about the root

    @classmethod
    def fit(cls, tree: Tree, statistics: Statistics, family: type[Family], prior: Prior, column: Statistics) -> Chain:
        """Find the strengths that make the tree most likely, or take that of a prior that is given for all of them."""
        base, proper = prior.fit(family, column)
        n_levels = len(tree.above) + 1
        if not isinstance(prior, Empirical):
            return cls(proper, (float(proper.strength),) * n_levels)
        chain = cls(base, (float(base.strength),) * n_levels)
        for _ in range(SWEEPS):
            chain = chain._improved(tree, statistics, family)
        return chain

    def priors(self, tree: Tree, statistics: Any) -> tuple[Family, Array, Family]:
        """The prior of every slot and its doubt; and the prior of an unseen category of which nothing is known.

        The doubt of a prior is the variance of its mean from one sample of siblings to the next, as a multiple of the
        variance of a target.
        """
        levels = self._learn(tree, statistics)
        outer = self._outer()
        behind, doubts = [_repeat(outer[0], 2)], [levels[0].doubt, np.zeros(2)]
        for number, level in enumerate(levels[1:], start=1):  # unseen children of each node
            below = level.prior.update(level.statistics)
            doubts.append(_doubt(level.prior, below, level.doubt))
            for strength in reversed(self.strengths[:number]):
                below = below.around(strength)
            behind.append(below)
        # how much targets vary within a category is the same for all
        own = levels[0].prior.join(behind).varying_as(self.root)
        return own, np.concatenate(doubts), outer[0].take(0)

    def _outer(self) -> list[Family]:
        """The distribution of θ at every level of an entry without seen ancestors, leaves first."""
        found = [self.root.take(np.newaxis).worth(np.array([self.strengths[-1]]))]
        for strength in reversed(self.strengths[:-1]):
            found.insert(0, found[0].around(strength))
        return found

    def _learn(self, tree: Tree, statistics: Any) -> list[_Level]:
        """Tell every node what its children know, then every child what its parent knows of its siblings."""
        known = [statistics.take(np.arange(tree.missing))]
        told = []
        for above, strength, names in zip(tree.above, self.strengths, tree.names, strict=False):
            told.append(_message(known[-1], strength, self.root.curvature))
            child = np.flatnonzero(above >= 0)
            known.append(told[-1].take(child).place(above[child], len(names)))
        outer = self._outer()
        n_top = len(known[-1].count)
        levels = [_Level(known[-1], _repeat(outer[-1], n_top), np.zeros(n_top))]
        for number in reversed(range(len(tree.above))):
            above, parent = tree.above[number], levels[0]
            rest, prior = parent.statistics.take(above) - told[number], parent.prior.take(above)
            cavity = prior.update(rest).where(above >= 0, outer[number + 1])
            doubt = np.where(above >= 0, _doubt(prior, cavity, parent.doubt[above]), 0.0)
            levels.insert(0, _Level(known[number], cavity.around(self.strengths[number]), doubt, cavity))
        return levels

    def _improved(self, tree: Tree, statistics: Any, family: type[Family]) -> Chain:
        """Better strengths, each given the others."""
        levels = self._learn(tree, statistics)
        root = family.of_nodes(levels[-1].statistics, self.root)
        strengths = [float(root.strength)]
        for level in reversed(levels[:-1]):
            strengths.insert(0, likeliest_strength(level.cavity, level.statistics, root))
        return Chain(root, tuple(strengths))


@dataclass(frozen=True, slots=True)
class _Level:
    """The entries of one level: what was told of each, its prior with its doubt, and the parent without it."""

    statistics: Any
    prior: Any
    doubt: Any
    cavity: Any = None


def _doubt(prior: Any, posterior: Any, doubt: Any) -> Array:
    """How much the mean of a posterior varies with its rows, and with what was told to its prior.

    n / S of its variance, which is 1 / (S - v₂) of that of a target; and of the prior's mean, whose
    share in it is ν / S.
    """
    share = np.clip(1.0 - prior.strength / posterior.strength, 0.0, 1.0)
    return np.asarray(share / positive(posterior.strength - prior.curvature) + (1.0 - share) ** 2 * doubt)


def _message(statistics: Any, strength: float, curvature: float) -> Any:
    """What children tell of their parent: n rows no more than n (ν - v₂) / (n + ν) would."""
    share = max(strength - curvature, 0.0) / (statistics.count + strength)
    return statistics.scaled(np.minimum(share, 1.0))


def _repeat(family: Any, times: int) -> Any:
    return family.take(np.zeros(times, dtype=np.intp))
