"""compare: which encoder is best on this table, with which model, and by how much."""

from __future__ import annotations

import time as clock
from importlib.util import find_spec
from typing import Any

from catbayes.comparison._contestants import contestants
from catbayes.comparison._result import Comparison
from catbayes.comparison._rows import Rows, read_rows
from catbayes.comparison._running import Progress, make_folds, run
from catbayes.comparison._scores import OF_TASK
from catbayes.core.validation import check_count, check_number, check_option
from catbayes.errors import InputError, warn


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
        Names of `catbayes.comparison.ENCODERS`; all of them if None. A dictionary may also hold such a name, under
        another one, and a SamplingClassifier or SamplingRegressor, whose `estimator` is set to each model.
    models : list of "boosting", "linear", "forest", or dict of name to estimator, optional
        What learns from the encoded columns; all three if None.
    columns : "auto", "all", a name, or list of names
        Categorical columns; "auto" takes all that hold no numbers and no dates.
    drop : list of str
        Columns to leave out, such as identifiers.
    family : "auto", a name in `catbayes.families.FAMILIES`, or a family class
        Likelihood of the target, as for the encoders: classes or numbers. With "auto", a target with fractions is a
        number, and every other one a class; `rows.described` says what it was taken for.
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
        Seconds to spend. Cells run in order of usefulness, and those that did not fit say so.
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
    seed = check_count("random_state", random_state, 0, 2**32 - 1)
    if time_budget is not None:
        check_number("time_budget", time_budget, 0.0)
    rows = _read(table, y, columns, drop, family, groups, time, sample, seed)
    if by is not None:
        check_option("by", by, OF_TASK[rows.task])
    if repeats is not None:
        check_count("repeats", repeats)
    folds, folding = make_folds(rows, cv, repeats, seed)
    found = contestants(rows, encoders, models, seed)
    end = None if time_budget is None else start + time_budget
    cells, interrupted = run(rows, found, folds, seed=seed, end=end, progress=progress)
    result = Comparison(
        rows=rows,
        by=by or OF_TASK[rows.task][0],
        cells=tuple(cells),
        folds=[fold for repeat in folds for fold in repeat],
        folding=folding,
        seconds=clock.monotonic() - start,
        seed=seed,
        interrupted=interrupted,
    )
    if not result.ranked:
        warn(" ".join([result.sentence, *(f"{reason}." for reason in result.reasons)]))
    return result


def _read(
    table: Any, y: Any, columns: Any, drop: Any, family: Any, groups: Any, time: Any, sample: Any, seed: int
) -> Rows:
    if not find_spec("pandas"):
        raise ImportError('Comparing needs pandas: pip install "catbayes[compare]".')
    if isinstance(drop, str):
        raise InputError(f'drop="{drop}": expected a list of columns, such as drop=["{drop}"].')
    rows = read_rows(
        table, y, columns=columns, drop=tuple(drop), family=family, groups=groups, time=time, sample=sample, seed=seed
    )
    if len(rows.y) < 10:
        raise InputError(f"{len(rows.y)} rows are too few to compare on: expected at least 10. Give more.")
    for warning in rows.warnings:
        warn(warning)
    return rows
