"""Effect of the prior's strength on the likelihood of a column, or on the score of a model (the paper's figure 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from catbayes.core.table import name_of, no_column
from catbayes.core.validation import Array, check_number
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.estimator_input import fitted_encoding
from catbayes.inspect._display import Display, drawable, legend_above, library_of
from catbayes.inspect._scores import cross_validate, draw_scores, score_name
from catbayes.priors import Scaled

GAMMAS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
DEPTH = 12.0
"""Range of log-likelihoods below the maximum that is drawn."""


@dataclass(eq=False, repr=False)
class PriorDisplay(Display):
    """Likelihood of each column against the strength of its prior, or score of a model against γ.

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
    values: Array  # (column, strength), or (1, strength) for a model
    best_strength: Array
    best_value: Array
    scores: Array | None = None  # (strength, fold), for a model
    score: str = "log marginal likelihood"
    target: str | None = None
    library: Any = None

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
            An encoder of this library: the log marginal likelihood of each column under priors of the same mean and
            different strengths. A model: its cross-validated score with `prior=Scaled(γ)`. Cloned in both cases.
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
        if isinstance(estimator, SamplingBayesianEncoder):
            return cls._of_columns(clone(estimator).set_params(prior="empirical").fit(X, y), strengths, column)
        gammas = GAMMAS if strengths is None else [check_number("strengths", gamma, 0.0) for gamma in strengths]
        settings = [{"encoder__prior": prior} for prior in (*map(Scaled, gammas), "empirical")]
        scores = cross_validate(estimator, X, y, settings, cv, scoring)
        means = scores.mean(axis=1)
        return cls(
            strengths=np.array(gammas),
            columns=["all"],
            values=means[None, :-1],
            best_strength=np.full(1, np.nan),
            best_value=means[-1:],
            scores=scores[:-1],
            score=score_name(estimator, scoring),
            target=name_of(y),
            library=library_of(X),
        )

    @classmethod
    def _of_columns(cls, encoder: Any, strengths: Any, column: Any) -> PriorDisplay:
        encoding = fitted_encoding(encoder)
        fitted = {entry.name: entry for entry in encoding.columns}
        if column is not None and column not in fitted:
            raise no_column(column, list(fitted))
        columns = list(fitted) if column is None else [column]
        if strengths is None:
            strengths = np.geomspace(0.1, 10.0 * max(fitted[name].statistics.count.sum() for name in columns), 80)
        strengths = np.array([check_number("strengths", s, np.finfo(np.float64).tiny) for s in strengths])
        values, best_value = [], []
        best_strength = [float(fitted[name].prior.strength) for name in columns]
        for name, best in zip(columns, best_strength, strict=True):
            statistics, prior = fitted[name].statistics, fitted[name].prior
            seen = statistics.take(np.flatnonzero(statistics.count))
            *line, at_best = (float(prior.worth(s).log_marginal(seen).sum()) for s in (*strengths, best))
            values.append(line)
            best_value.append(at_best)
        return cls(
            strengths=strengths,
            columns=columns,
            values=np.array(values),
            best_strength=np.array(best_strength),
            best_value=np.array(best_value),
            target=encoding.evidence.target,
            library=encoding.library,
        )

    def _record(self) -> dict[str, Any]:
        if self.scores is not None:
            return {"gamma": self.strengths, "mean": self.values[0], "sd": self.scores.std(axis=1)}
        names = [name for name in self.columns for _ in self.strengths]
        strengths = np.tile(self.strengths, len(self.columns))
        return {"column": names, "strength": strengths, "log_marginal": self.values.reshape(-1)}

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        if self.scores is None:
            self._draw_likelihoods(ax, style)
        else:
            self._draw_scores(ax, self.scores, style)
        legend_above(ax)

    def _draw_scores(self, ax: Any, scores: Array, style: dict[str, Any]) -> None:
        draw_scores(ax, self.strengths, scores, style)
        ax.axhline(self.best_value[0], color="C1", linestyle="--", linewidth=1.2, label="empirical prior")
        positive = self.strengths[self.strengths > 0]
        least = positive.min() if positive.size else 1.0
        ax.set_xscale("symlog", linthresh=least)  # a logarithmic axis with a place for 0
        ax.set_xlim(-0.2 * least, 1.5 * max(self.strengths.max(), least))
        ax.set_xticks(self.strengths, [f"{gamma:g}" for gamma in self.strengths])
        ax.minorticks_off()
        ax.set_xlabel("prior strength γ, as a share of the table")
        ax.set_ylabel(f"{drawable(self.score)}, cross-validated")

    def _draw_likelihoods(self, ax: Any, style: dict[str, Any]) -> None:
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
