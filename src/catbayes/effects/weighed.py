"""The rows that have weight, and their categories: what effects are learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from catbayes.core.validation import Array, Codes
from catbayes.interactions import Coding

__all__ = ["Weighed"]

ALWAYS = 2
"""The last slots, of missing and of unseen ones, stay: they are there whatever the rows are."""


class Weighed(NamedTuple):
    """Rows of a table, and the slots of each column numbered anew, without categories that have no weight.

    A sampler that drew their effects would go another way than in a table without them.
    """

    rows: Codes
    columns: tuple[Coding, ...]  # of these rows
    places: tuple[Codes, ...]  # the new slot of each slot of the table; one without weight is as the last, unseen
    slots: tuple[Codes, ...]  # of all rows of the table, as they were

    @classmethod
    def of(cls, columns: Sequence[Coding], weight: Array) -> Weighed:
        """Leave out what has no weight, unless nothing has any."""
        used = weight > 0 if weight.any() else np.ones(len(weight), dtype=bool)
        rows = np.flatnonzero(used)
        taken, places = list[Coding](), list[Codes]()
        for slots, size in columns:
            own = slots if used.all() else slots[rows]
            has_rows = np.bincount(own, minlength=size) > 0
            has_rows[-ALWAYS:] = True
            n_used = int(has_rows.sum())
            place = np.where(has_rows, np.cumsum(has_rows) - 1, n_used - 1)
            taken.append((own if n_used == size else place[own], n_used))
            places.append(place)
        return cls(rows, tuple(taken), tuple(places), tuple(slots for slots, _ in columns))
