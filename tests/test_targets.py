"""Several targets: an encoder for each, side by side, as if each had been alone."""

import io

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

import catbayes
from catbayes import InputError, MultiTargetEncoder, SamplingBayesianEncoder, Scaled
from catbayes.kinds import Nested
from catbayes.mappings import PosteriorMoments

random = np.random.default_rng(0)
N_ROWS = 300
X = pandas.DataFrame(
    {
        "city": random.choice(["Oslo", "Rome", "Bonn", None], N_ROWS),
        "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(np.arange(N_ROWS), unit="D"),
        "street": random.choice(list("abcdefgh"), N_ROWS),
        "rooms": random.integers(1, 6, N_ROWS),
    }
)
Y = pandas.DataFrame(
    {
        "price": random.lognormal(size=N_ROWS),
        "sold": random.choice(["no", "yes"], N_ROWS),
        "heating": random.choice(["gas", "oil", "sun"], N_ROWS),
    }
)
NAMES = [f"city_{name}" for name in ("price", "sold", "gas_heating", "oil_heating", "sun_heating")]


def make(**settings):
    return MultiTargetEncoder(SamplingBayesianEncoder(random_state=0, **settings))


def same(one, other):
    np.testing.assert_array_equal(np.asarray(one, dtype=object), np.asarray(other, dtype=object))


def close(one, other):
    one, other = (np.delete(features, 5, axis=1).astype(float) for features in (one, other))  # all but the dates
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_outputs_stand_by_column_then_target_and_what_passes_through_stands_once():
    encoder = make().fit(X, Y)
    streets = [name.replace("city", "street") for name in NAMES]
    assert encoder.get_feature_names_out().tolist() == [*NAMES, "day", *streets, "rooms"]
    assert encoder.transform(X).shape == (N_ROWS, 12)
    assert list(encoder.encoders_) == ["price", "sold", "heating"]
    assert list(encoder.feature_names_in_) == list(X.columns)


@pytest.mark.parametrize("method", ["fit_transform", "transform", "sample"])
def test_each_target_is_encoded_as_if_alone(method):
    encoder = make()
    together = encoder.fit_transform(X, Y)
    for name, column in {"price": 0, "sold": 1}.items():
        alone = clone(encoder.encoders_[name])
        trained = alone.fit_transform(X, Y[name])
        if method == "fit_transform":
            same(together[:, column], trained[:, 0])
        elif method == "transform":
            same(encoder.transform(X)[:, column], alone.transform(X)[:, 0])
        else:
            same(encoder.sample(X, 3)[:, :, column], alone.sample(X, 3)[:, :, 0])


def test_targets_have_seeds_of_their_own():
    twice = np.column_stack([Y["price"], Y["price"]])
    encoder = make(prior=Scaled(0.01))
    features = encoder.fit_transform(X[["city"]], twice)
    assert (features[:, 0] != features[:, 1]).mean() > 0.9
    np.testing.assert_allclose(*encoder.transform(X[["city"]]).T)
    draws = encoder.sample(X[["city"]], 2, random_state=5)
    same(draws, encoder.sample(X[["city"]], 2, random_state=5))
    assert (draws[..., 0] != draws[..., 1]).mean() > 0.9
    same(features, make(prior=Scaled(0.01)).fit_transform(X[["city"]], twice))
    same(
        features[:, 0], make(prior=Scaled(0.01)).fit_transform(X[["city"]], twice[:, :1])[:, 0]
    )  # others change nothing


