"""What tables say about a target, as a value that can be added, subtracted and discounted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from catbayes._arrays import TINY
from catbayes._validation import Array, Codes
from catbayes.categories import Categories
from catbayes.combinations import Combinations
from catbayes.errors import InputError
from catbayes.evidence._aligning import align
from catbayes.evidence._target import Target
from catbayes.families import Family, family_of_classes, resolve_family
from catbayes.groups import Group
from catbayes.statistics import Moments, Statistics, Tally
from catbayes.tables import Table

__all__ = [
    "Candidate",
    "ColumnEvidence",
    "Evidence",
    "check_classes",
    "gather_before",
    "gather_codes",
    "gather_table",
    "settle_family",
]


@dataclass(frozen=True, slots=True)
class ColumnEvidence:
    """One column, or an interaction of several: its categories, and what each of them says about the target.

    `parts` are the columns of the table that it is made of: one, at its position; one behind its ancestors, in a
    hierarchy; or those of an interaction, whose name is the tuple of theirs and whose position is behind all columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import gather
    >>> column = gather(pd.DataFrame({"city": ["Oslo", "Rome", "Rome"], "paid": [0, 1, 1]}), target="paid").columns[0]
    >>> column.name, column.categories.values, column.statistics.count.tolist()  # and missing, and unseen
    ('city', ('Oslo', 'Rome'), [1.0, 2.0, 0.0, 0.0])
    """

    position: int
    name: Any
    parts: tuple[int, ...]
    categories: Categories | Combinations
    statistics: Statistics

    @property
    def is_interaction(self) -> bool:
        """Whether it is a combination of columns, and none of them."""
        return self.position not in self.parts


class Candidate(NamedTuple):
    """An interaction that was weighed: its columns, its categories, its gain in log-likelihood, and the verdict.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import gather
    >>> table = pd.DataFrame({"user": ["a", "a", "b", "b"] * 9, "door": [1, 2, 1, 2] * 9, "open": [1, 0, 0, 1] * 9})
    >>> best = gather(table, ["user", "door"], "open", interactions="auto").candidates[0]
    >>> best.columns, best.categories, round(best.gain, 1), best.kept
    (('user', 'door'), 4, 22.1, True)
    """

    columns: tuple[Any, ...]
    categories: int
    gain: float
    kept: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a table says about its target: all that an encoder needs of it, and mergeable.

    `+` joins what disjoint sets of rows say, `-` takes rows out again, and `discounted` lets all of it fade. The
    statistics of the parts give those of the whole, in any order.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import gather
    >>> monday = gather(pd.DataFrame({"city": ["Oslo", "Rome"], "paid": [1, 0]}), target="paid")
    >>> tuesday = gather(pd.DataFrame({"city": ["Rome", "Bonn"], "paid": [1, 1]}), target="paid")
    >>> week = monday + tuesday
    >>> week.columns[0].categories.values, week.columns[0].statistics.count.tolist()
    (('Bonn', 'Oslo', 'Rome'), [1.0, 1.0, 2.0, 0.0, 0.0])
    """

    columns: tuple[ColumnEvidence, ...]
    family: type[Family]
    classes: np.ndarray[Any, Any] | None
    inputs: tuple[Any, ...]  # names of all columns of the table but the target, encoded or not
    squares: float  # Σ w² over the rows: with Σ w, how unequal the weights are
    weighted: bool
    candidates: tuple[Candidate, ...] = ()  # interactions that were weighed, where they were chosen by their gain

    @property
    def texts(self) -> tuple[Any, ...]:
        """Names of the columns whose categories are all text."""
        found: dict[int, Categories] = {}
        for column in self.columns:
            known = column.categories
            parents = known.parents if isinstance(known, Combinations) else (known,)
            found |= {part: parent for part, parent in zip(column.parts, parents, strict=True) if parent.is_text}
        return tuple(self.inputs[part] for part in found)

    @property
    def total(self) -> Statistics:
        """What all rows together say, as one category."""
        return self.columns[0].statistics.total()

    @property
    def heaviness(self) -> float:
        """Σ w² / Σ w: the weight of a row, in the eyes of a row."""
        return float(self.squares / self.total.count[0])

    @property
    def evenness(self) -> float:
        """What a row says of the classes, next to one of a fair coin: 2 (1 - Σ p²), 1 at most, and 1 for numbers."""
        total = self.total
        if not isinstance(total, Tally):
            return 1.0
        shares = total.weight[0] / total.count[0]
        return float(np.clip(2.0 * (1.0 - np.sum(shares**2)), TINY, 1.0))

    def __add__(self, other: Evidence) -> Evidence:
        """Join what two disjoint sets of rows say."""
        joint = align(self, other)
        columns = tuple(column.joined(column.mine + column.theirs) for column in joint.columns)
        squares, weighted = self.squares + other.squares, self.weighted or other.weighted
        return replace(
            self, columns=columns, family=joint.family, classes=joint.classes, squares=squares, weighted=weighted
        )

    def __sub__(self, other: Evidence) -> Evidence:
        """Take rows out again; a category or class of which nothing is left is forgotten altogether."""
        joint = align(self, other)
        columns = tuple(column.without(column.subtract(self.family)) for column in joint.columns)
        squares, weighted = max(self.squares - other.squares, 0.0), self.weighted or other.weighted
        left = replace(
            self, columns=columns, family=joint.family, classes=joint.classes, squares=squares, weighted=weighted
        )
        if not left.total.count[0] > 0:
            raise InputError("Nothing would be left: every row is to be taken out. Fit a new encoder instead.")
        return left._without_classes(joint.mine_had)

    def discounted(self, share: float) -> Evidence:
        """Let every row count for `share` of a row."""
        columns = tuple(replace(column, statistics=column.statistics.scaled(share)) for column in self.columns)
        return replace(self, columns=columns, squares=self.squares * share**2, weighted=True)

    def _without_classes(self, had_rows: Any) -> Evidence:
        """Drop the classes that had rows and have none now."""
        total = self.total
        if self.classes is None or not isinstance(total, Tally):
            return self
        kept = np.flatnonzero((total.weight[0] > 0) | ~had_rows)
        if len(kept) < 2 or len(kept) == len(self.classes):
            return self

        def keep(column: ColumnEvidence) -> ColumnEvidence:
            assert isinstance(column.statistics, Tally)
            return replace(column, statistics=Tally(column.statistics.weight[:, kept]))

        return replace(self, columns=tuple(map(keep, self.columns)), classes=self.classes[kept])


