"""Many threads, forks, categories, columns, classes and batches: what they cost, and that answers stay the same.

`python tests/load.py` writes what it saw to `build/reliability/load.json`; `--small` is for a look, and `--large` has
ten million categories.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas

from catbayes import SamplingBayesianEncoder, SamplingClassifier, Scaled


def memory():
    """Megabytes that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * resource.getpagesize() / 1e6)


def peak():
    """Megabytes that this process had at most."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)


def timed(action):
    start = time.monotonic()
    result = action()
    return result, round(time.monotonic() - start, 2)


def threads(n_rows):
    """Eight threads on one fitted encoder and one model give what one thread gives; so does a child forked then."""
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"city": random.integers(500, size=n_rows).astype(str), "age": random.normal(size=n_rows)})
    y = random.integers(2, size=n_rows)
    encoder = SamplingBayesianEncoder(random_state=0).fit(X, y)
    model = SamplingClassifier(random_state=0).fit(X, y)
    alone = [encoder.transform(X), encoder.sample(X)[0], model.predict_proba(X)]

    def all_of_it(_):
        return [encoder.transform(X), encoder.sample(X)[0], model.predict_proba(X)]

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(all_of_it, range(24)):
            for one, other in zip(alone, found, strict=True):
                np.testing.assert_array_equal(one, other)
        child = os.fork()
        if child == 0:
            same = np.array_equal(encoder.transform(X), alone[0]) and np.array_equal(encoder.sample(X)[0], alone[1])
            os._exit(0 if same else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return {"calls": 24, "threads": 8, "forked": 1, "differences": 0}


def categories(count):
    """As many categories as rows, twice."""
    names = pandas.DataFrame({"c": np.char.add("c", np.arange(count).astype(str)).astype(object)})
    X, y = pandas.concat([names, names]), np.tile([0, 1, 1, 0, 1], 2 * count // 5 + 1)[: 2 * count]
    encoder, seconds = timed(lambda: SamplingBayesianEncoder(random_state=0).fit(X, y))
    features, later = timed(lambda: encoder.transform(X))
    assert np.isfinite(features).all()
    table = round(X.memory_usage(deep=True).sum() / 1e6)
    seen = {"categories": count, "rows": 2 * count, "fit": seconds, "transform": later}
    return seen | {"megabytes at most": peak(), "megabytes of the table": table}


def columns(count, n_rows=2_000):
    """Columns of twenty categories."""
    random = np.random.default_rng(0)
    X = pandas.DataFrame(random.integers(20, size=(n_rows, count)).astype(str)).add_prefix("c")
    y = random.integers(2, size=n_rows)
    features, seconds = timed(lambda: SamplingBayesianEncoder(random_state=0).fit_transform(X, y))
    assert features.shape == (n_rows, count)
    return {"columns": count, "rows": n_rows, "fit_transform": seconds, "megabytes": memory()}


def classes(count):
    """Classes of four rows each."""
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(count), 4).astype(str)
    X = pandas.DataFrame({"c": random.integers(50, size=len(y)).astype(str)})
    encoder, seconds = timed(lambda: SamplingBayesianEncoder(prior=Scaled(1e-3), random_state=0).fit(X, y))
    features, later = timed(lambda: encoder.transform(X[:100]))
    np.testing.assert_allclose(features.sum(axis=1), 1.0)
    return {"classes": count, "rows": len(y), "fit": seconds, "transform of 100": later, "megabytes": memory()}


def batches(count, size=50):
    """Small batches of a thousand categories, one after the other: time and memory of the first and of the last."""
    random, encoder = np.random.default_rng(0), SamplingBayesianEncoder(prior=Scaled(1e-3), random_state=0)
    X = pandas.DataFrame({"c": random.integers(1_000, size=(count, size)).ravel().astype(str)})
    y = random.integers(2, size=count * size)
    seconds, megabytes = [], []
    for number in range(count):
        rows = slice(number * size, (number + 1) * size)
        seconds.append(timed(lambda rows=rows: encoder.partial_fit(X[rows], y[rows]))[1])
        megabytes.append(memory())
    assert encoder.evidence_.total.count[0] == count * size
    tenth = max(count // 10, 1)
    middle, last = np.mean(seconds[4 * tenth : 5 * tenth]), np.mean(seconds[-tenth:])
    return {
        "batches": count,
        "rows": count * size,
        "time of the last tenth over the fifth": round(float(last / middle), 2),
        "megabytes grown since the fifth tenth": megabytes[-1] - megabytes[count // 2],
    }


def main():
    """Try all of it, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--write", type=Path, default=Path("build/reliability/load.json"))
    given = parser.parse_args()
    scale = 100 if given.small else 1
    start = time.monotonic()
    record = {
        "threads": threads(20_000 // scale),
        "batches": batches(3_000 // scale),
        "columns": columns(1_000 // scale),
        "classes": classes(5_000 // scale),
        "categories": categories(10_000_000 if given.large else 1_000_000 // scale),
    }
    record["seconds"] = round(time.monotonic() - start)
    given.write.parent.mkdir(parents=True, exist_ok=True)
    given.write.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
