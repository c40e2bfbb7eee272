"""Reading what the user gave: the table, the columns to encode, and the folds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, check_cv
from sklearn.utils.validation import check_array

from catbayes._random import Purpose, stream
from catbayes._validation import Codes, is_number
from catbayes.errors import InputError
from catbayes.gather import Target
from catbayes.tables import Table


def read_table(X: Any, estimator: Any) -> Table:
    """Wrap X; whatever is no frame must become a two-dimensional array."""
    if Table.is_frame(X):
        table = Table.of(X)
        if table.n_rows == 0 or table.n_columns == 0:
            raise InputError(f"X has {table.n_rows} rows and {table.n_columns} columns: expected at least one of each.")
        return table
    array = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):  # a list of mixed cells, turned into text
        array = check_array(X, dtype=object, ensure_all_finite=False, estimator=estimator, input_name="X")
    return Table.of(array)


def find_columns(table: Table, columns: Any) -> list[int]:
    """Positions of the columns to encode."""
    if isinstance(columns, str):
        if columns not in ("auto", "all"):
            raise InputError(f'columns="{columns}": expected "auto", "all" or a list, such as columns=["{columns}"].')
        return list(range(table.n_columns)) if columns == "all" else _find_by_type(table)
    if isinstance(columns, Iterable):
        columns = list(columns)
    if not isinstance(columns, list) or not columns:
        raise InputError(f'columns={columns!r}: expected "auto", "all" or a list of names or positions.')
    positions = [_find_column(table, column) for column in columns]
    if len(set(positions)) < len(positions):
        raise InputError(f"columns={columns!r} names a column twice. Name each one once.")
    return positions


def _find_by_type(table: Table) -> list[int]:
    found = table.categorical()
    if not found and not any(isinstance(name, str) for name in table.names):
        return list(range(table.n_columns))  # columns numbered 0, 1, …: an array that was put in a frame
    if not found:
        raise InputError(
            'columns="auto" found no string, categorical, boolean or object column. Integer codes have to be '
            f'named: columns={table.names[:2]!r}, or columns="all".'
        )
    return found


def _find_column(table: Table, column: Any) -> int:
    names = table.names
    if table.frame is not None and column in names:
        return names.index(column)
    if is_number(column) and column in range(-len(names), len(names)):
        return int(column) % len(names)
    shown = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
    raise InputError(f"columns names {column!r}, and X has no such column. It has {shown}.")


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
