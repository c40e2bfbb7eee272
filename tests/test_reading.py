"""A file is the same table to every engine and every command."""

import datetime
from uuid import UUID

import numpy as np
import pandas
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from catbayes import InputError, SamplingBayesianEncoder, Scaled, encode, gather
from engines import FILE_ENGINES, same_statistics

EACH_ENGINE = pytest.mark.parametrize("engine", FILE_ENGINES)


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def categories(path, target, engine="auto"):
    """The distinct values of every other column of a file."""
    return {c.name: list(c.values) for c in gather(path, "all", target, engine=engine).columns}


# ------------------------------------------------------------------------------------------------ CSV


@EACH_ENGINE
@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("t.csv", "city,y\nOslo,1\nBonn,0\n", {"city": ["Bonn", "Oslo"]}),
        ("t.csv", '\ufeffcity; y \r\n"Oslo; N"; 1\r\n', {"city": ["Oslo; N"]}),
        ("t.csv", "2016,y\n3,1\n", {"2016": [3]}),
        ("t.csv", '\n\n"code,\nor so",,y\n1,2,3\n', {"code,\nor so": [1], "column1": [2]}),
        ("t.csv", "a|y\n1|x\n\n2|z\n\n", {"a": [1, 2]}),
        ("t.tsv", "a,b\ty\nx, y\t1\n", {"a,b": ["x, y"]}),
        ("t.txt", "a\ty\nx\tz\n", {"a": ["x"]}),
        ("t", "city,y\nOslo,1\n", {"city": ["Oslo"]}),
        ("t.csv", "c,y\n\u00a0Oslo ,1\n", {"c": ["\u00a0Oslo"]}),
        ("t.csv", 'a,y\n5" pipe,1\n"q, r",2\n', {"a": ['5" pipe', "q, r"]}),
        ("t.csv", 'a,y\n"5"" pipe",2\n', {"a": ['5" pipe']}),
        ("t.csv", 'a,y\n"two\nlines",2\n', {"a": ["two\nlines"]}),
        ("t.csv", "a,y\rx,1\rz,2\r", {"a": ["x", "z"]}),
        ("t.csv", "a,y\nx,1\rz,2\nv,3\r\n", {"a": ["v", "x", "z"]}),
    ],
)
def test_csv_is_read_as_people_write_it(tmp_path, name, content, expected, engine):
    assert categories(written(tmp_path, name, content), "y", engine) == expected


@pytest.mark.parametrize("content", ["39, State-gov, 1\n50, Private, 0\n", "x,p,1\nx,q,0\n", "p,,1\nq,x,0\n"])
def test_a_file_without_names_gets_numbered_columns(tmp_path, content):
    assert [*categories(written(tmp_path, "t.data", content), "column2")] == ["column0", "column1"]


INSTANTS = [
    datetime.datetime(2024, 2, 29, 1, 2, 3, 250_000, tzinfo=datetime.UTC),
    datetime.datetime(2024, 2, 29, 23, 59, tzinfo=datetime.UTC),
]


