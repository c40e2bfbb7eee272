"""Numeric targets: θ = (μ, τ), mean and precision, Normal–Gamma before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaincinv, gammaln, ndtri, stdtr, stdtrit

from catbayes.core.arrays import TINY, column, namespace, positive, precision, where
from catbayes.core.statistics import Moments
from catbayes.core.validation import Array
from catbayes.families.arithmetic import digamma_rise, likeliest, likeliest_strength, log_rising, no_signal, small
from catbayes.families.family import Family, Normals, Random

CERTAIN = 1e12
"""Strength of a mean that is known as well as a number can be."""


@dataclass(frozen=True, slots=True, eq=False)
class NormalGamma(Family):
    """τ ~ Gamma(α, *rate* β) and μ | τ ~ N(μ₀, 1 / (ν τ)).

    `centre` is μ₀, `strength` is ν (pseudo-observations of the mean), `alpha` and `beta` are α and β: the precision
    has mean α / β, so β grows with the variance of the target.

    Examples
    --------
    >>> prior = NormalGamma(centre=0.0, strength=1.0, alpha=2.0, beta=1.0)
    >>> posterior = prior.update(Moments.from_codes(np.array([0, 0, 0]), np.array([1.0, 2.0, 3.0]), n_slots=1))
    >>> posterior.centre, posterior.strength, posterior.alpha, posterior.beta
    (array([1.5]), array([4.]), array([3.5]), array([3.5]))
    """

    centre: Array
    strength: Array
    alpha: Array
    beta: Array

    parameters: ClassVar[tuple[str, ...]] = ("mean", "precision")
    location: ClassVar[slice] = slice(0, 1)
    as_differences: ClassVar[bool] = True
    signed: ClassVar[tuple[str, ...]] = ("centre",)
    free_strength: ClassVar[bool] = True

    @classmethod
    def scaled(cls, total: Moments, gamma: float) -> Self:
        """μ₀ = ȳ,  α = γ N / 2,  β = γ/2 Σ (y_n - ȳ)²  (equations 11, 13, 14), with the proper ν = γ N.

        The paper's ν = 0 (equation 12) is `Scaled(gamma, strength=0)`. γ = 0 is the limit of a small γ.
        """
        size = np.maximum(gamma, 1e-12) * total.count[0]
        return cls(total.mean[0], size, size / 2.0, size / 2.0 * total.m2[0] / total.count[0])

    def for_unseen(self) -> Self:
        """ν is at least 1, and τ is known well enough (α at least 2) for μ to have a variance."""
        alpha = np.maximum(self.alpha, 2.0)
        return type(self)(self.centre, np.maximum(self.strength, 1.0), alpha, self.beta * (alpha / self.alpha))

    @classmethod
    def empirical(cls, statistics: Moments) -> Self:
        """Maximise the marginal likelihood of a standardised target over ν, α and β.

        The centre is the mean of the category means, each weighted by N_mv / (ν + N_mv). A maximum over the centre too
        would follow the bulk of a skewed target and not its mean.
        """
        total, seen = statistics.total(), statistics.take(np.flatnonzero(statistics.count > 0))
        shift, size = float(total.mean[0]), float(total.count[0])
        variance = float(total.m2[0]) / size
        count, mean, m2 = seen.count, (seen.mean - shift) / np.sqrt(variance), seen.m2 / variance
        unique, member = np.unique(count, return_inverse=True)
        times = np.bincount(member)

        def objective(x: Array) -> tuple[float, Array]:
            strength, alpha, spread = np.exp(x[1:])
            beta, share, gap = alpha * spread, count / (strength + count), mean - x[0]
            more = (m2 + strength * share * gap**2) / 2.0  # β_mv - β
            risen = times @ log_rising(alpha, unique / 2.0)  # one for each count, not for each category
            rest = (alpha + count / 2.0) * np.log1p(more / beta) + np.log1p(count / strength) / 2.0
            value = risen - rest.sum() - size / 2.0 * np.log(beta)
            ratio = (alpha + count / 2.0) / (beta + more)
            by_strength = (share - ratio * strength * (share * gap) ** 2).sum() / 2.0
            by_alpha = alpha * (times @ digamma_rise(alpha, unique / 2.0) - np.log1p(more / beta).sum())
            by_beta = ((alpha * more - beta * count / 2.0) / (beta + more)).sum()
            return float(value), np.array([0.0, by_strength, by_alpha + by_beta, by_beta])

        def centre(x: Array) -> float:
            share = count / (np.exp(x[1]) + count)
            return float((share * mean).sum() / share.sum())

        silent, alike = np.log(no_signal(size)), np.log(1e6)  # one mean for all categories, and one variance
        within = np.log(np.clip(m2.sum() / size, 1e-8, 1.0))
        start = [0.0, np.log(min(10.0, size)), np.log(10.0), within]
        bounds = [(-25.0, silent), (np.log(2.0), alike), (-25.0, 5.0)]
        best = likeliest(objective, centre, start, bounds, {2: alike}, [({0: 0.0, 1: silent}, 1e-2)])
        strength, alpha, spread = np.exp(best[1:])
        return cls(shift + np.sqrt(variance) * best[0], strength, alpha, variance * alpha * spread)

    def worth(self, strength: Any) -> Self:
        """Another ν; what is known of τ stays."""
        return type(self)(self.centre, 0.0 * self.strength + strength, self.alpha, self.beta)

    def varying_as(self, other: Self) -> Self:
        """The same means, with the precision of the target as in one other distribution."""
        shape = self.centre.shape
        return type(self)(
            self.centre, self.strength, np.broadcast_to(other.alpha, shape), np.broadcast_to(other.beta, shape)
        )

    @classmethod
    def of_nodes(cls, messages: Moments, root: Self) -> Self:
        """The noise is known from the leaves, whose precision the root has; messages do not inform it."""
        found = cls.empirical(messages).varying_as(root) if messages.varies() else root
        n_nodes = len(messages.count)
        for _ in range(3):
            share = messages.count / (found.strength + messages.count)
            centre = (share * messages.mean).sum() / share.sum()
            certain = cls(*(np.full(n_nodes, value) for value in (centre, CERTAIN, found.alpha, found.beta)))
            found = cls(centre, np.asarray(likeliest_strength(certain, messages, found)), found.alpha, found.beta)
        return found

    def update(self, statistics: Moments) -> Self:
        """Equations 15 to 18."""
        count = statistics.count
        strength = self.strength + count  # ν_mv = ν + N_mv  (16)
        share = where(strength > 0, count, 0.0) / where(strength > 0, strength, 1.0)
        gap = statistics.mean - self.centre
        centre = self.centre + share * gap  # μ_0mv = (ν μ₀ + N_mv ȳ_mv) / (ν + N_mv)  (15)
        alpha = self.alpha + count / 2.0  # α_mv = α + N_mv / 2  (17)
        beta = self.beta + statistics.m2 / 2.0 + share * self.strength * gap**2 / 2.0  # (18)
        return type(self)(centre, strength, alpha, beta)

    def leave_out(self, target: Any, weight: Any) -> Self:
        """Solve equations 15 to 18 for the parameters before the last observation."""
        strength = self.strength - weight
        gap = self.centre - target
        beta = self.beta - weight * self.strength / strength * gap**2 / 2.0
        # What is left of β after cancellation is at least its rounding error.
        beta = namespace(beta).maximum(beta, precision(beta) * self.beta)
        return type(self)(self.centre + weight / strength * gap, strength, self.alpha - weight / 2.0, beta)

    def mean(self) -> Array:
        """(μ₀, α / β)."""
        return _together(self.centre, self.alpha / self.beta)

    def variance(self) -> Array:
        """(β / (ν (α - 1)), α / β²); the first is infinite for α ≤ 1."""
        with np.errstate(divide="ignore"):
            of_mean = where(self.alpha > 1.0, self.beta / (self.strength * abs(self.alpha - 1.0)), np.inf)
        return _together(of_mean, self.alpha / self.beta / self.beta)

    def skewness_and_kurtosis(self) -> tuple[Array, Array]:
        """Those of Student's t with 2α degrees of freedom."""
        with np.errstate(divide="ignore"):
            kurtosis = np.where(self.alpha > 2.0, 3.0 / np.abs(self.alpha - 2.0), np.nan)
        return column(np.where(self.alpha > 1.5, 0.0, np.nan)), column(kurtosis)

    def quantile(self, probability: Any) -> Array:
        """Marginally, μ is Student's t with 2α degrees of freedom and scale √(β / (α ν)); τ is Gamma(α, rate β)."""
        scale = np.sqrt(self.beta / (self.alpha * self.strength))
        of_mean = self.centre + scale * stdtrit(2.0 * self.alpha, probability)
        return _together(of_mean, gammaincinv(self.alpha, probability) / self.beta)

    def predictive_quantile(self, probability: float) -> Array:
        """A new y is Student's t with 2α degrees of freedom and scale √(β (ν + 1) / (α ν))."""
        scale = np.sqrt(self.beta * (self.strength + 1.0) / (self.alpha * self.strength))
        return np.asarray(self.centre + scale * stdtrit(2.0 * self.alpha, probability))

    def tail(self, statistics: Moments) -> Array:
        """The mean of n rows is Student's t with 2α degrees of freedom and scale √(β (1 / ν + 1 / n) / α)."""
        scale = np.sqrt(self.beta / self.alpha * (1.0 / self.strength + 1.0 / positive(statistics.count)))
        return np.asarray(2.0 * stdtr(2.0 * self.alpha, -np.abs(statistics.mean - self.centre) / scale))

    def sample(self, random: Random) -> Array:
        """τ ~ Gamma(α, rate β), then μ ~ N(μ₀, 1 / (ν τ))."""
        tau = positive(random.standard_gamma(self.alpha) / self.beta)
        noise = random.spawn(1)[0].standard_normal(tau.shape)  # its own generator: see DirichletCategorical
        return _together(self.centre + noise / namespace(tau).sqrt(self.strength * tau), tau)

    def transport(self, uniform: Array) -> Array:
        """τ by its own distribution function, then μ given τ."""
        tau = positive(gammaincinv(self.alpha, uniform[..., 1]) / self.beta)
        return _together(self.centre + ndtri(uniform[..., 0]) / np.sqrt(self.strength * tau), tau)

    def normal(self) -> Normals:
        """μ and τ are uncorrelated: two independent normals of the right variance, τ of skewness 2 / √α."""
        variance = self.variance()
        variance[..., 0] = np.where(self.alpha > 1.0, variance[..., 0], self.beta / (self.alpha * self.strength))
        skewness = 2.0 / np.sqrt(self.alpha)
        return Normals.of(self.mean(), np.sqrt(variance), _together(0.0 * skewness, skewness), low=[-np.inf, TINY])

    def normal_error(self) -> Array:
        """Student's tails, of order 1 / α, cost most."""
        order = small(self.alpha)
        return np.asarray(0.07 * order + 0.2 * order**2)

    def log_marginal(self, statistics: Moments) -> Array:
        """Log Γ(α_mv) β^α √ν / (Γ(α) β_mv^α_mv √ν_mv (2π)^(N_mv / 2))."""
        after, count = self.update(statistics), statistics.count
        value = gammaln(after.alpha) - gammaln(self.alpha)
        value = value + self.alpha * np.log(self.beta) - after.alpha * np.log(after.beta)
        return np.asarray(value - 0.5 * np.log1p(count / self.strength) - count / 2.0 * np.log(2.0 * np.pi))


def _together(mean: Any, precision: Any) -> Array:
    """(μ, τ), as (…, parameter)."""
    theta: Array = namespace(mean).stack([mean, precision], axis=-1)
    return theta
