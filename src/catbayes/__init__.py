"""Encode categorical columns by draws from the posterior of the target."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what is imported by `__getattr__` below, when it is asked for
    __version__: str
    from catbayes.comparison import compare
    from catbayes.core.config import Ordered
    from catbayes.core.fading import fade
    from catbayes.encoder import SamplingBayesianEncoder
    from catbayes.errors import InputError, InputWarning
    from catbayes.io.encode import encode
    from catbayes.io.gathering import gather
    from catbayes.models.classifier import SamplingClassifier
    from catbayes.models.fitting import recommended_encoder
    from catbayes.models.regressor import SamplingRegressor
    from catbayes.models.saving import load
    from catbayes.priors import Scaled
    from catbayes.targets import MultiTargetEncoder

__all__ = [
    "InputError",
    "InputWarning",
    "MultiTargetEncoder",
    "Ordered",
    "SamplingBayesianEncoder",
    "SamplingClassifier",
    "SamplingRegressor",
    "Scaled",
    "compare",
    "encode",
    "fade",
    "gather",
    "load",
    "recommended_encoder",
]

_MODULES = {
    "core.config": ("Ordered",),
    "core.fading": ("fade",),
    "comparison": ("compare",),
    "encoder": ("SamplingBayesianEncoder",),
    "targets": ("MultiTargetEncoder",),
    "errors": ("InputError", "InputWarning"),
    "io.encode": ("encode",),
    "io.gathering": ("gather",),
    "models.classifier": ("SamplingClassifier",),
    "models.fitting": ("recommended_encoder",),
    "models.saving": ("load",),
    "models.regressor": ("SamplingRegressor",),
    "priors": ("Scaled",),
}
_SUBMODULES = (
    "comparison",
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
