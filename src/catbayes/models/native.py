"""What an estimator knows of its features: categories kept for it, where they are, and what all are called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline

from catbayes.core.category_outputs import Kept
from catbayes.core.layout import Layout
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.models.column_parameters import Columns, given, library, map_columns, without

TREES = (
    *("sklearn.tree", "sklearn.ensemble._forest", "sklearn.ensemble._gb", "sklearn.ensemble._hist_gradient_boosting"),
    *("lightgbm", "xgboost", "catboost"),
)
"""Where models come from that part categories by their numbers."""
SUMS = ("sklearn.linear_model", "sklearn.svm", "sklearn.neural_network")
"""Where models come from that add features up, and learn a number for each category from columns of zeros and ones."""


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
    modules = [base.__module__ for base in type(last_step(estimator)).__mro__]
    if any(module.startswith(TREES) for module in modules):
        return Kept("codes", instead=True)
    return Kept("one_hot", instead=True) if any(module.startswith(SUMS) for module in modules) else None


@dataclass(frozen=True, slots=True)
class Known:
    """What an estimator is told of its features: their names, and which are numbers of categories."""

    names: tuple[str, ...]
    categories: tuple[int, ...]
    columns: Columns

    @classmethod
    def of(
        cls, estimator: Any, way: str, layout: Layout, inputs: list[Any], fit_params: Mapping[str, Any] | None = None
    ) -> Known:
        """What there is to know for an estimator that is fitted in some way, and what its user says of columns."""
        coded = [column for column in layout.columns if column.beside.names[-1:] == ("code",)]
        found = {layout.places[column.position].stop - 1 for column in coded}
        lost = library(estimator) == "catboost" and way != "members"
        names = inputs if isinstance(inputs[0], str) else [f"x{n}" for n in range(len(inputs))]
        places = tuple(range(place.start, place.stop) for place in layout.places)
        pairs = tuple((column.parts, places[column.position]) for column in layout.interactions)
        mapped = {column.position: len(column.mapping.names()) for column in layout.columns}
        means = tuple(place[: mapped.get(number, 1)] for number, place in enumerate(places[: len(inputs)]))
        own = (tuple(inputs), tuple(layout.names(names)), places[: len(inputs)], means)
        columns = Columns(*own, frozenset(layout.passing), pairs)
        params = {**estimator.get_params(deep=False), **(fit_params or {})}
        said = [
            (name, place)
            for role, read in (("categories", columns.categories), ("types", columns.types))
            for name, value in given(estimator, role, params).items()
            for place in read(value, name)
        ]
        if said and lost:
            raise InputError(
                f"{said[0][0]} goes with the members of CatBoost only, not with {way}: among copies of a row it would "
                'learn the target of one from the others. Use fit_with="members", or let the encoder encode the column.'
            )
        places_said = {place for _, place in said}
        return cls(_spelled(list(columns.names)), () if lost else tuple(sorted(found | places_said)), columns)


def _spelled(names: list[str]) -> tuple[str, ...]:
    """Names as LightGBM and XGBoost take them: without blanks, brackets and the like, and no two alike."""
    taken: dict[str, None] = {}
    for name in (re.sub(r"[\s\[\]{}\",:<]", "_", name) for name in names):
        number, free = 1, name
        while free in taken:
            number, free = number + 1, f"{name}_{number + 1}"
        taken[free] = None
    return tuple(taken)


def told(model: Any, known: Known, fit_params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A booster that knows its features, and the parameters of its `fit`; what was said of columns is of features."""
    found, params = list(known.categories), model.get_params(deep=False)
    said = [*given(model, "categories", {**params, **fit_params}), *given(model, "types", params)]
    amounts = {n: known.columns.amounts(v, n) for n, v in given(model, "amounts", fit_params).items()}
    fit_params = without(fit_params, said) | amounts
    map_columns(model, known.columns, found)
    if library(model) in ("lightgbm", "catboost") and set(said) & set(params):  # theirs is for `fit`
        model = type(model)(**without(model.get_params(deep=False), said))
    if library(model) == "lightgbm":
        categories = {"categorical_feature": found} if found else {}
        # It wants frames of who gave it names, to predict: see `as_taken`.
        names = {"feature_name": list(known.names)} if find_spec("pandas") else {}
        return model, names | categories | fit_params
    if isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor) and (found or said):
        model.set_params(categorical_features=found or None)
    elif library(model) == "xgboost" and (found or said):
        kinds = np.where(np.isin(np.arange(len(known.names)), found), "c", "q").tolist()
        model.set_params(feature_types=kinds, enable_categorical=True)
    elif library(model) == "catboost" and (found or said):
        sets = [(as_trained(model, X, known), y) for X, y in fit_params.get("eval_set") or ()]
        return model, {"cat_features": found} | fit_params | ({"eval_set": sets} if sets else {})
    return model, fit_params


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

    codes = {n: np.where(np.isfinite(X[:, n]), X[:, n], -1.0).astype(np.int64) for n in known.categories}
    columns = {n: codes.get(n, X[:, n]) for n in range(X.shape[1])}
    return pandas.DataFrame(columns).set_axis(list(known.names), axis=1)


def as_taken(model: Any, X: Array, known: Known) -> Any:
    """The features as the fitted model takes them to predict: LightGBM warns of features without the names it knows."""
    if library(model) != "lightgbm" or getattr(model, "feature_name_", None) != list(known.names):
        return as_trained(model, X, known)
    import pandas

    return pandas.DataFrame(X, columns=list(known.names))
