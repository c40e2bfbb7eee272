"""The loss over draws, taken apart as in Appendix A."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from catbayes.core.table import name_of
from catbayes.core.writing import number
from catbayes.diagnostics import LossParts, decompose_loss
from catbayes.displays._display import Display, library_of
from catbayes.displays.plotting import GREY, drawable, label_rows
from catbayes.errors import InputError


@dataclass(slots=True, eq=False, repr=False)
class DecompositionDisplay(Display):
    """Loss of the average prediction and penalty for the spread of the draws, MSE = MSE₀ + REG, as stacked bars.

    The upper bar is the whole loss, the lower one the penalty alone, shared out among the columns. `plot(**style)`
    styles the bars.

    Examples
    --------
    >>> from catbayes.displays import DecompositionDisplay
    >>> display = DecompositionDisplay.from_predictions([1.0, 2.0], [[1.0, 3.0], [0.0, 2.0]])
    >>> display.parts.total, display.parts.of_average, display.parts.penalty
    (0.5, 0.25, 0.25)
    """

    parts: LossParts
    loss: str = "squared error"
    target: str | None = None
    library: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None) -> DecompositionDisplay:
        """Take the loss of a fitted model apart.

        Parameters
        ----------
        estimator : fitted SamplingClassifier or SamplingRegressor
            A classifier needs probabilities: its loss is the log-loss.
        X, y, sample_weight
            As for `catbayes.diagnostics.decompose_loss`.

        Returns
        -------
        DecompositionDisplay
            Its `parts` hold the numbers.
        """
        loss = "log-loss" if is_classifier(estimator) else "squared error"
        return cls(decompose_loss(estimator, X, y, sample_weight), loss, name_of(y), library_of(X))

    @classmethod
    def from_predictions(cls, y: Any, draws: Any) -> DecompositionDisplay:
        """Take the squared error of any predictions under draws apart.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Targets.
        draws : array-like of shape (n_draws, n_rows)
            The predictions under each draw.

        Returns
        -------
        DecompositionDisplay
            Without shares by column, which predictions do not tell.
        """
        y, draws = np.asarray(y, dtype=np.float64), np.asarray(draws, dtype=np.float64)
        if draws.ndim != 2 or y.shape != draws.shape[1:] or not draws.size:
            raise InputError(
                f"draws has shape {draws.shape} and y {y.shape}: expected (n_draws, n_rows) and (n_rows,)."
            )
        of_average = float(((draws.mean(axis=0) - y) ** 2).mean())
        penalty = float(draws.var(axis=0).mean())
        return cls(LossParts(of_average + penalty, of_average, penalty, {}))

    def _sentence(self) -> str:
        parts = self.parts
        return (
            f"The {self.loss} over draws, {number(parts.total)}: {number(parts.of_average)} of the average prediction, "
            f"and a penalty of {number(parts.penalty)} for the spread of the draws"
        )

    def _record(self) -> dict[str, Any]:
        parts = self.parts
        rest = {} if parts.shares else {"penalty": parts.penalty - parts.between_members}
        named = {"of_average": parts.of_average, **rest, "between_members": parts.between_members}
        value = np.array([*named.values(), *parts.shares.values()])
        return {
            "part": [*named, *["penalty"] * len(parts.shares)],
            "column": [*[None] * len(named), *map(str, parts.shares)],
            "loss": value,
            "share": value / parts.total if parts.total else np.zeros_like(value),
        }

    def _size(self) -> tuple[float, float]:
        return 7.2, 2.6 + 0.12 * len(self.parts.shares)

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        parts = self.parts
        whole = {"average prediction": parts.of_average, "spread of the draws": parts.penalty}
        pieces = {drawable(name): share for name, share in parts.shares.items()}
        if parts.between_members:
            pieces["disagreement of members"] = parts.between_members
        bars = [(0, whole, parts.total, ["0.8", "C0"])]
        if pieces and parts.penalty:
            bars.append((1, pieces, parts.penalty, [f"C{place % 9 + 1}" for place in range(len(pieces))]))
        for row, values, total, colors in bars:
            left = 0.0
            for (name, value), color in zip(values.items(), colors, strict=True):
                width = 100.0 * value / total if total else 0.0
                look = {"color": color, "edgecolor": "white", "label": f"{name}: {number(value)}"}
                ax.barh(row, width, 0.6, left=left, **(look | style))
                left += width
        labels = [f"{self.loss}\nover draws, {number(parts.total)}", f"penalty by column,\n{number(parts.penalty)}"]
        label_rows(ax, labels[: len(bars)])
        ax.axvline(100.0, color=GREY, linewidth=0.8)
        ax.set_xlabel("share, in percent")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
