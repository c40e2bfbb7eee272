"""Levels in an order and numbers in bins: a level leans on its neighbours, as a dense normal model says."""

import io
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import LGBMRegressor
from scipy.stats import kstest, multivariate_normal
from sklearn.base import clone

import catbayes
from catbayes import InputError, InputWarning, SamplingBayesianEncoder, SamplingRegressor, encode, gather
from catbayes.core.categories import Categories
from catbayes.core.combinations import Index
from catbayes.core.statistics import Moments
from catbayes.families import BetaBernoulli, NormalGamma
from catbayes.kinds import Bins, Ordinal, Sets, Shared, Spellings, Tags, form_of
from catbayes.kinds.random_walk import RandomWalk as Walk
from catbayes.kinds.random_walk import _Path
from catbayes.kinds.shared import Roles
from catbayes.kinds.spellings import PRODUCTS, Grams
from catbayes.kinds.tags import Members

FAMILIES = ["bernoulli", "categorical", "normal", "lognormal", "poisson", "negative_binomial"]
ORDERS = ["line", "ring"]
TURNED = {"home": "away", "away": "home"}


def laplacian(n_levels, order):
    """One step after the other."""
    found = np.zeros((n_levels, n_levels))
    steps = [(k, k + 1) for k in range(n_levels - 1)] + ([(n_levels - 1, 0)] if order == "ring" else [])
    for one, other in steps:
        found[[one, other], [one, other]] += 1.0
        found[[one, other], [other, one]] -= 1.0
    return found


def levels_in(order, n_levels):
    seen = Index.of_column(Categories(tuple(range(n_levels))))
    return Ordinal(cyclic=order == "ring").index(seen, "level")


def draw_levels(random, n_levels, order, held, step, size=()):
    """θ of levels, in units in which a target has the variance 1."""
    precision = held * np.eye(n_levels) + step * laplacian(n_levels, order)
    factor = np.linalg.cholesky(np.linalg.inv(precision))
    return random.normal(size=(*size, n_levels)) @ factor.T


def smooth(n_rows=3_000, n_levels=24, seed=0):
    """Hours whose means go round, and how likely a target is in each; some hours are rare."""
    random = np.random.default_rng(seed)
    share = random.pareto(1.0, n_levels) + 0.05
    hour = random.choice(n_levels, n_rows, p=share / share.sum())
    return pd.DataFrame({"hour": hour}), 0.5 + 0.4 * np.sin(2 * np.pi * hour / n_levels)


def target(family, chance, seed=0):
    random = np.random.default_rng(seed)
    return {
        "bernoulli": lambda: random.binomial(1, chance),
        "categorical": lambda: random.binomial(2, chance),
        "normal": lambda: 1e6 + 5 * chance + random.normal(size=len(chance)),
        "lognormal": lambda: np.exp(chance + 0.3 * random.normal(size=len(chance))),
        "poisson": lambda: random.poisson(5 * chance),
        "negative_binomial": lambda: random.negative_binomial(2.0, 2.0 / (2.0 + 5 * chance)),
    }[family]()


# ------------------------------------------------------------------------------------- the arithmetic


@pytest.mark.parametrize("order", ORDERS)
def test_the_prior_of_a_level_is_what_a_dense_normal_model_says_of_it_without_its_own_rows(order):
    random = np.random.default_rng(0)
    n_levels, held, step, mean = 7, 0.3, 4.0, 1e3
    count = np.array([3.0, 0.0, 5.0, 1.0, 0.0, 12.5, 2.0])
    seen = Moments(
        np.append(count, [4.0, 0.0]), np.append(mean + random.normal(size=n_levels), [mean, 0.0]), np.ones(9)
    )
    walk = Walk(NormalGamma(mean, held, 3.0, 2.0), (step,))
    found, variance, outer = walk.slot_priors(levels_in(order, n_levels), seen)
    for level in range(n_levels):
        others = [k for k in range(n_levels) if k != level]
        precision, told = held * np.eye(n_levels) + step * laplacian(n_levels, order), np.zeros(n_levels)
        for k in others:
            precision[k, k] += count[k]
            told[k] = count[k] * (seen.mean[k] - mean)
        covariance = np.linalg.inv(precision)
        assert found.strength[level] == pytest.approx(1.0 / covariance[level, level], rel=1e-10)
        assert found.centre[level] - mean == pytest.approx((covariance @ told)[level], rel=1e-10, abs=1e-10)
        by_chance = sum(covariance[level, k] ** 2 * count[k] for k in others)  # of ȳ, given θ
        assert variance[level] == pytest.approx(by_chance, rel=1e-9)
    assert (found.alpha == 3.0).all()
    assert (found.beta == 2.0).all()
    np.testing.assert_array_equal(found.strength[-2:], outer.strength)  # missing and unseen


@pytest.mark.parametrize("order", ORDERS)
def test_rows_are_as_likely_as_the_dense_normal_model_says(order):
    random = np.random.default_rng(1)
    code = np.repeat(np.arange(6), [3, 1, 4, 2, 5, 2])
    y = random.normal(size=len(code))
    walk, index = Walk(NormalGamma(0.2, 0.5, 1e7, 1e7), (2.0,)), levels_in(order, 6)
    own = Moments.from_codes(code, y, n_slots=6)
    covariance = np.linalg.inv(0.5 * np.eye(6) + 2.0 * laplacian(6, order))[np.ix_(code, code)] + np.eye(len(code))
    expected = multivariate_normal(np.full(len(code), 0.2), covariance).logpdf(y)
    assert walk._log_marginal(_Path.of(index), own, np.arange(6)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("held", "step"), [(0.05, 2.0), (0.5, 20.0), (5.0, 0.01)])
def test_the_smoothness_is_found(order, held, step):
    """How far a level lies from the mean of its neighbours, and from the mean of all, is as it was drawn."""
    random = np.random.default_rng(3)
    theta = draw_levels(random, 400, order, held, step)
    code = np.repeat(np.arange(400), 40)
    table, y = pd.DataFrame({"level": code}), theta[code] + random.normal(size=len(code))
    kinds = {"level": Ordinal(cyclic=order == "ring")}
    walk = SamplingBayesianEncoder(kinds=kinds).fit(table, y).encoding_.columns[0].posteriors.prior.links
    path = _Path.of(levels_in(order, 400))
    truth = Walk(NormalGamma(0.0, held, 1.0, 1.0), (step,))
    assert path.apart(walk) == pytest.approx(path.apart(truth), rel=0.6)
    if step > held:
        assert walk.step == pytest.approx(step, rel=0.5)
    else:
        assert walk.root.strength == pytest.approx(held, rel=0.3)


@pytest.mark.parametrize("order", ORDERS)
def test_ranks_of_the_truth_among_draws_are_uniform(order):
    """θ is drawn as the model says; one level in five has no rows."""
    random = np.random.default_rng(0)
    n_levels, ranks = 40, {True: [], False: []}
    for number in range(60):
        theta = draw_levels(random, n_levels, order, 0.2, 3.0)
        code = np.repeat(np.arange(n_levels), 6)
        code = code[code % 5 != 2]
        kind = Ordinal(range(n_levels), cyclic=order == "ring")
        encoder = SamplingBayesianEncoder(kinds={"k": kind}, temperature=1.0, random_state=number)
        encoder.fit(pd.DataFrame({"k": code}), theta[code] + random.normal(size=len(code)))
        new = pd.DataFrame({"k": np.arange(n_levels)})
        rank = (encoder.sample(new, 99)[:, :, 0] < theta).mean(axis=0)
        for bare in ranks:
            ranks[bare].append(rank[(np.arange(n_levels) % 5 == 2) == bare][:: 2 if bare else 4])
    for some in map(np.concatenate, ranks.values()):
        assert kstest(some, "uniform").pvalue > 1e-3
        assert abs(some.var() - 1 / 12) < 0.015


def test_chances_that_walk_are_calibrated():
    """Not normal: a chance that goes from level to level as a Beta does."""
    random = np.random.default_rng(0)
    theta, ranks = np.full((30, 60), 0.4), []
    for k in range(1, 60):
        near = 0.95 * theta[:, k - 1] + 0.05 * 0.4  # or it would stay at 0 or 1 for ever
        theta[:, k] = random.beta(60 * near, 60 * (1 - near))
    for number, chance in enumerate(theta):
        code = np.repeat(np.arange(60), 8)
        encoder = SamplingBayesianEncoder(kinds={"k": Ordinal()}, temperature=1.0, random_state=number)
        encoder.fit(pd.DataFrame({"k": code}), random.binomial(1, chance[code]))
        drawn = encoder.sample(pd.DataFrame({"k": np.arange(60)}), 99)[:, :, 0]
        ranks.append((drawn < chance).mean(axis=0)[::6])
    found = np.concatenate(ranks)
    assert abs(found.mean() - 0.5) < 0.05
    assert abs(found.var() - 1 / 12) < 0.02


