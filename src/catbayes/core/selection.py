"""What is encoded of a table: its columns, those that lie below others, and combinations of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from catbayes.core.combinations import Index
from catbayes.core.table import find_column, find_columns
from catbayes.errors import InputError
from catbayes.kinds import Kind

__all__ = ["ColumnSpec", "Selection"]

MOST_INTERACTIONS = 500


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One encoded column: its place, its name, and the columns of the table that it is made of.

    The parts of a column in a hierarchy are its ancestors, the farthest first, and itself. An interaction has a
    position after all columns of the table, and the tuple of their names.
    """

    position: int
    name: Any
    parts: tuple[int, ...]

    @property
    def is_interaction(self) -> bool:
        """Whether it is a combination of columns, and none of them."""
        return self.position not in self.parts

    @property
    def label(self) -> Any:
        """The name in outputs: that of the column, or those of an interaction with & between them."""
        return "&".join(map(str, self.name)) if self.is_interaction else self.name


@dataclass(frozen=True, slots=True)
class Selection:
    """Which columns to encode, by themselves, together, and below others; those set `aside` are no features."""

    columns: Any = "auto"
    interactions: Any = None
    aside: tuple[Any, ...] = ()
    weigh: bool = False  # whether to find out which columns are informative
    kinds: Any = None  # of columns whose values are more than names

    def __post_init__(self) -> None:
        """Check the kinds."""
        kinds = {} if self.kinds is None else self.kinds
        for column, kind in kinds.items() if isinstance(kinds, Mapping) else ():
            if isinstance(kind, type) and issubclass(kind, Kind):
                name = kind.__name__
                raise InputError(f"kinds: {column!r} has the class {name}: expected an object, {name}(…).")
        if not isinstance(kinds, Mapping) or not all(isinstance(kind, Kind) for kind in kinds.values()):
            raise InputError(
                f"kinds={kinds!r}: expected a dictionary of columns to kinds, such as "
                '{"hour": Ordinal(cyclic=True), "age": Bins(20)}.'
            )
        for columns, kind in kinds.items():
            kind.check_columns(columns)
        object.__setattr__(self, "kinds", dict(kinds))

    @property
    def is_auto(self) -> bool:
        """Whether interactions are chosen by their gain on the rows."""
        return isinstance(self.interactions, str) and self.interactions == "auto"

    def kinds_at(self, names: list[Any]) -> dict[int, Kind]:
        """The kinds of columns, by position."""
        found: dict[int, Kind] = {}
        for columns, kind in self.kinds.items():
            for column in columns if isinstance(columns, tuple) else (columns,):
                position = find_column(names, column, "kinds")
                if position in found:
                    raise InputError(f"kinds names {names[position]!r} twice. Name each column once.")
                found[position] = kind
        return found

    def roles(self, names: list[Any]) -> dict[int, list[int]]:
        """For each column that shares its categories with others, by position: the positions of those."""
        found: dict[int, list[int]] = {}
        for columns in self.kinds:
            if isinstance(columns, tuple):
                positions = [find_column(names, column, "kinds") for column in columns]
                found |= {own: [other for other in positions if other != own] for own in positions}
        return found

    def again(self, seen: Iterable[Any]) -> dict[Any, Kind]:
        """The kinds by which more rows become the categories of these columns."""
        indices = {column.name: column.index for column in seen}
        return {name: kind.again(indices[name]) if name in indices else kind for name, kind in self.kinds.items()}

    def dropped(self, names: list[Any]) -> list[int]:
        """Positions of the columns that are neither encoded nor passed on."""
        return [find_column(names, column, "own_target") for column in self.aside]

    def specs(self, names: list[Any], categorical: list[int]) -> list[ColumnSpec]:
        """What to encode of a table with these columns; `categorical` are those that "auto" takes."""
        aside = self.dropped(names) if self.aside else []
        kinds = self.kinds_at(names) if self.kinds else {}
        categorical = [position for position in sorted({*categorical, *kinds}) if position not in aside]
        positions = [position for position in find_columns(names, categorical, self.columns) if position not in aside]
        for place in kinds:
            if place not in positions:
                raise InputError(f"kinds names {names[place]!r}, which is not encoded. Name it among the columns.")
        specs = []
        for place in positions:
            above = kinds[place].parent_columns if place in kinds else ()
            parts = (*reversed([find_column(names, parent, type(kinds[place]).__name__) for parent in above]), place)
            if len({*parts}) < len(parts):
                given = f"{{{names[place]!r}: {type(kinds[place]).__name__}({list(above)!r})}}"
                raise InputError(f"kinds={given} names a column twice. Name each one once.")
            specs.append(ColumnSpec(place, names[place], parts))
        if self.interactions is not None:
            specs += self.combined(names, _find_interactions(names, positions, self.interactions))
        return specs

    def combined(self, names: list[Any], found: Iterable[tuple[int, ...]]) -> list[ColumnSpec]:
        """What to encode of interactions of columns at these positions."""
        return [
            ColumnSpec(len(names) + number, tuple(names[part] for part in parts), parts)
            for number, parts in enumerate(found)
        ]

    def require(self, specs: list[ColumnSpec], names: list[Any]) -> None:
        """Require that evidence is about the columns that are to be encoded."""
        single = [spec.name for spec in specs if not spec.is_interaction]
        asked = replace(self, columns=single if isinstance(self.columns, str) else self.columns)
        found = {spec.parts: spec.is_interaction for spec in specs}
        wanted = {spec.parts: spec.is_interaction for spec in asked.specs(names, [])}
        if self.interactions is None or self.is_auto:  # those that were gathered will do
            found, wanted = ({parts: False for parts, pair in each.items() if not pair} for each in (found, wanted))
        if found != wanted:
            raise InputError(
                f"columns={self.columns!r}, interactions={self.interactions!r} and kinds={self.kinds!r}, and this was "
                f"gathered from {[spec.name for spec in specs]}: use the same for both."
            )

    def linked(self, column: Any, columns: Sequence[Any], names: list[Any]) -> tuple[Index, list[Any]] | None:
        """The categories of a column with all that they are linked to, and the columns that share them; None if none.

        `columns` are those that were seen, which have an `index`.
        """
        kind = self.kinds_at(names).get(column.position)
        if kind is None:
            return None
        peers = [
            next(one for one in columns if one.position == role) for role in self.roles(names).get(column.position, ())
        ]
        index = kind.index(column.index, column.name, [peer.index for peer in peers])
        return (index, peers) if index.kind is not None else None


