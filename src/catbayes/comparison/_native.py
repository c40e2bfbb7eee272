"""Models that take categories as they are, and the form in which each one wants them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import FunctionTransformer

from catbayes.comparison._rows import Rows

LIGHTGBM = {"reg_lambda": 1.0, "verbose": -1, "n_jobs": 1}
"""Without the penalty, which XGBoost has by default, LightGBM breaks down on classes of a few rows: on Nursery, where
one has two, its log-loss is above 1 with any encoding, and below 0.02 with it."""

CATBOOST_ROUNDS = 300  # of 1,000 by default, which take minutes; the others have their own default of 100


class CategoryTypes(TransformerMixin, BaseEstimator):
    """Turn columns into pandas categories, those of the rows that were fitted on; an unseen one is missing."""

    def fit(self, X: Any, y: Any = None) -> CategoryTypes:
        """Remember the categories of each column."""
        import pandas

        self.types_ = {
            name: pandas.CategoricalDtype(
                sorted(X[name].dropna().unique(), key=lambda value: (str(type(value)), value))
            )
            for name in X
        }
        self.feature_names_in_ = list(X)
        return self

    def transform(self, X: Any) -> Any:
        """Give the columns their types."""
        return X.assign(
            **{name: X[name].where(X[name].isin(t.categories)).astype(t) for name, t in self.types_.items()}
        )

    def get_feature_names_out(self, input_features: Any = None) -> list[str]:
        """Names stay as they are."""
        return list(self.feature_names_in_)


def as_words(X: Any) -> Any:
    """Categories of a pandas frame as text, a missing one as a word of its own."""
    return X.astype(object).where(X.notna(), "(missing)").astype(str)


@dataclass(frozen=True, slots=True)
class Native:
    """A model with a handling of categories of its own: its library and class, its settings, and the form it takes."""

    library: str
    name: str
    settings: Callable[[Rows], dict[str, Any]]
    categories: Callable[[], Any] = CategoryTypes

    def make(self, rows: Rows, seed: int) -> Any:
        """The model for a table."""
        kind = "Regressor" if rows.classes is None else "Classifier"
        return getattr(import_module(self.library), self.name + kind)(random_state=seed, **self.settings(rows))


NATIVE = {
    "LightGBM": Native("lightgbm", "LGBM", lambda rows: LIGHTGBM),
    "CatBoost": Native(
        "catboost",
        "CatBoost",
        lambda rows: {
            "cat_features": list(rows.categorical),
            "iterations": CATBOOST_ROUNDS,
            "verbose": 0,
            "allow_writing_files": False,
        },
        categories=lambda: FunctionTransformer(as_words, feature_names_out="one-to-one"),
    ),
    "HistGradient": Native(
        "sklearn.ensemble", "HistGradientBoosting", lambda rows: {"categorical_features": "from_dtype"}
    ),
    "XGBoost": Native("xgboost", "XGB", lambda rows: {"enable_categorical": True, "verbosity": 0, "n_jobs": 1}),
}
"""By their names: ordered target statistics (CatBoost), Fisher's grouping (LightGBM), and so on."""
