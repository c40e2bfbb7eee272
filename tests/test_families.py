"""Closed forms against scipy, against hand computation, and against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from scipy.special import betaln

import reference
from cases import PRIORS, make_target, parameters
from catbayes import (
    BetaBernoulli,
    BetaBinomial,
    BetaNegativeBinomial,
    DirichletCategorical,
    GammaPoisson,
    InputError,
    LogNormalGamma,
    NormalGamma,
    RobustNormal,
)
from catbayes.core.statistics import Moments, Tally
from catbayes.families import FAMILIES, family_of_classes
from catbayes.families.arithmetic import log_rising
from catbayes.priors import Empirical, Given, Scaled

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def gather(family, y, weight=None, codes=None, n_slots=1):
    y = np.asarray(y)
    codes = np.zeros(len(y), int) if codes is None else codes
    if FAMILIES[family].classes:
        n_classes = 3 if family == "categorical" else 2
        return Tally.from_codes(codes, y, weight, n_slots=n_slots, n_classes=n_classes)
    y = np.log(y) if FAMILIES[family].log_target else y.astype(float)
    return Moments.from_codes(codes, y, weight, n_slots=n_slots)


def marginals(family):
    """scipy's distribution of each parameter."""
    if isinstance(family, BetaBernoulli):
        return [stats.beta(family.alpha, family.beta)]
    if isinstance(family, DirichletCategorical):
        rest = family.strength[..., None] - family.alpha
        return [stats.beta(family.alpha[..., c], rest[..., c]) for c in range(family.alpha.shape[-1])]
    if isinstance(family, GammaPoisson):
        return [stats.gamma(family.alpha, scale=1 / family.beta)]
    if isinstance(family, BetaNegativeBinomial):
        a, b = family.size * family.strength + 1, family.strength * family.centre
        return [stats.betaprime(b, a, scale=family.size)]
    if isinstance(family, RobustNormal):
        return [Mixture(family)]
    scale = np.sqrt(family.beta / (family.alpha * family.strength))
    return [
        stats.t(2 * family.alpha, loc=family.centre, scale=scale),
        stats.gamma(family.alpha, scale=1 / family.beta),
    ]


class Mixture:
    """A mixture of normals, as scipy's distributions are asked."""

    def __init__(self, family):
        chance = np.exp(family.log_chance)
        self.chance = chance / chance.sum(axis=-1, keepdims=True)
        self.parts = stats.norm(family.centre, 1 / np.sqrt(family.precision))

    def cdf(self, x):
        return (self.chance * self.parts.cdf(np.asarray(x)[..., None])).sum(axis=-1)

    def moment(self, order):
        return (self.chance * self.parts.moment(order)).sum(axis=-1)

    def mean(self):
        return self.moment(1)

    def var(self):
        return self.moment(2) - self.moment(1) ** 2

    def ppf(self, probability):
        mean, chances, parts = self.mean(), self.chance, self.parts.kwds or self.parts.args

        def beyond(x, chance, centre, scale):
            return chance @ stats.norm(centre, scale).cdf(x) - probability

        mixed = zip(mean, chances, *parts, strict=True)
        return np.array([optimize.brentq(beyond, m - 99, m + 99, args=(*part,), xtol=1e-13) for m, *part in mixed])

    def stats(self, _):
        m, var = self.mean(), self.var()
        third = self.moment(3) - 3 * m * self.moment(2) + 2 * m**3
        fourth = self.moment(4) - 4 * m * self.moment(3) + 6 * m**2 * self.moment(2) - 3 * m**4
        return third / var**1.5, fourth / var**2 - 3


# ------------------------------------------------------------------ computed by hand


def test_beta_posterior_of_three_ones_and_a_zero():
    posterior = BetaBernoulli(alpha=2, beta=5).update(Tally(np.array([[1.0, 3.0]])))
    assert (posterior.alpha[0], posterior.beta[0]) == (5.0, 6.0)
    assert posterior.mean()[0, 0] == pytest.approx(5 / 11, abs=1e-15)
    assert posterior.variance()[0, 0] == pytest.approx(30 / (121 * 12), abs=1e-15)


