"""How much of an encoding is the prior: a summary of all columns, a plot of one, and the likelihood of other priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from catbayes.core.table import make_frame, no_column
from catbayes.core.validation import Array, check_number
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.inspect._display import GREY, Display, drawable, fitted_encoding
from catbayes.inspect._posterior import read_column

DEPTH = 12.0
"""Range of log-likelihoods below the maximum that is drawn."""


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
    column: Any = None

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
        record, target, library = read_column(estimator, column, class_)
        seen = np.flatnonzero(record["count"] > 0)
        return cls(
            categories=[record["category"][row] for row in seen],
            count=record["count"][seen],
            raw_mean=record["raw_mean"][seen],
            mean=record["mean"][seen],
            prior_mean=float(record["mean"][record["kind"].index("unseen")]),
            column=column,
            target=target,
            library=library,
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
        target = self.target or "mean of the target"
        ax.set_xlabel(f"{target}, observed")
        ax.set_ylabel(f"{target}, encoded")


@dataclass(eq=False, repr=False)
class PriorDisplay(Display):
    """Likelihood of each column against the strength of its prior.

    `plot(**style)` styles the lines. A log-likelihood that is 2 below the maximum is e² times less likely.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.inspect import PriorDisplay
    >>> X, y = [["a"], ["b"], ["c"], ["d"]] * 20, [0, 1, 1, 0] * 40 + [1, 1, 0, 0] * 40
    >>> display = PriorDisplay.from_estimator(SamplingBayesianEncoder(), X * 4, y, strengths=[1, 10, 100])
    >>> display.frame().shape, bool(display.best_value[0] >= display.values.max())
    ((3, 3), True)
    """

    strengths: Array
    columns: list[Any]
    values: Array  # (column, strength)
    best_strength: Array
    best_value: Array

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, strengths: Any = None, column: Any = None
    ) -> PriorDisplay:
        """Compute the log marginal likelihood under priors of the same mean and several strengths.

        Parameters
        ----------
        estimator : SamplingBayesianEncoder
            It is cloned and fitted with the empirical prior.
        X, y
            Table and target.
        strengths : sequence of float, optional
            Numbers of rows that a prior is worth.
        column : name or position, optional
            Show this column only.

        Returns
        -------
        PriorDisplay
            `best_strength` and `best_value` are those of the empirical prior.
        """
        if not isinstance(estimator, SamplingBayesianEncoder):
            raise InputError(f"estimator={estimator!r}: expected a SamplingBayesianEncoder.")
        encoding = fitted_encoding(clone(estimator).set_params(prior="empirical").fit(X, y))
        fitted = {entry.name: entry for entry in encoding.columns}
        if column is not None and column not in fitted:
            raise no_column(column, list(fitted))
        columns = list(fitted) if column is None else [column]
        if strengths is None:
            strengths = np.geomspace(0.1, 10.0 * max(fitted[name].statistics.count.sum() for name in columns), 80)
        strengths = np.array([check_number("strengths", s, np.finfo(np.float64).tiny) for s in strengths])
        best_strength = np.array([float(fitted[name].prior.strength) for name in columns])
        values = []
        for name, best in zip(columns, best_strength, strict=True):
            statistics, prior = fitted[name].statistics, fitted[name].prior
            seen = statistics.take(np.flatnonzero(statistics.count))
            values.append([float(prior.worth(s).log_marginal(seen).sum()) for s in (*strengths, best)])
        return cls(
            strengths=strengths,
            columns=columns,
            values=np.array(values)[:, :-1],
            best_strength=best_strength,
            best_value=np.array(values)[:, -1],
            target=encoding.evidence.target,
            library=encoding.library,
        )

    def _record(self) -> dict[str, Any]:
        names = [name for name in self.columns for _ in self.strengths]
        strengths = np.tile(self.strengths, len(self.columns))
        return {"column": names, "strength": strengths, "log_marginal": self.values.reshape(-1)}

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        low, high = self.strengths.min(), self.strengths.max()
        for row, name in enumerate(self.columns):
            best, strength = self.best_value[row], self.best_strength[row]
            beyond = strength > high
            rows = min(strength, high)
            note = f"best {'beyond' if beyond else 'at'} {rows:,.{0 if rows >= 10 else 1}f} rows"
            (line,) = ax.plot(self.strengths, self.values[row] - best, label=f"{drawable(name)}: {note}", **style)
            marker = {"marker": ">" if beyond else "o", "linestyle": "", "color": line.get_color(), "clip_on": False}
            ax.plot([np.clip(strength, low, high)], [0.0], **marker)
        ax.set_xscale("log")
        ax.set_ylim(-DEPTH, 0.6)
        ax.set_xlabel("prior strength, in rows")
        ax.set_ylabel("log marginal likelihood,\nbelow its maximum")
