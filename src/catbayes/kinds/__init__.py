"""What the values of a column are, where they are more than names: levels in an order, numbers in bins.

An encoder is told by `kinds={"hour": Ordinal(cyclic=True), "age": Bins(20)}`. A kind says how values become
categories, and which of these lean on each other.
"""

from catbayes.kinds._bins import Bins, Cuts
from catbayes.kinds._kind import Kind, Said
from catbayes.kinds._ordinal import Ordinal
from catbayes.kinds._shared import Shared
from catbayes.kinds._spellings import Forms, Spellings, form_of
from catbayes.kinds._tags import Sets, Tags

__all__ = [
    "KINDS",
    "Bins",
    "Cuts",
    "Forms",
    "Kind",
    "Ordinal",
    "Said",
    "Sets",
    "Shared",
    "Spellings",
    "Tags",
    "form_of",
]

KINDS: dict[str, type[Kind]] = {kind.__name__: kind for kind in (Bins, Ordinal, Shared, Spellings, Tags)}
"""By their names."""