def test_levels_without_an_order_are_encoded_as_plain_ones_are():
    random = np.random.default_rng(0)
    code = np.repeat(np.arange(60), 40)
    y = random.normal(size=60)[code] + random.normal(size=len(code))
    table = pd.DataFrame({"k": code})
    plain = SamplingBayesianEncoder(["k"]).fit(table, y).transform(table)
    ordered = SamplingBayesianEncoder(kinds={"k": Ordinal()}).fit(table, y).transform(table)
    assert np.abs(plain - ordered).max() < 0.05


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_rare_levels_are_predicted_better_than_without_their_order(family, cyclic):
    losses = {"plain": [], "ordered": []}
    new = pd.DataFrame({"hour": np.arange(24)})
    truth = target("normal", 0.0 * np.arange(24)) * 0.0 + 0.5 + 0.4 * np.sin(2 * np.pi * np.arange(24) / 24)
    for seed in range(4):
        table, chance = smooth(250, seed=seed)
        y = target(family, chance, seed)
        many = target(family, np.repeat(truth, 4_000), seed + 99)
        wanted = SamplingBayesianEncoder(["hour"], family=family).fit(
            pd.DataFrame({"hour": np.repeat(np.arange(24), 4_000)}), many
        )
        for name, kind in (("plain", None), ("ordered", Ordinal(range(24), cyclic))):
            encoder = SamplingBayesianEncoder(["hour"], family=family, kinds=kind and {"hour": kind}).fit(table, y)
            losses[name].append(np.mean((encoder.transform(new) - wanted.transform(new)) ** 2))
    assert np.mean(losses["ordered"]) < 0.8 * np.mean(losses["plain"])


# ------------------------------------------------------------------------------- levels, and their order


def test_levels_without_rows_lean_on_their_neighbours_and_a_ring_is_closed():
    table = pd.DataFrame({"hour": np.repeat([0, 1, 2, 12, 13, 14, 22], 60)})
    y = np.where(table["hour"].isin([12, 13, 14]), 9.0, 1.0) + np.random.default_rng(0).normal(size=len(table))
    new = pd.DataFrame({"hour": [13, 11, 7, 23]})
    line = SamplingBayesianEncoder(kinds={"hour": Ordinal(range(24))}).fit(table, y).transform(new)[:, 0]
    ring = SamplingBayesianEncoder(kinds={"hour": Ordinal(range(24), cyclic=True)}).fit(table, y).transform(new)[:, 0]
    assert line[0] > line[1] > line[2]
    assert abs(ring[3] - 1.0) < abs(line[3] - 1.0) + 0.5
    frame = SamplingBayesianEncoder(kinds={"hour": Ordinal()}).fit(table, y).posteriors_["hour"]
    assert frame["category"].dropna().tolist() == list(range(23))  # whole numbers, with those that no row has


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_type_of_a_column_says_its_order(library):
    sizes = ["S", "M", "L", "XL"]
    cells = ["S"] * 30 + ["L"] * 30 + ["XL"] * 30
    column = (
        pd.Categorical(cells, sizes, ordered=True) if library == "pandas" else pl.Series(cells, dtype=pl.Enum(sizes))
    )
    table = pd.DataFrame({"size": column}) if library == "pandas" else pl.DataFrame({"size": column})
    y = np.repeat([0.0, 2.0, 3.0], 30) + np.random.default_rng(0).normal(size=90)
    by_type = SamplingBayesianEncoder(kinds={"size": Ordinal()}, random_state=0).fit(table, y)
    named = SamplingBayesianEncoder(kinds={"size": Ordinal(sizes)}, random_state=0).fit(table, y)
    assert by_type.encoding_.columns[0].posteriors.index.labels()[:4] == sizes
    np.testing.assert_array_equal(by_type.transform(table[:3]), named.transform(table[:3]))
    both = by_type + by_type  # a table that is merged, saved and loaded keeps what its type said
    file = io.BytesIO()
    both.save(file)
    assert catbayes.load(file).encoding_.columns[0].posteriors.index.labels()[:4] == sizes


def test_missing_levels_are_no_part_of_the_walk():
    table, chance = smooth()
    gaps = table.astype(float)
    gaps.loc[::5, "hour"] = np.nan
    y = target("normal", chance)
    y[::5] += 100.0
    kinds = {"hour": Ordinal([float(hour) for hour in range(24)])}
    encoder = SamplingBayesianEncoder(kinds=kinds, random_state=0).fit(gaps, y)
    known = encoder.transform(gaps)[:, 0]
    assert abs(known[0] - y[::5].mean()) < 2.0
    assert abs(known[1:5].mean() - y[1:5].mean()) < 5.0
    prior = SamplingBayesianEncoder(kinds=kinds, missing="prior").fit(gaps, y).transform(gaps)[0, 0]
    assert abs(prior - np.delete(y, np.s_[::5]).mean()) < 1.0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", [Ordinal(range(24), cyclic=True), Bins([3, 7, 12, 18])])
@pytest.mark.parametrize("encoder", [SamplingBayesianEncoder, partial(SamplingBayesianEncoder, mapping="moments")])
def test_parts_give_what_the_whole_gives_weights_are_rows_and_files_keep_it(encoder, kind, family):
    table, chance = smooth(1_000)
    y = target(family, chance)
    make = clone(encoder(kinds={"hour": kind}, family=family, random_state=0))
    whole = clone(make).fit(table, y)
    expected = whole.transform(table)
    first, second = clone(make).fit(table[:400], y[:400]), clone(make).fit(table[400:], y[400:])
    np.testing.assert_allclose((first + second).transform(table), expected, rtol=1e-3)
    np.testing.assert_allclose((whole - second).transform(table), first.transform(table), rtol=1e-3)
    first.partial_fit(table[400:], y[400:])
    np.testing.assert_allclose(first.transform(table), expected, rtol=1e-3)
    twice = clone(make).fit(pd.concat([table, table]), np.append(y, y))
    weighted = clone(make).fit(table, y, sample_weight=np.full(1_000, 2.0))
    np.testing.assert_allclose(weighted.transform(table), twice.transform(table), rtol=1e-3)
    file = io.BytesIO()
    whole.save(file)
    loaded = catbayes.load(file)
    assert loaded.kinds == {"hour": kind}
    np.testing.assert_array_equal(loaded.transform(table), expected)


@pytest.mark.parametrize("own_target", ["exclude", "cross_fit"])
@pytest.mark.parametrize("kind", [Ordinal(), Ordinal(cyclic=True), Bins(400), Bins(400, merge=True)])
def test_noise_does_not_give_the_own_target_away(own_target, kind):
    random = np.random.default_rng(0)
    found = []
    for number in range(6):
        level = random.integers(0, 600, 2_000)
        y = random.binomial(1, 0.3, 2_000)
        settings = {"prior": BetaBernoulli(3.0, 7.0), "kinds": {"k": kind}}  # weak, or all would be one
        encoder = SamplingBayesianEncoder(own_target=own_target, random_state=number, **settings)
        drawn = encoder.fit_transform(pd.DataFrame({"k": level}), y)[:, 0]
        found.append(np.corrcoef(drawn, y)[0, 1] if drawn.std() > 0 else 0.0)
    assert (-0.3 if own_target == "exclude" else -0.06) < np.mean(found) < 0.03


@pytest.mark.parametrize("kind", [Ordinal(), Ordinal(cyclic=True), Bins(300), Bins(300, merge=True)])
def test_a_model_of_noise_learns_nothing_from_it(kind):
    random = np.random.default_rng(1)
    lost = []
    for number in range(3):
        level, y = random.integers(0, 500, 3_000), random.normal(size=3_000)
        table = pd.DataFrame({"k": level})
        encoder = SamplingBayesianEncoder(kinds={"k": kind}, prior=NormalGamma(0.0, 3.0, 5.0, 5.0), random_state=number)
        features = encoder.fit_transform(table[:2_000], y[:2_000])
        model = LGBMRegressor(n_estimators=50, min_child_samples=30, verbose=-1, n_jobs=1).fit(features, y[:2_000])
        lost.append(np.mean((model.predict(encoder.transform(table[2_000:])) - y[2_000:]) ** 2) / np.var(y[2_000:]))
    assert np.mean(lost) < 1.12  # of which such a model loses some 0.05 to any column of noise


# ----------------------------------------------------------------------------------------------- bins


