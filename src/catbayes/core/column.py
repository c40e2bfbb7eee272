"""A fitted column: its statistics, prior and posteriors, and the outputs that follow from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from catbayes.core.arrays import TINY
from catbayes.core.combinations import Index
from catbayes.core.config import Settings
from catbayes.core.evidence import ColumnEvidence, Evidence
from catbayes.core.extra_outputs import ExtraOutputs, extra_outputs, gives_categories, shows_many_categories
from catbayes.core.prior_uncertainty import inflation_by_prior, inflation_by_root, widen
from catbayes.core.random import Keys, Purpose, number_of, stream
from catbayes.core.selection import ColumnSpec
from catbayes.core.slots import RowSlots, Sampler, Slots
from catbayes.core.statistics import Statistics
from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes
from catbayes.errors import InputError
from catbayes.families import Family
from catbayes.families.arithmetic import no_signal
from catbayes.kinds.links import Links
from catbayes.mappings import Mapping, Mean
from catbayes.priors import Empirical

__all__ = ["FittedColumn", "StoredPrior"]

STRATA = 50
"""Quantiles of a posterior that an expectation without a closed form is averaged over."""

StoredPrior = tuple[Family, Family | tuple[float, ...]]
"""The prior of a column and that of slots without rows; or the root of linked slots, and the strengths of the links."""
NOTHING = Mean(labels=(), select=slice(0, 0))
"""The mapping of a column whose category ids replace its posterior."""


@dataclass(frozen=True, slots=True)
class FittedColumn(ColumnSpec):
    """A fitted column or interaction: its statistics, prior and posteriors, and the outputs of every slot.

    Outputs are those of the mapping, followed by those that are no function of θ: effects and category ids.
    """

    index: Index
    statistics: Statistics
    prior: Family  # of a category without data; where categories are linked, the root that they vary about
    slot_priors: Family  # what slots without rows are drawn from: one for all, or one for each slot if they are linked
    links: Links | None
    posterior: Slots
    mapping: Mapping  # bound to the prior
    temperature: float | None  # of the draws; None where it goes by count
    expectation: Array  # (slot, output)
    stream: int  # the number of its random streams, whatever encoder of this seed it is in
    extra: ExtraOutputs | None
    has_known: bool  # whether some outputs are functions of the posterior itself, which nothing random hides
    is_silent: bool  # whether it has no signal: the likelihood rises up to the largest strength
    is_flat: bool  # whether therefore all outputs of the mapping are the same
    shows_many_categories: bool  # whether the outputs show which one of many categories a row has
    prior_is_estimated: bool  # from the same statistics, so that it is uncertain

    @classmethod
    def fit(
        cls,
        seen: ColumnEvidence,
        evidence: Evidence,
        settings: Settings,
        family: type[Family],
        stored: Any = None,  # StoredPrior
    ) -> Self:
        """Estimate the prior of a column, unless it is stored, update it, and compute the outputs of every slot."""
        index, statistics = seen.index, _by_policy(seen, settings)
        # A column without signal has nothing to estimate a prior from: that of the target itself.
        informative = statistics if statistics.varies() else evidence.total
        links, linked = None, None
        if settings.selection.kinds and not seen.is_interaction:
            linked = settings.selection.linked(seen, evidence.columns, list(evidence.inputs))
        if stored and isinstance(stored[1], Family) != (linked is None):
            raise ValueError(f"the prior of column {seen.name!r} is none of its kind")
        if linked is None:
            prior, slot_priors = stored or settings.prior.fit(family, informative, evidence.row_units)
            posterior = Slots.update(prior, statistics, slot_priors)
        else:
            index, peers = linked
            statistics = statistics.place(index.moved(seen.index), index.n_slots)
            others = [_by_policy(peer, settings).place(index.moved(peer.index), index.n_slots) for peer in peers]
            if index.kind.links.joins and statistics.varies():  # an engine may have counted every spelling by itself
                informative = statistics
            links = _fit_links(index, statistics, informative, others, evidence, settings, family, stored)
            prior, slot_priors, posterior = _update_linked(links, index, statistics)

        labels = None if evidence.classes is None else [str(label) for label in evidence.classes]
        mapping, extra = settings.mapping.bind(prior, labels), None
        if settings.effects or settings.keep_categories:
            extra = extra_outputs(seen, index, evidence, settings, labels)
            # As many categories as the posterior has outputs: then it adds nothing to them.
            if gives_categories(seen, evidence, settings) and seen.index.missing <= len(mapping.labels):
                mapping = NOTHING
        has_known = mapping.known(posterior.family.take(slice(0, 1))) is not None
        is_silent = bool(prior.strength >= 0.99 * no_signal(statistics.count.sum()))
        expectation = _expect(mapping, posterior, settings.temperature)
        is_flat = is_silent and links is None and not has_known
        if is_flat:  # outputs differ by what an endless strength leaves, and trees would split on it
            expectation = np.repeat(expectation[[index.unseen]], index.n_slots, axis=0)
        return cls(
            seen.position,
            seen.name,
            seen.parts,
            index,
            statistics,
            prior,
            slot_priors,
            links,
            posterior,
            mapping,
            settings.temperature,
            expectation=expectation if extra is None else extra.append_to(expectation),
            stream=stream_of(seen),
            extra=extra,
            has_known=has_known,
            is_silent=is_silent,
            is_flat=is_flat,
            shows_many_categories=shows_many_categories(seen, evidence, settings),
            prior_is_estimated=settings.prior.learnt,
        )

    # --------------------------------------------------------------------------------------- posteriors

    @property
    def family(self) -> Family:
        """The posterior of every slot."""
        return self.posterior.family

    def updated(self, statistics: Statistics, others: Sequence[Statistics] = ()) -> Slots:
        """Update the prior by other statistics, such as those of the other folds.

        Strengths stay, and what linked categories have in common is estimated from these statistics. `others` are
        those of the same categories in other columns.
        """
        if self.links is None:
            return Slots.update(self.prior, statistics, self.slot_priors)
        return _update_linked(self.links.given(others), self.index, statistics)[2]

    def leave_one_out(self, at: Codes, target: Target, weight: Array | None) -> RowSlots:
        """Find the posteriors of training rows, each without the row's own target."""
        n_slots, n_classes = len(self.posterior.count), target.n_classes
        if weight is not None or not 0 < n_slots * n_classes**2 < len(at):
            return RowSlots(self.posterior, at, target.values, weight, self.slot_priors)
        # A category has only one such posterior for each class: compute them once, and look them up.
        one, prior = np.ones(n_slots), self.slot_priors
        tables = [self.posterior.without(np.full(n_slots, label), one, prior) for label in range(n_classes)]
        return RowSlots(Slots.join(tables), (at + n_slots * target.values).astype(np.int32))

    def widened(self) -> Slots:
        """Widen the posteriors by the uncertainty of their prior, where that was estimated.

        A family that has no other strengths than its own takes the prior as known.
        """
        family = self.family
        if not self.prior_is_estimated or type(family).worth is Family.worth:
            return self.posterior
        if self.links is None:
            ratio = inflation_by_prior(self.prior, self.statistics, family)
        else:
            ratio = inflation_by_root(self.links, self.prior, self.index, self.statistics, family)
        return replace(self.posterior, family=widen(family, ratio))

    def extended(self, index: Index) -> Self:
        """Add slots that have no rows, to a column whose categories are linked."""
        assert self.links is not None  # or a new slot would be as good as unseen
        moved = index.moved(self.index)
        statistics = self.statistics.place(moved, index.n_slots)
        prior, slot_priors, posterior = _update_linked(self.links, index, statistics)
        expectation, extra = _expect(self.mapping, posterior, self.temperature), None
        if self.extra is not None:
            before = np.full(index.n_slots, self.index.unseen)
            before[moved] = np.arange(len(moved))
            extra = self.extra.take(before)
            expectation = extra.append_to(expectation)
        changed: dict[str, Any] = {"prior": prior, "slot_priors": slot_priors, "posterior": posterior}
        return replace(self, index=index, statistics=statistics, extra=extra, expectation=expectation, **changed)

    # ------------------------------------------------------------------------------------------ outputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """What the outputs are called, after the name of the column."""
        return (*self.mapping.names(), *self.extra_names)

    @property
    def extra_names(self) -> tuple[str, ...]:
        """What the outputs are called that are no functions of θ."""
        return () if self.extra is None else self.extra.names

    def with_extra(self, features: Array, slots: Any = slice(None)) -> Array:
        """Append the outputs that are no functions of θ to those of the mapping, (…, row, output)."""
        return features if self.extra is None else self.extra.append_to(features, slots)

    def flattened(self, outputs: Array) -> Array:
        """Make outputs of the mapping the same for all rows or slots, (…, output), if the column is flat."""
        if not self.is_flat:
            return outputs
        usual = self.expectation[self.index.unseen]
        return np.where(np.arange(len(usual)) < len(self.mapping.names()), usual, outputs)

    def draw(
        self,
        rows: RowSlots,
        sampler: Sampler,
        *,
        seed: int,
        key: tuple[int, ...],
        identity: Keys | None = None,
        known: RowSlots | None = None,
    ) -> Array:
        """Draw θ for every row and map it, (row, output).

        Outputs that are functions of the posterior are those of `known`, or of the rows' own posteriors.
        """
        features = rows.draw(self.mapping.drawn, self.temperature, sampler, seed=seed, key=key, identity=identity)
        if not self.has_known:
            return features
        known = rows if known is None else known
        table = self.mapping.known(known.slots.family)
        return features if table is None else np.concatenate([features, table[known.at]], axis=1)

    def strata(self, n_draws: int, *, seed: int, in_full: bool = False, slots: Any = None) -> Array:
        """Draw all outputs of every slot, or of some, by strata, to predict with, (draw, slot, output).

        `in_full`, draws are those of the whole posterior, whatever the temperature of the training, with the
        uncertainty of the prior and of effects. Columns without signal have no such draws: their spread is arbitrary,
        and a scaler before a model would enlarge it.
        """
        in_full = in_full and not self.is_silent
        posterior = self.widened() if in_full else self.posterior
        posterior = posterior if slots is None else posterior.take(slots)
        random = stream(seed, Purpose.PREDICT, self.stream, n_draws)
        theta = posterior.strata(n_draws, 1.0 if in_full else self.temperature, random)
        drawn = self.mapping.outputs(theta, posterior.family)
        if self.extra is None:
            return drawn
        return self.extra.append_to_draws(drawn, slice(None) if slots is None else slots, in_full, random)


