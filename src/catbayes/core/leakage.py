"""Keeping a row's own target out of its training features: strategies.

Each gives two things for every row of a column: the distribution that its θ is drawn from, and that of which its known
outputs are functions. They are entries, and the place of each row among them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.model_selection import BaseCrossValidator, GroupKFold, KFold, check_cv

from catbayes.core.categories import Categories
from catbayes.core.column import EncodedColumn
from catbayes.core.combinations import Index
from catbayes.core.drawing import Draws
from catbayes.core.random import Purpose, stream
from catbayes.core.rows import Rows
from catbayes.core.slots import RowSlots, Slots
from catbayes.core.statistics import Statistics
from catbayes.core.table import Table, find_column
from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes, check_count, is_number
from catbayes.errors import InputError, warn

__all__ = ["CrossFit", "Exclude", "Include", "Ordered", "OwnTarget", "resolve_own_target"]

Strategy = Literal["exclude", "cross_fit", "ordered", "include"]
Fold = tuple[Codes, Codes]
"""Rows to train on, and rows held out."""


@dataclass(frozen=True, slots=True)
class Split:
    """What a strategy needs of all rows, found once: folds, or ranks in time."""

    folds: list[Fold] = field(default_factory=list)
    hidden: bool = False  # whether targets are taken out in closed form
    rank: Codes | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ColumnRows:
    """The rows of one column: the slot, target and weight of each, and its slots in other roles of the categories."""

    slots: Codes
    target: Target
    weight: Array | None
    roles: tuple[Codes, ...] = ()

    def gather(self, slots: Codes, index: Index, train: Codes) -> Statistics:
        """What some of the rows say of these slots."""
        return self.target.gather(slots, self.weight, index.n_slots, train, index.unseen)


class OwnTarget(ABC):
    """Whether a row's own y has a part in its training features, and how it is kept out."""

    __slots__ = ()
    word: ClassVar[str]  # shorthand

    @property
    def by_row(self) -> bool:
        """Whether a row that comes alone, as in a stream, may have its own target taken out by itself."""
        return True

    @property
    def aside(self) -> tuple[Any, ...]:
        """Columns of the table that serve the strategy alone, and are no features."""
        return ()

    def check(self, draws: Draws, linked: tuple[Any, ...]) -> None:
        """Require settings that go together; most do."""
        return

    def split(self, rows: Rows, groups: Any, *, seed: int, hides: bool, known: bool) -> Split:
        """Look at all rows once; draws hide a closed form or not, and some outputs are known, not drawn, or none."""
        if groups is not None:
            warn(f'own_target="{self.word}" makes no folds, so groups do nothing.')
        return Split(seed=seed)

    def folds(self, rows: Rows, groups: Any, seed: int) -> list[Fold]:
        """Folds for what only folds can keep a row's target out of; without any, every row knows all rows."""
        every = np.arange(len(rows.target.values))
        return [(every, every)]

    def renewed(self, column: EncodedColumn, split: Split) -> bool:
        """Whether every draw of the column has entries of its own, and not all of them the same."""
        return False

    @abstractmethod
    def find(self, column: EncodedColumn, rows: ColumnRows, split: Split, k: int) -> tuple[RowSlots, RowSlots]:
        """What draw k of each row comes from, and what its known outputs are functions of."""


@dataclass(frozen=True, slots=True)
class Include(OwnTarget):
    """As in the paper: a row's own target has its part. It leaks where categories are rare."""

    word: ClassVar[str] = "include"

    def find(self, column: EncodedColumn, rows: ColumnRows, split: Split, k: int) -> tuple[RowSlots, RowSlots]:
        """The posterior of the category."""
        found = RowSlots(column.posterior, rows.slots)
        return found, found