def test_bins_hold_about_as_many_rows_each_and_missing_stays_missing():
    random = np.random.default_rng(0)
    table = pd.DataFrame({"amount": np.append(np.exp(random.normal(size=1_000)), [np.nan] * 50)})
    y = np.append(np.log(table["amount"][:1_000]) + random.normal(size=1_000), [9.0] * 50)
    encoder = SamplingBayesianEncoder(kinds={"amount": Bins(10)}).fit(table, y)
    frame = encoder.posteriors_["amount"]
    np.testing.assert_allclose(frame["count"][:10], 100, atol=1)
    assert frame["count"][frame["kind"] == "missing"].item() == 50
    assert (np.diff(frame["mean"][:10]) > 0).all()
    new = pd.DataFrame({"amount": [-1e9, 1e9, np.nan, 1.0]})
    low, high, missing, _ = encoder.transform(new)[:, 0]
    assert low == frame["mean"][0]
    assert high == frame["mean"][9]
    assert missing > 8.0
    for same in (pl.from_pandas(new), new.to_numpy(), new.astype(object)):
        again = encoder if hasattr(same, "columns") else SamplingBayesianEncoder(kinds={0: Bins(10)})
        if again is not encoder:
            again.fit(table.to_numpy(), y)
        np.testing.assert_array_equal(again.transform(same)[:, 0].astype(float), [low, high, missing, _])


def test_a_bin_begins_with_its_cut():
    table, y = pd.DataFrame({"age": [17, 18] * 50}), [0.0, 1.0] * 49 + [0.1, 0.9]
    frame = SamplingBayesianEncoder(kinds={"age": Bins([18])}).fit(table, y).posteriors_["age"].set_index("category")
    assert frame["count"]["below 18"] == 50
    assert frame["raw_mean"]["18 or more"] == pytest.approx(0.998)


def test_bins_of_numbers_that_differ_in_their_last_digits_have_names_of_their_own():
    nanoseconds = pd.DataFrame({"time": 1_700_000_000_000_000_000 + 10_000 * np.arange(400)})
    y = np.random.default_rng(0).normal(size=400)
    encoder = SamplingBayesianEncoder(["time"], kinds={"time": Bins(20)}).fit(nanoseconds, y)
    assert encoder.posteriors_["time"]["category"].nunique() == 20
    file = io.BytesIO()
    encoder.save(file)
    np.testing.assert_array_equal(catbayes.load(file).transform(nanoseconds), encoder.transform(nanoseconds))


def test_bins_are_merged_where_neighbours_do_not_differ():
    random = np.random.default_rng(0)
    amount = random.uniform(0, 100, 4_000)
    y = random.binomial(1, np.where(amount < 30, 0.2, np.where(amount < 60, 0.5, 0.8)))
    table = pd.DataFrame({"amount": amount, "noise": random.permutation(amount)})
    kinds = {"amount": Bins(40, merge=True), "noise": Bins(40, merge=True)}
    encoder = SamplingBayesianEncoder(kinds=kinds).fit(table, y)
    edges, noise = (column.posteriors.index.sources[0].edges for column in encoder.encoding_.columns)
    assert len(edges) <= 3  # a bin that lies on both sides of a step may stay by itself
    assert all(min(abs(edge - step) for edge in edges) < 3 for step in (30, 60))
    assert noise == ()


def test_weights_are_no_evidence_that_bins_differ_and_rows_without_one_cut_nothing():
    random = np.random.default_rng(0)
    table, weight = pd.DataFrame({"amount": np.arange(400.0)}), np.where(np.arange(400) < 200, 0.0, 100.0)
    for y in (random.normal(size=400), random.binomial(1, 0.5, 400)):
        for heavy in (np.full(400, 100.0), weight):
            merged = SamplingBayesianEncoder(["amount"], kinds={"amount": Bins(20, merge=True)})
            merged.fit(table, y, sample_weight=heavy)
            assert merged.encoding_.columns[0].posteriors.index.sources[0].edges == ()
        cut = SamplingBayesianEncoder(["amount"], kinds={"amount": Bins(4)}).fit(table, y, sample_weight=weight)
        assert cut.encoding_.columns[0].posteriors.index.sources[0].edges == (250.0, 300.0, 350.0)
    step = np.where(table["amount"] < 200, 0.0, 2.0) + random.normal(size=400)
    merged = SamplingBayesianEncoder(["amount"], kinds={"amount": Bins(20, merge=True)})
    merged.fit(table, step, sample_weight=np.full(400, 100.0))
    assert len(merged.encoding_.columns[0].posteriors.index.sources[0].edges) == 1


def test_a_row_of_four_times_the_smallest_weight_cuts_bins_as_four_rows_do_and_equal_weights_as_none():
    random = np.random.default_rng(0)
    table, times = pd.DataFrame({"amount": random.exponential(size=200).round(2)}), np.repeat([4, 1], 100)

    def edges(table, **settings):
        encoder = SamplingBayesianEncoder(["amount"], kinds={"amount": Bins(7)}, family="normal")
        encoder.fit(table, np.arange(len(table)), **settings)
        return encoder.encoding_.columns[0].posteriors.index.sources[0].edges

    assert edges(table, sample_weight=times) == edges(table.loc[np.repeat(np.arange(200), times)]) != edges(table)
    assert edges(table, sample_weight=np.full(200, 0.3)) == edges(table)


def test_bins_that_were_cut_apart_are_not_merged_but_parts_go_by_the_first():
    table, chance = smooth()
    numbers, y = table + np.random.default_rng(0).random((len(table), 1)), target("normal", chance)
    one, other = (SamplingBayesianEncoder(kinds={"hour": Bins(8)}, random_state=0) for _ in range(2))
    one.fit(numbers[:1_000], y[:1_000])
    edges = one.encoding_.columns[0].posteriors.index.sources[0].edges
    with pytest.raises(InputError, match="cut apart"):
        one + other.fit(numbers[1_000:], y[1_000:])
    one.partial_fit(numbers[1_000:], y[1_000:])
    given = SamplingBayesianEncoder(kinds={"hour": Bins(edges)}, random_state=0).fit(numbers, y)
    np.testing.assert_allclose(one.transform(numbers), given.transform(numbers), rtol=1e-6)


# ------------------------------------------------------------------------------------- one direction


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "categorical"])
@pytest.mark.parametrize("direction", ["increasing", "decreasing"])
def test_means_only_go_in_one_direction_if_asked(family, direction):
    random = np.random.default_rng(0)
    grade = random.integers(0, 12, 240)
    chance = 0.2 + 0.05 * (grade if direction == "increasing" else 11 - grade)
    y, new = target(family, chance), pd.DataFrame({"grade": np.arange(12)})
    free, held = (
        SamplingBayesianEncoder(kinds={"grade": Ordinal(monotone=one)}, family=family, random_state=0)
        for one in (None, direction)
    )
    table = pd.DataFrame({"grade": grade})
    means = held.fit(table, y).transform(new)[:, 0]
    steps = np.diff(means) * (1 if direction == "increasing" else -1)
    assert (steps >= -1e-9 * np.abs(means).max()).all()
    before = free.fit(table, y).encoding_.columns[0].posteriors.slots.family
    after = held.encoding_.columns[0].posteriors.slots.family
    np.testing.assert_allclose(after.strength, before.strength, rtol=1e-9)  # as sure as before
    weight = before.strength[:12]
    expected = before.mean()[:12, 0]
    assert weight @ after.mean()[:12, 0] == pytest.approx(
        weight @ expected, rel=1e-6
    )  # levels that are pooled share it
    assert np.isfinite(held.sample(new, 5)).all()
    file = io.BytesIO()
    held.save(file)
    np.testing.assert_array_equal(catbayes.load(file).transform(new), held.transform(new))


def test_means_that_go_in_one_direction_stay_as_they_are():
    table = pd.DataFrame({"grade": np.repeat(np.arange(5), 200)})
    y = 3.0 * table["grade"] + np.random.default_rng(0).normal(size=1_000)
    free, held = (
        SamplingBayesianEncoder(kinds={"grade": Ordinal(monotone=one)}).fit(table, y) for one in (None, "increasing")
    )
    np.testing.assert_allclose(held.transform(table[::200]), free.transform(table[::200]), rtol=1e-9)


