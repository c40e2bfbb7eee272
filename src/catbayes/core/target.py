"""Reading y: which family it asks for, and its values as that family takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Number
from typing import Any

import numpy as np
import numpy.typing as npt

from catbayes.core.categories import Categories
from catbayes.core.statistics import Moments, Statistics, Tally
from catbayes.core.validation import LARGEST, Array, Codes
from catbayes.errors import InputError
from catbayes.families import Family, check_numbers_as_classes, family_of_classes, family_of_numbers, resolve_family

NEAREST = 1e-70
"""Numbers that differ by less have another unit: the variance of their precision goes with its fourth power."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of every row: class codes with their labels, or numbers."""

    values: npt.NDArray[Any]
    family: type[Family]
    classes: npt.NDArray[Any] | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for numbers."""
        return 0 if self.classes is None else len(self.classes)

    def parts(self) -> Array:
        """What effects are about, (part, row): the number; whether it is the second of two classes; or each class."""
        if self.classes is None:
            return np.asarray(self.values, dtype=np.float64)[None]
        labels = range(self.n_classes) if self.n_classes > 2 else [1]
        return np.stack([(self.values == label).astype(np.float64) for label in labels])

    def gather(
        self, slots: Codes, weight: Array | None, n_slots: int, rows: Codes | None = None, unseen: int = -1
    ) -> Statistics:
        """Count (or describe) the target by slot, over all rows or some; slots from `unseen` on learn nothing."""
        values = self.values
        if rows is not None:
            slots, values = slots[rows], values[rows]
            weight = None if weight is None else weight[rows]
        statistics: Statistics
        if self.classes is not None:
            statistics = Tally.from_codes(slots, values, weight, n_slots=n_slots, n_classes=self.n_classes)
        else:
            statistics = Moments.from_codes(slots, values, weight, n_slots=n_slots)
        return statistics.without(np.arange(n_slots)[unseen:])

    def gather_before(self, slots: Codes, rank: Codes, weight: Array | None, n_slots: int, unseen: int) -> Statistics:
        """Count (or describe), for each row, the rows of its slot with a lower rank; from `unseen` on, nothing."""
        nothing = np.flatnonzero(slots >= unseen)
        if self.classes is not None:
            return Tally.before(slots, rank, self.values, weight, n_classes=self.n_classes).without(nothing)
        return Moments.before(slots, rank, self.values, weight, n_slots=n_slots).without(nothing)


def read_target(
    y: np.ndarray[Any, Any], family: Any, n_rows: int, classes: Sequence[Any] | None = None, exposed: bool = False
) -> Target:
    """Check y and translate it: class codes for a class family, numbers for the others.

    `classes` are labels that are known already, though y need not hold them. Where y is `exposed`, it holds events that
    are still to be divided by their exposure.
    """
    y = plain(y)
    if len(y) != n_rows:
        raise InputError(f"y has {len(y)} values and X has {n_rows} rows: expected one value of y for each row.")
    wanted = resolve_family(family)
    if wanted is None and _has_fractions(y):
        if classes is None:
            wanted = family_of_numbers()
        else:
            check_no_amount(classes)
    if wanted is None or wanted.classes:
        return _read_classes(y, wanted, classes)
    return _read_numbers(y, wanted, exposed)


def plain(y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers that came as objects become numbers; spans of time and complex numbers are refused."""
    if y.dtype.kind in "mM":
        raise no_dates()
    refuse_complex(y)
    if y.dtype.kind != "O":
        return y
    kinds = {kind for kind in set(map(type, y.tolist())) if kind is not type(None)}
    if kinds and all(issubclass(kind, Number) and not issubclass(kind, bool) for kind in kinds):
        whole = all(issubclass(kind, Integral) for kind in kinds) and None not in y.tolist()
        try:
            return y.astype(np.int64 if whole else np.float64)
        except OverflowError:  # longer than the machine's: labels may be, and numbers are told so where they are needed
            return y
        except ValueError as error:  # a signalling NaN
            raise InputError(f"Input y contains NaN: {error}. Drop those rows before fitting.") from error
    return y


def refuse_complex(y: np.ndarray[Any, Any]) -> None:
    """Refuse numbers that have no order, in words that begin as those of scikit-learn do."""
    kinds = set(map(type, y.ravel().tolist())) if y.dtype.kind == "O" else {y.dtype.type}
    if any(issubclass(kind, complex | np.complexfloating) for kind in kinds):
        raise InputError("Complex data not supported: y holds complex numbers. Give their real part or their size.")


