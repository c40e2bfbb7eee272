"""What columns of noise cost a model, encoded by us and by scikit-learn's TargetEncoder, against leaving them out.

`python tests/leaks.py` writes the numbers to `build/reliability/leaks.json`: for each number of rows a category, number
of columns, target and model, how much is lost on new rows (log-loss of classes, 1 - R² of numbers; more is worse).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from catbayes import SamplingBayesianEncoder

ROWS, NEW = 1_000, 3_000
NUMBERS = 3  # columns that say something
MODELS = {
    "linear": (LogisticRegression(), Ridge()),
    "forest": (RandomForestClassifier(50, random_state=0), RandomForestRegressor(50, random_state=0)),
    "boosted": (LGBMClassifier(n_estimators=60, verbose=-1), LGBMRegressor(n_estimators=60, verbose=-1)),
    "neighbours": (KNeighborsClassifier(25), KNeighborsRegressor(25)),
}
TARGETS = ("two classes", "five classes", "numbers", "heavy tails")


def make(target, rows, columns, seed):
    """Numbers that matter and categories that do not: a table, its target, and how many rows are for training."""
    random, n_rows = np.random.default_rng(seed), ROWS + NEW
    X = pandas.DataFrame(random.normal(size=(n_rows, NUMBERS)), columns=[f"x{i}" for i in range(NUMBERS)])
    for number in range(columns):
        X[f"c{number}"] = random.integers(max(ROWS // rows, 2), size=n_rows).astype(str)
    score = X[["x0", "x1", "x2"]].sum(axis=1).to_numpy()
    if "classes" in target:
        cuts = [0.0] if target.startswith("two") else [-2.0, -0.7, 0.7, 2.0]
        return X, np.digitize(score + 1.5 * random.logistic(size=n_rows), cuts)
    noise = random.standard_t(3.0, size=n_rows) if target == "heavy tails" else random.normal(size=n_rows)
    return X, score + 2.0 * noise


def lost(encoder, model, X, y, classes):
    """Log-loss or 1 - R² on new rows."""
    train, new = X[:ROWS], X[ROWS:]
    if encoder is None:
        numbers = [name for name in X if name.startswith("x")]
        train, new = train[numbers], new[numbers]
    else:
        categories = [name for name in X if name.startswith("c")]
        numbers = train.drop(columns=categories).to_numpy(), new.drop(columns=categories).to_numpy()
        encoded = encoder.fit_transform(train[categories], y[:ROWS])
        train = np.hstack([numbers[0], np.asarray(encoded)])
        new = np.hstack([numbers[1], np.asarray(encoder.transform(new[categories]))])
    fitted = make_pipeline(StandardScaler(), model).fit(np.asarray(train), y[:ROWS])
    if classes:
        return log_loss(y[ROWS:], fitted.predict_proba(np.asarray(new)), labels=fitted.classes_)
    return 1.0 - r2_score(y[ROWS:], fitted.predict(np.asarray(new)))


def measured(rows, columns, target, name, seeds):
    """What a cell costs on some tables: by us, by them, and the standard error of the difference."""
    classes = "classes" in target
    folds = (StratifiedKFold if classes else KFold)(5, shuffle=True, random_state=0)
    model, found = MODELS[name][0 if classes else 1], []
    for seed in seeds:
        X, y = make(target, rows, columns, seed)
        encoders = (None, SamplingBayesianEncoder("all", random_state=0), TargetEncoder(cv=folds))
        found.append([lost(encoder, model, X, y, classes) for encoder in encoders])
    ours, theirs = np.transpose([[us - none, them - none] for none, us, them in found])
    error = float((ours - theirs).std(ddof=1) / np.sqrt(len(ours)))
    return {"ours": float(ours.mean()), "theirs": float(theirs.mean()), "error": error, "tables": len(found)}


def main():
    """Measure, and write it down; where we seem to lose more, on many more tables too."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="tables of each cell, two or more")
    parser.add_argument("--again", type=int, default=60, help="new tables of each cell in which we seem to lose more")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 4, 20, 100, 300])
    parser.add_argument("--columns", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--targets", nargs="+", default=list(TARGETS))
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--write", type=Path, default=Path("build/reliability/leaks.json"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    start, cells = time.monotonic(), []
    for about in product(given.rows, given.columns, given.targets, given.models):
        cell = dict(zip(("rows", "columns", "target", "model"), about, strict=True))
        cell |= measured(*about, range(given.seeds))
        if cell["ours"] - cell["theirs"] > 2.0 * cell["error"]:
            cell["again"] = measured(*about, range(1_000, 1_000 + given.again))
        cells.append(cell)
    record = {"seconds": round(time.monotonic() - start), "seeds": given.seeds, "cells": cells}
    given.write.parent.mkdir(parents=True, exist_ok=True)
    given.write.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
