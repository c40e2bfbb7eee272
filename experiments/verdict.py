"""From paired differences to one word on whether a claim holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student

COVERAGE = 0.95


def judge(differences: Any, *, overlap: float) -> dict[str, Any]:
    """Judge a gain by its paired differences over splits of the same rows.

    The squared standard error is s² (1/J + overlap) for J splits, where overlap is n_test/n_train (Nadeau and Bengio,
    Machine Learning 52, 2003): splits share training rows, so s²/J is too small.

    The word is "holds" if the whole interval is above 0, "does not hold" if it is below 0, else "within noise".
    """
    gaps = np.asarray(differences, dtype=np.float64)
    n_splits, gain = len(gaps), float(gaps.mean())
    error = float(np.sqrt(gaps.var(ddof=1) * (1.0 / n_splits + overlap)))
    half = float(student.ppf((1.0 + COVERAGE) / 2.0, n_splits - 1)) * error
    word = "holds" if gain > half else "does not hold" if gain < -half else "within noise"
    return {
        "gain": gain,
        "error": error,
        "low": gain - half,
        "high": gain + half,
        "n_splits": n_splits,
        "word": word,
    }
