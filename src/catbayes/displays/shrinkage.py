"""What was counted of each category against what is believed of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catbayes.core.validation import Array
from catbayes.core.writing import counted
from catbayes.displays._beliefs import read_column
from catbayes.displays._display import Display
from catbayes.displays.plotting import GREY, drawable, legend_above
from catbayes.errors import InputError

NUMBERS = ("count", "raw_mean", "mean")


@dataclass(slots=True, eq=False, repr=False)
class ShrinkageDisplay(Display):
    """The mean of each category as counted against what is believed of it: rare ones are drawn to the prior.

    `plot(**style)` styles the points, whose areas grow with the number of rows.

    Examples
    --------
    >>> from catbayes.displays import ShrinkageDisplay
    >>> display = ShrinkageDisplay.from_predictions([1.0, 0.2], [0.7, 0.21], [3, 90], prior_mean=0.5)
    >>> display.frame().shape
    (2, 4)
    """

    categories: list[Any]
    count: Array
    raw_mean: Array
    mean: Array
    prior_mean: float | None = None
    target: str = "mean of the target"
    column: Any = None
    library: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, column: Any, *, class_: Any = None) -> ShrinkageDisplay:
        """Take the posteriors of a fitted encoder or sampling model.

        Parameters
        ----------
        estimator, column, class_
            As for `PosteriorDisplay`.

        Returns
        -------
        ShrinkageDisplay
            One point for each category that was seen.
        """
        read = read_column(estimator, column, class_)
        seen = np.flatnonzero(read.record["count"] > 0)
        names = [read.record["category"][row] for row in seen]
        numbers = {name: read.record[name][seen] for name in NUMBERS}
        prior = float(read.record["mean"][read.record["kind"].index("unseen")])
        return cls(names, **numbers, prior_mean=prior, target=read.target, column=column, library=read.library)

    @classmethod
    def from_predictions(cls, raw: Any, shrunk: Any, count: Any, *, prior_mean: Any = None) -> ShrinkageDisplay:
        """Take the numbers of any encoder.

        Parameters
        ----------
        raw, shrunk, count : array-like of shape (n_categories,)
            Mean of the target in each category, its encoding, and its rows.
        prior_mean : float, optional
            Where the encodings are drawn to.

        Returns
        -------
        ShrinkageDisplay
            Categories go by their numbers.
        """
        arrays = [np.asarray(values, dtype=np.float64) for values in (raw, shrunk, count)]
        shapes = [array.shape for array in arrays]
        if len(set(shapes)) > 1 or arrays[0].ndim != 1:
            raise InputError(f"raw, shrunk and count have shapes {shapes}: expected one number for each category.")
        return cls(list(range(len(arrays[0]))), arrays[2], arrays[0], arrays[1], prior_mean)

    def _sentence(self) -> str:
        of = "" if self.column is None else f" of {self.column!r}"
        return f"{self._counted()}{of}, the {self.target} as counted and as encoded, most corrected first:"

    def _table(self) -> dict[str, Any]:
        order = np.argsort(-np.abs(self.raw_mean - self.mean), kind="stable")
        record = super(ShrinkageDisplay, self)._table()
        return {name: [values[row] for row in order] for name, values in record.items()}

    def _record(self) -> dict[str, Any]:
        return {"category": self.categories} | {name: getattr(self, name) for name in NUMBERS}

    def _title(self) -> str:
        return "" if self.column is None else f"{drawable(self.column)}, {self._counted()}"

    def _counted(self) -> str:
        return counted(len(self.categories), "category", "categories")

    def _size(self) -> tuple[float, float]:
        return 5.4, 5.0

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        both = np.concatenate([self.raw_mean, self.mean])
        ends = np.array([both.min(), both.max()])
        ax.plot(ends, ends, color=GREY, linewidth=1, label="no shrinkage")
        if self.prior_mean is not None:
            ax.axhline(self.prior_mean, color=GREY, linestyle="--", linewidth=1, label="prior mean")
        area = 12.0 + 240.0 * self.count / max(self.count.max(initial=0.0), 1.0)
        label = f"a category, up to {self.count.max(initial=0.0):,g} rows"
        ax.scatter(self.raw_mean, self.mean, s=area, **({"alpha": 0.6, "edgecolor": "white", "label": label} | style))
        ax.set_xlabel(f"{self.target}, as counted")
        ax.set_ylabel(f"{self.target}, as encoded")
        legend_above(ax)
