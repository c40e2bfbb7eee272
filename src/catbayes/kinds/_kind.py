"""What a kind says of its column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from catbayes._categories import Categories
from catbayes._index import Index
from catbayes._validation import Codes

Gather: TypeAlias = Callable[[Codes, int], Any]
"""Statistics of the target by slot, of so many slots."""


class Kind:
    """How the values of a column become categories, and what links these; by default values are names.

    Examples
    --------
    >>> from catbayes.kinds import KINDS, Kind
    >>> all(issubclass(kind, Kind) for kind in KINDS.values())
    True
    """

    __slots__ = ()

    in_memory: ClassVar[bool] = False  # whether categories are made of rows in memory, and no engine counts them

    def read(self, column: Any, name: Any, family: Any, gather: Gather) -> tuple[Categories, Codes]:
        """Find the categories of a column of this name, and the slot of each row."""
        return Categories.of(column)

    def index(self, seen: Index, name: Any, peers: Sequence[Index] = ()) -> Index:
        """The categories that were seen, with all that they lean on; `peers` are those of columns that share them."""
        return seen

    def again(self, seen: Index) -> Kind:
        """The kind by which more rows become the same categories."""
        return self
