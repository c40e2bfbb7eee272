"""Events per unit of exposure: the closed form, from every source, without the own target, in any unit."""

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

from catbayes import InputError, SamplingBayesianEncoder, gather
from catbayes.families import GammaPoisson

random = np.random.default_rng(0)
N_ROWS = 600
TABLE = pandas.DataFrame(
    {
        "id": np.arange(N_ROWS),
        "city": random.choice(["Oslo", "Rome", "Bonn", None], N_ROWS, p=[0.6, 0.3, 0.05, 0.05]),
        "years": random.gamma(2.0, 2.0, N_ROWS),
        "weight": random.integers(1, 4, N_ROWS) / 2,
    }
)
TABLE["claims"] = random.poisson(1.5 * TABLE["years"])
PRIOR = GammaPoisson(alpha=3.0, beta=2.0)
X, Y, E, W = TABLE[["city"]], TABLE["claims"].to_numpy(), TABLE["years"].to_numpy(), TABLE["weight"].to_numpy()


def make(**settings):
    return SamplingBayesianEncoder(["city"], family="poisson", **({"prior": PRIOR, "random_state": 0} | settings))


def assert_same(one, other, exactly=1e-12):
    for first, second in zip(one.columns, other.columns, strict=True):
        assert first.values == second.values
        np.testing.assert_allclose(first.statistics.count, second.statistics.count, rtol=exactly, atol=1e-12)
        np.testing.assert_allclose(first.statistics.mean, second.statistics.mean, rtol=exactly, atol=1e-12)
        np.testing.assert_allclose(first.statistics.m2, second.statistics.m2, rtol=1e-9, atol=1e-9)
    assert one.squares == pytest.approx(other.squares)
    assert one.exposure == pytest.approx(other.exposure)


@pytest.mark.parametrize("weight", [None, W])
def test_the_posterior_counts_events_and_units(weight):
    frame = make().fit(X, Y, weight, exposure=E).posteriors_["city"].set_index("category")
    w = np.ones(N_ROWS) if weight is None else weight
    for city in ("Bonn", "Oslo", "Rome"):
        rows = (X["city"] == city).to_numpy()
        alpha, beta = 3.0 + (w * Y)[rows].sum(), 2.0 + (w * E)[rows].sum()
        assert frame["mean"][city] == pytest.approx(alpha / beta, rel=1e-12)
        assert frame["sd"][city] == pytest.approx(np.sqrt(alpha) / beta, rel=1e-12)


SOURCES = {
    "pandas": lambda table: table,
    "polars": polars.from_pandas,
    "pyarrow": lambda table: pyarrow.Table.from_pandas(table, preserve_index=False),
    "reader": lambda table: pyarrow.Table.from_pandas(table, preserve_index=False).to_reader(100),
    "polars lazy": lambda table: polars.from_pandas(table).lazy(),
    "DuckDB": lambda table: duckdb.from_df(table),
}


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_evidence_without_the_named_columns(source, weight):
    named = SOURCES[source](TABLE)
    found = gather(named, ["city"], "claims", family="poisson", weight=weight, exposure="years")
    wanted = gather(X, ["city"], Y, family="poisson", weight=None if weight is None else W, exposure=E)
    assert_same(found, wanted)
    assert found.exposure == pytest.approx(np.average(E, weights=None if weight is None else W))
    assert found.inputs == tuple(name for name in TABLE.columns if name not in ("claims", "years", weight))
    fitted = make().fit(SOURCES[source](TABLE), "claims", weight, exposure="years")
    assert_same(fitted.evidence_, wanted)
    assert list(fitted.feature_names_in_) == list(found.inputs)


def test_exposure_is_a_rate_with_a_weight():
    """In every way of training; and one number serves all rows."""
    given, rate = {"exposure": E}, Y / E
    np.testing.assert_array_equal(make().fit_transform(X, Y, W, **given), make().fit_transform(X, rate, W * E))
    np.testing.assert_array_equal(make().fit_draws(X, Y, **given).features(3), make().fit_draws(X, rate, E).features(3))
    copies, wanted = make().augment(X, Y, 2, **given), make().augment(X, rate, 2, sample_weight=E)
    for mine, other in zip(copies, wanted, strict=True):
        np.testing.assert_array_equal(mine, other)
    moments = SamplingBayesianEncoder(["city"], family="poisson", random_state=0, mapping="moments")
    found, wanted = moments.fit_transform(X, Y, **given), moments.fit_transform(X, rate, E)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)  # of a prior that is learnt in the units of a row
    np.testing.assert_allclose(
        make().fit(X, Y, exposure=2.0).transform(X), make().fit(X, Y / 2, np.full(N_ROWS, 2.0)).transform(X)
    )


BAD = {
    "zero": (
        np.where(Y > 3, 0.0, E),
        "zero or negative in .* rows: expected numbers > 0. Drop rows without exposure",
    ),
    "negative": (-E, "in 600 rows"),
    "NaN": (np.where(Y > 3, np.nan, E), "missing"),
    "infinite": (np.full(N_ROWS, np.inf), "infinite"),
    "short": (E[:5], r"shape \(5,\): expected one number for each of 600"),
    "text": (np.full(N_ROWS, "long"), "must hold numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_unusable_exposure_raises_an_error(case):
    units, message = BAD[case]
    with pytest.raises(InputError, match=message):
        make().fit(X, Y, exposure=units)
    if case == "short":
        return
    table = polars.from_pandas(TABLE.assign(years=units)).lazy()
    with pytest.raises(InputError, match=message):
        make().fit(table, "claims", exposure="years")


@pytest.mark.parametrize("family", ["auto", "normal", "lognormal", "bernoulli"])
def test_only_counts_have_an_exposure(family):
    y = Y % 2 if family in ("auto", "bernoulli") else Y + 1.0
    for table, target, units in ((X, y, E), (polars.from_pandas(TABLE.assign(y=y)).lazy(), "y", "years")):
        with pytest.raises(InputError, match=r'exposure is for counts.*family="poisson"'):
            SamplingBayesianEncoder(["city"], family=family).fit(table, target, exposure=units)
