"""Draws of θ, mapped to features: exact, or by the large-sample normal of Appendix B, from streams of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from catbayes.core.draw_scale import Spread, leave_one_out
from catbayes.core.posteriors import ColumnPrior, Entries
from catbayes.core.random import chunks, stream
from catbayes.core.random_keys import KeyedRandom, Keys
from catbayes.core.validation import Array, Codes, check_number, check_option, is_number
from catbayes.errors import InputError
from catbayes.families import Normals, Random
from catbayes.mappings import Mapping

__all__ = ["Draws", "Found", "LeftOut", "draw", "draw_strata", "resolve_draws"]

Per = Literal["row", "category"]
Sampler = Literal["auto", "exact", "normal"]

NORMAL_TOLERANCE = 0.005
"""The sampler "auto" takes a normal where its Kolmogorov distance to the posterior is bounded by this."""

HIDING_TEMPERATURE = 0.3
"""Below this, draws are too narrow to hide that a row's own target was taken out in closed form: on Adult and Amazon
Employee Access, LightGBM and a forest lost nothing at 0.3, little at 0.15 and up to 0.05 of AUC at 0.05; the value has
a margin, because tables differ."""

_EXACT, _NORMAL = 0, 1


@dataclass(frozen=True, slots=True)
class Draws:
    """How θ is drawn: how far from the posterior mean, how often, and by what.

    Parameters
    ----------
    temperature : "estimate", or float from 0 to 1
        Spread of the draws about the posterior mean: 1 is the posterior, as in the paper, 0 its mean. "estimate" goes
        by count, √(n / (n + ν)) for n rows and a prior worth ν: as the mean itself would vary from sample to sample,
        which is what a model meets in new categories. A category of which little is known is then near the prior's
        mean, and not anywhere in the prior.
    per : "row", "category"
        A fresh θ for each row (the paper), or one for all rows of a category (in training, of a category and fold).
    sampler : "auto", "exact", "normal"
        "normal" is the large-sample approximation of Appendix B; "auto" uses it, corrected for skewness, for
        categories of which so much is known that its error in distribution is below 0.005, and exact draws for the
        others.

    Examples
    --------
    >>> from catbayes import Draws, SamplingBayesianEncoder
    >>> paper = SamplingBayesianEncoder(draws=Draws(temperature=1.0, sampler="exact"))
    """

    temperature: float | Literal["estimate"] = "estimate"
    per: Per = "row"
    sampler: Sampler = "auto"

    def check(self) -> None:
        """Require usable values."""
        check_option("draws.per", self.per, get_args(Per))
        check_option("draws.sampler", self.sampler, get_args(Sampler))
        if isinstance(self.temperature, str):
            check_option("draws.temperature", self.temperature, ("estimate",))
        else:
            check_number("draws.temperature", self.temperature, 0.0, 1.0)

    @property
    def spread(self) -> Spread:
        """How far draws lie from the mean."""
        return Spread(None if isinstance(self.temperature, str) else float(self.temperature))

    def hide(self, excess: float) -> bool:
        """Tell whether draws hide a target that was taken out in closed form.

        Only if every row has a draw of its own, spread at least HIDING_TEMPERATURE times as wide as n rows of weight 1
        would have it. Rows of weight w shift the posterior w times as far and spread it √w as wide; counts that vary
        more than Poisson's shift it further than it is spread. `excess` is the product of the two.
        """
        temperature = 1.0 if isinstance(self.temperature, str) else self.temperature
        return bool(self.per == "row" and temperature >= HIDING_TEMPERATURE * np.sqrt(excess))


def resolve_draws(draws: Any) -> Draws:
    """Read the parameter `draws` of an encoder."""
    if isinstance(draws, Draws):
        draws.check()
        return draws
    if isinstance(draws, str) and draws == "estimate":
        return Draws()
    if not is_number(draws) or not 0.0 <= draws <= 1.0:
        raise InputError(f'draws={draws!r}: expected "estimate", a temperature from 0 to 1, or a Draws object.')
    return Draws(float(draws))


@dataclass(frozen=True, slots=True)
class Found:
    """Rows that find their distributions among some entries: that of row n stands at `place[n]`.

    Where the entries of one class come behind those of the other, that of row n is at `place[n]` of class `label[n]`.
    """

    entries: Entries
    place: Codes
    label: npt.NDArray[Any] | None = None
    n_places: int = 0  # entries of one class

    def __len__(self) -> int:
        return len(self.place)

    @classmethod
    def each(cls, entries: Entries) -> Found:
        """Every entry as a row."""
        return cls(entries, np.arange(len(entries.count)))

    @property
    def repeats(self) -> bool:
        """Whether rows share entries, so that these are the fewer."""
        return len(self.entries.count) < len(self.place)

    def at(self, rows: slice = slice(None)) -> Codes:
        """Where the distributions of some rows stand."""
        place = self.place[rows].astype(np.intp)
        if self.label is not None:
            place += self.n_places * self.label[rows]
        return place

    def of(self, rows: slice) -> Entries:
        """The distributions of some rows."""
        return self.entries.take(self.at(rows))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows whose own targets are taken out of the posteriors of their categories, as they are asked for."""

    entries: Entries
    prior: ColumnPrior
    slots: Codes
    target: npt.NDArray[Any]
    weight: Array | None

    def __len__(self) -> int:
        return len(self.slots)

    @classmethod
    def find(
        cls,
        entries: Entries,
        prior: ColumnPrior,
        slots: Codes,
        target: npt.NDArray[Any],
        weight: Array | None,
        n_classes: int,
    ) -> Found | LeftOut:
        """Take out each row's target; `n_classes` is 0 for numbers."""
        n_slots = len(entries.count)
        if weight is None and 0 < n_slots * n_classes**2 < len(slots):
            # A category has only one left-out posterior for each class: work them out once, and look them up.
            every = np.arange(n_slots)
            labels = (np.full(n_slots, label) for label in range(n_classes))
            tables = [cls(entries, prior, every, label, None).of(slice(None)) for label in labels]
            return Found(Entries.join(tables), slots, target, n_slots)
        return cls(entries, prior, slots, target, weight)

    def of(self, rows: slice) -> Entries:
        """The distributions of some rows."""
        slots = self.slots[rows]
        weight = np.ones(len(slots)) if self.weight is None else self.weight[rows]
        return leave_one_out(self.entries.take(slots), self.prior.at(slots), self.target[rows], weight)


