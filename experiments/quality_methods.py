"""The ways to give categories to a model: catbayes and its alternatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Self

import category_encoders
import pandas
from catboost import CatBoostClassifier, CatBoostRegressor
from category_encoders.wrapper import PolynomialWrapper
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, TargetEncoder

from experiments.group_effects import GroupEffects, as_text
from experiments.quality_models import MODELS, around, make_model, with_columns
from experiments.quality_tables import Table
from experiments.scores import Codes

LARGEST = 5_000_000  # numbers in a dense table of rows and categories: about the square of what takes minutes


class CategoryTypes(TransformerMixin, BaseEstimator):
    """Turn columns into pandas categories, those of the training rows; an unseen one is missing."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the categories of each column."""
        self.types_ = {name: pandas.CategoricalDtype(sorted(X[name].dropna().unique())) for name in X}
        return self

    def transform(self, X: Any) -> Any:
        """Give the columns their types."""
        types = self.types_.items()
        return X.assign(**{name: X[name].where(X[name].isin(kind.categories)).astype(kind) for name, kind in types})

    def get_feature_names_out(self, input_features: Any = None) -> list[str]:
        """Return the names, which stay as they are."""
        return list(self.types_)


def target_encoder(kind: str, seed: int) -> TargetEncoder:
    """Return scikit-learn's TargetEncoder with a seed, which belongs to its folds."""
    folds = KFold if kind == "continuous" else StratifiedKFold
    return TargetEncoder(target_type=kind, cv=folds(5, shuffle=True, random_state=seed))


Build = Callable[[Table, str, int], Any]


def _ours(table: Table, model: str, seed: int) -> Any:
    steps, estimator = make_model(table, model, seed)
    ours = around(estimator, table.categorical, table.n_classes is not None, seed)
    return Pipeline([*steps, ("model", ours)]) if steps else ours


def _encoded(make: Callable[[Table, int], Any]) -> Build:
    """Return how to build an encoder before a model."""

    def build(table: Table, model: str, seed: int) -> Any:
        encoder = make(table, seed)
        steps, estimator = make_model(table, model, seed, isinstance(encoder, OneHotEncoder))
        encode = with_columns("categories", encoder, table.categorical, verbose=True)
        return Pipeline([*steps, ("encode", encode), ("model", estimator)])

    return build


def _target(table: Table, seed: int) -> Any:
    return target_encoder("continuous" if table.n_classes is None else "auto", seed)


def _peer(name: str, seeded: bool = True) -> Build:
    """Return how to build an encoder of category_encoders, one class against the rest if there are several."""

    def make(table: Table, seed: int) -> Any:
        seeds = {"random_state": seed} if seeded else {}
        encoder = getattr(category_encoders, name)(cols=list(table.categorical), **seeds)
        return PolynomialWrapper(encoder) if table.task == "multiclass" else encoder

    return _encoded(make)


def _one_hot(table: Table, seed: int) -> Any:
    return OneHotEncoder(handle_unknown="infrequent_if_exist")


def _ordinal(table: Table, seed: int) -> Any:
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)


def _native(table: Table, model: str, seed: int) -> Any:
    """Return a model that handles categories by itself; one-hot columns or codes for one that does not."""
    if model in ("linear", "forest"):
        return _encoded(_one_hot if model == "linear" else _ordinal)(table, model, seed)
    estimator = MODELS[model].make(table.n_classes is not None, seed)
    categories: Any = CategoryTypes()
    if model == "CatBoost":
        estimator.set_params(cat_features=list(table.categorical))
        categories = FunctionTransformer(as_text, feature_names_out="one-to-one")
    encode = with_columns("categories", categories, table.categorical).set_output(transform="pandas")
    return Pipeline([("encode", encode), ("model", estimator)])


def _with_text(estimator: Any, table: Table) -> Pipeline:
    """Return a booster after a step that gives it its categories as text."""
    encode = with_columns("categories", FunctionTransformer(as_text, feature_names_out="one-to-one"), table.categorical)
    return Pipeline([("encode", encode.set_output(transform="pandas")), ("model", estimator)])


def _catboost(table: Table, model: str, seed: int) -> Any:
    boosting = CatBoostRegressor if table.n_classes is None else CatBoostClassifier
    quiet: dict[str, Any] = {"thread_count": 1, "verbose": 0, "allow_writing_files": False}
    return _with_text(boosting(cat_features=list(table.categorical), random_state=seed, **quiet), table)


def _chimera(table: Table, model: str, seed: int) -> Any:
    from chimeraboost import ChimeraBoostClassifier, ChimeraBoostRegressor

    boosting = ChimeraBoostRegressor if table.n_classes is None else ChimeraBoostClassifier
    return _with_text(boosting(cat_features=list(table.categorical), random_state=seed), table)


def _effects(table: Table, model: str, seed: int) -> Any:
    return GroupEffects(list(table.categorical), MODELS[model].parameters | {"seed": seed})


# ------------------------------------------------------------------------------------------------ methods


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
    dense: bool = False  # makes a dense table of rows and categories if the target is a class

    @property
    def installed(self) -> bool:
        """Tell whether its libraries are there."""
        return all(find_spec(name) for name in self.libraries)

    @property
    def everywhere(self) -> bool:
        """Tell whether it exists for every table and model, so that it can be ranked."""
        return self.installed and not self.numbers_only and self.models == tuple(MODELS)

    def applies(self, task: str, model: str) -> bool:
        """Tell whether it exists for a task and a model."""
        return self.installed and model in self.models and not (self.numbers_only and task != "regression")

    def too_large(self, table: Table, train: Codes) -> str | None:
        """Return why it is not tried on these rows; None if it is."""
        if not self.dense or table.n_classes is None:
            return None
        most = max(table.X[name].iloc[train].nunique() for name in table.categorical)
        return f"{len(train):,} × {most:,} dense numbers" if len(train) * most > LARGEST else None


METHODS = {
    "ours": Method("catbayes", "`SamplingClassifier` or `SamplingRegressor` around the model", _ours),
    "native": Method(
        "native",
        "LightGBM's categories, CatBoost's `cat_features`; one-hot columns for linear models, codes for forests",
        _native,
    ),
    "target": Method("TargetEncoder", "scikit-learn's `TargetEncoder`", _encoded(_target)),
    "target x5": Method(
        "TargetEncoder ×5", "the same, five models with other seeds, predictions averaged", _encoded(_target), 5
    ),
    "ordered": Method("CatBoostEncoder", "category_encoders' `CatBoostEncoder`", _peer("CatBoostEncoder")),
    "glmm": Method(
        "GLMMEncoder",
        "category_encoders' `GLMMEncoder`",
        _peer("GLMMEncoder"),
        libraries=("statsmodels",),
        dense=True,
    ),
    "james-stein": Method(
        "JamesSteinEncoder", "category_encoders' `JamesSteinEncoder`", _peer("JamesSteinEncoder", seeded=False)
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
    "catboost": Method("CatBoost", "CatBoost itself, with all of its defaults", _catboost, models=("LightGBM",)),
    "chimera": Method(
        "ChimeraBoost",
        "ChimeraBoost itself, with all of its defaults",
        _chimera,
        libraries=("chimeraboost",),
        models=("LightGBM",),
    ),
}
"""By the names that users type."""
