"""A fitted encoder as a value: its settings and columns, and how rows are encoded by them."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from catbayes.core.arrays import TINY, one_blas_thread
from catbayes.core.categories import Categories
from catbayes.core.column import FittedColumn, draw_features, expect, links_of, stream_of, update_linked
from catbayes.core.config import Settings
from catbayes.core.evidence import Candidate, ColumnEvidence, Evidence, settle_family
from catbayes.core.extra_outputs import ExtraOutputs, effect_names, effect_outputs
from catbayes.core.layout import Layout
from catbayes.core.leakage import ColumnRows, Split, hides, known_slots, read_folds, split_rows, training_slots
from catbayes.core.random import Keys, Purpose, stream
from catbayes.core.rows import Rows
from catbayes.core.slots import RowSlots, Slots
from catbayes.core.statistics import Statistics
from catbayes.core.table import Table, make_frame
from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes
from catbayes.effects.slopes import Slope
from catbayes.errors import InputError, warn
from catbayes.families import Family
from catbayes.mappings import Mean
from catbayes.priors import Empirical

__all__ = ["Fitted", "PosteriorFrames", "TrainingDraws", "interactions_frame"]

StoredPrior = tuple[Family, Family | tuple[float, ...]]
"""The prior of a column and that of slots without rows; or the root of linked slots, and the strengths of the links."""
NOTHING = Mean(labels=(), select=slice(0, 0))
"""The mapping of a column whose category ids replace its posterior."""


@dataclass(frozen=True, slots=True, repr=False)
class Fitted:
    """A fitted encoder as a value: its settings and columns, and how rows are encoded by them."""

    settings: Settings
    evidence: Evidence
    columns: tuple[FittedColumn, ...]
    family: type[Family]
    layout: Layout
    seed: int
    library: Any = None  # that the table came in, and that frames are given in

    @classmethod
    def fit(
        cls,
        settings: Settings,
        evidence: Evidence,
        seed: int,
        library: Any = None,
        stored: Sequence[StoredPrior] | None = None,
    ) -> Fitted:
        """Estimate the prior of every column, unless it is stored, and update it."""
        family = settle_family(settings.family, evidence)
        priors: Sequence[StoredPrior | None] = stored or [None] * len(evidence.columns)
        pairs = zip(evidence.columns, priors, strict=True)
        with one_blas_thread():
            columns = tuple(_fit_column(column, settings, evidence, family, seed, prior) for column, prior in pairs)
        n_inputs, dropped = len(evidence.inputs), settings.selection.dropped(list(evidence.inputs))
        layout = Layout.of(n_inputs, columns, [column.outputs for column in columns], dropped)
        if settings.effects:
            layout = replace(layout, slopes=tuple(_slope_places(layout, columns, evidence)))
        return cls(settings, evidence, columns, family, layout, seed, library)

    # ---------------------------------------------------------------------------------------------- slots

    def extended(self, column_of: Callable[[int], Any]) -> Fitted:
        """Add slots for unseen values of new rows, where these are linked to seen ones."""
        if all(column.index.kind is None for column in self.columns):
            return self

        def extend(column: FittedColumn) -> FittedColumn:
            if column.index.kind is None:
                return column
            more = column.index.kind.extended(column.index, column_of(column.parts[0]))
            return column if more is column.index else column.extended(more, self.seed)

        return replace(self, columns=tuple(map(extend, self.columns)))

    def slots(self, column_of: Callable[[int], Any]) -> list[Codes]:
        """Find the slot of each row in every column, by the policies for missing and unseen values.

        `column_of` gives the column of the table that has a position. Each one is read once.
        """
        codes: dict[tuple[int, int], Codes] = {}
        for column in self.columns:
            for part, source in zip(column.parts, column.index.sources, strict=True):
                if (part, id(source)) not in codes:
                    codes[part, id(source)] = self._read(source, column_of(part), self.evidence.inputs[part])
        found = []
        for column in self.columns:
            index = column.index
            pairs = zip(column.parts, index.sources, strict=True)
            slots = index.slots([codes[part, id(source)] for part, source in pairs])
            ordered = index.kind is not None and index.kind.is_ordered
            if ordered and self.settings.unseen == "prior" and (slots == index.unseen).any():
                _warn_of_no_level(index.sources[0], column_of(column.position), column.name)
            found.append(self._admit(column, slots))
        return found

    def slots_of(self, rows: Rows) -> list[Codes]:
        """Find the slot of each training row in every column."""
        found = []
        for column, seen, slots in zip(self.columns, rows.evidence.columns, rows.slots, strict=True):
            own = slots if column.index is seen.index else column.index.moved(seen.index)[slots]
            found.append(self._admit(column, own))
        return found

    def _read(self, categories: Categories, values: Any, name: Any) -> Codes:
        """Find the slots of the rows of a column of the table; errors where a policy calls for one."""
        codes = categories.codes(values)
        self.settings.refuse_missing(int((codes == categories.missing).sum()), name)
        unseen = codes == categories.unseen
        if unseen.any() and self.settings.unseen == "error":
            self.settings.refuse_unseen(categories.unseen_values(values), name)
        elif unseen.all():
            _warn_of_other_types(categories, values, name)
        return codes

    def _admit(self, column: FittedColumn, slots: Codes) -> Codes:
        """Apply the policy for missing values: categories, or as if unseen, which in a hierarchy is one level up."""
        if self.settings.missing in ("category", "nan"):
            return slots
        incomplete, up = column.index.incomplete(), column.index.up()
        while incomplete[slots].any():
            slots = np.where(incomplete[slots], up[slots], slots)
        return slots

    def _blanked(self, column: FittedColumn, slots: Codes, features: Array) -> Array:
        """Make the features of rows, (row, output), NaN where a policy calls for it."""
        if "nan" not in (self.settings.unseen, self.settings.missing):
            return features
        index = column.index
        blank = index.incomplete() if self.settings.missing == "nan" else np.zeros(index.n_slots, dtype=np.bool_)
        blank[index.unseen] |= self.settings.unseen == "nan"
        return np.where(blank[slots][:, None], np.nan, features)

    # ------------------------------------------------------------------------------------------- features

    def expectation(self, slots: Sequence[Codes]) -> Iterator[Array]:
        """Look up the expectation of f(θ) of rows, (row, output) for every column."""
        for column, own in zip(self.columns, slots, strict=True):
            yield self._blanked(column, own, column.expectation.take(own, axis=0))

    def draws(
        self, slots: Sequence[Codes], n_draws: int, *, seed: int | None = None, identity: Keys | None = None
    ) -> list[list[Array]]:
        """Draw features of rows that were not trained on, (row, output) for every draw of every column."""
        rows = [RowSlots(column.posterior, own) for column, own in zip(self.columns, slots, strict=True)]
        return self._draws(rows, slots, Purpose.SAMPLE, n_draws, seed=seed, identity=identity)

    def draws_without_own(
        self, slots: Sequence[Codes], target: Target, weight: Array | None, n_draws: int, identity: Keys
    ) -> list[list[Array]]:
        """Draw features of rows that were trained on, each row's target taken out of its posterior analytically."""
        pairs = zip(self.columns, slots, strict=True)
        rows = [column.leave_one_out(own, target, weight) for column, own in pairs]
        return self._draws(rows, slots, Purpose.TRAIN, n_draws, identity=identity)

    def _draws(
        self, rows: Sequence[RowSlots], slots: Sequence[Codes], purpose: Purpose, n_draws: int, **how: Any
    ) -> list[list[Array]]:
        found = []
        for column, drawn, own in zip(self.columns, rows, slots, strict=True):
            blocks = (self._draw(column, drawn, (purpose, column.stream, k), **how) for k in range(n_draws))
            found.append([self._blanked(column, own, column.with_extra(block, own)) for block in blocks])
        return found

    def training_draws(self, rows: Rows, groups: Any = None) -> TrainingDraws:
        """Prepare draws of the training rows, their own targets left out; nothing is drawn yet."""
        if isinstance(groups, str):
            raise InputError(
                f"groups={groups!r}: expected the group of each row. Give the values, such as X[{groups!r}]."
            )
        return TrainingDraws(rows.table, self.layout, self.columns, _TrainingBlocks.of(self, rows, groups).draw)

    def _roles(self, column: FittedColumn, rows: Rows) -> tuple[Codes, ...]:
        """Find the slots that rows have in the other columns that share the column's categories."""
        if not self.settings.selection.kinds:
            return ()
        peers = self.settings.selection.roles(list(rows.evidence.inputs)).get(column.position, ())
        pairs = zip(rows.evidence.columns, rows.slots, strict=True)
        own = {seen.position: (seen.index, slots) for seen, slots in pairs}
        return tuple(column.index.moved(own[peer][0])[own[peer][1]] for peer in peers)

    def _draw(
        self,
        column: FittedColumn,
        rows: RowSlots,
        key: tuple[int, int, int],
        *,
        seed: int | None = None,
        identity: Keys | None = None,
        known: RowSlots | None = None,
    ) -> Array:
        seed = self.seed if seed is None else seed
        how: Any = (column.mapping, column.temperature, self.settings.sampler)
        return draw_features(rows, *how, seed=seed, key=key, identity=identity, known=known)

    def strata(self, n_draws: int, *, in_full: bool = False, slots: Sequence[Any] | None = None) -> list[Array]:
        """Draw every slot of each column, or some, by strata, to predict with, (draw, slot, output).

        `in_full`, they are draws of the whole posterior, whatever the temperature of the training.
        """
        self.settings.refuse_nan("a model that averages over draws")
        chosen = [None] * len(self.columns) if slots is None else slots
        return [
            column.strata(n_draws, seed=self.seed, in_full=in_full, slots=some)
            for column, some in zip(self.columns, chosen, strict=True)
        ]

    def relative_spread(self) -> list[Array]:
        """Compute the spread of the draws of each slot, relative to that of rows in the most informative column."""
        found = [column.variances() for column in self.columns]
        most = max((between for _, between in found), default=0.0)
        pairs = zip(self.columns, found, strict=True)
        drawn = [within if column.mapping.names() else 0.0 * within for column, (within, _) in pairs]
        return [np.sqrt(within / max(most, TINY)) for within in drawn]

    # -------------------------------------------------------------------------------------------- leakage

    @property
    def hides(self) -> bool:
        """Whether draws hide that a target was taken out analytically."""
        if self._pooled:
            return False  # rows of one level have a part in the mean of another
        weight, pairs = self.evidence.row_weight, zip(self.columns, self.evidence.columns, strict=True)
        excess = (column.prior.dispersion(seen.statistics, weight) for column, seen in pairs)
        return hides(self.settings.temperature, weight * max(excess))

    @property
    def _pooled(self) -> list[Any]:
        """Names of the columns whose means only rise or fall."""
        return [column.name for column in self.columns if column.index.kind and column.index.kind.pools_means]

    def refuse_one_way(self) -> None:
        """Refuse to take a target out of one posterior, where it has a part in others."""
        if self._pooled:
            raise InputError(
                f"monotone: rows of one level of {self._pooled[0]!r} have a part in the means of others, so that "
                "folds alone keep a row's own target out, which rows by themselves have not. Use fit_transform or "
                "fit_draws, or leave monotone out."
            )


