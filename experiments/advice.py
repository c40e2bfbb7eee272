"""What follows from the ablation, for whom: sentences whose numbers and directions come from what was measured."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from catbayes._comparison._scores import MEASURES
from experiments.ablation import CENTRE, DEFAULT, NATIVE, PAPER, measure_of

SMALL = 1.0  # per cent of loss, below which nobody should care


def advise(summary: dict[str, Any]) -> list[str]:
    """Sentences for a reader, those without evidence left out."""
    costs = {tuple(cost["changed"].items()): cost for cost in summary["costs"]}
    chosen = [
        _about_ranks(summary["standing"]),
        *_about_native(summary["standing"]),
        _if_known(
            costs, {"n_draws": 1}, "boosting", "In a hurry, `n_draws=1` is one fit instead of five: LightGBM's loss"
        ),
        _if_known(
            costs, {"n_draws": 20}, None, "More draws than five are four times the work at `n_draws=20`: the loss"
        ),
        _if_known(
            costs,
            {"fit_with": "rounds"},
            "forest",
            'For a large forest, `fit_with="rounds"` is the cheap way: its loss',
        ),
        _if_known(
            costs,
            {"mapping": "mean_precision"},
            "forest",
            '`mapping="mean_precision"` is worth a try with a forest: its loss',
        ),
        _if_known(
            costs, {"prior": 1e-3}, "linear", "A γ chosen by hand is a risk: with `prior=1e-3` a linear model's loss"
        ),
        _if_known(costs, _paper(), None, "The paper's own setting is for reproducing the paper: its loss"),
    ]
    return [sentence for sentence in chosen if sentence]


def _paper() -> dict[str, Any]:
    return {name: value for name, value in asdict(PAPER).items() if value != getattr(CENTRE, name)}


def _about_ranks(standing: dict[str, Any]) -> str | None:
    ranks = {name: rank for name, rank in standing["ranks"].items() if rank is not None}
    if len(ranks) < 2:
        return None
    first, second = sorted(ranks, key=lambda name: ranks[name])[:2]
    if first == DEFAULT.name:
        return (
            f"Leave the defaults as they are: mean rank {ranks[first]:.2f}, and the next best has {ranks[second]:.2f}."
        )
    return f"By mean rank, {first} is better ({ranks[first]:.2f}) than our default ({ranks[DEFAULT.name]:.2f})."


def _about_native(standing: dict[str, Any]) -> list[str]:
    """Where a booster's own handling of categories is better than our encoding with LightGBM."""
    ours = {row["table"]: row["scores"][DEFAULT.name] for row in standing["scores"] if row["model"] == "boosting"}
    sentences = []
    for model in NATIVE:
        theirs = {row["table"]: row["scores"][model] for row in standing["native"] if row["scores"][model] is not None}
        both = [table for table in ours if table in theirs]
        better = [table for table in both if _better(measure_of(table), theirs[table], ours[table])]
        if both:
            named = f": {', '.join(better)}" if better else ""
            sentences.append(
                f"{model}'s own handling of categories is better than our encoding with LightGBM on {len(better)} of "
                f"{len(both)} tables{named}."
            )
    return sentences


def _better(measure: str, one: float, other: float) -> bool:
    return one > other if MEASURES[measure].higher else one < other


def _if_known(costs: dict[Any, Any], changed: dict[str, Any], model: str | None, begin: str) -> str | None:
    """A sentence on the cost of one setting, with a model or over all of them."""
    cost = costs.get(tuple(changed.items()))
    size = None if cost is None else cost["cost"] if model is None else cost["models"][model]
    if size is None:
        return None
    if abs(size) < SMALL:
        return f"{begin} changes by less than {SMALL:.0f} %."
    return f"{begin} is {abs(size):.1f} % {'larger' if size > 0 else 'smaller'}."
