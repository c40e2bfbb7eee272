"""Scores of predictions: probabilities of classes, or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score, roc_auc_score

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

LABELS = {"auc": "AUC", "log_loss": "log-loss", "accuracy": "accuracy", "r2": "R²", "mse": "MSE"}
LOWER_IS_BETTER = ("log_loss", "mse")
BY_TASK = {"binary": ("auc", "log_loss"), "multiclass": ("log_loss", "auc"), "regression": ("r2", "mse")}
"""By task: the score that ranks, and a second one."""


def predict(model: Any, X: Any, n_classes: int | None) -> Array:
    """Predict probabilities, one column for each class of the whole table, or numbers."""
    if n_classes is None:
        return np.asarray(model.predict(X), dtype=np.float64).reshape(-1)
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
    return probabilities


def score(y: Any, predicted: Array) -> dict[str, float]:
    """Score numbers, or probabilities of the classes 0, 1, … ; the AUC averages each class against the rest."""
    if predicted.ndim == 1:
        return {"r2": float(r2_score(y, predicted)), "mse": float(mean_squared_error(y, predicted))}
    classes = range(predicted.shape[1])
    present = [label for label in classes if 0 < np.sum(y == label) < len(y)]
    return {
        "auc": float(np.mean([roc_auc_score(y == label, predicted[:, label]) for label in present])),
        "log_loss": float(log_loss(y, predicted, labels=list(classes))),
        "accuracy": float(accuracy_score(y, predicted.argmax(axis=1))),
    }