def gather_table(
    table: Table, groups: list[Group], target: Target, weight: Array | None, run: Callable[..., Any] = map
) -> tuple[Evidence, Callable[[ColumnEvidence], Codes]]:
    """Describe the target by the categories of some columns of a table in memory; also how to find slots of its rows.

    The slots of many interactions would fill the memory, so they are made again where they are asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes.evidence import gather_table, read_target
    >>> from catbayes.groups import Group
    >>> from catbayes.tables import Table
    >>> table = Table.of(np.array([["a"], ["b"], ["b"]], dtype=object))
    >>> target = read_target(np.array([0, 1, 1]), "auto", 3)
    >>> evidence, slots = gather_table(table, [Group(0, 0, (0,))], target, weight=None)
    >>> slots(evidence.columns[0]).tolist(), evidence.total.weight.tolist()
    ([0, 1, 1], [[1.0, 2.0]])
    """
    needed = sorted({part for group in groups for part in group.parts})
    read = dict(zip(needed, run(lambda position: Categories.of(table.column(position)), needed), strict=True))

    def gather_group(group: Group) -> ColumnEvidence:
        known, codes = zip(*(read[part] for part in group.parts), strict=True)
        categories, places = (known[0], codes[0]) if len(known) == 1 else Combinations.of(known, codes)
        statistics = gather_codes(places, target, weight, categories.n_slots)
        return ColumnEvidence(group.position, group.name, group.parts, categories, statistics)

    def slots(column: ColumnEvidence) -> Codes:
        codes = [read[part][1] for part in column.parts]
        return column.categories.codes(codes) if isinstance(column.categories, Combinations) else codes[0]

    evidence = Evidence(
        columns=tuple(run(gather_group, groups)),
        family=target.family,
        classes=target.classes,
        inputs=tuple(table.names),
        squares=float(table.n_rows if weight is None else (weight**2).sum()),
        weighted=weight is not None,
    )
    return evidence, slots


