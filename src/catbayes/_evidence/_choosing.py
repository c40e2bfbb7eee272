"""Which interactions pay: the gain in marginal likelihood over what their columns say one by one.

Of a pair of columns, cell by cell, the columns themselves explain the mean

    g(m_ab) = g(m₀) + λ_a (g(m_a) - g(m₀)) + λ_b (g(m_b) - g(m₀)),

where m_a and m_b are the shrunk means of each column, g is the link of the family, and the λ fit the cells best, so
that columns which say the same thing are not counted twice. If that is all, cells differ from it by chance alone. If
not, their θ vary about m_ab as if the prior were worth ν rows, and the gain is

    max_ν log p(cells | m_ab, ν) - log p(cells | m_ab, ν = ∞),

θ integrated out. All of it is made of counts: no row is read again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from catbayes._evidence._evidence import Candidate, ColumnEvidence, Evidence
from catbayes._validation import Array
from catbayes.families import Family, no_signal
from catbayes.statistics import Tally

CHANCE = 3.0
"""A gain that one interaction in a hundred has by chance; the logarithm of the number of candidates comes on top."""

MOST_CHOSEN = 50


def choose(evidence: Evidence) -> Evidence:
    """Keep the interactions that gain more than chance would, the best ones if there are many.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import gather
    >>> from catbayes._evidence import choose
    >>> table = pd.DataFrame({"user": ["a", "a", "b", "b"] * 9, "door": [1, 2, 1, 2] * 9, "open": [1, 0, 0, 1] * 9})
    >>> counted = gather(table, ["user", "door"], "open", interactions="pairs")
    >>> [column.name for column in choose(counted).columns]
    ['user', 'door', ('user', 'door')]
    """
    pairs = [column for column in evidence.columns if column.is_interaction]
    means: dict[int, Array] = {}
    gains = {column.position: gain(column, evidence, means) for column in pairs}
    least = CHANCE + np.log(max(len(pairs), 1))
    best = sorted(gains, key=lambda position: -gains[position])[:MOST_CHOSEN]
    kept = [column for column in pairs if column.position in best and gains[column.position] > least]
    weighed = [Candidate(column.name, column.index.missing, gains[column.position], column in kept) for column in pairs]
    singles = [column for column in evidence.columns if column not in pairs]
    columns = [replace(column, position=len(evidence.inputs) + number) for number, column in enumerate(kept)]
    ranked = sorted(weighed, key=lambda candidate: -candidate.gain)
    return replace(evidence, columns=(*singles, *columns), candidates=tuple(ranked))


def gain(column: ColumnEvidence, evidence: Evidence, means: dict[int, Array]) -> float:
    """Gain of an interaction over its columns, in nats; `means` remembers those of the columns."""
    index = column.index
    every = np.arange(index.missing)
    # Rows that weigh more than one say less than they seem to.
    cells: Any = column.statistics.take(every).per(evidence.row_units).scaled(evidence.row_units / evidence.row_weight)
    for number, part in enumerate(column.parts):
        if part not in means:
            parent = cells.place(index.cells[:, number], index.sources[number].n_slots)
            means[part] = _shrunk(evidence.family, parent)
    parts = [means[part][slots] for part, slots in zip(column.parts, index.cells.T, strict=True)]
    if isinstance(cells, Tally):  # one row has the chances of its centre, whatever ν is
        several = np.flatnonzero(np.abs(cells.count - 1.0) > 1e-9)
        cells, parts = cells.take(several), [part[several] for part in parts]
    likelihood = evidence.family.cell_likelihood(cells, parts)
    top = np.log(no_signal(cells.count.sum()))
    best = minimize_scalar(lambda x: -likelihood(np.exp(x)), bounds=(np.log(1e-2), top), method="bounded")
    return float(max(-best.fun - likelihood(np.exp(top)), 0.0))


def _shrunk(family: type[Family], statistics: Any) -> Array:
    """Posterior means of the categories of a column, (category, parameter)."""
    if not statistics.varies():
        return np.zeros((len(statistics.count), 1))
    posterior = family.empirical(statistics).update(statistics)
    return posterior.mean()[:, posterior.location]
