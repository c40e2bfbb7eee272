"""Generated transactions are what their truth says, and public tables are what was published."""

import itertools
import sys
from types import SimpleNamespace

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from catbayes import InputError, SamplingBayesianEncoder
from catbayes.datasets import NAMES, Dataset, load, make_transactions

TARGETS = ("fraud", "outcome", "amount", "visits")
LABELS = ["disputed", "fraud", "paid"]


@pytest.fixture(scope="module")
def drawn():
    return {target: make_transactions(target=target) for target in TARGETS}


def moments(data, target):
    """Pairs of a target and the mean and variance that the truth gives it, one for each class."""
    if target == "outcome":
        return [
            (data.y == label, data.truth[:, i], data.truth[:, i] * (1 - data.truth[:, i]))
            for i, label in enumerate(LABELS)
        ]
    variance = {"fraud": data.truth * (1 - data.truth), "visits": data.truth, "amount": data.truth**2 / 4}
    return [(data.y, data.truth, variance[target])]


@pytest.mark.parametrize("target", TARGETS)
def test_targets_are_drawn_around_their_truth(drawn, target):
    for y, mean, variance in moments(drawn[target], target):
        for rows in [slice(None), *np.array_split(np.argsort(mean), 20)]:
            assert abs((y - mean)[rows].sum()) < 4 * np.sqrt(variance[rows].sum())


@pytest.mark.parametrize("target", TARGETS)
def test_effects_and_numbers_are_all_that_the_truth_is_made_of(target):
    data = make_transactions(2_000, target)
    if target == "outcome":
        predictor = np.log(data.truth / data.truth[:, [2]])
    else:
        predictor = np.log(data.truth / (1 - data.truth) if target == "fraud" else data.truth)[:, None]
    for name in data.categorical:
        assert set(data.table[name].dropna()) <= set(data.effects[name])
        known = data.effects[name] | {"": np.zeros(predictor.shape[1])}  # a missing city
        predictor = predictor - np.array([np.atleast_1d(known[level]) for level in data.table[name].fillna("")])
    angle = 2 * np.pi * data.table["hour"] / 24
    numbers = [np.ones(len(angle)), np.cos(angle), np.sin(angle)]
    if target != "amount":
        numbers.append(np.log(data.table["amount"]))
    numbers = np.column_stack(numbers)
    np.testing.assert_allclose(numbers @ np.linalg.lstsq(numbers, predictor)[0], predictor, atol=1e-8)


def spread(y, levels):
    """Mean over levels of the squared difference to the mean, in units of what chance alone gives."""
    groups = pd.Series(y).groupby(np.asarray(levels))
    return np.mean((groups.mean() - y.mean()) ** 2 * groups.size() / y.var())


def test_merchants_cities_and_channels_differ_and_devices_do_not(drawn):
    data = drawn["fraud"]
    random = np.random.default_rng(0)
    for name in data.categorical:
        levels = data.table[name].fillna("")
        chance = [spread(random.permutation(data.y), levels) for _ in range(30)]
        excess = (spread(data.y, levels) - np.mean(chance)) / np.std(chance)
        assert abs(excess) < 4 if name == "device" else excess > 4


@pytest.mark.parametrize("seed", range(3))
def test_the_encoder_finds_merchants_that_matter_and_devices_that_do_not(seed):
    data = make_transactions(random_state=seed)
    encoder = SamplingBayesianEncoder(["merchant", "device"]).fit(data.table, data.y)
    for name, column in zip(encoder.columns_, encoder.encoding_.columns, strict=True):
        # A prior of strength s says that rows of one level correlate by 1 / (1 + s); without any effect, products of
        # pairs of rows estimate that with a variance of 1 / pairs.
        correlation = 1 / (1 + float(column.posteriors.prior.prior.strength))
        counts = data.table[name].value_counts()
        error = np.sqrt(2 / (counts * (counts - 1)).sum())
        assert correlation < 4 * error if name == "device" else correlation > 10 * error


