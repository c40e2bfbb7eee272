"""The library equals the method in plain numpy: tests/reference.py, which is to be read first."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

import reference
from cases import PRIORS, make_target, parameters
from catbayes import SamplingBayesianEncoder, SamplingRegressor, Scaled

FAMILIES = ["bernoulli", "categorical", "normal", "lognormal", "poisson"]
STRATEGIES = ["include", "exclude", "cross_fit", "ordered"]
CONTAINERS = {
    "pandas": pd.DataFrame,
    "categorical": lambda table: pd.DataFrame(table).astype("category"),
    "polars": pl.DataFrame,
    "arrow": pa.table,
}
SEED, K = 7, 3


def columns(random, n_rows=60):
    return {"city": random.choice(list("abcdefgh"), n_rows), "shop": random.choice(list("xyz"), n_rows)}


def case(family, weighted):
    """A table, its target as the family takes it, and as the method takes it; and weights."""
    random = np.random.default_rng(0)
    table = columns(random)
    theta = np.repeat(PRIORS[family].mean()[None], 60, axis=0)
    given = make_target(family, theta, random)
    weight = random.uniform(0.5, 2.0, 60) if weighted else None
    y = np.log(given) if family == "lognormal" else given
    return table, given, y, weight, np.ones(60) if weight is None else weight


def encoder(family, own_target="exclude", temperature=1.0, **settings):
    settings = {"prior": PRIORS[family], "family": family, "random_state": SEED} | settings
    how = {"temperature": "auto" if temperature is None else temperature, "sampler": "exact"}
    return SamplingBayesianEncoder(["city", "shop"], own_target=own_target, **how, **settings)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("temperature", [1.0, None])
@pytest.mark.parametrize("own_target", STRATEGIES)
@pytest.mark.parametrize("family", FAMILIES)
def test_copies_of_the_training_rows_are_those_of_the_method(family, own_target, temperature, weighted):
    table, given, y, weight, w = case(family, weighted)
    how = {"own_target": own_target, "temperature": temperature, "seed": reference.seed_of(SEED)}
    prior = parameters(PRIORS[family])
    expected, _, _ = reference.copies(reference.FAMILIES[family], prior, table, y, w, K, **how)
    found = encoder(family, own_target, temperature).augment(pd.DataFrame(table), given, K, sample_weight=weight)
    np.testing.assert_allclose(np.asarray(found.X, dtype=float), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_features_of_new_rows_are_those_of_the_method_whatever_the_table_is(family, container):
    table, given, y, weight, w = case(family, weighted=True)
    new = {"city": np.array(["a", "h", "unseen"]), "shop": np.array(["z", "unseen", "x"])}
    fitted = encoder(family).fit(CONTAINERS[container](table), given, weight)
    method, prior = reference.FAMILIES[family], parameters(PRIORS[family])
    blocks = [reference.expected_features(method, prior, table[name], y, w, new[name]) for name in table]
    found = np.asarray(fitted.transform(CONTAINERS[container](new)), dtype=float)
    np.testing.assert_allclose(found, np.hstack(blocks), rtol=1e-9)
    drawn = np.asarray(fitted.sample(CONTAINERS[container](new), n_draws=K), dtype=float)
    how = {"temperature": 1.0, "seed": reference.seed_of(SEED)}
    for k in range(K):
        blocks = [reference.new_features(method, prior, c, table[c], y, w, new[c], k=k, **how) for c in table]
        np.testing.assert_allclose(drawn[k], np.hstack(blocks), rtol=1e-9)


@pytest.mark.parametrize("gamma", [0.01, 0.5])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_prior_of_the_paper_scales_the_whole_table(family, gamma):
    table, given, y, weight, w = case(family, weighted=True)
    method = reference.FAMILIES[family]
    prior = method.scaled(y, w, gamma)
    fitted = encoder(family, prior=Scaled(gamma)).fit(pd.DataFrame(table), given, weight)
    blocks = [reference.expected_features(method, prior, c, y, w, c) for c in table.values()]
    np.testing.assert_allclose(fitted.transform(pd.DataFrame(table)), np.hstack(blocks), rtol=1e-9)


@pytest.mark.parametrize("family", ["bernoulli", "categorical", "poisson"])
def test_the_empirical_prior_is_the_maximum_of_the_marginal_likelihood(family):
    random, method = np.random.default_rng(1), reference.FAMILIES[family]
    theta = PRIORS[family].take(np.zeros(30, int)[None][0]) if PRIORS[family].mean().ndim > 1 else PRIORS[family]
    column = np.repeat(np.arange(30), 8)
    truth = type(theta)(*(np.repeat(p[None], 30, axis=0) for p in parameters(PRIORS[family]))).sample(random)
    y = make_target(family, truth[column], random)
    prior = reference.empirical(method, column, y, np.ones(len(y)))
    names = column.astype(str)
    fitted = SamplingBayesianEncoder(["c"], family=family).fit(pd.DataFrame({"c": names}), y)
    expected = reference.expected_features(method, prior, names, y, np.ones(len(y)), names)
    np.testing.assert_allclose(fitted.transform(pd.DataFrame({"c": names})), expected, rtol=2e-3)


def test_predictions_of_a_model_are_averages_over_draws():
    table, given, y, _, w = case("normal", weighted=False)
    method, prior = reference.FAMILIES["normal"], parameters(PRIORS["normal"])
    how = {"temperature": 1.0, "seed": reference.seed_of(SEED)}
    X, targets, _ = reference.copies(method, prior, table, y, w, K, own_target="exclude", **how)
    line = LinearRegression().fit(X, targets)
    expected = reference.average(line.predict, method, prior, table, y, w, table, 16, **how)
    model = SamplingRegressor(LinearRegression(), encoder("normal"), n_draws=K, predict_with=16, fit_with="copies")
    found = model.fit(pd.DataFrame(table), given).predict(pd.DataFrame(table))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
