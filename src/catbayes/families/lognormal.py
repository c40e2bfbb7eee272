"""Positive amounts: log y is normal, θ = (μ, τ) its mean and precision, Normal–Gamma before and after."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from catbayes.core.validation import Array
from catbayes.families.family import Support
from catbayes.families.normal import NormalGamma

LARGEST = np.log(np.finfo(np.float64).max)


class LogNormalGamma(NormalGamma):
    """The family of `NormalGamma` for log y: μ is the mean of log y, and exp μ the median of y.

    It is for amounts > 0 that vary by factors, such as prices, incomes and durations. Statistics, priors, posteriors
    and features are in units of log y, so that one very large amount moves a category little.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.families import LogNormalGamma
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], [10.0, 1000.0, 1.0, 10.0]
    >>> prior = LogNormalGamma(centre=0.0, strength=2.0, alpha=2.0, beta=1.0)
    >>> encoder = SamplingBayesianEncoder(family="lognormal", prior=prior).fit(X, y)
    >>> np.exp(encoder.transform([["a"], ["b"], ["new"]])).round(2)  # typical amounts, half way from exp 0 to the seen
    array([[10.  ],
           [ 1.78],
           [ 1.  ]])
    """

    __slots__ = ()

    support: ClassVar[Support | None] = Support(
        'family="lognormal" takes amounts > 0, and y holds {lowest:g}: use "normal", or drop or shift such rows.'
    )
    log_target: ClassVar[bool] = True

    def predictive_quantile(self, probability: float) -> Array:
        """The exponential of that of log y, or the largest number where it is above all numbers."""
        return np.asarray(np.exp(np.minimum(super().predictive_quantile(probability), LARGEST)))
