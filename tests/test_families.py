"""Closed forms of the families equal scipy's, those computed by hand, and plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import reference
from cases import MARGINALS, PRIORS, gather, make_target, parameters, repeated
from catbayes.families import (
    FAMILIES,
    BetaBernoulli,
    BetaBinomial,
    BetaNegativeBinomial,
    DirichletCategorical,
    GammaPoisson,
    NormalGamma,
    RobustNormal,
)


def posterior_of(family, n_rows=300, n_categories=6, seed=1):
    """Posteriors of some categories, of a target of the prior's mean."""
    random = np.random.default_rng(seed)
    y = make_target(family, np.repeat(PRIORS[family].mean()[None], n_rows, axis=0), random)
    codes = random.integers(0, n_categories, n_rows)
    return PRIORS[family].update(gather(family, y, codes=codes, n_slots=n_categories))


def drawn_table(family, n_categories, sizes, seed):
    """Statistics of a table whose categories are drawn from the prior."""
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(n_categories), sizes)
    theta = repeated(PRIORS[family], n_categories).sample(random)[codes]
    return gather(family, make_target(family, theta, random), codes=codes, n_slots=n_categories)


# ---------------------------------------------------------------------------------------- updating


def test_posteriors_are_those_computed_by_hand():
    beta = BetaBernoulli(alpha=2, beta=5).update(gather("bernoulli", [1, 1, 1, 0]))
    assert (beta.alpha[0], beta.beta[0]) == (5.0, 6.0)
    assert beta.variance()[0, 0] == pytest.approx(30 / (121 * 12), abs=1e-15)
    dirichlet = DirichletCategorical(alpha=[1, 1, 2]).update(gather("categorical", [0, 0, 2, 2, 2, 2]))
    assert dirichlet.alpha.tolist() == [[3.0, 1.0, 6.0]]
    gamma = GammaPoisson(alpha=2, beta=4).update(gather("poisson", [3, 1]))
    assert gamma.mean()[0, 0] == 1.0  # (2 + 4) / (4 + 2): β is a rate; as a scale it would be 6 · 4 / 9
    # y = 1, 2, 3 on (μ₀, ν, α, β) = (0, 1, 2, 1): ȳ = 2, ν = 4, μ = 6/4, α = 3.5, β = 1 + 1 + 3/4·4/2
    normal = NormalGamma(centre=0, strength=1, alpha=2, beta=1).update(gather("normal", [1, 2, 3]))
    assert [values[0] for values in parameters(normal)] == [1.5, 4.0, 3.5, 3.5]
    assert normal.mean()[0].tolist() == [1.5, 1.0]  # E τ = α / β


@pytest.mark.parametrize("family", PRIORS)
@settings(deadline=None)
@given(data=st.data())
def test_update_and_leave_out_equal_the_loop(family, data):
    size = data.draw(st.integers(2, 12))
    value = {"bernoulli": st.integers(0, 1), "categorical": st.integers(0, 2), "poisson": st.integers(0, 30)}
    value |= {"lognormal": st.floats(1e-6, 1e6), "negative_binomial": st.integers(0, 30), "binomial": st.floats(0, 1)}
    y = np.array(data.draw(st.lists(value.get(family, st.floats(-50, 50)), min_size=size, max_size=size)))
    weight = np.array(data.draw(st.lists(st.floats(0.1, 4.0), min_size=size, max_size=size)))
    prior = PRIORS[family]
    posterior = prior.update(gather(family, y, weight))
    expected = reference.posterior(family, parameters(prior), y, weight)
    for mine, loop in zip(parameters(posterior.take(0)), expected, strict=True):
        np.testing.assert_allclose(mine, loop, rtol=1e-11, atol=1e-11)
    own = np.log(y[-1:]) if prior.log_target else y[-1:]
    left = posterior.leave_out(own, weight[-1:]).take(0)
    expected = reference.posterior(family, parameters(prior), y[:-1], weight[:-1])
    for mine, loop in zip(parameters(left), expected, strict=True):
        np.testing.assert_allclose(mine, loop, rtol=1e-7, atol=1e-9)


