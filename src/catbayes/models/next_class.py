"""Calibrated probabilities, and sets that contain the class of a new row with a given probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from catbayes.core.validation import Array, Codes
from catbayes.models.held_out import HeldOut, Predicted
from catbayes.models.next_target import BORROWED, KINDS, Quantiles, kinds_of

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
        scalings: list[Scaling] = []
        quantiles: list[Quantiles | None] = []
        for number in KINDS:
            own = kind == number
            scalings.append(Scaling.fit(predicted.response[own], y[own], weight[own], usual) if own.any() else usual)
            quantiles.append(
                _improbability(scalings[-1](predicted.response[own]), y[own], weight[own]) if own.any() else None
            )
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
