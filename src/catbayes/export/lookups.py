"""The lookup tables of a fitted encoder: what is looked up for a row, for the writers of SQL and ONNX."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import Any

import numpy as np

from catbayes.core.config import Settings
from catbayes.core.fitted import Fitted
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.io.plan import Plan


class Kind(Enum):
    """Type of the values of an input column."""

    TEXT = "text"
    INTEGER = "whole numbers"
    NUMBER = "numbers"
    BOOLEAN = "booleans"
    DATE = "dates"
    TIME = "times without a zone"


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """Keys that have values in the same columns. A missing value equals nothing in SQL, so it is not joined on."""

    number: int
    columns: list[str]  # without those that are missing in all of these keys
    keys: list[tuple[Hashable, ...]]
    outputs: Array  # (key, output)

    def record(self, outputs: Sequence[str]) -> dict[str, Any]:
        """Values by column, then the outputs by their names."""
        values = dict(zip(self.columns, map(list, zip(*self.keys, strict=True)), strict=True))
        return {**values, **dict(zip(outputs, self.outputs.T.copy(), strict=True))}


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Outputs by key: a value for each of `columns`, None where it is missing."""

    columns: list[str]
    keys: list[tuple[Hashable, ...]]
    outputs: Array  # (key, output), all finite
    tables: list[KeyTable]  # the same keys, but the one without any value

    @classmethod
    def of(cls, columns: list[str], keys: list[Any], outputs: Array, numbers: Iterator[int]) -> Level:
        """Group the keys by the columns in which they have values."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for row, key in enumerate(keys):
            groups.setdefault(tuple(i for i, value in enumerate(key) if value is not None), []).append(row)
        tables = []
        for present, rows in groups.items():
            if present:
                some = [tuple(keys[row][i] for i in present) for row in rows]
                tables.append(KeyTable(next(numbers), [columns[i] for i in present], some, outputs[rows]))
        return cls(columns, keys, outputs, tables)

    def part(self, position: int) -> list[Hashable]:
        """The values of one column, in the order of the keys."""
        return [key[position] for key in self.keys]

    @property
    def of_missing(self) -> Array | None:
        """Outputs of the key without any value; None if there is none."""
        row = next((row for row, key in enumerate(self.keys) if set(key) == {None}), None)
        return None if row is None else self.outputs[row]


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """How a row gets the outputs of one encoded column: the first level that has the row's key answers.

    A single column has one level with one column; a combination has one level with several; a hierarchy has a level for
    the child, then one for the parent. `otherwise` answers for other keys; NaN is no answer. A row without a value in a
    `required` column has no answer.
    """

    name: str
    outputs: list[str]
    levels: list[Level]
    otherwise: Array  # (output,)
    required: list[str]


def lookups(encoding: Fitted) -> list[Lookup]:
    """Make the lookup of each encoded column."""
    plan = Plan.of(encoding)
    plan.check(list(plan.inputs))
    plan.require_listed()
    numbers = count()
    return [_lookup(column, plan.inputs, plan.names(column), encoding.settings, numbers) for column in plan.columns]


def _lookup(
    column: Any, inputs: Sequence[str], outputs: list[str], settings: Settings, numbers: Iterator[int]
) -> Lookup:
    """Make a level for the categories, and one for their parents in a hierarchy.

    New combinations of known categories are encoded under any policy, as are new children of known parents.
    """
    index, expectation = column.index, column.expectation
    names = [inputs[part] for part in column.parts]
    values = [(*source.values, None) for source in index.sources]
    levels: list[Level] = []
    for cells, slots in reversed(list(index.tables())):
        if settings.missing != "category":
            full = ~index.incomplete()[slots]
            cells, slots = cells[full], slots[full]
        parts = [[known[i] for i in part] for known, part in zip(values, cells.T.tolist(), strict=False)]
        keys: list[Any] = list(zip(*parts, strict=True))
        if len(names) == 1 and settings.missing in ("category", "prior"):
            keys.append((None,))
            slots = np.append(slots, index.missing if settings.missing == "category" else index.unseen)
        levels.insert(0, Level.of(names[: len(parts)], keys, expectation[slots], numbers))
    otherwise = expectation[index.unseen]
    if settings.unseen == "nan" or (settings.unseen == "error" and len(names) == 1):
        otherwise = np.full_like(otherwise, np.nan)
    required = names if settings.missing in ("error", "nan") else []
    return Lookup(f"{column.label}_encoded", outputs, levels, otherwise, required)


def lookup_frames(encoding: Fitted, prefix: str) -> dict[str, dict[str, Any]]:
    """Make the records of all key tables, by their names: the prefix and a number."""
    every = ((one, table) for one in lookups(encoding) for level in one.levels for table in level.tables)
    named = sorted(every, key=lambda pair: pair[1].number)
    return {f"{prefix}_{table.number}": table.record(one.outputs) for one, table in named}


def input_kinds(lookups: Iterable[Lookup]) -> dict[str, Kind]:
    """Find the type of each input column; one without any value counts as text."""
    values: dict[str, list[Hashable]] = {}
    for lookup in lookups:
        for level in lookup.levels:
            for position, name in enumerate(level.columns):
                values.setdefault(name, []).extend(level.part(position))
    if "" in values:
        raise InputError(
            "A column is called '': expected a name by which a query or a graph can refer to it. Rename that column, "
            "and fit again."
        )
    return {name: _kind_of_column(name, found) for name, found in values.items()}


def _kind_of_column(name: str, values: list[Hashable]) -> Kind:
    kinds = {_kind(name, value) for value in values if value is not None}
    if kinds == {Kind.DATE, Kind.TIME}:
        return Kind.TIME
    if kinds == {Kind.INTEGER, Kind.NUMBER}:  # some libraries turn whole numbers with missing values into floats
        return Kind.NUMBER
    if len(kinds) > 1:
        found = ", ".join(sorted(kind.value for kind in kinds))
        raise InputError(
            f"Column {name!r} has categories of several types, {found}: expected one, as the column of a database or a "
            "tensor has. Turn them all into text, and fit again."
        )
    return kinds.pop() if kinds else Kind.TEXT


def _kind(name: str, value: Any) -> Kind:
    if isinstance(value, bool):
        return Kind.BOOLEAN
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return Kind.DATE if value.time() == datetime.time.min else Kind.TIME
    for known, kind in ((str, Kind.TEXT), (int, Kind.INTEGER), (float, Kind.NUMBER)):
        if isinstance(value, known):
            return kind
    accepted = ", ".join(kind.value for kind in Kind)
    raise InputError(
        f"Column {name!r} has the category {value!r}: expected {accepted}. Turn the column into text, and fit again."
    )
