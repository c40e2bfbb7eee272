"""How wide draws are: as the posterior, as the estimate, or not at all for frequent categories."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from cases import PRIORS, as_read, make_target, parameters
from catbayes import Draws, InputError, SamplingBayesianEncoder, SamplingClassifier
from catbayes._evidence import Target
from catbayes._posteriors import Entries
from catbayes._spread import Spread
from catbayes.families import FAMILIES

ROWS_OF_CODE = np.repeat(np.arange(4), [150, 100, 99, 7])


def posteriors(family, n_categories, rows, seed=0):
    """True θ of many categories, and what is believed after some rows of each."""
    random, prior = np.random.default_rng(seed), PRIORS[family]
    many = type(prior)(*(np.repeat(p[None], n_categories, axis=0) for p in parameters(prior)))
    truth = many.sample(random)
    codes = np.repeat(np.arange(n_categories), rows)
    y = make_target(family, truth[codes], random)
    classes = range(3 if family == "categorical" else 2) if FAMILIES[family].classes else None
    target = Target(as_read(family, y), FAMILIES[family], classes)
    statistics = target.gather(codes, None, n_categories + 1)  # one for unseen
    return truth, prior.update(statistics).take(np.arange(n_categories))


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("family", PRIORS)
def test_draws_vary_as_the_estimate_does_from_sample_to_sample(family, rows):
    """E Var(mean | θ), by simulation, is the mean of factor² · Var(θ | rows)."""
    truth, posterior = posteriors(family, 100_000, rows)
    prior, location = PRIORS[family], posterior.location
    share = rows / (rows + float(prior.strength))
    around = share * truth[:, location] + (1 - share) * prior.mean()[location]  # E(mean | θ)
    sampling_variance = ((posterior.mean()[:, location] - around) ** 2).mean(axis=0)
    factor = Spread(None).factor(Entries(posterior, np.full(len(posterior.strength), float(rows))))
    np.testing.assert_allclose(factor, np.sqrt(share))
    drawn = (factor[:, None] ** 2 * posterior.variance()[:, location]).mean(axis=0)
    np.testing.assert_allclose(drawn, sampling_variance, rtol=0.04)


def test_the_encoder_draws_with_the_spread_of_the_estimate():
    X, y = np.repeat([0, 1], [6, 18])[:, None], np.tile([0, 0, 1], 8)
    draws = Draws(sampler="exact")
    encoder = SamplingBayesianEncoder("all", prior=PRIORS["bernoulli"], draws=draws, random_state=0).fit(X, y)
    draws = encoder.sample(np.repeat([0, 1, 2], 40_000)[:, None])[0].reshape(3, -1)
    for row, n in enumerate([6, 18]):
        alpha, beta = 2 + n / 3, 3 + 2 * n / 3
        variance = alpha * beta / (alpha + beta) ** 2 / (alpha + beta + 1)
        assert draws[row].var() == pytest.approx(n / (n + 5) * variance, rel=0.03)
        assert draws[row].mean() == pytest.approx(alpha / (alpha + beta), abs=0.002)
    np.testing.assert_allclose(draws[2], 2 / 5)  # of an unseen category there is no estimate to vary


@pytest.mark.parametrize(
    ("mapping", "how"),
    [("mean", {}), ("mean_precision", {}), ("mean", {"per": "category"}), ("mean", {"temperature": 0})],
)
def test_frequent_categories_are_encoded_by_their_expectation(mapping, how):
    y = np.arange(len(ROWS_OF_CODE)) % 2
    settings = {"mapping": mapping, "draws": Draws(steady=100, **how), "random_state": 0}
    encoder = SamplingBayesianEncoder("all", prior=PRIORS["bernoulli"], **settings)
    X, steady = ROWS_OF_CODE[:, None], ROWS_OF_CODE < 2
    trained = encoder.fit_transform(X, y)
    np.testing.assert_array_equal(trained[steady], encoder.transform(X)[steady])
    np.testing.assert_array_equal(encoder.sample(X)[0][steady], encoder.transform(X)[steady])
    assert (trained[~steady, 0] != encoder.transform(X)[~steady, 0]).mean() > 0.9


def test_among_groups_and_where_folds_were_asked_for_the_mean_is_that_of_the_other_folds():
    y = np.arange(len(ROWS_OF_CODE)) % 2
    X, group = ROWS_OF_CODE[:, None], np.random.default_rng(0).integers(20, size=len(y))
    for own_target, groups in (("exclude", group), ("cross_fit", None)):
        settings = {"prior": 1.0, "draws": Draws(steady=70), "own_target": own_target}
        encoder = SamplingBayesianEncoder("all", random_state=0, **settings)
        trained = encoder.fit_transform(X, y, groups=groups)[ROWS_OF_CODE == 0, 0]
        assert 2 <= len(np.unique(trained)) <= 5  # one value a fold, and not one for all


def is_steady(encoder):
    """Which slots of the first column are not drawn."""
    column = encoder.encoding_.columns[0]
    return column.spread.is_steady(column.entries.count)


def test_a_few_heavy_rows_are_not_many_rows():
    y = np.tile([0, 1, 1], 20)
    encoder = SamplingBayesianEncoder("all", random_state=0).fit(np.arange(60)[:, None] % 4, y, np.full(60, 50.0))
    assert not is_steady(encoder).any()
    light = SamplingBayesianEncoder("all", random_state=0).fit(np.zeros((600, 1)), np.tile(y, 10), np.full(600, 0.1))
    assert is_steady(light)[0]


def test_one_heavy_row_does_not_keep_its_own_target():
    X, weight = np.zeros((400_001, 1)), np.ones(400_001)
    X[0], X[1], weight[0] = 1, 1, 1000.0
    y = np.arange(400_001) % 2
    features = []
    for own in (0, 1):
        y[0] = own
        encoder = SamplingBayesianEncoder("all", prior=PRIORS["bernoulli"], random_state=0)
        features.append(encoder.fit_transform(X, y, weight)[0, 0])
        assert is_steady(encoder)[:2].all()  # two rows, the weight of many
    assert features[0] == features[1]


def test_rare_classes_need_more_rows():
    """1 / (4 p (1 - p)) times as many: at a share of one in a hundred, 25 times."""
    X = np.repeat(np.arange(3), [8_000, 5_000, 600])[:, None]
    rare, even = np.arange(len(X)) % 100 == 0, np.arange(len(X)) % 2

    def steady(y):
        encoder = SamplingBayesianEncoder("all", random_state=0).fit(X, y.astype(int))
        return is_steady(encoder)[:3].tolist()

    assert steady(even) == [True, True, True]
    assert steady(rare) == [True, False, False]  # from 200 / 0.0396 = 5,051 rows on


@pytest.mark.parametrize("family", ["normal", "poisson", "negative_binomial"])
def test_of_what_was_never_seen_nothing_is_drawn_under_a_weak_prior_either(family):
    y = np.arange(60) % 7 + 0.0
    encoder = SamplingBayesianEncoder("all", family=family, prior=1e-7, random_state=0)
    encoder.fit(np.arange(60)[:, None] % 4, y)
    draws = encoder.sample(np.full((50, 1), 99))[0]
    np.testing.assert_array_equal(draws, np.repeat(encoder.transform([[99]]), 50, axis=0))


def test_categories_stay_apart_though_their_means_do_not_differ():
    """Of two columns that matter only together, draws would blur both."""
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (4000, 2))
    y = X[:, 0] ^ X[:, 1]
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)

    def accuracy(draws):
        model = SamplingClassifier(forest, SamplingBayesianEncoder("all", draws=draws), random_state=0)
        return model.fit(X[:3000], y[:3000]).score(X[3000:], y[3000:])

    assert accuracy(Draws()) > 0.99
    assert accuracy(Draws(1.0, steady=None)) < 0.9


@pytest.mark.parametrize("settings", [{"temperature": "warm"}, {"temperature": 1.5}, {"steady": 1}, {"steady": 2.5}])
def test_other_spreads_are_refused(settings):
    (name, value) = next(iter(settings.items()))
    with pytest.raises(InputError, match=f"draws.{name}={value!r}"):
        SamplingBayesianEncoder("all", draws=Draws(**settings)).fit([[0], [1]] * 4, [0, 1] * 4)
