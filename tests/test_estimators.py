"""SamplingClassifier and SamplingRegressor: averages are right, copies keep every meaning, intervals hold."""

import multiprocessing
import warnings

import numpy as np
import pandas
import polars
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

from catbayes import (
    InputError,
    InputWarning,
    NormalGamma,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
)
from catbayes.diagnostics import decompose_loss
from catbayes.estimators._predicting import category_draws

WAYS = ["copies", "members", "rounds"]


DRAWN = SamplingBayesianEncoder(temperature=1.0, steady=None)
"""Draws from the whole posterior, as in the paper."""


def make_table(n_rows=600, n_categories=30, seed=0, numeric=True):
    """Two categorical columns and a number; the target is a number."""
    random = np.random.default_rng(seed)
    city, shop = random.integers(0, n_categories, n_rows), random.integers(0, 5, n_rows)
    data = {"city": np.char.add("c", city.astype(str)), "shop": np.char.add("s", shop.astype(str))}
    number = random.normal(size=n_rows)
    if numeric:
        data["number"] = number
    y = random.normal(size=n_categories)[city] + random.normal(size=5)[shop] + number + random.normal(size=n_rows)
    return pandas.DataFrame(data), y


def noise_category(n_rows=400, seed=0):
    """A number that matters, of few values, and a category that means nothing."""
    random = np.random.default_rng(seed)
    number = random.integers(0, 40, n_rows) / 10.0
    X = pandas.DataFrame({"city": np.char.add("c", random.integers(0, 4, n_rows).astype(str)), "number": number})
    return X, number + random.normal(size=n_rows)


# ------------------------------------------------------------------------------------------- averages


def test_draws_of_a_linear_model_converge_to_the_mean_at_the_rate_of_strata():
    X, y = make_table()
    mean = SamplingRegressor(LinearRegression(), DRAWN, n_draws=2, predict_with="mean", random_state=0).fit(X, y)
    errors = []
    for n_draws in (4, 16, 64, 256):
        draws = category_draws(mean.encoder_, n_draws)
        mean._draws = draws
        errors.append(np.sqrt(np.mean((mean.set_params(predict_with="draws").predict(X) - _at_mean(mean, X)) ** 2)))
    slope = np.polyfit(np.log([4, 16, 64, 256]), np.log(errors), 1)[0]
    assert slope < -0.9  # Monte Carlo has -½; a Latin hypercube of a sum of columns does better
    assert errors[-1] < 0.01 * y.std()


def _at_mean(model, X):
    return clone(model).set_params(predict_with="mean").fit(*make_table()).predict(X)


@pytest.mark.parametrize("link", ["identity", "logistic"])
def test_strata_need_a_quarter_of_the_independent_draws_at_most(link):
    """The error of 10 stratified draws is at most that of 40 independent ones, on average over seeds and rows."""
    X, y = make_table()
    f = {"identity": lambda z: z, "logistic": expit}[link]
    stratified, independent = [], []
    encoder = SamplingBayesianEncoder(family="normal", random_state=0).fit(X, y)
    weights = np.array([1.0, 1.0, 0.0])
    codes = [c.posterior.categories.codes(X[c.name][:50]) for c in encoder.columns_fitted_]

    def average(n_draws):
        tables = category_draws(encoder, n_draws)
        return f(sum(table[:, code, 0] for table, code in zip(tables, codes, strict=True))).mean(axis=0)

    truth = average(20_000)
    for seed in range(30):
        encoder = SamplingBayesianEncoder(family="normal", random_state=seed).fit(X, y)
        few = average(10)
        many = f(encoder.sample(X[:50], 40) @ weights).mean(axis=0)
        stratified.append((few - truth) ** 2)
        independent.append((many - truth) ** 2)
    assert np.mean(stratified) < np.mean(independent)


def test_the_table_of_draws_has_the_moments_of_the_posterior():
    X, y = make_table()
    encoder = clone(DRAWN).set_params(family="normal", random_state=0).fit(X, y)
    for column, table in zip(encoder.columns_fitted_, category_draws(encoder, 2000), strict=True):
        posterior = column.posterior.posterior
        scale = np.sqrt(posterior.variance()[:, 0])
        assert np.abs((table[..., 0].mean(axis=0) - posterior.mean()[:, 0]) / scale).max() < 0.01
        np.testing.assert_allclose(table[..., 0].std(axis=0), scale, rtol=0.1)


