"""What is encoded of a table: its columns, those that lie below others, and combinations of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from catbayes.errors import InputError
from catbayes.tables import find_column, find_columns

__all__ = ["Group", "find_groups", "is_column_list"]

INTERACTIONS = ("pairs", "triples", "auto")
MOST_INTERACTIONS = 500


@dataclass(frozen=True, slots=True)
class Group:
    """Columns whose values together are the categories of one encoded column.

    A column alone stands at its position. So does one in a hierarchy, behind its ancestors, the farthest first. An
    interaction has a position behind all columns of the table.

    Examples
    --------
    >>> Group(position=1, name="town", parts=(0, 1))  # within the column at position 0
    Group(position=1, name='town', parts=(0, 1))
    """

    position: int
    name: Any
    parts: tuple[int, ...]


def find_groups(
    names: list[Any],
    categorical: list[int],
    columns: Any,
    interactions: Any = None,
    hierarchy: Any = None,
    aside: Sequence[int] = (),
) -> list[Group]:
    """What to encode of a table with these columns; those set `aside` are not.

    Examples
    --------
    >>> for group in find_groups(["user", "door", "age"], [0, 1], "auto", interactions="pairs"):
    ...     print(group.name, group.position, group.parts)
    user 0 (0,)
    door 1 (1,)
    ('user', 'door') 3 (0, 1)
    """
    categorical = [position for position in categorical if position not in aside]
    positions = [position for position in find_columns(names, categorical, columns) if position not in aside]
    ancestors = _find_ancestors(names, positions, hierarchy)
    groups = [Group(position, names[position], (*ancestors.get(position, ()), position)) for position in positions]
    found = _find_interactions(names, positions, interactions)
    return groups + [
        Group(len(names) + number, tuple(names[part] for part in parts), parts) for number, parts in enumerate(found)
    ]


def _find_ancestors(names: list[Any], columns: list[int], hierarchy: Any) -> dict[int, tuple[int, ...]]:
    """Positions of the columns that hold the ancestors of each column in a hierarchy, the farthest first."""
    found: dict[int, tuple[int, ...]] = {}
    for child, parents in _hierarchies(hierarchy).items():
        position = find_column(names, child)
        if position not in columns:
            raise InputError(f"hierarchy names {child!r}, which is not encoded. Name it among the columns.")
        if not is_column_list(parents):
            continue  # a table of parents, which the encoder reads
        above = tuple(reversed([find_column(names, parent) for parent in parents]))
        if len({*above, position}) < len(above) + 1:
            raise InputError(f"hierarchy={{{child!r}: {parents!r}}} names a column twice. Name each one once.")
        found[position] = above
    return found


def _hierarchies(hierarchy: Any) -> Mapping[Any, Any]:
    if hierarchy is None:
        return {}
    if not isinstance(hierarchy, Mapping):
        raise InputError(
            f"hierarchy={hierarchy!r}: expected a dictionary of columns, each with its parent columns or a table of "
            'parents, such as {"postcode": ["region", "country"]}.'
        )
    return hierarchy


def is_column_list(parents: Any) -> bool:
    """Tell whether the parents of a column are named as columns of the table, and not given as a table.

    Examples
    --------
    >>> is_column_list(["region", "country"]), is_column_list({"Oslo": "Norway"})
    (True, False)
    """
    return isinstance(parents, list | tuple) and len(parents) > 0 and not any(isinstance(p, Mapping) for p in parents)


def _find_interactions(names: list[Any], columns: list[int], interactions: Any) -> list[tuple[int, ...]]:
    """Positions of the columns of each interaction: those named, or all pairs (and triples) of the encoded columns."""
    if interactions is None:
        return []
    if isinstance(interactions, str):
        if interactions not in INTERACTIONS:
            raise _no_interactions(interactions)
        orders = (2, 3) if interactions == "triples" else (2,)
        found = [tuple(parts) for order in orders for parts in combinations(columns, order)]
        if len(found) > MOST_INTERACTIONS:
            raise InputError(
                f'interactions="{interactions}" makes {len(found)} interactions of {len(columns)} columns, more than '
                f"{MOST_INTERACTIONS}: name those that matter, such as interactions=[{tuple(names[:2])!r}]."
            )
        return found
    if not isinstance(interactions, Iterable):
        raise _no_interactions(interactions)
    found = []
    for interaction in interactions:
        if isinstance(interaction, str) or not isinstance(interaction, Iterable):
            raise _no_interactions(interactions)
        parts = tuple(find_column(names, column) for column in interaction)
        if len(parts) < 2 or len(set(parts)) < len(parts):
            raise InputError(f"interactions names {interaction!r}: expected two or more columns, each one once.")
        found.append(parts)
    if len({frozenset(parts) for parts in found}) < len(found):
        raise InputError(f"interactions={interactions!r} names a combination twice. Name each one once.")
    return found


def _no_interactions(given: Any) -> InputError:
    return InputError(
        f'interactions={given!r}: expected None, "pairs", "triples", "auto", or a list of tuples of columns, such as '
        '[("user", "door")].'
    )
