"""Targets that are more than a number: events out of attempts, times that may be cut off, numbers with heavy tails."""

import warnings

import numpy as np
import pandas
import polars
import pytest
from lightgbm import LGBMRegressor
from scipy import stats
from scipy.stats import spearmanr

from catbayes import (
    InputError,
    InputWarning,
    SamplingBayesianEncoder,
    SamplingRegressor,
    compare,
    gather,
)
from catbayes.families import BetaBinomial, GammaExponential, RobustNormal


def make_trials(theta, random):
    """Events, and the attempts that they are out of."""
    attempts = random.integers(1, 30, len(theta)).astype(float)
    return random.binomial(attempts.astype(int), theta).astype(float), attempts


def make_times(theta, random):
    """Whether the end was seen, and the time until then; about a third are cut off before."""
    ends, cut = random.exponential(1.0 / theta), random.exponential(2.0 / theta.mean(), len(theta))
    return (ends <= cut).astype(float), np.minimum(ends, cut)


def beta_of_trials(events, attempts):
    return stats.beta(2.0 + events.sum(), 5.0 + (attempts - events).sum())


def gamma_of_times(seen, times):
    return stats.gamma(4.0 + seen.sum(), scale=1.0 / (20.0 + times.sum()))


KINDS = {
    "binomial": (BetaBinomial(alpha=2.0, beta=5.0), make_trials, beta_of_trials),
    "survival": (GammaExponential(alpha=4.0, beta=20.0), make_times, gamma_of_times),
}


def make_rows(family, n_rows=400, n_categories=12, seed=0):
    """A table with missing values, its target, exposure and weights."""
    random, (prior, make, _) = np.random.default_rng(seed), KINDS[family]
    theta = np.concatenate([prior.sample(random) for _ in range(n_categories)])
    codes = random.integers(0, n_categories, n_rows)
    y, exposure = make(theta[codes], random)
    values = np.where(random.random(n_rows) < 0.05, None, np.array([f"c{code}" for code in codes], dtype=object))
    return pandas.DataFrame({"c": values}), y, exposure, random.integers(1, 4, n_rows) / 2


def new_encoder(family, **settings):
    return SamplingBayesianEncoder(["c"], family=family, **({"prior": KINDS[family][0], "random_state": 0} | settings))


@pytest.mark.parametrize("family", KINDS)
def test_posteriors_are_those_of_a_plain_loop(family):
    (prior, _, posterior), (X, y, exposure, weight) = KINDS[family], make_rows(family)
    found = new_encoder(family).fit(X, y, weight, exposure=exposure).posteriors_["c"].set_index("category")
    for value in X["c"].dropna().unique():
        rows = (X["c"] == value).to_numpy()
        wanted = posterior(weight[rows] * y[rows], weight[rows] * exposure[rows])
        np.testing.assert_allclose(found.loc[value, ["mean", "sd"]].astype(float), [wanted.mean(), wanted.std()])
    unseen = new_encoder(family).fit(X, y, exposure=exposure).transform(pandas.DataFrame({"c": ["new"]}))
    np.testing.assert_allclose(unseen[0, 0], prior.mean()[0], rtol=1e-12)


@pytest.mark.parametrize("family", KINDS)
def test_parts_are_merged_removed_and_forgotten_like_the_whole(family):
    X, y, exposure, weight = make_rows(family)
    new = pandas.DataFrame({"c": ["c0", "c3", None, "new"]})

    def fitted(rows=slice(None), share=1.0):
        return new_encoder(family).fit(X[rows], y[rows], share * weight[rows], exposure=exposure[rows])

    whole, first, second = fitted(), fitted(slice(0, 150)), fitted(slice(150, None))
    expected = whole.transform(new)
    np.testing.assert_allclose((first + second).transform(new), expected, rtol=1e-10)
    np.testing.assert_allclose((whole - second).transform(new), first.transform(new), rtol=1e-9)
    np.testing.assert_allclose(whole.forget(0.75).transform(new), fitted(share=0.25).transform(new), rtol=1e-10)
    lazy = polars.from_pandas(X.assign(y=y, e=exposure, w=weight)).lazy()
    counted = new_encoder(family).fit(gather(lazy, ["c"], "y", family=family, weight="w", exposure="e"))
    np.testing.assert_allclose(counted.transform(new), expected, rtol=1e-10)


