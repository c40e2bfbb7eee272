"""Rows in memory to evidence: the one way from a table, its target and its weights to statistics and slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from catbayes.core.categories import Categories
from catbayes.core.combinations import Index
from catbayes.core.evidence import Candidate, ColumnEvidence, Evidence
from catbayes.core.exposure import per_unit
from catbayes.core.selection import ColumnSpec, Selection
from catbayes.core.table import Table, called_columns, no_column
from catbayes.core.target import Target, read_target
from catbayes.core.validation import Array, Codes, check_weights, refuse_masked, warn_of_small
from catbayes.effects.settings import Effects, RowEffects
from catbayes.errors import InputError
from catbayes.interactions import screen


@dataclass(frozen=True, slots=True)
class Rows:
    """A table in memory, read: what it says about the target, and the slots, target and weight of each row."""

    table: Table  # without the columns that are the target, the weight or the exposure
    evidence: Evidence
    y: np.ndarray[Any, Any]  # as it was given, but for exposure
    target: Target
    weight: Array | None
    codes: dict[int, Codes]  # slots of the rows in each column of the table that is needed
    effects: RowEffects | None = None  # of the categories given everything else, if they were asked for

    def slots(self, column: ColumnEvidence) -> Codes:
        """Slots of the rows; those of many interactions would fill the memory, so they are not kept."""
        return column.index.slots([self.codes[part] for part in column.parts])


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
    run: Any = map,
) -> Rows:
    """Read a table in memory; the target, weight and exposure may be given by name.

    `classes` are labels that are known already; of a `whole` table something must have weight, of a part not. With
    `effects`, those of the categories of single columns given everything else are learnt too.
    """
    table, y, weight, exposure = take_named(table, y, weight, exposure)
    if y is None:
        raise InputError("target: expected the name of a column of the table, or the values of the target.")
    names, n_rows = table.names, table.n_rows
    if callable(selection.columns):
        selection = replace(selection, columns=called_columns(selection.columns, table))
    specs = selection.specs(names, table.categorical())
    weight = check_weights(weight, n_rows, whole)
    if weight is not None and whole:
        warn_of_small(weight)
    y = np.asarray(y)
    target = read_target(y, family, n_rows, classes, exposed=exposure is not None)
    units, n_weighed = 1.0, None if weight is None else float(weight.sum())
    if exposure is None:
        target.family.check_unexposed()
    else:
        target, weight, units = per_unit(target, weight, exposure)
        y = target.values
    needed = sorted({part for spec in specs for part in spec.parts})
    kinds = selection.kinds_at(names)

    def read_column(position: int) -> tuple[Categories, Codes]:
        column, kind = table.column(position), kinds.get(position)
        if kind is None:
            return Categories.of(column)
        return kind.read(column, names[position], target, weight)

    read = dict(zip(needed, run(read_column, needed), strict=True))
    for spec in specs:
        for peer in selection.peers(spec, names):
            _require_apart(spec.name, read[spec.position], names[peer], read[peer], weight)
    speaking, candidates, numbers = None, tuple[Candidate, ...](), dict[int, Array]()
    if selection.is_weighed or effects:
        others = [position for position in range(table.n_columns) if position not in selection.dropped(names)]
        used = slice(None) if weight is None else weight > 0
        numbers = _numbers(table, [position for position in others if position not in needed], used)
    if selection.is_weighed and target.n_classes != 1:  # one class has nothing to say, though a part may hold no other
        places = [spec.position for spec in specs if not spec.is_interaction]
        codings = {position: (read[position][1], read[position][0].n_slots) for position in places}
        found = screen(codings, numbers, target, weight)
        speaking = tuple(names[position] for position in sorted(found.speaking))
        if selection.is_auto:
            specs += selection.combined(names, found.kept)
            named = {tuple(names[part] for part in parts): gain for parts, gain in found.gains.items()}
            candidates = Candidate.ranked(named, len(found.kept))

    def gather_column(spec: ColumnSpec) -> ColumnEvidence:
        sources, codes = zip(*(read[part] for part in spec.parts), strict=True)
        index, slots = Index.of(sources, codes)
        statistics = target.gather(slots, weight, index.n_slots)
        return ColumnEvidence(spec.position, spec.name, spec.parts, index, statistics)

    columns = tuple(run(gather_column, specs))
    codes = {position: slots for position, (_, slots) in read.items()}
    fitted = None
    if effects:
        single = [column for column in columns if not column.is_interaction]  # they stand before the interactions
        rows = [column.index.slots([codes[part] for part in column.parts]) for column in single]
        sizes = [column.index.n_slots for column in single]
        slopes = (
            None if effects.slopes == "auto" else _slopes(effects, [column.name for column in single], names, numbers)
        )
        coded = list(zip(rows, sizes, strict=True))
        fitted = RowEffects.fit(coded, numbers, target, weight, slopes, n_rows if n_weighed is None else n_weighed)
        columns = tuple(replace(column, effects=table) for column, table in zip_longest(columns, fitted.columns))
    evidence = Evidence(
        columns=columns,
        family=target.family,
        classes=target.classes,
        inputs=tuple(names),
        squares=float(n_rows if weight is None else (weight**2).sum()),
        weighted=weight is not None,
        exposure=units,
        candidates=candidates,
        speaking=speaking,
    )
    return Rows(table, evidence, y, target, weight, codes, fitted)


def _require_apart(
    name: Any, own: tuple[Categories, Codes], other: Any, its: tuple[Categories, Codes], weight: Array | None
) -> None:
    """Require that no row holds one category in two roles: what one says of it would be the row's own target."""
    joint, mine, theirs = own[0].union(its[0])
    slots = mine[own[1]]
    both = (slots == theirs[its[1]]) & (slots < joint.missing) & (True if weight is None else weight > 0.0)
    if both.any():
        raise InputError(
            f"Shared: {int(both.sum())} rows hold one category in both {name!r} and {other!r}, such as "
            f"{joint.values[slots[both][0]]!r}, so that their own targets would be in what one role says of the other. "
            "Leave those rows out, or make one of the two missing."
        )


