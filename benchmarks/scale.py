"""What do big tables cost? Ratios to the engines' own work, in one run on one machine; absolute times mean little.

    python benchmarks/scale.py [--rows 1000000 3000000 10000000 30000000] [--spark-rows 10000000] [--folder DIR]
    python benchmarks/scale.py --large 100000000 [--folder DIR]

Makes Parquet files of 5 text columns (12 to 1,000,000 levels, one of them 2 % null) and a binary target, fits and
encodes them by DuckDB and by polars, each in a process of its own with a limit of 1 GB for DuckDB, against the same
engine's bare group-by (fit) and its bare left joins written to Parquet (encode). Then Spark against Spark's own
TargetEncoder on whole-number columns, and one row against scikit-learn's TargetEncoder. `--large` fits and encodes one
large table by DuckDB, and a tenth of it, and nothing else: does the time grow as the rows do, and the memory not?
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow
import pyarrow.parquet

Engine = Literal["duckdb", "polars"]

LEVELS = (12, 300, 10_000, 200_000, 1_000_000)
COLUMNS = [f"c{number}" for number in range(len(LEVELS))]
FILE_ROWS = 1_000_000
LIMIT = "1GB"


def make_files(folder: Path, n_rows: int, text: bool) -> str:
    """Write the table in files of a million rows, unless it is there; returns its glob."""
    target = folder / f"{'text' if text else 'codes'}-{n_rows}"
    for number in range(math.ceil(n_rows / FILE_ROWS)):
        path = target / f"part-{number:03d}.parquet"
        if path.exists():
            continue
        target.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng([n_rows, number])
        size = min(FILE_ROWS, n_rows - number * FILE_ROWS)
        table = {"id": pyarrow.array(np.arange(number * FILE_ROWS, number * FILE_ROWS + size))}
        logit = np.zeros(size)
        for name, levels in zip(COLUMNS, LEVELS, strict=True):
            code = random.integers(0, levels, size)
            logit += np.sin(code)  # every level has an effect of its own
            null = random.random(size) < 0.02 if levels == 300 else None
            values = [f"{name} level {code:07d}" for code in range(levels)] if text else np.arange(levels) * 1.0
            table[name] = pyarrow.array(values).take(pyarrow.array(code, mask=null if text else None))
        table["y"] = pyarrow.array((random.random(size) < 1.0 / (1.0 + np.exp(-logit))).astype(np.int64))
        pyarrow.parquet.write_table(pyarrow.table(table), path)
    return str(target / "*.parquet")


# ------------------------------------------------------------- tasks, each run in a process of its own


def bare_groups(engine: Engine, files: str, output: str) -> None:
    for name in COLUMNS:
        if engine == "duckdb":
            connect().sql(
                f"SELECT {name}, count(*), sum(y) FROM read_parquet('{files}') GROUP BY {name}"
            ).to_arrow_table()
        else:
            import polars

            wanted = polars.len(), polars.col("y").sum()
            polars.scan_parquet(files).group_by(name).agg(*wanted).collect(engine="streaming")


def bare_joins(engine: Engine, files: str, output: str) -> None:
    """Group, join the means back and write: what any encoding has to do."""
    if engine == "duckdb":
        connection = connect()
        for name in COLUMNS:
            query = f"SELECT {name}, avg(y) AS {name}_mean FROM read_parquet('{files}') GROUP BY {name}"
            connection.execute(f"CREATE TABLE mean_{name} AS {query}")
        joins = " ".join(f"LEFT JOIN mean_{name} USING ({name})" for name in COLUMNS)
        connection.execute(f"COPY (SELECT * FROM read_parquet('{files}') {joins}) TO '{output}' (FORMAT parquet)")
        return
    import polars

    table = encoded = polars.scan_parquet(files)
    for name in COLUMNS:
        means = table.group_by(name).agg(polars.col("y").mean().alias(f"{name}_mean")).collect(engine="streaming")
        encoded = encoded.join(means.lazy(), on=name, how="left", nulls_equal=True, maintain_order="left")
    encoded.sink_parquet(output)


def fit(engine: Engine, files: str, output: str) -> Callable[[], None]:
    from catbayes import SamplingBayesianEncoder, gather

    evidence = gather(files, COLUMNS, "y", engine=engine, memory_limit=limit(engine))
    encoder = SamplingBayesianEncoder(random_state=0).fit(evidence)
    return lambda: encoder.save(output)


def encode_means(engine: Engine, files: str, output: str) -> None:
    from catbayes import encode, load

    encode(files, load(output + ".model"), output, overwrite=True)


def encode_draws(engine: Engine, files: str, output: str) -> None:
    from catbayes import encode, load

    encoder = load(output + ".model")
    encode(files, encoder, output, n_draws=1, target="y", overwrite=True)


def limit(engine: Engine) -> str | None:
    return LIMIT if engine == "duckdb" else None  # polars has no such setting


def connect() -> Any:
    import duckdb

    return duckdb.connect(config={"memory_limit": LIMIT, "temp_directory": tempfile.gettempdir()})


TASKS: dict[str, Callable[[Engine, str, str], Callable[[], None] | None]] = {
    "bare_groups": bare_groups,
    "bare_joins": bare_joins,
    "fit": fit,
    "encode_means": encode_means,
    "encode_draws": encode_draws,
}


def run_task(task: str, engine: Engine, files: str, output: str) -> dict[str, float]:
    """Run a task in a new process: its seconds without imports, and its peak memory in GB."""
    command = [sys.executable, __file__, "--task", task, engine, files, output]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{task} by {engine} failed:\n{done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def do_task(task: str, engine: Engine, files: str, output: str) -> None:
    for library in (
        "catbayes.io.encode",
        "catbayes.models.regressor",
        engine,
    ):  # imported before the clock starts, always
        import_module(library)
    start = time.perf_counter()
    afterwards = TASKS[task](engine, files, output)
    seconds = time.perf_counter() - start
    if afterwards:
        afterwards()
    with open("/proc/self/status") as status:  # getrusage would count what the parent held
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 2**20
    print(json.dumps({"seconds": seconds, "peak": peak}))


# ---------------------------------------------------------------------------------------------- reports


def measure_files(sizes: list[int], folder: Path) -> None:
    print("| engine | million rows | fit / bare group-by | encode / bare joins | draws / bare joins | peak GB: "
          "bare group-by | fit | bare joins | encode | draws |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    seconds: dict[tuple[str, str], list[float]] = {}
    for n_rows in sizes:
        files = make_files(folder, n_rows, text=True)
        for engine in ("duckdb", "polars"):
            output = str(folder / f"{engine}.parquet")
            found = {task: run_task(task, engine, files, output) for task in ("bare_groups", "bare_joins")}
            found["fit"] = run_task("fit", engine, files, output + ".model")
            for task in ("encode_means", "encode_draws"):
                found[task] = run_task(task, engine, files, output)
            for task, result in found.items():
                seconds.setdefault((engine, task), []).append(result["seconds"])
            time_of = {task: result["seconds"] for task, result in found.items()}
            ratios = (
                time_of["fit"] / time_of["bare_groups"],
                time_of["encode_means"] / time_of["bare_joins"],
                time_of["encode_draws"] / time_of["bare_joins"],
            )
            peaks = [
                found[task]["peak"] for task in ("bare_groups", "fit", "bare_joins", "encode_means", "encode_draws")
            ]
            cells = [*(f"{ratio:.2f}" for ratio in ratios), *(f"{peak:.2f}" for peak in peaks)]
            print(f"| {engine} | {n_rows / 1e6:g} | " + " | ".join(cells) + " |", flush=True)
            for left in folder.glob(f"{engine}.parquet*"):
                left.unlink()
    if len(sizes) > 1:
        print("\nGrowth with rows, the exponent of a power law between the smallest and the largest table:")
        span = math.log(sizes[-1] / sizes[0])
        for (engine, task), times in seconds.items():
            print(f"- {engine}, {task}: {math.log(times[-1] / times[0]) / span:.2f}")


def measure_large(n_rows: int, folder: Path) -> None:
    print("| million rows | fit, seconds | encode, seconds | peak GB: fit | encode |")
    print("|---|---|---|---|---|")
    found: dict[str, list[float]] = {"fit": [], "encode": []}
    for size in (n_rows // 10, n_rows):
        files, output = make_files(folder, size, text=True), str(folder / "large.parquet")
        results = run_task("fit", "duckdb", files, output + ".model"), run_task("encode_means", "duckdb", files, output)
        cells = [*(f"{one['seconds']:.0f}" for one in results), *(f"{one['peak']:.2f}" for one in results)]
        print(f"| {size / 1e6:g} | " + " | ".join(cells) + " |", flush=True)
        for times, one in zip(found.values(), results, strict=True):
            times.append(one["seconds"])
        for left in folder.glob("large.parquet*"):
            left.unlink()
    exponents = (f"{task} {math.log10(times[1] / times[0]):.2f}" for task, times in found.items())
    print(f"\nExponents of growth with rows: {', '.join(exponents)}")


def measure_spark(n_rows: int, folder: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.ml.feature import TargetEncoder
    from pyspark.sql import SparkSession

    from catbayes.spark import BayesianEncoder

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.memory", "6g").config("spark.sql.shuffle.partitions", "8").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    frame = spark.read.parquet(make_files(folder, n_rows, text=False))
    ours = BayesianEncoder(inputCols=COLUMNS, labelCol="y")
    theirs = TargetEncoder(inputCols=COLUMNS, outputCols=[f"{name}_te" for name in COLUMNS], labelCol="y")
    times: dict[str, list[float]] = {"fit": [], "fit TE": [], "transform": [], "transform TE": [], "draw": []}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = work()
        times[name].append(time.perf_counter() - start)
        return result

    for _ in range(3):  # the first round warms Spark up, and is not counted
        mine, other = timed("fit", lambda: ours.fit(frame)), timed("fit TE", lambda: theirs.fit(frame))
        for name, model in ("transform", mine), ("transform TE", other), ("draw", mine.copy({mine.nDraws: 1})):
            sink = model.transform(frame).write.format("noop").mode("overwrite")
            timed(name, sink.save)
    spark.stop()
    best = {name: min(values[1:]) for name, values in times.items()}
    print(f"\nSpark local[2], {n_rows / 1e6:g} million rows, catbayes / Spark's TargetEncoder (best of two, warm):")
    print(f"- fit {best['fit'] / best['fit TE']:.2f}")
    print(f"- transform {best['transform'] / best['transform TE']:.2f}")
    print(f"- one draw a row and column {best['draw'] / best['transform TE']:.2f}")


def measure_one_row() -> None:
    import pandas
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import TargetEncoder

    from catbayes import SamplingBayesianEncoder, SamplingClassifier

    random = np.random.default_rng(0)
    X = pandas.DataFrame({f"c{n}": random.integers(0, n, 100_000).astype(str) for n in LEVELS[:4]})
    y, one = random.integers(0, 2, 100_000), X.iloc[:1]

    def median(work: Callable[[], Any]) -> float:
        times = []
        for _ in range(30):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return float(np.median(times))

    theirs, ours = TargetEncoder().fit(X, y), SamplingBayesianEncoder(random_state=0).fit(X, y)
    pipeline = make_pipeline(TargetEncoder(), LogisticRegression()).fit(X, y)
    model = SamplingClassifier(LogisticRegression(), random_state=0).fit(X, y)
    print("\nOne row, catbayes / scikit-learn's TargetEncoder:")
    print(f"- transform {median(lambda: ours.transform(one)) / median(lambda: theirs.transform(one)):.3f}")
    print(
        f"- predict_proba {median(lambda: model.predict_proba(one)) / median(lambda: pipeline.predict_proba(one)):.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 3_000_000, 10_000_000, 30_000_000])
    parser.add_argument("--spark-rows", type=int, default=10_000_000, help="0 leaves Spark out")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "catbayes-scale")
    parser.add_argument("--large", type=int, help="rows of one large table, for which disk has to be free")
    parser.add_argument("--task", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        do_task(*arguments.task)
        return
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.large:
        measure_large(arguments.large, arguments.folder)
        return
    if arguments.rows:
        measure_files(arguments.rows, arguments.folder)
    measure_one_row()
    if arguments.spark_rows:
        measure_spark(arguments.spark_rows, arguments.folder)


if __name__ == "__main__":
    main()
