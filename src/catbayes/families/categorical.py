"""Class targets: θ are the class probabilities, Dirichlet before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from catbayes.core.arrays import namespace, positive
from catbayes.core.statistics import Tally
from catbayes.core.validation import Array
from catbayes.families.arithmetic import (
    SMALLEST_SHARE,
    beta_binomial_tail,
    beta_quantile,
    beta_shape,
    dirichlet_maximum,
    left_over,
    log_rising,
)
from catbayes.families.family import Family, Normals, Random


class SharedNormals(Normals):
    """Shares of a whole: θ = m + slope · (e - m Σe) with e_c ~ N(0, m_c), of covariance slope² (diag m - m mᵀ)."""

    __slots__ = ()

    def draw(self, noise: Array) -> Array:
        """Turn standard normals into draws of θ that add up to 1."""
        theta = np.sqrt(self.level) * noise
        theta -= self.level * theta.sum(axis=-1, keepdims=True)
        theta *= self.slope
        theta += self.level
        theta = np.clip(theta, 0.0, 1.0, out=theta)
        theta /= theta.sum(axis=-1, keepdims=True)
        return theta


@dataclass(frozen=True, slots=True, eq=False)
class DirichletCategorical(Family):
    """Dirichlet(α): `alpha` is (…, class), and the class probabilities are the parameters.

    Examples
    --------
    >>> prior = DirichletCategorical(alpha=[1.0, 1.0, 2.0])
    >>> prior.update(Tally(np.array([[3.0, 0.0, 1.0]]))).mean()
    array([[0.5  , 0.125, 0.375]])
    """

    alpha: Array

    classes: ClassVar[bool] = True

    @classmethod
    def scaled(cls, total: Tally, gamma: float) -> Self:
        """α^c = 1 + γ Σ 1(y_n = c)  (equation 9)."""
        return cls(1.0 + gamma * total.weight[0])

    @classmethod
    def from_rows(cls, total: Tally, n_rows: float) -> Self:
        """The share of each class, α^c = n Σ 1(y_n = c) / N; one of 0 is kept off the bound."""
        return cls(n_rows * (total.weight[0] / total.weight[0].sum()).clip(SMALLEST_SHARE))

    @classmethod
    def empirical(cls, statistics: Tally) -> Self:
        """Maximise the marginal likelihood over α; see `dirichlet_maximum`."""
        return cls(dirichlet_maximum(statistics.weight))

    @property
    def curvature(self) -> float:
        """V = m - m²."""
        return -1.0

    @property
    def strength(self) -> Array:
        """S = Σ_c α_c."""
        total: Array = self.alpha.sum(axis=-1)
        return total

    def worth(self, strength: Any) -> Self:
        """Scale all observations alike."""
        ratio = strength / self.strength
        return type(self)(self.alpha * ratio[..., None])

    def update(self, statistics: Tally) -> Self:
        """α_mv^c = α^c + Σ 1(y_n = c)  (equation 10)."""
        return type(self)(self.alpha + statistics.weight)

    def leave_out(self, target: Any, weight: Any) -> Self:
        """Equation 10 without one observation."""
        xp = namespace(self.alpha)
        taken = xp.zeros_like(self.alpha)
        taken[xp.arange(len(target)), target] = weight
        return type(self)(left_over(self.alpha, taken, weight[..., None]))

    def mean(self) -> Array:
        """α_c / s."""
        return self.alpha / self.strength[..., None]

    def variance(self) -> Array:
        """m_c (1 - m_c) / (s + 1)."""
        mean = self.mean()
        return mean * (1.0 - mean) / (self.strength[..., None] + 1.0)

    def covariance(self) -> Array:
        """(diag m - m mᵀ) / (s + 1)."""
        mean = self.mean()
        spread = mean[..., None] * np.eye(mean.shape[-1]) - mean[..., None] * mean[..., None, :]
        return np.asarray(spread / (self.strength[..., None, None] + 1.0))

    def class_betas(self) -> tuple[Array, Array]:
        """Marginally, θ_c ~ Beta(α_c, s - α_c)."""
        return self.alpha, self.strength[..., None] - self.alpha

    def skewness_and_kurtosis(self) -> tuple[Array, Array]:
        """Those of each class by itself."""
        return beta_shape(*self.class_betas())

    def quantile(self, probability: Any) -> Array:
        """Those of each class by itself."""
        return beta_quantile(*self.class_betas(), probability)

    def tail(self, statistics: Tally) -> Array:
        """That of the class which is furthest off, times the number of classes."""
        rest, size = self.strength[..., None] - self.alpha, statistics.count[..., None]
        each = beta_binomial_tail(self.alpha, rest, statistics.weight, size)
        return np.asarray(np.minimum(1.0, each.min(axis=-1) * self.alpha.shape[-1]))

    def sample(self, random: Random) -> Array:
        """Normalise independent Gamma(α_c) draws, in logarithms so that a tiny α cannot underflow to 0/0."""
        # Gamma(α) = Gamma(α + 1) · U^(1/α); a generator for each, so that no row's draw depends on the next one
        xp = namespace(self.alpha)
        logarithm = xp.log(random.standard_gamma(self.alpha + 1.0))
        less = random.spawn(1)[0].standard_exponential(self.alpha.shape) / self.alpha
        logarithm -= xp.clip(less, None, xp.finfo(self.alpha.dtype).max / 4.0)  # finite, even if all α are tiny
        share = xp.exp(logarithm - xp.amax(logarithm, axis=-1, keepdims=True))
        theta: Array = share / xp.sum(share, axis=-1, keepdims=True)
        return theta

    def transport(self, uniform: Array) -> Array:
        """Break the stick: θ_c is a Beta share of what the classes before it left."""
        rest = np.flip(np.cumsum(np.flip(self.alpha, axis=-1), axis=-1), axis=-1) - self.alpha
        share = beta_quantile(self.alpha[..., :-1], positive(rest[..., :-1]), uniform[..., :-1])
        left = np.cumprod(1.0 - share, axis=-1)
        before = np.concatenate([np.ones_like(left[..., :1]), left[..., :-1]], axis=-1)
        return np.concatenate([share * before, left[..., -1:]], axis=-1)

    def normal(self) -> Normals:
        """Covariance (diag m - m mᵀ) / (s + 1); skewness stays as it is."""
        scale = 1.0 / np.sqrt(self.strength + 1.0)[..., None]
        return SharedNormals.of(self.mean(), scale, np.zeros_like(scale))

    def normal_error(self) -> Array:
        """Each θ_c is a Beta of skewness 2 / √α_c at most, which costs a normal 1 / (6 √2π) of itself."""
        return np.asarray(0.14 / np.sqrt(self.alpha.min(axis=-1)))

    def log_marginal(self, statistics: Tally) -> Array:
        """Log B(α + n) / B(α) with the multivariate beta function B."""
        return np.asarray(
            log_rising(self.alpha, statistics.weight).sum(axis=-1) - log_rising(self.strength, statistics.count)
        )
