"""Encode one column by itself, or several together, with an encoder of any library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import TargetEncoder

from catbayes.core.table import Table, find_column
from catbayes.core.validation import Array, is_number
from catbayes.errors import InputError


def check_encoder(encoder: Any) -> None:
    """Require something to clone, fit and transform with."""
    if isinstance(encoder, type) or not (hasattr(encoder, "fit_transform") and hasattr(encoder, "get_params")):
        raise InputError(
            f"encoder={encoder!r}: expected a transformer with scikit-learn's fit_transform(X, y) and transform(X), "
            "such as SamplingBayesianEncoder()."
        )


def for_columns(encoder: Any, table: Table, positions: Sequence[int], *, classes: bool, seed: int) -> Any:
    """Clone an encoder for a table of these columns, with a seed; for a single one without interactions."""
    encoder = clone(encoder)
    known = encoder.get_params(deep=False)
    if len(positions) == 1 and "interactions" in known:
        encoder.set_params(interactions=None)
    if len(positions) == 1 and known.get("kinds"):
        every = known["kinds"].items()
        alone = [(name, kind) for name, kind in every if not isinstance(name, tuple) and not kind.parent_columns]
        by_position = {find_column(table.names, name, "kinds"): kind for name, kind in alone}
        encoder.set_params(kinds={0: by_position[positions[0]]} if positions[0] in by_position else None)
    if "columns" in known:
        encoder.set_params(columns="all")
    if known.get("random_state", 0) is None:
        encoder.set_params(random_state=seed)
    seed_in_folds = isinstance(encoder, TargetEncoder) and known.get("random_state", "deprecated") == "deprecated"
    if seed_in_folds and is_number(encoder.cv):  # from scikit-learn 1.9 on
        folds = StratifiedKFold if classes else KFold
        encoder.set_params(cv=folds(encoder.cv, shuffle=True, random_state=seed))
    if "cols" in known:  # category_encoders reads it in the constructor only, and names columns of an array by numbers
        own = list(range(len(positions))) if table.frame is None else [table.names[position] for position in positions]
        return type(encoder)(**(encoder.get_params(deep=False) | {"cols": own}))
    return encoder


def part(table: Table, positions: Sequence[int], rows: Any = slice(None)) -> Any:
    """Columns of some rows, as a table of the same kind."""
    if table.frame is None:
        assert table.array is not None
        return table.array[rows][:, positions]
    return table.frame[rows, list(positions)].to_native()


def outputs(encoded: Any) -> Array:
    """What a transformer returned, as an array."""
    dense = encoded.toarray() if hasattr(encoded, "toarray") else encoded
    return np.asarray(dense, dtype=np.float64)