def test_few_merchants_matter_much_and_most_are_rare(drawn):
    data = drawn["fraud"]
    effects = np.abs(list(data.effects["merchant"].values()))
    # |effect| > 0.4 for 84 % of the fifth that is drawn with deviation 2, and for 0.006 % of the others.
    share = 0.2 * 0.8415
    assert np.mean(effects > 0.4) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / len(effects)))
    counts = data.table["merchant"].value_counts()
    assert np.median(counts) <= 4
    assert counts.iloc[:100].sum() > len(data.y) / 3


@pytest.mark.parametrize("seed", range(3))
def test_late_rows_hold_merchants_that_earlier_rows_lack(seed):
    data = make_transactions(random_state=seed)
    assert data.table["time"].is_monotonic_increasing
    cut = len(data.y) * 4 // 5
    merchant = data.table["merchant"]
    new = merchant[cut:][~merchant[cut:].isin(merchant[:cut])]
    assert 0.03 < len(new) / (len(data.y) - cut) < 0.3
    assert new.value_counts().iloc[0] >= 10  # by chance, ten rows are all in the last fifth once in 10 million times
    assert 0.05 < data.y.mean() < 0.15
    assert data.table["city"].isna().mean() == pytest.approx(0.03, abs=4 * np.sqrt(0.03 * 0.97 / len(data.y)))


@pytest.mark.parametrize("frame", ["polars", "pyarrow"])
def test_a_seed_gives_the_same_table_in_every_library(frame):
    pytest.importorskip(frame)
    ours, theirs = make_transactions(500), make_transactions(500, frame=frame)
    np.testing.assert_array_equal(ours.y, theirs.y)
    table = nw.from_native(theirs.table, eager_only=True)
    assert table.columns == list(ours.table)
    for name in ours.table:
        missing = ours.table[name].isna().to_numpy()
        np.testing.assert_array_equal(table[name].is_null().to_numpy(), missing)
        np.testing.assert_array_equal(table[name].to_numpy()[~missing], ours.table[name].to_numpy()[~missing])


def test_a_seed_gives_the_same_columns_for_every_target(drawn):
    columns = drawn["fraud"].table
    for target in ("outcome", "visits"):
        pd.testing.assert_frame_equal(drawn[target].table, columns)
    pd.testing.assert_frame_equal(drawn["amount"].table, columns.drop(columns="amount"))
    np.testing.assert_array_equal(drawn["amount"].y, columns["amount"])
    assert not make_transactions(random_state=1).table["merchant"].equals(columns["merchant"])


def test_targets_have_the_kind_that_their_task_says(drawn):
    assert {target: data.task for target, data in drawn.items()} == dict(
        zip(TARGETS, ("binary", "multiclass", "regression", "count"), strict=True)
    )
    assert set(drawn["fraud"].y) == {0, 1}
    assert set(drawn["outcome"].y) == set(LABELS)
    assert drawn["amount"].y.min() > 0
    assert drawn["visits"].y.dtype.kind == "i"
    assert repr(drawn["fraud"]) == "Data set transactions: 20,000 rows, 7 columns, binary target fraud"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_rows": 0}, r"n_rows=0: expected a whole number ≥ 1"),
        ({"target": "spam"}, r"target='spam': expected one of \"fraud\", \"outcome\", \"amount\", \"visits\""),
        ({"frame": "dask"}, r"frame='dask': expected one of \"pandas\", \"polars\", \"pyarrow\""),
        ({"random_state": None}, r"random_state=None: expected a whole number ≥ 0"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        make_transactions(**{"n_rows": 10, **arguments})


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match='frame="polars" needs polars: pip install polars'):
        make_transactions(10, frame="polars")


