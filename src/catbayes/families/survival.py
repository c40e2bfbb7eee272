"""Times until something ends: θ is the rate of ends, Gamma before and after."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.families.family import Support
from catbayes.families.poisson import GammaPoisson


class GammaExponential(GammaPoisson):
    """The family of `GammaPoisson` for times, some of which are censored: their end was not seen.

    The exposure of a row is its time t, and y is 1 if its end was seen and 0 if not. For exponential times the
    likelihoods are λ exp(-λ t) and exp(-λ t): those of y events of rate λ in the time t. The unit is that of the times,
    and 1 / λ is the average time until the end.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.families import GammaExponential
    >>> X, ended, years = [["basic"], ["basic"], ["gold"], ["gold"]], [1, 1, 0, 1], [1.0, 2.0, 4.0, 5.0]
    >>> prior = GammaExponential(alpha=1.0, beta=3.0)
    >>> encoder = SamplingBayesianEncoder(family="survival", prior=prior).fit(X, ended, exposure=years)
    >>> encoder.transform([["basic"], ["gold"], ["new"]]).round(3)  # (1 + 2) / (3 + 3), (1 + 1) / (3 + 9), 1 / 3
    array([[0.5  ],
           [0.167],
           [0.333]])
    """

    __slots__ = ()

    support: ClassVar[Support | None] = Support(
        'family="survival" takes 1 where the end was seen and 0 where not, and y holds from {lowest:g} to {highest:g}. '
        "Times go into exposure=.",
        zero=True,
        most_events=1.0,
    )

    @classmethod
    def check_unexposed(cls) -> None:
        """Ask for the times."""
        raise InputError(
            'family="survival" needs the times: give them as exposure=, and as y whether the end of each was seen (1) '
            'or not (0). Models and comparisons take none: use family="poisson" there, with rates as y and times as '
            "weight."
        )

    def dispersion(self, statistics: Any, row: float = 1.0) -> float:
        """Squares of times, Σ t² = Σ t · `row`, as a multiple of what exponential ones have.

        y - λ t varies by λ² E t² - 1 for each end where all are seen, which is 1 for exponential times. Where some are
        not it varies by more than this, but no less than 1.
        """
        time = statistics.count
        squares = (time * (self.beta + time) / (self.alpha + time * statistics.mean)).sum()  # of a mean time 1 / λ
        return max(1.0, float(row * time.sum() / squares) - 1.0) / row if squares > 0 else 1.0

    def predictive_quantile(self, probability: float) -> Array:
        """A new time is of a Lomax distribution: it is longer than t with the chance (β / (β + t))^α."""
        return np.asarray(self.beta * np.expm1(-np.log1p(-probability) / self.alpha))