def _fit_column(
    column: ColumnEvidence,
    settings: Settings,
    evidence: Evidence,
    family: type[Family],
    seed: int,
    stored: Any,  # StoredPrior | None
) -> FittedColumn:
    """Estimate the prior of a column, unless it is stored, update it, and work out what is expected of every slot."""
    names, peers = list(evidence.inputs), []
    if settings.selection.kinds:
        roles = settings.selection.roles(names)
        peers = [evidence.at(position) for position in roles.get(column.position, ())]
    index = settings.selection.index(column, column.index, names, [peer.index for peer in peers])
    seen = statistics = _settle_missing(column, settings)
    if index is not column.index:
        statistics = seen.place(index.moved(column.index), index.n_slots)
    # A column without signal has nothing to estimate a prior from: that of the target itself.
    informative = seen if seen.varies() else evidence.total
    kind, links = links_of(index), None
    if stored and isinstance(stored[1], Family) != (kind is None):
        raise ValueError(f"the prior of column {column.name!r} is none of its kind")
    if kind is None:
        prior, empty = stored or settings.prior.fit(family, informative, evidence.row_units)
        posterior = Slots.update(prior, statistics, empty)
    else:
        if not family.linkable:
            raise InputError(
                f"{family.__name__} does not support hierarchies and kinds. Leave those out, or choose another family."
            )
        others = [_settle_missing(peer, settings).place(index.moved(peer.index), index.n_slots) for peer in peers]
        if stored:
            root, strengths = stored
            links = kind.of(index, root, strengths, others)
        else:
            if kind.joins and statistics.varies():  # an engine may have counted every spelling by itself
                informative = statistics
            priors = settings.prior.fit(family, informative, evidence.row_units)
            links = kind.fit(index, statistics, priors, isinstance(settings.prior, Empirical), others)
        prior, empty, posterior = update_linked(links, index, statistics)

    labels = None if evidence.classes is None else [str(label) for label in evidence.classes]
    mapping, temperature = settings.mapping.bind(prior, labels), settings.temperature
    categories = settings.category_outputs
    extra: list[ExtraOutputs] = []
    if settings.effects and not column.is_interaction:
        extra.append(effect_outputs(column, index, labels, temperature, names))
    if categories is not None and categories.applies(column, evidence):
        extra.append(categories.table(column, index))
        mapping = NOTHING if categories.replaces(column, mapping) else mapping
    number = stream_of(column)
    fitted = FittedColumn(
        column.position,
        column.name,
        column.parts,
        index,
        statistics,
        prior,
        empty,
        links,
        posterior,
        mapping,
        temperature,
        expectation=expect(mapping, posterior, temperature, seed=seed, stream_number=number),
        stream=number,
        extra=reduce(add, extra) if extra else None,
        shows_rare=categories is not None and categories.shows_rare(column, evidence),
        prior_is_estimated=settings.prior.learnt,
    )
    fitted = replace(fitted, expectation=fitted.with_extra(fitted.expectation))
    return replace(fitted, expectation=fitted.flattened(fitted.expectation)) if fitted.is_flat else fitted


