"""Validation rows, split off the table or given to `fit`, are not trained on."""

from collections import Counter

import numpy as np
import pandas
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GroupKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from catbayes import InputError, SamplingBayesianEncoder, SamplingClassifier, SamplingRegressor
from sales import IgnoresTheCategory, make_table, noise_category

STOPPING = [
    (HistGradientBoostingRegressor(max_iter=300, early_stopping=True, random_state=0), lambda m: m.n_iter_),
    (GradientBoostingRegressor(n_estimators=300, n_iter_no_change=4, random_state=0), lambda m: len(m.estimators_)),
]


@pytest.mark.parametrize(("estimator", "place"), STOPPING, ids=lambda value: type(value).__name__)
def test_early_stopping_stops_at_the_same_place(estimator, place):
    X, y = noise_category()
    blind = make_pipeline(IgnoresTheCategory(), estimator)
    ends = []
    for n_draws in (2, 10):  # one draw is a plain fit, with a split of the estimator's own
        model = SamplingRegressor(blind, fit_with="copies", n_draws=n_draws, random_state=0).fit(X, y)
        ends.append(place(model.estimator_[-1]))
    assert ends[0] == ends[1] < 300


def watched(kind, **settings):
    """An estimator that notes the last feature of rows it is trained on, and of rows it is scored on; and its notes."""
    trained, scored = [], []

    class Watched(kind):
        def fit(self, X, y, sample_weight=None, **given):
            trained.extend(X[:, -1])
            scored.extend(given["X_val"][:, -1] if "X_val" in given else [])
            return super().fit(X, y, sample_weight, **given)

        def predict_proba(self, X):
            scored.extend(X[:, -1])
            return super().predict_proba(X)

    class Stepping(Watched):
        def partial_fit(self, X, y, classes=None, sample_weight=None):
            trained.extend(X[:, -1])
            return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)

    return (Stepping if hasattr(kind, "partial_fit") else Watched)(**settings), trained, scored


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (HistGradientBoostingClassifier, {"max_iter": 60, "early_stopping": True, "learning_rate": 0.3}),
        (GradientBoostingClassifier, {"n_estimators": 60, "n_iter_no_change": 5, "learning_rate": 0.3}),
        (MLPClassifier, {"early_stopping": True, "max_iter": 60}),
        (SGDClassifier, {"loss": "log_loss", "early_stopping": True, "max_iter": 60}),
    ],
    ids=["HistGradientBoosting", "GradientBoosting", "MLP", "SGD"],
)
@pytest.mark.parametrize("fit_with", ["copies", "rounds"])
def test_copies_of_a_row_are_never_on_both_sides_of_a_validation_split(kind, settings, fit_with):
    """Every row has a number of its own: no number that was trained on is validated on."""
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"city": np.char.add("c", random.integers(0, 9, 300).astype(str)), "id": np.arange(300.0)})
    estimator, trained, scored = watched(kind, **settings)
    if issubclass(kind, MLPClassifier | SGDClassifier):
        estimator = make_pipeline(StandardScaler(), estimator)
    model = SamplingClassifier(estimator, fit_with=fit_with, n_draws=3, random_state=0)
    model.fit(X, random.integers(0, 2, 300))
    times = Counter(scored).values()
    assert len(times) == 30
    assert len(set(times)) == 1  # as many copies of each
    assert min(times) % 3 == 0
    assert not set(trained) & set(scored)
    assert len({*trained, *scored}) == 300


def test_groups_stay_together_in_the_rows_held_out():
    X, y = make_table(300)
    X["id"] = np.repeat(np.arange(30.0), 10)
    booster, trained, scored = watched(HistGradientBoostingRegressor, early_stopping=True, max_iter=20)
    encoder = SamplingBayesianEncoder(own_target="cross_fit", cv=GroupKFold(3))
    SamplingRegressor(booster, encoder, n_draws=2, fit_with="copies").fit(X, y, groups=X["id"])
    assert scored
    assert not set(trained) & set(scored)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_validation_tables_are_encoded(library):
    X, y = make_table()
    y = np.where(y > 0, "yes", "no")
    settings = {"n_estimators": 200, "learning_rate": 0.3, "early_stopping_rounds": 3}
    booster = {
        "lightgbm": lambda: LGBMClassifier(**settings, verbose=-1),
        "xgboost": lambda: XGBClassifier(**settings),
        "catboost": lambda: CatBoostClassifier(**settings, verbose=False, allow_writing_files=False),
    }[library]()
    model = SamplingClassifier(booster, fit_with="copies", n_draws=2, random_state=0)
    model.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])])
    best = getattr(model.estimator_, "best_iteration", None) or model.estimator_.best_iteration_
    assert 0 < best < 150


def test_a_validation_table_of_other_columns_raises_an_error():
    X, y = make_table()
    model = SamplingClassifier(LGBMClassifier(verbose=-1), n_draws=2)
    with pytest.raises(InputError, match="A validation table has the columns"):
        model.fit(X, y > 0, eval_set=[(X[["shop", "city", "number"]], y > 0)])
    with pytest.raises(InputError, match="labels that y does not"):
        model.fit(X, y > 0, eval_set=[(X, np.full(600, "maybe"))])


def test_rows_given_for_validation_are_used_and_none_held_out():
    X, y = make_table()
    booster = HistGradientBoostingRegressor(early_stopping=True, max_iter=50, learning_rate=0.5)
    for fit_with in ("copies", "rounds"):
        model = SamplingRegressor(booster, fit_with=fit_with, n_draws=2, random_state=0)
        model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
        assert model.estimator_.n_iter_ < 50
