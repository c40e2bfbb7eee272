"""fit_with="rounds": trees, boosting rounds and epochs are each trained on a fresh draw, and scored on it."""

import numpy as np
import pandas
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from catbayes import InputError, SamplingClassifier, SamplingRegressor
from sales import DRAWN

CLASSIFIERS = [
    RandomForestClassifier(40, min_samples_leaf=5),
    BaggingClassifier(n_estimators=20),
    GradientBoostingClassifier(n_estimators=40),
    HistGradientBoostingClassifier(max_iter=40),
    GaussianNB(),
    make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss")),
    make_pipeline(StandardScaler(), MLPClassifier(hidden_layer_sizes=16, max_iter=50)),
]
REGRESSORS = [
    RandomForestRegressor(40, min_samples_leaf=5),
    ExtraTreesRegressor(40, min_samples_leaf=5),
    GradientBoostingRegressor(n_estimators=40),
    HistGradientBoostingRegressor(max_iter=40),
    make_pipeline(StandardScaler(), SGDRegressor()),
    make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=16, max_iter=200)),
]


def make_table(classes=2, n_rows=800, seed=0):
    """A category and a number that both matter; the target is a class, or a number if `classes` is 0."""
    random = np.random.default_rng(seed)
    code, number = random.integers(0, 20, n_rows), random.normal(size=n_rows)
    score = random.normal(size=20)[code] + number
    X = pandas.DataFrame({"city": np.char.add("c", code.astype(str)), "number": number})
    if classes == 0:
        return X, score + random.normal(size=n_rows) / 2
    labels = np.array(["high", "low", "mid"])[:classes]
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    return X, labels[np.searchsorted(cuts, score + random.normal(size=n_rows) / 2)]


def in_rounds(estimator, X, y, **fit_params):
    kind = SamplingClassifier if np.asarray(y).dtype.kind in "UO" else SamplingRegressor
    return kind(estimator, DRAWN, fit_with="rounds", random_state=0).fit(X, y, **fit_params)


def recording(kind):
    """A class of estimators that record the features that they are fitted on."""
    seen = []

    class Recorder(kind):
        def fit(self, X, y, sample_weight=None):
            seen.append(np.array(X))
            return super().fit(X, y, sample_weight)

    return Recorder, seen


def name(model):
    return type(model[-1] if hasattr(model, "steps") else model).__name__


@pytest.mark.parametrize(("classes", "weighted"), [(2, False), (3, True)])
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name)
def test_classifiers_learn_in_rounds(estimator, classes, weighted):
    X, y = make_table(classes)
    given = {"sample_weight": np.random.default_rng(1).uniform(0.5, 1.5, 600)} if weighted else {}
    model, again = (in_rounds(estimator, X[:600], y[:600], **given) for _ in range(2))
    probability = model.predict_proba(X[600:])
    assert model.classes_.tolist() == sorted(set(y))
    assert (model.predict(X[600:]) == y[600:]).mean() > (0.75 if classes == 2 else 0.55)
    np.testing.assert_allclose(again.predict_proba(X[600:]), probability, atol=1e-6)


@pytest.mark.parametrize("estimator", REGRESSORS, ids=name)
def test_regressors_learn_in_rounds(estimator):
    X, y = make_table(0)
    assert in_rounds(estimator, X[:600], y[:600]).score(X[600:], y[600:]) > 0.6


@pytest.mark.parametrize(
    ("kind", "size", "n_draws"),
    [
        (RandomForestClassifier, {"n_estimators": 120}, 40),
        (GradientBoostingClassifier, {"n_estimators": 60}, 20),
        (HistGradientBoostingClassifier, {"max_iter": 60}, 20),
    ],
)
def test_a_model_sees_many_draws_and_has_the_size_it_was_given(kind, size, n_draws):
    kind, seen = recording(kind)
    model = in_rounds(kind(**size), *make_table()).estimator_
    assert len(seen) == n_draws
    assert len({X.tobytes() for X in seen}) == n_draws
    assert (model.n_iter_ if "max_iter" in size else len(model.estimators_)) == next(iter(size.values()))
    assert (model.warm_start, *(model.get_params()[name] for name in size)) == (False, *size.values())


def test_histogram_boosting_scores_its_earlier_trees_in_their_own_bins():
    """It believes in the loss that the earlier trees have by bin numbers, which draws would move."""
    X, y = make_table(2, n_rows=2000)
    kind, seen = recording(HistGradientBoostingClassifier)
    how = {"scoring": "loss", "early_stopping": True, "validation_fraction": None, "n_iter_no_change": 100}
    model = in_rounds(kind(max_iter=30, **how), X, y).estimator_
    probability = model.predict_proba(seen[-1])[np.arange(len(y)), np.searchsorted(np.unique(y), y)]
    assert -model.train_score_[-1] == pytest.approx(-np.log(probability).mean(), rel=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        MLPClassifier(solver="lbfgs"),
        LGBMClassifier(verbose=-1),
    ],
    ids=name,
)
def test_an_estimator_that_cannot_go_on_names_the_other_ways(estimator):
    with pytest.raises(InputError, match=rf'{name(estimator)} cannot go on.*fit_with="copies" or "members"'):
        in_rounds(estimator, *make_table())


def test_the_out_of_bag_score_of_a_forest_in_rounds_is_honest():
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"city": np.char.add("c", random.integers(0, 300, 1000).astype(str))})
    forest = RandomForestClassifier(60, oob_score=True, random_state=0)
    model = in_rounds(forest, X, random.integers(0, 2, 1000).astype(str))
    assert 0.4 < model.estimator_.oob_score_ < 0.6
