"""What is looked up: the key of a row, the outputs of each key, and what answers for the others."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from catbayes.core.validation import Array
from catbayes.errors import InputError


class Kind(Enum):
    """What the values of an input column are."""

    TEXT = "text"
    INTEGER = "whole numbers"
    NUMBER = "numbers"
    BOOLEAN = "booleans"
    DATE = "dates"
    TIME = "times without a zone"


@dataclass(frozen=True, slots=True)
class Level:
    """Outputs by key: a value for each of `columns`, None where it is missing."""

    columns: tuple[str, ...]
    keys: Sequence[tuple[Hashable, ...]]
    outputs: Array  # (key, output), all finite

    def part(self, position: int) -> list[Hashable]:
        """The values of one column, in the order of the keys."""
        return [key[position] for key in self.keys]

    def joined(self) -> list[Keys]:
        """Keys that lack the same values, together: a missing value equals nothing, and is joined on what is there."""
        groups: dict[tuple[bool, ...], list[int]] = {}
        for number, key in enumerate(self.keys):
            groups.setdefault(tuple(value is not None for value in key), []).append(number)
        return [Keys(self, present, tuple(numbers)) for present, numbers in groups.items() if any(present)]

    def nothing(self) -> int | None:
        """The number of the key that lacks every value; None if there is none."""
        return next((number for number, key in enumerate(self.keys) if set(key) == {None}), None)


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The keys of a level that have values in the same columns: what rows are joined to in one go."""

    level: Level
    present: tuple[bool, ...]
    numbers: tuple[int, ...]

    @property
    def columns(self) -> list[str]:
        """The columns that they have values in."""
        return [name for name, there in zip(self.level.columns, self.present, strict=True) if there]

    def record(self, outputs: Sequence[str]) -> dict[str, Any]:
        """Values by column, then the outputs by their names."""
        places = [self.level.columns.index(name) for name in self.columns]
        values = {
            name: [self.level.keys[number][place] for number in self.numbers]
            for name, place in zip(self.columns, places, strict=True)
        }
        found = self.level.outputs[list(self.numbers)]
        return {**values, **dict(zip(outputs, found.T.copy(), strict=True))}


@dataclass(frozen=True, slots=True)
class Lookup:
    """How a row gets the outputs of one encoded column: the first level that holds the row's key answers.

    A column of its own has one level with one column; a combination has one level with several; a hierarchy has a
    level for the child, then one for the parent. `otherwise` answers where no level does; NaN there is no answer. Nor
    is there one for a row that lacks a value in a `required` column.
    """

    name: str
    outputs: tuple[str, ...]  # what each output is called
    levels: tuple[Level, ...]
    otherwise: Array  # (output,)
    required: tuple[str, ...] = ()


def input_kinds(lookups: Iterable[Lookup]) -> dict[str, Kind]:
    """Tell what each input column holds; one that never held a value counts as text."""
    values: dict[str, list[Hashable]] = {}
    for lookup in lookups:
        for level in lookup.levels:
            for position, name in enumerate(level.columns):
                values.setdefault(name, []).extend(level.part(position))
    if "" in values:
        raise InputError(
            "A column is called '': expected a name by which a query or a graph can ask for it. Rename that column, "
            "and fit again."
        )
    return {name: _kind_of_column(name, found) for name, found in values.items()}


def _kind_of_column(name: str, values: list[Hashable]) -> Kind:
    kinds = {_kind(name, value) for value in values if value is not None}
    if kinds == {Kind.DATE, Kind.TIME}:
        return Kind.TIME
    if kinds == {Kind.INTEGER, Kind.NUMBER}:  # batches with and without gaps: some libraries make floats of the former
        return Kind.NUMBER
    if len(kinds) > 1:
        found = ", ".join(sorted(kind.value for kind in kinds))
        raise InputError(
            f"Column {name!r} holds categories of several types, {found}: expected one, to be compared with the column "
            "of a database or a tensor. Turn them all into text, and fit again."
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
        f"Column {name!r} holds the category {value!r}: expected {accepted}. Turn the column into text, and fit again."
    )


def lookup_tables(lookups: Iterable[Lookup], prefix: str) -> dict[str, tuple[Lookup, Keys]]:
    """What a query joins, by the names of the tables: the prefix and a number."""
    every = [(one, keys) for one in lookups for level in reversed(one.levels) for keys in level.joined()]
    return {f"{prefix}_{number}": found for number, found in enumerate(every)}
