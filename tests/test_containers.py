"""One table in every container: the same draws, and output where `set_output` wants it."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.compose import make_column_selector

from catbayes import SamplingBayesianEncoder

N_ROWS = 200
RANDOM = np.random.default_rng(0)
DATA = {
    "city": [None if i % 17 == 0 else f"city {i}" for i in RANDOM.integers(0, 20, N_ROWS)],
    "amount": RANDOM.normal(size=N_ROWS).round(3).tolist(),
    "member": [bool(i % 3) for i in range(N_ROWS)],
    "items": RANDOM.integers(0, 9, N_ROWS).tolist(),
}
Y = RANDOM.integers(0, 2, N_ROWS)
MAKERS = {
    "pandas object": lambda: pandas.DataFrame(DATA).astype({"city": object}),
    "pandas": lambda: pandas.DataFrame(DATA),
    "pandas categorical": lambda: pandas.DataFrame(DATA).astype({"city": "category"}),
    "pandas nullable": lambda: pandas.DataFrame(DATA).convert_dtypes(),
    "pandas odd index": lambda: pandas.DataFrame(DATA, index=np.zeros(N_ROWS)),
    "polars": lambda: polars.DataFrame(DATA),
    "polars categorical": lambda: polars.DataFrame(DATA).with_columns(polars.col("city").cast(polars.Categorical)),
    "pyarrow": lambda: pyarrow.table(DATA),
    "pyarrow dictionary": lambda: pyarrow.table(DATA | {"city": pyarrow.array(DATA["city"]).dictionary_encode()}),
}
NAMES = list(DATA)


@pytest.mark.parametrize("per", ["row", "category"])
@pytest.mark.parametrize("container", MAKERS)
def test_the_same_table_gives_the_same_draws(container, per):
    first = pandas.DataFrame(DATA)
    encoder = SamplingBayesianEncoder(columns=[0, 2], temperature="auto", random_state=0)
    plain = encoder.fit_transform(first, Y).astype(float)
    table = MAKERS[container]()
    by_type = SamplingBayesianEncoder(temperature="auto", random_state=0)
    np.testing.assert_array_equal(by_type.fit_transform(table, Y), plain)
    assert by_type.columns_ == ["city", "member"]
    assert by_type.get_feature_names_out().tolist() == NAMES
    np.testing.assert_array_equal(by_type.transform(table), encoder.transform(first).astype(float))
    np.testing.assert_array_equal(by_type.sample(table, 2), encoder.sample(first, 2).astype(float))


def test_an_array_gives_the_draws_of_a_frame_without_names():
    rows = list(zip(*DATA.values(), strict=True))
    array = np.array(rows, dtype=object)
    encoders = [SamplingBayesianEncoder(columns=[0, 2], random_state=0) for _ in range(3)]
    drawn = [one.fit_transform(X, Y) for one, X in zip(encoders, (array, rows, pandas.DataFrame(array)), strict=True)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    np.testing.assert_array_equal(drawn[0], drawn[2])
    named = SamplingBayesianEncoder(random_state=0).fit(pandas.DataFrame(DATA), Y)
    np.testing.assert_array_equal(encoders[0].transform(array), named.transform(pandas.DataFrame(DATA)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("container", MAKERS)
def test_columns_that_pass_through_keep_their_type(container, library):
    table = MAKERS[container]()
    encoder = SamplingBayesianEncoder(mapping="polynomial", random_state=0).set_output(transform=library)
    frame = encoder.fit_transform(table, Y)
    assert type(frame).__module__.startswith(library)
    assert list(frame.columns) == [
        "city_mean",
        "city_square",
        "amount",
        "member_mean",
        "member_square",
        "items",
    ]
    assert "int" in str(frame["items"].dtype).lower()
    assert np.asarray(frame["items"]).tolist() == DATA["items"]
    np.testing.assert_array_equal(np.asarray(frame["amount"], dtype=float), DATA["amount"])
    encoder.set_output(transform="default")
    np.testing.assert_array_equal(encoder.fit_transform(table, Y)[:, 0], np.asarray(frame["city_mean"]))
    if container == "pandas odd index" and library == "pandas":
        assert (frame.index == 0).all()


@pytest.mark.parametrize("container", MAKERS)
def test_posteriors_come_in_the_library_of_the_table(container):
    frame = SamplingBayesianEncoder().fit(MAKERS[container](), Y).posteriors_["city"]
    assert type(frame).__module__.startswith(container.split()[0])
    names = frame.column_names if container.startswith("pyarrow") else frame.columns
    wanted = ["category", "kind", "count", "raw_mean", "mean", "sd", "lower", "upper", "shrinkage"]
    assert list(names) == wanted


def test_columns_by_name_position_and_all():
    table = MAKERS["pandas"]()
    assert SamplingBayesianEncoder(["items"]).fit(table, Y).columns_ == ["items"]
    assert SamplingBayesianEncoder([-1, "city"]).fit(table, Y).columns_ == ["items", "city"]
    everything = SamplingBayesianEncoder("all", random_state=0).fit(table, Y)
    assert everything.columns_ == NAMES
    assert everything.transform(table).shape == (N_ROWS, 4)
    numbered = pandas.DataFrame(RANDOM.integers(0, 3, (20, 2)))
    assert SamplingBayesianEncoder().fit(numbered, [0, 1] * 10).columns_ == [0, 1]


def test_columns_are_named_as_for_a_column_transformer():
    X = pandas.DataFrame({"city": ["Oslo", "Rome"] * 10, "shop": ["a", "b"] * 10, "age": range(20)})
    y = [0, 1] * 10
    chosen = {
        "city": ["city"],
        make_column_selector(dtype_exclude="number"): ["city", "shop"],
        (lambda X: [column for column in X if column != "age"]): ["city", "shop"],
        (lambda X: [False, True, False]): ["shop"],
        (lambda X: slice(0, 2)): ["city", "shop"],
    }
    for columns, expected in chosen.items():
        encoder = SamplingBayesianEncoder(columns, random_state=0)
        assert encoder.fit(X, y).columns_ == expected
        again = encoder.partial_fit(X, y).transform(X)
        assert SamplingBayesianEncoder(expected, random_state=0).fit(X, y).partial_fit(X, y).transform(X).tolist() == (
            again.tolist()
        )
    array = SamplingBayesianEncoder(lambda X: [X.shape[1] - 1]).fit(X.to_numpy(dtype=object)[:, :2], y)
    assert array.columns_ == [1]
