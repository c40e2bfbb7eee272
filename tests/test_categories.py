"""The same values give the same categories and codes, whichever library holds them."""

import datetime
import pickle
from dataclasses import replace
from decimal import Decimal
from uuid import UUID

import narwhals as nw
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catbayes import SamplingBayesianEncoder, load
from catbayes._categories import Categories
from catbayes._views import MIXING, places_of, same_rows, views_of
from catbayes._words import Dictionary, Values, order_of_arrow, order_of_list
from catbayes.errors import InputError

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
    monkeypatch.setattr("catbayes._words.MIXING", np.uint64(0))  # all words have the number 0
    assert Dictionary.of(["a", "b"]) is None
    assert Dictionary.of(["a"]).find(pyarrow.array(["b", "a"], pyarrow.large_string()), lacking=7).tolist() == [7, 0]


def test_words_whose_numbers_crowd_together_are_left_to_a_dict(monkeypatch):
    words = [f"level_{number}" for number in range(50)]
    assert Dictionary.of(words) is not None
    monkeypatch.setattr("catbayes._words.CROWD", 0)
    assert Dictionary.of(words) is None


@pytest.mark.parametrize("odd", ["", "x" * 100, "\ud800"])
def test_many_categories_are_looked_up_as_few_are(odd, monkeypatch):
    categories = Categories((*sorted(["a", "b", odd]),))
    rows = ["b", None, "a", "z", "x" * 100, ""]
    few = categories.codes(pyarrow.array(rows))
    monkeypatch.setattr("catbayes._categories.MANY", 1)
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
