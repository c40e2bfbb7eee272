"""Numbers in bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from catbayes.core.arrays import TINY
from catbayes.core.categories import Categories, numbers_of
from catbayes.core.combinations import Index
from catbayes.core.target import Target
from catbayes.core.validation import Array, Codes, check_count, is_number
from catbayes.errors import InputError
from catbayes.kinds.kind import Kind
from catbayes.kinds.random_walk import Monotone, OrderedKind

EVIDENCE = 3.0
"""Adjacent bins stay apart if their difference is e³ = 20 times as likely as none, which is called
strong evidence. With less, bins would also differ by chance, and a row's own target would contribute to that."""


@dataclass(frozen=True, slots=True)
class Cuts(Categories):
    """Bins as categories: a number has the slot of its bin, and none is unseen."""

    edges: tuple[float, ...] = ()

    listed: ClassVar[bool] = False
    fixed: ClassVar[bool] = True

    @classmethod
    def at(cls, edges: Sequence[float]) -> Cuts:
        """Bins between these numbers."""
        names = _apart_in_writing(edges)
        inner = [f"{low} to {high}" for low, high in pairwise(names)]
        labels = [f"below {names[0]}", *inner, f"{names[-1]} or more"] if names else ["any"]
        return cls(tuple(labels), edges=tuple(edges))

    def to_dict(self) -> dict[str, Any]:
        """All but the names of the bins, for a file."""
        return {"type": "Cuts", "edges": list(self.edges)}

    @classmethod
    def from_dict(cls, record: Any, values: Sequence[Any]) -> Cuts:
        """Read what `to_dict` made."""
        found = cls.at(Bins(record["edges"]).cuts)  # type: ignore[arg-type]
        if found.values != values:
            raise ValueError("the bins are not those of their cuts")
        return found

    @property
    def is_text(self) -> bool:
        """The column itself has numbers."""
        return False

    def place(self, numbers: Array) -> Codes:
        """The bin of each number; NaN is missing."""
        codes = np.searchsorted(self.edges, numbers, side="right")
        return np.where(np.isnan(numbers), self.missing, codes).astype(np.int32)

    def codes(self, column: Any) -> Codes:
        """Slot of each row of another column."""
        return self.place(_numbers(column, getattr(column, "name", "")))

    def union(self, other: Categories) -> tuple[Categories, Codes, Codes]:
        """The same bins, or none."""
        if other != self:
            raise InputError(
                f"Bins of two tables that were cut apart, at {list(self.edges)[:3]} … and elsewhere, cannot be joined. "
                "Give both the same cuts, Bins([…]), or use partial_fit."
            )
        same = np.arange(self.n_slots)
        return self, same, same


