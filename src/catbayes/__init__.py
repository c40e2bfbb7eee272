"""Encode categorical columns by draws from the posterior of the target."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what is imported by `__getattr__` below, when it is asked for
    __version__: str
    from catbayes._encoder import Augmented, ConjugateMomentEncoder, MultiTargetEncoder, SamplingBayesianEncoder
    from catbayes.comparison import Comparison, compare
    from catbayes.core.category_outputs import Kept
    from catbayes.core.drawing import Draws
    from catbayes.core.evidence import Evidence
    from catbayes.core.fading import Faded, fade
    from catbayes.core.layout import TrainingDraws
    from catbayes.core.leakage import CrossFit, Exclude, Include, Ordered
    from catbayes.effects.settings import Effects
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
    from catbayes.io.encode import encode
    from catbayes.io.gathering import gather
    from catbayes.mappings import PredictiveQuantiles
    from catbayes.models.classifier import SamplingClassifier
    from catbayes.models.recommended import recommended_encoder
    from catbayes.models.regressor import SamplingRegressor
    from catbayes.models.saving import load
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
    "recommended_encoder",
]

_MODULES = {
    "core.drawing": ("Draws",),
    "core.category_outputs": ("Kept",),
    "core.leakage": ("CrossFit", "Exclude", "Include", "Ordered"),
    "core.layout": ("TrainingDraws",),
    "core.evidence": ("Evidence",),
    "core.fading": ("Faded", "fade"),
    "comparison": ("Comparison", "compare"),
    "_encoder": ("Augmented", "ConjugateMomentEncoder", "MultiTargetEncoder", "SamplingBayesianEncoder"),
    "effects.settings": ("Effects",),
    "errors": ("InputError", "InputWarning"),
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
    "io.encode": ("encode",),
    "io.gathering": ("gather",),
    "mappings": ("PredictiveQuantiles",),
    "models.classifier": ("SamplingClassifier",),
    "models.recommended": ("recommended_encoder",),
    "models.saving": ("load",),
    "models.regressor": ("SamplingRegressor",),
    "priors": ("Empirical", "Scaled"),
}
_SUBMODULES = (
    "datasets",
    "errors",
    "families",
    "inspect",
    "kinds",
    "mappings",
    "priors",
    "report",
    "skl2onnx",
    "spark",
    "torch",
)
"""Public submodules; the others are internal."""

_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name or a submodule when it is first asked for, so that the package itself costs nothing."""
    if name == "__version__":
        return import_module("importlib.metadata").version("catbayes")
    if name in _HOME:
        value = getattr(import_module(f"catbayes.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return import_module(f"catbayes.{name}")
    raise AttributeError(f"module 'catbayes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES})
