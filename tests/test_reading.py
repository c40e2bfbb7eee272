"""A file is the same table to every engine and every command."""

import datetime
import gzip
import json
from uuid import UUID

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import catbayes
from catbayes import InputError, SamplingBayesianEncoder, compare, encode, gather
from catbayes.cli import run
from catbayes.comparison._rows import read_rows
from catbayes.io.cells import likely
from catbayes.io.engines import FILE_ENGINES
from catbayes.io.files import Files
from catbayes.io.opening import read_arrow


def rows_of(path, engine):
    return [row for batch in Files.of(path, engine, None).batches() for row in batch.table.to_pylist()]


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# ------------------------------------------------------------------------------------------------ how text is read


@pytest.mark.parametrize("engine", FILE_ENGINES)
@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("t.csv", "city,n\nOslo,1\n", [{"city": "Oslo", "n": 1}]),
        ("t.csv", '\ufeffcity; n \r\n"Oslo; N"; 1\r\n', [{"city": "Oslo; N", "n": 1}]),
        ("t.csv", "city,2016\nOslo,1\n", [{"city": "Oslo", "2016": 1}]),  # a number may be a name
        ("t.csv", '\n\n"code,\nor so",\n1,2\n', [{"code,\nor so": 1, "column1": 2}]),
        ("t.csv", "a|b\n1|x\n\n2|y\n\n", [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]),  # an empty line is no row
        ("t.tsv", "a,b\tc\n1\tx, y\n", [{"a,b": 1, "c": "x, y"}]),
        ("t.txt", "a\tb\nx\ty\n", [{"a": "x", "b": "y"}]),
        ("t.data", "39, State-gov, <=50K\n", [{"column0": 39, "column1": "State-gov", "column2": "<=50K"}]),
        (
            "t.data",
            "p,x,s,x\n",
            [{"column0": "p", "column1": "x", "column2": "s", "column3": "x"}],
        ),  # 'x' names nothing
        ("t", "city,n\nOslo,1\n", [{"city": "Oslo", "n": 1}]),
        ("t.csv", "c,n\n\u00a0Oslo,1\n\u2003Oslo ,2\n", [{"c": "\u00a0Oslo", "n": 1}, {"c": "\u2003Oslo", "n": 2}]),
        # quotes inside of cells, and blanks before quotes
        ("t.csv", 'a,b\n5" pipe,1\n"q, r",2\n', [{"a": '5" pipe', "b": 1}, {"a": "q, r", "b": 2}]),
        ("t.csv", 'a,b\n1,5"\n2,6"\n3,x\n', [{"a": 1, "b": '5"'}, {"a": 2, "b": '6"'}, {"a": 3, "b": "x"}]),
        ("t.csv", 'a,b\n the "big" one,1\n"5"" pipe",2\n', [{"a": 'the "big" one', "b": 1}, {"a": '5" pipe', "b": 2}]),
        ("t.csv", 'a,b\n "Oslo, N", "1"\n', [{"a": "Oslo, N", "b": 1}]),
        ("t.csv", 'a,b\n  "Oslo, N",  "1.5"\nx,2\n', [{"a": "Oslo, N", "b": 1.5}, {"a": "x", "b": 2.0}]),
        ("t.tsv", 'a\tb\n "Oslo"\t1\n', [{"a": "Oslo", "b": 1}]),
        # line ends
        ("t.csv", "a,b\rx,1\ry,2\r", [{"a": "x", "b": 1}, {"a": "y", "b": 2}]),
        ("t.csv", "a,b\nx,1\ry,2\nz,3\r\n", [{"a": "x", "b": 1}, {"a": "y", "b": 2}, {"a": "z", "b": 3}]),
        ("t.csv", "a\nx\ry\n", [{"a": "x"}, {"a": "y"}]),
        ("t.csv", 'a,b\r"x\ry",5"\r\n', [{"a": "x\ry", "b": '5"'}]),
        ("t.csv", "a,b\n\nx,1\n\n", [{"a": "x", "b": 1}]),
    ],
)
def test_a_text_file_is_read_as_people_write_it(tmp_path, name, content, expected, engine):
    assert rows_of(written(tmp_path, name, content), engine) == expected


INSTANTS = [
    datetime.datetime(2024, 2, 29, 23, 59, tzinfo=datetime.UTC),
    datetime.datetime(2024, 2, 29, 1, 2, 3, 250_000, tzinfo=datetime.UTC),
]


