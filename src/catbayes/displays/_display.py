"""What all displays share: axes to draw on, names that can be drawn, and the numbers as a frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from catbayes._tables import Table, make_frame
from catbayes._writing import Written

GREY = "0.55"
LONGEST_NAME = 30


class Display(Written, ABC):
    """Numbers, and how they are drawn; after `plot`, `ax_` and `figure_` are what was drawn on."""

    __slots__ = ("ax_", "figure_")

    ax_: Any
    figure_: Any
    library: Any

    def frame(self) -> Any:
        """The numbers as a frame, in the library that the table came in."""
        return make_frame(self._record(), self.library)

    def plot(self, ax: Any = None, **style: Any) -> Self:
        """Draw the numbers.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure if None.
        **style
            Handed to matplotlib for the main marks: `color`, `alpha`, …

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
        self._draw(ax, style)
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _table(self) -> dict[str, Any]:
        return {} if hasattr(self, "ax_") else self._record()  # a notebook shows the figure already

    @abstractmethod
    def _record(self) -> dict[str, Any]:
        """Columns of the frame."""

    @abstractmethod
    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        """Draw on axes."""

    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return 6.4, 4.2


def drawable(name: Any) -> str:
    """A name that matplotlib can draw: on one line, not too long, and no `$` taken for mathematics."""
    if name is None or name != name:
        return "(missing)"
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in str(name)).split())
    if len(text) > LONGEST_NAME:
        text = text[: LONGEST_NAME - 1] + "…"
    return text.replace("$", r"\$") or "(empty)"


def label_rows(ax: Any, names: list[str]) -> None:
    """Name the rows of a plot of horizontal marks, the first one on top."""
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def height_of_rows(n_rows: int) -> float:
    """Inches for so many rows, the axis and the legend."""
    return 1.5 + 0.32 * max(n_rows, 2)


def legend_above(ax: Any) -> None:
    """Put the legend where no mark can be, over the names on the left if it is wide."""
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, fontsize="small")


def library_of(X: Any) -> Any:
    """The library that holds a frame; None for an array."""
    return Table.of(X).backend if Table.is_frame(X) else None