@pytest.mark.parametrize("kind", [Ordinal(monotone="increasing"), Bins(100, monotone="decreasing")])
def test_noise_in_one_direction_does_not_give_the_own_target_away(kind):
    random, found = np.random.default_rng(0), []
    for number in range(8):
        table, y = pd.DataFrame({"k": random.integers(0, 300, 1_500)}), random.binomial(1, 0.3, 1_500)
        settings = {"prior": BetaBernoulli(3.0, 7.0), "kinds": {"k": kind}}
        drawn = SamplingBayesianEncoder(random_state=number, **settings).fit_transform(table, y)[:, 0]
        found.append(np.corrcoef(drawn, y)[0, 1])
    assert -0.08 < np.mean(found) < 0.03
    held, free = (SamplingBayesianEncoder(kinds=kinds) for kinds in ({"k": kind}, {"k": replace(kind, monotone=None)}))
    assert free.fit(table, y).encoding_.hides
    assert not held.fit(table, y).encoding_.hides  # so that folds serve


def test_directions_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="cannot be monotone"):
        Ordinal(cyclic=True, monotone="increasing")
    with pytest.raises(InputError, match="expected one of"):
        Bins(monotone="up")
    with pytest.raises(InputError, match="rise and fall together"):
        SamplingBayesianEncoder(kinds={"k": Ordinal(monotone="increasing")}, family="categorical").fit(
            pd.DataFrame({"k": [1, 2, 3] * 9}), ["a", "b", "c"] * 9
        )


# ------------------------------------------------------------------------------------------ spellings


def typed(n_things=60, n_rows=3_000, seed=0):
    """Things of several grades that people spell in several ways, and what each is worth."""
    random = np.random.default_rng(seed)
    syllables = ["ka", "lo", "mi", "ner", "ros", "tev", "vin", "sta", "bur", "gen", "hol", "dam", "ford", "pex", "wick"]
    heads = ["".join(random.choice(syllables, 4)) for _ in range(n_things)]
    thing, grade = random.integers(0, n_things, n_rows), random.integers(1, 5, n_rows)
    names = [f"{heads[head]} {number}" for head, number in zip(thing, grade, strict=True)]
    ways = [str, str.upper, str.title, lambda name: f" {name.replace(' ', '-')}!"]
    cells = [ways[way](name) for name, way in zip(names, random.integers(0, 4, n_rows), strict=True)]
    worth = random.normal(size=n_things)[thing] + 0.3 * random.normal(size=(n_things, 5))[thing, grade]
    return pd.DataFrame({"name": cells}), np.array(names), worth


def test_spellings_of_one_thing_are_one_category_whatever_read_them(tmp_path):
    table, names, worth = typed()
    y = worth + np.random.default_rng(1).normal(size=len(worth))
    kinds = {"name": Spellings()}
    dirty = SamplingBayesianEncoder(kinds=kinds, family="normal", random_state=0).fit(table, y)
    clean = SamplingBayesianEncoder(kinds=kinds, family="normal", random_state=0).fit(pd.DataFrame({"name": names}), y)
    expected = clean.transform(pd.DataFrame({"name": names}))
    np.testing.assert_allclose(dirty.transform(table), expected, rtol=1e-9)
    path = tmp_path / "rows.parquet"
    table.assign(y=y).to_parquet(path)
    away = SamplingBayesianEncoder(["name"], kinds=kinds, family="normal", random_state=0).fit(str(path), "y")
    np.testing.assert_allclose(away.transform(table), expected, atol=1e-6)  # an engine counts every spelling


def test_unseen_spellings_lean_on_what_they_resemble():
    table, names, worth = typed(n_rows=2_000)
    y = worth + 0.5 * np.random.default_rng(1).normal(size=len(worth))
    held = np.isin(names, np.unique(names)[::5])
    plain = SamplingBayesianEncoder(["name"], random_state=0).fit(pd.DataFrame({"name": names[~held]}), y[~held])
    alike = SamplingBayesianEncoder(kinds={"name": Spellings()}, random_state=0).fit(table[~held], y[~held])
    error = {
        "plain": np.mean((plain.transform(pd.DataFrame({"name": names[held]}))[:, 0] - worth[held]) ** 2),
        "alike": np.mean((alike.transform(table[held])[:, 0] - worth[held]) ** 2),
    }
    assert error["alike"] < 0.4 * error["plain"]
    frame = alike.posteriors_["name"].set_index("category")
    slot = frame.loc[names[~held][0]]
    parent = frame.loc[slot["parent"]]
    assert parent["kind"] == "parent"
    assert parent["parent"].startswith("vaguely like")
    stranger, missing = alike.transform(pd.DataFrame({"name": ["####", None]}))[:, 0]
    assert stranger == pytest.approx(missing)  # both are as any might be
    drawn = alike.sample(table[held][:5], 2_000)[:, :, 0]
    np.testing.assert_allclose(drawn.mean(axis=0), alike.transform(table[held][:5])[:, 0], atol=0.1)


def test_spellings_are_merged_taken_out_and_saved():
    table, _, worth = typed(30, 1_500)
    y = np.random.default_rng(0).binomial(1, 1 / (1 + np.exp(-worth)))
    make = SamplingBayesianEncoder(kinds={"name": Spellings(alike=0.6)}, random_state=0)
    whole, first, second = (clone(make).fit(table[some], y[some]) for some in (np.s_[:], np.s_[:700], np.s_[700:]))
    expected = whole.transform(table)
    np.testing.assert_allclose((first + second).transform(table), expected, rtol=1e-6)
    np.testing.assert_allclose((whole - second).transform(table), first.transform(table), rtol=1e-6)
    np.testing.assert_allclose(first.partial_fit(table[700:], y[700:]).transform(table), expected, rtol=1e-6)
    weighted = clone(make).fit(table, y, sample_weight=np.full(1_500, 2.0))
    twice = clone(make).fit(pd.concat([table, table]), np.append(y, y))
    np.testing.assert_allclose(weighted.transform(table), twice.transform(table), rtol=1e-6)
    file = io.BytesIO()
    whole.save(file)
    new = pd.concat([table, pd.DataFrame({"name": ["never seen 9", None]})])
    loaded = catbayes.load(file)
    np.testing.assert_array_equal(loaded.transform(new), whole.transform(new))
    with pytest.raises(InputError, match="not looked up by its values"):
        whole.to_sql()
    model = SamplingRegressor(LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1), clone(make), random_state=0)
    assert np.isfinite(model.fit(table, worth).predict(new)).all()  # with effects


def test_strengths_of_few_children_that_differ_much_are_found():
    """Two children a parent, ten times as far apart as rows: what parents are told is less than a row each."""
    random = np.random.default_rng(0)
    heads = ["".join(random.choice(list("abcdefghijklmnop"), 9)) for _ in range(400)]
    parent = random.normal(size=400) * 4.0
    child = parent[:, None] + random.normal(size=(400, 2)) * 2.0
    table = pd.DataFrame({"name": [f"{head} {k}" for head in heads for k in range(2) for _ in range(8)]})
    y = np.repeat(child.reshape(-1), 8) + random.normal(size=6_400)
    encoder = SamplingBayesianEncoder(kinds={"name": Spellings()}).fit(table, y)
    own, near, far = encoder.encoding_.columns[0].posteriors.prior.links.strengths
    assert own == pytest.approx(1 / 2.0**2, rel=0.3)
    assert 1 / near + 1 / far == pytest.approx(4.0**2, rel=0.3)


@pytest.mark.parametrize("seed", [19, 20, 21, 22])
def test_strengths_are_found_wherever_the_climb_begins(seed):
    """It begins at the strength that spellings would have as names, of which the logarithm is nearly 0 here."""
    random = np.random.default_rng(seed)
    jobs = ("librarian", "driver", "clerk", "nurse", "cook", "pilot", "baker", "smith")
    titles = np.array([f"{job} {rank}" for job in jobs for rank in ("i", "ii", "iii", "iv")])
    mean = np.repeat(random.normal(size=8), 4) + 0.3 * random.normal(size=32)
    codes = random.integers(0, 32, 400)
    table, y = pd.DataFrame({"title": titles[codes]}), mean[codes] + random.normal(size=400)
    encoder = SamplingBayesianEncoder(kinds={"title": Spellings()}).fit(table, y)
    found, leaves = encoder.encoding_.columns[0].posteriors, np.arange(32)
    links = found.prior.links

    def likely(strengths):
        told = replace(links, strengths=tuple(strengths)).slot_priors(found.index, found.statistics)[0]
        return told.take(leaves).log_marginal(found.statistics.take(leaves)).sum()

    steps = np.exp(0.7 * np.vstack([np.eye(3), -np.eye(3)]))
    assert max(likely(links.strengths * step) for step in steps) < likely(links.strengths) + 0.02