@pytest.mark.parametrize("engine", FILE_ENGINES)
@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "", "-2", "+3"], [1, None, -2, 3]),
        (["1", "NA", " 2.5", "1e3", "-.5", "inf"], [1.0, None, 2.5, 1000.0, -0.5, float("inf")]),
        (["007", "7"], ["007", "7"]),
        (["12345678901234567890", "1"], ["12345678901234567890", "1"]),
        (["1", "2"] * 600 + ["x"], ["1", "2"] * 600 + ["x"]),  # the first rows do not decide
        (["1", "2"] * 600 + ["2.5"], [1.0, 2.0] * 600 + [2.5]),
        (["true", "False", "NULL", "TRUE"], [True, False, None, True]),
        (["yes", "no"], ["yes", "no"]),
        (["2024-02-29", "N/A", "1999-12-31"], [datetime.date(2024, 2, 29), None, datetime.date(1999, 12, 31)]),
        (["2023-02-29", "2023-02-28"], ["2023-02-29", "2023-02-28"]),  # there was no such day
        (["31/12/2024"], ["31/12/2024"]),
        (
            ["2024-02-29 23:59", "2024-02-29T01:02:03.25Z", "nan"],
            [datetime.datetime(2024, 2, 29, 23, 59), datetime.datetime(2024, 2, 29, 1, 2, 3, 250_000), None],
        ),
        (["2024-02-29 23:59Z", "2024-02-29T01:02:03.25Z", ""], [*INSTANTS, None]),
        (["  a ", '" b"', "  ", '""', "NaN", "null", "None"], ["a", "b", None, None, None, None, "None"]),
        (["", "NA"], [None, None]),
    ],
)
def test_a_column_is_what_all_of_its_cells_look_like(tmp_path, cells, expected, engine):
    path = written(tmp_path, "t.csv", "first,x\n" + "".join(f"a,{cell}\n" for cell in cells))
    found = [row["x"] for row in rows_of(path, engine)]
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


def test_the_days_that_are_dates_are_those_of_the_calendar():
    every = [f"{y}-{m:02}-{d:02}" for y in (1900, 2000, 2023, 2024) for m in range(14) for d in range(33)]

    def is_date(text):
        try:
            datetime.date.fromisoformat(text)
        except ValueError:
            return False
        return True

    assert [likely([text]) == ["date"] for text in every] == [is_date(text) for text in every]


@pytest.mark.parametrize("engine", FILE_ENGINES)
def test_hundreds_of_columns_and_compressed_files_are_read(tmp_path, engine):
    names = [f"a_long_name_for_column_number_{i}" for i in range(500)]
    path = written(tmp_path, "t.csv", ",".join(names) + "\n" + ",".join("1" * 500))
    assert rows_of(path, engine) == [dict.fromkeys(names, 1)]
    with gzip.open(tmp_path / "T.CSV.GZ", "wt") as file:
        file.write("city,2016\nOslo,1\n")
    assert rows_of(tmp_path / "T.CSV.GZ", engine) == [{"city": "Oslo", "2016": 1}]


@pytest.mark.parametrize("engine", FILE_ENGINES)
def test_arrow_files_are_read_in_their_order(tmp_path, engine):
    table = pyarrow.table({"n": np.arange(5_000), "c": ["x", "y"] * 2_500})
    for number in range(2):
        part = table.slice(number * 2_500, 2_500)
        pyarrow.feather.write_feather(part, tmp_path / f"{number}.feather", chunksize=100)
    assert [row["n"] for row in rows_of(tmp_path, engine)] == list(range(5_000))
    assert gather(tmp_path, target="c", columns=["n"], engine=engine).total.count.tolist() == [5_000.0]


