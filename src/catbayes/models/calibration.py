"""Calibration by held-out rows: intervals of the next target, and probabilities and sets of the next class.

The quantiles of the next target are conformal: a target is its prediction plus a scale times a scaled residual, whose
quantiles are those of held-out rows with categories of about the same frequency.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from catbayes.core.arrays import TINY
from catbayes.core.leakage import make_folds
from catbayes.core.random import Purpose, stream
from catbayes.core.table import Table
from catbayes.core.validation import Array, Codes
from catbayes.errors import InputError, InputWarning
from catbayes.models.fitting import params_of


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predictions of rows, and how often their categories were seen."""

    response: Array  # (row,) or (row, class)
    spread: Array  # (row,): standard deviation over draws of the whole posterior; not used for classes
    seen: Array  # (row, column): rows that were seen of the category, in each encoded column
    features: Array  # (row, feature): expected means of the categories, and the numbers

    @classmethod
    def join(cls, parts: Sequence[Predicted]) -> Predicted:
        """Concatenate the rows of several folds."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def take(self, rows: Any) -> Predicted:
        """Return some of the rows."""
        return Predicted(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Held-out rows with their targets."""

    predicted: Predicted
    y: np.ndarray[Any, Any]  # classes by their numbers
    weight: Array
    fold: Codes
    informative: Codes  # encoded columns that have a signal, among all rows
    seed: int

    @classmethod
    def of(
        cls,
        model: Any,
        table: Table,
        y: np.ndarray[Any, Any],
        weight: Array | None,
        groups: Any,
        fit_params: dict[str, Any],
        seed: int,
        report: Callable[[str], None],
    ) -> HeldOut:
        """Fit the model without each fold in turn, and predict the fold; `y` has numbers for classes.

        Spreads are scaled to those of the fitted model: by chance one model depends more on its draws than another.
        """
        classes, encoder = getattr(model, "classes_", None), model.encoder_
        own = int(stream(seed, Purpose.CALIBRATION).integers(np.iinfo(np.int32).max))
        used = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        some = (y[used], y[used], None if groups is None else np.asarray(groups)[used], own)
        folds = make_folds("calibrate", model.calibrate, *some, classes=classes is not None)
        if len(folds) < 2:
            raise InputError(f"calibrate={model.calibrate!r} makes one fold: expected two or more.")
        columns = () if encoder is None else [c for c in encoder.encoding_.columns if not c.is_interaction]
        if encoder is not None:  # rows of held-out categories matter most
            encoder = clone(encoder).set_params(unseen="prior")

        def usual_spread(fitted: Any, rows: Codes) -> float:
            return float(fitted._mean_spread(table.take(rows[:: max(1, len(rows) // 1000)])))

        spread, parts = usual_spread(model, used), []
        for number, (train, test) in enumerate(folds):
            train, test = used[train], used[test]
            if classes is not None and len(np.unique(y[train])) < 2:
                raise InputError(
                    f"calibrate={model.calibrate!r}: rows outside of a fold hold one class only: expected two or more "
                    "rows of each class. Use calibrate=None, or more folds."
                )
            state = None if model.random_state is None else own + number
            other = clone(model).set_params(calibrate=None, encoder=encoder, random_state=state, verbose=0)
            labels = y[train] if classes is None else classes[y[train]]
            given = [None if values is None else np.asarray(values)[train] for values in (weight, groups)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InputWarning)  # which the fit to all rows gave
                other.fit(table.take(train), labels, *given, **params_of(fit_params, table.n_rows, train))
                part = other._predicted(table.take(test), classes)
                own_spread = usual_spread(other, train)
            parts.append(replace(part, spread=part.spread * (spread / own_spread if own_spread > 0 else 1.0)))
            report(f"calibrating: fold {number + 1} of {len(folds)}")
        rows = np.concatenate([used[test] for _, test in folds])
        return cls(
            predicted=Predicted.join(parts),
            y=y[rows],
            weight=np.ones(len(rows)) if weight is None else weight[rows],
            fold=np.repeat(np.arange(len(folds)), [len(test) for _, test in folds]),
            informative=np.flatnonzero([not column.is_silent for column in columns]),
            seed=seed,
        )


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
    def of(cls, held: HeldOut) -> NextTarget:
        """Estimate the scale, for each fold from the others, and then the quantiles of scaled residuals."""
        predicted, weight, residual = held.predicted, held.weight, held.y - held.predicted.response
        scale = np.empty_like(residual)
        for fold in np.unique(held.fold):
            own = held.fold == fold
            scale_of = ErrorScale.of(predicted.take(~own), residual[~own], weight[~own], held.seed)
            scale[own] = scale_of(predicted.take(own))
        kind = kinds_of(predicted.seen, held.informative)
        quantiles = [Quantiles.of(residual / scale, weights_for_kind(kind == number, weight)) for number in KINDS]
        extent = np.asarray(np.bincount(kind, weight * scale, len(KINDS)), dtype=np.float64)
        return cls(ErrorScale.of(predicted, residual, weight, held.seed), held.informative, quantiles, extent)

    def tails(self, coverage: float) -> tuple[float, float]:
        """Return the levels of the shortest intervals with this coverage: targets may have one long tail."""

        def ends(share: float) -> tuple[float, float]:
            return share * (1.0 - coverage), coverage + share * (1.0 - coverage)

        def length(share: float) -> float:
            low, high = ends(share)
            pairs = zip(self.extent, self.quantiles, strict=True)
            return float(sum(extent * (one.at(high) - one.at(low)) for extent, one in pairs))

        return ends(min(SHARES, key=length))

    def at(self, predicted: Predicted, levels: Array) -> Array:
        """Return quantiles of the target, (level, row), at levels for all rows, (level, 1), or for each."""
        levels = np.broadcast_to(levels, (len(levels), len(predicted.response)))
        kind, left = kinds_of(predicted.seen, self.columns), np.empty(levels.shape)
        for number, own in enumerate(self.quantiles):
            left[:, kind == number] = own.at(levels[:, kind == number])
        return np.asarray(predicted.response + self.scale(predicted) * left)


LEAST = 1e-4
"""Smallest probability: a forest that never saw a class near a row gives 0."""
PRECISION = 4.0
"""Precision of the normal prior of the parameters around probabilities as they are."""
SLACK = 0.9
"""Factor on the smallest probability in a set: all rows of a kind may have one probability, and that of the
fitted model differs a little from those of its folds."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """Temperature scaling with an offset for each class: softmax(a log p + b).

    With two classes this is Platt's scaling of the log-odds.
    """

    slope: float
    offsets: Array

    @classmethod
    def fit(cls, probabilities: Array, y: npt.NDArray[np.intp], weight: Array, around: Scaling) -> Scaling:
        """Find the most probable parameters for some rows, with a prior around others."""
        logarithms, own = _logarithms(probabilities), np.eye(probabilities.shape[1])[y]
        rows = weight * weight.sum() / (weight**2).sum()  # in units of rows
        before = np.append(np.log(around.slope), around.offsets)

        def loss(values: Array) -> tuple[float, Array]:
            scores, away = np.exp(values[0]) * logarithms + values[1:], values - before
            surplus = rows[:, None] * (softmax(scores, axis=1) - own)
            slope = np.exp(values[0]) * (surplus * logarithms).sum()
            entropy = -(rows * (own * log_softmax(scores, axis=1)).sum(axis=1)).sum()
            gradient = np.append(slope, surplus.sum(axis=0)) + PRECISION * away
            return float(entropy + PRECISION * (away**2).sum() / 2), gradient

        found = minimize(loss, before, jac=True, method="L-BFGS-B").x
        return cls(float(np.exp(found[0])), found[1:])

    def __call__(self, probabilities: Array) -> Array:
        """Probabilities of rows, (…, class)."""
        return np.asarray(softmax(self.slope * _logarithms(probabilities) + self.offsets, axis=-1))


def _logarithms(probabilities: Array) -> Array:
    return np.asarray(np.log(np.maximum(probabilities, LEAST)))


@dataclass(frozen=True, slots=True)
class NextClass:
    """Scaled probabilities, and how improbable the class of a row is, by kind of row."""

    columns: Codes  # encoded columns that have a signal
    scalings: Sequence[Scaling]
    quantiles: Sequence[Quantiles | None]  # of 1 - the probability of the row's own class; None where there was no row

    @classmethod
    def of(cls, held: HeldOut) -> NextClass:
        """Fit the scaling to all held-out rows, and from there to those of each kind."""
        predicted, y, weight = held.predicted, held.y, held.weight
        nothing = Scaling(1.0, np.zeros(predicted.response.shape[1]))
        usual, kind = Scaling.fit(predicted.response, y, weight, nothing), kinds_of(predicted.seen, held.informative)
        scalings: list[Scaling] = [usual] * len(KINDS)
        quantiles: list[Quantiles | None] = [None] * len(KINDS)
        for number in np.unique(kind):
            own = kind == number
            response = predicted.response[own]
            scalings[number] = Scaling.fit(response, y[own], weight[own], usual)
            quantiles[number] = _improbability(scalings[number](response), y[own], weight[own])
        return cls(held.informative, scalings, quantiles)

    def probabilities(self, response: Array, seen: Array) -> Array:
        """Return calibrated probabilities of rows, (…, row, class)."""
        kind, found = kinds_of(seen, self.columns), np.empty_like(response)
        for number, scaling in enumerate(self.scalings):
            found[..., kind == number, :] = scaling(response[..., kind == number, :])
        return found

    def sets(self, predicted: Predicted, coverage: float) -> npt.NDArray[np.bool_]:
        """Return the classes that are probable enough, (row, class), with the most probable one always."""
        found, kind = self.probabilities(predicted.response, predicted.seen), kinds_of(predicted.seen, self.columns)
        inside = np.zeros(found.shape, dtype=np.bool_)
        for number, own in enumerate(self.quantiles):
            some = found[kind == number]
            inside[kind == number] = (
                _most_probable(some, coverage) if own is None else some >= SLACK * (1.0 - own.at(coverage))
            )
        inside[np.arange(len(found)), found.argmax(axis=1)] = True
        return inside


def _improbability(probabilities: Array, y: npt.NDArray[np.intp], weight: Array) -> Quantiles:
    """Return quantiles of 1 - p of the own class, with a hundred rows of what the probabilities expect."""
    own = 1.0 - np.take_along_axis(probabilities, y[:, None], axis=1)[:, 0]
    rows = weight.sum() ** 2 / (weight**2).sum()
    expected = weight[:, None] * probabilities * (BORROWED / rows)
    return Quantiles.of(np.append(own, 1.0 - probabilities), np.append(weight, expected))


def _most_probable(probabilities: Array, coverage: float) -> npt.NDArray[np.bool_]:
    """Return the most probable classes until they sum up to the coverage, for kinds without held-out rows."""
    order = np.argsort(-probabilities, axis=1)
    before = np.cumsum(np.take_along_axis(probabilities, order, axis=1), axis=1)[:, :-1]
    inside = np.ones(probabilities.shape, dtype=np.bool_)
    np.put_along_axis(inside, order[:, 1:], before < coverage, axis=1)
    return inside
