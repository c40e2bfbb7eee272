"""What the cells show: scores, paired differences, ranks and times, the losses first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from experiments.holdout import mean
from experiments.quality_cells import OVERLAP, Cell, Plan, named
from experiments.quality_methods import METHODS
from experiments.quality_tables import shape
from experiments.scores import BY_TASK, LOWER_IS_BETTER
from experiments.trials import Store, source
from experiments.verdict import judge

NOT_RUN = "not run"
SMALLEST = 1e-12
AGAINST = ("native", "target", "target x5")
WORDS = {"holds": "better", "does not hold": "worse", "within noise": "within noise"}
Folds = dict[int, dict[str, Any]]
"""Results by fold."""


def summarise(store: Store, plan: Plan) -> dict[str, Any]:
    """Summarise all tables and models, those with the largest losses first; ranks, losses and seconds."""
    names = {named(*entry): METHODS[entry[0]] for entry in plan.entries()}
    ranked = [name for name, method in names.items() if method.everywhere]
    rows = [_row(store, plan, table, model) for table in plan.tables for model in plan.models]
    rows = [row for row in rows if row["scores"] or set(row["lost"].values()) - {NOT_RUN}]  # failures are shown too
    by_model = {model: [row for row in rows if row["model"] == model] for model in plan.models}
    rivals = [name for name in AGAINST if name in names]
    return {
        "methods": {named(*entry): named(METHODS[entry[0]].label, entry[1]) for entry in plan.entries()},
        "rows": sorted(rows, key=_standing),
        "ranks": _ranks(rows, ranked),
        "ranks_by_model": {model: _ranks(part, ranked) for model, part in by_model.items()},
        "counts": {rival: _counts(rows, rival) for rival in rivals},
        "losses": [loss for rival in rivals for loss in _losses(rows, rival)],
        "seconds": {model: _seconds(part, ranked) for model, part in by_model.items()},
        "sources": _sources(store, plan),
        "changed": [named("ours", plan.settings)] if plan.settings else [],
    }


def _row(store: Store, plan: Plan, table: str, model: str) -> dict[str, Any]:
    """Summarise one table with one model: mean scores and seconds of every method, and ours against others."""
    cells = {named(*entry): plan.of(table, model, *entry) for entry in plan.entries()}
    cells = {name: part for name, part in cells.items() if part}
    found = {name: _results(store, part) for name, part in cells.items()}
    complete = {name: results for name, results in found.items() if len(results) == len(cells[name])}
    measure, other = BY_TASK[shape(table).task]
    return {
        "table": table,
        "model": model,
        "measure": measure,
        "other": other,
        "scores": {name: _means(results) for name, results in complete.items()},
        "lost": {name: _reason(store, cells[name]) for name in cells if name not in complete},
        "against": {rival: _judged(complete, rival, measure) for rival in AGAINST},
        "against_other": {rival: _judged(complete, rival, other) for rival in AGAINST},
        "best_other": _best_other({name: _means(results) for name, results in complete.items()}, measure),
        "changed": {name: _judged(complete, "ours", measure, name) for name in complete if name.startswith("ours, ")},
    }


def _results(store: Store, cells: Sequence[Cell]) -> Folds:
    results = {cell.fold: store.result(cell) for cell in cells}
    return {fold: result for fold, result in results.items() if result is not None and "skipped" not in result}


def _reason(store: Store, cells: Sequence[Cell]) -> str:
    """Return why a method has no score on a table."""
    reasons = [*store.given_up(cells).values(), *store.account(cells)["failed"].values()]
    return reasons[0] if reasons else NOT_RUN


def _means(results: Folds) -> dict[str, float | None]:
    first = next(iter(results.values()))
    return {key: mean([result[key] for result in results.values()]) for key in first if key != "source"}


def _best_other(scores: dict[str, dict[str, float | None]], measure: str) -> dict[str, Any] | None:
    """Find the best of the methods that gains are not computed against, and whether it is ahead of ours."""
    sign = -1.0 if measure in LOWER_IS_BETTER else 1.0
    gains = {name: sign * found for name, row in scores.items() if (found := row[measure]) is not None}
    others = [name for name in gains if name not in AGAINST and not name.startswith("ours")]
    if not others:
        return None
    best = max(others, key=lambda name: gains[name])
    return {"method": best, "score": sign * gains[best], "ahead": "ours" in gains and gains[best] > gains["ours"]}


def _judged(found: dict[str, Folds], rival: str, measure: str, name: str = "ours") -> dict[str, Any] | None:
    """Judge the gain of a method over a rival, fold by fold, positive if better; None if one has not run."""
    if name not in found or rival not in found or len(found[name]) < 2:
        return None
    sign = -1.0 if measure in LOWER_IS_BETTER else 1.0
    verdict = judge(
        [sign * (found[name][fold][measure] - found[rival][fold][measure]) for fold in found[name]], overlap=OVERLAP
    )
    worse, better = verdict["gain"] < -verdict["error"], verdict["gain"] > verdict["error"]
    return verdict | {"word": WORDS[verdict["word"]], "worse": worse, "better": better}


def _in_errors(verdict: dict[str, Any] | None) -> float:
    """Return a gain in standard errors, to sort by."""
    return np.inf if verdict is None else float(verdict["gain"] / max(verdict["error"], SMALLEST))


def _standing(row: dict[str, Any]) -> float:
    """Return the largest loss against the model's own way or five TargetEncoders."""
    return min(_in_errors(row["against"]["native"]), _in_errors(row["against"]["target x5"]))


