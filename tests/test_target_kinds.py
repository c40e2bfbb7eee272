"""Targets that are more than a number: what each says is counted once, by every path, and never told to its own row."""

import warnings

import numpy as np
import pandas
import polars
import pytest
from lightgbm import LGBMRegressor
from scipy import stats
from scipy.stats import spearmanr
from sklearn import clone

from catbayes import (
    InputError,
    InputWarning,
    MultiTargetEncoder,
    SamplingBayesianEncoder,
    SamplingRegressor,
    Scaled,
    compare,
    gather,
    load,
)
from catbayes.core.statistics import Moments
from catbayes.families import BetaBinomial, GammaExponential, RobustNormal
from catbayes.kinds import Bins, Nested, Ordinal, Shared, Spellings, Tags

N_RANKS = 20


def make_trials(theta, random):
    """Events, and the attempts that they are out of."""
    attempts = random.integers(1, 30, len(theta)).astype(float)
    return random.binomial(attempts.astype(int), theta).astype(float), attempts


def trials_one_by_one(prior, y, exposure, weight):
    alpha, beta = prior
    for events, attempts, w in zip(y, exposure, weight, strict=True):
        alpha, beta = alpha + w * events, beta + w * (attempts - events)
    return alpha, beta


def make_times(theta, random):
    """Whether the end was seen, and the time until then; a third or so are cut off before."""
    ends, cut = random.exponential(1.0 / theta), random.exponential(2.0 / theta.mean(), len(theta))
    return (ends <= cut).astype(float), np.minimum(ends, cut)


def times_one_by_one(prior, y, exposure, weight):
    alpha, beta = prior
    for seen, time, w in zip(y, exposure, weight, strict=True):
        alpha, beta = alpha + (w if seen else 0.0), beta + w * time
    return alpha, beta


KINDS = {
    "binomial": (BetaBinomial(alpha=2.0, beta=5.0), make_trials, trials_one_by_one),
    "survival": (GammaExponential(alpha=4.0, beta=20.0), make_times, times_one_by_one),
}


def make_rows(family, n_rows=400, n_categories=12, seed=0):
    """A table with missing values, its target, exposure and weights, and the θ of each category."""
    random, (prior, make, _) = np.random.default_rng(seed), KINDS[family]
    theta = np.concatenate([prior.sample(random) for _ in range(n_categories)])
    codes = random.integers(0, n_categories, n_rows)
    y, exposure = make(theta[codes], random)
    values = np.where(random.random(n_rows) < 0.05, None, np.array([f"c{code}" for code in codes], dtype=object))
    return pandas.DataFrame({"c": values}), y, exposure, random.integers(1, 4, n_rows) / 2


def new_encoder(family, **settings):
    return SamplingBayesianEncoder(["c"], family=family, **({"prior": KINDS[family][0], "random_state": 0} | settings))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", KINDS)
def test_posteriors_are_those_of_a_plain_loop(family, weighted):
    (prior, _, loop), (X, y, exposure, weight) = KINDS[family], make_rows(family)
    column = new_encoder(family).fit(X, y, weight if weighted else None, exposure=exposure).encoding_.columns[0]
    values = [*column.index.sources[0].values, None]
    for slot, value in enumerate(values):  # and the missing ones, which are a category
        rows = np.flatnonzero(X["c"].isna() if value is None else X["c"] == value)
        wanted = loop(
            prior.arrays().values(), y[rows], exposure[rows], weight[rows] if weighted else np.ones(len(rows))
        )
        found = [values[slot] for values in column.family.arrays().values()]
        np.testing.assert_allclose(found, wanted, rtol=1e-10)
    unseen = new_encoder(family).fit(X, y, exposure=exposure).transform(pandas.DataFrame({"c": ["new"]}))
    np.testing.assert_allclose(unseen[0, 0], prior.mean()[0], rtol=1e-12)


