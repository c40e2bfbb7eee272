"""The same statistics, posteriors and draws from every container, engine and file."""

import datetime
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import get_args

import narwhals as nw
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from catbayes import InputError, SamplingBayesianEncoder, encode, gather
from catbayes.io.engines import ENGINES, FILE_ENGINES, Engine, choose, owner
from catbayes.io.opening import lazy_frame
from engines import COLUMNS, FILES, IN_MEMORY, INTERACTIONS, LAZY, TABLE, write_files

FAMILIES = ["bernoulli", "categorical", "normal", "lognormal", "poisson", "negative_binomial", "binomial", "robust"]


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


def same_statistics(one, other):
    for first, second in zip(one.columns, other.columns, strict=True):
        assert first.values == second.values
        for name in first.statistics.__slots__:
            mine, theirs = getattr(first.statistics, name), getattr(second.statistics, name)
            np.testing.assert_allclose(mine, theirs, rtol=1e-10 if name != "m2" else 1e-6, err_msg=str(first.name))
    assert one.squares == pytest.approx(other.squares)


RARE = ("ibis", "sqlframe", "dask")  # slow to start, so not every combination
OFTEN = [name for name in [*IN_MEMORY, *LAZY, *FILES] if name not in RARE]
CASES = [(name, family, None) for name in OFTEN for family in FAMILIES]
CASES += [(name, family, "weight") for name in OFTEN for family in ("categorical", "normal", "lognormal")]
CASES += [(name, *case) for name in RARE for case in (("categorical", None), ("normal", "weight"))]


@pytest.mark.parametrize(("name", "family", "weight"), CASES)
def test_every_source_gives_the_same_statistics(name, family, weight, folder):
    # Enough columns to see every type of key, and none that the family does not need.
    kept = [*COLUMNS, family, "weight"]
    source, engine = open_source(name, folder)
    settings = {"interactions": INTERACTIONS, "family": family, "weight": weight}
    found = gather(source, COLUMNS, family, engine=engine, **settings)
    same_statistics(gather(TABLE[kept], COLUMNS, family, **settings), found)
    by_hand = TABLE.assign(w=TABLE["weight"] if weight else 1.0).groupby("zip")["w"].sum()
    np.testing.assert_allclose(found.columns[1].statistics.count[:-2], by_hand)


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("name", OFTEN)
def test_every_source_divides_by_the_exposure(name, weight, folder):
    source, engine = open_source(name, folder)
    how = {"family": "poisson", "weight": weight, "exposure": "lognormal"}
    found = gather(source, COLUMNS, "poisson", engine=engine, **how)
    same_statistics(gather(TABLE, COLUMNS, "poisson", **how), found)
    weights = TABLE["lognormal"] * (TABLE["weight"] if weight else 1.0)
    np.testing.assert_allclose(found.columns[1].statistics.count[:-2], weights.groupby(TABLE["zip"]).sum())


@pytest.mark.parametrize("family", ["categorical", "normal", "lognormal"])  # statistics are those of every family
@pytest.mark.parametrize("name", OFTEN)
def test_an_encoder_fitted_on_any_source_believes_the_same(name, family, folder):
    source, _ = open_source(name, folder)
    settings = {"columns": COLUMNS, "interactions": INTERACTIONS, "family": family, "random_state": 0}
    reference = SamplingBayesianEncoder(**settings).fit(TABLE, family)
    encoder = SamplingBayesianEncoder(**settings).fit(source, family)
    assert list(encoder.feature_names_in_) == list(reference.feature_names_in_)
    if encoder.classes_ is not None:
        assert encoder.classes_.tolist() == reference.classes_.tolist()
    X = TABLE[list(encoder.feature_names_in_)]
    np.testing.assert_allclose(
        encoder.transform(X)[:, 2:6].astype(float), reference.transform(X)[:, 2:6].astype(float), rtol=1e-7
    )


