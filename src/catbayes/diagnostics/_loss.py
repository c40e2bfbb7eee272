"""What the draws do to a model: the loss over draws splits into that of the average prediction and a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.core.validation import Array, check_weights
from catbayes.core.writing import Written, number
from catbayes.errors import InputError

__all__ = ["LossParts", "decompose_loss"]


@dataclass(frozen=True, slots=True, repr=False)
class LossParts(Written):
    """Loss over draws = loss of the average prediction + penalty; the penalty is shared out among the columns.

    With several members, what they disagree by while nothing is drawn is `between_members`, and no column's share.

    Examples
    --------
    >>> from catbayes.diagnostics import LossParts
    >>> parts = LossParts(total=0.5, of_average=0.4, penalty=0.1, shares={"city": 0.07, "shop": 0.03})
    >>> round(sum(parts.shares.values()), 6) == parts.penalty
    True
    """

    total: float
    of_average: float
    penalty: float
    shares: dict[Any, float]
    between_members: float = 0.0

    def _sentence(self) -> str:
        total, average, penalty = map(number, (self.total, self.of_average, self.penalty))
        return f"Loss over draws {total} = loss of the average prediction {average} + penalty {penalty}"

    def _table(self) -> dict[str, Any]:
        shares = dict(sorted(self.shares.items(), key=lambda share: -share[1]))
        if self.between_members:
            shares["between members"] = self.between_members
        return {"penalty by column": list(shares), "loss": list(shares.values())}


def decompose_loss(model: Any, X: Any, y: Any, sample_weight: Any = None, n_draws: int = 100) -> LossParts:
    """Split the loss of a fitted sampling model as Appendix A does: MSE = MSE₀ + REG.

    For regressors, MSE is the squared error averaged over draws, MSE₀ that of the averaged prediction, and REG the
    variance of the prediction over draws. For classifiers the same holds of the log-loss: the mean of -log p_k is
    -log of the mean of p_k plus a gap that is never negative (Jensen). Both are identities over the same draws. The
    probabilities of a model with `calibrate` are calibrated, draw by draw.

    A column's share is what the penalty grows by when its draws join those of other columns, averaged over the columns
    taken in order and in reverse; the shares add up to the penalty, less what members disagree by.

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
    LossParts
        `total`, `of_average` (MSE₀), `penalty` (REG), `shares` by column, and `between_members`.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import Ridge
    >>> from catbayes import SamplingRegressor
    >>> from catbayes.diagnostics import decompose_loss
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
    y = np.asarray(y).reshape(-1)
    weight = check_weights(sample_weight, len(y))
    classes = getattr(model, "classes_", None)
    if classes is not None and not hasattr(model, "predict_proba"):
        raise InputError("The log-loss needs probabilities, and the estimator of this classifier has none.")
    if classes is not None and not np.isin(y, classes).all():
        raise InputError(f"y holds labels that the model was not fitted on: expected {classes.tolist()}.")

    def split(columns: list[Any] | None) -> tuple[float, float]:
        """Loss over draws, and loss of the average, where only some columns are drawn."""
        draws = model.predict_draws(X, columns=columns, n_draws=n_draws)
        if draws.shape[1] != len(y):
            raise InputError(f"y has {len(y)} values and X has {draws.shape[1]} rows: expected one for each row.")
        of_rows = _squared_error if classes is None else _log_loss(classes)
        total = np.average(np.mean([of_rows(y, draw) for draw in draws], axis=0), weights=weight)
        return float(total), float(np.average(of_rows(y, draws.mean(axis=0)), weights=weight))

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
    return LossParts(total, of_average, total - of_average, shares, between_members)


def _squared_error(y: Any, predicted: Array) -> Array:
    return np.asarray((y - predicted) ** 2)


def _log_loss(classes: Any) -> Any:
    def of_rows(y: Any, probability: Array) -> Array:
        own = probability[np.arange(len(y)), np.searchsorted(classes, y)]
        return np.asarray(-np.log(np.maximum(own, np.finfo(np.float64).tiny)))

    return of_rows
