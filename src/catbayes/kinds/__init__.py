"""What the values of a column are, if they are more than names: levels in an order, numbers in bins, sets, typed text.

An encoder takes `kinds={"hour": Ordinal(cyclic=True), "age": Bins(20)}`. A kind defines how values become categories,
and how these are linked, so that a rare category learns from those that it is linked to. Adding a kind takes one file
and a line here.
"""

from catbayes.kinds.bins import Bins
from catbayes.kinds.kind import Kind
from catbayes.kinds.nested import Nested
from catbayes.kinds.ordinal import Ordinal
from catbayes.kinds.shared import Shared
from catbayes.kinds.spellings import Spellings
from catbayes.kinds.tags import Tags

__all__ = [
    "KINDS",
    "Bins",
    "Kind",
    "Nested",
    "Ordinal",
    "Shared",
    "Spellings",
    "Tags",
]

KINDS: dict[str, type[Kind]] = {kind.__name__: kind for kind in (Bins, Nested, Ordinal, Shared, Spellings, Tags)}
"""By their names."""
