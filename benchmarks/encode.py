"""How fast is the encoder against its peers? Ratios in one run on one machine; absolute times mean little.

    python benchmarks/encode.py [--rows 1000000] [--repeat 2] [--peers scikit-learn LeaveOneOut …]

Six string columns with 2 to 100,000 Zipf-distributed levels and a binary target, as pandas objects, pandas strings and
polars. Every peer encodes the same table, as often as we do; category_encoders knows pandas only.
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from collections.abc import Callable
from typing import Any

import category_encoders
import numpy as np
import pandas
import polars
from sklearn.preprocessing import TargetEncoder

from catbayes import Draws, SamplingBayesianEncoder

LEVELS = (2, 20, 300, 5_000, 30_000, 100_000)


def make_table(n_rows: int) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """Zipf-distributed strings, and a target that depends on them weakly."""
    random = np.random.default_rng(0)
    logit = np.zeros(n_rows)
    columns = {}
    for levels in LEVELS:
        share = 1.0 / np.arange(1, levels + 1)
        code = random.choice(levels, n_rows, p=share / share.sum())
        columns[f"levels_{levels}"] = np.array([f"level_{i}" for i in range(levels)], dtype=object)[code]
        logit += random.normal(scale=0.3, size=levels)[code]
    y = (random.random(n_rows) < 1.0 / (1.0 + np.exp(-logit))).astype(int)
    objects = pandas.DataFrame(columns).astype(object)
    strings = objects.astype("str")
    containers = {"pandas object": objects, "pandas string": strings, "polars": polars.from_pandas(strings)}
    return containers, y


def resident(field: str) -> float:
    """Memory of this process in MB: VmRSS now, or VmHWM at its highest since it was last reset."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(field))


def measure(repeat: int, task: Callable[..., Any], *arguments: Any) -> tuple[float, float]:
    """Best time of several, and the highest memory above the start."""
    times, peaks = [], []
    for _ in range(repeat):
        gc.collect()
        with open("/proc/self/clear_refs", "w") as reset:
            reset.write("5")
        before, start = resident("VmRSS"), time.perf_counter()
        task(*arguments)
        times.append(time.perf_counter() - start)
        peaks.append(resident("VmHWM") - before)
    return min(times), min(peaks)


def peers(n_jobs: int) -> dict[str, Callable[[], Any]]:
    """Make each encoder anew."""
    return {
        "catbayes": lambda: SamplingBayesianEncoder(random_state=0),
        f"catbayes n_jobs={n_jobs}": lambda: SamplingBayesianEncoder(random_state=0, n_jobs=n_jobs),
        "catbayes exact": lambda: SamplingBayesianEncoder(random_state=0, draws=Draws(sampler="exact")),
        "scikit-learn": lambda: TargetEncoder(),
        "LeaveOneOut": lambda: category_encoders.LeaveOneOutEncoder(),
        "TargetEncoder (c_e)": lambda: category_encoders.TargetEncoder(),
        "CatBoostEncoder": lambda: category_encoders.CatBoostEncoder(),
    }


def size(container: Any) -> float:
    """Memory of the input in MB."""
    if isinstance(container, pandas.DataFrame):
        return float(container.memory_usage(deep=True).sum()) / 2**20
    return float(container.estimated_size("mb"))


def compare(n_rows: int, repeat: int, n_jobs: int, chosen: list[str]) -> None:
    """Print times as multiples of catbayes, container by container."""
    containers, y = make_table(n_rows)
    for container, table in containers.items():
        print(f"\n{container}: {n_rows:,} rows × {len(LEVELS)} columns, {size(table):.0f} MB")
        print(f"{'':22}{'fit':>9}{'fit_transform':>15}{'transform':>11}{'peak / input':>14}")
        unit: tuple[float, ...] = ()
        for name, make in peers(n_jobs).items():
            if chosen and not any(word in name for word in ("catbayes", *chosen)):
                continue
            if container == "polars" and type(make()).__module__.startswith("category_encoders"):
                continue
            fit, _ = measure(repeat, make().fit, table, y)
            both, peak = measure(repeat, make().fit_transform, table, y)
            fitted = make().fit(table, y)
            new, _ = measure(repeat, fitted.transform, table)
            unit = unit or (fit, both, new)
            ratios = [value / base for value, base in zip((fit, both, new), unit, strict=True)]
            print(f"{name:22}{ratios[0]:8.1f}×{ratios[1]:14.1f}×{ratios[2]:10.1f}×{peak / size(table):14.1f}")
            if unit == (fit, both, new):
                print(f"{'':4}(1× = {fit:.2f} s, {both:.2f} s, {new:.2f} s here)")


def compare_draws(n_rows: int, repeat: int) -> None:
    """Print what a draw costs beyond numpy's own `Generator.beta` with the same parameters."""
    containers, y = make_table(n_rows)
    table = containers["polars"]
    random = np.random.default_rng(0)
    print(f"\ncost of a draw, {n_rows:,} rows of one column, as a multiple of Generator.beta on arrays")
    for levels in LEVELS:
        column = table.select(f"levels_{levels}")
        line = f"{levels:>9,} levels"
        for sampler in ("auto", "exact"):
            encoder = SamplingBayesianEncoder(random_state=0, draws=Draws(sampler=sampler)).fit(column, y)
            expectation, _ = measure(repeat, encoder.transform, column)
            sampled, _ = measure(repeat, encoder.sample, column, 5)
            fitted = encoder.encoding_.columns[0]
            rows = fitted.family.take(fitted.posteriors.index.sources[0].codes(column.to_series()))
            plain, _ = measure(repeat, random.beta, *rows.arrays().values())
            line += f"   {sampler} {(sampled - expectation) / 5 / plain:.2f}×"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--peers", nargs="*", default=[], help="only these, by a part of their name")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    compare(options.rows, options.repeat, options.n_jobs, options.peers)
    compare_draws(options.rows, options.repeat)


if __name__ == "__main__":
    main()