def _by_policy(column: ColumnEvidence, settings: Settings) -> Statistics:
    """Find the statistics of the categories, by the policy for missing values."""
    if settings.missing == "category":
        return column.statistics
    incomplete = np.flatnonzero(column.index.incomplete())
    settings.refuse_missing(float(column.statistics.count[incomplete].sum()), column.name)
    return column.statistics.without(incomplete)


def _fit_links(
    index: Index,
    statistics: Statistics,
    informative: Statistics,
    others: Sequence[Statistics],
    evidence: Evidence,
    settings: Settings,
    family: type[Family],
    stored: Any,  # StoredPrior | None
) -> Links:
    """Estimate the strengths of the links between categories, unless they are stored."""
    if not family.linkable:
        raise InputError(
            f"{family.__name__} does not support hierarchies and kinds. Leave those out, or choose another family."
        )
    links: type[Links] = index.kind.links
    if stored:
        root, strengths = stored
        return links.of(index, root, strengths, others)
    priors = settings.prior.fit(family, informative, evidence.row_units)
    return links.fit(index, statistics, priors, isinstance(settings.prior, Empirical), others)


def _update_linked(links: Links, index: Index, statistics: Statistics) -> tuple[Family, Family, Slots]:
    """Estimate the root, the prior of each slot from those that it is linked to, and the posteriors."""
    slot_priors, variance, root = links.slot_priors(index, statistics)
    posterior = Slots.update(slot_priors, statistics, slot_priors)
    return root, slot_priors, Slots(links.constrain(posterior.family, root, index), statistics.count, variance)


