"""Fitting on draws and in batches: copies keep every meaning, long fits can be watched, interrupted and shared out."""

import io
import warnings

import numpy as np
import pytest
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegressionCV, Ridge, SGDClassifier, SGDRegressor
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBRegressor

import catbayes
from catbayes import (
    InputError,
    InputWarning,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
)
from sales import SILENT, WAYS, IgnoresTheCategory, make_table, noise_category

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


@pytest.mark.parametrize("estimator", DETERMINISTIC, ids=repr)
def test_a_model_that_ignores_the_category_does_not_notice_copies(estimator):
    X, y = noise_category()
    blind = make_pipeline(IgnoresTheCategory(), estimator)
    one, twenty = (
        SamplingRegressor(blind, fit_with="copies", n_draws=n_draws, random_state=0).fit(X, y) for n_draws in (1, 20)
    )
    np.testing.assert_allclose(twenty.predict(X), one.predict(X), atol=1e-6)


FORESTS = [
    RandomForestRegressor(30, min_samples_leaf=10, random_state=0),
    RandomForestRegressor(30, min_samples_leaf=0.02, random_state=0),
    RandomForestRegressor(30, min_samples_leaf=5, max_samples=0.5, random_state=0),
    RandomForestRegressor(30, min_samples_leaf=10, bootstrap=False, max_features=0.5, random_state=0),
    ExtraTreesRegressor(30, min_samples_leaf=10, bootstrap=True, random_state=0),
    BaggingRegressor(DecisionTreeRegressor(min_samples_leaf=10), 30, random_state=0),
    BaggingRegressor(DecisionTreeRegressor(min_samples_leaf=5), 30, max_samples=0.5, bootstrap=False, random_state=0),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("forest", FORESTS, ids=str)
def test_trees_of_an_ensemble_stay_as_large_as_they_are_without_copies(forest, weighted):
    """Leaves hold so many rows, however many copies of a row there are in a bag."""
    X, y = make_table(1_000)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, len(y)) if weighted else None
    blind = make_pipeline(IgnoresTheCategory(), forest)
    leaves = []
    for n_draws in (1, 4):
        model = SamplingRegressor(blind, fit_with="copies", n_draws=n_draws, random_state=0)
        trees = model.fit(X, y, sample_weight=weight).estimator_[-1].estimators_
        leaves.append(np.mean([tree.get_n_leaves() for tree in trees]))
    assert leaves[1] == pytest.approx(leaves[0], rel=0.15)


def test_estimators_that_would_part_copies_are_refused_and_auto_avoids_them():
    X, y = make_table(200)
    searching = LogisticRegressionCV(Cs=2, max_iter=1000, use_legacy_attributes=False, l1_ratios=(0,))
    with pytest.raises(InputError, match=r'makes folds of its own.*"members"'):
        SamplingClassifier(searching, fit_with="copies").fit(X, y > 0)
    assert SamplingClassifier(searching, n_draws=2).fit(X, y > 0).fit_with_ == "members"
    with pytest.raises(InputError, match=r'out of bag.*"members", or "rounds"'):
        SamplingClassifier(RandomForestClassifier(oob_score=True), fit_with="copies").fit(X, y > 0)
    inside = TransformedTargetRegressor(HistGradientBoostingRegressor(max_iter=5))  # may stop by itself
    with pytest.raises(InputError, match="holds rows out by itself"):
        SamplingRegressor(inside, fit_with="copies").fit(X, y)
    assert SamplingRegressor(inside, n_draws=2).fit(X, y).fit_with_ == "members"


@pytest.mark.parametrize(("estimator", "way"), [(Ridge(), "copies"), (SGDRegressor(), "rounds")], ids=str)
def test_auto_is_copies_but_for_models_that_pass_over_the_table_many_times(estimator, way):
    assert SamplingRegressor(estimator, random_state=0).fit(*make_table(100)).fit_with_ == way


def test_estimators_without_weights_get_unweighted_copies_and_a_warning():
    X, y = make_table(200)
    with pytest.warns(InputWarning, match=r'KNeighborsClassifier takes no sample_weight.*"members"'):
        SamplingClassifier(KNeighborsClassifier(), fit_with="copies", n_draws=3).fit(X, y > 0)
    with pytest.warns(InputWarning, match="learns from all rows alike"):
        SamplingClassifier(KNeighborsClassifier(), n_draws=3).fit(X, y > 0, sample_weight=np.ones(200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SamplingClassifier(KNeighborsClassifier(), n_draws=2).fit(X, y > 0).fit_with_ == "members"


@pytest.mark.parametrize("fit_with", WAYS)
def test_a_row_of_weight_zero_does_not_count(fit_with):
    X, y = make_table()
    weight = (np.arange(600) < 400).astype(float)
    estimator = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=1) if fit_with == "rounds" else Ridge()
    model = SamplingRegressor(estimator, fit_with=fit_with, n_draws=3, random_state=0)
    spoilt = y + 100 * (weight == 0)
    np.testing.assert_allclose(model.fit(X, y, weight).predict(X), model.fit(X, spoilt, weight).predict(X), rtol=1e-6)
    assert np.abs(model.fit(X, spoilt).predict(X) - model.fit(X, y).predict(X)).max() > 1


@pytest.mark.parametrize("fit_with", WAYS)
def test_verbose_prints_progress_and_silence_is_the_default(fit_with, capsys):
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


# ------------------------------------------------------------------------------ batches

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


def test_a_model_of_batches_is_saved_and_goes_on():
    X, y = make_table(600)
    model = SamplingRegressor(SGDRegressor(), random_state=0).partial_fit(X[:300], y[:300])
    file = io.BytesIO()
    model.save(file)
    loaded = catbayes.load(file)
    for one in (model, loaded):
        one.partial_fit(X[300:], y[300:])
    np.testing.assert_allclose(loaded.predict(X), model.predict(X))


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
