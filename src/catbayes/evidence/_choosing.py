"""Which interactions pay: the gain in marginal likelihood over what their columns say one by one.

Of a pair of columns, cell by cell, the columns themselves explain the mean

    g(m_ab) = g(m₀) + λ_a (g(m_a) - g(m₀)) + λ_b (g(m_b) - g(m₀)),

where m_a and m_b are the shrunk means of each column, g the log of class shares and rates or the identity for numbers,
and the λ fit the cells best, so that columns which say the same thing are not counted twice. If that is all, cells
differ from it by chance alone. If not, their θ vary about m_ab as if the prior were worth ν rows, and the gain is

    max_ν log p(cells | m_ab, ν) - log p(cells | m_ab, ν = ∞),

θ integrated out. All of it is made of counts: no row is read again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from catbayes._validation import Array
from catbayes.evidence._column import ColumnEvidence
from catbayes.evidence._evidence import Candidate, Evidence
from catbayes.families import TINY, DirichletCategorical, Family, GammaPoisson, maximise, no_signal
from catbayes.statistics import Moments, Tally

CHANCE = 3.0
"""A gain that one interaction in a hundred has by chance; the logarithm of the number of candidates comes on top."""

MOST_CHOSEN = 50


def choose(evidence: Evidence) -> Evidence:
    """Keep the interactions that gain more than chance would, the best ones if there are many.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import gather
    >>> from catbayes.evidence import choose
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
    rows: Any = column.statistics.take(every)
    # Rows that weigh more than one, and counts that vary more than Poisson's, say less than they seem to.
    cells = rows.scaled(1.0 / (evidence.row_weight * evidence.family.dispersion(rows, evidence.row_weight)))
    for number, part in enumerate(column.parts):
        if part not in means:
            parent = rows.place(index.cells[:, number], index.sources[number].n_slots)
            means[part] = _shrunk(evidence.family, parent.scaled(1.0 / evidence.row_weight))
    parts = [means[part][slots] for part, slots in zip(column.parts, index.cells.T, strict=True)]
    if isinstance(cells, Tally):  # one row has the chances of its centre, whatever ν is
        several = np.flatnonzero(np.abs(cells.count - 1.0) > 1e-9)
        cells, parts = cells.take(several), [part[several] for part in parts]
    likelihood = _likelihood(evidence.family, cells, parts)
    top = np.log(no_signal(cells.count.sum()))
    best = minimize_scalar(lambda x: -likelihood(np.exp(x)), bounds=(np.log(1e-2), top), method="bounded")
    return float(max(-best.fun - likelihood(np.exp(top)), 0.0))


def _shrunk(family: type[Family], statistics: Any) -> Array:
    """Posterior means of the categories of a column, (category, parameter)."""
    if not statistics.varies():
        return np.zeros((len(statistics.count), 1))
    posterior = family.empirical(statistics).update(statistics)
    mean = posterior.mean()[:, posterior.location]
    if isinstance(statistics, Tally) and mean.shape[1] == 1:
        return np.concatenate([1.0 - mean, mean], axis=1)
    return mean


def _likelihood(family: type[Family], cells: Any, parts: list[Array]) -> Any:
    """Log-likelihood of the cells up to a constant, as a function of ν."""
    if isinstance(cells, Tally):
        centre = _class_shares(cells, parts)
        return lambda strength: float(DirichletCategorical(strength * centre).log_marginal(cells).sum())
    if issubclass(family, GammaPoisson):
        rate = _rates(cells, parts)
        return lambda strength: float(GammaPoisson(strength * rate, strength).log_marginal(cells).sum())
    gap = cells.mean - _amounts(cells, parts)
    degrees = cells.count.sum() - (cells.count > 0).sum()
    noise = cells.m2.sum() / degrees if degrees > 0.01 * cells.count.sum() else 0.0
    noise = noise or (cells.m2 + cells.count * gap**2).sum() / cells.count.sum()

    def of_means(strength: float) -> float:
        """Cell means are normal about the centre, with variance σ² (1/n + 1/ν)."""
        share = cells.count / (strength + cells.count)
        return float(0.5 * (np.log1p(-share) + share * cells.count * gap**2 / max(noise, TINY)).sum())

    return of_means


def _class_shares(cells: Tally, parts: list[Array]) -> Array:
    """Class shares of every cell as its columns explain them, (cell, class)."""
    total = np.maximum(cells.total().weight[0], TINY)
    base = np.log(total / total.sum())

    def likelihood(logarithm: Array) -> tuple[float, Array]:
        share = softmax(logarithm, axis=1)
        rest = cells.weight - cells.count[:, None] * share
        return float((cells.weight * np.log(np.maximum(share, TINY))).sum()), rest

    return np.asarray(np.maximum(softmax(_climb(base, parts, likelihood), axis=1), TINY))


def _rates(cells: Moments, parts: list[Array]) -> Array:
    """Rate of every cell as its columns explain it."""
    base, events = np.log(max(float(cells.total().mean[0]), TINY)), cells.count * cells.mean

    def likelihood(logarithm: Array) -> tuple[float, Array]:
        rest = events - cells.count * np.exp(logarithm)
        return float((events * logarithm - cells.count * np.exp(logarithm)).sum()), rest

    return np.maximum(np.exp(_climb(base, [part[:, 0] for part in parts], likelihood)), TINY)


def _climb(base: Any, parts: list[Array], likelihood: Callable[[Array], tuple[float, Array]]) -> Array:
    """Logarithms of shares or rates, base + Σ λ (log part - base), with the λ that are most likely.

    `likelihood` returns its value and its slope with respect to the logarithms.
    """
    scores = [np.log(np.maximum(part, TINY)) - base for part in parts]

    def logarithm(weight: Array) -> Array:
        return np.asarray(base + sum(w * score for w, score in zip(weight, scores, strict=True)))

    def objective(weight: Array) -> tuple[float, Array]:
        value, slope = likelihood(logarithm(weight))
        return value, np.array([(slope * score).sum() for score in scores])

    best, _ = maximise(objective, np.full(len(parts), 0.5), [(0.0, 2.0)] * len(parts))
    return logarithm(best)


def _amounts(cells: Moments, parts: list[Array]) -> Array:
    """Mean of every cell as its columns explain it, by least squares."""
    base = float(cells.total().mean[0])
    root = np.sqrt(cells.count)
    scores = np.stack([part[:, 0] - base for part in parts], axis=1)
    weight, *_ = np.linalg.lstsq(root[:, None] * scores, root * (cells.mean - base), rcond=None)
    return np.asarray(base + scores @ weight)
