"""The same statistics, posteriors and draws from every container, engine and file."""

import json
import subprocess
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from catbayes import InputError, SamplingBayesianEncoder, Scaled, encode, gather
from engines import COLUMNS, FILE_ENGINES, FILES, IN_MEMORY, INTERACTIONS, LAZY, TABLE, same_statistics, write_files

FAMILIES = ["bernoulli", "categorical", "normal", "lognormal", "poisson", "negative_binomial", "binomial", "robust"]
EACH_ENGINE = pytest.mark.parametrize("engine", FILE_ENGINES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    write_files(TABLE, folder)
    return folder


def open_source(name, folder):
    """A source, and the engine to read it with."""
    if name in FILES:
        engine, pattern = FILES[name]
        return str(folder / pattern), engine
    return (IN_MEMORY | LAZY)[name](TABLE, folder), "auto"


RARE = ("ibis", "sqlframe", "dask")  # slow to start, so not every combination
OFTEN = [name for name in [*IN_MEMORY, *LAZY, *FILES] if name not in RARE]
CASES = [(name, family, None) for name in OFTEN for family in FAMILIES]
CASES += [(name, family, "weight") for name in OFTEN for family in ("categorical", "normal", "lognormal")]
CASES += [(name, *case) for name in RARE for case in (("categorical", None), ("normal", "weight"))]


@pytest.mark.parametrize(("name", "family", "weight"), CASES)
def test_every_source_gives_the_same_statistics(name, family, weight, folder):
    source, engine = open_source(name, folder)
    settings = {"interactions": INTERACTIONS, "family": family, "weight": weight}
    found = gather(source, COLUMNS, family, engine=engine, **settings)
    same_statistics(gather(TABLE[[*COLUMNS, family, "weight"]], COLUMNS, family, **settings), found)
    by_hand = TABLE.assign(w=TABLE["weight"] if weight else 1.0).groupby("zip")["w"].sum()
    np.testing.assert_allclose(found.columns[1].statistics.count[:-2], by_hand)


@pytest.mark.parametrize("family", ["categorical", "normal"])
@pytest.mark.parametrize("name", OFTEN)
def test_an_encoder_fitted_on_any_source_has_the_same_posteriors(name, family, folder):
    source, _ = open_source(name, folder)
    settings = {"columns": COLUMNS, "interactions": INTERACTIONS, "family": family, "random_state": 0}
    reference = SamplingBayesianEncoder(**settings).fit(TABLE, family)
    encoder = SamplingBayesianEncoder(**settings).fit(source, family)
    assert list(encoder.feature_names_in_) == list(reference.feature_names_in_)
    X = TABLE[list(encoder.feature_names_in_)]
    np.testing.assert_allclose(
        encoder.transform(X)[:, 2:6].astype(float), reference.transform(X)[:, 2:6].astype(float), rtol=1e-7
    )


BY_NAME, LEFT_OUT = {"n_draws": 2, "row_id": "name"}, {"n_draws": 1, "row_id": "id", "target": True}
REQUESTS = [({}, "categorical"), (BY_NAME, "categorical"), (BY_NAME, "normal")]
REQUESTS += [(LEFT_OUT, family) for family in FAMILIES]  # the target is read as the family takes it


@pytest.mark.parametrize(("request_", "family"), REQUESTS)
def test_every_source_is_encoded_the_same(request_, family, folder, tmp_path):
    encoder = SamplingBayesianEncoder(COLUMNS, family=family, random_state=0).fit(TABLE.head(2_000), family)
    options = request_ | ({"target": family} if request_.get("target") else {})
    expected = None
    for name in OFTEN:
        source, _ = open_source(name, folder)
        table = pyarrow.parquet.read_table(encode(source, encoder, tmp_path / "out.parquet", overwrite=True, **options))
        assert table["id"].to_pylist() == TABLE["id"].tolist()  # every row once, in its place
        found = {column: table[column].to_numpy() for column in table.column_names if column not in TABLE.columns}
        expected = expected or found
        assert [*found] == [*expected], name
        for column, values in found.items():
            np.testing.assert_array_equal(values, expected[column], err_msg=f"{name}: {column}")
    if "target" not in options:
        X = TABLE[list(encoder.feature_names_in_)]
        in_memory = encoder.sample(X, 2, row_id="name") if options else encoder.transform(X)[None]
        outputs = list(encoder.get_feature_names_out())
        for name, values in expected.items():
            plain = name.replace("_encoded", "").replace("_draw0", "").replace("_draw1", "")
            drawn = in_memory[int("draw1" in name)][:, outputs.index(plain)].astype(float)
            np.testing.assert_array_equal(values, drawn, err_msg=name)


def test_rows_of_files_are_identified_by_name_and_number(folder, tmp_path):
    encoder = SamplingBayesianEncoder(COLUMNS, random_state=0).fit(TABLE, "bernoulli")
    rows = pandas.read_parquet(folder / "part-1.parquet")[list(encoder.feature_names_in_)]
    sampled = encoder.sample(rows, row_id=("part-1.parquet", np.arange(len(rows))))[0, :, 2].astype(float)
    alone = pandas.read_parquet(encode(folder / "part-1.parquet", encoder, tmp_path / "one.parquet", n_draws=1))
    together = pandas.read_parquet(encode(str(folder / "*.parquet"), encoder, tmp_path / "all.parquet", n_draws=1))
    np.testing.assert_array_equal(alone["city_draw0"], sampled)
    np.testing.assert_array_equal(together["city_draw0"][1_000:2_000], sampled)


def test_training_draws_leave_the_own_target_out(tmp_path):
    """Of two rows in a category, each is informed by the other's target only."""
    n_pairs = 4_000
    table = pandas.DataFrame({"c": np.repeat(np.arange(n_pairs), 2).astype(str), "y": np.tile([0, 1], n_pairs)})
    encoder = SamplingBayesianEncoder(["c"], prior=Scaled(0), random_state=0).fit(table, "y")

    def means(name, **options):
        draws = pandas.read_parquet(encode(table, encoder, tmp_path / name, n_draws=1, **options))["c_draw0"]
        return draws.groupby(table["y"]).mean().to_list()

    assert means("own.parquet") == pytest.approx([0.5, 0.5], abs=0.02)
    assert means("out.parquet", target="y") == pytest.approx([2 / 3, 1 / 3], abs=0.02)  # Beta(2, 1) and Beta(1, 2)


@EACH_ENGINE
def test_variances_far_from_zero_keep_their_digits(tmp_path, engine):
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"c": random.choice(["a", "b"], 10_000), "y": 1e9 + random.normal(size=10_000)})
    table.to_parquet(tmp_path / "t.parquet")
    moments = gather(tmp_path / "t.parquet", target="y", engine=engine).columns[0].statistics
    variance = (moments.m2 / np.maximum(moments.count, 1))[:2]
    np.testing.assert_allclose(variance, table.groupby("c")["y"].var(ddof=0), rtol=1e-6)


