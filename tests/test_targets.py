"""Several targets: an encoder for each, as if each had been alone."""

import numpy as np
import pandas
import polars
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

from catbayes import InputError, MultiTargetEncoder, SamplingBayesianEncoder

random = np.random.default_rng(0)
N_ROWS = 300
X = pandas.DataFrame(
    {
        "city": random.choice(["Oslo", "Rome", "Bonn", None], N_ROWS),
        "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(np.arange(N_ROWS), unit="D"),
        "street": random.choice(list("abcdefgh"), N_ROWS),
        "rooms": random.integers(1, 6, N_ROWS),
    }
)
Y = pandas.DataFrame(
    {
        "price": random.lognormal(size=N_ROWS),
        "sold": random.choice(["no", "yes"], N_ROWS),
        "heating": random.choice(["gas", "oil", "sun"], N_ROWS),
    }
)


def make(**settings):
    return MultiTargetEncoder(SamplingBayesianEncoder(random_state=0, **settings))


def same(one, other):
    np.testing.assert_array_equal(np.asarray(one, dtype=object), np.asarray(other, dtype=object))


def test_columns_that_are_not_encoded_pass_through_once():
    encoder = make().fit(X, Y)
    first = ["city_price", "day", "street_price", "rooms", "city_sold", "street_sold"]
    heating = [f"{name}_{label}_heating" for name in ("city", "street") for label in ("gas", "oil", "sun")]
    assert encoder.get_feature_names_out().tolist() == first + heating
    assert encoder.transform(X).shape == (N_ROWS, 12)
    assert list(encoder.encoders_) == ["price", "sold", "heating"]
    assert list(encoder.feature_names_in_) == list(X.columns)


def test_each_target_is_encoded_as_if_alone():
    encoder = make()
    together, place = encoder.fit_transform(X, Y), {"price": 0, "sold": 4}
    for name, column in place.items():
        alone = clone(encoder.encoders_[name])
        same(together[:, column], alone.fit_transform(X, Y[name])[:, 0])
        same(encoder.transform(X)[:, column], alone.transform(X)[:, 0])
        same(encoder.sample(X, 3)[:, :, column], alone.sample(X, 3)[:, :, 0])


def test_targets_have_seeds_of_their_own():
    twice = np.column_stack([Y["price"], Y["price"]])
    encoder = make(prior=10)
    features = encoder.fit_transform(X[["city"]], twice)
    assert (features[:, 0] != features[:, 1]).mean() > 0.9
    np.testing.assert_allclose(*encoder.transform(X[["city"]]).T)
    draws = encoder.sample(X[["city"]], 2, random_state=5)
    same(draws, encoder.sample(X[["city"]], 2, random_state=5))
    assert (draws[..., 0] != draws[..., 1]).mean() > 0.9
    one = make(prior=10).fit_transform(X[["city"]], twice[:, :1])
    same(features[:, 0], one[:, 0])  # other targets change nothing


def test_targets_and_weights_may_be_columns_of_the_table():
    encoder = make()
    same(encoder.fit_transform(X.assign(**Y), list(Y.columns)), make().fit_transform(X, Y))
    assert list(encoder.feature_names_in_) == list(X.columns)
    weighted = make().fit(X.assign(w=2.0), Y, sample_weight="w")
    same(weighted.transform(X), make().fit(X, Y, np.full(N_ROWS, 2.0)).transform(X))


def test_weights_groups_and_exposure_reach_every_target():
    weight, groups = random.integers(1, 3, N_ROWS).astype(float), np.arange(N_ROWS) // 10
    encoder = make(cv=GroupKFold(3))
    features = encoder.fit_transform(X, Y, sample_weight=weight, groups=groups)
    alone = clone(encoder.encoders_["price"])
    same(features[:, 0], alone.fit_transform(X, Y["price"], weight, groups)[:, 0])
    counts, units = random.poisson(2.0, (N_ROWS, 2)), random.gamma(2.0, size=N_ROWS)
    rates = make(family="poisson").fit(X[["city"]], counts, exposure=units)
    one = SamplingBayesianEncoder(family="poisson").fit(X[["city"]], counts[:, 1], exposure=units)
    same(rates.transform(X[["city"]])[:, 1], one.transform(X[["city"]])[:, 0])
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(make(cv=GroupKFold(3)).set_fit_request(sample_weight=True))
        same(pipeline.fit_transform(X, Y, sample_weight=weight, groups=groups), features)


@pytest.mark.parametrize(
    "container", [pandas.DataFrame, polars.DataFrame, np.column_stack], ids=["pandas", "polars", "numpy"]
)
def test_each_target_may_have_weights_of_its_own(container):
    """Only rows with a sale have a price."""
    sold = (Y["sold"] == "yes").to_numpy(float)
    weights = {"price": sold, "sold": np.ones(N_ROWS)}
    given = container([*weights.values()]) if container is np.column_stack else container(weights)
    encoder = make(prior=10).fit(X[["city"]], Y[["price", "sold"]], given)
    alone = SamplingBayesianEncoder(prior=10).fit(X[["city"]][sold > 0], Y["price"][sold > 0])
    np.testing.assert_allclose(encoder.transform(X[["city"]])[:, 0], alone.transform(X[["city"]])[:, 0])
    with pytest.raises(InputError, match="expected one column for each of the targets"):
        make().fit(X[["city"]], Y, given)


def test_a_fit_that_is_refused_changes_nothing():
    encoder = make().fit(X, Y)
    before = encoder.transform(X)
    with pytest.raises(InputError, match="Target 'sold': Input y contains missing"):
        encoder.fit(X, Y.assign(sold=None))
    same(encoder.transform(X), before)
