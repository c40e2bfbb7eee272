"""Compare encoders with models: fold by fold, in order of usefulness, until all is done or the time is up."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import GroupKFold, RepeatedKFold, RepeatedStratifiedKFold, TimeSeriesSplit, check_cv
from threadpoolctl import threadpool_limits

from catbayes import InputError
from catbayes.comparison.contestants import Cell, contestants, failure
from catbayes.comparison.result import OF_TASK, TIME_UP, Comparison
from catbayes.comparison.rows import Rows, read_rows
from catbayes.errors import warn

N_BINS = 10

Progress = Callable[[int, int, str], None]
Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Folds = list[tuple[Codes, Codes]]


def compare(
    table: Any,
    y: Any,
    *,
    encoders: Any = None,
    models: Any = None,
    columns: Any = "auto",
    drop: Any = (),
    family: Any = "auto",
    by: str | None = None,
    cv: Any = 5,
    repeats: int | None = None,
    groups: Any = None,
    time: str | None = None,
    sample: int | None = None,
    time_budget: float | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare encoders with models on a table, by cross-validation over the same folds.

    Every contestant is a scikit-learn estimator that sees the training rows of a fold only. Ctrl-C ends the comparison,
    and what is finished is returned.

    Parameters
    ----------
    table : frame, array, lazy frame, reader, path, glob, or list of paths
        The columns to predict from: whatever `fit` and `gather` take, files read as they read them.
    y : str or array-like of shape (n_rows,)
        The target, or the name of its column. Rows without one are left out, with a warning.
    encoders : list of names, or dict of name to transformer, optional
        Names of `catbayes.comparison.ENCODERS`; all of them if None. Values of a dictionary may be such names, and a
        SamplingClassifier or SamplingRegressor, whose `estimator` is set to each model.
    models : list of names, or dict of name to estimator, optional
        "boosting", "linear", "forest", "LightGBM", "XGBoost", "CatBoost" or "HistGradient"; the first three if None.
        "boosting" is our encoder around every installed booster and each one's own handling of categories, and the
        other encoders with LightGBM, or with HistGradientBoosting without it.
    columns : "auto", "all", a name, or list of names
        Categorical columns; "auto" takes all but those of numbers and dates.
    drop : list of str
        Columns to leave out, such as identifiers.
    family : "auto", a name in `catbayes.families.FAMILIES`, or a family class
        Likelihood of the target, as for the encoders: classes or numbers. With "auto", a target with fractions is a
        number, and every other one a class; `rows.described` shows the choice.
    by : str, optional
        Measure that ranks: "auc", "log_loss", "accuracy", "calibration_error", or "r2", "mae", "rmse"; by default AUC
        for two classes, log-loss for several, R² for numbers.
    cv : int or splitter, default=5
        Folds. A number means shuffled folds, stratified by class.
    repeats : int, optional
        How often to make new folds, where `cv` is a number and there are no groups and no time; by default 5 times for
        up to 1,000 rows, twice for up to 5,000, else once.
    groups : str or array-like of shape (n_rows,), optional
        Groups that are held out as a whole, or the name of their column, which is not predicted from.
    time : str, optional
        Column to sort by, so that no row is predicted from later ones; it is not predicted from.
    sample : int, optional
        Use a random sample of so many rows.
    time_budget : float, optional
        Seconds after which no fold is started. Contestants run in order of usefulness.
    random_state : int, default=0
        Seed of the folds and the models.
    progress : callable, optional
        Called with the number of folds done, that of all, and what is running.

    Returns
    -------
    Comparison
        `frame()`, `best`, `plot()`, and the verdict as a `sentence`.

    Examples
    --------
    >>> import catbayes
    >>> from catbayes.datasets import make_transactions
    >>> payments = make_transactions(600)
    >>> few = {"encoders": ["target", "ordinal"], "models": ["linear"], "repeats": 1}
    >>> result = catbayes.compare(payments.table, payments.y, **few)
    >>> result.frame()[["encoder", "model", "verdict", "folds"]].shape
    (2, 4)
    >>> sorted(result.best.scores[0])
    ['accuracy', 'auc', 'calibration_error', 'log_loss']
    """
    start = clock.monotonic()
    if not find_spec("pandas"):
        raise ImportError('Comparing needs pandas: pip install "catbayes[compare]".')
    if isinstance(drop, str):
        raise InputError(f'drop="{drop}": expected a list of columns, such as drop=["{drop}"].')
    roles = {"columns": columns, "drop": drop, "family": family, "groups": groups, "time": time}
    rows = read_rows(table, y, sample=sample, seed=random_state, **roles)
    if len(rows.y) < 10:
        raise InputError(f"{len(rows.y)} rows are too few to compare on: expected at least 10.")
    for warning in rows.warnings:
        warn(warning)
    if by is not None and by not in OF_TASK[rows.task]:
        raise InputError(f"by={by!r}: expected one of {', '.join(OF_TASK[rows.task])}.")
    folds, folding = make_folds(rows, cv, repeats, random_state)
    cells, missing = contestants(rows, encoders, models, random_state)
    if missing:
        rows = replace(rows, notes=(*rows.notes, f"Not installed, so left out: {', '.join(missing)}."))
    end = np.inf if time_budget is None else start + time_budget
    interrupted = _run(rows, cells, folds, end, progress)
    result = Comparison(
        rows=rows,
        by=by or OF_TASK[rows.task][0],
        cells=tuple(cells),
        folds=[fold for repeat in folds for fold in repeat],
        folding=folding,
        seconds=clock.monotonic() - start,
        seed=random_state,
        interrupted=interrupted,
    )
    if not result.ranked:
        warn(" ".join([result.sentence, *(f"{reason}." for reason in result.reasons)]))
    return result


