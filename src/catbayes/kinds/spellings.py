"""Text that people typed: spellings of one thing, and similar names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from catbayes.core.categories import Categories
from catbayes.core.combinations import Index, Level
from catbayes.core.validation import Codes, check_count, check_number
from catbayes.errors import InputError
from catbayes.kinds.kind import Kind, NormalisedCategories
from catbayes.kinds.links import Links
from catbayes.kinds.tree import Likeness

PRODUCTS = 2e8
"""Pairs of forms are compared by the n-grams that they share, which takes so many products at most: the most common
n-grams, which are least informative, are left out where they would make it a pass over all pairs."""

BLOCK = 2048
"""Forms that are compared at a time."""


@dataclass(frozen=True, slots=True)
class Forms(NormalisedCategories):
    """Forms as categories: every spelling of one has its slot."""

    def cells(self, column: Any) -> list[Any]:
        """Forms of the cells."""
        found, codes = Categories.of(column)
        forms = [*map(form_of, found.values), None]
        return [forms[code] for code in codes]


@dataclass(frozen=True)
class Spellings(Kind):
    """Text that people typed: "Oslo", "oslo " and "OSLO!" are one category, shrunk towards similar names.

    Case, accents, punctuation and blanks are left out. Forms that share n-grams are put below a parent, named after the
    one that is most like the others, and parents that are vaguely alike below another. An unseen spelling draws from
    the parent that it resembles. `posteriors_` shows the parent of each form.

    Parameters
    ----------
    alike : float from 0 to 1, default=0.5
        Cosine of the n-grams, weighted by how rare they are, from which on two forms share a parent.
    vaguely : float from 0 to 1, default=0.25
        The same for parents, at most as much as `alike`.
    size : int, default=3
        Letters of an n-gram.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.kinds import Spellings
    >>> titles = ["Police Officer", "police officer 2", "POLICE OFFICER 3", "Bus Driver", "bus-driver", "Bus driver 2"]
    >>> X, y = pd.DataFrame({"title": titles * 20}), [7.0, 8.0, 9.0, 3.0, 3.2, 3.4] * 20
    >>> encoder = SamplingBayesianEncoder(kinds={"title": Spellings()}, random_state=0).fit(X, y)
    >>> encoder.posteriors_["title"].query("kind == 'seen'")[["category", "count", "parent"]]
               category  count                 parent
    0        bus driver   40.0      like 'bus driver'
    1      bus driver 2   20.0      like 'bus driver'
    2    police officer   20.0  like 'police officer'
    3  police officer 2   20.0  like 'police officer'
    4  police officer 3   20.0  like 'police officer'
    >>> new = pd.DataFrame({"title": ["POLICE OFFICER!", "Police Officer 4", "Librarian"]})
    >>> encoder.transform(new).round(1)[:, 0].tolist()
    [7.0, 7.9, 6.1]
    """

    alike: float = 0.5
    vaguely: float = 0.25
    size: int = 3

    links: ClassVar[type[Links]] = Likeness
    categories: ClassVar[type[Categories]] = Forms
    names_parents: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Require numbers that go together."""
        check_number("Spellings.alike", self.alike, 0.0, 1.0)
        check_number("Spellings.vaguely", self.vaguely, 0.0, self.alike)
        check_count("Spellings.size", self.size)

    def read(self, column: Any, name: Any, target: Any, weight: Any) -> tuple[Categories, Codes]:
        """Spellings of one form are one category."""
        categories, codes = Categories.of(column)
        forms, moved = _forms(categories.values)
        return Forms(forms), np.append(moved, len(forms))[codes]

    def index(self, seen: Index, name: Any, peers: Sequence[Index] = ()) -> Index:
        """The forms, below those that they are like."""
        if not seen.sources[0].is_text:
            raise InputError(f"Spellings: column {name!r} holds more than text. Turn it into text first.")
        forms, _ = _forms(seen.sources[0].values)
        if not forms:
            return seen
        grams = Grams.of(forms, self.size)
        near, leaders = _gathered(grams.matrix, self.alike)
        far, heads = _gathered(grams.matrix[leaders], self.vaguely)
        names = [tuple(f"like {forms[leader]!r}" for leader in leaders)]
        names.append(tuple(f"vaguely like {forms[leaders[head]]!r}" for head in heads))
        none = np.empty((0, 1), dtype=np.intp)
        found = Resembling(forms, grams=grams, near=near, far=far, bounds=(self.alike, self.vaguely))
        levels = (Level(near, names[0], none), Level(far, names[1], none))
        return Index((found,), np.arange(len(forms))[:, None], levels, self)


