"""The same values give the same categories and codes, whichever library holds them."""

import datetime
import pickle
from dataclasses import replace
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from catbayes import SamplingBayesianEncoder, gather, load
from catbayes.core.categories import Categories
from catbayes.core.times import cells_of
from catbayes.core.views import MIXING, places_of, same_rows, views_of
from catbayes.core.words import Dictionary, Values, order_of_arrow, order_of_list
from catbayes.errors import InputError
from catbayes.kinds import Ordinal

DAYS = [datetime.datetime(2024, 5, 1), None, datetime.datetime(2023, 1, 2), datetime.datetime(2024, 5, 1)]
COLUMNS = {
    "strings": [
        np.array(["b", None, "a", "b"], dtype=object),
        ["b", None, "a", "b"],
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
        pyarrow.array(["b", None, "a", "b"]),
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
        np.array([1.5, float("nan"), 0.0, 1.5], dtype=object),
        pandas.Series([1.5, None, -0.0, 1.5], dtype="Float64"),
        polars.Series([1.5, float("nan"), -0.0, 1.5]),
        polars.Series([1.5, None, 0.0, 1.5]),
        pyarrow.chunked_array([[1.5, None, -0.0, 1.5]]),
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
}
CASES = [(kind, i) for kind, columns in COLUMNS.items() for i in range(len(columns))]


@pytest.mark.parametrize(("kind", "i"), CASES)
def test_codes_do_not_depend_on_the_container(kind, i):
    categories, codes = Categories.of(COLUMNS[kind][i])
    assert codes.tolist() == [1, 2, 0, 1]
    assert categories.n_slots == 4
    wanted = {"strings": ("a", "b"), "integers": (-3, 7), "floats": (0.0, 1.5), "booleans": (False, True)}
    assert categories.values == wanted.get(kind, (DAYS[2], DAYS[0]))


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_fitted_in_one_library_is_read_in_any_other(kind):
    for fitted in COLUMNS[kind]:
        categories, codes = Categories.of(fitted)
        for column in COLUMNS[kind]:
            assert categories.codes(column).tolist() == codes.tolist()


def test_negative_zero_is_zero():
    _, codes = Categories.of(np.array([0.0, -0.0, 1.0]))
    assert codes.tolist() == [0, 0, 1]
    _, codes = Categories.of(polars.Series([0.0, -0.0, 1.0]))
    assert codes.tolist() == [0, 0, 1]
    _, codes = Categories.of(pyarrow.chunked_array([[0.0, -0.0, 1.0]]))
    assert codes.tolist() == [0, 0, 1]


def test_mixed_objects_keep_apart_what_differs():
    cells = np.array(["1", 1, 2.5, ("a", 1), None, b"1", datetime.date(2024, 1, 1), "1"], dtype=object)
    categories, codes = Categories.of(cells)
    assert len(categories.values) == 6
    assert codes[0] == codes[7]
    assert len(set(codes.tolist())) == 7
    again, _ = Categories.of(cells[::-1])
    assert again.values == categories.values  # the order depends on the values alone


def test_a_level_that_no_row_has_is_no_category():
    categories, _ = Categories.of(pandas.Series(pandas.Categorical(["a"], categories=["a", "b"])))
    assert categories.values == ("a",)
    assert categories.codes(["b"]).tolist() == [categories.unseen]


def test_wide_and_narrow_integers_are_coded_alike():
    narrow = np.array([5, 3, 5, 4], dtype=np.uint8)
    wide = np.array([2**62, -(2**62), 2**62, 0])
    assert Categories.of(narrow)[1].tolist() == Categories.of(wide)[1].tolist() == [2, 0, 2, 1]


@given(
    st.text("ab\x00é", max_size=9),
    st.lists(st.text("ab\x00") | st.text("abé", max_size=11), min_size=1, max_size=12, unique=True),
)
def test_text_comes_in_its_order_wherever_it_begins_to_differ(beginning, ends):
    words = [beginning + end for end in ends]
    held = pyarrow.array(["", *words], pyarrow.large_string())[1:]
    for order in (order_of_list(words), order_of_arrow(held)):
        assert [words[place] for place in order] == sorted(words)


@given(
    st.lists(st.text("ab\x00") | st.text("abé", max_size=20), min_size=1, max_size=12, unique=True),
    st.lists(st.text("ab\x00") | st.text("abé", max_size=20), max_size=12),
)
def test_words_are_found_as_a_dict_finds_them(known, asked):
    numbers, asked = Dictionary.of(known), [*asked, *known]
    held = pyarrow.array(["", *asked], pyarrow.large_string())[1:]
    expected = [known.index(word) if word in known else -1 for word in asked]
    assert numbers.find(held, lacking=-1).tolist() == expected


def test_words_that_have_one_number_are_told_apart(monkeypatch):
    monkeypatch.setattr("catbayes.core.words.MIXING", np.uint64(0))  # all words have the number 0
    assert Dictionary.of(["a", "b"]) is None
    assert Dictionary.of(["a"]).find(pyarrow.array(["b", "a"], pyarrow.large_string()), lacking=7).tolist() == [7, 0]


def test_words_whose_numbers_crowd_together_are_left_to_a_dict(monkeypatch):
    words = [f"level_{number}" for number in range(50)]
    assert Dictionary.of(words) is not None
    monkeypatch.setattr("catbayes.core.words.CROWD", 0)
    assert Dictionary.of(words) is None


@pytest.mark.parametrize("odd", ["", "x" * 100, "\ud800"])
def test_many_categories_are_looked_up_as_few_are(odd, monkeypatch):
    categories = Categories((*sorted(["a", "b", odd]),))
    rows = ["b", None, "a", "z", "x" * 100, ""]
    few = categories.codes(pyarrow.array(rows))
    monkeypatch.setattr("catbayes.core.categories.MANY", 1)
    many = Categories(categories.values).codes(pyarrow.array(rows))
    np.testing.assert_array_equal(many, few)


@given(st.lists(st.text(max_size=6), min_size=1, max_size=60), st.integers(0, 5), st.booleans())
def test_text_that_lies_in_place_is_numbered_as_any_other(words, start, long):
    words = [*words, *words, *(["a text of more than twelve bytes"] if long else [])]
    column = polars.Series(words)[start:].to_arrow(compat_level=polars.CompatLevel.newest())
    expected, slots = Categories.of(words[start:])
    found, codes = Categories.of(column)
    assert found.values == expected.values
    np.testing.assert_array_equal(codes, slots)


def test_rows_that_come_to_one_place_are_told_apart():
    n_rows = 40_000
    views = np.zeros((n_rows, 2), dtype=np.uint64)
    views[:, 0] = np.random.default_rng(0).integers(0, 30_000, n_rows)  # so many that some have the same place
    first = same_rows(views)
    np.testing.assert_array_equal(views[first], views)
    assert len(np.unique(first)) == len(np.unique(views[:, 0]))


@pytest.mark.parametrize("letters", [(0, 1), (3, 11), (4, 8), (10, 11)], ids=str)
def test_every_letter_has_a_say_in_the_place_of_a_word(letters):
    words = np.full((128, 128, 12), ord("x"), dtype=np.uint8)
    words[..., letters[0]], words[..., letters[1]] = np.arange(128)[:, None], np.arange(128)
    text = [bytes(word).decode() for word in words.reshape(-1, 12)]
    places = places_of(views_of(pyarrow.array(text, pyarrow.string_view())), 15, 0xC2B2AE3D27D4EB4F)
    # Of words that are dealt at random, a part of 2 (1 - exp(-1/2)) would have a place of their own or be the first.
    assert len(np.unique(places)) > 0.5 * len(text)


def test_short_words_that_crowd_in_one_place_part_at_the_next():
    words = np.random.default_rng(0).integers(97, 123, (200_000, 4)).astype(np.uint8)
    text = sorted({bytes(word).decode() for word in words})
    views = views_of(pyarrow.array(text, pyarrow.string_view()))
    crowd = views[places_of(views, 8, 0xC2B2AE3D27D4EB4F) == 7]
    assert len(crowd) > 300
    assert len(np.unique(places_of(crowd, 8, 0xC2B2AE3D27D4EB4F * MIXING % 2**64))) > 100  # as they go on


def test_values_are_as_a_tuple_of_them_is():
    held, plain = Values(pyarrow.array(["a", "b"])), ("a", "b")
    assert held == plain
    assert plain == held
    assert held == Values(np.array(["a", "b"]))
    assert held != ("a",)
    assert (hash(held), repr(held), len(held), "b" in held) == (hash(plain), repr(plain), 2, True)
    assert type(pickle.loads(pickle.dumps(held))) is tuple


def test_unseen_and_missing_are_two_things():
    categories, _ = Categories.of(["a", "b"])
    assert categories.codes(["a", "c", None, float("nan")]).tolist() == [0, 3, 2, 2]
    assert categories.strangers(["a", "c", None]) == ["c"]


@given(st.lists(st.text(max_size=2)), st.lists(st.text(max_size=2)))
def test_a_union_remaps_both_parts(left, right):
    a, codes_a = Categories.of(left)
    b, codes_b = Categories.of(right)
    joint, from_a, from_b = a.union(b)
    whole, codes = Categories.of(left + right)
    assert joint.values == whole.values
    assert [*from_a[codes_a], *from_b[codes_b]] == codes.tolist()
    assert from_a[a.missing] == joint.missing
    assert from_b[b.unseen] == joint.unseen


@pytest.mark.parametrize(
    "column",
    [
        np.array([["a"], ["b"], None], dtype=object)[:2],
        pandas.Series([[1], [2]]),
        pandas.Series([{"a": 1}, {"a": 2}]),
        polars.Series([[1], [2]]),
        pyarrow.chunked_array([[[1], [2]]]),
        [Decimal("sNaN"), Decimal("1")],
        pandas.Series([Decimal("sNaN"), Decimal("1")]),
    ],
)
def test_unhashable_cells_are_explained(column):
    if isinstance(column, np.ndarray):
        column = np.empty(2, dtype=object)
        column[:] = [["a"], ["b"]]
    with pytest.raises(InputError, match=r"hashable.*Turn such cells into strings"):
        Categories.of(column)


def as_objects(values):
    column = np.empty((len(values), 1), dtype=object)
    column[:, 0] = values
    return column


STRANGE = {
    "longdouble": ([np.longdouble(1.5), np.longdouble(2.5), np.longdouble("nan")], ["1.5", "2.5"]),
    "long complex": ([np.clongdouble(1 + 2j), np.clongdouble(2)], ["(1+2j)", "(2+0j)"]),
    "uuid": ([UUID(int=1), UUID(int=2)], [str(UUID(int=1)), str(UUID(int=2))]),
    "many digits": ([16**5000, 1], ["0x1" + "0" * 5000, "1"]),
    "many digits and text": ([16**5000, "a"], ["0x1" + "0" * 5000, "a"]),
    "beyond 64 bits": ([2**63, 2**64 - 1], [str(2**63), str(2**64 - 1)]),
    "half a surrogate pair": (["\ud800", "b"], ["\\ud800", "b"]),
    "ranges": ([range(3), range(2)], ["range(0, 3)", "range(0, 2)"]),
}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("case", STRANGE)
def test_strange_values_are_categories_and_their_posteriors_are_shown(case, library):
    values, names = STRANGE[case]
    encoder = SamplingBayesianEncoder("all", prior=0).fit(as_objects(values * 3), [0, 1, 1] * len(values))
    encoder.encoding_ = replace(encoder.encoding_, library=library)  # that its table might have come in
    shown = nw.from_native(encoder.posteriors_[0])["category"].to_list()
    assert sorted(str(name) for name in shown if name is not None and name == name) == sorted(names)


@pytest.mark.parametrize("values", [[2**63, 1], [10**5000, -(10**6000), 3]])
def test_whole_numbers_of_any_length_survive_a_file(values, tmp_path):
    X = as_objects(values * 2)
    encoder = SamplingBayesianEncoder("all", prior=0).fit(X, [0, 1] * len(values))
    encoder.save(tmp_path / "encoder")
    again = load(tmp_path / "encoder")
    assert again.evidence_.columns[0].values == tuple(sorted(values))
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))


