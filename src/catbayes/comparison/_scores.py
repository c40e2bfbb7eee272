"""How a prediction is scored: the measures of each task, and whether a higher one is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from catbayes.core.validation import Array
from catbayes.inspect.scoring import all_classes, area_under_curve

N_BINS = 10


@dataclass(frozen=True, slots=True)
class Measure:
    """What a score is called, and which direction is good."""

    label: str
    higher: bool


MEASURES = {
    "auc": Measure("AUC", True),
    "log_loss": Measure("log-loss", False),
    "accuracy": Measure("accuracy", True),
    "calibration_error": Measure("calib. error", False),
    "r2": Measure("R²", True),
    "mae": Measure("MAE", False),
    "rmse": Measure("RMSE", False),
}
"""By the names that `compare` ranks by: what each is called, and whether higher is better."""
OF_TASK = {
    "binary": ("auc", "log_loss", "accuracy", "calibration_error"),
    "multiclass": ("log_loss", "auc", "accuracy", "calibration_error"),
    "regression": ("r2", "mae", "rmse"),
}
"""Measures of each task; the first one ranks, unless another is asked for."""


def predict(model: Any, X: Any, n_classes: int | None) -> Array:
    """Class probabilities, one column for each class of the whole table, or numbers."""
    if n_classes is None:
        return np.asarray(model.predict(X), dtype=np.float64).reshape(-1)
    return all_classes(model, X, n_classes)


def score(y: np.ndarray[Any, Any], predicted: Array) -> dict[str, float]:
    """All measures of the task: y are class numbers if probabilities were predicted."""
    if predicted.ndim == 1:
        return {
            "r2": float(r2_score(y, predicted)),
            "mae": float(mean_absolute_error(y, predicted)),
            "rmse": float(root_mean_squared_error(y, predicted)),
        }
    classes = np.arange(predicted.shape[1])
    chosen = predicted.argmax(axis=1)
    return {
        "auc": area_under_curve(y, predicted),
        "log_loss": float(log_loss(y, predicted, labels=classes)),
        "accuracy": float(accuracy_score(y, chosen)),
        "calibration_error": calibration_error(y, predicted),
    }


def calibration_error(y: np.ndarray[Any, Any], probabilities: Array) -> float:
    """Mean distance of what was promised from what came true, over ten bins of as many rows each.

    Of two classes, what is promised is the probability of the second; of several, that of the class chosen. Rows with
    the same promise share their outcomes, so that their order says nothing. Chance adds to it where bins hold few rows.
    """
    if probabilities.shape[1] == 2:
        promised, came = probabilities[:, 1], y == 1
    else:
        chosen = probabilities.argmax(axis=1)
        promised, came = probabilities[np.arange(len(y)), chosen], y == chosen
    _, same = np.unique(promised, return_inverse=True)
    came = (np.bincount(same, came) / np.bincount(same))[same]
    order = np.argsort(promised, kind="stable")
    bins = [rows for rows in np.array_split(order, N_BINS) if len(rows)]
    gaps = [len(rows) * abs(promised[rows].mean() - came[rows].mean()) for rows in bins]
    return float(np.sum(gaps) / len(y))


def written(value: float) -> str:
    """A score for a reader: four decimals, fewer of a large number, two digits of a tiny one; nothing for NaN."""
    if np.isnan(value):
        return ""
    if 0 < abs(value) < 5e-5:
        return f"{value:.1e}"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}" if abs(value) < 10_000 else f"{value:,.0f}"
