"""One method with one model on one fold of one table, and which of them there are.

Settings are chosen on the folds with even numbers, and reported on the odd ones: no row is tested on in both halves.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, RepeatedKFold, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from experiments.deadline import TimeUp, deadline
from experiments.public import NAMES
from experiments.quality_methods import METHODS
from experiments.quality_models import MODELS
from experiments.quality_tables import read_table, shape
from experiments.scores import BY_TASK, Array, Codes, predict, score
from experiments.seeds import ORDER, seed_of, stream
from experiments.trials import source

N_FOLDS = 10
OVERLAP = 1 / (N_FOLDS - 1)
"""Test rows per training row; with fewer training rows, splits have less in common, so it is large enough."""
HALVES = {"choose": 0, "report": 1}
FEW_ROWS = 5_000  # a table with at most this many rows is divided twice
LIMIT = 300.0  # seconds
Settings = tuple[tuple[str, Any], ...]


def n_folds(table: str) -> int:
    """Return how many folds a table has, both halves together."""
    return N_FOLDS * (2 if shape(table).n_rows <= FEW_ROWS else 1)


@cache
def divide(table: str, repeat: int) -> list[Codes]:
    """Return the test rows of ten folds. A second division shuffles the rows within each half."""
    y, classes = read_table(table).y, read_table(table).n_classes is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds
        repeated = RepeatedStratifiedKFold if classes else RepeatedKFold
        splitter = repeated(n_splits=N_FOLDS, n_repeats=1, random_state=0)
        first: list[Codes] = [test for _, test in splitter.split(y, y)]
        if repeat == 0:
            return first
        splitter = (StratifiedKFold if classes else KFold)(N_FOLDS // 2, shuffle=True, random_state=repeat)
        found = list(first)
        for half in HALVES.values():
            rows = np.sort(np.concatenate(first[half::2]))
            found[half::2] = [rows[test] for _, test in splitter.split(rows, y[rows])]
    return found


def split(table: str, fold: int, n_rows: int | None = None) -> tuple[Codes, Codes]:
    """Return training and test rows; the first `n_rows` training rows in random order, which ordered encoders want."""
    repeat, number = divmod(fold, N_FOLDS)
    test = divide(table, repeat)[number]
    rest = np.setdiff1d(np.arange(len(read_table(table).y)), test)
    return stream(fold, ORDER).permutation(rest)[:n_rows], test


def timed(estimators: Sequence[Any], X: Any, y: Any, new: Any, n_classes: int | None) -> tuple[Array, dict[str, float]]:
    """Fit estimators and average their predictions; with processor seconds, which do not depend on other processes."""
    predictions, fit, rest = [], 0.0, 0.0
    for estimator in estimators:
        start = time.process_time()
        estimator.fit(X, y)
        fitted = time.process_time()
        predictions.append(predict(estimator, new, n_classes))
        fit, rest = fit + fitted - start, rest + time.process_time() - fitted
    return np.mean(predictions, axis=0), {"fit_seconds": fit, "predict_seconds": rest}


@dataclass(frozen=True, slots=True)
class Cell:
    """Fit a method around a model to the training rows of a fold, and score it on the others.

    `settings` are changed parameters of catbayes.
    """

    table: str
    model: str
    method: str
    fold: int
    n_rows: int | None = None
    settings: Settings = ()

    @property
    def key(self) -> str:
        """The name."""
        rows = "" if self.n_rows is None else f", {self.n_rows} rows"
        return f"{', '.join(self.group)}, fold {self.fold}{rows}"

    @property
    def name(self) -> str:
        """The method, and what was changed."""
        return named(self.method, self.settings)

    @property
    def group(self) -> tuple[str, ...]:
        """All folds of a method."""
        return self.table, self.model, self.name

    @property
    def ours(self) -> bool:
        """Tell whether the result depends on catbayes."""
        return self.method == "ours"

    def run(self) -> dict[str, Any]:
        """Return scores and seconds, or why it was given up."""
        table, method = read_table(self.table), METHODS[self.method]
        train, test = split(self.table, self.fold, self.n_rows)
        large = method.too_large(table, train)
        if large is not None:
            return {"skipped": large}
        X, new = (table.X.iloc[part].reset_index(drop=True) for part in (train, test))
        made = [method.build(table, self.model, seed_of(self.fold, number)) for number in range(method.n_seeds)]
        if self.settings:
            ours = made[0][-1] if isinstance(made[0], Pipeline) else made[0]
            ours.set_params(**dict(self.settings))
        try:
            with deadline(LIMIT):
                predicted, seconds = timed(made, X, table.y[train], new, table.n_classes)
        except TimeUp:
            return {"skipped": f"more than {LIMIT:.0f} s"}
        found = score(table.y[test], predicted)
        own = {"source": source()} if self.ours else {}
        return {name: found[name] for name in BY_TASK[table.task]} | seconds | own


def named(method: str, settings: Settings = ()) -> str:
    """Return a method and what was changed of it, as one would type it."""
    return ", ".join([method, *(f"{name}={value!r}" for name, value in settings)])


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: which half of the folds, how many training rows, and which tables, models and methods.

    `settings` adds catbayes with other parameters, for the half that chooses.
    """

    half: str = "report"
    n_rows: int | None = None
    tables: tuple[str, ...] = NAMES
    models: tuple[str, ...] = tuple(MODELS)
    methods: tuple[str, ...] = tuple(METHODS)
    settings: Settings = ()
    most_folds: int | None = None

    def folds(self, table: str, model: str) -> list[int]:
        """Return the numbers of the folds of this half, the first ones of a slow model."""
        numbers = list(range(HALVES[self.half], n_folds(table), 2))
        return numbers[: MODELS[model].most_folds][: self.most_folds]

    def rows(self, model: str) -> int | None:
        """Return the most training rows; None for all."""
        return min((most for most in (self.n_rows, MODELS[model].most_rows) if most is not None), default=None)

    def entries(self) -> list[tuple[str, Settings]]:
        """Return the methods, and catbayes with other settings."""
        found: list[tuple[str, Settings]] = [(name, ()) for name in self.methods]
        return [*found, ("ours", self.settings)] if self.settings else found

    def of(self, table: str, model: str, method: str, settings: Settings = ()) -> list[Cell]:
        """Return a method with a model on all folds of a table; none where it does not exist."""
        if not METHODS[method].applies(shape(table).task, model):
            return []
        n_rows = self.rows(model)
        return [Cell(table, model, method, fold, n_rows, settings) for fold in self.folds(table, model)]

    def trials(self) -> list[Cell]:
        """Return all cells."""
        pairs = [(table, model) for table in self.tables for model in self.models]
        return [cell for pair in pairs for entry in self.entries() for cell in self.of(*pair, *entry)]
