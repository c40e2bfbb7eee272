"""Reading what the user gave: the table, the target, the ids of rows, and names."""

from __future__ import annotations

from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from catbayes.core.fitted import Fitted
from catbayes.core.random import Keys, row_keys
from catbayes.core.rows import take_named
from catbayes.core.table import Table, no_column
from catbayes.errors import InputError


def read_table(X: Any, estimator: Any) -> Table:
    """Wrap X; whatever is no frame must become a two-dimensional array."""
    if isinstance(X, str | PathLike):
        raise InputError(f"X is a path, {str(X)!r}: catbayes.encode encodes files, and fit learns from them.")
    if Table.is_frame(X) or type(X) is dict or _is_series(X):  # some sparse arrays are dictionaries too
        table = Table.of(X)  # says what to make of those that are no frames
        if table.n_rows == 0 or len(table.names) == 0:
            raise InputError(
                f"X has {table.n_rows} rows and {len(table.names)} columns: expected at least one of each."
            )
        kinds = {type(name).__name__ for name in table.names}
        if "str" in kinds and len(kinds) > 1:
            raise InputError(f"Column names are of several types, {', '.join(sorted(kinds))}: turn them all into text.")
        return table
    array = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):  # a list of mixed cells, turned into text
        array = check_array(X, dtype=object, ensure_all_finite=False, estimator=estimator, input_name="X")
    return Table.of(array)


def _is_series(X: Any) -> bool:
    return isinstance(nw.from_native(X, series_only=True, pass_through=True), nw.Series)


def read_new(X: Any, fitted: Any) -> Table:
    """Wrap a table like the one that an encoder or a model was fitted on."""
    check_is_fitted(fitted)
    table = read_table(X, fitted)
    validate_data(fitted, table.native, reset=False, skip_check_array=True)
    return table


def new_seed(random_state: Any) -> int:
    """A seed for draws, from whatever scikit-learn takes for one."""
    return new_seeds(random_state, 1)[0]


def new_seeds(random_state: Any, number: int) -> list[int]:
    """Several seeds; the first ones do not change when more are asked for."""
    try:
        random = check_random_state(random_state)
    except ValueError as error:
        raise InputError(
            f"random_state={random_state!r}: expected a whole number from 0 to 2**32 - 1, a numpy.random.RandomState "
            "or None. Of a Generator, draw a number: int(generator.integers(2**32))."
        ) from error
    return [int(seed) for seed in random.randint(np.iinfo(np.int32).max, size=number)]


def library_of(X: Any) -> Any:
    """The library that a table came in, as narwhals names it; None for an array, files and the like."""
    frame = nw.from_native(X, pass_through=True)
    return frame.implementation if isinstance(frame, nw.DataFrame) or type(X).__module__.startswith("polars") else None


def read_y(y: Any) -> np.ndarray[Any, Any]:
    """Read a target in memory as an array with one value for each row."""
    if y is None:
        raise InputError("The encoder requires y to be passed, but the target y is None.")
    y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if y.ndim == 2 and y.shape[1] > 1:
        raise InputError(
            f"y has {y.shape[1]} columns: expected one target. MultiTargetEncoder(encoder) encodes towards each of "
            "them."
        )
    return np.asarray(column_or_1d(y, warn=True))


def read_targets(table: Table, y: Any) -> tuple[Table, dict[Any, Any]]:
    """Take several targets, of an array, a frame or columns of the table, by name or number; also the table without."""
    named = [y] if isinstance(y, str) else list(y) if isinstance(y, list | tuple) else []
    if named and all(isinstance(name, str) and name in table.names for name in named) and len({*named}) == len(named):
        table, *values = take_named(table, *named)
        return table, dict(zip(named, values, strict=True))
    if y is None:
        read_y(y)
    if Table.is_frame(y):
        targets = Table.of(y)
        return table, {name: targets.values(i) for i, name in enumerate(targets.names)}
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return table, {series.name or 0: series.to_numpy()}
    array = np.asarray(y)
    if array.dtype.kind in "US" and not isinstance(y, np.ndarray):  # a list of mixed cells, turned into text
        array = np.asarray(y, dtype=object)
    if array.ndim > 2:
        raise InputError(f"y has {array.ndim} dimensions: expected a row for each row of X, and a column a target.")
    return table, dict(enumerate(array.T)) if array.ndim == 2 else {0: read_y(array)}


def read_row_keys(table: Table, row_id: Any) -> Keys:
    """Keys of the rows, from their ids or from the column of the table that holds them."""
    if isinstance(row_id, str):
        if row_id not in table.names:
            raise no_column(row_id, table.names)
        row_id = table.column(table.names.index(row_id))
    if not isinstance(row_id, tuple):
        series = nw.from_native(row_id, series_only=True, pass_through=True)
        row_id = series.to_numpy() if isinstance(series, nw.Series) else row_id
    return row_keys(row_id, table.n_rows)


def input_names(fitted: Any, given: Any = None) -> list[Any]:
    """Names of the columns that an estimator was fitted on; those given must agree with them."""
    known = getattr(fitted, "feature_names_in_", None)
    if given is None:
        return list(known) if known is not None else [f"x{i}" for i in range(fitted.n_features_in_)]
    if known is not None and list(known) != list(given):
        raise ValueError("input_features is not equal to feature_names_in_")
    if len(given) != fitted.n_features_in_:
        raise ValueError("input_features should have length equal to number of features")
    return list(given)


def fitted_encoding(model: Any) -> Fitted:
    """What was learnt by the fitted encoder of ours that was given, or by that of a fitted sampling model."""
    check_is_fitted(model)
    encoding = getattr(getattr(model, "encoder_", model), "encoding_", None)
    if not isinstance(encoding, Fitted):
        raise InputError(
            f"{model!r} has no encoded columns: expected a fitted SamplingBayesianEncoder, or a "
            "sampling model with a categorical column."
        )
    return encoding
