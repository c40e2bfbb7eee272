"""Counts: θ is the rate, Gamma before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import digamma, gammaincinv
from scipy.stats import nbinom

from catbayes.core.arrays import column
from catbayes.core.statistics import Moments
from catbayes.core.validation import Array
from catbayes.families.arithmetic import left_over, log_rising, maximise, no_signal, small
from catbayes.families.family import Family, Normals, Random, Support

MANY = 1e9
"""A new count of such a mean is a gamma variable of the same mean and variance, to a unit or two; from 1e15 on, scipy's
quantile of the negative binomial ends in a loop, or ends the interpreter."""


@dataclass(frozen=True, slots=True, eq=False)
class GammaPoisson(Family):
    """λ ~ Gamma(α, *rate* β): α counts the events, β the observations, or the units of exposure.

    The paper has three families; this one follows its recipe. The prior of an unseen category is worth one observation
    at least.

    Examples
    --------
    >>> prior = GammaPoisson(alpha=2.0, beta=4.0)  # mean 1/2: β is a rate, not a scale
    >>> posterior = prior.update(Moments.from_codes(np.array([0, 0]), np.array([3.0, 1.0]), n_slots=1))
    >>> posterior.alpha, posterior.beta, posterior.mean()
    (array([6.]), array([6.]), array([[1.]]))
    """

    alpha: Array
    beta: Array

    support: ClassVar[Support | None] = Support(
        'family="poisson" takes counts ≥ 0, and y holds {lowest:g}: use "normal" for amounts.', zero=True
    )
    exposure: ClassVar[Literal["units", "attempts"] | None] = "units"

    def per(self, units: float) -> Self:
        """In more units there are more events, and fewer of those units."""
        return type(self)(self.alpha, self.beta / units)

    @classmethod
    def scaled(cls, total: Moments, gamma: float) -> Self:
        """α = γ Σ y_n,  β = γ N; γ = 0 is the limit of a small γ."""
        size = np.maximum(gamma, 1e-12) * total.count[0]
        return cls(size * total.mean[0], size)

    def for_unseen(self) -> Self:
        """One observation at least."""
        beta = np.maximum(self.beta, 1.0)
        return type(self)(self.alpha * (beta / self.beta), beta)

    @classmethod
    def empirical(cls, statistics: Moments) -> Self:
        """Maximise the marginal likelihood (a negative binomial) over mean and strength."""
        seen = statistics.count > 0
        standard = Moments(statistics.count[seen], statistics.mean[seen], statistics.m2[seen])
        count, events = standard.count, standard.count * standard.mean
        centre = np.log(events.sum() / count.sum())
        cap = np.log(no_signal(count.sum()))

        def objective(x: Array) -> tuple[float, Array]:
            mean, beta = np.exp(x)
            alpha = mean * beta
            by_alpha = (digamma(alpha + events) - digamma(alpha) - np.log1p(count / beta)).sum()
            by_beta = (mean - (alpha + events) / (beta + count)).sum()
            value = float(cls(alpha, beta).log_marginal(standard).sum())
            return value, np.array([alpha * by_alpha, alpha * by_alpha + beta * by_beta])

        bounds = [(centre - 10.0, centre + 10.0), (np.log(1e-6), cap)]
        best, value = maximise(objective, [centre, min(np.log(10.0), cap)], bounds)
        if value - objective(np.array([centre, cap]))[0] < 1e-2:
            best = np.array([centre, cap])
        mean, beta = np.exp(best)
        return cls(mean * beta, beta)

    def dispersion(self, statistics: Moments, row: float = 1.0) -> float:
        """Var y / E y within categories: 1 for Poisson counts, more for most real ones."""
        events, size = (statistics.count * statistics.mean).sum(), statistics.count.sum()
        degrees = size - row * (statistics.count > 0).sum()  # each category has a mean of its own
        return float(statistics.m2.sum() / events * size / degrees) if events > 0 and degrees > 0 else 1.0

    @property
    def strength(self) -> Array:
        """β observations."""
        return self.beta

    def worth(self, strength: Any) -> Self:
        """Scale all observations alike."""
        ratio = strength / self.strength
        return type(self)(self.alpha * ratio, self.beta * ratio)

    def update(self, statistics: Moments) -> Self:
        """α_mv = α + Σ y_n,  β_mv = β + N_mv."""
        return type(self)(self.alpha + statistics.count * statistics.mean, self.beta + statistics.count)

    def leave_out(self, target: Any, weight: Any) -> Self:
        """Take y and one observation away again."""
        return type(self)(left_over(self.alpha, weight * target, weight), self.beta - weight)

    def mean(self) -> Array:
        """α / β."""
        return column(self.alpha / self.beta)

    def variance(self) -> Array:
        """α / β²."""
        return column(self.alpha / self.beta / self.beta)

    def skewness_and_kurtosis(self) -> tuple[Array, Array]:
        """2 / √α and 6 / α."""
        return column(2.0 / np.sqrt(self.alpha)), column(6.0 / self.alpha)

    def quantile(self, probability: Any) -> Array:
        """Invert the incomplete gamma function."""
        return np.asarray(gammaincinv(column(self.alpha), probability) / column(self.beta))

    def predictive_quantile(self, probability: float) -> Array:
        """A new count is negative binomial: α successes, each with probability β / (β + 1)."""
        mean = self.alpha / self.beta
        alpha, beta = (np.where(mean < MANY, values, 1.0) for values in (self.alpha, self.beta))
        counted = nbinom.ppf(probability, alpha, beta / (beta + 1.0))
        shape = 1.0 / (1.0 / mean + 1.0 / self.alpha)
        large = np.ceil(gammaincinv(shape, probability) * (mean / shape))
        return np.asarray(np.where(mean < MANY, counted, large))

    def tail(self, statistics: Moments) -> Array:
        """The number of events in n units is negative binomial: α successes, each with probability β / (β + n)."""
        events, chance = statistics.count * statistics.mean, self.beta / (self.beta + statistics.count)
        below = nbinom.cdf(np.ceil(events), self.alpha, chance)
        above = nbinom.sf(np.floor(events) - 1.0, self.alpha, chance)
        return np.asarray(np.minimum(1.0, 2.0 * np.minimum(below, above)))

    def sample(self, random: Random) -> Array:
        """λ ~ Gamma(α, rate β)."""
        return column(random.standard_gamma(self.alpha) / self.beta)

    def normal(self) -> Normals:
        """λ ~ N(α / β, α / β²), of skewness 2 / √α."""
        root = np.sqrt(self.alpha)
        return Normals.of(self.mean(), column(root / self.beta), column(2.0 / root), low=0.0)

    def normal_error(self) -> Array:
        """See `BetaBernoulli.normal_error`."""
        order = small(self.alpha)
        return np.asarray(0.05 * order + 0.09 * order**2)

    def log_marginal(self, statistics: Moments) -> Array:
        """Log Γ(α + Σy) β^α / (Γ(α) (β + N)^(α + Σy)), less Σ log y_n!, which no prior changes."""
        count, events = statistics.count, statistics.count * statistics.mean
        value = log_rising(self.alpha, events)
        return np.asarray(value - self.alpha * np.log1p(count / self.beta) - events * np.log(self.beta + count))
