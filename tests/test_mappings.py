"""Mappings give the outputs they name, and their expectation is the average of their draws."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit

from cases import PRIORS, make_target
from catbayes import InputError, SamplingBayesianEncoder
from catbayes.families import BetaBernoulli
from catbayes.mappings import MAPPINGS, Mean, Polynomial

NAMES = {
    "mean": {1: ["c"], 3: ["c_x", "c_y", "c_z"]},
    "mean_precision": {
        1: ["c_mean", "c_precision"],
        3: [f"c_{kind}_{label}" for kind in ("mean", "precision") for label in "xyz"],
    },
    "polynomial": {
        1: ["c_mean", "c_square"],
        3: [f"c_{kind}_{label}" for kind in ("mean", "square") for label in "xyz"],
    },
    "weight_of_evidence": {1: ["c"], 3: ["c_x", "c_y", "c_z"]},
    "identity": {1: ["c"], 3: ["c_x", "c_y", "c_z"]},
    "moments": {
        1: ["c_mean", "c_variance"],
        3: [f"c_{kind}_{label}" for kind in ("mean", "variance") for label in "xyz"],
    },
}


def fitted(family, mapping, temperature=1.0):
    random = np.random.default_rng(0)
    codes = np.repeat(np.arange(5), [1, 3, 9, 40, 200])
    prior = PRIORS[family]
    theta = prior.take(np.newaxis).take(np.zeros(5, int)).sample(random)[codes]
    y = make_target(family, theta, random)
    y[:3] = [0, 1, 2] if family == "categorical" else y[:3]
    if family == "categorical":
        y = np.array(["x", "y", "z"])[y]
    settings = {"prior": prior, "mapping": mapping, "temperature": temperature, "sampler": "exact", "random_state": 1}
    encoder = SamplingBayesianEncoder("all", family=family, **settings)
    return encoder.fit(codes[:, None], y)


@pytest.mark.parametrize("spread", [{}, {"temperature": "auto"}])
@pytest.mark.parametrize("family", PRIORS)
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_outputs_are_named_and_the_expectation_averages_the_draws(family, mapping, spread):
    if mapping == "weight_of_evidence" and not PRIORS[family].classes:
        with pytest.raises(InputError, match="class target"):
            fitted(family, mapping)
        return
    encoder = fitted(family, mapping, **spread)
    names = encoder.get_feature_names_out(["c"]).tolist()
    if family in ("normal", "lognormal") and mapping == "identity":
        assert names == ["c_mean", "c_precision"]
    else:
        assert names == NAMES[mapping][3 if family == "categorical" else 1]
    X = np.repeat(np.arange(6), 4000)[:, None]  # category 5 was never seen
    draws = encoder.sample(X, 5)
    average = draws.reshape(5, 6, 4000, -1).mean(axis=(0, 2))
    error = draws.reshape(5, 6, 4000, -1).std(axis=(0, 2)) / np.sqrt(20_000)
    gap = np.abs(average - encoder.transform(np.arange(6)[:, None]))
    strata = 0.02 * error * np.sqrt(20_000) * bool(spread)  # what fifty strata may miss of an average
    assert (gap <= 5 * error + strata + 1e-9 * np.abs(average)).all()


def test_weight_of_evidence_of_an_unseen_category_is_zero():
    features = fitted("bernoulli", "weight_of_evidence", temperature=0.0).transform([[99]])
    np.testing.assert_allclose(features, 0.0, atol=1e-12)


def test_the_first_class_can_be_left_out():
    full, less = fitted("categorical", "polynomial"), fitted("categorical", Polynomial(drop_first=True))
    X = np.arange(5)[:, None]
    assert less.get_feature_names_out(["c"]).tolist() == ["c_mean_y", "c_mean_z", "c_square_y", "c_square_z"]
    np.testing.assert_array_equal(less.transform(X), full.transform(X)[:, [1, 2, 4, 5]])
    assert fitted("bernoulli", Mean(drop_first=True)).transform(X).shape == (5, 1)


def test_a_callable_sees_all_of_theta():
    def odds(theta):
        assert theta.shape[-1] == 1
        return theta[..., 0] / (1.01 - theta[..., 0])

    encoder = fitted("bernoulli", odds)
    X = np.repeat(np.arange(5), 2000)[:, None]
    average = encoder.sample(X, 5).mean(axis=0).reshape(5, 2000).mean(axis=1)
    np.testing.assert_allclose(encoder.transform(X[::2000])[:, 0], average, rtol=0.2)
    assert encoder.get_feature_names_out(["c"]).tolist() == ["c"]


class Logarithm:
    """A mapping object with names and a closed form."""

    names = ("log", "one")

    def __call__(self, theta):
        return np.stack([np.log(theta[..., 0]), np.ones(theta.shape[:-1])], axis=-1)

    def expected(self, posterior):
        from scipy.special import digamma

        return np.stack([digamma(posterior.alpha) - np.log(posterior.beta), np.ones(posterior.alpha.shape)], axis=-1)


def test_a_mapping_object_names_its_outputs_and_gives_its_own_expectation():
    encoder = fitted("poisson", Logarithm())
    assert encoder.get_feature_names_out(["c"]).tolist() == ["c_log", "c_one"]
    X = np.repeat(np.arange(5), 4000)[:, None]
    average = encoder.sample(X, 3).mean(axis=0).reshape(5, 4000, 2).mean(axis=1)
    np.testing.assert_allclose(encoder.transform(X[::4000]), average, atol=0.02)


@pytest.mark.parametrize("mapping", ["polynomial", "identity"])
def test_the_papers_regression_prior_gives_finite_features(mapping):
    from catbayes import Scaled

    X = np.array([0, 0, 1, 2, 2, 2, 3])[:, None]
    y = np.array([1.0, 1.5, 4.0, 2.0, 2.5, 2.2, 9.0])
    for prior in (Scaled(0), Scaled(1e-8), Scaled(1e-8, strength=0), Scaled(0.5, strength=0)):
        for own_target in ("include", "exclude", "cross_fit"):
            encoder = SamplingBayesianEncoder(
                "all", prior=prior, mapping=mapping, own_target=own_target, random_state=0
            )
            assert np.isfinite(encoder.fit_transform(X, y)).all()
            assert np.isfinite(encoder.transform([[0], [1], [99]])).all()
            assert np.isfinite(encoder.sample([[0], [1], [99]], 20)).all()


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_the_expectation_follows_the_temperature(family):
    encoder = fitted(family, "polynomial", temperature=0.5)
    X = np.repeat(np.arange(6), 4000)[:, None]
    draws = encoder.sample(X, 5).reshape(5, 6, 4000, 2)
    error = draws.std(axis=(0, 2)) / np.sqrt(20_000)
    assert (np.abs(draws.mean(axis=(0, 2)) - encoder.transform(np.arange(6)[:, None])) <= 5 * error).all()
    full = fitted(family, "polynomial").transform([[0]])
    assert full[0, 1] - full[0, 0] ** 2 == pytest.approx(
        4 * (encoder.transform([[0]])[0, 1] - full[0, 0] ** 2)
    )  # a quarter of the variance


@pytest.mark.parametrize(("alpha", "beta"), [(0.005, 0.5), (0.02, 0.02), (0.1, 30.0), (0.3, 2.0)])
def test_weight_of_evidence_of_a_weak_prior_is_the_average_of_its_draws(alpha, beta):
    settings = {"mapping": "weight_of_evidence", "temperature": 1.0, "sampler": "exact", "random_state": 0}
    encoder = SamplingBayesianEncoder(prior=BetaBernoulli(alpha, beta), **settings)
    encoder.fit([["a"], ["b"]] * 5, [0, 1] * 5)
    draws = encoder.sample(np.full((40_000, 1), "new"))[0, :, 0]
    error = draws.std() / np.sqrt(len(draws))
    assert encoder.transform([["new"]])[0, 0] == pytest.approx(draws.mean(), abs=5 * error + 0.05)


@pytest.mark.parametrize("temperature", ["auto", 0.5])
@pytest.mark.parametrize("mapping", ["weight_of_evidence", lambda theta: np.sqrt(np.abs(theta[..., 0]))])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_expectation_depends_on_no_seed(mapping, temperature, classes):
    random = np.random.default_rng(0)
    X = random.integers(0, 9, (200, 1))
    y = np.where(random.random(200) < 0.5, X[:, 0], random.integers(0, 9, 200)) % classes
    settings = {"mapping": mapping, "temperature": temperature}
    one, other = (SamplingBayesianEncoder("all", random_state=seed, **settings).fit(X, y) for seed in (0, 1))
    assert (one.fit_transform(X, y) != other.fit_transform(X, y)).any()
    np.testing.assert_array_equal(one.transform(X[:50]), other.transform(X[:50]))


def test_weight_of_evidence_at_a_temperature_is_an_integral_over_the_posterior():
    """E log-odds of m + t (θ - m) for θ ~ Beta(α + ones, β + zeros) and its mean m, by adaptive quadrature."""
    alpha, beta, temperature = 2.0, 3.0, 0.5
    settings = {"mapping": "weight_of_evidence", "temperature": temperature}
    encoder = SamplingBayesianEncoder(prior=BetaBernoulli(alpha, beta), **settings)
    encoder.fit([["a"]] * 7 + [["b"]] * 2, [1, 1, 1, 1, 1, 0, 0, 0, 0])
    for value, ones, zeros in (("a", 5, 2), ("b", 0, 2), ("new", 0, 0)):
        theta = stats.beta(alpha + ones, beta + zeros)
        mean = theta.mean()
        expected = theta.expect(lambda x, mean=mean: logit(mean + temperature * (x - mean)))
        found = encoder.transform([[value]])[0, 0]
        assert found == pytest.approx(expected - logit(alpha / (alpha + beta)), abs=1e-3)
