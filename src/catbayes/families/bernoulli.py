"""Two classes: θ is the probability of the second one, Beta before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import betaln

from catbayes.core.arrays import column
from catbayes.core.validation import Array
from catbayes.families.arithmetic import (
    SMALLEST_SHARE,
    beta_binomial_tail,
    beta_quantile,
    beta_shape,
    beta_skewness,
    dirichlet_maximum,
    left_over,
    small,
)
from catbayes.families.family import Family, Normals, Random


@dataclass(frozen=True, slots=True, eq=False)
class BetaBernoulli(Family):
    """Beta(α, β): α counts the ones, β the zeros.

    Examples
    --------
    >>> from catbayes.core.statistics import Tally
    >>> prior = BetaBernoulli(alpha=1.0, beta=3.0)
    >>> posterior = prior.update(Tally(np.array([[2.0, 4.0]])))  # two zeros, four ones
    >>> posterior.alpha, posterior.beta, posterior.mean()
    (array([5.]), array([5.]), array([[0.5]]))
    """

    alpha: Array
    beta: Array

    classes: ClassVar[bool] = True
    binary: ClassVar[bool] = True

    @staticmethod
    def _weights(statistics: Any) -> Array:
        """Zeros and ones, (category, 2)."""
        weight: Array = statistics.weight
        return weight

    @classmethod
    def scaled(cls, total: Any, gamma: float) -> Self:
        """α = 1 + γ Σ y_n  (equation 5);  β = 1 + γ Σ (1 - y_n)  (equation 6)."""
        zeros, ones = cls._weights(total)[0]
        return cls(1.0 + gamma * ones, 1.0 + gamma * zeros)

    @classmethod
    def from_rows(cls, total: Any, n_rows: float) -> Self:
        """The share of ones, α = n ȳ and β = n (1 - ȳ); one of 0 or 1 is kept off the bounds."""
        weight = cls._weights(total)[0]
        zeros, ones = n_rows * (weight / weight.sum()).clip(SMALLEST_SHARE)
        return cls(ones, zeros)

    @classmethod
    def empirical(cls, statistics: Any) -> Self:
        """Maximise the marginal likelihood: a Dirichlet of two classes."""
        beta, alpha = dirichlet_maximum(cls._weights(statistics))
        return cls(alpha, beta)

    @property
    def curvature(self) -> float:
        """V = m - m²."""
        return -1.0

    @property
    def strength(self) -> Array:
        """S = α + β."""
        return self.alpha + self.beta

    def worth(self, strength: Any) -> Self:
        """Scale all observations alike."""
        ratio = strength / self.strength
        return type(self)(self.alpha * ratio, self.beta * ratio)

    def update(self, statistics: Any) -> Self:
        """α_mv = α + Σ y_n  (equation 7);  β_mv = β + Σ (1 - y_n)  (equation 8)."""
        weight = self._weights(statistics)
        return type(self)(self.alpha + weight[..., 1], self.beta + weight[..., 0])

    def leave_out(self, target: Any, weight: Any) -> Self:
        """Equations 7 and 8 without one observation."""
        ones = target * weight
        return type(self)(left_over(self.alpha, ones, weight), left_over(self.beta, weight - ones, weight))

    def mean(self) -> Array:
        """α / s."""
        return column(self.alpha / self.strength)

    def variance(self) -> Array:
        """α β / (s² (s + 1))."""
        strength = self.strength
        return column(self.alpha * self.beta / (strength * strength * (strength + 1.0)))

    def class_betas(self) -> tuple[Array, Array]:
        """That of the second class."""
        return column(self.alpha), column(self.beta)

    def skewness_and_kurtosis(self) -> tuple[Array, Array]:
        """Skewness and excess kurtosis of the Beta."""
        return beta_shape(column(self.alpha), column(self.beta))

    def quantile(self, probability: Any) -> Array:
        """Invert the incomplete beta function."""
        return beta_quantile(column(self.alpha), column(self.beta), probability)

    def tail(self, statistics: Any) -> Array:
        """The number of ones among n rows is beta-binomial."""
        weight = self._weights(statistics)
        return beta_binomial_tail(self.alpha, self.beta, weight[..., 1], weight.sum(axis=-1))

    def sample(self, random: Random) -> Array:
        """θ ~ Beta(α, β)."""
        return column(random.beta(self.alpha, self.beta))

    def normal(self) -> Normals:
        """θ ~ N(mean, variance), as skewed as the Beta."""
        skewness = column(beta_skewness(self.alpha, self.beta))
        return Normals.of(self.mean(), np.sqrt(self.variance()), skewness, low=0.0, high=1.0)

    def normal_error(self) -> Array:
        """With m = min(α, β), kurtosis is of the order 1 / m: 0.07 / m, and for the smallest m twice as much."""
        order = small(np.minimum(self.alpha, self.beta))
        return np.asarray(0.07 * order + 0.07 * order**2)

    def log_marginal(self, statistics: Any) -> Array:
        """Log B(α + n₁, β + n₀) / B(α, β)."""
        grown = self.update(statistics)
        return np.asarray(betaln(grown.alpha, grown.beta) - betaln(self.alpha, self.beta))