def make_folds(rows: Rows, cv: Any, repeats: int | None, seed: int) -> tuple[list[Folds], str]:
    """Make folds for every repeat, the same for all contestants, and describe them.

    Folds with a single class in their training rows are left out: nothing can be learned there.
    """
    planned, name = _plan_folds(rows, cv, repeats, seed)
    usable = [
        [(train, test) for train, test in folds if rows.classes is None or len(np.unique(rows.y[train])) > 1]
        for folds in planned
    ]
    lost = sum(map(len, planned)) - sum(map(len, usable))
    if not any(usable):
        raise InputError("The training rows of every fold have a single class. Use other folds.")
    return usable, name + (f", {lost} of them left out because their training rows have a single class" if lost else "")


def _plan_folds(rows: Rows, cv: Any, repeats: int | None, seed: int) -> tuple[list[Folds], str]:
    if not isinstance(cv, int):
        splitter = check_cv(cv, rows.y, classifier=rows.classes is not None)
        return [list(splitter.split(rows.X, rows.y, rows.groups))], f"{type(splitter).__name__}"
    if rows.ordered:
        return [list(TimeSeriesSplit(cv).split(rows.X))], f"{cv} folds, each after its training rows"
    if rows.groups is not None:
        n_groups = len(np.unique(rows.groups))
        if n_groups < 2:
            raise InputError("groups has a single group, and folds need two: name another column, or no groups.")
        splits = GroupKFold(min(cv, n_groups), shuffle=True, random_state=seed)
        return [list(splits.split(rows.X, rows.y, rows.groups))], f"{splits.n_splits} folds of whole groups"
    if rows.classes is not None and np.bincount(rows.y).max() < cv:
        raise InputError(
            f"cv={cv}: no class of {rows.target!r} has as many rows as there are folds. Use fewer folds; or if y is "
            'not a class, set family="normal" for an amount, "poisson" for a count.'
        )
    repeats = repeats or (5 if len(rows.y) <= 1_000 else 2 if len(rows.y) <= 5_000 else 1)
    repeated = RepeatedKFold if rows.classes is None else RepeatedStratifiedKFold
    splitter = repeated(n_splits=cv, n_repeats=repeats, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds
        found = list(splitter.split(rows.X, rows.y))
    name = f"{cv} folds" + (f", repeated {repeats} times" if repeats > 1 else "")
    return [found[start : start + cv] for start in range(0, len(found), cv)], name


def _run(rows: Rows, cells: list[Cell], repeats: list[Folds], end: float, progress: Progress | None) -> bool:
    """Fit and score every contestant on the same folds; return whether somebody interrupted."""
    first, why = 0, TIME_UP
    try:
        with threadpool_limits(1):
            for folds in repeats:
                for cell in cells:
                    for number, (train, test) in enumerate(folds, first):
                        if cell.status != "open" or clock.monotonic() >= end:
                            break
                        if progress is not None:
                            running = [one for one in cells if one.status == "open"]
                            total = len(running) * sum(map(len, repeats))
                            progress(sum(len(one.scores) for one in running), total, cell.name)
                        _run_fold(cell, number, rows, train, test)
                first += len(folds)
    except KeyboardInterrupt:
        why = "interrupted"
    for cell in cells:
        if cell.status == "open":  # it counts if it went through all folds once
            cell.status = "done" if len(cell.scores) >= len(repeats[0]) else f"not run: {why}"
    return why == "interrupted"


def _run_fold(cell: Cell, fold: int, rows: Rows, train: Codes, test: Codes) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            known, new = (rows.X.iloc[part].reset_index(drop=True) for part in (train, test))
            start = clock.perf_counter()
            model = deepcopy(cell.estimator).fit(known, rows.y[train])  # CatBoost's models cannot be cloned
            fitted = clock.perf_counter()
            predicted = predict(model, new, rows.n_classes)
            cell.predict_seconds[fold] = clock.perf_counter() - fitted
            cell.fit_seconds[fold] = fitted - start
            cell.scores[fold] = score(rows.y[test], predicted)
    except Exception as error:
        cell.status = failure(error)


def predict(model: Any, X: Any, n_classes: int | None) -> Array:
    """Predict probabilities, one column for each class of the whole table, or numbers."""
    if n_classes is None:
        return np.asarray(model.predict(X), dtype=np.float64).reshape(-1)
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
    return probabilities


def score(y: np.ndarray[Any, Any], predicted: Array) -> dict[str, float]:
    """Compute all measures of the task; the AUC averages each class against the rest, and is NaN for a single class."""
    if predicted.ndim == 1:
        return {
            "r2": float(r2_score(y, predicted)),
            "mae": float(mean_absolute_error(y, predicted)),
            "rmse": float(root_mean_squared_error(y, predicted)),
        }
    classes = np.arange(predicted.shape[1])
    present = [label for label in classes if 0 < (y == label).sum() < len(y)]
    areas = [roc_auc_score(y == label, predicted[:, label]) for label in present]
    return {
        "auc": float(np.mean(areas)) if areas else float("nan"),
        "log_loss": float(log_loss(y, predicted, labels=classes)),
        "accuracy": float(accuracy_score(y, predicted.argmax(axis=1))),
        "calibration_error": calibration_error(y, predicted),
    }


def calibration_error(y: np.ndarray[Any, Any], probabilities: Array) -> float:
    """Average the distance between predicted probability and observed share over ten bins of equally many rows.

    The probability is that of the second of two classes, or of the most likely of several. Rows with the same
    probability share their outcomes, so that their order does not matter.
    """
    if probabilities.shape[1] == 2:
        predicted, observed = probabilities[:, 1], y == 1
    else:
        chosen = probabilities.argmax(axis=1)
        predicted, observed = probabilities[np.arange(len(y)), chosen], y == chosen
    _, same = np.unique(predicted, return_inverse=True)
    observed = (np.bincount(same, observed) / np.bincount(same))[same]
    order = np.argsort(predicted, kind="stable")
    bins = [rows for rows in np.array_split(order, N_BINS) if len(rows)]
    gaps = [len(rows) * abs(predicted[rows].mean() - observed[rows].mean()) for rows in bins]
    return float(np.sum(gaps) / len(y))
