"""The parts of encoding one by one, so that a commit that makes one of them slower is seen.

    make bench-parts                                            # and once more after a change
    PYTHONPATH=benchmarks python -m pytest benchmarks/parts.py --benchmark-compare

Times of one machine, compared with those that it had before; nothing here fails for being slow.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tables import make_table

from catbayes import SamplingBayesianEncoder
from catbayes.core.categories import Categories
from catbayes.core.target import read_target
from catbayes.families import BetaBernoulli

N_ROWS = 100_000
CONTAINERS = ("pandas objects", "pandas strings", "polars", "whole numbers")


@cache
def tables() -> Any:
    """The table of `make bench`, with fewer rows."""
    return make_table(N_ROWS)


def last_column(container: str) -> Any:
    """That of the most levels."""
    table = tables()[0][container]
    return table[:, -1] if isinstance(table, np.ndarray) else table["column_5"]


@cache
def coded() -> Any:
    """Its categories, the slots of the rows, and the target."""
    return *Categories.of(last_column("pandas strings")), read_target(tables()[1], "auto", N_ROWS)


@pytest.mark.parametrize("container", CONTAINERS)
def test_categories_are_found(benchmark: Any, container: str) -> None:
    benchmark(Categories.of, last_column(container))


@pytest.mark.parametrize("container", CONTAINERS)
def test_categories_are_looked_up(benchmark: Any, container: str) -> None:
    categories, _ = Categories.of(last_column(container))
    benchmark(categories.codes, last_column(container))


def test_targets_are_counted(benchmark: Any) -> None:
    categories, slots, target = coded()
    benchmark(target.gather, slots, None, categories.n_slots)


def test_a_prior_is_learnt(benchmark: Any) -> None:
    categories, slots, target = coded()
    benchmark(BetaBernoulli.empirical, target.gather(slots, None, categories.n_slots))


def test_training_rows_are_drawn(benchmark: Any) -> None:
    containers, y = tables()
    draws = SamplingBayesianEncoder(random_state=0).fit_draws(containers["pandas strings"], y)
    benchmark(draws.features, 1)


def test_new_rows_are_encoded(benchmark: Any) -> None:
    containers, y = tables()
    encoder = SamplingBayesianEncoder(random_state=0).fit(containers["pandas strings"], y)
    benchmark(encoder.transform, containers["pandas strings"].iloc[::-1])


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_table_is_fitted_and_encoded(benchmark: Any, container: str) -> None:
    containers, y = tables()
    benchmark(lambda: SamplingBayesianEncoder(random_state=0).fit_transform(containers[container], y))
