"""Everything that the page shows, as one dictionary of texts and numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from catbayes import SamplingBayesianEncoder, __version__
from catbayes.comparison import ENCODERS, MEASURES, Comparison, Rows
from catbayes.inspect import LeakageDisplay, leakage, monitor, shrinkage

MOST_CATEGORIES = 2_000
LONGEST_NAME = 200
RARE = 0.5  # weight of the prior in the mean of a category
MOST_ROWS_OF_LEAKAGE, FEWEST_ROWS_OF_LEAKAGE = 5_000, 200
NEW_PART, MOST_CHANGED = 5, 20


def summarise(comparison: Comparison) -> dict[str, Any]:
    """Compute what the page shows: results, categories, leakage and changes.

    Parameters
    ----------
    comparison : Comparison
        Result of `catbayes.compare`.

    Returns
    -------
    dict
        Ready for JSON, without NaN.

    Examples
    --------
    >>> import catbayes
    >>> from catbayes.datasets import make_transactions
    >>> from catbayes.report import summarise
    >>> payments = make_transactions(150)
    >>> result = catbayes.compare(payments.table, payments.y, encoders=["target"], models=["linear"], cv=2, repeats=1)
    >>> [column["name"] for column in summarise(result)["columns"]]
    ['city', 'merchant', 'device', 'channel']
    """
    rows, seed = comparison.rows, comparison.seed
    encoder = SamplingBayesianEncoder(list(rows.categorical), family=rows.family, random_state=seed)
    found = shrinkage(encoder.fit(rows.X, rows.y)).set_index("column")
    found.loc[found["verdict"].str.startswith("no signal"), "signal"] = 0.0
    found = found.sort_values("signal", ascending=False, kind="stable")  # the most informative first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn about folds and classes, as in the comparison
        slow = {"leakage": _leakage(rows, seed), "changes": _changes(rows, seed)}
    compared, total = len(comparison.common), len(comparison.folds)
    described = {cell.encoder: ENCODERS[cell.encoder].about for cell in comparison.cells if cell.encoder in ENCODERS}
    return slow | {
        "target": rows.target,
        "described": rows.described,
        "verdict": comparison.sentence,
        "code": comparison.code,
        "notes": [*rows.notes, *rows.warnings],
        "folds": comparison.folding if compared == total else f"{compared} of {total} folds ({comparison.folding})",
        "seconds": round(comparison.seconds),
        "version": __version__,
        "seed": seed,
        "interrupted": comparison.interrupted,
        "results": _results(comparison),
        "encoders": [{"name": name, "about": about} for name, about in described.items()],
        "meaning": _meaning(rows),
        "overview": _overview(found),
        "columns": [
            _column(encoder.posteriors_[name], rows)
            | {"name": name, "strength": _counted(float(f"{worth:.3g}"), "row")}
            for name, worth in found["prior_strength"].items()
        ],
    }


# ------------------------------------------------------------------------------------------------ results


def _results(comparison: Comparison) -> dict[str, Any]:
    """Return the table, and the positions of each dot and its interval in the picture, in per cent of its width."""
    records = [record for record in comparison.records() if record["verdict"]]
    margins = [0.0 if np.isnan(record["margin"]) else record["margin"] for record in records]
    behind = [record["behind"] for record in records]
    # One outlier must not flatten the others: it is drawn at the edge, with a remark.
    reach = max(4 * float(np.median(behind)), 1.2 * max(margins, default=0.0), 1e-12)
    low = min([0.0, *(gap - margin for gap, margin in zip(behind, margins, strict=True))])
    high = min(max([gap + margin for gap, margin in zip(behind, margins, strict=True)], default=1.0), reach)
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return round(2 + 96 * float(np.clip((value - low) / span, 0.0, 1.0)), 2)  # room for a whole dot

    lines = [
        {
            "encoder": record["encoder"],
            "model": record["model"],
            "scores": [texts[MEASURES[name].label] for name in comparison.measures],
            "behind": texts["behind"],
            "verdict": record["verdict"],
            "seconds": texts["fit s"],
            "dot": place(gap),
            "from": place(gap - margin),
            "to": place(gap + margin),
            "beyond": gap > high,
        }
        for record, texts, gap, margin in zip(
            records, comparison.table().to_dict("records"), behind, margins, strict=True
        )
    ]
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
    """Return a few round numbers from low to high, zero among them."""
    step = 10.0 ** np.floor(np.log10((high - low) or 1.0))
    step *= next(factor for factor in (0.2, 0.5, 1.0, 2.0) if (high - low) / (factor * step) <= 5)
    return [float(step * i) for i in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


# ------------------------------------------------------------------------------------------------ columns


def _meaning(rows: Rows) -> str:
    """Describe the number of a category."""
    if rows.classes is None:
        return f"mean of {'log ' if rows.family.log_target else ''}{rows.target}"
    if len(rows.classes) == 2:
        return f"share of rows with {rows.target} = {rows.classes[1]}"
    return f"share of rows of each class of {rows.target}"


def _overview(found: Any) -> list[dict[str, Any]]:
    """Return the signal of each column and the weight of its prior; bars are relative to the largest signal."""
    largest = found["signal"].max() or 1.0
    return [
        {
            "name": name,
            "categories": _counted(line["categories"], "category", "categories"),
            "share": round(100 * line["signal"] / largest, 2),
            "signal": f"{line['signal']:,.4g}" if line["signal"] else "none",
            "weight": f"{line['mean_shrinkage']:.0%}",
            "verdict": line["verdict"],
        }
        for name, line in found.to_dict("index").items()
    ]


def _column(frame: Any, rows: Rows) -> dict[str, Any]:
    """Return the posteriors of the most frequent categories of a column, and the number of all."""
    n_classes = 1 if rows.n_classes in (None, 2) else rows.n_classes or 1
    kinds, counts, labels = (frame[name].to_numpy()[::n_classes] for name in ("kind", "count", "category"))
    seen = np.flatnonzero(kinds != "unseen")
    shown, unseen = seen[np.argsort(-counts[seen], kind="stable")][:MOST_CATEGORIES], np.flatnonzero(kinds == "unseen")
    shrinkage_of = frame["shrinkage"].to_numpy()[::n_classes]

    def numbers(chosen: Any, k: int, *names: str) -> dict[str, list[Any]]:
        return {name: _rounded(frame[name].to_numpy()[k::n_classes][chosen]) for name in names}

    return {
        "categories": len(seen),
        "shown": len(shown),
        "rare": int((shrinkage_of[seen] > RARE).sum()),
        "classes": [""] if n_classes == 1 else [str(label) for label in rows.classes or ()],
        "names": [_shortened(labels[i]) if kinds[i] == "seen" else None for i in shown],
        "counts": [float(count) for count in counts[shown]],
        "shrinkage": _rounded(shrinkage_of[shown]),
        "prior": [numbers(unseen[:1], k, "mean", "lower", "upper") for k in range(n_classes)],
        "values": [numbers(shown, k, "raw_mean", "mean", "lower", "upper") for k in range(n_classes)],
    }


def _counted(number: float, noun: str, nouns: str = "rows") -> str:
    return f"{number:,.15g} {noun if number == 1 else nouns}"


def _rounded(values: Any) -> list[float | None]:
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values]


def _shortened(name: Any) -> str:
    text = str(name)
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}… ({len(text):,} characters)"


# ------------------------------------------------------------------------------------------------ further fits


def _changes(rows: Rows, seed: int) -> dict[str, Any]:
    """Compare the last fifth of ordered rows with an encoder that was fitted on those before."""
    if not rows.ordered:
        return {"left_out": "The rows are in no order: compare with time=, the column of their times."}
    first = len(rows.y) - len(rows.y) // NEW_PART
    if rows.classes is not None and len(np.unique(rows.y[:first])) < len(rows.classes):
        return {"left_out": "The first rows have fewer classes than the last."}
    encoder = SamplingBayesianEncoder(list(rows.categorical), family=rows.family, random_state=seed)
    found = monitor(encoder.fit(rows.X.iloc[:first], rows.y[:first]), rows.X.iloc[first:], rows.y[first:])
    lines = [
        {"name": str(line.pop("column")), "compared": line.pop("compared"), "changed": line.pop("changed")}
        | {name: f"{share:.1%}" for name, share in line.items()}
        for line in found.by_column().to_dict("records")
    ]
    named = [
        {"column": str(line["column"]), "name": _shortened(line["category"]), "factor": f"{line['bayes_factor']:.2g}"}
        | {name: f"{line[name]:,.4g}" for name in ("before", "now")}
        for line in found.frame().to_dict("records")
        if line["changed"]
    ][:MOST_CHANGED]
    return {"rows": len(rows.y) - first, "before": first, "lines": lines, "named": named}


def _leakage(rows: Rows, seed: int) -> dict[str, Any]:
    """Measure the leakage of plain category means, and that of our draws."""
    if len(rows.y) < FEWEST_ROWS_OF_LEAKAGE:
        return {"left_out": f"{len(rows.y)} rows are too few to find a leak: it needs {FEWEST_ROWS_OF_LEAKAGE}."}
    X = rows.X[list(rows.categorical)]
    X = X if len(X) <= MOST_ROWS_OF_LEAKAGE else X.sample(MOST_ROWS_OF_LEAKAGE, random_state=seed).sort_index()
    X, y = X.reset_index(drop=True), rows.y[X.index]
    # Plain means of categories: the prior is worth next to no rows, and an unseen category gets the mean of all.
    plain = SamplingBayesianEncoder("all", family=rows.family, prior=1e-3, own_target="include", temperature=0.0)
    ours = SamplingBayesianEncoder("all", family=rows.family, random_state=seed)
    found = [leakage(encoder, X, y, columns="all", random_state=seed) for encoder in (plain, ours)]
    lines = [
        {"name": str(name), "plain": _leak(found[0], i), "ours": _leak(found[1], i)}
        for i, name in enumerate(found[0].columns)
    ]
    return {"score": found[0].score, "rows": len(y), "lines": lines}


def _leak(found: LeakageDisplay, i: int) -> dict[str, str]:
    interval = f"{found.lower[i]:+.3f} to {found.upper[i]:+.3f}"
    return {"gap": f"{found.gap[i]:+.3f}", "interval": interval, "verdict": found.verdicts[i]}