def stream_of(seen: ColumnEvidence) -> int:
    """The number of a column's random streams, by its name; in an array, by its position and its counts.

    Two encoders of one seed, each for a column of its own, would otherwise have the same numbers.
    Counts tell the columns of arrays apart, which are all at position 0 then: as shares of the rows, rounded, which do
    not depend on how the rows were added up, and sorted, because what the categories are called changes nothing. Arrays
    of equal counts stay alike, because means do depend on how they were added up: names, or seeds, tell those apart.
    """
    names = seen.name if isinstance(seen.name, tuple) else (seen.name,)
    if all(isinstance(name, str) for name in names):
        return number_of(json.dumps(seen.name).encode())
    count = seen.statistics.count
    shares = np.sort(np.round(count / max(count.sum(), TINY), 6))
    return number_of(f"{seen.position} ".encode() + shares.astype("<f8").tobytes())


def _expect(mapping: Mapping, posterior: Slots, temperature: float | None) -> Array:
    """All outputs of every slot, the drawn ones by their expectation, (slot, output)."""
    factor, family = posterior.factor(temperature), posterior.family
    # Closed forms are those of the whole posterior.
    closed = mapping.expected(family) if mapping.quadratic or np.isin(factor, (0.0, 1.0)).all() else None
    if closed is None:
        return np.asarray(mapping.outputs(posterior.strata(STRATA, temperature, None), family).mean(axis=0))
    at_mean = mapping.drawn(family.mean())
    return mapping.joined(at_mean + factor[:, None] ** 2 * (closed - at_mean), family)