def test_importing_catbayes_imports_no_engine():
    code = "import sys, json, catbayes; catbayes.gather, catbayes.encode; print(json.dumps([*sys.modules]))"
    found = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert not {*FILE_ENGINES} & {*found}


# ------------------------------------------------------------------------------------------------ errors


def write(folder, **tables):
    for name, table in tables.items():
        pandas.DataFrame(table).to_parquet(folder / f"{name}.parquet")
    return str(folder / "*.parquet")


@EACH_ENGINE
@pytest.mark.parametrize(
    ("tables", "target", "message"),
    [
        ({"a": {"c": ["x", "y"], "y": [0, 1]}}, "paid", "no column 'paid'. It has 'c', 'y'"),
        ({"a": {"c": ["x", "y"], "y": [0.5, None]}}, "y", "'y' is missing in 1 rows"),
        ({"a": {"c": ["x", "y", "z"], "y": ["p", None, "q"]}}, "y", "'y' is missing in 1 rows"),
        ({"a": {"c": ["x", "y"], "y": [1.5, np.inf]}}, "y", "infinite"),
        ({"a": {"c": ["x", "y"], "y": [1, 1]}}, "y", "only one class, 1"),
        ({"a": {"c": ["x", "y"], "y": [1.5, 1.5]}}, "y", "constant, 1.5"),
        ({"a": {"c": ["x", "y"], "y": [0, 1]}, "b": {"c": [1, 2], "y": [0, 1]}}, "y", "another schema.*'c' is int64"),
        ({"a": {"c": [["x"], ["y"]], "y": [0, 1]}}, "y", "found no string|single value"),
        ({"a": {"c": ["x"] * 200, "y": list(range(200))}}, "y", "200 different whole numbers"),
        ({}, "y", "No file matches"),
    ],
)
def test_bad_files_are_explained(tables, target, message, engine, tmp_path):
    with pytest.raises(InputError, match=message) as caught:
        SamplingBayesianEncoder().fit(gather(write(tmp_path, **tables), target=target, engine=engine))
    assert "\n" not in str(caught.value)


