"""Changes are found in new batches, and seldom where there are none."""

import numpy as np
import pandas
import polars
import pytest

from catbayes import InputError, SamplingBayesianEncoder, Scaled, gather
from catbayes.inspect import monitor
from catbayes.kinds import Nested

N_CATEGORIES = 20


def make_theta(family, random):
    rate = {"bernoulli": 0.25, "binomial": 0.25, "poisson": 1.0, "negative_binomial": 2.0, "normal": 1.0, "robust": 1.0}
    theta = rate[family] * random.gamma(20.0, 0.05, N_CATEGORIES)
    theta[0] = rate[family]
    return theta


def make_y(family, mean, random):
    if family in ("bernoulli", "binomial"):
        return (random.random(len(mean)) < mean).astype(int if family == "bernoulli" else float)
    if family == "negative_binomial":
        return random.negative_binomial(3.0, 3.0 / (3.0 + mean)).astype(float)
    return random.poisson(mean).astype(float) if family == "poisson" else random.normal(mean)


def learn(family, random, **settings):
    theta, codes = make_theta(family, random), random.integers(0, N_CATEGORIES, 20_000)
    encoder = SamplingBayesianEncoder("all", family=family, **settings)
    return theta, encoder.fit(codes[:, None], make_y(family, theta[codes], random))


@pytest.mark.calibration
@pytest.mark.parametrize("family", ["bernoulli", "poisson", "normal"])
def test_at_most_one_in_a_hundred_batches_without_change_gives_an_alarm(family):
    random = np.random.default_rng(0)
    theta, encoder = learn(family, random)
    alarms = 0
    for _ in range(1000):
        codes = random.integers(0, N_CATEGORIES, 400)
        alarms += monitor(encoder, codes[:, None], make_y(family, theta[codes], random)).alarms.any()
    assert alarms <= 10


@pytest.mark.calibration
@pytest.mark.parametrize("n_rows", [40, 1000])
def test_outliers_are_no_change(n_rows):
    alarms = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        theta, codes = random.normal(0.0, 0.5, N_CATEGORIES), random.integers(0, N_CATEGORIES, 4000)
        encoder = SamplingBayesianEncoder("all", family="robust")
        encoder.fit(codes[:, None], theta[codes] + random.standard_t(3, 4000))
        for _ in range(5):
            codes = random.integers(0, N_CATEGORIES, n_rows)
            alarms += monitor(encoder, codes[:, None], theta[codes] + random.standard_t(3, n_rows)).alarms.any()
    assert alarms <= 5  # of 200, of which chance makes two


@pytest.mark.parametrize("family", ["bernoulli", "binomial", "poisson", "negative_binomial", "normal", "robust"])
def test_a_doubled_rate_is_found_within_200_rows_and_no_other(family):
    random = np.random.default_rng(1)
    theta, encoder = learn(family, random)
    doubled = np.where(np.arange(N_CATEGORIES) == 0, 2.0, 1.0) * theta
    found, others = 0, 0
    for _ in range(50):
        codes = np.append(np.zeros(200, dtype=int), random.integers(1, N_CATEGORIES, 2000))
        changed = monitor(encoder, codes[:, None], make_y(family, doubled[codes], random)).changed().tolist()
        found, others = found + (0 in changed), others + (len(changed) > (0 in changed))
    assert found >= 48
    assert others <= 2


@pytest.mark.calibration
@pytest.mark.parametrize("family", ["bernoulli", "poisson", "normal", "negative_binomial", "robust"])
def test_the_mean_of_all_rows_changes_in_one_of_a_hundred_batches_without_change(family):
    random = np.random.default_rng(0)
    theta, encoder = learn(family, random)
    alarms = 0
    for _ in range(300):
        codes = random.integers(0, N_CATEGORIES, 400)
        alarms += monitor(encoder, codes[:, None], make_y(family, theta[codes], random)).overall["changed"]
    assert alarms <= 8  # the 99 % quantile of the binomial, 300 times 0.01


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "normal"])
def test_a_changed_mean_of_all_rows_is_found_though_no_category_is(family):
    random = np.random.default_rng(0)
    theta, encoder = learn(family, random)
    codes = random.integers(0, N_CATEGORIES, 400)
    found = monitor(encoder, codes[:, None], make_y(family, 1.4 * theta[codes], random))
    assert found.overall["changed"]
    assert found.alarms.mean() < 0.2
    assert f"Mean {found.overall['before']:.3g} → {found.overall['now']:.3g}: changed" in repr(found)