# Name: rows, columns, task, sum of the target, levels of the categorical columns; missing values are no level.
PUBLISHED = {
    "adult": (32_561, 14, "binary", 7_841, (8, 16, 7, 14, 6, 5, 2, 41)),
    "amazon": (32_769, 9, "binary", 30_872, (7518, 4243, 128, 177, 449, 343, 2358, 67, 343)),
    "bike_sharing": (17_379, 12, "count", None, (4, 2, 12, 24, 2, 7, 2, 4)),
    "car": (1_728, 6, "multiclass", None, (4, 4, 4, 3, 3, 3)),
    "employee_salaries": (9_228, 6, "regression", None, (2, 37, 694, 2, 443)),
    "insurance": (1_338, 6, "regression", None, (2, 2, 4)),
    "mercedes": (4_209, 376, "regression", None, (47, 27, 44, 7, 4, 29, 12, 25)),
    "nursery": (12_960, 8, "multiclass", None, (3, 5, 4, 4, 3, 2, 3, 3)),
}


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_as_published(data_folder, name):
    data = load(name)
    n_rows, n_columns, task, total, levels = PUBLISHED[name]
    assert isinstance(data, Dataset)
    assert data.table.shape == (n_rows, n_columns)
    assert data.y.shape == (n_rows,)
    assert data.task == task
    assert data.target not in data.table
    assert tuple(data.table[column].nunique() for column in data.categorical) == levels
    assert total is None or data.y.sum() == total
    text = data.table.select_dtypes(exclude="number")
    assert set(text) <= set(data.categorical)
    assert all((text[column].dropna() == text[column].dropna().str.strip()).all() for column in text)


def test_targets_of_public_tables_are_as_published(data_folder):
    assert dict(zip(*np.unique(load("car").y, return_counts=True), strict=True)) == {
        "acc": 384,
        "good": 69,
        "unacc": 1210,
        "vgood": 65,
    }
    assert len(set(load("nursery").y)) == 5
    assert load("mercedes").y.mean() == pytest.approx(100.67, abs=0.005)
    hours = pd.read_csv(data_folder / "bike_sharing" / "hour.csv")
    np.testing.assert_array_equal(load("bike_sharing").y, hours["casual"] + hours["registered"])


def test_adult_has_two_parts(data_folder):
    train, test, both = (load("adult", part) for part in ("train", "test", "all"))
    assert (len(test.y), test.y.sum()) == (16_281, 3_846)
    pd.testing.assert_frame_equal(both.table, pd.concat([train.table, test.table], ignore_index=True))
    np.testing.assert_array_equal(both.y, np.concatenate([train.y, test.y]))
    assert train.table["workclass"].isna().sum() == 1_836  # its question marks


def published_adult(folder):
    """The rows of the test file come first."""
    names = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"]
    names += [
        "relationship",
        "race",
        "sex",
        "capital-gain",
        "capital-loss",
        "hours-per-week",
        "native-country",
        "class",
    ]
    options = {"names": names, "skipinitialspace": True, "na_values": "?"}
    test = pd.read_csv(folder / "adult" / "adult.test", skiprows=1, **options)
    test["class"] = test["class"].str.removesuffix(".")
    return pd.concat([test, pd.read_csv(folder / "adult" / "adult.data", **options)], ignore_index=True)


def published_amazon(folder):
    table = pd.read_csv(folder / "amazon_employee_access" / "train.csv", dtype=str)
    return table.rename(columns={"ACTION": "target"})


def published_bikes(folder):
    """Words instead of codes, degrees and km/h instead of shares; the first row has 9.84 and 14.395 degrees."""
    table = pd.read_csv(folder / "bike_sharing" / "hour.csv")
    table = table.drop(columns=["instant", "dteday", "casual", "registered"])
    table["season"] = table["season"].map(dict(enumerate(("spring", "summer", "fall", "winter"), start=1)))
    table["weathersit"] = table["weathersit"].map(dict(enumerate(("clear", "misty", "rain", "heavy_rain"), start=1)))
    for name in ("holiday", "workingday"):
        table[name] = table[name].map({0: "False", 1: "True"})
    table = table.assign(temp=table["temp"] * 41, atemp=table["atemp"] * 50, windspeed=table["windspeed"] * 67)
    assert (table["temp"][0], table["atemp"][0]) == pytest.approx((9.84, 14.395))
    names = {"yr": "year", "mnth": "month", "hr": "hour", "weathersit": "weather", "atemp": "feel_temp"}
    return table.rename(columns=names | {"hum": "humidity", "cnt": "count"})


def published_car(folder):
    names = ["buying", "maint", "doors", "persons", "lug_boot", "safety", "class"]
    return pd.read_csv(folder / "car" / "car.data", names=names, dtype=str)


