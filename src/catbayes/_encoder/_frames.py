"""What was learnt, as frames of the library that the table came in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from catbayes.core.column import EncodedColumn
from catbayes.core.evidence import Candidate
from catbayes.core.fitted import Encoding
from catbayes.core.table import make_frame
from catbayes.core.validation import Array
from catbayes.core.writing import Written, counted
from catbayes.effects.outputs import effect_names


class PosteriorFrames(Written, Mapping[Any, Any]):
    """The posteriors of each encoded column, as a frame made when it is asked for; shown, a line for each column."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._columns = {column.name: column for column in encoding.columns}
        told = [column.effects if encoding.settings.effects else None for column in encoding.evidence.columns]
        self._effects = dict(zip(self._columns, told, strict=True))

    def __getitem__(self, name: Any) -> Any:
        """Frame of one column: a row per category, and per class if there are more than two."""
        if name not in self._columns:
            raise KeyError(f"{name!r} is not an encoded column; those are {list(self)}.")
        classes = self._encoding.evidence.classes
        column, effects = self._columns[name], self._effects[name]
        record = column.posteriors.record(None if classes is None else list(classes))
        if effects is not None:
            slots, n_parts = column.posteriors.possible(), effects.n_parts
            for number, kind in enumerate(effect_names(effects, self._encoding.evidence.inputs)):
                own = slice(number * n_parts, (number + 1) * n_parts)
                for heading, values in ((kind, column.beside.values), (f"{kind}_sd", column.beside.sd)):
                    record[heading] = values[slots, own].reshape(-1)
        return make_frame(record, self._encoding.library)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def _sentence(self) -> str:
        columns = counted(len(self), "column")
        return f"Posteriors of {columns}; [name] has the categories of one, and signal is the sd of their means:"

    def _table(self) -> dict[str, Any]:
        found = sorted(((describe(c), name) for name, c in self._columns.items()), key=lambda pair: -pair[0]["signal"])
        told = {heading: [record[key] for record, _ in found] for heading, key in TOLD.items()}
        return {"column": [name for _, name in found], **told}


TOLD = {
    "categories": "categories",
    "rows": "rows",
    "signal": "signal",
    "prior's weight": "mean_shrinkage",
    "verdict": "verdict",
}
"""What is told of a column, by heading."""


def describe(column: EncodedColumn) -> dict[str, Any]:
    """The prior of a fitted column, and how many categories and rows depend on it."""
    statistics, prior = column.posteriors.statistics, column.posteriors.prior.prior
    seen = statistics.count > 0
    count = statistics.count[seen]
    strength = float(prior.strength)
    share = strength / (strength + count)
    mean = prior.mean()[..., prior.location]
    average = float(np.average(share, weights=count)) if count.size else 1.0
    return {
        "categories": count.size,
        "rows": float(count.sum()),
        "signal": 0.0 if column.is_silent else _signal(column.family.mean()[seen][:, prior.location], count),
        "prior_mean": float(mean[0]) if mean.size == 1 else np.nan,
        "prior_strength": strength,
        "mostly_prior": int((share > 0.5).sum()),
        "rows_mostly_prior": float(count[share > 0.5].sum() / count.sum()) if count.size else 0.0,
        "mean_shrinkage": average,
        "verdict": _verdict(float(share.min(initial=1.0)), average),
    }


def _signal(means: Array, count: Array) -> float:
    """Standard deviation over rows of what is believed of their categories; of several classes, the largest."""
    if not count.size:
        return 0.0
    centre = np.average(means, axis=0, weights=count)
    return float(np.sqrt(np.average((means - centre) ** 2, axis=0, weights=count).max()))


def _verdict(least: float, average: float) -> str:
    if least > 0.99:
        return "no signal: every category stays at the mean of all"
    if average > 0.5:
        return "mostly prior: most of the encoding is the mean of all"
    if average > 0.1:
        return "partly prior: rare categories lean on the mean of all"
    return "mostly data: the categories speak for themselves"


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
