"""From paired differences to one word on whether a claim holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catbayes.core.validation import Array
from catbayes.models.scoring import corrected_interval

COVERAGE = 0.95


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claimed gain, looked at on repeated splits: the mean of the differences, its interval, and a word.

    "holds": the whole interval is above 0. "does not hold": the whole interval is below 0, so the opposite is true.
    "within noise": 0 is inside.
    """

    gain: float
    error: float
    low: float
    high: float
    n_splits: int

    @property
    def word(self) -> str:
        """The verdict in one word."""
        if self.low > 0.0:
            return "holds"
        return "does not hold" if self.high < 0.0 else "within noise"


def judge(differences: Array | list[float], *, overlap: float) -> Verdict:
    """Judge a gain by its paired differences over splits of the same rows.

    `overlap` is test rows for a training row: the interval allows for training rows that splits have in common.
    """
    gaps = np.asarray(differences, dtype=np.float64)
    gain, error, half = map(float, corrected_interval(gaps, overlap, COVERAGE))
    return Verdict(gain, error, gain - half, gain + half, len(gaps))
