"""Conjugate families: arrays of distributions of θ, one entry per category, closed under updating.

A prior and a posterior are values of the same class, so `prior.update(statistics)` is a posterior and can be
updated again. Axes: a family holds (…, category); θ has one more, (…, category, parameter).
"""

from catbayes.families._family import TINY, Family, Random, maximise, no_signal
from catbayes.families.bernoulli import BetaBernoulli
from catbayes.families.categorical import DirichletCategorical
from catbayes.families.lognormal import LogNormalGamma
from catbayes.families.normal import NormalGamma
from catbayes.families.poisson import GammaPoisson

__all__ = [
    "FAMILIES",
    "TINY",
    "BetaBernoulli",
    "DirichletCategorical",
    "Family",
    "GammaPoisson",
    "LogNormalGamma",
    "NormalGamma",
    "Random",
    "maximise",
    "no_signal",
]

FAMILIES: dict[str, type[Family]] = {
    "bernoulli": BetaBernoulli,
    "categorical": DirichletCategorical,
    "normal": NormalGamma,
    "lognormal": LogNormalGamma,
    "poisson": GammaPoisson,
}
"""By the names that the parameter `family` of the encoders takes."""
