"""Encoders in SQL and ONNX: a query and a graph give the numbers of `transform`."""

import datetime
import re
import sqlite3
import subprocess
import sys
from itertools import product

import duckdb
import numpy as np
import onnx
import onnxruntime
import pandas
import polars
import pytest

from catbayes import InputError, SamplingBayesianEncoder, Scaled
from catbayes.kinds import Nested
from catbayes.mappings import PosteriorMoments

N_ROWS = 300
RANDOM = np.random.default_rng(0)
DAY = datetime.date(2024, 2, 28)
KNOWN = {
    'the "city"': ["Oslo", "O'Higgins", 'a "b"', "back\\slash", "two\nlines", "Größe", " ", "NULL"],
    "shop": [-3, 0, 7, 2**40],
    "size": [0.1, -2.5, 1 / 3, 1e-300, 0.0, 12.0],
    "member": [True, False],
    "day": [DAY + datetime.timedelta(days=i) for i in range(3)],
    "moment": [datetime.datetime(2024, 1, 1), *(datetime.datetime(2024, 1, 1, 12, 30, 0, i) for i in (0, 250_000))],
}
STRANGE = ["Atlantis", 999, 0.1000001, None, datetime.date(1999, 1, 1), datetime.datetime(2024, 1, 1, 12, 30, 1)]
GRAPHED = list(KNOWN)[:4]  # ONNX has no dates
HIERARCHY = {"shop": Nested(["member", 'the "city"']), "size": Nested(["member"])}
INTERACTIONS = [('the "city"', "shop"), ("member", "shop", "size")]
TARGETS = {
    "bernoulli": RANDOM.choice(["no", "yes"], N_ROWS),
    "categorical": RANDOM.choice(["red", "it's", "blue"], N_ROWS),
    "normal": RANDOM.normal(size=N_ROWS) * 1e4,
    "negative_binomial": np.random.default_rng(1).negative_binomial(0.5, 0.1, N_ROWS),
}


def rows(values, missing=True):
    """A table of random values, some of them missing."""

    def column(options):
        return [options[i] for i in RANDOM.integers(len(options), size=N_ROWS)]

    return polars.DataFrame({name: column([*known, *[None] * missing]) for name, known in values.items()})


TRAIN = rows(KNOWN)
NEW = rows({name: [*known, strange] for (name, known), strange in zip(KNOWN.items(), STRANGE, strict=True)})
ENCODERS = [
    *(
        SamplingBayesianEncoder("all", family=family, mapping=mapping, random_state=0)
        for family in TARGETS
        for mapping in ("mean", "polynomial")
    ),
    # An expectation by draws differs in each slot, so that an exchange of slots is found.
    SamplingBayesianEncoder("all", family="bernoulli", mapping=np.sqrt, temperature=1, missing="prior", random_state=0),
    SamplingBayesianEncoder("all", family="normal", mapping=PosteriorMoments(n_moments=3)),
    SamplingBayesianEncoder("all", family="normal", interactions=INTERACTIONS, random_state=0),
    SamplingBayesianEncoder("all", family="bernoulli", interactions=INTERACTIONS, missing="prior", random_state=0),
    SamplingBayesianEncoder("all", family="normal", kinds=HIERARCHY, random_state=0),
    SamplingBayesianEncoder("all", family="bernoulli", kinds=HIERARCHY, missing="prior", random_state=0),
]
EACH_ENCODER = pytest.mark.parametrize("encoder", ENCODERS, ids=str)


def by_duckdb(query, table):
    with duckdb.connect() as connection:
        connection.register("rows", table.with_row_index("id"))
        return connection.sql(query).pl().sort("id").drop("id")


