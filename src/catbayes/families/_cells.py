"""What columns explain of the cells of an interaction, where effects multiply: on the scale of logarithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catbayes._arrays import positive
from catbayes._validation import Array
from catbayes.families._arithmetic import maximise


def explained(base: Any, parts: list[Array], likelihood: Callable[[Array], tuple[float, Array]]) -> Array:
    """Logarithms of the means of cells, base + Σ λ (log part - base), with the λ that are most likely.

    `parts` are the means that each column gives to each cell. `likelihood` returns its value and its slope with respect
    to the logarithms.

    Examples
    --------
    >>> means = np.array([1.0, 2.0, 4.0])  # as the columns have them, which know all that there is
    >>> def poisson(logarithm):
    ...     rate = np.exp(logarithm)
    ...     return float((means * logarithm - rate).sum()), means - rate
    >>> np.exp(explained(np.log(2.0), [means], poisson)).round(3).tolist()
    [1.0, 2.0, 4.0]
    """
    scores = [np.log(positive(part)) - base for part in parts]

    def logarithm(weight: Array) -> Array:
        return np.asarray(base + sum(w * score for w, score in zip(weight, scores, strict=True)))

    def objective(weight: Array) -> tuple[float, Array]:
        value, slope = likelihood(logarithm(weight))
        return value, np.array([(slope * score).sum() for score in scores])

    best, _ = maximise(objective, np.full(len(parts), 0.5), [(0.0, 2.0)] * len(parts))
    return logarithm(best)
