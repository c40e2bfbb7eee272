"""Scores of predictions, and the interval of their differences over folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

Array = NDArray[np.float64]
COVERAGE = 0.95
N_BINS = 10


@dataclass(frozen=True, slots=True)
class Measure:
    """The label of a score, and whether higher is better."""

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
"""By the names that `compare` ranks by."""
OF_TASK = {
    "binary": ("auc", "log_loss", "accuracy", "calibration_error"),
    "multiclass": ("log_loss", "auc", "accuracy", "calibration_error"),
    "regression": ("r2", "mae", "rmse"),
}
"""Measures of each task; the first one ranks by default."""


def predict(model: Any, X: Any, n_classes: int | None) -> Array:
    """Predict probabilities, one column for each class of the whole table, or numbers."""
    if n_classes is None:
        return np.asarray(model.predict(X), dtype=np.float64).reshape(-1)
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
    return probabilities


def score(y: np.ndarray[Any, Any], predicted: Array) -> dict[str, float]:
    """Compute all measures of the task; the AUC averages each class against the rest, and is NaN for a single class."""
    if predicted.ndim == 1:
        return {
            "r2": float(r2_score(y, predicted)),
            "mae": float(mean_absolute_error(y, predicted)),
            "rmse": float(root_mean_squared_error(y, predicted)),
        }
    classes = np.arange(predicted.shape[1])
    present = [label for label in classes if 0 < (y == label).sum() < len(y)]
    areas = [roc_auc_score(y == label, predicted[:, label]) for label in present]
    return {
        "auc": float(np.mean(areas)) if areas else float("nan"),
        "log_loss": float(log_loss(y, predicted, labels=classes)),
        "accuracy": float(accuracy_score(y, predicted.argmax(axis=1))),
        "calibration_error": calibration_error(y, predicted),
    }


def calibration_error(y: np.ndarray[Any, Any], probabilities: Array) -> float:
    """Average the distance between predicted probability and observed share over ten bins of equally many rows.

    The probability is that of the second of two classes, or of the most likely of several. Rows with the same
    probability share their outcomes, so that their order does not matter.
    """
    if probabilities.shape[1] == 2:
        predicted, observed = probabilities[:, 1], y == 1
    else:
        chosen = probabilities.argmax(axis=1)
        predicted, observed = probabilities[np.arange(len(y)), chosen], y == chosen
    _, same = np.unique(predicted, return_inverse=True)
    observed = (np.bincount(same, observed) / np.bincount(same))[same]
    order = np.argsort(predicted, kind="stable")
    bins = [rows for rows in np.array_split(order, N_BINS) if len(rows)]
    gaps = [len(rows) * abs(predicted[rows].mean() - observed[rows].mean()) for rows in bins]
    return float(np.sum(gaps) / len(y))


def corrected_interval(gaps: Array, overlap: float) -> tuple[float, float, float]:
    """Return the mean of differences over folds, its standard error, and half the width of its 95 % interval.

    The squared standard error is s² (1/J + n_test/n_train) for J folds (Nadeau and Bengio, Machine Learning 52, 2003):
    folds share training rows, so s²/J is too small. `overlap` is n_test/n_train. NaN for a single fold.
    """
    if len(gaps) < 2:
        return float(gaps.mean()), float("nan"), float("nan")
    error = float(np.sqrt(gaps.var(ddof=1) * (1.0 / len(gaps) + overlap)))
    return float(gaps.mean()), error, float(student.ppf((1.0 + COVERAGE) / 2.0, len(gaps) - 1)) * error


def formatted(value: float) -> str:
    """Format a score: four decimals, fewer of a large number, two digits of a tiny one; nothing for NaN."""
    if np.isnan(value):
        return ""
    if 0 < abs(value) < 5e-5:
        return f"{value:.1e}"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}" if abs(value) < 10_000 else f"{value:,.0f}"