CONTAINERS = {
    "array of objects": lambda y: (y.to_numpy(), [0, 1, 2]),
    "nested list": lambda y: (y.to_numpy().tolist(), [0, 1, 2]),
    "pandas": lambda y: (y, list(y.columns)),
    "polars": lambda y: (polars.from_pandas(y), list(y.columns)),
    "pyarrow": lambda y: (pyarrow.Table.from_pandas(y), list(y.columns)),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_targets_come_in_any_container(container):
    y, names = CONTAINERS[container](Y)
    encoder = make()
    same(encoder.fit_transform(X, y), make().fit_transform(X, Y))
    assert list(encoder.encoders_) == names
    assert [e.classes_ is None for e in encoder.encoders_.values()] == [True, False, False]


def test_targets_may_be_columns_of_the_table():
    encoder = make()
    same(encoder.fit_transform(X.assign(**Y), list(Y.columns)), make().fit_transform(X, Y))
    assert list(encoder.feature_names_in_) == list(X.columns)
    weighted = make().fit(X.assign(w=2.0), Y, sample_weight="w")
    same(weighted.transform(X), make().fit(X, Y, np.full(N_ROWS, 2.0)).transform(X))


@pytest.mark.parametrize(
    ("y", "name"), [(Y["price"], "city_price"), (Y["price"].to_numpy(), "city_0"), (Y["sold"].tolist(), "city_0")]
)
def test_one_target_is_one_target(y, name):
    encoder = make().fit(X[["city"]], y)
    assert encoder.get_feature_names_out().tolist() == [name]
    same(encoder.transform(X[["city"]]), SamplingBayesianEncoder().fit(X[["city"]], y).transform(X[["city"]]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_the_types_of_what_passes_through(library):
    table = X if library == "pandas" else polars.from_pandas(X)
    encoder = make().set_output(transform=library)
    for features in (encoder.fit_transform(table, Y), encoder.transform(table)):
        assert list(features.columns) == encoder.get_feature_names_out().tolist()
        assert features["day"].dtype == table["day"].dtype
        assert features["rooms"].dtype == table["rooms"].dtype
    same(features[["rooms"]].to_numpy().astype(float), X[["rooms"]].to_numpy().astype(float))
    wanted = make().fit(X, Y).transform(X)[:, 0].astype(float)
    same(features[features.columns[0]].to_numpy(), wanted)
    inside = make_column_transformer((make(), ["city"]), remainder="passthrough").set_output(transform=library)
    assert inside.fit_transform(X.drop(columns="day"), Y).shape == (N_ROWS, 7)


def test_weights_groups_and_units_reach_every_target():
    weight, groups = random.integers(1, 3, N_ROWS).astype(float), np.arange(N_ROWS) // 10
    features = make(own_target="exclude", cv=GroupKFold(3)).fit_transform(X, Y, sample_weight=weight, groups=groups)
    alone = SamplingBayesianEncoder(own_target="exclude", cv=GroupKFold(3), random_state=make_seed())
    same(features[:, 0], alone.fit_transform(X, Y["price"], weight, groups)[:, 0])
    counts, units = random.poisson(2.0, (N_ROWS, 2)), random.gamma(2.0, size=N_ROWS)
    rates = make(family="poisson").fit(X, counts, exposure=units)
    one = SamplingBayesianEncoder(family="poisson").fit(X, counts[:, 1], exposure=units)
    same(rates.transform(X)[:, 1], one.transform(X)[:, 0])


def test_weights_and_groups_are_routed():
    weight, groups = random.integers(1, 3, N_ROWS).astype(float), np.arange(N_ROWS) // 10
    direct = make(own_target="exclude", cv=GroupKFold(3)).fit_transform(X, Y, sample_weight=weight, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(make(own_target="exclude", cv=GroupKFold(3)).set_fit_request(sample_weight=True))
        same(pipeline.fit_transform(X, Y, sample_weight=weight, groups=groups), direct)


def make_seed():
    """The seed of the first target."""
    return make().fit(X, Y).encoders_["price"].random_state


def test_parts_are_the_whole_in_batches_and_merged():
    whole, first, second = make(prior=Scaled(0.01)).fit(X, Y), slice(0, 120), slice(120, None)
    classes = {"heating": ["gas", "oil", "sun"]}
    stream = make(prior=Scaled(0.01)).partial_fit(X[first], Y[first], classes=classes).partial_fit(X[second], Y[second])
    close(stream.transform(X), whole.transform(X))
    one, other = (
        make(prior=Scaled(0.01)).fit(X[first], Y[first]).set_output(transform="pandas"),
        make(prior=Scaled(0.01)).fit(X[second], Y[second]),
    )
    before = one.transform(X)
    joint = one + other
    close(joint.transform(X).to_numpy(), whole.transform(X))
    same(one.transform(X), before)
    same(joint.set_output(transform="default").sample(X, 1)[0][:, 0], one.merge(other).sample(X, 1)[0][:, 0])
    assert isinstance(one.transform(X), pandas.DataFrame)


def test_a_batch_that_is_refused_changes_nothing():
    encoder = make().fit(X, Y)
    before = encoder.transform(X)
    with pytest.raises(InputError, match="Target 'sold': Input y contains missing"):
        encoder.partial_fit(X, Y.assign(sold=None))
    same(encoder.transform(X), before)
    with pytest.raises(InputError, match=r"The targets are \['price'\], and were \['price', 'sold', 'heating'\]"):
        encoder.partial_fit(X, Y[["price"]])


@pytest.mark.parametrize(
    "encoder",
    [
        None,
        SamplingBayesianEncoder(prior=Scaled(0.01), mapping="polynomial"),
        SamplingBayesianEncoder(mapping=PosteriorMoments(n_moments=3)),
    ],
    ids=str,
)
@pytest.mark.parametrize("y", [Y, Y.to_numpy()], ids=["named", "numbered"])
def test_what_is_loaded_is_what_was_saved(encoder, y, tmp_path):
    encoder = MultiTargetEncoder(encoder).fit(X, y)
    path = tmp_path / "targets.catbayes"
    encoder.save(path)
    for loaded in (catbayes.load(path), MultiTargetEncoder.load(path)):
        assert str(loaded.get_params(deep=False)) == str(encoder.get_params(deep=False))
        assert list(loaded.encoders_) == list(encoder.encoders_)
        same(loaded.transform(X), encoder.transform(X))
        assert loaded.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
        assert hasattr(loaded, "sample") == hasattr(encoder, "sample")
        if hasattr(encoder, "sample"):
            same(loaded.sample(X, 2), encoder.sample(X, 2))
        same(loaded.partial_fit(X, y).transform(X), (encoder + encoder).transform(X))
    table = pyarrow.parquet.read_table(path)
    assert set(table["target"].to_pylist()) == {str(name) for name in encoder.encoders_}


def test_a_file_of_several_targets_is_told_from_one_of_one(tmp_path):
    file = io.BytesIO()
    make().fit(X, Y).save(file)
    with pytest.raises(InputError, match="holds a 'MultiTargetEncoder': expected one of SamplingBayesianEncoder"):
        SamplingBayesianEncoder.load(file)
    SamplingBayesianEncoder().fit(X, Y["sold"]).save(tmp_path / "one")
    with pytest.raises(InputError, match="expected one of MultiTargetEncoder"):
        MultiTargetEncoder.load(tmp_path / "one")


@pytest.mark.parametrize("y", [Y, Y.to_numpy(), polars.from_pandas(Y), Y[["price", "price"]].to_numpy().tolist()])
@pytest.mark.parametrize("encoder", [SamplingBayesianEncoder(), SamplingBayesianEncoder(mapping="moments")])
def test_an_encoder_of_one_target_names_the_one_for_several(encoder, y):
    with pytest.raises(InputError, match=r"y has \d columns: expected one target. MultiTargetEncoder\(encoder\)"):
        encoder.fit(X, y)


def test_bad_input_is_explained():
    with pytest.raises(InputError, match="encoder is a str: expected a SamplingBayesianEncoder"):
        MultiTargetEncoder("mean").fit(X, Y)
    with pytest.raises(InputError, match="y is None"):
        make().fit(X)
    with pytest.raises(InputError, match=r"Target 'price': y is constant, 1\.5"):
        make().fit(X, Y.assign(price=1.5))
    with pytest.raises(InputError, match="X is not in memory"):
        make().fit(polars.from_pandas(X).lazy(), Y)
    with pytest.raises(InputError, match="Two outputs would be called 'city_price'"):
        make().fit(X.assign(city_price=1.0), Y).get_feature_names_out()
    with pytest.raises(InputError, match="merge takes fitted MultiTargetEncoders, and was given a int"):
        make().fit(X, Y).merge(1)
    with pytest.raises(InputError, match="y has 3 dimensions"):
        make().fit(X, np.zeros((N_ROWS, 2, 2)))
    assert not hasattr(MultiTargetEncoder(SamplingBayesianEncoder(mapping="moments")), "sample")


def test_places_of_clusters_are_read_off_two_targets():
    """The encoding of a code towards the place of its cluster tells the place."""
    points, label = make_blobs(600, centers=6, cluster_std=0.1, random_state=0)
    features = make().fit(label[:, None], points).transform(label[:, None])
    np.testing.assert_allclose(features, points, atol=0.5)


def test_interactions_and_hierarchies_are_encoded_towards_every_target():
    table = X[["city"]].assign(other=np.arange(N_ROWS) % 5)
    shape = {"columns": "all", "interactions": [("city", "other")], "kinds": {"other": Nested(["city"])}}
    encoder = make(**shape).fit(table, Y[["price", "sold"]])
    columns = ["city", "other", "city&other"]
    assert encoder.get_feature_names_out().tolist() == [f"{c}_{t}" for c in columns for t in ("price", "sold")]
    for number, target in enumerate(("price", "sold")):
        alone = SamplingBayesianEncoder(random_state=0, **shape).fit(table, Y[target])
        np.testing.assert_allclose(encoder.transform(table)[:, number::2], alone.transform(table))
