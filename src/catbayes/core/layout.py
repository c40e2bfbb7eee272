"""Where outputs go, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from catbayes.core.column import FittedColumn
from catbayes.core.selection import ColumnSpec
from catbayes.core.table import Table
from catbayes.core.validation import Array
from catbayes.effects.slopes import Slope
from catbayes.errors import InputError

__all__ = ["Layout"]


@dataclass(frozen=True, slots=True)
class Layout:
    """Places and names of outputs: those of each input column, or itself where it passes through, then interactions."""

    outputs: tuple[tuple[str, ...], ...]  # of each input column and interaction, after its name
    places: tuple[slice, ...]  # among all outputs
    passing: tuple[int, ...]  # input columns that are not encoded
    encoded: tuple[int, ...]  # position of each encoded column
    interactions: tuple[ColumnSpec, ...]
    slopes: tuple[tuple[int, int, int, Slope], ...] = ()  # places of an effect, its slope, and the slope's number

    @classmethod
    def of(cls, n_inputs: int, columns: Sequence[FittedColumn] = (), dropped: Sequence[int] = ()) -> Self:
        """Lay out the outputs of some columns, and the others as they are but for those that are dropped."""
        names: dict[int, tuple[str, ...]] = dict.fromkeys(dropped, ())
        names |= {column.position: column.outputs for column in columns}
        passing = tuple(position for position in range(n_inputs) if position not in names)
        interactions = tuple(column for column in columns if column.is_interaction)
        every = tuple(names.get(position, ("",)) for position in range(n_inputs + len(interactions)))
        stops = np.cumsum([len(own) for own in every]).tolist()
        places = tuple(slice(stop - len(own), stop) for stop, own in zip(stops, every, strict=True))
        return cls(every, places, passing, tuple(column.position for column in columns), interactions)

    def add_slopes(self, columns: Any) -> None:
        """Add slopes times the numbers of the row to its effects, in place, (output, row)."""
        for effect, own, number, slope in self.slopes:
            columns[effect] = columns[effect] + slope.factor(_numbers(columns[number])) * columns[own]

    def names(self, inputs: list[Any]) -> list[str]:
        """Name the outputs, from the names of the input columns."""
        columns = [*inputs, *("&".join(str(inputs[part]) for part in c.parts) for c in self.interactions)]
        pairs = zip(columns, self.outputs, strict=True)
        return ["_".join(filter(None, (str(name), output))) for name, outputs in pairs for output in outputs]

    def distinct_names(self, inputs: list[Any]) -> list[str]:
        """Name the outputs, of which no two may be the same."""
        names = self.names(inputs)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"Two outputs would be called {twice!r}. Rename the input column of that name.")
        return names

    def stack(self, table: Table, blocks: Iterable[Array]) -> np.ndarray[Any, Any]:
        """Make one array of all features, of objects if a column that passes through holds no numbers."""
        dtype = np.float64 if not self.passing or table.numeric(list(self.passing)) else object
        features = np.empty((table.n_rows, self.places[-1].stop), dtype=dtype, order="F")
        following = iter(blocks)
        for position in self.encoded:  # one block is in memory at a time
            features[:, self.places[position]] = next(following)
        for position in self.passing:
            features[:, self.places[position].start] = table.values(position)
        self.add_slopes(features.T)
        return features

    def frame(self, table: Table, blocks: Iterable[Array], names: Any, library: str) -> Any:
        """Make a frame of pandas or polars of all features; columns that pass through have their own types."""
        assert table.frame is not None
        passing = table.frame[:, list(self.passing)]
        native = passing.to_pandas() if library == "pandas" else passing.to_polars()
        columns: list[Any] = [None] * len(names)
        for position, name in zip(self.passing, native.columns, strict=True):
            columns[self.places[position].start] = native[name]
        for position, block in zip(self.encoded, blocks, strict=True):
            columns[self.places[position]] = block.T
        self.add_slopes(columns)
        data = dict(zip(names, columns, strict=True))
        return type(native)(data, index=native.index) if library == "pandas" else type(native)(data)


def _numbers(values: Any) -> Array:
    """Read the column that slopes are of as numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"A column that categories have slopes of must hold numbers: {error}.") from error
