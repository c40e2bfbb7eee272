"""One table in every container and engine."""

import os
import shutil
import sys

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

FILE_ENGINES = ("duckdb", "polars")
COLUMNS = ["city", "zip", "size", "vip"]
INTERACTIONS = [("city", "size"), ("vip", "zip")]  # missing values in both parts, in one, and in none
N_ROWS = 3_000


def make_table():
    """Text with missing values, whole numbers, floats with NaN and both zeros, booleans; a target for each family."""
    random = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "id": np.arange(N_ROWS) * 7 - 50,
            "name": [f"row {i}" for i in range(N_ROWS)],
            "city": random.choice(["Oslo", "Rome", "Żary", "O'Hare", None], N_ROWS, p=[0.5, 0.3, 0.1, 0.05, 0.05]),
            "zip": random.integers(0, 400, N_ROWS),
            "size": random.choice([0.0, -0.0, 1.5, np.nan], N_ROWS),
            "vip": random.choice([True, False], N_ROWS),
            "bernoulli": random.integers(0, 2, N_ROWS),
            "categorical": random.choice(["x", "y", "z"], N_ROWS),
            "normal": 1e6 + random.normal(size=N_ROWS),
            "poisson": random.poisson(2.0, N_ROWS),
            "weight": random.integers(0, 4, N_ROWS) / 2,
            "lognormal": np.exp(random.normal(size=N_ROWS)),
            "negative_binomial": random.negative_binomial(2.0, 0.4, N_ROWS),
            "robust": np.random.default_rng(1).standard_t(2, N_ROWS),
            "binomial": random.integers(0, 5, N_ROWS) / 4,
        }
    )


TABLE = make_table()

IN_MEMORY = {
    "pandas": lambda table, folder: table,
    "pandas categories": lambda table, folder: table.astype({"city": "category"}),
    "polars": lambda table, folder: polars.from_pandas(table),
    "pyarrow": lambda table, folder: pyarrow.Table.from_pandas(table, preserve_index=False),
    "reader": lambda table, folder: pyarrow.Table.from_pandas(table, preserve_index=False).to_reader(700),
}

LAZY = {
    "polars lazy": lambda table, folder: polars.from_pandas(table).lazy(),
    "polars enum": lambda table, folder: (
        polars.from_pandas(table)
        .lazy()
        .with_columns(polars.col("city").cast(polars.Enum(sorted(table.city.dropna().unique()))))
    ),
    "DuckDB relation": lambda table, folder: duckdb.read_parquet(str(folder / "*.parquet")),
    "ibis": lambda table, folder: _ibis(folder),
    "sqlframe": lambda table, folder: _sqlframe(folder),
    "dask": lambda table, folder: _dask(folder),
}

FILES = {f"{kind} by {engine}": (engine, f"*.{kind.lower()}") for kind in ("Parquet", "CSV") for engine in FILE_ENGINES}


def write_files(table, folder):
    """Three files of each kind, in small row groups."""
    for number, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        rows = table.iloc[part]
        rows.to_parquet(folder / f"part-{number}.parquet", row_group_size=300)
        rows.to_csv(folder / f"part-{number}.csv", index=False)


def _ibis(folder):
    import ibis

    return ibis.duckdb.connect().read_parquet(str(folder / "*.parquet"))


def _sqlframe(folder):
    from sqlframe.duckdb import DuckDBSession

    return DuckDBSession(conn=duckdb.connect()).read.parquet(str(folder / "*.parquet"))


def _dask(folder):
    import dask.dataframe

    return dask.dataframe.read_parquet(str(folder / "*.parquet"))


def require_java():
    """Skip what runs Spark where there is no Java."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Spark needs Java")


def start_spark(master="local[2]"):
    """A Spark session whose workers run this Python."""
    require_java()
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "1g")
    for side in ("driver", "executor"):  # they live for a minute, in which a better compiler does not pay
        builder = builder.config(f"spark.{side}.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    session = builder.config("spark.log.level", "ERROR").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def same_statistics(one, other):
    """Require the same categories and statistics of two tables of evidence."""
    for first, second in zip(one.columns, other.columns, strict=True):
        assert first.values == second.values
        for name in first.statistics.__slots__:
            mine, theirs = getattr(first.statistics, name), getattr(second.statistics, name)
            np.testing.assert_allclose(mine, theirs, rtol=1e-10 if name != "m2" else 1e-6, err_msg=str(first.name))
    assert one.squares == pytest.approx(other.squares)
