"""Cross-validated scores of a sampling model under several settings, such as the number of draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv, cross_val_score

from catbayes.core.table import name_of
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.inspect._display import GREY, Display, drawable, legend_above, library_of


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
