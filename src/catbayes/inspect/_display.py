"""The base of all displays: numbers as a frame, axes to draw them on, and the common look of the plots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from catbayes.core.fitted import Fitted
from catbayes.core.table import make_frame
from catbayes.errors import InputError

GREY = "0.55"
LONGEST_NAME = 30


@dataclass(kw_only=True, eq=False, repr=False)
class Display(ABC):
    """Numbers, and how they are drawn; after `plot`, `ax_` and `figure_` are what was drawn on."""

    target: str | None = None
    library: Any = None

    def frame(self) -> Any:
        """Return the numbers as a frame of pandas, polars or pyarrow, as the table was."""
        return make_frame(self._record(), self.library)

    def plot(self, ax: Any = None, **style: Any) -> Self:
        """Draw the numbers.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure if None.
        **style
            Passed to matplotlib for the main marks: `color`, `alpha`, …

        Returns
        -------
        self
            With `ax_` and `figure_` set.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError('Plots need matplotlib: pip install "catbayes[plot]".') from error
        if ax is None:
            _, ax = plt.subplots(figsize=self._size(), layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
        self._draw(ax, style)
        n_lines = 0
        if ax.get_legend() is None and ax.get_legend_handles_labels()[0]:  # above the axes it covers no mark
            legend = ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, fontsize="small")
            n_lines = -(-len(legend.get_texts()) // 2)
        ax.set_title(self._title(), loc="left", pad=8.0 + 15.0 * n_lines)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}\n{self.frame()}"

    def _title(self) -> str:
        return "" if self.target is None else f"Predicting {drawable(self.target)}"

    @abstractmethod
    def _record(self) -> dict[str, Any]:
        """Return the columns of the frame."""

    @abstractmethod
    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        """Draw on axes."""

    def _size(self) -> tuple[float, float]:
        """Return the width and height of a new figure, in inches."""
        return 6.4, 4.2


def fitted_encoding(model: Any) -> Fitted:
    """Return what the fitted encoder that was given learnt, or that of a fitted sampling model."""
    check_is_fitted(model)
    encoding = getattr(getattr(model, "encoder_", model), "encoding_", None)
    if not isinstance(encoding, Fitted):
        raise InputError(
            f"{model!r} has no encoded columns: expected a fitted SamplingBayesianEncoder, or a "
            "sampling model with a categorical column."
        )
    return encoding


def drawable(name: Any) -> str:
    """Turn a name into one short line without special characters; `$` would start mathematics."""
    if name is None or name != name:
        return "(missing)"
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in str(name)).split())
    if len(text) > LONGEST_NAME:
        text = text[: LONGEST_NAME - 1] + "…"
    return text.replace("$", r"\$") or "(empty)"


def label_rows(ax: Any, names: list[str], remarks: list[str] | None = None, colors: Any = "0.35") -> None:
    """Name the rows of a plot of horizontal marks, the first one on top, with a remark at the right of each."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    for row, remark in enumerate(remarks or ()):
        color = colors if isinstance(colors, str) else colors[row]
        ax.text(1.02, row, remark, transform=ax.get_yaxis_transform(), va="center", color=color)


def height_of_rows(n_rows: int) -> float:
    """Return the height in inches of n rows with the axis and the legend."""
    return 1.5 + 0.32 * max(n_rows, 2)
