"""Forgetting: join batches of a table that drifts, old ones counting for less, by a half-life that can be estimated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from catbayes.core.evidence import Evidence
from catbayes.core.slots import Slots
from catbayes.core.validation import Array, is_number
from catbayes.errors import InputError
from catbayes.priors import resolve_prior

__all__ = ["Faded", "fade"]

WORTH_IT = 2.0
"""By how much the logarithm of the likelihood must grow for old batches to be forgotten at all."""


@dataclass(frozen=True, slots=True, repr=False)
class Faded:
    """Batches joined, the old ones faded.

    Attributes
    ----------
    evidence : Evidence
        What an encoder's `fit` takes: a batch of age a counts for 2^(-a / half_life).
    half_life : float
        Age at which a row counts for half; infinite if nothing is to be forgotten.
    gain : float
        How much likelier each batch is, given those before it, than without forgetting: the sum of logarithms.
    rate : float
        Share that is forgotten in one unit of time: the rate for `forget` before each batch that follows.
    """

    evidence: Evidence
    half_life: float
    gain: float

    @property
    def rate(self) -> float:
        """Share that is forgotten in one unit of time."""
        return float(1.0 - 0.5 ** (1.0 / self.half_life))

    def weight(self, age: Any) -> Array:
        """What rows of some age count for: the `sample_weight` of a table that holds all batches."""
        return np.asarray(0.5 ** (np.asarray(age, dtype=np.float64) / self.half_life))

    def __repr__(self) -> str:
        return f"Faded(half_life={self.half_life:g}, gain={self.gain:g}, evidence={self.evidence!r})"


def fade(
    batches: Sequence[Evidence],
    half_life: float | str = "estimate",
    *,
    times: Sequence[float] | None = None,
    prior: Any = "empirical",
) -> Faded:
    """Join batches of a table that drifts, so that old ones count for less.

    The estimated half-life makes each batch likeliest given those before it: it maximises the sum over columns,
    categories and batches of log p(batch | posterior of the faded past). Without drift it is infinite.

    Parameters
    ----------
    batches : list of Evidence
        The result of `gather` for each day or week, the oldest first.
    half_life : "estimate" or float > 0
        Age at which a row counts for half, in batches, or in the units of `times`.
    times : list of float, optional
        When each batch was; ascending. By default they are one apart.
    prior : "empirical", a number or a prior
        As for the encoders.

    Returns
    -------
    Faded
        The evidence to fit an encoder on, and the half-life.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import SamplingBayesianEncoder, fade, gather
    >>> day = pd.DataFrame({"city": ["Oslo", "Rome"], "paid": [1, 0]})
    >>> found = fade([gather(day, target="paid")] * 3, half_life=1.0)
    >>> SamplingBayesianEncoder().fit(found.evidence).posteriors_["city"]["count"].tolist()  # 1 + 1/2 + 1/4
    [1.75, 1.75, 0.0]
    >>> found.rate, found.weight([0, 1, 2]).tolist()
    (0.5, [1.0, 0.5, 0.25])
    """
    batches = list(batches)
    if not batches or not all(isinstance(batch, Evidence) for batch in batches):
        raise InputError("batches: expected the result of gather for each batch, the oldest first.")
    when = np.arange(len(batches), dtype=np.float64) if times is None else np.asarray(times, dtype=np.float64)
    if when.shape != (len(batches),) or not np.isfinite(when).all() or (np.diff(when) < 0).any():
        raise InputError(f"times: expected {len(batches)} ascending numbers, one for each batch.")
    is_estimated = isinstance(half_life, str) and half_life == "estimate"
    if not is_estimated and not (is_number(half_life) and half_life > 0):  # type: ignore[operator]
        raise InputError(f'half_life={half_life!r}: expected "estimate" or a number > 0; infinity forgets nothing.')
    likelihood = _likelihood_of(batches, when, resolve_prior(prior))
    if is_estimated:
        best, gain = _likeliest(likelihood, when)
    else:
        best = float(half_life)
        gain = likelihood(best) - likelihood(np.inf)
    shares = 0.5 ** ((when[-1] - when) / best)
    faded = [
        batch if share == 1.0 else batch.discounted(float(share)) for batch, share in zip(batches, shares, strict=True)
    ]
    return Faded(sum(faded[1:], faded[0]).without_traces(), best, gain)


def _likelihood_of(batches: list[Evidence], when: Array, prior: Any) -> Callable[[float], float]:
    """Prepare Σ log p(batch | the faded ones before it), under the prior of all that is left at the end."""
    whole = sum(batches[1:], batches[0])
    aligned = [[column.theirs for column in whole.aligned(batch, 1.0)[0]] for batch in batches]
    columns = list(zip(*aligned, strict=True))  # of each column, the statistics of every batch

    def likelihood(half_life: float) -> float:
        shares = [float(share) for share in 0.5 ** (np.diff(when) / half_life)]
        value = 0.0
        for first, *others in columns:
            before, known = [], first
            for share, batch in zip(shares, others, strict=True):
                before.append(known.scaled(share))
                known = before[-1] + batch
            fitted, empty = prior.fit(whole.family, known, whole.row_units)
            for past, batch in zip(before, others, strict=True):
                seen = np.flatnonzero(batch.count > 0)
                posterior = Slots.update(fitted, past.take(seen), empty).family
                value += float(posterior.log_marginal(batch.take(seen)).sum())
        return value

    return likelihood


def _likeliest(likelihood: Callable[[float], float], when: Array) -> tuple[float, float]:
    """Find the likeliest half-life, and its gain over an infinite one, which is preferred if it is as good."""
    span = float(when[-1] - when[0])
    if not span > 0:
        return np.inf, 0.0
    tried = np.geomspace(span / (len(when) - 1) / 4.0, 8.0 * span, 12)
    place = int(np.argmax([likelihood(half_life) for half_life in tried]))
    ends = np.log(tried[[max(place - 1, 0), min(place + 1, len(tried) - 1)]])
    found = minimize_scalar(lambda x: -likelihood(float(np.exp(x))), bounds=ends, method="bounded")
    gain = float(-found.fun - likelihood(np.inf))
    return (float(np.exp(found.x)), gain) if gain >= WORTH_IT else (np.inf, 0.0)
