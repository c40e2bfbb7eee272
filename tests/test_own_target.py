"""How a row's own target stays out of its training features: `own_target` and `cv`; and `temperature` and `sampler`."""

import io
from typing import Literal

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

import catbayes
from catbayes import (
    InputError,
    Ordered,
    SamplingBayesianEncoder,
    encode,
)

random = np.random.default_rng(0)
X = pandas.DataFrame(
    {"city": random.choice(list("abcdefgh"), 300), "day": np.arange(300) // 3, "size": random.random(300)}
)
Y = X["city"].isin([*"abc"]).to_numpy().astype(int) ^ (random.random(300) < 0.3)
WAYS = [
    {"own_target": "exclude"},
    {"own_target": "exclude", "cv": 3},
    {"own_target": "cross_fit"},
    {"own_target": "cross_fit", "cv": 7},
    {"own_target": "ordered"},
    {"own_target": Ordered("day")},
    {"own_target": "include"},
]


def encoder(**settings):
    return SamplingBayesianEncoder(["city"], random_state=0, **settings)


def saved(fitted):
    """The encoder after a journey through a file."""
    file = io.BytesIO()
    fitted.save(file)
    return catbayes.load(file)


def test_each_way_gives_features_of_its_own():
    """The same seed and table: what differs is what a row may know. A precision is not drawn, and needs folds."""
    found = [encoder(mapping="mean_precision", **way).fit_transform(X, Y)[:, 1].astype(float) for way in WAYS]
    for number, one in enumerate(found):
        assert not any(np.array_equal(one, other) for other in found[:number])
    drawn = [encoder(**way).fit_transform(X, Y)[:, 0] for way in WAYS if way != {"own_target": "exclude", "cv": 3}]
    assert all((one != other).mean() > 0.9 for n, one in enumerate(drawn) for other in drawn[:n])


@pytest.mark.parametrize("way", [*WAYS, {"temperature": 0.4}, {"sampler": "exact"}], ids=str)
def test_settings_are_saved_with_the_encoder(way):
    fitted = encoder(**way).fit(X, Y)
    loaded = saved(fitted)
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.sample(X, 2), fitted.sample(X, 2))
    np.testing.assert_array_equal(loaded.fit_transform(X, Y), clone(fitted).fit_transform(X, Y))


def test_folds_of_another_splitter_are_used():
    """Of time series, the first rows are never held out: they have the prior."""
    features = encoder(own_target="exclude", cv=TimeSeriesSplit(2), temperature=0.0).fit_transform(X, Y)
    assert len(np.unique(features[:100, 0].astype(float))) == 1
    assert len(np.unique(features[100:, 0].astype(float))) > 8


def test_a_strategy_that_chooses_no_posteriors_is_an_error(monkeypatch):
    monkeypatch.setattr("catbayes.core.config.Strategy", Literal["exclude", "another"])
    with pytest.raises(ValueError, match="no posteriors are chosen for own_target='another'"):
        encoder(own_target="another").fit_transform(X, Y)


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ({"own_target": "include"}, "leaves no target out. Give no target here"),
        ({"keep_categories": "codes", "max_categories": None}, "'city' of more than 30 .* Use max_categories=30 here"),
    ],
    ids=["include", "codes"],
)
def test_a_stream_of_rows_is_encoded_as_fit_transform_does_or_refused(way, message, tmp_path):
    table = pandas.DataFrame({"city": [f"c{n % 40}" for n in range(400)], "y": np.arange(400) % 40 < 13})
    fitted = encoder(**way).fit(table[["city"]], table["y"])
    with pytest.raises(InputError, match=message):
        encode(table, fitted, tmp_path / "x.parquet", n_draws=1, target="y")


@pytest.mark.parametrize(
    "way", [{"own_target": "ordered"}, {"own_target": "cross_fit"}, {"cv": GroupKFold(2)}], ids=str
)
def test_what_needs_all_rows_together_refuses_a_stream_of_rows(way, tmp_path):
    table = pandas.DataFrame({"city": ["a", "b"] * 10, "y": [0, 1, 1, 1] * 5})
    fitted = encoder(**way).fit(table[["city"]], table["y"])
    with pytest.raises(InputError, match="needs all rows together"):
        encode(table, fitted, tmp_path / "x.parquet", n_draws=1, target="y")
