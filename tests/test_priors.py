"""The parameter `prior`: a number of rows, the paper's γ, the empirical prior, and a prior object."""

import numpy as np
import pandas as pd
import pytest

from catbayes import SamplingBayesianEncoder, Scaled
from catbayes.priors import Empirical

CITY = ["Oslo"] * 3 + ["Rome"] * 12 + ["Bonn"]
X = pd.DataFrame({"city": CITY})
NUMBERS = np.arange(16.0) ** 1.5
TARGETS = {
    "bernoulli": np.arange(16) % 3 == 0,
    "categorical": np.array(list("xyyz") * 4),
    "normal": NUMBERS,
    "lognormal": 1.0 + NUMBERS,
    "poisson": np.arange(16) % 5,
    "negative_binomial": (np.arange(16) % 5) ** 2,
    "binomial": np.arange(16) % 3 == 0,
    "survival": np.arange(16) % 2,
}


def means(family, y):
    """What a category is encoded by without a prior: its share of each class, or its mean."""
    if family == "categorical":
        return np.eye(3)[np.searchsorted(["x", "y", "z"], y)]
    return (np.log(y) if family == "lognormal" else np.asarray(y, dtype=float))[:, None]


@pytest.mark.parametrize("rows", [10, 0.5])
@pytest.mark.parametrize("family", TARGETS)
def test_a_number_shrinks_towards_the_mean_like_that_many_rows(family, rows):
    y = TARGETS[family]
    exposure = {"exposure": np.ones(16)} if family in ("binomial", "survival") else {}
    found = (
        SamplingBayesianEncoder(family=family, prior=rows)
        .fit(X, y, **exposure)
        .transform(pd.DataFrame({"city": ["Oslo", "Rome", "never seen"]}))
    )
    value = means(family, y)
    whole = value.mean(axis=0)
    oslo, rome = value[:3], value[3:15]
    expected = [(oslo.sum(axis=0) + rows * whole) / (3 + rows), (rome.sum(axis=0) + rows * whole) / (12 + rows), whole]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_number_counts_rows_and_not_units_of_exposure():
    days = np.linspace(5.0, 15.0, 16)  # ten on average
    encoder = SamplingBayesianEncoder(family="poisson", prior=4).fit(X, TARGETS["poisson"], exposure=days)
    events, rate = TARGETS["poisson"][:3].sum(), TARGETS["poisson"].sum() / days.sum()
    expected = (events + 4 * 10 * rate) / (days[:3].sum() + 4 * 10)
    np.testing.assert_allclose(encoder.transform(X)[0, 0], expected)


def test_the_scaled_prior_is_a_share_of_the_table():
    y = TARGETS["bernoulli"]
    found = SamplingBayesianEncoder(prior=Scaled(0.5)).fit(X, y).transform(X)[0, 0]
    np.testing.assert_allclose(found, (1 + 0.5 * y.sum() + y[:3].sum()) / (2 + 0.5 * 16 + 3))
    flat = SamplingBayesianEncoder(prior=Scaled(0)).fit(X, y).transform(X)[0, 0]
    np.testing.assert_allclose(flat, (1 + y[:3].sum()) / (2 + 3))


def test_the_empirical_prior_has_the_mean_of_the_categories():
    """A new category is a draw from the categories: those with many rows do not count by their rows."""
    X = pd.DataFrame({"c": ["a"] * 4000 + [f"b{number}" for number in range(20) for _ in range(200)]})
    y = np.r_[np.tile([0, 0, 0, 1], 1000), np.tile([0, 1, 1, 1], 1000)]
    words, objects = (SamplingBayesianEncoder(prior=prior).fit(X, y) for prior in ("empirical", Empirical()))
    unseen = pd.DataFrame({"c": ["never seen"]})
    assert words.transform(unseen)[0, 0] == pytest.approx((0.25 + 20 * 0.75) / 21, abs=0.01)
    assert y.mean() == 0.5
    np.testing.assert_array_equal(objects.transform(X), words.transform(X))
