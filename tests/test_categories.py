"""The same values give the same categories and features, whichever library holds them."""

import datetime
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from catbayes import InputError, SamplingBayesianEncoder, Scaled, gather, load

DAYS = [datetime.datetime(2024, 5, 1), None, datetime.datetime(2023, 1, 2), datetime.datetime(2024, 5, 1)]
COLUMNS = {
    "text": [
        np.array(["b", None, "a", "b"], dtype=object),
        pandas.Series(["b", None, "a", "b"], dtype=object),
        pandas.Series(["b", None, "a", "b"], dtype="str"),
        pandas.Series(["b", None, "a", "b"], dtype="string"),
        pandas.Series(["b", None, "a", "b"], dtype="string[pyarrow]"),
        pandas.Series(["b", None, "a", "b"], index=[7, 7, 1, 0]),
        pandas.Series(pandas.Categorical(["b", None, "a", "b"], categories=["z", "b", "a"])),
        polars.Series(["b", None, "a", "b"]),
        polars.Series(["b", None, "a", "b"], dtype=polars.Categorical),
        polars.Series(["b", None, "a", "b"], dtype=polars.Enum(["z", "b", "a"])),
        pyarrow.chunked_array([["b", None], ["a", "b"]]),
        pyarrow.chunked_array([["b", None], ["a", "b"]]).dictionary_encode(),
        pyarrow.DictionaryArray.from_arrays(pyarrow.array([1, None, 2, 1], pyarrow.int8()), ["z", "b", "a"]),
    ],
    "integers": [
        np.array([7, None, -3, 7], dtype=object),
        np.array([7.0, np.nan, -3.0, 7.0]),
        pandas.Series([7, None, -3, 7]),
        pandas.Series([7, None, -3, 7], dtype="Int64"),
        polars.Series([7, None, -3, 7]),
        polars.Series([7, None, -3, 7], dtype=polars.Int8),
        pyarrow.chunked_array([[7, None, -3, 7]]),
    ],
    "floats": [
        np.array([1.5, np.nan, -0.0, 1.5]),
        np.array([1.5, np.nan, 0.0, 1.5], dtype=np.float32),
        np.array([1.5, None, -0.0, 1.5], dtype=object),
        pandas.Series([1.5, None, -0.0, 1.5], dtype="Float64"),
        polars.Series([1.5, float("nan"), -0.0, 1.5]),
        polars.Series([1.5, None, 0.0, 1.5]),
        pyarrow.chunked_array([[1.5, float("nan"), -0.0, 1.5]]),
    ],
    "booleans": [
        np.array([True, None, False, True], dtype=object),
        pandas.Series([True, None, False, True], dtype="boolean"),
        polars.Series([True, None, False, True]),
        pyarrow.chunked_array([[True, None, False, True]]),
    ],
    "dates": [
        np.array(["2024-05-01", "NaT", "2023-01-02", "2024-05-01"], dtype="datetime64[D]"),
        np.array(["2024-05-01", "NaT", "2023-01-02", "2024-05-01"], dtype="datetime64[ns]"),
        np.array(DAYS, dtype=object),
        pandas.Series(pandas.to_datetime(DAYS)),
        polars.Series(DAYS),
        polars.Series([day and day.date() for day in DAYS]),
        pyarrow.chunked_array([DAYS]),
        pyarrow.chunked_array([[day and day.date() for day in DAYS]]),
    ],
    "decimals": [
        np.array([Decimal("2.5"), None, Decimal("1.5"), Decimal("2.5")], dtype=object),
        polars.Series([Decimal("2.5"), None, Decimal("1.5"), Decimal("2.5")]),
        pyarrow.array([Decimal("2.5"), None, Decimal("1.5"), Decimal("2.5")]),
        pyarrow.array([Decimal("2.5"), None, Decimal("1.5"), Decimal("2.5")], pyarrow.decimal32(5, 2)),
    ],
}
CATEGORIES = {
    "text": ("a", "b"),
    "integers": (-3, 7),
    "floats": (0.0, 1.5),
    "booleans": (False, True),
    "dates": (DAYS[2], DAYS[0]),
    "decimals": (Decimal("1.5"), Decimal("2.5")),
}
NEW = SamplingBayesianEncoder("all", prior=Scaled(1.0), random_state=0)


