"""A fitted encoder as a value: its settings and columns, and how rows are encoded by them."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catbayes.core.arrays import TINY, one_blas_thread
from catbayes.core.categories import Categories
from catbayes.core.column import FittedColumn, StoredPrior
from catbayes.core.combinations import Index
from catbayes.core.config import Settings
from catbayes.core.evidence import Candidate, Evidence, settle_family
from catbayes.core.extra_outputs import effect_names
from catbayes.core.layout import Layout
from catbayes.core.random import Keys, Purpose
from catbayes.core.slots import RowSlots
from catbayes.core.table import make_frame
from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes
from catbayes.effects.slopes import Slope
from catbayes.errors import InputError, warn
from catbayes.families import Family

__all__ = ["Fitted", "PosteriorFrames", "interactions_frame", "posterior_record"]


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
        with one_blas_thread():
            columns = tuple(
                FittedColumn.fit(column, evidence, settings, family, prior)
                for column, prior in zip(evidence.columns, priors, strict=True)
            )
        layout = Layout.of(len(evidence.inputs), columns, settings.selection.dropped(list(evidence.inputs)))
        if settings.effects:
            layout = replace(layout, slopes=tuple(_slope_places(layout, columns, evidence)))
        return cls(settings, evidence, columns, family, layout, seed, library)

    # ---------------------------------------------------------------------------------------------- slots

    def extended(self, column_of: Callable[[int], Any]) -> Fitted:
        """Add slots for unseen values of new rows, where these are linked to seen ones."""
        if not self.settings.selection.kinds:
            return self

        columns = []
        for column in self.columns:
            kind = column.index.kind
            more = column.index if kind is None else kind.extended(column.index, column_of(column.parts[0]))
            columns.append(column if more is column.index else column.extended(more))
        return replace(self, columns=tuple(columns))

    def slots(self, column_of: Callable[[int], Any]) -> list[Codes]:
        """Find the slot of each row in every column, by the policies for missing and unseen values.

        `column_of` gives the column of the table that has a position. Each one is read once.
        """
        codes: dict[tuple[int, int], Codes] = {}
        found = []
        for column in self.columns:
            index, parts = column.index, []
            for part, source in zip(column.parts, index.sources, strict=True):
                if (part, id(source)) not in codes:
                    codes[part, id(source)] = self._read(source, column_of(part), self.evidence.inputs[part])
                parts.append(codes[part, id(source)])
            slots = index.slots(parts)
            if index.kind is not None and index.kind.advice_on_unseen and self.settings.unseen == "prior":
                _warn_of_no_level(index, slots, column_of(column.position), column.name)
            found.append(self.admitted(column, slots))
        return found

    def _read(self, categories: Categories, values: Any, name: Any) -> Codes:
        """Find the slots of the rows of a column of the table; errors where a policy calls for one."""
        codes = categories.codes(values)
        if self.settings.missing == "error":
            self.settings.refuse_missing(int((codes == categories.missing).sum()), name)
        unseen = codes == categories.unseen
        if unseen.any() and self.settings.unseen == "error":
            raise InputError(
                f"Column {name!r} holds categories that fit never saw, such as {categories.unseen_values(values)}. "
                'Fit on them, or set unseen="prior" to encode them by the prior.'
            )
        if unseen.all():
            _warn_of_other_types(categories, values, name)
        return codes

    def admitted(self, column: FittedColumn, slots: Codes) -> Codes:
        """Apply the policy for missing values: categories, or as if unseen, which in a hierarchy is one level up."""
        if self.settings.missing in ("category", "nan"):
            return slots
        incomplete, up = column.index.incomplete(), column.index.up()
        while incomplete[slots].any():
            slots = np.where(incomplete[slots], up[slots], slots)
        return slots

    def blanked(self, column: FittedColumn, slots: Codes, features: Array) -> Array:
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
            yield self.blanked(column, own, column.expectation.take(own, axis=0))

    def draws(
        self,
        slots: Sequence[Codes],
        n_draws: int,
        *,
        seed: int | None = None,
        identity: Keys | None = None,
        target: Target | None = None,
        weight: Array | None = None,
    ) -> list[list[Array]]:
        """Draw features of rows, (row, output) for every draw of every column.

        The target of rows that were trained on is taken out of each row's posterior analytically.
        """
        seed, purpose = self.seed if seed is None else seed, Purpose.SAMPLE if target is None else Purpose.TRAIN
        found = []
        for column, own in zip(self.columns, slots, strict=True):
            rows = RowSlots(column.posterior, own) if target is None else column.leave_one_out(own, target, weight)
            blocks = []
            for k in range(n_draws):
                key = (purpose, column.stream, k)
                block = column.draw(rows, self.settings.sampler, seed=seed, key=key, identity=identity)
                blocks.append(self.blanked(column, own, column.with_extra(block, own)))
            found.append(blocks)
        return found

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
        found, most = [], TINY
        for column in self.columns:
            family, count = column.family, column.statistics.count
            variance = np.zeros(len(count))
            if not column.is_silent:
                mean = family.mean()[:, family.location]
                between = ((mean - np.average(mean, axis=0, weights=count)) ** 2).sum(axis=1)
                most = max(most, float(np.average(between, weights=count)))
                if column.mapping.names():
                    own = family.variance()[:, family.location]
                    variance = np.where(np.isfinite(own), own, 0.0).sum(axis=1)
            found.append(column.posterior.factor(column.temperature) ** 2 * variance)
        return [np.sqrt(variance / most) for variance in found]


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


def _warn_of_no_level(index: Index, slots: Codes, values: Any, name: Any) -> None:
    """Warn of values that are no levels: adjacent levels would inform their prior."""
    levels = index.sources[0]
    unknown = levels.unseen_values(values) if (slots == levels.unseen).any() else []
    if unknown and levels.values:
        warn(
            f"Column {name!r} holds {unknown}, none of its levels: such rows are encoded by the prior. "
            f"{index.kind.advice_on_unseen}"
        )


def _warn_of_other_types(categories: Categories, values: Any, name: Any) -> None:
    """Warn where every value is unseen because it is of another type, as "7" is for 7, or .1 in single precision."""
    numbers = np.array([cell for cell in categories.values if isinstance(cell, float)], dtype=np.float64)
    rounded = {*numbers.astype(np.float32).tolist()} - {*numbers.tolist()}

    def kind(cell: Any) -> str:
        if isinstance(cell, int | float):
            return "float32" if cell in rounded else "number"
        zoned = getattr(cell, "tzinfo", None) is not None
        return f"{type(cell).__name__} with a time zone" if zoned else type(cell).__name__

    known, new = ({*map(kind, cells)} for cells in (categories.values, categories.unseen_values(values)))
    if known and new and not known & new:
        warn(
            f"Column {name!r} held {', '.join(sorted(known))} values at fit and holds {', '.join(sorted(new))} values "
            "now: every one of them counts as unseen. Convert the column to its former type."
        )


# ------------------------------------------------------------------------------------------------- as frames


class PosteriorFrames(abc.Mapping[Any, Any]):
    """The posteriors of each encoded column, as a frame that is made when it is read."""

    def __init__(self, encoding: Fitted) -> None:
        self._encoding = encoding
        self._places = {column.name: place for place, column in enumerate(encoding.columns)}

    def __getitem__(self, name: Any) -> Any:
        """Frame of one column: a row per category, and per class if there are more than two."""
        if name not in self._places:
            raise KeyError(f"{name!r} is not an encoded column; those are {list(self)}.")
        encoding, evidence = self._encoding, self._encoding.evidence
        column, effects = encoding.columns[self._places[name]], evidence.columns[self._places[name]].effects
        record = posterior_record(column, evidence.classes)
        if encoding.settings.effects and effects is not None and column.extra is not None:
            slots, n_parts = _possible_slots(column), effects.n_parts
            units = [1.0, *(slope.unit for slope in effects.slopes)]  # slopes are shown for one unit of their number
            for number, kind in enumerate(effect_names(effects, evidence.inputs)):
                own = slice(number * n_parts, (number + 1) * n_parts)
                for heading, values in ((kind, column.extra.values), (f"{kind}_sd", column.extra.sd)):
                    shown = values[slots, own] / units[number]
                    if n_parts == 1 and evidence.classes is not None and len(record["count"]) == 2 * len(shown):
                        shown = np.hstack([shown if heading.endswith("_sd") else -shown, shown])  # of both classes
                    record[heading] = shown.reshape(-1)
        return make_frame(record, encoding.library)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"posteriors of {list(self)}: [name] is a frame"


def posterior_record(column: FittedColumn, classes: Any, coverage: float = 0.9) -> dict[str, Any]:
    """List the categories (and classes) of a column, a row each, as columns of a frame.

    `raw_mean` is the observed mean, `mean` that of the posterior, `sd`, `lower` and `upper` its uncertainty (see
    `FittedColumn.widened`), and `shrinkage` the share of the mean that comes from the prior.
    """
    index, slots = column.index, _possible_slots(column)
    count, strength = column.statistics.count[slots], column.family.strength[slots]
    kind = np.full(index.n_slots, "seen", dtype=object)
    kind[[index.missing, index.unseen]] = ["missing", "unseen"]
    kind[index.unseen + 1 :] = "parent"
    chosen = column.widened().family.take(slots)
    location, tail = chosen.location, (1.0 - coverage) / 2.0
    columns = {
        "raw_mean": np.where(count[:, None] > 0, chosen.observed(column.statistics)[slots], np.nan),
        "mean": chosen.mean()[:, location],
        "sd": np.sqrt(chosen.variance()[:, location]),
        "lower": chosen.quantile(tail)[:, location],
        "upper": chosen.quantile(1.0 - tail)[:, location],
    }
    width = columns["mean"].shape[1]
    values = index.labels()
    record: dict[str, Any] = {
        "category": [values[slot] for slot in slots for _ in range(width)],
        "kind": np.repeat(kind[slots], width).tolist(),
    }
    if index.kind is not None and index.kind.names_parents:
        record["parent"] = [values[slot] for slot in index.up()[slots] for _ in range(width)]  # None of what is unseen
    if width > 1:
        record["class"] = [*(range(width) if classes is None else classes)] * len(slots)
    record["count"] = np.repeat(count, width)
    record |= {name: column.reshape(-1) for name, column in columns.items()}
    share = np.where(count > 0, (strength - count) / strength, 1.0)
    return record | {"shrinkage": np.repeat(share, width)}


def _possible_slots(column: FittedColumn) -> Codes:
    """Find the slots that rows may have: all but that of missing values, if there were none."""
    slots = np.arange(column.index.n_slots)
    return np.flatnonzero((slots != column.index.missing) | (column.statistics.count > 0))


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
