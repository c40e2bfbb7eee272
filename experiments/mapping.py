"""Does the mapping function matter? For a forest and for a linear model, on the four tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from experiments.effort import Effort
from experiments.holdout import Holdout, judged, mean, new_splits, scores
from experiments.methods import Linear, Method
from experiments.paper import TABLES
from experiments.trials import Store, Trial

COPIES = 5
MODELS = ("forest", "linear")
CLAIM = "the mapping matters little to a forest, and can matter much to a linear model"


def trials(effort: Effort) -> list[Trial]:
    """Every mapping with every model, on new splits."""
    return [
        trial
        for table in TABLES
        for model in MODELS
        for mapping in _mappings(table)
        for trial in _splits(effort, table, model, mapping)
    ]


def summarise(store: Store, effort: Effort) -> dict[str, Any]:
    """By table, model and mapping: the mean score, and the verdict on the mapping minus "mean"."""
    return {
        "claim": CLAIM,
        "tables": {
            table: {"measure": TABLES[table].measure} | {model: _row(store, effort, table, model) for model in MODELS}
            for table in TABLES
        },
    }


def _mappings(table: str) -> tuple[str, ...]:
    """The paper's: weight of evidence for classes, the drawn precision for numbers; and our precision of the mean."""
    own = "weight_of_evidence" if TABLES[table].measure == "accuracy" else "identity"
    return ("mean", own, "polynomial", "mean_precision")


def _splits(effort: Effort, table: str, model: str, mapping: str) -> list[Holdout]:
    best = TABLES[table].best_sampling
    method: Method = Linear(best.gamma, COPIES, mapping)
    if model == "forest":
        method = replace(best, n_draws=COPIES, mapping=mapping)
    return new_splits(effort, table, method)


def _row(store: Store, effort: Effort, table: str, model: str) -> dict[str, Any]:
    parts = {mapping: _splits(effort, table, model, mapping) for mapping in _mappings(table)}
    means = {mapping: mean(scores(store, part)) for mapping, part in parts.items()}
    known = [value for value in means.values() if value is not None]
    return {
        "mappings": {
            mapping: {
                "score": means[mapping],
                "minus_mean": None if mapping == "mean" else judged(store, part, parts["mean"]),
            }
            for mapping, part in parts.items()
        },
        "best_minus_worst": max(known) - min(known) if known else None,
    }