def table_of(column):
    """A table of one column, in the library of the column."""
    library = type(column).__module__.partition(".")[0]
    if library == "pandas":
        return pandas.DataFrame({"c": column})
    if library == "polars":
        return polars.DataFrame({"c": column})
    return pyarrow.table({"c": column}) if library == "pyarrow" else np.array(column)[:, None]


def as_objects(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def categories_of(column):
    return NEW.fit(table_of(column), np.arange(len(column)) % 2).evidence_.columns[0].values


@pytest.mark.parametrize("kind", COLUMNS)
def test_categories_do_not_depend_on_the_library(kind):
    arrays = [column for column in COLUMNS[kind] if isinstance(column, np.ndarray)]
    frames = [column for column in COLUMNS[kind] if not isinstance(column, np.ndarray)]
    for columns in (arrays, frames):
        features = []
        for column in columns:
            encoder = clone(NEW).fit(table_of(column), [0, 0, 1, 1])
            assert encoder.evidence_.columns[0].values == CATEGORIES[kind]
            assert encoder.evidence_.columns[0].statistics.count.tolist() == [1.0, 2.0, 1.0, 0.0]
            features += [encoder.transform(table_of(other)).tolist() for other in columns]
        assert features.count(features[0]) == len(features)
        assert features[0][0] == features[0][3]
        assert len({value for (value,) in features[0]}) == 3


def test_a_value_that_a_dictionary_lists_twice_is_one_category(tmp_path):
    twice = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 2, 2]), ["a", "a", "b"])
    plain = pyarrow.table({"c": ["a", "a", "b", "b"]})
    for table in (pyarrow.table({"c": twice}), pandas.DataFrame({"c": pandas.arrays.ArrowExtensionArray(twice)})):
        encoder = clone(NEW).fit(table, [0, 1, 1, 1])
        assert encoder.evidence_.columns[0].values == ("a", "b")
        np.testing.assert_array_equal(encoder.transform(table), clone(NEW).fit(plain, [0, 1, 1, 1]).transform(plain))
        encoder.save(tmp_path / "encoder")
        np.testing.assert_array_equal(load(tmp_path / "encoder").transform(table), encoder.transform(table))


@pytest.mark.parametrize("lazy", [False, True])
def test_rows_of_weight_zero_are_left_out(lazy):
    table = polars.DataFrame({"a": ["x", "x", "y", "y", "z", "x"], "b": ["p", "q", "p", "q", "q", None]})
    known, y, weight = table[:4], np.array([0, 1, 1, 1, 1, 0]), np.array([1.0, 2.0, 1.0, 1.0, 0.0, 0.0])
    rows = table.with_columns(y=y, w=weight)
    found = gather(rows.lazy() if lazy else rows, ["a", "b"], "y", weight="w", interactions="pairs")
    without = gather(known, ["a", "b"], y[:4], weight=weight[:4], interactions="pairs")
    assert [column.values for column in found.columns] == [column.values for column in without.columns]
    for mine, other in zip(found.columns, without.columns, strict=True):
        np.testing.assert_array_equal(mine.statistics.weight, other.statistics.weight)
    encoder = SamplingBayesianEncoder(interactions="pairs", unseen="nan", prior=Scaled(1.0), random_state=0)
    features = encoder.fit_transform(table, y, weight)
    assert np.isnan(features).tolist() == [[False] * 3] * 4 + [[True, False, True], [False, False, True]]
    with pytest.raises(InputError, match=r"never saw, such as .'z'"):
        encoder.set_params(unseen="error").fit(table, y, weight).transform(table)


def test_mixed_objects_are_distinct_and_sorted():
    cells = as_objects(["1", 1, 2.5, ("a", 1), None, b"1", datetime.date(2024, 1, 1), "1"])
    assert len(categories_of(cells)) == 6
    assert categories_of(cells[::-1]) == categories_of(cells)


