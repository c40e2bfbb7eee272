"""What was learnt, as frames of the library that the table came in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from catbayes._encoding import Encoding
from catbayes._evidence import Candidate
from catbayes._tables import make_frame


class PosteriorFrames(Mapping[Any, Any]):
    """The posteriors of each encoded column, as a frame made when it is asked for."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._columns = {column.name: column for column in encoding.columns}

    def __getitem__(self, name: Any) -> Any:
        """Frame of one column: a row per category, and per class if there are more than two."""
        if name not in self._columns:
            raise KeyError(f"{name!r} is not an encoded column; those are {list(self)}.")
        classes = self._encoding.evidence.classes
        record = self._columns[name].posteriors.record(None if classes is None else list(classes))
        return make_frame(record, self._encoding.library)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"PosteriorFrames({list(self)})"


def interactions_frame(encoding: Encoding) -> Any:
    """The interactions, with their categories and, where they were weighed, their gain and whether they were kept."""
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
