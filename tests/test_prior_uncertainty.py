"""What is told of a category holds the doubt about a prior that was learnt: its mean and its strength."""

import numpy as np
import pandas
import pytest

from catbayes import SamplingBayesianEncoder
from catbayes.core.prior_uncertainty import inflation_by_mean, inflation_by_prior, prior_share, widen
from catbayes.core.statistics import Moments
from catbayes.families import NormalGamma
from catbayes.inspect import monitor
from catbayes.kinds import Nested

MEAN = {"bernoulli": 0.3, "normal": 0.0, "poisson": 2.0}


def make_theta(family, strength, size, random):
    """Means of categories that differ as those of `strength` rows would; of no signal by nothing."""
    mean = MEAN[family]
    if strength is None:
        return np.full(size, mean)
    if family == "bernoulli":
        return random.beta(mean * strength, (1 - mean) * strength, size)
    return random.gamma(mean * strength, 1 / strength, size) if mean else random.normal(0, strength**-0.5, size)


def make_y(family, theta, random):
    if family == "bernoulli":
        return (random.random(len(theta)) < theta).astype(int)
    return random.poisson(theta).astype(float) if family == "poisson" else random.normal(theta)


def coverage(family, n_categories, rows, strength, times):
    """How often 90 % intervals hold the mean of a seen category, and of one that was not."""
    random, found = np.random.default_rng(0), []
    codes = np.repeat(np.arange(n_categories), rows)
    for _ in range(times):
        theta = make_theta(family, strength, n_categories + 10, random)
        y = make_y(family, theta[codes], random)
        encoder = SamplingBayesianEncoder("all", family=family).fit(codes[:, None], y)
        told = encoder.posteriors_[0]
        assert told["category"].tolist()[:-1] == list(range(n_categories))
        lower, upper = (np.append(told[end], np.full(9, told[end].iloc[-1])) for end in ("lower", "upper"))
        found.append((lower <= theta) & (theta <= upper))
    inside = np.array(found)
    return inside[:, :n_categories].mean(), inside[:, n_categories:].mean()


@pytest.mark.parametrize("family", MEAN)
@pytest.mark.parametrize(("n_categories", "rows", "strength"), [(3, 20, None), (10, 20, None), (10, 20, 20.0)])
def test_intervals_cover_in_small_tables(family, n_categories, rows, strength):
    """With the prior taken as known, these are covered from 20 to 70 times in a hundred."""
    seen, unseen = coverage(family, n_categories, rows, strength, times=60)
    assert seen > 0.84
    assert unseen > 0.84


def test_the_uncertainty_of_the_mean_is_that_of_generalised_least_squares():
    """Of normals of known variances: Var θ_k | y with the mean flat, by the inverse of the whole precision."""
    count, nu = np.array([3.0, 10.0, 40.0, 0.0]), 7.0
    precision = np.zeros((5, 5))  # θ of four categories, and the mean of all
    precision[:4, :4] = np.diag(count + nu)
    precision[4, :4] = precision[:4, 4] = -nu
    precision[4, 4] = 4 * nu
    wanted = np.diagonal(np.linalg.inv(precision))[:4]
    prior = NormalGamma(0.0, nu, 1e9, 1e9)
    posterior = prior.update(Moments(count, np.zeros(4), np.zeros(4)))
    told = widen(posterior, inflation_by_mean(posterior, count, prior_share(posterior, count)))
    np.testing.assert_allclose(told.variance()[:, 0], wanted, rtol=1e-6)


def test_the_uncertainty_of_the_strength_is_that_of_a_fine_grid():
    """By brute force, for normals: every share of shrinkage is as likely, and the mean is integrated out."""
    random = np.random.default_rng(3)
    count, mean = np.full(6, 8.0), random.normal(0, 0.5, 6)
    prior, rows = NormalGamma(mean.mean(), 4.0, 1e9, 1e9), Moments(count, mean, np.zeros(6))
    shares = (np.arange(4000) + 0.5) / 4000
    log_chance, variance = [], []
    for share in shares:
        spread = (1 / 8.0) * (1 - share) / share + 1 / 8.0  # of a category's mean about that of all
        gaps = mean - mean.mean()
        log_chance.append(-0.5 * (5 * np.log(spread) + (gaps**2).sum() / spread))
        off = (share - 4.0 / 12.0) * gaps
        variance.append((1 - share) / 8.0 + share**2 * spread / 6 + off**2)
    chance = np.exp(np.array(log_chance) - max(log_chance))
    wanted = (chance[:, None] * np.array(variance)).sum(axis=0) / chance.sum()
    posterior = prior.update(rows)
    found = inflation_by_prior(prior, rows, posterior) * posterior.variance()[:, 0]
    np.testing.assert_allclose(found, wanted, rtol=0.02)


def test_a_few_rows_at_fit_give_no_false_alarms():
    """With the prior taken as known, four in ten batches gave one."""
    random, alarms, codes = np.random.default_rng(0), 0, np.repeat(np.arange(3), 20)
    for _ in range(60):
        encoder = SamplingBayesianEncoder("all").fit(codes[:, None], random.binomial(1, 0.3, 60))
        alarms += monitor(encoder, np.repeat(np.arange(3), 500)[:, None], random.binomial(1, 0.3, 1500)).alarms.any()
    assert alarms <= 3


@pytest.mark.calibration
@pytest.mark.parametrize("family", MEAN)
def test_categories_of_a_hierarchy_share_the_uncertainty_of_the_mean(family):
    """No signal: then the mean is all that is in doubt, and the same for every slot."""
    random, inside = np.random.default_rng(0), []
    codes, parents = np.repeat(np.arange(12), 10), {name: name // 4 for name in range(12)}
    table = pandas.DataFrame({"c": codes})
    for _ in range(40):
        y = make_y(family, np.full(len(codes), MEAN[family]), random)
        encoder = SamplingBayesianEncoder(["c"], family=family, kinds={"c": Nested(parents)}).fit(table, y)
        told = encoder.posteriors_["c"]
        inside.append((told["lower"] <= MEAN[family]) & (MEAN[family] <= told["upper"]))
    assert np.mean(inside) > 0.84
