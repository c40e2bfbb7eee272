"""Leaving a row's own target out of its training features.

Four strategies find the posterior that each training row is drawn from: "include" (the paper's), "exclude" (without the
row, analytically), "cross_fit" (of the other folds) and "ordered" (of the rows before).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import BaseCrossValidator, GroupKFold, KFold, check_cv

from catbayes.core.categories import Categories
from catbayes.core.column import FittedColumn
from catbayes.core.combinations import Index
from catbayes.core.random import Purpose, stream
from catbayes.core.rows import Rows
from catbayes.core.slots import RowSlots, Slots
from catbayes.core.statistics import Statistics
from catbayes.core.table import Table, find_column
from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes, check_count, is_number
from catbayes.errors import InputError, warn

__all__ = ["Ordered", "OwnTarget", "Strategy"]

Strategy = Literal["exclude", "cross_fit", "ordered", "include"]
Fold = tuple[Codes, Codes]
"""Rows to train on, and rows held out."""

HIDING_TEMPERATURE = 0.3
"""Below this, draws are too narrow to hide that a row's own target was taken out analytically: on Adult and Amazon
Employee Access, LightGBM and a forest lost nothing at 0.3, little at 0.15 and up to 0.05 of AUC at 0.05; the value has
a margin, because tables differ."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """Of its category a row knows the rows before it only, as in CatBoost.

    Parameters
    ----------
    column : name or position of a column, or None
        The column with the time of each row; it is not among the outputs, and rows of one time do not know each
        other. None is a new random order for each draw.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import Ordered, SamplingBayesianEncoder
    >>> X = pd.DataFrame({"city": ["Oslo", "Rome"] * 4, "day": range(8)})
    >>> SamplingBayesianEncoder(own_target=Ordered("day"), random_state=0).fit_transform(X, [0, 1, 1, 1] * 2).shape
    (8, 1)
    """

    column: Any = None


@dataclass(frozen=True, slots=True)
class OwnTarget:
    """The strategy, the folds where it needs some, and the column of the time, for "ordered"."""

    strategy: Strategy
    cv: int | BaseCrossValidator = 5
    column: Any = None

    @property
    def by_row(self) -> bool:
        """Whether a row that comes alone, as in a stream, may have its own target taken out by itself.

        It has no order, and a splitter may keep rows together that a row by itself does not know of.
        """
        return self.strategy == "include" or (self.strategy != "ordered" and is_number(self.cv))


# ------------------------------------------------------------------------------------------ strategies


def hides(temperature: float | None, excess: float) -> bool:
    """Tell whether draws hide a target that was taken out analytically.

    Only if they are spread at least HIDING_TEMPERATURE times as wide as n rows of weight 1 would have it. Rows of
    weight w shift the posterior w times as far and spread it √w as wide; counts that vary more than Poisson's shift it
    further than it is spread. `excess` is the product of the two.
    """
    return bool((1.0 if temperature is None else temperature) >= HIDING_TEMPERATURE * np.sqrt(excess))


@dataclass(frozen=True, slots=True)
class Split:
    """What a strategy needs of all rows, found once."""

    strategy: Strategy
    folds: list[Fold] = field(default_factory=list)
    rank: Codes | None = None  # of the rows in time; without one, every draw has a random order
    seed: int = 0

    def strategy_for(self, column: FittedColumn) -> Strategy:
        """Find the strategy of a column.

        Where the model sees the ids of many categories, it would read that a row was taken out, and folds hide it from
        few rows no better: there "exclude" becomes "ordered".
        """
        unhidden = self.strategy == "exclude" and column.shows_rare and column.links is None
        return "ordered" if unhidden else self.strategy

    def changes(self, column: FittedColumn) -> bool:
        """Tell whether every draw of the column has posteriors of its own."""
        return self.strategy_for(column) == "ordered" and self.rank is None


@dataclass(frozen=True, slots=True)
class ColumnRows:
    """The rows of one column: their slots, target and weight, and their slots in columns that share the categories."""

    slots: Codes
    target: Target
    weight: Array | None
    roles: tuple[Codes, ...] = ()

    def gather(self, slots: Codes, index: Index, train: Codes) -> Statistics:
        """Compute the statistics of some of the rows."""
        return self.target.tally(slots, self.weight, index.n_slots, train, index.unseen)


def split_rows(own_target: OwnTarget, rows: Rows, groups: Any, *, seed: int, hidden: bool, known: bool) -> Split:
    """Make folds or an order of all rows, where they are needed.

    `hidden`: draws hide a target that is taken out analytically. "exclude" uses folds where they do not, for rows that
    come in groups, and for outputs that are `known`, not drawn.
    """
    if own_target.strategy in ("include", "ordered"):
        if groups is not None:
            warn(f'own_target="{own_target.strategy}" makes no folds, so groups do nothing.')
        rank = None if own_target.column is None else read_order(rows.table, own_target.column)
        return Split(own_target.strategy, rank=rank, seed=seed)
    hidden = hidden and groups is None and own_target.strategy == "exclude"
    folds = read_folds(own_target, rows, groups, seed) if known or not hidden else []
    return Split("exclude" if hidden else "cross_fit", folds, seed=seed)


def training_slots(column: FittedColumn, rows: ColumnRows, split: Split, k: int) -> RowSlots:
    """Find the posterior that draw k of each row comes from."""
    strategy = split.strategy_for(column)
    if strategy == "exclude":
        return column.leave_one_out(rows.slots, rows.target, rows.weight)
    if strategy == "cross_fit":
        return cross_fit(column, rows, split.folds)
    if strategy == "ordered":
        rank = split.rank
        if rank is None:
            rank = stream(split.seed, Purpose.ORDER, k).permutation(len(rows.slots))
        return rows_before(column, rows, rank)
    return RowSlots(column.posterior, rows.slots)


def known_slots(column: FittedColumn, rows: ColumnRows, split: Split, drawn: RowSlots) -> RowSlots:
    """Find the posterior of each row for outputs that are not drawn, from that which its draws come from."""
    return cross_fit(column, rows, split.folds, as_sure=True) if split.strategy_for(column) == "exclude" else drawn


def cross_fit(column: FittedColumn, rows: ColumnRows, folds: list[Fold], as_sure: bool = False) -> RowSlots:
    """Update the prior by the training rows of each fold; the slots of the folds come one after the other.

    The prior is that of the whole table: one made per fold would tell the folds, and so the targets, apart. A row that
    no fold holds out is encoded as if its category were unseen. If `as_sure`, the rows of the other folds count for as
    many as the category has: the precision of the posterior is then the same in training as in prediction.
    """
    index, slots = column.index, rows.slots
    place = np.full(len(slots), index.unseen, dtype=np.intp)
    parts = []
    for number, (train, test) in enumerate(folds):
        statistics = rows.gather(slots, index, train)
        if as_sure:
            every, some = column.statistics.count, statistics.count
            statistics = statistics.scaled(np.divide(every, some, out=np.ones_like(some), where=some > 0))
        other = column.updated(statistics, [rows.gather(role, index, train) for role in rows.roles])
        parts.append(Slots(other.family, other.count, column.posterior.prior_variance))
        place[test] = number * index.n_slots + slots[test]
    return RowSlots(Slots.join(parts), place)


def rows_before(column: FittedColumn, rows: ColumnRows, rank: Codes) -> RowSlots:
    """Update the prior, for each row, by the rows of its category that come before it."""
    index = column.index
    before = rows.target.tally_before(rows.slots, rank, rows.weight, index.n_slots, index.unseen)
    return RowSlots.each(column.updated(before))


# ------------------------------------------------------------------------------------ folds and orders


def read_order(table: Table, column: Any) -> Codes:
    """Rank rows by the column of the time; rows of one time share a rank."""
    categories, codes = Categories.of(table.column(find_column(table.names, column, "Ordered")))
    missing = codes == categories.missing
    if missing.any():
        raise InputError(
            f"Column {column!r}, which orders the rows, is missing in {missing.sum()} rows. Drop those rows."
        )
    return codes


def check_folds(name: str, cv: Any) -> None:
    """Require a number of folds, two or more, or a splitter."""
    if is_number(cv):
        check_count(name, cv, 2)
    elif isinstance(cv, str | bool):
        raise InputError(f"{name}={cv!r}: expected a number of folds or a splitter.")


def read_folds(own_target: OwnTarget, rows: Rows, groups: Any, seed: int) -> list[Fold]:
    """Split rows into folds, of which each row is held out by one at most; with "include", all rows see all."""
    target = rows.target
    if own_target.strategy == "include":
        every = np.arange(len(target.values))
        return [(every, every)]
    return make_folds("cv", own_target.cv, target.values, rows.y, groups, seed, classes=target.classes is not None)


def make_folds(name: str, cv: Any, values: Any, y: Any, groups: Any, seed: int, *, classes: bool) -> list[Fold]:
    """Split rows into folds, by a parameter of this name; `values` are those of y as numbers."""
    n_rows = len(values)
    if is_number(cv):
        shuffle = stream(seed, Purpose.FOLDS).integers(np.iinfo(np.int32).max)
        if groups is None:
            splitter = KFold(min(int(cv), n_rows), shuffle=True, random_state=int(shuffle))
        else:
            n_groups = len(np.unique(groups))
            if n_groups < 2:
                raise InputError("groups holds one group only: folds need two or more.")
            splitter = GroupKFold(min(int(cv), n_groups), shuffle=True, random_state=int(shuffle))
    else:
        splitter = check_cv(cv, values, classifier=classes)
    splits = list(splitter.split(np.empty((n_rows, 1)), y, groups))
    if not splits:
        raise InputError(f"{name}={cv!r} makes no folds. Use another splitter, or a number.")
    if any(np.intersect1d(train, test).size for train, test in splits):
        raise InputError(f"{name}={cv!r} trains on rows that it holds out: expected folds without overlap.")
    held_out = np.concatenate([test for _, test in splits])
    if len(np.unique(held_out)) < len(held_out):
        raise InputError(f"{name}={cv!r} holds some rows out more than once: expected a splitter without repeats.")
    return splits
