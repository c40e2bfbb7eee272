"""What do copies, members and rounds cost, and what do they score? Ratios in one run on one machine.

    CATBAYES_DATA=folder python benchmarks/estimators.py [--tables adult amazon] [--models forest lightgbm] [--folds 5]

Each model is fitted plainly on scikit-learn's TargetEncoder, on K = 5 and 10 copies, on 10 members, and in rounds, over
the same folds. Times are multiples of the plain fit, encoding included; scores are AUC and log-loss, with the paired
difference to 10 copies and its standard error over folds. Predicting is timed against a plain predict, encoding
included on both sides.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import lightgbm
import numpy as np
import pandas
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from catbayes import SamplingClassifier
from catbayes.datasets import load


def read_table(name: str) -> tuple[pandas.DataFrame, np.ndarray[Any, Any]]:
    """One of the public tables, its integer codes made text."""
    data = load(name)
    codes = [column for column in data.categorical if pandas.api.types.is_numeric_dtype(data.table[column])]
    return data.table.astype(dict.fromkeys(codes, str)), data.y


MODELS = {
    "forest": RandomForestClassifier(400, min_samples_leaf=5, n_jobs=2, random_state=0),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=200, learning_rate=0.05, n_jobs=2, verbose=-1, random_state=0),
    "histograms": HistGradientBoostingClassifier(early_stopping=False, random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}

WITHOUT_ROUNDS = (LogisticRegression, lightgbm.LGBMClassifier)
WAYS: dict[str, dict[str, Any]] = {
    "copies 5": {"fit_with": "copies", "n_draws": 5},
    "copies 10": {"fit_with": "copies", "n_draws": 10},
    "members 10": {"fit_with": "members", "n_draws": 10},
    "rounds": {"fit_with": "rounds", "n_draws": 10},
}


def timed(task: Any, *arguments: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = task(*arguments)
    return time.perf_counter() - start, result


def scores(y: Any, probability: Any) -> tuple[float, float]:
    return float(roc_auc_score(y, probability)), float(log_loss(y, probability))


def measure(model: Any, X: Any, y: Any, train: Any, test: Any) -> dict[str, tuple[float, ...]]:
    """Time to fit, time to predict, AUC and log-loss of every way on one fold."""
    fitted_on, new = X.iloc[train], X.iloc[test]
    categorical = [name for name in X if not pandas.api.types.is_numeric_dtype(X[name])]
    encode = make_column_transformer((TargetEncoder(random_state=0), categorical), remainder="passthrough")
    plain = make_pipeline(encode, clone(model))
    fit, _ = timed(plain.fit, fitted_on, y[train])
    predict, probability = timed(plain.predict_proba, new)
    results: dict[str, tuple[float, ...]] = {"plain": (fit, predict, *scores(y[test], probability[:, 1]))}
    for name, way in WAYS.items():
        if name == "rounds" and isinstance(model[-1] if hasattr(model, "steps") else model, WITHOUT_ROUNDS):
            continue
        sampling = SamplingClassifier(clone(model), random_state=0, n_jobs=1, **way)
        fit, _ = timed(sampling.fit, fitted_on, y[train])
        for predict_with in ("draws", "mean"):
            sampling.set_params(predict_with=predict_with)
            predict, probability = timed(sampling.predict_proba, new)
            results[f"{name}, {predict_with}"] = (fit, predict, *scores(y[test], probability[:, 1]))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=["adult", "amazon"])
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for table in options.tables:
        X, y = read_table(table)
        folds = list(StratifiedKFold(options.folds, shuffle=True, random_state=0).split(X, y))
        for name in options.models:
            runs = [measure(MODELS[name], X, y, *fold) for fold in folds]
            print(f"\n{table}, {name}, {options.folds} folds; fit and predict as multiples of plain")
            base = np.array([run["copies 10, draws"] for run in runs])
            plain = np.array([run["plain"] for run in runs])
            print(f"{'':20}{'fit':>6}{'predict':>9}{'AUC':>8}{'against copies 10':>20}{'log-loss':>10}{'against':>18}")
            for way in runs[0]:
                found = np.array([run[way] for run in runs])
                gap = found - base
                error = gap.std(axis=0, ddof=1) / np.sqrt(len(runs))
                ratio = found[:, :2].mean(axis=0) / plain[:, :2].mean(axis=0)
                print(
                    f"{way:20}{ratio[0]:6.2f}{ratio[1]:9.2f}{found[:, 2].mean():8.4f}"
                    f"{gap[:, 2].mean():+12.4f} ± {error[2]:.4f}{found[:, 3].mean():10.4f}"
                    f"{gap[:, 3].mean():+10.4f} ± {error[3]:.4f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
