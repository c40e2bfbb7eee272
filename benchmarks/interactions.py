"""Do pairs of columns close the gap to CatBoost, and at what cost? Scores and times of one run on one machine.

    CATBAYES_DATA=folder python benchmarks/interactions.py [--tables amazon adult] [--folds 3] [--repeats 2]

CatBoost with its own combinations of columns, at its default of 1,000 rounds, against LightGBM on our encoding of
single columns, of those that interactions="auto" adds, and of all pairs. The same folds for all, two threads each.
Differences are paired, with their standard errors over folds, and times are multiples of CatBoost's, encoding included.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold

from catbayes import SamplingBayesianEncoder, SamplingClassifier
from catbayes.datasets import load


def read_table(name: str) -> tuple[pandas.DataFrame, np.ndarray[Any, Any], list[str]]:
    """One of the public tables, its categorical columns as text without gaps, which CatBoost asks for."""
    data = load(name)
    words = data.table[list(data.categorical)].astype(object).where(data.table[list(data.categorical)].notna(), "?")
    return data.table.assign(**words.astype(str)), data.y, list(data.categorical)


def contestants(categorical: list[str], pairs: bool) -> dict[str, Any]:
    """What is compared, ready to be fitted."""

    def ours(interactions: Any) -> SamplingClassifier:
        lightgbm = LGBMClassifier(
            n_estimators=200, learning_rate=0.05, colsample_bytree=0.5, reg_lambda=1.0, n_jobs=2, verbose=-1
        )
        encoder = SamplingBayesianEncoder(categorical, interactions=interactions)
        return SamplingClassifier(lightgbm, encoder, random_state=0)

    catboost = CatBoostClassifier(
        cat_features=categorical, verbose=0, allow_writing_files=False, thread_count=2, random_state=0
    )
    found = {"CatBoost": catboost, "single columns": ours(None), "auto": ours("auto")}
    return found | ({"all pairs": ours("pairs")} if pairs else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["amazon", "adult"])
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=2)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in chosen.tables:
        X, y, categorical = read_table(name)
        y = np.unique(y, return_inverse=True)[1]
        found: dict[str, list[tuple[float, float, float]]] = {}
        splitter = RepeatedStratifiedKFold(n_splits=chosen.folds, n_repeats=chosen.repeats, random_state=0)
        for train, test in splitter.split(X, y):
            for label, model in contestants(categorical, pairs=name == "amazon").items():
                start = time.perf_counter()
                probability = model.fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])[:, 1]
                seconds = time.perf_counter() - start
                scores = (roc_auc_score(y[test], probability), log_loss(y[test], probability), seconds)
                found.setdefault(label, []).append(scores)
        show(name, found)


def show(name: str, found: dict[str, list[tuple[float, float, float]]]) -> None:
    """Means over folds, and differences to CatBoost with their standard errors."""
    n_folds = len(found["CatBoost"])
    print(f"\n{name}, {n_folds} folds      AUC (less CatBoost's)      log-loss (less CatBoost's)    time of CatBoost's")
    against = np.array(found["CatBoost"])
    for label, rows in found.items():
        scores = np.array(rows)
        gap = (scores - against)[:, :2]
        mean, error = gap.mean(axis=0), gap.std(axis=0, ddof=1) / np.sqrt(n_folds)
        cells = [f"{scores[:, i].mean():.4f} ({mean[i]:+.4f} ± {error[i]:.4f})" for i in range(2)]
        print(f"{label:20s} {cells[0]:26s} {cells[1]:30s} {scores[:, 2].sum() / against[:, 2].sum():.2f}", flush=True)


if __name__ == "__main__":
    main()