@pytest.mark.parametrize(
    "column",
    [
        np.array([-100, 100, -100], dtype=np.int8),
        np.array([2**62, -(2**62), 0]),
        np.array([0, 2**64 - 1, 2**63], dtype=np.uint64),
        as_objects([2**63, 2**64, -1]),
        polars.Series([-100, 100, -100], dtype=polars.Int8),
    ],
)
def test_integers_of_any_width_are_sorted(column):
    assert categories_of(column) == tuple(sorted({int(value) for value in column}))


@given(
    st.text("ab\x00é", max_size=9),
    st.lists(st.text("ab\x00") | st.text("abé", max_size=11), min_size=2, max_size=12, unique=True),
)
def test_text_is_sorted_as_python_sorts_it(beginning, ends):
    words = [beginning + end for end in ends]
    for column in (as_objects(words), polars.Series(words), pyarrow.array(["", *words], pyarrow.large_string())[1:]):
        assert categories_of(column) == tuple(sorted(words))


@pytest.mark.parametrize(
    "column",
    [
        as_objects([["a"], ["b"]]),
        pandas.Series([[1], [2]]),
        pandas.Series([{"a": 1}, {"a": 2}]),
        polars.Series([[1], [2]]),
        pyarrow.chunked_array([[[1], [2]]]),
    ],
)
def test_cells_that_cannot_be_hashed_raise_an_error(column):
    with pytest.raises(InputError, match=r"hashable.*Turn such cells into strings.*Tags"):
        categories_of(column)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (as_objects([np.float32(0.5), np.int16(2)]), (0.5, 2)),
        (as_objects([UUID(int=2), UUID(int=1)]), (str(UUID(int=1)), str(UUID(int=2)))),
        (as_objects([datetime.timedelta(2), np.timedelta64(1, "D")]), (datetime.timedelta(1), datetime.timedelta(2))),
        (np.array([2, 1], dtype="m8[h]"), (datetime.timedelta(hours=1), datetime.timedelta(hours=2))),
        (polars.Series([datetime.time(2), datetime.time(1)]), (datetime.time(1), datetime.time(2))),
    ],
)
def test_categories_are_values_of_python(column, values):
    assert categories_of(column) == values


OSLO = ZoneInfo("Europe/Oslo")
HOURS = [datetime.datetime(2024, 10, 27, hour, 30, tzinfo=datetime.UTC) for hour in (1, 0, 2)]  # 2:30, 2:30, 3:30 there
THERE = [hour.astimezone(OSLO) for hour in HOURS]
ZONED = {
    "objects": lambda: as_objects(THERE),
    "offsets": lambda: as_objects([h.astimezone(datetime.timezone(datetime.timedelta(hours=1))) for h in HOURS]),
    "pandas": lambda: pandas.Series(HOURS).dt.tz_convert("Europe/Oslo"),
    "pandas, nanoseconds": lambda: pandas.Series(HOURS).astype("datetime64[ns, Europe/Oslo]"),
    "pandas, objects": lambda: pandas.Series(THERE, dtype=object),
    "pandas, Arrow": lambda: pandas.Series(THERE).astype(pandas.ArrowDtype(pyarrow.timestamp("ns", "Europe/Oslo"))),
    "pandas, categories": lambda: pandas.Series(HOURS).dt.tz_convert("Europe/Oslo").astype("category"),
    "polars": lambda: polars.Series(HOURS).dt.convert_time_zone("Europe/Oslo"),
    "polars, nanoseconds": lambda: polars.Series(HOURS).cast(polars.Datetime("ns", "Europe/Oslo")),
    "Arrow": lambda: pyarrow.array(HOURS, pyarrow.timestamp("us", "Europe/Oslo")),
    "Arrow, nanoseconds": lambda: pyarrow.chunked_array([pyarrow.array(HOURS, pyarrow.timestamp("ns", "Europe/Oslo"))]),
    "Arrow, dictionary": lambda: pyarrow.array(HOURS, pyarrow.timestamp("us", "Europe/Oslo")).dictionary_encode(),
}


@pytest.mark.parametrize("container", ZONED)
def test_times_with_a_zone_are_instants_in_utc(container):
    found = categories_of(ZONED[container]())
    assert found == (HOURS[1], HOURS[0], HOURS[2])
    assert {value.tzinfo for value in found} == {datetime.UTC}
