"""What each library of estimators needs to be fitted on draws, one file for each; a new one is added to BACKENDS."""

from typing import Any

from sklearn.pipeline import Pipeline

from catbayes.models.backends.base import Backend
from catbayes.models.backends.catboost import CatBoost
from catbayes.models.backends.lightgbm import LightGBM
from catbayes.models.backends.xgboost import XGBoost

BACKENDS = (LightGBM(), XGBoost(), CatBoost(), Backend())
"""The last one is for all estimators that no other one knows."""


def backend_of(estimator: Any) -> Backend:
    """Return the backend of an estimator, or of the class that it is derived from."""
    modules = {base.__module__.split(".")[0] for base in type(estimator).__mro__}
    return next((backend for backend in BACKENDS if backend.package in modules), BACKENDS[-1])


def last_step(estimator: Any) -> Any:
    """Return the estimator itself, or the one at the end of a Pipeline."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator
