"""The base of all displays: numbers as a frame, and axes to draw them on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import narwhals as nw

from catbayes.core.table import make_frame
from catbayes.inspect.plotting import drawable, new_axes, title_above, write_thousands


class Display(ABC):
    """Numbers, and how they are drawn; after `plot`, `ax_` and `figure_` are what was drawn on."""

    ax_: Any
    figure_: Any
    library: Any
    target: str | None

    def frame(self) -> Any:
        """Return the numbers as a frame, in the library of the table.

        Returns
        -------
        frame
            Of pandas, polars or pyarrow.
        """
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
