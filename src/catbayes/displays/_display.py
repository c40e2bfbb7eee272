"""What all displays share: numbers as a frame, and axes to draw them on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from catbayes.core.table import Table, make_frame
from catbayes.core.writing import Written
from catbayes.displays.plotting import drawable, new_axes, title_above, write_thousands


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
        ax = new_axes(ax, self._size())
        self._draw(ax, style)
        write_thousands(ax)
        if self._title():
            title_above(ax, self._title())
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _table(self) -> dict[str, Any]:
        return {} if hasattr(self, "ax_") else self._record()  # a notebook shows the figure already

    def _title(self) -> str:
        """What the plot is about: what is predicted, if it has a name."""
        target = getattr(self, "target", None)
        return "" if target is None else f"Predicting {drawable(target)}"

    @abstractmethod
    def _record(self) -> dict[str, Any]:
        """Columns of the frame."""

    @abstractmethod
    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        """Draw on axes."""

    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return 6.4, 4.2


def library_of(X: Any) -> Any:
    """The library that holds a frame; None for an array."""
    return Table.of(X).backend if Table.is_frame(X) else None
