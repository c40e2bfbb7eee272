"""The lookup tables of a fitted encoder: what is looked up for a row, for the writers of SQL and ONNX."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from catbayes.core.column import FittedColumn
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
class Level:
    """Outputs by key: a value for each of `columns`, None where it is missing."""

    columns: list[str]
    keys: list[tuple[Hashable, ...]]
    outputs: Array  # (key, output), all finite

    def complete(self) -> list[Level]:
        """The keys by the columns in which they have values: a missing value equals nothing in SQL, so none is joined.

        The key without any value is in none of these.
        """
        groups: dict[tuple[int, ...], list[int]] = {}
        for row, key in enumerate(self.keys):
            groups.setdefault(tuple(i for i, value in enumerate(key) if value is not None), []).append(row)
        found = []
        for present, rows in groups.items():
            if present:
                keys = [tuple(self.keys[row][i] for i in present) for row in rows]
                found.append(Level([self.columns[i] for i in present], keys, self.outputs[rows]))
        return found

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
    plan, inputs = Plan(encoding), encoding.evidence.inputs
    plan.check(list(inputs))
    for column in encoding.columns:
        if not column.index.listed:
            raise InputError(
                f"kinds: column {column.label!r} is not looked up by its values, which is all that queries and "
                "graphs do. Use catbayes.encode, or transform."
            )
        for part, source in zip(column.parts, column.index.sources, strict=True):
            _check_text(inputs[part], source.values)
    return [_lookup(column, inputs, plan.names(column), encoding.settings) for column in encoding.columns]


def _check_text(name: str, values: Iterable[Hashable]) -> None:
    try:
        "".join(value for value in values if isinstance(value, str)).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"Column {name!r} has a category with {error.object[error.start]!r}, half of a surrogate pair, which no "
            "UTF-8 text has. Correct it, and fit again."
        ) from error


def _lookup(column: FittedColumn, inputs: Sequence[str], outputs: list[str], settings: Settings) -> Lookup:
    """Make a level for the categories, and one for their parents in a hierarchy.

    New combinations of known categories are encoded under any policy, as are new children of known parents.
    """
    index, expectation = column.index, column.expectation
    names = [inputs[part] for part in column.parts]
    values = [(*source.values, None) for source in index.sources]
    levels: list[Level] = []
    for cells, slots in index.tables():
        if settings.missing != "category":
            full = ~index.incomplete()[slots]
            cells, slots = cells[full], slots[full]
        parts = [[known[i] for i in part] for known, part in zip(values, cells.T.tolist(), strict=False)]
        keys: list[Any] = list(zip(*parts, strict=True))
        if len(names) == 1 and settings.missing in ("category", "prior"):
            keys.append((None,))
            slots = np.append(slots, index.missing if settings.missing == "category" else index.unseen)
        levels.append(Level(names[: len(parts)], keys, expectation[slots]))
    otherwise = expectation[index.unseen]
    if settings.unseen == "nan" or (settings.unseen == "error" and len(names) == 1):
        otherwise = np.full_like(otherwise, np.nan)
    required = names if settings.missing in ("error", "nan") else []
    return Lookup(f"{column.label}_encoded", outputs, levels, otherwise, required)


def lookup_frames(encoding: Fitted, prefix: str) -> dict[str, dict[str, Any]]:
    """Make the records of the tables that a query joins, in its order, by their names: the prefix and a number."""
    found: dict[str, dict[str, Any]] = {}
    for one in lookups(encoding):
        for table in (table for level in reversed(one.levels) for table in level.complete()):
            keys = zip(table.columns, map(list, zip(*table.keys, strict=True)), strict=True)
            found[f"{prefix}_{len(found)}"] = dict(keys) | dict(zip(one.outputs, table.outputs.T.copy(), strict=True))
    return found


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