@pytest.mark.parametrize(
    "column",
    [
        lambda: pyarrow.array([Decimal("1.5"), None, Decimal("2.5"), Decimal("1.5")], pyarrow.decimal32(5, 2)),
        lambda: _extension(pyarrow.bool8(), pyarrow.array([1, None, 0, 1], pyarrow.int8())),
        lambda: _extension(pyarrow.json_(), pyarrow.array(["1", None, "2", "1"])),
        lambda: _extension(pyarrow.uuid(), pyarrow.array([b"x" * 16, None, b"y" * 16, b"x" * 16], pyarrow.binary(16))),
    ],
)
def test_types_that_arrow_cannot_number_are_numbered(column):
    made = column()
    categories, codes = Categories.of(made)
    expected = [made[row].as_py() for row in range(4)]
    assert [categories.labels()[code] for code in codes] == [str(v) if isinstance(v, UUID) else v for v in expected]


def _extension(kind, storage):
    return pyarrow.ExtensionArray.from_storage(kind, storage)


def test_a_million_categories_survive_a_pickle():
    categories, codes = Categories.of(np.arange(1_000_000)[::-1])
    again = pickle.loads(pickle.dumps(categories))
    assert again == categories
    assert codes[0] == 999_999


@pytest.mark.parametrize(
    "column",
    [
        np.array([-100, 100, -100], dtype=np.int8),
        np.array([0, 2**64 - 1, 0], dtype=np.uint64),
        np.array([2**63, 2**63 + 1, 2**63], dtype=np.uint64),
        polars.Series([-100, 100, -100], dtype=polars.Int8),
        polars.Series([Decimal("1.5"), Decimal("2.5"), Decimal("1.5")]),
        pyarrow.chunked_array([[Decimal("1.5"), Decimal("2.5"), Decimal("1.5")]]),
    ],
)
def test_integers_of_any_width_and_decimals(column):
    assert Categories.of(column)[1].tolist() == [0, 1, 0]