def test_the_bayes_factor_is_that_of_the_definition():
    """By hand, for two classes: θ ~ Beta with the mean of the posterior, worth 4, 16 or 64 rows."""
    from scipy.special import betaln

    encoder = SamplingBayesianEncoder("all", prior=Scaled(1.0)).fit([["a"]] * 40 + [["b"]] * 40, [0, 0, 0, 1] * 20)
    alpha, beta = 1.0 + 20.0 + 10.0, 1.0 + 60.0 + 30.0  # of the prior, and of "a"

    def likely(worth):
        a, b = alpha * worth / (alpha + beta), beta * worth / (alpha + beta)
        return np.exp(betaln(a + 7, b + 3) - betaln(a, b))

    found = monitor(encoder, [["a"]] * 10, [1] * 7 + [0] * 3)
    wanted = np.mean([likely(worth) for worth in (4.0, 16.0, 64.0)]) / likely(alpha + beta)
    assert found.bayes_factors[0] == pytest.approx(wanted, rel=1e-10)
    assert found.now[0] == found.overall["now"] == pytest.approx(0.7)
    assert found.before[0] == pytest.approx(alpha / (alpha + beta))


def test_shares_of_unseen_and_missing_values_need_no_target():
    X = pandas.DataFrame({"c": ["a", "b", None, "b"] * 25, "d": [1, 2, 3, 4] * 25})
    encoder = SamplingBayesianEncoder(["c", "d"], missing="prior").fit(X, [0, 1, 0, 0] * 25)
    batch = pandas.DataFrame({"c": ["a", None, "x", "y"], "d": [1, 2, 3, 9]})
    for found in (monitor(encoder, batch), monitor(encoder, batch, [0, 1, 1, 0])):
        assert found.unseen.tolist() == [0.5, 0.25]
        assert found.missing.tolist() == [0.25, 0.0]
        assert found.missing_before.tolist() == [0.25, 0.0]
    assert len(monitor(encoder, batch).frame()) == 0
    assert monitor(encoder, batch).overall is None
    assert monitor(encoder, batch, [0, 1, 1, 0]).categories == ["a", 1, 2, 3]
    with pytest.raises(InputError, match="takes rows in memory"):
        monitor(encoder, polars.from_pandas(batch).lazy())
    with pytest.raises(InputError, match="classes that fit never saw, such as"):
        monitor(encoder, batch, [0, 1, 2, 0])


def test_batches_may_be_gathered_anywhere_weighted_and_combined():
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"c": random.choice(["a", "b"], 900), "d": random.choice(["x", "y"], 900)})
    y = np.where(X["c"] == "a", random.random(900) < 0.5, random.random(900) < 0.1).astype(int)
    encoder = SamplingBayesianEncoder(["c", "d"], interactions=[("c", "d")], kinds={"d": Nested(["c"])}).fit(X, y)
    batch, labels = X.iloc[:300], 1 - y[:300]
    memory = monitor(encoder, batch, labels)
    lazy = polars.from_pandas(batch.assign(y=labels)).lazy()
    gathered = gather(lazy, target="y", like=encoder.evidence_)
    for found in (monitor(encoder, lazy, "y"), monitor(encoder, gathered)):
        np.testing.assert_allclose(found.bayes_factors, memory.bayes_factors, rtol=1e-9)
        assert found.categories == memory.categories
    assert "b" in memory.changed().tolist()
    twice = monitor(encoder, batch, labels, sample_weight=np.full(300, 2.0))
    assert twice.counts.tolist() == [2 * count for count in memory.counts]
    assert twice.overall == pytest.approx(memory.overall)
    three = SamplingBayesianEncoder(["c"]).fit(X, np.arange(900) % 3)
    changes = monitor(three, batch, np.zeros(300, dtype=int))
    assert changes.alarms.all()
    assert np.isnan(changes.before).all()
    assert "Shares of the classes: changed" in repr(changes)
