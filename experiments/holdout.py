"""One split into training and test rows, one method, one score; and what many such scores say together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sklearn.model_selection import train_test_split

from experiments.effort import Effort
from experiments.methods import Fitted, Method
from experiments.paper import BINS, TABLES
from experiments.scores import score
from experiments.trials import Store, Trial
from experiments.verdict import judge

TEST_SHARE = 0.2
OVERLAP = TEST_SHARE / (1 - TEST_SHARE)
MOST_SPLITS = 5


@dataclass(frozen=True, slots=True)
class Holdout:
    """Fit a method to 80 % of the rows of a table, and score it on the others."""

    table: str
    method: Method
    split: int
    trees: int
    seed: int
    n_rows: int | None
    n_binned: int = len(BINS)

    @property
    def key(self) -> str:
        """What it is called."""
        rows = "" if self.n_rows is None else f", {self.n_rows} rows"
        rows += "" if self.n_binned == len(BINS) else f", {self.n_binned} categorical columns"
        return f"{self.table}, {self.method.name}, split {self.split}, {self.trees} trees, seed {self.seed}{rows}"

    def fit(self) -> tuple[Fitted, float]:
        """The fitted method and its score."""
        X, X_test, y, y_test, categorical = split(self.table, self.split, self.n_rows, self.n_binned)
        fitted = self.method.fit(X, y, categorical, self.trees, self.seed)
        return fitted, score(y_test, fitted.predict(X_test))[TABLES[self.table].measure]

    def run(self) -> dict[str, Any]:
        """The score."""
        return {"score": self.fit()[1]}


def split(table: str, seed: int, n_rows: int | None, n_binned: int = len(BINS)) -> tuple[Any, Any, Any, Any, list[str]]:
    """Training and test rows, training and test targets, and the categorical columns."""
    X, y, categorical = TABLES[table].read(n_rows, n_binned)
    return *train_test_split(X, y, test_size=TEST_SHARE, random_state=seed), categorical


def scores(store: Store, trials: Iterable[Trial]) -> list[float]:
    """Scores of the trials that have one."""
    results = [store.result(trial) for trial in trials]
    return [result["score"] for result in results if result is not None]


def judged(
    store: Store,
    trials: Iterable[Trial],
    references: Iterable[Trial],
    *,
    overlap: float = OVERLAP,
    value: str = "score",
) -> dict[str, Any] | None:
    """The verdict on trials minus references, pair by pair; None if fewer than two pairs are complete."""
    pairs = [(store.result(trial), store.result(other)) for trial, other in zip(trials, references, strict=True)]
    gaps = [ours[value] - theirs[value] for ours, theirs in pairs if ours is not None and theirs is not None]
    if len(gaps) < 2:
        return None
    return judge(gaps, overlap=overlap)


def new_splits(effort: Effort, table: str, method: Method, n_binned: int = len(BINS)) -> list[Holdout]:
    """A method on new splits, with the trees of the figures: to compare like with like."""
    numbers, trees = range(min(effort.repeats, MOST_SPLITS)), effort.figure_trees
    return [Holdout(table, method, number, trees, number, effort.n_rows, n_binned) for number in numbers]


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of those that are known, where there is one."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
