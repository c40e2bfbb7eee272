"""Sets that are known from their members: a cart on what is in it, a film on its genres.

θ of a set lies about μ + Σ z u: each member adds its effect u, which varies as the mean of κ rows would, and the set by
itself varies about that as the mean of ω rows would. z is 1, or 1 / the number of members; one member is in every set,
with z = 1, so that those without others have a level. In units of rows, a set with n rows informs the effects by w = n
ω / (n + ω), whose precision is A = κ I + Zᵀ diag(w) Z. With v = zᵀ A⁻¹ z and g = zᵀ A⁻¹ Zᵀ (w (ȳ - μ)) the prior of a
set, which its own rows have no part in, has the mean and is worth

    m = μ + (g - w v (ȳ - μ)) / (1 - w v)        c = 1 / (v / (1 - w v) + 1 / ω) rows

That is exact for normals. So a row's own target, which is in its own set alone, is left out of every member. κ, ω and
whether effects add up or are averaged are the likeliest of a linear mixed model of all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from catbayes.core.categories import Categories, canonical_list
from catbayes.core.combinations import Index
from catbayes.core.statistics import Moments, Statistics
from catbayes.core.validation import Array, Codes
from catbayes.errors import InputError
from catbayes.families.arithmetic import no_signal
from catbayes.kinds.kind import Kind, Read
from catbayes.kinds.links import (
    LOWEST,
    Links,
    Priors,
    SlotPriors,
    append_unseen,
    centre_of,
    means_of,
    minimise,
    shifted_priors,
)

MOST_MEMBERS = 500
"""Members with an effect of their own; rarer ones count as members of which nothing is known."""

STARTS = 5
"""The search starts at the best point of a grid of this many κ and ω."""


@dataclass(frozen=True, slots=True)
class Members(Links):
    """Links of sets to their members: strengths are κ, ω, and 1 for the mean of effects, 0 for their sum."""

    @classmethod
    def fit(
        cls, index: Index, statistics: Statistics, priors: Priors, free: bool, others: Sequence[Statistics] = ()
    ) -> Self:
        """Find the likeliest κ and ω, for sums and for means; of a prior that is given, both are its strength."""
        base, proper = priors
        low, highest = np.log(LOWEST), np.log(no_signal(statistics.count.sum()))
        designs = [_Design.of(index, averaged) for averaged in (0.0, 1.0)]
        if not free or not statistics.count[: index.missing].any():
            return cls(proper, (float(proper.strength), float(proper.strength), 1.0))

        sets = statistics.take(np.arange(index.missing))

        def cost(x: Any, design: _Design) -> float:
            return cls(base, (*np.exp(x), design.averaged))._cost(design, sets)

        grid = np.linspace(low, highest, STARTS)
        found = []
        for design in designs:
            value, best = minimise(partial(cost, design=design), product(grid, grid), (low, highest), most=80, step=1.0)
            found.append((value, (*np.exp(best).tolist(), design.averaged)))
        value, strengths = min(found)
        silent = (highest, highest)
        if cost(silent, designs[1]) - value < 1e-2:
            strengths = (*np.exp(silent).tolist(), 1.0)
        return cls(base, strengths)

    def _cost(self, design: _Design, sets: Any) -> float:
        """Minus the log-likelihood of all rows in the linear mixed model of these variances, a row's profiled out.

        With C = Z Zᵀ / κ + diag(1 / w) as what the means of sets vary by, log |C| = log |A| - M log κ - Σ log w.
        """
        member, alone, _ = self.strengths
        count = sets.count
        weight = count * alone / (count + alone)
        seen = weight > 0
        precision = member * np.eye(design.n_members) + design.gram(weight)
        gap = np.where(seen[:, None], means_of(sets) - centre_of(self.root), 0.0)
        pull = design.summed(weight[:, None] * gap)
        factor = np.linalg.cholesky(precision)
        squares = (weight[:, None] * gap**2).sum() - (np.linalg.solve(factor, pull) ** 2).sum()
        volume = 2.0 * np.log(np.diagonal(factor)).sum() - design.n_members * np.log(member)
        volume -= np.log(weight[seen] / count[seen]).sum()
        total, parts = count.sum(), max(gap.shape[1] - 1, 1)
        return float(0.5 * parts * (total * np.log((squares + _within(sets)) / total) + volume))

    def _own_priors(self, design: _Design, sets: Any) -> tuple[Any, Array]:
        """The prior of every set by the others, and the variance of its mean."""
        member, alone, _ = self.strengths
        count = sets.count
        weight = count * alone / (count + alone)
        inverse: Any = np.linalg.inv(member * np.eye(design.n_members) + design.gram(weight))
        gap = np.where(count[:, None] > 0, means_of(sets) - centre_of(self.root), 0.0)
        effect = inverse @ design.summed(weight[:, None] * gap)
        # Members of which nothing is known vary by themselves.
        inner = design.quadratic(inverse)
        rest = np.maximum(1.0 - weight * inner, 1e-12)
        mean = (design.spread(effect) - (weight * inner)[:, None] * gap) / rest[:, None]
        worth = 1.0 / (inner / rest + design.strange / member + 1.0 / alone)
        prior = shifted_priors(
            self.root.worth(LOWEST * worth.min(initial=1.0)), worth, worth[:, None] * mean, type(sets)
        )
        by_chance = np.maximum(inner / rest - member * design.quadratic(np.asarray(inverse @ inverse)) / rest**2, 0.0)
        return prior.varying_as(self.root), by_chance * worth / np.maximum(worth - prior.curvature, LOWEST)

    def slot_priors(self, index: Index, statistics: Any) -> SlotPriors:
        """Add up, or average, the effects of the members of each set."""
        design = _Design.of(index, self.strengths[2])
        own, variance = self._own_priors(design, statistics.take(np.arange(index.missing)))
        member, alone, _ = self.strengths
        return append_unseen(own, variance, self.root, 1.0 / (design.usual() / member + 1.0 / alone))


@dataclass(frozen=True, slots=True)
class _Design:
    """Z, a row for each set and a column for each member, by its entries; no pair of sets is looked at."""

    averaged: float
    n_sets: int
    n_members: int
    sets: Codes
    members: Codes
    entries: Array
    pairs: tuple[
        Codes, Codes, Codes, Array
    ]  # of members of one set: the set, the two, and the product of their entries
    strange: Array  # squares of the entries of members of which nothing is known

    @classmethod
    def of(cls, index: Index, averaged: float) -> _Design:
        source: Any = index.sources[0]
        rows, places, size = source.members()
        n_sets, n_members = len(size), len(source.vocabulary) + 1  # the last one is in every set
        entry = 1.0 / np.maximum(size, 1.0) ** averaged
        sets = np.append(rows, np.arange(n_sets))
        order = np.argsort(sets, kind="stable")
        members = np.append(places, np.full(n_sets, n_members - 1))[order]
        entries, sets = np.append(entry[rows], np.ones(n_sets))[order], sets[order]
        times = np.bincount(sets, minlength=n_sets)[sets]
        one = np.repeat(np.arange(len(sets)), times)
        start = np.repeat(np.searchsorted(sets, sets), times)
        other = start + np.arange(len(one)) - np.repeat(np.cumsum(times) - times, times)
        pairs = (sets[one], members[one], members[other], entries[one] * entries[other])
        strange = (size - np.bincount(rows, minlength=n_sets)) * entry**2
        return cls(averaged, n_sets, n_members, sets, members, entries, pairs, strange)

    def gram(self, weight: Array) -> Array:
        """Zᵀ diag(w) Z."""
        sets, one, other, entries = self.pairs
        flat = np.bincount(one * self.n_members + other, weight[sets] * entries, minlength=self.n_members**2)
        return np.asarray(flat.reshape(self.n_members, self.n_members), dtype=np.float64)

    def quadratic(self, matrix: Array) -> Array:
        """Each zᵀ B z."""
        sets, one, other, entries = self.pairs
        return np.asarray(np.bincount(sets, entries * matrix[one, other], minlength=self.n_sets), dtype=np.float64)

    def summed(self, values: Array) -> Array:
        """Zᵀ x, (member, …)."""
        found = np.zeros((self.n_members, values.shape[1]))
        np.add.at(found, self.members, self.entries[:, None] * values[self.sets])
        return found

    def spread(self, effects: Array) -> Array:
        """Z u, (set, …)."""
        found = np.zeros((self.n_sets, effects.shape[1]))
        np.add.at(found, self.sets, self.entries[:, None] * effects[self.members])
        return found

    def usual(self) -> float:
        """Σ z² of a set, on average."""
        squares = np.bincount(self.sets, self.entries**2, minlength=self.n_sets) + self.strange
        return float(squares.mean()) if self.n_sets else 1.0


def _within(sets: Any) -> float:
    """Squares of targets about the means of their sets, of all classes together."""
    if isinstance(sets, Moments):
        return float(sets.m2.sum())
    seen = sets.take(np.flatnonzero(sets.count > 0))
    return float((seen.weight * (1.0 - seen.mean)).sum())


@dataclass(frozen=True)
class Tags(Kind):
    """Sets of things, such as tags, carts, genres, diagnoses: lists, or text with a separator.

    A set is a category that is shrunk towards its members: each of these adds its effect, learnt from all sets that
    have it, or a set takes the mean of them, whichever makes the sets more likely. So a set that was never seen is
    known from its members, and one that was seen often by itself. Neither order nor repeats count. A set without
    members is a category like any other.

    Parameters
    ----------
    separator : str, default="|"
        What stands between the members of a text, blanks aside; lists are written with it.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.kinds import Tags
    >>> X = pd.DataFrame({"genres": ["crime|drama", "drama", "comedy | romance", "comedy", "crime", "romance"] * 20})
    >>> y = [8.0, 7.5, 5.5, 6.0, 7.5, 6.5] * 20
    >>> encoder = SamplingBayesianEncoder(kinds={"genres": Tags()}, random_state=0).fit(X, y)
    >>> encoder.transform(pd.DataFrame({"genres": ["romance|comedy", "crime|romance", "western", ""]})).round(1)[:, 0]
    array([5.5, 6.9, 6.9, 6.9])
    """

    separator: str = "|"

    links: ClassVar[type[Links]] = Members
    in_memory: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Require something that stands between members."""
        if not isinstance(self.separator, str) or not self.separator.strip():
            raise InputError(f"Tags: separator={self.separator!r}: expected text that is not blank, such as '|'.")

    def read(self, column: Any, name: Any, target: Any, weight: Any) -> tuple[Categories, Codes]:
        """Sets of the same members are one category."""
        categories, codes = Categories.of(_cells(column, self.separator))
        return Sets(categories.values, separator=self.separator), codes

    def index(self, seen: Index, name: Any, peers: Sequence[Index] = ()) -> Index:
        """The sets, linked by their members."""
        sets = seen.sources[0].values
        often = Counter(member for text in sets for member in split(text, self.separator))
        known = sorted(sorted(often), key=lambda member: -often[member])[:MOST_MEMBERS]
        return self._index(Sets(sets, vocabulary=tuple(known), separator=self.separator))

    def extended(self, index: Index, column: Any) -> Index:
        """Add the unseen sets of a column; they are linked to their members."""
        sets = index.sources[0]
        assert isinstance(sets, Sets)
        more = sets.with_unseen(column)
        return index if more is sets else self._index(more)

    def _index(self, sets: Sets) -> Index:
        return replace(Index.of_column(sets), kind=self)


