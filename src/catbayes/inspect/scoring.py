"""Scores of folds: AUC for any number of classes, and intervals corrected for overlapping training sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score

from catbayes.core.validation import Array, Codes


def area_under_curve(y: Codes, probabilities: Array) -> float:
    """Area under the ROC curve of each class against the rest, averaged over the classes in y; NaN for one."""
    present = [label for label in range(probabilities.shape[1]) if 0 < (y == label).sum() < len(y)]
    areas = [roc_auc_score(y == label, probabilities[:, label]) for label in present]
    return float(np.mean(areas)) if areas else float("nan")


def all_classes(model: Any, X: Any, n_classes: int) -> Array:
    """Probabilities with a column for every class, even if the model was not fitted on all of them."""
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
    return probabilities


def corrected_interval(gaps: Array, overlap: float, coverage: float) -> tuple[Array, Array, Array]:
    """Mean of differences over folds (the last axis), its standard error, and half the width of its interval.

    The square of the standard error is s² (1/J + n_test/n_train) for J folds (Nadeau and Bengio, Machine Learning 52,
    2003): the training rows of the folds overlap, and s²/J is too small. `overlap` is n_test/n_train.
    """
    n_folds = gaps.shape[-1]
    error = np.sqrt(gaps.var(axis=-1, ddof=1) * (1.0 / n_folds + overlap))
    return gaps.mean(axis=-1), error, student.ppf((1.0 + coverage) / 2.0, n_folds - 1) * error


def overlap_of(splits: list[tuple[Codes, Codes]]) -> float:
    """Test rows for each training row."""
    return float(np.mean([len(test) / len(train) for train, test in splits]))