def test_100_000_spellings_are_never_compared_pair_by_pair():
    random = np.random.default_rng(0)
    forms = ["".join(random.choice(list("abcdefgh"), 9)) for _ in range(20_000)]  # few letters: n-grams are common
    grams = Grams.of(forms, 3)
    shared = np.bincount(grams.matrix.indices, minlength=grams.matrix.shape[1]).astype(float)
    assert PRODUCTS / 10 < (shared**2).sum() <= PRODUCTS < len(forms) ** 2


@pytest.mark.parametrize("own_target", ["exclude", "cross_fit"])
def test_noise_in_spellings_does_not_give_the_own_target_away(own_target):
    random = np.random.default_rng(0)
    found = []
    for number in range(6):
        table, _, _ = typed(200, 2_000, seed=number)
        y = random.binomial(1, 0.3, 2_000)
        settings = {"prior": BetaBernoulli(3.0, 7.0), "kinds": {"name": Spellings()}}
        encoder = SamplingBayesianEncoder(own_target=own_target, random_state=number, **settings)
        found.append(np.corrcoef(encoder.fit_transform(table, y)[:, 0], y)[0, 1])
    assert (-0.3 if own_target == "exclude" else -0.06) < np.mean(found) < 0.03


def test_names_that_end_in_a_sign_are_names_of_their_own():
    assert [form_of(name) for name in ("C", "c#", "C++ ", "A+", "c+d", "rock & roll!", "#1")] == [
        *("c", "c#", "c++", "a+", "c d", "rock roll", "1")
    ]


