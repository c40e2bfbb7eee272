"""Features of the training rows, each drawn from a posterior that leaves the row's own target out.

Four strategies choose that posterior: "include" (the paper's, which leaves nothing out), "exclude" (without the row,
analytically), "cross_fit" (of the other folds) and "ordered" (of the rows before).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, check_cv

from catbayes.core.arrays import one_blas_thread
from catbayes.core.categories import Categories
from catbayes.core.column import FittedColumn
from catbayes.core.config import Strategy
from catbayes.core.extra_outputs import FEW
from catbayes.core.fitted import Fitted
from catbayes.core.layout import Layout
from catbayes.core.random import Purpose, stream
from catbayes.core.rows import Rows
from catbayes.core.slots import RowSlots, Slots
from catbayes.core.table import Table, find_column
from catbayes.core.validation import Array, Codes, is_number
from catbayes.errors import InputError, warn

__all__ = ["TrainingDraws", "make_folds", "require_single_rows", "training_draws"]

Fold = tuple[Codes, Codes]
"""Rows to train on, and rows held out."""

HIDING_TEMPERATURE = 0.3
"""Below this, draws are too narrow to hide that a row's own target was taken out analytically: on Adult and Amazon
Employee Access, LightGBM and a forest lost nothing at 0.3, little at 0.15 and up to 0.05 of AUC at 0.05; the value has
a margin, because tables differ."""


@dataclass(frozen=True, slots=True, repr=False)
class TrainingDraws:
    """Features of the training rows, draw by draw: `features(k)` is draw k, the same at every call."""

    table: Table
    layout: Layout
    columns: tuple[FittedColumn, ...]
    blocks: Callable[[int], Iterable[Array]]  # draw k of every encoded column, (row, output) each

    def features(self, k: int = 0) -> np.ndarray[Any, Any]:
        """Make draw k of the training rows, (row, output), with the columns that are not encoded."""
        return self.layout.stack(self.table, self.blocks(k))

    def write(self, k: int, features: np.ndarray[Any, Any], rows: Any = slice(None)) -> None:
        """Write draw k of some rows over features of another draw; columns that are not encoded stay."""
        for column, block in zip(self.columns, self.blocks(k), strict=True):
            features[:, self.layout.places[column.position]] = block[rows]
        self.layout.add_slopes(features.T)

    def copies(self, n_draws: int, rows: Any = slice(None)) -> np.ndarray[Any, Any]:
        """Stack the first draws of some rows, one after the other: every column is copied once for each draw."""
        first = self.features()[rows]
        stacked = np.empty((n_draws * len(first), first.shape[1]), dtype=first.dtype, order="F")
        for k in range(n_draws):
            part = stacked[k * len(first) : (k + 1) * len(first)]
            part[:] = first
            if k:
                self.write(k, part, rows)
        return stacked

    def chunked(self, n_draws: int, first: Array, rows: Any = slice(None)) -> Any:
        """Stack the same copies, the first of which is given, as a table of Arrow that has a chunk for each of them.

        Columns that are not encoded are stored once.
        """
        import pyarrow

        columns = [[pyarrow.array(np.ascontiguousarray(column))] * n_draws for column in first.T]
        places = [self.layout.places[column.position] for column in self.columns]
        for k in range(1, n_draws):
            part = list(first.T)
            for place, block in zip(places, self.blocks(k), strict=True):
                part[place] = block[rows].T
            self.layout.add_slopes(part)
            for place in places:
                for chunks, values in zip(columns[place], part[place], strict=True):
                    chunks[k] = pyarrow.array(np.ascontiguousarray(values))
        names = [f"Column_{number}" for number in range(len(columns))]  # as LightGBM calls those of an array
        return pyarrow.table([pyarrow.chunked_array(chunks) for chunks in columns], names=names)


def training_draws(fitted: Fitted, rows: Rows, groups: Any = None) -> TrainingDraws:
    """Settle how each row's own target is left out, by folds or an order of all rows if need be; nothing is drawn yet.

    "exclude" uses folds where draws do not hide that a target was taken out analytically, for rows that come in groups,
    and for outputs that are not drawn.
    """
    if isinstance(groups, str):
        raise InputError(f"groups={groups!r}: expected the group of each row. Give the values, such as X[{groups!r}].")
    settings, target = fitted.settings, rows.target
    strategy, folds, rank = settings.own_target, list[Fold](), None
    if strategy in ("include", "ordered"):
        if groups is not None:
            warn(f'own_target="{strategy}" makes no folds, so groups do nothing.')
        if settings.order is not None:
            rank = _read_order(rows.table, settings.order)
    else:
        if strategy == "exclude" and (groups is not None or not draws_hide_removal(fitted)):
            strategy = "cross_fit"
        if strategy == "cross_fit" or settings.effects or any(column.has_known for column in fitted.columns):
            about: Any = (target.values, rows.y, groups, fitted.seed)
            folds = make_folds("cv", settings.cv, *about, classes=target.classes is not None)
    slots = []
    for column, seen, own in zip(fitted.columns, rows.evidence.columns, rows.slots, strict=True):
        moved = own if column.index is seen.index else column.index.moved(seen.index)[own]
        slots.append(fitted.admitted(column, moved))
    effects: list[tuple[Array, Array]] = []
    if rows.effects is not None:
        every = np.arange(rows.table.n_rows)
        with one_blas_thread():
            effects = rows.effects.without(folds or [(every, every)], settings.temperature)
    training = _Training(fitted, rows, slots, strategy, folds, rank, effects)
    return TrainingDraws(rows.table, fitted.layout, fitted.columns, training.draw)


@dataclass(frozen=True, slots=True, repr=False)
class _Training:
    """What draws of the training rows are made of."""

    fitted: Fitted
    rows: Rows
    slots: list[Codes]  # of the rows in each column
    strategy: Strategy
    folds: list[Fold]
    rank: Codes | None  # of the rows in time; without one, every draw of "ordered" has a random order
    effects: list[tuple[Array, Array]]  # mean and spread by the other folds, of all columns but the interactions
    found: dict[int, tuple[RowSlots, RowSlots | None]] = field(default_factory=dict)

    def draw(self, k: int) -> Iterator[Array]:
        """Make draw k of every encoded column, (row, output) each."""
        fitted = self.fitted
        for number, (column, slots) in enumerate(zip(fitted.columns, self.slots, strict=True)):
            if column.is_flat:
                usual = column.expectation[column.index.unseen, : len(column.mapping.names())]
                features: Array = np.broadcast_to(usual, (len(slots), len(usual)))
            else:
                drawn, known = self._choose_posteriors(number, k)
                key = (Purpose.TRAIN, column.stream, k)
                features = column.draw(drawn, fitted.settings.sampler, seed=fitted.seed, key=key, known=known)
            whole = column.with_extra(features, slots)
            if number < len(self.effects):
                mean, spread = self.effects[number]
                noise = stream(fitted.seed, Purpose.EFFECTS, column.stream, k).standard_normal(mean.shape)
                place = slice(features.shape[1], features.shape[1] + mean.shape[1])
                whole[:, place] = (slots < column.index.unseen)[:, None] * (mean + spread * noise)
            yield fitted.blanked(column, slots, whole)

    def _choose_posteriors(self, number: int, k: int) -> tuple[RowSlots, RowSlots | None]:
        """Choose the posteriors that draw k of a column comes from, and others for outputs that are not drawn."""
        if number in self.found:
            return self.found[number]
        column, slots, rows = self.fitted.columns[number], self.slots[number], self.rows
        known: RowSlots | None = None
        if self.strategy == "ordered" or (self.strategy == "exclude" and _excludes_by_order(column)):
            rank = self.rank
            if rank is None:
                rank = stream(self.fitted.seed, Purpose.ORDER, k).permutation(len(slots))
            index = column.index
            before = rows.target.tally_before(slots, rank, rows.weight, index.n_slots, index.unseen)
            drawn = RowSlots.each(column.updated(before))
            if self.rank is None:
                return drawn, None  # another one for every draw
        elif self.strategy == "exclude":
            drawn = column.leave_one_out(slots, rows.target, rows.weight)
            known = self._cross_fit(number, as_sure=True) if column.has_known else None
        elif self.strategy == "cross_fit":
            drawn = self._cross_fit(number)
        elif self.strategy == "include":
            drawn = RowSlots(column.posterior, slots)
        else:
            raise ValueError(f"no posteriors are chosen for own_target={self.strategy!r}")
        if k > 0:  # draw 0 is not cached, to save memory when only one draw is made
            self.found[number] = drawn, known
        return drawn, known

    def _cross_fit(self, number: int, as_sure: bool = False) -> RowSlots:
        """Update the prior by the training rows of each fold; the slots of the folds come one after the other.

        The prior is that of the whole table: priors by fold would differ, and reveal the targets of the fold. A row
        that no fold holds out is encoded as if its category were unseen. If `as_sure`, the rows of the other folds
        count for as many as the category has: the posterior is then as precise in training as in prediction.
        """
        column, slots = self.fitted.columns[number], self.slots[number]
        index, target, weight = column.index, self.rows.target, self.rows.weight
        peers = self._peers(column)
        place = np.full(len(slots), index.unseen, dtype=np.intp)
        parts = []
        for fold, (train, test) in enumerate(self.folds):
            statistics = target.tally(slots, weight, index.n_slots, train, index.unseen)
            if as_sure:
                every, some = column.statistics.count, statistics.count
                statistics = statistics.scaled(np.divide(every, some, out=np.ones_like(some), where=some > 0))
            others = [target.tally(peer, weight, index.n_slots, train, index.unseen) for peer in peers]
            other = column.updated(statistics, others)
            parts.append(Slots(other.family, other.count, column.posterior.prior_variance))
            place[test] = fold * index.n_slots + slots[test]
        return RowSlots(Slots.join(parts), place)

    def _peers(self, column: FittedColumn) -> list[Codes]:
        """Find the slots that rows have in the other columns that share the column's categories."""
        selection, evidence = self.fitted.settings.selection, self.rows.evidence
        if not selection.kinds:
            return []
        peers = selection.roles(list(evidence.inputs)).get(column.position, ())
        pairs = zip(evidence.columns, self.rows.slots, strict=True)
        own = {seen.position: (seen.index, slots) for seen, slots in pairs}
        return [column.index.moved(own[peer][0])[own[peer][1]] for peer in peers]


