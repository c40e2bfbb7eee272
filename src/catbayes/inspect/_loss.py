"""Loss over draws, split into the loss of the average prediction and a penalty (Appendix A)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.core.table import library_of, name_of
from catbayes.core.target import check_weights
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.inspect._display import GREY, Display, drawable, label_rows


@dataclass(eq=False, repr=False)
class DecompositionDisplay(Display):
    """Loss of the average prediction and penalty for the spread of the draws, MSE = MSE₀ + REG, as stacked bars.

    The upper bar is the total loss, the lower one the penalty by column. With several members, the disagreement that
    remains while nothing is drawn is `between_members`. `plot(**style)` styles the bars.

    Examples
    --------
    >>> from catbayes.inspect import DecompositionDisplay
    >>> display = DecompositionDisplay(total=0.5, of_average=0.3, penalty=0.2, shares={"city": 0.2})
    >>> display.frame()["share"].tolist()
    [0.6, 0.0, 0.4]
    """

    total: float
    of_average: float
    penalty: float
    shares: dict[Any, float]
    between_members: float = 0.0
    loss: str = "squared error"

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **settings: Any) -> DecompositionDisplay:
        """Split the loss of a fitted model; the same as `decompose_loss`."""
        return decompose_loss(estimator, X, y, **settings)

    def _record(self) -> dict[str, Any]:
        rest = {} if self.shares else {"penalty": self.penalty - self.between_members}
        named = {"of_average": self.of_average, **rest, "between_members": self.between_members}
        value = np.array([*named.values(), *self.shares.values()])
        return {
            "part": [*named, *["penalty"] * len(self.shares)],
            "column": [*[None] * len(named), *map(str, self.shares)],
            "loss": value,
            "share": value / self.total if self.total else np.zeros_like(value),
        }

    def _size(self) -> tuple[float, float]:
        return 7.2, 2.6 + 0.12 * len(self.shares)

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        whole = {"average prediction": self.of_average, "spread of the draws": self.penalty}
        pieces = {drawable(name): share for name, share in self.shares.items()}
        if self.between_members:
            pieces["disagreement of members"] = self.between_members
        bars = [(0, whole, self.total, ["0.8", "C0"])]
        if pieces and self.penalty:
            bars.append((1, pieces, self.penalty, [f"C{place % 9 + 1}" for place in range(len(pieces))]))
        for row, values, total, colors in bars:
            left = 0.0
            for (name, value), color in zip(values.items(), colors, strict=True):
                width = 100.0 * value / total if total else 0.0
                look = {"color": color, "edgecolor": "white", "label": f"{name}: {value:.4g}"}
                ax.barh(row, width, 0.6, left=left, **(look | style))
                left += width
        labels = [f"{self.loss}\nover draws, {self.total:.4g}", f"penalty by column,\n{self.penalty:.4g}"]
        label_rows(ax, labels[: len(bars)])
        ax.axvline(100.0, color=GREY, linewidth=0.8)
        ax.set_xlabel("share, in percent")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def decompose_loss(model: Any, X: Any, y: Any, sample_weight: Any = None, n_draws: int = 100) -> DecompositionDisplay:
    """Split the loss of a fitted sampling model as Appendix A does: MSE = MSE₀ + REG.

    For regressors, MSE is the squared error averaged over draws, MSE₀ that of the averaged prediction, and REG the
    variance of the prediction over draws. For classifiers the same holds of the log-loss: the mean of -log p_k is
    -log of the mean of p_k plus a gap that is never negative (Jensen). Both are identities over the same draws. The
    probabilities of a model with `calibrate` are calibrated, draw by draw.

    A column's share is the increase of the penalty when its draws are added to those of other columns, averaged over
    the columns in order and in reverse. The shares add up to the penalty less `between_members`.

    Parameters
    ----------
    model : fitted SamplingClassifier or SamplingRegressor
        A classifier needs probabilities.
    X : table of shape (n_rows, n_columns)
        Rows to measure on.
    y : array-like of shape (n_rows,)
        Their targets.
    sample_weight : array-like of shape (n_rows,), optional
        Their weights.
    n_draws : int, default=100
        Draws of every category.

    Returns
    -------
    DecompositionDisplay
        `total`, `of_average` (MSE₀), `penalty` (REG), `shares` by column, `between_members`, and `plot()`.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import Ridge
    >>> from catbayes import SamplingRegressor
    >>> from catbayes.inspect import decompose_loss
    >>> X = pd.DataFrame({"city": ["Oslo", "Rome", "Bonn", "Kyiv"] * 5, "colour": ["red", "blue"] * 10})
    >>> y = [3.0, 1.0, 2.0, 4.0] * 4 + [3.5, 1.5, 2.5, 4.5]
    >>> parts = decompose_loss(SamplingRegressor(Ridge(), random_state=0).fit(X, y), X, y)
    >>> round(parts.of_average + parts.penalty - parts.total, 12)
    0.0
    >>> sorted(parts.shares, key=parts.shares.get)
    ['colour', 'city']
    """
    if not hasattr(model, "predict_draws"):
        raise InputError(f"model={model!r}: expected a fitted SamplingClassifier or SamplingRegressor.")
    target, y = name_of(y), np.asarray(y).reshape(-1)
    weight = check_weights(sample_weight, len(y))
    classes = getattr(model, "classes_", None)
    if classes is not None and not hasattr(model, "predict_proba"):
        raise InputError("The log-loss needs probabilities, and the estimator of this classifier has none.")
    if classes is not None and not np.isin(y, classes).all():
        raise InputError(f"y holds labels that the model was not fitted on: expected {classes.tolist()}.")

    def of_rows(predicted: Array) -> Array:
        if classes is None:
            return np.asarray((y - predicted) ** 2)
        own = predicted[np.arange(len(y)), np.searchsorted(classes, y)]
        return np.asarray(-np.log(np.maximum(own, np.finfo(np.float64).tiny)))

    def split(columns: list[Any] | None) -> tuple[float, float]:
        """Loss over draws, and loss of the average, where only some columns are drawn."""
        draws = model.predict_draws(X, columns=columns, n_draws=n_draws)
        if draws.shape[1] != len(y):
            raise InputError(f"y has {len(y)} values and X has {draws.shape[1]} rows: expected one for each row.")
        total = np.average(np.mean([of_rows(draw) for draw in draws], axis=0), weights=weight)
        return float(total), float(np.average(of_rows(draws.mean(axis=0)), weights=weight))

    total, of_average = split(None)
    names = [] if model.encoder_ is None else list(model.encoder_.columns_)
    shares = dict.fromkeys(names, 0.0)
    whole, average = split([]) if len(model.estimators_) > 1 else (0.0, 0.0)
    between_members = whole - average
    for order in (names, names[::-1]):
        before = between_members
        for place, name in enumerate(order):
            whole, average = (total, of_average) if place + 1 == len(order) else split(order[: place + 1])
            shares[name] += (whole - average - before) / 2.0
            before = whole - average
    return DecompositionDisplay(
        total=total,
        of_average=of_average,
        penalty=total - of_average,
        shares=shares,
        between_members=between_members,
        loss="squared error" if classes is None else "log-loss",
        target=target,
        library=library_of(X),
    )