def test_values_that_are_no_level_are_told():
    X, y = pd.DataFrame({"size": ["S", "M", "L"] * 20}), [0, 1, 1, 0, 1, 0] * 10
    encoder = SamplingBayesianEncoder(kinds={"size": Ordinal(["S", "M", "L"])}).fit(X, y)
    with pytest.warns(InputWarning, match=r"Column 'size' holds \['XL'\], none of its levels"):
        encoder.transform(pd.DataFrame({"size": ["S", "XL"]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform(pd.DataFrame({"size": ["S", None]}))
        ages = SamplingBayesianEncoder(["age"], kinds={"age": Bins(4)}).fit(pd.DataFrame({"age": range(60)}), y)
        ages.transform(pd.DataFrame({"age": [-5, 99]}))


@given(st.text(), st.text())
def test_the_form_of_a_form_is_itself(one, other):
    assert form_of(form_of(one)) == form_of(one)
    assert form_of(f" {one.upper()} ") == form_of(one.upper())
    assert isinstance(form_of(other), str)


# ---------------------------------------------------------------------------------------- shared columns


def games(n_rows=400, n_teams=100, seed=0, opposed=False, agree=1.0):
    """Games of teams, how good each is at home and away, and what to expect of each game."""
    random = np.random.default_rng(seed)
    home, away = random.integers(0, n_teams, (2, n_rows))
    away = np.where(away == home, (away + 1) % n_teams, away)
    at_home = random.normal(size=n_teams)
    abroad = agree * at_home + np.sqrt(1 - agree**2) * random.normal(size=n_teams)
    expected = 0.5 + at_home[home] + (-1 if opposed else 1) * abroad[away]
    return pd.DataFrame({"home": home, "away": away}).astype(str), expected, (at_home, abroad)


@pytest.mark.parametrize("opposed", [False, True])
def test_what_other_roles_say_is_what_a_dense_normal_model_says(opposed):
    random = np.random.default_rng(0)
    index, held, tie, sign = levels_in("line", 4), 0.4, 3.0, -1.0 if opposed else 1.0
    counts = random.integers(0, 5, (2, 4)).astype(float)
    others = [
        Moments(np.append(n, [1.0, 0.0]), np.append(random.normal(size=4), [0.0, 0.0]), np.ones(6)) for n in counts
    ]
    found, variance, outer = Roles(NormalGamma(5.0, held, 3.0, 2.0), (tie,), tuple(others), opposed).slot_priors(
        index, None
    )
    centres = [np.average(other.mean[:4], weights=other.count[:4]) for other in others]
    for slot in range(4):
        precision = held * np.eye(3) + tie * (3 * np.eye(3) - np.ones((3, 3)))
        said = np.zeros(3)
        for role, (other, centre) in enumerate(zip(others, centres, strict=True), 1):
            precision[role, role] += other.count[slot]
            said[role] = sign * other.count[slot] * (other.mean[slot] - centre)
        covariance = np.linalg.inv(precision)
        assert found.strength[slot] == pytest.approx(1 / covariance[0, 0], rel=1e-10)
        assert found.centre[slot] - 5.0 == pytest.approx((covariance @ said)[0], rel=1e-9, abs=1e-10)
        by_chance = sum(covariance[0, r] ** 2 * others[r - 1].count[slot] for r in (1, 2))
        assert variance[slot] == pytest.approx(by_chance, rel=1e-9)
    alone = np.linalg.inv(held * np.eye(3) + tie * (3 * np.eye(3) - np.ones((3, 3))))[0, 0]
    assert outer.strength == pytest.approx(1 / alone, rel=1e-10)


@pytest.mark.parametrize(
    ("family", "opposed"),
    [(family, opposed) for family in FAMILIES for opposed in (False, True) if family != "categorical" or not opposed],
)
def test_roles_that_agree_are_known_from_each_other_and_others_are_not(family, opposed):
    gained = {1.0: [], 0.0: []}
    new = pd.DataFrame({"home": range(100), "away": range(100)}).astype(str)
    for agree, seed in [(agree, seed) for agree in gained for seed in range(6)]:
        table, expected, skills = games(500, 100, seed, opposed, agree)
        y = target(family, 1 / (1 + np.exp(-expected)), seed)
        scores = []
        for kinds in (None, {("home", "away"): Shared(opposed)}):
            encoder = SamplingBayesianEncoder(family=family, kinds=kinds, random_state=0).fit(table, y)
            known = encoder.transform(new).reshape(100, 2, -1)[:, :, -1] + 1e-9 * np.arange(100)[:, None]
            scores.append(sum(abs(np.corrcoef(known[:, role], skills[role])[0, 1]) for role in (0, 1)))
        gained[agree].append(scores[1] - scores[0])
    assert np.mean(gained[1.0]) > 0.05
    assert np.mean(gained[0.0]) > -0.08


def test_a_team_that_was_never_at_home_is_known_from_its_games_away_and_each_role_has_its_mean():
    random = np.random.default_rng(0)
    skill = 3.0 * random.normal(size=40)
    home, away = random.integers(0, 39, 3_000), random.integers(0, 40, 3_000)
    away = np.where(away == home, 39, away)  # team 39 is never at home
    table = pd.DataFrame({"home": home, "away": away}).astype(str)
    y = 10.0 + skill[home] + skill[away] + random.normal(size=3_000)
    encoder = SamplingBayesianEncoder(kinds={("home", "away"): Shared()}, random_state=0, temperature=1.0).fit(table, y)
    known, unseen = encoder.transform(pd.DataFrame({"home": ["39", "new"], "away": ["0", "0"]}))[:, 0]
    assert known - unseen == pytest.approx(skill[39], abs=1.5)
    assert unseen == pytest.approx(y.mean(), abs=1.5)
    drawn = encoder.sample(pd.DataFrame({"home": ["39", "new"], "away": ["0", "0"]}), 500)[:, :, 0]
    assert drawn[:, 0].std() < drawn[:, 1].std()
    file = io.BytesIO()
    encoder.save(file)
    loaded = catbayes.load(file)
    assert loaded.kinds == encoder.kinds
    np.testing.assert_array_equal(loaded.transform(table), encoder.transform(table))
    halves = [clone(encoder).fit(table[some], y[some]) for some in (np.s_[:1_000], np.s_[1_000:])]
    np.testing.assert_allclose((halves[0] + halves[1]).transform(table), encoder.transform(table), rtol=1e-4)
    halves[0].partial_fit(table[1_000:], y[1_000:])
    np.testing.assert_allclose(halves[0].transform(table), encoder.transform(table), rtol=1e-4)
    frame = encoder.to_frames()["known_0"]
    assert len(frame) == 40
    twice = clone(encoder).fit(pd.concat([table, table]), np.append(y, y))
    weighted = clone(encoder).fit(table, y, sample_weight=np.full(3_000, 2.0))
    np.testing.assert_allclose(weighted.transform(table), twice.transform(table), rtol=1e-4)
    model = SamplingRegressor(LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1), clone(encoder), random_state=0)
    assert np.isfinite(model.fit(table, y).predict(table)).all()


@pytest.mark.parametrize("own_target", ["exclude", "cross_fit"])
def test_noise_in_shared_columns_does_not_give_the_own_target_away(own_target):
    random = np.random.default_rng(0)
    found = []
    for number in range(6):
        table, _, _ = games(2_000, 600, number)
        y = random.binomial(1, 0.3, 2_000)
        settings = {"prior": BetaBernoulli(3.0, 7.0), "kinds": {("home", "away"): Shared()}}
        encoder = SamplingBayesianEncoder(own_target=own_target, random_state=number, **settings)
        found.append(np.corrcoef(encoder.fit_transform(table, y)[:, 0], y)[0, 1])
    assert (-0.3 if own_target == "exclude" else -0.06) < np.mean(found) < 0.03


@pytest.mark.parametrize("own_target", ["exclude", "cross_fit"])
def test_rows_of_one_group_do_not_give_each_other_away_by_their_other_role(own_target):
    """A game as two rows, seen from either side: what one says at home, the other says away."""
    random = np.random.default_rng(0)
    found = []
    for number in range(8):
        table, _, _ = games(150, 100, number)
        both = pd.DataFrame({role: np.append(table[role], table[other]) for role, other in TURNED.items()})
        y, game = random.normal(size=150), np.arange(150)
        encoder = SamplingBayesianEncoder(
            own_target=own_target,
            random_state=number,
            prior=NormalGamma(0.0, 2.0, 3.0, 2.0),
            kinds={("home", "away"): Shared()},
        )
        features = encoder.fit_transform(both, np.append(y, y), groups=np.append(game, game))
        found.append(np.corrcoef(features[:, 0], np.append(y, y))[0, 1])
    assert abs(np.mean(found)) < 0.08


def test_a_tie_between_roles_is_found():
    random = np.random.default_rng(0)
    covariance = np.linalg.inv(0.5 * np.eye(2) + 2.0 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    at_home, abroad = random.multivariate_normal([0.0, 0.0], covariance, 600).T
    one, other = np.repeat(np.arange(600), 20), random.permutation(np.repeat(np.arange(600), 20))
    other = np.where(one == other, (other + 1) % 600, other)
    y = np.append(at_home[one], abroad[other]) + random.normal(size=24_000)  # rows of one role at a time
    table = pd.DataFrame({"home": [*map(str, one), *[None] * 12_000], "away": [*[None] * 12_000, *map(str, other)]})
    encoder = SamplingBayesianEncoder(kinds={("home", "away"): Shared()}, missing="prior").fit(table, y)
    roles = encoder.encoding_.columns[0].posteriors.prior.links
    assert roles.strengths[0] == pytest.approx(2.0, rel=0.35)
    assert roles.root.strength == pytest.approx(0.5, rel=0.35)


def test_what_cannot_be_shared_is_refused(tmp_path):
    table, expected, _ = games(100, 10)
    kinds = {("home", "away"): Shared()}
    with pytest.raises(InputError, match="hold one category in both"):
        SamplingBayesianEncoder(kinds=kinds).fit(table.assign(away=table["home"]), expected)
    with pytest.raises(InputError, match="a tuple of two"):
        SamplingBayesianEncoder(kinds={"home": Shared()}).fit(table, expected)
    with pytest.raises(InputError, match="a tuple of two"):
        SamplingBayesianEncoder(kinds={("home", "away"): Ordinal()}).fit(table, expected)
    with pytest.raises(InputError, match="twice"):
        SamplingBayesianEncoder(kinds={**kinds, "home": Spellings()}).fit(table, expected)
    weight = np.append(0.0, np.ones(99))
    one = table.assign(away=[table["home"][0], *table["away"][1:]])
    assert SamplingBayesianEncoder(kinds=kinds).fit(one, expected, sample_weight=weight)
    three = table.assign(referee=["r"] * 100)
    assert SamplingBayesianEncoder(kinds={("home", "away", "referee"): Shared()}).fit(three, expected)
    with pytest.raises(InputError, match="expected two columns"):
        SamplingBayesianEncoder(kinds={("home", "away", "referee"): Shared(opposed=True)}).fit(three, expected)
    opposed = SamplingBayesianEncoder(kinds={("home", "away"): Shared(opposed=True)}, family="categorical")
    with pytest.raises(InputError, match="none is the opposite"):
        opposed.fit(table, np.arange(100) % 3)
    table.assign(y=expected).to_parquet(tmp_path / "games.parquet")
    with pytest.raises(InputError, match="rows in memory"):
        SamplingBayesianEncoder(kinds=kinds).fit(str(tmp_path / "games.parquet"), "y")


# ----------------------------------------------------------------------------------------------- sets


def carts(n_rows=600, n_members=40, seed=0, averaged=False):
    """Sets of up to four members, some without any, and what to expect of each."""
    random = np.random.default_rng(seed)
    effect, often = random.normal(size=n_members), 1 / np.arange(1, n_members + 1) ** 0.7
    sets = [random.choice(n_members, random.integers(0, 5), False, often / often.sum()) for _ in range(n_rows)]
    worth = [effect[some].sum() / (max(len(some), 1) if averaged else 1) for some in sets]
    return pd.DataFrame({"cart": pd.Series([[f"m{k}" for k in some] for some in sets], dtype=object)}), np.array(worth)


@pytest.mark.parametrize("averaged", [0.0, 1.0])
def test_the_prior_of_a_set_is_what_a_dense_normal_model_says_of_it_without_its_own_rows(averaged):
    random = np.random.default_rng(0)
    sets = ("", "a", "a|b", "a|b|c", "b|c", "c|new")
    index = Index.of_column(Sets(sets, vocabulary=("a", "b", "c")))
    count = np.array([2.0, 3.0, 0.0, 5.0, 1.5, 4.0])
    seen = Moments(np.append(count, [0.0, 0.0]), np.append(7.0 + random.normal(size=6), [0.0, 0.0]), np.ones(8))
    member, alone = 0.7, 2.5
    found, variance, _ = Members(NormalGamma(7.0, 1.0, 3.0, 2.0), (member, alone, averaged)).slot_priors(index, seen)
    rows = np.zeros((6, 5))  # a, b, c, the stranger, and what is in every set
    for place, text in enumerate(sets):
        parts = [part for part in text.split("|") if part]
        for part in parts:
            rows[place, "abcn".index(part[0])] = 1 / max(len(parts), 1) ** averaged
    rows[:, 4] = 1.0
    covariance = rows @ rows.T / member + np.eye(6) / alone
    covariance[5, :5] = covariance[:5, 5] = (np.delete(rows, 3, 1)[5] @ np.delete(rows, 3, 1)[:5].T) / member
    for place in range(5):  # the last one holds a stranger, which a dense model would know from its rows
        others = [k for k in range(5) if k != place and count[k] > 0]
        known = np.delete(rows, 3, 1)
        weight = 1 / (1 / count[5] + 1 / alone)  # what the last one tells of the others' members
        told = covariance[np.ix_(others, others)] + np.diag(1 / count[others])
        cross = covariance[place, others]
        told = np.block(
            [[told, (known[others] @ known[5] / member)[:, None]], [known[others] @ known[5] / member, 0.0]]
        )
        told[-1, -1] = known[5] @ known[5] / member + 1 / weight
        cross = np.append(cross, known[place] @ known[5] / member)
        gain = np.linalg.solve(told, cross)
        gaps = np.append(seen.mean[others], seen.mean[5]) - 7.0
        assert found.centre[place] - 7.0 == pytest.approx(gain @ gaps, rel=1e-10, abs=1e-10)
        assert 1 / found.strength[place] == pytest.approx(covariance[place, place] - gain @ cross, rel=1e-10)
    others = np.flatnonzero(count[:5] > 0)  # and the set with a stranger, of which the others know nothing
    gain = np.linalg.solve(covariance[np.ix_(others, others)] + np.diag(1 / count[others]), covariance[5, others])
    assert found.centre[5] - 7.0 == pytest.approx(gain @ (seen.mean[others] - 7.0), rel=1e-10)
    assert 1 / found.strength[5] == pytest.approx(covariance[5, 5] - gain @ covariance[5, others], rel=1e-10)
    assert (variance[:6] >= 0).all()


@pytest.mark.parametrize("averaged", [False, True])
def test_sets_that_were_never_seen_are_known_from_their_members(averaged):
    table, worth = carts(1_200, averaged=averaged)
    y = worth + 0.5 * np.random.default_rng(1).normal(size=1_200)
    encoder = SamplingBayesianEncoder(kinds={"cart": Tags()}, random_state=0).fit(table[:600], y[:600])
    member, _, how = encoder.encoding_.columns[0].posteriors.prior.links.strengths
    assert how == averaged  # sums are told from means
    effects = np.random.default_rng(0).normal(size=40)  # as they were drawn
    assert member == pytest.approx(0.25 / np.mean(effects**2), rel=0.4)
    known = encoder.transform(table[600:])[:, 0]
    assert np.mean((known - worth[600:]) ** 2) < 0.15 * worth.var()
    new = pd.DataFrame({"cart": [["m3", "m1"], ["m1", "m3", "m3"], ["m1", "stranger"], [], None]})
    first, same, strange, empty, missing = encoder.transform(new)[:, 0]
    assert first == same
    assert np.isfinite([strange, empty, missing]).all()
    alone = encoder.transform(new[:1])[0, 0]
    assert alone == pytest.approx(first, rel=1e-9)  # whatever comes with it
    drawn = encoder.sample(new, 800)[:, :, 0]
    np.testing.assert_allclose(drawn.mean(axis=0), encoder.transform(new)[:, 0], atol=0.15)


@pytest.mark.parametrize("family", FAMILIES)
def test_sets_help_every_family(family):
    table, worth = carts(1_500)
    y = target(family, 1 / (1 + np.exp(-worth)))
    known = SamplingBayesianEncoder(kinds={"cart": Tags()}, family=family, random_state=0).fit(table[:900], y[:900])
    assert np.corrcoef(known.transform(table[900:])[:, -1], worth[900:])[0, 1] > 0.6


def test_ranks_of_sets_among_draws_are_uniform():
    random = np.random.default_rng(0)
    ranks = []
    for number in range(25):
        table, worth = carts(500, 30, number)
        theta = worth + 0.5 * random.normal(size=500)  # what a set is by itself
        first = table["cart"].map(lambda some: "|".join(sorted(some)))
        theta = theta[np.array([first.tolist().index(text) for text in first])]
        y = theta + random.normal(size=500)
        encoder = SamplingBayesianEncoder(kinds={"cart": Tags()}, temperature=1.0, random_state=number).fit(
            table[:400], y[:400]
        )
        new = ~first[400:].isin(first[:400]).to_numpy()
        ranks.append((encoder.sample(table[400:][new], 99)[:, :, 0] < theta[400:][new]).mean(axis=0)[::3])
    found = np.concatenate(ranks)
    assert abs(found.mean() - 0.5) < 0.04
    assert abs(found.var() - 1 / 12) < 0.012


def test_sets_are_read_from_lists_and_text_of_any_library_merged_and_saved(tmp_path):
    table, worth = carts(600)
    y = worth + np.random.default_rng(0).normal(size=600)
    make = SamplingBayesianEncoder(kinds={"cart": Tags(";")}, random_state=0)
    whole = clone(make).fit(table, y)
    expected = whole.transform(table)
    text = pd.DataFrame({"cart": table["cart"].map(lambda some: " ; ".join(reversed(some)))})
    for same in (text, pl.DataFrame({"cart": table["cart"].tolist()}), pa.table({"cart": table["cart"].tolist()})):
        np.testing.assert_allclose(clone(make).fit(same, y).transform(same), expected, rtol=1e-9)
    first, second = clone(make).fit(table[:300], y[:300]), clone(make).fit(text[300:], y[300:])
    np.testing.assert_allclose((first + second).transform(table), expected, rtol=1e-4)
    np.testing.assert_allclose((whole - second).transform(table), first.transform(table), rtol=1e-4)
    np.testing.assert_allclose(
        clone(first).fit(table[:300], y[:300]).partial_fit(table[300:], y[300:]).transform(table), expected, rtol=1e-4
    )
    twice = clone(make).fit(pd.concat([table, table]), np.append(y, y))
    weighted = clone(make).fit(table, y, sample_weight=np.full(600, 2.0))
    np.testing.assert_allclose(weighted.transform(table), twice.transform(table), rtol=1e-4)
    file = io.BytesIO()
    whole.save(file)
    new = pd.DataFrame({"cart": ["m1;m2;m3;m4;m5", "nothing known", None]})
    np.testing.assert_array_equal(catbayes.load(file).transform(new), whole.transform(new))
    path, output = tmp_path / "rows.parquet", tmp_path / "encoded.parquet"
    new.to_parquet(path)
    encode(str(path), whole, str(output))
    np.testing.assert_allclose(pd.read_parquet(output)["cart_encoded"], whole.transform(new)[:, 0], rtol=1e-9)
    with pytest.raises(InputError, match="not looked up by its values"):
        whole.to_sql()
    with pytest.raises(InputError, match="rows in memory"):
        clone(make).fit(str(path), "y")


def test_models_predict_for_sets_that_were_never_seen():
    table, worth = carts(900)
    table = table.assign(shop=np.random.default_rng(0).choice(list("ab"), 900))
    y = worth + 0.5 * np.random.default_rng(1).normal(size=900)
    encoder = SamplingBayesianEncoder(kinds={"cart": Tags(), "shop": Spellings()}, interactions=[("cart", "shop")])
    model = SamplingRegressor(LGBMRegressor(n_estimators=60, verbose=-1, n_jobs=1), encoder, random_state=0)
    model.fit(table[:600], y[:600])
    assert np.corrcoef(model.predict(table[600:]), worth[600:])[0, 1] > 0.8
    assert np.isfinite(model.predict_draws(table[600:], n_draws=3)).all()
    file = io.BytesIO()
    model.save(file)
    np.testing.assert_allclose(catbayes.load(file).predict(table[600:]), model.predict(table[600:]), rtol=1e-9)


@pytest.mark.parametrize("own_target", ["exclude", "cross_fit"])
def test_noise_in_sets_does_not_give_the_own_target_away(own_target):
    random = np.random.default_rng(0)
    found = []
    for number in range(6):
        table, _ = carts(1_500, 60, number)
        y = random.binomial(1, 0.3, 1_500)
        settings = {"prior": BetaBernoulli(3.0, 7.0), "kinds": {"cart": Tags()}}
        encoder = SamplingBayesianEncoder(own_target=own_target, random_state=number, **settings)
        found.append(np.corrcoef(encoder.fit_transform(table, y)[:, 0], y)[0, 1])
    assert (-0.3 if own_target == "exclude" else -0.08) < np.mean(found) < 0.03


def test_members_must_be_told_apart():
    with pytest.raises(InputError, match="not blank"):
        Tags(" ")
    with pytest.raises(InputError, match="holds the separator"):
        SamplingBayesianEncoder(kinds={"c": Tags()}).fit(pd.DataFrame({"c": [["a|b"], ["c"]] * 5}), np.arange(10) / 7)


# ------------------------------------------------------------------------------------- other engines


def test_engines_do_what_they_can_and_refuse_the_rest(tmp_path):
    table, chance = smooth(600)
    y = target("normal", chance)
    path, output = tmp_path / "rows.parquet", tmp_path / "encoded.parquet"
    table.assign(y=y).to_parquet(path)
    settings = {"random_state": 0, "family": "normal"}
    hours = SamplingBayesianEncoder(kinds={"hour": Ordinal(range(24), cyclic=True)}, **settings).fit(table, y)
    bins = SamplingBayesianEncoder(kinds={"hour": Bins(6)}, **settings).fit(table, y)
    away = SamplingBayesianEncoder(kinds=hours.kinds, **settings).fit(str(path), "y")
    np.testing.assert_allclose(away.transform(table), hours.transform(table), rtol=1e-6)
    for encoder in (hours, bins):
        encode(str(path), encoder, str(output), overwrite=True)
        np.testing.assert_array_equal(pd.read_parquet(output)["hour_encoded"], encoder.transform(table)[:, 0])
    frames = hours.to_frames()
    assert len(frames["known_0"]) == 24
    for refused in (bins.to_sql, bins.to_frames, bins.to_onnx):
        with pytest.raises(InputError, match="not looked up by its values"):
            refused()
    with pytest.raises(InputError, match="rows in memory"):
        gather(str(path), ["hour"], "y", kinds={"hour": Bins(6)})
    evidence = gather(table, ["hour"], y, kinds={"hour": Bins(6)})
    fitted = SamplingBayesianEncoder(["hour"], kinds={"hour": Bins(6)}, **settings).fit(evidence)
    np.testing.assert_array_equal(fitted.transform(table), bins.transform(table))
    with pytest.raises(InputError, match="gathered without cuts"):
        SamplingBayesianEncoder(["hour"], kinds={"hour": Bins(6)}).fit(gather(table, ["hour"], y))


def test_models_interactions_effects_and_comparisons_take_kinds():
    table, chance = smooth(400)
    table = table.assign(shop=np.random.default_rng(0).choice(list("abc"), 400), size=np.arange(400.0))
    y = target("normal", chance)
    kinds = {"hour": Ordinal(range(24), cyclic=True), "size": Bins(5)}
    model = SamplingRegressor(LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1), SamplingBayesianEncoder(kinds=kinds))
    model.set_params(random_state=0, encoder__interactions=[("hour", "shop"), ("size", "shop")]).fit(table, y)
    assert np.isfinite(model.predict(table)).all()
    assert [column.name for column in model.encoder_.encoding_.columns][:3] == ["hour", "shop", "size"]
    file = io.BytesIO()
    model.save(file)
    np.testing.assert_array_equal(catbayes.load(file).predict(table), model.predict(table))
    few = {"models": ["linear"], "columns": ["hour", "shop"], "repeats": 1, "cv": 2, "family": "normal"}
    result = catbayes.compare(table, y, encoders={"kinds": SamplingRegressor(encoder=model.encoder)}, **few)
    assert np.isfinite([score["r2"] for score in result.best.scores.values()]).all()


# --------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"size": "ordinal"}, "expected a dictionary of columns to kinds"),
        ({"siez": Ordinal()}, "Did you mean 'size'"),
        ({"size": Ordinal()}, "text, which says no order"),
        ({"size": Ordinal(["S", "M"])}, r"holds \['L'\]"),
        ({"size": Bins()}, "more than numbers"),
        ({"many": Ordinal()}, "more than 1000"),
        ({"many": Spellings()}, "more than text"),
    ],
)
def test_what_cannot_be_used_is_refused(kinds, message):
    table = pd.DataFrame({"size": ["S", "M", "L"] * 500, "many": np.arange(1500)})
    with pytest.raises(InputError, match=message):
        SamplingBayesianEncoder(kinds=kinds).fit(table, np.arange(1500) / 7)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("missing", ["category", "prior"])
