"""How each encoded column is looked up where there is no Python: what the writer of any format reads."""

from __future__ import annotations

import numpy as np

from catbayes.core.column import EncodedColumn
from catbayes.core.fitted import Encoding, Settings
from catbayes.export.tables import Level, Lookup
from catbayes.io.plan import Plan

SILENT = ("error", "nan")
"""Policies under which a missing value has no answer."""


def lookups(encoding: Encoding) -> list[Lookup]:
    """Say how the expectations of each column are looked up."""
    plan = Plan.of(encoding)
    plan.check(list(plan.inputs))
    plan.require_listed()
    return [_lookup(column, plan.inputs, plan.names(column), encoding.settings) for column in encoding.columns]


def _lookup(column: EncodedColumn, inputs: tuple[str, ...], outputs: list[str], settings: Settings) -> Lookup:
    """A level for the categories, and one for those above them in a hierarchy.

    A missing value is a key like any other, unless it is refused or goes by the prior. A new combination of known
    categories is nothing to refuse, nor is a new child of a known parent, so both always have an answer.
    """
    index, expectation = column.posteriors.index, column.expectation
    names = [inputs[part] for part in column.parts]
    values = [(*source.values, None) for source in index.sources]
    levels, otherwise = [], expectation[index.unseen]
    for cells, slots in index.tables():
        if settings.missing != "category":
            full = ~index.incomplete()[slots]
            cells, slots = cells[full], slots[full]
        parts = cells.T.tolist()
        keys = list(zip(*(map(of.__getitem__, part) for of, part in zip(values, parts, strict=False)), strict=True))
        if len(names) == 1 and settings.missing not in SILENT:
            keys.append((None,))
            slots = np.append(slots, index.missing if settings.missing == "category" else index.unseen)
        levels.append(Level(tuple(names[: len(parts)]), keys, expectation[slots]))
    if settings.unseen == "nan" or (settings.unseen == "error" and len(names) == 1):
        otherwise = np.full_like(otherwise, np.nan)
    required = tuple(names) if settings.missing in SILENT else ()
    return Lookup(f"{column.label}_encoded", tuple(outputs), tuple(levels), otherwise, required)