@pytest.mark.parametrize("family", KINDS)
def test_ranks_of_the_truth_among_draws_are_uniform(family):
    """Simulation-based calibration, through the encoder, with the exposure of each row."""
    random, (prior, make, _) = np.random.default_rng(1), KINDS[family]
    theta = prior.take(np.newaxis).take(np.zeros(20_000, int)).sample(random)[:, 0]
    codes = np.repeat(np.arange(20_000), 3)
    y, exposure = make(theta[codes], random)
    encoder = SamplingBayesianEncoder("all", family=family, prior=prior, temperature=1.0, random_state=0)
    encoder.fit(codes[:, None], y, exposure=exposure)
    rank = (encoder.sample(np.arange(20_000)[:, None], N_RANKS - 1)[:, :, 0] < theta).sum(axis=0)
    assert stats.chisquare(np.bincount(rank, minlength=N_RANKS)).pvalue > 1e-3


@pytest.mark.parametrize("family", KINDS)
def test_the_empirical_prior_finds_the_one_that_made_the_table(family):
    random, (prior, make, _) = np.random.default_rng(2), KINDS[family]
    theta = prior.take(np.newaxis).take(np.zeros(4000, int)).sample(random)[:, 0]
    codes = np.repeat(np.arange(4000), 6)
    y, exposure = make(theta[codes], random)
    found = new_encoder(family, prior="empirical").fit(pandas.DataFrame({"c": codes}), y, exposure=exposure)
    for name, value in found.encoding_.columns[0].prior.arrays().items():
        np.testing.assert_allclose(value, getattr(prior, name), rtol=0.15)


@pytest.mark.parametrize("family", KINDS)
def test_parts_are_merged_taken_out_saved_and_forgotten_like_the_whole(family, tmp_path):
    X, y, exposure, weight = make_rows(family)
    first, second = slice(0, 150), slice(150, None)
    parts = [
        new_encoder(family).fit(X[rows], y[rows], weight[rows], exposure=exposure[rows]) for rows in (first, second)
    ]
    whole = new_encoder(family).fit(X, y, weight, exposure=exposure)
    new = pandas.DataFrame({"c": ["c0", "c3", None, "new"]})
    expected = whole.transform(new)
    np.testing.assert_allclose((parts[0] + parts[1]).transform(new), expected, rtol=1e-10)
    np.testing.assert_allclose((whole - parts[1]).transform(new), parts[0].transform(new), rtol=1e-9)
    whole.save(tmp_path / "encoder")
    np.testing.assert_array_equal(load(tmp_path / "encoder").transform(new), expected)
    light = new_encoder(family).fit(X, y, 0.25 * weight, exposure=exposure).transform(new)
    np.testing.assert_allclose(whole.forget(0.75).transform(new), light, rtol=1e-10)


@pytest.mark.parametrize("family", KINDS)
def test_engines_say_the_same(family):
    X, y, exposure, weight = make_rows(family)
    table = X.assign(y=y, e=exposure, w=weight)
    wanted = gather(X, ["c"], y, family=family, weight=weight, exposure=exposure)
    for source in (polars.from_pandas(table), polars.from_pandas(table).lazy()):
        found = gather(source, ["c"], "y", family=family, weight="w", exposure="e")
        np.testing.assert_allclose(found.columns[0].statistics.count, wanted.columns[0].statistics.count, rtol=1e-10)
        np.testing.assert_allclose(found.columns[0].statistics.mean, wanted.columns[0].statistics.mean, rtol=1e-10)


@pytest.mark.parametrize("clumped", [False, True])
@pytest.mark.parametrize("family", KINDS)
def test_training_features_of_noise_do_not_give_the_own_target_away(family, clumped):
    """No category differs, so that only the own target is left to be told; in clumps, rows vary more than θ says."""
    random, (prior, make, _) = np.random.default_rng(3), KINDS[family]
    category, mean = random.integers(0, 40, 4000), np.full(4000, prior.mean()[0])
    if clumped:  # every row has a rate of its own
        mean = prior.take(np.newaxis).take(np.zeros(4000, int)).sample(random)[:, 0]
    y, exposure = make(mean, random)
    encoder = SamplingBayesianEncoder("all", family=family, random_state=0)
    feature = encoder.fit_transform(category[:, None], y, exposure=exposure)[:, 0]
    if np.ptp(feature) == 0.0:  # no signal was found, and nothing is told
        return
    for own in (y / exposure, exposure):
        within = [spearmanr(feature[category == c], own[category == c])[0] for c in range(40)]
        assert abs(np.mean(within)) < 0.25
    assert abs(spearmanr(feature, y / exposure)[0]) < 0.06
    assert encoder.encoding_.hides or clumped


