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
    roc_auc_score,
    root_mean_squared_error,
)

from catbayes._validation import Array

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
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
    return probabilities


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
        "auc": _area(y, predicted),
        "log_loss": float(log_loss(y, predicted, labels=classes)),
        "accuracy": float(accuracy_score(y, chosen)),
        "calibration_error": calibration_error(y, predicted),
    }


def _area(y: np.ndarray[Any, Any], probabilities: Array) -> float:
    """Area under the ROC curve; of several classes, the mean over those that the rows hold, each against the rest."""
    present = [label for label in range(probabilities.shape[1]) if 0 < (y == label).sum() < len(y)]
    if probabilities.shape[1] == 2:
        present = present[-1:]
    areas = [roc_auc_score(y == label, probabilities[:, label]) for label in present]
    return float(np.mean(areas)) if areas else float("nan")


def calibration_error(y: np.ndarray[Any, Any], probabilities: Array) -> float:
    """Mean distance of what was promised from what came true, over ten bins of as many rows each.

    Of two classes, what is promised is the probability of the second; of several, that of the class chosen.
    """
    if probabilities.shape[1] == 2:
        promised, came = probabilities[:, 1], y == 1
    else:
        chosen = probabilities.argmax(axis=1)
        promised, came = probabilities[np.arange(len(y)), chosen], y == chosen
    order = np.argsort(promised, kind="stable")
    bins = [rows for rows in np.array_split(order, N_BINS) if len(rows)]
    gaps = [len(rows) * abs(promised[rows].mean() - came[rows].mean()) for rows in bins]
    return float(np.sum(gaps) / len(y))


def written(value: float) -> str:
    """A score for a reader: four decimals, or none if it is large; nothing for NaN."""
    if np.isnan(value):
        return ""
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}" if abs(value) < 10_000 else f"{value:,.0f}"
