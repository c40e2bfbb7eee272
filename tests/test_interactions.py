"""Interactions: a combination of columns is a column of its own, wherever the rows are; "auto" takes those that pay."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from scipy.special import expit
from sklearn.metrics import log_loss

from catbayes import (
    InputError,
    SamplingBayesianEncoder,
)
from catbayes.families import BetaBernoulli

FAMILIES = ["bernoulli", "categorical", "normal", "poisson", "negative_binomial"]


def make_table(n_rows=3_000, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "user": random.choice(["ann", "bob", "eve", None], n_rows, p=[0.4, 0.3, 0.2, 0.1]),
            "door": random.integers(0, 12, n_rows),
            "hour": random.choice([8.5, 9.0, np.nan], n_rows),
        }
    )


def make_y(family, n_rows=3_000, seed=1):
    random = np.random.default_rng(seed)
    return {
        "bernoulli": lambda: random.integers(0, 2, n_rows),
        "categorical": lambda: random.integers(0, 3, n_rows),
        "normal": lambda: random.normal(size=n_rows),
        "poisson": lambda: random.poisson(2.0, n_rows),
        "negative_binomial": lambda: random.negative_binomial(2.0, 0.5, n_rows),
    }[family]()


def joined(table, columns):
    """The same table with a combination of columns as one column of text."""
    text = table[columns[0]].map(repr)
    for column in columns[1:]:
        text = text + "&" + table[column].map(repr)
    return pd.DataFrame({"joined": text})


# ------------------------------------------------------------------------------ combinations


PARTS = [st.sampled_from(["eve", "bob", None]), st.sampled_from([3.0, 1.0, None]), st.sampled_from([True, None])]


@given(st.integers(2, 3).flatmap(lambda n: st.lists(st.tuples(*PARTS[:n]), min_size=2, max_size=12)), st.data())
def test_combinations_are_the_distinct_tuples_of_the_rows(rows, data):
    names = list("abc"[: len(rows[0])])
    table = pd.DataFrame(rows, columns=names, dtype=object)
    y = np.arange(len(rows)) % 2
    encoder = SamplingBayesianEncoder(names, interactions=[tuple(names)], prior=BetaBernoulli(1.0, 1.0)).fit(table, y)
    found = encoder.evidence_.columns[-1]
    assert list(found.values) == sorted(set(rows), key=lambda row: [(value is None, value) for value in row])
    assert found.statistics.count[:-2].tolist() == [rows.count(value) for value in found.values]
    new = data.draw(st.lists(st.tuples(*PARTS[: len(names)]), min_size=1))
    features = encoder.transform(pd.DataFrame(new, columns=names, dtype=object))[:, -1]
    for row, feature in zip(new, features, strict=True):
        own = [y[place] for place, other in enumerate(rows) if other == row]
        assert feature == pytest.approx((sum(own) + 1.0) / (len(own) + 2.0))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("columns", [("user", "door"), ("door", "hour", "user")])
def test_an_interaction_is_encoded_as_a_column_of_its_own(family, columns):
    table, y = make_table(), make_y(family)
    settings = {"family": family, "own_target": "cross_fit", "temperature": 0.0, "random_state": 0}
    reference = SamplingBayesianEncoder(**settings).fit(joined(table, columns), y)
    encoder = SamplingBayesianEncoder(["user"], interactions=[columns], **settings).fit(table, y)
    width = reference.transform(joined(table, columns)).shape[1]
    new = make_table(500, seed=9)
    mine, theirs = encoder.transform(new)[:, -width:], reference.transform(joined(new, columns))
    np.testing.assert_allclose(mine.astype(float), theirs, rtol=1e-7)  # priors are climbed to, in another order
    mine, theirs = encoder.fit_transform(table, y)[:, -width:], reference.fit_transform(joined(table, columns), y)
    np.testing.assert_allclose(mine.astype(float), theirs, rtol=1e-7)


def test_unseen_combinations_and_unseen_parts_draw_from_the_prior():
    table = pd.DataFrame({"a": ["x", "x", "y", "y"] * 5, "b": ["u", "u", "v", "v"] * 5})
    encoder = SamplingBayesianEncoder(interactions=[("a", "b")]).fit(table, [0, 1, 1, 1] * 5)
    new = pd.DataFrame({"a": ["x", "x", "new"], "b": ["v", "new", "u"]})
    unseen = encoder.posteriors_["a", "b"].query("kind == 'unseen'")["mean"].item()
    np.testing.assert_allclose(encoder.transform(new)[:, 2], unseen)
    strict = encoder.set_params(unseen="error").fit(table, [0, 1, 1, 1] * 5)
    strict.transform(new[:1])  # both parts are known: a new combination is nothing strange
    with pytest.raises(InputError, match="Column 'b' holds categories that fit never saw, such as"):
        strict.transform(new[:2])


# ----------------------------------------------------------- updated, saved, and other engines


def planted(family, how, n_rows=20_000, n_columns=5, seed=0):
    """Columns of 20 categories, of which the first two are informative: each by itself, or only together."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 20, (n_rows, n_columns))
    one, other = random.normal(size=(2, 20))
    effect = {
        "noise": np.zeros(n_rows),
        "each": 0.7 * one[codes[:, 0]] + 0.7 * other[codes[:, 1]],
        "together": random.normal(size=(20, 20))[codes[:, 0], codes[:, 1]],
    }[how]
    y = {
        "bernoulli": lambda: random.binomial(1, expit(effect - 1.0)),
        "categorical": lambda: (
            random.random(n_rows)[:, None]
            < np.cumsum(np.stack([expit(effect - 1.0), (1 - expit(effect - 1.0)) / 2], axis=1), axis=1)
        ).sum(axis=1),
        "normal": lambda: effect + random.normal(size=n_rows),
        "poisson": lambda: random.poisson(np.exp(0.5 * effect)),
        "negative_binomial": lambda: random.negative_binomial(1.0, 1.0 / (1.0 + 2.0 * np.exp(0.5 * effect))),
    }[family]()
    return pd.DataFrame(codes, columns=list("abcdefgh"[:n_columns])), y


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(1))
def test_auto_finds_the_planted_interaction_and_hardly_any_other(family, seed):
    table, y = planted(family, "together", seed=seed)
    encoder = SamplingBayesianEncoder("all", interactions="auto", family=family).fit(table, y)
    assert encoder.columns_[5] == ("a", "b")
    best, *rest = encoder.interactions_.to_dict("records")
    assert best["interaction"] == "a&b"
    assert best["kept"]
    assert best["gain"] > 50
    assert all(other["gain"] < 5 for other in rest)
    assert sum(other["kept"] for other in rest) <= 4


