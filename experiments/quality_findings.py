"""What the cells say: scores, paired differences, ranks and costs, the losses first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.stats import rankdata

from catbayes.comparison._scores import MEASURES, Measure
from experiments.holdout import mean
from experiments.quality_cells import OVERLAP, Cell, Plan, Settings, given_up, named, source
from experiments.quality_methods import METHODS
from experiments.quality_tables import read_table
from experiments.trials import Store
from experiments.verdict import judge

SCORES = {"binary": ("auc", "log_loss"), "multiclass": ("log_loss", "auc"), "regression": ("r2", "mse")}
"""By task: the measure that ranks, and the other one."""
LABELS = MEASURES | {"mse": Measure("MSE", False)}
NOT_RUN = "not run"
SMALLEST = 1e-12
AGAINST = ("native", "target", "target x5")


def summarise(store: Store, plan: Plan) -> dict[str, Any]:
    """All tables and models, those where we lose most first; ranks, losses and seconds."""
    names = {named(*entry): entry for entry in plan.entries()}
    skipped = given_up(store, plan.cells())
    rows = [_row(store, plan, names, skipped, table, model) for table in plan.tables for model in plan.models]
    rows = [row for row in rows if row["scores"] or set(row["lost"].values()) - {NOT_RUN}]  # failures are told too
    ours = [name for name, entry in names.items() if entry[0] == "ours"]
    return {
        "methods": {name: _label(*entry) for name, entry in names.items()},
        "rows": sorted(rows, key=_standing),
        "ranks": _ranks(rows, names),
        "ranks_by_model": {
            model: _ranks([row for row in rows if row["model"] == model], names) for model in plan.models
        },
        "counts": {rival: _counts(rows, rival) for rival in AGAINST if rival in names},
        "losses": [
            {"table": row["table"], "model": row["model"], "measure": row["measure"], "rival": rival} | verdict
            for rival in AGAINST
            for row in sorted(rows, key=lambda row, rival=rival: _in_errors(row["against"].get(rival)))  # type: ignore[misc]
            if (verdict := row["against"].get(rival)) is not None and verdict["worse"]
        ],
        "seconds": {model: _seconds(rows, names, model) for model in plan.models},
        "not_installed": [method.label for method in METHODS.values() if not method.installed],
        "sources": _sources(store, plan),
        "changed": [name for name in ours if name != "ours"],
    }


def _label(method: str, settings: Settings) -> str:
    return named(METHODS[method].label, settings)


def _row(
    store: Store,
    plan: Plan,
    names: dict[str, tuple[str, Settings]],
    skipped: dict[tuple[str, str, str], str],
    table: str,
    model: str,
) -> dict[str, Any]:
    """One table with one model: mean scores and seconds of every method, and ours against others."""
    task = read_table(table).task
    cells = {name: plan.of(table, model, *entry) for name, entry in names.items()}
    found = {name: _results(store, part) for name, part in cells.items() if part}
    complete = {name: results for name, results in found.items() if len(results) == len(cells[name])}
    lost = {
        name: skipped.get((table, model, name), _failure(store, cells[name])) for name in found if name not in complete
    }
    measure, other = SCORES[task]
    ours = [name for name in complete if names[name][0] == "ours"]
    return {
        "table": table,
        "model": model,
        "task": task,
        "measure": measure,
        "other": other,
        "n_folds": len(plan.folds(table, model)),
        "scores": {name: _means(results) for name, results in complete.items()},
        "lost": lost,
        "against": {rival: _judged(complete, rival, measure) for rival in AGAINST},
        "against_other": {rival: _judged(complete, rival, other) for rival in AGAINST},
        "changed": {name: _judged(complete, "ours", measure, name) for name in ours if name != "ours"},
    }


def _results(store: Store, cells: Sequence[Cell]) -> dict[int, dict[str, float]]:
    """What was scored, by fold."""
    results = {cell.fold: store.result(cell) for cell in cells}
    return {fold: result for fold, result in results.items() if result is not None and "skipped" not in result}


def _failure(store: Store, cells: Sequence[Cell]) -> str:
    reasons = [store.trials[cell.key].get("failed") for cell in cells if cell.key in store.trials]
    return next((reason for reason in reasons if reason), NOT_RUN)


def _means(results: dict[int, dict[str, float]]) -> dict[str, float | None]:
    first = next(iter(results.values()))
    return {key: mean([result[key] for result in results.values()]) for key in first if key != "source"}


def _judged(
    found: dict[str, dict[int, dict[str, float]]], rival: str, measure: str, name: str = "ours"
) -> dict[str, Any] | None:
    """The verdict on what a method gains over a rival, fold by fold, more being better; None if one has not run."""
    if name not in found or rival not in found or len(found[name]) < 2:
        return None
    sign = 1.0 if LABELS[measure].higher else -1.0
    gaps = [sign * (found[name][fold][measure] - found[rival][fold][measure]) for fold in found[name]]
    verdict = judge(gaps, overlap=OVERLAP)
    words = {"holds": "better", "does not hold": "worse", "within noise": "within noise"}
    worse, better = bool(verdict.gain < -verdict.error), bool(verdict.gain > verdict.error)
    return asdict(verdict) | {"word": words[verdict.word], "worse": worse, "better": better}


def _in_errors(verdict: dict[str, Any] | None) -> float:
    """A gain in standard errors, to sort by; never quite none, so that it can be divided by."""
    return np.inf if verdict is None else float(verdict["gain"] / max(verdict["error"], SMALLEST))


def _standing(row: dict[str, Any]) -> float:
    """Where we lose most, against the model's own way or TargetEncoder five times."""
    return min(_in_errors(row["against"]["native"]), _in_errors(row["against"]["target x5"]))


