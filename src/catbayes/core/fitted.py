"""The fitted value: settings, columns with their posteriors, and all that can be asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from catbayes.core.arrays import TINY
from catbayes.core.categories import Categories
from catbayes.core.category_outputs import Kept
from catbayes.core.column import EncodedColumn, draw_features
from catbayes.core.combinations import Index
from catbayes.core.drawing import Draws
from catbayes.core.evidence import ColumnEvidence, Evidence, settle_family
from catbayes.core.extra_outputs import Beside
from catbayes.core.layout import Layout, TrainingDraws
from catbayes.core.leakage import ColumnRows, Ordered, OwnTarget
from catbayes.core.posteriors import ColumnPrior, Posteriors
from catbayes.core.random import Purpose, stream
from catbayes.core.random_keys import Keys
from catbayes.core.rows import Rows
from catbayes.core.selection import Selection
from catbayes.core.slots import RowSlots
from catbayes.core.statistics import Statistics
from catbayes.core.table import spelled
from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes, check_option
from catbayes.effects.outputs import effects_beside
from catbayes.effects.settings import Effects
from catbayes.errors import InputError, warn
from catbayes.families import Family
from catbayes.kinds.linked_prior import LinkedPrior, links_of
from catbayes.mappings import Mapping, Mean
from catbayes.priors import Prior

__all__ = ["Encoding", "Missing", "Settings", "Unseen"]

Unseen = Literal["prior", "nan", "error"]
Missing = Literal["category", "prior", "nan", "error"]
In = TypeVar("In")
Out = TypeVar("Out")
NOTHING = Mean(labels=(), select=slice(0, 0))
"""The mapping of a column of which the categories say it all."""
MakePrior = Callable[[int, Statistics, Index, Statistics, Sequence[Statistics]], ColumnPrior]
"""The prior of the column of a number, from what was seen of it, and from what its slots say, in other roles too."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is encoded, by which family, prior and mapping, and what is done with targets, draws and strangers."""

    selection: Selection
    family: type[Family] | None  # None where the target is to tell
    prior: Prior
    mapping: Mapping
    own_target: OwnTarget
    draws: Draws
    effects: Effects | None
    kept: Kept | None
    unseen: Unseen
    missing: Missing

    def __post_init__(self) -> None:
        """Require settings that go together."""
        check_option("unseen", self.unseen, ("prior", "nan", "error"))
        check_option("missing", self.missing, ("category", "prior", "nan", "error"))
        self.own_target.check(self.draws, self.selection.linked)
        if self.effects and isinstance(self.own_target, Ordered):
            raise InputError('effects go with folds, and own_target="ordered" has none: use "exclude".')

    def each(self, function: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
        """Results in their order, one when it is asked for, so that whoever takes them has but one in memory."""
        return map(function, items)

    def run(self, function: Callable[[In], Out], items: Iterable[In]) -> list[Out]:
        """The same, as a list."""
        return list(self.each(function, items))

    def refuse_nan(self, where: str) -> None:
        """Refuse the policies that make NaN of a row, where there is no such thing."""
        for name, policy in (("unseen", self.unseen), ("missing", self.missing)):
            if policy == "nan":
                raise InputError(f'{name}="nan" is not known to {where}: fit with {name}="prior" for it.')

    def refuse_missing(self, count: float, name: object) -> None:
        """Raise an error, where missing values call for one."""
        if self.missing == "error" and count:
            raise InputError(
                f'Column {name!r} is missing in {count:g} rows. Fill them, or set missing="category" or "prior".'
            )

    def refuse_unseen(self, strangers: list[object], name: object) -> None:
        """Raise an error for categories that were not seen, which `unseen="error"` calls for."""
        raise InputError(
            f"Column {name!r} holds categories that fit never saw, such as {strangers}. "
            'Fit on them, or set unseen="prior" to encode them by the prior.'
        )


@dataclass(frozen=True, slots=True, repr=False)
class Encoding:
    """A fitted encoder as a value: what was learnt, and how rows are encoded by it."""

    settings: Settings
    evidence: Evidence
    columns: tuple[EncodedColumn, ...]
    family: type[Family]
    layout: Layout  # where the outputs go
    seed: int
    library: Any = None  # that the table came in, and that frames are given in

    # ------------------------------------------------------------------------------------- made of evidence

    @classmethod
    def fit(cls, settings: Settings, evidence: Evidence, seed: int, library: Any = None) -> Encoding:
        """Learn the prior of every column, and update it."""
        family = settle_family(settings.family, evidence)

        def learn(
            number: int, seen: Statistics, index: Index, statistics: Statistics, others: Sequence[Statistics]
        ) -> ColumnPrior:
            # A column that says nothing has nothing to make a prior of: that of the target itself.
            speaking = seen if seen.varies() else evidence.total
            kind = links_of(index)
            if kind is None:
                return ColumnPrior.fit(family, settings.prior, speaking, evidence.row_units)
            if not family.linkable:
                raise InputError(
                    f"{family.__name__} does not support hierarchies and kinds. Leave those out, or choose another "
                    "family."
                )
            links = kind.fit(index, statistics, family, settings.prior, speaking, evidence.row_units, others)
            return LinkedPrior.of(index, links, statistics)

        # An optimiser of four numbers only loses by waking threads.
        with _threadpools().limit(limits=1, user_api="blas"):
            return cls.of(settings, evidence, family, seed, learn, library)

    @classmethod
    def of(
        cls,
        settings: Settings,
        evidence: Evidence,
        family: type[Family],
        seed: int,
        make_prior: MakePrior,
        library: Any = None,
    ) -> Encoding:
        """Update priors that are made here, or were made before."""
        labels = None if evidence.classes is None else [spelled(label) for label in evidence.classes]
        names = list(evidence.inputs)

        def encode(number: int) -> EncodedColumn:
            column = evidence.columns[number]
            peers = [evidence.at(position) for position in settings.selection.peers(column, names)]
            index = settings.selection.index(column, column.index, names, [peer.index for peer in peers])
            others = [_settle_missing(peer, settings).place(index.moved(peer.index), index.n_slots) for peer in peers]
            seen = statistics = _settle_missing(column, settings)
            if index is not column.index:
                statistics = seen.place(index.moved(column.index), index.n_slots)
            prior = make_prior(number, seen, index, statistics, others)
            posteriors = Posteriors.of(index, statistics, prior, settings.prior.learnt)
            mapping = settings.mapping.bind(posteriors.prior.prior, labels)
            beside = Beside.nothing(index.n_slots)
            if settings.effects:
                beside = beside.and_then(effects_beside(column, index, labels, settings.draws.factor, names))
            if settings.kept is not None and settings.kept.applies(column, evidence):
                beside = beside.and_then(settings.kept.table(column, index))
                mapping = NOTHING if settings.kept.replaces(column, mapping) else mapping
            known = settings.kept is not None and settings.kept.names_rare(column, evidence)
            return EncodedColumn.of(column, posteriors, mapping, settings.draws.factor, beside, known, seed)

        columns = tuple(settings.run(encode, range(len(evidence.columns))))
        effects = [seen.effects for seen in evidence.columns] if settings.effects else []
        layout = Layout(len(names), columns, settings.selection.dropped(names), effects)
        return cls(settings, evidence, columns, family, layout, seed, library)

    # ---------------------------------------------------------------------------------------------- slots

    def knowing(self, column_of: Callable[[int], Any]) -> Encoding:
        """The encoding with slots for unseen values of new rows, where these are linked to seen ones."""

        def extend(column: EncodedColumn) -> EncodedColumn:
            index = column.posteriors.index
            if index.kind is None:
                return column
            more = index.kind.extended(index, column_of(column.parts[0]))
            return column if more is index else column.within(more, self.seed)

        if all(column.posteriors.index.kind is None for column in self.columns):
            return self
        return replace(self, columns=tuple(self.settings.run(extend, self.columns)))

    def slots(self, column_of: Callable[[int], Any]) -> list[Codes]:
        """Slots of rows in every column, once the policies for missing and unseen values agree.

        `column_of` gives the column of the table that has a position. Each one is read once.
        """
        sources = {
            (part, id(source)): source
            for column in self.columns
            for part, source in zip(column.parts, column.posteriors.index.sources, strict=True)
        }

        def read(item: tuple[tuple[int, int], Categories]) -> Codes:
            (part, _), categories = item
            return self._read(categories, column_of(part), self.evidence.inputs[part])

        codes = dict(zip(sources, self.settings.run(read, sources.items()), strict=True))

        def combine(column: EncodedColumn) -> Codes:
            index = column.posteriors.index
            pairs = zip(column.parts, index.sources, strict=True)
            slots = index.slots([codes[part, id(source)] for part, source in pairs])
            ordered = index.kind is not None and index.kind.is_ordered
            if ordered and self.settings.unseen == "prior" and (slots == index.unseen).any():
                _warn_of_no_level(index.sources[0], column_of(column.position), column.name)
            return self._admit(column, slots)

        return self.settings.run(combine, self.columns)

    def slots_of(self, rows: Rows) -> list[Codes]:
        """Slots of the rows that the encoding was fitted on."""

        def find(pair: tuple[EncodedColumn, ColumnEvidence]) -> Codes:
            column, seen = pair
            slots, index = rows.slots(seen), column.posteriors.index
            return self._admit(column, slots if index is seen.index else index.moved(seen.index)[slots])

        return self.settings.run(find, zip(self.columns, rows.evidence.columns, strict=True))

    def _roles(self, column: EncodedColumn, rows: Rows) -> tuple[Codes, ...]:
        """Slots that rows have in the other roles of a column's categories."""
        peers = [rows.evidence.at(place) for place in self.settings.selection.peers(column, list(rows.evidence.inputs))]
        return tuple(column.posteriors.index.moved(peer.index)[rows.slots(peer)] for peer in peers)

    def _read(self, categories: Categories, values: Any, name: Any) -> Codes:
        """Slots of the rows of a column of the table; errors where a policy calls for one."""
        codes = categories.codes(values)
        self.settings.refuse_missing(int((codes == categories.missing).sum()), name)
        unseen = codes == categories.unseen
        if unseen.any() and self.settings.unseen == "error":
            self.settings.refuse_unseen(categories.unseen_values(values), name)
        elif unseen.all():
            _warn_of_other_types(categories, values, name)
        return codes

    def _admit(self, column: EncodedColumn, slots: Codes) -> Codes:
        """Let missing values go by the policy: as categories, or as if unseen, which in a hierarchy is one level up."""
        if self.settings.missing in ("category", "nan"):
            return slots
        incomplete, up = column.posteriors.index.incomplete(), column.posteriors.index.up()
        while incomplete[slots].any():
            slots = np.where(incomplete[slots], up[slots], slots)
        return slots

    def _blank(self, column: EncodedColumn) -> Codes:
        """Slots of which nothing is to be said: their outputs are NaN."""
        index, settings = column.posteriors.index, self.settings
        blank = index.incomplete() if settings.missing == "nan" else np.zeros(index.n_slots, dtype=np.bool_)
        unseen = [index.unseen] if settings.unseen == "nan" else []
        return np.union1d(np.flatnonzero(blank), unseen).astype(np.intp)

    def _blanked(self, column: EncodedColumn, slots: Codes, features: Array) -> Array:
        """Features of rows, (row, output), NaN where nothing is to be said of their slots."""
        blank = self._blank(column)
        if len(blank):
            features = np.where(np.isin(slots, blank)[:, None], np.nan, features)
        return features

    def _completed(self, column: EncodedColumn, slots: Codes, drawn: Array) -> Array:
        """Drawn features of rows with all others behind them, NaN where nothing is to be said."""
        return self._blanked(column, slots, column.beside.behind(drawn, slots))

    # ------------------------------------------------------------------------------------------- features

    def expectation(self, slots: Sequence[Codes]) -> Iterator[Array]:
        """The expectation of f(θ) of rows, (row, output) for every column."""
        pairs = zip(self.columns, slots, strict=True)
        return self.settings.each(
            lambda pair: self._blanked(*pair, np.asarray(pair[0].expectation.take(pair[1], axis=0))), pairs
        )

    def draws(
        self, slots: Sequence[Codes], n_draws: int, *, seed: int | None = None, identity: Keys | None = None
    ) -> list[list[Array]]:
        """Draws of rows that were not trained on, (row, output) for every draw of every column."""

        def sample(pair: tuple[EncodedColumn, Codes]) -> list[Array]:
            column, own = pair
            rows, keys = RowSlots(column.posterior, own), self._keys(Purpose.SAMPLE, column, n_draws)
            drawn = (self._draw(column, rows, key, seed=seed, identity=identity) for key in keys)
            return [self._completed(column, own, features) for features in drawn]

        return self.settings.run(sample, zip(self.columns, slots, strict=True))

    def draws_without_own(
        self, slots: Sequence[Codes], target: Target, weight: Array | None, n_draws: int, identity: Keys
    ) -> list[list[Array]]:
        """Draws of rows that were trained on, each row's target taken out of its posterior in closed form."""

        def sample(pair: tuple[EncodedColumn, Codes]) -> list[Array]:
            column, own = pair
            rows = column.left_out(own, target, weight)
            keys = self._keys(Purpose.TRAIN, column, n_draws)
            drawn = (self._draw(column, rows, key, identity=identity) for key in keys)
            return [self._completed(column, own, features) for features in drawn]

        return self.settings.run(sample, zip(self.columns, slots, strict=True))

    def training_draws(self, rows: Rows, groups: Any = None) -> TrainingDraws:
        """Draws of the rows that the encoding was fitted on, their own targets kept out; nothing is drawn yet."""
        strategy = self.settings.own_target
        if isinstance(groups, str):
            raise InputError(
                f"groups={groups!r}: expected the group of each row. Give the values, such as X[{groups!r}]."
            )
        about: dict[str, bool] = {"hides": self.hides, "known": any(column.has_known for column in self.columns)}
        split = strategy.split(rows, groups, seed=self.seed, **about)
        slots = self.slots_of(rows)
        roles = [self._roles(column, rows) for column in self.columns]
        told = [ColumnRows(own, rows.target, rows.weight, others) for own, others in zip(slots, roles, strict=True)]

        kept: dict[int, tuple[RowSlots, RowSlots]] = {}

        def find(number: int, k: int) -> tuple[RowSlots, RowSlots]:
            # Who asks for one draw has the entries of one column in memory at a time, and who asks for more keeps all.
            found = kept.get(number) or strategy.find(self.columns[number], told[number], split, k)
            if k > 0 and not strategy.renewed(self.columns[number], split):
                kept[number] = found
            return found

        effects: list[tuple[Array, Array]] = []
        if rows.effects is not None:
            temperature = self.settings.draws.factor
            effects = rows.effects.without(strategy.folds(rows, groups, self.seed), temperature)

        every = range(len(self.columns))

        def block(number: int, k: int) -> Array:
            column = self.columns[number]
            drawn, known = find(number, k)
            key = (Purpose.TRAIN, column.stream, k)
            features = column.usual(len(drawn)) if column.is_flat else self._draw(column, drawn, key, known=known)
            whole = column.beside.behind(features, slots[number])
            if number < len(effects):  # of interactions there are none, and they stand behind the others
                mean, spread = effects[number]
                noise = stream(self.seed, Purpose.EFFECTS, column.stream, k).standard_normal(mean.shape)
                seen = slots[number] < column.posteriors.index.unseen
                place = slice(features.shape[1], features.shape[1] + mean.shape[1])
                whole[:, place] = seen[:, None] * (mean + spread * noise)
            return self._blanked(column, slots[number], whole)

        return TrainingDraws(rows.table, self.layout, lambda k: self.settings.each(lambda n: block(n, k), every))

    def strata(self, n_draws: int, *, in_full: bool = False, slots: Sequence[Any] | None = None) -> list[Array]:
        """Stratified draws of every slot of each column, or of some, to predict with, (draw, slot, output).

        `in_full`, they are draws of the whole posterior, whatever the temperature of the training.
        """
        self.settings.refuse_nan("a model that averages over draws")
        chosen = [None] * len(self.columns) if slots is None else slots
        return [
            column.strata(n_draws, seed=self.seed, in_full=in_full, slots=some)
            for column, some in zip(self.columns, chosen, strict=True)
        ]

    def doubts(self) -> list[Array]:
        """How far the draws of each slot lie apart, as a part of how far rows do in the column that parts them most."""
        found = [column.variances() for column in self.columns]
        most = max((between for _, between in found), default=0.0)
        pairs = zip(self.columns, found, strict=True)
        drawn = [within if column.mapping.names() else 0.0 * within for column, (within, _) in pairs]
        return [np.sqrt(within / max(most, TINY)) for within in drawn]

    @property
    def hides(self) -> bool:
        """Whether draws hide that a target was taken out in closed form."""
        if self._one_way:
            return False  # rows of one level have a part in the mean of another
        weight, pairs = self.evidence.row_weight, zip(self.columns, self.evidence.columns, strict=True)
        excess = (column.posteriors.prior.prior.dispersion(seen.statistics, weight) for column, seen in pairs)
        return self.settings.draws.hide(weight * max(excess))

    @property
    def _one_way(self) -> list[Any]:
        """Names of the columns in which rows of one category enter the mean of another."""
        kinds = [(column.name, column.posteriors.index.kind) for column in self.columns]
        return [name for name, kind in kinds if kind is not None and kind.pools_means]

    def refuse_one_way(self) -> None:
        """Refuse to take a target out of one posterior, where it has a part in others."""
        if self._one_way:
            raise InputError(
                f"monotone: rows of one level of {self._one_way[0]!r} have a part in the means of others, so that "
                "folds alone keep a row's own target out, which rows by themselves have not. Use fit_transform or "
                "fit_draws, or leave monotone out."
            )

    def _keys(self, purpose: Purpose, column: EncodedColumn, n_draws: int) -> list[tuple[int, int, int]]:
        return [(purpose, column.stream, k) for k in range(n_draws)]

    def _draw(
        self,
        column: EncodedColumn,
        rows: RowSlots,
        key: tuple[int, int, int],
        *,
        seed: int | None = None,
        identity: Keys | None = None,
        known: RowSlots | None = None,
    ) -> Array:
        how: Any = (column.mapping, column.temperature, self.settings.draws.sampler)
        seed = self.seed if seed is None else seed
        return draw_features(rows, *how, seed=seed, key=key, identity=identity, known=known)


@cache
def _threadpools() -> ThreadpoolController:
    """Those of the libraries that are loaded: to look for them takes as long as to fit a small table."""
    return ThreadpoolController()


def _settle_missing(column: ColumnEvidence, settings: Settings) -> Statistics:
    """What the categories say, once the policy for missing values agrees."""
    if settings.missing == "category":
        return column.statistics
    incomplete = np.flatnonzero(column.index.incomplete())
    settings.refuse_missing(float(column.statistics.count[incomplete].sum()), column.name)
    return column.statistics.without(incomplete)


def _warn_of_no_level(levels: Categories, values: Any, name: Any) -> None:
    """Say so where values have no place in an order, in which their neighbours would tell of them."""
    strangers = levels.unseen_values(values)
    if strangers and levels.values:
        warn(
            f"Column {name!r} holds {strangers}, none of its levels: such rows are encoded by the prior. Name all "
            "levels in Ordinal(levels)."
        )


def _warn_of_other_types(categories: Categories, values: Any, name: Any) -> None:
    """Say so where every value is unseen because it is of another type, as "7" is for 7, or .1 in single precision."""
    numbers = np.array([cell for cell in categories.values if isinstance(cell, float)], dtype=np.float64)
    rounded = {*numbers.astype(np.float32).tolist()} - {*numbers.tolist()}

    def kind(cell: Any) -> str:
        if isinstance(cell, int | float):
            return "float32" if cell in rounded else "number"
        zoned = getattr(cell, "tzinfo", None) is not None
        return f"{type(cell).__name__} with a time zone" if zoned else type(cell).__name__

    def kinds(cells: Any) -> set[str]:
        return {kind(cell) for cell in cells}

    known, new = kinds(categories.values), kinds(categories.unseen_values(values))
    if known and new and not known & new:
        warn(
            f"Column {name!r} held {', '.join(sorted(known))} values at fit and holds {', '.join(sorted(new))} values "
            "now: every one of them counts as unseen. Convert the column to its former type."
        )
