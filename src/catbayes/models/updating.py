"""Models that learn from one batch of rows after the other: the encoder grows, and the estimator goes on."""

from __future__ import annotations

from inspect import signature
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from catbayes.core.fitted import Fitted, TrainingDraws
from catbayes.core.layout import Layout
from catbayes.core.random import Purpose, stream
from catbayes.core.table import Named
from catbayes.core.types import ByRowOrName, TableLike
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.estimator_input import new_seed, read_new
from catbayes.models.rows import as_numbers, from_origins, read_training


def _goes_on(model: Any) -> bool:
    estimator = model._chosen_estimator()
    if not hasattr(estimator, "partial_fit"):
        raise AttributeError(
            f"{type(estimator).__name__} has no partial_fit, so that it cannot learn from more rows: fit again on all "
            "of them, or take an estimator that has one, such as SGD, MLP or naive Bayes."
        )
    return True


class UpdatedModel:
    """Learning from batches."""

    @available_if(_goes_on)
    def partial_fit(
        self, X: TableLike, y: ByRowOrName, classes: npt.ArrayLike | None = None, sample_weight: ByRowOrName = None
    ) -> Self:
        """Learn from the next batch of rows: the encoder grows by it, and the estimator makes one pass over it.

        A row of a later batch is drawn from what was known before the batch, so that its own target has no part in its
        features; in the first batch it is left out. No categories are kept beside their posteriors, whose number would
        grow, and there are no effects, which need all rows at once. `interactions="auto"` weighs the first batch.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            As for `fit`.
        y : array-like of shape (n_rows,), or str
            Target, or the name of its column in X.
        classes : array-like, optional
            All class labels, for a classifier; those of the first batch if None. The first batch has to hold them all.
        sample_weight : array-like of shape (n_rows,), or str, optional
            Weights of the rows, for the encoder, and for the estimator where it takes some; or their column.

        Returns
        -------
        self
            The model, fitted to everything it was given so far.

        Examples
        --------
        >>> from sklearn.linear_model import SGDRegressor
        >>> from catbayes import SamplingRegressor
        >>> model = SamplingRegressor(SGDRegressor(random_state=0), random_state=0)
        >>> for day in range(3):
        ...     X, y = [["a"], ["b"], ["c"], ["d"]] * 10, [1.5, 2.0, 2.5, 3.0] * 10
        ...     model = model.partial_fit(X, y)
        >>> model.encoder_.evidence_.total.count.tolist()
        [120.0]
        """
        part = _Part(self, X, y, sample_weight)
        if hasattr(self, "estimators_"):
            part.add_to(self)
        else:
            part.begin(self, classes)
        return self


class _Part:
    """A batch of rows, read and checked."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        model._check(model._chosen_estimator())
        if model.fit_with not in ("auto", "rounds"):
            raise InputError(
                f'fit_with={model.fit_with!r} fits once and for all: partial_fit needs "auto" or "rounds".'
            )
        if model.calibrate is not None:
            raise InputError(f"calibrate={model.calibrate!r} needs all rows at once: partial_fit needs calibrate=None.")
        for name in ("effects", "keep_categories"):
            if model.encoder is not None and getattr(model.encoder, name):
                raise InputError(f"The encoder has {name}: partial_fit needs one without, for more rows will come.")
        self.given, self.table, called, self.weight = read_training(X, y, sample_weight, model)
        if hasattr(model, "estimators_"):
            self.table = read_new(self.given, model)
        self.y, self.family, self.classes = model._read_y(np.asarray(called))
        self.named = Named.of(self.y, called.name)

    def begin(self, model: Any, classes: Any) -> None:
        """Fit the encoder, and start an estimator."""
        if self.classes is not None and classes is not None:
            lacking = sorted({*np.asarray(classes).tolist()} - {*self.classes.tolist()})
            if lacking:
                raise InputError(
                    f"The first batch has no rows of {lacking!r}: expected all classes in it. Give more rows."
                )
        seed = new_seed(model.random_state)
        encoder = model.encoder
        if encoder is None:
            encoder = model._default_encoder(effects=False, keep_categories=None)
        encoder = model._resolve_encoder(self.table, self.family, seed, encoder)
        if encoder is None:
            draws = TrainingDraws(self.table, Layout.of(len(self.table.names)), (), lambda k: [])
        else:
            draws = from_origins(encoder.fit_draws(self.given, self.named, self.weight))
        estimator = clone(model._chosen_estimator())
        unset = estimator.get_params().get("random_state", 0) is None
        if model.random_state is not None and unset:
            estimator.set_params(random_state=int(stream(seed, Purpose.ESTIMATOR, 0).integers(2**31 - 1)))
        self._pass(estimator, draws, self.classes)
        validate_data(model, self.given if self.table.frame is not None else self.table.array, skip_check_array=True)
        model._settle(encoder, [estimator], "rounds", self.classes)

    def add_to(self, model: Any) -> None:
        """Let the estimator learn from what was known before, and the encoder from the rows."""
        columns = () if model.encoder_ is None else model.encoder_.encoding_.columns
        if len(model.estimators_) > 1 or any(column.extra_names for column in columns):
            raise InputError(
                "The model was fitted with members, effects or kept categories, and cannot go on: start with "
                "partial_fit."
            )
        if self.classes is not None:
            strangers = sorted({*self.classes.tolist()} - {*model.classes_.tolist()})
            if strangers:
                raise InputError(
                    f"y holds {strangers!r}, which the first batch had not: expected {model.classes_.tolist()}."
                )
        encoding = None if model.encoder_ is None else model.encoder_.encoding_
        self._pass(model.estimators_[0], self._before(encoding, model._layout), getattr(model, "classes_", None))
        if model.encoder_ is not None:
            model.encoder_.partial_fit(self.given, self.named, self.weight)
        model._settle(model.encoder_, model.estimators_, model.fit_with_)

    def _before(self, encoding: Fitted | None, layout: Layout) -> TrainingDraws:
        """A draw of the rows from what was known before them."""
        if encoding is None:
            return TrainingDraws(self.table, layout, (), lambda k: [])
        known = int(encoding.evidence.total.count.sum())
        seed = int(stream(encoding.seed, Purpose.PART, known).integers(2**31 - 1))
        encoding = encoding.extended(self.table.column)
        blocks = [block[0] for block in encoding.draws(encoding.slots(self.table.column), 1, seed=seed)]
        return from_origins(TrainingDraws(self.table, layout, encoding.columns, lambda k: blocks))

    def _pass(self, estimator: Any, draws: TrainingDraws, classes: Any) -> None:
        """One pass of the estimator over a draw."""
        features: Array = as_numbers(draws.features(0), draws)
        takes = signature(estimator.partial_fit).parameters
        options: dict[str, Any] = {}
        if "sample_weight" in takes and self.weight is not None:
            options["sample_weight"] = self.weight
        if classes is not None and "classes" in takes:
            options["classes"] = np.arange(len(classes))
        y = self.y if classes is None else np.searchsorted(classes, self.y)
        estimator.partial_fit(features, y, **options)