# ----------------------------------------------------------------------------- events out of attempts


def test_more_events_than_attempts_are_refused():
    X, y, attempts, _ = make_rows("binomial")
    for table, target, units in (
        (X, y + 1.0, attempts),
        (polars.from_pandas(X.assign(y=y + 1.0, e=attempts)).lazy(), "y", "e"),
        (X, y, None),
    ):
        with pytest.raises(
            InputError, match=r"from 0 to 1 events for each attempt, and y holds from .* to .*exposure="
        ):
            new_encoder("binomial").fit(table, target, exposure=units)


@pytest.mark.parametrize("lazy", [False, True])
def test_shares_of_attempts_bring_a_warning_where_events_are_expected(lazy):
    table = polars.DataFrame({"c": ["a", "b"] * 20, "y": [0.25, 0.5] * 20, "n": [4, 8] * 20})
    source = table.lazy() if lazy else table
    with pytest.warns(InputWarning, match="fractions in 40 rows where exposure= holds their attempts"):
        gather(source, ["c"], "y", family="binomial", exposure="n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gather(source, ["c"], "y", family="binomial", weight="n")
        gather(table.with_columns(y=polars.Series([1, 2] * 20)), ["c"], "y", family="binomial", exposure="n")
        gather(source, ["c"], "y", family="poisson", exposure="n")


# ----------------------------------------------------------------------------- times that were cut off


def test_times_without_ends_and_ends_without_times_are_refused():
    X, y, times, _ = make_rows("survival")
    lazy = polars.from_pandas(X.assign(y=y, e=times)).lazy()
    for table, target, units, message in (
        (X, times, None, "needs the times: give them as exposure="),
        (lazy, "y", None, "needs the times: give them as exposure="),
        (X, times + 1.0, y + 1.0, "1 where the end was seen and 0 where not, and y holds from .* to .*Times go into"),
        (lazy, "e", "e", "1 where the end was seen and 0 where not, and y holds from .* to .*Times go into"),
        (X, 0.0 - y, times, "y holds from -1 to 0"),
    ):
        with pytest.raises(InputError, match=message):
            new_encoder("survival").fit(table, target, exposure=units)
    encoder = SamplingBayesianEncoder(["c"], family="survival")
    with pytest.raises(InputError, match='use family="poisson" there, with rates as y and times as weight'):
        SamplingRegressor(encoder=encoder).fit(X, y / times, sample_weight=times)
    with pytest.raises(InputError, match='use family="poisson" there'):
        compare(X.assign(y=y), "y", family="survival")


# ----------------------------------------------------------------------------- heavy tails


@pytest.mark.parametrize("per_category", [4, 100])
def test_noise_with_heavy_tails_does_not_give_the_own_target_away(per_category):
    """Nor does a model that learns from the features of some rows know more of the targets of others."""
    random = np.random.default_rng(0)
    category = random.permutation(np.repeat(np.arange(4000 // per_category), per_category))[:, None]
    y, new = random.standard_t(2, (2, 4000))
    encoder = SamplingBayesianEncoder("all", family="robust", prior=RobustNormal.of(0.0, 1.0, 2.0), random_state=0)
    features = encoder.fit_transform(category, y)
    half = slice(0, 2000), slice(2000, None)
    model = LGBMRegressor(n_estimators=60, verbose=-1, n_jobs=1, random_state=0).fit(features[half[0]], y[half[0]])
    assert abs(spearmanr(model.predict(features[half[1]]), y[half[1]])[0]) < 0.08
    assert abs(spearmanr(model.predict(encoder.transform(category)), new)[0]) < 0.08
    encoder.set_params(own_target="include")
    assert spearmanr(encoder.fit_transform(category, y)[:, 0], y)[0] > (0.3 if per_category == 4 else 0.03)
