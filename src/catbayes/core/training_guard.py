"""Warn of training on `fit(X, y).transform(X)`: the table of `fit` is recognised, and not stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catbayes.core.fitted import Fitted
from catbayes.core.rows import Rows
from catbayes.core.validation import Codes
from catbayes.errors import asked_by_user, warn

LOOKED_AT = 32
"""Rows that are compared, where a table lies in the place of the other: places are given away again."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The table that `fit` saw: its place in memory, its length, and the slots of a few rows."""

    place: int
    n_rows: int
    slots: tuple[tuple[int, ...], ...]
    warned: list[str] = field(default_factory=list, compare=False)  # one warning is enough

    @classmethod
    def of(cls, X: Any, rows: Rows, encoding: Fitted) -> Seen:
        """What to know a table by."""
        some = _some(rows.table.n_rows)
        return cls(id(X), rows.table.n_rows, tuple(tuple(own[some].tolist()) for own in encoding.slots_of(rows)))

    def warn_of(self, X: Any, slots: Sequence[Codes], n_rows: int) -> None:
        """Warn if it is the same table, and the user's own line asks for its features."""
        if id(X) != self.place or n_rows != self.n_rows or self.warned:
            return
        some = _some(n_rows)
        if tuple(tuple(found[some].tolist()) for found in slots) == self.slots and asked_by_user():
            self.warned.append("transform")
            warn(
                "transform was given the very table that fit learnt from, so each row's own target is a part of its "
                "features. To train a model on them, take fit_transform(X, y), or a Pipeline, which does."
            )


def _some(n_rows: int) -> Codes:
    return np.unique(np.linspace(0, n_rows - 1, LOOKED_AT).astype(np.intp))
