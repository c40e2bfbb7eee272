"""The base of all displays: numbers as a frame, axes to draw them on, and the common look of the plots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import narwhals as nw

from catbayes.core.table import make_frame

GREY = "0.55"
LONGEST_NAME = 30


class Display(ABC):
    """Numbers, and how they are drawn; after `plot`, `ax_` and `figure_` are what was drawn on."""

    ax_: Any
    figure_: Any
    library: Any
    target: str | None

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
        ax = new_axes(ax, self._size())
        self._draw(ax, style)
        write_thousands(ax)
        if self._title():
            title_above(ax, self._title())
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


def library_of(X: Any) -> Any:
    """Return the library of a frame; None for an array."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame.implementation if isinstance(frame, nw.DataFrame) else None


def new_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the given axes, or those of a new figure of a size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Plots need matplotlib: pip install "catbayes[plot]".') from error
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def drawable(name: Any) -> str:
    """Turn a name into one short line without special characters; `$` would start mathematics."""
    if name is None or name != name:
        return "(missing)"
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in str(name)).split())
    if len(text) > LONGEST_NAME:
        text = text[: LONGEST_NAME - 1] + "…"
    return text.replace("$", r"\$") or "(empty)"


def label_rows(ax: Any, names: list[str]) -> None:
    """Name the rows of a plot of horizontal marks, the first one on top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def height_of_rows(n_rows: int) -> float:
    """Return the height in inches of n rows with the axis and the legend."""
    return 1.5 + 0.32 * max(n_rows, 2)


def write_thousands(ax: Any) -> None:
    """Write large numbers at the axes with separators: 40,000."""
    from matplotlib.ticker import ScalarFormatter, StrMethodFormatter

    for axis in (ax.xaxis, ax.yaxis):
        largest = max(map(abs, axis.get_view_interval()))
        if isinstance(axis.get_major_formatter(), ScalarFormatter) and 1e4 <= largest < 1e9:
            axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def title_above(ax: Any, title: str) -> None:
    """Write a title on the left, above the legend if that is above the axes."""
    legend = ax.get_legend()
    n_lines = 0 if legend is None else -(-len(legend.get_texts()) // 2)
    is_above = legend is not None and legend.get_bbox_to_anchor().y0 >= ax.bbox.y1
    ax.set_title(title, loc="left", pad=8.0 + 15.0 * n_lines if is_above else 8.0)


def legend_above(ax: Any) -> None:
    """Put the legend above the axes, where it covers no mark."""
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, fontsize="small")
