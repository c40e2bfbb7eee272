"""The paper's f: from a draw of θ to the features of a column.

A mapping has outputs that are *drawn*, functions of θ, and may have outputs that are *known*, functions of the
posterior itself, such as its precision. The difference matters: a known output of a left-out posterior gives the row's
own target back, because nothing random hides it, so the encoder takes known outputs from other folds.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.mappings._drawn import (
    Function,
    Identity,
    Mapping,
    Mean,
    MeanPrecision,
    Polynomial,
    WeightOfEvidence,
)
from catbayes.mappings._known import PosteriorMoments, PredictiveQuantiles

__all__ = [
    "MAPPINGS",
    "Function",
    "Identity",
    "Mapping",
    "Mean",
    "MeanPrecision",
    "Polynomial",
    "PosteriorMoments",
    "PredictiveQuantiles",
    "WeightOfEvidence",
    "resolve_mapping",
]

MAPPINGS: dict[str, Mapping] = {
    "mean": Mean(),
    "mean_precision": MeanPrecision(),
    "polynomial": Polynomial(),
    "weight_of_evidence": WeightOfEvidence(),
    "identity": Identity(),
}
"""By the names that the parameter `mapping` of the encoders takes."""


MappingWord: TypeAlias = Literal["mean", "mean_precision", "polynomial", "weight_of_evidence", "identity"]
MappingLike: TypeAlias = MappingWord | Mapping | Callable[[Array], Any]
"""What the parameter `mapping` takes."""


def resolve_mapping(mapping: Any) -> Mapping:
    """Read the parameter `mapping` of an encoder.

    Examples
    --------
    >>> from catbayes.mappings import resolve_mapping
    >>> resolve_mapping("polynomial").names()
    ['mean', 'square']
    """
    if isinstance(mapping, str) and mapping in MAPPINGS:
        return MAPPINGS[mapping]
    if isinstance(mapping, Mapping):
        if not isinstance(mapping.drop_first, bool):
            raise InputError(f"drop_first={mapping.drop_first!r}: expected True or False.")
        return mapping
    if callable(mapping):
        return Function(function=mapping)
    accepted = ", ".join(f'"{name}"' for name in MAPPINGS)
    raise InputError(f"mapping={mapping!r}: expected one of {accepted}, a callable of θ or a mapping object.")
