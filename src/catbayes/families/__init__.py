"""Conjugate families: arrays of distributions of θ, one entry per category, closed under updating.

A prior and a posterior are values of the same class, so `prior.update(statistics)` is a posterior and can be
updated again. Axes: a family is (…, category); θ has one more, (…, category, parameter). Adding a family takes one
file and a line in `FAMILIES`.
"""

from collections.abc import Sequence
from math import isfinite
from numbers import Number
from typing import Any

from catbayes.errors import InputError, warn
from catbayes.families._family import Exposure, Family, Random, Support
from catbayes.families._normals import Normals
from catbayes.families.bernoulli import BetaBernoulli
from catbayes.families.binomial import BetaBinomial
from catbayes.families.categorical import DirichletCategorical
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
    "Exposure",
    "Family",
    "GammaExponential",
    "GammaPoisson",
    "LogNormalGamma",
    "NormalGamma",
    "Normals",
    "Random",
    "RobustNormal",
    "Support",
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

MANY_WHOLE_CLASSES, MOST_WHOLE_CLASSES = 30, 100
FOR_NUMBERS = 'set family="normal" for an amount, "poisson" for a count'
"""What to do where numbers were taken for classes."""
FOR_CLASSES = 'family="categorical"'
"""What to set where classes were taken for something else."""


def find_family(family: Any) -> type[Family] | None:
    """Look up the family that a word or a class stands for; None where it is "auto", or no family."""
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
    """The name of a family in `FAMILIES`, as a file has it."""
    for name, known in FAMILIES.items():
        if family is known:
            return name
    raise InputError(f"family={family.__name__} cannot be saved: only those of catbayes can.")


def family_of_classes(n_classes: int, wanted: type[Family] | None = None) -> type[Family]:
    """Choose the family of a class target: the one that is wanted, or by the number of classes."""
    if wanted is None:
        return BetaBernoulli if n_classes <= 2 else DirichletCategorical
    if wanted.binary and n_classes > 2:
        name = next((f'"{name}"' for name, known in FAMILIES.items() if known is wanted), wanted.__name__)
        raise InputError(f'family={name} takes two classes, and y holds {n_classes}: use "categorical".')
    return wanted


def family_of_numbers() -> type[Family]:
    """The family of a target with fractions, and of what a regressor predicts."""
    return NormalGamma


def check_numbers_as_classes(labels: Sequence[Any]) -> None:
    """Warn where many whole numbers, or text with fractions, are taken for classes unasked; refuse very many."""
    if all(isinstance(label, str) for label in labels):
        if any(number % 1.0 for number in _numbers(labels)):
            warn(
                f"y is text that holds numbers, such as {labels[-1]!r}, and each of its {len(labels)} values becomes a "
                f"class: turn it into numbers, or set {FOR_CLASSES} if that is meant."
            )
        return
    n_classes = len(labels) if all(isinstance(label, Number) for label in labels) else 0
    if n_classes > MOST_WHOLE_CLASSES:
        raise InputError(
            f"y holds {n_classes} different whole numbers: {FOR_NUMBERS}, or {FOR_CLASSES} if each one names a class."
        )
    if n_classes > MANY_WHOLE_CLASSES:
        warn(
            f"y holds {n_classes} different whole numbers, and each becomes a class: {FOR_NUMBERS}, or {FOR_CLASSES} "
            "if that is meant."
        )


def _numbers(labels: Sequence[str]) -> list[float]:
    """Text as finite numbers; none if any of it is something else."""
    try:
        found = [float(label) for label in labels]
    except ValueError:
        return []
    return found if all(map(isfinite, found)) else []