@dataclass(frozen=True, slots=True)
class CrossFit(OwnTarget):
    """By folds throughout: a row is encoded by the rows of the other folds."""

    cv: int | BaseCrossValidator = 5

    word: ClassVar[str] = "cross_fit"

    @property
    def by_row(self) -> bool:
        """Folds of a splitter may keep rows together that a row by itself does not know of."""
        return is_number(self.cv)

    def check(self, draws: Draws, linked: tuple[Any, ...]) -> None:
        """Require folds."""
        check_folds("cv", self.cv)

    def split(self, rows: Rows, groups: Any, *, seed: int, hides: bool, known: bool) -> Split:
        """Make the folds."""
        return Split(self.folds(rows, groups, seed))

    def folds(self, rows: Rows, groups: Any, seed: int) -> list[Fold]:
        """Folds of `cv`."""
        return read_folds(self.cv, rows.target, rows.y, groups, seed)

    def find(self, column: EncodedColumn, rows: ColumnRows, split: Split, k: int) -> tuple[RowSlots, RowSlots]:
        """The posterior of the other folds."""
        found = _cross_fit(column, rows, split.folds)
        return found, found


@dataclass(frozen=True, slots=True)
class Exclude(CrossFit):
    """A row's own target is taken out of its posterior in closed form where the draw hides the step, else by folds.

    It has no part but for its share in the prior that all rows have in common. Folds serve everything that is not drawn
    widely enough (a temperature below 0.3, heavy weights, counts far from Poisson's, the precision of
    "mean_precision"), and rows that come in groups. Where a model comes to know which one of many categories a row has
    (`max_categories=None`), it would read the step, and folds hide it from few rows no better: of such columns and
    their pairs a row knows the rows before it only, as in `Ordered`.
    """

    word: ClassVar[str] = "exclude"

    def split(self, rows: Rows, groups: Any, *, seed: int, hides: bool, known: bool) -> Split:
        """Make folds, where something needs them."""
        hidden = hides and groups is None
        folds = self.folds(rows, groups, seed) if known or not hidden else []
        return Split(folds, hidden, seed=seed)

    def renewed(self, column: EncodedColumn, split: Split) -> bool:
        """Where the order of the rows serves, there is one for each draw."""
        return split.hidden and column.names_rare and not column.posteriors.prior.by_slot

    def find(self, column: EncodedColumn, rows: ColumnRows, split: Split, k: int) -> tuple[RowSlots, RowSlots]:
        """The posterior without the row, of the other folds, or of the rows before."""
        if not split.hidden:
            return CrossFit.find(self, column, rows, split, k)
        if self.renewed(column, split):
            return Ordered().find(column, rows, split, k)
        known = RowSlots(column.posterior, rows.slots)
        if split.folds:
            known = _cross_fit(column, rows, split.folds, sure=True)
        return column.left_out(rows.slots, rows.target, rows.weight), known


