"""What is measured: four models with fixed parameters, and the ways to give each of them categories."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from typing import Any, Self

import numpy as np
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from catbayes.comparison._contestants import ENCODERS, Model, builder, native
from catbayes.comparison._native import CategoryTypes, as_words
from catbayes.comparison._rows import Rows
from catbayes.core.validation import Array, Codes

MOST_ROUNDS = 1_000
LARGEST = 5_000_000  # numbers in a dense table of rows and categories, about the square of what takes minutes


@dataclass(frozen=True, slots=True)
class Base:
    """A model for classes and one for numbers, with the parameters that every method gets; `quiet` ones change none."""

    classifier: type[Any]
    regressor: type[Any]
    parameters: dict[str, Any]
    of_classes: dict[str, Any] = field(default_factory=dict)
    quiet: dict[str, Any] = field(default_factory=dict)
    scaled: bool = False  # wants complete numbers of one scale
    seeded: bool = True
    most_rows: int | None = None  # to learn from, where the model is slow
    most_folds: int | None = None

    def make(self, classes: bool, seed: int) -> Any:
        """The model itself, not yet fitted."""
        parameters = self.parameters | (self.of_classes if classes else {}) | self.quiet
        if self.seeded:
            parameters |= {"random_state": seed}
        return (self.classifier if classes else self.regressor)(**parameters)

    @property
    def written(self) -> str:
        """The model as one would type it."""
        both = {self.classifier: self.parameters | self.of_classes, self.regressor: self.parameters}
        return " and ".join(f"`{kind.__name__}({_typed(given)})`" for kind, given in both.items())


def _typed(given: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in given.items())


MODELS = {
    "linear": Base(LogisticRegression, Ridge, {}, {"max_iter": 1000}, scaled=True, seeded=False),
    "forest": Base(
        RandomForestClassifier,
        RandomForestRegressor,
        {"n_estimators": 100, "min_samples_leaf": 1},
        quiet={"n_jobs": 1},
        most_rows=4_000,
        most_folds=3,
    ),
    # Without the penalty LightGBM breaks down on classes of a few rows, whatever the encoding.
    "LightGBM": Base(
        LGBMClassifier,
        LGBMRegressor,
        {"n_estimators": 100, "learning_rate": 0.1, "num_leaves": 31, "reg_lambda": 1.0},
        quiet={"n_jobs": 1, "verbose": -1},
    ),
    # The learning rate that CatBoost would choose by itself depends on the number of rows, which copies multiply.
    "CatBoost": Base(
        CatBoostClassifier,
        CatBoostRegressor,
        {"iterations": 300, "learning_rate": 0.1, "depth": 6},
        quiet={"thread_count": 1, "verbose": 0, "allow_writing_files": False},
        most_rows=3_000,
        most_folds=3,
    ),
}
"""By name: parameters are the libraries' own but where a comment says why."""


class GroupEffects(RegressorMixin, BaseEstimator):
    """GPBoost: boosted trees of the numbers, and a random effect for every category of every categorical column.

    Its steps are as long as the variances that it estimates say, so that LightGBM's rounds do not suit it: as its
    author does, the learning rate, the number of rounds and whether the trees see the categories as well are chosen on
    a fifth of the training rows, by the squared error. The other parameters are LightGBM's.
    """

    def __init__(self, columns: list[str], parameters: dict[str, Any], rates: tuple[float, ...] = (0.1, 0.01)) -> None:
        self.columns = columns
        self.parameters = parameters
        self.rates = rates

    def fit(self, X: Any, y: Array) -> Self:
        """Choose, and fit trees and variances together to all rows; `last_seconds_` is what the latter took."""
        self.types_ = CategoryTypes().fit(X[self.columns])
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
        """Trees and effects; that of a category never seen is 0."""
        found = self.booster_.predict(
            data=self._features(X), group_data_pred=self._groups(X), predict_var=False, pred_latent=False
        )
        return self.centre_ + self.scale_ * np.asarray(found["response_mean"], dtype=np.float64)

    def _train(self, X: Any, z: Array, rate: float, rounds: int, new: Any = None, z_new: Any = None) -> Any:
        import gpboost

        places = list(range(len(self.columns))) if self.in_trees_ else "auto"
        data = gpboost.Dataset(self._features(X), z, categorical_feature=places)
        # Its default for several columns, conjugate gradients, takes up to fifty times as long on tables of this size.
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
        return as_words(X[self.columns]).to_numpy(dtype=str)

    def _features(self, X: Any) -> Array:
        numbers = X.drop(columns=self.columns).to_numpy(np.float64)
        if not self.in_trees_:
            return np.asarray(numbers)
        typed = self.types_.transform(X[self.columns])
        codes = np.column_stack([typed[name].cat.codes for name in self.columns]).astype(np.float64)
        return np.hstack([np.where(codes < 0, np.nan, codes), numbers])


