"""Measure what columns of pure noise cost, next to three numbers that matter.

A table has as many new rows to test on as rows to learn from, and the same numbers and targets whatever the categories.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from catbayes import SamplingBayesianEncoder, SamplingClassifier, recommended_encoder
from experiments.quality_cells import HALVES
from experiments.quality_methods import target_encoder
from experiments.quality_models import MODELS
from experiments.seeds import stream
from experiments.trials import Store, source
from experiments.verdict import judge

ROWS = (1, 2, 4, 20, 100, 200, 250, 400, 1000)
COLUMNS = (1, 10, 30)
NOISY_MODELS = ("linear", "forest", "LightGBM")
WAYS = {"encoder": "encoder in a Pipeline", "model": "SamplingClassifier"}
EFFECTS = (1.0, 0.5, 0.25)
N_ROWS, N_SEEDS = 4_000, 3
NUMBERS, TARGET, CATEGORIES, MODEL = range(4)  # purposes of random streams
N_WORST = 15
Pairs = Literal["auto", "pairs"]


@dataclass(frozen=True, slots=True)
class Noise:
    """One model on one simulated table: AUC on new rows, with columns of noise or without any.

    `way` is "without", "target" for scikit-learn's TargetEncoder, or one of WAYS.
    """

    model: str
    way: str
    seed: int
    rows: int = 0  # of each category
    columns: int = 0
    pairs: Pairs | None = None
    n_rows: int = N_ROWS

    @property
    def key(self) -> str:
        """The name."""
        noise = f", {self.columns} columns of {self.rows} rows a category" if self.columns else ""
        pairs = f", interactions={self.pairs}" if self.pairs else ""
        return f"{self.model}, {self.way}{noise}{pairs}, {self.n_rows} rows, seed {self.seed}"

    @property
    def ours(self) -> bool:
        """Tell whether the result depends on catbayes."""
        return self.way in WAYS

    def run(self) -> dict[str, Any]:
        """Return the AUC."""
        X, y, categorical = self.table()
        seed = int(stream(self.seed, MODEL).integers(2**31))
        model = MODELS[self.model].make(True, seed)
        model = make_pipeline(StandardScaler(), model) if MODELS[self.model].scaled else model
        fitted = self._around(model, categorical, seed).fit(X[: self.n_rows], y[: self.n_rows])
        auc = float(roc_auc_score(y[self.n_rows :], fitted.predict_proba(X[self.n_rows :])[:, 1]))
        return {"auc": auc} | ({"source": source()} if self.ours else {})

    def table(self) -> tuple[Any, Any, list[str]]:
        """Rows to learn from and as many new ones, their classes, and the names of the columns of noise."""
        import pandas

        size = 2 * self.n_rows
        numbers = stream(self.seed, NUMBERS).standard_normal((size, len(EFFECTS)))
        chance = 1 / (1 + np.exp(-numbers @ EFFECTS))
        y = (stream(self.seed, TARGET).random(size) < chance).astype(np.intp)
        frame = {f"number {i}": numbers[:, i] for i in range(len(EFFECTS))}
        for column in range(self.columns):
            random = stream(self.seed, CATEGORIES, self.rows, column)
            frame[f"noise {column}"] = random.permutation(np.arange(size) // (2 * self.rows))
        return pandas.DataFrame(frame), y, [f"noise {column}" for column in range(self.columns)]

    def _around(self, model: Any, categorical: list[str], seed: int) -> Any:
        if self.way == "without":
            return model
        if self.way == "target":
            encode = make_column_transformer((target_encoder("binary", seed), categorical), remainder="passthrough")
            return make_pipeline(encode, model)
        ours: Any = SamplingBayesianEncoder(categorical, interactions=self.pairs, random_state=seed)
        if self.way == "encoder":
            return make_pipeline(ours, model)
        pairs = {} if self.pairs is None else {"interactions": self.pairs}
        ours = recommended_encoder(model, columns=categorical, **pairs, random_state=seed)
        return SamplingClassifier(model, ours, random_state=seed)


@dataclass(frozen=True, slots=True)
class NoisePlan:
    """How much noise to try: rows of a category, columns, models, `interactions` besides none, and tables.

    Seeds are even where settings are chosen, and odd where they are reported.
    """

    half: str = "report"
    rows: tuple[int, ...] = ROWS
    columns: tuple[int, ...] = COLUMNS
    models: tuple[str, ...] = NOISY_MODELS
    pairs: Pairs = "auto"
    n_seeds: int = N_SEEDS
    n_rows: int = N_ROWS

    def sizes(self) -> list[tuple[int, int]]:
        """Rows of a category, and columns."""
        return [(rows, columns) for rows in self.rows for columns in self.columns]

    def seeds(self, model: str, way: str, rows: int = 0, columns: int = 0, pairs: Pairs | None = None) -> list[Noise]:
        """The same on every simulated table."""
        numbers = range(HALVES[self.half], 2 * self.n_seeds, 2)
        return [Noise(model, way, seed, rows, columns, pairs, self.n_rows) for seed in numbers]

    def ours(self, model: str, rows: int, columns: int) -> list[list[Noise]]:
        """Each way to use us, without pairs and, where there are two columns, with them."""
        return [
            self.seeds(model, way, rows, columns, pairs)
            for way in WAYS
            for pairs in (None, self.pairs)
            if pairs is None or columns > 1
        ]

    def trials(self) -> list[Noise]:
        """All of them, table by table."""
        found = []
        for model in self.models:
            found += self.seeds(model, "without")
            for size in self.sizes():
                found += self.seeds(model, "target", *size)
                found += [trial for part in self.ours(model, *size) for trial in part]
        return sorted(found, key=lambda trial: trial.seed)


def summarise(store: Store, plan: NoisePlan) -> dict[str, Any]:
    """The worst differences, and by model and way the worst and the mean, TargetEncoder's beside them."""
    found = [row for model in plan.models for size in plan.sizes() for row in _rows(store, plan, model, *size)]
    found.sort(key=lambda row: row["change"])
    ours = [row for row in found if row["way"] in WAYS]
    groups: dict[tuple[str, str, str | None], list[dict[str, Any]]] = {}
    for row in found:
        groups.setdefault((row["model"], row["way"], row["pairs"]), []).append(row)
    return {
        "n_rows": plan.n_rows,
        "n_seeds": plan.n_seeds,
        "pairs": plan.pairs,
        "ways": WAYS | {"target": "TargetEncoder"},
        "sizes": {"rows": list(plan.rows), "columns": list(plan.columns)},
        "n_settings": len(ours),
        "n_costly": sum(row["change"] < -2 * row["error"] and row["change"] < -0.001 for row in ours),
        "worst": ours[:N_WORST],
        "worst_against_target": sorted(ours, key=lambda row: row["against_target"])[:5],
        "groups": [
            {
                "model": model,
                "way": way,
                "pairs": pairs,
                "n": len(rows),
                "mean": float(np.mean([row["change"] for row in rows])),
                "worst": rows[0],
            }
            for (model, way, pairs), rows in sorted(groups.items(), key=lambda item: str(item[0]))
        ],
    }


def _rows(store: Store, plan: NoisePlan, model: str, rows: int, columns: int) -> Iterable[dict[str, Any]]:
    """What one amount of noise changes for a model, for TargetEncoder and for each way to use us."""
    without, target = plan.seeds(model, "without"), plan.seeds(model, "target", rows, columns)
    for part in [target, *plan.ours(model, rows, columns)]:
        results = [[store.result(trial) for trial in trials] for trials in zip(part, without, target, strict=True)]
        complete = [[one["auc"] for one in three if one is not None] for three in results if all(three)]
        if len(complete) < 2:
            continue
        auc = np.array(complete)
        change = judge(auc[:, 0] - auc[:, 1], overlap=0.0)  # tables have no row in common
        against = judge(auc[:, 0] - auc[:, 2], overlap=0.0)
        trial = part[0]
        row: dict[str, Any] = {"model": model, "way": trial.way, "pairs": trial.pairs, "rows": rows, "columns": columns}
        row |= {"n": len(auc), "auc": float(auc[:, 0].mean()), "change": change["gain"], "error": change["error"]}
        yield row | {"against_target": against["gain"], "against_target_error": against["error"]}