def _slopes(effects: Effects, columns: list[Any], names: list[Any], numbers: Any) -> dict[int, list[int]]:
    """Positions of the numbers that the categories of each column have slopes of, by the number of the column."""
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
    """The columns that hold numbers, which differ in the rows that are used."""
    found = {position: _as_numbers(table, position) for position in positions}
    return {p: values for p, values in found.items() if values is not None and _differ(values[used])}


def _differ(values: Array) -> bool:
    """Whether a column holds more than one number, or gaps beside one."""
    known = values[~np.isnan(values)]
    return known.size > 0 and (known.size < values.size or bool((known != known[0]).any()))


def _as_numbers(table: Table, position: int) -> Array | None:
    """A column as numbers, if it holds some: of an array of objects, each column by itself."""
    values = table.values(position)
    if not table.numeric([position]):
        if table.frame is not None or any(isinstance(cell, str | bool | np.bool_) for cell in values):
            return None
        try:
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            return None
    return np.asarray(values, dtype=np.float64)


def take_named(table: Table, *given: Any) -> tuple[Any, ...]:
    """Take the target, the weight and the exposure out of a table in memory, where they are given by name."""
    for what, values in zip(("y", "sample_weight", "exposure"), given, strict=False):
        refuse_masked(what, values)
    named = list(dict.fromkeys(name for name in given if isinstance(name, str)))
    for name in named:
        if table.frame is None or name not in table.names:
            raise no_column(name, table.names)
    values = [table.values(table.names.index(one)) if isinstance(one, str) else one for one in given]
    if named:
        assert table.frame is not None
        table = Table.of(table.frame.drop(named).to_native())
    return table, *values
