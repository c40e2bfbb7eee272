"""Conjugate families: arrays of distributions of θ, one entry per category, closed under updating.

A prior and a posterior are values of the same class, so `prior.update(statistics)` is a posterior and can be
updated again. Axes: a family is (…, category); θ has one more, (…, category, parameter). Adding a family takes one
file and a line in `FAMILIES`.
"""

from collections.abc import Sequence
from numbers import Number
from typing import Any

from catbayes.errors import InputError, warn
from catbayes.families.bernoulli import BetaBernoulli
from catbayes.families.binomial import BetaBinomial
from catbayes.families.categorical import DirichletCategorical
from catbayes.families.family import Family
from catbayes.families.lognormal import LogNormalGamma
from catbayes.families.negative_binomial import BetaNegativeBinomial
from catbayes.families.normal import NormalGamma
from catbayes.families.poisson import GammaPoisson
from catbayes.families.robust import RobustNormal
from catbayes.families.survival import GammaExponential

__all__ = [
    "FAMILIES",
    "BetaBernoulli",
    "BetaBinomial",
    "BetaNegativeBinomial",
    "DirichletCategorical",
    "Family",
    "GammaExponential",
    "GammaPoisson",
    "LogNormalGamma",
    "NormalGamma",
    "RobustNormal",
]

FAMILIES: dict[str, type[Family]] = {
    "bernoulli": BetaBernoulli,
    "categorical": DirichletCategorical,
    "normal": NormalGamma,
    "lognormal": LogNormalGamma,
    "poisson": GammaPoisson,
    "negative_binomial": BetaNegativeBinomial,
    "binomial": BetaBinomial,
    "survival": GammaExponential,
    "robust": RobustNormal,
}
"""By the names that the parameter `family` of the encoders takes."""


def find_family(family: Any) -> type[Family] | None:
    """Look up the family that a word or a class stands for; None for "auto", and for anything else."""
    if isinstance(family, str):
        return FAMILIES.get(family)
    return family if isinstance(family, type) and issubclass(family, Family) else None


def resolve_family(family: Any) -> type[Family] | None:
    """Read the parameter `family` of an encoder; None where the target decides."""
    found = find_family(family)
    if found is None and family is not None and not (isinstance(family, str) and family == "auto"):
        accepted = ", ".join(f'"{name}"' for name in ("auto", *FAMILIES))
        raise InputError(f"family={family!r}: expected one of {accepted}, or a family class of catbayes.families.")
    return found


def family_name(family: type[Family]) -> str:
    """Return the name of a family in `FAMILIES`, as files store it."""
    for name, known in FAMILIES.items():
        if family is known:
            return name
    raise InputError(f"family={family.__name__} cannot be saved: only those of catbayes can.")


def family_of_classes(n_classes: int, wanted: type[Family] | None = None) -> type[Family]:
    """Choose the family of a class target: the one that is wanted, or by the number of classes."""
    if wanted is None:
        return BetaBernoulli if n_classes <= 2 else DirichletCategorical
    if wanted.binary and n_classes > 2:
        name = f'"{family_name(wanted)}"' if wanted in FAMILIES.values() else wanted.__name__
        raise InputError(f'family={name} takes two classes, and y holds {n_classes}: use "categorical".')
    return wanted


def family_of_numbers() -> type[Family]:
    """Return the family of a target with fractions, and of the targets of a regressor."""
    return NormalGamma


def check_numbers_as_classes(labels: Sequence[Any]) -> None:
    """Warn where many whole numbers, or text with fractions, become classes unasked; raise for very many."""
    n_classes = len(labels)
    if all(isinstance(label, str) for label in labels):
        try:
            fractions = [float(label) % 1.0 > 0.0 for label in labels]
        except ValueError:
            return
        if any(fractions):
            warn(
                f"y is text that holds numbers, such as {labels[-1]!r}, and each of its {n_classes} values becomes a "
                'class: turn it into numbers, or set family="categorical" if that is meant.'
            )
    elif n_classes > 30 and all(isinstance(label, Number) for label in labels):
        for_numbers = 'set family="normal" for an amount, "poisson" for a count'
        if n_classes > 100:
            raise InputError(
                f"y holds {n_classes} different whole numbers: {for_numbers}, or "
                'family="categorical" if each one names a class.'
            )
        warn(
            f"y holds {n_classes} different whole numbers, and each becomes a class: {for_numbers}, or "
            'family="categorical" if that is meant.'
        )
