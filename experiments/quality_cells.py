"""One method with one model on one fold of one table, and which of them there are.

Folds are numbered. Settings are chosen on the even ones, and the page is written from the odd ones: no row that is
tested on in one half is ever tested on in the other.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

import catbayes
from catbayes.comparison import TimeUp, deadline
from catbayes.comparison._running import make_folds
from catbayes.comparison._scores import predict, score
from catbayes.core.random import stream
from catbayes.core.validation import Array, Codes
from catbayes.datasets import NAMES
from experiments.quality_methods import METHODS, MODELS
from experiments.quality_tables import read_table
from experiments.trials import Store

N_FOLDS = 10
OVERLAP = 1 / (N_FOLDS - 1)
"""Test rows for each training row. Fewer training rows have less in common, so it serves them as well."""
HALVES = {"choose": 0, "report": 1}
FEW_ROWS = 5_000  # tables of so many rows are divided twice
QUICK_FOLDS = 3
QUICK_ROWS = 2_000
LIMIT, QUICK_LIMIT = 300.0, 60.0
ORDER, MODEL = range(2)  # what seeds are for
Settings = tuple[tuple[str, Any], ...]


@cache
def source() -> str:
    """What tells whether the library has changed since."""
    folder = Path(catbayes.__file__).parent
    files = sorted(folder.rglob("*.py"))
    content = b"".join(file.relative_to(folder).as_posix().encode() + file.read_bytes() for file in files)
    return blake2b(content, digest_size=6).hexdigest()


def n_folds(table: str) -> int:
    """How many folds a table has, both halves together."""
    return N_FOLDS * (2 if len(read_table(table).y) <= FEW_ROWS else 1)


@cache
def divide(table: str, repeat: int) -> list[Codes]:
    """The test rows of ten folds. A second division deals the rows of each half anew, and leaves them in their half."""
    rows = read_table(table)
    first = [test for _, test in make_folds(rows, N_FOLDS, 1, seed=0)[0][0]]
    if repeat == 0:
        return first
    splitter = (KFold if rows.classes is None else StratifiedKFold)(N_FOLDS // 2, shuffle=True, random_state=repeat)
    found: list[Codes] = [np.empty(0, dtype=np.intp)] * N_FOLDS
    for half in HALVES.values():
        told = np.sort(np.concatenate(first[half::2]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class with fewer rows than folds
            found[half::2] = [told[test] for _, test in splitter.split(told, rows.y[told])]
    return found


def split(table: str, fold: int, n_rows: int | None = None) -> tuple[Codes, Codes]:
    """Training and test rows of a fold: training rows in random order, which ordered encoders want, the first n."""
    repeat, number = divmod(fold, N_FOLDS)
    test = divide(table, repeat)[number]
    rest = np.setdiff1d(np.arange(len(read_table(table).y)), test)
    return stream(fold, ORDER).permutation(rest)[:n_rows], test


def seed_of(fold: int, number: int) -> int:
    """The seed of an encoder and its model; the same for all methods."""
    return int(stream(fold, MODEL, number).integers(2**31))


def timed(estimators: Sequence[Any], X: Any, y: Any, new: Any, n_classes: int | None) -> tuple[Array, dict[str, float]]:
    """What fitted estimators predict on average, and the processor's seconds that all of them took.

    One thread works, so on an idle machine these are the seconds of a clock; a busy one does not change them.
    """
    predicted, fit, told = [], 0.0, 0.0
    for estimator in estimators:
        start = time.process_time()
        estimator.fit(X, y)
        fitted = time.process_time()
        predicted.append(predict(estimator, new, n_classes))
        fit, told = fit + fitted - start, told + time.process_time() - fitted
    return np.mean(predicted, axis=0), {"fit_seconds": fit, "predict_seconds": told}


def scores(y: Array, predicted: Array) -> dict[str, float]:
    """AUC and log-loss of probabilities, R² and mean squared error of numbers."""
    found = score(y, predicted)
    if predicted.ndim == 1:
        return {"r2": found["r2"], "mse": found["rmse"] ** 2}
    return {"auc": found["auc"], "log_loss": found["log_loss"]}


@dataclass(frozen=True, slots=True)
class Cell:
    """Fit a method around a model to the training rows of a fold, and score it on the others.

    One that takes longer than the limit is told as such, and not tried on other folds. `settings` are ours, changed.
    """

    table: str
    model: str
    method: str
    fold: int
    n_rows: int | None = None
    settings: Settings = ()
    limit: float = field(default=LIMIT, compare=False)

    @property
    def key(self) -> str:
        """What it is called."""
        rows = "" if self.n_rows is None else f", {self.n_rows} rows"
        return f"{self.table}, {self.model}, {self.name}, fold {self.fold}{rows}"

    @property
    def name(self) -> str:
        """The method, and what was changed."""
        return named(self.method, self.settings)

    def run(self) -> dict[str, Any]:
        """Scores and seconds, or why it was given up."""
        rows, method = read_table(self.table), METHODS[self.method]
        train, test = split(self.table, self.fold, self.n_rows)
        large = method.too_large(rows, train)
        if large is not None:
            return {"skipped": large}
        X, new = (rows.X.iloc[part].reset_index(drop=True) for part in (train, test))
        made = [method.build(rows, self.model, seed_of(self.fold, number)) for number in range(method.n_seeds)]
        for one in made if self.settings else ():
            (one[-1] if isinstance(one, Pipeline) else one).set_params(**dict(self.settings))  # behind scaled numbers
        try:
            with deadline(time.monotonic() + self.limit):
                predicted, seconds = timed(made, X, rows.y[train], new, rows.n_classes)
        except TimeUp:
            return {"skipped": f"more than {self.limit:.0f} s", "limit": self.limit}
        own = {"source": source()} if self.method == "ours" else {}
        return scores(rows.y[test], predicted) | seconds | own


def named(method: str, settings: Settings = ()) -> str:
    """A method, and what was changed of it, as one would type it."""
    return ", ".join([method, *(f"{name}={value!r}" for name, value in settings)])


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: which half of the folds, how many training rows, and which tables, models and methods.

    `settings` stands for one more method: ours with other settings, which is for the half that chooses.
    """

    half: str = "report"
    n_rows: int | None = None
    tables: tuple[str, ...] = NAMES
    models: tuple[str, ...] = tuple(MODELS)
    methods: tuple[str, ...] = tuple(METHODS)
    settings: Settings = ()
    quick: bool = False

    def folds(self, table: str, model: str) -> list[int]:
        """The numbers of the folds of this half, the first ones of a slow model."""
        numbers = range(HALVES[self.half], n_folds(table), 2)
        return list(numbers)[: QUICK_FOLDS if self.quick else MODELS[model].most_folds]

    def rows(self, model: str) -> int | None:
        """Training rows at most, of a slow model fewer; None for all."""
        return min((most for most in (self.n_rows, MODELS[model].most_rows) if most is not None), default=None)

    def entries(self) -> list[tuple[str, Settings]]:
        """The methods, and ours with other settings."""
        found: list[tuple[str, Settings]] = [(name, ()) for name in self.methods]
        return [*found, ("ours", self.settings)] if self.settings else found

    def of(self, table: str, model: str, method: str, settings: Settings = ()) -> list[Cell]:
        """A method with a model on all folds of a table; none where it cannot be had."""
        if not METHODS[method].applies(read_table(table), model):
            return []
        limit = QUICK_LIMIT if self.quick else LIMIT
        n_rows = self.rows(model)
        return [Cell(table, model, method, fold, n_rows, settings, limit) for fold in self.folds(table, model)]

    def cells(self) -> list[Cell]:
        """All of them, the first fold of everything first."""
        found = [
            cell
            for table in self.tables
            for model in self.models
            for entry in self.entries()
            for cell in self.of(table, model, *entry)
        ]
        return sorted(found, key=lambda cell: cell.fold)


def given_up(store: Store, cells: Sequence[Cell]) -> dict[tuple[str, str, str], str]:
    """Why a method was given up, by table, model and name: one fold over the limit is enough."""
    found = {}
    for cell in cells:
        result = store.result(cell)
        if result is not None and "skipped" in result:
            found[cell.table, cell.model, cell.name] = str(result["skipped"])
    return found


def left(store: Store, cells: Sequence[Cell]) -> list[Cell]:
    """The cells that are still to be run."""
    lost = given_up(store, cells)
    return [cell for cell in cells if not store.finished(cell) and (cell.table, cell.model, cell.name) not in lost]


def forget_limits(store: Store, cells: Sequence[Cell]) -> None:
    """Forget that a cell was over a limit, if the limit is higher now."""
    for cell in cells:
        result = store.result(cell)
        if result is not None and result.get("limit", np.inf) < cell.limit:
            del store.trials[cell.key]
