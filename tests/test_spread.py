"""How wide draws are: as the posterior, or as the estimate."""

import numpy as np
import pytest

from cases import PRIORS, as_read, make_target, parameters
from catbayes import SamplingBayesianEncoder, Scaled
from catbayes.core.slots import Slots
from catbayes.core.target import Target
from catbayes.families import FAMILIES


def posteriors(family, n_categories, rows, seed=0):
    """True θ of many categories, and what is believed after some rows of each."""
    random, prior = np.random.default_rng(seed), PRIORS[family]
    many = type(prior)(*(np.repeat(p[None], n_categories, axis=0) for p in parameters(prior)))
    truth = many.sample(random)
    codes = np.repeat(np.arange(n_categories), rows)
    y = make_target(family, truth[codes], random)
    classes = range(3 if family == "categorical" else 2) if FAMILIES[family].classes else None
    target = Target(as_read(family, y), FAMILIES[family], classes)
    statistics = target.tally(codes, None, n_categories + 1)  # one for unseen
    return truth, prior.update(statistics).take(np.arange(n_categories))


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("family", [family for family in PRIORS if family != "robust"])
def test_draws_vary_as_the_estimate_does_from_sample_to_sample(family, rows):
    """E Var(mean | θ), by simulation, is the mean of factor² · Var(θ | rows)."""
    truth, posterior = posteriors(family, 100_000, rows)
    prior, location = PRIORS[family], posterior.location
    share = rows / (rows + float(prior.strength))
    around = share * truth[:, location] + (1 - share) * prior.mean()[location]  # E(mean | θ)
    sampling_variance = ((posterior.mean()[:, location] - around) ** 2).mean(axis=0)
    factor = Slots(posterior, np.full(len(posterior.strength), float(rows))).factor(None)
    np.testing.assert_allclose(factor, np.sqrt(share))
    drawn = (factor[:, None] ** 2 * posterior.variance()[:, location]).mean(axis=0)
    np.testing.assert_allclose(drawn, sampling_variance, rtol=0.04)


@pytest.mark.parametrize("rows", [1, 5])
def test_draws_of_a_mixture_vary_about_as_the_estimate_does(rows):
    """There the share of the rows in the estimate depends on them, so that this is no identity."""
    random, prior = np.random.default_rng(0), PRIORS["robust"]
    truth, noise = prior.centre[0] + random.standard_normal(50_000), random.choice(prior.noise, 50_000)
    found = []
    for _ in range(2):
        y = np.repeat(truth, rows) + random.standard_normal(50_000 * rows) * np.sqrt(np.repeat(noise, rows))
        found.append(prior.update(Target(y, type(prior)).tally(np.repeat(np.arange(50_000), rows), None, 50_001)))
    one, other = (posterior.mean()[:-1, 0] for posterior in found)
    factor = Slots(found[0].take(np.arange(50_000)), np.full(50_000, float(rows))).factor(None)
    drawn = (factor**2 * found[0].variance()[:-1, 0]).mean()
    assert drawn == pytest.approx(((one - other) ** 2).mean() / 2, rel=0.15)


def test_the_encoder_draws_with_the_spread_of_the_estimate():
    X, y = np.repeat([0, 1], [6, 18])[:, None], np.tile([0, 0, 1], 8)
    encoder = SamplingBayesianEncoder("all", prior=PRIORS["bernoulli"], sampler="exact", random_state=0).fit(X, y)
    draws = encoder.sample(np.repeat([0, 1, 2], 40_000)[:, None])[0].reshape(3, -1)
    for row, n in enumerate([6, 18]):
        alpha, beta = 2 + n / 3, 3 + 2 * n / 3
        variance = alpha * beta / (alpha + beta) ** 2 / (alpha + beta + 1)
        assert draws[row].var() == pytest.approx(n / (n + 5) * variance, rel=0.03)
        assert draws[row].mean() == pytest.approx(alpha / (alpha + beta), abs=0.002)
    np.testing.assert_allclose(draws[2], 2 / 5)  # of an unseen category there is no estimate to vary


@pytest.mark.parametrize("family", ["normal", "poisson", "negative_binomial"])
def test_of_what_was_never_seen_nothing_is_drawn_under_a_weak_prior_either(family):
    y = np.arange(60) % 7 + 0.0
    encoder = SamplingBayesianEncoder("all", family=family, prior=Scaled(1e-7), random_state=0)
    encoder.fit(np.arange(60)[:, None] % 4, y)
    draws = encoder.sample(np.full((50, 1), 99))[0]
    np.testing.assert_array_equal(draws, np.repeat(encoder.transform([[99]]), 50, axis=0))
