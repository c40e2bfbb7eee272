"""Models that grow on fresh draws: each tree, round or epoch is scored and trained on what it should be."""

import warnings

import numpy as np
import pandas
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from sklearn.base import clone
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
from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier

from catbayes import Draws, InputError, SamplingBayesianEncoder, SamplingClassifier, SamplingRegressor
from catbayes.models.growing import FOREST_POINTS, Grid, Job, way_to_grow
from sales import PLAIN

QUIET = {"verbose": False, "allow_writing_files": False, "thread_count": 2}
CLASSIFIERS = [
    RandomForestClassifier(40, min_samples_leaf=5),
    BaggingClassifier(n_estimators=20),
    GradientBoostingClassifier(n_estimators=40),
    HistGradientBoostingClassifier(max_iter=40),
    LGBMClassifier(n_estimators=40, verbose=-1, n_jobs=2),
    XGBClassifier(n_estimators=40, n_jobs=2),
    CatBoostClassifier(iterations=60, learning_rate=0.1, **QUIET),
    GaussianNB(),
    make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss")),
    make_pipeline(StandardScaler(), MLPClassifier(hidden_layer_sizes=16, max_iter=50)),
]
REGRESSORS = [
    RandomForestRegressor(40, min_samples_leaf=5),
    ExtraTreesRegressor(40, min_samples_leaf=5),
    GradientBoostingRegressor(n_estimators=40),
    HistGradientBoostingRegressor(max_iter=40),
    LGBMRegressor(n_estimators=40, verbose=-1, n_jobs=2),
    XGBRegressor(n_estimators=40, n_jobs=2),
    CatBoostRegressor(iterations=60, learning_rate=0.1, **QUIET),
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
    labels = np.array(["low", "mid", "high"])[:classes] if classes < 3 else np.array(["high", "low", "mid"])
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    return X, labels[np.searchsorted(cuts, score + random.normal(size=n_rows) / 2)]


def name(model):
    return type(model[-1] if hasattr(model, "steps") else model).__name__


@pytest.mark.parametrize(("classes", "weighted"), [(2, False), (3, True)])
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name)
def test_classifiers_learn_in_rounds(estimator, classes, weighted):
    X, y = make_table(classes)
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y)) if weighted else None
    model = SamplingClassifier(estimator, fit_with="rounds", random_state=0).fit(X[:600], y[:600], _cut(weight))
    probability = model.predict_proba(X[600:])
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-6)
    assert model.classes_.tolist() == sorted(set(y))
    assert (model.predict(X[600:]) == y[600:]).mean() > (0.75 if classes == 2 else 0.55)
    again = SamplingClassifier(estimator, fit_with="rounds", random_state=0).fit(X[:600], y[:600], _cut(weight))
    np.testing.assert_allclose(again.predict_proba(X[600:]), probability, atol=1e-6)


def _cut(weight):
    return None if weight is None else weight[:600]


@pytest.mark.parametrize("estimator", REGRESSORS, ids=name)
def test_regressors_learn_in_rounds_whatever_the_unit(estimator):
    X, y = make_table(0)
    model = SamplingRegressor(estimator, fit_with="rounds", random_state=0).fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) > 0.6


def job_of(classes=2, n_draws=20):
    """Features of draws, as the model would hand them out."""
    X, y = make_table(classes)
    draws = SamplingBayesianEncoder(random_state=0).fit_draws(X, y)
    seen = []

    def feed(k):
        seen.append(k)
        return draws.features(k)

    return job_over(feed, y, n_draws), draws, seen


def job_over(feed, y=None, n_draws=20):
    return Job(feed, y, None, None, n_draws, lambda step: None, {})


@pytest.mark.parametrize(
    ("estimator", "most"),
    [
        (RandomForestClassifier(120), 40),
        (GradientBoostingClassifier(n_estimators=60), 20),
        (HistGradientBoostingClassifier(max_iter=60), 20),
        (LGBMClassifier(n_estimators=60, verbose=-1), 20),
        (CatBoostClassifier(iterations=60, **QUIET), 20),
    ],
    ids=lambda value: name(value) if hasattr(value, "fit") else "",
)
def test_a_model_sees_many_draws_and_keeps_its_size(estimator, most):
    job, _, seen = job_of()
    before = estimator.get_params()
    model = way_to_grow(estimator)(estimator, job)
    assert len(set(seen)) == most
    sizes = {
        "RandomForestClassifier": lambda: len(model.estimators_),
        "GradientBoostingClassifier": lambda: len(model.estimators_),
        "HistGradientBoostingClassifier": lambda: model.n_iter_,
        "LGBMClassifier": lambda: model.booster_.num_trees(),
        "CatBoostClassifier": lambda: model.tree_count_,
    }
    assert sizes[name(model)]() == {40: 120, 20: 60}[most]
    assert estimator.get_params() == before


