"""The base class of SamplingClassifier and SamplingRegressor: fitting on draws, and predicting over them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from catbayes.core.config import check_folds
from catbayes.core.layout import Layout
from catbayes.core.random import new_seed
from catbayes.core.selection import Selection
from catbayes.core.table import Named, Table, input_names, library_of, make_frame, read_new
from catbayes.core.validation import (
    Array,
    ByRow,
    ByRowOrName,
    Labels,
    Seed,
    TableLike,
    check_count,
    check_number,
    check_option,
)
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError, warn
from catbayes.models import fitting
from catbayes.models.backends import last_step
from catbayes.models.calibration import HeldOut, Predicted
from catbayes.models.columns import Columns, refuse_columns, warn_of_columns
from catbayes.models.fitting import TrainingRows, as_numbers, read_training, recommended_encoder
from catbayes.models.prediction import (
    DrawnTable,
    NewRows,
    average,
    encode_tables,
    over_draws,
    require_smooth,
    second_order,
)
from catbayes.models.rounds import one_pass
from catbayes.models.saving import SavedModel

FitWith = Literal["auto", "copies", "members", "rounds"]
PredictWith = Literal["draws", "mean", "taylor"]

PREDICTED_DRAWS = 8
"""Draws of an uncertain category to predict with, by default."""

SHOWN = 8
"""Encoded columns that a notebook names."""
STD_DRAWS = 20
"""Draws for a standard deviation, at least: few strata leave the tails out."""


def _goes_on(model: Any) -> bool:
    estimator = model._chosen_estimator()
    if not hasattr(estimator, "partial_fit"):
        raise AttributeError(
            f"{type(estimator).__name__} has no partial_fit, so that it cannot learn from more rows: fit again on all "
            "of them, or take an estimator that has one, such as SGD, MLP or naive Bayes."
        )
    return True


def _averages_numbers(model: Any) -> bool:
    """Tell whether predictions are numbers or probabilities, and not scores or votes."""
    return not isinstance(model, ClassifierMixin) or hasattr(model, "predict_proba")


class SamplingModel(SavedModel, MetaEstimatorMixin, BaseEstimator, ABC):
    """Fit any estimator on draws of the categories, and average its predictions over draws."""

    def __init__(
        self,
        estimator: Any = None,
        encoder: SamplingBayesianEncoder | None = None,
        *,
        n_draws: int | None = None,
        fit_with: FitWith = "auto",
        predict_with: PredictWith | int = "draws",
        calibrate: Any = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.encoder = encoder
        self.n_draws = n_draws
        self.fit_with = fit_with
        self.predict_with = predict_with
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ------------------------------------------------------------------ what the two models define

    _calibration_type: Any
    """What is learnt from held-out rows."""
    _never_negative: bool
    """Whether the targets are numbers, and none of the training was negative."""

    @abstractmethod
    def _default_estimator(self) -> Any:
        """Return the estimator if none is given."""

    @abstractmethod
    def _read_y(self, y: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], str, Any]:
        """Check the target; return it with the family that suits it and the classes, if there are any."""

    @abstractmethod
    def _respond(self, model: Any, features: Array) -> Array:
        """Return predictions of one fitted estimator that can be averaged: (row,) or (row, class)."""

    @abstractmethod
    def _predicted(self, X: Any, classes: Any = None) -> Predicted:
        """Predict rows for a calibration, with a column for each of `classes` if there are any."""

    def _mean_spread(self, X: Any) -> float:
        """Return the mean spread of predictions over draws; 1 where a calibration does not use it."""
        return 1.0

    def _corrected(self, responses: Array, rows: NewRows) -> Array:
        """Return calibrated responses; numbers are returned as they are."""
        return responses

    def _possible(self, values: Array) -> Array:
        """Clip numbers to those that the target can have."""
        return values

    def _chosen_estimator(self) -> Any:
        return self._default_estimator() if self.estimator is None else self.estimator

    def _default_encoder(self, **parameters: Any) -> SamplingBayesianEncoder:
        if isinstance(self, ClassifierMixin):  # whatever the estimator says of itself
            parameters = {"effects": False, **parameters}
        return recommended_encoder(self._chosen_estimator(), **parameters)

    # ---------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: TableLike,
        y: ByRowOrName = None,
        sample_weight: ByRowOrName = None,
        groups: ByRow = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the encoder and the estimator.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Array, nested list, or frame of pandas, polars or pyarrow, categorical and numeric columns mixed.
        y : array-like of shape (n_rows,), or str, not None
            Target, or the name of its column in X, which is then no input.
        sample_weight : array-like of shape (n_rows,), or str, optional
            Weights of the rows, for the encoder and for the estimator, or the name of their column.
        groups : array-like of shape (n_rows,), optional
            Rows of one group stay together in all folds, and in the rows held out for early stopping.
        **fit_params
            For the `fit` of the estimator. Tables in `eval_set`, `eval_X` and `X_val` are encoded first.
        """
        estimator = self._chosen_estimator()
        self._check(estimator)
        refuse_columns(estimator, fit_params)
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if "exposure" in fit_params:
            raise InputError(
                "exposure is for the encoder alone: give a model the rate, y / exposure, as y and the exposure as "
                "sample_weight."
            )
        X, table, called, weight = read_training(X, y, sample_weight, self)
        y, family, classes = self._read_y(np.asarray(called))
        used = y if weight is None else y[weight > 0]
        if classes is not None and (used == used[0]).all():
            only = used[:1].tolist()[0]
            raise InputError(f"y holds only one class, {only!r}: expected two or more among rows that have weight.")
        seed = new_seed(self.random_state)
        way = fitting.choose(estimator) if self.fit_with == "auto" else self.fit_with
        encoder = self._resolve_encoder(table, family, seed, self.encoder)
        draws = fitting.fit_and_draw(encoder, X, table, Named.of(y, called.name), weight, groups)
        if encoder is not None:
            warn_of_columns(encoder.encoding_, table.n_rows)

        y = y if classes is None else np.searchsorted(classes, y)  # which every library takes in the same order
        given = fit_params
        if fit_params:
            if get_config()["enable_metadata_routing"]:
                fit_params = dict(process_routing(self, "fit", **fit_params).estimator.fit)
            fit_params = encode_tables(fit_params, encoder, draws, classes)
        columns = Columns.of(draws.layout, draws.columns, table.names)
        if self.fit_with == "auto" and columns.require_members(estimator, fit_params):
            way = "members"
        n_draws = fitting.usual_draws(estimator, way, table.n_rows) if self.n_draws is None else self.n_draws
        columns = columns.with_categories(estimator, way, draws.columns, fit_params)
        report = self._reporter()
        rows = TrainingRows(draws, y, weight, groups, fit_params, n_draws, seed, classes, report, columns)
        if weight is not None and not weight.all():
            rows = rows.take(np.flatnonzero(weight))  # rows of no weight take no part, whatever the estimator
        fitted = fitting.fit(estimator, way, rows, seeded=self.random_state is not None, n_jobs=self.n_jobs)

        # Fitted all at once: an error or an interruption before the end leaves the model as it was.
        fresh = copy(self)
        validate_data(fresh, X if table.frame is not None else table.array, skip_check_array=True)
        fresh._settle(encoder, fitted, way, classes, columns.categories)
        fresh._never_negative = classes is None and bool((used >= 0.0).all())
        if classes is None:  # more than one number for each row raises an error
            fresh._at_mean(fresh._read_new(table.take(np.arange(1))))
        if self.calibrate is not None:
            held = HeldOut.of(fresh, table, y, weight, groups, given, seed, report)
            fresh._calibration = self._calibration_type.of(held)
        self.__dict__.update(vars(fresh))
        return self

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
        X, y
            As for `fit`.
        classes : array-like, optional
            All class labels, for a classifier; those of the first batch if None. The first batch has to hold them all.
        sample_weight
            As for `fit`.
        """
        self._check(self._chosen_estimator())
        if self.fit_with not in ("auto", "rounds"):
            raise InputError(f'fit_with={self.fit_with!r} fits once and for all: partial_fit needs "auto" or "rounds".')
        if self.calibrate is not None:
            raise InputError(f"calibrate={self.calibrate!r} needs all rows at once: partial_fit needs calibrate=None.")
        for name in ("effects", "keep_categories"):
            if self.encoder is not None and getattr(self.encoder, name):
                raise InputError(f"The encoder has {name}: partial_fit needs one without, for more rows will come.")
        first = not hasattr(self, "estimators_")
        X, table, called, weight = read_training(X, y, sample_weight, self)
        table = table if first else read_new(X, self)
        y, family, found = self._read_y(np.asarray(called))
        named = Named.of(y, called.name)
        never_negative = found is None and bool((y >= 0.0).all())
        if first:
            missing = set() if found is None or classes is None else {*np.asarray(classes).tolist()} - {*found.tolist()}
            if missing:
                raise InputError(
                    f"The first batch has no rows of {sorted(missing)!r}: expected all classes in it. Give more rows."
                )
            known, seed = found, new_seed(self.random_state)
            given = self._default_encoder(effects=False, keep_categories=None) if self.encoder is None else self.encoder
            encoder = self._resolve_encoder(table, family, seed, given)
            draws = fitting.fit_and_draw(encoder, X, table, named, weight)
            seeded = None if self.random_state is None else seed
            estimators = [fitting.fresh_clone(self._chosen_estimator(), known, seeded)]
        else:
            encoder, estimators, known = self.encoder_, self.estimators_, getattr(self, "classes_", None)
            extra = encoder and any(column.extra_names for column in encoder.encoding_.columns)
            if len(estimators) > 1 or extra:
                raise InputError(
                    "The model was fitted with members, effects or categories as features, and cannot go on: start "
                    "with partial_fit."
                )
            if known is not None and not np.isin(found, known).all():
                unseen = sorted({*found.tolist()} - {*known.tolist()})
                raise InputError(f"y holds {unseen!r}, which the first batch had not: expected {known.tolist()}.")
            draws = fitting.draws_before(encoder, table, self._layout)
            never_negative &= self._never_negative
        numbers = y if known is None else np.searchsorted(known, y)
        every = None if known is None else np.arange(len(known))
        one_pass(estimators[0], as_numbers(draws.features(0), draws.layout), numbers, weight, every)
        if first:
            validate_data(self, X if table.frame is not None else table.array, skip_check_array=True)
        elif encoder is not None:
            encoder.partial_fit(X, named, weight)
        self._settle(encoder, estimators, "rounds" if first else self.fit_with_, known)
        self._never_negative = never_negative
        return self

    def _settle(
        self, encoder: Any, estimators: list[Any], way: str, classes: Any = None, categories: Sequence[int] = ()
    ) -> None:
        """Store what was fitted, and prepare predictions; the inputs are known already."""
        self.encoder_, self.estimators_, self.fit_with_ = encoder, estimators, way
        if classes is not None:
            self.classes_ = classes
        self._layout = Layout.of(self.n_features_in_) if encoder is None else encoder.encoding_.layout
        fitted = () if encoder is None else encoder.encoding_.columns
        self._columns = Columns.of(self._layout, fitted, self._inputs, categories)
        self._draws = [] if encoder is None else DrawnTable.of(encoder.encoding_, self._n_predicted)
        self._calibration = None

    def _check(self, estimator: Any) -> None:
        check_option("fit_with", self.fit_with, get_args(FitWith))
        self._check_predict_with()
        if self.calibrate is not None:
            check_folds("calibrate", self.calibrate)
        if self.n_draws is not None:
            check_count("n_draws", self.n_draws)
        fitting.require_suitable(estimator, type(self).__name__, classes=isinstance(self, ClassifierMixin))
        if self.encoder is not None and not isinstance(self.encoder, SamplingBayesianEncoder):
            raise InputError(
                f"encoder={self.encoder!r}: expected a SamplingBayesianEncoder, or None for the recommended one."
            )
        if self.predict_with == "taylor":
            require_smooth(estimator)

    def _check_predict_with(self) -> None:
        if isinstance(self.predict_with, str):
            check_option("predict_with", self.predict_with, get_args(PredictWith))
        else:
            check_count("predict_with", self.predict_with)

    @property
    def _n_predicted(self) -> int:
        """Draws of an uncertain category to predict with."""
        return PREDICTED_DRAWS if isinstance(self.predict_with, str) else int(self.predict_with)

    def _resolve_encoder(
        self, table: Table, family: str, seed: int, encoder: SamplingBayesianEncoder | None
    ) -> SamplingBayesianEncoder | None:
        """Clone the encoder, and set what depends on target, table and model; None if there is nothing to encode."""
        encoder = self._default_encoder() if encoder is None else clone(encoder)
        if isinstance(encoder.family, str) and encoder.family == "auto":
            encoder.set_params(family=family)
        if encoder.random_state is None:
            encoder.set_params(random_state=seed)
        if not isinstance(encoder.columns, str) or encoder.columns != "auto":
            return encoder
        if table.frame is not None:
            found = table.categorical()
        else:
            found = [n for n in range(len(table.names)) if table.numbers(n) is None]
        found = sorted({*found, *Selection(kinds=encoder.kinds).kinds_at(table.names)})
        if not found:
            warn(
                "X has no string, categorical, boolean or object column, so there is nothing to encode and the "
                "estimator is fitted on X as it is. Integer codes have to be named: "
                f"encoder=recommended_encoder(estimator, columns={table.names[:2]!r})."
            )
            return None
        return encoder if table.frame is not None else encoder.set_params(columns=found)

    def _reporter(self) -> Any:
        start = time.perf_counter()

        def report(step: str) -> None:
            if self.verbose:
                print(f"[{type(self).__name__}] {step} ({time.perf_counter() - start:.1f} s)", flush=True)

        return report

    # ------------------------------------------------------------------------------- predicting

    def predict_draws(self, X: TableLike, columns: Sequence[Any] | None = None, n_draws: int = 20) -> Array:
        """Predict under each draw of the categories.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.
        columns : list of encoded columns, optional
            Draw only these, with the others at their expectation.
        n_draws : int, default=20
            Draws of every category, stratified.

        Returns
        -------
        predictions : ndarray of shape (n_draws, n_rows) or (n_draws, n_rows, n_classes)
            With `fit_with="members"`, each draw goes to a member of its own. Probabilities are calibrated, draw by
            draw, if the model is.
        """
        rows, only = self._read_new(X), None
        if columns is not None:
            names = [column.name for column in rows.columns]
            unknown = [name for name in columns if name not in names]
            if unknown:
                raise InputError(f"columns={list(columns)!r}: {unknown[0]!r} is not encoded; those are {names!r}.")
            only = {names.index(name) for name in columns}
        check_count("n_draws", n_draws)
        draws = [] if rows.encoding is None else rows.encoding.strata(n_draws)
        return self._corrected(self._stack(rows, rows.drawn(draws, only)), rows)

    def _average(self, rows: NewRows) -> Array:
        """Average over draws, or at the mean, or corrected to second order, as `predict_with` has it."""
        self._check_predict_with()
        if self.predict_with == "taylor":
            for model in self.estimators_:
                require_smooth(model)
            return average(second_order(model, rows, self._respond) for model in self.estimators_)
        tables, encoding = self._draws, rows.encoding
        # There may be sets of categories that were not seen, and predict_with may have been set since the fit.
        if encoding and (encoding is not self.encoder_.encoding_ or len(tables[0].draws) != self._n_predicted):
            tables = DrawnTable.of(encoding, self._n_predicted)
        uncertain = rows.uncertain(tables)
        if self.predict_with == "mean" or not uncertain.any():
            return self._at_mean(rows)
        some = rows.take(uncertain)
        draws = some.drawn([table.whole() for table in tables])
        drawn = average(over_draws(self.estimators_, some, draws, self._respond))
        if uncertain.all():
            return drawn
        found = np.empty((len(rows), *drawn.shape[1:]))
        found[uncertain], found[~uncertain] = drawn, self._at_mean(rows.take(~uncertain))
        return found

    def _at_mean(self, rows: NewRows) -> Array:
        features = rows.features()
        return average(self._respond(model, features) for model in self.estimators_)

    def _predict(self, X: Any, return_std: bool = False) -> Any:
        """Return averages over draws, calibrated if there is a calibration, and their spread."""
        rows = self._read_new(X)
        found = self._corrected(self._average(rows), rows)
        return (found, self._spread(rows)) if return_std else found

    def _spread(self, rows: NewRows) -> Array:
        """Compute the standard deviation of the predictions over draws from the whole posterior."""
        return np.asarray(self._under_posterior(rows, max(STD_DRAWS, self._n_predicted)).std(axis=0))

    @available_if(_averages_numbers)
    def predict_category_interval(self, X: TableLike, coverage: float = 0.9, n_draws: int = 100) -> tuple[Array, Array]:
        """Predict intervals for the prediction that the model would have with the true means of the categories.

        They have the uncertainty of the categories, and neither that of the estimator, except for the disagreement of
        members, nor the noise of a single target, as `predict_interval` and `predict_set` do. The prediction is inside,
        unless it is out of the range of the target.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.
        coverage : float from 0 to 1, default=0.9
            Share of the posterior inside the interval.
        n_draws : int, default=100
            Draws to take quantiles of.

        Returns
        -------
        lower, upper : ndarray of shape (n_rows,), or (n_rows, n_classes) for a classifier
            Bounds of the expected target, or of the probability of each class.
        """
        coverage, rows = check_number("coverage", coverage, 0.0, 1.0), self._read_new(X)
        predicted = self._corrected(self._average(rows), rows)  # trees may jump at the mean to what few draws give
        draws = self._under_posterior(rows, check_count("n_draws", n_draws, 2))
        # As if the k-th of n draws in order stood in the middle of the k-th of n strata: quantile (k - ½) / n.
        lower, upper = np.quantile(draws, [(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0], axis=0, method="hazen")
        return self._possible(np.minimum(lower, predicted)), self._possible(np.maximum(upper, predicted))

    def _calibrated(self, name: str) -> Any:
        """Return the calibration, for a method that needs one."""
        check_is_fitted(self)
        if self._calibration is None:
            raise InputError(
                f"{name} needs rows that the model did not learn from: fit it with calibrate=5, for five folds. "
                "predict_category_interval has the uncertainty of the categories, and needs none."
            )
        return self._calibration

    def _under_posterior(self, rows: NewRows, n_draws: int) -> Array:
        """Predict under draws of the whole posterior, whatever the model was trained with, (draw, row, …)."""
        some, slots = rows.reduced()
        draws = [] if rows.encoding is None else rows.encoding.strata(n_draws, in_full=True, slots=slots)
        return self._corrected(self._stack(some, some.drawn(draws)), rows)

    def _stack(self, rows: NewRows, values: Any) -> Array:
        predictions = over_draws(self.estimators_, rows, values, self._respond)
        return np.stack([prediction.copy() for prediction in predictions])

    def _read_new(self, X: Any) -> NewRows:
        table = read_new(X, self)
        return NewRows(None if self.encoder_ is None else self.encoder_.encoding_, self._layout, table)

    @property
    def _inputs(self) -> list[Any]:
        """Names of the columns of X, or their numbers."""
        return list(getattr(self, "feature_names_in_", range(self.n_features_in_)))

    # ------------------------------------------------------------------------------ features

    @property
    def estimator_(self) -> Any:
        """The fitted estimator; `estimators_` holds them all where there are several members."""
        check_is_fitted(self)
        if len(self.estimators_) > 1:
            raise AttributeError(f"There are {len(self.estimators_)} fitted members: see estimators_.")
        return self.estimators_[0]

    @property
    def feature_importances_(self) -> Array:
        """Importance of each output, as the estimator has it, averaged over members."""
        return self._average_of("feature_importances_")

    @property
    def coef_(self) -> Array:
        """Coefficient of each output, as the estimator has it, averaged over members."""
        return self._average_of("coef_")

    def _average_of(self, name: str) -> Array:
        if "estimators_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted yet, and has no {name}.")
        values = np.asarray(np.mean([getattr(last_step(model), name) for model in self.estimators_], axis=0))
        if values.shape[-1] != self._layout.places[-1].stop:
            raise AttributeError(f"{name} belongs to features that the steps of the Pipeline made of the encoded ones.")
        return values

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels:
        """Name the features that the estimator was fitted on, which `feature_importances_` and `coef_` refer to.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns, for a model fitted on an array.
        """
        check_is_fitted(self)
        return np.array(self._layout.distinct_names(input_names(self, input_features)), dtype=object)

    def features(self, X: TableLike) -> Any:
        """Encode new rows as the fitted estimators see them, by the posterior expectation: for SHAP and the like.

        A frame is of the library of X, and its columns are those of `get_feature_names_out`, but for blanks, brackets
        and the like, which boosters do not take: they become underscores.
        """
        rows = self._read_new(X)
        values = rows.features()
        if rows.table.frame is None:
            return values
        codes, names = self._columns.categories, self._columns.plain_names
        columns = [values[:, n].astype(np.int64) if n in codes else values[:, n].copy() for n in range(len(names))]
        return make_frame(dict(zip(names, columns, strict=True)), library_of(rows.table.native))

    def to_onnx(self, predict_with: Literal["mean", "draws"] | None = None) -> Any:
        """Make an ONNX model that gives what the model predicts, in single precision.

        Parameters
        ----------
        predict_with : "mean", "draws" or None, default=None
            "mean" is one lookup of each category; "draws" stacks the features of all draws, and averages the
            predictions in the graph. None is as the model predicts.

        Returns
        -------
        model : onnx.ModelProto
            Inputs: a tensor of shape (n, 1) for each column of X, as for `to_onnx` of an encoder; numbers are doubles,
            and dates are days since 1970.
            Outputs: "prediction", or "probabilities" in the order of `classes_` and "label".

        Notes
        -----
        skl2onnx converts scikit-learn's estimators, and onnxmltools LightGBM's and XGBoost's.
        """
        check_is_fitted(self)
        from catbayes.export.onnx_models import write_model  # needs onnx

        if predict_with is None:
            predict_with = "draws" if isinstance(self.predict_with, int) else self.predict_with  # type: ignore[assignment]
        check_option("predict_with", predict_with, ("mean", "draws"))
        classes = getattr(self, "classes_", None)
        if classes is not None and (self._calibration is not None or not hasattr(self, "predict_proba")):
            raise InputError("ONNX models have probabilities that are not calibrated: fit with calibrate=None.")
        encoding = None if self.encoder_ is None else self.encoder_.encoding_
        draws: list[Any] = [[] if encoding is None else [column.expectation for column in encoding.columns]]
        if predict_with == "draws" and encoding is not None:
            tables = DrawnTable.of(encoding, self._n_predicted)  # predict_with may have been set since the fit
            draws = list(zip(*(table.whole() for table in tables), strict=True))
        return write_model(self.estimators_, encoding, self._layout, self._inputs, draws, classes)

    def to_sql(self, dialect: str = "duckdb", table: str = "rows") -> str:
        """Write a query that adds the features and the prediction of a linear model to every row of a table.

        Parameters
        ----------
        dialect, table
            As for `to_sql` of an encoder.

        Returns
        -------
        query : str
            Its last columns are "prediction", or ``probability_…`` of the second of two classes or of each class, equal
            to `predict_with="mean"`. Numbers must not be missing.
        """
        check_is_fitted(self)
        if self.encoder_ is None or self._calibration is not None:
            raise InputError("to_sql is for models with encoded columns, and without calibrate.")
        from catbayes.export.sql_models import write_linear  # needs sqlglot

        classes = getattr(self, "classes_", None)
        return write_linear(self.estimator_, self.encoder_.encoding_, self._layout, dialect, table, classes)

    def by_column(self, values: npt.ArrayLike) -> dict[Any, Any]:
        """Average importances or coefficients over the outputs of each input column.

        Parameters
        ----------
        values : array-like, its last axis as long as `get_feature_names_out()`
            Such as `feature_importances_` or `coef_`.

        Returns
        -------
        dict
            A number or array for each input column, by its name or position, and for each interaction, by a tuple.

        Examples
        --------
        >>> from sklearn.linear_model import Ridge
        >>> from catbayes import SamplingRegressor
        >>> X, y = [["red", 1], ["blue", 2], ["red", 3], ["blue", 4]] * 5, [3.0, 1.0, 2.5, 1.5] * 5
        >>> model = SamplingRegressor(Ridge(), random_state=0).fit(X, y)
        >>> list(model.by_column(model.coef_))
        [0, 1]
        """
        check_is_fitted(self)
        values = np.asarray(values)
        if values.shape[-1:] != (self._layout.places[-1].stop,):
            raise InputError(
                f"values has shape {values.shape}: expected its last axis to be as long as get_feature_names_out()."
            )
        names = [*self._inputs, *(column.name for column in self._layout.interactions)]
        pairs = zip(names, self._layout.places, strict=True)
        averages = {name: values[..., place].mean(axis=-1) for name, place in pairs if place.stop > place.start}
        return {name: float(mean) if mean.ndim == 0 else mean for name, mean in averages.items()}

    # ------------------------------------------------------------------------------ scikit-learn

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the default encoder and estimator too: `encoder__prior`, `estimator__max_depth`."""
        nested = {name for name in ("encoder", "estimator") if any(key.startswith(f"{name}__") for key in params)}
        missing = {name for name in nested if params.get(name, getattr(self, name)) is None}
        if "estimator" in missing:
            params = params | {"estimator": self._default_estimator()}
        if "encoder" in missing:
            super().set_params(**{name: params.pop(name) for name in ("estimator", "fit_with") if name in params})
            params = params | {"encoder": self._default_encoder()}
        super().set_params(**params)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Take `sample_weight` and `groups` for the model itself, and route the other parameters to the estimator."""
        router = MetadataRouter(owner=self).add_self_request(self)
        estimator = self._chosen_estimator()
        return router.add(estimator=estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))

    def _sk_visual_block_(self) -> Any:
        """Show the encoder, after fit with what it encodes, and the estimator in a notebook."""
        from sklearn.utils._repr_html.estimator import _VisualBlock

        encoder, label, way = self.encoder or "recommended_encoder", "encoder", str(self.fit_with)
        if hasattr(self, "estimators_"):
            encoder, way = self.encoder_ or "no categorical column", self.fit_with_
            names = [] if self.encoder_ is None else list(self.encoder_.posteriors_)
            texts = [" & ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in names]
            label = f"encoder: {', '.join(texts[:SHOWN])}{f' and {len(texts) - SHOWN} more' if texts[SHOWN:] else ''}"
        parts = [encoder, vars(self).get("estimators_", [self._chosen_estimator()])[0]]
        blocks = [_VisualBlock("serial", [part], dash_wrapped=False) for part in parts]
        return _VisualBlock("serial", blocks, names=[label, f"estimator, fit_with={way}"], dash_wrapped=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._chosen_estimator())
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.target_tags.positive_only = inner.target_tags.positive_only
        return tags