def test_columns_are_shuffled_apart():
    X, y = make_table()
    encoder = SamplingBayesianEncoder(family="normal", random_state=0).fit(X, y)
    first, second = category_draws(encoder, 400)
    assert abs(np.corrcoef(first[:, 0, 0], second[:, 0, 0])[0, 1]) < 0.15


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("exact", [True, False])
def test_taylor_beats_the_mean_for_a_logistic_model(classes, exact):
    """Against the average over 2,000 draws; in a pipeline the correction goes by finite differences."""
    X, y = make_table(n_rows=300, n_categories=60, seed=1)
    y = np.searchsorted(np.quantile(y, np.arange(1, classes) / classes), y)
    estimator = LogisticRegression(C=100, max_iter=5000)
    if not exact:
        estimator = make_pipeline(StandardScaler(with_mean=False, with_std=False), estimator)
    model = SamplingClassifier(estimator, n_draws=5, random_state=0).fit(X, y)
    model._draws = category_draws(model.encoder_, 2_000)
    truth = model.predict_proba(X[:40])
    error = {
        way: np.abs(model.set_params(predict_with=way).predict_proba(X[:40]) - truth).mean()
        for way in ("mean", "taylor")
    }
    assert error["taylor"] < 0.5 * error["mean"]


def test_taylor_is_exact_for_quadratic_models_and_agrees_with_finite_differences():
    X, y = make_table(seed=1)
    encoder = SamplingBayesianEncoder(mapping="polynomial")
    model = SamplingRegressor(LinearRegression(), encoder, n_draws=2, predict_with="taylor", random_state=0).fit(X, y)
    mean = clone(model).set_params(predict_with="mean").fit(X, y)  # E(θ, θ²) is what "mean" predicts at
    np.testing.assert_allclose(model.predict(X), mean.predict(X), rtol=1e-6, atol=1e-8)
    labels = y > 0
    exact = SamplingClassifier(LogisticRegression(C=10), n_draws=2, predict_with="taylor", random_state=0)
    by_steps = SamplingClassifier(
        make_pipeline(StandardScaler(with_mean=False, with_std=False), LogisticRegression(C=10)),
        n_draws=2, predict_with="taylor", random_state=0,
    )  # fmt: skip
    found = [model.fit(X, labels).predict_proba(X) for model in (exact, by_steps)]
    np.testing.assert_allclose(*found, atol=2e-4)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(),
        RandomForestClassifier(),
        HistGradientBoostingClassifier(),
        LGBMClassifier(),
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), GradientBoostingClassifier()),
    ],
    ids=lambda e: type(e).__name__,
)
def test_taylor_refuses_models_that_predict_in_steps(estimator):
    X, y = make_table(50)
    with pytest.raises(InputError, match=r'needs a smooth model.*predict_with="draws"'):
        SamplingClassifier(estimator, predict_with="taylor").fit(X, y > 0)


@pytest.mark.parametrize("fit_with", WAYS)
@pytest.mark.parametrize("predict_with", ["draws", "mean"])
def test_a_row_alone_is_predicted_as_in_a_batch(fit_with, predict_with):
    X, y = make_table()
    model = SamplingRegressor(RandomForestRegressor(20), fit_with=fit_with, predict_with=predict_with, n_draws=3)
    model.fit(X, y)
    alone = np.concatenate([model.predict(X[i : i + 1]) for i in range(10)])
    np.testing.assert_allclose(alone, model.predict(X)[:10], rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.predict(X))


def test_members_have_a_draw_each_and_are_averaged():
    X, y = make_table()
    model = SamplingRegressor(Ridge(), fit_with="members", n_draws=4, random_state=0).fit(X, y)
    assert len(model.estimators_) == 4
    draws = SamplingBayesianEncoder(family="normal", random_state=model.encoder_.random_state).fit_draws(X, y)
    for k, member in enumerate(model.estimators_):
        np.testing.assert_allclose(member.coef_, Ridge().fit(draws.features(k), y).coef_, rtol=1e-9)
    np.testing.assert_allclose(model.coef_, np.mean([member.coef_ for member in model.estimators_], axis=0))
    np.testing.assert_allclose(model.predict_draws(X).mean(axis=0), model.predict(X))
    expected = model.encoder_.transform(X)
    expected[:, :2] -= model.encoder_.transform(X.assign(city="unseen", shop="unseen"))[:, :2]
    of_members = [member.predict(expected) for member in model.estimators_]
    np.testing.assert_allclose(model.predict_draws(X, columns=[]), of_members)
    with pytest.raises(AttributeError, match="4 fitted members"):
        _ = model.estimator_


# --------------------------------------------------------------------------------------------- copies

SILENT = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
DETERMINISTIC = [
    Ridge(alpha=3.0),
    DecisionTreeRegressor(min_samples_leaf=7, max_features=None, random_state=0),
    DecisionTreeRegressor(min_samples_split=np.int64(30), random_state=0),
    XGBRegressor(n_estimators=20, reg_lambda=5.0),
    LGBMRegressor(n_estimators=20, min_child_samples=7, verbose=-1),
    CatBoostRegressor(
        iterations=20, learning_rate=0.1, l2_leaf_reg=20, bootstrap_type="No", random_strength=0, **SILENT
    ),
    GradientBoostingRegressor(n_estimators=30, min_samples_leaf=7, random_state=0),
    HistGradientBoostingRegressor(max_iter=30, l2_regularization=5.0, random_state=0),
]


