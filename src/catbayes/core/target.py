"""The target of every row, its weight and its exposure: read once, by one reader.

Exposure: y events in e units, of time, distance or attempts, are a rate y / e that counts for e observations. For a
Poisson target y ~ Poisson(λ e) the posterior is Gamma(α + Σ y, rate β + Σ e). With the target y / e and the weight e
the ordinary update gives the same: α + Σ e · (y / e), β + Σ e. So exposure becomes rates and weights here, with the
units of a row on average: priors are learnt in the unit of a row, which makes rates counts again. Events out of
attempts are no different: θ is Beta(α + Σ y, β + Σ (e - y)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Number
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import column_or_1d

from catbayes.core.categories import Categories
from catbayes.core.statistics import Moments, Statistics, Tally
from catbayes.core.validation import Array, Codes
from catbayes.errors import InputError, warn
from catbayes.families import (
    FAMILIES,
    Family,
    check_numbers_as_classes,
    family_of_classes,
    family_of_numbers,
    resolve_family,
)


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

    def tally(
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

    def tally_before(self, slots: Codes, rank: Codes, weight: Array | None, n_slots: int, unseen: int) -> Statistics:
        """Count (or describe), for each row, the rows of its slot with a lower rank; from `unseen` on, nothing."""
        nothing = np.flatnonzero(slots >= unseen)
        if self.classes is not None:
            return Tally.before(slots, rank, self.values, weight, n_classes=self.n_classes).without(nothing)
        return Moments.before(slots, rank, self.values, weight, n_slots=n_slots).without(nothing)


def read_y(y: Any) -> np.ndarray[Any, Any]:
    """Read a target in memory as an array with one value for each row."""
    if y is None:
        raise InputError("This estimator requires y to be passed, but the target y is None.")
    is_arrow = type(y).__module__.startswith("pyarrow")  # whose to_numpy copies only if it is asked to
    y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") and not is_arrow else y)
    if y.ndim == 2 and y.shape[1] > 1:
        raise InputError(
            f"y has {y.shape[1]} columns: expected one target. MultiTargetEncoder(encoder) encodes towards each of "
            "them."
        )
    return np.asarray(column_or_1d(y, warn=True))


def read_target(
    y: Any, family: Any, n_rows: int, classes: Sequence[Any] | None = None, exposed: bool = False
) -> Target:
    """Read y as its family takes it: class codes for a class family, numbers for the others.

    `classes` are labels that are known already, though y need not hold them. Where y is `exposed`, it holds events that
    are still to be divided by their exposure.
    """
    y = plain(np.asarray(y))
    if len(y) != n_rows:
        raise InputError(f"y has {len(y)} values and X has {n_rows} rows: expected one value of y for each row.")
    wanted = resolve_family(family)
    if y.dtype.kind == "f":
        _check_finite(y)
        if wanted is None and (y != np.floor(y)).any():  # scikit-learn's "continuous"
            if classes is not None:
                check_no_amount(classes)
            else:
                wanted = family_of_numbers()
    if wanted is None or wanted.classes:
        return _read_classes(y, wanted, classes)
    return _read_numbers(y, wanted, exposed)


def plain(y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert numbers that came as objects; dates, spans of time and complex numbers raise an error."""
    if y.dtype.kind in "mM":
        raise no_dates()
    if y.dtype.kind == "c":  # in words that begin as those of scikit-learn do
        raise InputError("Complex data not supported: y holds complex numbers. Give their real part or their size.")
    if y.dtype.kind != "O":
        return y
    kinds = set(map(type, y.tolist())) - {type(None)}
    if not kinds or not all(issubclass(kind, Number) and not issubclass(kind, bool) for kind in kinds):
        return y
    whole = all(issubclass(kind, Integral) for kind in kinds) and None not in y.tolist()
    return y.astype(np.int64 if whole else np.float64)


def no_dates() -> InputError:
    """What to raise where the target is a time."""
    return InputError("y holds dates or spans of time: turn them into numbers (days, seconds) or labels first.")


def _check_finite(y: np.ndarray[Any, Any]) -> None:
    finite = np.isfinite(y)
    if not finite.all():
        # The words that scikit-learn's users know, with the remedy.
        what = "NaN" if np.isnan(y).any() else "infinity or a value too large for dtype('float64')"
        raise InputError(f"Input y contains {what}, in {(~finite).sum()} rows. Drop those rows before fitting.")


