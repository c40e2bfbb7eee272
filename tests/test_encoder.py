"""The encoder end to end: every path equals the plain loop, and nothing disturbs a draw."""

import warnings

import numpy as np
import pandas
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, PredefinedSplit, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.utils.multiclass import type_of_target

import reference
from cases import PRIORS, make_target, parameters
from catbayes import InputError, InputWarning, SamplingBayesianEncoder, Scaled
from catbayes.families import BetaBernoulli, DirichletCategorical, NormalGamma
from catbayes.inspect import shrinkage
from catbayes.mappings import PosteriorMoments


def make_table(family, n_rows=60, seed=0):
    random = np.random.default_rng(seed)
    codes = random.integers(0, 12, n_rows)
    prior = PRIORS[family]
    theta = prior.take(np.newaxis).take(np.zeros(13, int)).sample(random)
    y = make_target(family, theta[codes], random)
    if family == "categorical":
        y[:3] = [0, 1, 2]
    codes[0] = 12  # a category of one row
    return codes, y, random.integers(1, 4, n_rows).astype(float)


def mean_encoder(family, **settings):
    """An encoder without spread, so that its features are the means of the posteriors it draws from."""
    return SamplingBayesianEncoder(
        "all", family=family, prior=PRIORS[family], temperature=0.0, random_state=0, **settings
    )