def test_bad_sources_are_explained(tmp_path, folder):
    encoder = SamplingBayesianEncoder(COLUMNS, random_state=0).fit(TABLE, "bernoulli")
    lazy, file, out = polars.from_pandas(TABLE).lazy(), folder / "part-0.parquet", tmp_path / "out.parquet"
    (tmp_path / "empty").mkdir()
    cases = [
        (lambda: gather(tmp_path / "empty", target="y"), "folder without Parquet or CSV"),
        (lambda: gather("s3://bucket/x.parquet", target="y"), "pass a lazy frame"),
        (lambda: gather(folder, target="bernoulli"), "both CSV and Parquet"),
        (lambda: gather([file, str(folder / "part-?.parquet")], target="bernoulli"), "names a file twice"),
        (lambda: gather(lazy), "name of one of its columns"),
        (lambda: gather(lazy, target="bernoulli", weight="city"), "weight must hold numbers"),
        (lambda: gather(lazy, target="city", family="normal"), "must hold numbers"),
        (lambda: gather(lazy.rename({"city": "catbayes_target"}), target="bernoulli"), "begin with 'catbayes_'"),
        (lambda: gather(file, target="y", engine="spark"), 'engine=.spark.: expected one of "auto"'),
        (lambda: gather(file, target="bernoulli", memory_limit="much"), "memory_limit='much'"),
        (lambda: gather(file, target="id", engine="polars", memory_limit="1GB"), "only DuckDB has one"),
        (lambda: gather(TABLE), "target: expected the name"),
        (lambda: encode(lazy, encoder, out, n_draws=1), "need row_id"),
        (lambda: encode(lazy, encoder, out, row_id="nothing"), "no column 'nothing'"),
        (lambda: encode(lazy, encoder), "path of the file"),
        (lambda: encode(lazy, encoder, out, target="bernoulli"), "give the target away"),
        (lambda: encode(lazy.drop("zip"), encoder, out), "no column 'zip'"),
        (lambda: encode(lazy.rename({"name": "zip_encoded"}), encoder, out), "column 'zip_encoded' already"),
        (lambda: encode(lazy.head(0), encoder, out), "no rows"),
        (lambda: encode(lazy, "encoder", out), "expected a fitted encoder"),
        (lambda: encode(lazy, encoder, tmp_path), "is a folder"),
        (lambda: encode(lazy, encoder, tmp_path / "no" / "out.parquet"), "not a folder"),
        (lambda: encode(TABLE, SamplingBayesianEncoder().fit([["a"], ["b"]], [0, 1]), out), "fitted on an array"),
        (lambda: encoder.fit_transform(lazy, "bernoulli"), "lazy frame"),
        (lambda: encoder.transform(lazy), "lazy frame"),
        (lambda: encoder.transform("table.parquet"), "X is a path"),
    ]
    for action, message in cases:
        with pytest.raises(InputError, match=message):
            action()
    assert not out.exists()
    assert not list(tmp_path.glob(".*"))


