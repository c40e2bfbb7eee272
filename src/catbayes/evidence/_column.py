"""What one column says about the target, by itself or beside the same column of another table."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catbayes._index import Index
from catbayes._selection import ColumnSpec
from catbayes._validation import Codes
from catbayes.errors import InputError
from catbayes.families import Family
from catbayes.statistics import Statistics


@dataclass(frozen=True, slots=True)
class ColumnEvidence(ColumnSpec):
    """One column, or an interaction of several: its categories, and what each of them says about the target.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import gather
    >>> column = gather(pd.DataFrame({"city": ["Oslo", "Rome", "Rome"], "paid": [0, 1, 1]}), target="paid").columns[0]
    >>> column.name, column.values, column.statistics.count.tolist()  # and missing, and unseen
    ('city', ('Oslo', 'Rome'), [1.0, 2.0, 0.0, 0.0])
    """

    index: Index
    statistics: Statistics

    @property
    def values(self) -> tuple[Hashable, ...]:
        """The categories; tuples, if they are those of several columns."""
        sources = self.index.sources
        return sources[0].values if len(sources) == 1 else self.index.values


@dataclass(frozen=True, slots=True)
class AlignedColumn:
    """One column of two tables: their statistics by the slots of both tables' categories."""

    column: ColumnEvidence
    index: Index
    mine: Any
    theirs: Any

    @classmethod
    def of(
        cls, first: ColumnEvidence, second: ColumnEvidence, classes: tuple[Codes | None, Codes | None], n_classes: int
    ) -> AlignedColumn:
        """Bring a column of two tables to the same categories, and to the same classes if there are any."""
        index, to_first, to_second = first.index.union(second.index)
        mine = move(first.statistics, to_first, index.n_slots, classes[0], n_classes)
        return cls(first, index, mine, move(second.statistics, to_second, index.n_slots, classes[1], n_classes))

    def joined(self, statistics: Statistics) -> ColumnEvidence:
        """The column with the categories of both tables."""
        return replace(self.column, index=self.index, statistics=statistics)

    def subtract(self, family: type[Family]) -> Statistics:
        """What is left of the first table without the second, if that can have been part of it."""
        left: Statistics = self.mine - self.theirs
        strange = ~self.mine.holds(self.theirs) | family.impossible(left)
        if strange.any():
            raise InputError(
                f"Column {self.column.name!r}: what is to be taken out holds {self.theirs.count[strange][0]:g} rows of "
                f"a category that has {self.mine.count[strange][0]:g}, or other targets than those. Take out only what "
                "was put in."
            )
        return left

    def without(self, left: Statistics) -> ColumnEvidence:
        """Drop the categories that had rows and have none now."""
        gone = (left.count <= 0) & ((self.mine.count > 0) | (self.theirs.count > 0))
        kept = np.flatnonzero(~gone[:-2])
        if len(kept) == self.index.missing:
            return self.joined(left)
        slots = np.append(kept, [self.index.missing, self.index.unseen])
        return replace(self.column, index=self.index.keep(kept), statistics=left.take(slots))


def move(statistics: Any, slots: Codes, n_slots: int, classes: Codes | None, n_classes: int) -> Any:
    """Move statistics to the slots and classes of a joint table."""
    if classes is not None:
        statistics = statistics.widen(classes, n_classes)
    return statistics.place(slots, n_slots)
