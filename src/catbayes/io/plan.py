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


@dataclass(frozen=True, slots=True)
class Plan:
    """What to add to each row, checked once for all batches."""

    encoding: Fitted
    n_draws: int | None = None
    row_id: str | None = None
    target: str | None = None
    weight: str | None = None
    drop: bool = False

    def __post_init__(self) -> None:
        """Check that the encoding can do what is asked."""
        if self.encoding.layout.slopes:
            raise InputError(
                "The encoder has slopes, which depend on the numbers of a row, and lookup tables have none. Use "
                "effects=True, or to_onnx of the model."
            )
        if not all(isinstance(name, str) for name in self.encoding.evidence.inputs):
            raise InputError("The encoder was fitted on an array, so its columns have no names. Fit it on a frame.")
        if self.n_draws is not None:
            check_count("n_draws", self.n_draws)
            if self.target is not None:
                require_single_rows(self.encoding, weighted=self.weight is not None)
        elif self.target is not None:
            raise InputError(
                "target without n_draws: an expectation that leaves a row's own target out would give the target "
                "away. Ask for draws, such as n_draws=1."
            )

    @property
    def is_text(self) -> dict[str, bool]:
        """Whether columns hold text, whatever they look like in a CSV file."""
        found, classes = self.encoding.evidence.is_text, self.encoding.evidence.classes
        if self.target is not None and classes is not None and all(isinstance(label, str) for label in classes):
            found[self.target] = True
        return found

    @property
    def replaced(self) -> list[str]:
        """Names of the columns that are encoded one by one, which `drop` leaves out."""
        return [column.name for column in self.encoding.columns if not column.is_interaction]

    def names(self, column: FittedColumn) -> list[str]:
        """What the new columns are called."""
        kinds = ["encoded"] if self.n_draws is None else [f"draw{k}" for k in range(self.n_draws)]
        return ["_".join(filter(None, (column.label, kind, o))) for kind in kinds for o in column.outputs]

    @property
    def added(self) -> list[str]:
        """Names of all new columns."""
        return [name for column in self.encoding.columns for name in self.names(column)]

    def check(self, names: list[str]) -> None:
        """Require the columns that are needed, and room for the new ones."""
        inputs = self.encoding.evidence.inputs
        parts = dict.fromkeys(part for column in self.encoding.columns for part in column.parts)
        for name in (*(inputs[part] for part in parts), self.row_id, self.target, self.target and self.weight):
            if name is not None and name not in names:
                raise no_column(name, names)
        if len(set(self.added)) < len(self.added):
            raise InputError(f"Two new columns would have one name, among {self.added}. Rename classes or columns.")
        for name in self.added:
            if name in names:
                raise InputError(f"The table has a column {name!r} already. Rename it, or encode another table.")

    def encode(self, table: Table, rows: Any) -> dict[str, Array]:
        """New columns of some rows; `rows`, their files and numbers, identify them unless there is a `row_id`."""
        positions = {name: position for position, name in enumerate(table.names)}
        evidence = self.encoding.evidence

        def values(name: str) -> Any:
            return table.values(positions[name])

        def column_of(part: int) -> Any:
            return table.column(positions[evidence.inputs[part]])

        encoding = self.encoding.extended(column_of)
        slots = encoding.slots(column_of)
        if self.n_draws is None:
            blocks = [[block] for block in encoding.expectation(slots)]
        else:
            given: dict[str, Any] = {}
            if self.target is not None:
                given["target"] = self._read_target(values(self.target))
                if self.weight is not None:
                    given["weight"] = check_weights(values(self.weight), table.n_rows, whole=False)
            identity = row_keys(rows if self.row_id is None else values(self.row_id), table.n_rows)
            blocks = encoding.draws(slots, self.n_draws, identity=identity, **given)
        found: dict[str, Array] = {}
        for column, parts in zip(self.encoding.columns, blocks, strict=True):
            found |= zip(self.names(column), np.concatenate(parts, axis=1).T, strict=True)
        return found

    def _read_target(self, y: Any) -> Target:
        """Translate the targets of rows that were trained on, as they were then."""
        evidence = self.encoding.evidence
        known = None if evidence.classes is None else evidence.classes.tolist()
        target = read_target(y, evidence.family, len(y), known)
        if known is not None and target.classes is not None and len(target.classes) > len(known):
            unknown = sorted({*target.classes.tolist()} - {*known}, key=str)
            raise InputError(f"Target {self.target!r} holds classes that fit never saw, such as {unknown[:3]}.")
        return target
