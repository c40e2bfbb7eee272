"""Slots: which entry of a column's statistics and posteriors a row belongs to.

An encoded column is made of one column of the table, of several whose values are taken together, or of a column within
its ancestors. One index serves all three. Slots 0 … V-1 are its categories in their order, slot V is *missing* and
V+1 *unseen*; then come the nodes of a hierarchy, level by level, the parents first.

Codes of several columns are combined by arithmetic, (a · n_b + b) · n_c + c, and never turned into text. Memory goes
with the combinations that occur, not with the product of the columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from catbayes.core.categories import Categories
from catbayes.core.validation import Codes
from catbayes.errors import InputError

__all__ = ["Index", "Level"]

DENSE = 4
"""Keys are looked up in a table of all possible keys, if these are at most this multiple of the rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The nodes of one level of a hierarchy, and the parent of each entry of the level below."""

    above: Codes  # of each entry below: the number of its node here, or -1
    names: tuple[str, ...]
    cells: Codes  # (node, part): slots of the first columns; no rows, where the nodes are no columns of the table


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """The categories of an encoded column, and the slots of its rows.

    A missing part of a combination is a category of its column like any other; an unseen part makes an unseen
    combination. In a hierarchy a row of an unseen child has the slot of its nearest ancestor that was seen.
    """

    sources: tuple[Categories, ...]
    cells: Codes  # (category, source): slots of the sources
    levels: tuple[Level, ...] = ()
    kind: Any = None  # the `Kind` that links the categories; None if they are not linked

    @classmethod
    def of(cls, sources: Sequence[Categories], codes: Sequence[Codes], rows: Any = None) -> tuple[Index, Codes]:
        """Find the combinations that occur, or that some rows have, from slots in each column; and each row's slot."""
        if len(sources) == 1:
            return cls.of_column(sources[0]), codes[0]
        if rows is None:
            return cls._combine(sources, codes)
        index, _ = cls._combine(sources, [part[rows] for part in codes])
        return index, index.slots(codes)

    @classmethod
    def _combine(cls, sources: Sequence[Categories], codes: Sequence[Codes]) -> tuple[Index, Codes]:
        """Number what occurs together; no part of a row is unseen."""
        distinct, slots = _number(_keys(sources, codes), _size(sources))
        return cls(tuple(sources), _cells(distinct, sources)), slots

    @classmethod
    def of_column(cls, categories: Categories) -> Index:
        """The categories of one column."""
        return cls((categories,), np.arange(categories.missing)[:, None])

    # ------------------------------------------------------------------------------------- hierarchies

    def nested(self) -> Index:
        """The last column within the ones before it, the farthest ancestor first."""
        levels: list[Level] = []
        below = self
        for _ in range(len(self.sources) - 1):
            node, above = Index._combine(below.sources[:-1], list(below.cells[:, :-1].T))
            levels.append(Level(above, tuple(map(_label, node.values)), node.cells))
            below = node
        return replace(self, levels=tuple(levels))

    def below(self, parents: Mapping[Any, tuple[Any, ...]]) -> Index:
        """One column below the ancestors that a table gives for each category, the parent first.

        Children without rows are categories as well.
        """
        leaves, _, _ = self.sources[0].union(Categories.of(list(parents))[0])
        paths: list[Any] = [parents.get(value) for value in leaves.values]
        levels: list[Level] = []
        for _ in next(iter(parents.values())):
            number = {path: place for place, path in enumerate(dict.fromkeys(path for path in paths if path))}
            above = np.array([number.get(path, -1) if path else -1 for path in paths], dtype=np.intp)
            names = tuple(_label(tuple(reversed(path))) for path in number)
            levels.append(Level(above, names, np.empty((0, 1), dtype=np.intp)))
            paths = [path[1:] for path in number]
        return replace(Index.of_column(leaves), levels=tuple(levels))

    def starts(self) -> list[int]:
        """The first slot of the nodes of each level, and the end of the last."""
        return list(accumulate((len(level.names) for level in self.levels), initial=self.unseen + 1))

    def up(self) -> Codes:
        """The slot above each slot; above the topmost is unseen."""
        found = np.full(self.n_slots, self.unseen, dtype=np.intp)
        starts = self.starts()
        for place, start, level in zip([0, *starts], starts, self.levels, strict=False):
            found[place : place + len(level.above)] = np.where(level.above < 0, self.unseen, start + level.above)
        return found

    def tables(self) -> list[tuple[Codes, Codes]]:
        """Where slots are looked up: slots of the first columns, (key, column), with the slot of each key.

        The first table that holds a row's key gives its slot: its category, else its parent, and so on.
        """
        nodes = zip(self.starts(), self.levels, strict=False)
        above = [(level.cells, start + np.arange(len(level.cells))) for start, level in nodes if len(level.cells)]
        return [(self.cells, np.arange(self.missing)), *above]

    # ------------------------------------------------------------------------------------------- slots

    @property
    def missing(self) -> int:
        """Slot of missing values; of several columns no row ever has it."""
        return len(self.cells)

    @property
    def unseen(self) -> int:
        """Slot of unseen combinations."""
        return len(self.cells) + 1

    @property
    def listed(self) -> bool:
        """Whether every value is one of its column's categories, or unseen; not so where numbers are cut into bins."""
        return all(source.listed for source in self.sources)

    @property
    def fixed(self) -> bool:
        """Whether categories stay when they have no rows any more."""
        return any(source.fixed for source in self.sources)

    @property
    def n_slots(self) -> int:
        """Number of slots: categories, missing, unseen, and the nodes of every level."""
        return len(self.cells) + 2 + sum(len(level.names) for level in self.levels)

    @property
    def values(self) -> tuple[tuple[Hashable, ...], ...]:
        """The categories as tuples of values, None for a missing part."""
        return tuple(self.tuples([(*source.values, None) for source in self.sources]))

    def tuples(self, names: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
        """The names of each category's parts, from those of the slots of each source; missing is the last of them."""
        columns = zip(names, self.cells.T, strict=False)
        return zip(*(map(of.__getitem__, slots.tolist()) for of, slots in columns), strict=True)

    def labels(self) -> list[Any]:
        """What each slot is called, with & between the parts; None for missing and unseen."""
        own = self.sources[0].values if len(self.sources) == 1 else map(_label, self.values)
        return [*own, None, None, *(name for level in self.levels for name in level.names)]

    def incomplete(self) -> npt.NDArray[np.bool_]:
        """Tell which slots have a missing part."""
        found = np.zeros(self.n_slots, dtype=bool)
        found[self.missing] = len(self.sources) == 1
        for cells, slots in self.tables():
            lacking = [source.missing for source in self.sources[: cells.shape[1]]]
            found[slots] = (cells == lacking).any(axis=1)
        return found

    def slots(self, parts: Sequence[Codes]) -> Codes:
        """Slot of each row, from the slots that it has in each column: its own, or that of its nearest ancestor."""
        if len(self.sources) == 1:
            return parts[0]
        codes = _look_up(self.sources, self.cells, parts)
        for (cells, slots), number in zip(self.tables()[1:], range(len(parts) - 1, 0, -1), strict=False):
            node = _look_up(self.sources[:number], cells, parts[:number])
            codes = np.where((codes == self.unseen) & (node < len(cells)), slots[0] + node, codes)
        return codes

    def moved(self, seen: Index) -> Codes:
        """Where the slots of what was seen are in this index of it."""
        if len(self.sources) == 1:
            return self.sources[0].moved(seen.sources[0])
        return np.arange(seen.n_slots)

    # ------------------------------------------------------------------------------- union and selection

    def union(self, other: Index) -> tuple[Index, Codes, Codes]:
        """Join two sets of categories; returns where each slot of `self` and of `other` went."""
        joined = [mine.union(theirs) for mine, theirs in zip(self.sources, other.sources, strict=True)]
        if len(joined) == 1:
            categories, mine, theirs = joined[0]
            return Index.of_column(categories), mine, theirs
        sources = tuple(source for source, _, _ in joined)
        first = [moved[slots] for (_, moved, _), slots in zip(joined, self.cells.T, strict=True)]
        second = [moved[slots] for (_, _, moved), slots in zip(joined, other.cells.T, strict=True)]
        joint, places = Index.of(sources, [np.concatenate(pair) for pair in zip(first, second, strict=True)])
        ends = [joint.missing, joint.unseen]
        return joint, np.append(places[: len(self.cells)], ends), np.append(places[len(self.cells) :], ends)

    def keep(self, slots: Codes) -> Index:
        """Some of the categories; values of the sources that none of them has are dropped."""
        if len(self.sources) == 1:
            return Index.of_column(self.sources[0].keep(slots))
        sources, parts = [], []
        for source, part in zip(self.sources, self.cells[slots].T, strict=True):
            used = np.unique(part[part < source.missing])
            sources.append(source.keep(used))
            parts.append(np.where(part == source.missing, len(used), np.searchsorted(used, part)))
        return Index(tuple(sources), np.stack(parts, axis=1))


def _label(value: tuple[Any, ...]) -> str:
    """What a combination is called."""
    return "&".join("(missing)" if part is None else str(part) for part in value)


def _size(sources: Sequence[Categories]) -> int:
    """How many combinations there could be."""
    size = 1
    for source in sources:
        size *= source.n_slots - 1
    if size > np.iinfo(np.int64).max:
        counts = " · ".join(str(len(source.values)) for source in sources)
        raise InputError(f"An interaction of {counts} categories is too large to number. Combine fewer columns.")
    return size


def _keys(sources: Sequence[Categories], codes: Sequence[Codes]) -> Codes:
    """A number for each row, of which the parts are the digits."""
    keys = np.zeros(len(codes[0]), dtype=np.int64)
    for source, part in zip(sources, codes, strict=True):
        keys = keys * (source.n_slots - 1) + part
    return keys


def _cells(keys: Codes, sources: Sequence[Categories]) -> Codes:
    """The digits of each number."""
    cells = np.empty((len(keys), len(sources)), dtype=np.intp)
    for number in reversed(range(len(sources))):
        keys, cells[:, number] = np.divmod(keys, sources[number].n_slots - 1)
    return cells


def _number(keys: Codes, size: int) -> tuple[Codes, Codes]:
    """Distinct keys in their order, and the number of each row's among them."""
    if size > DENSE * len(keys):
        return np.unique(keys, return_inverse=True)
    present = np.flatnonzero(np.bincount(keys, minlength=size))
    number = np.empty(size, dtype=np.intp)
    number[present] = np.arange(len(present))
    return present, number[keys]


def _look_up(sources: Sequence[Categories], cells: Codes, parts: Sequence[Codes]) -> Codes:
    """Number of each row's combination among the cells; the number of an unseen one is their count plus 1."""
    size, unseen = _size(sources), len(cells) + 1
    keys, mine = _keys(sources, parts), _keys(sources, list(cells.T))
    known = np.ones(len(keys), dtype=bool)
    for source, part in zip(sources, parts, strict=True):
        known &= part != source.unseen
    if size <= DENSE * (len(keys) + len(mine)):
        table = np.full(size, unseen, dtype=np.int32)
        table[mine] = np.arange(len(mine))
        return np.where(known, table[np.where(known, keys, 0)], np.int32(unseen))
    if not len(mine):
        return np.full(len(keys), unseen, dtype=np.intp)
    place = np.minimum(np.searchsorted(mine, keys), len(mine) - 1)
    return np.where(known & (mine[place] == keys), place, unseen).astype(np.int32)
