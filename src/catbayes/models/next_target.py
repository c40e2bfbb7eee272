"""Where the next target lies: quantiles around a prediction, learnt from rows that the model had not seen.

A target is its prediction plus a scale times what is left, which is taken from the held-out rows whose categories are
known as well (conformal prediction with a scale, by kinds of rows).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from catbayes.core.arrays import TINY
from catbayes.core.validation import Array, Codes
from catbayes.models.held_out import HeldOut, Told

EDGES = (0.5, 1.5, 5.5, 20.5)
"""Between rows of a category that was never seen, seen once, up to 5 times, up to 20 times, and oftener: five kinds."""
KINDS = range(len(EDGES) + 1)
LENT = 100.0
"""As how many rows others have a say in what is said of a kind, so that one of few rows or none has tails as well."""
LEAF = 100
"""Rows that are enough to tell a scale."""
SHARES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9)
"""What part of those outside may lie below; of equals, the first."""
TRUSTS = (1.0, 0.75, 0.5, 0.25, 0.0)
EVIDENCE = 3.0
"""How much likelier, as a logarithm, rows have to be if the doubt is trusted less."""
NORMAL = 1.2533
"""The standard deviation of a normal distribution, in mean absolute deviations: the root of π / 2."""


def kinds_of(known: Array, columns: Any) -> Codes:
    """The kind of each row, by how many rows were seen of the rarest of its categories, in columns with signal."""
    rarest = known[:, np.asarray(columns, dtype=np.intp)].min(axis=1, initial=np.inf)
    return np.asarray(np.digitize(rarest, EDGES), dtype=np.intp)


def voices(own: npt.NDArray[np.bool_], weight: Array) -> Array:
    """What rows weigh when they speak for a kind: its own in full, all others together as much as a hundred of them."""
    others = weight[~own]
    share = LENT * (others**2).sum() / max(others.sum() ** 2, TINY)
    return np.where(own, weight, min(1.0, share) * weight)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Values in order, and the level at which each is a quantile: k / (n + 1) of the k-th of n."""

    values: Array
    levels: Array

    @classmethod
    def of(cls, values: Array, weight: Array) -> Ladder:
        """Put values in order, each with its weight."""
        order = np.argsort(values, kind="stable")
        weight = weight[order]
        total, row = weight.sum(), (weight**2).sum() / weight.sum()
        return cls(values[order], (np.cumsum(weight) - weight / 2 + row / 2) / (total + row))

    def at(self, levels: Any) -> Array:
        """Quantiles; beyond the outermost values there is nothing."""
        return np.asarray(np.interp(levels, self.levels, self.values))


@dataclass(frozen=True, slots=True)
class UsualError:
    """How far targets usually lie from predictions: √((noise · what trees say of such rows)² + (trust · doubt)²).

    The root carries on where no held-out row was, as with a category that is new in a column of well-known ones.
    """

    noise: float
    trust: float  # in the doubt
    trees: Any

    @classmethod
    def of(cls, told: Told, residual: Array, weight: Array, seed: int) -> UsualError:
        """Learn from the residuals of some rows."""
        size = np.abs(residual)
        plain = cls(*_noise_and_trust(size, told.doubt, weight), None)
        if len(size) < 2 * LEAF:
            return plain
        trees = HistGradientBoostingRegressor(
            loss="gamma",  # the error of a scale is a factor
            learning_rate=0.05,
            max_iter=200,
            max_leaf_nodes=8,
            max_bins=32,  # scikit-learn takes long to cut weighted rows into many
            min_samples_leaf=LEAF,
            early_stopping=True,  # tables whose noise is the same everywhere get next to no trees
            validation_fraction=0.2,
            n_iter_no_change=5,
            random_state=seed,
        )
        with threadpool_limits(1, user_api="openmp"):  # of small trees, threads would only wait for each other
            root = plain(told)
            share = (plain.noise / root) ** 2  # rows in doubt say little of the noise
            trees.fit(_looked_at(told), np.maximum(NORMAL * size / root, 1e-6), weight * share)
        return cls(plain.noise, plain.trust, trees)

    def __call__(self, told: Told) -> Array:
        """That of each row."""
        noise = self.noise if self.trees is None else self.noise * self.trees.predict(_looked_at(told))
        return np.sqrt(noise**2 + (self.trust * told.doubt) ** 2)


def _noise_and_trust(size: Array, doubt: Array, weight: Array) -> tuple[float, float]:
    """What the doubt leaves of the scale, and how far to trust it, by likelihood, residuals being exponential in size.

    The doubt is trusted in full unless rows speak against it: of a table of well-known categories they say nothing.
    """
    most = float(np.log(max(NORMAL * np.average(size, weights=weight), TINY)))
    rows = float(weight.sum() ** 2 / (weight**2).sum())

    def loss(logarithm: float, trust: float) -> float:
        root = np.sqrt(np.exp(2 * logarithm) + (trust * doubt) ** 2)
        return float(np.average(np.log(root) + NORMAL * size / root, weights=weight))

    found = {
        trust: minimize_scalar(loss, bounds=(most - 5.0, most + 0.1), args=(trust,), method="bounded")
        for trust in TRUSTS
    }
    trust = min(TRUSTS, key=lambda trust: found[trust].fun - (EVIDENCE / rows if trust == 1.0 else 0.0))
    return float(np.exp(found[trust].x)), trust


def _looked_at(told: Told) -> Array:
    """What trees may ask of a row: nothing that a model of fewer rows says otherwise, such as doubt and counts."""
    return np.column_stack([told.response, told.plain])


@dataclass(frozen=True, slots=True)
class NextTarget:
    """Quantiles of the next target around a prediction."""

    scale: UsualError
    columns: Codes  # encoded columns that have a signal
    ladders: Sequence[Ladder]  # of what is left, by kind
    extent: Array  # the sum of the scales of its rows, by kind

    @classmethod
    def of(cls, held: HeldOut, seed: int) -> NextTarget:
        """Learn the scale, from the other folds for the rows of each, and then what it leaves."""
        told, weight, residual = held.told, held.weight, held.y - held.told.response
        scale = np.empty_like(residual)
        for fold in np.unique(held.fold):
            own = held.fold == fold
            scale[own] = UsualError.of(told.take(~own), residual[~own], weight[~own], seed)(told.take(own))
        kind = kinds_of(told.known, held.relevant)
        ladders = [Ladder.of(residual / scale, voices(kind == number, weight)) for number in KINDS]
        extent = np.asarray(np.bincount(kind, weight * scale, len(KINDS)), dtype=np.float64)
        return cls(UsualError.of(told, residual, weight, seed), held.relevant, ladders, extent)

    def tails(self, coverage: float) -> tuple[float, float]:
        """Levels between which the coverage lies, such that intervals are short: targets may have one long tail."""

        def ends(share: float) -> tuple[float, float]:
            return share * (1.0 - coverage), coverage + share * (1.0 - coverage)

        def length(share: float) -> float:
            low, high = ends(share)
            return float(
                sum(e * (one.at(high) - one.at(low)) for e, one in zip(self.extent, self.ladders, strict=True))
            )

        return ends(min(SHARES, key=length))

    def at(self, told: Told, levels: Array) -> Array:
        """Quantiles of the target, (level, row), at levels that are the same for all rows, (level, 1), or not."""
        levels = np.broadcast_to(levels, (len(levels), len(told.response)))
        kind, left = kinds_of(told.known, self.columns), np.empty(levels.shape)
        for number, ladder in enumerate(self.ladders):
            left[:, kind == number] = ladder.at(levels[:, kind == number])
        return np.asarray(told.response + self.scale(told) * left)
