"""Draws are what they claim to be: simulation-based calibration, and independence."""

import numpy as np
import pytest
from scipy import stats

import calibrating
from cases import PRIORS, as_read, make_target, parameters
from catbayes import BetaBernoulli, Draws, NormalGamma, SamplingBayesianEncoder
from catbayes.core.draw_scale import Spread
from catbayes.core.drawing import NORMAL_TOLERANCE, Found, LeftOut, draw, draw_strata
from catbayes.core.posteriors import ColumnPrior, Entries
from catbayes.core.random import stream
from catbayes.core.target import Target
from catbayes.families import FAMILIES
from catbayes.mappings import MAPPINGS, Identity

N_RANKS = 20
WHOLE_POSTERIOR = Draws(1.0)


def draw_each(entries, sampler, **key):
    """A draw of θ for every entry."""
    return draw(Found.each(entries), Identity(), spread=Spread(), sampler=sampler, **key)


def ranks(family, sampler, n_categories, rows, seed):
    """Rank of each category's true θ among draws from its posterior, through `_drawing.draw`."""
    random = np.random.default_rng(seed)
    prior = PRIORS[family]
    many = type(prior)(*(np.repeat(p[None], n_categories, axis=0) for p in parameters(prior)))
    truth = many.sample(random)
    codes = np.repeat(np.arange(n_categories), rows)
    y = make_target(family, truth[codes], random)
    classes = range(truth.shape[1] if family == "categorical" else 2) if FAMILIES[family].classes else None
    target = Target(as_read(family, y), FAMILIES[family], classes)
    posterior = prior.update(target.gather(codes, None, n_categories + 1))
    below = np.zeros(truth.shape, dtype=int)
    for k in range(N_RANKS - 1):
        below += draw_each(Entries(posterior, np.zeros(n_categories)), sampler, seed=seed, key=(k,)) < truth
    return below


def uniformity(below):
    """The smallest p-value of a chi-square test, over the parameters."""
    return min(stats.chisquare(np.bincount(column, minlength=N_RANKS)).pvalue for column in below.T)


@pytest.mark.parametrize("family", PRIORS)
@pytest.mark.parametrize("sampler", ["exact", "auto"])
def test_ranks_are_uniform(family, sampler):
    assert uniformity(ranks(family, sampler, 20_000, rows=5, seed=1)) > 1e-3


@pytest.mark.parametrize("family", PRIORS)
@pytest.mark.parametrize("sampler", ["normal", "auto"])
def test_ranks_are_uniform_for_the_large_sample_normal(family, sampler):
    assert uniformity(ranks(family, sampler, 400, rows=6_000, seed=2)) > 1e-3


@pytest.mark.calibration
@pytest.mark.parametrize("family", PRIORS)
@pytest.mark.parametrize("sampler", ["exact", "auto"])
def test_ranks_are_uniform_over_many_seeds(family, sampler):
    values = [uniformity(ranks(family, sampler, 20_000, rows, seed=s)) for s in range(20) for rows in (1, 30)]
    n_tests = len(values) * (3 if family == "categorical" else 2 if family in ("normal", "lognormal") else 1)
    assert min(values) > 0.01 / n_tests


ALL = {" ".join(name): (ask, about) for name, ask, about in calibrating.cells()}


@pytest.mark.calibration
@pytest.mark.parametrize("cell", ALL)
def test_whatever_goes_together_is_calibrated(cell):
    ask, about = ALL[cell]
    found = calibrating.uniformity(ask(*about, seed) for seed in range(1_000, 1_000 + calibrating.N_TABLES))
    assert min(found) > calibrating.LEVEL / (2 * len(ALL))


def test_errors_of_a_tenth_are_seen_and_none_is_seen_where_there_is_none():
    random, told = np.random.default_rng(0), [("mean", 0.0), ("mean", 0.1), ("spread", 0.1)]
    right, shifted, wide = (min(calibrating.uniformity(calibrating.wrong_ranks(*how, random))) for how in told)
    assert right > 0.01
    assert max(shifted, wide) < calibrating.LEVEL / (2 * len(ALL))


def test_a_wrong_posterior_is_found_out():
    """The test can fail: one zero counted away in every category is seen at once."""
    family = "bernoulli"
    below = ranks(family, "exact", 20_000, rows=5, seed=1)
    random = np.random.default_rng(1)
    many = type(PRIORS[family])(*(np.full(20_000, p) for p in parameters(PRIORS[family])))
    truth = many.sample(random)
    y = make_target(family, truth[np.repeat(np.arange(20_000), 5)], random).reshape(-1, 5)
    wrong = type(many)(many.alpha + y.sum(axis=1), many.beta + 4 - y.sum(axis=1) + 1e-9)
    wrong_below = sum(wrong.sample(np.random.default_rng(k)) < truth for k in range(N_RANKS - 1))
    assert uniformity(below) > 1e-3
    assert uniformity(wrong_below) < 1e-6