class IgnoresTheCategory(StandardScaler):
    """Sees the number only, as a model does that gives the category no part."""

    def fit(self, X, y=None, sample_weight=None):
        self.mean_ = 0.0
        return self

    def transform(self, X):
        return X[:, [1]]


@pytest.mark.parametrize("estimator", DETERMINISTIC, ids=repr)
def test_a_model_that_ignores_the_category_does_not_notice_copies(estimator):
    X, y = noise_category()
    blind = make_pipeline(IgnoresTheCategory(), estimator)
    one, twenty = (
        SamplingRegressor(blind, fit_with="copies", n_draws=n_draws, random_state=0).fit(X, y) for n_draws in (1, 20)
    )
    np.testing.assert_allclose(twenty.predict(X), one.predict(X), atol=1e-6)


@pytest.mark.parametrize("estimator", [SGDRegressor(alpha=0.1, random_state=0), BaggingRegressor(random_state=0)])
def test_penalties_of_every_step_and_bags_keep_their_meaning_on_average(estimator):
    X, y = noise_category()
    blind = make_pipeline(IgnoresTheCategory(), estimator)
    one, twenty = (
        SamplingRegressor(blind, fit_with="copies", n_draws=n_draws, random_state=0).fit(X, y).predict(X)
        for n_draws in (1, 20)
    )
    assert np.std(twenty) == pytest.approx(np.std(one), rel=0.1)
    assert np.corrcoef(one, twenty)[0, 1] > 0.95


def test_a_bag_of_copies_holds_as_many_rows_as_a_bag_of_rows():
    X, y = noise_category()
    for bag, kept in ((BaggingRegressor(), 0.632), (BaggingRegressor(max_samples=0.5), 0.393)):
        model = SamplingRegressor(bag, fit_with="copies", n_draws=20, random_state=0).fit(X, y)
        shares = [len(np.unique(samples % 400)) / 400 for samples in model.estimator_.estimators_samples_]
        assert np.mean(shares) == pytest.approx(kept, abs=0.03)


def test_without_the_weights_it_would_notice():
    X, y = noise_category()
    blind = make_pipeline(IgnoresTheCategory(), Ridge(alpha=100.0))
    one = SamplingRegressor(blind, fit_with="copies", n_draws=1, random_state=0).fit(X, y)
    copies = SamplingBayesianEncoder(family="normal", random_state=0).augment(X, y, n_draws=20)
    unweighted = clone(blind).fit(copies.X, copies.y)
    assert np.abs(unweighted.predict(copies.X[:400]) - one.predict(X)).max() > 1e-3


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


@pytest.mark.parametrize(
    "estimator",
    [
        HistGradientBoostingClassifier(max_iter=60, early_stopping=True, learning_rate=0.3),
        GradientBoostingClassifier(n_estimators=60, n_iter_no_change=5, learning_rate=0.3),
        make_pipeline(StandardScaler(), MLPClassifier(early_stopping=True, max_iter=60)),
        make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", early_stopping=True, max_iter=60)),
    ],
    ids=lambda e: type(e[-1] if hasattr(e, "steps") else e).__name__,
)
@pytest.mark.parametrize("fit_with", ["copies", "rounds"])
def test_copies_of_a_row_are_never_on_both_sides_of_a_validation_split(estimator, fit_with, monkeypatch):
    """Every row has a number of its own: no number that was trained on is validated on."""
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"city": np.char.add("c", random.integers(0, 9, 300).astype(str)), "id": np.arange(300.0)})
    y = random.integers(0, 2, 300)
    seen = []
    from catbayes.estimators import _fitting

    def spy(model, job):
        seen.append((job.feed(0)[:, 1].copy(), job.held_out[0][:, 1].copy()))
        return grow(model, job)

    grow = _fitting.grow
    monkeypatch.setattr(_fitting, "grow", spy)
    SamplingClassifier(estimator, fit_with=fit_with, n_draws=3, random_state=0).fit(X, y)
    ((train, valid),) = seen
    assert len(np.unique(valid)) == len(valid) / 3 == 30
    assert not set(train) & set(valid)
    assert set(train) | set(valid) == set(range(300))


def test_groups_stay_together_in_the_rows_held_out(monkeypatch):
    X, y = make_table(300)
    X["id"] = np.repeat(np.arange(30.0), 10)
    seen = []
    from catbayes.estimators import _fitting

    grow = _fitting.grow
    monkeypatch.setattr(_fitting, "grow", lambda model, job: seen.append(job) or grow(model, job))
    encoder = SamplingBayesianEncoder(own_target="cross_fit", cv=GroupKFold(3))
    model = SamplingRegressor(HistGradientBoostingRegressor(early_stopping=True, max_iter=20), encoder, n_draws=2)
    model.set_params(fit_with="copies").fit(X, y, groups=X["id"])
    assert not set(seen[0].feed(0)[:, -1]) & set(seen[0].held_out[0][:, -1])


