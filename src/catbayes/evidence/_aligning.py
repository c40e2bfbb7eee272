"""Two tables brought to the same categories and classes, to be added or subtracted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from catbayes._index import Index
from catbayes._validation import Codes
from catbayes.errors import InputError
from catbayes.evidence._target import join_classes, label_array
from catbayes.families import Family, family_of_classes
from catbayes.statistics import Statistics

if TYPE_CHECKING:
    from catbayes.evidence._evidence import ColumnEvidence, Evidence


@dataclass(frozen=True, slots=True)
class AlignedColumn:
    """One column of two tables: their statistics by the slots of both tables' categories."""

    column: ColumnEvidence
    index: Index
    mine: Any
    theirs: Any

    def joined(self, statistics: Statistics) -> ColumnEvidence:
        return replace(self.column, index=self.index, statistics=statistics)

    def subtract(self, family: type[Family]) -> Statistics:
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


@dataclass(frozen=True, slots=True)
class Aligned:
    columns: list[AlignedColumn]
    family: type[Family]
    classes: np.ndarray[Any, Any] | None
    mine_had: Any  # whether each class had rows in the first table


def align(one: Evidence, other: Evidence) -> Aligned:
    """Bring two tables to the same categories and classes."""
    theirs = {column.name: column for column in other.columns}
    if {column.name for column in one.columns} != theirs.keys():
        raise InputError(
            f"The encoded columns differ: {[column.name for column in one.columns]} and {list(theirs)}. "
            "Only what was gathered from the same columns can be joined."
        )
    if (one.classes is None) != (other.classes is None) or (one.classes is None and one.family != other.family):
        raise InputError(
            f"One target needs a {one.family.__name__} and the other a {other.family.__name__}. "
            "Set family= on both to the same one."
        )
    family, classes, had = one.family, one.classes, None
    places: tuple[Codes | None, Codes | None] = (None, None)
    if one.classes is not None and other.classes is not None:
        classes, *found = join_classes(one.classes.tolist(), other.classes.tolist())
        places = (found[0], found[1])
        if one.classes.dtype == other.classes.dtype:
            classes = label_array(classes.tolist(), one.classes.dtype)
        if family.binary and len(classes) > 2:
            family = family_of_classes(len(classes))
        had = _move(one.total, np.zeros(1, dtype=np.intp), 1, places[0], len(classes)).weight[0] > 0
    columns, width = [], 0 if classes is None else len(classes)
    for first in one.columns:
        second = theirs[first.name]
        index, to_first, to_second = first.index.union(second.index)
        mine = _move(first.statistics, to_first, index.n_slots, places[0], width)
        other_side = _move(second.statistics, to_second, index.n_slots, places[1], width)
        columns.append(AlignedColumn(first, index, mine, other_side))
    return Aligned(columns, family, classes, had)


def _move(statistics: Any, slots: Codes, n_slots: int, classes: Codes | None, n_classes: int) -> Any:
    """Move statistics to the slots and classes of a joint table."""
    if classes is not None:
        statistics = statistics.widen(classes, n_classes)
    return statistics.place(slots, n_slots)
