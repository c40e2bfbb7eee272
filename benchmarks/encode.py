"""How fast are encoders and models against their peers? Ratios in one run on one machine; absolute times mean little.

    python benchmarks/encode.py [--rows 400000] [--repeat 5] [--page docs/speed.md]

Six columns with 2 to 100,000 Zipf-distributed levels and a binary target, as pandas objects, pandas strings, polars
and whole numbers. Every peer encodes the same table, in turn with us, as often as we do, and the best of its times
counts; category_encoders knows pandas only. Times are seconds of processor, of all threads of the process, so that
others on the machine disturb them little; memory is the peak of a process that does nothing else. `pandas.factorize`,
and polars' own cast to categories, are the floor: whoever encodes has to number the categories first. With
CATBAYES_DATA, models on Adult and Amazon Employee Access too.
"""

from __future__ import annotations

import argparse
import os
import platform
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import boosting
import category_encoders
import numpy as np
import pandas
import polars
from measuring import alone, in_turn, peak
from sklearn.preprocessing import TargetEncoder
from tables import make_table, size

from catbayes import SamplingBayesianEncoder

OURS, THEIRS = "catbayes", "scikit-learn TargetEncoder"
PEERS: dict[str, Callable[[], Any]] = {
    OURS: partial(SamplingBayesianEncoder, random_state=0),
    THEIRS: partial(TargetEncoder, random_state=0),
    "category_encoders LeaveOneOutEncoder": category_encoders.LeaveOneOutEncoder,
    "category_encoders TargetEncoder": category_encoders.TargetEncoder,
    "category_encoders CatBoostEncoder": category_encoders.CatBoostEncoder,
}
FLOOR = "floor: the categories numbered, and nothing else"
CONTAINERS = ("pandas objects", "pandas strings", "polars", "whole numbers")


def number_categories(table: Any) -> None:
    """What every encoder has to do first."""
    if isinstance(table, polars.DataFrame):
        table.select(polars.all().cast(polars.Categorical))
    else:
        columns = [table[name] for name in table] if isinstance(table, pandas.DataFrame) else table.T
        for column in columns:
            pandas.factorize(column)


def fit(make: Callable[[], Any], table: Any, y: Any) -> Any:
    return make().fit(table, y)


def fit_transform(make: Callable[[], Any], table: Any, y: Any) -> Any:
    return make().fit_transform(table, y)


def peak_of(container: str, name: str, n_rows: int) -> float:
    """Peak of memory of `fit_transform`, as a multiple of the table, in a process that has loaded all libraries."""
    containers, y = make_table(1_000)
    fit_transform(PEERS[name], containers[container], y)
    containers, y = make_table(n_rows)
    table = containers[container]
    del containers
    return peak(partial(fit_transform, PEERS[name], table, y)) / size(table)


NUMBER, CODE = 8, 4
"""Bytes of a feature, and of the number of a category."""


def least(table: Any) -> float:
    """Memory, in tables, of the features and of the numbers of the categories that they are made of."""
    n_rows, n_columns = table.shape
    return float(n_rows * n_columns * (NUMBER + CODE) / 2**20 / size(table))