BY_NAME, LEFT_OUT = {"n_draws": 2, "row_id": "name"}, {"n_draws": 1, "row_id": "id", "target": True}
REQUESTS = [({}, "categorical"), ({}, "normal"), (BY_NAME, "categorical"), (BY_NAME, "normal")]
REQUESTS += [(LEFT_OUT, family) for family in FAMILIES]  # the target is read as the family takes it


@pytest.mark.parametrize(("request_", "family"), REQUESTS)
def test_every_source_is_encoded_the_same(request_, family, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("catbayes.io.batches.BATCH_ROWS", 256)  # so that there are several batches
    encoder = SamplingBayesianEncoder(COLUMNS, family=family, random_state=0).fit(TABLE.head(2_000), family)
    options = request_ | ({"target": family} if request_.get("target") else {})
    results = {}
    for name in OFTEN:
        source, engine = open_source(name, folder)
        written = encode(source, encoder, tmp_path / "out.parquet", engine=engine, overwrite=True, **options)
        table = pyarrow.parquet.read_table(written)
        assert table["id"].to_pylist() == TABLE["id"].tolist()  # every row once, in its place
        added = [column for column in table.column_names if column not in TABLE.columns]
        results[name] = (added, np.stack([table[column].to_numpy() for column in added]))
    added, values = results["pandas"]
    for name, (names, found) in results.items():
        assert names == added, name
        np.testing.assert_array_equal(found, values, err_msg=name)
    if "target" not in options:
        X = TABLE[list(encoder.feature_names_in_)]
        expected = encoder.transform(X)[None] if not options else encoder.sample(X, 2, row_id="name")
        outputs = list(encoder.get_feature_names_out())
        for name, column in zip(added, values, strict=True):
            plain = name.replace("_encoded", "").replace("_draw0", "").replace("_draw1", "")
            drawn = expected[int("draw1" in name)][:, outputs.index(plain)].astype(float)
            np.testing.assert_array_equal(column, drawn, err_msg=name)


def test_rows_of_files_are_known_by_name_and_number(folder, tmp_path):
    encoder = SamplingBayesianEncoder(COLUMNS, random_state=0).fit(TABLE, "bernoulli")
    found = {}
    for engine in FILE_ENGINES:
        written = encode(folder / "part-1.parquet", encoder, tmp_path / f"{engine}.parquet", n_draws=1, engine=engine)
        found[engine] = pandas.read_parquet(written)["city_draw0"].to_numpy()
    rows = pandas.read_parquet(folder / "part-1.parquet")[list(encoder.feature_names_in_)]
    sampled = encoder.sample(rows, row_id=("part-1.parquet", np.arange(len(rows))))[0, :, 2].astype(float)
    for engine in FILE_ENGINES:
        np.testing.assert_array_equal(found[engine], sampled, err_msg=engine)
    together = pandas.read_parquet(encode(str(folder / "*.parquet"), encoder, tmp_path / "all.parquet", n_draws=1))
    np.testing.assert_array_equal(together["city_draw0"][1_000:2_000], sampled)


def test_training_draws_leave_the_own_target_out(tmp_path):
    """A category with one row must not know its own target; one with two knows the other's."""
    n_pairs = 4_000
    table = pandas.DataFrame({"c": np.repeat(np.arange(n_pairs), 2).astype(str), "y": np.tile([0, 1], n_pairs)})
    encoder = SamplingBayesianEncoder(["c"], prior=0, random_state=0).fit(table, "y")
    plain, left_out = (
        pandas.read_parquet(encode(table, encoder, tmp_path / f"{name}.parquet", n_draws=1, target=name))["c_draw0"]
        if name
        else pandas.read_parquet(encode(table, encoder, tmp_path / "plain.parquet", n_draws=1))["c_draw0"]
        for name in ("", "y")
    )
    by_own = left_out.groupby(table["y"]).mean()
    assert by_own[0] == pytest.approx(2 / 3, abs=0.02)  # Beta(2, 1): the other row's target is 1
    assert by_own[1] == pytest.approx(1 / 3, abs=0.02)
    assert plain.groupby(table["y"]).mean().to_list() == pytest.approx([0.5, 0.5], abs=0.02)


def test_new_files_keep_what_they_had(folder, tmp_path):
    encoder = SamplingBayesianEncoder(["city"], mapping="mean_precision").fit(TABLE, "normal")
    written = encode(folder / "part-0.parquet", encoder, tmp_path / "out.parquet", drop=True)
    table = pyarrow.parquet.read_table(written)
    before = pyarrow.parquet.read_table(folder / "part-0.parquet")
    assert table.column_names == [n for n in before.column_names if n != "city"] + [
        "city_encoded_mean",
        "city_encoded_precision",
    ]
    for name in table.column_names[:-2]:
        assert table[name].to_pylist() == before[name].to_pylist()


def test_text_in_a_csv_stays_text(tmp_path):
    """Codes with leading zeros are told apart, and a file whose codes look like numbers still matches."""
    words = pandas.DataFrame({"code": ["007", "7", "x"] * 20, "y": [0, 1, 1] * 20})
    encoder = SamplingBayesianEncoder(["code"], prior=0).fit(words, "y")
    words.head(2).to_csv(tmp_path / "digits.csv", index=False)  # every code looks like a number
    for engine in FILE_ENGINES:
        out = tmp_path / f"{engine}.parquet"
        encoded = pandas.read_parquet(encode(tmp_path / "digits.csv", encoder, out, engine=engine))
        assert encoded["code"].tolist() == ["007", "7"]
        np.testing.assert_array_equal(encoded["code_encoded"], encoder.transform(words[["code"]])[:2, 0])


def test_far_from_zero_nothing_cancels(tmp_path):
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"c": random.choice(["a", "b"], 10_000), "y": 1e9 + random.normal(size=10_000)})
    table.to_parquet(tmp_path / "t.parquet")
    for engine in FILE_ENGINES:
        moments = gather(tmp_path / "t.parquet", target="y", engine=engine).columns[0].statistics
        variance = (moments.m2 / np.maximum(moments.count, 1))[:2]
        np.testing.assert_allclose(variance, table.groupby("c")["y"].var(ddof=0), rtol=1e-6)


