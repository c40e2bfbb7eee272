"""What the strength of the prior does to a column, or to the score of a model (the paper's figure 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from catbayes._encoder import ConjugateMomentEncoder, SamplingBayesianEncoder
from catbayes.core.fitted import Encoding
from catbayes.core.table import name_of, no_column
from catbayes.core.validation import Array, check_number
from catbayes.core.writing import in_rows, number
from catbayes.displays._display import Display, library_of
from catbayes.displays._scores import check_model, cross_validate, draw_scores, score_name
from catbayes.displays.plotting import drawable, legend_above

GAMMAS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
DEEPEST = 12.0


@dataclass(slots=True, eq=False, repr=False)
class PriorDisplay(Display):
    """What the strength of the prior does: to the likelihood of each column, or to the score of a model.

    `plot(**style)` styles the lines. Of the likelihoods the best 12 units are shown: whatever is 2 below the maximum is
    e² times less likely.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.displays import PriorDisplay
    >>> X, y = [["a"], ["b"], ["c"], ["d"]] * 20, [0, 1, 1, 0] * 40 + [1, 1, 0, 0] * 40
    >>> display = PriorDisplay.from_estimator(SamplingBayesianEncoder(), X * 4, y, strengths=[1, 10, 100])
    >>> display.frame().shape, bool(display.best_value[0] >= display.values.max())
    ((3, 3), True)
    """

    strengths: Array
    columns: list[Any]
    values: Array  # (column, strength), or (1, strength) for a model
    best_strength: Array
    best_value: Array
    scores: Array | None = None  # (strength, fold), for a model
    score: str = "log marginal likelihood"
    target: str | None = None
    library: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        strengths: Any = None,
        column: Any = None,
        cv: Any = 5,
        scoring: Any = None,
    ) -> PriorDisplay:
        """Try priors of several strengths, and the empirical one.

        Parameters
        ----------
        estimator : encoder, SamplingClassifier or SamplingRegressor
            An encoder of ours: the log marginal likelihood of each column, where the prior keeps its mean and is worth
            so many rows. A model: its cross-validated score, where `prior=γ`. Cloned either way.
        X, y
            Table and target.
        strengths : sequence of float, optional
            Numbers of rows for an encoder, values of γ for a model.
        column : name or position, optional
            Show this column only, for an encoder.
        cv, scoring
            As for scikit-learn's `cross_val_score`, for a model.

        Returns
        -------
        PriorDisplay
            `best_strength` and `best_value` are those of the empirical prior; for a model the score alone.
        """
        if isinstance(estimator, SamplingBayesianEncoder | ConjugateMomentEncoder):
            fitted = clone(estimator).set_params(prior="empirical").fit(X, y)
            return cls._of_columns(fitted.encoding_, strengths, column)
        check_model(estimator)
        gammas = GAMMAS if strengths is None else [check_number("strengths", gamma, 0.0) for gamma in strengths]
        settings = [{"encoder__prior": prior} for prior in (*gammas, "empirical")]
        scores = cross_validate(estimator, X, y, settings, cv, scoring)
        means, nowhere = scores.mean(axis=1), np.full(1, np.nan)
        about = (score_name(estimator, scoring), name_of(y), library_of(X))
        return cls(np.array(gammas), ["all"], means[None, :-1], nowhere, means[-1:], scores[:-1], *about)

    @classmethod
    def _of_columns(cls, encoding: Encoding, strengths: Any, column: Any) -> PriorDisplay:
        fitted = {entry.name: entry.posteriors for entry in encoding.columns}
        if column is not None and column not in fitted:
            raise no_column(column, list(fitted))
        chosen = list(fitted) if column is None else [column]
        rows = max(fitted[name].statistics.count.sum() for name in chosen)
        if strengths is None:
            strengths = np.geomspace(0.1, 10.0 * rows, 80)
        tried = np.array([check_number("strengths", strength, np.finfo(np.float64).tiny) for strength in strengths])

        def likelihood(posterior: Any, strength: float) -> float:
            statistics = posterior.statistics.take(np.flatnonzero(posterior.statistics.count))
            return float(posterior.prior.prior.worth(strength).log_marginal(statistics).sum())

        best = [float(fitted[name].prior.prior.strength) for name in chosen]
        values = [[likelihood(fitted[name], strength) for strength in tried] for name in chosen]
        at_best = [likelihood(fitted[name], strength) for name, strength in zip(chosen, best, strict=True)]
        arrays = np.array(values), np.array(best), np.array(at_best)
        return cls(tried, chosen, *arrays, target=encoding.evidence.target, library=encoding.library)

    def _sentence(self) -> str:
        if self.scores is not None:
            return f"{self.score} by the strength γ of the prior; {number(self.best_value[0])} with the empirical one:"
        return "Rows that the prior of each column is worth, where its likelihood is largest:"

    def _table(self) -> dict[str, Any]:
        record = super(PriorDisplay, self)._table()
        if self.scores is not None or not record:
            return record
        return {"column": self.columns, "rows": self.best_strength, "log_marginal": self.best_value}

    def _record(self) -> dict[str, Any]:
        if self.scores is not None:
            return {"gamma": self.strengths, "mean": self.values[0], "sd": self.scores.std(axis=1)}
        names = [name for name in self.columns for _ in self.strengths]
        strengths = np.tile(self.strengths, len(self.columns))
        return {"column": names, "strength": strengths, "log_marginal": self.values.reshape(-1)}

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        if self.scores is not None:
            draw_scores(ax, self.strengths, self.scores, style)
            ax.axhline(self.best_value[0], color="C1", linestyle="--", linewidth=1.2, label="empirical prior")
            positive = self.strengths[self.strengths > 0]
            least = positive.min() if positive.size else 1.0
            ax.set_xscale("symlog", linthresh=least)  # a logarithmic axis with a place for 0
            ax.set_xlim(-0.2 * least, 1.5 * max(self.strengths.max(), least))
            ax.set_xticks(self.strengths, [f"{gamma:g}" for gamma in self.strengths])
            ax.minorticks_off()
            ax.set_xlabel("prior strength γ, as a share of the table")
            ax.set_ylabel(f"{drawable(self.score)}, cross-validated")
            legend_above(ax)
            return
        low, high = self.strengths.min(), self.strengths.max()
        for row, name in enumerate(self.columns):
            best, strength = self.best_value[row], self.best_strength[row]
            flat = strength > high
            note = f"best {'beyond' if flat else 'at'} {in_rows(high if flat else strength)}"
            (line,) = ax.plot(self.strengths, self.values[row] - best, label=f"{drawable(name)}: {note}", **style)
            marker = {"marker": ">" if flat else "o", "linestyle": "", "color": line.get_color(), "clip_on": False}
            ax.plot([np.clip(strength, low, high)], [0.0], **marker)
        ax.set_xscale("log")
        ax.set_ylim(-DEEPEST, 0.6)
        ax.set_xlabel("prior strength, in rows")
        ax.set_ylabel("log marginal likelihood,\nbelow its maximum")
        legend_above(ax)
