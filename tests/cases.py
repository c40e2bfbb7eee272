"""For each family a prior, a way to make a target, and scipy's distributions; and a table of sixty rows."""

import numpy as np
import pandas
from scipy import stats

from catbayes import SamplingBayesianEncoder, Scaled
from catbayes.core.statistics import Moments, Tally
from catbayes.families import (
    FAMILIES,
    BetaBernoulli,
    BetaBinomial,
    BetaNegativeBinomial,
    DirichletCategorical,
    GammaPoisson,
    LogNormalGamma,
    NormalGamma,
    RobustNormal,
)

PRIORS = {
    "bernoulli": BetaBernoulli(alpha=2.0, beta=3.0),
    "categorical": DirichletCategorical(alpha=[1.0, 2.0, 0.5]),
    "normal": NormalGamma(centre=1.0, strength=2.0, alpha=3.0, beta=4.0),
    "lognormal": LogNormalGamma(centre=1.0, strength=2.0, alpha=3.0, beta=4.0),
    "poisson": GammaPoisson(alpha=3.0, beta=1.5),
    "negative_binomial": BetaNegativeBinomial(centre=2.0, strength=3.0, size=4.0),
    "binomial": BetaBinomial(alpha=2.0, beta=3.0),
    "robust": RobustNormal.of(centre=1.0, spread=1.0, variance=2.0, shape=3.0),
}


def parameters(prior):
    """The numbers of a prior, as tests/reference.py takes them."""
    return tuple(prior.arrays().values())


def repeated(prior, times):
    """The same distribution for each of some categories."""
    return prior.take(np.newaxis).take(np.zeros(times, int))


# ------------------------------------------------------------------ a target for θ, (row, parameter)


def _normal(theta, random):
    return theta[:, 0] + random.standard_normal(len(theta)) / np.sqrt(theta[:, 1])


def _robust(theta, random):  # one variance for all rows of a category, which are those of one θ
    values, category = np.unique(theta[:, 0], return_inverse=True)
    noise = random.choice(PRIORS["robust"].noise, len(values))[category]
    return theta[:, 0] + random.standard_normal(len(theta)) * np.sqrt(noise)


def _negative_binomial(theta, random):
    size = PRIORS["negative_binomial"].size
    return random.negative_binomial(size, size / (size + theta[:, 0])).astype(float)


TARGETS = {
    "bernoulli": lambda theta, random: (random.random(len(theta)) < theta[:, 0]).astype(int),
    "categorical": lambda theta, random: (
        (random.random((len(theta), 1)) > np.cumsum(theta, axis=1)).sum(axis=1).clip(max=2)
    ),
    "normal": _normal,
    "lognormal": lambda theta, random: np.exp(_normal(theta, random)),
    "poisson": lambda theta, random: random.poisson(theta[:, 0]).astype(float),
    "negative_binomial": _negative_binomial,
    "binomial": lambda theta, random: (random.random(len(theta)) < theta[:, 0]).astype(float),
    "robust": _robust,
}


def make_target(family, theta, random):
    """Draw y given θ; of an attempt, if there are such."""
    return TARGETS[family](theta, random)


def as_read(family, y):
    """The target as the family takes it."""
    return np.log(y) if FAMILIES[family].log_target else y


def gather(family, y, weight=None, codes=None, n_slots=1):
    """The statistics of a target, by category."""
    y = np.asarray(y)
    codes = np.zeros(len(y), int) if codes is None else codes
    if FAMILIES[family].classes:
        n_classes = 3 if family == "categorical" else 2
        return Tally.from_codes(codes, y, weight, n_slots=n_slots, n_classes=n_classes)
    return Moments.from_codes(codes, as_read(family, y).astype(float), weight, n_slots=n_slots)


# --------------------------------------------------------- scipy's distribution of each parameter of θ


class Mixture:
    """A mixture of normals, with the methods of scipy's distributions."""

    def __init__(self, family):
        chance = np.exp(family.log_chance)
        self.chance = chance / chance.sum(axis=-1, keepdims=True)
        self.parts = stats.norm(family.centre, 1 / np.sqrt(family.precision))

    def cdf(self, x):
        return (self.chance * self.parts.cdf(np.asarray(x)[..., None])).sum(axis=-1)

    def moment(self, order):
        return (self.chance * self.parts.moment(order)).sum(axis=-1)

    def mean(self):
        return self.moment(1)

    def var(self):
        return self.moment(2) - self.moment(1) ** 2

    def stats(self, _):
        m, var = self.mean(), self.var()
        third = self.moment(3) - 3 * m * self.moment(2) + 2 * m**3
        fourth = self.moment(4) - 4 * m * self.moment(3) + 6 * m**2 * self.moment(2) - 3 * m**4
        return third / var**1.5, fourth / var**2 - 3


def _of_normal(p):
    of_mean = stats.t(2 * p.alpha, loc=p.centre, scale=np.sqrt(p.beta / (p.alpha * p.strength)))
    return [of_mean, stats.gamma(p.alpha, scale=1 / p.beta)]


def _of_categorical(p):
    rest = p.strength[..., None] - p.alpha
    return [stats.beta(p.alpha[..., c], rest[..., c]) for c in range(p.alpha.shape[-1])]


MARGINALS = {
    "bernoulli": lambda p: [stats.beta(p.alpha, p.beta)],
    "categorical": _of_categorical,
    "normal": _of_normal,
    "lognormal": _of_normal,
    "poisson": lambda p: [stats.gamma(p.alpha, scale=1 / p.beta)],
    "negative_binomial": lambda p: [stats.betaprime(p.strength * p.centre, p.size * p.strength + 1, scale=p.size)],
    "binomial": lambda p: [stats.beta(p.alpha, p.beta)],
    "robust": lambda p: [Mixture(p)],
}


# ------------------------------------------------------------------------------------------ a table

ROWS = pandas.DataFrame({"city": ["a", "b", "c", "d"] * 15, "n": range(60), "y": [0, 1, 1, 0, 1] * 12})
X, Y = ROWS[["city", "n"]], ROWS["y"]


def fitted(**settings):
    """An encoder of the cities of these rows."""
    return SamplingBayesianEncoder(["city"], prior=Scaled(1.0), random_state=0, **settings).fit(X, Y)
