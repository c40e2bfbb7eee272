"""SamplingRegressor: any regressor, fitted on draws of the categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.validation import assert_all_finite

from catbayes.core.random import Purpose, new_seed, stream
from catbayes.core.target import no_dates
from catbayes.core.validation import Array, Seed, TableLike, check_count, check_number
from catbayes.errors import InputError
from catbayes.families import FAMILIES, family_name, family_of_numbers, find_family
from catbayes.models.backends import backend_of, last_step
from catbayes.models.base import SamplingModel
from catbayes.models.calibration import NextTarget, Predicted


class SamplingRegressor(RegressorMixin, SamplingModel):
    """Fit a regressor on draws of the categorical columns, and average its predictions over draws.

    Whole tables go in: categorical columns are found and encoded by a `SamplingBayesianEncoder`, numeric ones pass.

    Parameters
    ----------
    estimator : regressor or Pipeline, optional
        What learns from the features, an array of floats; HistGradientBoostingRegressor if None.
    encoder, n_draws, fit_with, predict_with
        As for `SamplingClassifier`.
    calibrate : int, splitter or None
        Folds that are held out in turn, for `predict_interval`, `predict_quantiles` and `sample_targets`: the model is
        fitted once more without each of them. An int means shuffled folds, which keep groups together.
    random_state, n_jobs, verbose
        As for `SamplingClassifier`.

    Attributes
    ----------
    encoder_, estimators_, fit_with_, feature_importances_, coef_, n_features_in_, feature_names_in_
        As for `SamplingClassifier`. Features of amounts are differences from the encoding of an unseen category; rates
        are as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import Ridge
    >>> from catbayes import SamplingRegressor
    >>> X = pd.DataFrame({"city": ["Oslo", "Rome", "Oslo", "Rome", "Kyiv"] * 20, "age": range(100)})
    >>> y = [10.0, 2.0, 11.0, 3.0, 5.5] * 20
    >>> model = SamplingRegressor(Ridge(), random_state=0).fit(X, y)
    >>> mean, spread = model.predict(pd.DataFrame({"city": ["Oslo", "Paris"], "age": [50, 50]}), return_std=True)
    >>> bool(spread[1] > spread[0])  # Paris was never seen
    True
    """

    _calibration_type = NextTarget

    def _default_estimator(self) -> Any:
        return HistGradientBoostingRegressor()

    def _read_y(self, y: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], str, Any]:
        if y.dtype.kind in "mM":
            raise no_dates()
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"y must hold numbers for a regressor: {error}.") from error
        assert_all_finite(y, input_name="y")
        given = getattr(self.encoder, "family", "auto")
        family = find_family(given)
        if family is not None and family.classes:
            words = ", ".join(f'"{name}"' for name, known in FAMILIES.items() if not known.classes)
            raise InputError(
                f'family={given!r} is for classes, and a regressor has numbers: use "auto", or one of {words}.'
            )
        return y, family_name(family_of_numbers()), None

    def predict(self, X: TableLike, return_std: bool = False) -> Any:
        """Predict the target, averaged over draws, and its spread over draws.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.
        return_std : bool, default=False
            Return the standard deviation over draws as well, which comes from the uncertainty of the categories.

        Returns
        -------
        predictions : ndarray of shape (n_rows,), or a pair of such
            Expected targets.
        """
        return self._predict(X, return_std)

    def predict_interval(self, X: TableLike, coverage: float = 0.9) -> tuple[Array, Array]:
        """Predict intervals that contain the next target with the probability `coverage`, for rare categories too.

        They have the noise of a single target, the errors of the model and the uncertainty of the categories, learnt
        from held-out rows (`calibrate`) whose rarest category is about as frequent: never seen, seen once, up to 5
        times, up to 20 times, or more often. They are short: of a target with one long tail, more lies outside on that
        side. For equal tails, use `predict_quantiles`. All of these stay in the range of the family, and from 0 on if
        no target of the training was negative.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.
        coverage : float from 0 to 1, default=0.9
            Share of the targets inside. No interval is longer than the largest error of the held-out rows: for
            0.99, some hundreds of them are needed.

        Returns
        -------
        lower, upper : ndarray of shape (n_rows,)
            Bounds.
        """
        coverage = check_number("coverage", coverage, 0.0, 1.0)
        lower, upper = self._quantiles("predict_interval", X, self._calibrated("predict_interval").tails(coverage))
        return lower, upper

    def predict_quantiles(self, X: TableLike, levels: Sequence[float]) -> Array:
        """Predict quantiles of the next target.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.
        levels : list of float from 0 to 1
            Which quantiles, such as [0.05, 0.5, 0.95].

        Returns
        -------
        quantiles : ndarray of shape (n_rows, n_levels)
            Needs `calibrate`, as `predict_interval` does.
        """
        chosen = [check_number("levels", level, 0.0, 1.0) for level in np.atleast_1d(levels)]
        return self._quantiles("predict_quantiles", X, chosen).T

    def sample_targets(self, X: TableLike, n_draws: int = 100, random_state: Seed = None) -> Array:
        """Draw next targets, with their noise, for CRPS and simulations.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.
        n_draws : int, default=100
            Draws of each row.
        random_state : int, RandomState or None
            Seed of the draws.

        Returns
        -------
        targets : ndarray of shape (n_draws, n_rows)
            Independent of each other. Needs `calibrate`, as `predict_interval` does.
        """
        calibration, predicted = self._calibrated("sample_targets"), self._predicted(X)
        random = stream(new_seed(random_state), Purpose.NEXT_TARGET)
        levels = random.random((check_count("n_draws", n_draws), len(predicted.response)))
        return self._possible(calibration.at(predicted, levels))

    def _quantiles(self, name: str, X: Any, levels: Sequence[float]) -> Array:
        """Return quantiles of the next target, (level, row)."""
        calibration = self._calibrated(name)
        return self._possible(calibration.at(self._predicted(X), np.reshape(levels, (-1, 1))))

    def _possible(self, targets: Any) -> Array:
        """Clip targets to the range of the family, such as counts and shares, and at 0 if none was ever negative.

        Of n targets that are not negative, and the next one, it is the only negative one with a chance of 1 / (n + 1).
        """
        support = None if self.encoder_ is None else self.encoder_.family_.support
        least = 0.0 if support is not None or self._never_negative else -np.inf
        return np.asarray(np.clip(targets, least, np.inf if support is None else support.most))

    def _mean_spread(self, X: Any) -> float:
        return float(self._spread(self._read_new(X)).mean())

    def _predicted(self, X: Any, classes: Any = None) -> Predicted:
        rows = self._read_new(X)
        return Predicted(self._average(rows), self._spread(rows), rows.seen(), rows.means())

    def _respond(self, model: Any, features: Array) -> Array:
        X = backend_of(model).to_predict(model, features, self._columns)
        found = np.asarray(model.predict(X), dtype=np.float64)
        if found.size != len(X):
            raise InputError(
                f"{type(last_step(model)).__name__} predicts {found.size // len(X)} numbers for each row: expected "
                "one. For several quantiles, fit a model for each, or use calibrate=5 and predict_quantiles."
            )
        return found.reshape(len(X))
