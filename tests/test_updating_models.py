"""Models that learn from batches: what they know in the end, what they must not see, and what they refuse."""

import io

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

import catbayes
from catbayes import (
    InputError,
    InputWarning,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
    Scaled,
)
from sales import make_table

ESTIMATORS = [
    SGDClassifier(loss="log_loss", alpha=0.01, random_state=0),
    MLPClassifier((8,), learning_rate_init=0.01, random_state=0),
    GaussianNB(),
]


def batches(X, y, size=200):
    for start in range(0, len(X), size):
        yield X[start : start + size], y[start : start + size]


def labelled(n_rows=3_000, seed=0):
    X, y = make_table(n_rows, seed=seed)
    return X, np.where(y > 0, "yes", "no")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_batches_teach_what_a_table_teaches(estimator):
    X, y = labelled()
    model = SamplingClassifier(estimator, random_state=0)
    for part in batches(X[:2_000], y[:2_000]):
        model.partial_fit(*part, classes=["no", "yes"])
    encoder = SamplingBayesianEncoder(random_state=0)  # which has seen all rows before the estimator sees any
    features, alone = encoder.fit_draws(X[:2_000], y[:2_000]).features(0), clone(estimator)
    for part in batches(features, y[:2_000]):
        alone.partial_fit(*part, classes=["no", "yes"])
    found = [model.predict_proba(X[2_000:]), alone.predict_proba(encoder.transform(X[2_000:]))]
    scores = [roc_auc_score(y[2_000:] == "yes", probability[:, 1]) for probability in found]
    assert scores[0] > scores[1] - 0.03
    same = SamplingBayesianEncoder(**model.encoder_.get_params()).fit(X[:2_000], y[:2_000])
    np.testing.assert_allclose(model.encoder_.transform(X[:50]), same.transform(X[:50]), rtol=1e-6)


def test_a_row_does_not_see_its_own_target():
    """Of categories that occur twice nothing can be learned: a model that saw targets would be sure of itself."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"user": np.tile(np.arange(2_000), 2).astype(str), "number": random.normal(size=4_000)})
    y = random.integers(0, 2, 4_000)
    model = SamplingClassifier(GaussianNB(), SamplingBayesianEncoder(prior=Scaled(0.001)), random_state=0)
    for part in batches(X, y, 500):
        model.partial_fit(*part)
    new = pd.DataFrame({"user": np.arange(2_000).astype(str), "number": random.normal(size=2_000)})
    assert log_loss(random.integers(0, 2, 2_000), model.predict_proba(new)) < np.log(2) + 0.02


def test_new_categories_and_order_of_draws():
    X, y = make_table(900)
    models = [SamplingRegressor(SGDRegressor(), random_state=seed) for seed in (0, 0, 1)]
    for model in models:
        for part in batches(X.assign(city=X["city"] + np.repeat(["old", "new"], 450)), y):
            model.partial_fit(*part)
    assert set(models[0].encoder_.posteriors_["city"]["category"].str[-3:].dropna()) >= {"old", "new"}
    found = [model.predict(X) for model in models]
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


def test_a_model_of_batches_is_saved_and_goes_on():
    X, y = make_table(600)
    model = SamplingRegressor(SGDRegressor(), random_state=0).partial_fit(X[:300], y[:300])
    file = io.BytesIO()
    model.save(file)
    loaded = catbayes.load(file)
    for one in (model, loaded):
        one.partial_fit(X[300:], y[300:])
    np.testing.assert_allclose(loaded.predict(X), model.predict(X))


def test_tables_without_categories_and_arrays_are_taken():
    X, y = make_table(600)
    with pytest.warns(InputWarning, match="nothing to encode"):
        model = SamplingRegressor(SGDRegressor(), random_state=0).partial_fit(X[["number"]], y)
    assert model.partial_fit(X[["number"]], y).predict(X[["number"]]).shape == (600,)
    array = X.to_numpy(object)
    model = SamplingRegressor(SGDRegressor(), random_state=0).partial_fit(array, y, sample_weight=np.ones(600))
    assert model.partial_fit(array, y).predict(array).shape == (600,)


def test_an_estimator_without_partial_fit_is_refused():
    assert not hasattr(SamplingRegressor(LGBMRegressor()), "partial_fit")
    with pytest.raises(AttributeError) as raised:
        SamplingRegressor(LGBMRegressor()).partial_fit(*make_table())
    assert "LGBMRegressor has no partial_fit, so that it cannot learn from more rows" in str(raised.value.__cause__)


@pytest.mark.parametrize(
    ("settings", "classes", "message"),
    [
        ({"fit_with": "members"}, None, 'partial_fit needs "auto" or "rounds"'),
        ({"encoder": SamplingBayesianEncoder(keep_categories="one_hot")}, None, "The encoder has keep_categories"),
        ({}, ["no", "perhaps", "yes"], r"The first batch has no rows of \['perhaps'\]"),
    ],
    ids=str,
)
def test_settings_that_need_all_rows_at_once_are_refused(settings, classes, message):
    with pytest.raises(InputError, match=message):
        SamplingClassifier(ESTIMATORS[0], **settings).partial_fit(*labelled(400), classes=classes)


def test_batches_that_do_not_go_with_the_first_are_refused():
    X, y = labelled(400)
    model = SamplingClassifier(ESTIMATORS[0], random_state=0).partial_fit(X, y)
    with pytest.raises(InputError, match=r"y holds \['perhaps'\], which the first batch had not"):
        model.partial_fit(X[:2], ["perhaps", "no"])
    with pytest.raises(InputError, match="start with partial_fit"):
        model.fit(X, y).partial_fit(X, y)
