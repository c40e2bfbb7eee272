"""Statistics of a target by category, as a value that can be added, subtracted and discounted."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catbayes.core.combinations import Index
from catbayes.core.selection import ColumnSpec
from catbayes.core.statistics import Moments, Statistics, Tally
from catbayes.core.target import join_classes, label_array
from catbayes.core.validation import Codes
from catbayes.effects.settings import EffectTable
from catbayes.errors import InputError
from catbayes.families import Family, family_of_classes

__all__ = ["Candidate", "ColumnEvidence", "Evidence", "check_classes", "settle_family", "why_uninformative"]


TRACE = 1e-12
"""Share of all rows below which a category is dropped."""


@dataclass(frozen=True, slots=True, repr=False)
class ColumnEvidence(ColumnSpec):
    """One column, or an interaction of several: its categories, and the statistics of the target in each."""

    index: Index
    statistics: Statistics
    effects: EffectTable | None = None  # given everything else: estimated from all rows together

    @property
    def values(self) -> tuple[Hashable, ...]:
        """The categories; tuples, if they are those of several columns."""
        sources = self.index.sources
        return tuple(sources[0].values) if len(sources) == 1 else self.index.values

    def without(self, gone: npt.NDArray[np.bool_]) -> ColumnEvidence:
        """Drop the categories of some slots, of which nothing is left."""
        used = np.flatnonzero(~gone[: self.index.missing])
        if len(used) == self.index.missing or self.index.fixed:
            return self
        slots = np.append(used, [self.index.missing, self.index.unseen])
        return replace(self, index=self.index.keep(used), statistics=self.statistics.take(slots), effects=None)


class Candidate(NamedTuple):
    """An interaction that was weighed: its columns, its gain in log-likelihood, and the verdict."""

    columns: tuple[Any, ...]
    gain: float
    kept: bool

    @classmethod
    def ranked(cls, gains: Mapping[tuple[Any, ...], float], n_kept: int) -> tuple[Candidate, ...]:
        """Sort by gain, the best first; the first `n_kept` were kept."""
        found = sorted(gains, key=lambda columns: -gains[columns])
        return tuple(cls(columns, gains[columns], number < n_kept) for number, columns in enumerate(found))


@dataclass(frozen=True, slots=True, repr=False)
class Evidence:
    """Statistics of a target by category: all that an encoder needs of a table, and mergeable.

    `+` joins disjoint sets of rows, `-` takes rows out again, and `discounted` reduces the weight of all rows. The
    statistics of the parts give those of the whole, in any order.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import gather
    >>> monday = gather(pd.DataFrame({"city": ["Oslo", "Rome"], "paid": [1, 0]}), target="paid")
    >>> tuesday = gather(pd.DataFrame({"city": ["Rome", "Bonn"], "paid": [1, 1]}), target="paid")
    >>> week = monday + tuesday
    >>> week.columns[0].values, week.columns[0].statistics.count.tolist()
    (('Bonn', 'Oslo', 'Rome'), [1.0, 1.0, 2.0, 0.0, 0.0])
    """

    columns: tuple[ColumnEvidence, ...]
    family: type[Family]
    classes: np.ndarray[Any, Any] | None
    inputs: tuple[Any, ...]  # names of all columns of the table but the target, encoded or not
    squares: float  # Σ w² over the rows: with Σ w, how unequal the weights are
    weighted: bool
    exposure: float = 1.0  # of a row on average, in units: Σ w e / Σ w
    candidates: tuple[Candidate, ...] = ()  # interactions that were weighed, where they were chosen by their gain
    informative: tuple[Any, ...] | None = None  # columns that inform about the target, where that was measured
    target: str | None = None  # its name, if it has one
    total: Statistics = field(init=False)  # of all rows, as one category

    def __post_init__(self) -> None:
        """Add up the rows, once."""
        object.__setattr__(self, "total", self.columns[0].statistics.total())

    def __repr__(self) -> str:
        columns = [column.name for column in self.columns]
        return f"Evidence(columns={columns}, rows={self.total.count[0]:g}, family={self.family.__name__})"

    @property
    def is_text(self) -> dict[Any, bool]:
        """Whether the categories of a column are text, by its name; columns that mix text and others are left out."""
        found = {}
        for column in self.columns:
            for part, source in zip(column.parts, column.index.sources, strict=True):
                if source.is_text or str not in set(map(type, source.values)):
                    found[self.inputs[part]] = source.is_text
        return found

    def made_of(self, column: ColumnEvidence) -> Any:
        """The name of a column, or those of the columns that it is made of."""
        names = tuple(self.inputs[part] for part in column.parts)
        return names if len(names) > 1 else names[0]

    @property
    def row_weight(self) -> float:
        """Mean weight of the rows, weighted by weight: Σ w² / Σ w."""
        return float(self.squares / self.total.count[0])

    @property
    def row_units(self) -> float:
        """The exposure of a row, for a family that makes its priors in units of it; 1 for the others."""
        return self.exposure if self.family.exposure == "units" else 1.0

    def __add__(self, other: Evidence) -> Evidence:
        """Join two disjoint sets of rows."""
        pairs, about = self.aligned(other, 1.0)
        return replace(self, columns=tuple(pair.joined(pair.mine + pair.theirs) for pair in pairs), **about)

    def __sub__(self, other: Evidence) -> Evidence:
        """Take rows out again; a category or class of which nothing is left is forgotten altogether."""
        pairs, about = self.aligned(other, -1.0)
        left = replace(self, columns=tuple(pair.difference(self.family) for pair in pairs), **about)
        if not left.total.count[0] > 0:
            raise InputError("Nothing would be left: every row is to be taken out. Fit a new encoder instead.")
        if left.classes is None:
            return left
        total: Any = left.total
        used = np.flatnonzero((total.weight[0] > 0) | ~(pairs[0].mine.total().weight[0] > 0))
        if len(used) < 2 or len(used) == len(left.classes):
            return left

        def keep(column: ColumnEvidence) -> ColumnEvidence:
            statistics: Any = column.statistics
            return replace(column, statistics=Tally(statistics.weight[:, used]))

        return replace(left, columns=tuple(map(keep, left.columns)), classes=left.classes[used])

    def discounted(self, share: float) -> Evidence:
        """Let every row count for `share` of a row."""
        columns = tuple(
            replace(column, statistics=column.statistics.scaled(share), effects=None) for column in self.columns
        )
        return replace(self, columns=columns, squares=self.squares * share**2, weighted=True)

    def without_traces(self) -> Evidence:
        """Drop categories of which so little is left, after much forgetting, that no sum over the table shows it."""

        def settle(column: ColumnEvidence) -> ColumnEvidence:
            count = column.statistics.count
            gone = (count > 0) & (count < TRACE * self.total.count[0])
            if not gone.any():
                return column
            return replace(column, statistics=column.statistics.without(np.flatnonzero(gone))).without(gone)

        return replace(self, columns=tuple(map(settle, self.columns)))

    def aligned(self, other: Evidence, sign: float) -> tuple[list[AlignedColumn], dict[str, Any]]:
        """Bring two tables to the same categories and classes.

        Also returns what else there is to know of the rows, once those of the other are put in (1) or taken out (-1).
        """
        theirs = {column.name: column for column in other.columns}
        mine, others = ({column.name: table.made_of(column) for column in table.columns} for table in (self, other))
        if mine != others:
            raise InputError(
                f"The encoded columns differ: {list(mine.values())} and {list(others.values())}. "
                "Only what was gathered from the same columns can be joined."
            )
        one_kind = (self.classes is None) == (other.classes is None)
        if not one_kind or (self.classes is None and self.family != other.family):
            raise InputError(
                f"One target needs a {self.family.__name__} and the other a {other.family.__name__}. "
                "Set family= on both to the same one."
            )
        family, classes = self.family, self.classes
        places: list[Codes] = []
        if self.classes is not None and other.classes is not None:
            classes, *places = join_classes(self.classes.tolist(), other.classes.tolist())
            if self.classes.dtype == other.classes.dtype:
                classes = label_array(classes.tolist(), self.classes.dtype)
            if family.binary and len(classes) > 2:
                family = family_of_classes(len(classes))

        def align(first: ColumnEvidence) -> AlignedColumn:
            second = theirs[first.name]
            index, to_first, to_second = first.index.union(second.index)
            own: Any = first.statistics
            its: Any = second.statistics
            if classes is not None:
                own, its = own.widen(places[0], len(classes)), its.widen(places[1], len(classes))
            return AlignedColumn(first, index, own.place(to_first, index.n_slots), its.place(to_second, index.n_slots))

        before, more = float(self.total.count[0]), sign * float(other.total.count[0])
        count, rows = before + more, before / self.exposure + more / other.exposure
        return list(map(align, self.columns)), {
            "family": family,
            "classes": classes,
            "squares": max(self.squares + sign * other.squares, 0.0),
            "weighted": self.weighted or other.weighted,
            "exposure": count / rows if count > 0 and rows > 0 else self.exposure,
        }


@dataclass(frozen=True, slots=True)
class AlignedColumn:
    """One column of two tables: their statistics by the slots and classes of both."""

    column: ColumnEvidence
    index: Index
    mine: Any
    theirs: Any

    def joined(self, statistics: Statistics) -> ColumnEvidence:
        """The column with the categories of both tables."""
        return replace(self.column, index=self.index, statistics=statistics, effects=None)

    def difference(self, family: type[Family]) -> ColumnEvidence:
        """The first table without the second, if that can have been part of it, and without emptied categories."""
        left = self.mine - self.theirs
        strange = ~self.mine.holds(self.theirs)
        if family.support is not None and not family.log_target:  # no rows can have such a mean
            strange |= (left.mean < -1e-9) | (left.mean > family.support.most * (1.0 + 1e-9))
        if strange.any():
            raise InputError(
                f"Column {self.column.name!r}: what is to be taken out holds {self.theirs.count[strange][0]:g} rows of "
                f"a category that has {self.mine.count[strange][0]:g}, or other targets than those. Take out only what "
                "was put in."
            )
        return self.joined(left).without((left.count <= 0) & ((self.mine.count > 0) | (self.theirs.count > 0)))


def settle_family(wanted: type[Family] | None, evidence: Evidence) -> type[Family]:
    """The family that is wanted, or that the evidence asks for, if there is something to encode towards."""
    if wanted is not None and wanted is not evidence.family and not (wanted.classes and evidence.family.classes):
        raise InputError(
            f"family={wanted.__name__}, and this was gathered for {evidence.family.__name__}: use one for both."
        )
    lack = why_uninformative(evidence)
    if lack is not None:
        raise lack
    return evidence.family if evidence.classes is None else family_of_classes(len(evidence.classes), wanted)


def why_uninformative(evidence: Evidence) -> InputError | None:
    """Why there is nothing to encode towards, if so: a part of a table may be like that, but not the whole."""
    total = evidence.total
    if not total.count[0] > 0:
        return InputError("sample_weight is zero for every row: nothing is left to learn from.")
    if evidence.classes is not None:
        return _one_class(evidence, 0) if len(evidence.classes) < 2 else None
    assert isinstance(total, Moments)
    rounding = 4.0 * np.finfo(np.float64).eps * abs(total.mean[0])
    if total.m2[0] > total.count[0] * rounding**2:
        return None
    what = "log y" if evidence.family.log_target else "y"
    return InputError(
        f"{what} is constant, {total.mean[0]:g}, over n_samples={total.count[0]:g}: there is nothing to encode towards."
    )


def check_classes(evidence: Evidence) -> None:
    """Require two classes that have rows: those that were only named may still come in `partial_fit`."""
    total = evidence.total
    if isinstance(total, Tally):
        used = np.flatnonzero(total.weight[0] > 0)
        if len(used) < 2:
            raise _one_class(evidence, int(used[0]) if len(used) else 0)


def _one_class(evidence: Evidence, only: int) -> InputError:
    assert evidence.classes is not None
    return InputError(
        f"y holds only one class, {evidence.classes[only]}, over n_samples={evidence.total.count[0]:g}: expected two "
        "or more. There is nothing to encode towards. If others will follow, give each part to partial_fit."
    )