# ----------------------------------------------------------------------------- events out of attempts


def test_more_events_than_attempts_are_refused():
    X, y, attempts, _ = make_rows("binomial")
    for table, target, units in (
        (X, y + 1.0, attempts),
        (polars.from_pandas(X.assign(y=y + 1.0, e=attempts)).lazy(), "y", "e"),
        (X, y, None),
    ):
        with pytest.raises(
            InputError, match=r"from 0 to 1 events for each attempt, and y holds from .* to .*exposure="
        ):
            new_encoder("binomial").fit(table, target, exposure=units)


@pytest.mark.parametrize("lazy", [False, True])
def test_shares_of_attempts_are_told_where_events_are_expected(lazy):
    table = polars.DataFrame({"c": ["a", "b"] * 20, "y": [0.25, 0.5] * 20, "n": [4, 8] * 20})
    source = table.lazy() if lazy else table
    with pytest.warns(InputWarning, match="fractions in 40 rows where exposure= holds their attempts"):
        gather(source, ["c"], "y", family="binomial", exposure="n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gather(source, ["c"], "y", family="binomial", weight="n")
        gather(table.with_columns(y=polars.Series([1, 2] * 20)), ["c"], "y", family="binomial", exposure="n")
        gather(source, ["c"], "y", family="poisson", exposure="n")


def test_attempts_are_as_many_rows_of_two_classes():
    X, y, attempts, _ = make_rows("binomial", 60)
    rows = np.repeat(np.arange(60), attempts.astype(int))
    happened = np.concatenate([np.arange(int(e)) < n for n, e in zip(y, attempts, strict=True)]).astype(int)
    single = SamplingBayesianEncoder(["c"], family="bernoulli").fit(X.iloc[rows], happened)
    counted = SamplingBayesianEncoder(["c"], family="binomial").fit(X, y, exposure=attempts)
    np.testing.assert_allclose(counted.transform(X), single.transform(X), rtol=1e-7)


def test_models_and_comparisons_take_shares():
    X, y, attempts, _ = make_rows("binomial")
    encoder = SamplingBayesianEncoder(["c"], family="binomial")
    model = SamplingRegressor(encoder=encoder, random_state=0).fit(X, y / attempts, sample_weight=attempts)
    assert np.corrcoef(model.predict(X), y / attempts)[0, 1] > 0.5
    found = compare(
        X.assign(y=y / attempts), "y", family="binomial", encoders=["sampling", "moments"], models=["linear"], cv=3
    )
    assert np.isfinite(found.frame()["r2"]).all()


def test_squares_of_shares_are_as_many_as_they_should_be():
    random = np.random.default_rng(0)
    attempts = random.integers(5, 50, 20_000)
    for prior, wanted in ((None, 1.0), (BetaBinomial(2.0, 5.0), 4.0)):
        theta = 0.3 if prior is None else prior.take(np.newaxis).take(np.zeros(20_000, int)).sample(random)[:, 0]
        shares = Moments.from_codes(
            np.zeros(20_000, int), random.binomial(attempts, theta) / attempts, attempts, n_slots=1
        )
        row = (attempts**2).sum() / attempts.sum()
        excess = attempts.mean() * BetaBinomial(2.0, 5.0).dispersion(shares, row)
        assert excess == pytest.approx(1.0, rel=0.05) if wanted == 1.0 else excess > wanted


# ----------------------------------------------------------------------------- times that were cut off


def test_times_without_ends_and_ends_without_times_are_refused():
    X, y, times, _ = make_rows("survival")
    lazy = polars.from_pandas(X.assign(y=y, e=times)).lazy()
    for table, target, units, message in (
        (X, times, None, "needs the times: give them as exposure="),
        (lazy, "y", None, "needs the times: give them as exposure="),
        (X, times + 1.0, y + 1.0, "1 where the end was seen and 0 where not, and y holds from .* to .*Times go into"),
        (lazy, "e", "e", "1 where the end was seen and 0 where not, and y holds from .* to .*Times go into"),
        (X, 0.0 - y, times, "y holds from -1 to 0"),
    ):
        with pytest.raises(InputError, match=message):
            new_encoder("survival").fit(table, target, exposure=units)
    encoder = SamplingBayesianEncoder(["c"], family="survival")
    with pytest.raises(InputError, match='use family="poisson" there, with rates as y and times as weight'):
        SamplingRegressor(encoder=encoder).fit(X, y / times, sample_weight=times)
    with pytest.raises(InputError, match='use family="poisson" there'):
        compare(X.assign(y=y), "y", family="survival")


def test_ends_in_times_are_counts_in_units():
    X, y, times, _ = make_rows("survival")
    one, other = (
        SamplingBayesianEncoder(["c"], family=name).fit(X, y, exposure=times) for name in ("survival", "poisson")
    )
    np.testing.assert_allclose(one.transform(X), other.transform(X), rtol=1e-12)


@pytest.mark.parametrize("probability", [0.02, 0.5, 0.9])
def test_a_new_time_is_below_its_quantile_so_often(probability):
    random, posterior = np.random.default_rng(0), GammaExponential(alpha=3.0, beta=7.0)
    new = random.exponential(1.0 / random.gamma(3.0, 1.0 / 7.0, 200_000))
    assert (new < posterior.predictive_quantile(probability)).mean() == pytest.approx(probability, abs=0.004)


@pytest.mark.parametrize(("shape", "excess"), [(1.0, 1.0), (0.5, 5.0), (3.0, 1.0)])
def test_times_that_vary_more_than_exponential_ones_are_noticed(shape, excess):
    """Of a Weibull shape of ½, E t² = 6 (E t)², so that y - λ t varies by 5."""
    random = np.random.default_rng(0)
    times, codes = random.weibull(shape, 50_000), random.integers(0, 20, 50_000)
    statistics = Moments.from_codes(codes, 1.0 / times, times, n_slots=20)
    row = (times**2).sum() / times.sum()
    found = row * GammaExponential(alpha=2.0, beta=2.0).dispersion(statistics, row)
    assert found == pytest.approx(excess, rel=0.1)


def test_rates_of_pieces_of_time_are_those_of_the_pieces_together_with_their_category():
    """Lives cut at 1: the early and the late rate of each category are found, and the pieces stay out of each other."""
    random, early, late = np.random.default_rng(0), np.array([2.0, 0.2]), np.array([0.3, 1.0])
    plan = random.integers(0, 2, 6000)
    first, second = random.exponential(1 / early[plan]), 1.0 + random.exponential(1 / late[plan])
    time, cut = np.where(first < 1.0, first, second), random.uniform(0.5, 4.0, 6000)
    seen, time = time <= cut, np.minimum(time, cut)
    rows = np.flatnonzero(time > 1.0)
    pieces = pandas.DataFrame({"plan": plan, "piece": "early", "life": np.arange(6000)})
    pieces = pandas.concat([pieces, pieces.iloc[rows].assign(piece="late")])
    y = np.append(seen & (time <= 1.0), seen[rows])
    units = np.append(np.minimum(time, 1.0), time[rows] - 1.0)
    encoder = SamplingBayesianEncoder(["plan"], family="survival", interactions=[("plan", "piece")], random_state=0)
    given = {"exposure": units, "groups": pieces["life"]}
    features = encoder.fit_transform(pieces[["plan", "piece"]], y, **given)
    assert features.shape == (len(pieces), 3)
    found = encoder.posteriors_["plan", "piece"].set_index("category")["mean"]
    for number in range(2):
        assert found[f"{number}&early"] == pytest.approx(early[number], rel=0.1)
        assert found[f"{number}&late"] == pytest.approx(late[number], rel=0.2)


# ----------------------------------------------------------------------------- heavy tails


@pytest.mark.parametrize("per_category", [4, 100])
def test_noise_with_heavy_tails_does_not_give_the_own_target_away(per_category):
    """Nor does a model that learns from the features of some rows know more of the targets of others."""
    random = np.random.default_rng(0)
    category = random.permutation(np.repeat(np.arange(4000 // per_category), per_category))[:, None]
    y, new = random.standard_t(2, (2, 4000))
    encoder = SamplingBayesianEncoder("all", family="robust", prior=RobustNormal.of(0.0, 1.0, 2.0), random_state=0)
    features = encoder.fit_transform(category, y)
    half = slice(0, 2000), slice(2000, None)
    model = LGBMRegressor(n_estimators=60, verbose=-1, n_jobs=1, random_state=0).fit(features[half[0]], y[half[0]])
    assert abs(spearmanr(model.predict(features[half[1]]), y[half[1]])[0]) < 0.08
    assert abs(spearmanr(model.predict(encoder.transform(category)), new)[0]) < 0.08
    encoder.set_params(own_target="include")
    assert spearmanr(encoder.fit_transform(category, y)[:, 0], y)[0] > (0.3 if per_category == 4 else 0.03)


@pytest.mark.parametrize(
    "kinds",
    [{"b": Ordinal()}, {"b": Bins(4)}, {"a": Spellings()}, {("a", "c"): Shared()}, {"a": Tags()}],
    ids=lambda kinds: type(next(iter(kinds.values()))).__name__,
)
def test_kinds_of_heavy_tails_are_refused(kinds):
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"a": random.choice(list("xyz"), 200), "b": random.integers(0, 9, 200)})
    X["c"] = random.choice(list("uvw"), 200)
    with pytest.raises(InputError, match="does not support hierarchies and kinds"):
        SamplingBayesianEncoder(["a", "b", "c"], kinds=kinds, family="robust").fit(X, random.standard_t(2, 200))


def test_hierarchies_of_heavy_tails_are_refused_and_comparisons_are_not():
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"city": random.integers(0, 20, 400).astype(str)})
    X["country"] = "c" + X["city"].str[-1]
    y = random.standard_t(2, 400)
    with pytest.raises(InputError, match="does not support hierarchies"):
        SamplingBayesianEncoder(["city"], kinds={"city": Nested(["country"])}, family="robust").fit(X, y)
    found = compare(X.assign(y=y), "y", family="robust", encoders=["sampling", "moments"], models=["linear"], cv=3)
    assert np.isfinite(found.frame()["mae"]).all()


