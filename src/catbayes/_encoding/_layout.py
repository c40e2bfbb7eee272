"""Putting features in their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catbayes._encoding._column import EncodedColumn
from catbayes._validation import Array
from catbayes.tables import Table


class Layout:
    """Which outputs there are: those of each input column, or itself where it passes through, then the interactions."""

    def __init__(self, n_inputs: int, columns: Sequence[EncodedColumn], dropped: Sequence[int] = ()) -> None:
        self.columns = columns
        outputs: dict[int, list[str]] = {position: [] for position in dropped}
        outputs |= {column.position: column.mapping.names() for column in columns}
        self.passing = [position for position in range(n_inputs) if position not in outputs]
        self.interactions = [column for column in columns if column.is_interaction]
        n_all = n_inputs + len(self.interactions)
        self.outputs = [outputs.get(position, [""]) for position in range(n_all)]
        stops = np.cumsum([len(names) for names in self.outputs]).tolist()
        self.places = [slice(stop - len(names), stop) for stop, names in zip(stops, self.outputs, strict=True)]

    def names(self, inputs: list[Any]) -> list[str]:
        """Output names, from those of the input columns."""
        columns = [*inputs, *("&".join(str(inputs[part]) for part in c.parts) for c in self.interactions)]
        pairs = zip(columns, self.outputs, strict=True)
        return ["_".join(filter(None, (str(name), output))) for name, outputs in pairs for output in outputs]

    def stack(self, table: Table, blocks: Sequence[Array]) -> np.ndarray[Any, Any]:
        """All features as one array, of objects if a column that passes through holds no numbers."""
        dtype = np.float64 if not self.passing or table.numeric(self.passing) else object
        features = np.empty((table.n_rows, self.places[-1].stop), dtype=dtype, order="F")
        for column, block in zip(self.columns, blocks, strict=True):
            features[:, self.places[column.position]] = block
        for position in self.passing:
            features[:, self.places[position].start] = table.values(position)
        return features

    def frame(self, table: Table, blocks: Sequence[Array], names: Any, library: str) -> Any:
        """All features as a frame of pandas or polars, in which columns that pass through keep their types."""
        assert table.frame is not None
        kept = table.frame[:, self.passing]
        native = kept.to_pandas() if library == "pandas" else kept.to_polars()
        data: dict[str, Any] = dict.fromkeys(names)
        for position, name in zip(self.passing, native.columns, strict=True):
            data[names[self.places[position].start]] = native[name]
        for column, block in zip(self.columns, blocks, strict=True):
            data |= zip(names[self.places[column.position]], block.T, strict=True)
        return type(native)(data, index=native.index) if library == "pandas" else type(native)(data)