@pytest.mark.parametrize("own_target", ["exclude", "cross_fit"])
@pytest.mark.parametrize("family", PRIORS)
def test_training_draws_predict_the_target_without_bias(family, own_target):
    """A draw from the posterior without row n's y is, on average over the prior, y_n's own mean."""
    random = np.random.default_rng(8)
    prior = PRIORS[family]
    many = type(prior)(*(np.repeat(p[None], 3000, axis=0) for p in parameters(prior)))
    codes = np.repeat(np.arange(3000), 4)
    y = make_target(family, many.sample(random)[codes], random)
    encoder = SamplingBayesianEncoder(
        "all", family=family, prior=prior, own_target=own_target, random_state=0, draws=WHOLE_POSTERIOR
    )
    features = encoder.fit_transform(codes[:, None], y)
    wanted = np.eye(3)[y] if family == "categorical" else as_read(family, y)[:, None]
    gap = (wanted - features).reshape(3000, 4, -1).mean(axis=1)  # rows of a category are not independent
    assert (np.abs(gap.mean(axis=0)) < 4 * gap.std(axis=0) / np.sqrt(3000)).all()


def correlation(a, b):
    return abs(np.corrcoef(a, b)[0, 1])


def test_draws_are_independent_across_rows_columns_and_draws():
    random = np.random.default_rng(0)
    column = random.integers(0, 3, 40_000)
    X, y = np.column_stack([column, column]), random.integers(0, 2, 40_000)
    encoder = SamplingBayesianEncoder("all", prior=1.0, random_state=0, draws=WHOLE_POSTERIOR)
    train = encoder.fit_transform(X, y) - encoder.transform(X)
    first, second = encoder.sample(X, 2) - encoder.transform(X)
    limit = 5 / np.sqrt(len(X))
    assert correlation(train[1:, 0], train[:-1, 0]) < limit  # rows
    assert correlation(train[32_768:, 0], train[: 40_000 - 32_768, 0]) < 5 / np.sqrt(7232)  # chunks
    assert correlation(train[:, 0], train[:, 1]) < limit  # columns that are equal
    assert correlation(first[:, 0], second[:, 0]) < limit  # draws
    assert correlation(train[:, 0], first[:, 0]) < limit  # training and sampling
    copies = encoder.augment(X, y, n_draws=2).X
    assert correlation(copies[:40_000, 0] - encoder.transform(X)[:, 0], copies[40_000:, 0]) < limit


def test_draws_per_category_are_independent_across_categories_and_draws():
    X, y = np.arange(20_000)[:, None] % 10_000, np.tile([0, 1], 10_000)
    draws = Draws(1.0, per="category")
    encoder = SamplingBayesianEncoder("all", draws=draws, prior=1.0, random_state=0).fit(X, y)
    first, second = encoder.sample(X, 2)[:, :, 0]
    assert (first[:10_000] == first[10_000:]).all()  # one θ for all rows of a category
    limit = 5 / np.sqrt(10_000)
    assert correlation(first[1:10_000], first[: 10_000 - 1]) < limit
    assert correlation(first[:10_000], second[:10_000]) < limit


@pytest.mark.parametrize("temperature", [0.0, 0.25, 1.0])
def test_temperature_scales_the_spread_about_the_mean(temperature):
    X, y = np.zeros((50_000, 1), dtype=int), np.tile([0, 1], 25_000)
    settings = {"prior": PRIORS["bernoulli"], "random_state": 0, "own_target": "include"}
    full, mild = (
        SamplingBayesianEncoder("all", draws=Draws(t, sampler="exact"), **settings).fit_transform(X, y)
        for t in (1.0, temperature)
    )
    mean = 25_002 / 50_005
    np.testing.assert_allclose(mild - mean, temperature * (full - mean), atol=1e-12)


def test_the_samplers_use_what_they_are_named_for():
    """ "normal" draws one normal, "auto" bends it by the skewness, and draws exactly where the error is above 0.005."""
    switch = 0.07 / NORMAL_TOLERANCE + 1.0
    family = BetaBernoulli(alpha=np.array([0.9, 1.1]) * switch, beta=np.full(2, 10 * switch))

    def drawn(sampler):
        return draw_each(Entries(family, np.zeros(2)), sampler, seed=0, key=(7,))

    exact, normal, auto = drawn("exact"), drawn("normal"), drawn("auto")
    assert (exact != normal).all()
    assert auto[0] == family.take([0]).sample(stream(0, 7, 0, 0))
    noise, beta = stream(0, 7, 0, 1).standard_normal(2)[1], stats.beta(family.alpha[1], family.beta[1])
    np.testing.assert_allclose(normal[1], beta.mean() + beta.std() * noise, rtol=1e-12)
    bent = noise + float(beta.stats("s")) / 6 * (noise**2 - 1)
    np.testing.assert_allclose(auto[1], beta.mean() + beta.std() * bent, rtol=1e-12)