OSLO = ZoneInfo("Europe/Oslo")
HOURS = [datetime.datetime(2024, 10, 27, hour, 30, tzinfo=datetime.UTC) for hour in (1, 0, 2)]  # 2:30, 2:30, 3:30 there
THERE = [hour.astimezone(OSLO) for hour in HOURS]
ZONED = {
    "objects": lambda: np.array(THERE, dtype=object),
    "a list": lambda: THERE,
    "numbers of hours": lambda: [hour.astimezone(datetime.timezone(datetime.timedelta(hours=1))) for hour in HOURS],
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
def test_times_with_a_zone_are_instants(container):
    categories, codes = Categories.of(ZONED[container]())
    assert categories.values == (HOURS[1], HOURS[0], HOURS[2])
    assert {value.tzinfo for value in categories.values} == {datetime.UTC}
    assert codes.tolist() == [1, 0, 2]
    for column in ZONED.values():
        assert categories.codes(column()).tolist() == [1, 0, 2]


def test_the_first_and_the_last_times_of_all_are_categories_in_every_zone():
    west, east = (datetime.timezone(datetime.timedelta(hours=hours)) for hours in (-5, 5))
    ends = [end.replace(tzinfo=zone) for end in (datetime.datetime.min, datetime.datetime.max) for zone in (west, east)]
    categories, codes = Categories.of(ends)
    assert codes.tolist() == [1, 0, 3, 2]
    assert categories.codes(ends).tolist() == codes.tolist()


@pytest.fixture
def six_hours():
    """Six hours of which two are called 2:30, in UTC and in Oslo, and a target that differs between them."""
    utc = pandas.date_range("2024-10-26 22:30", periods=6, freq="h", tz="UTC", unit="us").repeat(20)
    rows = np.arange(120)
    return pandas.DataFrame({"h": utc.tz_convert("Europe/Oslo")}), pandas.DataFrame({"h": utc}), rows % 20 < rows // 20


def test_hours_are_encoded_alike_in_every_zone_file_and_engine(six_hours, tmp_path):
    there, here, y = six_hours
    new = SamplingBayesianEncoder("all", prior=0.01, draws=0.0)
    encoder = clone(new).fit(there, y)
    features = encoder.transform(here)
    assert len(np.unique(features)) == 6
    encoder.save(tmp_path / "encoder")
    np.testing.assert_array_equal(encoder.transform(there.copy()), features)
    np.testing.assert_array_equal(load(tmp_path / "encoder").transform(there), features)
    np.testing.assert_array_equal(clone(new).fit(here, y).transform(there), features)
    there.assign(y=y).to_parquet(tmp_path / "t.parquet")
    here.assign(h=here["h"].dt.strftime("%Y-%m-%dT%H:%M:%SZ"), y=y).to_csv(tmp_path / "t.csv", index=False)
    for engine in ("duckdb", "polars"):
        for name in ("t.parquet", "t.csv"):
            evidence = gather(tmp_path / name, target="y", columns=["h"], engine=engine)
            np.testing.assert_array_equal(clone(new).fit(evidence).transform(there), features)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("n_classes", [2, 30])
def test_pairs_and_many_classes_know_two_hours_of_one_name_apart(six_hours, tmp_path, n_classes, engine):
    there, _, _ = six_hours
    table = there.assign(k=np.arange(120) % 2, y=[f"c{row % n_classes}" for row in range(120)])
    table.to_parquet(tmp_path / "t.parquet")
    asked = {"target": "y", "columns": ["h", "k"], "interactions": [("h", "k")]}
    found = gather(tmp_path / "t.parquet", engine=engine, **asked)
    expected = gather(table, **asked)
    for one, other in zip(found.columns, expected.columns, strict=True):
        assert one.index.labels() == other.index.labels()
        np.testing.assert_array_equal(one.statistics.weight, other.statistics.weight)


def test_levels_in_an_order_are_two_where_two_hours_have_one_name(six_hours):
    there, here, y = six_hours
    levels = [*dict.fromkeys(here["h"])]
    for kind in (Ordinal(), Ordinal(levels), Ordinal([level.tz_convert("Europe/Oslo") for level in levels])):
        encoder = SamplingBayesianEncoder("all", kinds={"h": kind}).fit(there, y)
        assert encoder.posteriors_["h"]["count"][:6].tolist() == [20.0] * 6


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_posteriors_of_hours_are_shown_in_utc(six_hours, library):
    there, here, y = six_hours
    encoder = SamplingBayesianEncoder("all").fit(there, y)
    encoder.encoding_ = replace(encoder.encoding_, library=library)
    shown = nw.from_native(encoder.posteriors_["h"])["category"].to_list()[:6]
    assert shown == [*dict.fromkeys(here["h"])]


FINE = {
    "numpy": lambda cells: cells,
    "objects": list,
    "pandas": pandas.Series,
    "pandas, objects": lambda cells: pandas.Series(cells).astype(object),
    "pandas, Arrow": lambda cells: pandas.Series(cells, dtype=pandas.ArrowDtype(pyarrow.array(cells).type)),
    "polars": polars.Series,
    "Arrow": pyarrow.array,
    "Arrow, in chunks": lambda cells: pyarrow.chunked_array([pyarrow.array(cells[:1]), pyarrow.array(cells[1:])]),
    "Arrow, dictionary": lambda cells: pyarrow.array(cells).dictionary_encode(),
}


@pytest.mark.parametrize("kind", ["M8[ns]", "m8[ns]"])
@pytest.mark.parametrize("container", FINE)
def test_nanoseconds_are_refused_and_never_cut(container, kind):
    cells = np.array([1_700_000_000_000_000_000, -1_000, np.iinfo(np.int64).min, -1_000]).view(kind)  # one is missing
    categories, codes = Categories.of(FINE[container](cells))
    assert categories.values == tuple(cells[[1, 0]].astype(f"{kind[0]}8[us]").tolist())
    assert codes.tolist() == [1, 0, 2, 0]
    fine = cells + np.array([0, 999, 0, 998]).view("m8[ns]")
    for read in (Categories.of, categories.codes):
        with pytest.raises(InputError, match=r"holds .*, finer than a microsecond.*Round the column to microseconds"):
            read(FINE[container](fine))


@pytest.mark.parametrize("container", ["polars", "pyarrow", "pandas"])
def test_times_of_the_day_are_not_cut_either(container):
    def times(numbers):
        made = pyarrow.array(numbers, pyarrow.time64("ns"))
        if container == "pandas":
            return pandas.Series(pandas.arrays.ArrowExtensionArray(made))
        return polars.Series(made) if container == "polars" else made

    assert Categories.of(times([2_000, None, 1_000]))[1].tolist() == [1, 2, 0]
    with pytest.raises(InputError, match="finer than a microsecond"):
        Categories.of(times([2_000, None, 2_001]))


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("zone", [None, "Europe/Oslo"])
def test_nanoseconds_in_files_are_refused(tmp_path, zone, engine):
    when = pyarrow.array([1_000, 1_000_000] * 10, pyarrow.timestamp("ns", zone))
    pyarrow.parquet.write_table(pyarrow.table({"h": when, "y": [0, 1] * 10}), tmp_path / "t.parquet")
    evidence = gather(tmp_path / "t.parquet", target="y", columns=["h"], engine=engine)
    assert [value.microsecond for value in evidence.columns[0].values] == [1, 1_000]
    when = pyarrow.array([1_000, 1_001] * 10, pyarrow.timestamp("ns", zone))
    pyarrow.parquet.write_table(pyarrow.table({"h": when, "y": [0, 1] * 10}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="finer than a microsecond"):
        gather(tmp_path / "t.parquet", target="y", columns=["h"], engine=engine)


def test_times_of_pandas_that_arrow_holds_are_instants_too():
    column = pandas.Series(pandas.to_datetime(["2024-07-01", "2024-07-02"]).tz_localize("Europe/Oslo"))
    held = column.astype("timestamp[us, tz=Europe/Oslo][pyarrow]")
    found, _ = Categories.of(held)
    assert cells_of(held) == list(found.values)
    assert found.values == Categories.of(column)[0].values
    assert found.values[0] == datetime.datetime(2024, 6, 30, 22, tzinfo=datetime.UTC)


def test_a_zone_that_tells_no_offset_names_no_instant():
    class Nowhere(datetime.tzinfo):
        def utcoffset(self, when):
            return None

    moment = datetime.datetime(2024, 7, 1, tzinfo=Nowhere())
    assert Categories.of([moment, None])[0].values == (moment,)
