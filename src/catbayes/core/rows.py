"""Read rows in memory: from a table, its target and its weights to statistics and the slot of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from catbayes.core.arrays import one_blas_thread
from catbayes.core.categories import Categories
from catbayes.core.combinations import Index
from catbayes.core.evidence import Candidate, ColumnEvidence, Evidence
from catbayes.core.selection import Selection
from catbayes.core.table import Table, called_columns
from catbayes.core.target import Target, check_weights, per_unit, read_target
from catbayes.core.validation import Array, Codes
from catbayes.effects.settings import Effects, RowEffects
from catbayes.errors import InputError, warn
from catbayes.interactions import screen
from catbayes.kinds import Kind

Read = tuple[Categories, Codes]
"""A column of the table: its categories, and the slot of each row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A table in memory: its evidence about the target, and the slots, target and weight of each row."""

    table: Table  # without the columns that are the target, the weight or the exposure
    evidence: Evidence
    y: np.ndarray[Any, Any]  # as it was given, but for exposure
    target: Target
    weight: Array | None
    slots: tuple[Codes, ...]  # of the rows, in each encoded column
    effects: RowEffects | None = None  # of the categories given everything else, if they were asked for


def read_rows(
    table: Table,
    selection: Selection,
    y: Any,
    weight: Any = None,
    exposure: Any = None,
    *,
    family: Any = "auto",
    classes: Any = None,
    whole: bool = True,
    effects: Effects | None = None,
) -> Rows:
    """Read a table in memory, with the values of the target, and of weight and exposure if there are any.

    `classes` are labels that are known already; of a `whole` table something must have weight, of a part not. With
    `effects`, those of the categories of single columns given everything else are learnt too.
    """
    names, n_rows = table.names, table.n_rows
    if callable(selection.columns):
        selection = replace(selection, columns=called_columns(selection.columns, table))
    specs = selection.specs(names, table.categorical())
    target = read_target(y, family, n_rows, classes, exposed=exposure is not None)
    weight = check_weights(weight, n_rows, whole)
    if whole and weight is not None and weight.mean() < 0.01:
        warn(
            f"sample_weight has a mean of {weight.mean():.2g}: a weight is a number of rows, so these carry next to no "
            "information. Scale them to a mean of 1 unless you mean that."
        )
    n_weighed = float(n_rows if weight is None else weight.sum())
    target, weight, units = per_unit(target, weight, exposure)
    y = y if exposure is None else target.values

    read = _read_columns(table, selection, sorted({part for spec in specs for part in spec.parts}), target, weight)
    used = None if weight is None or weight.all() else weight > 0.0  # rows without weight count as left out
    if used is not None:
        read = {position: categories.used(codes, used) for position, (categories, codes) in read.items()}
    numbers: dict[int, Array] = {}
    if selection.weigh or selection.is_auto or effects:
        others = {*range(len(names))} - {*read, *selection.dropped(names)}
        numbers = _numbers(table, sorted(others), slice(None) if used is None else used)
    informative, candidates = None, tuple[Candidate, ...]()
    if selection.weigh or selection.is_auto:
        places = [spec.position for spec in specs if not spec.is_interaction]
        codings = {place: (read[place][1], read[place][0].n_slots) for place in places}
        found = screen(codings, numbers, target, weight)
        informative = tuple(names[place] for place in sorted(found.informative))
        if selection.is_auto:
            specs += selection.combined(names, found.chosen)
            named = {tuple(names[part] for part in parts): gain for parts, gain in found.gains.items()}
            candidates = Candidate.ranked(named, len(found.chosen))

    columns, slots = [], []
    for spec in specs:
        sources, codes = zip(*(read[part] for part in spec.parts), strict=True)
        index, own = Index.of(sources, codes, used)
        statistics = target.tally(own, weight, index.n_slots)
        columns.append(ColumnEvidence(spec.position, spec.name, spec.parts, index, statistics))
        slots.append(own)
    fitted = None
    if effects:
        single = [column for column in columns if not column.is_interaction]  # they come before the interactions
        chosen = None if effects.slopes == "auto" else _slopes(effects, [one.name for one in single], names, numbers)
        coded = [(own, column.index.n_slots) for own, column in zip(slots, single, strict=False)]
        with one_blas_thread():
            fitted = RowEffects.fit(coded, numbers, target, weight, chosen, n_weighed)
        columns = [replace(column, effects=of_column) for column, of_column in zip_longest(columns, fitted.columns)]
    evidence = Evidence(
        columns=tuple(columns),
        family=target.family,
        classes=target.classes,
        inputs=tuple(names),
        squares=float(n_rows if weight is None else (weight**2).sum()),
        weighted=weight is not None,
        exposure=units,
        candidates=candidates,
        informative=informative,
    )
    return Rows(table, evidence, y, target, weight, tuple(slots), fitted)


def _read_columns(
    table: Table, selection: Selection, positions: list[int], target: Target, weight: Array | None
) -> dict[int, Read]:
    """Read the columns at some positions, each by its kind if it has one."""
    if not selection.kinds:
        return {position: Categories.of(table.column(position)) for position in positions}
    names, kinds, read = table.names, selection.kinds_at(table.names), {}
    for position in positions:
        column = table.column(position)
        kind = kinds.get(position)
        read[position] = Categories.of(column) if kind is None else kind.read(column, names[position], target, weight)
    for position, peers in selection.roles(names).items():
        for peer in peers:
            _require_apart(kinds[position], names[position], read[position], names[peer], read[peer], weight)
    return read


def _require_apart(kind: Kind, name: Any, own: Read, other: Any, its: Read, weight: Array | None) -> None:
    """Require that no row has one category in two roles: the other role would give the row's own target away."""
    joint, mine, theirs = own[0].union(its[0])
    slots = mine[own[1]]
    both = (slots == theirs[its[1]]) & (slots < joint.missing) & (True if weight is None else weight > 0.0)
    if both.any():
        raise InputError(
            f"{type(kind).__name__}: {int(both.sum())} rows hold one category in both {name!r} and {other!r}, such as "
            f"{joint.values[slots[both][0]]!r}, so that their own targets would leak from one role to the other. "
            "Leave those rows out, or make one of the two missing."
        )


def _slopes(effects: Effects, columns: list[Any], names: list[Any], numbers: Any) -> dict[int, list[int]]:
    """Positions of the numeric columns in which each encoded column has slopes, by the number of that column."""
    found: dict[int, list[int]] = {}
    for column, number in effects.pairs():
        if column not in columns:
            raise InputError(f"effects: {column!r} is not an encoded column; those are {columns!r}.")
        if number not in names or names.index(number) not in numbers:
            known = [names[position] for position in numbers]
            raise InputError(
                f"effects: {number!r} is no column of numbers that differ and are not encoded; those are {known!r}."
            )
        positions = found.setdefault(columns.index(column), [])
        if names.index(number) in positions:
            raise InputError(f"effects names {number!r} twice for {column!r}. Name each one once.")
        positions.append(names.index(number))
    return found


def _numbers(table: Table, positions: Sequence[int], used: Any) -> dict[int, Array]:
    """Read the numeric columns that vary over the rows that are used."""
    found = {position: table.numbers(position) for position in positions}
    return {position: values for position, values in found.items() if values is not None and _differ(values[used])}


def _differ(values: Array) -> bool:
    """Whether a column holds more than one number, or missing values and one number."""
    known = values[~np.isnan(values)]
    return known.size > 0 and (known.size < values.size or bool((known != known[0]).any()))
