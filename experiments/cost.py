"""What each part of the defaults costs and gains, with LightGBM on three tables; writes docs/user_guide/cost.md.

    python -m experiments.cost [--folds 3] [--folder results] [--no-run]

Tables, folds and times are those of `experiments.quality`, on the half that reports.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from experiments.page import gap, put, score, table
from experiments.quality_cells import OVERLAP, Cell, Plan
from experiments.quality_tables import shape
from experiments.scores import BY_TASK, LABELS
from experiments.trials import Store, show
from experiments.verdict import judge

PAGE = Path(__file__).parents[1] / "docs" / "user_guide" / "cost.md"
TABLES = ("adult", "amazon", "employee_salaries")
WAYS: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "`n_draws=1`": {"n_draws": 1},
    "`interactions=None`": {"encoder__interactions": None},
    "`effects=False`": {"encoder__effects": False},
    '`predict_with="mean"`': {"predict_with": "mean"},
    "all four": {
        "n_draws": 1,
        "encoder__interactions": None,
        "encoder__effects": False,
        "predict_with": "mean",
    },
}


def cells(plan: Plan, name: str, method: str, settings: dict[str, Any]) -> list[Cell]:
    """Return the folds of one way on one table."""
    return plan.of(name, "LightGBM", method, tuple(settings.items()))


def rows(store: Store, plan: Plan, name: str) -> list[list[str]]:
    """Compare every way with LightGBM's own categories and with the defaults."""

    def found(method: str, settings: dict[str, Any], key: str) -> Any:
        results = [store.result(cell) for cell in cells(plan, name, method, settings)]
        return np.array([result[key] for result in results if result is not None])

    measure = BY_TASK[shape(name).task][0]
    own = {key: found("native", {}, key).sum() for key in ("fit_seconds", "predict_seconds")}
    usual, lines = found("ours", {}, measure), []
    for label, settings in WAYS.items():
        if label == "`effects=False`" and shape(name).task != "regression":
            continue  # only regressors have effects by default
        values = found("ours", settings, measure)
        change = "–"
        if settings:
            verdict = judge(values - usual, overlap=OVERLAP)
            change = f"{gap(verdict['gain'])} ± {score(verdict['error'])}"
        times = [f"{found('ours', settings, key).sum() / seconds:.1f}" for key, seconds in own.items()]
        lines.append([name, label, f"{score(values.mean())} ({LABELS[measure]})", change, *times])
    native = found("native", {}, measure)
    verdict = judge(native - usual, overlap=OVERLAP)
    change = f"{gap(verdict['gain'])} ± {score(verdict['error'])}"
    return [
        *lines,
        [name, "LightGBM's own categories", f"{score(native.mean())} ({LABELS[measure]})", change, "1", "1"],
    ]


def main() -> None:
    """Run what is left, and write the table into the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("results"))
    parser.add_argument("--again", action="store_true", help="run the trials of catbayes again")
    parser.add_argument("--no-run", action="store_true", help="only write the table of what is in the folder")
    asked = parser.parse_args()
    plan, store = Plan(most_folds=asked.folds), Store(asked.folder / "cost.json")
    ways = [("native", {}), *(("ours", settings) for settings in WAYS.values())]
    trials = [cell for name in TABLES for way in ways for cell in cells(plan, name, *way)]
    if asked.again:
        store.forget_ours(trials)
    if not asked.no_run:
        store.run(trials, progress=show)
    head = ["table", "setting", "score", "against the defaults", "fit ×", "predict ×"]
    put(PAGE, "cost", table(head, [row for name in TABLES for row in rows(store, plan, name)]))


if __name__ == "__main__":
    main()