def test_dirichlet_posterior_of_a_few_classes():
    posterior = DirichletCategorical(alpha=[1, 1, 2]).update(Tally(np.array([[2.0, 0.0, 4.0]])))
    assert posterior.alpha.tolist() == [[3.0, 1.0, 6.0]]
    np.testing.assert_allclose(posterior.variance(), [[21 / 1100, 9 / 1100, 24 / 1100]], **EXACT)


def test_gamma_poisson_beta_is_a_rate_and_not_a_scale():
    posterior = GammaPoisson(alpha=2, beta=4).update(gather("poisson", [3, 1]))
    assert posterior.mean()[0, 0] == 1.0  # (2 + 4) / (4 + 2); as a scale it would be 6 · 4 / 9
    assert posterior.variance()[0, 0] == pytest.approx(1 / 6, abs=1e-15)
    assert posterior.sample(np.random.default_rng(0)).shape == (1, 1)
    draws = GammaPoisson(alpha=np.full(200_000, 6.0), beta=np.full(200_000, 6.0)).sample(np.random.default_rng(0))
    assert draws.mean() == pytest.approx(1.0, abs=0.005)


def test_normal_gamma_beta_is_a_rate_and_grows_with_the_variance():
    # y = 1, 2, 3 on (μ₀, ν, α, β) = (0, 1, 2, 1): ȳ = 2, ν = 4, μ = 6/4, α = 3.5, β = 1 + 1 + 3/4·4/2
    posterior = NormalGamma(centre=0, strength=1, alpha=2, beta=1).update(gather("normal", [1, 2, 3]))
    assert [getattr(posterior, name)[0] for name in posterior.arrays()] == [1.5, 4.0, 3.5, 3.5]
    assert posterior.mean()[0].tolist() == [1.5, 1.0]  # E τ = α / β
    assert posterior.variance()[0, 0] == pytest.approx(3.5 / (4 * 2.5), abs=1e-15)
    many = NormalGamma(*(np.full(200_000, v) for v in (1.5, 4.0, 3.5, 7.0))).sample(np.random.default_rng(0))
    assert many[:, 1].mean() == pytest.approx(0.5, abs=0.003)


# ------------------------------------------------------------------------- in general


