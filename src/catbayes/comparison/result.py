"""The result of a comparison: a table, the best, a plot, and which differences are statistical ties."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.stats import t as student

from catbayes import InputError
from catbayes.comparison.contestants import Cell, code_of
from catbayes.comparison.rows import Rows

TIME_UP = "the time was up"
"""Why a cell did not run, if nobody interrupted."""
TIED = "statistically tied"
COVERAGE = 0.95


@dataclass(frozen=True, slots=True)
class Measure:
    """The label of a score, and whether higher is better."""

    label: str
    higher: bool


MEASURES = {
    "auc": Measure("AUC", True),
    "log_loss": Measure("log-loss", False),
    "accuracy": Measure("accuracy", True),
    "calibration_error": Measure("calib. error", False),
    "r2": Measure("R²", True),
    "mae": Measure("MAE", False),
    "rmse": Measure("RMSE", False),
}
"""By the names that `compare` ranks by."""
OF_TASK = {
    "binary": ("auc", "log_loss", "accuracy", "calibration_error"),
    "multiclass": ("log_loss", "auc", "accuracy", "calibration_error"),
    "regression": ("r2", "mae", "rmse"),
}
"""Measures of each task; the first one ranks by default."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The distance of a contestant to the best one on the same folds: positive is worse, whatever the measure.

    `standard_error` is that of Nadeau and Bengio, which allows for training rows that folds share; `margin` is half the
    width of the 95 % interval.

    Examples
    --------
    >>> from catbayes.comparison import Difference
    >>> Difference(behind=0.01, standard_error=0.02, margin=0.05).verdict
    'statistically tied'
    """

    behind: float
    standard_error: float
    margin: float

    @property
    def verdict(self) -> str:
        """What is known of it: "worse", "statistically tied" (the interval reaches zero), "cannot tell" (one fold)."""
        if np.isnan(self.margin):
            return "cannot tell"
        return TIED if self.behind <= self.margin else "worse"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    rows : Rows
        The table as it was read: the kind of the target, the roles of the columns, and `notes` on what was left out.
    by : str
        The measure that ranks.
    cells : tuple of Cell
        Every encoder with every model: `scores`, `fit_seconds` and `predict_seconds` by fold, `status`, and
        the unfitted `estimator`.
    folds : list of (train, test)
        The rows of each fold, by their positions in `rows.X`, and `folding` how they were made.
    seconds, seed : float, int
        How long it took, and the seed of the folds and models.
    interrupted : bool
        Whether it was stopped before its end.

    Examples
    --------
    >>> import catbayes
    >>> from catbayes.datasets import make_transactions
    >>> payments = make_transactions(500, target="amount")
    >>> result = catbayes.compare(payments.table, payments.y, encoders=["target"], models=["linear"], repeats=1)
    >>> result.best.name, result.measures
    ('target + ridge', ('r2', 'mae', 'rmse'))
    """

    rows: Rows
    by: str
    cells: tuple[Cell, ...]
    folds: list[tuple[Any, Any]]
    folding: str
    seconds: float
    seed: int
    interrupted: bool = False

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of the task, the one that ranks first."""
        return (self.by, *(name for name in OF_TASK[self.rows.task] if name != self.by))

    @property
    def ranked(self) -> list[Cell]:
        """Cells that ran, the best first."""
        sign = -1.0 if MEASURES[self.by].higher else 1.0
        done = [cell for cell in self.cells if cell.done] if self.common else []
        return sorted(done, key=lambda cell: sign * self.mean(cell, self.by))

    @property
    def unranked(self) -> list[Cell]:
        """Cells that did not run, or failed."""
        ranked = self.ranked
        return [cell for cell in self.cells if cell not in ranked]

    @property
    def reasons(self) -> list[str]:
        """Why some cells have no score: a line for each reason, with their names."""
        found: dict[str, list[str]] = {}
        for cell in self.unranked:
            found.setdefault("no score" if cell.done else cell.status, []).append(cell.name)
        return [f"{', '.join(names)}: {status}" for status, names in found.items()]

    @property
    def best(self) -> Cell:
        """The cell with the best mean score; its `estimator` can be fitted on tables like `rows.X`."""
        ranked = self.ranked
        if not ranked:
            raise InputError(self.sentence)
        return ranked[0]

    @property
    def common(self) -> list[int]:
        """Folds that every finished cell went through, and that have a score: cells are compared on these.

        A fold with rows of a single class has no AUC.
        """
        done = [
            {fold for fold, scores in cell.scores.items() if not np.isnan(scores[self.by])}
            for cell in self.cells
            if cell.done
        ]
        return sorted(set.intersection(*done)) if done else []

    def mean(self, cell: Cell, measure: str) -> float:
        """Average a score over the common folds."""
        return float(np.nanmean([cell.scores[fold][measure] for fold in self.common]))

    def difference(self, cell: Cell, other: Cell | None = None) -> Difference:
        """Compute how far a cell is behind another one, the best if None, over the common folds."""
        sign = 1.0 if MEASURES[self.by].higher else -1.0
        gaps = sign * (self._scores(other or self.best) - self._scores(cell))
        error = self._standard_error(gaps)
        half = student.ppf((1.0 + COVERAGE) / 2.0, len(gaps) - 1) if len(gaps) > 1 else np.nan
        return Difference(float(gaps.mean()), error, float(half * error))

    def score(self, cell: Cell) -> str:
        """Write the mean of the measure that ranks and its standard error, such as 0.9031 ± 0.004."""
        value, error = formatted(self.mean(cell, self.by)), self._standard_error(self._scores(cell))
        return value if np.isnan(error) else f"{value} ± {float(f'{error:.1g}'):,g}"

    def _scores(self, cell: Cell) -> Any:
        return np.array([cell.scores[fold][self.by] for fold in self.common])

    def _standard_error(self, scores: Any) -> float:
        """Compute the standard error of a mean over folds, sqrt(s² (1/J + n_test/n_train)) for J folds.

        Folds share training rows, so s²/J is too small (Nadeau and Bengio, Machine Learning 52, 2003).
        """
        overlap = np.mean([len(test) / len(train) for train, test in (self.folds[fold] for fold in self.common)])
        return float(np.sqrt(scores.var(ddof=1) * (1.0 / len(scores) + overlap))) if len(scores) > 1 else float("nan")

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each cell, the best first and those without a score last."""
        return [self._record(cell) for cell in [*self.ranked, *self.unranked]]

    def _record(self, cell: Cell) -> dict[str, Any]:
        ranked = self.ranked
        record: dict[str, Any] = {"encoder": cell.encoder, "model": cell.model}
        if cell not in ranked:
            numbers = ("score_error", "behind", "standard_error", "margin", "fit_seconds", "predict_seconds")
            record |= dict.fromkeys((*self.measures, *numbers), float("nan"))
            return record | {"verdict": "", "folds": 0, "status": cell.status}
        gap = self.difference(cell)
        return record | {
            **{name: self.mean(cell, name) for name in self.measures},
            "score_error": self._standard_error(self._scores(cell)),
            "behind": gap.behind,
            "standard_error": gap.standard_error,
            "margin": gap.margin,
            "fit_seconds": float(np.mean(list(cell.fit_seconds.values()))),
            "predict_seconds": float(np.mean(list(cell.predict_seconds.values()))),
            "verdict": "best" if cell is ranked[0] else gap.verdict,
            "folds": len(self.common),
            "status": cell.status,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON takes it: settings, the table as it was read, and each cell with its scores."""
        cells = [
            {name: _plain(value) for name, value in record.items()}
            | {"scores": {name: [_plain(fold[name]) for fold in cell.scores.values()] for name in self.measures}}
            for record, cell in zip(self.records(), [*self.ranked, *self.unranked], strict=True)
        ]
        return {
            "table": self.rows.described,
            "target": self.rows.target,
            "task": self.rows.task,
            "classes": None if self.rows.classes is None else [str(label) for label in self.rows.classes],
            "categorical": list(self.rows.categorical),
            "notes": [*self.rows.notes, *self.rows.warnings],
            "by": self.by,
            "folds": self.folding,
            "folds_compared": len(self.common),
            "seed": self.seed,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "verdict": self.sentence,
            "code": self.code,
            "cells": cells,
        }

    def frame(self) -> Any:
        """Return all cells as a pandas frame, the best first.

        `score_error` is the standard error of the measure that ranks. `behind` is the mean difference to the best on
        the same folds (positive is worse), `standard_error` its standard error, and `verdict` is "statistically tied"
        if its 95 % interval reaches zero. Times are seconds per fold.
        """
        import pandas

        return pandas.DataFrame(self.records())

    def table(self) -> Any:
        """Return the ranked cells as a pandas frame of texts, as it is printed."""
        import pandas

        columns = {"encoder": "encoder", "model": "model", **{name: MEASURES[name].label for name in self.measures}}
        columns |= {"behind": "behind", "verdict": "", "fit_seconds": "fit s"}
        lines = []
        for cell, record in zip(self.ranked, self.records(), strict=False):
            line = record | {name: formatted(record[name]) for name in self.measures} | {self.by: self.score(cell)}
            line["fit_seconds"] = f"{record['fit_seconds']:.2f}"
            gap = f"{formatted(record['behind'])} ± {formatted(record['standard_error'])}"
            line["behind"] = "" if record["verdict"] == "best" else gap
            lines.append({label: line[name] for name, label in columns.items()})
        return pandas.DataFrame(lines, columns=list(columns.values()))

    @property
    def sentence(self) -> str:
        """The verdict in a sentence or two."""
        label = MEASURES[self.by].label
        if not self.ranked:
            if any(cell.done for cell in self.cells):
                why = "its rows have a single class" if self.rows.classes else "it has a single row"
                return f"No fold has a value of {label}, because {why}. Use larger folds, or rank by another measure."
            return "Nothing was finished, so there is no verdict. Allow more time, or see what failed."
        others = self.ranked[1:]
        found = f"Best {label}: {self.best.name}, {self.score(self.best)} over {len(self.common)} folds. "
        tied = sum(self.difference(cell).verdict == TIED for cell in others)
        if tied:
            which = f"{tied} of the other {len(others)}" if len(others) > 1 else "The other"
            found += f"{which} {'is' if tied == 1 else 'are'} statistically tied with it. "
        late = sum(cell.status.endswith(TIME_UP) for cell in self.unranked)
        if late:
            found += f"{late} of {len(self.cells)} had no time: allow more, or compare on a sample of the rows. "
        if len(self.unranked) > late:
            found += f"{len(self.unranked) - late} of {len(self.cells)} did not run or failed. "
        return (found + self._against_target_encoder()).strip()

    @property
    def code(self) -> str:
        """The lines of Python that fit the best to a pandas table X and its target y; empty without a result."""
        return code_of(self.best, self.rows, self.seed) if self.ranked else ""

    def _against_target_encoder(self) -> str:
        """Compare draws with a plain target encoder, which many people use today."""
        ranked = {(cell.encoder, cell.model): cell for cell in self.ranked}
        found: dict[str, list[str]] = {"better": [], "worse": [], TIED: []}
        for (encoder, model), ours in ranked.items():
            if encoder == "sampling" and ("target", model) in ranked:
                gap = self.difference(ranked["target", model], ours)
                if not np.isnan(gap.margin):
                    word = "better" if gap.behind > gap.margin else "worse" if -gap.behind > gap.margin else TIED
                    found[word].append(model)
        parts = [f"{word} with {', '.join(models)}" for word, models in found.items() if models]
        return f"catbayes against scikit-learn's TargetEncoder: {'; '.join(parts)}." if parts else ""

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores' distance to the best one, with 95 % intervals.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        matplotlib axes
        """
        import matplotlib.pyplot as plt

        ranked = self.ranked
        if ax is None:
            _, ax = plt.subplots(figsize=(8.0, 1.5 + 0.32 * max(len(ranked), 2)), layout="constrained")
        for place, cell in enumerate(ranked):
            gap = self.difference(cell)
            colour = "0.55" if gap.verdict == "worse" else "C0"
            ax.errorbar(gap.behind, place, xerr=np.nan_to_num(gap.margin), fmt="o", capsize=3, color=colour)
        ax.axvline(0, color="0.55", linewidth=1, linestyle="--")
        ax.set_yticks(range(len(ranked)), [cell.name.replace("$", r"\$") for cell in ranked])
        ax.invert_yaxis()
        ax.set_xlabel(f"{MEASURES[self.by].label} behind the best, with 95 % interval; blue: statistically tied")
        ax.set_title("Predicting " + self.rows.target.replace("$", r"\$"), loc="left")
        return ax

    def _repr_html_(self) -> str:
        before = "".join(f"<p>{escape(text)}</p>" for text in (self.sentence, self.rows.described + "."))
        after = "".join(f"<p>{escape(text)}</p>" for text in (*self.reasons, *self.rows.notes, *self.rows.warnings))
        code = f"<pre>{escape(self.code)}</pre>"
        return before + (self.table().to_html(index=False, border=0) + code if self.ranked else "") + after

    def __repr__(self) -> str:
        table = [self.table().to_string(index=False)] if self.ranked else []
        return "\n".join([self.sentence, *table, *self.reasons, *([self.code] if self.ranked else [])])


def _plain(value: Any) -> Any:
    """Replace NaN by None, as JSON needs."""
    return None if value != value else value


def formatted(value: float) -> str:
    """Format a score: four decimals, fewer of a large number, two digits of a tiny one; nothing for NaN."""
    if np.isnan(value):
        return ""
    if 0 < abs(value) < 5e-5:
        return f"{value:.1e}"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}" if abs(value) < 10_000 else f"{value:,.0f}"
