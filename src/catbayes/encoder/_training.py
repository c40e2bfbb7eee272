"""Draws of features: for training rows, whose own targets must stay out, and for any others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from catbayes._keyed import Keys
from catbayes._random import Purpose, stream
from catbayes._validation import Array, Codes
from catbayes.encoder._column import EncodedColumn, cross_fit
from catbayes.encoder._output import Layout
from catbayes.encoder._reading import read_folds, read_order
from catbayes.errors import InputWarning
from catbayes.evidence import Evidence, Target, gather_before
from catbayes.sampling import Entries, draw, leave_one_out
from catbayes.tables import Table

if TYPE_CHECKING:
    from catbayes.encoder._fitting import Learned
    from catbayes.encoder.sampling import SamplingBayesianEncoder

HIDING_TEMPERATURE = 0.3
"""Below this, draws are too narrow to hide that a row's own target was taken out in closed form: on Adult and Amazon
Employee Access, LightGBM and a forest lost nothing at 0.3, little at 0.15 and up to 0.05 of AUC at 0.05; the value has
a margin, because tables differ."""


class Sampled(Protocol):
    """Draws of f(θ), (row, output), from a seed and the key of a stream; by row identity, where it is given."""

    def __call__(self, seed: int, key: tuple[int, ...], identity: Keys | None = None) -> Array:
        """Draw once for every row."""


@dataclass(frozen=True, slots=True)
class TrainingDraws:
    """The features that a model trains on, one draw after the other: `features(k)` is draw k, the same at every call.

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
    blocks: Callable[[int], list[Array]]  # draw k of every encoded column, (row, output) each

    def features(self, k: int = 0) -> np.ndarray[Any, Any]:
        """Draw k of the training rows, (row, output), with the columns that are not encoded."""
        return self.layout.stack(self.table, self.blocks(k))

    def write(self, k: int, features: np.ndarray[Any, Any], rows: Any = slice(None)) -> None:
        """Put draw k of some rows into features that hold another one; columns that are not encoded stay."""
        for column, block in zip(self.layout.columns, self.blocks(k), strict=True):
            features[:, self.layout.places[column.position]] = block[rows]

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


def training_draws(encoder: SamplingBayesianEncoder, learned: Learned, groups: Any) -> TrainingDraws:
    """Prepare the training draws; nothing is drawn yet."""
    if encoder.own_target == "ordered":
        if groups is not None:
            warnings.warn('own_target="ordered" makes no folds, so groups do nothing.', InputWarning, stacklevel=3)
        return ordered_draws(encoder, learned)
    leave_out = encoder.own_target == "exclude" and groups is None and hides(encoder, learned.evidence)
    known = any(column.mapping.known(column.posterior.posterior) is not None for column in learned.columns)
    folds = []
    if encoder.own_target != "include" and (known or not leave_out):
        folds = read_folds(encoder.cv, learned.target, learned.y, groups, learned.seed)
    elif groups is not None:
        warnings.warn('own_target="include" makes no folds, so groups do nothing.', InputWarning, stacklevel=3)

    def prepare(item: tuple[EncodedColumn, Codes]) -> Callable[[int], Array]:
        column, codes = item
        entries, entry = column.entries, codes
        if folds:
            whole = column.is_steady() if encoder.own_target == "exclude" and groups is None else False
            entries, entry = cross_fit(column.posterior, codes, learned.target, learned.weight, folds, whole)
        known = column.mapping.known(entries.family)
        alone = draw_left_out(encoder, column, codes, learned.target, learned.weight) if leave_out else None
        sampled = alone or look_up(encoder, column, entries, entry)

        def block(k: int) -> Array:
            drawn = sampled(learned.seed, (Purpose.TRAIN, column.position, k))
            return drawn if known is None else np.concatenate([drawn, known[entry]], axis=1)

        return block

    blocks = encoder._parallel(prepare, list(zip(learned.columns, learned.codes, strict=True)))
    layout = encoder._layout_of(learned.table.names, learned.columns)
    return TrainingDraws(learned.table, layout, lambda k: encoder._parallel(lambda block: block(k), blocks))


