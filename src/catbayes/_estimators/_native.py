"""What an estimator does with categories by itself: which ones are kept for it, and how it is told where they are."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline

from catbayes._encoding import Kept, Layout
from catbayes._validation import Array

TREES = (
    *("sklearn.tree", "sklearn.ensemble._forest", "sklearn.ensemble._gb", "sklearn.ensemble._hist_gradient_boosting"),
    *("lightgbm", "xgboost", "catboost"),
)
"""Where models come from that part categories by their numbers."""
SUMS = ("sklearn.linear_model", "sklearn.svm", "sklearn.neural_network")
"""Where models come from that add features up, and learn a number for each category from columns of zeros and ones."""


def library(model: Any) -> str:
    """The package that a model comes from."""
    return type(model).__module__.split(".")[0]


def last_step(estimator: Any) -> Any:
    """The estimator itself, or the one at the end of a Pipeline."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def suitable(estimator: Any, way: str) -> Kept | None:
    """How categories are best kept for an estimator that is fitted in some way; None if nobody knows.

    Trees take their numbers, and boosters know them for what they are; sums get columns of zeros and ones.
    CatBoost makes more of rare categories than others do, so that it keeps all of them; on copies of a row it would
    learn the target of one from the other.
    """
    if library(estimator) == "catboost" and way == "members":
        return Kept("codes", most=None, only_signal=False)
    module = type(last_step(estimator)).__module__
    return Kept("codes") if module.startswith(TREES) else Kept("one_hot") if module.startswith(SUMS) else None


def categories(estimator: Any, way: str, layout: Layout) -> tuple[int, ...]:
    """Which features are numbers of categories that the estimator is told of."""
    if library(estimator) == "catboost" and way != "members":
        return ()
    coded = [column for column in layout.columns if column.kept.names == ("code",)]
    return tuple(layout.places[column.position].stop - 1 for column in coded)


def told(model: Any, found: Sequence[int], n_features: int, fit_params: dict[str, Any]) -> dict[str, Any]:
    """Tell a booster which features are categories, unless its user did; returns the parameters of its `fit`."""
    if not found:
        return fit_params
    params = model.get_params(deep=False)
    if isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        if params["categorical_features"] in (None, "from_dtype"):
            model.set_params(categorical_features=list(found))
    elif library(model) == "xgboost" and params.get("feature_types") is None:
        kinds = np.where(np.isin(np.arange(n_features), found), "c", "q").tolist()
        model.set_params(feature_types=kinds, enable_categorical=True)
    elif library(model) == "lightgbm":
        return {"categorical_feature": list(found)} | fit_params
    elif library(model) == "catboost" and params.get("cat_features") is None:
        sets = [(as_taken(model, X, found), y) for X, y in fit_params.get("eval_set") or ()]
        return {"cat_features": list(found)} | fit_params | ({"eval_set": sets} if sets else {})
    return fit_params


def takes_chunks(model: Any, layout: Layout) -> bool:
    """Whether K copies are given to a model in chunks: to LightGBM, if columns that all copies share are the most.

    The bins that it makes of them, and so the model, are the same. `benchmarks/boosting.py` measures what that saves:
    with 300 columns beside one that is encoded, most of the memory of five copies, and some of the time.
    """
    if library(model) != "lightgbm" or find_spec("pyarrow") is None:
        return False
    known = tuple(map(int, version("lightgbm").split(".")[:2])) >= (4, 7)  # those before want another package for it
    shared = len(layout.passing)
    return known and shared > layout.places[-1].stop - shared


def as_taken(model: Any, X: Array, found: Sequence[int]) -> Any:
    """The features as the model takes them: CatBoost wants its categories to be whole numbers.

    LightGBM that was fitted on a table with names wants a table with names.
    """
    if library(model) == "lightgbm" and getattr(model, "feature_names_in_", None) is not None:
        import pyarrow

        return pyarrow.table([np.ascontiguousarray(column) for column in X.T], names=list(model.feature_names_in_))
    if not found or library(model) != "catboost":
        return X
    import pandas

    return pandas.DataFrame({n: X[:, n].astype(np.int64) if n in found else X[:, n] for n in range(X.shape[1])})
