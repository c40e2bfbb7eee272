"""Which class comes next: probabilities that hold what they say, and sets of classes that hold the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from catbayes.core.validation import Array, Codes
from catbayes.models.held_out import HeldOut, Told
from catbayes.models.next_target import KINDS, LENT, Ladder, kinds_of

LEAST = 1e-4
"""Probabilities are taken for at least so much: a forest that never saw a class near a row says 0."""
FIRMNESS = 4.0
"""How firmly we believe that probabilities are right as they are: 1 / variance of the parameters that change them."""
SLACK = 0.9
"""How much less probable than among held-out rows a class may be: all rows of a kind may have one probability, and that
of the model that predicts is not quite that of its folds."""


@dataclass(frozen=True, slots=True)
class Tempered:
    """Probabilities made bolder or more timid, and classes likelier or less likely: softmax(a log p + b).

    Of two classes this is Platt's scaling of the log-odds.
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
    """Calibrated probabilities, and how improbable the class of a row is, by kind of row."""

    columns: Codes  # encoded columns that have a signal
    changes: Sequence[Tempered]
    ladders: Sequence[Ladder | None]  # of 1 - the probability of the row's own class; None where there was no row

    @classmethod
    def of(cls, held: HeldOut) -> NextClass:
        """Learn from all held-out rows what is wrong with the probabilities, and from each kind what is so there."""
        told, y, weight = held.told, held.y, held.weight
        nothing = Tempered(1.0, np.zeros(told.response.shape[1]))
        usual, kind = Tempered.fit(told.response, y, weight, nothing), kinds_of(told.known, held.relevant)
        changes: list[Tempered] = []
        ladders: list[Ladder | None] = []
        for number in KINDS:
            own = kind == number
            changes.append(Tempered.fit(told.response[own], y[own], weight[own], usual) if own.any() else usual)
            ladders.append(_ladder(changes[-1](told.response[own]), y[own], weight[own]) if own.any() else None)
        return cls(held.relevant, changes, ladders)

    def probabilities(self, response: Array, known: Array) -> Array:
        """Calibrated probabilities of rows, (…, row, class)."""
        kind, found = kinds_of(known, self.columns), np.empty_like(response)
        for number, change in enumerate(self.changes):
            found[..., kind == number, :] = change(response[..., kind == number, :])
        return found

    def sets(self, told: Told, coverage: float) -> npt.NDArray[np.bool_]:
        """The classes that are probable enough, (row, class): the likeliest one always."""
        found, kind = self.probabilities(told.response, told.known), kinds_of(told.known, self.columns)
        inside = np.zeros(found.shape, dtype=np.bool_)
        for number, ladder in enumerate(self.ladders):
            some = found[kind == number]
            inside[kind == number] = (
                _likeliest(some, coverage) if ladder is None else some >= SLACK * (1.0 - ladder.at(coverage))
            )
        inside[np.arange(len(found)), found.argmax(axis=1)] = True
        return inside


def _ladder(probabilities: Array, y: npt.NDArray[np.intp], weight: Array) -> Ladder:
    """How improbable the classes of rows are, and as firmly as a hundred rows what the probabilities themselves say."""
    own = 1.0 - np.take_along_axis(probabilities, y[:, None], axis=1)[:, 0]
    rows = weight.sum() ** 2 / (weight**2).sum()
    said = weight[:, None] * probabilities * (LENT / rows)
    return Ladder.of(np.append(own, 1.0 - probabilities), np.append(weight, said))


def _likeliest(probabilities: Array, coverage: float) -> npt.NDArray[np.bool_]:
    """The likeliest classes until they sum up to the coverage: what is believed where no row was held out."""
    order = np.argsort(-probabilities, axis=1)
    before = np.cumsum(np.take_along_axis(probabilities, order, axis=1), axis=1)[:, :-1]
    inside = np.ones(probabilities.shape, dtype=np.bool_)
    np.put_along_axis(inside, order[:, 1:], before < coverage, axis=1)
    return inside
