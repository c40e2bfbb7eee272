"""Outputs of a column that are no functions of its posterior: effects, and the ids of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.core.validation import Array

__all__ = ["ExtraOutputs"]


@dataclass(frozen=True, slots=True)
class ExtraOutputs:
    """Outputs that follow those of the mapping: what they are called after the column, and values, (slot, output)."""

    names: tuple[str, ...]
    values: Array
    sd: Array  # standard errors; zero for category ids
    spread: Array  # standard deviation of the draws that a model trains on
    parts: int = 1  # of the target: effects come by part, one after the other

    @classmethod
    def fixed(cls, names: tuple[str, ...], values: Array) -> ExtraOutputs:
        """Take values without error."""
        return cls(names, values, np.zeros_like(values), np.zeros_like(values))

    def take(self, slots: Any) -> ExtraOutputs:
        """Pick slots."""
        return ExtraOutputs(self.names, self.values[slots], self.sd[slots], self.spread[slots], self.parts)

    def __add__(self, other: ExtraOutputs) -> ExtraOutputs:
        """Append other outputs."""
        parts = ((self.values, other.values), (self.sd, other.sd), (self.spread, other.spread))
        values, sd, spread = (np.concatenate(pair, axis=1) for pair in parts)
        return ExtraOutputs((*self.names, *other.names), values, sd, spread, max(self.parts, other.parts))

    def append_to(self, features: Array, slots: Any = slice(None)) -> Array:
        """Append the outputs of the rows' slots to features of rows, (…, row, output)."""
        values = self.values[slots]
        values = np.broadcast_to(values, (*features.shape[:-1], values.shape[-1]))
        return np.concatenate([features, values], axis=-1)

    def append_to_draws(self, draws: Array, slots: Any = slice(None), in_full: bool = False) -> Array:
        """Append outputs to draws, (draw, slot, output): uncertain ones are as high or low as the draw is.

        Both are about the same category: where it is drawn by a standard deviation too high, so is its effect.
        `in_full`, they vary by their standard errors, else by as much as in training.
        """
        found, own = self.append_to(draws, slots), (self.sd if in_full else self.spread)[slots]
        n_outputs = draws.shape[-1]
        if n_outputs and own.any():
            spread = draws.std(axis=0)
            height = np.divide(draws - draws.mean(axis=0), spread, out=np.zeros_like(draws), where=spread > 0)
            of_part = np.arange(own.shape[-1]) % (self.parts if self.parts == n_outputs else 1)
            found[..., n_outputs:] += height[..., of_part] * own
        return found
