"""Combinations of columns: the tuples of categories that occur together, as slots like those of one column.

Codes of the columns are combined by arithmetic, (a · n_b + b) · n_c + c, and never turned into text. Memory goes with
the combinations that occur, not with the product of the columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes._validation import Codes
from catbayes.categories import Categories
from catbayes.errors import InputError

__all__ = ["Combinations", "label"]

DENSE = 4
"""Keys are looked up in a table of all keys, if there are at most so many times as many of them as rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """The combinations of several columns that occur, in the order of their categories.

    A part that is missing is a category of its column like any other; a part that is unseen makes an unseen
    combination. Slot V is missing, as for one column, though no row ever has it, and slot V+1 is unseen.

    Examples
    --------
    >>> user, users = Categories.of(["eve", "bob", "bob", "eve"])
    >>> door, doors = Categories.of([1, 2, None, 1])
    >>> pairs, codes = Combinations.of((user, door), (users, doors))
    >>> pairs.values, codes.tolist()
    ((('bob', 2), ('bob', None), ('eve', 1)), [2, 0, 1, 2])
    >>> pairs.codes((user.codes(["bob", "bob", "joe"]), door.codes([2, 1, 2]))).tolist()  # the last two never occurred
    [0, 4, 4]
    """

    parents: tuple[Categories, ...]
    cells: Codes  # (combination, part): slots of the parents

    @classmethod
    def of(cls, parents: Sequence[Categories], codes: Sequence[Codes]) -> tuple[Combinations, Codes]:
        """Find the combinations of some rows, from the slots that they have in each column; and the slot of each row.

        A row with an unseen part is unseen.
        """
        keys, known = _keys(parents, codes)
        distinct, slots = _number(keys if known.all() else keys[known], _size(parents))
        found = cls(tuple(parents), _cells(distinct, parents))
        if known.all():
            return found, slots
        placed = np.full(len(keys), found.unseen, dtype=np.intp)
        placed[known] = slots
        return found, placed

    @property
    def missing(self) -> int:
        """The slot that one column has for missing values; here it stays empty."""
        return len(self.cells)

    @property
    def unseen(self) -> int:
        """Slot of combinations that did not occur."""
        return len(self.cells) + 1

    @property
    def n_slots(self) -> int:
        """Number of slots, missing and unseen included."""
        return len(self.cells) + 2

    @property
    def lacking(self) -> Codes:
        """Slots of the combinations with a missing part."""
        return np.flatnonzero((self.cells == [parent.missing for parent in self.parents]).any(axis=1))

    @property
    def values(self) -> tuple[tuple[Hashable, ...], ...]:
        """The combinations as tuples of values, None for a missing part."""
        return tuple(self.tuples([(*parent.values, None) for parent in self.parents]))

    def labels(self) -> list[Any]:
        """What each slot is called, with & between the parts; None for missing and unseen."""
        return [*(label(value) for value in self.values), None, None]

    def tuples(self, names: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
        """What the slots of the parents are called, combination by combination; missing is the last of each."""
        columns = zip(names, self.cells.T, strict=True)
        return zip(*(map(of.__getitem__, slots.tolist()) for of, slots in columns), strict=True)

    def codes(self, parts: Sequence[Codes]) -> Codes:
        """Slot of each row, from the slots that it has in each column."""
        keys, known = _keys(self.parents, parts)
        mine, _ = _keys(self.parents, list(self.cells.T))
        size = _size(self.parents)
        if size <= DENSE * (len(keys) + len(mine)):
            table = np.full(size, self.unseen, dtype=np.int32)
            table[mine] = np.arange(len(mine))
            return np.where(known, table[np.where(known, keys, 0)], np.int32(self.unseen))
        if not len(mine):
            return np.full(len(keys), self.unseen, dtype=np.intp)
        place = np.minimum(np.searchsorted(mine, keys), len(mine) - 1)
        return np.where(known & (mine[place] == keys), place, self.unseen).astype(np.int32)

    def union(self, other: Combinations) -> tuple[Combinations, Codes, Codes]:
        """Join two sets of combinations; returns where each slot of `self` and of `other` went."""
        joined = [mine.union(theirs) for mine, theirs in zip(self.parents, other.parents, strict=True)]
        parents = tuple(parent for parent, _, _ in joined)
        first = [moved[slots] for (_, moved, _), slots in zip(joined, self.cells.T, strict=True)]
        second = [moved[slots] for (_, _, moved), slots in zip(joined, other.cells.T, strict=True)]
        joint, places = Combinations.of(parents, [np.concatenate(pair) for pair in zip(first, second, strict=True)])
        ends = [joint.missing, joint.unseen]
        return joint, np.append(places[: len(self.cells)], ends), np.append(places[len(self.cells) :], ends)

    def keep(self, slots: Codes) -> Combinations:
        """Some of the combinations; a category that none of them has is forgotten."""
        cells = self.cells[slots]
        parents, moved = zip(
            *(parent.keep_used(part) for parent, part in zip(self.parents, cells.T, strict=True)), strict=True
        )
        return Combinations(parents, np.stack(moved, axis=1))


def label(value: tuple[Any, ...]) -> str:
    """What a combination is called.

    Examples
    --------
    >>> label(("eve", None))
    'eve&(missing)'
    """
    return "&".join("(missing)" if part is None else str(part) for part in value)


def _size(parents: Sequence[Categories]) -> int:
    """How many combinations there could be."""
    size = 1
    for parent in parents:
        size *= parent.n_slots - 1
    if size > np.iinfo(np.int64).max:
        counts = " · ".join(str(len(parent.values)) for parent in parents)
        raise InputError(f"An interaction of {counts} categories is too large to number. Combine fewer columns.")
    return size


def _keys(parents: Sequence[Categories], codes: Sequence[Codes]) -> tuple[Codes, Any]:
    """A number for each row, of which the parts are the digits; and whether all parts of it are known."""
    _size(parents)
    keys, known = np.zeros(len(codes[0]), dtype=np.int64), np.ones(len(codes[0]), dtype=bool)
    for parent, part in zip(parents, codes, strict=True):
        keys = keys * (parent.n_slots - 1) + part
        known &= part != parent.unseen
    return keys, known


def _cells(keys: Codes, parents: Sequence[Categories]) -> Codes:
    """The digits of each number."""
    cells = np.empty((len(keys), len(parents)), dtype=np.intp)
    for number in reversed(range(len(parents))):
        keys, cells[:, number] = np.divmod(keys, parents[number].n_slots - 1)
    return cells


def _number(keys: Codes, size: int) -> tuple[Codes, Codes]:
    """Distinct keys in their order, and the number of each row's among them."""
    if size > DENSE * len(keys):
        return np.unique(keys, return_inverse=True)
    present = np.flatnonzero(np.bincount(keys, minlength=size))
    number = np.empty(size, dtype=np.intp)
    number[present] = np.arange(len(present))
    return present, number[keys]