def compare(n_rows: int, repeat: int) -> list[str]:
    """Times of peers as multiples of ours, container by container."""
    containers, y = make_table(n_rows)
    lines = [
        f"## Encoding {n_rows:,} rows of six columns",
        "",
        "How many times as long as catbayes the others take; its own line has the milliseconds.",
        "",
        "| table | encoder | `fit_transform` | `fit` | `transform` | peak of memory, in tables |",
        "|---|---|---|---|---|---|",
    ]
    for container in CONTAINERS:
        table = containers[container]
        known = isinstance(table, pandas.DataFrame)
        makers = {name: make for name, make in PEERS.items() if known or not name.startswith("category_encoders")}
        tasks = {name: partial(fit_transform, make, table, y) for name, make in makers.items()}
        both = in_turn(tasks | {FLOOR: partial(number_categories, table)}, repeat)
        fitting = in_turn({name: partial(fit, make, table, y) for name, make in makers.items()}, repeat)
        fitted = {name: make().fit(table, y) for name, make in makers.items()}
        new = in_turn({name: partial(one.transform, table) for name, one in fitted.items()}, repeat)
        for name in makers:
            times = [f"{found[name] / found[OURS]:.1f} ×" for found in (both, fitting, new)]
            if name == OURS:
                times = [f"{1000 * found[name]:.0f} ms" for found in (both, fitting, new)]
            memory = f"{alone(peak_of, container, name, n_rows):.1f}" if name in (OURS, THEIRS) else ""
            lines.append(f"| {container} | {name} | {' | '.join(times)} | {memory} |")
        lines.append(f"| {container} | {FLOOR} | {both[FLOOR] / both[OURS]:.2f} × | | | {least(table):.1f} |")
    share = NUMBER / (NUMBER + CODE)
    floors = ", ".join(f"{share * least(one):.2f} and {least(one):.2f} for {name}" for name, one in containers.items())
    return [
        *lines,
        "",
        f"Features of {NUMBER} bytes, and with them the numbers of {CODE} bytes of the categories they are made of,",
        f"take so many tables: {floors}.",
        "What was learnt comes on top, so that a peak of memory with both of them cannot be lower.",
    ]


def exponent(sizes: list[int], times: list[float]) -> float:
    """The slope of log time by log size: 1 is a time that grows as the size does."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def growth(n_rows: int, repeat: int) -> list[str]:
    """How the time of `fit_transform` grows with rows, columns and levels, on strings of pandas."""

    def seconds(rows: int, levels: tuple[int, ...], make: Callable[[], Any]) -> float:
        containers, y = make_table(rows, levels)
        return in_turn({"one": partial(fit_transform, make, containers["pandas strings"], y)}, repeat)["one"]

    walks: dict[str, list[tuple[int, int, tuple[int, ...]]]] = {
        "rows": [(rows, rows, (20, 1_000)) for rows in (n_rows // 4, n_rows, 4 * n_rows)],
        "columns": [(n, n_rows // 4, (300,) * n) for n in (4, 12, 36)],
        "levels": [(n, n_rows, (n,)) for n in (1_000, 10_000, 100_000)],
    }
    lines = [
        "## Growth",
        "",
        "The exponent of the time of `fit_transform` on strings of pandas by the size of one thing, the others as they",
        "are: 1 is a time that grows as fast as it does.",
        "",
        "| grows with | from | to | catbayes | scikit-learn |",
        "|---|---|---|---|---|",
    ]
    for what, walk in walks.items():
        sizes = [point[0] for point in walk]
        makers = PEERS[OURS], PEERS[THEIRS]
        slopes = [exponent(sizes, [seconds(*point[1:], make) for point in walk]) for make in makers]
        lines.append(f"| {what} | {sizes[0]:,} | {sizes[-1]:,} | {slopes[0]:.2f} | {slopes[1]:.2f} |")
    return lines


INTRODUCTION = """# Speed

Encoding should never be the slow step. This page is written by `make bench` (`benchmarks/encode.py`), in one run on one
machine: every encoder takes its turn with the others on the same table, {repeat} times, and the best of its times
counts, in seconds of processor of all threads together. The table has six columns with 2 to 100,000 levels, distributed
as Zipf has it, and a binary target. Ours draws, and leaves each row's own target out.

Python {python}, {libraries}; {cores} cores of {machine}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--page", type=Path, help="write the page, in the place of printing it")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    used = ("numpy", "pandas", "polars", "pyarrow", "scikit-learn", "category_encoders", "lightgbm", "catboost")
    introduction = INTRODUCTION.format(
        repeat=options.repeat,
        python=platform.python_version(),
        libraries=", ".join(f"{name} {version(name)}" for name in used),
        cores=os.cpu_count(),
        machine=platform.machine(),
    )
    few = max(1, options.repeat // 2)
    parts = [compare(options.rows, options.repeat), growth(options.rows, few), boosting.copies(few)]
    if "CATBAYES_DATA" in os.environ:
        parts += [*boosting.models(few)]
    text = "\n".join([introduction, *("\n".join([*part, ""]) for part in parts)])
    if options.page is None:
        print(text)
    else:
        options.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
