"""The target of a comparison: classes or numbers, by the rule that the encoders have."""

from __future__ import annotations

from typing import Any

import numpy as np

from catbayes.core.target import read_target
from catbayes.errors import InputError
from catbayes.families import FOR_CLASSES, FOR_NUMBERS, Family

MOST_CLASSES = 100
MANY_CLASSES = 5


def target_values(y: Any) -> np.ndarray[Any, Any]:
    """The target as an array with one value for each row."""
    if isinstance(y, np.ma.MaskedArray):
        y = [None if value is np.ma.masked else value for value in y]
    array = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"The target has the shape {array.shape}: expected one value for each row.")
    return array


def is_missing(labels: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell which values are missing, of whatever kind."""
    import pandas

    return np.asarray(pandas.isna(labels))


def read_labels(
    labels: np.ndarray[Any, Any], target: str, family: Any
) -> tuple[type[Family], tuple[Any, ...] | None, np.ndarray[Any, Any]]:
    """Settle the family, and translate the target: class numbers with their labels, or numbers."""
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.floor(labels)).all():
        labels = labels.astype(np.int64) if np.abs(labels).max(initial=0.0) < 2**53 else labels  # 1, and not 1.0
    if not len(labels):
        raise InputError(f"The target {target!r} holds no value at all: there is nothing to predict.")
    known = read_target(labels, family, len(labels))
    known.family.check_unexposed()
    if known.classes is None:
        values = labels.astype(np.float64)
        if (values == values[0]).all():
            raise _one_value(target, float(values[0]))
        return known.family, None, values
    classes = tuple(known.classes.tolist())
    if len(classes) < 2:
        raise _one_value(target, classes[0])
    if len(classes) > MOST_CLASSES and isinstance(family, str) and family == "auto":
        raise InputError(
            f"The target {target!r} holds {len(classes):,} different values, such as {str(classes[0])!r}. Is it the "
            f"right column? If they are classes, set {FOR_CLASSES}."
        )
    return known.family, classes, np.asarray(known.values)


def _one_value(target: str, value: Any) -> InputError:
    return InputError(
        f"The target {target!r} holds only {value!r}: there is nothing to predict. Is it the right column?"
    )


def note_on_classes(classes: tuple[Any, ...] | None, target: str, family: Any) -> list[str]:
    """What to tell of many whole numbers that are taken for classes unasked."""
    numbers = classes is not None and all(isinstance(label, int) for label in classes)
    if classes is None or not numbers or len(classes) <= MANY_CLASSES or family != "auto":
        return []
    return [
        f"The {len(classes)} different whole numbers of {target!r} are taken for classes, as the encoders do: "
        f"{FOR_NUMBERS}."
    ]
