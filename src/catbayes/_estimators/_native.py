"""What an estimator knows of its features: categories kept for it, where they are, and what all are called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline

from catbayes._encoding import KeepCategories, Kept, Layout
from catbayes._estimators._named import features_by_place
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
    CatBoost makes more of rare categories than others do, so that it keeps them however many there are; on copies of a
    row it would learn the target of one from the other.
    """
    if library(estimator) == "catboost" and way == "members":
        return Kept("codes", most=None, instead=True)
    module = type(last_step(estimator)).__module__
    kind: KeepCategories | None = (
        "codes" if module.startswith(TREES) else "one_hot" if module.startswith(SUMS) else None
    )
    return None if kind is None else Kept(kind, instead=True)


@dataclass(frozen=True, slots=True)
class Known:
    """What an estimator is told of its features: their names, and which are numbers of categories."""

    names: tuple[str, ...]
    categories: tuple[int, ...]

    @classmethod
    def of(cls, estimator: Any, way: str, layout: Layout, inputs: list[Any]) -> Known:
        """What there is to know for an estimator that is fitted in some way."""
        coded = [column for column in layout.columns if column.beside.names[-1:] == ("code",)]
        found = tuple(layout.places[column.position].stop - 1 for column in coded)
        lost = library(estimator) == "catboost" and way != "members"
        names = inputs if isinstance(inputs[0], str) else [f"x{n}" for n in range(len(inputs))]
        return cls(_spelled(layout.names(names)), () if lost else found)


def _spelled(names: list[str]) -> tuple[str, ...]:
    """Names as LightGBM and XGBoost take them: without blanks, brackets and the like, and no two alike.

    Examples
    --------
    >>> from catbayes._estimators._native import _spelled
    >>> _spelled(["home city", "size_is_[S]", "size_is_{S}"])
    ('home_city', 'size_is__S_', 'size_is__S__2')
    """
    taken: dict[str, None] = {}
    for name in (re.sub(r"[\s\[\]{}\",:<]", "_", name) for name in names):
        number, free = 1, name
        while free in taken:
            number, free = number + 1, f"{name}_{number + 1}"
        taken[free] = None
    return tuple(taken)


def told(model: Any, known: Known, fit_params: dict[str, Any]) -> dict[str, Any]:
    """Tell a booster what its features are, unless its user did; returns the parameters of its `fit`."""
    found, params = known.categories, model.get_params(deep=False)
    if library(model) in ("xgboost", "sklearn"):
        model.set_params(**features_by_place(params, known.names))
    if library(model) == "lightgbm":
        categories = {"categorical_feature": list(found)} if found else {}
        # It wants frames of who gave it names, to predict: see `as_taken`.
        names = {"feature_name": list(known.names)} if find_spec("pandas") else {}
        return names | categories | fit_params
    if not found:
        return fit_params
    if isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        if params["categorical_features"] in (None, "from_dtype"):
            model.set_params(categorical_features=list(found))
    elif library(model) == "xgboost" and params.get("feature_types") is None:
        kinds = np.where(np.isin(np.arange(len(known.names)), found), "c", "q").tolist()
        model.set_params(feature_types=kinds, enable_categorical=True)
    elif library(model) == "catboost" and params.get("cat_features") is None:
        sets = [(as_trained(model, X, known), y) for X, y in fit_params.get("eval_set") or ()]
        return {"cat_features": list(found)} | fit_params | ({"eval_set": sets} if sets else {})
    return fit_params


def takes_chunks(model: Any, layout: Layout) -> bool:
    """Whether K copies are given to a model in chunks: to LightGBM, if columns that all copies share are the most.

    The model is the same. `benchmarks/boosting.py` measures what that saves: with 300 columns beside one that is
    encoded, five copies take hardly more memory than one.
    """
    if library(model) != "lightgbm" or find_spec("pyarrow") is None or find_spec("pandas") is None:
        return False
    known = tuple(map(int, version("lightgbm").split(".")[:2])) >= (4, 7)  # those before want another package for it
    shared = len(layout.passing)
    return known and shared > layout.places[-1].stop - shared


def named(model: Any, known: Known) -> Any:
    """A fitted booster that calls its features by their names, where it was not told them before."""
    if library(model) == "catboost":
        model.set_feature_names(list(known.names))
    elif library(model) == "xgboost" and model.get_params().get("booster") in (None, "gbtree", "dart"):
        model.get_booster().feature_names = list(known.names)  # gblinear would ask for them in every array
    return model


def as_trained(model: Any, X: Array, known: Known) -> Any:
    """The features as the model takes them to learn from: CatBoost wants its categories to be whole numbers."""
    if not known.categories or library(model) != "catboost":
        return X
    import pandas

    columns = {n: X[:, n].astype(np.int64) if n in known.categories else X[:, n] for n in range(X.shape[1])}
    return pandas.DataFrame(columns).set_axis(list(known.names), axis=1)


def as_taken(model: Any, X: Array, known: Known) -> Any:
    """The features as the fitted model takes them to predict: LightGBM warns of features without the names it knows."""
    if library(model) != "lightgbm" or getattr(model, "feature_name_", None) != list(known.names):
        return as_trained(model, X, known)
    import pandas

    return pandas.DataFrame(X, columns=list(known.names))
