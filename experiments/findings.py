"""What the ablation says: how much each setting costs, and where the default stands among the peers.

Tables are measured differently, so settings are compared by their loss, 1 - AUC for two classes, log-loss for several,
1 - R² for numbers, as the logarithm of its ratio to that of the centre: times 100, so near to per cent; more is worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.stats import rankdata, wilcoxon

from catbayes._comparison._scores import MEASURES
from catbayes._validation import Array
from catbayes.datasets import NAMES
from experiments.ablation import (
    CENTRE,
    DEFAULT,
    MODELS,
    N_FOLDS,
    NATIVE,
    TARGET,
    Fold,
    Peer,
    Setting,
    choosing,
    measure_of,
    reported,
    reporting,
    settings,
    tables,
    trials,
)
from experiments.advice import advise
from experiments.effort import Effort
from experiments.holdout import mean
from experiments.trials import Store
from experiments.verdict import judge

__all__ = ["summarise", "trials"]

OVERLAP = 1 / (N_FOLDS - 1)
SMALLEST = 1e-6
FEWEST_TABLES = 6  # for signed ranks to say anything
Cell = tuple[str, str, int, int]  # table, model, repeat, fold
Results = dict[Cell, dict[str, float]]


def summarise(store: Store, effort: Effort) -> dict[str, Any]:
    """The costs of other settings on the folds that choose, and the standing of the default on those that report."""
    chosen = {setting: _results(store, choosing(effort, setting)) for setting in settings()}
    costs = [_cost(setting, results, chosen[CENTRE]) for setting, results in chosen.items() if setting != CENTRE]
    found = {method: _results(store, reporting(effort, method)) for method in reported()}
    summary = {
        "centre": asdict(CENTRE),
        "default": asdict(DEFAULT),
        "costs": [cost for cost in costs if cost is not None],
        "standing": standing(found, tables(effort)),
    }
    return summary | {"advice": advise(summary)}


def _results(store: Store, trials: Sequence[Any]) -> Results:
    """The results of the trials that have one, by cell."""
    found = {}
    for trial in trials:
        assert isinstance(trial, Fold)
        result = store.result(trial)
        if result is not None:
            found[trial.table, trial.model, trial.repeat, trial.fold] = result
    return found


def loss(table: str, result: dict[str, float]) -> float:
    """What is to be small, by the measure that ranks; never quite 0, so that it has a logarithm."""
    measure = measure_of(table)
    return max(SMALLEST, 1.0 - result[measure] if MEASURES[measure].higher else result[measure])


def excess(results: Results, reference: Results) -> dict[Cell, float]:
    """Loss in per cent of the reference's, as a logarithm, on the cells of both."""
    common = [cell for cell in results if cell in reference]
    return {cell: 100.0 * float(np.log(_loss(results, cell) / _loss(reference, cell))) for cell in common}


def _cost(setting: Setting, results: Results, reference: Results) -> dict[str, Any] | None:
    """What a setting loses against the centre, by model, by table and on average over tables."""
    gaps = excess(results, reference)
    by_table = {table: mean([gap for cell, gap in gaps.items() if cell[0] == table]) for table in _tables_of(gaps)}
    if not by_table:
        return None
    changed = {name: value for name, value in asdict(setting).items() if value != getattr(CENTRE, name)}
    by_model = {model: mean([gap for cell, gap in gaps.items() if cell[1] == model]) for model in MODELS}
    return {"changed": changed, "models": by_model, "tables": by_table} | weigh(list(by_table.values()))


