"""The target of a comparison: what is to be predicted, and whether it is a class or a number."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from catbayes._tables import shown
from catbayes.errors import InputError

MOST_NUMBERED_CLASSES = 20
MOST_CLASSES = 100


def target_values(y: Any) -> np.ndarray[Any, Any]:
    """The target as an array: numbers where all that is known of it is numbers, objects otherwise."""
    import pandas

    if isinstance(y, np.ma.MaskedArray):
        y = [None if value is np.ma.masked else value for value in y]
    array = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"The target has the shape {array.shape}: expected one value for each row.")
    if array.dtype.kind in "mM":
        raise InputError("The target holds times: turn them into numbers (days, seconds) first.")
    if array.dtype.kind in "biuf":
        return array
    values = array.astype(object)
    known = values[~is_missing(values)]
    if len(known) and all(isinstance(value, Number) and not isinstance(value, bool | complex) for value in known):
        return np.asarray(pandas.Series(values).astype(np.float64))
    return values


def is_missing(labels: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell which values are missing, of whatever kind."""
    import pandas

    return np.asarray(pandas.isna(labels))


def read_target(
    labels: np.ndarray[Any, Any], target: str, task: str
) -> tuple[str, tuple[Any, ...] | None, np.ndarray[Any, Any]]:
    """Settle the task, and translate the target: class numbers, or numbers."""
    numbers = labels.dtype.kind in "biuf"
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.floor(labels)).all():
        labels = labels.astype(np.int64) if np.abs(labels).max() < 2**53 else labels
    if not numbers:
        labels = np.array([label if isinstance(label, str) else str(label) for label in labels], dtype=object)
    classes = np.unique(labels)
    if len(classes) < 2:
        held = f"only {classes.tolist()[0]!r}" if len(classes) else "no value at all"
        raise InputError(f"The target {target!r} holds {held}: there is nothing to predict. Is it the right column?")
    if task == "auto":
        task = _guess_task(classes, numbers)
    if task == "regression":
        if not numbers:
            raise InputError(f"The target {target!r} holds text, such as {classes[0]!r}: expected numbers.")
        values = labels.astype(np.float64)
        if not np.isfinite(values).all():
            raise InputError(f"The target {target!r} holds infinite values. Drop those rows first.")
        return task, None, values
    if task == "binary" and len(classes) > 2:
        raise InputError(
            f"The target {target!r} holds {len(classes)} classes: {shown(classes.tolist())}; binary has 2."
        )
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"The target {target!r} holds {len(classes):,} different values, such as {str(classes[0])!r}: expected at "
            f"most {MOST_CLASSES} classes. Is it the right column?"
        )
    return "binary" if len(classes) == 2 else "multiclass", tuple(classes.tolist()), np.searchsorted(classes, labels)


def _guess_task(classes: np.ndarray[Any, Any], numbers: bool) -> str:
    if len(classes) == 2:
        return "binary"
    if numbers and (len(classes) > MOST_NUMBERED_CLASSES or (classes != np.floor(classes)).any()):
        return "regression"
    return "multiclass"