def test_automatic_early_stopping_counts_rows_and_not_copies():
    X, y = make_table(1000)
    model = SamplingRegressor(HistGradientBoostingRegressor(max_iter=15), fit_with="copies", n_draws=15).fit(X, y)
    assert not model.estimator_.do_early_stopping_
    assert model.estimator_.n_iter_ == 15


def test_estimators_that_would_part_copies_are_refused_and_auto_avoids_them():
    X, y = make_table(200)
    searching = LogisticRegressionCV(Cs=2, max_iter=1000, use_legacy_attributes=False, l1_ratios=(0,))
    with pytest.raises(InputError, match=r'makes folds of its own.*"members"'):
        SamplingClassifier(searching, fit_with="copies").fit(X, y > 0)
    assert SamplingClassifier(searching, n_draws=2).fit(X, y > 0).fit_with_ == "members"
    with pytest.raises(InputError, match=r'out of bag.*"members", or "rounds"'):
        SamplingClassifier(RandomForestClassifier(oob_score=True), fit_with="copies").fit(X, y > 0)
    inside = TransformedTargetRegressor(
        HistGradientBoostingRegressor(max_iter=5)
    )  # stops by itself from 10,001 rows on
    with pytest.raises(InputError, match="holds rows out by itself"):
        SamplingRegressor(inside, fit_with="copies").fit(X, y)
    assert SamplingRegressor(inside, n_draws=2).fit(X, y).fit_with_ == "members"


def test_estimators_without_weights_get_unweighted_copies_and_a_warning():
    X, y = make_table(200)
    with pytest.warns(InputWarning, match=r'KNeighborsClassifier takes no sample_weight.*"members"'):
        SamplingClassifier(KNeighborsClassifier(), fit_with="copies", n_draws=3).fit(X, y > 0)
    with pytest.warns(InputWarning, match="learns from all rows alike"):
        SamplingClassifier(KNeighborsClassifier(), n_draws=3).fit(X, y > 0, sample_weight=np.ones(200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SamplingClassifier(KNeighborsClassifier(), n_draws=2).fit(X, y > 0).fit_with_ == "members"


# ---------------------------------------------------------------------------------- tables and targets


@pytest.mark.parametrize("fit_with", WAYS)
@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"], [False, True], [1.0, 2.0], [7, 3, 5]])
def test_labels_of_any_kind(labels, fit_with):
    X, y = make_table()
    y = np.array(labels)[np.searchsorted(np.quantile(y, np.arange(1, len(labels)) / len(labels)), y)]
    model = SamplingClassifier(RandomForestClassifier(30), fit_with=fit_with, n_draws=3, random_state=0).fit(X, y)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert model.classes_.tolist() == sorted(set(labels))
    np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("fit_with", WAYS)
def test_targets_far_from_zero(fit_with):
    """Near 1e9 a forest rounds features to multiples of 64: it must be given differences."""
    X, y = make_table()
    estimator = RandomForestRegressor(20, random_state=0)
    near, far = (
        SamplingRegressor(estimator, fit_with=fit_with, n_draws=3, random_state=0).fit(X, shift + 100 * y).predict(X)
        for shift in (0.0, 1e9)
    )
    assert np.corrcoef(near, far - 1e9)[0, 1] > 0.97
    assert np.abs(near - (far - 1e9)).mean() < 30  # of a standard deviation of 200


@pytest.mark.parametrize("fit_with", WAYS)
def test_unseen_and_missing_categories_are_predicted(fit_with):
    X, y = make_table()
    X.loc[:40, "city"] = None
    model = SamplingRegressor(RandomForestRegressor(20), fit_with=fit_with, n_draws=5, random_state=0).fit(X, y)
    new = pandas.DataFrame({"city": ["never", None, "c1"], "shop": ["s1"] * 3, "number": [0.0] * 3})
    mean, spread = model.predict(new, return_std=True)
    assert np.isfinite(mean).all()
    assert spread[0] > spread[1]  # 41 rows have no city, none has this one


def test_containers_give_the_same_model():
    X, y = make_table()
    models = [SamplingRegressor(Ridge(), random_state=0).fit(table, y) for table in (X, polars.from_pandas(X))]
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(polars.from_pandas(X)), rtol=1e-12)
    cells = X.to_numpy(dtype=object)  # the column of numbers is found among the objects
    model = SamplingRegressor(Ridge(), random_state=0).fit(cells, y)
    assert model.encoder_.columns_ == [0, 1]
    np.testing.assert_allclose(model.predict(cells), models[0].predict(X), rtol=1e-9)


def test_a_table_without_categories_is_fitted_as_it_is_and_says_so():
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0)
    for table in (X, pandas.DataFrame(X, columns=["a", "b"])):
        with pytest.warns(InputWarning, match=r"nothing to encode.*columns=\["):
            model = SamplingRegressor(Ridge()).fit(table, y)
        assert model.encoder_ is None
        np.testing.assert_allclose(model.predict(table), Ridge().fit(X, y).predict(X))