def weigh(costs: Sequence[float | None]) -> dict[str, Any]:
    """The mean cost over tables, on how many it is one, and what Wilcoxon's signed ranks say of it.

    Ranks, because one table can cost a hundred times what the others do (Demšar, Journal of Machine Learning Research
    7, 2006). Tables on which nothing changes have no say.
    """
    values = np.array([cost for cost in costs if cost is not None])
    moved = values[np.abs(values) > 1e-9]
    word = "within noise" if len(values) >= FEWEST_TABLES else "too few tables"
    if len(moved) >= FEWEST_TABLES and wilcoxon(moved).pvalue < 0.05:
        word = "worse" if rankdata(np.abs(moved))[moved > 0].sum() > len(moved) * (len(moved) + 1) / 4 else "better"
    counts = {"worse_on": int((moved > 0).sum()), "better_on": int((moved < 0).sum()), "n_tables": len(values)}
    return {"cost": float(values.mean()), "word": word} | counts


def standing(found: dict[Setting | Peer, Results], names: Sequence[str]) -> dict[str, Any]:
    """Scores, ranks and differences to scikit-learn's TargetEncoder, on the folds that report."""
    encoders = [method for method in found if method != Peer("native")]
    cells = [(table, model) for table in names for model in MODELS]
    scores = {method.name: {cell: _score(found[method], *cell) for cell in cells} for method in encoders}
    complete = [cell for cell in cells if all(scores[method.name][cell] is not None for method in encoders)]
    public = [cell for cell in complete if cell[0] in NAMES]
    return {
        "methods": [method.name for method in encoders],
        "scores": [
            {
                "table": table,
                "model": model,
                "measure": measure_of(table),
                "scores": {method.name: scores[method.name][table, model] for method in encoders},
                "against_target": _against(found, [model], table),
            }
            for table, model in complete
        ],
        "native": [
            {
                "table": table,
                "measure": measure_of(table),
                "scores": {model: _score(found[Peer("native")], table, model) for model in NATIVE},
            }
            for table in names
            if Peer("native") in found
        ],
        "ranks": {name: mean(list(ranks)) for name, ranks in _ranks(found, encoders, public).items()},
        "n_cells": len(public),
        "calibration": {
            method.name: mean([r["calibration_error"] for r in found[method].values() if "calibration_error" in r])
            for method in encoders
        },
        "against_target": {table: _against(found, MODELS, table) for table in dict.fromkeys(c[0] for c in complete)},
    }


def _ranks(found: dict[Setting | Peer, Results], encoders: Sequence[Any], cells: Sequence[Any]) -> dict[str, Array]:
    """Rank of each method in every cell, 1 for the best; ties share theirs."""
    if not cells:
        return {method.name: np.empty(0) for method in encoders}
    losses = np.array([[_mean_loss(found[method], *cell) for method in encoders] for cell in cells])
    return dict(zip([method.name for method in encoders], rankdata(losses, axis=1).T, strict=True))


def _against(found: dict[Setting | Peer, Results], models: Sequence[str], table: str) -> dict[str, Any] | None:
    """The gain of the default over TargetEncoder in per cent of loss, fold by fold; the mean over the models."""
    gaps = excess(found[TARGET], found[DEFAULT])
    by_fold: dict[tuple[int, int], list[float]] = {}
    for (name, model, repeat, fold), gap in gaps.items():
        if name == table and model in models:
            by_fold.setdefault((repeat, fold), []).append(gap)
    values = [float(np.mean(part)) for part in by_fold.values() if len(part) == len(models)]
    if len(values) < 2:
        return None
    verdict = judge(values, overlap=OVERLAP)
    worse = verdict.gain < -verdict.error
    return asdict(verdict) | {"word": verdict.word, "worse_by_more_than_one_error": worse}


def _tables_of(gaps: dict[Cell, float]) -> list[str]:
    return list(dict.fromkeys(cell[0] for cell in gaps))


def _loss(results: Results, cell: Cell) -> float:
    return loss(cell[0], results[cell])


def _score(results: Results, table: str, model: str) -> float | None:
    return mean([result[measure_of(table)] for cell, result in results.items() if cell[:2] == (table, model)])


def _mean_loss(results: Results, table: str, model: str) -> float:
    return float(np.mean([_loss(results, cell) for cell in results if cell[:2] == (table, model)]))