@pytest.mark.parametrize("sampler", ["auto", "exact", "normal"])
@pytest.mark.parametrize("family", PRIORS)
def test_rows_that_share_entries_draw_as_if_each_had_its_own(family, sampler):
    """What is worked out once for an entry is what each of its rows would work out, to the last bit."""
    random = np.random.default_rng(0)
    many = type(PRIORS[family])(*(np.repeat(p[None], 40, axis=0) for p in parameters(PRIORS[family])))
    codes = np.repeat(np.arange(40), np.arange(40) ** 2)
    y = make_target(family, many.sample(random)[codes], random)
    classes = range(3 if family == "categorical" else 2) if FAMILIES[family].classes else None
    statistics = Target(as_read(family, y), FAMILIES[family], classes).gather(codes, None, 40)
    entries, place = Entries(many.update(statistics), statistics.count), random.integers(0, 40, 50_000)
    how = {"seed": 3, "key": (1,), "spread": Spread(None), "sampler": sampler}
    shared = draw(Found(entries, place), Identity(), **how)
    np.testing.assert_array_equal(shared, draw(Found.each(entries.take(place)), Identity(), **how))
    np.testing.assert_array_equal(shared[:40_000], draw(Found(entries, place[:40_000]), Identity(), **how))


@pytest.mark.parametrize(("own_target", "unbiased"), [("exclude", True), ("cross_fit", True), ("include", False)])
def test_only_an_included_target_makes_the_features_look_better_than_they_are(own_target, unbiased):
    """Of draws that y had no part in, y depends on the mean behind them with slope 1; an included y inflates it."""
    random = np.random.default_rng(8)
    codes = np.repeat(np.arange(20_000), 3)
    y = (random.random(60_000) < random.beta(2.0, 3.0, 20_000)[codes]).astype(int)
    encoder = SamplingBayesianEncoder(
        "all", prior=PRIORS["bernoulli"], own_target=own_target, random_state=0, draws=WHOLE_POSTERIOR
    )
    feature = encoder.fit_transform(codes[:, None], y)[:, 0]
    covariance = np.cov(feature, y)[0, 1]
    # Cov(draw, y) = Cov(left-out mean, θ) = Var(left-out mean) = n / (n + 5) · Var θ for n other rows, Var θ = 0.04
    others = {"exclude": 2 / 7, "cross_fit": 1.6 / 6.6, "include": 2 / 7}[own_target]
    assert (abs(covariance - others * 0.04) < 0.002) == unbiased


def test_draws_are_exact_or_bent_normals_unless_it_is_said_otherwise():
    entries = Entries(BetaBernoulli(alpha=np.array([2.0, 4e3]), beta=np.array([3.0, 9e3])), np.full(2, 9.0))
    how = {"seed": 0, "key": (1,), "spread": Spread()}
    unsaid, said, normal = (
        draw(Found.each(entries), Identity(), **how, **sampler)
        for sampler in ({}, {"sampler": "auto"}, {"sampler": "normal"})
    )
    np.testing.assert_array_equal(unsaid, said)
    assert (unsaid != normal).all()


def test_strata_have_the_outputs_that_are_no_draws_too():
    posterior = NormalGamma(centre=[1.0], strength=[2.0], alpha=[3.0], beta=[4.0])
    mapping = MAPPINGS["mean_precision"].bind(posterior, None)
    strata = draw_strata(Entries(posterior, np.ones(1)), mapping, 4, seed=0, key=(0,), spread=Spread())
    assert strata.shape == (4, 1, len(mapping.joined(mapping.drawn(posterior.mean()), posterior)[0]))


def test_the_own_target_of_few_categories_is_taken_out_by_its_weight():
    """There is a table of what is left of each category and class, for rows that count for one each."""
    random = np.random.default_rng(0)
    slots, target = random.integers(0, 2, 300), random.integers(0, 2, 300)
    weight = random.integers(1, 5, 300) / 2.0
    tally = np.array([[weight[(slots == s) & (target == t)].sum() for t in (0, 1)] for s in (0, 1)])
    entries = Entries(BetaBernoulli(1.0 + tally[:, 1], 1.0 + tally[:, 0]), tally.sum(axis=1))
    found = LeftOut.find(entries, ColumnPrior(*[BetaBernoulli(1.0, 1.0)] * 2), slots, target, weight, 2).of(slice(None))
    np.testing.assert_allclose(found.family.alpha, 1.0 + tally[slots, 1] - weight * target)
    np.testing.assert_allclose(found.count, tally.sum(axis=1)[slots] - weight)
