"""Which estimators a sampling model takes, said before anything is fitted."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone, is_classifier, is_clusterer, is_outlier_detector, is_regressor
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from catbayes.errors import InputError
from catbayes.models.column_parameters import library
from catbayes.models.native import last_step

__all__ = ["require_suitable"]


def require_suitable(estimator: Any, model: str, *, classes: bool) -> None:
    """Refuse what cannot learn a target of classes or of numbers inside a sampling model."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise InputError(f"estimator={estimator!r}: expected a scikit-learn estimator or Pipeline, not yet fitted.")
    if (is_regressor if classes else is_classifier)(estimator):
        raise InputError(f"{model} was given {estimator!r}, which does the other task.")
    if is_clusterer(estimator) or is_outlier_detector(estimator) or not hasattr(estimator, "predict"):
        kind = "classifier" if classes else "regressor"
        raise InputError(f"{model} was given {estimator!r}, which predicts no target: expected a {kind}.")
    last = last_step(estimator)
    if isinstance(last, FixedThresholdClassifier | TunedThresholdClassifierCV):
        kind = type(last).__name__
        raise InputError(
            f"{kind} inside {model}: probabilities are averaged over draws, which no threshold of one estimator acts "
            f"on. Put it around the model: {kind}({model}(…))."
        )
    if hasattr(last, "get_params") and last.get_params(deep=False).get("class_names") is not None:
        raise InputError(
            f"{type(last).__name__}(class_names=…) inside {model}, which numbers the classes in their order: leave it "
            "out, and give class_weights=(…) in that order."
        )
    try:
        clone(estimator)
    except RuntimeError as error:
        if library(last) != "catboost":
            raise
        raise InputError(
            f"{type(last).__name__} cannot be cloned ({error}). CatBoost copies lists and dictionaries, which "
            "scikit-learn does not allow: give a tuple, such as class_weights=(1, 2), monotone_constraints=(0, 1) or "
            'cat_features=("city",), which may be left out where the encoder encodes them.'
        ) from error
