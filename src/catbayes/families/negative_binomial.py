"""Counts that vary more than Poisson's: θ is the mean, a multiple of a beta-prime variable before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import betainccinv, betaincinv, xlogy

from catbayes.core.arrays import TINY, column, positive, where
from catbayes.core.statistics import Moments
from catbayes.core.validation import Array
from catbayes.families.arithmetic import digamma_rise, left_over, likeliest, log_rising, no_signal, small
from catbayes.families.family import Family, Normals, Random, Support

SUMMED = 1 << 12
"""Counts whose chances are added up, to find quantiles of a new one."""

HEAVIEST = 1.1
"""The least r ν of an estimated prior: the standard deviation of θ is then about three times its mean."""


@dataclass(frozen=True, slots=True, eq=False)
class BetaNegativeBinomial(Family):
    """y ~ NB(r, p) of mean μ = r (1 - p) / p and variance μ + μ²/r, where p ~ Beta(r ν + 1, ν c).

    `centre` is c = E μ, `strength` is ν, in rows, and `size` is r: the smaller r, the more counts of the same μ vary.
    With r = ∞ they are Poisson's. y events in e units are NB(r e, p): a rate of weight e is updated like e rows.

    Examples
    --------
    >>> prior = BetaNegativeBinomial(centre=1.0, strength=2.0, size=0.5)
    >>> posterior = prior.update(Moments.from_codes(np.array([0, 0]), np.array([5.0, 1.0]), n_slots=1))
    >>> posterior.centre, posterior.strength, posterior.size  # (2 · 1 + 6) / 4
    (array([2.]), array([4.]), array([0.5]))
    """

    centre: Array
    strength: Array
    size: Array

    support: ClassVar[Support | None] = Support(
        'family="negative_binomial" takes counts ≥ 0, and y holds {lowest:g}: use "normal" for amounts.', zero=True
    )
    exposure: ClassVar[Literal["units", "attempts"] | None] = "units"

    @property
    def curvature(self) -> Array:
        """1 / r."""
        return 1.0 / self.size

    def _shapes(self) -> tuple[Array, Array]:
        """(a, b) of p ~ Beta(a, b)."""
        return self.size * self.strength + 1.0, self.strength * self.centre

    @classmethod
    def scaled(cls, total: Moments, gamma: float) -> Self:
        """The mean ȳ worth γ N rows, and r as the variance of all rows has it; γ = 0 is the limit of a small γ."""
        strength = np.maximum(gamma, 1e-12) * total.count[0]
        return cls(positive(total.mean[0]), strength, np.asarray(_size_by_moments(total)))

    def for_unseen(self) -> Self:
        """ν is at least 1 + 1/r, so that θ varies no more than targets do."""
        return type(self)(self.centre, np.maximum(self.strength, 1.0 + self.curvature), self.size)

    def per(self, units: float) -> Self:
        """In more units there are more events, and fewer of those units."""
        return type(self)(self.centre * units, self.strength / units, self.size * units)

    @classmethod
    def empirical(cls, statistics: Moments) -> Self:
        """Maximise the marginal likelihood of the statistics (`log_marginal`) over ν and r.

        The centre is the mean of the category means, each weighted by n / (ν + n), which is right whatever shape the
        means of categories are spread in: the maximum over the centre follows the bulk of those that are not
        beta-prime. Where hardly a category has two rows, r and ν cannot be separated: then r is that of all rows
        together, as if categories did not differ.
        """
        total, degrees = statistics.total(), np.maximum(statistics.count - 1.0, 0.0).sum()
        known = degrees >= 0.01 * total.count[0]
        return cls._likeliest(statistics, _sizes(total) if known else (_size_by_moments(total),) * 2)

    @classmethod
    def of_nodes(cls, messages: Moments, root: Self) -> Self:
        """The size is known from the leaves; messages do not inform it."""
        return cls._likeliest(messages, (float(root.size),) * 2) if messages.varies() else root

    @classmethod
    def _likeliest(cls, statistics: Moments, sizes: tuple[float, float]) -> Self:
        """Climb over log ν and log r between two sizes; no signal and the largest r, if as likely.

        θ has a variance for r ν > 1 alone, and that is seen to at the end: a bound on the way would bend r.
        """
        total, seen = statistics.total(), statistics.take(np.flatnonzero(statistics.count > 0))
        # Of categories with as many rows and the same total only the average squares matter.
        digits, scale = np.frexp(np.stack([seen.count, seen.count * seen.mean]))  # the last digits are rounding
        pairs = np.ldexp(np.round(digits, 12), scale)
        (count, events), same = np.unique(pairs, axis=1, return_inverse=True)
        times = np.bincount(same.reshape(-1))
        some = Moments(count, events / count, np.bincount(same.reshape(-1), seen.m2) / times)

        def objective(x: Array) -> tuple[float, Array]:
            mean, strength, size = np.exp(x)
            prior, trials = cls(mean, strength, size), size * count
            a, b = prior._shapes()
            after = digamma_rise(a + trials, b + events)
            by_a = size * strength * ((digamma_rise(a, b) - after) @ times)
            by_b = b * ((digamma_rise(b, events) - digamma_rise(a + b, trials + events)) @ times)
            by_trials = (trials * (digamma_rise(trials, events) - after)) @ times
            squares, by_size = _squares(some, size)
            slope = [0.0, by_a + by_b, by_a + by_trials + by_size @ times]
            return float((prior._totals(some) + squares) @ times), np.array(slope)

        def centre(x: Array) -> float:
            share = seen.count / (np.exp(x[1]) + seen.count)
            return float(np.log(max(float((share * seen.mean).sum() / share.sum()), TINY)))

        largest, silent = np.log(sizes[1]), np.log(no_signal(total.count[0]))  # Poisson's counts, no signal
        whole = np.log(max(float(total.mean[0]), TINY))
        start = [whole, min(np.log(10.0), silent), np.log(np.clip(_size_by_moments(total), *sizes))]
        bounds = [(np.log(1e-6), silent), (np.log(sizes[0]), largest)]
        best = likeliest(objective, centre, start, bounds, {}, [({0: whole, 1: silent}, 1e-2), ({2: largest}, 0.5)])
        mean, strength, size = np.exp(best)
        return cls(mean, np.maximum(strength, HEAVIEST / size), size)

    def dispersion(self, statistics: Moments, row: float = 1.0) -> float:
        """Squares within categories over those that r implies: 1 for negative binomial counts of that size."""
        some = statistics.take(np.flatnonzero(statistics.count > row))
        events, trials = some.count * some.mean, self.size * some.count
        squares = (events * (1.0 - row / some.count) * (events + trials) / (row + trials)).sum()
        return float(some.m2.sum() / squares) if squares > 0 else 1.0

    def worth(self, strength: Any) -> Self:
        """Another ν."""
        strength = 0.0 * self.strength + strength
        return type(self)(self.centre + 0.0 * strength, strength, self.size + 0.0 * strength)

    def varying_as(self, other: Self) -> Self:
        """The same means, with the size of one other distribution."""
        return type(self)(self.centre, self.strength, np.broadcast_to(other.size, self.centre.shape))

    def update(self, statistics: Moments) -> Self:
        """ν′ = ν + n,  c′ = (ν c + n ȳ) / (ν + n): that is Beta(a + r n, b + Σ y)."""
        strength = self.strength + statistics.count
        centre = self.centre + statistics.count / strength * (statistics.mean - self.centre)
        return type(self)(centre, strength, self.size + 0.0 * strength)

    def leave_out(self, target: Any, weight: Any) -> Self:
        """Take y and one row away again."""
        strength = self.strength - weight
        left = left_over(self.strength * self.centre, weight * target, weight)
        return type(self)(left / strength, strength, self.size + 0.0 * strength)

    def mean(self) -> Array:
        """E θ = c."""
        return column(self.centre)

    def variance(self) -> Array:
        """(c + c²/r) / (ν - 1/r), infinite for ν ≤ 1/r."""
        rest, known = self.strength - self.curvature, self.strength > self.curvature
        value = self.centre * (1.0 + self.centre / self.size) / where(known, rest, 1.0)
        return column(where(known, value, np.inf))

    def skewness_and_kurtosis(self) -> tuple[Array, Array]:
        """Those of a beta-prime variable, where they exist: for r ν > 2 and r ν > 3."""
        a, b = self._shapes()
        product = b * (a + b - 1.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            skewness = 2.0 * (2.0 * b + a - 1.0) / (a - 3.0) * np.sqrt((a - 2.0) / product)
            kurtosis = (
                6.0 * (product * (5.0 * a - 11.0) + (a - 1.0) ** 2 * (a - 2.0)) / (product * (a - 3.0) * (a - 4.0))
            )
        return column(np.where(a > 3.0, skewness, np.nan)), column(np.where(a > 4.0, kurtosis, np.nan))

    def quantile(self, probability: Any) -> Array:
        """Invert the incomplete beta function."""
        one = self.take((..., None))
        return np.asarray(one.size * _odds(*one._shapes(), probability))

    def predictive_quantile(self, probability: float) -> Array:
        """The smallest y that a new count, which is beta negative binomial, is at or below so often.

        Chances are added up as far as SUMMED; beyond, a beta-prime variable of the same mean and variance does as well.
        """
        a, b = self._shapes()
        k = 1.0 / ((1.0 + 1.0 / self.size) * (1.0 + 1.0 / b) + 1.0 / self.centre - 1.0)
        found = np.atleast_1d(np.ceil(self.centre * (a - 1.0) / k * _odds(a, k, probability)))
        left = np.flatnonzero(found < SUMMED)
        size, b, every = (np.atleast_1d(values)[left] for values in (self.size, b, a + b + self.size))
        log_chance, below = log_rising(every - size - b, b) - log_rising(every - b, b), np.zeros(len(left))
        for y in range(2 * SUMMED):
            below = below + np.exp(log_chance)
            found[left[below >= probability]] = y
            log_chance = log_chance + np.log((size + y) / (every + y)) + np.log((b + y) / (1.0 + y))
            more = below < probability
            left, size, b, every = left[more], size[more], b[more], every[more]
            log_chance, below = log_chance[more], below[more]
            if not len(left):
                break
        return found.reshape(self.centre.shape)

    def sample(self, random: Random) -> Array:
        """θ = r Gamma(b) / Gamma(a)."""
        a, b = self._shapes()
        above = random.standard_gamma(b)
        return column(self.size * above / random.spawn(1)[0].standard_gamma(a))  # see DirichletCategorical

    def normal(self) -> Normals:
        """θ ~ N(mean, variance), as skewed as the beta-prime variable."""
        known = np.where(self.strength > self.curvature, self.strength - self.curvature, self.strength)
        scale = column(np.sqrt(self.centre * (1.0 + self.centre / self.size) / known))
        skewness = self.skewness_and_kurtosis()[0]
        return Normals.of(self.mean(), scale, np.where(np.isfinite(skewness), skewness, 0.0), low=0.0)

    def normal_error(self) -> Array:
        """That of the gamma variable above, and more for the one below."""
        a, b = self._shapes()
        above, below = small(b), small(a - 1.0)
        return np.asarray(0.08 * above + 0.1 * above**2 + 0.36 * below + 2.5 * below**2)

    def log_marginal(self, statistics: Moments) -> Array:
        """Log-probability of each category's total, and of its squares given that, less what no prior changes.

        Single counts are not stored. The total S of n rows is NB(r n, p), and p is integrated out. Given S the counts
        are Dirichlet-multinomial with r for each row, and their squares about the mean S (1 - 1/n) (S + r n) / (1 + r
        n) on average. They are taken for a gamma variable of that mean and of shape (n - 1) / 2, which Poisson's counts
        give them. Those of clumped counts have heavier tails, which makes r look more certain than it is, but does not
        bias it. For r = ∞ all this is the likelihood of Poisson's counts.
        """
        return np.asarray(self._totals(statistics) + _squares(statistics, self.size)[0])

    def _totals(self, statistics: Moments) -> Array:
        """Log Γ(S + r n) B(a + r n, b + S) / (Γ(r n) B(a, b) n^S)."""
        (a, b), events = self._shapes(), statistics.count * statistics.mean
        trials = positive(self.size * statistics.count)
        value = log_rising(trials, events) - xlogy(events, statistics.count) + log_rising(b, events)
        return np.asarray(value + log_rising(a, b) - log_rising(a + trials, b + events))


def _sizes(total: Moments) -> tuple[float, float]:
    """The sizes to search between; from the second on counts are like Poisson's."""
    return 1e-4, 1e8 * max(float(total.mean[0]), 1.0)