@pytest.mark.parametrize("family", PRIORS)
@settings(deadline=None)
@given(data=st.data())
def test_update_and_leave_out_equal_the_loop(family, data):
    size = data.draw(st.integers(1, 12))
    value = {"bernoulli": st.integers(0, 1), "categorical": st.integers(0, 2), "poisson": st.integers(0, 30)}
    value |= {"lognormal": st.floats(1e-6, 1e6), "negative_binomial": st.integers(0, 30), "binomial": st.floats(0, 1)}
    y = data.draw(st.lists(value.get(family, st.floats(-50, 50)), min_size=size, max_size=size))
    weight = data.draw(st.lists(st.floats(0.1, 4.0), min_size=size, max_size=size))
    prior = PRIORS[family]
    posterior = prior.update(gather(family, y, np.array(weight)))
    for mine, loop in zip(
        parameters(posterior.take(0)), reference.posterior(family, parameters(prior), y, weight), strict=True
    ):
        np.testing.assert_allclose(mine, loop, rtol=1e-11, atol=1e-11)
    own = np.log(y[-1:]) if prior.log_target else np.array(y[-1:])
    left = posterior.leave_out(own, np.array(weight[-1:])).take(0)
    refit = reference.posterior(family, parameters(prior), y[:-1], weight[:-1])
    for mine, loop in zip(parameters(left), refit, strict=True):
        np.testing.assert_allclose(mine, loop, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("family", PRIORS)
def test_moments_and_quantiles_are_those_of_scipy(family):
    random = np.random.default_rng(1)
    y = make_target(family, np.repeat(PRIORS[family].mean()[None], 300, axis=0), random)
    posterior = PRIORS[family].update(gather(family, y, codes=random.integers(0, 6, 300), n_slots=6))
    for i, marginal in enumerate(marginals(posterior)):
        np.testing.assert_allclose(posterior.mean()[:, i], marginal.mean(), **EXACT)
        np.testing.assert_allclose(posterior.variance()[:, i], marginal.var(), rtol=1e-11)
        for probability in (0.001, 0.05, 0.5, 0.975):
            np.testing.assert_allclose(posterior.quantile(probability)[:, i], marginal.ppf(probability), rtol=1e-9)
    skewness, kurtosis = posterior.shape()
    for i, marginal in enumerate(marginals(posterior)[: skewness.shape[-1]]):
        wanted = marginal.stats("sk")
        np.testing.assert_allclose(skewness[:, i], wanted[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(kurtosis[:, i], wanted[1], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("family", ["normal", "lognormal", "poisson", "negative_binomial", "binomial"])
@pytest.mark.parametrize("probability", [0.02, 0.5, 0.9])
def test_predictive_quantiles_are_those_of_new_targets(family, probability):
    """θ is drawn from the posterior and y given θ: a share of at most p lies below the quantile, and p at or below."""
    random, size = np.random.default_rng(6), 200_000
    rows = make_target(family, np.repeat(PRIORS[family].mean()[None], 7, axis=0), random)
    posterior = PRIORS[family].update(gather(family, rows))
    quantile = posterior.predictive_quantile(probability)
    new = make_target(family, posterior.take(np.zeros(size, int)).sample(random), random)
    error = 4 * np.sqrt(probability * (1 - probability) / size)
    assert (new < quantile).mean() - error < probability < (new <= quantile).mean() + error


@pytest.mark.parametrize("probability", [0.02, 0.5, 0.9])
def test_predictive_quantiles_know_that_the_variance_is_in_doubt(probability):
    """A variance is drawn by its chance, then θ given that, then y given both."""
    random, size = np.random.default_rng(6), 200_000
    posterior = PRIORS["robust"].update(gather("robust", [0.0, 1.0, 9.0]))
    chance = np.exp(posterior.log_chance[0])
    part = random.choice(len(chance), size, p=chance / chance.sum())
    theta = posterior.centre[0, part] + random.standard_normal(size) / np.sqrt(posterior.precision[0, part])
    new = theta + random.standard_normal(size) * np.sqrt(posterior.noise[0, part])
    assert (new < posterior.predictive_quantile(probability)[0]).mean() == pytest.approx(probability, abs=0.004)


@pytest.mark.parametrize("df", [1.5, 2.0])
@pytest.mark.parametrize("rows", [5, 20])
def test_means_of_targets_with_heavy_tails_are_nearer_to_the_truth(df, rows):
    """Of Student's t₂ by a fifth at least; and the spread of the means is found, which tails hide."""
    random = np.random.default_rng(0)
    truth, codes = random.normal(0.0, 0.5, 1000), np.repeat(np.arange(1000), rows)
    y = truth[codes] + random.standard_t(df, len(codes))
    statistics = gather("robust", y, codes=codes, n_slots=1000)
    priors = [family.empirical(statistics) for family in (RobustNormal, NormalGamma)]
    robust, normal = (np.sqrt(np.mean((prior.update(statistics).mean()[:, 0] - truth) ** 2)) for prior in priors)
    assert robust < 0.8 * normal
    assert np.sqrt(priors[0].variance()[0]) == pytest.approx(0.5, rel=0.15)


def test_a_target_without_tails_is_as_well_off_as_with_the_normal_family():
    random = np.random.default_rng(0)
    truth, codes = random.normal(0.0, 0.5, 1000), np.repeat(np.arange(1000), 8)
    statistics = gather("robust", truth[codes] + random.standard_normal(len(codes)), codes=codes, n_slots=1000)
    found = [family.empirical(statistics).update(statistics).mean()[:, 0] for family in (RobustNormal, NormalGamma)]
    np.testing.assert_allclose(*found, atol=0.03)


@pytest.mark.parametrize("mean", [1e-3, 3.0, 1e4, 9e8, 1.1e9, 1e15, 1e17, 1e100])
@pytest.mark.parametrize("alpha", [0.3, 10.0, 1e6, 1e15, 1e17, 1e50])
def test_predictive_quantiles_of_counts_of_any_size_are_those_of_poisson_and_gamma(mean, alpha):
    """The count is Poisson about a rate that is gamma: for a certain rate it is the one, for a large one the other."""
    found = GammaPoisson(np.array([alpha]), np.array([alpha / mean]))
    for probability in (0.01, 0.5, 0.99):
        quantile = found.predictive_quantile(probability)[0]
        if alpha >= 1e15 and mean < 1e9:
            assert abs(quantile - stats.poisson(mean).ppf(probability)) <= 2e-3 * np.sqrt(mean) * (mean > 1e3)
        if alpha <= 10.0 and mean > 1e9:
            assert quantile == pytest.approx(stats.gamma(alpha, scale=mean / alpha).ppf(probability), rel=1e-4, abs=1.0)
        normal = mean + stats.norm.ppf(probability) * np.sqrt(mean + mean**2 / alpha)
        if alpha >= 1e6 and mean > 1e9:
            assert quantile == pytest.approx(normal, rel=1e-5)


def test_predictive_quantiles_are_finite_however_little_is_known():
    vague = LogNormalGamma(centre=0.0, strength=1e-9, alpha=0.1, beta=1.0)
    assert np.isfinite([vague.predictive_quantile(p) for p in (0.001, 0.999)]).all()
    certain = GammaPoisson(alpha=3e12, beta=1e12)  # a Poisson count of mean 3
    assert certain.predictive_quantile(0.9) == stats.poisson(3).ppf(0.9)


@pytest.mark.parametrize("family", PRIORS)
def test_exact_draws_follow_the_marginal_distributions(family):
    one = PRIORS[family]
    many = type(one)(*(np.repeat(np.asarray(p)[None], 40_000, axis=0) for p in parameters(one)))
    draws = many.sample(np.random.default_rng(3))
    for i, marginal in enumerate(marginals(one)):
        assert stats.kstest(draws[:, i], marginal.cdf).pvalue > 1e-3


def test_dirichlet_draws_are_right_for_tiny_parameters():
    many = DirichletCategorical(alpha=np.tile([1e-3, 2e-3, 5e-4], (40_000, 1)))
    draws = many.sample(np.random.default_rng(0))
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(draws.mean(axis=0), many.mean()[0], atol=0.01)


def test_mean_and_precision_of_the_normal_family_are_drawn_together():
    many = NormalGamma(*(np.full(200_000, float(p)) for p in parameters(PRIORS["normal"])))
    mean, precision = many.sample(np.random.default_rng(5)).T
    scaled = (mean - 1.0) * np.sqrt(2.0 * precision)  # μ | τ ~ N(μ₀, 1 / (ν τ))
    assert stats.kstest(scaled[precision < np.median(precision)], "norm").pvalue > 1e-3
    assert stats.kstest(scaled[precision > np.median(precision)], "norm").pvalue > 1e-3


@pytest.mark.parametrize("scale", [0.02, 0.1, 0.3, 0.5])
def test_the_normal_error_is_bounded_as_promised(scale):
    """The bound holds at every size, and is not so loose that the approximation would go unused."""
    for size in np.geomspace(2, 1e5, 12):
        for family in (
            BetaBernoulli(alpha=size, beta=size * (1 - scale) / scale),
            GammaPoisson(alpha=size, beta=3.0),
            BetaNegativeBinomial(centre=size / 3.0, strength=3.0, size=1.0 + size * scale),
            NormalGamma(centre=0.0, strength=2.0, alpha=size + 1.0, beta=5.0),
            DirichletCategorical(alpha=[size, 2 * size, size / scale]),
        ):
            distances = [distance_of_normal(family, i, marginal) for i, marginal in enumerate(marginals(family))]
            assert max(distances) <= family.normal_error()
            if isinstance(family, GammaPoisson):
                assert family.normal_error() < 1.6 * max(distances)


def distance_of_normal(family, parameter, marginal):
    """Kolmogorov distance of level + slope z + bend z² to the distribution of one parameter, by the roots of z."""
    normal = family.normal()
    if isinstance(family, DirichletCategorical):  # θ_c is a normal of its own mean and variance
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


@pytest.mark.parametrize("family", PRIORS)
def test_normal_draws_have_the_mean_and_covariance_of_the_posterior(family):
    one = PRIORS[family].update(
        gather(family, np.tile({"categorical": [0, 1, 2], "lognormal": [1, 2]}.get(family, [0, 1]), 400))
    )
    many = one.take(np.zeros(60_000, int))
    straight, noise = many.normal().straight(), np.random.default_rng(1).standard_normal(many.mean().shape)
    exact, normal = many.sample(np.random.default_rng(0)), straight.draw(noise)
    np.testing.assert_allclose(normal.mean(axis=0), one.mean()[0], rtol=0.01)
    covariance = np.atleast_2d(np.cov(exact.T))
    size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    np.testing.assert_allclose(np.atleast_2d(np.cov(normal.T)) / size, covariance / size, atol=0.03)
    if family == "categorical":
        np.testing.assert_allclose(normal.sum(axis=1), 1.0, rtol=1e-12)


# ------------------------------------------------------------------------------- means that are far off


@pytest.mark.parametrize("n", [1, 7, 40])
def test_tails_are_those_of_the_predictive_distribution(n):
    """Counts of ones, events in units, and means; twice the side that they are on."""
    ones = np.arange(n + 1.0)
    beta = BetaBernoulli(np.full(n + 1, 2.0), np.full(n + 1, 5.0))
    told = stats.betabinom(n, 2.0, 5.0)
    sides = np.where(ones > n * 2 / 7, told.sf(ones - 1), told.cdf(ones))
    np.testing.assert_allclose(
        beta.tail(Tally(np.stack([n - ones, ones], axis=1))), np.minimum(1, 2 * sides), rtol=1e-9
    )
    shares = Moments(np.full(n + 1, float(n)), ones / n, np.zeros(n + 1))
    np.testing.assert_allclose(BetaBinomial(beta.alpha, beta.beta).tail(shares), np.minimum(1, 2 * sides), rtol=1e-9)
    rates = Moments(np.full(n + 1, 2.5), ones / 2.5, np.zeros(n + 1))
    counts = stats.nbinom(3.0, 4.0 / 6.5)
    sides = np.minimum(counts.cdf(ones), counts.sf(ones - 1))
    np.testing.assert_allclose(GammaPoisson(np.full(n + 1, 3.0), 4.0).tail(rates), np.minimum(1, 2 * sides), rtol=1e-9)


@pytest.mark.parametrize("family", ["bernoulli", "categorical", "normal", "poisson", "binomial", "robust"])
def test_rows_of_the_posterior_itself_are_seldom_far_off(family):
    """The tail is below p with a chance of p at most; of numbers, which have no steps, just so often."""
    random, size = np.random.default_rng(0), 4000
    many = PRIORS[family].take(np.newaxis).take(np.zeros(size, int))
    codes = np.repeat(np.arange(size), 12)
    y = make_target(family, many.sample(random)[codes], random)
    tail = many.tail(gather(family, y, codes=codes, n_slots=size))
    for probability in (0.01, 0.1):
        error = 4 * np.sqrt(probability / size)
        assert (tail <= probability).mean() < probability + error
        if family in ("normal", "robust"):
            assert (tail <= probability).mean() > probability - error


# --------------------------------------------------------------- marginal likelihood


@pytest.mark.parametrize("alpha", [3.0, 9e5, 8e10, 4e15])
def test_rising_factorials_are_right_however_large_they_begin(alpha):
    """α (α + 1) … (α + n - 1), one factor after the other, where log Γ(α) itself has no digits to spare."""
    for n in (1, 1000, 4_000_000):
        assert log_rising(alpha, float(n)) == pytest.approx(np.log(alpha + np.arange(n)).sum(), rel=1e-13, abs=1e-8)
    assert log_rising(alpha, 0.0) == 0.0


def test_log_marginals_integrate_the_likelihood():
    theta = PRIORS["bernoulli"]
    tally = Tally(np.array([[2.0, 3.0]]))
    assert theta.log_marginal(tally)[0] == pytest.approx(betaln(5, 5) - betaln(2, 3), abs=1e-12)
    as_dirichlet = DirichletCategorical(alpha=[3.0, 2.0])
    assert as_dirichlet.log_marginal(tally)[0] == pytest.approx(theta.log_marginal(tally)[0], abs=1e-12)

    counts = [2, 0, 3]
    density = stats.gamma(3.0, scale=1 / 1.5).pdf
    value, _ = integrate.quad(lambda rate: np.prod(stats.poisson(rate).pmf(counts)) * density(rate), 0, np.inf)
    left_out = -np.log([2, 1, 6]).sum()
    assert PRIORS["poisson"].log_marginal(gather("poisson", counts))[0] + left_out == pytest.approx(np.log(value))

    y = [0.3, 1.9]
    location, scale, dof = (
        1.0,
        np.sqrt(4.0 * 3.0 / (3.0 * 2.0)),
        6.0,
    )  # the predictive of the first is Student's t
    first = stats.t(dof, location, scale).logpdf(y[0])
    after = PRIORS["normal"].update(gather("normal", y[:1])).take(0)
    scale = np.sqrt(after.beta * (after.strength + 1) / (after.alpha * after.strength))
    second = stats.t(2 * after.alpha, after.centre, scale).logpdf(y[1])
    assert PRIORS["normal"].log_marginal(gather("normal", y))[0] == pytest.approx(first + second, abs=1e-12)


@pytest.mark.parametrize("family", PRIORS)
def test_the_empirical_prior_is_a_maximum_of_the_marginal_likelihood(family):
    random = np.random.default_rng(2)
    codes = np.repeat(np.arange(300), random.integers(1, 40, 300))
    theta = PRIORS[family].take(np.newaxis).take(np.zeros(300, int)).sample(random)[codes]
    statistics = gather(family, make_target(family, theta, random), codes=codes, n_slots=301)
    found = FAMILIES[family].empirical(statistics)
    best = found.log_marginal(statistics).sum()
    assert best >= PRIORS[family].log_marginal(statistics).sum()
    for name in set(found.arrays()) - {"centre"}:  # a centre is a mean of means, not a maximum
        for factor in (0.95, 1.05):
            changed = found.arrays() | {name: getattr(found, name) * factor}
            assert type(found)(**changed).log_marginal(statistics).sum() < best + 1e-6


@pytest.mark.parametrize("family", PRIORS)
def test_the_empirical_prior_finds_the_prior_that_made_the_data(family):
    random = np.random.default_rng(4)
    codes = np.repeat(np.arange(4000), 20)
    theta = PRIORS[family].take(np.newaxis).take(np.zeros(4000, int)).sample(random)[codes]
    statistics = gather(family, make_target(family, theta, random), codes=codes, n_slots=4000)
    found = FAMILIES[family].empirical(statistics)
    for name in found.arrays():
        np.testing.assert_allclose(getattr(found, name), getattr(PRIORS[family], name), rtol=0.15)


@pytest.mark.parametrize("family", PRIORS)
@pytest.mark.parametrize("per_category", [1, 2, 50])
def test_without_signal_every_category_sits_on_the_prior(family, per_category):
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
    if per_category == 1 and FAMILIES[family].classes:
        assert min(shrinkage) > 0.999  # one row a category cannot speak of categories at all


def test_a_normal_column_does_not_depend_on_the_unit_of_the_target():
    random = np.random.default_rng(0)
    codes = np.repeat(np.arange(50), 10)
    y = random.standard_normal(50)[codes] + random.standard_normal(500)
    plain = NormalGamma.empirical(gather("normal", y, codes=codes, n_slots=50))
    moved = NormalGamma.empirical(gather("normal", 1e9 + 1e3 * y, codes=codes, n_slots=50))
    assert moved.strength == pytest.approx(plain.strength, rel=1e-3)
    assert (moved.centre - 1e9) / 1e3 == pytest.approx(plain.centre, abs=1e-3)
    assert moved.beta / moved.alpha / 1e6 == pytest.approx(plain.beta / plain.alpha, rel=1e-3)


@pytest.mark.parametrize("make", ["exponential", "lognormal", "standard_cauchy"])
def test_a_skewed_target_is_no_signal(make):
    """Categories of one row cannot be told apart, and the unseen one keeps the mean of the table."""
    y = getattr(np.random.default_rng(1), make)(size=2000)
    found = NormalGamma.empirical(gather("normal", y, codes=np.arange(2000), n_slots=2000))
    assert found.strength / (found.strength + 1) > 0.999
    assert found.centre == pytest.approx(y.mean())


@pytest.mark.parametrize("shape", [0.5, 1.0, 5.0])
def test_clumped_counts_are_known_by_mean_and_size_whatever_shape_their_rates_are_spread_in(shape):
    """Rates of a gamma distribution come close to 0, which those of a beta-prime one of the same mean do not."""
    random = np.random.default_rng(0)
    rate, codes = random.gamma(shape, 200.0 / shape, 2000), np.repeat(np.arange(2000), 3)
    y = random.negative_binomial(4.0, 4.0 / (4.0 + rate[codes]))
    found = BetaNegativeBinomial.empirical(gather("negative_binomial", y, codes=codes, n_slots=2000))
    assert found.mean()[0] == pytest.approx(y.mean(), rel=1e-3)  # as many rows in each category
    assert found.size == pytest.approx(4.0, rel=0.3)
    assert np.sqrt(found.variance()[0]) < 4.0 * y.mean()


@pytest.mark.parametrize("strength", [1e9, 1e12, 1e20, 1e50])
@pytest.mark.parametrize("family", ["bernoulli", "categorical"])
def test_quantiles_are_right_however_much_is_known(family, strength):
    posterior = type(PRIORS[family])(*(p[None] for p in parameters(PRIORS[family])))
    posterior = posterior.worth(np.array([strength]))
    mean, deviation = posterior.mean(), np.sqrt(posterior.variance())
    for probability in (0.01, 0.5, 0.9):
        expected = mean + deviation * stats.norm.ppf(probability)
        np.testing.assert_allclose(posterior.quantile(probability), expected, rtol=1e-15, atol=1e-3 * deviation.max())
        moved = posterior.transport(np.full(mean.shape, probability))
        assert (np.abs(moved - mean) < 5 * deviation + 1e-15).all()


@pytest.mark.parametrize("family", PRIORS)
def test_transported_uniforms_are_draws(family):
    one = PRIORS[family]
    size = 20_000
    many = type(one)(*(np.repeat(np.asarray(p)[None], size, axis=0) for p in parameters(one)))
    random = np.random.default_rng(0)
    draws = many.transport(random.random((size, one.mean().shape[-1])))
    for i, marginal in enumerate(marginals(one)):
        assert stats.kstest(draws[:, i], marginal.cdf).pvalue > 1e-3
    for _ in range(5):  # and jointly: any sum of the parameters is distributed as that of exact draws
        weights = random.standard_normal(draws.shape[1])
        assert stats.ks_2samp(draws @ weights, many.sample(random) @ weights).pvalue > 1e-3


@pytest.mark.parametrize("family", PRIORS)
def test_the_covariance_is_that_of_draws(family):
    one = PRIORS[family]
    many = type(one)(*(np.repeat(np.asarray(p)[None], 200_000, axis=0) for p in parameters(one)))
    draws = many.sample(np.random.default_rng(1))
    scale = np.sqrt(one.variance())
    np.testing.assert_allclose(
        np.atleast_2d(np.cov(draws.T)) / np.outer(scale, scale), one.covariance() / np.outer(scale, scale), atol=0.05
    )
    np.testing.assert_allclose(np.diagonal(one.covariance()), one.variance(), rtol=1e-12)


def test_rounding_does_not_tell_what_was_left_out():
    """With hardly a prior, what is left of α is the prior, whatever was taken out of it."""
    y = np.arange(6)
    left = GammaPoisson(4e-12 + y, np.full(6, 2.0)).leave_out(y, np.ones(6))
    assert len(set(left.alpha.tolist())) == 1
    ones = np.array([0, 1])
    left = BetaBernoulli(1e-13 + ones, 1e-13 + (1 - ones)).leave_out(ones, np.ones(2))
    assert len({*left.alpha.tolist(), *left.beta.tolist()}) == 1


def test_a_prior_by_gamma_has_the_mean_of_the_table_in_any_unit():
    y = np.array([0.0, 1.0, 4.0, 7.0])
    statistics = Moments(np.full(1, 4.0), y.mean(keepdims=True), np.full(1, ((y - y.mean()) ** 2).sum()))
    for units in (1.0, 4.0):
        for prior in Scaled(0.5).fit(BetaNegativeBinomial, statistics, units):
            np.testing.assert_allclose(prior.mean(), 3.0)
    for prior in (Scaled(0.5), Empirical()):
        unsaid, said = (prior.fit(GammaPoisson, statistics, *units)[0] for units in ((), (1.0,)))
        assert [*map(float, unsaid.arrays().values())] == [*map(float, said.arrays().values())]


def test_parameters_are_floats_whatever_numbers_were_given():
    for two in (2, [2], np.array([2]), np.array([2.0], dtype=np.float32)):
        prior = BetaBernoulli(alpha=two, beta=two)
        assert prior.alpha.dtype == prior.beta.dtype == np.float64


def test_a_family_of_your_own_is_called_by_its_name_where_it_does_not_fit():
    mine = type("Mine", (BetaBernoulli,), {"__slots__": ()})
    with pytest.raises(InputError, match="family=Mine takes two classes, and y holds 3"):
        family_of_classes(3, mine)


def test_a_given_prior_of_other_classes_is_refused_by_its_shape():
    three = Tally(np.array([[1.0, 2.0, 3.0]]))
    with pytest.raises(InputError, match=r"prior: alpha has shape \(2,\), and this target needs \(3,\)"):
        Given(DirichletCategorical([1.0, 1.0])).fit(DirichletCategorical, three)


def test_a_mean_without_a_variance_is_drawn_as_at_the_mean_precision():
    """Student's t of 2α ≤ 2 degrees of freedom has none: μ given τ has the variance 1 / (ν τ), here at τ = α / β."""
    posterior = NormalGamma(centre=3.0, strength=4.0, alpha=0.8, beta=2.0)
    assert not np.isfinite(posterior.variance()[..., 0])
    assert posterior.normal().slope[..., 0] ** 2 == pytest.approx(1.0 / (4.0 * 0.8 / 2.0), rel=1e-12)
