"""The only maker of random generators: a stream is a function of its key, never of what ran before it.

A draw is identified by (seed, purpose, column, draw, chunk of rows). Threads and the order of calls cannot change it,
and no two things share a stream.

Or it is keyed by the identity of the row, and then the same in any batch, engine, partition or attempt: Philox4x32-10
(Salmon et al., SC 2011) turns (row, attempt, component) into bits under a key made from the seed and what the draw is
for. Nothing is carried from one row to the next, so rows may come in any order and any number.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from hashlib import blake2b
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtri
from sklearn.utils import check_random_state

from catbayes.core.validation import Array
from catbayes.errors import InputError

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


def new_seed(random_state: Any) -> int:
    """A seed for draws, from whatever scikit-learn takes for one."""
    return new_seeds(random_state, 1)[0]


def new_seeds(random_state: Any, number: int) -> list[int]:
    """Several seeds; the first ones do not change when more are asked for."""
    try:
        random = check_random_state(random_state)
    except ValueError as error:
        raise InputError(
            f"random_state={random_state!r}: expected a whole number from 0 to 2**32 - 1, a numpy.random.RandomState "
            "or None. Of a Generator, draw a number: int(generator.integers(2**32))."
        ) from error
    return [int(seed) for seed in random.randint(np.iinfo(np.int32).max, size=number)]


def number_of(text: bytes) -> int:
    """A number of 64 bits that stands for a text, for the key of a stream."""
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def chunks(n_rows: int) -> Iterator[tuple[int, slice]]:
    """Cut the rows into numbered chunks, always at the same places."""
    for number, start in enumerate(range(0, n_rows, CHUNK_ROWS)):
        yield number, slice(start, min(start + CHUNK_ROWS, n_rows))


# ------------------------------------------------------------------------------------------------ keyed by row

Keys = npt.NDArray[np.uint64]

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_ROUNDS = 10
_LAST = 1.0 - 2.0**-53


def philox(counter: tuple[Any, Any, Any, Any], key: tuple[Any, Any]) -> tuple[Keys, Keys, Keys, Keys]:
    """Philox4x32-10: four words of 32 bits and a key of two, all held as unsigned 64-bit numbers."""
    a, b, c, d = counter
    left, right = key
    for _ in range(_ROUNDS):
        first, second = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (second >> _HALF) ^ b ^ left, second & _LOW, (first >> _HALF) ^ d ^ right, first & _LOW
        left, right = (left + _STEPS[0]) & _LOW, (right + _STEPS[1]) & _LOW
    return a, b, c, d


class KeyedRandom:
    """Stands in for a numpy Generator: entry i of whatever it draws belongs to row i, and to nothing else.

    Every call draws from a key of its own, so that two calls are independent.
    """

    def __init__(self, seed: int, key: tuple[int, ...], rows: Keys) -> None:
        self._seed = seed
        self._key = key
        self._rows = rows
        self._calls = 0

    def _next(self) -> tuple[int, ...]:
        self._calls += 1
        return (*self._key, self._calls)

    def spawn(self, n_children: int) -> list[KeyedRandom]:
        """Make generators for the same rows, independent of this one."""
        return [KeyedRandom(self._seed, self._next(), self._rows) for _ in range(n_children)]

    def _new_key(self) -> tuple[np.uint64, np.uint64]:
        left, right = np.random.SeedSequence(self._seed, spawn_key=self._next()).generate_state(2)
        return np.uint64(left), np.uint64(right)

    def _uniforms(self, key: Any, attempt: int, component: int, few: Any = slice(None)) -> tuple[Array, Array]:
        """Two uniforms in (0, 1), of 53 bits each, for every row or for a few."""
        rows = self._rows[few]
        a, b, c, d = philox((rows & _LOW, rows >> _HALF, np.uint64(attempt), np.uint64(component)), key)
        return _unit(a, b), _unit(c, d)

    def _by_component(self, shape: tuple[int, ...], draw: Any) -> Array:
        """Fill an array of rows, or of (row, component), one component at a time."""
        if len(shape) == 1:
            return np.asarray(draw(0))
        return np.stack([draw(component) for component in range(shape[1])], axis=1)

    def standard_normal(self, shape: tuple[int, ...]) -> Array:
        """N(0, 1), by the inverse of its distribution function."""
        key = self._new_key()
        return self._by_component(shape, lambda component: ndtri(self._uniforms(key, 0, component)[0]))

    def standard_exponential(self, shape: tuple[int, ...]) -> Array:
        """Exponential of mean 1."""
        key = self._new_key()
        return self._by_component(shape, lambda component: -np.log(self._uniforms(key, 0, component)[0]))

    def standard_gamma(self, shape: Array) -> Array:
        """Gamma of the shapes given, (row,) or (row, component), and scale 1."""
        return np.asarray(np.exp(self._log_gamma(shape)))

    def beta(self, alpha: Array, beta: Array) -> Array:
        """Beta, as the share of one gamma in two: by logarithms, so that tiny shapes cannot end in 0 / 0."""
        return np.asarray(expit(self._log_gamma(alpha) - self._log_gamma(beta)))

    def _log_gamma(self, shape: Array) -> Array:
        """Logarithm of a gamma variable; below shape 1 it is one of shape + 1, times U^(1 / shape)."""
        small = shape < 1.0
        # Both keys are taken whether or not a row needs the second: a row's draws must not depend on the other rows.
        key, below = self._new_key(), self.spawn(1)[0]

        def draw(component: int) -> Array:
            one = shape if shape.ndim == 1 else shape[:, component]
            return np.log(self._gamma(one + (one < 1.0), key, component))

        logarithm = self._by_component(shape.shape, draw)
        if small.any():
            logarithm -= np.where(small, below.standard_exponential(shape.shape) / shape, 0.0)
        return logarithm

    def _gamma(self, shape: Array, key: Any, component: int) -> Array:
        """Marsaglia and Tsang (2000), for shapes of 1 and more: rejected rows, a few in a hundred, try again."""
        drawn, centre = np.empty_like(shape), shape - 1.0 / 3.0
        left, attempt = np.arange(len(shape)), 0
        while len(left):
            normal, uniform = self._uniforms(key, attempt, component, left)
            normal, d = ndtri(normal), centre[left]
            cube = (1.0 + normal / np.sqrt(9.0 * d)) ** 3
            with np.errstate(invalid="ignore", divide="ignore"):
                accepted = np.log(uniform) < 0.5 * normal**2 + d * (1.0 - cube + np.log(cube))
            drawn[left] = d * cube
            left, attempt = left[~(accepted | np.isnan(d))], attempt + 1
        return drawn


def _unit(high: Keys, low: Keys) -> Array:
    """A uniform strictly between 0 and 1 from two words of 32 bits."""
    bits = (high << _HALF | low) >> np.uint64(11)
    unit = (bits.astype(np.float64) + 0.5) * 2.0**-53
    return np.minimum(unit, _LAST, out=unit)  # the half is lost in rounding above 1/2


def row_keys(row_id: Any, n_rows: int) -> Keys:
    """Turn what identifies the rows, an array or a series, into a key of 64 bits each.

    `row_id` holds whole numbers (which are their own keys) or text (which is hashed), or it is a pair of a file name,
    or one for each row, and the numbers of the rows in it: how a row of a file is known without an id.
    """
    if isinstance(row_id, tuple) and len(row_id) == 2:
        names, of_row = np.unique(np.asarray(row_id[0], dtype=object), return_inverse=True)
        return row_keys(row_id[1], n_rows) + _hashed(names.tolist())[of_row]
    ids = np.asarray(row_id, dtype=object if isinstance(row_id, list) else None)
    if ids.shape != (n_rows,):
        raise InputError(f"row_id has shape {ids.shape}: expected one id for each of {n_rows} rows.")
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64).view(np.uint64)  # the same bits, signed or not
    values: list[Any] = ids.tolist() if ids.dtype.kind in "OUT" else [None]
    if all(isinstance(value, str) for value in values):
        return _hashed(values)
    if all(isinstance(value, Integral) and not isinstance(value, bool) for value in values):
        return np.array([int(value) % (1 << 64) for value in values], dtype=np.uint64)
    raise InputError(
        "row_id must hold whole numbers or text, without missing values. Turn other ids, such as dates, into text."
    )


def _hashed(values: list[str]) -> Keys:
    return np.array([number_of(value.encode()) for value in values], dtype=np.uint64)
