"""SamplingClassifier and SamplingRegressor predict the average over draws, or what comes near it."""

import numpy as np
import pandas
import pytest
from lightgbm import LGBMClassifier
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from catbayes import InputError, SamplingBayesianEncoder, SamplingClassifier, SamplingRegressor, Scaled
from sales import DRAWN, PLAIN, WAYS, make_table


class Reads(RegressorMixin, BaseEstimator):
    """Answers by a function of the encoded columns, whatever it was fitted on."""

    def __init__(self, function):
        self.function = function

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return self.function(X[:, :2])


def usual(model, X):
    """What the features of a numeric target are measured from: those of categories that were not seen."""
    return model.encoder_.transform(X[:1].assign(city="unseen", shop="unseen"))[0, :2]


def test_draws_of_a_linear_model_converge_to_the_mean_at_the_rate_of_strata():
    X, y = make_table()
    errors = []
    for n_draws in (4, 16, 64, 256):
        model = SamplingRegressor(LinearRegression(), DRAWN, predict_with=n_draws, random_state=0).fit(X, y)
        gap = model.predict(X) - model.set_params(predict_with="mean").predict(X)
        errors.append(np.sqrt(np.mean(gap**2)))
    slope = np.polyfit(np.log([4, 16, 64, 256]), np.log(errors), 1)[0]
    assert slope < -0.9  # Monte Carlo has -½; a Latin hypercube of a sum of columns does better
    assert errors[-1] < 0.01 * y.std()


@pytest.mark.parametrize("way", [3, 40, "mean", "taylor"])
def test_predict_with_may_be_set_after_the_fit(way):
    X, y = make_table()
    model = SamplingRegressor(make_pipeline(StandardScaler(), Ridge()), DRAWN, random_state=0)
    later = clone(model).fit(X, y).set_params(predict_with=way)
    np.testing.assert_array_equal(later.predict(X), model.set_params(predict_with=way).fit(X, y).predict(X))


@pytest.mark.calibration
@pytest.mark.parametrize("link", ["identity", "logistic"])
def test_strata_need_a_quarter_of_the_independent_draws_at_most(link):
    """The error of 10 stratified draws is at most that of 40 independent ones, on average over seeds and rows."""
    X, y = make_table()
    f = {"identity": lambda z: z, "logistic": expit}[link]
    model = SamplingRegressor(Reads(lambda features: f(features.sum(axis=1))), n_draws=1, predict_with=10, **PLAIN)
    truth = clone(model).set_params(predict_with=2_000, random_state=0).fit(X, y).predict(X[:50])
    stratified, independent = [], []
    for seed in range(30):
        few = model.set_params(random_state=seed).fit(X, y).predict(X[:50])
        many = f((model.encoder_.sample(X[:50], 40)[..., :2] - usual(model, X)).sum(axis=-1)).mean(axis=0)
        stratified.append((few - truth) ** 2)
        independent.append((many - truth) ** 2)
    assert np.mean(stratified) < np.mean(independent)


@pytest.mark.parametrize("column", ["city", "shop"])
def test_the_draws_of_a_category_have_the_moments_of_its_posterior(column):
    X, y = make_table()
    number, drawn = list(X).index(column), clone(DRAWN).set_params(prior=Scaled(1))  # whose doubt is all in the draws
    model = SamplingRegressor(Reads(lambda features: features[:, number]), drawn, n_draws=1, random_state=0)
    model.fit(X, y)
    believed = model.encoder_.posteriors_[column]
    new = pandas.DataFrame({"city": "c0", "shop": "s0", "number": 0.0, column: believed["category"].fillna("unseen")})
    draws = model.predict_draws(new, n_draws=2_000) + usual(model, X)[number]
    assert np.abs((draws.mean(axis=0) - believed["mean"]) / believed["sd"]).max() < 0.01
    np.testing.assert_allclose(draws.std(axis=0), believed["sd"], rtol=0.1)


@pytest.mark.filterwarnings("ignore:FrozenEstimator takes no sample_weight")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("exact", [True, False])
def test_taylor_beats_the_mean_for_a_logistic_model(classes, exact):
    """Against the average over 2,000 draws; in a pipeline the correction goes by finite differences."""
    X, y = make_table(n_rows=300, n_categories=60, seed=1)
    y = np.searchsorted(np.quantile(y, np.arange(1, classes) / classes), y)
    estimator = LogisticRegression(C=100, max_iter=5000)
    if not exact:
        estimator = make_pipeline(StandardScaler(with_mean=False, with_std=False), estimator)
    model = SamplingClassifier(estimator, n_draws=5, random_state=0, **PLAIN).fit(X, y)
    fitted = FrozenEstimator(model.estimator_)
    truth = SamplingClassifier(fitted, n_draws=1, predict_with=2_000, random_state=0, **PLAIN).fit(X, y)
    truth = truth.predict_draws(X[:40], n_draws=2_000).mean(axis=0)
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
    model = SamplingRegressor(Ridge(), fit_with="members", n_draws=4, random_state=0, **PLAIN).fit(X, y)
    assert len(model.estimators_) == 4
    draws = SamplingBayesianEncoder(family="normal", random_state=model.encoder_.random_state).fit_draws(X, y)
    for k, member in enumerate(model.estimators_):
        np.testing.assert_allclose(member.coef_, Ridge().fit(draws.features(k), y).coef_, rtol=1e-9)
    np.testing.assert_allclose(model.coef_, np.mean([member.coef_ for member in model.estimators_], axis=0))
    expected = model.encoder_.transform(X)
    expected[:, :2] -= model.encoder_.transform(X.assign(city="unseen", shop="unseen"))[:, :2]
    of_members = [member.predict(expected) for member in model.estimators_]
    np.testing.assert_allclose(model.predict_draws(X, columns=[], n_draws=4), of_members)
    np.testing.assert_allclose(model.set_params(predict_with="mean").predict(X), np.mean(of_members, axis=0))
    with pytest.raises(AttributeError, match="4 fitted members"):
        _ = model.estimator_


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
