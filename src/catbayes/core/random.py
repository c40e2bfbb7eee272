"""The only maker of random generators: a stream is a function of its key, never of what ran before it.

A draw is identified by (seed, purpose, column, draw, chunk of rows). Threads and the order of calls cannot change it,
and no two things share a stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from hashlib import blake2b

import numpy as np

CHUNK_ROWS = 1 << 15
"""Rows that share a stream: part of what a draw is, so changing it changes every draw."""


class Purpose(IntEnum):
    """What a stream is for: draws to train on, to hand out, to predict with, and what else has to be random."""

    TRAIN = 0
    SAMPLE = 1
    EXPECTATION = 2
    FOLDS = 3
    PREDICT = 4
    ESTIMATOR = 5
    HELD_OUT = 6
    ORDER = 7
    LEAKAGE = 8
    SUBSET = 9
    SCREEN = 10
    CALIBRATION = 11
    NEXT_TARGET = 12
    EFFECTS = 13
    PART = 14


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the generator that belongs to `seed` and `key`."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


def number_of(text: bytes) -> int:
    """A number for the key of a stream that belongs to a text."""
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def chunks(n_rows: int) -> Iterator[tuple[int, slice]]:
    """Cut the rows into numbered chunks, always at the same places."""
    for number, start in enumerate(range(0, n_rows, CHUNK_ROWS)):
        yield number, slice(start, min(start + CHUNK_ROWS, n_rows))