@pytest.mark.parametrize("engine", FILE_ENGINES)
def test_an_engine_is_as_the_table_says(engine, folder):
    """Its module, extra and word have one name; its frames are known; its rows come in their order, a few at a time."""
    ours = FILE_ENGINES[engine]
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert engine in project["optional-dependencies"]
    assert engine in ours.modules
    with ours.scan([str(folder / "part-0.parquet")], "Parquet", None, None) as native:
        assert isinstance(nw.from_native(native).lazy(), nw.LazyFrame)
        assert owner(native) is ours
        parts = [part["id"].to_pylist() for part in ours.batches(native, 250)]
    assert [*chain(*parts)] == TABLE["id"][:1_000].tolist()
    assert max(map(len, parts)) < 1_000
    assert choose(engine, None) is ours
    if ours.has_memory_limit:
        assert choose(engine, "1GB") is ours
    else:
        with pytest.raises(InputError, match=r"memory_limit='1GB': only .* has one") as caught:
            choose(engine, "1GB")
        for word, other in FILE_ENGINES.items():
            assert (f"engine={word!r}" in str(caught.value)) == other.has_memory_limit


def test_the_words_for_an_engine_are_those_of_the_table(monkeypatch):
    assert get_args(Engine) == ENGINES == ("auto", *FILE_ENGINES)
    missing = set()
    monkeypatch.setattr("catbayes.io.engines.find_spec", lambda name: name not in missing)
    for word, engine in FILE_ENGINES.items():  # the first that is installed
        assert choose("auto", None) is engine
        missing.add(word)
    first, names = next(iter(FILE_ENGINES)), " or ".join(FILE_ENGINES)
    with pytest.raises(ImportError, match=rf'needs {names}: pip install "catbayes\[{first}\]"'):
        choose("auto", None)


def test_engines_are_imported_when_they_read():
    modules = {module for engine in FILE_ENGINES.values() for module in engine.modules}
    code = f"import sys, catbayes.io.opening; print(sorted({modules} & {{*sys.modules}}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def write(folder, **tables):
    for name, table in tables.items():
        pandas.DataFrame(table).to_parquet(folder / f"{name}.parquet")
    return str(folder / "*.parquet")


