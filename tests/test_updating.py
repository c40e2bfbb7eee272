"""Encoders as values: any split of the rows, in any order, gives what one fit on all of them gives."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from cases import PRIORS, make_target
from catbayes import InputError, SamplingBayesianEncoder, Scaled, fade, gather

CLASSES = ("bernoulli", "categorical")
ENCODERS = [SamplingBayesianEncoder, partial(SamplingBayesianEncoder, mapping="moments")]


def make_rows(family, n_rows=240, seed=0):
    random = np.random.default_rng(seed)
    X = pandas.DataFrame({"c": random.choice(["a", "b", "c", "d", None], n_rows), "n": random.integers(0, 9, n_rows)})
    prior = PRIORS[family]
    theta = np.concatenate([np.atleast_2d(prior.sample(random)) for _ in range(n_rows)])
    return X, make_target(family, theta, random), random.integers(1, 4, n_rows) / 2


def encoder(family, kind=SamplingBayesianEncoder, **more):
    return kind(["c", "n"], family=family, prior=PRIORS[family], random_state=0, **more)


def assert_same(one, other):
    """The same categories, statistics and posteriors, to rounding."""
    assert one.family_ is other.family_
    assert (one.classes_ is None) == (other.classes_ is None)
    if one.classes_ is not None:
        assert one.classes_.tolist() == other.classes_.tolist()
    for first, second in zip(one.evidence_.columns, other.evidence_.columns, strict=True):
        assert first.values == second.values
        for name in first.statistics.__slots__:
            np.testing.assert_allclose(
                getattr(first.statistics, name), getattr(second.statistics, name), rtol=1e-10, atol=1e-10
            )
    for name in one.columns_:
        means = (np.asarray(each.posteriors_[name]["mean"], dtype=float) for each in (one, other))
        np.testing.assert_allclose(*means, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("family", PRIORS)
@given(cuts=st.lists(st.integers(1, 11), min_size=1, max_size=4, unique=True), order=st.randoms())
@settings(max_examples=8, deadline=None)
def test_parts_in_any_order_equal_the_whole(kind, family, cuts, order):
    X, y, weight = make_rows(family)
    whole = encoder(family, kind).fit(X, y, weight)
    parts = np.split(np.arange(len(X)), 20 * np.array(sorted(cuts)))
    order.shuffle(parts)
    classes = None if whole.classes_ is None else whole.classes_
    batches = encoder(family, kind)
    for rows in parts:
        batches.partial_fit(X.iloc[rows], y[rows], weight[rows], classes=classes)
    assert_same(whole, batches)
    shards = [encoder(family, kind).partial_fit(X.iloc[rows], y[rows], weight[rows], classes) for rows in parts]
    assert_same(whole, shards[0].merge(*shards[1:]))


@pytest.mark.parametrize("family", PRIORS)
def test_only_what_was_put_in_can_be_taken_out(family):
    X, y, _ = make_rows(family)
    small, large = encoder(family).fit(X.iloc[:100], y[:100]), encoder(family).fit(X, y)
    with pytest.raises(InputError, match="Take out only what was put in"):
        small - large
    one, other = (encoder(family).fit(X.replace({"c": {"a": letter}}), y) for letter in "xy")
    with pytest.raises(InputError, match="Take out only what was put in"):
        one - other
    change = {"bernoulli": lambda y: 1 - y, "categorical": lambda y: np.roll(y, 1), "lognormal": lambda y: 150 * y}
    change |= {"binomial": lambda y: 1 - y}
    changed = change.get(family, lambda y: y + 5)(y)
    for rows in (slice(None),) if family in (*CLASSES, "binomial") else (slice(None), slice(0, 30)):
        with pytest.raises(InputError, match=r"put in|Nothing would be left"):
            encoder(family).fit(X, y).remove(X[rows], changed[rows])
    with pytest.raises(InputError, match="Nothing would be left"):
        large - large
    if family == "bernoulli":
        with pytest.raises(InputError, match="only one class"):
            large.remove(X[y == 1], y[y == 1])


@pytest.mark.parametrize("family", PRIORS)
def test_forgetting_discounts_every_row(family):
    X, y, _ = make_rows(family)
    faded = encoder(family).fit(X, y).forget(0.75)
    light = encoder(family).fit(X, y, np.full(len(y), 0.25))
    assert_same(light, faded)
    assert faded.evidence_.squares == pytest.approx(light.evidence_.squares)
    before = encoder(family).fit(X, y)
    assert_same(before, encoder(family).fit(X, y).forget(0.0))
    for rate in (1.0, -0.1, "half"):
        with pytest.raises(InputError, match="rate"):
            encoder(family).fit(X, y).forget(rate)


@pytest.mark.parametrize("family", ["categorical", "normal", "poisson"])
@pytest.mark.filterwarnings("error")
def test_a_category_that_is_forgotten_for_long_becomes_unseen(family):
    X, y, _ = make_rows(family)
    closed = X.head(1).assign(c="closed")
    stream = SamplingBayesianEncoder(["c"], family=family, random_state=0).fit(pandas.concat([X, closed]), [*y, y[0]])
    for day in range(36):
        stream.forget(0.5).partial_fit(X, y)
        known = stream.posteriors_["c"]
        assert np.isfinite(known[["mean", "sd", "lower", "upper"]].to_numpy(dtype=float)).all()
        assert ("closed" in set(known["category"])) == (2.0 ** -(day + 1) > 1e-12 * len(y)), day
    while stream.evidence_.total.count[0] > 1e-29:
        stream.forget(0.9)
    with pytest.raises(InputError, match=r"rate=0\.9: .*e-30 rows are left of all that was learnt"):
        stream.forget(0.9)
    assert np.isfinite(stream.transform(X)).all()


def test_fading_drops_categories_of_negligible_weight():
    days = [pandas.DataFrame({"c": ["a", "b", "b"], "y": [0, 1, 0]})] * 60
    days[0] = days[0].replace({"c": {"a": "closed"}})
    found = fade([gather(day, ["c"], "y") for day in days], half_life=1.0)
    assert found.evidence.columns[0].values == ("a", "b")


def test_new_classes_may_turn_up():
    X, _, _ = make_rows("categorical")
    y = np.array(["x", "y", "z"])[np.random.default_rng(0).integers(0, 3, len(X))]
    first, second = y != "z", y == "z"
    make = lambda: SamplingBayesianEncoder(["c", "n"], prior=Scaled(0), random_state=0)  # noqa: E731
    whole = make().fit(X, y)
    grown = make().fit(X[first], y[first]).partial_fit(X[second], y[second])
    assert_same(whole, grown)
    assert_same(make().fit(X[first], y[first]), make().fit(X, y).remove(X[second], y[second]))
    with pytest.raises(InputError, match='use "categorical"'):
        SamplingBayesianEncoder(["c"], family="bernoulli").fit(X[first], y[first]).partial_fit(X[second], y[second])


@pytest.mark.parametrize("family", PRIORS)
def test_batches_of_one_value_each_are_evidence(family, tmp_path):
    """Sorted by its target, a table comes in parts of which none says anything by itself."""
    X, y, _ = make_rows(family)
    make = lambda: SamplingBayesianEncoder(["c", "n"], family=family, prior=Scaled(1.0), random_state=0)  # noqa: E731
    rows = np.isin(y, [*np.unique(y)[:3]])
    parts = [rows & (y == value) for value in np.unique(y[rows])]
    whole = make().fit(X[rows], y[rows])
    grown = make()
    with pytest.raises(NotFittedError):
        _ = grown.evidence_
    grown.partial_fit(X[parts[0]], y[parts[0]])
    assert grown.evidence_.total.count[0] == parts[0].sum()
    for ask in (grown.transform, grown.sample, lambda X: grown.posteriors_, lambda X: grown.save(tmp_path / "x")):
        with pytest.raises(InputError, match="nothing to encode towards"):
            ask(X)
    grown = pickle.loads(pickle.dumps(grown))
    for part in parts[1:]:
        grown.partial_fit(X[part], y[part])
    assert_same(whole, grown)
    merged = make().partial_fit(X[parts[0]], y[parts[0]])
    assert_same(whole, merged.merge(*(make().partial_fit(X[part], y[part]) for part in parts[1:])))
    assert_same(make().fit(X, y), make().partial_fit(X[parts[0]], y[parts[0]]).fit(X, y))


def test_what_cannot_be_joined_is_explained():
    X, y, _ = make_rows("bernoulli")
    fitted = SamplingBayesianEncoder(random_state=0).fit(X, y)
    other_columns = SamplingBayesianEncoder().fit(X.rename(columns={"c": "d"}), y)
    numbers = SamplingBayesianEncoder().fit(X, y + 0.5 * np.arange(len(y)))
    with pytest.raises(InputError, match=r"columns differ: \['c'\] and \['d'\]"):
        fitted + other_columns
    with pytest.raises(InputError, match="One target needs a BetaBernoulli and the other a NormalGamma"):
        fitted + numbers
    with pytest.raises(InputError, match="takes fitted encoders"):
        fitted.merge("encoder")
    with pytest.raises(TypeError):
        fitted + 1
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.partial_fit(X.rename(columns={"c": "d"}), y)
    with pytest.raises(InputError, match="gathered for BetaBernoulli"):
        SamplingBayesianEncoder(family="normal").fit(fitted.evidence_)
    with pytest.raises(InputError, match="gathered from"):
        SamplingBayesianEncoder(["n"]).fit(fitted.evidence_)
    SamplingBayesianEncoder([0]).fit(fitted.evidence_)
    with pytest.raises(InputError, match="Leave it out"):
        SamplingBayesianEncoder().fit(fitted.evidence_, y)
    with pytest.raises(ValueError, match="not fitted"):
        SamplingBayesianEncoder().forget(0.5)


def test_parameters_that_were_set_since_the_fit_count_in_updates_and_files(tmp_path):
    X, y, _ = make_rows("bernoulli")
    encoder = SamplingBayesianEncoder(["c"], random_state=0).fit(X, y).set_params(mapping="polynomial")
    assert encoder.transform(X).shape[1] == 2  # as it was fitted
    encoder.save(tmp_path / "model")
    assert SamplingBayesianEncoder.load(tmp_path / "model").transform(X).shape[1] == 3
    assert (encoder + SamplingBayesianEncoder(["c"]).fit(X, y)).transform(X).shape[1] == 3
    assert encoder.forget(0.5).transform(X).shape[1] == 3


@pytest.mark.parametrize("copied", [clone, copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_threads_that_update_one_encoder_lose_no_rows(copied):
    X, y = make_rows("bernoulli", 480)[:2]
    one = copied(encoder("bernoulli").fit(X[:40], y[:40]))
    if not hasattr(one, "encoding_"):
        one.partial_fit(X[:40], y[:40])
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            parts = [slice(start, start + 20) for start in range(40, 480, 20)]
            list(threads.map(lambda rows: one.partial_fit(X[rows], y[rows]), parts))
            list(threads.map(lambda rows: one.remove(X[rows], y[rows]), parts[:8]))
    finally:
        sys.setswitchinterval(before)
    assert_same(one, encoder("bernoulli").fit(pandas.concat([X[:40], X[200:]]), [*y[:40], *y[200:]]))
