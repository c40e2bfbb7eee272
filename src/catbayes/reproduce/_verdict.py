"""From paired differences to one word on whether a claim holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catbayes._validation import Array
from catbayes.diagnostics._scoring import corrected_interval

COVERAGE = 0.95


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claimed gain, looked at on repeated splits: the mean of the differences, its interval, and a word.

    "holds": the whole interval is above 0. "does not hold": the whole interval is below 0, so the opposite is true.
    "within noise": 0 is inside.

    Examples
    --------
    >>> from catbayes.reproduce import judge
    >>> judge([0.02, 0.03, 0.025, 0.02, 0.03], overlap=0.25).word
    'holds'
    >>> judge([0.02, -0.03, 0.025, -0.02, 0.01], overlap=0.25).word
    'within noise'
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

    Parameters
    ----------
    differences : array-like of float
        The gain on each split.
    overlap : float
        Test rows for a training row, by which the interval allows for training rows that splits have in common.

    Returns
    -------
    Verdict
        Mean, interval and a word.

    Examples
    --------
    >>> from catbayes.reproduce import judge
    >>> verdict = judge([0.02, 0.03, 0.025, 0.02, 0.03], overlap=0.25)
    >>> round(verdict.gain, 3), verdict.word
    (0.025, 'holds')
    """
    gaps = np.asarray(differences, dtype=np.float64)
    gain, error, half = map(float, corrected_interval(gaps, overlap, COVERAGE))
    return Verdict(gain, error, gain - half, gain + half, len(gaps))