def test_a_column_that_is_neither_category_nor_number_is_named():
    X, y = make_table(60)
    X["day"] = pandas.date_range("2026-01-01", periods=60)
    with pytest.raises(InputError, match="'day' is not encoded and holds no numbers"):
        SamplingRegressor(Ridge()).fit(X, y)
    with pytest.raises(InputError, match="'shop' is not encoded and holds no numbers"):
        SamplingRegressor(Ridge(), SamplingBayesianEncoder(["city"])).fit(X[["city", "shop"]], y)


# ---------------------------------------------------------------------------------------- scikit-learn


def test_nested_parameters_reach_the_default_parts():
    X, y = make_table(200)
    grid = {"encoder__prior": ["empirical", 1e-3], "estimator__max_depth": [2, 3], "n_draws": [2]}
    search = GridSearchCV(SamplingRegressor(random_state=0), grid, cv=2).fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert search.best_estimator_.estimator_.max_depth == search.best_params_["estimator__max_depth"]


@pytest.mark.parametrize("fit_with", WAYS)
def test_a_row_of_weight_zero_does_not_count(fit_with):
    X, y = make_table()
    weight = (np.arange(600) < 400).astype(float)
    estimator = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=1) if fit_with == "rounds" else Ridge()
    model = SamplingRegressor(estimator, fit_with=fit_with, n_draws=3, random_state=0)
    spoilt = y + 100 * (weight == 0)
    np.testing.assert_allclose(model.fit(X, y, weight).predict(X), model.fit(X, spoilt, weight).predict(X), rtol=1e-6)
    assert np.abs(model.fit(X, spoilt).predict(X) - model.fit(X, y).predict(X)).max() > 1


def test_parameters_of_fit_are_routed_to_the_estimator():
    X, y = make_table(300)
    seen = {}

    class Recorder(Ridge):
        def fit(self, X, y, sample_weight=None, price=None):
            seen.update(price=price, weight=sample_weight)
            return super().fit(X, y, sample_weight)

    model = SamplingRegressor(Recorder(), fit_with="copies", n_draws=2)
    model.fit(X, y, price=np.arange(300))
    np.testing.assert_array_equal(seen["price"], np.tile(np.arange(300), 2))
    with config_context(enable_metadata_routing=True):
        routed = SamplingRegressor(Recorder().set_fit_request(price=True), fit_with="members", n_draws=2)
        routed.fit(X, y, sample_weight=np.ones(300), price=np.arange(300))
        np.testing.assert_array_equal(seen["price"], np.arange(300))
        with pytest.raises(Exception, match="price"):
            SamplingRegressor(Recorder(), fit_with="members", n_draws=2).fit(X, y, price=np.arange(300))


def test_one_class_is_not_enough():
    X, y = make_table(100)
    for table in (X, X[["number"]].to_numpy()):
        with pytest.raises(InputError, match="only one class"):
            SamplingClassifier().fit(table, y > 0, sample_weight=(y > 0).astype(float))
        with pytest.raises(InputError, match="only one class"):
            SamplingClassifier().fit(table, np.full(100, "same"))


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC(), KNeighborsClassifier()], ids=repr)
def test_a_class_without_weight_is_known_and_never_predicted(estimator):
    X, y = make_table()
    named = np.array(["a", "b", "c"])[np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        model = SamplingClassifier(estimator, n_draws=2, random_state=0).fit(X, named, (named != "b").astype(float))
    assert model.classes_.tolist() == ["a", "b", "c"]
    predicted = model.predict(X)
    assert "b" not in predicted
    assert (predicted == named)[named != "b"].mean() > 0.8
    if hasattr(model, "predict_proba"):
        assert (model.predict_proba(X)[:, 1] == 0).all()


def test_weights_reach_the_last_step_of_a_pipeline():
    X, y = make_table(300)
    weight = np.random.default_rng(0).uniform(0.1, 5, 300)
    piped = SamplingRegressor(make_pipeline(StandardScaler(), Ridge(1e-9)), n_draws=2, random_state=0)
    plain = SamplingRegressor(Ridge(1e-9), n_draws=2, random_state=0)
    np.testing.assert_allclose(piped.fit(X, y, weight).predict(X), plain.fit(X, y, weight).predict(X), rtol=1e-6)


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


def test_a_validation_table_as_long_as_the_training_table_is_left_alone():
    X, y = make_table()
    seen = []

    class Recorder(HistGradientBoostingRegressor):
        def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None):
            seen.append((X_val[:, -1], y_val))
            return super().fit(X, y, sample_weight, X_val=X_val, y_val=y_val)

    model = SamplingRegressor(Recorder(max_iter=3), fit_with="copies", n_draws=2)
    model.fit(X[:300], y[:300], (np.arange(300) % 3 > 0).astype(float), X_val=X[300:], y_val=y[300:])
    np.testing.assert_array_equal(seen[0][0], X["number"][300:])
    np.testing.assert_array_equal(seen[0][1], y[300:])


