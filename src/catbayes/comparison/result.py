"""The result of a comparison: a table, the best, a plot, and which differences are within noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from catbayes import InputError
from catbayes.comparison.contestants import Cell
from catbayes.comparison.rows import Rows
from catbayes.comparison.running import TIME_UP
from catbayes.comparison.scores import MEASURES, OF_TASK, corrected_interval, formatted


@dataclass(frozen=True, slots=True)
class Difference:
    """The distance of a contestant to the best one on the same folds: positive is worse, whatever the measure.

    `standard_error` is that of Nadeau and Bengio, which allows for training rows that folds share; `margin` is half the
    width of the 95 % interval.

    Examples
    --------
    >>> from catbayes.comparison import Difference
    >>> Difference(behind=0.01, standard_error=0.02, margin=0.05).verdict
    'tie'
    """

    behind: float
    standard_error: float
    margin: float

    @property
    def verdict(self) -> str:
        """Tell "worse" from "tie", whose interval reaches zero; "cannot tell" for a single fold."""
        if np.isnan(self.margin):
            return "cannot tell"
        return "tie" if self.behind <= self.margin else "worse"


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
        other, common = other or self.best, self.common
        sign = 1.0 if MEASURES[self.by].higher else -1.0
        gaps = np.array([sign * (other.scores[fold][self.by] - cell.scores[fold][self.by]) for fold in common])
        overlap = np.mean([len(test) / len(train) for train, test in (self.folds[fold] for fold in common)])
        return Difference(*corrected_interval(gaps, float(overlap)))

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each cell, the best first and those without a score last."""
        return [self._record(cell) for cell in [*self.ranked, *self.unranked]]

    def _record(self, cell: Cell) -> dict[str, Any]:
        ranked = self.ranked
        record: dict[str, Any] = {"encoder": cell.encoder, "model": cell.model}
        if cell not in ranked:
            numbers = (*self.measures, "behind", "standard_error", "margin", "fit_seconds", "predict_seconds")
            return record | dict.fromkeys(numbers, float("nan")) | {"verdict": "", "folds": 0, "status": cell.status}
        gap = self.difference(cell)
        return record | {
            **{name: self.mean(cell, name) for name in self.measures},
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
            "cells": cells,
        }

    def frame(self) -> Any:
        """Return all cells as a pandas frame, the best first.

        `behind` is the mean difference to the best on the same folds (positive is worse), `standard_error` its standard
        error, and `verdict` is "tie" if its 95 % interval reaches zero. Times are seconds per fold.
        """
        import pandas

        return pandas.DataFrame(self.records())

    def table(self) -> Any:
        """Return the ranked cells as a pandas frame of texts, as it is printed."""
        import pandas

        columns = {"encoder": "encoder", "model": "model", **{name: MEASURES[name].label for name in self.measures}}
        columns |= {"behind": "behind", "verdict": "", "fit_seconds": "fit s"}
        lines = []
        for record in self.records()[: len(self.ranked)]:
            line = record | {name: formatted(record[name]) for name in self.measures}
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
        best = self.best
        ties = sum(self.difference(cell).verdict != "worse" for cell in self.ranked[1:])
        found = f"Best {label}: {best.name}, {formatted(self.mean(best, self.by))} over {len(self.common)} folds. "
        if ties:
            found += f"{ties} of the others {'is' if ties == 1 else 'are'} within noise of it. "
        late = sum(cell.status.endswith(TIME_UP) for cell in self.unranked)
        if late:
            found += f"{late} of {len(self.cells)} had no time: allow more, or compare on a sample of the rows. "
        if len(self.unranked) > late:
            found += f"{len(self.unranked) - late} of {len(self.cells)} did not run or failed. "
        return (found + self._against_target_encoder()).strip()

    def _against_target_encoder(self) -> str:
        """Compare draws with a plain target encoder, which many people use today."""
        ranked = {(cell.encoder, cell.model): cell for cell in self.ranked}
        found: dict[str, list[str]] = {"better": [], "worse": [], "level": []}
        for (encoder, model), ours in ranked.items():
            if encoder != "sampling" or ("target", model) not in ranked:
                continue
            gap = self.difference(ranked["target", model], ours)
            if not np.isnan(gap.margin):
                word = "better" if gap.behind > gap.margin else "worse" if -gap.behind > gap.margin else "level"
                found[word].append(model)
        parts = [f"{word} with {_listed(models)}" for word, models in found.items() if models]
        return f"Draws from the posterior against scikit-learn's TargetEncoder: {'; '.join(parts)}." if parts else ""

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
        ax.spines[["top", "right"]].set_visible(False)
        best = f", {formatted(self.mean(self.best, self.by))}" if ranked else ""
        label, target = MEASURES[self.by].label, self.rows.target.replace("$", r"\$")
        ax.set_xlabel(f"{label} behind the best{best}, with 95 % interval; blue: within noise")
        ax.set_title(f"Predicting {target}, {self.folding}", loc="left")
        return ax

    def _repr_html_(self) -> str:
        before = "".join(f"<p>{escape(text)}</p>" for text in (self.sentence, self.rows.described + "."))
        after = "".join(f"<p>{escape(text)}</p>" for text in (*self.reasons, *self.rows.notes, *self.rows.warnings))
        return before + (self.table().to_html(index=False, border=0) if self.ranked else "") + after

    def __repr__(self) -> str:
        table = [self.table().to_string(index=False)] if self.ranked else []
        return "\n".join([self.sentence, *table, *self.reasons])


def _plain(value: Any) -> Any:
    """Replace NaN by None, as JSON needs."""
    return None if value != value else value


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