@pytest.mark.parametrize("kind", [Ordinal(), Ordinal([1, 2]), Bins(5), Spellings(), Tags()], ids=repr)
def test_columns_without_a_value_are_encoded_by_the_mean(kind, missing):
    table, y = pd.DataFrame({"a": pd.Series([None] * 60, dtype=object)}), np.random.default_rng(0).normal(3.0, size=60)
    encoder = SamplingBayesianEncoder(["a"], kinds={"a": kind}, missing=missing, random_state=0)
    assert np.abs(encoder.fit_transform(table, y) - y.mean()).max() < 0.5
    new = pd.DataFrame({"a": pd.Series([None, "1" if isinstance(kind, Spellings | Tags) else 1], dtype=object)})
    np.testing.assert_allclose(encoder.transform(new)[:, 0], y.mean(), atol=0.5)


def test_kinds_that_say_nothing_are_refused_at_once():
    with pytest.raises(InputError, match="each level once"):
        Ordinal(["S", "S"])
    with pytest.raises(InputError, match="the lowest first"):
        Ordinal("SML")
    with pytest.raises(InputError, match="numbers that rise"):
        Bins([3, 2])
    with pytest.raises(InputError, match="whole number"):
        Bins(1)
    table, y = pd.DataFrame({"a": [1, 2] * 9, "b": ["x", "y"] * 9}), np.arange(18) / 7
    with pytest.raises(InputError, match="not encoded"):
        SamplingBayesianEncoder(["b"], kinds={"a": Ordinal()}).fit(table, y)
    with pytest.raises(InputError, match="with kinds"):
        SamplingBayesianEncoder("all", kinds={"a": Ordinal()}, own_target="ordered").fit(table, y)