def test_rounding_does_not_reveal_what_was_left_out():
    """With hardly a prior, what is left of α is the prior, whatever was taken out of it."""
    y, ones = np.arange(6), np.array([0, 1])
    counts = GammaPoisson(4e-12 + y, np.full(6, 2.0)).leave_out(y, np.ones(6))
    assert len(set(counts.alpha.tolist())) == 1
    beta = BetaBernoulli(1e-13 + ones, 1e-13 + (1 - ones)).leave_out(ones, np.ones(2))
    assert len({*beta.alpha.tolist(), *beta.beta.tolist()}) == 1


# ----------------------------------------------------------------------------------- distributions


@pytest.mark.parametrize("family", PRIORS)
def test_moments_and_quantiles_are_those_of_scipy(family):
    posterior = posterior_of(family)
    skewness, kurtosis = posterior.skewness_and_kurtosis()
    for i, marginal in enumerate(MARGINALS[family](posterior)):
        np.testing.assert_allclose(posterior.mean()[:, i], marginal.mean(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(posterior.variance()[:, i], marginal.var(), rtol=1e-11)
        for probability in (0.001, 0.05, 0.5, 0.975):
            np.testing.assert_allclose(marginal.cdf(posterior.quantile(probability)[:, i]), probability, rtol=1e-7)
        if i < skewness.shape[-1]:
            np.testing.assert_allclose(skewness[:, i], marginal.stats("sk")[0], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(kurtosis[:, i], marginal.stats("sk")[1], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("how", ["sample", "transport"])
@pytest.mark.parametrize("family", PRIORS)
def test_draws_follow_the_distribution(family, how):
    one, random = PRIORS[family], np.random.default_rng(3)
    many = repeated(one, 20_000)
    exact = many.sample(random)
    draws = exact if how == "sample" else many.transport(random.random(exact.shape))
    for i, marginal in enumerate(MARGINALS[family](one)):
        assert stats.kstest(draws[:, i], marginal.cdf).pvalue > 1e-3
    scale = np.sqrt(one.variance())
    found = np.atleast_2d(np.cov(draws.T)) / np.outer(scale, scale)
    np.testing.assert_allclose(found, one.covariance() / np.outer(scale, scale), atol=0.1)
    weights = random.standard_normal(draws.shape[1])  # any sum of the parameters is distributed alike
    assert stats.ks_2samp(draws @ weights, many.sample(random) @ weights).pvalue > 1e-3


# --------------------------------------------------------------------- the large-sample normal (Appendix B)


def distance_of_normal(name, family, parameter):
    """Kolmogorov distance of level + slope z + bend z² to the distribution of one parameter, by the roots of z."""
    normal, marginal = family.normal(), MARGINALS[name](family)[parameter]
    if name == "categorical":  # θ_c is a normal of its own mean and variance
        level, slope, bend = family.mean()[parameter], np.sqrt(family.variance()[parameter]), 0.0
    else:
        level, slope, bend = (np.ravel(values)[parameter] for values in (normal.level, normal.slope, normal.bend))
    at = level + slope * np.linspace(-8, 12, 8001)
    if abs(bend) < 1e-9 * slope:
        below = stats.norm.cdf((at - level) / slope)
    else:
        root = np.sqrt(np.maximum(slope**2 + 4.0 * bend * (at - level), 0.0))
        near, far = (-slope + root) / (2.0 * bend), (-slope - root) / (2.0 * bend)
        between = np.abs(stats.norm.cdf(near) - stats.norm.cdf(far))
        below = between if bend > 0 else 1.0 - between
    return np.abs(marginal.cdf(at) - below).max()


@pytest.mark.parametrize("scale", [0.02, 0.1, 0.5])
def test_the_error_of_the_normal_is_bounded(scale):
    """The bound holds at every size, and is not so loose that the approximation would go unused."""
    for size in np.geomspace(2, 1e5, 12):
        for name, family in {
            "bernoulli": BetaBernoulli(alpha=size, beta=size * (1 - scale) / scale),
            "poisson": GammaPoisson(alpha=size, beta=3.0),
            "negative_binomial": BetaNegativeBinomial(centre=size / 3.0, strength=3.0, size=1.0 + size * scale),
            "normal": NormalGamma(centre=0.0, strength=2.0, alpha=size + 1.0, beta=5.0),
            "categorical": DirichletCategorical(alpha=[size, 2 * size, size / scale]),
        }.items():
            distances = [distance_of_normal(name, family, i) for i in range(family.mean().shape[-1])]
            assert max(distances) <= family.normal_error()
            if name == "poisson":
                assert family.normal_error() < 1.6 * max(distances)


@pytest.mark.parametrize("family", PRIORS)
def test_normal_draws_have_the_mean_and_covariance_of_the_posterior(family):
    rows = {"categorical": [0, 1, 2], "lognormal": [1, 2]}.get(family, [0, 1])
    one = PRIORS[family].update(gather(family, np.tile(rows, 400)))
    straight, size = one.take(np.zeros(60_000, int)).normal().straight(), one.mean().shape[-1]
    draws = straight.draw(np.random.default_rng(1).standard_normal((60_000, size)))
    np.testing.assert_allclose(draws.mean(axis=0), one.mean()[0], rtol=0.01)
    covariance, scale = one.covariance()[0], np.sqrt(one.variance()[0])
    found = np.atleast_2d(np.cov(draws.T)) / np.outer(scale, scale)
    np.testing.assert_allclose(found, covariance / np.outer(scale, scale), atol=0.03)


# ----------------------------------------------------------------------------------------- new targets


@pytest.mark.parametrize("probability", [0.02, 0.5, 0.9])
@pytest.mark.parametrize("family", ["normal", "lognormal", "poisson", "negative_binomial", "binomial", "robust"])
def test_predictive_quantiles_are_those_of_new_targets(family, probability):
    """θ is drawn from the posterior and y given θ: a share of at most p lies below the quantile, and p at or below."""
    random, size = np.random.default_rng(6), 200_000
    posterior = posterior_of(family, 7, 1)
    if family == "robust":  # a variance by its chance, then θ given that, then y given both
        chance = np.exp(posterior.log_chance[0])
        part = random.choice(len(chance), size, p=chance / chance.sum())
        spread = 1 / posterior.precision[0, part] + posterior.noise[0, part]
        new = posterior.centre[0, part] + random.standard_normal(size) * np.sqrt(spread)
    else:
        new = make_target(family, posterior.take(np.zeros(size, int)).sample(random), random)
    quantile = posterior.predictive_quantile(probability)
    error = 4 * np.sqrt(probability * (1 - probability) / size)
    assert (new < quantile).mean() - error < probability < (new <= quantile).mean() + error


@pytest.mark.parametrize("n", [1, 7, 40])
def test_tails_are_those_of_the_predictive_distribution(n):
    """Counts of ones, and events in units; twice the side that they are on."""
    ones, counts = np.arange(n + 1.0), stats.betabinom(n, 2.0, 5.0)
    sides = np.minimum(1, 2 * np.where(ones > n * 2 / 7, counts.sf(ones - 1), counts.cdf(ones)))
    codes, every = np.repeat(np.arange(n + 1), n), np.concatenate([np.arange(n) < k for k in range(n + 1)])
    for name, family in {"bernoulli": BetaBernoulli, "binomial": BetaBinomial}.items():
        rows = gather(name, every.astype(int), codes=codes, n_slots=n + 1)
        np.testing.assert_allclose(family(np.full(n + 1, 2.0), np.full(n + 1, 5.0)).tail(rows), sides, rtol=1e-9)
    rates = gather("poisson", ones / 2.5, np.full(n + 1, 2.5), np.arange(n + 1), n + 1)
    counts = stats.nbinom(3.0, 4.0 / 6.5)
    sides = np.minimum(1, 2 * np.minimum(counts.cdf(ones), counts.sf(ones - 1)))
    np.testing.assert_allclose(GammaPoisson(np.full(n + 1, 3.0), 4.0).tail(rates), sides, rtol=1e-9)


@pytest.mark.parametrize("family", ["bernoulli", "categorical", "normal", "poisson", "binomial", "robust"])
def test_rows_of_the_posterior_itself_are_seldom_far_off(family):
    """The tail is below p with a chance of p at most; of numbers, which have no steps, just so often."""
    random, size = np.random.default_rng(0), 4000
    many, codes = repeated(PRIORS[family], size), np.repeat(np.arange(size), 12)
    y = make_target(family, many.sample(random)[codes], random)
    tail = many.tail(gather(family, y, codes=codes, n_slots=size))
    for probability in (0.01, 0.1):
        error = 4 * np.sqrt(probability / size)
        assert (tail <= probability).mean() < probability + error
        if family in ("normal", "robust"):
            assert (tail <= probability).mean() > probability - error


# ------------------------------------------------------------------------------------ learnt priors


@pytest.mark.parametrize("family", ["bernoulli", "categorical", "normal", "lognormal", "poisson"])
def test_marginal_likelihoods_are_those_of_the_reference(family):
    random, weight = np.random.default_rng(0), np.array([1.0, 2.0, 0.5, 1.0])
    y = make_target(family, np.repeat(PRIORS[family].mean()[None], 4, axis=0), random)
    read = np.log(y) if family == "lognormal" else y
    weight = np.ones(4) if family in ("normal", "lognormal") else weight
    expected = reference.FAMILIES[family].evidence(parameters(PRIORS[family]), read, weight)
    assert PRIORS[family].log_marginal(gather(family, y, weight))[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("family", PRIORS)
def test_the_empirical_prior_is_a_maximum_of_the_marginal_likelihood(family):
    statistics = drawn_table(family, 300, np.random.default_rng(2).integers(1, 40, 300), seed=2)
    found = FAMILIES[family].empirical(statistics)
    best = found.log_marginal(statistics).sum()
    assert best >= PRIORS[family].log_marginal(statistics).sum()
    for name in set(found.arrays()) - {"centre"}:  # a centre is a mean of means, not a maximum
        for factor in (0.95, 1.05):
            changed = found.arrays() | {name: getattr(found, name) * factor}
            assert type(found)(**changed).log_marginal(statistics).sum() < best + 1e-6


@pytest.mark.parametrize("family", PRIORS)
def test_the_empirical_prior_finds_the_prior_that_made_the_data(family):
    found = FAMILIES[family].empirical(drawn_table(family, 4000, 20, seed=4))
    for name in found.arrays():
        np.testing.assert_allclose(getattr(found, name), getattr(PRIORS[family], name), rtol=0.15)


@pytest.mark.parametrize("family", PRIORS)
@pytest.mark.parametrize("per_category", [1, 2, 50])
def test_without_signal_every_category_equals_the_prior(family, per_category):
    random = np.random.default_rng(0)
    shrinkage = []
    for _ in range(20):
        codes = np.repeat(np.arange(400), per_category)
        y = make_target(family, np.repeat(PRIORS[family].mean()[None], len(codes), axis=0), random)
        statistics = gather(family, y, codes=codes, n_slots=400)
        found = FAMILIES[family].empirical(statistics)
        shrinkage.append(found.strength / (found.strength + per_category))
        whole = type(found).scaled(statistics.total(), 1.0).mean()[found.location]
        np.testing.assert_allclose(found.mean()[found.location], whole, rtol=0.05)
    assert np.median(shrinkage) > 0.95


@pytest.mark.parametrize("make", ["exponential", "lognormal", "standard_cauchy"])
def test_a_skewed_target_is_no_signal(make):
    """Categories of one row cannot be told apart, and the unseen one has the mean of the table."""
    y = getattr(np.random.default_rng(1), make)(size=2000)
    found = NormalGamma.empirical(gather("normal", y, codes=np.arange(2000), n_slots=2000))
    assert found.strength / (found.strength + 1) > 0.999
    assert found.centre == pytest.approx(y.mean())


@pytest.mark.parametrize(("tails", "worst"), [(1.5, 0.8), (2.0, 0.8), (np.inf, 1.05)])
def test_robust_means_are_nearer_to_the_truth_where_tails_are_heavy(tails, worst):
    random, codes = np.random.default_rng(0), np.repeat(np.arange(1000), 8)
    truth = random.normal(0.0, 0.5, 1000)
    noise = random.standard_normal(8000) if np.isinf(tails) else random.standard_t(tails, 8000)
    statistics = gather("robust", truth[codes] + noise, codes=codes, n_slots=1000)
    found = (family.empirical(statistics).update(statistics).mean()[:, 0] for family in (RobustNormal, NormalGamma))
    robust, normal = (np.sqrt(np.mean((means - truth) ** 2)) for means in found)
    assert robust < worst * normal
