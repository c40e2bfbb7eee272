"""What a linear model needs: complete numbers of one scale, and encoded columns as wide as they came.

A column without signal is encoded by nearly the same number in every row. Standardised, it would be as wide as the
others, and all of it noise; left as it is, a penalised model has little use for it. Probabilities have a scale already.
Encodings of a number have that of the target, so the others are brought to it, and all of them back to one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data


class TargetUnits(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply columns by the standard deviation of the target, or of its logarithm, to a power."""

    def __init__(self, power: int = 1, log: bool = False) -> None:
        self.power = power
        self.log = log

    def fit(self, X: Any, y: Any) -> TargetUnits:
        """Learn the scale of the target."""
        validate_data(self, X)
        self.scale_ = float(np.std(np.log(y) if self.log else y)) or 1.0
        return self

    def transform(self, X: Any) -> Any:
        """Bring columns to that scale, or back from it."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False) * self.scale_**self.power


def filled() -> SimpleImputer:
    """Gaps become the median, and columns of their own say where they were."""
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def standardised() -> list[Any]:
    """Steps to complete numbers of mean 0 and standard deviation 1."""
    return [filled(), StandardScaler()]