# ------------------------------------------------------------------------------- whether the removal is hidden


def draws_hide_removal(fitted: Fitted) -> bool:
    """Tell whether draws hide that a row's own target was taken out analytically.

    Only if they are spread at least HIDING_TEMPERATURE times as wide as n rows of weight 1 would have it. Rows of
    weight w shift the posterior w times as far and spread it √w as wide; counts that vary more than Poisson's shift it
    further than it is spread. Rows of one level enter the means of others, where those only rise or fall.
    """
    if _pooled(fitted):
        return False
    weight, pairs = fitted.evidence.row_weight, zip(fitted.columns, fitted.evidence.columns, strict=True)
    excess = weight * max(column.prior.dispersion(seen.statistics, weight) for column, seen in pairs)
    temperature = fitted.settings.temperature
    return bool((1.0 if temperature is None else temperature) >= HIDING_TEMPERATURE * np.sqrt(excess))


def require_single_rows(fitted: Fitted, weighted: bool) -> None:
    """Require that the own target of a row that comes alone, as in a stream, can be left out of its posterior.

    Such a row has no order and no fold, and a splitter may keep rows together that a row by itself does not know of.
    """
    settings, pooled = fitted.settings, _pooled(fitted)
    ordered = [column.name for column in fitted.columns if _excludes_by_order(column)]
    together = "needs all rows together, as fit_transform and fit_draws have them"
    if settings.own_target == "include":
        wrong = 'own_target="include" leaves no target out. Give no target here, or fit with own_target="exclude".'
    elif settings.own_target != "exclude" or not is_number(settings.cv):
        wrong = f'own_target="{settings.own_target}" with cv={settings.cv!r} {together}. Use "exclude" and cv=5 here.'
    elif ordered:
        wrong = (
            f"Column {ordered[0]!r} of more than {FEW} categories is encoded with their ids as outputs, which "
            f"{together}. Use max_categories={FEW} here."
        )
    elif settings.effects:
        wrong = f"effects=True {together}, to leave a row's own target out. Use effects=False here."
    elif pooled:
        wrong = f"monotone: rows of one level of {pooled[0]!r} enter the means of others, which {together}."
    elif any(column.has_known for column in fitted.columns) or not draws_hide_removal(fitted):
        wrong = (
            "With these settings a draw would not hide that the row's own target was left out. Use a temperature of "
            "0.3 or more, weights near 1 and a mapping that is all drawn; or fit_transform or fit_draws."
        )
    elif fitted.evidence.weighted and not weighted:
        wrong = (
            "The encoder's rows do not count as one each (sample_weight, exposure or forget): give the weight of each "
            "row with its target."
        )
    else:
        return
    raise InputError(wrong)