@dataclass(frozen=True, slots=True, eq=False)
class Grams:
    """The n-grams of some forms, weighted by how rare they are: rows of length 1, (form, n-gram)."""

    place: dict[str, int]
    weight: Any
    matrix: Any
    size: int

    @classmethod
    def of(cls, forms: Sequence[Any], size: int) -> Grams:
        """Count the n-grams, and leave out those that too many forms have."""
        place: dict[str, int] = {}
        counts = _count(forms, size, place)
        often = np.bincount(counts.indices, minlength=counts.shape[1])
        rank = np.argsort(often, kind="stable")
        taken = np.empty(len(often), dtype=np.bool_)
        taken[rank] = np.cumsum(often[rank].astype(np.float64) ** 2) <= PRODUCTS
        weight = np.where(taken, 1.0 + np.log(len(forms) / np.maximum(often, 1)), 0.0)
        return cls(place, weight, _unit(counts @ sparse.diags(weight)), size)

    def vectors(self, forms: Sequence[Any]) -> Any:
        """The same of other forms; n-grams that are new count for their length alone."""
        known = dict(self.place)
        counts = _count(forms, self.size, known)
        rare = 1.0 + np.log(max(self.matrix.shape[0], 1))
        weight = np.append(self.weight, np.full(counts.shape[1] - len(self.weight), rare))
        return _unit(counts @ sparse.diags(weight))[:, : len(self.weight)]


@dataclass(frozen=True, slots=True, eq=False)
class Resembling(Categories):
    """Forms as categories; one that is unseen has the slot of the parent that it resembles."""

    grams: Any = None
    near: Any = None
    far: Any = None
    bounds: tuple[float, float] = (1.0, 1.0)

    listed: ClassVar[bool] = False

    def codes(self, column: Any) -> Codes:
        """Slot of each row of another column."""
        found, codes = Categories.of(column)
        return np.append(self._of_values(found.values), [self.missing])[codes]

    def moved(self, part: Categories) -> Codes:
        """Where the slots of some spellings are."""
        return np.append(self._of_values(part.values), [self.missing, self.unseen]).astype(np.intp)

    def unseen_values(self, column: Any, most: int = 3) -> list[Hashable]:
        """Some values that resemble nothing."""
        values = Categories.of(column)[0].values
        return [values[place] for place in np.flatnonzero(self._of_values(values) == self.unseen)[:most]]

    def _of_values(self, values: Sequence[Any]) -> Codes:
        forms = [form_of(value) for value in values]  # None of None, which is missing
        slots = np.array([self._slot.get(form, self.unseen) for form in forms], dtype=np.intp)
        new = np.flatnonzero(slots == self.unseen)
        if len(new):
            slots[new] = self._resembled([forms[place] for place in new])
        return slots

    def _resembled(self, forms: list[Any]) -> Codes:
        """The parent of the form that each is most like, or the parent of that; unseen if it is like nothing."""
        found = []
        first = self.unseen + 1
        for block in _blocks(self.grams.vectors(forms)):
            cosines = (block @ self.grams.matrix.T).tocsr()
            best, nearest = _best(cosines)
            parent = np.asarray(self.near)[nearest]
            above = np.where(best >= self.bounds[1], first + self.near.max() + 1 + self.far[parent], self.unseen)
            found.append(np.where(best >= self.bounds[0], first + parent, above))
        return np.concatenate(found)