# ----------------------------------------------------------------------------- amounts that are often nothing


def make_amounts(n_rows=3000, n_categories=60, seed=0, signal=True):
    """Whether there is an amount, its logarithm, weights for both, and the category of each row."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, n_categories, n_rows)
    chance, level = random.beta(2.0, 5.0, n_categories), random.normal(3.0, 1.0, n_categories)
    if not signal:
        chance, level = np.full(n_categories, 0.3), np.full(n_categories, 3.0)
    some = random.random(n_rows) < chance[codes]
    log_amount = np.where(some, random.normal(level[codes]), 0.0)
    y = pandas.DataFrame({"any": some, "log_amount": log_amount})
    return codes, y, pandas.DataFrame({"any": np.ones(n_rows), "log_amount": some.astype(float)})


def test_the_chance_of_an_amount_and_the_amount_are_learnt_from_the_rows_that_have_them():
    codes, y, weight = make_amounts()
    X, some = pandas.DataFrame({"c": codes}), y["any"].to_numpy()
    template = SamplingBayesianEncoder(["c"], random_state=0)
    encoder = MultiTargetEncoder(template).fit(X, y, weight)
    new = pandas.DataFrame({"c": [*range(60), 99]})
    wanted = [
        SamplingBayesianEncoder(["c"]).fit(X, some).transform(new),
        SamplingBayesianEncoder(["c"]).fit(X[some], y["log_amount"][some]).transform(new),
    ]
    np.testing.assert_allclose(encoder.transform(new), np.column_stack(wanted), rtol=1e-10)
    np.testing.assert_array_equal(
        MultiTargetEncoder(template).fit(X, y, weight.to_numpy()).transform(new), encoder.transform(new)
    )


def test_amounts_of_noise_do_not_give_themselves_away():
    codes, y, weight = make_amounts(n_categories=600, signal=False)
    template = SamplingBayesianEncoder(["c"], prior=Scaled(1e-3), random_state=0)
    X = pandas.DataFrame({"c": codes})
    features, some = MultiTargetEncoder(template).fit_transform(X, y, weight), y["any"].to_numpy()
    amount = y["log_amount"].to_numpy()
    for feature in features.T:
        assert abs(spearmanr(feature, some)[0]) < 0.06
        assert abs(spearmanr(feature[some], amount[some])[0]) < 0.1
    leaked = MultiTargetEncoder(clone(template).set_params(own_target="include")).fit_transform(X, y, weight)
    assert spearmanr(leaked[some, 1], amount[some])[0] > 0.3