def ordered_draws(encoder: SamplingBayesianEncoder, learned: Learned) -> TrainingDraws:
    """Draws of each row from the posterior of the rows before it: in time, or in a new random order for each draw."""
    rank = None if encoder.order is None else read_order(learned.table, encoder.order)
    n_rows = learned.table.n_rows

    def blocks(k: int) -> list[Array]:
        when = stream(learned.seed, Purpose.ORDER, k).permutation(n_rows) if rank is None else rank

        def block(item: tuple[EncodedColumn, Codes]) -> Array:
            column, codes = item
            known = column.posterior.categories
            before = gather_before(codes, when, learned.target, learned.weight, known.n_slots, known.unseen)
            entries = Entries(column.posterior.given(before), before.count)
            drawn = _sampler(encoder, column, entries.take, n_rows)(learned.seed, (Purpose.TRAIN, column.position, k))
            extra = column.mapping.known(entries.family)
            return drawn if extra is None else np.concatenate([drawn, extra], axis=1)

        return encoder._parallel(block, list(zip(learned.columns, learned.codes, strict=True)))

    return TrainingDraws(learned.table, encoder._layout_of(learned.table.names, learned.columns), blocks)


def draw_rows(
    encoder: SamplingBayesianEncoder,
    column: EncodedColumn,
    codes: Codes,
    n_draws: int,
    seed: int,
    identity: Keys | None = None,
    target: Target | None = None,
    weight: Array | None = None,
) -> list[Array]:
    """All outputs of each draw of some rows, (row, output); with a target, each row's own is left out."""
    known = column.mapping.known(column.posterior.posterior)
    sampled, purpose = look_up(encoder, column, column.entries, codes), Purpose.SAMPLE
    if target is not None:
        sampled, purpose = draw_left_out(encoder, column, codes, target, weight), Purpose.TRAIN
    blocks = [sampled(seed, (purpose, column.position, k), identity) for k in range(n_draws)]
    return blocks if known is None else [np.concatenate([block, known[codes]], axis=1) for block in blocks]


def look_up(encoder: SamplingBayesianEncoder, column: EncodedColumn, entries: Entries, entry: Codes) -> Sampled:
    """Draws for rows that find their distribution at `entry`."""
    if encoder.draw_per == "category":
        shared = _sampler(encoder, column, entries.take, len(entries.count))
        return lambda seed, key, identity=None: shared(seed, key)[entry]
    return _sampler(encoder, column, lambda rows: entries.take(entry[rows]), len(entry))


def _sampler(
    encoder: SamplingBayesianEncoder, column: EncodedColumn, entries: Callable[[slice], Entries], n_rows: int
) -> Sampled:
    """Draws of f(θ), (row, output), with the settings of the encoder."""
    sampler, spread, through = encoder.sampler, column.spread, column.mapping.drawn

    def sampled(seed: int, key: tuple[int, ...], identity: Keys | None = None) -> Array:
        return draw(
            entries,
            through,
            n_rows,
            seed=seed,
            key=key,
            sampler=sampler,
            spread=spread,
            identity=identity,
        )

    return sampled


def hides(encoder: SamplingBayesianEncoder, evidence: Evidence) -> bool:
    """Tell whether draws hide a target that was taken out in closed form.

    Only if every row has a draw of its own, spread at least HIDING_TEMPERATURE times as wide as n rows of weight 1
    would have it. Rows of weight w shift the posterior w times as far and spread it √w as wide; counts that vary
    more than Poisson's shift it further than it is spread.
    """
    dispersion = max(evidence.family.dispersion(column.statistics, evidence.heaviness) for column in evidence.columns)
    excess = evidence.heaviness * dispersion
    temperature = 1.0 if isinstance(encoder.temperature, str) else encoder.temperature
    return encoder.draw_per == "row" and temperature >= HIDING_TEMPERATURE * np.sqrt(excess)


def draw_left_out(
    encoder: SamplingBayesianEncoder, column: EncodedColumn, codes: Codes, target: Target, weight: Array | None
) -> Sampled:
    """Draws for training rows, each from the posterior without its own target."""
    known, y = column.entries, target.values

    def leave_out(code: Codes, own: Any, size: Array) -> Entries:
        return leave_one_out(known.take(code), column.posterior.unseen_at(code), own, size, column.spread)

    def entries(rows: slice) -> Entries:
        return leave_out(codes[rows], y[rows], np.ones(len(codes[rows])) if weight is None else weight[rows])

    n_slots, n_classes = len(known.count), 0 if target.classes is None else len(target.classes)
    if weight is None and 0 < n_slots * n_classes**2 < len(codes):
        # A category has only one left-out posterior for each class: work them out once, and look them up.
        code, label = np.divmod(np.arange(n_slots * n_classes), n_classes)
        return look_up(encoder, column, leave_out(code, label, np.ones(len(code))), codes * n_classes + y)
    return _sampler(encoder, column, entries, len(codes))
