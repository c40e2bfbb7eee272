"""The tables that the benchmarks read: the public ones, those of R's packages, and two simulated ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from catbayes.comparison._rows import Rows, read_rows
from catbayes.datasets import Dataset, load, make_transactions
from experiments import rdata

SIMULATED = {"payments": ("fraud", 0), "amounts": ("amount", 1)}
"""The target and the seed of each."""
N_SIMULATED = 10_000


@cache
def read_table(name: str) -> Rows:
    """A table as a comparison takes it; counts are taken for numbers."""
    data = _load(name)
    return read_rows(
        data.table,
        data.y,
        columns=list(data.categorical),
        drop=(),
        family="normal" if data.task in ("regression", "count") else "auto",
        groups=None,
        time=None,
        sample=None,
        seed=0,
    )


def _load(name: str) -> Dataset:
    if name in rdata.TABLES:
        return rdata.load(name)
    if name not in SIMULATED:
        return load(name)
    target, seed = SIMULATED[name]
    data = make_transactions(N_SIMULATED, target=target, random_state=seed)
    return replace(data, table=data.table.drop(columns="time"))