@dataclass(frozen=True, slots=True)
class Sets(Read):
    """Sets as categories, written with a separator; the members that are known have an effect."""

    vocabulary: tuple[str, ...] = ()
    separator: str = "|"

    def with_unseen(self, column: Any) -> Sets:
        """Add the sets of a column that were not seen."""
        found = dict.fromkeys(_cells(column, self.separator))
        new = sorted(text for text in found if text is not None and text not in self._slot)
        return self.of_values((*self.values, *new)) if new else self

    def cells(self, column: Any) -> list[Any]:
        """Sets as text."""
        return _cells(column, self.separator)

    def to_dict(self) -> dict[str, Any]:
        """All but the sets themselves, for a file."""
        return {"type": "Sets", "separator": self.separator}

    @classmethod
    def from_dict(cls, record: Any, values: Sequence[Any]) -> Sets:
        """Read what `to_dict` made."""
        return cls(tuple(values), separator=Tags(record["separator"]).separator)

    def of_values(self, values: tuple[Any, ...]) -> Sets:
        """Other sets, written with the same separator."""
        return Sets(values, vocabulary=self.vocabulary, separator=self.separator)

    def members(self) -> tuple[Codes, Codes, Codes]:
        """The known members: their sets, and their numbers in the vocabulary; and how many members each set has."""
        number = {member: place for place, member in enumerate(self.vocabulary)}
        parts = [split(text, self.separator) for text in self.values]
        pairs = [(row, number[part]) for row, some in enumerate(parts) for part in some if part in number]
        rows, places = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return rows, places, np.array([len(some) for some in parts], dtype=np.intp)


def split(text: Any, separator: str) -> list[str]:
    """Members of a set, each once and in their order."""
    return sorted({part.strip() for part in str(text).split(separator)} - {""})


def _cells(column: Any, separator: str) -> list[Any]:
    """Every cell as text, its members in their order; None where it is missing."""
    cells = column.to_list() if hasattr(column, "to_list") else column
    cells = cells.to_pylist() if hasattr(cells, "to_pylist") else list(cells)
    known: dict[str, str] = {}
    return [_text(cell, separator, known) for cell in cells]


def _text(cell: Any, separator: str, known: dict[str, str]) -> str | None:
    if isinstance(cell, str):
        if cell not in known:
            known[cell] = separator.join(split(cell, separator))
        return known[cell]
    if isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        parts = {str(part).strip() for part in canonical_list(list(cell)) if part is not None}
        if any(separator in part for part in parts):
            raise InputError(
                f"Tags: a member of {sorted(parts)[:3]} holds the separator, {separator!r}. Choose another one."
            )
        return separator.join(sorted(parts - {""}))
    return None if canonical_list([cell])[0] is None else str(cell)
