"""Draws keyed by row identity: right in distribution, and a function of the row's key alone."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy import stats

from cases import PRIORS, make_target
from catbayes import InputError, SamplingBayesianEncoder
from catbayes.core.random import KeyedRandom, philox
from catbayes.families import (
    BetaBernoulli,
    BetaBinomial,
    BetaNegativeBinomial,
    DirichletCategorical,
    GammaPoisson,
    NormalGamma,
)

# Known answers of Philox4x32-10, published with Random123 (Salmon et al., 2011): counter, key, output.
KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]

N = 20_000
ROWS = np.arange(N, dtype=np.uint64)


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_philox_gives_the_published_answers(counter, key, answer):
    words = philox(tuple(np.array([word], dtype=np.uint64) for word in counter), tuple(map(np.uint64, key)))
    assert [int(word[0]) for word in words] == answer


def uniform(p_values):
    """Many p-values of a true hypothesis are uniform; one false one in twenty is not."""
    return stats.kstest(p_values, "uniform").pvalue > 1e-4 and min(p_values) > 1e-5


DISTRIBUTIONS = {
    **{
        f"beta {a}, {b}": (lambda random, a=a, b=b: random.beta(np.full(N, a), np.full(N, b)), stats.beta(a, b).cdf)
        for a, b in [(0.05, 0.2), (0.7, 3.0), (1.0, 1.0), (30.0, 2.5), (1e4, 1e5)]
    },
    **{
        f"gamma {a}": (lambda random, a=a: random.standard_gamma(np.full(N, a)), stats.gamma(a).cdf)
        for a in [0.1, 0.9, 1.0, 1.1, 7.0, 1e6]
    },
    "normal": (lambda random: random.standard_normal((N,)), "norm"),
    "exponential": (lambda random: random.standard_exponential((N,)), "expon"),
}


@pytest.mark.calibration
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_keyed_draws_have_their_distribution(name):
    draw, expected = DISTRIBUTIONS[name]
    draws = [draw(KeyedRandom(seed, (1,), ROWS)) for seed in range(20)]
    assert uniform([stats.kstest(drawn, expected).pvalue for drawn in draws])


def test_nothing_shares_its_random_numbers_with_anything_else():
    """Rows that follow each other, components, calls, children, keys and seeds are all independent."""
    shape = (N, 2)
    first = KeyedRandom(0, (1, 2), ROWS)
    together = first.standard_normal(shape)
    series = {
        "component 0": together[:, 0],
        "component 1": together[:, 1],
        "next call": first.standard_normal((N,)),
        "child": first.spawn(1)[0].standard_normal((N,)),
        "other key": KeyedRandom(0, (1, 3), ROWS).standard_normal((N,)),
        "shorter key": KeyedRandom(0, (1,), ROWS).standard_normal((N,)),
        "other seed": KeyedRandom(1, (1, 2), ROWS).standard_normal((N,)),
        "rows far away": KeyedRandom(0, (1, 2), ROWS + np.uint64(1 << 32)).standard_normal((N,)),
        "next row": np.roll(together[:, 0], 1),
    }
    correlation = np.corrcoef(list(series.values())) - np.eye(len(series))
    assert np.abs(correlation).max() < 5 / np.sqrt(N)


@pytest.mark.calibration
@pytest.mark.parametrize("family", PRIORS)
def test_keyed_draws_are_draws_from_the_posterior(family):
    """Ranks of the truth among keyed draws are uniform: simulation-based calibration by row key."""
    random, n_rows, n_draws = np.random.default_rng(0), 3_000, 19
    prior = PRIORS[family]
    truth = np.concatenate([np.atleast_2d(prior.sample(random)) for _ in range(n_rows)])
    y = np.stack([make_target(family, truth, random) for _ in range(4)], axis=1)
    city = np.repeat(np.arange(n_rows), 4)
    encoder = SamplingBayesianEncoder("all", family=family, prior=prior, temperature=1.0, random_state=0)
    encoder.fit(city[:, None], y.reshape(-1))
    draws = encoder.sample(np.arange(n_rows)[:, None], n_draws, row_id=[f"row {i}" for i in range(n_rows)])
    rank = (draws[:, :, 0] < truth[:, 0]).sum(axis=0)
    count = np.bincount(rank, minlength=n_draws + 1)
    assert stats.chisquare(count).pvalue > 1e-4


X = pandas.DataFrame({"city": np.random.default_rng(0).choice(["a", "b", "c", "d"], 5_000), "id": np.arange(5_000)})
Y = np.random.default_rng(1).integers(0, 2, 5_000)


@pytest.mark.parametrize("sampler", ["auto", "exact", "normal"])
def test_a_row_has_the_same_draws_in_any_order_batch_and_library(sampler):
    encoder = SamplingBayesianEncoder(sampler=sampler, random_state=0).fit(X, Y)
    whole = encoder.sample(X, 2, row_id="id")
    order = np.random.default_rng(2).permutation(5_000)
    shuffled = encoder.sample(X.iloc[order], 2, row_id=order)
    np.testing.assert_array_equal(whole[:, order], shuffled)
    np.testing.assert_array_equal(whole[:, 4_321:4_322], encoder.sample(X.iloc[4_321:4_322], 2, row_id="id"))
    for table in (polars.from_pandas(X), pyarrow.Table.from_pandas(X)):
        np.testing.assert_array_equal(whole, encoder.sample(table, 2, row_id="id"))
    assert (whole[0, :, 0] != encoder.sample(X, 1)[0, :, 0]).all()
    assert (whole[0, :, 0] != encoder.sample(X, 1, random_state=5, row_id="id")[0, :, 0]).all()


WEAK = {
    "bernoulli": BetaBernoulli(0.3, 0.3),
    "categorical": DirichletCategorical([0.2, 0.5, 0.1]),
    "normal": NormalGamma(0.0, 0.5, 0.4, 1.0),
    "poisson": GammaPoisson(0.3, 0.5),
    "negative_binomial": BetaNegativeBinomial(0.6, 0.5, 0.4),
    "binomial": BetaBinomial(0.3, 0.3),
}


@pytest.mark.parametrize("family", WEAK)
def test_shapes_below_one_in_the_batch_do_not_disturb_the_others(family):
    """Rows whose posteriors have shapes on both sides of 1 draw the same alone and together."""
    random = np.random.default_rng(0)
    city = np.repeat(np.arange(40), random.integers(1, 4, 40))
    y = {"categorical": random.integers(0, 3, len(city)), "normal": random.normal(size=len(city))}.get(
        family, random.integers(0, 2, len(city))
    )
    encoder = SamplingBayesianEncoder("all", family=family, prior=WEAK[family], random_state=0)
    encoder.fit(city[:, None], y)
    rows, ids = np.arange(50)[:, None], np.arange(50)  # the last ten are unseen
    together = encoder.sample(rows, 2, row_id=ids)
    for row in range(50):
        np.testing.assert_array_equal(together[:, row], encoder.sample(rows[[row]], 2, row_id=ids[[row]])[:, 0])


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1.0, 2.0], "whole numbers or text"),
        (["a", None], "without missing values"),
        ([True, False], "whole numbers or text"),
        ([1], "one id for each of 2 rows"),
        ([1, "a"], "whole numbers or text"),
        (pandas.to_datetime(["2020-01-01", "2020-01-02"]), "dates, into text"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ns]"), "dates, into text"),  # numbers to numpy's list
        ("town", "no column 'town'. It has 'city', 'id'"),
    ],
)
def test_bad_ids_are_explained(ids, message):
    encoder = SamplingBayesianEncoder(random_state=0).fit(X, Y)
    with pytest.raises(InputError, match=message):
        encoder.sample(X.head(2), row_id=ids)