def no_dates() -> InputError:
    """What to raise where the target is a time."""
    return InputError("y holds dates or spans of time: turn them into numbers (days, seconds) or labels first.")


def _has_fractions(y: np.ndarray[Any, Any]) -> bool:
    """Tell whether y is numeric with at least one value that is not whole: scikit-learn's "continuous"."""
    if y.dtype.kind != "f":
        return False
    _check_finite(y)
    return bool((y != np.floor(y)).any())


def _check_finite(y: np.ndarray[Any, Any]) -> None:
    finite = np.isfinite(y)
    if not finite.all():
        # The words that scikit-learn's users know, with the remedy.
        what = "NaN" if np.isnan(y).any() else "infinity or a value too large for dtype('float64')"
        raise InputError(f"Input y contains {what}, in {(~finite).sum()} rows. Drop those rows before fitting.")


def check_size(low: float, high: float, log: bool = False) -> None:
    """Refuse numbers of which no sum of squares can be made: too large, or, unless logarithms are taken, too near."""
    if max(-low, high) > LARGEST:
        raise InputError(
            f"y holds {low if -low > high else high:g}: expected numbers from {-LARGEST:g} to {LARGEST:g}. Use another "
            "unit."
        )
    if not log and 0.0 < high - low < NEAREST:
        raise InputError(
            f"y holds numbers from {low:g} to {high:g}, nearer to each other than {NEAREST:g}. Use another unit."
        )


def check_no_amount(classes: Sequence[Any]) -> None:
    """Refuse fractions where the target was a class so far: most likely another column was meant."""
    if all(not isinstance(label, float) or label.is_integer() for label in classes):
        raise InputError(f"y holds fractions, and its classes so far are {list(classes)[:5]}: is it the same target?")


def _read_classes(y: np.ndarray[Any, Any], family: type[Family] | None, known: Sequence[Any] | None) -> Target:
    if y.dtype.kind == "f":
        _check_finite(y)
    labels, codes = Categories.of(y)
    missing = codes == labels.missing
    if missing.any():
        raise InputError(f"Input y contains missing values, in {missing.sum()} rows. Drop those rows before fitting.")
    classes, places = label_array(labels.values, y.dtype), np.arange(len(labels.values))
    if known is not None:
        classes, _, places = join_classes(known, labels.values)
    if family is None and y.dtype.kind != "b":
        check_numbers_as_classes(classes.tolist())
    return Target(places[codes], family_of_classes(len(classes), family), classes)


def join_classes(known: Sequence[Any], fresh: Sequence[Any]) -> tuple[np.ndarray[Any, Any], Codes, Codes]:
    """Join two lists of class labels; returns the place of each label of the one and of the other."""
    words = [{isinstance(label, str) for label in labels} for labels in (known, fresh)]
    if all(words) and not words[0] & words[1]:
        raise InputError(
            f"y holds {list(fresh)[:3]}, and its classes so far are {list(known)[:3]}: text in the one and numbers in "
            "the other. Convert y to its former type."
        )
    joint, first, second = Categories(tuple(known)).union(Categories(tuple(fresh)))
    return label_array(joint.values), first[:-2], second[:-2]


def label_array(values: Sequence[Any], dtype: np.dtype[Any] | None = None) -> np.ndarray[Any, Any]:
    """Class labels as an array: of the type that they came in, if it is one of numpy's own."""
    if dtype is None:
        numbers = all(isinstance(value, int | float) for value in values)
        dtype = np.asarray(values).dtype if numbers else np.dtype(object)
    if dtype.kind in "biufUS":
        return np.array(values, dtype=dtype if dtype.kind in "biuf" else None)
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


def _read_numbers(y: np.ndarray[Any, Any], family: type[Family], exposed: bool) -> Target:
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"y must hold numbers for {family.__name__}: {error}.") from error
    _check_finite(values)
    low, high = float(values.min()), float(values.max())
    check_size(low, high, log=family.log_target)
    family.check_target(low, high, events=exposed)
    if family.log_target:
        return Target(np.log(values), family)
    # The squares of such differences are no numbers.
    nothing = (values != 0.0) & (np.abs(values) < NEAREST * (high - low))
    return Target(np.where(nothing, 0.0, values) if nothing.any() else values, family)
