"""Four models with fixed parameters, and what each needs besides encoded categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import validate_data

from catbayes import SamplingClassifier, SamplingRegressor, recommended_encoder
from experiments.quality_tables import Table


@dataclass(frozen=True, slots=True)
class Model:
    """A classifier and a regressor with the parameters that every method gets; `quiet` ones change no result."""

    classifier: type[Any]
    regressor: type[Any]
    parameters: dict[str, Any]
    of_classes: dict[str, Any] = field(default_factory=dict)
    quiet: dict[str, Any] = field(default_factory=dict)
    scaled: bool = False  # needs complete numbers of one scale
    seeded: bool = True
    most_rows: int | None = None  # training rows and folds of a slow model
    most_folds: int | None = None

    def make(self, classes: bool, seed: int) -> Any:
        """Return the estimator, not yet fitted."""
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
    "linear": Model(LogisticRegression, Ridge, {}, {"max_iter": 1000}, scaled=True, seeded=False),
    "forest": Model(
        RandomForestClassifier,
        RandomForestRegressor,
        {"n_estimators": 100, "min_samples_leaf": 1},
        quiet={"n_jobs": 1},
        most_rows=4_000,
        most_folds=3,
    ),
    # Without the penalty LightGBM breaks down on classes of a few rows, whatever the encoding.
    "LightGBM": Model(
        LGBMClassifier,
        LGBMRegressor,
        {"n_estimators": 100, "learning_rate": 0.1, "num_leaves": 31, "reg_lambda": 1.0},
        quiet={"n_jobs": 1, "verbose": -1},
    ),
    # CatBoost's own choice of the learning rate depends on the number of rows, which copies multiply.
    "CatBoost": Model(
        CatBoostClassifier,
        CatBoostRegressor,
        {"iterations": 300, "learning_rate": 0.1, "depth": 6},
        quiet={"thread_count": 1, "verbose": 0, "allow_writing_files": False},
        most_rows=3_000,
        most_folds=3,
    ),
}
"""By name: parameters are the libraries' own unless a comment gives a reason."""


class TargetUnits(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply columns by the standard deviation of the target to a power.

    Encodings of a number have the scale of the target, and the width of an encoded column is its signal. So a linear
    model gets the other columns on that scale, and all of them divided by it.
    """

    def __init__(self, power: int) -> None:
        self.power = power

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the scale of the target."""
        validate_data(self, X)
        self.scale_ = float(np.std(y)) or 1.0
        return self

    def transform(self, X: Any) -> Any:
        """Multiply."""
        return validate_data(self, X, reset=False) * self.scale_**self.power


def filled() -> SimpleImputer:
    """Replace missing numbers by the median, with an indicator."""
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def make_model(table: Table, model: str, seed: int, one_hot: bool = False) -> tuple[list[Any], Any]:
    """Return steps for the numbers of a table, and the model; a linear one wants numbers of one scale."""
    estimator = MODELS[model].make(table.n_classes is not None, seed)
    if not MODELS[model].scaled:
        return [], estimator
    in_units = table.n_classes is None and not one_hot
    if in_units:
        estimator = make_pipeline(TargetUnits(-1), estimator)
    if not one_hot:
        estimator = make_pipeline(filled(), estimator)  # encoders may leave gaps
    if not table.numeric:
        return [], estimator
    numbers = make_pipeline(filled(), StandardScaler(), *([TargetUnits(1)] if in_units else []))
    return [("numbers", with_columns("numbers", numbers, table.numeric).set_output(transform="pandas"))], estimator


def with_columns(name: str, transformer: Any, columns: tuple[str, ...], verbose: bool = False) -> ColumnTransformer:
    """Transform some columns; the others follow as they are."""
    parts = [(name, transformer, list(columns))]
    return ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=verbose)


def around(estimator: Any, columns: tuple[str, ...] | list[str], classes: bool, seed: int, **parameters: Any) -> Any:
    """Return catbayes around a model, with its defaults."""
    sampling = SamplingClassifier if classes else SamplingRegressor
    encoder = recommended_encoder(estimator, columns=list(columns))
    return sampling(estimator, encoder, random_state=seed, **parameters)
