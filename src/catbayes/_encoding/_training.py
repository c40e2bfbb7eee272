"""The features that a model trains on: draws of the rows that an encoding was fitted on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes._encoding._layout import Layout
from catbayes._validation import Array
from catbayes.tables import Table

__all__ = ["TrainingDraws"]


@dataclass(frozen=True, slots=True)
class TrainingDraws:
    """The features that a model trains on, one draw after the other: `features(k)` is draw k, the same at every call.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]
    >>> draws = SamplingBayesianEncoder(random_state=0).fit_draws(X, y)
    >>> for epoch in range(3):  # fresh draws for each epoch of a model of your own
    ...     features = draws.features(epoch)
    >>> features.shape
    (4, 1)
    """

    table: Table
    layout: Layout
    blocks: Callable[[int], list[Array]]  # draw k of every encoded column, (row, output) each

    def features(self, k: int = 0) -> np.ndarray[Any, Any]:
        """Draw k of the training rows, (row, output), with the columns that are not encoded."""
        return self.layout.stack(self.table, self.blocks(k))

    def write(self, k: int, features: np.ndarray[Any, Any], rows: Any = slice(None)) -> None:
        """Put draw k of some rows into features that hold another one; columns that are not encoded stay."""
        for column, block in zip(self.layout.columns, self.blocks(k), strict=True):
            features[:, self.layout.places[column.position]] = block[rows]

    def copies(self, n_draws: int, rows: Any = slice(None)) -> np.ndarray[Any, Any]:
        """Stack the first draws of some rows, one after the other: every column is copied once for each draw."""
        first = self.features()[rows]
        stacked = np.empty((n_draws * len(first), first.shape[1]), dtype=first.dtype, order="F")
        for k in range(n_draws):
            part = stacked[k * len(first) : (k + 1) * len(first)]
            part[:] = first
            if k:
                self.write(k, part, rows)
        return stacked