Build = Callable[[Rows, str, int], Any]


@dataclass(frozen=True, slots=True)
class Method:
    """A way to give categories to a model; the predictions of several seeds are averaged."""

    label: str
    about: str
    build: Build
    n_seeds: int = 1
    libraries: tuple[str, ...] = ()
    models: tuple[str, ...] = tuple(MODELS)
    numbers_only: bool = False
    dense: bool = False  # makes a dense table of rows and categories, if the target is a class

    @property
    def installed(self) -> bool:
        """Tell whether its libraries are there."""
        return all(find_spec(name) for name in self.libraries)

    @property
    def everywhere(self) -> bool:
        """Tell whether it can be had for every table and model, so that it can be ranked."""
        return self.installed and not self.numbers_only and self.models == tuple(MODELS)

    def applies(self, rows: Rows, model: str) -> bool:
        """Tell whether it can be had for a table and a model."""
        return self.installed and model in self.models and not (self.numbers_only and rows.classes is not None)

    def too_large(self, rows: Rows, train: Codes) -> str | None:
        """Why it is not tried on so many rows; None if it is."""
        if not self.dense or rows.classes is None:
            return None
        most = max(rows.X[name].iloc[train].nunique() for name in rows.categorical)
        return f"{len(train):,} × {most:,} dense numbers" if len(train) * most > LARGEST else None


def base(name: str, rows: Rows, seed: int) -> Model:
    """A model of the catalogue for a table."""
    return Model(name, MODELS[name].make(rows.classes is not None, seed), MODELS[name].scaled)


def _encoded(encoder: str) -> Build:
    """An encoder that `compare` knows, before any of the models."""
    return lambda rows, model, seed: builder(ENCODERS[encoder], base(model, rows, seed))(rows, seed)


def _native(rows: Rows, model: str, seed: int) -> Any:
    """What a model does about categories by itself; one-hot columns or codes for one that does nothing."""
    plain = {"linear": "one-hot", "forest": "ordinal"}
    if model in plain:
        return _encoded(plain[model])(rows, model, seed)
    chosen = MODELS[model].parameters | MODELS[model].quiet
    return native(model).build(rows, seed).set_params(**{f"model__{name}": value for name, value in chosen.items()})


def _effects(rows: Rows, model: str, seed: int) -> Any:
    return GroupEffects(list(rows.categorical), MODELS[model].parameters | {"seed": seed})


_PEERS = ("category_encoders",)

METHODS = {
    "ours": Method("catbayes", "`SamplingClassifier` or `SamplingRegressor` around the model", _encoded("sampling")),
    "native": Method(
        "native",
        "LightGBM's categories, CatBoost's `cat_features`; one-hot columns for linear models, codes for forests",
        _native,
    ),
    "target": Method("TargetEncoder", "scikit-learn's `TargetEncoder`", _encoded("target")),
    "target x5": Method(
        "TargetEncoder ×5", "the same, five models with other seeds, predictions averaged", _encoded("target"), 5
    ),
    "ordered": Method("CatBoostEncoder", "category_encoders' `CatBoostEncoder`", _encoded("ordered"), libraries=_PEERS),
    "glmm": Method(
        "GLMMEncoder",
        "category_encoders' `GLMMEncoder`",
        _encoded("glmm"),
        libraries=(*_PEERS, "statsmodels"),
        dense=True,
    ),
    "james-stein": Method(
        "JamesSteinEncoder", "category_encoders' `JamesSteinEncoder`", _encoded("james-stein"), libraries=_PEERS
    ),
    "gpboost": Method(
        "GPBoost",
        "a random effect for each category and LightGBM's trees, where y is a number; learning rate, rounds and "
        "whether trees see the categories chosen on a fifth of the training rows",
        _effects,
        libraries=("gpboost",),
        models=("LightGBM",),
        numbers_only=True,
    ),
}
"""By the names that users type."""
