"""Levels in an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from catbayes.core.categories import Categories, canonical_list, declared_levels
from catbayes.core.combinations import Index
from catbayes.core.validation import Codes
from catbayes.errors import InputError
from catbayes.kinds.random_walk import Monotone, OrderedKind

MOST_LEVELS = 1000
"""Every level has a part in the prior of every other one: more of them are for bins."""


@dataclass(frozen=True)
class Ordinal(OrderedKind):
    """Levels in an order, such as sizes, grades, hours: a rare level is smoothed towards adjacent ones.

    θ is a random walk along the levels, whose smoothness is estimated. Where adjacent levels are no more alike than
    others, it is the encoding of a column without an order.

    Parameters
    ----------
    levels : sequence, optional
        All levels, the lowest first; those without rows are known from adjacent ones. By default numbers and dates go
        by value, whole numbers with the gaps between them; ordered categoricals of pandas and enums of polars go by
        their type. Text has no order by itself.
    cyclic : bool, default=False
        Whether the last level is adjacent to the first: hours, weekdays, months. Give all `levels` if not all are
        sure to be seen.
    monotone : "increasing", "decreasing", or None
        Whether means only rise, or only fall, from level to level: isotonic regression of the posterior means. A row's
        own target is then excluded by folds.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.kinds import Ordinal
    >>> X = pd.DataFrame({"size": ["S"] * 40 + ["M"] * 40 + ["XL"] * 40})
    >>> y = [0] * 30 + [1] * 10 + [0] * 20 + [1] * 20 + [0] * 10 + [1] * 30
    >>> encoder = SamplingBayesianEncoder(kinds={"size": Ordinal(["S", "M", "L", "XL"])}).fit(X, y)
    >>> encoder.posteriors_["size"].set_index("category").loc[["S", "M", "L", "XL"], ["count", "mean"]].round(2)
              count  mean
    category
    S          40.0  0.29
    M          40.0  0.49
    L           0.0  0.55
    XL         40.0  0.72
    """

    levels: Sequence[Any] | None = None
    cyclic: bool = False
    monotone: Monotone | None = None

    advice_on_unseen: ClassVar[str | None] = "Name all levels in Ordinal(levels)."

    def __post_init__(self) -> None:
        """Store the levels as a tuple."""
        super().__post_init__()
        if self.levels is None:
            return
        if isinstance(self.levels, str) or not len(levels := tuple(canonical_list(list(self.levels)))):
            raise InputError(f"Ordinal: levels={self.levels!r}: expected all levels in their order, the lowest first.")
        if None in levels or len(set(levels)) < len(levels):
            raise InputError(f"Ordinal: levels={self.levels!r}: expected each level once, and none that is missing.")
        object.__setattr__(self, "levels", levels)

    def read(self, column: Any, name: Any, target: Any, weight: Any) -> tuple[Categories, Codes]:
        """Values are names; the type of the column may give their order."""
        found, codes = Categories.of(column)
        return Categories(found.values, declared_levels(column)), codes

    def index(self, seen: Index, name: Any, peers: Sequence[Index] = ()) -> Index:
        """All levels in their order."""
        levels = self._in_order(seen.sources[0], name)
        if len(levels) > MOST_LEVELS:
            raise InputError(
                f"Ordinal: column {name!r} has {len(levels)} levels, more than {MOST_LEVELS}. Use Bins() for numbers, "
                "or leave the order out."
            )
        return replace(Index.of_column(Categories(levels)), kind=self)

    def _in_order(self, seen: Categories, name: Any) -> tuple[Any, ...]:
        values: tuple[Any, ...] = tuple(seen.values)
        levels = self.levels if self.levels is not None else seen.declared
        if levels is not None:
            if unknown := [value for value in values if value not in set(levels)]:
                raise InputError(
                    f"Ordinal: column {name!r} holds {unknown[:3]}, and the levels are {list(levels)[:20]}. Name all "
                    "levels, in the type that the column has."
                )
            return tuple(levels)
        if seen.is_text and values:
            raise InputError(
                f"Ordinal: column {name!r} holds text, which has no order. Give the levels, the lowest first, such as "
                f"Ordinal({list(values[:3])!r}), or an ordered categorical."
            )
        whole = set(map(type, values)) == {int}
        if whole and values[-1] - values[0] < 4 * len(values) + 10:  # with those between them that no row has
            return tuple(range(values[0], values[-1] + 1))
        return values
