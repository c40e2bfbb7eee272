"""Outputs of a column that are no functions of its posterior: effects, and the ids of categories.

A posterior describes a category by the target alone. Two categories of the same mean, eight in the morning and five in
the afternoon, are then the same to a model, though they differ together with other columns: the ids distinguish them.
Of two shops with the same sales, one may lie in the expensive part of the town: what it adds by itself is its effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.core.combinations import Index
from catbayes.core.config import Settings
from catbayes.core.evidence import ColumnEvidence, Evidence
from catbayes.core.validation import Array
from catbayes.effects.settings import EffectTable
from catbayes.errors import InputError

__all__ = ["ExtraOutputs", "effect_names", "extra_outputs", "gives_categories", "shows_many_categories"]

FEW = 30
"""Categories of a column that are few, so that each of them has many rows."""


@dataclass(frozen=True, slots=True)
class ExtraOutputs:
    """Outputs that follow those of the mapping: what they are called after the column, and values, (slot, output)."""

    names: tuple[str, ...]
    values: Array
    sd: Array  # standard errors; zero for category ids
    spread: Array  # standard deviation of the draws that a model trains on
    parts: int = 1  # of the target: effects come by part, one after the other

    def take(self, slots: Any) -> ExtraOutputs:
        """Pick slots."""
        return ExtraOutputs(self.names, self.values[slots], self.sd[slots], self.spread[slots], self.parts)

    def append_to(self, features: Array, slots: Any = slice(None)) -> Array:
        """Append the outputs of the rows' slots to features of rows, (…, row, output)."""
        values = self.values[slots]
        values = np.broadcast_to(values, (*features.shape[:-1], values.shape[-1]))
        return np.concatenate([features, values], axis=-1)

    def append_to_draws(self, draws: Array, slots: Any, in_full: bool, random: np.random.Generator) -> Array:
        """Append outputs to draws, (draw, slot, output).

        Mean and effect of a category have errors of the same sign, so an effect is drawn as many standard deviations
        too high as the mean. The error of a slope is independent of both, because slopes are about the mean of their
        number. `in_full`, effects vary by their standard errors, else by as much as in training.
        """
        found, own = self.append_to(draws, slots), (self.sd if in_full else self.spread)[slots]
        n_outputs = draws.shape[-1]
        if n_outputs and own.any():
            spread = draws.std(axis=0)
            height = np.divide(draws - draws.mean(axis=0), spread, out=np.zeros_like(draws), where=spread > 0)
            for first in range(0, own.shape[-1], self.parts):  # effects, then the slopes of each number
                parts = own[..., first : first + self.parts]
                of_part = np.arange(parts.shape[-1]) if self.parts == n_outputs else np.zeros(parts.shape[-1], int)
                own_height = height if first == 0 else height[random.permutation(len(height))]
                place = n_outputs + first
                found[..., place : place + parts.shape[-1]] += own_height[..., of_part] * parts
        return found


def extra_outputs(
    column: ColumnEvidence, index: Index, evidence: Evidence, settings: Settings, labels: Sequence[Any] | None
) -> ExtraOutputs | None:
    """Make effects, then category ids, as far as the settings ask for them; the index may have more slots than rows."""
    if column.is_interaction:
        return None
    effects = _effects(column, index, evidence, settings.temperature, labels) if settings.effects else None
    if not gives_categories(column, evidence, settings):
        return effects
    names, ids = _categories(column, index, settings)
    zeros = np.zeros_like(ids)
    if effects is None:
        return ExtraOutputs(names, ids, zeros, zeros)
    pairs = ((effects.values, ids), (effects.sd, zeros), (effects.spread, zeros))
    values, sd, spread = map(np.hstack, pairs)
    return ExtraOutputs((*effects.names, *names), values, sd, spread, effects.parts)


def gives_categories(column: ColumnEvidence, evidence: Evidence, settings: Settings) -> bool:
    """Tell whether a column gives its categories: an informative one with at most `max_categories`.

    It is informative by itself or together with another column of the table; the categories of others would only add
    noise. `gather` does not find out which columns are informative: then all of them are taken.
    """
    too_many = settings.max_categories is not None and column.index.missing > settings.max_categories
    if settings.keep_categories is None or column.is_interaction or too_many:
        return False
    return evidence.informative is None or column.name in evidence.informative


def shows_many_categories(column: ColumnEvidence, evidence: Evidence, settings: Settings) -> bool:
    """Tell whether the outputs show which one of many categories a row has, of a column or within a pair."""
    if settings.keep_categories is None or column.index.missing <= FEW:
        return False
    parts = (seen for seen in evidence.columns if seen.position in column.parts)
    return any(part.index.missing > FEW and gives_categories(part, evidence, settings) for part in parts)


def _categories(column: ColumnEvidence, index: Index, settings: Settings) -> tuple[tuple[str, ...], Array]:
    """Names and values of the ids of every slot."""
    slots = np.minimum(np.arange(index.n_slots), index.unseen)[:, None]
    if settings.keep_categories == "codes":
        return ("code",), slots.astype(np.float64)
    labels = [f"is_{label}" for label in index.labels()[: index.missing]]
    if column.statistics.count[column.index.missing] > 0:
        labels.append("is_missing")
    return tuple(labels), (slots == np.arange(len(labels))).astype(np.float64)


def _effects(
    column: ColumnEvidence, index: Index, evidence: Evidence, temperature: float | None, labels: Sequence[Any] | None
) -> ExtraOutputs:
    """The effects of every slot."""
    if column.effects is None:
        raise InputError(
            "effects=True: effects given everything else are learnt from all rows at once, in memory, and not from "
            "what was gathered, merged, taken out or forgotten. Fit on the table, or use effects=False."
        )
    effects, slots = column.effects, np.full(index.n_slots, column.index.unseen)
    moved = index.moved(column.index)  # a table of parents may name categories between those that were seen
    slots[moved] = np.arange(len(moved))
    kinds = effect_names(effects, evidence.inputs)
    parts = [None] if effects.n_parts == 1 else list(labels or range(effects.n_parts))
    names = tuple(kind if part is None else f"{kind}_{part}" for kind in kinds for part in parts)
    arrays = (effects.mean[slots], effects.sd[slots], effects.spread(temperature)[slots])
    return ExtraOutputs(names, *arrays, parts=effects.n_parts)


def effect_names(effects: EffectTable, inputs: Sequence[Any]) -> list[str]:
    """What effects and slopes are called, whatever the part of the target."""
    return ["effect", *(f"slope_{inputs[slope.position]}" for slope in effects.slopes)]
