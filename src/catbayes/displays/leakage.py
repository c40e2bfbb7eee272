"""Whether the encoding of each column leaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.core.table import name_of
from catbayes.diagnostics import Leakage, leakage
from catbayes.displays._display import Display
from catbayes.displays.plotting import GREY, drawable, height_of_rows, label_rows

COLORS = {"leaks": "C3", "no leak found": "C0", "cannot tell": GREY}


@dataclass(slots=True, eq=False, repr=False)
class LeakageDisplay(Display):
    """How much better training encodings tell y than held-out rows support, column by column.

    `LeakageDisplay(found)` shows what `catbayes.diagnostics.leakage` found.

    `plot(**style)` styles the points.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.displays import LeakageDisplay
    >>> random = np.random.default_rng(0)
    >>> X, y = random.integers(100, size=(500, 1)), random.integers(2, size=500)
    >>> display = LeakageDisplay.from_estimator(SamplingBayesianEncoder(own_target="include", prior=0), X, y, cv=3)
    >>> display.leakage.verdicts
    ['leaks']
    """

    leakage: Leakage
    target: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, columns: Any = "auto", cv: int = 5, random_state: int = 0
    ) -> LeakageDisplay:
        """Measure the leakage of an encoder.

        Parameters
        ----------
        estimator : transformer
            The encoder, not fitted.
        X, y, columns, cv, random_state
            As for `catbayes.diagnostics.leakage`.

        Returns
        -------
        LeakageDisplay
            Its `leakage` holds the numbers.
        """
        return cls(leakage(estimator, X, y, columns=columns, cv=cv, random_state=random_state), name_of(y))

    @property
    def library(self) -> Any:
        """The library of the frame, which is that of the table."""
        return self.leakage.library

    def _sentence(self) -> str:
        return self.leakage._sentence()

    def _record(self) -> dict[str, Any]:
        return self.leakage.record()

    def _size(self) -> tuple[float, float]:
        return 6.8, height_of_rows(len(self.leakage.columns))

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        found = self.leakage
        place = np.arange(len(found.columns))
        colors = [COLORS[verdict] for verdict in found.verdicts]
        ax.axvline(0.0, color=GREY, linewidth=1)
        ax.hlines(place, found.lower, found.upper, color=colors, linewidth=2, alpha=0.6)
        ax.scatter(found.gap, place, **({"color": colors, "zorder": 3} | style))
        for row, verdict in enumerate(found.verdicts):
            text = {"transform": ax.get_yaxis_transform(), "va": "center", "color": colors[row]}
            ax.text(1.02, row, verdict, **text)
        label_rows(ax, [drawable(name) for name in found.columns])
        ax.set_xlabel(f"{found.score} on training rows less {found.score} on held-out rows, with 90 % interval")
