"""Rows that a model did not learn from: what models of the other folds say of them, and how well they know them."""

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
class Told:
    """What a model says of rows, and what it knows of them."""

    response: Array  # (row,) or (row, class)
    doubt: Array  # (row,): standard deviation over draws of the whole posterior; of classes nobody asks
    known: Array  # (row, column): how many rows were seen of the category, in each encoded column
    plain: Array  # (row, feature): what is expected of the categories, and the numbers

    @classmethod
    def join(cls, parts: Sequence[Told]) -> Told:
        """Rows of one after those of the other."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def take(self, rows: Any) -> Told:
        """Some of the rows."""
        return Told(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Rows with what was said of them before their targets were seen."""

    told: Told
    y: np.ndarray[Any, Any]  # classes by their numbers
    weight: Array
    fold: Codes
    relevant: Codes  # encoded columns that have a signal, among all rows

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
        """Fit the model anew without each fold in turn, and let it speak of the fold.

        Doubts come in units of the fitted model: what one model makes of its draws another makes more of, by chance.
        """
        columns = () if encoder is None else [c for c in encoder.encoding_.columns if not c.is_interaction]
        relevant = np.flatnonzero([not column.is_silent for column in columns])
        own = int(stream(seed, Purpose.CALIBRATION).integers(np.iinfo(np.int32).max))
        numbers = y if classes is None else np.searchsorted(classes, y)
        used = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        some = (numbers[used], numbers[used], None if groups is None else np.asarray(groups)[used], own)
        folds = make_folds("calibrate", model.calibrate, *some, classes=classes is not None)
        if len(folds) < 2:
            raise InputError(f"calibrate={model.calibrate!r} makes one fold: expected two or more.")
        folds = [(used[train], used[test]) for train, test in folds]
        if encoder is not None:  # rows of held-out categories are what it is all about
            encoder = clone(encoder).set_params(unseen="prior")
        here = model._usual_doubt(table.take(_some(used)))
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
                warnings.simplefilter("ignore", InputWarning)  # the fit to all rows has said it
                other.fit(table.take(train), y[train], *given, **params_of(fit_params, table.n_rows, train))
                part = other._tell(table.take(test), classes)
                usual = other._usual_doubt(table.take(_some(train)))
            parts.append(replace(part, doubt=part.doubt * (here / usual if usual > 0 else 1.0)))
            report(f"calibrating: fold {number + 1} of {len(folds)}")
        rows = np.concatenate([test for _, test in folds])
        fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
        weights = np.ones(len(rows)) if weight is None else weight[rows]
        return cls(Told.join(parts), numbers[rows], weights, fold, relevant)


def _some(rows: Codes) -> Codes:
    """About a thousand of the rows, at even distances."""
    return rows[:: max(1, len(rows) // 1000)]