def test_trees_of_a_forest_are_trained_on_the_draw_of_their_turn():
    job, draws, _ = job_of()
    forest = RandomForestClassifier(4, bootstrap=False, max_features=None, random_state=0)
    model = way_to_grow(forest)(forest, job)
    codes = np.searchsorted(model.classes_, job.y)
    grid = Grid(job, FOREST_POINTS)
    for k, tree in enumerate(model.estimators_):  # fully grown, each knows the rows of its own draw by heart
        assert (tree.predict(grid.snap(draws.features(k))) == codes).all()
        assert (tree.predict(grid.snap(draws.features(k + 10))) == codes).mean() < 0.98


class TestHistogramsAreScoredInTheirOwnBins:
    """Histogram boosting scores earlier trees by bin numbers: on draws that move the bins it would go wrong."""

    @staticmethod
    def running_loss_is_true(model, X, y):
        """The loss that boosting believes in, and the one of a fresh predict."""
        believed = -model.train_score_[-1]
        probability = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        return believed, -np.log(probability).mean()

    def fit(self, snap):
        X, y = make_table(2, n_rows=2000)
        draws = SamplingBayesianEncoder(random_state=0).fit_draws(X, y)
        grid = Grid(job_over(draws.features, y), 255) if snap else None
        model = HistGradientBoostingClassifier(
            warm_start=True, scoring="loss", early_stopping=True, validation_fraction=None, n_iter_no_change=100
        )
        for k in range(10):
            X_k = grid.snap(draws.features(k)) if snap else draws.features(k)
            model.set_params(max_iter=3 * (k + 1)).fit(X_k, y)
        return self.running_loss_is_true(model, X_k, y)

    def test_the_grid_keeps_them(self):
        believed, fresh = self.fit(snap=True)
        assert believed == pytest.approx(fresh, rel=1e-9)

    def test_without_it_they_are_wrong(self):
        believed, fresh = self.fit(snap=False)
        assert abs(believed - fresh) > 1e-4


def test_every_point_of_the_grid_is_taken_and_values_move_little():
    random = np.random.default_rng(0)
    first, second = random.normal(size=(300, 2)), random.normal(size=(300, 2))
    first[:, 1] = second[:, 1] = 7.0  # a column that does not change is left alone
    grid = Grid(job_over([first, second].__getitem__), 64)
    assert list(grid.points) == [0]
    narrow = np.column_stack([np.full(300, 0.1), first[:, 1]])  # all draws near one point: the others must be filled
    for features in (second, narrow):
        snapped = grid.snap(features)
        assert set(snapped[:, 0]) == set(grid.points[0])
        np.testing.assert_array_equal(snapped[:, 1], features[:, 1])
    assert np.abs(grid.snap(second)[:, 0] - second[:, 0]).mean() < 0.05


@pytest.mark.parametrize(
    "estimator",
    [
        GradientBoostingRegressor(n_estimators=20, learning_rate=0.3, random_state=0),
        LGBMRegressor(n_estimators=20, learning_rate=0.3, num_leaves=5, verbose=-1),
        XGBRegressor(n_estimators=20, learning_rate=0.3, max_depth=2, reg_lambda=0),
        CatBoostRegressor(iterations=20, learning_rate=0.3, depth=2, l2_leaf_reg=1e-9, **QUIET),
    ],
    ids=name,
)
def test_boosters_score_their_earlier_trees_on_the_new_draw(estimator):
    """A leaf of the last tree holds the mean of what the trees before it left, *they* scored on the last draw too."""
    X, y = make_table(0)
    draws = SamplingBayesianEncoder(family="normal", draws=Draws(1.0), random_state=0).fit_draws(X, y)
    last = []

    def feed(k):
        last.append(k)
        return draws.features(k)

    model = way_to_grow(estimator)(estimator, job_over(feed, y))
    X_last = draws.features(last[-1])
    if name(model) == "GradientBoostingRegressor":
        X_last = Grid(job_over(feed, y), FOREST_POINTS).snap(X_last)
    before = {
        "GradientBoostingRegressor": lambda: list(model.staged_predict(X_last))[-2],
        "LGBMRegressor": lambda: model.predict(X_last, num_iteration=19),
        "XGBRegressor": lambda: model.predict(X_last, iteration_range=(0, 19)),
        "CatBoostRegressor": lambda: model.predict(X_last, ntree_end=19),
    }[name(model)]()
    step = model.predict(X_last) - before
    for value in np.unique(step.round(5)):
        leaf = np.abs(step - value) < 1e-4
        assert value == pytest.approx(0.3 * (y - before)[leaf].mean(), abs=2e-3)