@pytest.mark.calibration
@pytest.mark.parametrize("n_doors", [20, 60, 300])  # about 50, 6 and 1 rows a pair
@pytest.mark.parametrize("mapping", ["mean", "mean_precision"])
def test_pairs_of_noise_do_not_leak_the_own_target(n_doors, mapping):
    random = np.random.default_rng(n_doors)
    table = pd.DataFrame(random.integers(0, n_doors, (20_000, 2)), columns=["user", "door"])
    y = random.binomial(1, 0.3, 20_000)
    encoder = SamplingBayesianEncoder("all", interactions="pairs", mapping=mapping, random_state=0)
    model = LGBMClassifier(n_estimators=50, min_child_samples=50, verbose=-1, n_jobs=1)
    model.fit(encoder.fit_transform(table[:15_000], y[:15_000]), y[:15_000])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM's word on feature names
        found = log_loss(y[15_000:], model.predict_proba(encoder.transform(table[15_000:])))
        control = LGBMClassifier(n_estimators=50, min_child_samples=50, verbose=-1, n_jobs=1)
        noise = random.normal(size=(20_000, 2 * encoder.transform(table[:2]).shape[1]))
        control.fit(noise[:15_000], y[:15_000])
        fair = log_loss(y[15_000:], control.predict_proba(noise[15_000:]))
    assert found < fair + 0.005  # no worse than a model that overfits to as much noise
