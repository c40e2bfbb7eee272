"""Which class comes next: probabilities that hold what they say, and sets of classes that hold the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from catbayes._estimators._held_out import HeldOut, Told
from catbayes._estimators._next_target import Ladder, Rarity
from catbayes._validation import Array

LEAST = 1e-4
"""Probabilities are taken for at least so much: a forest that never saw a class near a row says 0."""
FIRMNESS = 4.0
"""How firmly we believe that probabilities are right as they are: 1 / variance of the parameters that change them."""


@dataclass(frozen=True, slots=True)
class Tempered:
    """Probabilities made bolder or more timid, and classes likelier or less likely: softmax(a log p + b).

    Of two classes this is Platt's scaling of the log-odds.

    Examples
    --------
    >>> Tempered(0.5, np.zeros(2))(np.array([[0.1, 0.9], [0.5, 0.5]])).round(2).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """

    slope: float
    offsets: Array

    @classmethod
    def fit(cls, probabilities: Array, y: npt.NDArray[np.intp], weight: Array, around: Tempered) -> Tempered:
        """The likeliest parameters for some rows, given those that were believed before."""
        logarithms, own = _logarithms(probabilities), np.eye(probabilities.shape[1])[y]
        rows = weight * weight.sum() / (weight**2).sum()  # a weight in rows
        before = np.append(np.log(around.slope), around.offsets)

        def loss(values: Array) -> tuple[float, Array]:
            scores, away = np.exp(values[0]) * logarithms + values[1:], values - before
            surplus = rows[:, None] * (softmax(scores, axis=1) - own)
            slope = np.exp(values[0]) * (surplus * logarithms).sum()
            entropy = -(rows * (own * log_softmax(scores, axis=1)).sum(axis=1)).sum()
            gradient = np.append(slope, surplus.sum(axis=0)) + FIRMNESS * away
            return float(entropy + FIRMNESS * (away**2).sum() / 2), gradient

        found = minimize(loss, before, jac=True, method="L-BFGS-B").x
        return cls(float(np.exp(found[0])), found[1:])

    def __call__(self, probabilities: Array) -> Array:
        """Probabilities of rows, (…, class)."""
        return np.asarray(softmax(self.slope * _logarithms(probabilities) + self.offsets, axis=-1))


def _logarithms(probabilities: Array) -> Array:
    return np.asarray(np.log(np.maximum(probabilities, LEAST)))


@dataclass(frozen=True, slots=True)
class NextClass:
    """Calibrated probabilities, and how improbable the class of a row is, by group of rarity."""

    rarity: Rarity
    changes: Sequence[Tempered]
    ladders: Sequence[Ladder]  # of 1 - the probability of the row's own class

    @classmethod
    def of(cls, held: HeldOut) -> NextClass:
        """Learn from all held-out rows what is wrong with the probabilities, and from each group what is so there."""
        told, y, weight = held.told, held.y, held.weight
        nothing = Tempered(1.0, np.zeros(told.response.shape[1]))
        usual = Tempered.fit(told.response, y, weight, nothing)
        rarity = Rarity.of(told.known, held.relevant, weight)
        group = rarity.find(told.known)
        changes, ladders = [], []
        for number in range(len(rarity)):
            own = group == number
            change = Tempered.fit(told.response[own], y[own], weight[own], usual)
            left = 1.0 - np.take_along_axis(change(told.response[own]), y[own, None], axis=1)[:, 0]
            changes.append(change)
            ladders.append(Ladder.of(left, weight[own]))
        return cls(rarity, changes, ladders)

    def probabilities(self, response: Array, known: Array) -> Array:
        """Calibrated probabilities of rows, (…, row, class)."""
        group, found = self.rarity.find(known), np.empty_like(response)
        for number, change in enumerate(self.changes):
            found[..., group == number, :] = change(response[..., group == number, :])
        return found

    def sets(self, told: Told, coverage: float) -> npt.NDArray[np.bool_]:
        """The classes that are probable enough, (row, class): the likeliest one always."""
        found = self.probabilities(told.response, told.known)
        least = 1.0 - np.array([float(ladder.at(coverage)) for ladder in self.ladders])
        inside = found >= least[self.rarity.find(told.known), None]
        inside[np.arange(len(found)), found.argmax(axis=1)] = True
        return np.asarray(inside)