@pytest.mark.parametrize("engine", FILE_ENGINES)
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
        ({"a": {"c": ["x", "y"], "y": [0, 1]}, "b": {"d": ["x"], "y": [0]}}, "y", "another schema.*'c' is nothing"),
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
    lazy = polars.from_pandas(TABLE).lazy()
    out = tmp_path / "out.parquet"
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    (tmp_path / "table.xlsx").write_bytes(b"PK\x03\x04\x14\0\x06\0")
    (tmp_path / "empty").mkdir()
    cases = [
        (lambda: gather(tmp_path / "broken.parquet", target="y"), "cannot be read as Parquet"),
        (lambda: gather(tmp_path / "table.xlsx", target="y"), "is not a table: it holds bytes"),
        (lambda: gather(tmp_path / "empty", target="y"), "folder without Parquet or CSV"),
        (lambda: gather("s3://bucket/x.parquet", target="y"), "pass a lazy frame"),
        (lambda: gather(folder, target="bernoulli"), "both CSV and Parquet"),
        (lambda: gather(lazy), "name of one of its columns"),
        (lambda: gather(lazy, target="bernoulli", weight="city"), "weight must hold numbers"),
        (lambda: gather(lazy, target="city", family="normal"), "must hold numbers"),
        (lambda: gather(lazy, target="normal", family="poisson", engine="spark"), None),
        (
            lambda: gather(folder / "part-0.parquet", target="y", engine="spark"),
            'engine=.spark.: expected one of "auto"',
        ),
        (lambda: gather(folder / "part-0.parquet", target="bernoulli", memory_limit="much"), "memory_limit='much'"),
        (lambda: encode(lazy, encoder, out, n_draws=1), "need row_id"),
        (lambda: encode(lazy, encoder), "path of the file"),
        (lambda: encode(lazy, encoder, out, target="bernoulli"), "give the target away"),
        (lambda: encode(lazy.drop("zip"), encoder, out), "no column 'zip'"),
        (lambda: encode(lazy.rename({"name": "zip_encoded"}), encoder, out), "column 'zip_encoded' already"),
        (lambda: encode(lazy.head(0), encoder, out), "no rows"),
        (lambda: encode(lazy, "encoder", out), "expected a fitted encoder"),
        (lambda: encode(lazy, encoder, tmp_path), "is a folder"),
        (lambda: encode(lazy, encoder, tmp_path / "no" / "out.parquet"), "not a folder"),
        (lambda: encoder.fit_transform(lazy, "bernoulli"), "not in memory"),
        (lambda: encoder.transform(lazy), "lazy frame"),
        (lambda: encoder.transform("table.parquet"), "X is a path"),
        (lambda: gather(TABLE), "target: expected the name"),
        (lambda: gather(folder / "part-0.parquet", target="id", engine="polars", memory_limit="1GB"), "only DuckDB"),
        (lambda: encode(lazy, encoder, out, row_id="nothing"), "no column 'nothing'"),
        (lambda: SamplingBayesianEncoder().fit(TABLE, "nothing"), "no column 'nothing'"),
        (lambda: encode(TABLE, SamplingBayesianEncoder().fit([["a"], ["b"]], [0, 1]), out), "fitted on an array"),
    ]
    for action, message in cases:
        with pytest.raises(InputError, match=message):
            action()
    assert not out.exists()
    assert not list(tmp_path.glob(".*"))