@dataclass(frozen=True, slots=True)
class Ordered(OwnTarget):
    """Of its category a row knows the rows before it only, as in CatBoost.

    Parameters
    ----------
    column : name or position of a column, or None
        The column that tells the time of a row; it is not among the outputs, and rows of one time do not know each
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

    word: ClassVar[str] = "ordered"

    @property
    def by_row(self) -> bool:
        """A row by itself has no order."""
        return False

    @property
    def aside(self) -> tuple[Any, ...]:
        """The column of the time."""
        return () if self.column is None else (self.column,)

    def check(self, draws: Draws, linked: tuple[Any, ...]) -> None:
        """Refuse what has no order."""
        if linked:
            raise InputError(
                f'own_target="ordered" with kinds: a category of {linked[0]!r} leans on others, of '
                'which rows of all times are known. Use own_target="exclude" or "cross_fit".'
            )

    def split(self, rows: Rows, groups: Any, *, seed: int, hides: bool, known: bool) -> Split:
        """Rank the rows in time, if there is one."""
        if groups is not None:
            warn('own_target="ordered" makes no folds, so groups do nothing.')
        return Split(rank=None if self.column is None else read_order(rows.table, self.column), seed=seed)

    def renewed(self, column: EncodedColumn, split: Split) -> bool:
        """Without a time, every draw has an order of its own."""
        return split.rank is None

    def find(self, column: EncodedColumn, rows: ColumnRows, split: Split, k: int) -> tuple[RowSlots, RowSlots]:
        """The posterior of the rows before, in time or in an order of this draw."""
        rank = split.rank
        if rank is None:
            rank = stream(split.seed, Purpose.ORDER, k).permutation(len(rows.slots))
        index = column.posteriors.index
        before = rows.target.gather_before(rows.slots, rank, rows.weight, index.n_slots, index.unseen)
        found = RowSlots.each(column.posteriors.given(before))
        return found, found


STRATEGIES: dict[str, type[OwnTarget]] = {kind.word: kind for kind in (Exclude, CrossFit, Ordered, Include)}
"""By their words."""


def resolve_own_target(own_target: Any, cv: Any = 5) -> OwnTarget:
    """Read the parameters `own_target` and `cv` of an encoder."""
    if isinstance(own_target, Ordered):
        return own_target
    if not isinstance(own_target, str) or own_target not in STRATEGIES:
        expected = ", ".join(f'"{word}"' for word in STRATEGIES)
        raise InputError(f"own_target={own_target!r}: expected one of {expected}, or an object such as Ordered('day').")
    kind = STRATEGIES[own_target]
    return kind(cv) if issubclass(kind, CrossFit) else kind()


def splitter_of(own_target: Any, cv: Any) -> BaseCrossValidator | None:
    """What takes the groups of rows, where metadata are routed; folds by number keep groups together."""
    if not isinstance(resolve_own_target(own_target), CrossFit):
        return None
    return GroupKFold() if is_number(cv) else cv


def _cross_fit(column: EncodedColumn, rows: ColumnRows, folds: list[Fold], sure: bool = False) -> RowSlots:
    """Posteriors of every fold from its training rows, one fold after the other, and each row's place among them.

    The prior is that of the whole table: one made per fold would tell the folds, and so the targets, apart. A row that
    no fold holds out is encoded as if its category were unseen. If `sure`, what the other folds say counts for as many
    rows as the category has: how precisely it is known is then the same in training as in prediction.
    """
    index, slots = column.posteriors.index, rows.slots
    place = np.full(len(slots), index.unseen, dtype=np.intp)
    parts = []
    for number, (train, test) in enumerate(folds):
        statistics = rows.gather(slots, index, train)
        if sure:
            every, some = column.posteriors.statistics.count, statistics.count
            statistics = statistics.scaled(np.divide(every, some, out=np.ones_like(some), where=some > 0))
        other = column.posteriors.given(statistics, [rows.gather(role, index, train) for role in rows.roles])
        parts.append(Slots(other.family, other.count, column.posterior.prior_variance))
        place[test] = number * index.n_slots + slots[test]
    return RowSlots(Slots.join(parts), place)


def read_order(table: Table, column: Any) -> Codes:
    """Rank of each row by the column that tells the time; rows of one time share a rank."""
    categories, codes = Categories.of(table.column(find_column(table.names, column, "Ordered")))
    missing = codes == categories.missing
    if missing.any():
        raise InputError(
            f"Column {column!r}, which tells the time, is missing in {missing.sum()} rows. Drop those rows."
        )
    return codes


def check_folds(name: str, cv: Any) -> None:
    """Require a number of folds, two or more, or a splitter."""
    if is_number(cv):
        check_count(name, cv, 2)
    elif isinstance(cv, str | bool):
        raise InputError(f"{name}={cv!r}: expected a number of folds or a splitter.")


def read_folds(cv: Any, target: Target, y: Any, groups: Any, seed: int) -> list[Fold]:
    """Training and held-out rows of each fold; a row is held out at most once."""
    return make_folds("cv", cv, target.values, y, groups, seed, classes=target.classes is not None)


def make_folds(name: str, cv: Any, values: Any, y: Any, groups: Any, seed: int, *, classes: bool) -> list[Fold]:
    """The same for a parameter of this name; `values` are those of y as numbers."""
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