@pytest.mark.parametrize("mapping", ["mean", PosteriorMoments(n_moments=1)], ids=["mean", "moments"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", PRIORS)
def test_every_path_equals_the_loop(family, weighted, mapping):
    codes, y, weight = make_table(family)
    weight = weight if weighted else np.ones(len(y))
    given = weight if weighted else None
    X, prior = codes[:, None], parameters(PRIORS[family])
    fold = np.arange(len(y)) % 4

    def naive(visible):
        return reference.encode(family, prior, codes, y, weight, visible)

    include = mean_encoder(family, own_target="include", mapping=mapping)
    np.testing.assert_allclose(include.fit_transform(X, y, given), naive(lambda n, m: True), rtol=1e-9)
    np.testing.assert_allclose(include.transform(X), naive(lambda n, m: True), rtol=1e-9)
    for own_target in ("cross_fit", "exclude"):  # without spread, "exclude" goes by folds as well
        folded = mean_encoder(family, own_target=own_target, cv=PredefinedSplit(fold), mapping=mapping)
        expected = naive(lambda n, m: fold[n] != fold[m])
        np.testing.assert_allclose(folded.fit_transform(X, y, given), expected, rtol=1e-9)


@pytest.mark.parametrize("n_rows", [60, 140])  # of 140, the posteriors of classes are looked up
@pytest.mark.parametrize("family", PRIORS)
def test_many_draws_average_to_the_posterior_without_the_row(family, n_rows):
    """Draws at temperature 1 are exact, so that their mean is that of the loop, up to its standard error."""
    codes, y, _ = make_table(family, n_rows)
    encoder = SamplingBayesianEncoder(
        "all", family=family, prior=PRIORS[family], temperature=1.0, sampler="exact", random_state=0
    )
    draws = encoder.fit_draws(codes[:, None], y)
    rows = np.arange(0, n_rows, n_rows // 12)
    features = np.stack([draws.features(k)[rows] for k in range(400)])
    for place, n in enumerate(rows):
        others = (codes == codes[n]) & (np.arange(n_rows) != n)
        posterior = reference.posterior(family, parameters(PRIORS[family]), y[others], np.ones(others.sum()))
        expected = reference.mean(family, posterior)
        error = features[:, place].std(axis=0) / np.sqrt(len(features))
        assert (abs(features[:, place].mean(axis=0) - expected) < 5 * error + 1e-9).all()


@pytest.mark.parametrize("settings", [{}, {"own_target": "cross_fit"}, {"mapping": "mean_precision"}], ids=str)
def test_training_features_exclude_the_own_target(settings):
    codes, y, _ = make_table("bernoulli", 300)
    X = codes[:, None]
    encoder = SamplingBayesianEncoder("all", prior=BetaBernoulli(2, 2), random_state=0, **settings)
    features = encoder.fit_transform(X, y)
    for row in (0, 5, 200):
        flipped = np.where(np.arange(300) == row, 1 - y, y)
        np.testing.assert_allclose(encoder.fit_transform(X, flipped)[row], features[row], rtol=1e-9)
    leaky = clone(encoder).set_params(own_target="include")
    assert leaky.fit_transform(X, y)[200, 0] != leaky.fit_transform(X, flipped)[200, 0]


# ----------------------------------------------------------------------- draws


def test_seeds():
    codes, y, _ = make_table("normal")
    X = codes[:, None]
    a, b = (SamplingBayesianEncoder("all", family="normal", temperature=1.0, random_state=s) for s in (0, 1))
    assert (a.fit_transform(X, y) != b.fit_transform(X, y)).all()
    np.testing.assert_array_equal(a.fit_transform(X, y), clone(a).fit_transform(X, y))
    np.testing.assert_array_equal(a.sample(X), a.sample(X))
    assert (a.sample(X) != a.sample(X, random_state=7)).all()
    free = SamplingBayesianEncoder("all", family="normal", temperature=1.0)
    assert (free.fit_transform(X, y) != free.fit_transform(X, y)).all()
    np.testing.assert_array_equal(free.sample(X), free.sample(X))


# ----------------------------------------------------------- reading X and y


@pytest.mark.parametrize(
    "y",
    [
        ["no", "yes"] * 10,
        [True, False] * 10,
        [1.0, 2.0] * 10,
        [3, 7, 5, 7] * 5,
        ["a", "b", "c", "a"] * 5,
        [0.5, 1.5, 2.0, 3.0] * 5,
        np.array(["x", "y"] * 10, dtype=object),
        pandas.Series(["x", "y"] * 10, dtype="category"),
    ],
)
def test_the_family_follows_scikit_learns_reading_of_y(y):
    encoder = SamplingBayesianEncoder().fit([["a"], ["b"]] * 10, y)
    wanted = {"binary": BetaBernoulli, "multiclass": DirichletCategorical, "continuous": NormalGamma}
    assert encoder.family_ is wanted[type_of_target(np.asarray(y))]
    if encoder.family_ is not NormalGamma:
        assert list(encoder.classes_) == sorted(set(y))


@pytest.mark.parametrize("family", PRIORS)
def test_relabelling_categories_changes_nothing(family):
    codes, y, _ = make_table(family)
    other = np.random.default_rng(1).permutation(1000)[codes]
    a, b = (SamplingBayesianEncoder("all", family=family, random_state=0) for _ in range(2))
    np.testing.assert_allclose(a.fit_transform(codes[:, None], y), b.fit_transform(other[:, None], y), rtol=1e-6)
    np.testing.assert_allclose(a.transform(codes[:, None]), b.transform(other[:, None]), rtol=1e-6)


@pytest.mark.parametrize("family", PRIORS)
def test_weight_two_is_the_row_twice(family):
    codes, y, weight = make_table(family)
    times = weight.astype(int)
    X = codes[:, None]
    weighted = SamplingBayesianEncoder("all", family=family).fit(X, y, weight)
    repeated = SamplingBayesianEncoder("all", family=family).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-6)
    zero = SamplingBayesianEncoder("all", family=family)
    zero.fit(np.r_[X, [[99]]], np.r_[y, y[-1:]], np.r_[weight, 0.0])
    np.testing.assert_allclose(zero.transform(X), weighted.transform(X), rtol=1e-6)


def test_missing_values_follow_the_policy():
    X = np.array([["a"], ["a"], [None], [None], [None], ["b"]], dtype=object)
    y = [0, 1, 1, 1, 1, 0]
    prior = BetaBernoulli(1, 1)
    category = SamplingBayesianEncoder(prior=prior).fit(X, y)
    assert category.transform([[None], [np.nan], ["z"]])[:, 0].tolist() == [0.8, 0.8, 0.5]
    as_prior = SamplingBayesianEncoder(prior=prior, missing="prior", random_state=0)
    features = as_prior.fit_transform(X, y)
    assert as_prior.transform([[None], ["a"]])[:, 0].tolist() == [0.5, 0.5]
    assert np.isfinite(features).all()
    np.testing.assert_allclose(as_prior.fit_transform(X, [0, 1, 0, 1, 1, 0])[2], features[2])
    with pytest.raises(InputError, match='missing="category"'):
        SamplingBayesianEncoder(missing="error").fit(X, y)
    strict = SamplingBayesianEncoder(missing="error", unseen="error").fit(X[:2], y[:2])
    with pytest.raises(InputError, match="missing in 1 rows"):
        strict.transform([[None]])
    with pytest.raises(InputError, match=r"never saw, such as \['z'\]"):
        strict.transform([["z"]])


def test_unseen_categories_are_drawn_from_the_prior():
    prior = BetaBernoulli(2, 6)
    encoder = SamplingBayesianEncoder(prior=prior, temperature=1.0, random_state=0)
    encoder.fit([["a"], ["b"]] * 5, [0, 1] * 5)
    draws = encoder.sample(np.full((20_000, 1), "new"))[0, :, 0]
    assert draws.mean() == pytest.approx(0.25, abs=0.005)
    assert draws.var() == pytest.approx(0.25 * 0.75 / 9, rel=0.05)


# ---------------------------------------------------------------- folds and routing


def test_folds_may_leave_rows_to_the_prior_but_not_take_them_twice():
    codes, y, _ = make_table("bernoulli")
    encoder = mean_encoder("bernoulli", own_target="cross_fit", cv=TimeSeriesSplit(3))
    assert (encoder.fit_transform(codes[:, None], y)[:15] == 2 / 5).all()  # never held out: the prior mean
    with pytest.raises(InputError, match="more than once"):
        clone(encoder).set_params(own_target="cross_fit", cv=ShuffleSplit(5)).fit_transform(codes[:, None], y)


def test_groups_reach_the_splitter_directly_and_by_routing():
    codes, y, _ = make_table("bernoulli")
    groups = np.arange(len(y)) % 6
    X = pandas.DataFrame({"c": codes.astype(str)})
    encoder = SamplingBayesianEncoder(
        own_target="cross_fit", cv=GroupKFold(3), temperature=0.0, prior=BetaBernoulli(2, 3)
    )
    direct = clone(encoder).fit_transform(X, y, groups=groups)
    fold = np.zeros(len(y))
    for number, (_, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        fold[test] = number
    wanted = reference.encode("bernoulli", (2.0, 3.0), codes, y, np.ones(len(y)), lambda n, m: fold[n] != fold[m])
    np.testing.assert_allclose(direct, wanted)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(encoder).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(routed, LogisticRegression().set_fit_request(sample_weight=True))
        weight = np.linspace(1, 2, len(y))
        pipeline.fit(X, y, groups=groups, sample_weight=weight)
        count = pipeline[0].evidence_.columns[0].statistics.count.sum()
        assert count == pytest.approx(weight.sum())


# --------------------------------------------------------------------- posteriors_


def test_posteriors_are_frames_that_can_be_read():
    X = pandas.DataFrame({"city": ["Rome"] * 6 + ["Oslo"] * 2 + [None] * 2, "n": range(10)})
    encoder = SamplingBayesianEncoder(prior=BetaBernoulli(1, 3)).fit(X, ["no"] * 5 + ["yes"] * 5)
    frame = encoder.posteriors_["city"]
    assert list(encoder.posteriors_) == encoder.columns_ == ["city"]
    assert frame["category"].fillna("-").tolist() == ["Oslo", "Rome", "-", "-"]
    assert frame["kind"].tolist() == ["seen", "seen", "missing", "unseen"]
    assert frame["count"].tolist() == [2, 6, 2, 0]
    assert frame["raw_mean"].tolist()[:2] == [1.0, 1 / 6]
    assert frame["mean"].tolist() == [3 / 6, 2 / 10, 3 / 6, 1 / 4]
    assert frame["shrinkage"].tolist() == [4 / 6, 4 / 10, 4 / 6, 1.0]
    assert ((frame["lower"] < frame["mean"]) & (frame["mean"] < frame["upper"])).all()
    with pytest.raises(KeyError, match="not an encoded column"):
        encoder.posteriors_["town"]


# -------------------------------------------------------------------- odd, but fair


def test_a_column_that_changed_its_type_is_noticed():
    encoder = SamplingBayesianEncoder("all").fit(np.array([[1], [2]] * 10), [0, 1] * 10)
    with pytest.warns(InputWarning, match="held number values at fit and holds str"):
        encoder.transform(np.array([["1"], ["2"]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform(np.array([[7]]))  # merely unseen


@pytest.mark.parametrize("own_target", ["exclude", "cross_fit"])
def test_rows_of_a_group_stay_out_of_each_others_features(own_target):
    """Every group is a category with one label: only its own rows could tell it."""
    group = np.repeat(np.arange(40), 10)
    y = np.random.default_rng(0).integers(0, 2, 40)[group]
    encoder = SamplingBayesianEncoder("all", own_target=own_target, random_state=0)
    features = encoder.fit_transform(group[:, None], y, groups=group)[:, 0]
    assert (features == features[0]).all()  # of every category, nothing is known outside its group
    encoder.set_params(temperature=1.0)
    features = encoder.fit_transform(group[:, None], y, groups=group)[:, 0]
    assert abs(np.corrcoef(features, y)[0, 1]) < 0.2
    with pytest.raises(InputError, match="one group only"):
        encoder.fit_transform(group[:, None], y, groups=np.zeros(400))


def test_training_draws_are_those_of_fit_transform_and_augment():
    X, y = pandas.DataFrame({"c": list("aabbccab") * 5, "n": range(40)}), [0, 1] * 20
    draws = SamplingBayesianEncoder(random_state=3).fit_draws(X, y)
    np.testing.assert_array_equal(draws.features(), SamplingBayesianEncoder(random_state=3).fit_transform(X, y))
    copies = SamplingBayesianEncoder(random_state=3).augment(X, y, n_draws=3).X
    np.testing.assert_array_equal(np.concatenate([draws.features(k) for k in range(3)]), copies)
    assert (draws.features(1)[:, 0] != draws.features(2)[:, 0]).all()
    some = draws.features(1)[[5, 7]]
    draws.write(2, some, [5, 7])
    np.testing.assert_array_equal(some, draws.features(2)[[5, 7]])
    np.testing.assert_array_equal(draws.copies(3, [5, 7]), copies.reshape(3, 40, 2)[:, [5, 7]].reshape(6, 2))


@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize("how", ["train", "sample", "row_id"])
def test_encoders_of_one_seed_draw_independently(how, as_array):
    """In a ColumnTransformer each has one column, the first of its own table."""
    random = np.random.default_rng(0)
    X = pandas.DataFrame({name: random.integers(0, 30, 3_000).astype(str) for name in ("city", "shop")})
    y = random.integers(0, 2, 3_000)
    deviations = []
    for name in X:
        own = X[[name]].to_numpy() if as_array else X[[name]]
        encoder = SamplingBayesianEncoder(temperature=1.0, prior=Scaled(1.0), random_state=0).fit(own, y)
        drawn = {
            "train": lambda e=encoder, X=own: e.fit_transform(X, y),
            "sample": lambda e=encoder, X=own: e.sample(X)[0],
            "row_id": lambda e=encoder, X=own: e.sample(X, row_id=np.arange(3_000))[0],
        }[how]()
        deviations.append(drawn[:, 0].astype(float) - encoder.transform(own)[:, 0].astype(float))
    assert abs(np.corrcoef(deviations)[0, 1]) < 0.1


@pytest.mark.parametrize("target", ["classes", "numbers"])
@pytest.mark.parametrize("settings", [{}, {"own_target": "cross_fit"}, {"temperature": 1.0}], ids=str)
def test_a_column_without_signal_is_exactly_constant(target, settings):
    """In training and for new rows: trees split on whatever differs, be it by rounding."""
    seen = 0
    for seed in range(6):
        random = np.random.default_rng(seed)
        X = pandas.DataFrame({"c": random.integers(0, 40, 2_000).astype(str)})
        y = random.integers(0, 2, 2_000) if target == "classes" else random.normal(size=2_000)
        encoder = SamplingBayesianEncoder(random_state=0, **settings)
        trained = encoder.fit_transform(X, y)
        silent = "no signal" in shrinkage(encoder)["verdict"][0]
        new = encoder.transform(pandas.DataFrame({"c": [*X["c"].unique(), "unseen", None]}))
        assert (len(np.unique(trained)) == 1) == (len(np.unique(new)) == 1) == silent
        if silent:
            assert trained[0, 0] == new[0, 0]
        seen += silent
    assert 0 < seen < 6
