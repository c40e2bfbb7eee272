"""Running the contestants: fold by fold, in order of usefulness, until all is done or the time is up."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, RepeatedKFold, RepeatedStratifiedKFold, TimeSeriesSplit, check_cv
from threadpoolctl import threadpool_limits

from catbayes.comparison._contestants import Contestant
from catbayes.comparison._deadline import Alarm, TimeUp, deadline
from catbayes.comparison._rows import Rows
from catbayes.comparison._scores import predict, score
from catbayes.core.validation import Codes, check_count, is_number
from catbayes.errors import InputError
from catbayes.families import FOR_NUMBERS

TIME_UP = "the time was up"
"""Why a cell was not run, where nobody interrupted."""

Progress = Callable[[int, int, str], None]
Folds = list[tuple[Codes, Codes]]


@dataclass(slots=True, eq=False)
class Cell:
    """One encoder with one model: what it scored in each fold, how long it took, or why there is nothing.

    `status` is "done", or begins with "failed", "not installed" or "not run" and says why.
    """

    encoder: str
    model: str
    estimator: Any = None
    status: str = "open"
    scores: dict[int, dict[str, float]] = field(default_factory=dict)
    fit_seconds: dict[int, float] = field(default_factory=dict)
    predict_seconds: dict[int, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Encoder and model."""
        return f"{self.encoder} + {self.model}"

    @property
    def open(self) -> bool:
        """Tell whether it may still run."""
        return self.status == "open"

    @property
    def done(self) -> bool:
        """Tell whether it went through all folds."""
        return self.status == "done"


def make_folds(rows: Rows, cv: Any, repeats: int | None, seed: int) -> tuple[list[Folds], str]:
    """Folds for every repeat, the same for all contestants, and what they are called.

    Folds whose training rows hold one class only are left out: nothing can be learned there.
    """
    planned, name = _plan_folds(rows, cv, repeats, seed)
    usable = [
        [(train, test) for train, test in folds if rows.classes is None or len(np.unique(rows.y[train])) > 1]
        for folds in planned
    ]
    lost = sum(map(len, planned)) - sum(map(len, usable))
    if not any(usable):
        raise InputError("The training rows of every fold hold one class only. Use other folds.")
    return usable, name + (f", {lost} of them left out because their training rows hold one class" if lost else "")


