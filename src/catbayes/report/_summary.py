"""Everything that the page shows, as one dictionary of texts and numbers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from catbayes._encoder import SamplingBayesianEncoder
from catbayes.comparison import ENCODERS, MEASURES, Comparison, Rows, TimeUp, deadline, written
from catbayes.comparison import behind as behind_the_best
from catbayes.comparison._text import counted, in_rows, number
from catbayes.core.random import Purpose, stream
from catbayes.inspect import DrawsDisplay, LeakageDisplay, leakage, monitor, shrinkage
from catbayes.models.classifier import SamplingClassifier
from catbayes.models.recommended import recommended_encoder
from catbayes.models.regressor import SamplingRegressor

MOST_CATEGORIES = 2_000
LONGEST_NAME = 200
RARE = 0.5  # share of a category's number that comes from the others
DRAWS = (1, 2, 5, 10, 20)
MOST_ROWS_OF_DRAWS, N_ROUNDS = 2_000, 30
MOST_ROWS_OF_LEAKAGE, ROWS_OF_LEAKAGE_IN_HASTE, FEWEST_ROWS_OF_LEAKAGE = 10_000, 2_000, 200
N_FOLDS = 3
NEW_PART, MOST_CHANGED = 5, 20


def summarise(comparison: Comparison, time_budget: float | None = None) -> dict[str, Any]:
    """Gather what the page shows; the categories, the draws and the leakage are worked out here.

    Parameters
    ----------
    comparison : Comparison
        What `catbayes.compare` returned.
    time_budget : float, optional
        Seconds after which the leakage is that of fewer rows, or it and the curve over draws are left out; the page
        says so.

    Returns
    -------
    dict
        Ready for JSON: no number in it is NaN.

    Examples
    --------
    >>> import catbayes
    >>> from catbayes.datasets import make_transactions
    >>> from catbayes.report import render, summarise
    >>> payments = make_transactions(300)
    >>> result = catbayes.compare(payments.table, payments.y, encoders=["target"], models=["linear"], cv=2, repeats=1)
    >>> [column["name"] for column in summarise(result, time_budget=0)["columns"]]
    ['merchant', 'city', 'device', 'channel']
    """
    rows = comparison.rows
    end = None if time_budget is None else time.monotonic() + time_budget
    encoder = SamplingBayesianEncoder(list(rows.categorical), family=rows.family, random_state=comparison.seed)
    encoder.fit(rows.X, rows.y)
    described = {record["column"]: record for record in shrinkage(encoder).to_dict("records")}
    names = sorted(rows.categorical, key=lambda name: -described[name]["signal"])  # the most informative first
    leaks = partial(_leakage, prior=encoder.encoding_.columns[0].posteriors.prior.prior)
    return {
        "target": rows.target,
        "described": rows.described,
        "verdict": comparison.sentence,
        "notes": [*rows.notes, *rows.warnings],
        "folds": _folds(comparison),
        "seconds": round(comparison.seconds),
        "version": version("catbayes"),
        "seed": comparison.seed,
        "interrupted": comparison.interrupted,
        "results": _results(comparison),
        "encoders": _legend(comparison),
        "meaning": _meaning(rows),
        "overview": _overview(names, described),
        "columns": [_column(encoder.posteriors_[name], name, described[name], rows) for name in names],
        "changes": _changes(rows, comparison.seed),
        **_sections(rows, comparison.seed, leaks, end),
    }


def _sections(rows: Rows, seed: int, leaks: Callable[[Rows, int, int], Any], end: float | None) -> dict[str, Any]:
    """What takes long, or why it is left out. In haste, a leak is first looked for in fewer rows."""
    sizes = [ROWS_OF_LEAKAGE_IN_HASTE, MOST_ROWS_OF_LEAKAGE] if end is not None else [MOST_ROWS_OF_LEAKAGE]
    found = _in_time(end, lambda: leaks(rows, seed, sizes[0]))
    draws = _in_time(end, lambda: _draws(rows, seed))
    if len(sizes) > 1 and len(rows.y) > sizes[0]:
        more = _in_time(end, lambda: leaks(rows, seed, sizes[1]))
        found = found if more is LATE else more
    return {"draws": draws, "leakage": found}


def _overview(names: list[str], described: dict[str, Any]) -> list[dict[str, Any]]:
    """What each column says, and how much of it is the prior; the bar is the signal next to that of the best one."""
    largest = max((described[name]["signal"] for name in names), default=0.0) or 1.0
    lines = []
    for name in names:
        told = described[name]
        silent = told["verdict"].startswith("no signal")
        lines.append(
            {
                "name": name,
                "categories": counted(told["categories"], "category", "categories"),
                "share": round(100 * told["signal"] / largest, 2),
                "signal": "none" if silent else number(told["signal"]),
                "weight": f"{told['mean_shrinkage']:.0%}",
                "verdict": told["verdict"],
            }
        )
    return lines


def _folds(comparison: Comparison) -> str:
    compared = len(comparison.common)
    total = len(comparison.folds)
    return comparison.folding if compared == total else f"{compared} of {total} folds ({comparison.folding})"


LATE = {"left_out": "There was no time left for this: compare with a larger time budget."}


def _in_time(end: float | None, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What the work returns, if it ends in time."""
    try:
        with deadline(end), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn, about folds and classes: as in the comparison itself
            return work()
    except TimeUp:
        return LATE


