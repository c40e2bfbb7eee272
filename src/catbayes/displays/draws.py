"""What the number of draws does to the score of a model (the paper's figure 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catbayes.core.table import name_of
from catbayes.core.validation import Array, check_count
from catbayes.core.writing import counted
from catbayes.displays._display import Display, library_of
from catbayes.displays._scores import check_model, cross_validate, draw_scores, score_name
from catbayes.displays.plotting import drawable, legend_above


@dataclass(slots=True, eq=False, repr=False)
class DrawsDisplay(Display):
    """Score of a sampling model against its number of draws K, with one standard deviation over folds.

    `plot(**style)` styles the line.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from catbayes import SamplingClassifier
    >>> from catbayes.displays import DrawsDisplay
    >>> X, y = [["a"], ["b"], ["c"], ["d"]] * 20, [0, 1, 1, 0] * 20
    >>> model = SamplingClassifier(LogisticRegression(), random_state=0)
    >>> DrawsDisplay.from_estimator(model, X, y, n_draws=(1, 4), cv=2).scores.shape  # (K, fold)
    (2, 2)
    """

    n_draws: list[int]
    scores: Array
    score: str
    target: str | None = None
    library: Any = field(default=None, repr=False)

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
        """Cross-validate a model once for every K, on the same folds.

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
        check_model(estimator)
        for number in n_draws:
            check_count("n_draws", number)
        settings = [{"n_draws": number} for number in n_draws]
        scores = cross_validate(estimator, X, y, settings, cv, scoring)
        return cls(list(n_draws), scores, score_name(estimator, scoring), name_of(y), library_of(X))

    def _sentence(self) -> str:
        return f"{self.score} by the number of draws, over {counted(self.scores.shape[1], 'fold')}:"

    def _record(self) -> dict[str, Any]:
        spread = self.scores.std(axis=1)
        return {"n_draws": np.array(self.n_draws), "mean": self.scores.mean(axis=1), "sd": spread}

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        draw_scores(ax, np.array(self.n_draws, dtype=np.float64), self.scores, style)
        ax.set_xscale("log")
        ax.set_xticks(self.n_draws, [str(number) for number in self.n_draws])
        ax.minorticks_off()
        ax.set_xlabel("number of draws, K")
        ax.set_ylabel(f"{drawable(self.score)}, cross-validated")
        legend_above(ax)
