"""Tables to measure intervals on: public ones, at most `N_ROWS` rows of each, and simulated ones with known truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from experiments import random_effects
from experiments.public import NAMES, load
from experiments.scores import Array, Codes
from experiments.seeds import stream

N_ROWS = 6_000
N_FOLDS = 3
ROWS, FOLDS, SIMULATED = range(20, 23)  # purposes of random streams
KINDS = ("unseen", "1", "2–5", "6–20", "> 20")
"""How many training rows the rarest category of a test row has."""


@dataclass(frozen=True, slots=True)
class UncertaintyTable:
    """Rows, targets, which columns are categories, and of simulated numbers their true means and deviations."""

    X: Any
    y: np.ndarray[Any, Any]
    categorical: tuple[str, ...]
    classes: bool = False
    truth: tuple[Array, Array] | None = None

    def fold(self, number: int) -> tuple[Codes, Codes]:
        """Training and test rows."""
        order = stream(0, FOLDS).permutation(len(self.y))
        return np.sort(order[np.arange(len(order)) % N_FOLDS != number]), np.sort(order[number::N_FOLDS])

    def kinds(self, train: Codes, test: Codes) -> Codes:
        """How well known the rarest category of each test row is, as a place in `KINDS`."""
        rarest = np.full(len(test), np.inf)
        for name in self.categorical:
            words = self.X[name].astype(str)
            counts = words.iloc[train].value_counts()
            rarest = np.minimum(rarest, words.iloc[test].map(counts).fillna(0).to_numpy(np.float64))
        return np.asarray(np.digitize(rarest, [0.5, 1.5, 5.5, 20.5]), dtype=np.intp)


def simulate(uneven: bool, n_rows: int = N_ROWS) -> UncertaintyTable:
    """Crossed effects of a column with many rare categories and one with few; noise that varies with x, or does not."""
    import pandas

    random = stream(int(uneven), SIMULATED)
    share = random.pareto(1.0, 3_000) + 0.05
    shop, town = random.choice(3_000, n_rows, p=share / share.sum()), random.integers(0, 100, n_rows)
    x = random.normal(size=n_rows)
    mean = random.normal(size=3_000)[shop] + 0.5 * random.normal(size=100)[town] + 0.7 * x
    deviation = np.exp(0.5 * x) if uneven else np.ones(n_rows)
    X = pandas.DataFrame(
        {"shop": np.char.add("s", shop.astype(str)), "town": np.char.add("t", town.astype(str)), "x": x}
    )
    return UncertaintyTable(X, random.normal(mean, deviation), ("shop", "town"), truth=(mean, deviation))


@cache
def read(name: str, n_rows: int = N_ROWS) -> UncertaintyTable:
    """A table by its name, with so many rows at most."""
    if name in MADE:
        return MADE[name](n_rows)
    if name in random_effects.TABLES:
        X, y, _ = random_effects.read(name)
        categorical, classes = random_effects.TABLES[name].categorical, False
    else:
        data = load(name)
        X, y, categorical, classes = data.table, np.asarray(data.y), data.categorical, data.task not in NUMBERS
    rows = np.sort(stream(0, ROWS).permutation(len(y))[:n_rows])
    y = y[rows] if classes else y[rows].astype(np.float64)
    return UncertaintyTable(X.iloc[rows].reset_index(drop=True), y, tuple(categorical), classes)


NUMBERS = ("regression", "count")
MADE: dict[str, Callable[[int], UncertaintyTable]] = {
    "even noise": lambda n_rows: simulate(False, n_rows),
    "uneven noise": lambda n_rows: simulate(True, n_rows),
}
TABLES = ("even noise", "uneven noise", *random_effects.TABLES, "employee_salaries", "bike_sharing", "mercedes")
OF_CLASSES = ("adult", "amazon")
assert {*TABLES, *OF_CLASSES} <= {*MADE, *random_effects.TABLES, *NAMES}
