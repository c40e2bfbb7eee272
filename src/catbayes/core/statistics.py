"""Statistics of the target by category, which can be merged.

A statistic is a value with `+`, `-` and a zero, so batches, files, shards, left-out folds and forgetting are all
folds over it. `Tally` serves class targets, `Moments` numeric ones. Sums of squares are never stored: with a target
near 1e8 they give a negative variance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from catbayes.core.arrays import row_sums
from catbayes.core.validation import Array, Codes

__all__ = ["Moments", "Statistics", "Tally"]

MIN_CHUNK = 1 << 18
ROUNDING = 1e-14


def _chunks(n_rows: int, n_slots: int) -> Iterator[slice]:
    """Cut rows so that temporary memory is bounded, and no chunk costs more in slots than in rows."""
    step = max(MIN_CHUNK, n_slots)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _sums(codes: Codes, values: Array | None, n_slots: int) -> Array:
    """Sum of the values of each code; without values, how often it occurs."""
    return np.bincount(codes, values, minlength=n_slots).astype(np.float64, copy=False)


def _sums_before(codes: Codes, rank: Codes) -> Callable[[Array], Array]:
    """Make a function that sums, for each row, values of the rows of its category with a lower rank.

    It takes one sort and a running total, and is exactly zero where there are no such rows. Values are divided by the
    scale of their category, a power of two, so that large values of another category cost no digits.
    """
    order = np.lexsort((rank, codes))
    code, when = codes[order], rank[order]
    place = np.arange(len(order))
    new_code = np.append(True, code[1:] != code[:-1])
    new_rank = new_code | np.append(True, when[1:] != when[:-1])
    first, own = np.empty_like(place), np.empty_like(place)  # where the category of each row begins, and its rank
    starts = np.flatnonzero(new_code)
    first[order] = np.maximum.accumulate(np.where(new_code, place, 0))
    own[order] = np.maximum.accumulate(np.where(new_rank, place, 0))

    def sums(values: Array) -> Array:
        sizes = np.abs(values[order])
        largest = np.maximum.reduceat(sizes, starts) if len(starts) else sizes
        scale = np.ldexp(1.0, np.frexp(largest)[1])[np.cumsum(new_code) - 1]
        running = np.append(0.0, np.cumsum(values[order] / scale))
        found = running[own] - running[first]
        found[order] *= scale
        return np.asarray(found)

    return sums


@dataclass(frozen=True, slots=True)
class Tally:
    """Weight of each class in each category, (category, class)."""

    weight: Array
    count: Array = field(init=False, repr=False, compare=False)  # total weight of each category

    def __post_init__(self) -> None:
        """Sum over the classes, once."""
        object.__setattr__(self, "count", row_sums(self.weight))

    @classmethod
    def zero(cls, n_slots: int, n_classes: int) -> Tally:
        """No observations in any category: the identity of `+`."""
        return cls(np.zeros((n_slots, n_classes)))

    @classmethod
    def from_codes(
        cls,
        codes: Codes,
        target: npt.NDArray[np.intp],
        weight: Array | None = None,
        *,
        n_slots: int,
        n_classes: int,
    ) -> Tally:
        """Count class codes by category code."""
        total = np.zeros(n_slots * n_classes)
        for rows in _chunks(len(codes), total.size):
            cell = codes[rows].astype(np.intp) * n_classes + target[rows]
            total += _sums(cell, None if weight is None else weight[rows], total.size)
        return cls(total.reshape(n_slots, n_classes))

    @classmethod
    def before(
        cls, codes: Codes, rank: Codes, target: npt.NDArray[np.intp], weight: Array | None = None, *, n_classes: int
    ) -> Tally:
        """Count, for each row, the rows of its category that have a lower rank."""
        sums, one = _sums_before(codes, rank), np.ones(len(codes)) if weight is None else weight
        return cls(np.stack([sums(np.where(target == label, one, 0.0)) for label in range(n_classes)], axis=1))

    @property
    def mean(self) -> Array:
        """Share of each class in each category, (category, class); NaN where nothing was counted."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.weight / self.count[..., None])

    def varies(self) -> bool:
        """Tell whether anything was counted."""
        return bool(self.weight.any())

    def total(self) -> Tally:
        """All categories as one."""
        return Tally(self.weight.sum(axis=0, keepdims=True))

    def without(self, slots: int | Codes) -> Tally:
        """Drop the rows of one category, or of several."""
        weight = self.weight.copy()
        weight[slots] = 0.0
        return Tally(weight)

    def place(self, slots: Codes, n_slots: int) -> Tally:
        """Move category i to slot `slots[i]` of `n_slots`; several may share one."""
        return Tally(np.stack([_sums(slots, column, n_slots) for column in self.weight.T], axis=1))

    def take(self, slots: Codes) -> Tally:
        """Pick some categories."""
        return Tally(self.weight.take(slots, axis=0))

    def widen(self, classes: Codes, n_classes: int) -> Tally:
        """Move class c to place `classes[c]` of `n_classes`."""
        weight = np.zeros((len(self.weight), n_classes))
        weight[:, classes] = self.weight
        return Tally(weight)

    def scaled(self, share: float | Array) -> Tally:
        """Let every row count for `share` of a row; a share for all, or for each category."""
        return Tally((self.weight.T * share).T)

    def per(self, units: float) -> Tally:
        """Classes have no units of exposure."""
        return self

    def __add__(self, other: Tally) -> Tally:
        """Merge two disjoint samples."""
        return Tally(self.weight + other.weight)

    def holds(self, other: Tally) -> npt.NDArray[np.bool_]:
        """Tell for each category whether the other sample can have been part of this one."""
        return np.asarray((other.weight <= self.weight * (1.0 + 1e-9)).all(axis=-1))

    def __sub__(self, other: Tally) -> Tally:
        """Take a sample out again; what rounding leaves of a weight is nothing."""
        left = self.weight - other.weight
        return Tally(np.where(left > 1e-12 * self.weight, left, 0.0))


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean and centred sum of squares of the target, one entry per category."""

    count: Array
    mean: Array
    m2: Array

    @classmethod
    def zero(cls, n_slots: int) -> Moments:
        """No observations in any category: the identity of `+`."""
        return cls(np.zeros(n_slots), np.zeros(n_slots), np.zeros(n_slots))

    @classmethod
    def from_codes(cls, codes: Codes, target: Array, weight: Array | None = None, *, n_slots: int) -> Moments:
        """Describe the target by category code: two passes over each chunk, then a merge."""
        moments = cls.zero(n_slots)
        for rows in _chunks(len(codes), n_slots):
            moments = moments + cls._of_chunk(
                codes[rows].astype(np.intp), target[rows], None if weight is None else weight[rows], n_slots
            )
        return moments

    @classmethod
    def _of_chunk(cls, codes: Codes, target: Array, weight: Array | None, n_slots: int) -> Moments:
        def total(values: Array) -> Array:
            return _sums(codes, values if weight is None else weight * values, n_slots)

        count = _sums(codes, weight, n_slots)
        divisor = np.where(count > 0, count, 1.0)
        mean = total(target) / divisor
        rest = target - mean[codes]
        # The second pass corrects what rounding left in the mean of a target far from zero.
        slip = total(rest) / divisor
        m2 = total(rest * rest) - count * slip**2
        return cls(count, mean + slip, np.maximum(m2, 0.0))

    @classmethod
    def before(cls, codes: Codes, rank: Codes, target: Array, weight: Array | None = None, *, n_slots: int) -> Moments:
        """Describe, for each row, the rows of its category that have a lower rank.

        Sums are of distances from the mean of the category, so that nothing cancels in a target far from zero.
        """
        sums, one = _sums_before(codes, rank), np.ones(len(codes)) if weight is None else weight
        centre = cls.from_codes(codes, target, weight, n_slots=n_slots).mean[codes]
        rest = target - centre
        count, total = sums(one), sums(one * rest)
        mean = np.divide(total, count, out=np.zeros_like(count), where=count > 0)
        m2 = np.maximum(sums(one * rest * rest) - total * mean, 0.0)
        return cls(count, np.where(count > 0, centre + mean, 0.0), m2)

    def varies(self) -> bool:
        """Tell whether the target takes more than one value."""
        return bool(self.total().m2[0] > 0)

    def total(self) -> Moments:
        """All categories as one."""
        count = self.count.sum(keepdims=True)
        share = self.count / np.where(count > 0, count, 1.0)
        centre = self.mean[np.argmax(self.count)]  # near the answer, so that nothing cancels
        mean = centre + (share * (self.mean - centre)).sum(keepdims=True)
        m2 = (self.m2 + self.count * (self.mean - mean) ** 2).sum(keepdims=True)
        return Moments(count, mean, m2)

    def without(self, slots: int | Codes) -> Moments:
        """Drop the rows of one category, or of several."""
        keep = np.ones(len(self.count))
        keep[slots] = 0.0
        return Moments(self.count * keep, self.mean * keep, self.m2 * keep)

    def place(self, slots: Codes, n_slots: int) -> Moments:
        """Move category i to slot `slots[i]` of `n_slots`; several may share one."""
        count = _sums(slots, self.count, n_slots)
        divisor = np.where(count > 0, count, 1.0)
        mean = _sums(slots, self.count / divisor[slots] * self.mean, n_slots)
        m2 = _sums(slots, self.m2 + self.count * (self.mean - mean[slots]) ** 2, n_slots)
        return Moments(count, mean, m2)

    def take(self, slots: Codes) -> Moments:
        """Pick some categories."""
        return Moments(self.count[slots], self.mean[slots], self.m2[slots])

    def scaled(self, share: float | Array) -> Moments:
        """Let every row count for `share` of a row; a share for all, or for each category."""
        return Moments(self.count * share, self.mean, self.m2 * share)

    def per(self, units: float) -> Moments:
        """Rates in so many units of exposure, of which there are fewer then."""
        return Moments(self.count / units, self.mean * units, self.m2 * units)

    def __add__(self, other: Moments) -> Moments:
        """Merge two disjoint samples; the empty sample is the identity."""
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)
        gap = other.mean - self.mean
        return Moments(count, self.mean + share * gap, self.m2 + other.m2 + self.count * share * gap**2)

    def holds(self, other: Moments) -> npt.NDArray[np.bool_]:
        """Tell for each category whether the other sample can have been part of this one."""
        whole, rounding = self - other + other, 1e-6 * self.m2 + 1e-12 * self.count * self.mean**2
        shift = self.count * (whole.mean - self.mean) ** 2  # where nothing is left, `whole` is the other sample
        same = (np.abs(whole.m2 - self.m2) <= rounding) & (shift <= rounding)
        return np.asarray((other.count <= self.count * (1.0 + 1e-9)) & (same | (other.count == 0)))

    def __sub__(self, other: Moments) -> Moments:
        """Take a sample out again; where nothing is left the entry is exactly zero."""
        count = self.count - other.count
        # Counts are sums of weights: what is left of them after subtraction may be rounding alone.
        left = count > 1e-12 * self.count
        share = np.divide(other.count, count, out=np.zeros_like(count), where=left)
        step = share * (self.mean - other.mean)
        mean = np.where(left & (np.abs(self.mean + step) > ROUNDING * np.abs(step)), self.mean + step, 0.0)
        lost = other.count * np.divide(self.count, count, out=np.zeros_like(count), where=left)
        m2 = self.m2 - other.m2 - lost * (self.mean - other.mean) ** 2
        # What rounding leaves of a mean and of squares is nothing too: the next subtraction would be compared with it.
        return Moments(np.where(left, count, 0.0), mean, np.where(left & (m2 > ROUNDING * self.m2), m2, 0.0))


Statistics = Tally | Moments
"""Either of the two."""
