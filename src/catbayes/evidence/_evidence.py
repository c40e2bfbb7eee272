"""What tables say about a target, as a value that can be added, subtracted and discounted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catbayes._validation import Array, Codes
from catbayes.categories import Categories
from catbayes.errors import InputError
from catbayes.evidence._target import Target, choose_family, label_array, read_family
from catbayes.families import BetaBernoulli, DirichletCategorical, Family
from catbayes.statistics import Moments, Statistics, Tally
from catbayes.tables import Table

__all__ = ["ColumnEvidence", "Evidence", "check_classes", "gather_codes", "gather_table", "settle_family"]


@dataclass(frozen=True, slots=True)
class ColumnEvidence:
    """One column: where it stands in the table, its categories, and what each of them says about the target."""

    position: int
    name: Any
    categories: Categories
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a table says about its target: all that an encoder needs of it, and mergeable.

    `+` joins what disjoint sets of rows say, `-` takes rows out again, and `discounted` lets all of it fade. The
    statistics of the parts give those of the whole, in any order.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import gather
    >>> monday = gather(pd.DataFrame({"city": ["Oslo", "Rome"], "paid": [1, 0]}), target="paid")
    >>> tuesday = gather(pd.DataFrame({"city": ["Rome", "Bonn"], "paid": [1, 1]}), target="paid")
    >>> week = monday + tuesday
    >>> week.columns[0].categories.values, week.columns[0].statistics.count.tolist()
    (('Bonn', 'Oslo', 'Rome'), [1.0, 1.0, 2.0, 0.0, 0.0])
    """

    columns: tuple[ColumnEvidence, ...]
    family: type[Family]
    classes: np.ndarray[Any, Any] | None
    inputs: tuple[Any, ...]  # names of all columns of the table but the target, encoded or not
    squares: float  # Σ w² over the rows: with Σ w, how unequal the weights are
    weighted: bool

    @property
    def total(self) -> Statistics:
        """What all rows together say, as one category."""
        return self.columns[0].statistics.total()

    @property
    def heaviness(self) -> float:
        """Σ w² / Σ w: the weight of a row, in the eyes of a row."""
        return float(self.squares / self.total.count[0])

    def __add__(self, other: Evidence) -> Evidence:
        """Join what two disjoint sets of rows say."""
        return self._with(other, lambda mine, theirs, _: mine + theirs, 1.0)

    def __sub__(self, other: Evidence) -> Evidence:
        """Take rows out again; a category of which nothing is left is forgotten altogether."""

        def subtract(mine: Any, theirs: Any, where: str) -> Any:
            strange = ~mine.holds(theirs)
            if strange.any():
                raise InputError(
                    f"{where}: what is to be taken out holds {theirs.count[strange][0]:g} rows of a category that has "
                    f"{mine.count[strange][0]:g}, or other targets than those. Take out only what was put in."
                )
            return mine - theirs

        left = self._with(other, subtract, -1.0)
        return replace(left, columns=tuple(map(_only_seen, left.columns)))._only_seen_classes()

    def discounted(self, share: float) -> Evidence:
        """Let every row count for `share` of a row."""
        columns = tuple(replace(column, statistics=column.statistics.scaled(share)) for column in self.columns)
        return replace(self, columns=columns, squares=self.squares * share**2, weighted=True)

    def _only_seen_classes(self) -> Evidence:
        """Drop the classes that no row has."""
        total = self.total
        if self.classes is None or not isinstance(total, Tally):
            return self
        seen = np.flatnonzero(total.weight[0] > 0)
        if len(seen) < 2 or len(seen) == len(self.classes):
            return self

        def keep(column: ColumnEvidence) -> ColumnEvidence:
            assert isinstance(column.statistics, Tally)
            return replace(column, statistics=Tally(column.statistics.weight[:, seen]))

        return replace(self, columns=tuple(map(keep, self.columns)), classes=self.classes[seen])

    def _with(self, other: Evidence, join: Callable[[Any, Any, str], Statistics], sign: float) -> Evidence:
        theirs = {column.name: column for column in other.columns}
        if {column.name for column in self.columns} != theirs.keys():
            raise InputError(
                f"The encoded columns differ: {[column.name for column in self.columns]} and {list(theirs)}. "
                "Only what was gathered from the same columns can be joined."
            )
        if (self.classes is None) != (other.classes is None) or (self.classes is None and self.family != other.family):
            raise InputError(
                f"One target needs a {self.family.__name__} and the other a {other.family.__name__}. "
                "Set family= on both to the same one."
            )
        family, classes = self.family, self.classes
        widen: list[Any] = [None, None]
        if self.classes is not None and other.classes is not None:
            joint, *widen_by = Categories(tuple(self.classes.tolist())).union(Categories(tuple(other.classes.tolist())))
            widen = [(moved[:-2], len(joint.values)) for moved in widen_by]
            classes = label_array(joint.values, np.result_type(_kind(self.classes), _kind(other.classes)))
            if family is BetaBernoulli and len(joint.values) > 2:
                family = DirichletCategorical
        columns = []
        for first in self.columns:
            second = theirs[first.name]
            categories, to_first, to_second = first.categories.union(second.categories)
            left = _move(first.statistics, to_first, categories.n_slots, widen[0])
            right = _move(second.statistics, to_second, categories.n_slots, widen[1])
            columns.append(
                replace(first, categories=categories, statistics=join(left, right, f"Column {first.name!r}"))
            )
        return replace(
            self,
            columns=tuple(columns),
            family=family,
            classes=classes,
            squares=max(self.squares + sign * other.squares, 0.0),
            weighted=self.weighted or other.weighted,
        )