def test_rows_by_themselves_are_told_why_one_direction_needs_folds(tmp_path, torch):
    from catbayes.torch import PosteriorEmbedding

    table, chance = smooth(400)
    y = target("normal", chance)
    encoder = SamplingBayesianEncoder(["hour"], kinds={"hour": Ordinal(monotone="increasing")}).fit(table, y)
    layer = PosteriorEmbedding(encoder)
    codes, path = layer.codes(table), tmp_path / "hours.parquet"
    assert torch.isfinite(layer.train()(codes)).all()
    table.assign(y=y).to_parquet(path)
    with pytest.raises(InputError, match="monotone: rows of one level of 'hour'"):
        layer(codes, torch.tensor(y))
    with pytest.raises(InputError, match="monotone: rows of one level of 'hour'"):
        encode(str(path), encoder, str(tmp_path / "new.parquet"), n_draws=1, target="y")


def test_torch_layers_draw_and_expect_what_the_encoder_does(torch):
    from catbayes.torch import PosteriorEmbedding

    random = np.random.default_rng(0)
    table, _, _ = games(500, 20)
    table = table.assign(
        hour=random.integers(0, 24, 500),
        size=random.normal(size=500),
        city=random.choice(["Oslo", "OSLO", "Rome"], 500),
    )
    y = table["hour"] + random.normal(size=500)
    kinds = {"hour": Ordinal(cyclic=True), "size": Bins(5), "city": Spellings(), ("home", "away"): Shared()}
    encoder = SamplingBayesianEncoder(kinds=kinds, random_state=0).fit(table, y)
    layer = PosteriorEmbedding(encoder)
    codes = layer.codes(table)
    assert torch.isfinite(layer.train()(codes, torch.tensor(y.to_numpy()))).all()
    gap = layer.eval()(codes).numpy() - encoder.transform(table)  # means are told as differences
    assert np.ptp(gap, axis=0).max() < 1e-3


def test_ranks_of_shared_categories_among_draws_are_uniform():
    """Teams are as good at home as away, or nearly so; whom they meet is noise to a column by itself."""
    random, ranks = np.random.default_rng(0), []
    for number in range(20):
        both, own = random.normal(size=40), 0.4 * random.normal(size=(2, 40))
        home, away = np.repeat(np.arange(40), 8), random.permutation(np.repeat(np.arange(40), 8))
        met = home != away
        home, away = home[met], away[met]
        home_worth, away_worth = both + own[0], both + own[1]
        y = home_worth[home] + away_worth[away] + random.normal(size=len(home))
        table = pd.DataFrame({"home": np.char.add("t", home.astype(str)), "away": np.char.add("t", away.astype(str))})
        encoder = SamplingBayesianEncoder(kinds={("home", "away"): Shared()}, temperature=1.0, random_state=number)
        encoder.fit(table, y)
        new = pd.DataFrame({"home": [f"t{team}" for team in range(40)], "away": "t0"})
        truth = home_worth + away_worth.mean()
        ranks.append((encoder.sample(new, 99)[:, :, 0] < truth).mean(axis=0)[::4])
    found = np.concatenate(ranks)
    assert abs(found.mean() - 0.5) < 0.05
    assert abs(found.var() - 1 / 12) < 0.015


def test_ranks_of_spellings_among_draws_are_uniform():
    random, ranks = np.random.default_rng(0), {True: [], False: []}
    for number in range(15):
        words = ["".join(random.choice(list("abcdefghijklmnopqrstuvwxyz"), 12)) for _ in range(30)]
        names = np.array([word + end for word in words for end in (" i", " ii", " iii", " iv", " v")])
        theta = np.repeat(random.normal(size=30), 5) + 0.5 * random.normal(size=150)
        seen = np.arange(150) % 5 != 4
        code = np.repeat(np.flatnonzero(seen), 4)
        encoder = SamplingBayesianEncoder(kinds={"name": Spellings()}, temperature=1.0, random_state=number)
        encoder.fit(pd.DataFrame({"name": names[code]}), theta[code] + random.normal(size=len(code)))
        rank = (encoder.sample(pd.DataFrame({"name": names}), 99)[:, :, 0] < theta).mean(axis=0)
        for known in ranks:
            ranks[known].append(rank[seen == known][:: 4 if known else 1])
    for some in map(np.concatenate, ranks.values()):
        assert abs(some.mean() - 0.5) < 0.05
        assert abs(some.var() - 1 / 12) < 0.02


@pytest.mark.parametrize("prior", ["empirical", 0.01])
def test_rates_of_spellings_do_not_depend_on_the_unit(prior):
    random = np.random.default_rng(0)
    code = random.integers(0, 16, 600)
    X = pd.DataFrame(
        {"title": np.array([f"{job} {letter}" for job in ("clerk", "driver") for letter in "abcdefgh"])[code]}
    )
    years = random.gamma(2.0, 1.0, 600)
    y = random.poisson(years * np.where(code < 8, 1.0, 4.0) * random.gamma(2.0, 0.5, 600))
    found = []
    for unit in (1.0, 365.25):
        encoder = SamplingBayesianEncoder(kinds={"title": Spellings()}, family="negative_binomial", prior=prior)
        found.append(encoder.fit(X, y, exposure=years * unit).transform(X[:50]) * unit)
    np.testing.assert_allclose(*found, rtol=1e-3)