@dataclass(frozen=True)
class Bins(OrderedKind):
    """Numbers, cut into bins of about as many rows each, in their order: each is smoothed towards adjacent bins.

    Parameters
    ----------
    cuts : int or sequence of numbers, default=20
        How many bins, cut at quantiles, in which rows count by their weights; or where to cut: a bin has the numbers
        from a cut on and below the next.
        Encoders whose cuts were given can be merged, those whose cuts were found cannot.
    merge : bool, default=False
        Whether to join adjacent bins that do not differ, by the marginal likelihood of their rows. Narrow bins lose
        nothing, since they are smoothed; fewer ones are easier to describe.
    cyclic : bool, default=False
        Whether the last bin is adjacent to the first: directions, times of day.
    monotone : "increasing", "decreasing", or None
        Whether means only rise, or only fall, from bin to bin: isotonic regression of the posterior means. A row's own
        target is then excluded by folds.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.kinds import Bins
    >>> age = np.tile(np.arange(20, 80), 50)
    >>> y = np.where(age < 40, 1.0, 3.0) + np.random.default_rng(0).normal(size=3000)
    >>> encoder = SamplingBayesianEncoder(kinds={"age": Bins(6, merge=True)}).fit(pd.DataFrame({"age": age}), y)
    >>> encoder.posteriors_["age"][["category", "kind", "count", "mean"]].round(1).fillna("")
         category    kind   count  mean
    0    below 40    seen  1000.0   1.0
    1  40 or more    seen  2000.0   3.0
    2              unseen     0.0   2.0
    """

    cuts: int | Sequence[float] = 20
    merge: bool = False
    cyclic: bool = False
    monotone: Monotone | None = None

    categories: ClassVar[type[Categories]] = Cuts
    in_memory: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Store the cuts as a tuple."""
        super().__post_init__()
        if is_number(self.cuts):
            object.__setattr__(self, "cuts", int(check_count("Bins.cuts", self.cuts, 2)))
            return
        try:
            edges = np.asarray(self.cuts, dtype=np.float64)
        except (TypeError, ValueError):
            edges = np.array([np.nan])
        if edges.ndim != 1 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise InputError(f"Bins.cuts={self.cuts!r}: expected a number of bins, or numbers that rise to cut at.")
        object.__setattr__(self, "cuts", tuple(edges.tolist()))

    def read(self, column: Any, name: Any, target: Target, weight: Array | None) -> tuple[Categories, Codes]:
        """Cut the numbers, and join what does not differ."""
        numbers = _numbers(column, name)
        edges = _quantiles(numbers, weight, self.cuts) if isinstance(self.cuts, int) else self.cuts
        found = Cuts.at(edges)
        codes = found.place(numbers)
        if not self.merge or not isinstance(self.cuts, int) or len(edges) < 1:
            return found, codes
        statistics = target.tally(codes, weight, found.n_slots)
        found = Cuts.at(_apart(edges, statistics, target, weight))
        return found, found.place(numbers)

    def index(self, seen: Index, name: Any, peers: Sequence[Index] = ()) -> Index:
        """The bins in their order."""
        if not isinstance(seen.sources[0], Cuts):
            raise InputError(f"Bins: column {name!r} was gathered without cuts. Give gather the same kinds.")
        return replace(seen, kind=self)

    def again(self, seen: Index) -> Kind:
        """The same cuts for more rows."""
        source = seen.sources[0]
        return replace(self, cuts=source.edges) if isinstance(source, Cuts) else self


def _numbers(column: Any, name: Any) -> Array:
    try:
        return numbers_of(column)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"Bins: column {name!r} holds more than numbers. Leave it out, or turn it into numbers."
        ) from error


def _apart_in_writing(edges: Sequence[float]) -> list[str]:
    """The edges in twelve digits, or in as many more as make them differ; seventeen are enough for any two numbers."""
    written = ([f"{edge:.{digits}g}" for edge in edges] for digits in range(12, 18))
    return next(names for names in written if len(set(names)) == len(edges))


def _quantiles(numbers: Array, weight: Array | None, n_bins: int) -> tuple[float, ...]:
    """Where to cut so that bins have about as many rows each; ties stay together.

    Of n rows in their order, the k-th is the first with (k - 1) / (n - 1) at the level or above. Weights count the rows
    that a row stands for, in units of the smallest, so that equal weights have no effect.
    """
    some = np.isfinite(numbers) if weight is None else np.isfinite(numbers) & (weight > 0.0)
    if not some.any():
        return ()
    order = np.argsort(numbers[some], kind="stable")
    known, rows = numbers[some][order], np.ones(len(order)) if weight is None else weight[some][order]
    before = np.cumsum(rows / rows.min()) - 1.0
    levels = before[-1] * np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    edges = np.unique(known[np.searchsorted(before, levels)])
    return tuple(edges[edges > known[0]].tolist())


def _apart(edges: Sequence[float], statistics: Any, target: Target, weight: Array | None) -> list[float]:
    """The cuts between neighbours that differ: the least likely of the others goes first.

    Rows count for one each, whatever their weights are, and for less where targets vary more than the family implies.
    """
    if not statistics.varies():
        return []
    prior: Any = target.family.empirical(statistics)
    row = 1.0 if weight is None else float((weight**2).sum() / max(weight.sum(), TINY))  # weight of a usual row
    statistics = statistics.scaled(1.0 / max(row * prior.dispersion(statistics, row), 1.0))
    bins, left = [statistics.take([slot]) for slot in range(len(edges) + 1)], list(edges)
    alone = [float(prior.log_marginal(one)[0]) for one in bins]

    def lost(place: int) -> float:
        joint = float(prior.log_marginal(bins[place] + bins[place + 1])[0])
        return alone[place] + alone[place + 1] - joint

    gains = [lost(place) for place in range(len(left))]
    while left and min(gains) < EVIDENCE:
        place = int(np.argmin(gains))
        bins[place : place + 2] = [bins[place] + bins[place + 1]]
        alone[place : place + 2] = [float(prior.log_marginal(bins[place])[0])]
        del left[place], gains[place]
        for near in (place - 1, place):
            if 0 <= near < len(gains):
                gains[near] = lost(near)
    return left