def gather_codes(
    codes: Codes, target: Target, weight: Array | None, n_slots: int, rows: Any = None, unseen: int = -1
) -> Statistics:
    """Count (or describe) the target by category code, over all rows or some; slots from `unseen` on learn nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes.evidence import gather_codes, read_target
    >>> target = read_target(np.array([1.5, 2.5, 4.0]), "auto", 3)
    >>> gather_codes(np.array([0, 0, 1]), target, None, n_slots=4).mean.tolist()  # two categories, missing, unseen
    [2.0, 4.0, 0.0, 0.0]
    """
    values = target.values
    if rows is not None:
        codes, values = codes[rows], values[rows]
        weight = None if weight is None else weight[rows]
    statistics: Statistics
    if target.classes is not None:
        statistics = Tally.from_codes(codes, values, weight, n_slots=n_slots, n_classes=len(target.classes))
    else:
        statistics = Moments.from_codes(codes, values, weight, n_slots=n_slots)
    return statistics.without(np.arange(n_slots)[unseen:])


def gather_before(
    codes: Codes, rank: Codes, target: Target, weight: Array | None, n_slots: int, unseen: int
) -> Statistics:
    """Count (or describe), for each row, the rows of its category with a lower rank.

    A row whose slot is `unseen`, or one behind it, learns nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes.evidence import gather_before, read_target
    >>> target = read_target(np.array([1, 0, 1]), "auto", 3)
    >>> codes, rank = np.array([0, 0, 0]), np.array([2, 0, 1])
    >>> gather_before(codes, rank, target, None, n_slots=3, unseen=2).weight.tolist()  # (zeros, ones) before each row
    [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    """
    nothing = np.flatnonzero(codes >= unseen)
    if target.classes is not None:
        return Tally.before(codes, rank, target.values, weight, n_classes=len(target.classes)).without(nothing)
    return Moments.before(codes, rank, target.values, weight, n_slots=n_slots).without(nothing)


def settle_family(family: Any, evidence: Evidence) -> type[Family]:
    """The family that the parameter `family` and the evidence ask for, if there is something to encode towards.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import gather
    >>> from catbayes.evidence import settle_family
    >>> evidence = gather(pd.DataFrame({"city": ["Oslo", "Rome"], "paid": [1, 0]}), target="paid")
    >>> settle_family("auto", evidence).__name__
    'BetaBernoulli'
    """
    total, wanted = evidence.total, resolve_family(family)
    fits = wanted is None or wanted is evidence.family or (wanted.classes and evidence.family.classes)
    if not fits:
        raise InputError(f"family={family!r}, and this was gathered for {evidence.family.__name__}: use one for both.")
    if not total.count[0] > 0:
        raise InputError("sample_weight is zero for every row: nothing is left to learn from.")
    if evidence.classes is not None:
        if len(evidence.classes) < 2:
            raise _one_class(evidence, 0)
        return family_of_classes(len(evidence.classes), wanted)
    assert isinstance(total, Moments)
    rounding = 4.0 * np.finfo(np.float64).eps * abs(total.mean[0])
    if total.m2[0] <= total.count[0] * rounding**2:
        what = "log y" if evidence.family.log_target else "y"
        raise InputError(
            f"{what} is constant, {total.mean[0]:g}, over n_samples={total.count[0]:g}: there is nothing to encode "
            "towards."
        )
    return evidence.family


def check_classes(evidence: Evidence) -> None:
    """Require two classes that have rows: those that were only named may still come in `partial_fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import gather
    >>> from catbayes.evidence import check_classes
    >>> check_classes(gather(pd.DataFrame({"city": ["Oslo", "Rome"], "paid": [1, 0]}), target="paid"))
    """
    total = evidence.total
    if isinstance(total, Tally):
        used = np.flatnonzero(total.weight[0] > 0)
        if len(used) < 2:
            raise _one_class(evidence, int(used[0]) if len(used) else 0)


def _one_class(evidence: Evidence, only: int) -> InputError:
    assert evidence.classes is not None
    return InputError(
        f"y holds only one class, {evidence.classes[only]}, over n_samples={evidence.total.count[0]:g}: expected two "
        "or more. There is nothing to encode towards. If others will follow, name all: partial_fit(…, classes=…)."
    )
