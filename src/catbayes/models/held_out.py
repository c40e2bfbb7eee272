"""Rows that were held out, with the predictions of models that were fitted to the other folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from catbayes.core.leakage import make_folds
from catbayes.core.random import Purpose, stream
from catbayes.core.table import Table
from catbayes.core.validation import Array, Codes
from catbayes.errors import InputError, InputWarning
from catbayes.models.rows import params_of


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predictions of rows, and how often their categories were seen."""

    response: Array  # (row,) or (row, class)
    spread: Array  # (row,): standard deviation over draws of the whole posterior; not used for classes
    seen: Array  # (row, column): rows that were seen of the category, in each encoded column
    features: Array  # (row, feature): expected means of the categories, and the numbers

    @classmethod
    def join(cls, parts: Sequence[Predicted]) -> Predicted:
        """Concatenate the rows of several folds."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def take(self, rows: Any) -> Predicted:
        """Return some of the rows."""
        return Predicted(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Held-out rows with their targets."""

    predicted: Predicted
    y: np.ndarray[Any, Any]  # classes by their numbers
    weight: Array
    fold: Codes
    informative: Codes  # encoded columns that have a signal, among all rows

    @classmethod
    def of(
        cls,
        model: Any,
        table: Table,
        y: np.ndarray[Any, Any],
        weight: Array | None,
        groups: Any,
        fit_params: dict[str, Any],
        *,
        classes: Any,
        encoder: Any,
        seed: int,
        report: Callable[[str], None],
    ) -> HeldOut:
        """Fit the model without each fold in turn, and predict the fold.

        Spreads are scaled to those of the fitted model: by chance one model depends more on its draws than another.
        """
        columns = () if encoder is None else [c for c in encoder.encoding_.columns if not c.is_interaction]
        informative = np.flatnonzero([not column.is_silent for column in columns])
        own = int(stream(seed, Purpose.CALIBRATION).integers(np.iinfo(np.int32).max))
        numbers = y if classes is None else np.searchsorted(classes, y)
        used = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        some = (numbers[used], numbers[used], None if groups is None else np.asarray(groups)[used], own)
        folds = make_folds("calibrate", model.calibrate, *some, classes=classes is not None)
        if len(folds) < 2:
            raise InputError(f"calibrate={model.calibrate!r} makes one fold: expected two or more.")
        folds = [(used[train], used[test]) for train, test in folds]
        if encoder is not None:  # rows of held-out categories matter most
            encoder = clone(encoder).set_params(unseen="prior")
        here = model._usual_spread(table.take(_some(used)))
        parts = []
        for number, (train, test) in enumerate(folds):
            if classes is not None and len(np.unique(numbers[train])) < 2:
                raise InputError(
                    f"calibrate={model.calibrate!r}: rows outside of a fold hold one class only: expected two or more "
                    "rows of each class. Use calibrate=None, or more folds."
                )
            state = None if model.random_state is None else own + number
            other = clone(model).set_params(calibrate=None, encoder=encoder, random_state=state, verbose=0)
            given = [None if values is None else np.asarray(values)[train] for values in (weight, groups)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InputWarning)  # which the fit to all rows gave
                other.fit(table.take(train), y[train], *given, **params_of(fit_params, table.n_rows, train))
                part = other._predict_for_calibration(table.take(test), classes)
                usual = other._usual_spread(table.take(_some(train)))
            parts.append(replace(part, spread=part.spread * (here / usual if usual > 0 else 1.0)))
            report(f"calibrating: fold {number + 1} of {len(folds)}")
        rows = np.concatenate([test for _, test in folds])
        fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
        weights = np.ones(len(rows)) if weight is None else weight[rows]
        return cls(Predicted.join(parts), numbers[rows], weights, fold, informative)


def _some(rows: Codes) -> Codes:
    """Return about a thousand of the rows, evenly spaced."""
    return rows[:: max(1, len(rows) // 1000)]
