"""The paper's figures 1 and 2: the cross-validated score when one parameter of sampling varies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.model_selection import KFold

from experiments.effort import Effort, decades
from experiments.holdout import judged, scores, split
from experiments.methods import Sampling
from experiments.paper import FOLD_SEED, PRINTED_DRAWS, PRINTED_PRIOR, SEED, SYNTHETIC, TABLES
from experiments.scores import score
from experiments.trials import Store, Trial

DEFAULT_PRIOR = "empirical"
EQUAL = "equal"
NEAR = 0.005  # of accuracy


@dataclass(frozen=True, slots=True)
class Fold:
    """Fit sampling to the other folds of the training rows, and score it on this one."""

    table: str
    method: Sampling
    fold: int
    n_folds: int
    trees: int
    n_rows: int | None

    @property
    def key(self) -> str:
        """What it is called."""
        rows = "" if self.n_rows is None else f", {self.n_rows} rows"
        return f"{self.table}, {self.method.name}, {self.trees} trees, fold {self.fold} of {self.n_folds}{rows}"

    def run(self) -> dict[str, Any]:
        """The score."""
        X, _, y, _, categorical = split(self.table, SEED, self.n_rows)
        folds = list(KFold(self.n_folds, shuffle=True, random_state=FOLD_SEED).split(X))
        train, test = folds[self.fold]
        # The seed is the fold's, whatever the parameter: differences within a fold are paired.
        fitted = self.method.fit(X.iloc[train], y[train], categorical, self.trees, self.fold)
        return {"score": score(y[test], fitted.predict(X.iloc[test]))[TABLES[self.table].measure]}


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure: the parameter that varies, and the printed curve of each table."""

    name: str
    parameter: str
    label: str
    printed_values: tuple[float, ...]
    printed: dict[str, tuple[float, ...]]

    def trials(self, effort: Effort) -> list[Trial]:
        """One for each table, value and fold; the prior also as our default chooses it."""
        extra = () if self.parameter == "n_draws" else (DEFAULT_PRIOR,)
        values = (*self._values(effort), *extra)
        return [trial for table in SYNTHETIC for value in values for trial in self._folds(effort, table, value)]

    def summarise(self, store: Store, effort: Effort) -> dict[str, Any]:
        """By table: mean and standard deviation over folds at each value, the printed curve, and its claims."""
        return {"parameter": self.parameter, "tables": {table: self._row(store, effort, table) for table in SYNTHETIC}}

    def draw(self, summary: dict[str, Any], folder: Path) -> list[Path]:
        """Our curve with a band of one standard deviation, beside the printed one."""
        figure = Figure(figsize=(9, 3.4), layout="constrained")
        for ax, (table, row) in zip(figure.subplots(1, 2), summary["tables"].items(), strict=True):
            ours, spread = (np.array(row[name], dtype=np.float64) for name in ("mean", "sd"))
            ax.plot(self.printed_values, row["printed"]["mean"], "s--", color="0.55", markersize=4, label="printed")
            ax.plot(row["values"], ours, "o-", color="C0", markersize=4, label="ours")
            ax.fill_between(
                row["values"], ours - spread, ours + spread, color="C0", alpha=0.15, label="± 1 sd of folds"
            )
            if row["empirical"] is not None:
                ax.axhline(row["empirical"], color="C1", linestyle="--", label="ours, empirical prior")
            if self.parameter == "gamma":
                ax.set_xscale("log")
            ax.set(title=table, xlabel=self.label, ylabel="accuracy, cross-validated")
            ax.spines[["top", "right"]].set_visible(False)
        figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
        path = folder / f"{self.name}.png"
        figure.savefig(path, dpi=100)
        return [path]

    def _values(self, effort: Effort) -> tuple[float, ...]:
        return effort.draws if self.parameter == "n_draws" else effort.gammas

    def _folds(self, effort: Effort, table: str, value: float | str) -> list[Trial]:
        change: Any = {self.parameter: value}
        method = replace(TABLES[table].best_sampling, **change)
        trees, rows = effort.figure_trees, effort.n_rows
        return [Fold(table, method, fold, effort.folds, trees, rows) for fold in range(effort.folds)]

    def _row(self, store: Store, effort: Effort, table: str) -> dict[str, Any]:
        values = self._values(effort)
        found = [scores(store, self._folds(effort, table, value)) for value in values]
        default = scores(store, self._folds(effort, table, DEFAULT_PRIOR)) if self.parameter == "gamma" else []
        return {
            "values": list(values),
            "mean": [float(np.mean(part)) if part else None for part in found],
            "sd": [float(np.std(part)) if part else None for part in found],
            "printed": {"values": list(self.printed_values), "mean": list(self.printed[table])},
            "empirical": float(np.mean(default)) if default else None,
            "claims": [self._judged(store, effort, table, *claim) for claim in self._claims(values, table)],
        }

    def _claims(self, values: tuple[float, ...], table: str) -> list[tuple[str, str, float, float]]:
        """What the text says, the word that would agree, and the two values whose difference tells."""
        smallest, middle, largest = values[0], values[(len(values) - 1) // 2], values[-1]
        if self.parameter == "gamma":
            return [
                ("γ has little influence", EQUAL, middle, smallest),
                ("too big a γ does harm", "holds", smallest, largest),
            ]
        if table == "make_classification":
            return [("unchanged after K = 2", EQUAL, largest, 2)]
        return [("increases slowly beyond K = 2", "holds", largest, 2)]

    def _judged(
        self, store: Store, effort: Effort, table: str, claim: str, expected: str, value: float, reference: float
    ) -> dict[str, Any]:
        verdict = None
        if value != reference:
            sides = (self._folds(effort, table, side) for side in (value, reference))
            verdict = judged(store, *sides, overlap=1 / (effort.folds - 1))
        told = None if verdict is None else _agreement(verdict, expected)
        return {"claim": claim, "told": told, "verdict": verdict, "value": value, "reference": reference}


def _agreement(verdict: dict[str, Any], expected: str) -> str:
    """Whether a difference bears a claim out; one of equality only if the whole interval is near 0."""
    if expected != EQUAL:
        return {expected: "agrees", "within noise": "cannot be told"}.get(verdict["word"], "does not agree")
    if max(abs(verdict["low"]), abs(verdict["high"])) <= NEAR:
        return "agrees"
    return "cannot be told" if verdict["word"] == "within noise" else "does not agree"


DRAWS = Curve("draws", "n_draws", "number of draws, K", tuple(range(1, 10)), PRINTED_DRAWS)
PRIOR = Curve("prior", "gamma", "prior scaling factor, γ", decades(-10, -2), PRINTED_PRIOR)
