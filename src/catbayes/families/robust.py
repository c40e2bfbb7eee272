"""Numeric targets with heavy tails: θ is the mean, a mixture of normals before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaincinv, logsumexp, ndtr, ndtri

from catbayes.core.arrays import column, namespace, positive, precision
from catbayes.core.statistics import Moments
from catbayes.core.validation import Array
from catbayes.families.arithmetic import likeliest, no_signal
from catbayes.families.family import Family, Normals, Random

N_VARIANCES = 8
"""Variances that a category may have. Twelve of them, or a continuum, give the same to the second digit."""

USUAL_SHAPE = 2.0
"""The shape of the variances of categories before it is estimated: as of a few rows of Student's t₃."""


@dataclass(frozen=True, slots=True, eq=False)
class RobustNormal(Family):
    """θ ~ N(μ₀, ω²), and the targets of a category have the variance σ², which is one of several.

    In the normal family the prior of a mean is as wide as the targets of its category vary, so that the mean of a
    category with an outlier is shrunk no more than others. Here it is shrunk more. Each variance has a probability, and
    given the variance the mean is normal: θ is a mixture.

    `centre` and `precision` are those of θ in each part of the mixture, `noise` is its σ², and `log_chance` the
    logarithm of its probability, up to a constant; (…, part) each.

    Examples
    --------
    >>> prior = RobustNormal.of(centre=0.0, spread=1.0, variance=1.0)
    >>> tame, wild = np.array([2.0, 3.0, 4.0, 3.0]), np.array([2.0, 30.0, -15.0, -5.0])  # of the same mean
    >>> y = Moments.from_codes(np.repeat([0, 1], 4), np.append(tame, wild), n_slots=2)
    >>> prior.update(y).mean()[:, 0].round(1).tolist()
    [2.2, 1.3]
    """

    centre: Array
    precision: Array
    noise: Array
    log_chance: Array

    linkable: ClassVar[bool] = False  # what a category is worth to another depends on the variance of its rows
    as_differences: ClassVar[bool] = True
    signed: ClassVar[tuple[str, ...]] = ("centre", "log_chance")

    @classmethod
    def of(cls, centre: float, spread: float, variance: float, shape: float = USUAL_SHAPE) -> Self:
        """A prior: categories have means N(centre, spread²), and 1 / σ² is Gamma(shape) of mean 1 / variance, in steps.

        Parameters
        ----------
        centre, spread : float
            Mean and standard deviation of the means of categories.
        variance : float
            Of the targets of a usual category.
        shape : float, default=2.0
            The smaller, the more categories differ in that.

        Examples
        --------
        >>> RobustNormal.of(centre=5.0, spread=2.0, variance=1.0).quantile(0.5).round(6).tolist()
        [5.0]
        """
        variances = variance * _steps(shape)
        one = np.ones_like(variances)
        return cls(centre * one, one / spread**2, variances, -np.log(N_VARIANCES) * one)

    @classmethod
    def scaled(cls, total: Moments, gamma: float) -> Self:
        """Means of categories are about ȳ as those of γ N rows would be; γ = 0 is the limit of a small γ."""
        size, variance = np.maximum(gamma, 1e-12) * total.count[0], total.m2[0] / total.count[0]
        return cls.of(total.mean[0], np.sqrt(variance / size), variance)

    def for_unseen(self) -> Self:
        """Worth one row at least."""
        more = np.maximum(1.0 / self.strength, 1.0)[..., None]
        return type(self)(self.centre, self.precision * more, self.noise, self.log_chance)

    @classmethod
    def empirical(cls, statistics: Moments) -> Self:
        """Maximise the marginal likelihood of a standardised target over ω, and over the scale and shape of σ².

        The centre is the mean of the category means, each weighted as exactly as it is known.
        """
        total, seen = statistics.total(), statistics.take(np.flatnonzero(statistics.count > 0))
        shift, size = float(total.mean[0]), float(total.count[0])
        scale = np.sqrt(float(total.m2[0]) / size)
        count, mean, m2 = seen.count[:, None], (seen.mean[:, None] - shift) / scale, seen.m2[:, None] / scale**2

        def parts(x: Array) -> tuple[Array, Array, Array, Array, Array]:
            """Log-likelihood of each category with each variance, its slopes by log ω² and log σ², and more."""
            spread, variance = np.exp(x[1]), np.exp(x[2]) * _steps(float(np.exp(x[3])))
            known, whole, gap = count * spread / variance, spread + variance / count, mean - x[0]
            value = -0.5 * (count * np.log(variance) + m2 / variance + np.log1p(known) + gap**2 / whole)
            share = known / (1.0 + known)
            by_spread = 0.5 * (spread * (gap / whole) ** 2 - share)
            by_variance = 0.5 * (m2 / variance - count + share + variance / count * (gap / whole) ** 2)
            top = value.max(axis=1, keepdims=True)
            chance = np.exp(value - top)
            likely = float((np.log(chance.mean(axis=1)) + top[:, 0]).sum())
            return np.asarray(likely), chance / chance.sum(axis=1, keepdims=True), by_spread, by_variance, whole

        def objective(x: Array) -> tuple[float, Array]:
            value, chance, by_spread, by_variance, _ = parts(x)
            steps = (chance * by_variance).sum(axis=0)
            shape, little = float(np.exp(x[3])), 1e-4
            by_shape = np.log(_steps(shape * np.exp(little)) / _steps(shape * np.exp(-little))) / (2.0 * little)
            return float(value), np.array([0.0, (chance * by_spread).sum(), steps.sum(), steps @ by_shape])

        def centre(x: Array) -> float:
            _, chance, _, _, whole = parts(x)
            weight = (chance / whole).sum(axis=1, keepdims=True)
            return float((weight * mean).sum() / weight.sum())

        several = seen.count > 1
        within = seen.m2[several] / (seen.count[several] - 1.0) / scale**2
        usual = float(np.median(within[within > 0])) if (within > 0).any() else 1.0
        least, alike = -np.log(no_signal(size)), np.log(1e3)  # one mean for all categories, and one variance
        start = [float(np.median(mean)), np.log(0.1 * usual), np.log(usual), np.log(USUAL_SHAPE)]
        bounds = [(least, 5.0), (-25.0, 5.0), (np.log(0.3), alike)]
        best = likeliest(objective, centre, start, bounds, {3: alike}, [({1: least}, 1e-2)], rounds=3)
        if best[1] == least:  # no signal
            best[1] = best[2] + least - np.log((1.0 / _steps(float(np.exp(best[3])))).mean())
        spread, variance, shape = np.exp(best[1:]).tolist()
        return cls.of(shift + scale * best[0], scale * np.sqrt(spread), scale**2 * variance, shape)

    @property
    def strength(self) -> Array:
        """The rows of a category over the share of their mean in E θ; before them, what their number is added to."""
        strength: Array = 1.0 / (self._chance() / (self.noise * self.precision)).sum(-1)
        return strength

    def worth(self, strength: Any) -> Self:
        """Another ω, of all parts alike."""
        more = (strength / self.strength)[..., None]
        return type(self)(self.centre, self.precision * more, self.noise, self.log_chance)

    def _chance(self) -> Array:
        """The chance of each part, (…, part)."""
        xp = namespace(self.log_chance)
        chance: Array = xp.exp(self.log_chance - _largest(self.log_chance))
        whole: Array = chance / chance.sum(-1)[..., None]
        return whole

    def update(self, statistics: Moments) -> Self:
        """Of each part, precision + n / σ² and its mean; chances by how likely the targets are with each σ²."""
        count, mean, m2 = (values[..., None] for values in (statistics.count, statistics.mean, statistics.m2))
        xp, known, gap = namespace(self.noise), count / self.noise, mean - self.centre
        after = self.precision + known
        likely = count * xp.log(self.noise) + m2 / self.noise + xp.log(after / self.precision)
        likely = self.log_chance - 0.5 * (likely + self.precision * (known / after) * gap**2)
        variance = self.noise + 0.0 * after
        return type(self)(self.centre + known / after * gap, after, variance, likely - _largest(likely))

    def leave_out(self, target: Any, weight: Any) -> Self:
        """Solve that for what was before."""
        xp = namespace(self.precision)
        known = weight[..., None] / self.noise
        before = xp.maximum(self.precision - known, precision(known) * self.precision)
        gap = self.centre - target[..., None]
        centre = self.centre + known / before * gap
        # y - μ before is (precision after / precision before) (y - μ after)
        likely = weight[..., None] * xp.log(self.noise) + xp.log(self.precision / before)
        chance = self.log_chance + 0.5 * (likely + known * self.precision / before * gap**2)
        return type(self)(centre, before, self.noise, chance - _largest(chance))

    def mean(self) -> Array:
        """That of the parts, by their chances."""
        return column((self._chance() * self.centre).sum(-1))

    def variance(self) -> Array:
        """Within the parts, and between them."""
        gap = self.centre - self.mean()
        return column((self._chance() * (1.0 / self.precision + gap**2)).sum(-1))

    def skewness_and_kurtosis(self) -> tuple[Array, Array]:
        """From the third and fourth moments of the parts about the mean of all."""
        chance, gap, within, variance = self._chance(), self.centre - self.mean(), 1.0 / self.precision, self.variance()
        third = (chance * (gap**3 + 3.0 * gap * within)).sum(-1)
        fourth = (chance * (gap**4 + 6.0 * gap**2 * within + 3.0 * within**2)).sum(-1)
        return column(third) / variance**1.5, column(fourth) / variance**2 - 3.0

    def quantile(self, probability: Any) -> Array:
        """Invert the distribution function of the mixture."""
        probability = np.asarray(probability)
        return column(self._inverse(probability[..., 0] if probability.ndim else probability, 1.0 / self.precision))

    def predictive_quantile(self, probability: float) -> Array:
        """A new y is a mixture of normals too."""
        return self._inverse(np.asarray(probability), 1.0 / self.precision + self.noise)

    def _inverse(self, probability: Array, variance: Array) -> Array:
        """Bisect between the quantiles of the parts."""
        chance, scale = self._chance(), np.sqrt(variance)
        ends = self.centre + scale * ndtri(probability)[..., None]
        low, high = ends.min(axis=-1), ends.max(axis=-1)
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = (chance * ndtr((middle[..., None] - self.centre) / scale)).sum(axis=-1) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(0.5 * (low + high))

    def tail(self, statistics: Moments) -> Array:
        """The mean of n rows is a mixture of normals, of which no variance is less than that of these rows.

        An outlier moves the mean and the variance too: rows that have one are noisy, not changed. A single row has the
        p-value 1.
        """
        count = statistics.count[..., None]
        more = np.where(count > 1.0, count - 1.0, np.inf)
        noise = np.maximum(self.noise, statistics.m2[..., None] / more)
        scale = np.sqrt(1.0 / self.precision + noise / positive(count))
        below = (self._chance() * ndtr((statistics.mean[..., None] - self.centre) / scale)).sum(-1)
        above = (self._chance() * ndtr((self.centre - statistics.mean[..., None]) / scale)).sum(-1)
        return np.where(statistics.count > 1.0, 2.0 * np.minimum(below, above), 1.0)

    def sample(self, random: Random) -> Array:
        """Draw a part of the mixture, then a normal."""
        chance = self._chance()
        xp = namespace(chance)
        uniform = xp.exp(-random.standard_exponential(chance.shape[:-1]))
        reached = xp.cumsum(chance, -1) >= uniform[..., None]
        reached[..., -1] = True  # despite rounding
        taken = xp.cumsum(xp.cumsum(reached, -1), -1) == 1  # the first that is
        centre, spread = (self.centre * taken).sum(-1), 1.0 / xp.sqrt((self.precision * taken).sum(-1))
        # The normal has its own generator: see DirichletCategorical.
        return column(centre + spread * random.spawn(1)[0].standard_normal(centre.shape))

    def normal(self) -> Normals:
        """θ ~ N(mean, variance)."""
        return Normals.of(self.mean(), np.sqrt(self.variance()), 0.0 * self.mean())

    def normal_error(self) -> Array:
        """Parts off by d standard deviations cost φ(0) d, and parts r times as wide at most 0.242 log r."""
        scale = np.sqrt(self.variance())
        off, wider = np.abs(self.centre - self.mean()) / scale, 0.5 * np.abs(np.log(self.precision * scale**2))
        return np.asarray((self._chance() * (0.3990 * off + 0.2420 * wider)).sum(-1))

    def log_marginal(self, statistics: Moments) -> Array:
        """Log of the mean, by chances, of the likelihood with each σ²."""
        count, mean, m2 = (values[..., None] for values in (statistics.count, statistics.mean, statistics.m2))
        known = count / self.noise / self.precision
        likely = count * np.log(2.0 * np.pi * self.noise) + m2 / self.noise + np.log1p(known)
        likely = likely + self.precision * known / (1.0 + known) * (mean - self.centre) ** 2
        chances = self.log_chance - logsumexp(self.log_chance, axis=-1, keepdims=True)
        return np.asarray(logsumexp(chances - 0.5 * likely, axis=-1))


def _steps(shape: float) -> Array:
    """Variances of equal chance, the largest first, where precisions are gamma of this shape and of mean 1."""
    chances = (np.arange(N_VARIANCES) + 0.5) / N_VARIANCES
    return np.asarray(shape / gammaincinv(shape, chances).clip(1e-12))


def _largest(values: Any) -> Any:
    """The largest of the parts, (…, 1)."""
    return namespace(values).amax(values, -1)[..., None]
