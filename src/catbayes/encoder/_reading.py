"""Reading what the user gave: the table, the target, and the folds."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.model_selection import GroupKFold, KFold, check_cv
from sklearn.utils.validation import check_array, column_or_1d

from catbayes._keyed import Keys, row_keys
from catbayes._random import Purpose, stream
from catbayes._validation import Codes, is_number
from catbayes.categories import Categories, canonical_list
from catbayes.errors import InputError
from catbayes.evidence import Target, take_named
from catbayes.tables import Table, find_columns, no_column


def read_table(X: Any, estimator: Any) -> Table:
    """Wrap X; whatever is no frame must become a two-dimensional array."""
    if isinstance(X, str | PathLike):
        raise InputError(f"X is a path, {str(X)!r}: catbayes.encode encodes files, and fit learns from them.")
    if Table.is_frame(X):
        table = Table.of(X)
        if table.n_rows == 0 or table.n_columns == 0:
            raise InputError(f"X has {table.n_rows} rows and {table.n_columns} columns: expected at least one of each.")
        return table
    array = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):  # a list of mixed cells, turned into text
        array = check_array(X, dtype=object, ensure_all_finite=False, estimator=estimator, input_name="X")
    return Table.of(array)


def read_y(y: Any) -> np.ndarray[Any, Any]:
    """Take a target in memory as one array."""
    if y is None:
        raise InputError("The encoder requires y to be passed, but the target y is None.")
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise InputError(
            f"y has {shape[1]} columns: expected one target. MultiTargetEncoder(encoder) encodes towards each of them."
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


def read_parents(parents: Any, name: Any) -> dict[Any, tuple[Any, ...]]:
    """Ancestors of each child, the parent first: from a dictionary, or from a frame whose first column is the child."""
    if isinstance(parents, Mapping):
        above = [tuple(canonical_list(list(a))) if isinstance(a, tuple | list) else (a,) for a in parents.values()]
        found = dict(zip(canonical_list(list(parents)), above, strict=True))
    elif Table.is_frame(parents):
        frame = nw.from_native(parents, eager_only=True)
        children, *columns = (canonical_list(frame[:, number].to_list()) for number in range(frame.shape[1]))
        found = dict(zip(children, zip(*columns, strict=True), strict=True))
        if len(found) < len(children):
            raise InputError(f"hierarchy: the table of parents of {name!r} names a category twice. Name each one once.")
    else:
        found = {}
    depths = {len(above) for above in found.values()}
    if len(depths) != 1 or depths == {0}:
        raise InputError(
            f"hierarchy[{name!r}]: expected a list of parent columns, such as ['region'], a dictionary of each "
            "category's parent (or of tuples of parent, grandparent, …, as many for all), or a frame with the "
            "categories in its first column and their parents in the next."
        )
    return found


def read_order(table: Table, order: Any) -> Codes:
    """Rank of each row by the column that tells the time; rows of one time share a rank."""
    categories, codes = Categories.of(table.column(find_columns(table.names, [], [order])[0]))
    if (codes == categories.missing).any():
        raise InputError(f"order={order!r} is missing in {(codes == categories.missing).sum()} rows. Drop those rows.")
    return codes


def read_folds(cv: Any, target: Target, y: Any, groups: Any, seed: int) -> list[tuple[Codes, Codes]]:
    """Training and held-out rows of each fold; a row is held out at most once."""
    n_rows = len(target.values)
    if is_number(cv):
        shuffle = stream(seed, Purpose.FOLDS).integers(np.iinfo(np.int32).max)
        if groups is None:
            splitter = KFold(min(int(cv), n_rows), shuffle=True, random_state=int(shuffle))
        else:
            n_groups = len(np.unique(groups))
            if n_groups < 2:
                raise InputError("groups holds one group only: folds need two or more.")
            splitter = GroupKFold(min(int(cv), n_groups), shuffle=True, random_state=int(shuffle))
    else:
        splitter = check_cv(cv, target.values, classifier=target.classes is not None)
    splits = list(splitter.split(np.empty((n_rows, 1)), y, groups))
    if not splits:
        raise InputError(f"cv={cv!r} makes no folds. Use another splitter, or a number.")
    if any(np.intersect1d(train, test).size for train, test in splits):
        raise InputError(f"cv={cv!r} trains on rows that it holds out: expected folds without overlap.")
    held_out = np.concatenate([test for _, test in splits])
    if len(np.unique(held_out)) < len(held_out):
        raise InputError(f"cv={cv!r} holds some rows out more than once: expected a splitter without repeats.")
    return splits