def test_policies_hold_for_files(folder, tmp_path):
    out = tmp_path / "out.parquet"
    strict = SamplingBayesianEncoder(["city"], missing="error")
    with pytest.raises(InputError, match="'city' is missing in"):
        strict.fit(str(folder / "*.parquet"), "bernoulli")
    some = TABLE[TABLE["city"] != "Rome"]
    for settings, message in ({"unseen": "error"}, "never saw, such as .'Rome'"), ({"missing": "prior"}, None):
        encoder = SamplingBayesianEncoder(["city"], **settings).fit(some, "bernoulli")
        if message:
            with pytest.raises(InputError, match=message):
                encode(str(folder / "*.parquet"), encoder, out)
            assert not out.exists()
        else:
            encoded = pandas.read_parquet(encode(str(folder / "*.parquet"), encoder, out))
            assert encoded["city_encoded"][encoded["city"].isna()].nunique() == 1
            unseen = encoded["city_encoded"][encoded["city"] == "Rome"].iloc[0]
            assert encoded["city_encoded"][encoded["city"].isna()].iloc[0] == unseen


@pytest.mark.parametrize("engine", FILE_ENGINES)
def test_a_file_is_read_by_its_own_name(engine, tmp_path):
    """Names that look like patterns, and files named twice."""
    for name, letters in {"d1": "ab", "d[1]": "XY", "d*": "PQ"}.items():
        pandas.DataFrame({"c": list(letters) * 5, "y": [0, 1] * 5}).to_parquet(tmp_path / f"{name}.parquet")
    assert gather(tmp_path / "d[1].parquet", target="y", engine=engine).columns[0].values == ("X", "Y")
    assert gather(tmp_path, target="y", engine=engine).columns[0].values == tuple("PQXYab")
    with pytest.raises(InputError, match="names a file twice"):
        gather([tmp_path / "d1.parquet", str(tmp_path / "d?.parquet")], target="y", engine=engine)


@pytest.mark.parametrize("engine", FILE_ENGINES)
def test_the_files_of_a_csv_table_have_one_schema(engine, tmp_path):
    """What looks like whole numbers in one file and like text in the next is text in both."""
    for number, parts in enumerate([["1", "2"], ["x", "2.5"]]):
        pandas.DataFrame({"c": ["a", "b"], "other": parts, "y": ["0", "1"]}).to_csv(
            tmp_path / f"{number}.csv", index=False
        )
    table = pandas.DataFrame({"c": ["a", "b"] * 3, "y": ["0", "1"] * 3})
    encoder = SamplingBayesianEncoder(["c"], prior=0, random_state=0).fit(table, "y")
    out = encode(str(tmp_path / "*.csv"), encoder, tmp_path / "out.parquet", n_draws=1, target="y", engine=engine)
    assert pandas.read_parquet(out)["other"].tolist() == ["1", "2", "x", "2.5"]
    grown = encoder.partial_fit(gather(str(tmp_path / "*.csv"), target="y", engine=engine, like=encoder.evidence_))
    assert grown.classes_.tolist() == ["0", "1"]


def test_types_of_the_target_mean_the_same_everywhere():
    table = pandas.DataFrame({"c": ["a", "b"] * 4, "day": pandas.date_range("2024-01-01", periods=8)})
    for source in (table, polars.from_pandas(table).lazy()):
        with pytest.raises(InputError, match="dates or spans of time"):
            gather(source, ["c"], "day")
    lazy = polars.LazyFrame({"c": ["a", "b"] * 4, "y": [1, 2] * 4}).with_columns(
        polars.col("y").cast(polars.Decimal(9, 2))
    )
    for source in (lazy, lazy.collect()):
        assert gather(source, target="y").classes.tolist() == [1.0, 2.0]


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
    for source, engine in [
        (polars.from_arrow(table).lazy(), "auto"),
        *((tmp_path / "t.parquet", engine) for engine in FILE_ENGINES),
    ]:
        same_statistics(found, gather(source, ["k"], target, weight=weight, engine=engine))


UNUSABLE = {
    "target": ("'y' is missing in", {"target": "y"}),
    "target of a family": ("'y' is missing in", {"target": "y", "family": "normal"}),
    "weight": ("sample_weight is missing", {"target": "whole", "weight": "y"}),
    "exposure": ("exposure is missing", {"target": "whole", "exposure": "y", "family": "poisson"}),
}