def _losses(rows: Sequence[dict[str, Any]], rival: str) -> list[dict[str, Any]]:
    lost = [row for row in rows if row["against"][rival] is not None and row["against"][rival]["worse"]]
    lost.sort(key=lambda row: _in_errors(row["against"][rival]))
    place = ("table", "model", "measure")
    return [{key: row[key] for key in place} | {"rival": rival} | row["against"][rival] for row in lost]


def _ranks(rows: Sequence[dict[str, Any]], ranked: list[str]) -> dict[str, Any]:
    """Average ranks over tables and models of the methods that exist for all; one without a score is last."""
    if not rows or not ranked:
        return {"n": 0, "ranks": {}}
    losses = np.array([[_loss(row, name) for name in ranked] for row in rows])
    ranks = map(float, rankdata(losses, axis=1).mean(axis=0))
    return {"n": len(rows), "ranks": dict(sorted(zip(ranked, ranks, strict=True), key=lambda pair: pair[1]))}


def _loss(row: dict[str, Any], name: str) -> float:
    found = row["scores"].get(name, {}).get(row["measure"])
    if found is None:
        return np.inf
    return float(found) if row["measure"] in LOWER_IS_BETTER else -float(found)


def _counts(rows: Sequence[dict[str, Any]], rival: str) -> dict[str, int]:
    """Count tables and models where ours is better, worse or neither, by more than one standard error."""
    verdicts = [row["against"][rival] for row in rows if row["against"][rival] is not None]
    better, worse = (sum(verdict[word] for verdict in verdicts) for word in ("better", "worse"))
    return {"better": better, "even": len(verdicts) - better - worse, "worse": worse}


def _seconds(rows: Sequence[dict[str, Any]], ranked: list[str]) -> dict[str, Any]:
    """Sum the seconds of one fold over the tables on which all that are ranked were scored."""
    common = [row for row in rows if all(name in row["scores"] for name in ranked)]
    return {"tables": [row["table"] for row in common]} | {
        part: {name: sum(row["scores"][name][f"{part}_seconds"] for row in common) for name in ranked}
        for part in ("fit", "predict")
    }


def _sources(store: Store, plan: Plan) -> dict[str, Any]:
    """Return with which versions of the library ours ran, and on how many cells it was not this one."""
    results = [store.result(cell) for cell in plan.trials() if cell.ours]
    found = [str(result["source"]) for result in results if result is not None and "source" in result]
    return {"found": sorted(set(found)), "n_other": sum(one != source() for one in found)}