def test_importances_and_coefficients_have_names_and_can_be_averaged_by_column():
    X, y = make_table()
    encoder = SamplingBayesianEncoder(mapping="polynomial")
    model = SamplingRegressor(RandomForestRegressor(10), encoder, random_state=0).fit(X, y)
    names = ["city_mean", "city_square", "shop_mean", "shop_square", "number"]
    assert model.get_feature_names_out().tolist() == names
    by_column = model.by_column(model.feature_importances_)
    assert list(by_column) == ["city", "shop", "number"]
    assert by_column["city"] == pytest.approx(model.feature_importances_[:2].mean())
    assert not hasattr(model, "coef_")
    linear = SamplingRegressor(Ridge(), random_state=0).fit(X, y)
    assert linear.coef_.shape == (3,)
    assert not hasattr(linear, "feature_importances_")


def test_a_classifier_without_probabilities_averages_its_scores():
    X, y = make_table()
    model = SamplingClassifier(LinearSVC(), n_draws=3, random_state=0).fit(X, y > 0)
    assert not hasattr(model, "predict_proba")
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    assert hasattr(SamplingClassifier(), "predict_proba")
    pairs = SamplingClassifier(SVC(decision_function_shape="ovo"), n_draws=2, random_state=0)  # a score for each pair
    thirds = np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
    assert pairs.fit(X, thirds).score(X, thirds) > 0.6
    assert not hasattr(pairs, "decision_function")


@pytest.mark.parametrize("labels", [["9", "10"], ["8", "9", "10", "11", "100"], ["+1", "-1"]])
def test_labels_that_look_like_numbers_keep_their_order(labels):
    """CatBoost sorts them as numbers."""
    X, y = make_table()
    named = np.array(labels)[np.searchsorted(np.quantile(y, np.arange(1, len(labels)) / len(labels)), y)]
    booster = CatBoostClassifier(iterations=40, learning_rate=0.3, **SILENT)
    assert SamplingClassifier(booster, n_draws=2, random_state=0).fit(X, named).score(X, named) > 1.5 / len(labels)


def test_weights_of_classes_go_by_the_labels():
    X, y = make_table()
    named = np.where(y > 0, "yes", "no")
    heavy, light = (
        SamplingClassifier(LogisticRegression(class_weight={"yes": w, "no": 1.0}), n_draws=2, random_state=0)
        .fit(X, named)
        .predict_proba(X)[:, 1]
        .mean()
        for w in (10.0, 0.1)
    )
    assert heavy > 0.7 > 0.3 > light


@pytest.mark.parametrize(
    "estimator",
    [
        HistGradientBoostingClassifier(early_stopping=True, max_iter=20, validation_fraction=0.3),
        GradientBoostingClassifier(n_iter_no_change=3, n_estimators=20, validation_fraction=0.3),
        make_pipeline(StandardScaler(), SGDClassifier(early_stopping=True, validation_fraction=0.3)),
    ],
    ids=lambda e: type(e[-1] if hasattr(e, "steps") else e).__name__,
)
def test_a_class_of_one_row_is_never_held_out(estimator):
    X, y = make_table(120)
    named = np.where(y > 0, "d", "a").astype(object)
    named[5] = "c"
    for seed in range(6):
        for fit_with in ("copies", "rounds"):
            model = SamplingClassifier(estimator, fit_with=fit_with, n_draws=2, random_state=seed).fit(X, named)
            assert model.score(X, named) > 0.6


def test_a_validation_table_of_other_columns_is_refused():
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


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_draws": 0}, "n_draws=0: expected a whole number ≥ 1"),
        ({"fit_with": "copy"}, 'fit_with=\'copy\': expected one of "auto", "copies", "members", "rounds"'),
        ({"predict_with": "median"}, "predict_with='median': expected one of"),
        ({"estimator": Ridge}, "expected a scikit-learn estimator or Pipeline"),
        ({"encoder": StandardScaler()}, "expected a SamplingBayesianEncoder"),
        ({"encoder": SamplingBayesianEncoder(family="normal")}, "a classifier has classes"),
        ({"encoder": SamplingBayesianEncoder(family=NormalGamma)}, "a classifier has classes"),
        ({"estimator": Ridge()}, "does the other task"),
    ],
)
def test_settings_that_make_no_sense_say_so(setting, message):
    X, y = make_table(50)
    with pytest.raises(InputError, match=message):
        SamplingClassifier(**setting).fit(X, y > 0)