def form_of(value: Any) -> Any:
    """A spelling without case, accents, punctuation and blanks at its ends; what is no text stays as it is.

    A + or # at the end of a word is a part of its name.
    """
    if not isinstance(value, str):
        return value
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", value).casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()
    return " ".join(re.findall(r"[^\W_]+(?:[+#]+(?![^\W_]))?", plain)) or " ".join(value.split())


def _forms(values: Sequence[Any]) -> tuple[tuple[Any, ...], Codes]:
    """Distinct forms of some spellings in their order, and the place of each spelling's."""
    forms = [form_of(value) for value in values]
    found = Categories.of_distinct(list(dict.fromkeys(forms)))[0]
    return tuple(found.values), found.slots(forms) if forms else np.empty(0, dtype=np.intp)


def _count(forms: Sequence[Any], size: int, place: dict[str, int]) -> Any:
    """How often each form has each n-gram; words are padded, so that short ones have some."""
    indices: list[int] = []
    ends = [0]
    for form in forms:
        padded = [f" {word} " for word in str(form).split()]
        grams = [word[k : k + size] for word in padded for k in range(max(len(word) - size + 1, 1))]
        indices += [place.setdefault(gram, len(place)) for gram in grams]
        ends.append(len(indices))
    found = sparse.csr_matrix((np.ones(len(indices)), indices, ends), shape=(len(forms), len(place)))
    found.sum_duplicates()
    return found


def _unit(matrix: Any) -> Any:
    """Rows of length 1."""
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1))).reshape(-1)
    return (sparse.diags(1.0 / np.where(length > 0, length, 1.0)) @ matrix).tocsr()


def _blocks(matrix: Any) -> Iterator[Any]:
    return (matrix[start : start + BLOCK] for start in range(0, matrix.shape[0], BLOCK))


def _at_least(cosines: Any, least: float) -> Any:
    cosines = cosines.tocsr()
    cosines.data[cosines.data < least] = 0.0
    cosines.eliminate_zeros()
    return cosines


def _best(cosines: Any) -> tuple[Any, Codes]:
    """The largest cosine of each row, and whose it is."""
    best, nearest = np.zeros(cosines.shape[0]), np.zeros(cosines.shape[0], dtype=np.intp)
    size = np.diff(cosines.indptr)
    order = np.lexsort((cosines.indices, -cosines.data.round(12), np.repeat(np.arange(len(size)), size)))
    first = order[cosines.indptr[:-1][size > 0]]
    best[size > 0], nearest[size > 0] = cosines.data[first], cosines.indices[first]
    return best, nearest


def _gathered(matrix: Any, least: float) -> tuple[Codes, Codes]:
    """Put each entry below the leader that it is most like: its parent's number, and which entries lead.

    Entries that many others are like come first, and lead if they are like no leader.
    """
    close = sparse.vstack([_at_least(block @ matrix.T, least) for block in _blocks(matrix)]).tocsr()
    order = np.argsort(-np.asarray(close.sum(axis=1)).reshape(-1).round(9), kind="stable")
    parent, leaders = np.full(close.shape[0], -1, dtype=np.intp), list[int]()
    number = np.full(close.shape[0], -1, dtype=np.intp)
    for entry in order.tolist():
        some = slice(close.indptr[entry], close.indptr[entry + 1])
        others, cosine = close.indices[some], close.data[some]
        known = number[others] >= 0
        if known.any():
            best = np.lexsort((others[known], -cosine[known].round(12)))[0]
            parent[entry] = number[others[known][best]]
        else:
            number[entry] = parent[entry] = len(leaders)
            leaders.append(entry)
    return parent, np.array(leaders, dtype=np.intp)
