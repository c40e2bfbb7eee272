"""One fitted column: its posteriors, its mapping, and what follows from the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes._random import Purpose
from catbayes._validation import Array, Codes
from catbayes.categories import Categories
from catbayes.combinations import Combinations
from catbayes.evidence import Target, gather_codes
from catbayes.families import Family, no_signal
from catbayes.hierarchy import Tree
from catbayes.mappings import Mapping
from catbayes.posteriors import ColumnPosterior
from catbayes.sampling import Entries, Spread, draw, draw_strata

EXPECTATION_DRAWS = 100
EXPECTATION_STRATA = 50


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """A fitted column or interaction: its place, its posteriors, its mapping, and E f(θ) of every slot, (slot, output).

    `parts` are the columns of the table that it is made of.
    """

    position: int
    name: Any
    parts: tuple[int, ...]
    posterior: ColumnPosterior
    mapping: Mapping
    spread: Spread
    expectation: Array

    @property
    def is_interaction(self) -> bool:
        """Whether it is a combination of columns, and none of them."""
        return self.position not in self.parts

    @property
    def label(self) -> Any:
        """What outputs are called after: the name of the column, or those of an interaction with & between them."""
        return "&".join(map(str, self.name)) if self.is_interaction else self.name

    @property
    def sources(self) -> list[tuple[int, Categories]]:
        """The columns of the table that it is made of, each with its categories."""
        known: Any = self.posterior.categories
        leaves = known.leaves if isinstance(known, Tree) else known
        parents = leaves.parents if isinstance(leaves, Combinations) else (leaves,)
        return list(zip(self.parts, parents, strict=True))

    def slots(self, parts: Sequence[Codes]) -> Codes:
        """Slot of each row, from the slots that it has in each of the columns."""
        categories = self.posterior.categories
        return parts[0] if isinstance(categories, Categories) else categories.codes(parts)

    def levels(self) -> list[tuple[Codes, Codes]]:
        """Where slots are found: slots of the first columns, (key, column), with the slot of each key.

        The first level that holds a row's key gives its slot: its category, else its parent, and so on.
        """
        known = self.posterior.categories
        leaves = known.leaves if isinstance(known, Tree) else known
        cells = leaves.cells if isinstance(leaves, Combinations) else np.arange(leaves.missing)[:, None]
        found = [(cells, np.arange(leaves.missing))]
        if isinstance(known, Tree):
            pairs = zip(known.starts, known.nodes, strict=False)
            found += [(nodes.cells, start + np.arange(nodes.missing)) for start, nodes in pairs]
        return found

    @property
    def entries(self) -> Entries:
        """The posterior of every slot, and its rows."""
        return Entries(self.posterior.posterior, self.posterior.statistics.count, self.posterior.doubt)

    @property
    def is_silent(self) -> bool:
        """Whether the column has no signal, so that its prior is as strong as we please, and its spread as small."""
        return bool(self.posterior.prior.strength >= 0.99 * no_signal(self.posterior.statistics.count.sum()))

    def is_steady(self) -> Any:
        """Tell for every slot whether it is frequent enough to be encoded without drawing."""
        return self.spread.is_steady(self.posterior.statistics.count)

    def strata(self, n_draws: int, *, seed: int, spread: Spread | None = None, slots: Any = None) -> Array:
        """All outputs of stratified draws of every slot, or of some, to predict with, (draw, slot, output)."""
        entries = self.entries if slots is None else self.entries.take(slots)
        key = (Purpose.PREDICT, self.position, n_draws)
        drawn = draw_strata(entries, self.mapping.drawn, n_draws, seed=seed, key=key, spread=spread or self.spread)
        return self.mapping.joined(drawn, entries.family)


def expect(mapping: Mapping, entries: Entries, *, spread: Spread, seed: int, position: int) -> Array:
    """All outputs of every entry, the drawn ones by their expectation, (entry, output)."""
    factor, posterior = spread.factor(entries), entries.family
    if mapping.quadratic or np.isin(factor, (0.0, 1.0)).all():
        at_mean = mapping.drawn(posterior.mean())
        expected = at_mean + factor[:, None] ** 2 * (_in_full(mapping, posterior, seed, position) - at_mean)
    else:  # closed forms are those of the whole posterior
        arrays = [values.reshape(len(factor), -1) for values in (*posterior.arrays().values(), factor)]
        _, first, same = np.unique(np.hstack(arrays), axis=0, return_index=True, return_inverse=True)
        how: dict[str, Any] = {"seed": seed, "key": (Purpose.EXPECTATION, position), "spread": spread}
        expected = draw_strata(entries.take(first), mapping.drawn, EXPECTATION_STRATA, **how).mean(axis=0)[same]
    return mapping.joined(expected, posterior)


def _in_full(mapping: Mapping, posterior: Family, seed: int, position: int) -> Array:
    """E f(θ) over the whole posterior, (entry, output)."""
    expected = mapping.expected(posterior)
    if expected is not None:
        return expected
    keys = ((Purpose.EXPECTATION, position, number) for number in range(EXPECTATION_DRAWS))
    size = len(posterior.strength)
    entries = Entries(posterior, np.zeros(size))
    draws = (draw(entries.take, mapping.drawn, size, seed=seed, key=key, sampler="exact") for key in keys)
    return np.asarray(sum(draws) / EXPECTATION_DRAWS)


def cross_fit(
    column: ColumnPosterior,
    codes: Codes,
    target: Target,
    weight: Array | None,
    folds: list[tuple[Codes, Codes]],
    whole: Any = False,
) -> tuple[Entries, Codes]:
    """Posteriors of every fold from its training rows, one fold after the other, and each row's entry among them.

    The prior is that of the whole table: one made per fold would tell the folds, and so the targets, apart. A row that
    no fold holds out is encoded as if its category were unseen. Slots that are `whole` keep the posterior of all rows.
    """
    n_slots, unseen = column.categories.n_slots, column.categories.unseen
    entry = np.full(len(codes), unseen, dtype=np.intp)
    families, counts = [], []
    for number, (train, test) in enumerate(folds):
        statistics = gather_codes(codes, target, weight, n_slots, train, unseen)
        posterior = column.given(statistics)
        families.append(column.posterior.where(whole, posterior) if np.any(whole) else posterior)
        counts.append(np.where(whole, column.statistics.count, statistics.count))
        entry[test] = number * n_slots + codes[test]
    doubt = None if column.doubt is None else np.tile(column.doubt, len(folds))
    return Entries(families[0].join(families[1:]), np.concatenate(counts), doubt), entry
