"""What is added to the rows of a table, batch by batch: expectations, or draws keyed by row identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.core.column import FittedColumn
from catbayes.core.fitted import Fitted
from catbayes.core.leakage import require_single_rows
from catbayes.core.random import row_keys
from catbayes.core.table import Table, no_column
from catbayes.core.target import Target, check_weights, read_target
from catbayes.core.validation import Array, check_count
from catbayes.errors import InputError
from catbayes.families import Family
from catbayes.io.sources import Batch


@dataclass(frozen=True, slots=True)
class Plan:
    """What to add to each row, checked once for all batches."""

    encoding: Fitted
    n_draws: int | None
    row_id: str | None
    target: str | None
    weight: str | None
    drop: bool

    @classmethod
    def of(
        cls,
        encoding: Fitted,
        n_draws: int | None = None,
        row_id: str | None = None,
        target: str | None = None,
        weight: str | None = None,
        drop: bool = False,
    ) -> Plan:
        """Check that the encoding can do what is asked."""
        if encoding.layout.slopes:
            raise InputError(
                "effects.slopes: what a row has of a slope goes by its numbers, which files, queries and graphs do not "
                "look up. Use effects=True for them."
            )
        if not all(isinstance(name, str) for name in encoding.evidence.inputs):
            raise InputError("The encoder was fitted on an array, so its columns have no names. Fit it on a frame.")
        if n_draws is None:
            if target is not None:
                raise InputError(
                    "target without n_draws: an expectation that leaves a row's own target out would give the target "
                    "away. Ask for draws, such as n_draws=1."
                )
            return cls(encoding, None, row_id, None, weight, drop)
        check_count("n_draws", n_draws)
        if target is not None:
            require_single_rows(encoding, weighted=weight is not None)
        return cls(encoding, n_draws, row_id, target, weight, drop)

    @property
    def columns(self) -> tuple[FittedColumn, ...]:
        """The columns to encode."""
        return self.encoding.columns

    def require_listed(self) -> None:
        """Refuse categories that are not looked up by their values, where nothing else is."""
        for column in self.columns:
            if not column.index.listed:
                raise InputError(
                    f"kinds: column {column.label!r} is not looked up by its values, which is all that queries and "
                    "graphs do. Use catbayes.encode, or transform."
                )

    @property
    def is_text(self) -> dict[str, bool]:
        """Whether columns hold text, whatever they look like in a CSV file."""
        found, classes = self.encoding.evidence.is_text, self.encoding.evidence.classes
        if self.target is not None and classes is not None and all(isinstance(label, str) for label in classes):
            found[self.target] = True
        return found

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the columns that the encoder was fitted on."""
        return tuple(self.encoding.evidence.inputs)

    @property
    def replaced(self) -> list[str]:
        """Names of the columns that are encoded one by one, which `drop` leaves out."""
        return [column.name for column in self.columns if not column.is_interaction]

    def names(self, column: FittedColumn) -> list[str]:
        """What the new columns are called."""
        kinds = ["encoded"] if self.n_draws is None else [f"draw{k}" for k in range(self.n_draws)]
        return ["_".join(filter(None, (column.label, kind, o))) for kind in kinds for o in column.outputs]

    @property
    def added(self) -> list[str]:
        """Names of all new columns."""
        return [name for column in self.columns for name in self.names(column)]

    def check(self, names: list[str]) -> None:
        """Require the columns that are needed, and room for the new ones."""
        parts = dict.fromkeys(part for column in self.columns for part in column.parts)
        wanted = [*(self.inputs[part] for part in parts), self.row_id, self.target, self.weight]
        for name in wanted:
            if name is not None and name not in names:
                raise no_column(name, names)
        if len(set(self.added)) < len(self.added):
            raise InputError(f"Two new columns would have one name, among {self.added}. Rename classes or columns.")
        for name in self.added:
            if name in names:
                raise InputError(f"The table has a column {name!r} already. Rename it, or encode another table.")

    def apply(self, batch: Batch) -> dict[str, Array]:
        """New columns of a batch of rows, which are identified by their file and number unless there is a `row_id`."""
        table = Table.of(batch.table)
        numbers = np.arange(batch.start, batch.start + table.n_rows)
        return self.encode(table, row_keys((batch.file, numbers), table.n_rows) if self.row_id is None else None)

    def encode(self, table: Table, identity: Any) -> dict[str, Array]:
        """New columns of some rows; their keys come from `row_id` if there is one."""
        positions = {name: position for position, name in enumerate(table.names)}

        def values(name: str) -> Any:
            return table.values(positions[name])

        def column_of(part: int) -> Any:
            return table.column(positions[self.inputs[part]])

        encoding = self.encoding.extended(column_of)
        slots = encoding.slots(column_of)
        if self.n_draws is None:
            return self._named([[block] for block in encoding.expectation(slots)])
        if self.row_id is not None:
            identity = row_keys(values(self.row_id), table.n_rows)
        if self.target is None:
            return self._named(encoding.draws(slots, self.n_draws, identity=identity))
        evidence = encoding.evidence
        target = read_known_target(values(self.target), evidence.family, evidence.classes, self.target)
        weight = None if self.weight is None else check_weights(values(self.weight), table.n_rows, whole=False)
        return self._named(encoding.draws(slots, self.n_draws, identity=identity, target=target, weight=weight))

    def _named(self, blocks: list[list[Array]]) -> dict[str, Array]:
        """New columns by their names, from the blocks of each column."""
        found: dict[str, Array] = {}
        for column, parts in zip(self.columns, blocks, strict=True):
            found |= zip(self.names(column), np.concatenate(parts, axis=1).T, strict=True)
        return found


def read_known_target(y: Any, family: type[Family], classes: Any, name: str) -> Target:
    """Translate the targets of rows that were trained on, as they were then."""
    known = None if classes is None else classes.tolist()
    target = read_target(np.asarray(y), family, len(y), known)
    if known is not None and target.classes is not None and len(target.classes) > len(known):
        unknown = sorted({*target.classes.tolist()} - {*known}, key=str)
        raise InputError(f"Target {name!r} holds classes that fit never saw, such as {unknown[:3]}.")
    return target
