"""How much of an encoding is the prior: a summary of all columns, and a plot of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.core.table import make_frame
from catbayes.core.validation import Array
from catbayes.estimator_input import fitted_encoding
from catbayes.inspect._display import GREY, Display, drawable, legend_above
from catbayes.inspect._posterior import read_column


def shrinkage(encoder: Any) -> Any:
    """Summarise how far the categories of each column are shrunk towards their common mean.

    A category of n rows under a prior worth s rows takes the share s / (s + n) of its mean from the prior.

    Parameters
    ----------
    encoder : fitted encoder, SamplingClassifier or SamplingRegressor
        One of this library.

    Returns
    -------
    frame
        One row per encoded column, in the library of the table: `column`; `categories`, missing values included if
        they count as one; `rows`, or their weight; `prior_mean`, NaN with three classes or more; `prior_strength`, the
        rows that the prior is worth; `mostly_prior`, the number of categories with fewer rows than that;
        `rows_mostly_prior`, the share of the rows in them; `mean_shrinkage`, the share of the posterior mean that is
        the prior, averaged over rows; `signal`, the standard deviation of the posterior means over rows (of several
        classes, the largest); `verdict`: "no signal" above 0.99 in every category, "mostly prior" above 0.5 on average,
        "partly prior" above 0.1, "mostly data" otherwise, each with an explanation.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.families import BetaBernoulli
    >>> from catbayes.inspect import shrinkage
    >>> X, y = [["a"]] * 12 + [["b"]] * 2, [0, 1] * 7
    >>> found = shrinkage(SamplingBayesianEncoder(prior=BetaBernoulli(alpha=2, beta=2)).fit(X, y))
    >>> found[["prior_strength", "mostly_prior"]]  # 4 / (4 + 12) of "a" is prior, and 4 / (4 + 2) of "b"
       prior_strength  mostly_prior
    0             4.0             1
    >>> found["verdict"][0]
    'partly prior: rare categories are close to the overall mean'
    """
    encoding = fitted_encoding(encoder)
    records = [_summary(column) for column in encoding.columns]
    return make_frame({name: [record[name] for record in records] for name in records[0]}, encoding.library)


def _summary(column: Any) -> dict[str, Any]:
    statistics, prior = column.statistics, column.prior
    seen = statistics.count > 0
    count = statistics.count[seen]
    strength = float(prior.strength)
    share = strength / (strength + count)
    mean = prior.mean()[..., prior.location]
    average = float(np.average(share, weights=count)) if count.size else 1.0
    signal = 0.0
    if count.size and not column.is_silent:
        means = column.family.mean()[seen][:, prior.location]
        centre = np.average(means, axis=0, weights=count)
        signal = float(np.sqrt(np.average((means - centre) ** 2, axis=0, weights=count).max()))
    return {
        "column": column.name,
        "categories": count.size,
        "rows": float(count.sum()),
        "prior_mean": float(mean[0]) if mean.size == 1 else np.nan,
        "prior_strength": strength,
        "mostly_prior": int((share > 0.5).sum()),
        "rows_mostly_prior": float(count[share > 0.5].sum() / count.sum()) if count.size else 0.0,
        "mean_shrinkage": average,
        "signal": signal,
        "verdict": _verdict(float(share.min(initial=1.0)), average),
    }


def _verdict(least: float, average: float) -> str:
    if least > 0.99:
        return "no signal: every category stays at the overall mean"
    if average > 0.5:
        return "mostly prior: most of the encoding is the overall mean"
    if average > 0.1:
        return "partly prior: rare categories are close to the overall mean"
    return "mostly data: the categories determine their own encoding"


@dataclass(eq=False, repr=False)
class ShrinkageDisplay(Display):
    """Observed mean of each category against its posterior mean: rare categories are shrunk towards the prior.

    `plot(**style)` styles the points, whose areas grow with the number of rows. The numbers of any other encoder can be
    given to the constructor.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes.inspect import ShrinkageDisplay
    >>> numbers = {"count": np.array([3, 90]), "raw_mean": np.array([1.0, 0.2]), "mean": np.array([0.7, 0.21])}
    >>> ShrinkageDisplay(["rare", "frequent"], **numbers, prior_mean=0.5).frame().shape
    (2, 4)
    """

    categories: list[Any]
    count: Array
    raw_mean: Array
    mean: Array
    prior_mean: float
    target: str | None = "mean of the target"
    column: Any = None
    library: Any = None

    @classmethod
    def from_estimator(cls, estimator: Any, column: Any, *, class_: Any = None) -> ShrinkageDisplay:
        """Read the posteriors of a fitted encoder or sampling model.

        Parameters
        ----------
        estimator, column, class_
            As for `PosteriorDisplay`.

        Returns
        -------
        ShrinkageDisplay
            One point per category of the training rows.
        """
        read = read_column(estimator, column, class_)
        record = read.record
        seen = np.flatnonzero(record["count"] > 0)
        return cls(
            categories=[record["category"][row] for row in seen],
            count=record["count"][seen],
            raw_mean=record["raw_mean"][seen],
            mean=record["mean"][seen],
            prior_mean=float(record["mean"][record["kind"].index("unseen")]),
            target=read.target,
            column=column,
            library=read.library,
        )

    def _record(self) -> dict[str, Any]:
        return {"category": self.categories, "count": self.count, "raw_mean": self.raw_mean, "mean": self.mean}

    def _title(self) -> str:
        return "" if self.column is None else f"{drawable(self.column)}, {len(self.categories):,} categories"

    def _size(self) -> tuple[float, float]:
        return 5.4, 5.0

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        both = np.concatenate([self.raw_mean, self.mean])
        ends = np.array([both.min(), both.max()])
        ax.plot(ends, ends, color=GREY, linewidth=1, label="no shrinkage")
        ax.axhline(self.prior_mean, color=GREY, linestyle="--", linewidth=1, label="prior mean")
        largest = max(self.count.max(initial=0.0), 1.0)
        label = f"a category, up to {largest:,g} rows"
        marks = {"alpha": 0.6, "edgecolor": "white", "label": label} | style
        ax.scatter(self.raw_mean, self.mean, s=12.0 + 240.0 * self.count / largest, **marks)
        ax.set_xlabel(f"{self.target}, observed")
        ax.set_ylabel(f"{self.target}, encoded")
        legend_above(ax)
