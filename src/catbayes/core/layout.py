"""Features in their places: those of a table, and draw after draw of those that a model trains on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.core.column import EncodedColumn
from catbayes.core.table import Table
from catbayes.core.validation import Array
from catbayes.effects.settings import EffectTable
from catbayes.effects.slopes import Slope
from catbayes.errors import InputError

__all__ = ["Layout", "TrainingDraws"]


class Layout:
    """Which outputs there are: those of each input column, or itself where it passes through, then the interactions."""

    def __init__(
        self,
        n_inputs: int,
        columns: Sequence[EncodedColumn],
        dropped: Sequence[int] = (),
        effects: Sequence[EffectTable | None] = (),
    ) -> None:
        self.columns = columns
        outputs: dict[int, list[str]] = {position: [] for position in dropped}
        outputs |= {column.position: column.outputs for column in columns}
        self.passing = [position for position in range(n_inputs) if position not in outputs]
        self.interactions = [column for column in columns if column.is_interaction]
        n_all = n_inputs + len(self.interactions)
        self.outputs = [outputs.get(position, [""]) for position in range(n_all)]
        stops = np.cumsum([len(names) for names in self.outputs]).tolist()
        self.places = [slice(stop - len(names), stop) for stop, names in zip(stops, self.outputs, strict=True)]

        self.slopes = list(self._slopes(effects))

    def _slopes(self, effects: Sequence[EffectTable | None]) -> Iterator[tuple[int, int, int, Slope]]:
        """Places of an effect, of a slope that belongs to it, and of the number that it is the slope of."""
        for column, table in zip(self.columns, effects, strict=False):
            if table is not None:
                start = self.places[column.position].start + len(column.mapping.names())
                for number, slope in enumerate(table.slopes, 1):
                    for place in range(start, start + table.n_parts):
                        yield place, place + number * table.n_parts, self.places[slope.position].start, slope

    def add_slopes(self, columns: Any) -> None:
        """Let effects be those at the numbers of the row: to each come its slopes, times these; (output, row)."""
        for effect, own, number, slope in self.slopes:
            columns[effect] = columns[effect] + slope.factor(_numbers(columns[number])) * columns[own]

    def names(self, inputs: list[Any]) -> list[str]:
        """Output names, from those of the input columns."""
        columns = [*inputs, *("&".join(str(inputs[part]) for part in c.parts) for c in self.interactions)]
        pairs = zip(columns, self.outputs, strict=True)
        return ["_".join(filter(None, (str(name), output))) for name, outputs in pairs for output in outputs]

    def distinct_names(self, inputs: list[Any]) -> list[str]:
        """Output names, of which no two are the same."""
        names = self.names(inputs)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"Two outputs would be called {twice!r}. Rename the input column of that name.")
        return names

    def stack(self, table: Table, blocks: Iterable[Array]) -> np.ndarray[Any, Any]:
        """All features as one array, of objects if a column that passes through holds no numbers."""
        dtype = np.float64 if not self.passing or table.numeric(self.passing) else object
        features = np.empty((table.n_rows, self.places[-1].stop), dtype=dtype, order="F")
        following = iter(blocks)
        for column in self.columns:  # none is held while the next one is made
            features[:, self.places[column.position]] = next(following)
        for position in self.passing:
            features[:, self.places[position].start] = table.values(position)
        self.add_slopes(features.T)
        return features

    def frame(self, table: Table, blocks: Iterable[Array], names: Any, library: str) -> Any:
        """All features as a frame of pandas or polars, in which columns that pass through keep their types."""
        assert table.frame is not None
        kept = table.frame[:, self.passing]
        native = kept.to_pandas() if library == "pandas" else kept.to_polars()
        data: dict[str, Any] = dict.fromkeys(names)
        for position, name in zip(self.passing, native.columns, strict=True):
            data[names[self.places[position].start]] = native[name]
        for column, block in zip(self.columns, blocks, strict=True):
            data |= zip(names[self.places[column.position]], block.T, strict=True)
        for effect, own, number, slope in self.slopes:
            line = slope.factor(_numbers(data[names[number]]))
            data[names[effect]] = data[names[effect]] + line * data[names[own]]
        return type(native)(data, index=native.index) if library == "pandas" else type(native)(data)


def _numbers(values: Any) -> Array:
    """The column that slopes are of, as numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"A column that categories have slopes of must hold numbers: {error}.") from error


@dataclass(frozen=True, slots=True, repr=False)
class TrainingDraws:
    """The features that a model trains on, one draw after the other: `features(k)` is draw k, the same at every call.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]
    >>> draws = SamplingBayesianEncoder(random_state=0).fit_draws(X, y)
    >>> for epoch in range(3):  # fresh draws for each epoch of a model of your own
    ...     features = draws.features(epoch)
    >>> features.shape
    (4, 1)
    """

    table: Table
    layout: Layout
    blocks: Callable[[int], Iterable[Array]]  # draw k of every encoded column, (row, output) each

    def features(self, k: int = 0) -> np.ndarray[Any, Any]:
        """Draw k of the training rows, (row, output), with the columns that are not encoded."""
        return self.layout.stack(self.table, self.blocks(k))

    def write(self, k: int, features: np.ndarray[Any, Any], rows: Any = slice(None)) -> None:
        """Put draw k of some rows into features that hold another one; columns that are not encoded stay."""
        for column, block in zip(self.layout.columns, self.blocks(k), strict=True):
            features[:, self.layout.places[column.position]] = block[rows]
        self.layout.add_slopes(features.T)

    def copies(self, n_draws: int, rows: Any = slice(None)) -> np.ndarray[Any, Any]:
        """Stack the first draws of some rows, one after the other: every column is copied once for each draw."""
        first = self.features()[rows]
        stacked = np.empty((n_draws * len(first), first.shape[1]), dtype=first.dtype, order="F")
        for k in range(n_draws):
            part = stacked[k * len(first) : (k + 1) * len(first)]
            part[:] = first
            if k:
                self.write(k, part, rows)
        return stacked

    def chunked(self, n_draws: int, first: Array, rows: Any = slice(None)) -> Any:
        """The same copies, the first of which is given, as a table of Arrow that has a chunk for each of them.

        Columns that are not encoded are held once.
        """
        import pyarrow

        columns = [[pyarrow.array(np.ascontiguousarray(column))] * n_draws for column in first.T]
        places = [self.layout.places[column.position] for column in self.layout.columns]
        for k in range(1, n_draws):
            part = list(first.T)
            for place, block in zip(places, self.blocks(k), strict=True):
                part[place] = block[rows].T
            self.layout.add_slopes(part)
            for place in places:
                for chunks, values in zip(columns[place], part[place], strict=True):
                    chunks[k] = pyarrow.array(np.ascontiguousarray(values))
        names = [f"Column_{number}" for number in range(len(columns))]  # as LightGBM calls those of an array
        return pyarrow.table([pyarrow.chunked_array(chunks) for chunks in columns], names=names)
