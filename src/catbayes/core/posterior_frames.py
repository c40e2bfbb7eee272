"""Posteriors and interactions, as frames of the library of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from catbayes.core.evidence import Candidate
from catbayes.core.fitted import Fitted
from catbayes.core.table import make_frame
from catbayes.effects.outputs import effect_names


class PosteriorFrames(Mapping[Any, Any]):
    """The posteriors of each encoded column, as a frame that is made when it is read."""

    def __init__(self, encoding: Fitted) -> None:
        self._encoding = encoding
        self._columns = {column.name: column for column in encoding.columns}
        effects = [column.effects if encoding.settings.effects else None for column in encoding.evidence.columns]
        self._effects = dict(zip(self._columns, effects, strict=True))

    def __getitem__(self, name: Any) -> Any:
        """Frame of one column: a row per category, and per class if there are more than two."""
        if name not in self._columns:
            raise KeyError(f"{name!r} is not an encoded column; those are {list(self)}.")
        classes = self._encoding.evidence.classes
        column, effects = self._columns[name], self._effects[name]
        record = column.record(None if classes is None else list(classes))
        if effects is not None and column.extra is not None:
            slots, n_parts = column.possible(), effects.n_parts
            for number, kind in enumerate(effect_names(effects, self._encoding.evidence.inputs)):
                own = slice(number * n_parts, (number + 1) * n_parts)
                for heading, values in ((kind, column.extra.values), (f"{kind}_sd", column.extra.sd)):
                    record[heading] = values[slots, own].reshape(-1)
        return make_frame(record, self._encoding.library)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"posteriors of {list(self)}: [name] is a frame"


def interactions_frame(encoding: Fitted) -> Any:
    """Make a frame of interactions: their categories and, with "auto", their gain and whether they were kept."""
    found = encoding.evidence.candidates or [
        Candidate(column.name, np.nan, True) for column in encoding.evidence.columns if column.is_interaction
    ]
    sizes = {column.name: column.index.missing for column in encoding.evidence.columns}
    record = {
        "interaction": ["&".join(map(str, candidate.columns)) for candidate in found],
        "categories": np.array([sizes.get(candidate.columns, np.nan) for candidate in found], dtype=np.float64),
        "gain": np.array([candidate.gain for candidate in found], dtype=np.float64),
        "kept": [candidate.kept for candidate in found],
    }
    return make_frame(record, encoding.library)
