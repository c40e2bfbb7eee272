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
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from catbayes.core.categories import Categories, canonical_list
from catbayes.core.combinations import Index
from catbayes.core.statistics import Moments, Statistics
from catbayes.core.validation import Array, Codes
from catbayes.errors import InputError
from catbayes.families.arithmetic import no_signal
from catbayes.kinds.kind import Kind, NormalisedCategories
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
        if not free or not statistics.count[: index.missing].any():
            return cls(proper, (float(proper.strength), float(proper.strength), 1.0))
        sets = statistics.take(np.arange(index.missing))
        low, high = np.log(LOWEST), np.log(no_signal(statistics.count.sum()))
        grid, found = np.linspace(low, high, STARTS), []
        for averaged in (0.0, 1.0):
            design = _Design.of(index, averaged)

            def cost(x: Any, design: _Design = design, averaged: float = averaged) -> float:
                return cls(base, (*np.exp(x), averaged))._cost(design, sets)

            value, best = minimise(cost, product(grid, grid), (low, high), silent=(high, high), step=1.0, maxiter=80)
            found.append((value, (*np.exp(best).tolist(), averaged)))
        return cls(base, min(found)[1])

    def _equations(self, design: _Design, sets: Any) -> tuple[Array, Array, Array, Array]:
        """A and Zᵀ w (ȳ - μ), the equations of the effects; w, and ȳ - μ of each set."""
        member, alone, _ = self.strengths
        weight = sets.count * alone / (sets.count + alone)
        gap = np.where(sets.count[:, None] > 0, means_of(sets) - centre_of(self.root), 0.0)
        precision = member * np.eye(design.effects.shape[1]) + design.gram(weight)
        return precision, design.effects.T @ (weight[:, None] * gap), weight, gap

    def _cost(self, design: _Design, sets: Any) -> float:
        """Minus the log-likelihood of all rows in the linear mixed model of these variances, a row's profiled out.

        With C = Z Zᵀ / κ + diag(1 / w) as what the means of sets vary by, log |C| = log |A| - M log κ - Σ log w.
        """
        precision, pull, weight, gap = self._equations(design, sets)
        count, seen = sets.count, weight > 0
        factor = np.linalg.cholesky(precision)
        squares = (weight[:, None] * gap**2).sum() - (np.linalg.solve(factor, pull) ** 2).sum()
        volume = 2.0 * np.log(np.diagonal(factor)).sum() - len(factor) * np.log(self.strengths[0])
        volume -= np.log(weight[seen] / count[seen]).sum()
        total, parts = count.sum(), max(gap.shape[1] - 1, 1)
        return float(0.5 * parts * (total * np.log((squares + _within(sets)) / total) + volume))

    def slot_priors(self, index: Index, statistics: Any) -> SlotPriors:
        """Add up, or average, the effects of the members of each set, as the other sets have them."""
        member, alone, averaged = self.strengths
        design, sets = _Design.of(index, averaged), statistics.take(np.arange(index.missing))
        precision, pull, weight, gap = self._equations(design, sets)
        inverse: Any = np.linalg.inv(precision)
        inner = design.quadratic(inverse)
        rest = np.maximum(1.0 - weight * inner, 1e-12)
        mean = (design.effects @ (inverse @ pull) - (weight * inner)[:, None] * gap) / rest[:, None]
        # Members of which nothing is known vary by themselves.
        worth = 1.0 / (inner / rest + design.unknown / member + 1.0 / alone)
        weak = self.root.worth(LOWEST * worth.min(initial=1.0))
        prior = shifted_priors(weak, worth, worth[:, None] * mean, type(sets)).varying_as(self.root)
        by_chance = np.maximum(inner / rest - member * design.quadratic(inverse @ inverse) / rest**2, 0.0)
        variance = by_chance * worth / np.maximum(worth - prior.curvature, LOWEST)
        return append_unseen(prior, variance, self.root, 1.0 / (design.usual() / member + 1.0 / alone))


@dataclass(frozen=True, slots=True)
class _Design:
    """Z, a row for each set and a column for each member; no pair of sets is looked at."""

    effects: Any  # Z
    pairs: Any  # (set, pair of members): products of the entries of Z, so that zᵀ B z is linear in B
    unknown: Array  # squares of the entries of members of which nothing is known

    @classmethod
    def of(cls, index: Index, averaged: float) -> _Design:
        source: Any = index.sources[0]
        rows, members, size = source.members()
        n_sets, n_members = len(size), len(source.vocabulary) + 1  # the last one is in every set
        entry = 1.0 / np.maximum(size, 1.0) ** averaged
        rows, members = np.append(rows, np.arange(n_sets)), np.append(members, np.full(n_sets, n_members - 1))
        values = np.append(entry[rows[:-n_sets]], np.ones(n_sets))
        effects = sparse.csr_array((values, (rows, members)), shape=(n_sets, n_members))
        ends = effects.indptr
        same_set = sparse.csr_array((np.ones(effects.nnz), np.arange(effects.nnz), ends), shape=(n_sets, effects.nnz))
        one, other = (same_set.T @ same_set).nonzero()
        products = effects.data[one] * effects.data[other]
        places = (
            np.repeat(np.arange(n_sets), np.diff(ends))[one],
            effects.indices[one] * n_members + effects.indices[other],
        )
        pairs = sparse.csr_array((products, places), shape=(n_sets, n_members**2))
        return cls(effects, pairs, (size + 1 - np.diff(ends)) * entry**2)

    def gram(self, weight: Array) -> Array:
        """Zᵀ diag(w) Z."""
        n_members = self.effects.shape[1]
        return np.asarray((weight @ self.pairs).reshape(n_members, n_members))

    def quadratic(self, matrix: Array) -> Array:
        """Each zᵀ B z."""
        return np.asarray(self.pairs @ matrix.reshape(-1))

    def usual(self) -> float:
        """Σ z² of a set, on average."""
        return float((self.effects.data**2).sum() + self.unknown.sum()) / max(len(self.unknown), 1)


def _within(sets: Any) -> float:
    """Squares of targets about the means of their sets, of all classes together."""
    if isinstance(sets, Moments):
        return float(sets.m2.sum())
    seen = sets.take(np.flatnonzero(sets.count > 0))
    return float((seen.weight * (1.0 - seen.mean)).sum())


@dataclass(frozen=True, slots=True)
class Sets(NormalisedCategories):
    """Sets as categories, written with a separator; the members that are known have an effect."""

    vocabulary: tuple[str, ...] = ()
    separator: str = "|"

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

    def members(self) -> tuple[Codes, Codes, Codes]:
        """The known members: their sets, and their numbers in the vocabulary; and how many members each set has."""
        number = {member: place for place, member in enumerate(self.vocabulary)}
        parts = [split(text, self.separator) for text in self.values]
        pairs = [(row, number[part]) for row, some in enumerate(parts) for part in some if part in number]
        rows, places = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return rows, places, np.array([len(some) for some in parts], dtype=np.intp)


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
    categories: ClassVar[type[Categories]] = Sets
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
        sets: Any = index.sources[0]
        new = sorted(sets.unseen_values(column, most=len(column)))
        return self._index(sets.of_values((*sets.values, *new))) if new else index

    def _index(self, sets: Sets) -> Index:
        return replace(Index.of_column(sets), kind=self)


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
