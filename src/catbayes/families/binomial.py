"""Events out of attempts: θ is the probability of an event, Beta before and after."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from catbayes.core.statistics import Moments
from catbayes.core.validation import Array
from catbayes.families.bernoulli import BetaBernoulli
from catbayes.families.family import Support


class BetaBinomial(BetaBernoulli):
    """The family of `BetaBernoulli` for rows that count: y events in e attempts, such as hits of at-bats.

    The attempts are the exposure of a row, whose target is the share y / e, which counts for e rows of two classes:
    α_mv = α + Σ y_n and β_mv = β + Σ (e_n - y_n).

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.families import BetaBinomial
    >>> X, hits, at_bats = [["Ann"], ["Ann"], ["Bob"]], [1, 2, 4], [4, 4, 8]
    >>> prior = BetaBinomial(alpha=1.0, beta=3.0)
    >>> encoder = SamplingBayesianEncoder(family="binomial", prior=prior).fit(X, hits, exposure=at_bats)
    >>> encoder.transform([["Ann"], ["Bob"], ["new"]]).round(3)  # (1 + 3) / (4 + 8), (1 + 4) / (4 + 8), 1 / 4
    array([[0.333],
           [0.417],
           [0.25 ]])
    """

    __slots__ = ()

    classes: ClassVar[bool] = False
    binary: ClassVar[bool] = False
    support: ClassVar[Support | None] = Support(
        'family="binomial" takes from 0 to 1 events for each attempt, and y holds from {lowest:g} to {highest:g}. Give '
        "the attempts of each row as exposure=, and drop rows with more events than that.",
        zero=True,
        most=1.0,
    )
    exposure: ClassVar[Literal["units", "attempts"] | None] = "attempts"

    @staticmethod
    def _weights(statistics: Moments) -> Array:
        """Attempts without an event, and with one; at the ends rounding must not leave less than none."""
        events = np.clip(statistics.count * statistics.mean, 0.0, statistics.count)
        return np.stack([statistics.count - events, events], axis=-1)

    def dispersion(self, statistics: Moments, row: float = 1.0) -> float:
        """Squares of shares about those of their categories, as a multiple of θ (1 - θ) / e: see `GammaPoisson`."""
        usual = (statistics.count * statistics.mean * (1.0 - statistics.mean)).sum()
        size = statistics.count.sum()
        degrees = size - row * (statistics.count > 0).sum()
        return float(statistics.m2.sum() / usual * size / degrees) if usual > 0 and degrees > 0 else 1.0

    def predictive_quantile(self, probability: float) -> Array:
        """Of a new attempt: 0 or 1."""
        return np.where(probability <= self.beta / self.strength, 0.0, 1.0)
