"""Scores of a model by its number of draws, and the effect of the prior's strength (the paper's figures 1 and 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv, cross_val_score

from catbayes.core.table import name_of, no_column
from catbayes.core.validation import Array, check_number
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.estimator_input import fitted_encoding
from catbayes.inspect._display import GREY, Display, drawable, legend_above, library_of
from catbayes.priors import Scaled

GAMMAS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
DEPTH = 12.0
"""Range of log-likelihoods below the maximum that is drawn."""


def cross_validate(model: Any, X: Any, y: Any, settings: list[dict[str, Any]], cv: Any, scoring: Any) -> Array:
    """Score a model under each setting on the same folds, (setting, fold)."""
    if not hasattr(model, "predict_draws"):
        raise InputError(f"estimator={model!r}: expected a SamplingClassifier or SamplingRegressor.")
    y = np.asarray(y)
    folds = list(check_cv(cv, y, classifier=is_classifier(model)).split(y, y))
    trials = [clone(model).set_params(**setting) for setting in settings]
    return np.array([cross_val_score(trial, X, y, cv=folds, scoring=scoring) for trial in trials])


def score_name(model: Any, scoring: Any) -> str:
    """Name a score for the axis of a plot."""
    if scoring is None:
        return "accuracy" if is_classifier(model) else "R²"
    return scoring.replace("_", " ") if isinstance(scoring, str) else getattr(scoring, "__name__", "score")


def draw_scores(ax: Any, at: Array, scores: Array, style: dict[str, Any]) -> None:
    """Draw the mean over folds as a line, with a band of one standard deviation."""
    mean, spread = scores.mean(axis=1), scores.std(axis=1)
    (line,) = ax.plot(at, mean, **({"marker": "o", "label": "mean over folds"} | style))
    color = line.get_color()
    ax.fill_between(at, mean - spread, mean + spread, color=color, alpha=0.15, label="± 1 standard deviation")
    ax.grid(axis="y", color=GREY, alpha=0.25)


@dataclass(eq=False, repr=False)
class DrawsDisplay(Display):
    """Score of a sampling model against its number of draws K (the paper's figure 1).

    `plot(**style)` styles the line; the band is one standard deviation over folds.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from catbayes import SamplingClassifier
    >>> from catbayes.inspect import DrawsDisplay
    >>> X, y = [["a"], ["b"], ["c"], ["d"]] * 20, [0, 1, 1, 0] * 20
    >>> model = SamplingClassifier(LogisticRegression(), random_state=0)
    >>> DrawsDisplay.from_estimator(model, X, y, n_draws=(1, 4), cv=2).scores.shape  # (K, fold)
    (2, 2)
    """

    n_draws: list[int]
    scores: Array
    score: str
    target: str | None = None
    library: Any = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_draws: Sequence[int] = (1, 2, 5, 10, 20),
        cv: Any = 5,
        scoring: Any = None,
    ) -> DrawsDisplay:
        """Cross-validate a model for each K, on the same folds.

        Parameters
        ----------
        estimator : SamplingClassifier or SamplingRegressor
            Cloned, with `n_draws` set.
        X, y
            Table and target.
        n_draws : sequence of int
            The values of K.
        cv, scoring
            As for scikit-learn's `cross_val_score`.

        Returns
        -------
        DrawsDisplay
            `scores` is (K, fold).
        """
        settings = [{"n_draws": number} for number in n_draws]
        scores = cross_validate(estimator, X, y, settings, cv, scoring)
        return cls(list(n_draws), scores, score_name(estimator, scoring), name_of(y), library_of(X))

    def _record(self) -> dict[str, Any]:
        return {"n_draws": np.array(self.n_draws), "mean": self.scores.mean(axis=1), "sd": self.scores.std(axis=1)}

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        draw_scores(ax, np.array(self.n_draws, dtype=np.float64), self.scores, style)
        ax.set_xscale("log")
        ax.set_xticks(self.n_draws, [str(number) for number in self.n_draws])
        ax.minorticks_off()
        ax.set_xlabel("number of draws, K")
        ax.set_ylabel(f"{drawable(self.score)}, cross-validated")
        legend_above(ax)


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
