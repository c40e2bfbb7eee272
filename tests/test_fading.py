"""Batches of a table that drifts: old ones fade by the half-life that the batches themselves tell."""

import numpy as np
import pandas
import pytest

from catbayes import SamplingBayesianEncoder, Scaled, fade, gather
from catbayes.families import NormalGamma

PRIOR = NormalGamma(centre=0.0, strength=1.0, alpha=3.0, beta=3.0)


def batches_of(drift, n_batches=80, n_categories=100, rows=5, seed=0):
    """Means of categories that walk, by a variance of `drift` from batch to batch; targets of variance 1."""
    random, codes = np.random.default_rng(seed), np.repeat(np.arange(n_categories), rows)
    theta, found = random.standard_normal(n_categories), []
    for _ in range(n_batches):
        theta = theta + random.normal(0.0, np.sqrt(drift), n_categories)
        found.append(gather(pandas.DataFrame({"c": codes}), ["c"], random.normal(theta[codes])))
    return found, theta


@pytest.mark.parametrize("drift", [0.003, 0.05])
def test_the_half_life_is_that_of_the_walk(drift):
    """The best filter of a walk keeps 1 - K of the past, K = P / (P + r), P = (q + √(q² + 4 q r)) / 2."""
    batches, theta = batches_of(drift)
    r = 1.0 / 5.0
    spread = (drift + np.sqrt(drift**2 + 4.0 * drift * r)) / 2.0
    wanted = np.log(0.5) / np.log(r / (spread + r))
    found = fade(batches)
    assert found.half_life == pytest.approx(wanted, rel=0.15)
    assert found.gain > 100.0
    now, ever = (
        SamplingBayesianEncoder(["c"]).fit(evidence).transform(pandas.DataFrame({"c": range(100)}))[:, 0]
        for evidence in (found.evidence, sum(batches[1:], batches[0]))
    )
    assert np.mean((now - theta) ** 2) < 0.5 * np.mean((ever - theta) ** 2)


def test_nothing_is_forgotten_where_nothing_drifts():
    for seed in range(5):
        batches, _ = batches_of(0.0, n_batches=20, seed=seed)
        found = fade(batches)
        assert np.isinf(found.half_life)
        assert found.rate == 0.0
        assert found.evidence.total.count[0] == 20 * 500


def test_fading_is_weighting_and_forgetting():
    """Rows of age a weigh 2^(-a / h), and so does an encoder that forgets before each batch."""
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"c": random.choice(["a", "b", None], 90), "day": np.repeat([0, 1, 3], 30)})
    y = random.integers(0, 2, 90)
    days = [gather(rows[["c"]], ["c"], y[rows.index]) for _, rows in table.groupby("day")]
    found = fade(days, half_life=2.0, times=[0, 1, 3])
    weight = found.weight(3 - table["day"])
    np.testing.assert_allclose(weight, 0.5 ** ((3 - table["day"]) / 2))
    weighted = gather(table[["c"]], ["c"], y, weight=weight)
    for mine, other in zip(found.evidence.columns, weighted.columns, strict=True):
        np.testing.assert_allclose(mine.statistics.weight, other.statistics.weight, rtol=1e-12)
    assert found.evidence.squares == pytest.approx(weighted.squares)
    daily = fade(days, half_life=2.0)
    encoder = SamplingBayesianEncoder(["c"], prior=Scaled(0.5)).fit(days[0])
    for day in days[1:]:
        encoder.forget(daily.rate).partial_fit(day)
    statistics = (encoder.evidence_.columns[0].statistics, daily.evidence.columns[0].statistics)
    np.testing.assert_allclose(statistics[0].weight, statistics[1].weight, rtol=1e-12)


def test_the_gain_is_that_of_a_plain_loop():
    """Each batch by the predictive distribution of a loop over its rows, given the faded rows before it."""
    random, h = np.random.default_rng(0), 1.5
    codes = [random.integers(0, 3, 8) for _ in range(4)]
    values = [random.normal(size=8) for _ in range(4)]
    days = [gather(pandas.DataFrame({"c": c}), ["c"], v, family="normal") for c, v in zip(codes, values, strict=True)]

    def likelihood(half_life):
        total = 0.0
        for t in range(1, 4):
            for category in range(3):
                mu, nu, alpha, beta = 0.0, 1.0, 3.0, 3.0
                old = [(v, 0.5 ** ((t - s) / half_life)) for s in range(t) for v in values[s][codes[s] == category]]
                new = [(v, 1.0) for v in values[t][codes[t] == category]]
                for number, (v, w) in enumerate(old + new):
                    if number >= len(old):
                        scale = beta * (nu + 1.0) / (alpha * nu)
                        total += student(v, mu, scale, 2.0 * alpha)
                    beta += w * nu * (v - mu) ** 2 / (2.0 * (nu + w))
                    mu, nu, alpha = (nu * mu + w * v) / (nu + w), nu + w, alpha + w / 2.0
        return total

    found = fade(days, half_life=h, prior=PRIOR)
    assert found.gain == pytest.approx(likelihood(h) - likelihood(np.inf), abs=1e-10)


def student(value, location, squared_scale, freedom):
    from scipy import stats

    return stats.t(freedom, location, np.sqrt(squared_scale)).logpdf(value)