BROKEN = [
    ("t.csv", "a,b\n1,Zürich\n".encode("latin-1"), r"t.csv, line 2: its text is not UTF-8.*iconv -f latin1 -t utf-8"),
    ("t.csv", b"a,b\n" + b"1,x\n" * 5_000 + "1,Zürich\n".encode("latin-1"), r"line 5002: its text is not UTF-8"),
    ("t.txt", "a\tb\n1\tx\n".encode("utf-16"), r"its text is UTF-16. Save it as UTF-8"),
    ("t.csv", "a,b\n1,2\n5,6,7\n8,9\n", r"line 3: 3 cells where the first line has 2, separated by ','"),
    ("t.csv", "a,b\n" + "1,2\n" * 5_000 + "5,6,7\n", r"line 5002: 3 cells where the first line has 2"),
    ("t.csv", "a,b\n1,2\n5\n8,9\n", r"line 3: 1 cells where the first line has 2"),
    (
        "t.data",
        "|1x3 Cross validator\n25, Private\n",
        r"line 2: 1 cells where the first line has 2, separated by '|'",
    ),
    ("t.csv", 'a,b\n1,"2\n' + "8,9\n" * 200, r"line 2: a quote is opened there and not closed"),
    ("t.csv", "a,b\r" + "1,2\r" * 5_000 + "5,6,7\r", r"line 5002: 3 cells where the first line has 2"),
    ("t.csv", 'a,b\n5" pipe,2\n' + "1,2\n" * 5_000 + "5,6,7\n", r"line 5003: 3 cells where the first line has 2"),
    ("t.csv", "v,v,2\nv,w,3\n", r"first line names 'v' twice.*end the name of the file in .data"),
    ("t.csv", "City,city\nv,w\n", r"first line names 'city' twice, capitals aside"),
    ("t.csv", ",column0\nv,w\n", r"first line names 'column0' twice"),
    ("t.csv", b"\x89PNG\r\n\x1a\n\0\0\0", r"is not a table: it holds bytes that are no text"),
    ("t.csv", "", r"is empty: expected a table"),
    ("t.csv", "\n\n", r"is empty: expected a table"),
    ("t.csv.gz", "a,b\n1,2\n", r"cannot be read as CSV: Not a gzipped file"),
    ("t.parquet", "nothing of the kind", r"cannot be read as Parquet"),
    ("t.arrow", "nothing of the kind", r"cannot be read as Arrow"),
]


@pytest.mark.parametrize("engine", FILE_ENGINES)
@pytest.mark.parametrize(("name", "content", "message"), BROKEN)
def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path, name, content, message, engine):
    with pytest.raises(InputError, match=message) as caught:
        gather(written(tmp_path, name, content), target="b", engine=engine)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("engine", FILE_ENGINES)
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["City", "city"], "'city' twice, capitals aside"),
        (["c", "c"], "'c' twice, capitals aside"),
        (["c", ""], "a column without a name"),
    ],
)
def test_names_that_an_engine_would_change_are_refused(tmp_path, names, message, ending, engine):
    """DuckDB calls them city_1, c_1 and C1, and what encodes the file would look for those."""
    columns = [pyarrow.array(["a", "b"]), pyarrow.array(["x", "y"]), pyarrow.array([0, 1])]
    path = written_arrow(tmp_path / f"t.{ending}", pyarrow.Table.from_arrays(columns, [*names, "y"]))
    with pytest.raises(InputError, match=message):
        gather(path, target="y", engine=engine)


