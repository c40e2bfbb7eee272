"""The paper's figure 3: how much a forest leans on the categorical columns, by encoding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.effort import Effort
from experiments.holdout import Holdout, judged, new_splits
from experiments.methods import LeaveOneOut, Method
from experiments.paper import SYNTHETIC, TABLES
from experiments.trials import Store, Trial

N_CATEGORICAL = 2  # as in the figure, whose features 8 and 9 are categorical
CLAIM = "sampling puts much less importance on the categorical columns"


@dataclass(frozen=True, slots=True)
class Importance:
    """Fit a forest, and see the share of its importance that each column has."""

    holdout: Holdout

    @property
    def key(self) -> str:
        """What it is called."""
        return self.holdout.key

    def run(self) -> dict[str, Any]:
        """Shares of the columns, and of all categorical ones together."""
        fitted, found = self.holdout.fit()
        X, _, categorical = TABLES[self.holdout.table].read(1, self.holdout.n_binned)
        shares = {name: fitted.importance()[name] for name in X}
        return {"score": found, "shares": shares, "categorical": sum(shares[name] for name in categorical)}


def trials(effort: Effort) -> list[Trial]:
    """Sampling and the references, on new splits."""
    return [
        trial for table in SYNTHETIC for method in _methods(table).values() for trial in _splits(effort, table, method)
    ]


def summarise(store: Store, effort: Effort) -> dict[str, Any]:
    """By table and method: mean shares; by reference: the verdict on its categorical share minus that of sampling."""
    tables: dict[str, Any] = {}
    for table in SYNTHETIC:
        parts = {name: _splits(effort, table, method) for name, method in _methods(table).items()}
        sampling = parts["sampling"]
        tables[table] = {
            "methods": {name: _mean(store, part) for name, part in parts.items()},
            "reference_minus_sampling": {
                name: judged(store, part, sampling, value="categorical")
                for name, part in parts.items()
                if name != "sampling"
            },
        }
    return {"claim": CLAIM, "tables": tables}


def draw(summary: dict[str, Any], folder: Path) -> list[Path]:
    """Shares of the columns, the baseline in the same forest beside sampling."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    styles = {"leave_one_out": ("leave-one-out", "0.72"), "category_means": ("category means", "C1")}
    styles["sampling"] = ("sampling", "C0")
    for ax, (table, row) in zip(figure.subplots(1, 2), summary["tables"].items(), strict=True):
        drawn = {name: row["methods"][name] for name in styles if row["methods"][name] is not None}
        for number, (name, part) in enumerate(drawn.items()):
            columns = list(part["shares"])
            place = np.arange(len(columns)) + 0.26 * (number - 1)
            ax.barh(place, list(part["shares"].values()), 0.26, label=styles[name][0], color=styles[name][1])
            ax.set_yticks(
                np.arange(len(columns)),
                [*columns[:-N_CATEGORICAL], *(f"{name} (cat.)" for name in columns[-N_CATEGORICAL:])],
            )
        ax.invert_yaxis()
        ax.set(title=table, xlabel="share of the importance")
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    path = folder / "importance.png"
    figure.savefig(path, dpi=100)
    return [path]


def _methods(table: str) -> dict[str, Method]:
    """Sampling, and what the paper calls target encoder: LeaveOneOutEncoder, the class that its text names.

    In the same forest as sampling, so that only the encoding differs; as plain means of the categories in that forest;
    and with the printed parameters of its own, as the paper's figure may have been made.
    """
    best = TABLES[table].best_sampling
    baseline = TABLES[table].best_leave_one_out
    same = LeaveOneOut(baseline.sigma, best.max_depth, best.max_features, best.min_samples_leaf)
    means = replace(same, train_on="means")
    return {"leave_one_out": same, "category_means": means, "leave_one_out_printed": baseline, "sampling": best}


def _splits(effort: Effort, table: str, method: Method) -> list[Importance]:
    return [Importance(holdout) for holdout in new_splits(effort, table, method, N_CATEGORICAL)]


def _mean(store: Store, part: list[Importance]) -> dict[str, Any] | None:
    """Mean shares over the splits."""
    results = [result for result in map(store.result, part) if result is not None]
    if not results:
        return None
    shares = {name: float(np.mean([result["shares"][name] for result in results])) for name in results[0]["shares"]}
    return {
        "shares": shares,
        "categorical": float(np.mean([result["categorical"] for result in results])),
        "n_splits": len(results),
    }
