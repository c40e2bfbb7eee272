"""A column of pure noise costs a model nothing, and an own target that is not hidden costs it dearly."""

from functools import cache

import numpy as np
import pandas
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from catbayes import SamplingBayesianEncoder, SamplingClassifier, Scaled

MODELS = {
    "linear": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": lambda: RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    "boosted": lambda: LGBMClassifier(n_estimators=60, verbose=-1, n_jobs=1, random_state=0),
}
N_TRAIN, N_TABLES = 3000, 5


def noise_table(rows_per_category, seed):
    """Three numbers, two of which matter, and a category that means nothing; twice as many rows, half to test on."""
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(2 * N_TRAIN, 3))
    y = (random.random(2 * N_TRAIN) < 1 / (1 + np.exp(-numbers @ [1.0, 0.5, 0.0]))).astype(int)
    category = random.permutation(np.arange(2 * N_TRAIN) // (2 * rows_per_category))
    return numbers, category[:, None], y


@cache
def auc_without(model, seed):
    """Test AUC without the noise, which has no part in the numbers and the target."""
    numbers, _, y = noise_table(1, seed)
    fitted = MODELS[model]().fit(numbers[:N_TRAIN], y[:N_TRAIN])
    return roc_auc_score(y[N_TRAIN:], fitted.predict_proba(numbers[N_TRAIN:])[:, 1])


def auc_change(encode, model, rows_per_category):
    """Test AUC with the encoded noise less that without it, one number for each simulated table."""
    changes = []
    for seed in range(N_TABLES):
        numbers, category, y = noise_table(rows_per_category, seed)
        train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
        for_train, for_test = encode(category[train], y[train], category[test], seed)
        fitted = MODELS[model]().fit(np.c_[numbers[train], for_train], y[train])
        score = roc_auc_score(y[test], fitted.predict_proba(np.c_[numbers[test], for_test])[:, 1])
        changes.append(score - auc_without(model, seed))
    return np.array(changes)


def by_encoder(encoder_type=SamplingBayesianEncoder, **settings):
    def encode(train, y, test, seed):
        encoder = encoder_type("all", random_state=seed, **settings)
        return encoder.fit_transform(train, y), encoder.transform(test)

    return encode


def leave_one_out_mean(train, y, test, seed):
    """The deterministic encoding that gives y back: the mean of the other rows of the category."""
    codes, y = train[:, 0], np.asarray(y)
    total, count = np.bincount(codes, y, minlength=10_000), np.bincount(codes, minlength=10_000)
    mean = y.mean()
    others = (total[codes] - y + mean) / (count[codes] - 1 + 1)
    return others[:, None], ((total + mean) / (count + 1))[test[:, 0]][:, None]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "rows", [2, 100, *(pytest.param(rows, marks=pytest.mark.calibration) for rows in (1, 4, 20, 250))]
)
def test_a_noise_column_costs_nothing(rows, model):
    change = auc_change(by_encoder(), model, rows)
    assert change.mean() > -0.002 - 2 * change.std() / np.sqrt(N_TABLES)


@pytest.mark.parametrize(("fit_with", "model"), [("copies", "boosted"), ("members", "boosted"), ("rounds", "forest")])
@pytest.mark.parametrize("rows", [2, 20])
def test_nor_does_it_cost_a_model_that_is_trained_on_draws(rows, fit_with, model):
    change = []
    for seed in range(3):
        numbers, category, y = noise_table(rows, seed)
        X, train, test = np.c_[numbers, category], slice(0, N_TRAIN), slice(N_TRAIN, None)
        encoder = SamplingBayesianEncoder([3], prior=Scaled(1e-3))  # a prior that flattens nothing
        sampling = SamplingClassifier(MODELS[model](), encoder, n_draws=4, fit_with=fit_with, random_state=seed)
        score = roc_auc_score(y[test], sampling.fit(X[train], y[train]).predict_proba(X[test])[:, 1])
        change.append(score - auc_without(model, seed))
    assert np.mean(change) > -0.01


