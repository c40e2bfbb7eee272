"""partial_fit of models: the encoder adds a batch of rows, and the estimator makes one pass over it."""

from __future__ import annotations

from inspect import signature
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from catbayes.core.fitted import TrainingDraws
from catbayes.core.layout import Layout
from catbayes.core.random import Purpose, stream
from catbayes.core.table import Named, Table
from catbayes.core.types import ByRowOrName, TableLike
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.estimator_input import new_seed, read_new
from catbayes.models.fitting import as_numbers, fresh_clone, from_origins, read_training


def _goes_on(model: Any) -> bool:
    estimator = model._chosen_estimator()
    if not hasattr(estimator, "partial_fit"):
        raise AttributeError(
            f"{type(estimator).__name__} has no partial_fit, so that it cannot learn from more rows: fit again on all "
            "of them, or take an estimator that has one, such as SGD, MLP or naive Bayes."
        )
    return True


class UpdatedModel:
    """A model that learns from batches."""

    @available_if(_goes_on)
    def partial_fit(
        self, X: TableLike, y: ByRowOrName, classes: npt.ArrayLike | None = None, sample_weight: ByRowOrName = None
    ) -> Self:
        """Learn from the next batch of rows: the encoder grows by it, and the estimator makes one pass over it.

        A row of a later batch is drawn from what was known before the batch, so that its own target is excluded; in the
        first batch it is left out. The encoder has neither effects, which need all rows at once, nor categories as
        features, of which there may be more later. `interactions="auto"` goes by the first batch.

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
        model: Any = self
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
        first = not hasattr(model, "estimators_")
        X, table, named, weight = read_training(X, y, sample_weight, model)
        table = table if first else read_new(X, model)
        y, family, found = model._read_y(np.asarray(named))
        named = Named.of(y, named.name)
        if first:
            missing = set() if found is None or classes is None else {*np.asarray(classes).tolist()} - {*found.tolist()}
            if missing:
                raise InputError(
                    f"The first batch has no rows of {sorted(missing)!r}: expected all classes in it. Give more rows."
                )
            seed = new_seed(model.random_state)
            encoder = model.encoder
            if encoder is None:
                encoder = model._default_encoder(effects=False, keep_categories=None)
            encoder = model._resolve_encoder(table, family, seed, encoder)
            draws = model._training_draws(encoder, X, table, named, weight)
            seeded = None if model.random_state is None else seed
            estimator = fresh_clone(model._chosen_estimator(), found, seeded)
            _pass(estimator, draws, y, weight, found)
            validate_data(model, X if table.frame is not None else table.array, skip_check_array=True)
            model._settle(encoder, [estimator], "rounds", found)
            return self
        encoder = model.encoder_
        known: Any = getattr(model, "classes_", None)
        if len(model.estimators_) > 1 or (encoder and any(column.extra_names for column in encoder.encoding_.columns)):
            raise InputError(
                "The model was fitted with members, effects or categories as features, and cannot go on: start with "
                "partial_fit."
            )
        unseen = set() if found is None else {*found.tolist()} - {*known.tolist()}
        if unseen:
            raise InputError(f"y holds {sorted(unseen)!r}, which the first batch had not: expected {known.tolist()}.")
        _pass(model.estimators_[0], _draws_before(encoder, table, model._layout), y, weight, known)
        if encoder is not None:
            encoder.partial_fit(X, named, weight)
        model._settle(encoder, model.estimators_, model.fit_with_, known)
        return self


def _draws_before(encoder: Any, table: Table, layout: Layout) -> TrainingDraws:
    """Draw rows from what was known before them, so that their own targets are excluded."""
    if encoder is None:
        return TrainingDraws(table, layout, (), lambda k: [])
    fitted = encoder.encoding_
    seed = int(stream(fitted.seed, Purpose.PART, int(fitted.evidence.total.count.sum())).integers(2**31 - 1))
    fitted = fitted.extended(table.column)
    blocks = [block[0] for block in fitted.draws(fitted.slots(table.column), 1, seed=seed)]
    return from_origins(TrainingDraws(table, layout, fitted.columns, lambda k: blocks))


def _pass(estimator: Any, draws: TrainingDraws, y: Any, weight: Array | None, classes: Any) -> None:
    """Let the estimator make one pass over a draw."""
    takes = signature(estimator.partial_fit).parameters
    options: dict[str, Any] = {}
    if "sample_weight" in takes and weight is not None:
        options["sample_weight"] = weight
    if classes is not None and "classes" in takes:
        options["classes"] = np.arange(len(classes))
    y = y if classes is None else np.searchsorted(classes, y)
    estimator.partial_fit(as_numbers(draws.features(0), draws), y, **options)
