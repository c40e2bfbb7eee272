"""The table that encoders are timed on, in four containers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import polars

LEVELS = (2, 20, 300, 5_000, 30_000, 100_000)


def make_table(n_rows: int, levels: tuple[int, ...] = LEVELS) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """Zipf-distributed categories, and a target that depends on them weakly."""
    random = np.random.default_rng(0)
    logit = np.zeros(n_rows)
    objects, numbers = {}, {}
    for place, n_levels in enumerate(levels):
        share = 1.0 / np.arange(1, n_levels + 1)
        code = random.choice(n_levels, n_rows, p=share / share.sum())
        objects[f"column_{place}"] = np.array([f"level_{i}" for i in range(n_levels)], dtype=object)[code]
        numbers[f"column_{place}"] = random.permutation(n_levels)[code]
        logit += random.normal(scale=0.3, size=n_levels)[code]
    y = (random.random(n_rows) < 1.0 / (1.0 + np.exp(-logit))).astype(int)
    frame = pandas.DataFrame(objects).astype(object)
    strings = frame.astype("str")
    containers = {"pandas objects": frame, "pandas strings": strings, "polars": polars.from_pandas(strings)}
    return containers | {"whole numbers": pandas.DataFrame(numbers).to_numpy()}, y


def size(container: Any) -> float:
    """Memory of a table in MB; of objects, the pointers and not what they share."""
    if isinstance(container, pandas.DataFrame):
        return float(container.memory_usage().sum()) / 2**20
    return float(
        container.estimated_size("mb") if isinstance(container, polars.DataFrame) else container.nbytes / 2**20
    )