# --------------------------------------------------------------------------------------------- intervals


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_the_interval_covers_the_prediction_at_the_true_means(coverage):
    """Its claim: where the model's answer would lie if it knew the true mean of the category."""
    inside, rows = 0, 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        truth = random.normal(size=200)
        code = random.integers(0, 200, 1500)
        y = truth[code] + 2 * random.normal(size=1500)
        X = pandas.DataFrame({"city": np.char.add("c", code.astype(str))})
        model = SamplingRegressor(LinearRegression(), n_draws=5, random_state=seed).fit(X, y)
        new = pandas.DataFrame({"city": np.char.add("c", np.arange(200).astype(str))})
        lower, upper = model.predict_interval(new, coverage)
        usual = model.encoder_.transform([["unseen"]])  # what the features of a numeric target are measured from
        known = model.estimator_.predict(truth[:, None] - usual)
        inside += ((lower <= known) & (known <= upper)).sum()
        rows += 200
    assert inside / rows == pytest.approx(coverage, abs=0.03)


def test_the_interval_of_a_probability_covers_the_true_rate_when_the_model_returns_it():
    """A model that gives the drawn rate back as its probability has the posterior interval of the rate."""
    inside, rows = 0, 0

    class Returns(LogisticRegression):
        def predict_proba(self, X):
            return np.column_stack([1 - X[:, 0], X[:, 0]])

    for seed in range(20):
        random = np.random.default_rng(seed)
        truth = random.beta(2, 6, 200)
        code = random.integers(0, 200, 1500)
        y = random.random(1500) < truth[code]
        X = pandas.DataFrame({"city": np.char.add("c", code.astype(str))})
        model = SamplingClassifier(Returns(), n_draws=3, random_state=seed).fit(X, y)
        new = pandas.DataFrame({"city": np.char.add("c", np.arange(200).astype(str))})
        lower, upper = model.predict_interval(new, 0.8)
        inside += ((lower[:, 1] <= truth) & (truth <= upper[:, 1])).sum()
        rows += 200
    assert inside / rows == pytest.approx(0.8, abs=0.03)


def test_the_interval_holds_at_any_temperature_of_the_draws():
    X, y = make_table()
    cold, warm = (
        SamplingRegressor(Ridge(), SamplingBayesianEncoder(temperature=t), random_state=0).fit(X, y) for t in (0.3, 1.0)
    )
    widths = [np.diff(model.predict_interval(X), axis=0).mean() / model.coef_[0] for model in (cold, warm)]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)
    assert cold.predict(X, return_std=True)[1].mean() > 0.5 * warm.predict(X, return_std=True)[1].mean()


def test_the_interval_of_a_row_alone_is_that_of_the_batch():
    X, y = make_table()
    model = SamplingRegressor(Ridge(), random_state=0).fit(X, y)
    batch, alone = model.predict_interval(X), model.predict_interval(X[7:8])
    np.testing.assert_allclose([bound[7] for bound in batch], [bound[0] for bound in alone], rtol=1e-12)


def test_rare_categories_have_wide_intervals_and_probabilities_stay_in_range():
    random = np.random.default_rng(0)
    city = np.concatenate([np.repeat("often", 500), np.repeat("rare", 3)])
    X = pandas.DataFrame({"city": np.concatenate([city, np.repeat([f"c{i}" for i in range(50)], 10)])})
    y = random.random(len(X)) < 0.3
    model = SamplingClassifier(LogisticRegression(), SamplingBayesianEncoder(prior=1e-3), random_state=0).fit(X, y)
    lower, upper = model.predict_interval(pandas.DataFrame({"city": ["often", "rare", "new"]}))
    width = (upper - lower)[:, 1]
    assert width[0] < width[1] < width[2]
    assert (lower >= 0).all()
    assert (upper <= 1).all()


# ----------------------------------------------------------------------------------------- Appendix A


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_over_draws_is_that_of_the_average_and_the_penalty(weighted):
    X, y = make_table()
    weight = np.random.default_rng(0).uniform(size=600) if weighted else None
    model = SamplingRegressor(Ridge(), n_draws=7, random_state=0).fit(X, y)
    parts = decompose_loss(model, X, y, weight)
    draws = model.predict_draws(X)
    total = np.average(np.mean((y - draws) ** 2, axis=0), weights=weight)
    assert parts.total == pytest.approx(total, rel=1e-12)
    assert parts.of_average == pytest.approx(np.average((y - model.predict(X)) ** 2, weights=weight), rel=1e-12)
    assert parts.penalty == pytest.approx(np.average(draws.var(axis=0), weights=weight), rel=1e-9)
    assert sum(parts.shares.values()) == pytest.approx(parts.penalty, rel=1e-9)


