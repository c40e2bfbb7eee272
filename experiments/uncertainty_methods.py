"""Methods that predict intervals or sets of classes: catbayes with three models, and other libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy.stats import norm
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.group_effects import GroupEffects, as_text
from experiments.quality_methods import CategoryTypes
from experiments.quality_models import MODELS, around
from experiments.scores import Array
from experiments.uncertainty_tables import UncertaintyTable

COVERAGES = (0.5, 0.8, 0.9, 0.95)
LEVELS = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)
FOLDS = 5
BOOSTING = MODELS["LightGBM"].parameters | MODELS["LightGBM"].quiet
CATBOOST = MODELS["CatBoost"].parameters | MODELS["CatBoost"].quiet
FOREST = {"n_estimators": 50, "min_samples_leaf": 5, "max_features": 1 / 3, "n_jobs": 1}


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of test rows: quantiles of numbers at `LEVELS`, (row, level), and intervals by coverage."""

    quantiles: Array
    intervals: dict[float, tuple[Array, Array]]

    @classmethod
    def of_quantiles(cls, quantiles: Array) -> Said:
        """Intervals with two tails that are alike."""
        ends = {c: [LEVELS.index(round(level, 4)) for level in ((1 - c) / 2, (1 + c) / 2)] for c in COVERAGES}
        return cls(quantiles, {c: (quantiles[:, low], quantiles[:, high]) for c, (low, high) in ends.items()})

    @classmethod
    def normal(cls, mean: Array, deviation: Array) -> Said:
        """Quantiles of a normal distribution for each row."""
        return cls.of_quantiles(mean[:, None] + deviation[:, None] * norm.ppf(LEVELS))


def model(name: str, classes: bool, seed: int) -> Any:
    """One of the three models that ours is put around."""
    if name == "linear":
        last = LogisticRegression(max_iter=1000) if classes else Ridge()
        return make_pipeline(SimpleImputer(), StandardScaler(), last)
    if name == "forest":
        return (RandomForestClassifier if classes else RandomForestRegressor)(**FOREST, random_state=seed)
    return (LGBMClassifier if classes else LGBMRegressor)(**BOOSTING, random_state=seed)


def ours(name: str) -> Callable[..., dict[str, Said]]:
    """Return catbayes around a model; and the same model with one width for all rows, from residuals of folds."""

    def say(table: UncertaintyTable, X: Any, y: Array, new: Any, seed: int, test: Any) -> dict[str, Said]:
        plain = around(model(name, False, seed), table.categorical, False, seed)
        fitted = clone(plain).set_params(calibrate=FOLDS).fit(X, y)
        intervals = {coverage: fitted.predict_interval(new, coverage) for coverage in COVERAGES}
        folds = KFold(FOLDS, shuffle=True, random_state=seed)
        mean, left = fitted.predict(new), y - cross_val_predict(plain, X, y, cv=folds)
        ranks = np.sort(np.abs(left))
        widths = {c: ranks[min(int(np.ceil(c * (len(ranks) + 1))), len(ranks)) - 1] for c in COVERAGES}
        one = {c: (mean - width, mean + width) for c, width in widths.items()}
        return {
            f"catbayes, {name}": Said(fitted.predict_quantiles(new, LEVELS), intervals),
            f"one width, {name}": Said(mean[:, None] + np.quantile(left, LEVELS), one),
        }

    return say


def gpboost(table: UncertaintyTable, X: Any, y: Array, new: Any, seed: int, test: Any) -> dict[str, Said]:
    """GPBoost's predictive variances: a random effect for each category, and boosted trees."""
    chosen = GroupEffects(list(table.categorical), MODELS["LightGBM"].parameters | {"seed": seed}).fit(X, y)
    return {"GPBoost": Said.normal(*chosen.predict_normal(new))}


def _worded(table: UncertaintyTable, *frames: Any) -> list[Any]:
    names = list(table.categorical)
    return [frame.assign(**{name: as_text(frame[[name]])[name] for name in names}) for frame in frames]


def catboost(table: UncertaintyTable, X: Any, y: Array, new: Any, seed: int, test: Any) -> dict[str, Said]:
    """CatBoost's virtual ensembles: the variance that it predicts, and how far its parts disagree."""
    X, new = _worded(table, X, new)
    fitted = CatBoostRegressor(
        **CATBOOST, loss_function="RMSEWithUncertainty", posterior_sampling=True, random_seed=seed
    ).fit(X, y, cat_features=list(table.categorical))
    found = fitted.virtual_ensembles_predict(new, prediction_type="TotalUncertainty", virtual_ensembles_count=10)
    return {"CatBoost": Said.normal(found[:, 0], np.sqrt(np.maximum(found[:, 1] + found[:, 2], 1e-12)))}


