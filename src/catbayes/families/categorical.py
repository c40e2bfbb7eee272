"""Class targets: θ are the class probabilities, Dirichlet before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import betaincinv, digamma, softmax

from catbayes._arrays import namespace, positive
from catbayes._validation import Array
from catbayes.families._cells import explained
from catbayes.families._family import Family, Random, left_over, log_rising, maximise, no_signal
from catbayes.statistics import Tally


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
    curvature: ClassVar[float] = -1.0

    @classmethod
    def scaled(cls, total: Tally, gamma: float) -> Self:
        """α^c = 1 + γ Σ 1(y_n = c)  (equation 9)."""
        return cls(1.0 + gamma * total.weight[0])

    @classmethod
    def empirical(cls, statistics: Tally) -> Self:
        """Maximise the marginal likelihood over α; see `dirichlet_maximum`."""
        return cls(dirichlet_maximum(statistics.weight))

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

    def components(self, labels: Sequence[str] | None) -> tuple[slice, tuple[str, ...]]:
        """A probability for each class, by its label."""
        return self.location, tuple(labels or map(str, range(self.alpha.shape[-1])))

    def class_betas(self) -> tuple[Array, Array]:
        """Marginally, θ_c ~ Beta(α_c, s - α_c)."""
        return self.alpha, self.strength[..., None] - self.alpha

    def shape(self) -> tuple[Array, Array]:
        """Those of each class by itself."""
        return beta_shape(*self.class_betas())

    def quantile(self, probability: float) -> Array:
        """Those of each class by itself."""
        return np.asarray(betaincinv(*self.class_betas(), probability))

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
        share = betaincinv(self.alpha[..., :-1], positive(rest[..., :-1]), uniform[..., :-1])
        left = np.cumprod(1.0 - share, axis=-1)
        before = np.concatenate([np.ones_like(left[..., :1]), left[..., :-1]], axis=-1)
        return np.concatenate([share * before, left[..., -1:]], axis=-1)

    def sample_normal(self, random: Random) -> Array:
        """θ = m + (e - m Σe) / √(s + 1) with e_c ~ N(0, m_c): covariance (diag m - m mᵀ) / (s + 1)."""
        mean = self.mean()
        noise = np.sqrt(mean) * random.standard_normal(mean.shape)
        noise -= mean * noise.sum(axis=-1, keepdims=True)
        theta = np.clip(mean + noise / np.sqrt(self.strength + 1.0)[..., None], 0.0, 1.0)
        return np.asarray(theta / theta.sum(axis=-1, keepdims=True))

    def normal_error(self) -> Array:
        """Each θ_c is a Beta: see `BetaBernoulli.normal_error`."""
        return np.asarray(0.14 / np.sqrt(self.alpha.min(axis=-1)))

    def log_marginal(self, statistics: Tally) -> Array:
        """Log B(α + n) / B(α) with the multivariate beta function B."""
        return np.asarray(
            log_rising(self.alpha, statistics.weight).sum(axis=-1) - log_rising(self.strength, statistics.count)
        )

    @classmethod
    def cell_likelihood(cls, cells: Tally, parts: list[Array]) -> Callable[[float], float]:
        """Dirichlet(ν m) about the class shares m as the columns explain them, whose logarithms add up."""
        total = positive(cells.total().weight[0])

        def likelihood(logarithm: Array) -> tuple[float, Array]:
            share = softmax(logarithm, axis=1)
            rest = cells.weight - cells.count[:, None] * share
            return float((cells.weight * np.log(positive(share))).sum()), rest

        logarithm = explained(np.log(total / total.sum()), parts, likelihood)
        centre = positive(softmax(logarithm, axis=1))
        return lambda strength: float(cls(strength * centre).log_marginal(cells).sum())


def beta_shape(alpha: Array, beta: Array) -> tuple[Array, Array]:
    """Skewness and excess kurtosis of Beta(α, β)."""
    total, product = alpha + beta, alpha * beta
    skewness = 2.0 * (beta - alpha) * np.sqrt(total + 1.0) / ((total + 2.0) * np.sqrt(product))
    kurtosis = 6.0 * ((alpha - beta) ** 2 * (total + 1.0) - product * (total + 2.0))
    return skewness, kurtosis / (product * (total + 2.0) * (total + 3.0))


def dirichlet_maximum(weight: Array) -> Array:
    """α that maximises Σ_v log B(α + n_v) / B(α), over strength and centre together.

    The sum needs only how often each count occurs, so a column of 100,000 categories costs a few hundred digammas.
    With no signal the likelihood rises with the strength for ever: then the strength is NO_SIGNAL times the total.
    """
    total = weight.sum(axis=0)
    cap = no_signal(total.sum())
    centre = np.maximum(total, 1e-9 * total.sum()) / total.sum()
    centre /= centre.sum()
    by_class = [np.unique(column, return_counts=True) for column in weight.T]
    by_category = np.unique(weight.sum(axis=1), return_counts=True)

    def rise(alpha: float, counts: tuple[Any, Any]) -> tuple[float, float]:
        """Σ_v log Γ(α + n_v) / Γ(α) and its slope."""
        count, times = counts
        slope = (digamma(alpha + count) - digamma(alpha)) @ times
        return float(log_rising(alpha, count) @ times), float(slope)

    def objective(x: Array) -> tuple[float, Array]:
        strength, share = np.exp(x[0]), softmax(x[1:])
        alpha = positive(strength * share)
        whole, whole_slope = rise(strength, by_category)
        parts = np.array([rise(*pair) for pair in zip(alpha, by_class, strict=True)])
        slope = alpha * (parts[:, 1] - whole_slope)
        return float(parts[:, 0].sum() - whole), np.append(slope.sum(), slope - share * slope.sum())

    span = 15.0  # no class share further than e^±15 from where it starts
    logits = np.log(centre)
    bounds = [(np.log(1e-2), np.log(cap)), *((logit - span, logit + span) for logit in logits)]
    best, value = maximise(objective, np.append(np.log(min(10.0, cap)), logits), bounds)
    if value - objective(np.append(np.log(cap), logits))[0] < 1e-2:
        return np.asarray(cap * centre)
    return np.asarray(np.exp(best[0]) * softmax(best[1:]))