def written_arrow(path, table):
    """A table as a Parquet or an Arrow file, by its ending."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("engine", FILE_ENGINES)
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_uuids_are_the_same_categories_by_every_engine(tmp_path, ending, engine):
    ids = [UUID(int=number << 90 | 0xABC) for number in (1, 2, 3)]
    held = pyarrow.array([*(i.bytes for i in ids), None] * 2, pyarrow.binary(16))
    column = pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), held)
    path = written_arrow(tmp_path / f"t.{ending}", pyarrow.table({"id": column, "y": [0, 1, 1, 0] * 2}))
    encoder = SamplingBayesianEncoder(prior=1.0).fit(gather(path, ["id"], "y", engine=engine))
    assert encoder.evidence_.columns[0].values == tuple(str(i) for i in ids)
    encode(path, encoder, tmp_path / "out.parquet", engine=engine)
    same = encoder.transform(pandas.DataFrame({"id": [*map(str, ids), None] * 2}))
    encoded = pyarrow.parquet.read_table(tmp_path / "out.parquet").column(-1)
    np.testing.assert_array_equal(encoded.to_numpy(), same[:, 0])


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    written(tmp_path, "a.csv", "c,y\nx,0\nz,1\n")
    for content, message in [
        ("c;y\nx;0\n", "is laid out otherwise than .*a.csv: separated by ';' and not by ','"),
        ("\nc,y\nx,0\n", "with rows from line 3 on and not from line 2"),
        ("c,z\nx,0\n", "has another schema"),
        ("y,c\n0,x\n", "in another order"),
    ]:
        written(tmp_path, "b.csv", content)
        with pytest.raises(InputError, match=message):
            gather(str(tmp_path / "*.csv"), target="y")


# ------------------------------------------------------------------------------------------------ by every command


def folder_of(tmp_path, data_folder):
    """The real tables, one with tabs between its cells, and the same in several files."""
    adult = (data_folder / "adult" / "adult.data").read_text().splitlines()[:2_000]
    names = "\t".join(f"c{i}" for i in range(15))
    written(tmp_path, "adult.tsv", "\n".join([names, *(line.replace(", ", "\t") for line in adult)]))
    written(tmp_path, "half-0.data", "\n".join(adult[:1_000]))
    written(tmp_path, "half-1.data", "\n".join([*adult[1_000:], ""]))
    salaries = pandas.read_csv(data_folder / "employee_salaries" / "employee_salaries.csv")
    salaries["hired"] = pandas.to_datetime(salaries["date_first_hired"]).dt.date
    salaries["rank"] = pandas.array([None if i % 7 == 0 else i % 5 for i in range(len(salaries))], dtype="Int64")
    salaries["code"] = [f"{i % 9:03}" for i in range(len(salaries))]
    salaries["full"] = salaries["assignment_category"] == "Fulltime-Regular"
    salaries.sample(1_500, random_state=0).to_csv(tmp_path / "salaries.csv", index=False)


TABLES = {
    "adult/adult.data": ("column14", 32_561),
    "car/car.data": ("column6", 1_728),
    "nursery/nursery.data": ("column8", 12_960),
    "amazon_employee_access/train.csv": ("ACTION", 32_769),
    "employee_salaries/employee_salaries.csv": ("current_annual_salary", 9_228),
    "adult.tsv": ("c14", 2_000),
    "half-*.data": ("column14", 2_000),
    "salaries.csv": ("full", 1_500),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_command_reads_the_same_table(name, data_folder, tmp_path, monkeypatch, capsys):
    """What `encode` writes is what `compare` sees, and what `fit` counted."""
    folder_of(tmp_path, data_folder)
    monkeypatch.chdir(tmp_path)
    (target, n_rows), path = TABLES[name], str(data_folder / name) if "/" in name else name
    columns = ["--columns", "MGR_ID,RESOURCE"] if "amazon" in name else []
    assert run(["fit", path, "--target", target, "-o", "m.catbayes", *columns]) == 0
    assert run(["encode", path, "--model", "m.catbayes", "-o", "out.parquet"]) == 0
    kept = [] if not columns else ["--columns", "all"]
    assert run(["compare", path, "--target", target, "--time-budget", "0.001s", "--json", *kept]) == 1  # no time
    told = json.loads(capsys.readouterr().out)
    assert told["table"].startswith(f"{n_rows:,} rows")
    encoder = catbayes.load("m.catbayes")
    assert encoder.evidence_.total.count.tolist() == [n_rows]
    settings = {"columns": "all" if columns else "auto", "drop": (), "family": "auto", "groups": None, "time": None}
    seen = read_rows(path, target, sample=None, seed=0, **settings)
    if not columns:
        assert [*seen.categorical] == [c.name for c in encoder.evidence_.columns if c.name in seen.X]
    assert (None if seen.classes is None else [*seen.classes]) == (
        None if encoder.classes_ is None else encoder.classes_.tolist()
    )
    table = pyarrow.parquet.read_table("out.parquet")
    assert table.schema.names[: len(seen.X.columns) + 1] == read_arrow(path).schema.names
    assert table.select(read_arrow(path).schema.names).to_pylist() == read_arrow(path).to_pylist()
    for column in encoder.evidence_.columns:
        counted = dict(zip(column.values, column.statistics.count, strict=False))
        values = table[column.name].to_pandas(integer_object_nulls=True, date_as_object=True)
        assert counted == values.value_counts().to_dict(), column.name
    assert run(["posteriors", "m.catbayes", "--format", "json"]) == 0
    shown = [r["count"] for r in json.loads(capsys.readouterr().out) if r["kind"] == "seen"]
    n_classes = 1 if encoder.classes_ is None or len(encoder.classes_) == 2 else len(encoder.classes_)
    assert sum(shown) == n_classes * sum(c.statistics.count[: len(c.values)].sum() for c in encoder.evidence_.columns)


def test_what_compare_reads_of_a_file_is_what_the_engine_read(data_folder, tmp_path):
    folder_of(tmp_path, data_folder)
    settings = {"columns": "auto", "drop": (), "family": "auto", "groups": None, "time": None, "sample": None}
    rows = read_rows(tmp_path / "salaries.csv", "full", seed=0, **settings)
    assert rows.dates == ("hired",)
    assert {"rank", "year_first_hired", "current_annual_salary"} == {*rows.numeric}
    assert "code" in rows.categorical
    assert {*rows.X["code"]} == {f"{i:03}" for i in range(9)}
    assert rows.X["rank"].isna().sum() == len(read_arrow(tmp_path / "salaries.csv")) - rows.X["rank"].count()
    coded = read_rows(tmp_path / "salaries.csv", "full", seed=0, **settings | {"columns": [*rows.categorical, "rank"]})
    assert {*coded.X["rank"].dropna()} == {"0", "1", "2", "3", "4"}  # and not 0.0, because of the gaps


def test_compare_takes_files_as_fit_does(tmp_path):
    table = pandas.DataFrame({"c": ["a", "b", "c"] * 40, "n": range(120), "y": [0, 1, 1, 0] * 30})
    for number in range(2):
        part = table[number * 60 : number * 60 + 60]
        part.to_csv(tmp_path / f"{number}.csv", index=False)
    quick = {"encoders": ["target"], "models": ["linear"], "cv": 2, "repeats": 1}
    one = compare(table, "y", **quick).best.scores
    paths = [str(tmp_path / "0.csv"), tmp_path / "1.csv"]
    for source in (paths, str(tmp_path / "*.csv"), tmp_path, polars.from_pandas(table).lazy()):
        assert compare(source, "y", **quick).best.scores == one
    with pytest.raises(InputError, match="No file matches"):
        compare(tmp_path / "none.csv", "y", **quick)


# ------------------------------------------------------------------------------------------------ and its target

KINDS = [
    (["a", "b"] * 60, None),
    ([True, False] * 60, None),
    ([3, 7] * 60, None),
    ([1.0, 2.0, 3.0] * 40, None),
    ([0.5, 1.0] * 60, None),
    ([0.5, 1.5, 2.5, 3.0] * 30, None),
    ([*range(50), *range(50), *range(20)], None),
    (list(range(120)), "different whole numbers: set family"),
    (pandas.date_range("2024-01-01", periods=120), "dates or spans of time"),
]


@pytest.mark.parametrize(("y", "refused"), KINDS)
def test_classes_and_numbers_are_told_apart_by_one_rule(y, refused, tmp_path):
    table = pandas.DataFrame({"c": ["a", "b", "c"] * 40, "y": y})
    table.to_parquet(tmp_path / "t.parquet")
    actions = [
        lambda: SamplingBayesianEncoder().fit(table, "y").family_,
        lambda: gather(tmp_path / "t.parquet", target="y").family,
        lambda: compare(table, "y", cv=2, time_budget=0).rows.family,
        lambda: compare(tmp_path / "t.parquet", "y", cv=2, time_budget=0).rows.family,
    ]
    if refused is None:
        assert len({action() for action in actions}) == 1
        return
    for action in actions:
        with pytest.raises(InputError, match=refused):
            action()


@pytest.mark.parametrize("family", ["categorical", "normal", "poisson", "lognormal"])
def test_the_family_is_said_in_the_same_words_everywhere(family, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"c": random.choice(["a", "b", "c"], 300), "y": random.integers(1, 9, 300)})
    table.to_csv("t.csv", index=False)
    wanted = catbayes.families.FAMILIES[family]
    assert SamplingBayesianEncoder(family=family).fit(table, "y").family_ is wanted
    encoders = ["target", "sampling", "moments", "paper"]
    result = compare("t.csv", "y", family=family, encoders=encoders, models=["linear"], cv=2, repeats=1)
    assert result.rows.family is wanted
    assert {cell.status for cell in result.cells} == {"done"}
    settings = ["--target", "y", "--family", family]
    assert run(["fit", "t.csv", *settings, "-o", "m.catbayes"]) == 0
    assert wanted.__name__ in capsys.readouterr().err
    quick = ["--encoders", "target", "--models", "linear", "--folds", "2", "--repeats", "1"]
    assert run(["compare", "t.csv", *settings, *quick]) == 0
    assert ("8 classes" if family == "categorical" else "a number") in capsys.readouterr().out


def test_many_whole_numbers_that_are_taken_for_classes_are_told():
    table = pandas.DataFrame({"c": ["a", "b"] * 60, "y": [*range(40)] * 3})
    rows = compare(table, "y", cv=2, time_budget=0).rows
    assert len(rows.classes) == 40
    few = table.assign(y=table["y"] % 9)  # as a count often has
    assert "The 9 different whole numbers of 'y'" in compare(few, "y", cv=2, time_budget=0).rows.notes[-1]
    assert "The 40 different whole numbers of 'y' are taken for classes" in rows.notes[-1]
    assert not compare(table, "y", family="categorical", cv=2, time_budget=0).rows.notes
    assert compare(table, "y", family="normal", time_budget=0).rows.classes is None
    with pytest.raises(InputError, match=r"no class of 'y' has as many rows as there are folds.*family=\"normal\""):
        compare(table, "y")
