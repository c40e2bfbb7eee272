"""Encode categorical columns by draws from the posterior of the target."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what is imported by `__getattr__` below, when it is asked for
    __version__: str
    from catbayes._comparison import Comparison, compare
    from catbayes._drawing import Draws
    from catbayes._encode import encode
    from catbayes._encoder import Augmented, ConjugateMomentEncoder, MultiTargetEncoder, SamplingBayesianEncoder
    from catbayes._encoding import CrossFit, Exclude, Include, Kept, Ordered, TrainingDraws
    from catbayes._estimators import SamplingClassifier, SamplingRegressor, load
    from catbayes._evidence import Effects, Evidence, Faded, fade, gather
    from catbayes.errors import InputError, InputWarning
    from catbayes.families import (
        BetaBernoulli,
        BetaBinomial,
        BetaNegativeBinomial,
        DirichletCategorical,
        GammaExponential,
        GammaPoisson,
        LogNormalGamma,
        NormalGamma,
        RobustNormal,
    )
    from catbayes.mappings import PredictiveQuantiles
    from catbayes.priors import Empirical, Scaled

__all__ = [
    "Augmented",
    "BetaBernoulli",
    "BetaBinomial",
    "BetaNegativeBinomial",
    "Comparison",
    "ConjugateMomentEncoder",
    "CrossFit",
    "DirichletCategorical",
    "Draws",
    "Effects",
    "Empirical",
    "Evidence",
    "Exclude",
    "Faded",
    "GammaExponential",
    "GammaPoisson",
    "Include",
    "InputError",
    "InputWarning",
    "Kept",
    "LogNormalGamma",
    "MultiTargetEncoder",
    "NormalGamma",
    "Ordered",
    "PredictiveQuantiles",
    "RobustNormal",
    "SamplingBayesianEncoder",
    "SamplingClassifier",
    "SamplingRegressor",
    "Scaled",
    "TrainingDraws",
    "compare",
    "encode",
    "fade",
    "gather",
    "load",
]

_HOLDS = {
    "_drawing": ("Draws",),
    "_encoding": ("CrossFit", "Exclude", "Include", "Kept", "Ordered", "TrainingDraws"),
    "_comparison": ("Comparison", "compare"),
    "_encoder": ("Augmented", "ConjugateMomentEncoder", "MultiTargetEncoder", "SamplingBayesianEncoder"),
    "_encode": ("encode",),
    "errors": ("InputError", "InputWarning"),
    "_estimators": ("SamplingClassifier", "SamplingRegressor", "load"),
    "_evidence": ("Effects", "Evidence", "Faded", "fade", "gather"),
    "families": (
        "BetaBernoulli",
        "BetaBinomial",
        "BetaNegativeBinomial",
        "DirichletCategorical",
        "GammaExponential",
        "GammaPoisson",
        "LogNormalGamma",
        "NormalGamma",
        "RobustNormal",
    ),
    "mappings": ("PredictiveQuantiles",),
    "priors": ("Empirical", "Scaled"),
}
_HOME = {name: module for module, names in _HOLDS.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name or a submodule when it is first asked for, so that the package itself costs nothing."""
    if name == "__version__":
        return import_module("importlib.metadata").version("catbayes")
    if name in _HOME:
        value = getattr(import_module(f"catbayes.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name[:1] != "_" and find_spec(f"catbayes.{name}"):
        return import_module(f"catbayes.{name}")
    raise AttributeError(f"module 'catbayes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(module.name for module in iter_modules(__path__) if module.name[0] != "_")})