def by_sqlite(query, table):
    text = [name for name in table.columns if table[name].dtype.is_temporal()]
    table = table.with_row_index("id").with_columns(
        polars.Series(name, [None if v is None else str(v) for v in table[name]]) for name in text
    )
    connection = sqlite3.connect(":memory:")
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in table.columns)
    connection.execute(f"CREATE TABLE rows ({names})")
    connection.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * table.width)})", table.rows())
    cursor = connection.execute(query + " ORDER BY id")
    names = [about[0] for about in cursor.description]
    found = polars.DataFrame(cursor.fetchall(), schema=names, orient="row", infer_schema_length=None)
    connection.close()
    return found.drop("id")


def by_onnx(model, table):
    """All outputs side by side; a missing string is the empty one, a missing number NaN."""
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    types = {"tensor(string)": object, "tensor(int64)": np.int64, "tensor(double)": float, "tensor(bool)": bool}
    gaps = {"tensor(string)": "", "tensor(double)": np.nan}
    feed = {}
    names = {re.sub(r"\W", "_", name): name for name in table.columns}
    for given in session.get_inputs():
        values = [gaps[given.type] if value is None else value for value in table[names[given.name]]]
        feed[given.name] = np.array(values, dtype=types[given.type])[:, None]
    return np.concatenate(session.run(None, feed), axis=1)


RUN = {"duckdb": by_duckdb, "sqlite": by_sqlite}
EACH_DATABASE = pytest.mark.parametrize("dialect", RUN)


def encoded_by(dialect, encoder, table):
    """The new columns; the old ones must be unchanged."""
    found = RUN[dialect](encoder.to_sql(dialect), table)
    assert found.columns[: table.width] == table.columns
    assert found.height == table.height
    return found[:, table.width :]


@EACH_DATABASE
@EACH_ENCODER
def test_a_query_gives_what_transform_gives(encoder, dialect):
    encoder.fit(TRAIN, TARGETS[encoder.family])
    found = encoded_by(dialect, encoder, NEW)
    np.testing.assert_allclose(found.to_numpy(), encoder.transform(NEW), rtol=1e-12, atol=0)


@pytest.mark.parametrize("encoder", [*ENCODERS[3:5], *ENCODERS[-4:]], ids=str)
def test_a_query_that_joins_lookup_tables_gives_what_transform_gives(encoder, tmp_path):
    encoder.fit(TRAIN, TARGETS[encoder.family])
    with duckdb.connect() as connection:
        connection.register("rows", NEW.with_row_index("id"))
        connection.sql("CREATE SCHEMA lookups")
        for name, frame in encoder.to_frames("known").items():
            frame.write_parquet(tmp_path / f"{name}.parquet")
            connection.sql(f"CREATE TABLE lookups.{name} AS FROM '{tmp_path}/{name}.parquet'")
        query = encoder.to_sql("duckdb", lookup="lookups.known")
        found = connection.sql(query).pl().sort("id")[:, 1 + NEW.width :]
    assert "VALUES" not in query
    np.testing.assert_allclose(found.to_numpy(), encoder.transform(NEW), rtol=1e-12, atol=0)


@EACH_ENCODER
def test_a_graph_gives_what_transform_gives(encoder):
    complete = polars.col("shop", "member").fill_null(strategy="backward").fill_null(strategy="forward")
    train, new = (table[GRAPHED].with_columns(complete) for table in (TRAIN, NEW))
    encoder.fit(train, TARGETS[encoder.family])
    np.testing.assert_array_equal(by_onnx(encoder.to_onnx(), new), encoder.transform(new))


def test_nan_in_a_parquet_file_is_missing(tmp_path):
    """DuckDB's isnan() reads the statistics of the file, which ignore NaN."""
    table = polars.DataFrame({"size": [1.5, 2.5, float("nan")] * 2})
    encoder = SamplingBayesianEncoder(["size"], prior=Scaled(0)).fit(table, [0, 1, 1, 0, 0, 1])
    for strange in (7.5, float("inf"), None):
        new = polars.concat([table, polars.DataFrame({"size": [strange]}, schema=table.schema)])
        new.write_parquet(tmp_path / "t.parquet")
        found = duckdb.sql(encoder.to_sql("duckdb", f"'{tmp_path}/t.parquet'")).pl()
        np.testing.assert_allclose(found["size_encoded"], encoder.transform(new)[:, 0])
    assert "CAST('NaN' AS DOUBLE PRECISION)" in encoder.to_sql("postgres")  # equal to itself there
    assert "nan" not in encoder.to_sql("mysql").lower()


