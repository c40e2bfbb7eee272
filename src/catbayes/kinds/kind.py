"""What a kind of column has to define."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from catbayes.core.categories import Categories
from catbayes.core.combinations import Index
from catbayes.core.validation import Array, Codes
from catbayes.errors import InputError
from catbayes.kinds.links import Links

if TYPE_CHECKING:
    from catbayes.core.target import Target


class Kind(ABC):
    """How the values of a column become categories, and what links these; by default values are names.

    Examples
    --------
    >>> from catbayes.kinds import KINDS, Kind
    >>> all(issubclass(kind, Kind) for kind in KINDS.values())
    True
    """

    __slots__ = ()

    links: ClassVar[type[Links]]  # how categories are linked
    categories: ClassVar[type[Categories]] = Categories  # what `read` makes
    in_memory: ClassVar[bool] = False  # whether categories are made of rows in memory, so that no engine counts them
    advice_on_unseen: ClassVar[str | None] = None  # added to a warning of unseen values, if these are missing levels
    names_parents: ClassVar[bool] = False  # whether the parents were found here, so that users have not seen them

    @property
    def parent_columns(self) -> tuple[Any, ...]:
        """Columns of the table with the parents of a category, the closest first."""
        return ()

    def check_columns(self, columns: Any) -> None:
        """Require a column, or for kinds that share categories a tuple of them."""
        if isinstance(columns, tuple) and len(columns) > 1:
            raise InputError(
                f"kinds: {columns!r} is a {type(self).__name__}: expected a column for each kind, and a tuple of two "
                'or more columns for Shared(), such as {("home", "away"): Shared()}.'
            )

    @property
    def pools_means(self) -> bool:
        """Whether rows of one category enter the mean of another, and not its prior alone."""
        return False

    def read(self, column: Any, name: Any, target: Target, weight: Array | None) -> tuple[Categories, Codes]:
        """Find the categories of a column of this name, and the slot of each row."""
        return Categories.of(column)

    @abstractmethod
    def index(self, seen: Index, name: Any, peers: Sequence[Index] = ()) -> Index:
        """Return the seen categories with their links; `peers` are those of columns that share them."""

    def again(self, seen: Index) -> Kind:
        """The kind that turns more rows into the same categories."""
        return self

    def extended(self, index: Index, column: Any) -> Index:
        """Return the index with slots for the values of new rows, where these are linked to seen categories."""
        return index


class NormalisedCategories(Categories, ABC):
    """Categories whose cells are normalised before they are looked up."""

    __slots__ = ()

    listed: ClassVar[bool] = False

    @abstractmethod
    def cells(self, column: Any) -> list[Any]:
        """The cells of a column, each as its category."""

    def to_dict(self) -> dict[str, Any]:
        """All but the values, for a file."""
        return {"type": type(self).__name__}

    @classmethod
    def from_dict(cls, record: Any, values: Sequence[Any]) -> Self:
        """Read what `to_dict` made."""
        return cls(values)

    def of_values(self, values: Sequence[Hashable]) -> Self:
        """Other categories that are read in the same way."""
        return replace(self, values=tuple(values))

    def codes(self, column: Any) -> Codes:
        """Slot of each row of another column."""
        return super().codes(self.cells(column))

    def unseen_values(self, column: Any, most: int = 3) -> list[Hashable]:
        """Some cells that are not among the categories."""
        return super().unseen_values(self.cells(column), most)

    def union(self, other: Categories) -> tuple[Categories, Codes, Codes]:
        """Join two sets of categories."""
        joint, mine, theirs = super().union(other)
        return self.of_values(joint.values), mine, theirs

    def keep(self, slots: Codes) -> Categories:
        """Some of the categories."""
        return self.of_values(super().keep(slots).values)