@dataclass(frozen=True, slots=True)
class Ready:
    """Entries to draw from, with all that a draw needs of an entry worked out once, however many rows share it."""

    entries: Entries
    spread: Spread
    exact: npt.NDArray[np.bool_] | None  # which entries are drawn exactly, if some of them are
    normal: Normals | None  # that the others are drawn by, if there are any

    @classmethod
    def of(cls, entries: Entries, spread: Spread, sampler: Sampler) -> Ready:
        """Settle the entries, and say how each of them is drawn."""
        entries = spread.settle(entries)
        family = entries.family
        if sampler == "auto":
            exact = family.normal_error() > NORMAL_TOLERANCE
        else:
            exact = np.full(entries.count.shape, sampler == "exact")
        if exact.all():
            return cls(entries, spread, exact, None)
        normal = family.normal() if sampler == "auto" else family.normal().straight()
        return cls(entries, spread, exact if exact.any() else None, normal.closer(spread.factor(entries)))

    def draw(self, place: Codes, random: Callable[[int, Any], Random]) -> Array:
        """Draw θ for rows that stand at these places among the entries, (row, parameter)."""
        few = np.flatnonzero(self.exact.take(place)) if self.exact is not None else place[:0]
        if self.normal is None or len(few) == len(place):
            return self._exactly(place, random(_EXACT, ...))
        normal = self.normal.take(place)
        theta = self.entries.family.inside(normal.draw(random(_NORMAL, ...).standard_normal(normal.level.shape)))
        if len(few):
            theta[few] = self._exactly(place[few], random(_EXACT, few))
        return theta

    def _exactly(self, place: Codes, random: Random) -> Array:
        entries = self.entries.take(place)
        return self.spread.apply(entries.family.sample(random), entries)