@pytest.mark.parametrize("source", ["DuckDB relation", "ibis", *FILE_ENGINES])
@pytest.mark.parametrize("case", UNUSABLE)
def test_nan_is_no_number_though_the_statistics_of_a_file_leave_it_out(case, source, tmp_path):
    """Those that polars and pyarrow write tell the least and the greatest number, and not that there is NaN."""
    message, given = UNUSABLE[case]
    y = np.array([0.5, 1.5, np.nan, 3.5])
    table = pyarrow.table({"city": ["Oslo", "Oslo", "Rome", "Rome"], "y": y, "whole": [1, 2, 3, 4]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    opened = LAZY[source](TABLE, tmp_path) if source in LAZY else tmp_path / "t.parquet"
    with pytest.raises(InputError, match=message):
        gather(opened, ["city"], **given, engine=source if source in FILE_ENGINES else "auto")


def test_many_classes_are_counted_in_rows():
    random = np.random.default_rng(0)
    table = pandas.DataFrame(
        {"c": random.choice(["a", "b", None], 2_000), "y": random.integers(0, 60, 2_000).astype(str)}
    )
    table["w"] = random.integers(0, 3, 2_000) / 2
    for weight in (None, "w"):
        same_statistics(
            gather(table, ["c"], "y", weight=weight),
            gather(polars.from_pandas(table).lazy(), ["c"], "y", weight=weight),
        )


def test_names_of_the_queries_are_refused():
    lazy = polars.LazyFrame({"catbayes_target": ["a", "b", "b"] * 6, "y": [0, 1, 0] * 6})
    with pytest.raises(InputError, match="names that begin with 'catbayes_'"):
        gather(lazy, target="y")


def test_a_batch_without_weight_is_no_table_without_weight(tmp_path, monkeypatch):
    table = TABLE[[*COLUMNS, "bernoulli"]].assign(w=np.r_[np.zeros(1_000), np.ones(2_000)])
    whole = gather(table, COLUMNS, "bernoulli", weight="w")
    monkeypatch.setattr("catbayes.io.gathering.READER_ROWS", 500)
    monkeypatch.setattr("catbayes.io.batches.BATCH_ROWS", 500)
    reader = pyarrow.Table.from_pandas(table, preserve_index=False).to_reader(250)
    same_statistics(whole, gather(reader, COLUMNS, "bernoulli", weight="w"))
    encoder = SamplingBayesianEncoder(COLUMNS, random_state=0).fit(whole)
    table.to_parquet(tmp_path / "t.parquet")
    options = {"n_draws": 1, "target": "bernoulli", "weight": "w"}
    assert (
        len(pandas.read_parquet(encode(tmp_path / "t.parquet", encoder, tmp_path / "out.parquet", **options))) == 3_000
    )
    with pytest.raises(InputError, match="name the column that says how much"):
        encode(tmp_path / "t.parquet", encoder, tmp_path / "no.parquet", n_draws=1, target="bernoulli")


def test_an_index_is_no_column(tmp_path):
    encoder = SamplingBayesianEncoder(["city"]).fit(TABLE, "bernoulli")
    out = encode(TABLE[TABLE["zip"] > 200], encoder, tmp_path / "out.parquet")
    assert pyarrow.parquet.read_schema(out).names == [*TABLE.columns, "city_encoded"]


def test_amounts_without_a_logarithm_are_refused_wherever_they_are():
    table = TABLE.assign(lognormal=TABLE["lognormal"] - TABLE["lognormal"].min())
    for source in (table, polars.from_pandas(table).lazy()):
        with pytest.raises(InputError, match=r"takes amounts > 0, and y holds 0: use \"normal\""):
            gather(source, ["city"], "lognormal", family="lognormal")


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_text_file_is_read_once_however_many_columns_are_counted(engine, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("city,day,paid\nOslo,2024-01-01,1\nRome,NA,0\n", encoding="utf-8")
    with lazy_frame(path, engine, None) as frame:
        path.unlink()
        rows = frame.collect(backend="pyarrow").to_native().to_pydict()
    assert rows == {"city": ["Oslo", "Rome"], "day": [datetime.date(2024, 1, 1), None], "paid": [1, 0]}