def _find_interactions(names: list[Any], columns: list[int], interactions: Any) -> list[tuple[int, ...]]:
    """Positions of the columns of each interaction: those named, or all pairs (and triples) of the encoded columns."""
    if isinstance(interactions, str) and interactions == "auto":
        return []  # chosen by their gain on the rows
    if isinstance(interactions, str) and interactions in ("pairs", "triples"):
        orders = (2, 3) if interactions == "triples" else (2,)
        found = [tuple(parts) for order in orders for parts in combinations(columns, order)]
        if len(found) > MOST_INTERACTIONS:
            raise InputError(
                f'interactions="{interactions}" makes {len(found)} interactions of {len(columns)} columns, more than '
                f"{MOST_INTERACTIONS}: name those that matter, such as interactions=[{tuple(names[:2])!r}]."
            )
        return found
    given: list[Any] = list(interactions) if isinstance(interactions, Iterable) else [None]
    if not all(isinstance(one, Iterable) and not isinstance(one, str) for one in given):
        raise InputError(
            f'interactions={interactions!r}: expected None, "pairs", "triples", "auto", or a list of tuples of '
            'columns, such as [("user", "door")].'
        )
    found = []
    for interaction in given:
        parts = tuple(find_column(names, column, "interactions") for column in interaction)
        if len(parts) < 2 or len(set(parts)) < len(parts):
            raise InputError(f"interactions names {interaction!r}: expected two or more columns, each one once.")
        found.append(parts)
    if len({frozenset(parts) for parts in found}) < len(found):
        raise InputError(f"interactions={interactions!r} names a combination twice. Name each one once.")
    return found