def test_shares_of_a_linear_model_are_the_variances_of_its_columns():
    X, y = make_table(n_rows=3000, n_categories=300)
    model = SamplingRegressor(LinearRegression(), DRAWN, n_draws=200, fit_with="members", random_state=0)
    model.set_params(n_draws=2).fit(X, y)
    model.estimators_ = model.estimators_[:1]
    model._draws = category_draws(model.encoder_, 500)
    parts = decompose_loss(model, X, y)
    for number, column in enumerate(model.encoder_.columns_fitted_):
        codes = column.posterior.categories.codes(X[column.name])
        variance = column.posterior.posterior.variance()[codes, 0].mean() * model.coef_[number] ** 2
        assert parts.shares[column.name] == pytest.approx(variance, rel=0.1)
    assert list(model.predict_draws(X[:3], columns=["shop"]).shape) == [500, 3]
    with pytest.raises(InputError, match="'number' is not encoded"):
        model.predict_draws(X, columns=["number"])


def test_what_members_disagree_by_is_no_share_of_a_column():
    X, y = make_table()
    tree = DecisionTreeRegressor(max_features=1, max_depth=4)
    model = SamplingRegressor(tree, fit_with="members", n_draws=5, random_state=0).fit(X, y)
    parts = decompose_loss(model, X, y)
    alone = model.predict_draws(X, columns=[]).var(axis=0).mean()
    assert parts.between_members == pytest.approx(alone, rel=1e-9)
    assert sum(parts.shares.values()) + parts.between_members == pytest.approx(parts.penalty, rel=1e-9)


def test_targets_that_do_not_fit_are_refused_by_the_loss():
    X, y = make_table()
    model = SamplingRegressor(Ridge(), random_state=0).fit(X, y)
    assert decompose_loss(model, X, y[:, None]).total == decompose_loss(model, X, y).total
    with pytest.raises(InputError, match="expected one for each row"):
        decompose_loss(model, X, y[:1])
    labels = SamplingClassifier(LogisticRegression(), n_draws=2).fit(X, y > 0)
    with pytest.raises(InputError, match="not fitted on"):
        decompose_loss(labels, X, ["maybe"] * 600)


def test_the_log_loss_splits_likewise():
    X, y = make_table()
    labels = np.array(["no", "yes"])[(y > 0).astype(int)]
    model = SamplingClassifier(LogisticRegression(), n_draws=6, random_state=0).fit(X, labels)
    parts = decompose_loss(model, X, labels)
    own = model.predict_draws(X)[:, np.arange(600), (y > 0).astype(int)]
    assert parts.total == pytest.approx(-np.log(own).mean(), rel=1e-12)
    assert parts.of_average == pytest.approx(-np.log(own.mean(axis=0)).mean(), rel=1e-12)
    assert parts.penalty > 0
    assert sum(parts.shares.values()) == pytest.approx(parts.penalty, rel=1e-9)


# ------------------------------------------------------------------------------------------ long fits


@pytest.mark.parametrize("fit_with", WAYS)
def test_verbose_tells_how_far_it_is_and_silence_is_the_default(fit_with, capsys):
    X, y = make_table(200)
    model = SamplingRegressor(RandomForestRegressor(10), fit_with=fit_with, n_draws=3)
    model.fit(X, y)
    assert capsys.readouterr().out == ""
    model.set_params(verbose=1).fit(X, y)
    assert "[SamplingRegressor]" in capsys.readouterr().out


@pytest.mark.parametrize("fit_with", WAYS)
def test_an_interruption_leaves_the_model_as_it_was(fit_with):
    X, y = make_table(200)
    model = SamplingRegressor(RandomForestRegressor(10, random_state=0), fit_with=fit_with, n_draws=3, random_state=0)
    before = model.fit(X, y).predict(X)

    class Interrupted(RandomForestRegressor):
        def fit(self, X, y, sample_weight=None):
            raise KeyboardInterrupt

    model.set_params(estimator=Interrupted(10))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:100], y[:100])
    np.testing.assert_array_equal(model.predict(X), before)


def test_members_in_parallel_are_the_same_and_leave_nothing_running():
    X, y = make_table()
    children = len(multiprocessing.active_children())
    one, two = (
        SamplingRegressor(
            MLPRegressor(hidden_layer_sizes=4, max_iter=5), fit_with="members", n_draws=4, n_jobs=n_jobs, random_state=0
        )
        .fit(X, y)
        .predict(X)
        for n_jobs in (1, 2)
    )
    np.testing.assert_allclose(one, two, rtol=1e-12)
    assert len(multiprocessing.active_children()) == children


def test_a_scaler_does_not_make_doubt_of_a_column_without_signal():
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"noise": random.choice(list("abcdefghij"), 3_000), "size": random.normal(size=3_000)})
    y = random.binomial(1, expit(table["size"]))
    model = SamplingClassifier(make_pipeline(StandardScaler(), LogisticRegression()), random_state=0).fit(table, y)
    _, spread = model.predict_proba(table, return_std=True)
    assert spread.max() < 0.1
    lower, upper = model.predict_interval(table)
    assert (upper - lower).max() < 0.2
