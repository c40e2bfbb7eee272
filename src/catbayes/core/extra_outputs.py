"""What stands behind the draws of a column: effects, which are drawn with them, and categories, which are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.core.validation import Array

__all__ = ["Beside"]


@dataclass(frozen=True, slots=True)
class Beside:
    """Outputs behind those of the mapping: what they are called after the column, and their values, (slot, output)."""

    names: tuple[str, ...]
    values: Array
    sd: Array  # how firmly the values are known: 0 where they are as they are
    spread: Array  # how far values lie from these in training
    parts: int = 1  # of the target: effects come by part, one after the other

    @classmethod
    def sure(cls, names: tuple[str, ...], values: Array) -> Beside:
        """Values that nobody doubts."""
        return cls(names, values, np.zeros_like(values), np.zeros_like(values))

    @classmethod
    def nothing(cls, n_slots: int) -> Beside:
        """Draws alone."""
        return cls.sure((), np.empty((n_slots, 0)))

    def take(self, slots: Any) -> Beside:
        """Those of some slots."""
        return Beside(self.names, self.values[slots], self.sd[slots], self.spread[slots], self.parts)

    def and_then(self, other: Beside) -> Beside:
        """More of them."""
        parts = ((self.values, other.values), (self.sd, other.sd), (self.spread, other.spread))
        values, sd, spread = (np.concatenate(pair, axis=1) for pair in parts)
        return Beside((*self.names, *other.names), values, sd, spread, max(self.parts, other.parts))

    def behind(self, block: Array, slots: Any = slice(None)) -> Array:
        """Outputs of rows, (…, row, output), and behind them what stands beside those of their slots."""
        if not self.names:
            return block
        values = self.values[slots]
        return np.concatenate([block, np.broadcast_to(values, (*block.shape[:-1], values.shape[-1]))], axis=-1)

    def moving(self, draws: Array, slots: Any = slice(None), in_full: bool = False) -> Array:
        """The same for draws, (draw, slot, output), with values that are in doubt as high or low as the draw is.

        Both are about the same category: where it is drawn by a standard deviation too high, so is its effect.
        `in_full` is all the doubt that there is, else as much as training had.
        """
        found, own = self.behind(draws, slots), (self.sd if in_full else self.spread)[slots]
        n_outputs = draws.shape[-1]
        if n_outputs and own.any():
            spread = draws.std(axis=0)
            height = np.divide(draws - draws.mean(axis=0), spread, out=np.zeros_like(draws), where=spread > 0)
            of_part = np.arange(own.shape[-1]) % (self.parts if self.parts == n_outputs else 1)
            found[..., n_outputs:] += height[..., of_part] * own
        return found