def lightgbm(table: UncertaintyTable, X: Any, y: Array, new: Any, seed: int, test: Any) -> dict[str, Said]:
    """LightGBM's quantiles, a model for each level, with categories of its own."""
    types = CategoryTypes().fit(X[list(table.categorical)])
    X, new = types.transform(X), types.transform(new)
    boosters = [LGBMRegressor(**BOOSTING, objective="quantile", alpha=level, random_state=seed) for level in LEVELS]
    quantiles = np.column_stack([booster.fit(X, y).predict(new) for booster in boosters])
    return {"LightGBM": Said.of_quantiles(np.sort(quantiles, axis=1))}


def truth(table: UncertaintyTable, X: Any, y: Array, new: Any, seed: int, test: Any) -> dict[str, Said]:
    """What one would say who knew all effects, of unseen categories too."""
    assert table.truth is not None
    return {"truth": Said.normal(*(values[test] for values in table.truth))}


METHODS: dict[str, Callable[..., dict[str, Said]]] = {
    **{f"catbayes, {name}": ours(name) for name in ("linear", "forest", "LightGBM")},
    "GPBoost": gpboost,
    "CatBoost": catboost,
    "LightGBM": lightgbm,
    "truth": truth,
}
"""By name: ours gives a second answer, with one width for all."""

# ------------------------------------------------------------------------------------------------ classes


@dataclass(frozen=True, slots=True)
class SaidOfClasses:
    """Probabilities of test rows, (row, class), and sets by coverage."""

    probabilities: Array
    sets: dict[float, Any]

    @classmethod
    def of_probabilities(cls, probabilities: Array) -> SaidOfClasses:
        """The likeliest classes, until their probabilities sum up to the coverage."""
        order = np.argsort(-probabilities, axis=1)
        sums = np.cumsum(np.take_along_axis(probabilities, order, axis=1), axis=1)
        sets = {}
        for coverage in COVERAGES:
            needed = np.column_stack([np.full(len(sums), True), sums[:, :-1] < coverage])
            sets[coverage] = np.zeros_like(needed)
            np.put_along_axis(sets[coverage], order, needed, axis=1)
        return cls(probabilities, sets)


def ours_of_classes(name: str) -> Callable[..., dict[str, SaidOfClasses]]:
    """Ours around a model, calibrated; and its probabilities as they are."""

    def say(table: UncertaintyTable, X: Any, y: Array, new: Any, seed: int, test: Any) -> dict[str, SaidOfClasses]:
        uncalibrated = around(model(name, True, seed), table.categorical, True, seed)
        fitted = clone(uncalibrated).set_params(calibrate=FOLDS).fit(X, y)
        sets = {coverage: fitted.predict_set(new, coverage) for coverage in COVERAGES}
        plain = uncalibrated.fit(X, y).predict_proba(new)
        return {
            f"catbayes, {name}": SaidOfClasses(fitted.predict_proba(new), sets),
            f"uncalibrated, {name}": SaidOfClasses.of_probabilities(plain),
        }

    return say


def catboost_of_classes(table: UncertaintyTable, X: Any, y: Array, new: Any, seed: int, test: Any) -> dict[str, Any]:
    """CatBoost's own probabilities."""
    X, new = _worded(table, X, new)
    fitted = CatBoostClassifier(**CATBOOST, random_seed=seed).fit(X, y, cat_features=list(table.categorical))
    return {"CatBoost": SaidOfClasses.of_probabilities(fitted.predict_proba(new))}


def lightgbm_of_classes(table: UncertaintyTable, X: Any, y: Array, new: Any, seed: int, test: Any) -> dict[str, Any]:
    """LightGBM's probabilities, with categories of its own."""
    types = CategoryTypes().fit(X[list(table.categorical)])
    fitted = LGBMClassifier(**BOOSTING, random_state=seed).fit(types.transform(X), y)
    return {"LightGBM": SaidOfClasses.of_probabilities(fitted.predict_proba(types.transform(new)))}


METHODS_OF_CLASSES: dict[str, Callable[..., dict[str, SaidOfClasses]]] = {
    **{f"catbayes, {name}": ours_of_classes(name) for name in ("linear", "forest", "LightGBM")},
    "CatBoost": catboost_of_classes,
    "LightGBM": lightgbm_of_classes,
}
