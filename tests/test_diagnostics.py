"""A leak is found where there is one, and only there; shrinkage follows its closed form."""

import numpy as np
import pandas
import polars
import pytest
from category_encoders import LeaveOneOutEncoder
from scipy.stats import t as student
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.preprocessing import TargetEncoder

from catbayes import (
    BetaBernoulli,
    ConjugateMomentEncoder,
    DirichletCategorical,
    InputError,
    NormalGamma,
    SamplingBayesianEncoder,
    SamplingRegressor,
)
from catbayes.diagnostics import leakage, shrinkage
from catbayes.models.scoring import corrected_interval

LEAKING = SamplingBayesianEncoder(own_target="include", draws=0.0, prior=1e-3)  # an empirical one flattens noise


def noise(rows_per_category=4, n_rows=2000, seed=0):
    """A column that means nothing, and a target of three in ten."""
    random = np.random.default_rng(seed)
    codes = random.integers(n_rows // rows_per_category, size=n_rows)
    return codes[:, None], (random.random(n_rows) < 0.3).astype(int), random


class Oracle(TransformerMixin, BaseEstimator):
    """Gives y back in training, and knows nothing of new rows."""

    def fit(self, X, y):
        return self

    def fit_transform(self, X, y):
        return np.asarray(y, dtype=float)[:, None]

    def transform(self, X):
        return np.zeros((len(X), 1))


def test_an_encoding_that_is_the_target_has_a_gap_of_one_half():
    X, y, _ = noise(n_rows=300)
    found = leakage(Oracle(), X, y)
    for numbers, expected in ((found.trained, 1.0), (found.held_out, 0.5), (found.lower, 0.5), (found.upper, 0.5)):
        np.testing.assert_allclose(numbers, expected)
    assert found.verdicts == ["leaks"]


def test_held_out_rows_are_drawn_where_the_encoder_draws():
    class Drawing(Oracle):
        def sample(self, X, n_draws):
            return np.ones((n_draws, len(X), 1))

        def transform(self, X):
            raise AssertionError("training encodings are draws, and these are not")

    X, y, _ = noise(n_rows=300)
    np.testing.assert_allclose(leakage(Drawing(), X, y).gap, 0.5)


@pytest.mark.parametrize(
    ("encoder", "rows", "verdict"),
    [
        (LEAKING, 4, "leaks"),
        (SamplingBayesianEncoder(own_target="include", prior=0), 4, "leaks"),
        (LeaveOneOutEncoder(), 20, "leaks"),
        (SamplingBayesianEncoder(own_target="include", draws=0.0), 4, "no leak found"),  # a constant tells nothing
        (SamplingBayesianEncoder(), 4, "no leak found"),
        (SamplingBayesianEncoder(prior=0), 4, "no leak found"),
        (SamplingBayesianEncoder(), 20, "no leak found"),
        (TargetEncoder(), 4, "no leak found"),
        (ConjugateMomentEncoder(), 20, "no leak found"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
)
def test_noise_leaks_where_the_own_target_is_not_hidden(encoder, rows, verdict):
    X, y, _ = noise(rows, n_rows=4000)
    assert leakage(encoder, X, y).verdicts == [verdict]


def test_a_column_with_signal_tells_much_and_does_not_leak():
    codes, _, random = noise(40)
    y = (random.random(2000) < 1 / (1 + np.exp(-2 * random.normal(size=50)[codes[:, 0]]))).astype(int)
    found = leakage(SamplingBayesianEncoder(), codes, y)
    assert found.verdicts == ["no leak found"]
    assert found.held_out[0] > 0.7


@pytest.mark.parametrize("target", ["numbers", "classes"])
def test_numbers_and_several_classes_leak_too(target):
    X, _, random = noise(4)
    y = random.normal(size=2000) if target == "numbers" else random.choice(["a", "b", "c"], size=2000)
    found = leakage(LEAKING, X, y)
    assert (found.score, found.verdicts) == ("R²" if target == "numbers" else "AUC", ["leaks"])
    assert leakage(SamplingBayesianEncoder(), X, y).verdicts == ["no leak found"]


def test_whole_numbers_are_amounts_where_the_family_says_so():
    X, _, random = noise(4)
    assert leakage(LEAKING.set_params(family="poisson"), X, random.poisson(3, size=2000), cv=2).score == "R²"
    LEAKING.set_params(family="auto")


def test_every_container_gives_the_same_numbers_and_its_own_frame():
    X, y, random = noise(4, n_rows=600)
    table = {"first": X[:, 0].astype(str), "age": random.normal(size=600), "second": random.choice(["a", "b"], 600)}
    found = {}
    for make in (pandas.DataFrame, polars.DataFrame):
        found[make] = leakage(LEAKING, make(table), y, cv=2)
        assert isinstance(found[make].frame(), make)
        assert found[make].frame()["column"].to_list() == ["first", "second"]  # age is no category
    one, two = found.values()
    np.testing.assert_array_equal(one.gap, two.gap)
    array = leakage(LEAKING, np.array([table["first"], table["second"]], dtype=object).T, y, cv=2)
    assert array.columns == [0, 1]
    np.testing.assert_allclose(array.trained[0], one.trained[0])


class Whispering(TransformerMixin, BaseEstimator):
    """Noise, with a little of the own target in each column: too little to be heard in one."""

    def fit(self, X, y):
        return self

    def fit_transform(self, X, y):
        return self.transform(X) + 0.06 * y[:, None]

    def transform(self, X):
        return np.random.default_rng(len(X)).normal(size=X.shape)


def test_leaks_that_are_too_small_in_each_column_are_seen_in_all_together():
    random = np.random.default_rng(0)
    X, y = random.integers(9, size=(1500, 25)), random.normal(size=1500)
    found = leakage(Whispering(), X, y, cv=3)
    assert "leaks" not in found.verdicts
    assert found.together.columns == [tuple(range(25))]
    assert found.together.verdicts == ["leaks"]
    assert "of all columns together" in str(found)
    assert leakage(Whispering(), X[:, :1], y, cv=3).together is None


@pytest.mark.parametrize("target", ["numbers", "classes"])
def test_columns_that_hide_the_own_target_hide_it_together(target):
    random = np.random.default_rng(0)
    X = random.integers(100, size=(1500, 12))
    y = random.normal(size=1500) if target == "numbers" else random.integers(3, size=1500)
    assert leakage(SamplingBayesianEncoder(), X, y, cv=3).together.verdicts != ["leaks"]
    assert leakage(LEAKING, X, y, cv=3).together.verdicts == ["leaks"]


def test_what_an_encoder_makes_of_several_columns_is_measured_in_all_together():
    X, y, _ = noise(4, n_rows=300)
    table = pandas.DataFrame({"town": X[:, 0].astype(str), "country": (X[:, 0] // 9).astype(str)})
    for settings in ({"hierarchy": {"town": ["country"]}}, {"interactions": [("town", "country")]}):
        found = leakage(SamplingBayesianEncoder(**settings), table, y, cv=2)
        assert found.columns == ["town", "country"]
        assert np.isfinite(found.together.gap).all()


def test_columns_are_those_asked_for_or_those_of_the_encoder():
    X, y, _ = noise(4, n_rows=300)
    table = pandas.DataFrame({"a": X[:, 0], "b": X[:, 0], "c": X[:, 0].astype(str)})
    assert leakage(SamplingBayesianEncoder(["b", "a"]), table, y, cv=2).columns == ["b", "a"]
    assert leakage(SamplingBayesianEncoder(["b", "a"]), table, y, columns=["c"], cv=2).columns == ["c"]
    assert leakage(TargetEncoder(), table, y, cv=2).columns == ["c"]
    assert leakage(LeaveOneOutEncoder(), table, y, columns=["a"], cv=2).columns == ["a"]


def test_the_same_seed_gives_the_same_numbers_and_leaves_the_encoder_alone():
    X, y, _ = noise(4, n_rows=300)
    for encoder in (SamplingBayesianEncoder(), TargetEncoder()):
        before = encoder.get_params()
        one, two, other = (leakage(encoder, X, y, cv=2, random_state=seed).gap for seed in (0, 0, 1))
        np.testing.assert_array_equal(one, two)
        assert other != one
        assert encoder.get_params() == before
        assert not hasattr(encoder, "n_features_in_")


def test_the_interval_is_corrected_for_overlapping_training_sets():
    gaps = np.array([[0.1, 0.3, 0.2, 0.4]])
    mean, _, half = corrected_interval(gaps, 1 / 3, 0.9)
    variance = np.sum((gaps - 0.25) ** 2) / 3
    np.testing.assert_allclose(mean, 0.25)
    np.testing.assert_allclose(half, student.ppf(0.95, 3) * np.sqrt(variance * (1 / 4 + 10 / 30)))


def test_too_few_rows_cannot_tell_or_are_refused():
    X, y, _ = noise(4, n_rows=120)
    assert leakage(SamplingBayesianEncoder(prior=0), X, y).verdicts == ["cannot tell"]
    with pytest.raises(InputError, match="40 rows: expected 80"):
        leakage(SamplingBayesianEncoder(), X[:40], y[:40])
    with pytest.raises(InputError, match="expected a transformer"):
        leakage(SamplingBayesianEncoder, X, y)


# ------------------------------------------------------------------------------------------------ shrinkage


def test_shrinkage_is_the_prior_s_share_of_prior_and_rows():
    X = pandas.DataFrame({"city": ["a"] * 12 + ["b"] * 4 + ["c"] * 3 + [None]})
    encoder = SamplingBayesianEncoder(prior=BetaBernoulli(alpha=1, beta=3)).fit(X, [0, 1] * 10)
    found = shrinkage(encoder)
    counts = np.array([12, 4, 3, 1])
    assert (found.columns, found.categories[0], found.rows[0]) == (["city"], 4, 20)
    assert (found.prior_mean[0], found.prior_strength[0]) == (0.25, 4)
    assert found.mostly_prior[0] == 2  # c and missing: b has as many rows as the prior
    assert found.rows_mostly_prior[0] == 4 / 20
    np.testing.assert_allclose(found.mean_shrinkage[0], (counts * 4 / (4 + counts)).sum() / 20)
    table = encoder.posteriors_["city"].query("kind != 'unseen'")
    np.testing.assert_allclose(found.mean_shrinkage[0], np.average(table["shrinkage"], weights=table["count"]))
    assert isinstance(found.frame(), pandas.DataFrame)
    assert found.frame()["verdict"][0].startswith("partly prior")


@pytest.mark.parametrize(("strength", "verdict"), [(0.5, "mostly data"), (60, "mostly prior"), (1e6, "no signal")])
def test_verdicts_follow_the_strength_of_the_prior(strength, verdict):
    X, y = polars.DataFrame({"c": ["a"] * 10 + ["b"] * 10}), np.arange(20) / 3
    prior = NormalGamma(centre=1, strength=strength, alpha=3, beta=2)
    found = shrinkage(SamplingBayesianEncoder(prior=prior).fit(X, y))
    np.testing.assert_allclose(found.mean_shrinkage, strength / (strength + 10))
    assert found.prior_mean.tolist() == [1.0]
    assert found.verdicts[0].startswith(verdict)
    assert isinstance(found.frame(), polars.DataFrame)


def test_categories_that_do_not_differ_are_said_to_have_no_signal():
    X, y = np.repeat(np.arange(30), 10)[:, None], np.tile([1, 1, 1, 0, 0, 0, 0, 0, 0, 0], 30)
    assert shrinkage(SamplingBayesianEncoder().fit(X, y)).verdicts[0].startswith("no signal")


def test_several_classes_have_no_single_prior_mean_and_models_are_read_too():
    X = [["a"], ["b"]] * 10
    classes = SamplingBayesianEncoder(prior=DirichletCategorical(alpha=[1, 1, 2])).fit(X, [0, 1, 2, 0] * 5)
    assert np.isnan(shrinkage(classes).prior_mean[0])
    assert shrinkage(classes).prior_strength.tolist() == [4.0]
    model = SamplingRegressor(Ridge(), random_state=0).fit(X, np.arange(20.0))
    assert shrinkage(model).columns == shrinkage(model.encoder_).columns == [0]
    with pytest.raises(NotFittedError):
        shrinkage(SamplingBayesianEncoder())
    with pytest.raises(InputError, match="no encoded columns"):
        shrinkage(Ridge().fit([[0], [1]], [0, 1]))
