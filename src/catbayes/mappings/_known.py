"""Mappings of the posterior itself: nothing is drawn, so the encoder takes their outputs from other folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from catbayes.core.validation import Array, is_number
from catbayes.errors import InputError
from catbayes.families import Family
from catbayes.mappings._drawn import Mapping, finite_variance


@dataclass(frozen=True, slots=True)
class PosteriorMoments(Mapping):
    """Mean, variance, skewness and excess kurtosis of the posterior of the mean: nothing is drawn (Slakey et al.).

    Examples
    --------
    >>> from catbayes import BetaBernoulli
    >>> from catbayes.mappings import PosteriorMoments
    >>> PosteriorMoments(n_moments=2).known(BetaBernoulli(alpha=[1.0], beta=[1.0])).round(3).tolist()
    [[0.5, 0.083]]
    """

    n_moments: int = 2

    quadratic: ClassVar[bool] = True  # nothing is drawn

    def names(self) -> list[str]:
        """The first `n_moments` of the four."""
        kinds = ("mean", "variance", "skewness", "kurtosis")[: self.n_moments]
        if kinds == ("mean",):
            return list(self.labels)
        return ["_".join(filter(None, (kind, label))) for kind in kinds for label in self.labels]

    def drawn(self, theta: Array) -> Array:
        """Nothing."""
        return np.empty((*theta.shape[:-1], 0))

    def known(self, posterior: Family) -> Array:
        """Moments of the posterior; a skewness or kurtosis that does not exist is given as 0."""
        moments = [posterior.mean(), finite_variance(posterior)][: self.n_moments]
        moments = [moment[..., self.select] for moment in moments]
        if self.n_moments > 2:
            shape = posterior.shape()[: self.n_moments - 2]
            where = self.select if posterior.location == slice(None) else slice(None)
            moments += [moment[..., where] for moment in shape]
        return np.nan_to_num(np.concatenate(moments, axis=-1), nan=0.0)


@dataclass(frozen=True, slots=True)
class PredictiveQuantiles(Mapping):
    """Quantiles of the target of a new row of the category, all doubt included: how far amounts or counts reach.

    They are those of the posterior predictive distribution: Student's t for the normal family, its exponential for the
    log-normal one (quantiles of the amount itself, not of its logarithm), and a negative binomial for counts, in one
    unit of exposure. A class has no quantiles. Nothing is drawn, so `fit_transform` takes them from other folds.

    Parameters
    ----------
    probabilities : sequence of float between 0 and 1
        One output for each; that of 0.1 is called `city_q10`.
    drop_first : bool, default=False
        Does nothing here, where there are no classes.
    labels, select
        Set when the mapping is bound to a column.

    Examples
    --------
    >>> from catbayes import GammaPoisson, PredictiveQuantiles, SamplingBayesianEncoder
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], [0, 1, 8, 12]
    >>> prior = GammaPoisson(alpha=1.0, beta=0.5)
    >>> encoder = SamplingBayesianEncoder(family="poisson", prior=prior, mapping=PredictiveQuantiles((0.1, 0.9)))
    >>> encoder.fit(X, y).transform([["a"], ["b"]])
    array([[ 0.,  2.],
           [ 4., 13.]])
    >>> encoder.get_feature_names_out(["shop"])
    array(['shop_q10', 'shop_q90'], dtype=object)
    """

    probabilities: Sequence[float] = (0.1, 0.5, 0.9)

    quadratic: ClassVar[bool] = True  # nothing is drawn

    def bind(self, prior: Family, labels: Sequence[str] | None) -> Mapping:
        """Refuse classes, and probabilities that are none."""
        if prior.classes:
            raise InputError(
                "PredictiveQuantiles needs a numeric target, and a class has no quantiles. Use "
                'mapping="mean_precision", or set family= if the classes are numbers.'
            )
        given = self.probabilities
        listed = list(given) if isinstance(given, Iterable) else []
        if not listed or not all(is_number(p) and 0.0 < p < 1.0 for p in listed) or len(set(listed)) < len(listed):
            raise InputError(
                f"PredictiveQuantiles(probabilities={given!r}): expected different numbers between 0 and 1, such as "
                "(0.1, 0.5, 0.9)."
            )
        return Mapping.bind(self, prior, labels)

    def names(self) -> list[str]:
        """Name each by its percentage."""
        return [f"q{100.0 * probability:.10g}" for probability in self.probabilities]

    def known(self, posterior: Family) -> Array:
        """Quantiles of a new target, (category, probability)."""
        return np.stack([posterior.predictive_quantile(probability) for probability in self.probabilities], axis=-1)
