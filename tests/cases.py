"""One prior and one way to make a target for each family; and a table of sixty rows, with an encoder that knows it."""

import numpy as np
import pandas

from catbayes import (
    BetaBernoulli,
    BetaBinomial,
    BetaNegativeBinomial,
    DirichletCategorical,
    GammaPoisson,
    LogNormalGamma,
    NormalGamma,
    RobustNormal,
    SamplingBayesianEncoder,
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


def make_target(family, theta, random):
    """Draw y given θ, (row, parameter); of an attempt, if there are such."""
    if family in ("bernoulli", "binomial"):
        happened = random.random(len(theta)) < theta[:, 0]
        return happened.astype(int if family == "bernoulli" else float)
    if family == "categorical":
        return (random.random((len(theta), 1)) > np.cumsum(theta, axis=1)).sum(axis=1).clip(max=2)
    if family in ("normal", "lognormal"):
        y = theta[:, 0] + random.standard_normal(len(theta)) / np.sqrt(theta[:, 1])
        return np.exp(y) if family == "lognormal" else y
    if family == "robust":  # one variance for all rows of a category, which are those of one θ
        values, category = np.unique(theta[:, 0], return_inverse=True)
        noise = random.choice(PRIORS[family].noise, len(values))[category]
        return theta[:, 0] + random.standard_normal(len(theta)) * np.sqrt(noise)
    if family == "negative_binomial":
        size = PRIORS[family].size
        return random.negative_binomial(size, size / (size + theta[:, 0])).astype(float)
    return random.poisson(theta[:, 0]).astype(float)


def as_read(family, y):
    """The target as the family takes it."""
    return np.log(y) if PRIORS[family].log_target else y


ROWS = pandas.DataFrame({"city": ["a", "b", "c", "d"] * 15, "n": range(60), "y": [0, 1, 1, 0, 1] * 12})
X, Y = ROWS[["city", "n"]], ROWS["y"]


def fitted(**settings):
    """An encoder of the cities of these rows."""
    return SamplingBayesianEncoder(["city"], prior=1.0, random_state=0, **settings).fit(X, Y)
