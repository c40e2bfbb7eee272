"""What a comparison found: a table, the best, a picture, and where a difference is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.comparison._rows import Rows
from catbayes.comparison._running import TIME_UP, Cell
from catbayes.comparison._scores import MEASURES, OF_TASK, written
from catbayes.comparison._text import html_of, text_of
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.inspect.plotting import GREY, drawable, height_of_rows, label_rows, new_axes
from catbayes.inspect.scoring import corrected_interval, overlap_of

COVERAGE = 0.95


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a contestant is behind the best one on the same folds: positive is worse, whatever the measure.

    `standard_error` is that of Nadeau and Bengio, which allows for training rows that folds have in common;
    `margin` is half the width of the 95 % interval.
    """

    behind: float
    standard_error: float
    margin: float

    @property
    def verdict(self) -> str:
        """Whether the folds can tell it from the best."""
        if np.isnan(self.margin):
            return "cannot tell"
        return "tie" if self.behind <= self.margin else "worse"

    def __str__(self) -> str:
        return f"{written(self.behind)} ± {written(self.standard_error)}"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    rows : Rows
        The table as it was read: what the target and each column were taken for, and `notes` on what was left out.
    by : str
        The measure that ranks.
    cells : tuple of Cell
        Every encoder with every model: `scores`, `fit_seconds` and `predict_seconds` by fold, `status`, and
        the unfitted `estimator`.
    folds : list of (train, test)
        The rows of each fold, by their places in `rows.X`, and `folding` how they were made.
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
    >>> result.best.name
    'target + ridge'
    >>> result.measures
    ('r2', 'mae', 'rmse')
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
        """Why some cells have no score: a line for each reason, with those that it is true of."""
        of_encoder: dict[tuple[str, str], list[str]] = {}
        for cell in self.unranked:
            of_encoder.setdefault((cell.status, cell.encoder), []).append(cell.model + _begun(cell))
        together: dict[str, dict[tuple[str, ...], list[str]]] = {}
        for (status, encoder), models in of_encoder.items():
            together.setdefault(status, {}).setdefault(tuple(models), []).append(encoder)
        return [
            "; ".join(f"{_listed(encoders)} with {_listed(models)}" for models, encoders in found.items())
            + f": {status if status != 'done' else 'no score'}"
            for status, found in together.items()
        ]

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

        A fold with rows of one class only has no AUC.
        """
        done = [
            {fold for fold, scores in cell.scores.items() if not np.isnan(scores[self.by])}
            for cell in self.cells
            if cell.done
        ]
        return sorted(set.intersection(*done)) if done else []

    def mean(self, cell: Cell, measure: str) -> float:
        """Mean of a score over the common folds."""
        return float(np.nanmean([cell.scores[fold][measure] for fold in self.common]))

    def difference(self, cell: Cell, other: Cell | None = None) -> Difference:
        """How far a cell is behind another one, the best if None, over the common folds."""
        other, common = other or self.best, self.common
        sign = 1.0 if MEASURES[self.by].higher else -1.0
        gaps: Array = np.array([sign * (other.scores[fold][self.by] - cell.scores[fold][self.by]) for fold in common])
        if len(gaps) < 2:
            return Difference(float(gaps.mean()), float("nan"), float("nan"))
        overlap = overlap_of([self.folds[fold] for fold in common])
        return Difference(*map(float, corrected_interval(gaps, overlap, COVERAGE)))

    def records(self) -> list[dict[str, Any]]:
        """One dictionary for each cell, the best first and those without a score last."""
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
        """Everything as JSON takes it: settings, the table as it was read, and each cell with its scores by fold.

        Returns
        -------
        dict
            Texts, numbers, lists and None.
        """
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
        """All cells as a pandas frame, the best first.

        `behind` is the mean difference to the best on the same folds (positive is worse), `standard_error` its standard
        error, and `verdict` says "tie" where its 95 % interval reaches zero. Times are seconds a fold.

        Returns
        -------
        pandas.DataFrame
            One row for each encoder and model.
        """
        import pandas

        return pandas.DataFrame(self.records())

    @property
    def sentence(self) -> str:
        """The verdict in a sentence or two."""
        if not self.ranked:
            if any(cell.done for cell in self.cells):
                label = MEASURES[self.by].label
                why = "its rows hold one class" if self.rows.classes else "it holds a single row"
                return f"No fold has a value of {label}, because {why}. Use larger folds, or rank by another measure."
            return "Nothing was finished, so there is no verdict. Allow more time, or see what failed."
        best = self.best
        label = MEASURES[self.by].label
        ties = [cell for cell in self.ranked[1:] if self.difference(cell).verdict != "worse"]
        said = f"Best {label}: {best.name}, {written(self.mean(best, self.by))} over {len(self.common)} folds. "
        if ties:
            others = "another cannot" if len(ties) == 1 else f"{len(ties)} others cannot"
            said += f"{others.capitalize()} be told from it by these folds. "
        late = sum(cell.status.endswith(TIME_UP) for cell in self.unranked)
        if late:
            said += f"{late} of {len(self.cells)} had no time: allow more, or compare on a sample of the rows. "
        if len(self.unranked) > late:
            said += f"{len(self.unranked) - late} of {len(self.cells)} did not run or failed. "
        return said + self._against_target_encoder()

    def _against_target_encoder(self) -> str:
        """What it means for somebody who uses a plain target encoder today."""
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
        ranked = self.ranked
        ax = new_axes(ax, (8.0, height_of_rows(len(ranked))))
        for place, cell in enumerate(ranked):
            gap = self.difference(cell)
            margin = 0 if np.isnan(gap.margin) else gap.margin
            ax.errorbar(gap.behind, place, xerr=margin, fmt="o", color=GREY if gap.verdict == "worse" else "C0")
        ax.axvline(0, color=GREY, linewidth=1, linestyle="--")
        label_rows(ax, [f"{drawable(cell.encoder)} + {drawable(cell.model)}" for cell in ranked])
        best = f", {written(self.mean(self.best, self.by))}" if ranked else ""
        label = MEASURES[self.by].label
        ax.set_xlabel(f"{label} behind the best{best}, with 95 % interval; blue: cannot be told from it")
        ax.set_title(f"Predicting {drawable(self.rows.target)}, {self.folding}", loc="left")
        return ax

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        """Headings and lines of those that have a score."""
        headings = ["encoder", "model", *(MEASURES[name].label for name in self.measures), "behind", "", "fit s"]
        lines = []
        for record in self.records()[: len(self.ranked)]:
            scores = [written(record[name]) for name in self.measures]
            told = behind(record), record["verdict"], f"{record['fit_seconds']:.2f}"
            lines.append([record["encoder"], record["model"], *scores, *told])
        return headings, lines

    def _right(self) -> list[bool]:
        """Which columns of the table hold numbers."""
        return [False, False, *[True] * (len(self.measures) + 1), False, True]

    def _repr_html_(self) -> str:
        before = [self.sentence, self.rows.described + "."]
        return html_of(before, *self._shown(), [*self.reasons, *self.rows.notes, *self.rows.warnings], self._right())

    def __repr__(self) -> str:
        headings, lines = self._shown()
        table = text_of(headings, lines, self._right())
        return "\n".join([self.sentence.strip(), *(table if lines else []), *self.reasons])


def behind(record: dict[str, Any]) -> str:
    """The distance to the best of a record, with its standard error; nothing for the best."""
    if record["verdict"] in ("", "best"):
        return ""
    return str(Difference(record["behind"], record["standard_error"], record["margin"]))


def _plain(value: Any) -> Any:
    """A value as JSON takes it: NaN is nothing."""
    return None if value != value else value


def _begun(cell: Cell) -> str:
    """How far a cell came that did not get through all folds."""
    if cell.done or not cell.scores:
        return ""
    seconds = sum(cell.fit_seconds.values()) + sum(cell.predict_seconds.values())
    return f" ({seconds:.0f} s for {len(cell.scores)} fold{'s' if len(cell.scores) > 1 else ''})"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