def _ranks(rows: Sequence[dict[str, Any]], names: dict[str, tuple[str, Settings]]) -> dict[str, Any]:
    """Mean rank over tables and models of the methods that can be had for all; one that has no score there is last."""
    ranked = [name for name, (method, _) in names.items() if METHODS[method].everywhere]
    if not rows or not ranked:
        return {"n": 0, "ranks": {}}
    losses = np.array([[_loss(row, name) for name in ranked] for row in rows])
    ranks = rankdata(losses, axis=1).mean(axis=0)
    return {
        "n": len(rows),
        "ranks": dict(sorted(zip(ranked, map(float, ranks), strict=True), key=lambda pair: pair[1])),
    }


def _loss(row: dict[str, Any], name: str) -> float:
    """A score as something to be small."""
    found = row["scores"].get(name, {}).get(row["measure"])
    if found is None:
        return np.inf
    return -found if LABELS[row["measure"]].higher else float(found)


def _counts(rows: Sequence[dict[str, Any]], rival: str) -> dict[str, int]:
    """On how many tables and models we are better, worse or neither, by more than one standard error."""
    verdicts = [row["against"][rival] for row in rows if row["against"].get(rival) is not None]
    better, worse = (sum(verdict[word] for verdict in verdicts) for word in ("better", "worse"))
    return {"better": better, "even": len(verdicts) - better - worse, "worse": worse}


def _seconds(rows: Sequence[dict[str, Any]], names: dict[str, tuple[str, Settings]], model: str) -> dict[str, Any]:
    """Seconds to fit and to predict one fold, summed over the tables on which all that are ranked were scored."""
    ranked = [name for name, (method, _) in names.items() if METHODS[method].everywhere]
    common = [row for row in rows if row["model"] == model and all(name in row["scores"] for name in ranked)]
    if not common:
        return {"tables": [], "fit": {}, "predict": {}}
    parts = {
        part: {name: sum(row["scores"][name][f"{part}_seconds"] for row in common) for name in ranked}
        for part in ("fit", "predict")
    }
    return {"tables": [row["table"] for row in common]} | parts


def _sources(store: Store, plan: Plan) -> dict[str, Any]:
    """With which versions of the library ours was run, and on how many cells it was not this one."""
    results = [store.result(cell) for cell in plan.cells() if cell.method == "ours"]
    found = [str(result["source"]) for result in results if result is not None and "source" in result]
    return {"now": source(), "found": sorted(set(found)), "n_other": sum(one != source() for one in found)}
