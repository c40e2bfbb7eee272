"""Scores of a sampling model under several settings, by cross-validation on the same folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv, cross_val_score

from catbayes.core.validation import Array
from catbayes.displays.plotting import GREY
from catbayes.errors import InputError
from catbayes.models.classifier import SamplingClassifier
from catbayes.models.regressor import SamplingRegressor


def check_model(model: Any) -> None:
    if not isinstance(model, SamplingClassifier | SamplingRegressor):
        raise InputError(f"estimator={model!r}: expected a SamplingClassifier or SamplingRegressor.")


def cross_validate(model: Any, X: Any, y: Any, settings: list[dict[str, Any]], cv: Any, scoring: Any) -> Array:
    """Scores by setting and fold, all settings on the same folds."""
    y = np.asarray(y)
    folds = list(check_cv(cv, y, classifier=is_classifier(model)).split(y, y))
    trials = [clone(model).set_params(**setting) for setting in settings]
    return np.array([cross_val_score(trial, X, y, cv=folds, scoring=scoring) for trial in trials])


def score_name(model: Any, scoring: Any) -> str:
    if scoring is None:
        return "accuracy" if is_classifier(model) else "R²"
    return scoring.replace("_", " ") if isinstance(scoring, str) else getattr(scoring, "__name__", "score")


def draw_scores(ax: Any, at: Array, scores: Array, style: dict[str, Any]) -> None:
    mean, spread = scores.mean(axis=1), scores.std(axis=1)
    (line,) = ax.plot(at, mean, **({"marker": "o", "label": "mean over folds"} | style))
    color = line.get_color()
    ax.fill_between(at, mean - spread, mean + spread, color=color, alpha=0.15, label="± 1 standard deviation")
    ax.grid(axis="y", color=GREY, alpha=0.25)