@EACH_ENGINE
@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "", "-2", "+3"], [-2, 1, 3]),
        (["1", "NA", " 2.5", "1e3", "-.5", "inf"], [-0.5, 1.0, 2.5, 1000.0, float("inf")]),
        (["007", "7"], ["007", "7"]),
        (["12345678901234567890", "1"], ["1", "12345678901234567890"]),
        (["1", "2"] * 600_000 + ["x"], ["1", "2", "x"]),  # the first rows do not decide
        (["1", "2"] * 600_000 + ["2.5"], [1.0, 2.0, 2.5]),
        (["true", "False", "NULL", "TRUE"], [False, True]),
        (["yes", "no"], ["no", "yes"]),
        (["2024-02-29", "N/A", "1999-12-31"], [datetime.datetime(1999, 12, 31), datetime.datetime(2024, 2, 29)]),
        (["2023-02-29", "2023-02-28"], ["2023-02-28", "2023-02-29"]),  # there was no such day
        (["2024-01-01", "2024-01-01 12:00"], ["2024-01-01", "2024-01-01 12:00"]),
        (["31/12/2024"], ["31/12/2024"]),
        (
            ["2024-02-29 23:59", "2024-02-29T01:02:03.25Z", "nan"],
            [datetime.datetime(2024, 2, 29, 1, 2, 3, 250_000), datetime.datetime(2024, 2, 29, 23, 59)],
        ),
        (["2024-02-29 23:59Z", "2024-02-29T01:02:03.25Z", ""], INSTANTS),
        (["  a ", "  ", '""', "NaN", "null", "None"], ["None", "a"]),
        (["", "NA"], []),
    ],
)
def test_the_type_of_a_column_is_that_of_all_its_cells(tmp_path, cells, expected, engine):
    path = written(tmp_path, "t.csv", "x,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells)))
    found = categories(path, "y", engine)["x"]
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


def nasty_table(n_rows=500):
    """Codes with leading zeros, long numbers, quotes, line breaks, spaces, words for missing values, and gaps."""
    random = np.random.default_rng(0)
    columns = {
        "code": ["00001", "00012", "1", "12", None],
        "long": ["12345678901234567890", "7", None],
        "text": ['say "so"', "a,b", "two\nlines", "Żary", "\u00a0x", "None", None],
        "whole": [3, -1, 0],
        "number": [0.5, -0.0, 0.0, 1e300, np.nan],
        "vip": [True, False],
        "day": ["2024-02-29", "1999-12-31"],
    }
    table = {name: random.choice(np.array(cells, dtype=object), n_rows) for name, cells in columns.items()}
    return pandas.DataFrame(table).assign(y=random.integers(0, 2, n_rows))


def test_both_engines_give_the_same_statistics_and_features_of_a_nasty_file(tmp_path):
    table = nasty_table()
    text = table.to_csv(index=False).splitlines(keepends=True)
    path = written(tmp_path, "t.csv", "".join([text[0], "\r\n", *text[1:]]))
    found = {engine: gather(path, "all", "y", engine=engine) for engine in FILE_ENGINES}
    same_statistics(found["duckdb"], found["polars"])
    for column in found["duckdb"].columns:
        counts = table[column.name].value_counts().to_dict()
        values = [str(v.date()) if column.name == "day" else v for v in column.values]
        assert dict(zip(values, column.statistics.count, strict=False)) == counts, column.name
    features = []
    for engine in FILE_ENGINES:
        encoder = SamplingBayesianEncoder(random_state=0).fit(found[engine])
        written_file = encode(path, encoder, tmp_path / f"{engine}.parquet", n_draws=1)
        features.append(pandas.read_parquet(written_file).filter(like="_draw").to_numpy())
    np.testing.assert_array_equal(*features)
    in_memory = encoder.transform(
        table[["code", "long", "text", "whole"]].assign(
            **table[["number", "vip"]], day=pandas.to_datetime(table["day"])
        )
    )
    encoded = pandas.read_parquet(encode(path, encoder, tmp_path / "means.parquet")).filter(like="_encoded")
    np.testing.assert_array_equal(encoded.to_numpy(), in_memory)


@EACH_ENGINE
def test_a_code_means_the_same_when_it_is_fitted_encoded_and_updated(tmp_path, engine):
    """All cells of the second file look like numbers; they are text because the fitted column is."""
    first = written(tmp_path, "first.csv", "code,y\n" + "00001,0\n1,1\nx,1\n" * 20)
    second = written(tmp_path, "second.csv", "code,y\n12,0\n1,1\n")
    encoder = SamplingBayesianEncoder(["code"], prior=Scaled(0)).fit(gather(first, ["code"], "y", engine=engine))
    encoded = pandas.read_parquet(encode(second, encoder, tmp_path / "out.parquet"))
    assert encoded["code"].tolist() == ["12", "1"]
    np.testing.assert_array_equal(encoded["code_encoded"], encoder.transform(encoded[["code"]])[:, 0])
    encoder.partial_fit(gather(second, target="y", engine=engine, like=encoder.evidence_))
    assert encoder.evidence_.columns[0].values == ("00001", "1", "12", "x")
    assert encoder.evidence_.columns[0].statistics.count.tolist() == [20, 21, 1, 20, 0, 0]


@pytest.mark.parametrize("cell", ["00001", "x"])
def test_text_where_numbers_were_fitted_is_refused(tmp_path, cell):
    encoder = SamplingBayesianEncoder(["n"]).fit(written(tmp_path, "t.csv", "n,y\n" + "1,0\n2,1\n" * 9), "y")
    other = written(tmp_path, "other.csv", f"n,y\n1,1\n{cell},0\n2,1\n")
    for action in (lambda: encode(other, encoder, tmp_path / "out.parquet"), lambda: encoder.partial_fit(other, "y")):
        with pytest.raises(InputError, match=rf"other.csv: column 'n' holds '{cell}', and no text where"):
            action()


@EACH_ENGINE
def test_a_column_has_one_type_in_all_files(engine, tmp_path):
    """A target that looks like numbers is text where the known classes are."""
    for number, cells in enumerate([["1", "2"], ["x", "2.5"]]):
        written(tmp_path, f"{number}.csv", f"c,other,y\na,{cells[0]},0\nb,{cells[1]},1\n")
    encoder = SamplingBayesianEncoder(["c"], prior=Scaled(0)).fit(
        pandas.DataFrame({"c": ["a", "b"] * 3}), ["0", "1"] * 3
    )
    out = encode(str(tmp_path / "*.csv"), encoder, tmp_path / "out.parquet", n_draws=1, target="y")
    assert pandas.read_parquet(out)["other"].tolist() == ["1", "2", "x", "2.5"]
    grown = encoder.partial_fit(gather(str(tmp_path / "*.csv"), target="y", engine=engine, like=encoder.evidence_))
    assert grown.classes_.tolist() == ["0", "1"]


BROKEN = [
    ("t.csv", "a,b\n1,Zürich\n".encode("latin-1"), "UTF8.*iconv -f latin1 -t utf-8"),
    ("t.csv", b"a,b\n" + b"1,x\n" * 500_000 + "1,Zürich\n".encode("latin-1"), "UTF8.*iconv -f latin1 -t utf-8"),
    ("t.txt", "a\tb\n1\tx\n".encode("utf-16"), "is no table in UTF-8: it has bytes that are no text"),
    ("t.csv", "a,b\n1,2\n5,6,7\n8,9\n", "Row #3: Expected 2 columns, got 3"),
    ("t.csv", "a,b\n" + "1,2\n" * 500_000 + "5\n", "Row #500002: Expected 2 columns, got 1"),
    ("t.csv", 'a,b\n1,"2\n' + "8,9\n" * 200, "a quote is opened and not closed"),
    ("t.csv", "v,v,2\nv,w,3\n", r"first line names 'v' twice.*end the name of the file in .data"),
    ("t.csv", "City,city\nv,w\n", "first line names 'city' twice, capitals aside"),
    ("t.csv", ",column0\nv,w\n", "first line names 'column0' twice"),
    ("t.csv", b"\x89PNG\r\n\x1a\n\0\0\0", "is no table in UTF-8: it has bytes that are no text"),
    ("t.csv", "\n\n", "is empty: expected a table"),
    ("t.csv", "a,b\n", "holds no rows"),
    ("t.csv.gz", "a,b\n1,2\n", "cannot be read as CSV"),
    ("t.parquet", "nothing of the kind", "cannot be read as Parquet"),
    ("t.arrow", "nothing of the kind", "cannot be read as Arrow"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN)
def test_a_broken_file_is_explained(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message) as caught:
        gather(written(tmp_path, name, content), target="b")
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------------------------------------ Parquet and Arrow


def written_arrow(path, table):
    """A table as a Parquet or an Arrow file, by its ending."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path, chunksize=100)
    return path


def test_arrow_files_are_read_in_their_order(tmp_path):
    table = pyarrow.table({"n": np.arange(5_000), "c": ["x", "y"] * 2_500})
    for number in range(2):
        written_arrow(tmp_path / f"{number}.feather", table.slice(number * 2_500, 2_500))
    for engine in FILE_ENGINES:
        evidence = gather(tmp_path, target="c", columns=["n"], engine=engine)
        assert evidence.total.count.tolist() == [5_000.0]
    out = encode(tmp_path, SamplingBayesianEncoder(["n"], prior=Scaled(1.0)).fit(evidence), tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(out)["n"].to_pylist() == list(range(5_000))


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("names", "message"),
    [(["City", "city"], "'city' twice, capitals aside"), (["c", ""], "a column without a name")],
)
def test_names_that_an_engine_would_change_are_refused(tmp_path, names, message, ending):
    """DuckDB calls them city_1 and C1, and what encodes the file would look for those."""
    columns = [pyarrow.array(["a", "b"]), pyarrow.array(["x", "y"]), pyarrow.array([0, 1])]
    path = written_arrow(tmp_path / f"t.{ending}", pyarrow.Table.from_arrays(columns, [*names, "y"]))
    with pytest.raises(InputError, match=message):
        gather(path, target="y")


@EACH_ENGINE
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_uuids_are_the_same_categories_by_every_engine(tmp_path, ending, engine):
    ids = [UUID(int=number << 90 | 0xABC) for number in (1, 2, 3)]
    stored = pyarrow.array([*(i.bytes for i in ids), None] * 2, pyarrow.binary(16))
    column = pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), stored)
    path = written_arrow(tmp_path / f"t.{ending}", pyarrow.table({"id": column, "y": [0, 1, 1, 0] * 2}))
    encoder = SamplingBayesianEncoder(prior=Scaled(1.0)).fit(gather(path, ["id"], "y", engine=engine))
    assert encoder.evidence_.columns[0].values == tuple(str(i) for i in ids)
    encoded = pandas.read_parquet(encode(path, encoder, tmp_path / "out.parquet"))["id_encoded"]
    same = encoder.transform(pandas.DataFrame({"id": [*map(str, ids), None] * 2}))
    np.testing.assert_array_equal(encoded, same[:, 0])


@pytest.mark.parametrize(("content", "message"), [("c,z\nx,0\n", "another schema"), ("y,c\n0,x\n", "in another order")])
def test_files_of_different_columns_are_refused(tmp_path, content, message):
    written(tmp_path, "a.csv", "c,y\nx,0\nz,1\n")
    written(tmp_path, "b.csv", content)
    with pytest.raises(InputError, match=message):
        gather(str(tmp_path / "*.csv"), target="y")