def _plan_folds(rows: Rows, cv: Any, repeats: int | None, seed: int) -> tuple[list[Folds], str]:
    n_rows = len(rows.y)
    if repeats is not None and repeats > 1 and (rows.ordered or rows.groups is not None or not is_number(cv)):
        raise InputError(
            f"repeats={repeats}: only shuffled folds can be repeated, not those by group, time or splitter."
        )
    if not is_number(cv):
        splitter = check_cv(cv, rows.y, classifier=rows.classes is not None)
        return [list(splitter.split(rows.X, rows.y, rows.groups))], f"{type(splitter).__name__}"
    if n_rows < 2 * check_count("cv", cv, 2):
        raise InputError(f"cv={cv!r} for {n_rows} rows: expected at least two rows a fold. Use fewer folds.")
    if rows.ordered:
        return [list(TimeSeriesSplit(int(cv)).split(rows.X))], f"{cv} folds, none earlier than what it learns from"
    if rows.groups is not None:
        n_groups = len(np.unique(rows.groups))
        if n_groups < 2:
            raise InputError("groups holds one group only, and folds need two: name another column, or no groups.")
        splits = GroupKFold(min(int(cv), n_groups), shuffle=True, random_state=seed)
        return [list(splits.split(rows.X, rows.y, rows.groups))], f"{splits.n_splits} folds of whole groups"
    if rows.classes is not None and np.bincount(rows.y).max() < int(cv):
        raise InputError(
            f"cv={cv!r}: no class of {rows.target!r} has as many rows as there are folds. Use fewer folds; if it is no "
            f"class, {FOR_NUMBERS}."
        )
    repeats = repeats or (5 if n_rows <= 1_000 else 2 if n_rows <= 5_000 else 1)
    repeated = RepeatedKFold if rows.classes is None else RepeatedStratifiedKFold
    splitter = repeated(n_splits=int(cv), n_repeats=repeats, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds
        found = list(splitter.split(rows.X, rows.y))
    name = f"{cv} folds" + (f", repeated {repeats} times" if repeats > 1 else "")
    return [found[start : start + int(cv)] for start in range(0, len(found), int(cv))], name


def run(
    rows: Rows,
    found: Sequence[Contestant],
    repeats: list[Folds],
    *,
    seed: int,
    end: float | None,
    progress: Progress | None,
) -> tuple[list[Cell], bool]:
    """Fit and score every contestant on the same folds; returns the cells, and whether somebody interrupted.

    Where there is an end, one that would take more than half of the time left waits until the others had their turn,
    unless nothing is finished yet: of the others nobody knows what they take.
    """
    cells = [_cell(contestant, rows, seed) for contestant in found]
    first, why = 0, TIME_UP
    try:
        with deadline(end) as alarm, threadpool_limits(1, "openmp"):
            for folds in repeats:
                for share in (0.5, 1.0):
                    for cell in cells:
                        for number, (train, test) in enumerate(folds):
                            if first + number in cell.scores:
                                continue
                            if progress is not None:
                                progress(*_counted(cells, repeats), cell.name)
                            finished = any(len(other.scores) >= len(folds) for other in cells)
                            left = share if finished else 1.0
                            if not cell.open or not _affordable(cell, len(folds) - number, end, left):
                                break
                            _run_fold(cell, first + number, rows, train, test, alarm)
                first += len(folds)
    except TimeUp:
        pass
    except KeyboardInterrupt:
        why = "interrupted"
    for cell in cells:
        _close(cell, len(repeats[0]), why)
    return cells, why == "interrupted"


def _cell(contestant: Contestant, rows: Rows, seed: int) -> Cell:
    cell = Cell(contestant.encoder, contestant.model)
    if contestant.missing is not None:
        cell.status = f"not installed: pip install {contestant.missing}"
        return cell
    try:
        cell.estimator = contestant.build(rows, seed)
    except Exception as error:
        cell.status = _failure(error)
    return cell


def _run_fold(cell: Cell, fold: int, rows: Rows, train: Codes, test: Codes, alarm: Alarm) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            known, new = (rows.X.iloc[part].reset_index(drop=True) for part in (train, test))
            start = time.perf_counter()
            model = deepcopy(cell.estimator).fit(known, rows.y[train])  # CatBoost's models cannot be cloned
            fitted = time.perf_counter()
            predicted = predict(model, new, rows.n_classes)
            cell.predict_seconds[fold] = time.perf_counter() - fitted
            cell.fit_seconds[fold] = fitted - start
            cell.scores[fold] = score(rows.y[test], predicted)
    except Exception as error:
        if alarm.rang:
            raise TimeUp from None
        cell.status = _failure(error)


def _counted(cells: list[Cell], repeats: list[Folds]) -> tuple[int, int]:
    """Folds that are done, and all that there will be."""
    running = [cell for cell in cells if cell.open]
    return sum(len(cell.scores) for cell in running), len(running) * sum(map(len, repeats))


def _affordable(cell: Cell, folds: int, end: float | None, share: float) -> bool:
    """Tell whether the folds that are left in this repeat can be expected to end in that share of the time left."""
    if end is None:
        return True
    costs = [*cell.fit_seconds.values(), *cell.predict_seconds.values()]
    cost = sum(costs) / max(len(cell.scores), 1)
    return cost * folds < share * (end - time.monotonic())


def _close(cell: Cell, folds: int, why: str) -> None:
    """Settle what became of a cell: it counts if it went through all folds once."""
    if not cell.open:
        return
    cell.status = "done" if len(cell.scores) >= folds else f"not run: {why}"


def _failure(error: Exception) -> str:
    first = next(iter(str(error).splitlines()), "")
    return f"failed: {type(error).__name__}: {first}"[:300]