def _results(comparison: Comparison) -> dict[str, Any]:
    """The table, and where each dot and its interval stand in the picture, in per cent of its width."""
    records = [record for record in comparison.records() if record["status"] == "done"]
    margins = [0.0 if np.isnan(record["margin"]) else record["margin"] for record in records]
    behind = [record["behind"] for record in records]
    # One outlier must not flatten the others: what lies far out is drawn at the edge, and says so.
    reach = max(4 * float(np.median(behind)), 1.2 * max(margins, default=0.0), 1e-12)
    low = min([0.0, *(gap - margin for gap, margin in zip(behind, margins, strict=True))])
    high = min(max([gap + margin for gap, margin in zip(behind, margins, strict=True)], default=1.0), reach)
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return round(2 + 96 * float(np.clip((value - low) / span, 0.0, 1.0)), 2)  # room for a whole dot

    lines = []
    for record, gap, margin in zip(records, behind, margins, strict=True):
        lines.append(
            {
                "encoder": record["encoder"],
                "model": record["model"],
                "scores": [written(record[name]) for name in comparison.measures],
                "behind": behind_the_best(record),
                "verdict": record["verdict"],
                "seconds": f"{record['fit_seconds']:.2f}",
                "dot": place(gap),
                "from": place(gap - margin),
                "to": place(gap + margin),
                "beyond": gap > high,
            }
        )
    return {
        "measures": [MEASURES[name].label for name in comparison.measures],
        "lines": lines,
        "zero": place(0.0),
        "ticks": [{"at": place(value), "text": f"{value:,.6g}"} for value in _ticks(low, high)],
        "measure": MEASURES[comparison.by].label,
        "missing": comparison.reasons,
        "n_missing": len(comparison.unranked),
    }


