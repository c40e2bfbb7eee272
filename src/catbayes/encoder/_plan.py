"""What is added to the rows of a table, batch by batch: expectations, or draws keyed by row identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes._keyed import Keys, row_keys
from catbayes._validation import Array, check_count, check_weights
from catbayes.encoder._base import PosteriorEncoder
from catbayes.encoder._column import EncodedColumn
from catbayes.encoder._training import draw_rows
from catbayes.encoder.sampling import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.evidence import Target, read_target
from catbayes.families import Family
from catbayes.sources import Batch
from catbayes.tables import Table, no_column


@dataclass(frozen=True, slots=True)
class Plan:
    """What to add to each row, checked once for all batches."""

    encoder: Any
    n_draws: int | None
    row_id: str | None
    target: str | None
    weight: str | None
    drop: bool

    @classmethod
    def of(
        cls,
        encoder: Any,
        n_draws: int | None,
        row_id: str | None = None,
        target: str | None = None,
        weight: str | None = None,
        drop: bool = False,
    ) -> Plan:
        """Check that the encoder can do what is asked."""
        if not isinstance(encoder, PosteriorEncoder) or not hasattr(encoder, "columns_fitted_"):
            raise InputError(f"encoder is a {type(encoder).__name__}: expected a fitted encoder of catbayes.")
        if not hasattr(encoder, "feature_names_in_"):
            raise InputError("The encoder was fitted on an array, so its columns have no names. Fit it on a frame.")
        if n_draws is None:
            if target is not None:
                raise InputError(
                    "target without n_draws: an expectation that leaves a row's own target out would give the target "
                    "away. Ask for draws, such as n_draws=1."
                )
            return cls(encoder, None, row_id, None, weight, drop)
        check_count("n_draws", n_draws)
        if not isinstance(encoder, SamplingBayesianEncoder):
            raise InputError(f"A {type(encoder).__name__} makes no draws. Leave n_draws out.")
        if target is not None and encoder.own_target == "ordered":
            raise InputError(
                'target: own_target="ordered" needs all rows in their order, which fit_transform has and a stream of '
                'rows has not. Use own_target="exclude" here.'
            )
        if target is not None:
            known = any(c.mapping.known(c.posterior.posterior) is not None for c in encoder.columns_fitted_)
            if known or not encoder._hides:
                raise InputError(
                    "target: with these settings of the encoder a draw would not hide that the row's own target was "
                    'left out. Use draw_per="row", a temperature of 0.3 or more, weights near 1, and a mapping that is '
                    "all drawn."
                )
            if encoder._weighted and weight is None:
                raise InputError(
                    "The encoder's rows do not count as one each (sample_weight, exposure or forget): name the column "
                    "that says how much, weight=…."
                )
        return cls(encoder, n_draws, row_id, target, weight, drop)

    @property
    def columns(self) -> list[EncodedColumn]:
        """The columns to encode."""
        return list(self.encoder.columns_fitted_)

    @property
    def text(self) -> tuple[str, ...]:
        """Columns that hold text, whatever they look like in a CSV file."""
        found = tuple(self.encoder.evidence_.texts)
        classes = self.encoder.classes_
        words = classes is not None and all(isinstance(label, str) for label in classes.tolist())
        return (*found, self.target) if words and self.target is not None else found

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the columns that the encoder was fitted on."""
        return tuple(self.encoder.evidence_.inputs)

    @property
    def replaced(self) -> list[str]:
        """Names of the columns that are encoded one by one, which `drop` leaves out."""
        return [column.name for column in self.columns if not column.is_interaction]

    def names(self, column: EncodedColumn) -> list[str]:
        """What the new columns are called."""
        kinds = ["encoded"] if self.n_draws is None else [f"draw{k}" for k in range(self.n_draws)]
        return ["_".join(filter(None, (column.label, kind, o))) for kind in kinds for o in column.mapping.names()]

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
        """New columns of a batch of rows."""
        table = Table.of(batch.table)
        positions = {name: position for position, name in enumerate(table.names)}

        def values(name: str) -> Any:
            return table.values(positions[name])

        identity = target = weight = None
        if self.n_draws is not None:
            numbers = np.arange(batch.start, batch.start + table.n_rows)
            ids = (batch.file, numbers) if self.row_id is None else values(self.row_id)
            identity = row_keys(ids, table.n_rows)
        if self.target is not None:
            evidence = self.encoder.evidence_
            target = read_known_target(values(self.target), evidence.family, evidence.classes, self.target)
        if self.weight is not None:
            weight = check_weights(values(self.weight), table.n_rows, whole=False)

        def encode_column(item: tuple[EncodedColumn, Any]) -> list[Array]:
            return self.blocks(*item, identity, target, weight)

        codes = self.encoder._codes(lambda part: table.column(positions[self.inputs[part]]))
        blocks = self.encoder._parallel(encode_column, list(zip(self.columns, codes, strict=True)))
        found: dict[str, Array] = {}
        for column, parts in zip(self.columns, blocks, strict=True):
            features = np.concatenate(parts, axis=1)
            found |= dict(zip(self.names(column), features.T, strict=True))
        return found

    def blocks(
        self, column: EncodedColumn, codes: Any, identity: Keys | None, target: Target | None, weight: Array | None
    ) -> list[Array]:
        """The expectation, or each draw, of a column, (row, output)."""
        if self.n_draws is None:
            return [column.expectation[codes]]
        return draw_rows(self.encoder, column, codes, self.n_draws, self.encoder._seed, identity, target, weight)


def read_known_target(y: Any, family: type[Family], classes: Any, name: str) -> Target:
    """Translate the targets of rows that were trained on, as they were then."""
    known = None if classes is None else classes.tolist()
    target = read_target(np.asarray(y), family, len(y), known)
    if known is not None and target.classes is not None and len(target.classes) > len(known):
        strangers = sorted({*target.classes.tolist()} - {*known}, key=str)
        raise InputError(f"Target {name!r} holds classes that fit never saw, such as {strangers[:3]}.")
    return target