def draw(
    rows: Found | LeftOut,
    mapping: Mapping,
    *,
    seed: int,
    key: tuple[int, ...],
    spread: Spread,
    sampler: Sampler = "auto",
    per: Per = "row",
    identity: Keys | None = None,
    known: Found | None = None,
) -> Array:
    """Draw θ for every row and map it, chunk by chunk, (row, output).

    Row n's draw depends on the seed, the key, n and its own distribution, and on the rows before it in its chunk, but
    not on how many follow. With `identity`, a key for each row, it depends on that and its distribution alone. Outputs
    that are no function of θ are those of the distributions that are `known`, or of the rows' own.
    """
    if per == "category" and isinstance(rows, Found):
        every = Found.each(rows.entries)
        return draw(every, mapping, seed=seed, key=key, spread=spread, sampler=sampler)[rows.at()]
    whole = Ready.of(rows.entries, spread, sampler) if isinstance(rows, Found) and rows.repeats else None
    features: Array | None = None
    for number, some in chunks(len(rows)):
        random = _generators(seed, key, number, identity, some)
        if whole is not None and isinstance(rows, Found):
            theta = whole.draw(rows.at(some), random)
        else:
            each = Ready.of(rows.of(some), spread, sampler)
            theta = each.draw(np.arange(some.stop - some.start), random)
        mapped = mapping.drawn(theta)
        if features is None:
            features = np.empty((len(rows), mapped.shape[1]), order="F")
        features[some] = mapped
    assert features is not None
    if known is None and isinstance(rows, Found):
        known = rows
    table = None if known is None else mapping.known(known.entries.family)
    return features if known is None or table is None else np.concatenate([features, table[known.at()]], axis=1)


def draw_strata(
    entries: Entries, mapping: Mapping, n_draws: int, *, seed: int, key: tuple[int, ...], spread: Spread
) -> Array:
    """Draw θ of every entry from each of `n_draws` strata of equal probability and map it, (draw, entry, output).

    A Latin hypercube: each of the uniforms that `transport` makes θ of visits every stratum once, in an order of its
    own, so that few draws cover the posterior evenly. All entries share the uniforms, so equal posteriors have equal
    draws.
    """
    settled, same = _distinct(spread.settle(entries))
    random, n_parameters = stream(seed, *key), settled.family.mean().shape[-1]
    order = random.permuted(np.tile(np.arange(n_draws), (n_parameters, 1)), axis=1).T
    uniform = (order + random.random(order.shape)) / n_draws
    theta = np.stack([spread.apply(settled.family.transport(u), settled) for u in uniform])
    return mapping.outputs(theta[:, same], entries.family)


def _distinct(entries: Entries) -> tuple[Entries, Codes]:
    """Entries that differ, and which of them each one is: rare categories share few posteriors, slow to invert."""
    variance = np.broadcast_to(entries.prior_variance, entries.count.shape)
    arrays = [*entries.family.arrays().values(), entries.count, variance]
    table = np.hstack([values.reshape(len(values), int(np.prod(values.shape[1:]))) for values in arrays])
    _, first, same = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return entries.take(first), same.reshape(-1)


def _generators(
    seed: int, key: tuple[int, ...], chunk: int, identity: Keys | None, rows: slice
) -> Callable[[int, Any], Random]:
    """Make the generator for some entries of a chunk and one kind of draw: by their keys, or by the chunk's stream."""
    if identity is None:
        return lambda kind, some: stream(seed, *key, chunk, kind)
    own = identity[rows]
    return lambda kind, some: KeyedRandom(seed, (*key, kind), own[some])