def test_an_estimator_that_cannot_go_on_names_the_other_ways():
    X, y = make_table()
    with pytest.raises(InputError, match=r'LogisticRegression cannot go on.*"copies" or "members"'):
        SamplingClassifier(LogisticRegression(), fit_with="rounds").fit(X, y)
    with pytest.raises(InputError, match=r'MLPClassifier cannot go on.*"copies" or "members"'):
        SamplingClassifier(MLPClassifier(solver="lbfgs"), fit_with="rounds").fit(X, y)
    for booster in (
        LGBMClassifier(early_stopping_rounds=5),
        LGBMClassifier(num_iterations=5),  # an alias that would rule every portion
        LGBMClassifier(boosting_type="rf"),
        XGBRFClassifier(),
    ):
        with pytest.raises(InputError, match=r'in portions: use fit_with="copies" or "members"'):
            SamplingClassifier(booster, fit_with="rounds").fit(X, y)
    model = SamplingClassifier(LGBMClassifier(verbose=-1), fit_with="rounds")
    with pytest.raises(InputError, match=r'watches a whole fit.*"copies" or "members"'):
        model.fit(X, y, eval_set=[(X, y)], callbacks=[early_stopping(3)])


@pytest.mark.parametrize(
    "estimator", [HistGradientBoostingClassifier(max_iter=40), RandomForestClassifier(20)], ids=name
)
def test_missing_numbers_and_rows_of_no_weight_do_not_disturb_the_grid(estimator):
    X, y = make_table()
    X.loc[::7, "number"] = np.nan
    weight = (np.arange(800) % 5 == 0).astype(float)
    model = SamplingClassifier(estimator, fit_with="rounds", random_state=0).fit(X, y, weight)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize(
    "estimator",
    [
        LGBMRegressor(n_estimators=40, colsample_bytree=0.34, num_leaves=2, verbose=-1),
        CatBoostRegressor(iterations=40, learning_rate=0.1, rsm=0.34, depth=1, **QUIET),
    ],
    ids=name,
)
def test_portions_have_seeds_of_their_own(estimator):
    """With one of three columns to choose from at random, two rounds a draw must not see two columns only."""
    X, y = make_table(0)
    X["second"] = np.random.default_rng(0).normal(size=800)
    y = y + X["second"]
    model = SamplingRegressor(estimator, fit_with="rounds", random_state=0).fit(X, y)
    assert (model.feature_importances_ > 0).all()


def test_a_pipeline_of_one_step_grows_and_others_get_their_own_parameters():
    X, y = make_table()
    alone = SamplingClassifier(make_pipeline(RandomForestClassifier(20)), random_state=0, **PLAIN).fit(X, y)
    assert alone.score(X, y) > 0.7
    assert alone.feature_importances_.shape == (2,)
    piped = make_pipeline(StandardScaler(), RandomForestClassifier(20))
    SamplingClassifier(piped, fit_with="rounds").fit(X, y, standardscaler__sample_weight=np.ones(800))


def test_balanced_classes_are_weighed_once():
    X, y = make_table()
    y = np.where(np.random.default_rng(0).random(800) < 0.8, "common", y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = RandomForestClassifier(40, class_weight="balanced", min_samples_leaf=20)
        model = SamplingClassifier(forest, random_state=0).fit(X, y)
        plain = SamplingClassifier(clone(forest).set_params(class_weight=None), random_state=0).fit(X, y)
    rare = model.classes_ != "common"
    assert model.predict_proba(X)[:, rare].sum() > 2 * plain.predict_proba(X)[:, rare].sum()
    assert model.estimator_.class_weight == "balanced"


def test_the_out_of_bag_score_of_a_forest_in_rounds_is_honest():
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"city": np.char.add("c", random.integers(0, 300, 1000).astype(str))})
    y = random.integers(0, 2, 1000)
    forest = RandomForestClassifier(60, oob_score=True, random_state=0)
    model = SamplingClassifier(forest, fit_with="rounds", random_state=0).fit(X, y)
    assert 0.4 < model.estimator_.oob_score_ < 0.6
