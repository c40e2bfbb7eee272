"""The scale on which effects add up: that of numbers as they are, of logarithms of rates, of log-odds of classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from catbayes.core.arrays import positive
from catbayes.core.target import Target
from catbayes.core.validation import Array

__all__ = ["Scale", "scale_of"]


@dataclass(frozen=True, slots=True)
class Scale:
    """How the mean of a target follows from a score, and how steeply; scores beyond `farthest` give the same."""

    link: Callable[[Any], Any]  # from a mean to a score
    mean: Callable[[Array], Array]
    slope: Callable[[Array], Array]  # of the mean by the score, from the mean
    farthest: float = np.inf
    noise: float | None = None  # the variance of a target over its slope, where it is known
    most: float = np.inf  # the variance of effects, at most: where classes are separated, it has no bound

    @property
    def linear(self) -> bool:
        """Whether the score is the mean."""
        return self.farthest == np.inf

    def bounded(self, score: Array) -> Array:
        """Scores as far as they matter."""
        return np.clip(score, -self.farthest, self.farthest)

    def respond(self, score: Array) -> tuple[Array, Array]:
        """The mean and the slope at a score."""
        mean = self.mean(self.bounded(score))
        return mean, self.slope(mean)


NUMBERS = Scale(lambda mean: mean, lambda score: score, np.ones_like)
RATES = Scale(lambda mean: np.log(positive(mean)), np.exp, lambda mean: mean, farthest=30.0, most=10.0)
SHARES = Scale(logit, expit, lambda mean: mean * (1.0 - mean), farthest=8.0, most=10.0)
CLASSES = Scale(logit, expit, lambda mean: mean * (1.0 - mean), farthest=8.0, noise=1.0, most=10.0)


def scale_of(target: Target) -> Scale:
    """The scale of a target: numbers that are never negative are rates, or shares of a whole."""
    if target.classes is not None:
        return CLASSES
    if target.family.support is None or target.family.log_target:
        return NUMBERS
    return SHARES if target.family.support.most == 1.0 else RATES
