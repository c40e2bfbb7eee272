"""What a kind of column has to define."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

from catbayes.core.categories import Categories
from catbayes.core.combinations import Index
from catbayes.core.validation import Array, Codes, check_option
from catbayes.errors import InputError
from catbayes.kinds.links import Links

if TYPE_CHECKING:
    from catbayes.core.target import Target

Monotone = Literal["increasing", "decreasing"]


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
    in_memory: ClassVar[bool] = False  # whether categories are made of rows in memory, so that no engine counts them
    is_ordered: ClassVar[bool] = False  # whether an unseen value is a level without a place in the order
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


class Read(Categories, ABC):
    """Categories whose cells are normalised before they are looked up."""

    __slots__ = ()

    listed: ClassVar[bool] = False

    @abstractmethod
    def cells(self, column: Any) -> list[Any]:
        """The cells of a column, each as its category."""

    @abstractmethod
    def of_values(self, values: tuple[Hashable, ...]) -> Self:
        """Other categories that are read in the same way."""

    def codes(self, column: Any) -> Codes:
        """Slot of each row of another column."""
        return Categories.codes(self, self.cells(column))

    def unseen_values(self, column: Any, most: int = 3) -> list[Hashable]:
        """Some cells that are not among the categories."""
        return Categories.unseen_values(self, self.cells(column), most)

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
            raise InputError(f"monotone={monotone!r} with cyclic=True: a cycle cannot be monotone. Leave one out.")