def _slope_places(
    layout: Layout, columns: Sequence[FittedColumn], evidence: Evidence
) -> Iterator[tuple[int, int, int, Slope]]:
    """Find the places of each effect, of a slope that belongs to it, and of the number that it is the slope of."""
    for column, seen in zip(columns, evidence.columns, strict=True):
        if seen.effects is not None:
            table, start = seen.effects, layout.places[column.position].start + len(column.mapping.names())
            for number, slope in enumerate(table.slopes, 1):
                for place in range(start, start + table.n_parts):
                    yield place, place + number * table.n_parts, layout.places[slope.position].start, slope


@dataclass(frozen=True, slots=True, repr=False)
class _TrainingBlocks:
    """What draws of the training rows are made of; nothing is drawn yet."""

    fitted: Fitted
    split: Split
    columns: list[ColumnRows]
    effects: list[tuple[Array, Array]]  # mean and spread, of all columns but interactions, which come last
    found: dict[int, tuple[RowSlots, RowSlots | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, fitted: Fitted, rows: Rows, groups: Any) -> _TrainingBlocks:
        """Split the rows, and find their slots in every column."""
        own_target = fitted.settings.own_target
        known = any(column.has_known for column in fitted.columns)
        split = split_rows(own_target, rows, groups, seed=fitted.seed, hidden=fitted.hides, known=known)
        columns = [
            ColumnRows(own, rows.target, rows.weight, fitted._roles(column, rows))
            for column, own in zip(fitted.columns, fitted.slots_of(rows), strict=True)
        ]
        effects: list[tuple[Array, Array]] = []
        if rows.effects is not None:
            folds = read_folds(own_target, rows, groups, fitted.seed)
            with one_blas_thread():
                effects = rows.effects.without(folds, fitted.settings.temperature)
        return cls(fitted, split, columns, effects)

    def draw(self, k: int) -> Iterator[Array]:
        """Make draw k of every encoded column, (row, output) each."""
        fitted = self.fitted
        for number, (column, rows) in enumerate(zip(fitted.columns, self.columns, strict=True)):
            drawn, known = self._find(number, k)
            if column.is_flat:
                features = column.usual(len(drawn))
            else:
                features = fitted._draw(column, drawn, (Purpose.TRAIN, column.stream, k), known=known)
            whole = column.with_extra(features, rows.slots)
            if number < len(self.effects):
                mean, spread = self.effects[number]
                noise = stream(fitted.seed, Purpose.EFFECTS, column.stream, k).standard_normal(mean.shape)
                place = slice(features.shape[1], features.shape[1] + mean.shape[1])
                whole[:, place] = (rows.slots < column.index.unseen)[:, None] * (mean + spread * noise)
            yield fitted._blanked(column, rows.slots, whole)

    def _find(self, number: int, k: int) -> tuple[RowSlots, RowSlots | None]:
        """Find the posteriors that draw k of a column comes from, and those of outputs that are not drawn."""
        if number in self.found:
            return self.found[number]
        column, rows = self.fitted.columns[number], self.columns[number]
        drawn = training_slots(column, rows, self.split, k)
        known = known_slots(column, rows, self.split, drawn) if column.has_known else None
        # One draw has the slots of one column in memory at a time; more than one keep them all.
        if k > 0 and not self.split.changes(column):
            self.found[number] = drawn, known
        return drawn, known


@dataclass(frozen=True, slots=True, repr=False)
class TrainingDraws:
    """Features of the training rows, draw by draw: `features(k)` is draw k, the same at every call.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]
    >>> draws = SamplingBayesianEncoder(random_state=0).fit_draws(X, y)
    >>> for epoch in range(3):  # fresh draws for each epoch of a model of your own
    ...     features = draws.features(epoch)
    >>> features.shape
    (4, 1)
    """

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


class PosteriorFrames(abc.Mapping[Any, Any]):
    """The posteriors of each encoded column, as a frame that is made when it is read."""

    def __init__(self, encoding: Fitted) -> None:
        self._encoding = encoding
        self._columns = {column.name: column for column in encoding.columns}
        effects = [column.effects if encoding.settings.effects else None for column in encoding.evidence.columns]
        self._effects = dict(zip(self._columns, effects, strict=True))

    def __getitem__(self, name: Any) -> Any:
        """Frame of one column: a row per category, and per class if there are more than two."""
        if name not in self._columns:
            raise KeyError(f"{name!r} is not an encoded column; those are {list(self)}.")
        classes = self._encoding.evidence.classes
        column, effects = self._columns[name], self._effects[name]
        record = column.record(None if classes is None else list(classes))
        if effects is not None and column.extra is not None:
            slots, n_parts = column.possible(), effects.n_parts
            for number, kind in enumerate(effect_names(effects, self._encoding.evidence.inputs)):
                own = slice(number * n_parts, (number + 1) * n_parts)
                for heading, values in ((kind, column.extra.values), (f"{kind}_sd", column.extra.sd)):
                    record[heading] = values[slots, own].reshape(-1)
        return make_frame(record, self._encoding.library)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"posteriors of {list(self)}: [name] is a frame"


def interactions_frame(encoding: Fitted) -> Any:
    """Make a frame of interactions: their categories and, with "auto", their gain and whether they were kept."""
    found = encoding.evidence.candidates or [
        Candidate(column.name, np.nan, True) for column in encoding.evidence.columns if column.is_interaction
    ]
    sizes = {column.name: column.index.missing for column in encoding.evidence.columns}
    record = {
        "interaction": ["&".join(map(str, candidate.columns)) for candidate in found],
        "categories": np.array([sizes.get(candidate.columns, np.nan) for candidate in found], dtype=np.float64),
        "gain": np.array([candidate.gain for candidate in found], dtype=np.float64),
        "kept": [candidate.kept for candidate in found],
    }
    return make_frame(record, encoding.library)


def _settle_missing(column: ColumnEvidence, settings: Settings) -> Statistics:
    """Find the statistics of the categories, by the policy for missing values."""
    if settings.missing == "category":
        return column.statistics
    incomplete = np.flatnonzero(column.index.incomplete())
    settings.refuse_missing(float(column.statistics.count[incomplete].sum()), column.name)
    return column.statistics.without(incomplete)


def _warn_of_no_level(levels: Categories, values: Any, name: Any) -> None:
    """Warn of values that are no levels: adjacent levels would inform their prior."""
    unknown = levels.unseen_values(values)
    if unknown and levels.values:
        warn(
            f"Column {name!r} holds {unknown}, none of its levels: such rows are encoded by the prior. Name all "
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