def _kind(classes: np.ndarray[Any, Any]) -> Any:
    """A type that numpy can join with that of other labels; words and numbers together are objects."""
    return classes.dtype if classes.dtype.kind in "biuf" else np.dtype(object)


def _move(statistics: Statistics, slots: Codes, n_slots: int, widen: tuple[Codes, int] | None) -> Statistics:
    if widen is not None:
        assert isinstance(statistics, Tally)
        statistics = statistics.widen(*widen)
    return statistics.place(slots, n_slots)


def _only_seen(column: ColumnEvidence) -> ColumnEvidence:
    """Drop the categories that no row speaks for."""
    seen = np.flatnonzero(column.statistics.count[:-2] > 0)
    if len(seen) == len(column.categories.values):
        return column
    values = column.categories.values
    kept = Categories(tuple(values[slot] for slot in seen))
    slots = np.append(seen, [column.categories.missing, column.categories.unseen])
    return replace(column, categories=kept, statistics=column.statistics.take(slots))


def gather_table(
    table: Table,
    positions: list[int],
    target: Target,
    weight: Array | None,
    run: Callable[..., Any] = map,
) -> tuple[Evidence, list[Codes]]:
    """Describe the target by the categories of some columns of a table in memory; also the slots of its rows."""

    def read(position: int) -> tuple[ColumnEvidence, Codes]:
        categories, codes = Categories.of(table.column(position))
        statistics = gather_codes(codes, target, weight, categories.n_slots)
        return ColumnEvidence(position, table.names[position], categories, statistics), codes

    read_columns = list(run(read, positions))
    evidence = Evidence(
        columns=tuple(column for column, _ in read_columns),
        family=target.family,
        classes=target.classes,
        inputs=tuple(table.names),
        squares=float(table.n_rows if weight is None else (weight**2).sum()),
        weighted=weight is not None,
    )
    return evidence, [codes for _, codes in read_columns]


def gather_codes(codes: Codes, target: Target, weight: Array | None, n_slots: int, rows: Any = None) -> Statistics:
    """Count (or describe) the target by category code, over all rows or some; the unseen slot learns nothing."""
    values = target.values
    if rows is not None:
        codes, values = codes[rows], values[rows]
        weight = None if weight is None else weight[rows]
    statistics: Statistics
    if target.classes is not None:
        statistics = Tally.from_codes(codes, values, weight, n_slots=n_slots, n_classes=len(target.classes))
    else:
        statistics = Moments.from_codes(codes, values, weight, n_slots=n_slots)
    return statistics.without(n_slots - 1)


def settle_family(family: Any, evidence: Evidence) -> type[Family]:
    """The family that the parameter `family` and the evidence ask for, if there is something to encode towards."""
    total, wanted = evidence.total, read_family(family)
    fits = wanted is None or wanted is evidence.family or (wanted.classes and evidence.family.classes)
    if not fits:
        raise InputError(f"family={family!r}, and this was gathered for {evidence.family.__name__}: use one for both.")
    if evidence.classes is not None:
        if len(evidence.classes) < 2:
            raise _one_class(evidence, 0)
        return choose_family(wanted, len(evidence.classes))
    assert isinstance(total, Moments)
    rounding = 4.0 * np.finfo(np.float64).eps * abs(total.mean[0])
    if total.m2[0] <= total.count[0] * rounding**2:
        raise InputError(
            f"y is constant, {total.mean[0]:g}, over n_samples={total.count[0]:g}: there is nothing to encode towards."
        )
    return evidence.family


def check_classes(evidence: Evidence) -> None:
    """Require two classes that have rows: those that were only named may still come in `partial_fit`."""
    total = evidence.total
    if isinstance(total, Tally):
        used = np.flatnonzero(total.weight[0] > 0)
        if len(used) < 2:
            raise _one_class(evidence, int(used[0]))


def _one_class(evidence: Evidence, only: int) -> InputError:
    assert evidence.classes is not None
    return InputError(
        f"y holds only one class, {evidence.classes[only]}, over n_samples={evidence.total.count[0]:g}: expected two "
        "or more. There is nothing to encode towards. If others will follow, name all: partial_fit(…, classes=…)."
    )