def test_the_empty_string_is_a_category_if_it_was_one_at_fit():
    train = polars.DataFrame({"city": ["", "", "a", None]})
    encoder = SamplingBayesianEncoder().fit(train, [0, 0, 1, 1])
    empty, gap = encoder.transform(polars.DataFrame({"city": ["", None]}))[:, 0]
    assert empty != gap
    np.testing.assert_array_equal(by_onnx(encoder.to_onnx(), polars.DataFrame({"city": [""]})), [[empty]])


EVERY_DIALECT = """
import polars, sqlglot, sys
from catbayes import SamplingBayesianEncoder
table = polars.DataFrame({"the city": ["Oslo", "O'Higgins", None], "shop": [1, 2, 3], "size": [0.1, 2.5, None]})
encoder = SamplingBayesianEncoder("all", mapping="polynomial", interactions=[("shop", "size")]).fit(table, [0, 1, 1])
for dialect in sys.argv[1:]:
    query = encoder.to_sql(dialect, table="sales.visits")
    assert isinstance(sqlglot.parse_one(query, read=dialect), sqlglot.exp.Select), dialect
"""


def test_every_dialect_can_read_its_query():
    """In a process of its own: sqlframe, in other tests, goes wrong where sqlglot has loaded all its dialects."""
    with pytest.raises(InputError, match="expected one of") as caught:
        SamplingBayesianEncoder().fit(polars.DataFrame({"city": ["a", "b"]}), [0, 1]).to_sql("none of them")
    dialects = re.findall(r'"(\w+)"', str(caught.value))
    command = [sys.executable, "-c", EVERY_DIALECT, *dialects]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert len(dialects) > 20


CITIES, SHOPS = ["Oslo", "Rome", "Bonn", None], [1.0, 2.0, 9.0, None]  # Bonn and 9 are unseen
LINKED = {
    "hierarchy": ({"columns": ["shop"], "kinds": {"shop": Nested(["city"])}}, [(0, 1)]),
    "interactions": ({"columns": "all", "interactions": [("city", "shop")]}, [(0,), (1,), (0, 1)]),
}


@pytest.mark.parametrize("missing", ["category", "prior", "error"])
@pytest.mark.parametrize("linked", LINKED)
def test_unseen_and_missing_combinations_are_encoded_as_transform_does(linked, missing):
    """Where `transform` would raise an error, outputs that depend on a missing value are NaN."""
    settings, parts = LINKED[linked]
    pairs = [("Oslo", 1.0), ("Oslo", 2.0), ("Rome", 1.0), ("Rome", 1.0), (None, 2.0), ("Oslo", None), (None, None)]
    train = polars.DataFrame(pairs[: 4 if missing == "error" else 7] * 3, schema=["city", "shop"], orient="row")
    encoder = SamplingBayesianEncoder(**settings, missing=missing, family="normal", prior=Scaled(1.0))
    encoder.fit(train, np.arange(train.height) ** 1.5)
    new = polars.DataFrame(list(product(CITIES, SHOPS)), schema=train.schema, orient="row")
    filled = new.with_columns(polars.col("city").fill_null("Oslo"), polars.col("shop").fill_null(1.0))
    expected = encoder.transform(filled if missing == "error" else new)[:, -len(parts) :].astype(float)
    if missing == "error":
        gaps = np.stack([new["city"].is_null(), new["shop"].is_null()], axis=1)
        expected[np.stack([gaps[:, part].any(axis=1) for part in parts], axis=1)] = np.nan
    for dialect in RUN:
        found = encoded_by(dialect, encoder, new).cast(polars.Float64)
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(by_onnx(encoder.to_onnx(), new), expected, rtol=1e-12)


