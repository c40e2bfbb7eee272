"""Sets of things: tags, carts, genres, diagnoses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from catbayes.core.categories import Categories, canonical_list
from catbayes.core.combinations import Index
from catbayes.core.table import spelled
from catbayes.core.validation import Codes
from catbayes.errors import InputError
from catbayes.kinds._kind import Kind, Read, Said

MOST_MEMBERS = 500
"""Members with an effect of their own; rarer ones count as members of which nothing is known."""


@dataclass(frozen=True)
class Tags(Kind):
    """Sets of things, such as tags, carts, genres, diagnoses: lists, or text with a separator.

    A set is a category that leans on its members: each of these adds its effect, learnt from all sets that hold it, or
    a set takes the mean of them, whichever makes the sets more likely. So a set that was never seen is known from its
    members, and one that was seen often by itself. Neither order nor repeats count. A set without members is a category
    like any other.

    Parameters
    ----------
    separator : str, default="|"
        What stands between the members of a text, blanks aside; lists are written with it.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.kinds import Tags
    >>> X = pd.DataFrame({"genres": ["crime|drama", "drama", "comedy | romance", "comedy", "crime", "romance"] * 20})
    >>> y = [8.0, 7.5, 5.5, 6.0, 7.5, 6.5] * 20
    >>> encoder = SamplingBayesianEncoder(kinds={"genres": Tags()}, random_state=0).fit(X, y)
    >>> encoder.transform(pd.DataFrame({"genres": ["romance|comedy", "crime|romance", "western", ""]})).round(1)[:, 0]
    array([5.5, 6.9, 6.9, 6.9])
    """

    separator: str = "|"

    in_memory: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Require something that stands between members."""
        if not isinstance(self.separator, str) or not self.separator.strip():
            raise InputError(f"Tags: separator={self.separator!r}: expected text that is not blank, such as '|'.")

    def read(self, column: Any, name: Any, said: Said) -> tuple[Categories, Codes]:
        """Sets of the same members are one category."""
        categories, codes = Categories.of(_cells(column, self.separator))
        return Sets(categories.values, separator=self.separator), codes

    def index(self, seen: Index, name: Any, peers: Sequence[Index] = ()) -> Index:
        """The sets, and the members that they lean on."""
        sets = seen.sources[0].values
        often = Counter(member for text in sets for member in split(text, self.separator))
        known = sorted(sorted(often), key=lambda member: -often[member])[:MOST_MEMBERS]
        return Sets(sets, vocabulary=tuple(known), separator=self.separator).index()


@dataclass(frozen=True, slots=True)
class Sets(Read):
    """Sets as categories, written with a separator; the members that are known have an effect.

    Examples
    --------
    >>> sets = Sets(("a|b", "c"), vocabulary=("a", "b", "c"))
    >>> sets.codes([["b", "a"], "a | b | b", None, ["c", "d"]]).tolist()
    [0, 0, 2, 3]
    >>> sets.knowing([["c", "d"]]).values  # members are of the vocabulary, or strangers
    ('a|b', 'c', 'c|d')
    """

    vocabulary: tuple[str, ...] = ()
    separator: str = "|"

    def index(self) -> Index:
        """The sets, each leaning on its members."""
        return Index((self,), np.arange(len(self.values))[:, None], leaning="sets")

    def knowing(self, column: Any) -> Sets:
        """With the sets of a column that were not seen."""
        found = dict.fromkeys(_cells(column, self.separator))
        new = sorted(text for text in found if text is not None and text not in self._slot)
        return self.of_values((*self.values, *new)) if new else self

    def cells(self, column: Any) -> list[Any]:
        """Sets as text."""
        return _cells(column, self.separator)

    def of_values(self, values: tuple[Any, ...]) -> Sets:
        """Other sets, written with the same separator."""
        return Sets(values, vocabulary=self.vocabulary, separator=self.separator)

    def members(self) -> tuple[Codes, Codes, Codes]:
        """The known members: their sets, and their numbers in the vocabulary; and how many members each set has."""
        number = {member: place for place, member in enumerate(self.vocabulary)}
        parts = [split(text, self.separator) for text in self.values]
        pairs = [(row, number[part]) for row, some in enumerate(parts) for part in some if part in number]
        rows, places = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return rows, places, np.array([len(some) for some in parts], dtype=np.intp)


def split(text: Any, separator: str) -> list[str]:
    """Members of a set, each once and in their order."""
    return sorted({part.strip() for part in str(text).split(separator)} - {""})


def _cells(column: Any, separator: str) -> list[Any]:
    """Every cell as text, its members in their order; None where it is missing."""
    cells = column.to_list() if hasattr(column, "to_list") else column
    cells = cells.to_pylist() if hasattr(cells, "to_pylist") else list(cells)
    known: dict[str, str] = {}
    return [_text(cell, separator, known) for cell in cells]


def _text(cell: Any, separator: str, known: dict[str, str]) -> str | None:
    if isinstance(cell, str):
        if cell not in known:
            known[cell] = separator.join(split(cell, separator))
        return known[cell]
    if isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        parts = {spelled(part).strip() for part in canonical_list(list(cell)) if part is not None}
        if any(separator in part for part in parts):
            raise InputError(
                f"Tags: a member of {sorted(parts)[:3]} holds the separator, {separator!r}. Choose another one."
            )
        return separator.join(sorted(parts - {""}))
    return None if canonical_list([cell])[0] is None else spelled(cell)
