"""SamplingClassifier: any classifier, fitted on draws of the categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from catbayes.core.target import plain
from catbayes.core.validation import Array, TableLike, check_number
from catbayes.errors import InputError, warn
from catbayes.families import family_name, family_of_classes, find_family
from catbayes.models.backends import backend_of, last_step
from catbayes.models.base import SamplingModel
from catbayes.models.calibration import NextClass, Predicted
from catbayes.models.prediction import NewRows

MANY_CLASSES = 50
"""Classes beyond which a tree for each in every round takes long."""


def _has_probabilities(model: SamplingClassifier) -> bool:
    return hasattr(vars(model).get("estimators_", [model._chosen_estimator()])[0], "predict_proba")


def _scores_classes(model: Any) -> bool:
    """Tell whether there is one score for each class, and not for each pair of them."""
    return hasattr(model, "decision_function") and getattr(last_step(model), "decision_function_shape", None) != "ovo"


def _only_scores(model: SamplingClassifier) -> bool:
    fitted = vars(model).get("estimators_", [model.estimator])[0]
    return _scores_classes(fitted) and not _has_probabilities(model)


class SamplingClassifier(ClassifierMixin, SamplingModel):
    """Fit a classifier on draws of the categorical columns, and average its probabilities over draws.

    Whole tables go in: categorical columns are found and encoded by a `SamplingBayesianEncoder`, numeric ones pass.

    Parameters
    ----------
    estimator : classifier or Pipeline, optional
        What learns from the features, an array of floats; HistGradientBoostingClassifier if None.
    encoder : SamplingBayesianEncoder, optional
        How categories are encoded; `recommended_encoder(estimator)` if None. It is used as it is, but for
        `family="auto"`, `random_state=None` and `columns="auto"`: those of an object array that hold no numbers.
    n_draws : int or None
        K: copies or members to fit on. None is 3, and fewer copies of tables of more than 33,000 rows, for
        linear models of more than 3,300.
    fit_with : "auto", "copies", "members", "rounds"
        "copies": K drawn copies of the table, each row weighing 1/K, as in the paper; parameters that count rows
        (`min_samples_leaf`, …) are multiplied by K to keep their meaning. "members": K estimators, one draw each.
        "rounds": one estimator that grows on fresh draws: trees by `warm_start`, epochs by `partial_fit`. "auto":
        rounds for SGD and MLP, members for what takes no weights or makes folds of its own, else copies.
    predict_with : "draws", "mean", "taylor", or int
        "draws": rows of frequent categories at the posterior expectation, rows with an uncertain one averaged over 8
        stratified draws, the same for a row alone or in a batch; an int is another number of draws. "mean": all at the
        expectation. "taylor": the second-order correction of Appendix B, for smooth models. It may be set after `fit`.
    calibrate : int, splitter or None
        Folds that are held out in turn, for `predict_set` and calibrated probabilities: the model is fitted once more
        without each of them. An int means shuffled folds, which keep groups together.
    random_state : int, RandomState or None
        Seed of the draws, and of the estimator if it has none.
    n_jobs : int or None
        Threads over members.
    verbose : int, default=0
        Print a line for each step of a long fit.

    Attributes
    ----------
    classes_ : ndarray
        Class labels.
    encoder_ : SamplingBayesianEncoder or None
        The fitted encoder; None if the table has no categorical column.
    estimators_ : list
        The fitted estimators, K members or one, which is also `estimator_`. Classes are their numbers in `classes_`.
    fit_with_ : str
        How it was fitted.
    feature_importances_, coef_ : ndarray
        As the estimator has them, averaged over members, for each of `get_feature_names_out()`; see `by_column`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from catbayes import SamplingClassifier
    >>> X = pd.DataFrame({"city": ["Oslo", "Rome", "Oslo", "Rome", "Kyiv"] * 20, "age": range(100)})
    >>> y = ["yes", "no", "yes", "no", "no"] * 20
    >>> model = SamplingClassifier(LogisticRegression(max_iter=1000), random_state=0).fit(X, y)
    >>> new = pd.DataFrame({"city": ["Oslo", "Kyiv", "Paris"], "age": [50, 50, 50]})
    >>> model.predict(new).tolist()
    ['yes', 'no', 'no']
    >>> probability, spread = model.predict_proba(new, return_std=True)
    >>> bool(spread[2, 1] > spread[1, 1])  # Paris was never seen
    True
    """

    classes_: np.ndarray[Any, Any]
    _calibration_type = NextClass

    def _default_estimator(self) -> Any:
        return HistGradientBoostingClassifier()

    def _read_y(self, y: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], str, Any]:
        y = plain(y)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        if y.dtype.kind == "O" and any(label is None or label != label for label in y):  # NaN is not itself
            raise InputError("Input y contains missing values. Drop those rows before fitting.")
        given = getattr(self.encoder, "family", "auto")
        family = find_family(given)
        if family is not None and not family.classes:
            raise InputError(f'family={given!r} is for numbers, and a classifier has classes: use "auto".')
        try:
            classes = np.unique(y)
            check_classification_targets(y if y.dtype != object else np.searchsorted(classes, y))
        except TypeError as error:
            raise InputError(f"y holds labels that cannot be sorted ({error}). Use strings or numbers only.") from error
        if self.estimator is None and len(classes) > MANY_CLASSES:
            warn(
                f"y holds {len(classes)} classes, and the default estimator grows a tree for each of them in every "
                "round, which takes minutes or hours. A forest does not: estimator=RandomForestClassifier()."
            )
        return y, family_name(family_of_classes(len(classes))), classes

    def predict(self, X: TableLike) -> np.ndarray[Any, Any]:
        """Predict the class whose probability, averaged over draws, is highest."""
        average = self._predict(X)
        best = average.argmax(axis=1) if average.ndim == 2 else (average > 0).astype(int)
        return np.asarray(self.classes_[best])

    @available_if(_has_probabilities)
    def predict_proba(self, X: TableLike, return_std: bool = False) -> Any:
        """Predict class probabilities, averaged over draws, and their spread over draws.

        With `calibrate`, they are softmax(a log p + b) of the averages p, with a and b from held-out rows whose rarest
        category is about as frequent.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.
        return_std : bool, default=False
            Return the standard deviation over draws as well, which comes from the uncertainty of the categories.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes), or a pair of such
            Columns in the order of `classes_`.
        """
        return self._predict(X, return_std)

    @available_if(_has_probabilities)
    def predict_set(self, X: TableLike, coverage: float = 0.9) -> npt.NDArray[np.bool_]:
        """Predict sets of classes that contain the next one with the probability `coverage` or more.

        Sets are learnt from held-out rows (`calibrate`) whose rarest category is about as frequent: never seen, seen
        once, up to 5 times, up to 20 times, or more often. The most probable class is always inside.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.
        coverage : float from 0 to 1, default=0.9
            Share of the rows whose class is in their set.

        Returns
        -------
        sets : ndarray of bool, of shape (n_rows, n_classes)
            Which classes are in the set of a row, in the order of `classes_`.
        """
        coverage = check_number("coverage", coverage, 0.0, 1.0)
        calibration: NextClass = self._calibrated("predict_set")
        return calibration.sets(self._predicted(X, self.classes_), coverage)

    def _check(self, estimator: Any) -> None:
        super()._check(estimator)
        if self.calibrate is not None and not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"calibrate={self.calibrate!r}: {type(last_step(estimator)).__name__} has no predict_proba, and there "
                "is nothing to calibrate. Use calibrate=None, or another estimator."
            )

    def _average(self, rows: NewRows) -> Array:
        average = super()._average(rows)
        if self.predict_with == "taylor" and hasattr(self, "predict_proba"):  # a correction may leave the range
            average = np.clip(average, 0.0, 1.0)
            average /= average.sum(axis=1, keepdims=True)
        return average

    def _corrected(self, responses: Array, rows: NewRows) -> Array:
        if self._calibration is None:
            return responses
        return np.asarray(self._calibration.probabilities(responses, rows.seen()))

    def _predicted(self, X: Any, classes: Any = None) -> Predicted:
        rows = self._read_new(X)
        response = np.zeros((len(rows), len(classes)))
        response[:, np.searchsorted(classes, self.classes_)] = self._average(rows)  # a fold may lack a class
        none = np.zeros(len(rows))
        return Predicted(response, none, rows.seen(), none[:, None])

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: TableLike) -> Array:
        """Predict logarithms of the averaged probabilities."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @available_if(_only_scores)
    def decision_function(self, X: TableLike) -> Array:
        """Predict scores averaged over draws, for an estimator without probabilities."""
        return self._average(self._read_new(X))

    def _respond(self, model: Any, features: Array) -> Array:
        """Return probabilities, else scores, else votes; the estimator has numbers for the classes."""
        X = backend_of(model).to_predict(model, features, self._columns)
        if hasattr(model, "predict_proba"):
            found, absent = np.asarray(model.predict_proba(X)), 0.0
        elif _scores_classes(model):
            found, absent = np.asarray(model.decision_function(X)), -np.inf
        else:
            votes = np.asarray(model.predict(X)).reshape(-1, 1)
            return np.asarray(votes == np.arange(len(self.classes_)), dtype=np.float64)
        if len(model.classes_) == len(self.classes_):
            return found
        padded = np.full((len(found), len(self.classes_)), absent)  # of a class without weight nothing was learned
        padded[:, model.classes_] = found if found.ndim == 2 else np.column_stack([-found, found])
        return padded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._chosen_estimator())
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags
