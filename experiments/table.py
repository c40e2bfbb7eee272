"""The paper's results: sampling against leave-one-out, on its own split and on new ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from experiments.effort import Effort
from experiments.holdout import Holdout, judged, mean, scores
from experiments.methods import Method
from experiments.paper import SEED, TABLES, PaperTable
from experiments.trials import Store, Trial

CLOSE = {"accuracy": 0.005, "r2": 0.02}
"""How near to the printed score counts as the same."""


def trials(effort: Effort) -> list[Trial]:
    """The printed parameters on the paper's split with several seeds, and on new splits."""
    chosen: list[Trial] = []
    for table in TABLES.values():
        for name, method in _methods(table).items():
            chosen += _printed(effort, table, name, method)
        for method in (table.best_leave_one_out, table.best_sampling):
            chosen += _repeats(effort, table, method)
    return chosen


def summarise(store: Store, effort: Effort) -> dict[str, Any]:
    """By table: what is printed, what we get on the same split, and the verdict of the new splits."""
    return {"tables": {table.name: _row(store, effort, table) for table in TABLES.values()}}


def _methods(table: PaperTable) -> dict[str, Method]:
    """Both methods of the paper, and the other use of the baseline that its number may come from."""
    return {
        "leave_one_out": table.best_leave_one_out,
        "sampling": table.best_sampling,
        "category_means": replace(table.best_leave_one_out, train_on="means"),
    }


def _printed(effort: Effort, table: PaperTable, name: str, method: Method) -> list[Trial]:
    n_seeds = effort.baseline_seeds if name == "leave_one_out" else 1
    return [Holdout(table.name, method, SEED, effort.printed_trees, seed, effort.n_rows) for seed in range(n_seeds)]


def _repeats(effort: Effort, table: PaperTable, method: Method) -> list[Trial]:
    splits = range(effort.repeats)
    return [Holdout(table.name, method, number, effort.trees, number, effort.n_rows) for number in splits]


def _row(store: Store, effort: Effort, table: PaperTable) -> dict[str, Any]:
    ours = {}
    for name, method in _methods(table).items():
        printed = table.sampling if name == "sampling" else table.leave_one_out
        found = scores(store, _printed(effort, table, name, method))
        ours[name] = _beside(found, printed, CLOSE[table.measure])
    sampling, reference = (
        _repeats(effort, table, method) for method in (table.best_sampling, table.best_leave_one_out)
    )
    return {
        "measure": table.measure,
        "printed": {"leave_one_out": table.leave_one_out, "sampling": table.sampling},
        "printed_cv": {"leave_one_out": table.cv_leave_one_out, "sampling": table.cv_sampling},
        "printed_split": ours,
        "repeats": {
            "leave_one_out": mean(scores(store, reference)),
            "sampling": mean(scores(store, sampling)),
            "sampling_minus_leave_one_out": judged(store, sampling, reference),
        },
    }


def _beside(found: list[float], printed: float, close: float) -> dict[str, Any] | None:
    """Scores over seeds, and how far their mean is from the printed one."""
    middle = mean(found)
    if middle is None:
        return None
    distance = middle - printed
    return {
        "mean": middle,
        "min": min(found),
        "max": max(found),
        "n_seeds": len(found),
        "printed": printed,
        "distance": distance,
        "close": abs(distance) <= close,
    }