def _ticks(low: float, high: float) -> list[float]:
    """A few round numbers from low to high, zero among them."""
    step = 10.0 ** np.floor(np.log10((high - low) or 1.0))
    step *= next(factor for factor in (0.2, 0.5, 1.0, 2.0) if (high - low) / (factor * step) <= 5)
    return [float(step * i) for i in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def _legend(comparison: Comparison) -> list[dict[str, str]]:
    names = dict.fromkeys(cell.encoder for cell in comparison.cells)
    return [{"name": name, "about": ENCODERS[name].about} for name in names if name in ENCODERS]


def _meaning(rows: Rows) -> str:
    """What the number of a category is."""
    if rows.classes is None:
        return f"mean of {'log ' if rows.family.log_target else ''}{rows.target}"
    if len(rows.classes) == 2:
        return f"share of rows with {rows.target} = {rows.classes[1]}"
    return f"share of rows of each class of {rows.target}"


def _column(frame: Any, name: str, described: dict[str, Any], rows: Rows) -> dict[str, Any]:
    """The categories of a column: the most frequent ones first, and the rest only counted."""
    n_classes = 1 if rows.n_classes in (None, 2) else rows.n_classes or 1
    kinds = frame["kind"].to_numpy()[::n_classes]
    counts = frame["count"].to_numpy()[::n_classes]
    seen = np.flatnonzero(kinds != "unseen")
    kept = seen[np.argsort(-counts[seen], kind="stable")][:MOST_CATEGORIES]
    labels = frame["category"].to_numpy()[::n_classes]
    numbers = {
        key: np.asarray(frame[key], dtype=np.float64).reshape(-1, n_classes)
        for key in ("raw_mean", "mean", "lower", "upper", "shrinkage")
    }
    unseen = int(np.flatnonzero(kinds == "unseen")[0])
    weights = numbers["shrinkage"][:, 0]
    return {
        "name": name,
        "categories": len(seen),
        "shown": len(kept),
        "rare": int((weights[seen] > RARE).sum()),
        "strength": in_rows(described["prior_strength"]),
        "classes": [""] if n_classes == 1 else [str(label) for label in rows.classes or ()],
        "names": [_shortened(labels[i]) if kinds[i] == "seen" else None for i in kept],
        "counts": [float(counts[i]) for i in kept],
        "shrinkage": _rounded(weights[kept]),
        "prior": [_numbers(numbers, [unseen], k, ("mean", "lower", "upper")) for k in range(n_classes)],
        "values": [_numbers(numbers, kept, k, ("raw_mean", "mean", "lower", "upper")) for k in range(n_classes)],
    }


def _numbers(numbers: dict[str, Any], chosen: Any, k: int, keys: tuple[str, ...]) -> dict[str, list[Any]]:
    return {key: _rounded(numbers[key][chosen, k]) for key in keys}


def _rounded(values: Any) -> list[float | None]:
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values]


def _shortened(name: Any) -> str:
    text = str(name)
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}… ({len(text):,} characters)"


def _sampled(rows: Rows, most: int, seed: int) -> tuple[Any, Any]:
    if len(rows.y) <= most:
        return rows.X, rows.y
    chosen = np.sort(stream(seed, Purpose.SUBSET).choice(len(rows.y), most, replace=False))
    return rows.X.iloc[chosen].reset_index(drop=True), rows.y[chosen]


def _changes(rows: Rows, seed: int) -> dict[str, Any]:
    """What is new in the last fifth of rows that have an order, to an encoder that learnt from those before."""
    if not rows.ordered:
        return {"left_out": "The rows are in no order: compare with time=, the column that says when each was."}
    first = len(rows.y) - len(rows.y) // NEW_PART
    if rows.classes is not None and len(np.unique(rows.y[:first])) < len(rows.classes):
        return {"left_out": "The first rows hold fewer classes than the last."}
    encoder = SamplingBayesianEncoder(list(rows.categorical), family=rows.family, random_state=seed)
    found = monitor(encoder.fit(rows.X.iloc[:first], rows.y[:first]), rows.X.iloc[first:], rows.y[first:])
    numbers = {"compared": found.of_column, "changed": found.of_column[found.alarms]}
    counts = {name: np.bincount(of, minlength=len(found.columns)) for name, of in numbers.items()}
    lines = [
        {"name": str(name), "unseen": f"{found.unseen[i]:.1%}"}
        | {"missing": f"{found.missing[i]:.1%}", "missing_before": f"{found.missing_before[i]:.1%}"}
        | {"compared": int(counts["compared"][i]), "changed": int(counts["changed"][i])}
        for i, name in enumerate(found.columns)
    ]
    surest = found.surest[: min(int(found.alarms.sum()), MOST_CHANGED)]
    named = [
        {"column": str(found.columns[found.of_column[i]]), "name": _shortened(found.categories[i])}
        | {"before": number(found.before[i]), "now": number(found.now[i]), "factor": f"{found.bayes_factors[i]:.2g}"}
        for i in surest
    ]
    return {"rows": len(rows.y) - first, "before": first, "lines": lines, "named": named}


