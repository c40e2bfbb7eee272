"""GPBoost as a scikit-learn regressor."""

from __future__ import annotations

import time
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.preprocessing import OrdinalEncoder

from experiments.scores import Array

MOST_ROUNDS = 1_000


class GroupEffects(RegressorMixin, BaseEstimator):
    """Boosted trees of the numbers, and a random effect for every category of every categorical column.

    Its step lengths depend on the estimated variances, so that LightGBM's number of rounds does not suit it. As its
    author does, the learning rate, the number of rounds and whether trees get the categories too are chosen on a fifth
    of the training rows by the squared error. The other parameters are LightGBM's.
    """

    def __init__(self, columns: list[str], parameters: dict[str, Any], rates: tuple[float, ...] = (0.1, 0.01)) -> None:
        self.columns = columns
        self.parameters = parameters
        self.rates = rates

    def fit(self, X: Any, y: Array) -> Self:
        """Choose, then fit trees and variances to all rows; `last_seconds_` is the time of the latter."""
        unknown: dict[str, Any] = {"unknown_value": np.nan, "encoded_missing_value": np.nan}
        self.codes_ = OrdinalEncoder(handle_unknown="use_encoded_value", **unknown).fit(X[self.columns])
        self.centre_, self.scale_ = float(np.mean(y)), float(np.std(y))
        z, held_out = (np.asarray(y) - self.centre_) / self.scale_, np.arange(len(y)) % 5 == 4
        tried = []
        for in_trees, rate in product((False, True), self.rates):
            self.in_trees_ = in_trees
            booster = self._train(X[~held_out], z[~held_out], rate, MOST_ROUNDS, X[held_out], z[held_out])
            error = booster.best_score["valid_0"]["l2"]
            tried.append((error, in_trees, rate, booster.best_iteration))
        _, self.in_trees_, rate, rounds = min(tried)
        start = time.perf_counter()
        self.booster_ = self._train(X, z, rate, rounds)
        self.last_seconds_ = time.perf_counter() - start
        return self

    def predict(self, X: Any) -> Array:
        """Predict by trees and effects; the effect of an unseen category is 0."""
        return self.predict_normal(X, False)[0]

    def predict_normal(self, X: Any, variance: bool = True) -> tuple[Array, Array]:
        """Predict mean and standard deviation of the target."""
        groups = self._groups(X)
        found = self.booster_.predict(
            data=self._features(X), group_data_pred=groups, predict_var=variance, pred_latent=False
        )
        mean = self.centre_ + self.scale_ * np.asarray(found["response_mean"], dtype=np.float64)
        deviation = np.sqrt(np.asarray(found["response_var"])) if variance else np.zeros(len(mean))
        return mean, self.scale_ * deviation

    def _train(self, X: Any, z: Array, rate: float, rounds: int, new: Any = None, z_new: Any = None) -> Any:
        import gpboost

        places = list(range(len(self.columns))) if self.in_trees_ else "auto"
        data = gpboost.Dataset(self._features(X), z, categorical_feature=places)
        # The default for several columns, conjugate gradients, takes up to fifty times as long on tables of this size.
        effects = gpboost.GPModel(
            group_data=self._groups(X),
            likelihood="gaussian",
            num_parallel_threads=1,
            matrix_inversion_method="cholesky",
        )
        given = {name: value for name, value in self.parameters.items() if name != "n_estimators"}
        given |= {"learning_rate": rate, "metric": "l2", "num_threads": 1, "verbose": -1}
        if new is None:
            return gpboost.train(given, data, rounds, gp_model=effects)
        effects.set_prediction_data(group_data_pred=self._groups(new))
        known = gpboost.Dataset(self._features(new), z_new, reference=data, categorical_feature=places)
        stop = {"early_stopping_rounds": 10, "use_gp_model_for_validation": True, "verbose_eval": False}
        return gpboost.train(given, data, rounds, gp_model=effects, valid_sets=known, **stop)

    def _groups(self, X: Any) -> Any:
        return as_text(X[self.columns]).to_numpy(dtype=str)

    def _features(self, X: Any) -> Array:
        numbers = X.drop(columns=self.columns).to_numpy(np.float64)
        return np.hstack([self.codes_.transform(X[self.columns]), numbers]) if self.in_trees_ else np.asarray(numbers)


def as_text(X: Any) -> Any:
    """Convert categories of a frame to text, a missing one to a category of its own."""
    return X.astype(object).where(X.notna(), "(missing)").astype(str)