def check_no_amount(classes: Sequence[Any]) -> None:
    """Refuse fractions where the target was a class so far: most likely another column was meant."""
    if all(not isinstance(label, float) or label.is_integer() for label in classes):
        raise InputError(f"y holds fractions, and its classes so far are {list(classes)[:5]}: is it the same target?")


def _read_classes(y: np.ndarray[Any, Any], family: type[Family] | None, known: Sequence[Any] | None) -> Target:
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


def _read_numbers(y: np.ndarray[Any, Any], family: type[Family], exposed: bool) -> Target:
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"y must hold numbers for {family.__name__}: {error}.") from error
    _check_finite(values)
    low, high = float(values.min()), float(values.max())
    family.check_target(low, high, events=exposed)
    return Target(np.log(values) if family.log_target else values, family)


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


# --------------------------------------------------------------------------------------------- weights and exposure


def check_weights(weight: Any, n_rows: int, whole: bool = True) -> Array | None:
    """Require one finite weight ≥ 0 a row, a `whole` table's not all zero; a single number serves all rows."""
    if weight is None:
        return None
    weights = _numbers_by_row("sample_weight", weight, n_rows)
    if not np.isfinite(weights).all():
        raise InputError("sample_weight holds NaN or infinite values: give such rows the weight 0 to leave them out.")
    if weights.min() < 0:
        raise InputError(f"sample_weight holds {weights.min():g}: expected weights ≥ 0; use 0 to leave a row out.")
    if whole and not weights.any():
        raise InputError("sample_weight is zero for every row: nothing is left to learn from.")
    return weights


def per_unit(target: Target, weight: Array | None, exposure: Any) -> tuple[Target, Array | None, float]:
    """Divide events by their exposure; returns rates, the weight of a row times its units, and its units on average."""
    if exposure is None:
        target.family.check_unexposed()
        return target, weight, 1.0
    check_exposed(target.family)
    n_rows = len(target.values)
    units = _numbers_by_row("exposure", exposure, n_rows)
    check_units(int((~(np.isfinite(units) & (units > 0.0))).sum()))
    counts, rows = (units, float(n_rows)) if weight is None else (weight * units, float(weight.sum()))
    if target.family.exposure == "attempts":
        warn_of_fractions(int((target.values % 1.0 != 0.0).sum()))
    rates = target.values / units
    target.family.check_target(float(rates.min()), float(rates.max()))
    return replace(target, values=rates), counts, float(counts.sum()) / rows if rows > 0 else 1.0


def check_exposed(family: type[Family] | None) -> None:
    """Require a family of counts."""
    if family is None or not family.exposure:
        given = "the family is to be found" if family is None else f"the target is for {family.__name__}"
        takers = " or ".join(f'family="{name}"' for name, known in FAMILIES.items() if known.exposure)
        raise InputError(f"exposure is for counts, and {given}. Set {takers}, or leave exposure out.")


def check_units(bad: float | str) -> None:
    """Refuse rows without a usable exposure, if there are any."""
    if bad:
        raise InputError(
            f"exposure is missing, infinite, zero or negative in {bad} rows: expected numbers > 0. Drop rows without "
            "exposure: they hold no information about a rate."
        )


def warn_of_fractions(rows: int) -> None:
    """Warn of events that are no whole numbers."""
    if rows:
        warn(
            f"y holds fractions in {rows} rows where exposure= holds their attempts: expected whole numbers of events. "
            "If y is the share of attempts with an event, give the attempts as sample_weight= and leave exposure out."
        )


def _numbers_by_row(name: str, given: Any, n_rows: int) -> Array:
    """Require a number for each row; a single one serves all of them."""
    values = np.asarray(given)
    if values.dtype.kind in "mMc":
        raise InputError(f"{name} must hold numbers, and holds {values.dtype}. Divide spans by a unit of time.")
    try:
        numbers: Array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers: {error}.") from error
    if numbers.ndim == 0:
        numbers = np.full(n_rows, numbers)
    if numbers.shape != (n_rows,):
        raise InputError(f"{name} has shape {numbers.shape}: expected one number for each of {n_rows} rows.")
    return numbers