def _excludes_by_order(column: FittedColumn) -> bool:
    """Tell whether "exclude" encodes a row by the rows before it.

    The model could compare rows of a category and see whose target was removed. Folds have the same flaw in small
    categories.
    """
    return column.shows_many_categories and column.links is None


def _pooled(fitted: Fitted) -> list[Any]:
    """Names of the columns whose means only rise or fall."""
    return [column.name for column in fitted.columns if column.index.kind and column.index.kind.pools_means]


# ------------------------------------------------------------------------------------ folds and orders


def _read_order(table: Table, column: Any) -> Codes:
    """Rank rows by the column of the time; rows of one time share a rank."""
    categories, codes = Categories.of(table.column(find_column(table.names, column, "Ordered")))
    missing = codes == categories.missing
    if missing.any():
        raise InputError(
            f"Column {column!r}, which orders the rows, is missing in {missing.sum()} rows. Drop those rows."
        )
    return codes


def make_folds(name: str, cv: Any, values: Any, y: Any, groups: Any, seed: int, *, classes: bool) -> list[Fold]:
    """Split rows into folds, by a parameter of this name; `values` are those of y as numbers."""
    n_rows = len(values)
    if groups is not None:
        known, codes = Categories.of(groups)
        if (codes == known.missing).any():
            raise InputError(f"groups is missing in {(codes == known.missing).sum()} rows: give each row its group.")
    if is_number(cv):
        shuffle = stream(seed, Purpose.FOLDS).integers(np.iinfo(np.int32).max)
        if groups is None:
            splitter = KFold(min(int(cv), n_rows), shuffle=True, random_state=int(shuffle))
        else:
            groups, n_groups = codes, len(known.values)
            if n_groups < 2:
                raise InputError("groups holds one group only: folds need two or more.")
            splitter = GroupKFold(min(int(cv), n_groups), shuffle=True, random_state=int(shuffle))
    else:
        splitter = check_cv(cv, values, classifier=classes)
    splits = list(splitter.split(np.empty((n_rows, 1)), y, groups))
    if not splits:
        raise InputError(f"{name}={cv!r} makes no folds. Use another splitter, or a number.")
    rows = np.concatenate([part for split in splits for part in split])
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n_rows:
        raise InputError(
            f"{name} gives rows that are not among the {n_rows} of X, 0 to {n_rows - 1}. Make the folds of X."
        )
    if any(np.intersect1d(train, test).size for train, test in splits):
        raise InputError(f"{name}={cv!r} trains on rows that it holds out: expected folds without overlap.")
    held_out = np.concatenate([test for _, test in splits])
    if len(np.unique(held_out)) < len(held_out):
        raise InputError(f"{name}={cv!r} holds some rows out more than once: expected a splitter without repeats.")
    return splits
