"""Random streams: each is a function of its key, never of what ran before it."""

from __future__ import annotations

import numpy as np

ORDER, MODEL = range(2)
"""What the streams of a fold are for."""


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the generator that belongs to `seed` and `key`."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


def seed_of(fold: int, number: int) -> int:
    """Return the seed of an encoder and its model, the same for all methods."""
    return int(stream(fold, MODEL, number).integers(2**31))
