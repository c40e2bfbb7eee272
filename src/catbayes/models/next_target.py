"""Quantiles of the next target around its prediction: conformal prediction with a scale, by kinds of rows.

A target is its prediction plus a scale times a scaled residual, whose quantiles are those of held-out rows with
categories of about the same frequency.
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
from catbayes.models.held_out import HeldOut, Predicted

EDGES = (0.5, 1.5, 5.5, 20.5)
"""Between rows of a category that was never seen, seen once, up to 5 times, up to 20 times, and more often."""
KINDS = range(len(EDGES) + 1)
BORROWED = 100.0
"""Weight of the rows of all other kinds in the quantiles of a kind, in rows: one of few rows or none has tails too."""
LEAF = 100
"""Rows that are enough to estimate a scale."""
SHARES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9)
"""Shares of the targets outside that may lie below; of equals, the first."""
TRUSTS = (1.0, 0.75, 0.5, 0.25, 0.0)
EVIDENCE = 3.0
"""Log-likelihood that is needed to use less than the whole spread."""
NORMAL = 1.2533
"""The standard deviation of a normal distribution, in mean absolute deviations: the root of π / 2."""


def kinds_of(seen: Array, columns: Any) -> Codes:
    """Return the kind of each row, by how often the rarest of its categories was seen, in informative columns."""
    rarest = seen[:, np.asarray(columns, dtype=np.intp)].min(axis=1, initial=np.inf)
    return np.asarray(np.digitize(rarest, EDGES), dtype=np.intp)


def weights_for_kind(own: npt.NDArray[np.bool_], weight: Array) -> Array:
    """Return weights of rows for a kind: its own in full, all others together as much as a hundred of them."""
    others = weight[~own]
    share = BORROWED * (others**2).sum() / max(others.sum() ** 2, TINY)
    return np.where(own, weight, min(1.0, share) * weight)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Sorted values, and the level of which each is the quantile: k / (n + 1) for the k-th of n."""

    values: Array
    levels: Array

    @classmethod
    def of(cls, values: Array, weight: Array) -> Quantiles:
        """Sort weighted values."""
        order = np.argsort(values, kind="stable")
        weight = weight[order]
        total, row = weight.sum(), (weight**2).sum() / weight.sum()
        return cls(values[order], (np.cumsum(weight) - weight / 2 + row / 2) / (total + row))

    def at(self, levels: Any) -> Array:
        """Return quantiles, which are never beyond the outermost values."""
        return np.asarray(np.interp(levels, self.levels, self.values))


@dataclass(frozen=True, slots=True)
class ErrorScale:
    """Scale of the errors: √((noise · factor of the trees)² + (trust · spread)²).

    The spread extrapolates to where no row was held out, as to a new category in a column of frequent ones.
    """

    noise: float
    trust: float  # in the spread over draws
    trees: Any

    @classmethod
    def of(cls, predicted: Predicted, residual: Array, weight: Array, seed: int) -> ErrorScale:
        """Estimate the scale from residuals."""
        size = np.abs(residual)
        plain = cls(*_noise_and_trust(size, predicted.spread, weight), None)
        if len(size) < 2 * LEAF:
            return plain
        trees = HistGradientBoostingRegressor(
            loss="gamma",  # the error of a scale is a factor
            learning_rate=0.05,
            max_iter=200,
            max_leaf_nodes=8,
            max_bins=32,  # many bins of weighted rows take long
            min_samples_leaf=LEAF,
            early_stopping=True,  # where noise is the same everywhere, there are hardly any trees
            validation_fraction=0.2,
            n_iter_no_change=5,
            random_state=seed,
        )
        with threadpool_limits(1, user_api="openmp"):  # threads would only wait for each other
            root = plain(predicted)
            share = (plain.noise / root) ** 2  # rows of a large spread tell little about the noise
            trees.fit(_tree_features(predicted), np.maximum(NORMAL * size / root, 1e-6), weight * share)
        return cls(plain.noise, plain.trust, trees)

    def __call__(self, predicted: Predicted) -> Array:
        """Return the scale of each row."""
        noise = self.noise if self.trees is None else self.noise * self.trees.predict(_tree_features(predicted))
        return np.sqrt(noise**2 + (self.trust * predicted.spread) ** 2)


def _noise_and_trust(size: Array, spread: Array, weight: Array) -> tuple[float, float]:
    """Estimate both by the likelihood of Laplace residuals.

    The spread is used in full unless the rows contradict it: those of frequent categories do not tell.
    """
    most = float(np.log(max(NORMAL * np.average(size, weights=weight), TINY)))
    rows = float(weight.sum() ** 2 / (weight**2).sum())

    def loss(logarithm: float, trust: float) -> float:
        root = np.sqrt(np.exp(2 * logarithm) + (trust * spread) ** 2)
        return float(np.average(np.log(root) + NORMAL * size / root, weights=weight))

    found = {
        trust: minimize_scalar(loss, bounds=(most - 5.0, most + 0.1), args=(trust,), method="bounded")
        for trust in TRUSTS
    }
    trust = min(TRUSTS, key=lambda trust: found[trust].fun - (EVIDENCE / rows if trust == 1.0 else 0.0))
    return float(np.exp(found[trust].x)), trust


def _tree_features(predicted: Predicted) -> Array:
    """Return features of the trees: none that depend on the number of training rows, as spread and counts do."""
    return np.column_stack([predicted.response, predicted.features])


@dataclass(frozen=True, slots=True)
class NextTarget:
    """Quantiles of the next target around a prediction."""

    scale: ErrorScale
    columns: Codes  # encoded columns that have a signal
    quantiles: Sequence[Quantiles]  # of what is left, by kind
    extent: Array  # the sum of the scales of its rows, by kind

    @classmethod
    def of(cls, held: HeldOut, seed: int) -> NextTarget:
        """Estimate the scale, for each fold from the others, and then the quantiles of scaled residuals."""
        predicted, weight, residual = held.predicted, held.weight, held.y - held.predicted.response
        scale = np.empty_like(residual)
        for fold in np.unique(held.fold):
            own = held.fold == fold
            scale[own] = ErrorScale.of(predicted.take(~own), residual[~own], weight[~own], seed)(predicted.take(own))
        kind = kinds_of(predicted.seen, held.informative)
        quantiles = [Quantiles.of(residual / scale, weights_for_kind(kind == number, weight)) for number in KINDS]
        extent = np.asarray(np.bincount(kind, weight * scale, len(KINDS)), dtype=np.float64)
        return cls(ErrorScale.of(predicted, residual, weight, seed), held.informative, quantiles, extent)

    def tails(self, coverage: float) -> tuple[float, float]:
        """Return the levels of the shortest intervals with this coverage: targets may have one long tail."""

        def ends(share: float) -> tuple[float, float]:
            return share * (1.0 - coverage), coverage + share * (1.0 - coverage)

        def length(share: float) -> float:
            low, high = ends(share)
            return float(
                sum(e * (one.at(high) - one.at(low)) for e, one in zip(self.extent, self.quantiles, strict=True))
            )

        return ends(min(SHARES, key=length))

    def at(self, predicted: Predicted, levels: Array) -> Array:
        """Return quantiles of the target, (level, row), at levels for all rows, (level, 1), or for each."""
        levels = np.broadcast_to(levels, (len(levels), len(predicted.response)))
        kind, left = kinds_of(predicted.seen, self.columns), np.empty(levels.shape)
        for number, own in enumerate(self.quantiles):
            left[:, kind == number] = own.at(levels[:, kind == number])
        return np.asarray(predicted.response + self.scale(predicted) * left)
