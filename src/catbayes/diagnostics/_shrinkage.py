"""How much of an encoding is the prior, column by column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catbayes._encoder import describe, fitted_encoding
from catbayes.core.table import make_frame
from catbayes.core.validation import Array, Codes
from catbayes.core.writing import Written

NUMBERS = (
    "categories",
    "rows",
    "prior_mean",
    "prior_strength",
    "mostly_prior",
    "rows_mostly_prior",
    "mean_shrinkage",
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Shrinkage(Written):
    """What the prior is of each column, and how many categories and rows depend on it.

    Attributes
    ----------
    columns : list
        Names of the encoded columns.
    categories : ndarray of int
        Number of categories, missing values among them if they count as one.
    rows : ndarray
        Number of rows, or their weight.
    prior_mean : ndarray
        Mean of the target that categories are drawn towards; NaN with three classes or more, which have one each.
    prior_strength : ndarray
        Rows that the prior is worth; an empirical one above 99 times the largest category means that no signal was
        found.
    mostly_prior : ndarray of int
        Number of categories with fewer rows than `prior_strength`: more than half of their mean is the prior.
    rows_mostly_prior : ndarray
        Share of the rows in such categories.
    mean_shrinkage : ndarray
        Share of the posterior mean that is the prior, averaged over rows.
    verdicts : list of str
        "no signal": above 0.99 in every category. "mostly prior": above 0.5 on average; "partly prior": above 0.1;
        "mostly data": the rest. Each with what that means.

    Examples
    --------
    >>> from catbayes import BetaBernoulli, SamplingBayesianEncoder
    >>> from catbayes.diagnostics import shrinkage
    >>> encoder = SamplingBayesianEncoder(prior=BetaBernoulli(alpha=1, beta=3))
    >>> found = shrinkage(encoder.fit([["a"]] * 4 + [["b"]] * 12, [0, 1] * 8))
    >>> found.prior_mean, found.prior_strength  # a: 4 / (4 + 4), b: 4 / (4 + 12)
    (array([0.25]), array([4.]))
    """

    columns: list[Any]
    categories: Codes
    rows: Array
    prior_mean: Array
    prior_strength: Array
    mostly_prior: Codes
    rows_mostly_prior: Array
    mean_shrinkage: Array
    verdicts: list[str]
    library: Any = field(default=None, repr=False)

    def frame(self) -> Any:
        """All of it as a frame, one row for each column, in the library that the table came in."""
        numbers = {name: getattr(self, name) for name in NUMBERS}
        return make_frame({"column": self.columns, **numbers, "verdict": self.verdicts}, self.library)

    def _sentence(self) -> str:
        return "How much of each encoding is the prior; frame() has more:"

    def _table(self) -> dict[str, Any]:
        return {
            "column": self.columns,
            "categories": self.categories,
            "prior in rows": self.prior_strength,
            "rarer than that": self.mostly_prior,
            "prior's weight": self.mean_shrinkage,
            "verdict": self.verdicts,
        }


def shrinkage(encoder: Any) -> Shrinkage:
    """Say how far the categories of each column are drawn to their common mean.

    A category of n rows under a prior worth s rows has s / (s + n) of its mean from the prior.

    Parameters
    ----------
    encoder : fitted encoder, SamplingClassifier or SamplingRegressor
        One of ours.

    Returns
    -------
    Shrinkage
        Numbers and a verdict for each encoded column.

    Examples
    --------
    >>> from catbayes import BetaBernoulli, SamplingBayesianEncoder
    >>> from catbayes.diagnostics import shrinkage
    >>> X, y = [["a"]] * 12 + [["b"]] * 2, [0, 1] * 7
    >>> found = shrinkage(SamplingBayesianEncoder(prior=BetaBernoulli(alpha=2, beta=2)).fit(X, y))
    >>> found.prior_strength, found.mostly_prior  # 4 / (4 + 12) of "a" is prior, and 4 / (4 + 2) of "b"
    (array([4.]), array([1]))
    >>> found.verdicts
    ['partly prior: rare categories lean on the mean of all']
    """
    encoding = fitted_encoding(encoder)
    records = [describe(column) for column in encoding.columns]
    numbers = {name: np.array([record[name] for record in records]) for name in NUMBERS}
    verdicts = [record["verdict"] for record in records]
    names = [column.name for column in encoding.columns]
    return Shrinkage(names, **numbers, verdicts=verdicts, library=encoding.library)
