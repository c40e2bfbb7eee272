"""How wide draws are: as the posterior, or as the estimate."""

import numpy as np
import pytest

from cases import PRIORS, make_target, repeated
from catbayes import SamplingBayesianEncoder, Scaled

N_CATEGORIES = 50_000


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("family", PRIORS)
def test_draws_vary_as_the_estimate_does_from_sample_to_sample(family, rows):
    """The variance of draws is that of the mean between two tables of the same θ."""
    random, prior, codes = np.random.default_rng(0), PRIORS[family], np.repeat(np.arange(N_CATEGORIES), rows)
    theta = repeated(prior, N_CATEGORIES).sample(random)[codes]
    settings = {"family": family, "prior": prior, "sampler": "exact", "random_state": 0}
    new, means = np.arange(N_CATEGORIES)[:, None], []
    for _ in range(2):
        encoder = SamplingBayesianEncoder("all", **settings).fit(codes[:, None], make_target(family, theta, random))
        means.append(encoder.transform(new))
    between = ((means[0] - means[1]) ** 2).mean(axis=0)
    drawn = (np.subtract(*encoder.sample(new, 2)) ** 2).mean(axis=0)
    np.testing.assert_allclose(drawn, between, rtol=0.15 if family == "robust" else 0.05)  # there, it is no identity


@pytest.mark.parametrize("family", ["normal", "poisson", "negative_binomial"])
def test_of_what_was_never_seen_nothing_is_drawn_under_a_weak_prior_either(family):
    y = np.arange(60) % 7 + 0.0
    encoder = SamplingBayesianEncoder("all", family=family, prior=Scaled(1e-7), random_state=0)
    encoder.fit(np.arange(60)[:, None] % 4, y)
    draws = encoder.sample(np.full((50, 1), 99))[0]
    np.testing.assert_array_equal(draws, np.repeat(encoder.transform([[99]]), 50, axis=0))
