"""Categories that lie within others: postcodes in regions, regions in countries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import narwhals as nw

from catbayes.core.categories import canonical_list, cells_of
from catbayes.core.combinations import Index
from catbayes.core.table import Table
from catbayes.errors import InputError, warn
from catbayes.kinds.kind import Kind
from catbayes.kinds.links import Links
from catbayes.kinds.tree import Tree


@dataclass(frozen=True)
class Nested(Kind):
    """Categories within parents: the prior of a category is centred on its parent, with a strength from the data.

    An unseen postcode is encoded by its region, and a postcode of an unseen region by its country.

    Parameters
    ----------
    parents : list of columns, dictionary, or frame
        Columns of the table with the parents, the closest first: `["region", "country"]`. Or the parent of each
        category, `{"0150": "Oslo"}`, or a tuple of parent, grandparent and so on. Or a frame with the categories in its
        first column and their parents in the next. A dictionary or frame may name categories that were never seen.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.kinds import Nested
    >>> X = pd.DataFrame({"city": ["Oslo", "Bergen", "Rome", "Milan"] * 20})
    >>> countries = {"Oslo": "Norway", "Bergen": "Norway", "Rome": "Italy", "Milan": "Italy", "Turin": "Italy"}
    >>> encoder = SamplingBayesianEncoder(kinds={"city": Nested(countries)}).fit(X, [0, 0, 1, 1] * 20)
    >>> bool(encoder.transform(pd.DataFrame({"city": ["Turin"]}))[0, 0] > 0.9)  # never seen, but in Italy
    True
    """

    parents: Any

    links: ClassVar[type[Links]] = Tree

    def __post_init__(self) -> None:
        """Read the parents once, so that what was given may change."""
        given = self.parents
        object.__setattr__(self, "parents", tuple(given) if _is_column_list(given) else _read_parents(given))

    @property
    def parent_columns(self) -> tuple[Any, ...]:
        """Columns of the table with the parents, the closest first; none if a table of parents was given."""
        return self.parents if isinstance(self.parents, tuple) else ()

    def index(self, seen: Index, name: Any, peers: Sequence[Index] = ()) -> Index:
        """The categories that were seen, each below its ancestors."""
        if self.parent_columns:
            return replace(seen.nested(), kind=self)
        values = seen.sources[0].values
        if values and not {*values} & self.parents.keys():
            warn(
                f"Nested: the table of parents of {name!r} names none of its categories, such as {list(values[:3])}. "
                "Are they of the same type?"
            )
        return replace(seen.below(self.parents), kind=self)


def _is_column_list(parents: Any) -> bool:
    return isinstance(parents, list | tuple) and len(parents) > 0 and not any(isinstance(p, Mapping) for p in parents)


def _read_parents(parents: Any) -> dict[Any, tuple[Any, ...]]:
    """Ancestors of each category, the parent first."""
    found: dict[Any, tuple[Any, ...]] = {}
    if isinstance(parents, Mapping):
        above = [tuple(canonical_list(list(a) if isinstance(a, tuple | list) else [a])) for a in parents.values()]
        found = dict(zip(canonical_list(list(parents)), above, strict=True))
    elif Table.is_frame(parents):
        frame = nw.from_native(parents, eager_only=True)
        parts = [frame[:, number] for number in range(frame.shape[1])]
        cells = [cells_of(part.to_native()) if part.dtype.is_temporal() else part.to_list() for part in parts]
        children, *columns = map(canonical_list, cells)
        found = dict(zip(children, zip(*columns, strict=True), strict=True))
        if len(found) < len(children):
            raise InputError("Nested: the frame of parents names a category twice. Name each one once.")
    depths = {len(above) for above in found.values()}
    if len(depths) != 1 or depths == {0}:
        raise InputError(
            "Nested: expected a list of parent columns, such as ['region'], a dictionary of each category's parent (or "
            "of tuples of parent, grandparent, …, as many for all), or a frame with the categories in its first column "
            "and their parents in the next."
        )
    # Names and codes of one level may be used again in another; a hierarchy in which all are has no top.
    if {above[0] for above in found.values()} == {*found} and all(above[0] != child for child, above in found.items()):
        raise InputError(
            f"Nested: the parents are the categories themselves, such as {list(found)[:3]}, so that none is above the "
            "others. Give each category the group that it lies in."
        )
    return found