def test_the_papers_own_setting_pays_for_including_the_target():
    change = auc_change(by_encoder(own_target="include", prior=Scaled(1e-8)), "boosted", 2)
    assert change.mean() < -0.015
    assert auc_change(by_encoder(prior=Scaled(1e-8)), "boosted", 2).mean() > -0.005


@pytest.mark.parametrize("rows", [20, 100])
def test_a_deterministic_leave_one_out_mean_fails_the_same_test(rows):
    assert auc_change(leave_one_out_mean, "boosted", rows).mean() < -0.03


@pytest.mark.parametrize("rows", [1, 2, 20])
def test_outputs_that_are_not_drawn_are_taken_from_other_folds(rows):
    for encode in (
        by_encoder(mapping="mean_precision", prior=Scaled(1e-3)),
        by_encoder(mapping="moments", prior=Scaled(1e-3)),
    ):
        change = auc_change(encode, "boosted", rows)
        assert change.mean() > -0.004 - 2 * change.std() / np.sqrt(N_TABLES)


# --------------------------------------------- where a draw is too narrow to hide the step, folds take over


def within_category(feature, category, values):
    """Correlation with the feature inside the categories: what a model that tells them apart could read off."""
    table = pandas.DataFrame({"feature": feature, "value": values, "category": category})
    centred = table[["feature", "value"]] - table.groupby("category")[["feature", "value"]].transform("mean")
    return np.corrcoef(centred["feature"], centred["value"])[0, 1]


@pytest.mark.parametrize("weight", [1.0, 100.0, 1e5])
def test_heavy_weights_do_not_give_the_target_back(weight):
    random = np.random.default_rng(0)
    category, y = random.integers(0, 20, 4000), random.integers(0, 2, 4000)
    encoder = SamplingBayesianEncoder("all", random_state=0)
    feature = encoder.fit_transform(category[:, None], y, sample_weight=np.full(4000, weight))
    assert within_category(feature[:, 0], category, y) > -0.2


@pytest.mark.parametrize("mean", [2.0, 1e4])
def test_counts_that_vary_more_than_poissons_do_not_give_the_target_back(mean):
    random = np.random.default_rng(0)
    category, y = random.integers(0, 20, 4000), random.poisson(mean * random.gamma(1.0, 1.0, 4000))
    feature = SamplingBayesianEncoder("all", family="poisson", random_state=0).fit_transform(category[:, None], y)
    assert within_category(feature[:, 0], category, y) > -0.3


@pytest.mark.parametrize("kind", ["codes", "one_hot"])
def test_with_many_category_outputs_a_row_uses_earlier_rows_only(kind):
    random = np.random.default_rng(0)
    city, rate = np.tile([f"c{n}" for n in range(100)], 4), np.tile(random.choice([0.3, 0.7], 100), 4)
    y = random.binomial(1, rate)

    def features(own_target, most, **settings):
        kept = {"keep_categories": kind, "max_categories": most}
        encoder = SamplingBayesianEncoder(own_target=own_target, prior=Scaled(5), **kept, **settings)
        return encoder.set_params(random_state=0).fit_draws(pandas.DataFrame({"city": city}), y)

    hidden, ordered, few = features("exclude", None), features("ordered", None), features("exclude", 30)
    for k in range(3):
        np.testing.assert_array_equal(hidden.features(k), ordered.features(k))
    step = [within_category(draws.features(0)[:, 0], city, y) for draws in (hidden, few)]
    assert step[1] < step[0] - 0.05  # nobody is told of few's categories, whose own target leaves the larger step
    by_folds = features("exclude", None, temperature=0.1), features("cross_fit", None, temperature=0.1)
    np.testing.assert_array_equal(by_folds[0].features(0), by_folds[1].features(0))
