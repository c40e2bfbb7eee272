"""What a kind says of its column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_args

from catbayes.core.arrays import TINY
from catbayes.core.categories import Categories
from catbayes.core.combinations import Index, Monotone
from catbayes.core.validation import Array, Codes, check_option
from catbayes.errors import InputError


@dataclass(frozen=True, slots=True)
class Said:
    """What the rows of a table say of its target, for kinds whose categories are made by it.

    Examples
    --------
    >>> import numpy as np
    >>> Said(family=None, gather=lambda codes, n_slots: None, weight=np.array([0.0, 20.0, 20.0])).row_weight
    20.0
    """

    family: Any
    gather: Callable[[Codes, int], Any]  # statistics of the target by slot, of so many slots
    weight: Array | None = None  # of each row

    @property
    def row_weight(self) -> float:
        """Σ w² / Σ w: the weight of a row, in the eyes of a row."""
        return 1.0 if self.weight is None else float((self.weight**2).sum() / max(self.weight.sum(), TINY))


class Kind(ABC):
    """How the values of a column become categories, and what links these; by default values are names.

    Examples
    --------
    >>> from catbayes.kinds import KINDS, Kind
    >>> all(issubclass(kind, Kind) for kind in KINDS.values())
    True
    """

    __slots__ = ()

    in_memory: ClassVar[bool] = False  # whether categories are made of rows in memory, and no engine counts them

    def read(self, column: Any, name: Any, said: Said) -> tuple[Categories, Codes]:
        """Find the categories of a column of this name, and the slot of each row."""
        return Categories.of(column)

    @abstractmethod
    def index(self, seen: Index, name: Any, peers: Sequence[Index] = ()) -> Index:
        """The categories that were seen, with all that they lean on; `peers` are those of columns that share them."""

    def again(self, seen: Index) -> Kind:
        """The kind by which more rows become the same categories."""
        return self


class Read(Categories, ABC):
    """Categories whose cells are read before they are looked up."""

    __slots__ = ()

    listed: ClassVar[bool] = False

    @abstractmethod
    def cells(self, column: Any) -> list[Any]:
        """The cells of a column, each as the category that it is."""

    @abstractmethod
    def of_values(self, values: tuple[Hashable, ...]) -> Self:
        """Other categories that are read in the same way."""

    def codes(self, column: Any) -> Codes:
        """Slot of each row of another column."""
        return Categories.codes(self, self.cells(column))

    def strangers(self, column: Any, most: int = 3) -> list[Hashable]:
        """Some cells that are not among the categories."""
        return Categories.strangers(self, self.cells(column), most)

    def union(self, other: Categories) -> tuple[Categories, Codes, Codes]:
        """Join two sets of categories."""
        joint, mine, theirs = Categories.union(self, other)
        return self.of_values(tuple(joint.values)), mine, theirs

    def keep(self, slots: Codes) -> Categories:
        """Some of the categories."""
        return self.of_values(tuple(Categories.keep(self, slots).values))


def check_monotone(monotone: Any, cyclic: bool) -> None:
    """Require a direction, or none; a ring has none."""
    if monotone is not None:
        check_option("monotone", monotone, get_args(Monotone))
        if cyclic:
            raise InputError(
                f"monotone={monotone!r} with cyclic=True: what goes round comes back. Leave one of them out."
            )