@EACH_ENGINE
def test_names_of_files_are_no_patterns(engine, tmp_path):
    for name, letters in {"d1": "ab", "d[1]": "XY", "d*": "PQ"}.items():
        pandas.DataFrame({"c": list(letters) * 5, "y": [0, 1] * 5}).to_parquet(tmp_path / f"{name}.parquet")
    assert gather(tmp_path / "d[1].parquet", target="y", engine=engine).columns[0].values == ("X", "Y")
    assert gather(tmp_path, target="y", engine=engine).columns[0].values == tuple("PQXYab")


# ------------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("target", ["class", "number"])
def test_nan_and_null_are_one_category_and_both_zeros_another(target, weight, tmp_path):
    """Frames made from pandas hold no NaN beside nulls; these do."""
    random = np.random.default_rng(0)
    key = pyarrow.array(random.choice([0.0, -0.0, 2.5, np.nan], 600), mask=random.random(600) < 0.1)
    table = pyarrow.table({"k": key, "class": random.integers(0, 2, 600), "number": random.normal(5, 1, 600)})
    table = table.append_column("w", pyarrow.array(random.integers(1, 4, 600) / 2))
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    found = gather(table, ["k"], target, weight=weight)
    assert found.columns[0].values == (0.0, 2.5)
    same_statistics(found, gather(polars.from_arrow(table).lazy(), ["k"], target, weight=weight))
    for engine in FILE_ENGINES:
        same_statistics(found, gather(tmp_path / "t.parquet", ["k"], target, weight=weight, engine=engine))


@pytest.mark.parametrize("weight", [None, "w"])
def test_many_classes_are_counted_by_engines(weight):
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"c": random.choice(["a", "b", None], 2_000), "w": random.integers(0, 3, 2_000) / 2})
    table["y"] = random.integers(0, 60, 2_000).astype(str)
    lazy = polars.from_pandas(table).lazy()
    same_statistics(gather(table, ["c"], "y", weight=weight), gather(lazy, ["c"], "y", weight=weight))


def test_a_first_batch_without_weight_is_followed_by_others(tmp_path):
    table = pandas.concat([TABLE] * 400, ignore_index=True)[["city", "bernoulli"]]
    table["w"] = np.where(np.arange(len(table)) < 1_100_000, 0.0, 1.0)  # a reader is read a million rows at a time
    whole = gather(table, ["city"], "bernoulli", weight="w")
    reader = pyarrow.Table.from_pandas(table, preserve_index=False).to_reader(100_000)
    same_statistics(whole, gather(reader, ["city"], "bernoulli", weight="w"))
    encoder = SamplingBayesianEncoder(["city"], random_state=0).fit(whole)
    with pytest.raises(InputError, match="give the weight of each row"):
        encode(table, encoder, tmp_path / "out.parquet", n_draws=1, target="bernoulli")
    written = encode(table, encoder, tmp_path / "out.parquet", n_draws=1, target="bernoulli", weight="w")
    assert len(pandas.read_parquet(written)) == len(table)


def test_types_of_the_target_mean_the_same_in_memory_and_lazily():
    table = pandas.DataFrame({"c": ["a", "b"] * 4, "day": pandas.date_range("2024-01-01", periods=8)})
    for source in (table, polars.from_pandas(table).lazy()):
        with pytest.raises(InputError, match="dates or spans of time"):
            gather(source, ["c"], "day")
    lazy = polars.LazyFrame({"c": ["a", "b"] * 4, "y": [1, 2] * 4}).cast({"y": polars.Decimal(9, 2)})
    for source in (lazy, lazy.collect()):
        assert gather(source, target="y").classes.tolist() == [1.0, 2.0]
    table = TABLE.assign(lognormal=TABLE["lognormal"] - TABLE["lognormal"].min())
    for source in (table, polars.from_pandas(table).lazy()):
        with pytest.raises(InputError, match=r"takes amounts > 0, and y holds 0: use \"normal\""):
            gather(source, ["city"], "lognormal", family="lognormal")