def test_names_in_a_graph_are_clean_and_unique():
    table = polars.DataFrame({"a b": ["x", "y", "y"], "a-b": ["x", "x", "y"]})
    model = SamplingBayesianEncoder(mapping="polynomial").fit(table, [0, 1, 1]).to_onnx()
    assert [given.name for given in model.graph.input] == ["a_b", "a_b_2"]
    assert [given.name for given in model.graph.output] == ["a_b_encoded", "a_b_encoded_2"]
    about = {entry.key: entry.value for entry in model.metadata_props}
    assert about["a_b_2"] == '"a-b"'
    assert about["a_b_encoded"] == '["a b_encoded_mean", "a b_encoded_square"]'


def test_the_name_of_the_table_is_checked():
    encoder = SamplingBayesianEncoder().fit(polars.DataFrame({"city": ["a", "b"]}), [0, 1])
    for table in ("", None):
        with pytest.raises(InputError, match="expected the name of a table"):
            encoder.to_sql(table=table)
    assert 'FROM sales."my visits" AS' in encoder.to_sql(table='sales."my visits"')
    assert "N'a'" in encoder.to_sql("tsql")  # Unicode in SQL Server
    assert 'FROM "DROP TABLE x" AS' in encoder.to_sql(table="DROP TABLE x")


@pytest.mark.parametrize(("package", "extra"), [("sqlglot", "sql"), ("onnx", "onnx")])
def test_a_missing_library_is_named_with_its_extra(package, extra):
    """In a process of its own, in which nothing has imported the library yet."""
    code = f"""
import sys
sys.modules[{package!r}] = None
import polars
from catbayes import SamplingBayesianEncoder
SamplingBayesianEncoder().fit(polars.DataFrame({{"city": ["a", "b"]}}), [0, 1]).to_{extra}()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f'pip install "catbayes[{extra}]"' in found.stderr.splitlines()[-1]


def fitted_on_text(*values):
    table = pandas.DataFrame({"code": pandas.Series(values * 20, dtype=object)})
    return SamplingBayesianEncoder(prior=Scaled(0.1), random_state=0).fit(table, [0, 1] * (10 * len(values))), table


def test_a_nul_character_is_refused_by_name_where_a_query_cannot_hold_it():
    encoder, table = fitted_on_text("a\0b", "a\0c", "a", "a\0")
    with pytest.raises(
        InputError, match=r"Column 'code' has the category 'a\\x00', and a query for sqlite cannot hold"
    ):
        encoder.to_sql("sqlite")
    found = by_duckdb(encoder.to_sql("duckdb"), polars.from_pandas(table))
    np.testing.assert_array_equal(found["code_encoded"].to_numpy(), encoder.transform(table)[:, 0])
    rows = polars.from_pandas(table)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (id, code)")
    connection.executemany("INSERT INTO rows VALUES (?, ?)", rows.with_row_index("id").rows())
    known = encoder.to_frames()["known_0"]
    connection.execute("CREATE TABLE known_0 (code, code_encoded)")
    connection.executemany("INSERT INTO known_0 VALUES (?, ?)", known.itertuples(index=False))
    answers = connection.execute(encoder.to_sql("sqlite", lookup="known") + " ORDER BY id").fetchall()
    np.testing.assert_array_equal([answer[-1] for answer in answers], encoder.transform(table)[:, 0])


@pytest.mark.parametrize("name", ["to_onnx", "to_sql", "to_frames"])
def test_half_of_a_surrogate_pair_is_refused_by_name(name):
    encoder, _ = fitted_on_text("a\ud800", "b")
    with pytest.raises(InputError, match=r"Column 'code' has a category with '\\ud800', half of a surrogate pair"):
        getattr(encoder, name)()
