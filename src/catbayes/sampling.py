"""Draws of θ: exact, or by the large-sample normal of Appendix B, from streams that nothing can disturb."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catbayes._keyed import KeyedRandom, Keys
from catbayes._random import chunks, stream
from catbayes._validation import Array
from catbayes.families import Family, Random

__all__ = ["NORMAL_TOLERANCE", "SAMPLERS", "draw", "draw_strata"]

SAMPLERS = ("auto", "exact", "normal")

NORMAL_TOLERANCE = 0.005
"""The sampler "auto" takes the normal where its Kolmogorov distance to the posterior is bounded by this."""

_EXACT, _NORMAL = 0, 1


def draw(
    entries: Callable[[slice], Family],
    through: Callable[[Array], Array],
    n_rows: int,
    *,
    seed: int,
    key: tuple[int, ...],
    sampler: str = "auto",
    temperature: float = 1.0,
    identity: Keys | None = None,
) -> Array:
    """Draw θ for every row and map it, chunk by chunk, (row, output).

    `entries(rows)` gives the distributions of some rows, and `through` is the mapping. Row n's draw depends on the
    seed, the key, n and its own distribution, and on the rows before it in its chunk, but not on how many follow. With
    `identity`, a key for each row, it depends on that and its distribution alone.
    """
    features: Array | None = None
    for number, rows in chunks(n_rows):
        family = entries(rows)
        own = None if identity is None else identity[rows]
        theta = _draw_chunk(family, sampler, _generators(seed, key, number, own))
        if temperature != 1.0:
            mean = family.mean()
            theta = mean + temperature * (theta - mean)
        mapped = through(theta)
        if features is None:
            features = np.empty((n_rows, mapped.shape[1]), order="F")
        features[rows] = mapped
    assert features is not None
    return features


def draw_strata(
    family: Family,
    through: Callable[[Array], Array],
    n_draws: int,
    *,
    seed: int,
    key: tuple[int, ...],
    temperature: float,
) -> Array:
    """Draw θ of every entry from each of `n_draws` strata of equal probability and map it, (draw, entry, output).

    A Latin hypercube: each of the uniforms that `transport` makes θ of visits every stratum once, in an order of its
    own, so that few draws cover the posterior evenly. All entries share the uniforms, so equal posteriors have equal
    draws.
    """
    random, mean = stream(seed, *key), family.mean()
    order = random.permuted(np.tile(np.arange(n_draws), (mean.shape[-1], 1)), axis=1).T
    uniform = (order + random.random(order.shape)) / n_draws
    return np.stack([through(mean + temperature * (family.transport(u) - mean)) for u in uniform])


def _generators(seed: int, key: tuple[int, ...], chunk: int, identity: Keys | None) -> Callable[[int, Any], Random]:
    """Make the generator for some entries of a chunk and one kind of draw: by their keys, or by the chunk's stream."""
    if identity is None:
        return lambda kind, some: stream(seed, *key, chunk, kind)
    return lambda kind, some: KeyedRandom(seed, (*key, kind), identity[some])


def _draw_chunk(family: Family, sampler: str, random: Callable[[int, Any], Random]) -> Array:
    if sampler == "exact":
        return family.sample(random(_EXACT, ...))
    if sampler == "normal":
        return family.sample_normal(random(_NORMAL, ...))
    rough = family.normal_error() > NORMAL_TOLERANCE
    if rough.all():
        return family.sample(random(_EXACT, ...))
    theta = family.sample_normal(random(_NORMAL, ...))
    if rough.any():
        few = np.flatnonzero(rough)
        theta[few] = family.take(few).sample(random(_EXACT, few))
    return theta