def _draws(rows: Rows, seed: int) -> dict[str, Any]:
    """Score of a boosted model against the number of draws, but for few rows, and where rows cannot be shuffled."""
    if rows.groups is not None or rows.ordered:
        return {"left_out": "It is made on shuffled rows, and these are kept together or in order."}
    X, y = _sampled(rows, MOST_ROWS_OF_DRAWS, seed)
    if rows.classes is not None and np.bincount(y, minlength=len(rows.classes)).min() < N_FOLDS:
        return {"left_out": f"A class has fewer rows than the {N_FOLDS} folds that it takes."}
    classes = rows.classes is not None
    booster = (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(max_iter=N_ROUNDS)
    family = "auto" if rows.classes else rows.family
    encoder = recommended_encoder(booster, columns=list(rows.categorical), family=family)
    model = (SamplingClassifier if classes else SamplingRegressor)(booster, encoder, random_state=seed)
    splitter = KFold if rows.classes is None else StratifiedKFold
    folds = splitter(N_FOLDS, shuffle=True, random_state=seed)
    scoring = "r2" if rows.classes is None else "neg_log_loss"
    with threadpool_limits(1, "openmp"):  # as in the comparison itself
        display = DrawsDisplay.from_estimator(
            model, X.drop(columns=list(rows.dates)), y, n_draws=DRAWS, cv=folds, scoring=scoring
        )
    sign = 1 if rows.classes is None else -1
    mean, sd = sign * display.scores.mean(axis=1), display.scores.std(axis=1)
    low, high = float((mean - sd).min()), float((mean + sd).max())
    left, middle, right = (100 * (value - low) / ((high - low) or 1.0) for value in (mean - sd, mean, mean + sd))
    lines = [
        {"draws": k, "mean": written(mean[i]), "from": round(left[i], 2), "to": round(right[i], 2)}
        | {"dot": round(middle[i], 2)}
        for i, k in enumerate(DRAWS)
    ]
    measure, better = ("R²", "Higher") if rows.classes is None else ("Log-loss", "Lower")
    return {"measure": measure, "better": better, "rows": len(y), "lines": lines}


def _leakage(rows: Rows, seed: int, most: int, *, prior: Any) -> dict[str, Any]:
    """What would leak if categories were encoded by the plain mean of their rows, and what leaks from our draws."""
    if len(rows.y) < FEWEST_ROWS_OF_LEAKAGE:
        return {"left_out": f"{len(rows.y)} rows are too few to find a leak in: it takes {FEWEST_ROWS_OF_LEAKAGE}."}
    X, y = _sampled(rows, most, seed)
    X = X[list(rows.categorical)]
    weak = prior.worth(1e-3)  # all of a category is its own rows, and an unseen one is the mean of all
    plain = SamplingBayesianEncoder("all", family=rows.family, prior=weak, own_target="include", temperature=0.0)
    ours = SamplingBayesianEncoder("all", family=rows.family, random_state=seed)
    cv = N_FOLDS if most == ROWS_OF_LEAKAGE_IN_HASTE else 5
    found = [leakage(encoder, X, y, columns="all", cv=cv, random_state=seed) for encoder in (plain, ours)]
    return {"score": found[0].score, "rows": len(y), "lines": [_leak(i, *found) for i in range(len(found[0].columns))]}


def _leak(i: int, plain: LeakageDisplay, ours: LeakageDisplay) -> dict[str, Any]:
    def told(which: LeakageDisplay) -> dict[str, Any]:
        return {"gap": f"{which.gap[i]:+.3f}", "interval": f"{which.lower[i]:+.3f} to {which.upper[i]:+.3f}"} | {
            "verdict": which.verdicts[i]
        }

    return {"name": str(plain.columns[i]), "plain": told(plain), "ours": told(ours)}