def _size_by_moments(total: Moments) -> float:
    """The r of counts of this mean and variance; Poisson's, if they vary no more than those."""
    (mean, count), (least, most) = (float(total.mean[0]), float(total.count[0])), _sizes(total)
    excess = float(total.m2[0]) / max(count - 1.0, count / 2.0, TINY) - mean
    return max(mean**2 / excess, least) if excess > mean**2 / most else most


def _squares(statistics: Moments, size: Any) -> tuple[Array, Array]:
    """How much likelier the squares within categories are than with Poisson's counts, and the slope by log r."""
    degrees, events = np.maximum(statistics.count - 1.0, 0.0), statistics.count * statistics.mean
    usual = np.where((degrees > 0) & (events > 1.0), events * degrees, 1.0) / positive(statistics.count)
    trials = size * statistics.count
    excess = np.maximum(events - 1.0, 0.0) / (1.0 + trials)  # so that squares are usual · (1 + excess) on average
    ratio = statistics.m2 / usual / (1.0 + excess)
    slope = excess / (1.0 + excess) * trials / (1.0 + trials) * (1.0 - ratio)
    return degrees / 2.0 * (ratio * excess - np.log1p(excess)), degrees / 2.0 * slope


def _odds(a: Any, b: Any, probability: Any) -> Array:
    """Quantile of (1 - p) / p, where p ~ Beta(a, b); both parts have all their digits."""
    return np.asarray(betaincinv(b, a, probability) / betainccinv(a, b, probability))
