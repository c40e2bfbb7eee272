"""Effects as extra outputs: what a category adds where everything else is equal.

A posterior is about the target of a category, as if there were no other column. Of two shops with the same sales one
may lie in the dear part of the town: what it adds by itself is its effect. Models see both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catbayes.core.combinations import Index
from catbayes.core.evidence import ColumnEvidence
from catbayes.core.extra_outputs import ExtraOutputs
from catbayes.effects.settings import EffectTable
from catbayes.errors import InputError

EFFECT, SLOPE = "effect", "slope"


def effect_outputs(
    column: ColumnEvidence,
    index: Index,
    labels: Sequence[Any] | None,
    temperature: float | None,
    inputs: Sequence[Any],
) -> ExtraOutputs:
    """The effects of every slot; the index may have slots above those that were counted."""
    if column.effects is None:
        raise InputError(
            "effects=True: effects given everything else are learnt from all rows at once, in memory, and not from "
            "what was gathered, merged, taken out or forgotten. Fit on the table, or use effects=False."
        )
    effects, slots = column.effects, np.full(index.n_slots, column.index.unseen)
    moved = index.moved(column.index)  # a table of parents may name categories between those that were seen
    slots[moved] = np.arange(len(moved))
    kinds = effect_names(effects, inputs)
    parts = [None] if effects.n_parts == 1 else list(labels or range(effects.n_parts))
    names = tuple(kind if part is None else f"{kind}_{part}" for kind in kinds for part in parts)
    arrays = (effects.mean[slots], effects.sd[slots], effects.spread(temperature)[slots])
    return ExtraOutputs(names, *arrays, parts=effects.n_parts)


def effect_names(effects: EffectTable, inputs: Sequence[Any]) -> list[str]:
    """What effects and slopes are called, whatever the part of the target."""
    return [EFFECT, *(f"{SLOPE}_{inputs[slope.position]}" for slope in effects.slopes)]