def published_salaries(folder):
    """Some people do another job than the one they hold; the file has the one they do."""
    table = pd.read_csv(folder / "employee_salaries" / "employee_salaries.csv").drop(columns="year_first_hired")
    done = table["employee_position_title"]
    table["underfilled_job_title"] = done.where(np.arange(len(done)) % 10 == 0)
    table["employee_position_title"] = done.mask(np.arange(len(done)) % 10 == 0, "Manager")
    return table.assign(full_name="x", **{"2016_gross_pay_received": 1.0, "2016_overtime_pay": 2.0})


OPENML = {
    "adult": (1590, published_adult),
    "amazon": (4135, published_amazon),
    "bike_sharing": (42712, published_bikes),
    "car": (40975, published_car),
    "employee_salaries": (42125, published_salaries),
}


def patch_openml(monkeypatch, answer):
    monkeypatch.delenv("CATBAYES_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", answer)


@pytest.mark.parametrize("name", OPENML)
def test_openml_gives_the_table_of_the_folder(data_folder, monkeypatch, name):
    parts = ("train", "test", "all") if name == "adult" else ("train",)
    expected = [load(name, part) for part in parts]
    number, publish = OPENML[name]
    frame = publish(data_folder)
    text = list(frame.select_dtypes(exclude="number"))
    frame[text] = frame[text].astype("category")

    def answer(*, data_id, as_frame):
        assert (data_id, as_frame) == (number, True)
        return SimpleNamespace(frame=frame)

    patch_openml(monkeypatch, answer)
    for part, table in zip(parts, expected, strict=True):
        found = load(name, part)
        pd.testing.assert_frame_equal(found.table, table.table)
        np.testing.assert_array_equal(found.y, table.y)
        assert found.y.dtype == table.y.dtype


def cars():
    """All cars there are, in OpenML's columns."""
    price = ["low", "med", "high", "vhigh"]
    levels = {"buying": price, "maint": price, "doors": ["2", "3", "4", "5more"], "persons": ["2", "4", "more"]}
    levels |= {"lug_boot": ["small", "med", "big"], "safety": ["low", "med", "high"]}
    return pd.DataFrame(itertools.product(*levels.values()), columns=list(levels)).assign(**{"class": "acc"})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda cars: cars[1:], "OpenML data set 40975 has 1,727 rows .* expected 1,728 rows"),
        (lambda cars: cars.drop(columns="doors"), "expected 1,728 rows with 'doors'"),
        (lambda cars: cars.assign(price=1), "expected 1,728 rows without 'price'"),
    ],
)
def test_another_table_is_refused(monkeypatch, damage, message):
    patch_openml(monkeypatch, lambda **_: SimpleNamespace(frame=cars()))
    assert load("car").table.shape == (1_728, 6)
    patch_openml(monkeypatch, lambda **_: SimpleNamespace(frame=damage(cars())))
    with pytest.raises(InputError, match=message):
        load("car")


def test_text_is_stripped_of_blanks(monkeypatch):
    patch_openml(monkeypatch, lambda **_: SimpleNamespace(frame=" " + cars() + " "))
    data = load("car")
    pd.testing.assert_frame_equal(data.table, cars().drop(columns="class"))
    assert set(data.y) == {"acc"}


def test_without_folder_or_network_the_error_says_what_to_do(monkeypatch, tmp_path):
    def fail(**_):
        raise OSError("no network")

    patch_openml(monkeypatch, fail)
    with pytest.raises(InputError, match=r"data set 1590 .*no network.* CATBAYES_DATA .*<folder>/adult/adult.data and"):
        load("adult")
    monkeypatch.setenv("CATBAYES_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"expected a folder that holds car/car.data.*OpenML data set 40975"):
        load("car")


def test_names_and_parts_that_are_not_there_are_refused():
    with pytest.raises(InputError, match='name=\'iris\': expected one of "adult", "amazon"'):
        load("iris")
    for name in set(NAMES) - {"adult"}:
        with pytest.raises(InputError, match="part='test': expected one of \"train\""):
            load(name, "test")
