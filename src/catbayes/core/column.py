"""A fitted column: its statistics, prior and posteriors, and the outputs that follow from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from catbayes.core.arrays import TINY
from catbayes.core.combinations import Index
from catbayes.core.evidence import ColumnEvidence
from catbayes.core.extra_outputs import ExtraOutputs
from catbayes.core.prior_uncertainty import inflation_by_mean, inflation_by_prior, prior_share, widen
from catbayes.core.random import Keys, Purpose, number_of, stream
from catbayes.core.selection import ColumnSpec
from catbayes.core.slots import RowSlots, Sampler, Slots
from catbayes.core.statistics import Moments, Statistics, Tally
from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes
from catbayes.families import Family
from catbayes.families.arithmetic import no_signal
from catbayes.kinds.kind import Kind
from catbayes.kinds.links import Links, centre_of
from catbayes.mappings import Mapping

__all__ = ["FittedColumn", "draw_features", "links_of"]

EXPECTATION_DRAWS = 100
EXPECTATION_STRATA = 50


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
    extra: ExtraOutputs | None = None
    shows_rare: bool = False  # whether the model sees the ids of its many categories
    prior_is_estimated: bool = False  # from the same statistics

    # --------------------------------------------------------------------------------------- posteriors

    def updated(self, statistics: Statistics, others: Sequence[Statistics] = ()) -> Slots:
        """Update the prior by other statistics, such as those of the other folds.

        Strengths stay, and what linked categories have in common is estimated from these statistics. `others` are
        those of the same categories in other columns.
        """
        if self.links is None:
            return Slots.update(self.prior, statistics, self.slot_priors)
        return update_linked(self.links.given(others), self.index, statistics)[2]

    def widened(self) -> Slots:
        """Widen the posteriors by the uncertainty of their prior, where that was estimated.

        A family that has no other strengths than its own takes the prior as known.
        """
        family = self.posterior.family
        if not self.prior_is_estimated or type(family).worth is Family.worth:
            return self.posterior
        if self.links is None:
            ratio = inflation_by_prior(self.prior, self.statistics, family)
        else:
            ratio = _uncertainty_of_root(self.links, self.prior, self.index, self.statistics, family)
        return replace(self.posterior, family=widen(family, ratio))

    def extended(self, index: Index, seed: int) -> Self:
        """Add slots that have no rows, to a column whose categories are linked."""
        assert self.links is not None  # or a new slot would be as good as unseen
        moved = index.moved(self.index)
        statistics = self.statistics.place(moved, index.n_slots)
        prior, slot_priors, posterior = update_linked(self.links, index, statistics)
        before = np.full(index.n_slots, self.index.unseen)
        before[moved] = np.arange(len(moved))
        extra = None if self.extra is None else self.extra.take(before)
        expectation = expect(self.mapping, posterior, self.temperature, seed=seed, stream_number=self.stream)
        if extra is not None:
            expectation = extra.append_to(expectation)
        return replace(
            self,
            index=index,
            statistics=statistics,
            prior=prior,
            slot_priors=slot_priors,
            posterior=posterior,
            extra=extra,
            expectation=expectation,
        )

    @property
    def family(self) -> Family:
        """The posterior of every slot."""
        return self.posterior.family

    @property
    def is_silent(self) -> bool:
        """Whether the column has no signal, so that its prior is as strong as we please, and its spread as small."""
        return bool(self.prior.strength >= 0.99 * no_signal(self.statistics.count.sum()))

    @property
    def is_flat(self) -> bool:
        """Whether the column has no signal, so that all outputs of its mapping are the same.

        They differ by what an endless strength leaves, and trees would split on it.
        """
        return self.is_silent and self.links is None and not self.has_known

    @property
    def has_known(self) -> bool:
        """Whether some outputs are functions of the posterior itself, which nothing random hides."""
        return self.mapping.known(self.family.take(slice(0, 1))) is not None

    def variances(self) -> tuple[Array, float]:
        """Compute the variance of the draws of each slot, and that of the means of rows."""
        family, count = self.family, self.statistics.count
        if self.is_silent:
            return np.zeros(len(count)), 0.0
        mean, variance = family.mean()[:, family.location], family.variance()[:, family.location]
        between = ((mean - np.average(mean, axis=0, weights=count)) ** 2).sum(axis=1)
        variance = np.where(np.isfinite(variance), variance, 0.0).sum(axis=1)
        within = self.posterior.factor(self.temperature) ** 2 * variance
        return within, float(np.average(between, weights=count))

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

    def usual(self, n_rows: int) -> Array:
        """Repeat the outputs of the mapping of a category without data."""
        usual = self.expectation[self.index.unseen, : len(self.mapping.names())]
        return np.broadcast_to(usual, (n_rows, len(usual)))

    def flattened(self, outputs: Array) -> Array:
        """Make outputs of the mapping the same for all rows or slots, (…, output), if the column is flat."""
        if not self.is_flat:
            return outputs
        usual = self.expectation[self.index.unseen]
        return np.where(np.arange(len(usual)) < len(self.mapping.names()), usual, outputs)

    def leave_one_out(self, slots: Codes, target: Target, weight: Array | None) -> RowSlots:
        """Find the posteriors of training rows, each without the row's own target."""
        about = (target.values, weight, self.slot_priors, target.n_classes)
        return RowSlots.leave_one_out(self.posterior, slots, *about)

    def strata(self, n_draws: int, *, seed: int, in_full: bool = False, slots: Any = None) -> Array:
        """Draw all outputs of every slot, or of some, by strata, to predict with, (draw, slot, output).

        `in_full`, draws are those of the whole posterior, whatever the training had, with the uncertainty of the prior
        and of effects. Columns without signal have no such draws: how far theirs lie apart is of our making, and a
        scaler in front of a model would make much of it.
        """
        in_full = in_full and not self.is_silent
        posterior = self.widened() if in_full else self.posterior
        posterior = posterior if slots is None else posterior.take(slots)
        random = stream(seed, Purpose.PREDICT, self.stream, n_draws)
        theta = posterior.strata(n_draws, 1.0 if in_full else self.temperature, random)
        drawn = self.mapping.outputs(theta, posterior.family)
        if self.extra is None:
            return drawn
        return self.extra.append_to_draws(drawn, slice(None) if slots is None else slots, in_full=in_full)

    def record(self, labels: Sequence[Any] | None, coverage: float = 0.9) -> dict[str, Any]:
        """List the categories (and classes), a row each, as columns of a frame.

        `raw_mean` is the observed mean, `mean` that of the posterior, `sd`, `lower` and `upper` its uncertainty (see
        `widened`), and `shrinkage` the share of the mean that comes from the prior.
        """
        index, count = self.index, self.statistics.count
        slots = self.possible()
        kind = np.full(index.n_slots, "seen", dtype=object)
        kind[[index.missing, index.unseen]] = ["missing", "unseen"]
        kind[index.unseen + 1 :] = "parent"
        chosen, strength = self.widened().family.take(slots), self.posterior.family.strength[slots]
        location, tail = chosen.location, (1.0 - coverage) / 2.0
        raw = chosen.observed(self.statistics)[slots]
        columns = {
            "raw_mean": np.where(count[slots][:, None] > 0, raw, np.nan),
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
            above = index.up()[slots]
            record["parent"] = [values[slot] for slot in above for _ in range(width)]  # of what is unseen, None
        if width > 1:
            record["class"] = [label for _ in slots for label in (labels or range(width))]
        record["count"] = np.repeat(count[slots], width)
        record |= {name: column.reshape(-1) for name, column in columns.items()}
        share = np.where(count[slots] > 0, (strength - count[slots]) / strength, 1.0)
        return record | {"shrinkage": np.repeat(share, width)}

    def possible(self) -> Any:
        """Find the slots that rows may have: all but that of missing values, if there were none."""
        slots = np.arange(self.index.n_slots)
        return slots[(slots != self.index.missing) | (self.statistics.count > 0)]


def links_of(index: Index) -> type[Links] | None:
    """Find how the slots of an index are linked; None if they all have one prior."""
    kind: Kind | None = index.kind
    return None if kind is None else kind.links


def update_linked(links: Links, index: Index, statistics: Statistics) -> tuple[Family, Family, Slots]:
    """Estimate the root, the prior of each slot from those that it is linked to, and the posteriors."""
    slot_priors, variance, root = links.slot_priors(index, statistics)
    posterior = Slots.update(slot_priors, statistics, slot_priors)
    return root, slot_priors, Slots(links.constrain(posterior.family, root, index), statistics.count, variance)


def _uncertainty_of_root(links: Links, root: Family, index: Index, statistics: Statistics, posterior: Family) -> Array:
    """Compute the variance of each posterior with the uncertainty of the root's mean, as a multiple of that without.

    Strengths are taken as known. The prior of a slot moves with the root by as much as it does not move with the rows
    of others, were these all moved alike.
    """
    before, after, way = _moved(statistics, root)
    priors = [links.slot_priors(index, rows).priors.mean()[:, posterior.location] for rows in (before, after)]
    by_rows = (priors[1] - priors[0])[:, -1] / way
    share = prior_share(posterior, statistics.count) * np.clip(1.0 - by_rows, 0.0, 1.0)
    return inflation_by_mean(posterior, statistics.count, share)


def _moved(statistics: Any, root: Any) -> tuple[Any, Any, float]:
    """As many rows in every slot, all at the mean of a root, and all at another place; and the way from one to other.

    Classes move from the last to the first; numbers that cannot be negative go half of the way to zero.
    """
    count, centre = statistics.count, centre_of(root)
    if isinstance(statistics, Tally):
        first = np.eye(len(centre))[0]
        return Tally(count[:, None] * centre), Tally(count[:, None] * first), -float(centre[-1])
    signed = root.support is None or root.log_target
    way = -max(abs(float(centre[0])) / 2.0, float(signed))
    here, there = (Moments(count, np.full_like(count, place), 0.0 * count) for place in (centre[0], centre[0] + way))
    return here, there, way


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


def draw_features(
    rows: RowSlots,
    mapping: Mapping,
    temperature: float | None,
    sampler: Sampler,
    *,
    seed: int,
    key: tuple[int, ...],
    identity: Keys | None = None,
    known: RowSlots | None = None,
) -> Array:
    """Draw θ for every row and map it, (row, output).

    Outputs that are no function of θ are those of the posteriors that are `known`, or of the rows' own.
    """
    features: Array | None = None
    for some, theta in rows.draw(temperature, sampler, seed=seed, key=key, identity=identity):
        mapped = mapping.drawn(theta)
        if features is None:
            features = np.empty((len(rows), mapped.shape[1]), order="F")
        features[some] = mapped
    assert features is not None
    if known is None and rows.target is None:
        known = rows
    table = None if known is None else mapping.known(known.slots.family)
    return features if known is None or table is None else np.concatenate([features, table[known.at]], axis=1)


def expect(mapping: Mapping, posterior: Slots, temperature: float | None, *, seed: int, stream_number: int) -> Array:
    """All outputs of every slot, the drawn ones by their expectation, (slot, output)."""
    factor, family = posterior.factor(temperature), posterior.family
    if mapping.quadratic or np.isin(factor, (0.0, 1.0)).all():
        at_mean = mapping.drawn(family.mean())
        expected = at_mean + factor[:, None] ** 2 * (_in_full(mapping, family, seed, stream_number) - at_mean)
        return mapping.joined(expected, family)
    # Closed forms are those of the whole posterior.
    theta = posterior.strata(EXPECTATION_STRATA, temperature, stream(seed, Purpose.EXPECTATION, stream_number))
    return np.asarray(mapping.outputs(theta, family).mean(axis=0))


def _in_full(mapping: Mapping, family: Family, seed: int, stream_number: int) -> Array:
    """E f(θ) over the whole posterior, (slot, output)."""
    expected = mapping.expected(family)
    if expected is not None:
        return expected
    every = RowSlots.each(Slots(family, np.zeros(len(family.strength))))
    keys = ((Purpose.EXPECTATION, stream_number, number) for number in range(EXPECTATION_DRAWS))
    draws = (draw_features(every, mapping, 1.0, "exact", seed=seed, key=key) for key in keys)
    return np.asarray(sum(draws) / EXPECTATION_DRAWS)
