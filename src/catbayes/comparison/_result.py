"""What a comparison found: a table, the best, a picture, and where a difference is none."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from catbayes._validation import Array
from catbayes.comparison._rows import Rows
from catbayes.comparison._running import Cell
from catbayes.comparison._scores import MEASURES, OF_TASK, written
from catbayes.errors import InputError

COVERAGE = 0.95


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a contestant is behind the best one on the same folds: positive is worse, whatever the measure.

    The standard error is that of Nadeau and Bengio (2003), s² (1/J + n_test/n_train): the training sets of the J folds
    overlap, and the plain one is too small. `margin` is half the width of the 95 % interval.
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


@dataclass(frozen=True, slots=True, repr=False)
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
        The rows of each fold, and `folding` how they were made.
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
        done = [cell for cell in self.cells if cell.done and not np.isnan(self.mean(cell, self.by))]
        return sorted(done, key=lambda cell: sign * self.mean(cell, self.by))

    @property
    def unranked(self) -> list[Cell]:
        """Cells that did not run, or failed."""
        ranked = self.ranked
        return [cell for cell in self.cells if cell not in ranked]

    @property
    def best(self) -> Cell:
        """The cell with the best mean score; its `estimator` is ready to be fitted."""
        ranked = self.ranked
        if not ranked:
            raise InputError("Nothing was finished, so nothing is best. Allow more time, or see `cells` for failures.")
        return ranked[0]

    @property
    def common(self) -> list[int]:
        """Folds that every finished cell went through: scores are compared on these."""
        done = [set(cell.scores) for cell in self.cells if cell.done]
        return sorted(set.intersection(*done)) if done else []

    def mean(self, cell: Cell, measure: str) -> float:
        """Mean of a score over the common folds."""
        return float(np.mean([cell.scores[fold][measure] for fold in self.common]))

    def difference(self, cell: Cell, other: Cell | None = None) -> Difference:
        """How far a cell is behind another one, the best if None, over the common folds."""
        other, common = other or self.best, self.common
        sign = 1.0 if MEASURES[self.by].higher else -1.0
        gaps: Array = np.array([sign * (other.scores[fold][self.by] - cell.scores[fold][self.by]) for fold in common])
        if len(gaps) < 2:
            return Difference(float(gaps.mean()) if len(gaps) else float("nan"), float("nan"), float("nan"))
        ratio = float(np.mean([len(test) / len(train) for train, test in (self.folds[fold] for fold in common)]))
        error = float(np.sqrt(gaps.var(ddof=1) * (1.0 / len(gaps) + ratio)))
        return Difference(float(gaps.mean()), error, float(stats.t.ppf(0.5 + COVERAGE / 2, len(gaps) - 1)) * error)

    def records(self) -> list[dict[str, Any]]:
        """One dictionary for each cell, the best first and those without a score last."""
        return [self._record(cell) for cell in [*self.ranked, *self.unranked]]

    def _record(self, cell: Cell) -> dict[str, Any]:
        record: dict[str, Any] = {"encoder": cell.encoder, "model": cell.model}
        if not cell.done:
            empty = dict.fromkeys((*self.measures, "behind", "standard_error", "margin"), float("nan"))
            return (
                record
                | empty
                | {"verdict": "", "fit_seconds": float("nan"), "predict_seconds": float("nan")}
                | {
                    "folds": len(cell.scores),
                    "status": cell.status,
                }
            )
        difference = self.difference(cell)
        record |= {name: self.mean(cell, name) for name in self.measures}
        record |= {"behind": difference.behind, "standard_error": difference.standard_error}
        record |= {"margin": difference.margin, "verdict": "best" if cell is self.best else difference.verdict}
        record |= {"fit_seconds": float(np.mean(list(cell.fit_seconds.values())))}
        record |= {"predict_seconds": float(np.mean(list(cell.predict_seconds.values())))}
        return record | {"folds": len(self.common), "status": cell.status}

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON takes it: settings, the table as it was read, and each cell with its scores by fold.

        Returns
        -------
        dict
            Texts, numbers, lists and None.
        """
        cells = [
            {name: None if value != value else value for name, value in record.items()}
            | {"scores": {name: [fold[name] for fold in cell.scores.values()] for name in self.measures}}
            for record, cell in zip(self.records(), [*self.ranked, *self.unranked], strict=True)
        ]
        return {
            "table": self.rows.described,
            "target": self.rows.target,
            "task": self.rows.task,
            "classes": None if self.rows.classes is None else [str(label) for label in self.rows.classes],
            "categorical": list(self.rows.categorical),
            "notes": list(self.rows.notes),
            "by": self.by,
            "folds": self.folding,
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
            return "Nothing was finished, so there is no verdict."
        best = self.best
        label = MEASURES[self.by].label
        ties = [cell for cell in self.ranked[1:] if self.difference(cell).verdict != "worse"]
        said = f"Best {label}: {best.name}, {written(self.mean(best, self.by))} over {len(self.common)} folds. "
        if ties:
            others = "another cannot" if len(ties) == 1 else f"{len(ties)} others cannot"
            said += f"{others.capitalize()} be told from it by these folds. "
        return said + self._against_target_encoder()

    def _against_target_encoder(self) -> str:
        """What it means for somebody who uses a plain target encoder today."""
        ranked = {(cell.encoder, cell.model): cell for cell in self.ranked}
        found: dict[str, list[str]] = {"better": [], "worse": [], "level": []}
        for (encoder, model), ours in ranked.items():
            if encoder != "sampling" or ("target", model) not in ranked:
                continue
            gap = self.difference(ranked["target", model], ours)
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
        try:
            from matplotlib import pyplot
        except ImportError:
            raise ImportError('Plots need matplotlib: pip install "catbayes[plot]".') from None
        ranked = self.ranked
        if ax is None:
            _, ax = pyplot.subplots(figsize=(8, 1 + 0.28 * len(ranked)), layout="constrained")
        for place, cell in enumerate(ranked):
            gap = self.difference(cell)
            colour = "tab:gray" if gap.verdict == "worse" else "tab:blue"
            ax.errorbar(gap.behind, place, xerr=0 if np.isnan(gap.margin) else gap.margin, fmt="o", color=colour, ms=5)
        ax.axvline(0, color="tab:blue", lw=0.8, ls=":")
        ax.set_yticks(range(len(ranked)), [cell.name.replace("$", r"\$") for cell in ranked])
        ax.invert_yaxis()
        ax.set_xlabel(f"{MEASURES[self.by].label} behind the best (95 % interval; blue: cannot be told from it)")
        ax.set_title(f"Predicting {self.rows.target}: {self.folding}".replace("$", r"\$"))
        return ax

    def _repr_html_(self) -> str:
        headings = ["encoder", "model", *(MEASURES[name].label for name in self.measures), "behind", "", "fit s"]
        lines = ["".join(f"<th>{html.escape(text)}</th>" for text in headings)]
        for record in self.records():
            cells = [record["encoder"], record["model"], *(written(record[name]) for name in self.measures)]
            behind = f"{written(record['behind'])} ± {written(record['standard_error'])}"
            cells += [behind, record["verdict"] or record["status"], f"{record['fit_seconds']:.2f}"]
            lines.append("".join(f"<td>{html.escape(str(text))}</td>" for text in cells))
        rows = "".join(f"<tr>{line}</tr>" for line in lines)
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in (self.sentence, *self.rows.notes))
        return f"<div>{notes}<table>{rows}</table></div>"

    def __repr__(self) -> str:
        return f"Comparison({self.rows.described}; {len(self.ranked)} of {len(self.cells)} finished. {self.sentence})"


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
