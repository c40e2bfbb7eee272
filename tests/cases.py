"""One prior and one way to make a target for each family."""

import numpy as np

from catbayes import BetaBernoulli, DirichletCategorical, GammaPoisson, NormalGamma

PRIORS = {
    "bernoulli": BetaBernoulli(alpha=2.0, beta=3.0),
    "categorical": DirichletCategorical(alpha=[1.0, 2.0, 0.5]),
    "normal": NormalGamma(centre=1.0, strength=2.0, alpha=3.0, beta=4.0),
    "poisson": GammaPoisson(alpha=3.0, beta=1.5),
}


def parameters(prior):
    """The numbers of a prior, as tests/reference.py takes them."""
    return tuple(getattr(prior, name) for name in prior.__slots__)


def make_target(family, theta, random):
    """Draw y given θ, (row, parameter)."""
    if family == "bernoulli":
        return (random.random(len(theta)) < theta[:, 0]).astype(int)
    if family == "categorical":
        return (random.random((len(theta), 1)) > np.cumsum(theta, axis=1)).sum(axis=1).clip(max=2)
    if family == "normal":
        return theta[:, 0] + random.standard_normal(len(theta)) / np.sqrt(theta[:, 1])
    return random.poisson(theta[:, 0]).astype(float)
