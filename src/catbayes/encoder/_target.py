"""Reading y: which family it asks for, and its values as that family takes them."""

from __future__ import annotations

from numbers import Integral, Number
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from catbayes._validation import Array
from catbayes.categories import Categories
from catbayes.errors import InputError
from catbayes.families import FAMILIES, BetaBernoulli, DirichletCategorical, Family, GammaPoisson, NormalGamma
from catbayes.gather import Target

MOST_INTEGER_CLASSES = 100


def read_target(y: Any, family: Any, n_rows: int, weight: Array | None) -> Target:
    """Check y and translate it: class codes for a class family, numbers for the others."""
    if y is None:
        raise InputError("The encoder requires y to be passed, but the target y is None.")
    y = plain(column_or_1d(y.to_numpy() if hasattr(y, "to_numpy") else y, warn=True))
    if len(y) != n_rows:
        raise InputError(f"y has {len(y)} values and X has {n_rows} rows: expected one value of y for each row.")
    wanted = _read_family(family)
    if wanted is None and _has_fractions(y):
        wanted = NormalGamma
    if wanted is None or wanted.classes:
        return _read_classes(y, wanted, weight)
    return _read_numbers(y, wanted, weight)


def plain(y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers that came as objects become numbers; spans of time are refused."""
    if y.dtype.kind in "mM":
        raise InputError("y holds dates or spans of time: turn them into numbers (days, seconds) or labels first.")
    if y.dtype.kind != "O":
        return y
    kinds = {kind for kind in set(map(type, y.tolist())) if kind is not type(None)}
    if kinds and all(issubclass(kind, Number) and not issubclass(kind, bool) for kind in kinds):
        whole = all(issubclass(kind, Integral) for kind in kinds) and None not in y.tolist()
        return y.astype(np.int64 if whole else np.float64)
    return y


def _read_family(family: Any) -> type[Family] | None:
    if isinstance(family, str) and family == "auto":
        return None
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]
    if isinstance(family, type) and issubclass(family, Family):
        return family
    accepted = ", ".join(f'"{name}"' for name in ("auto", *FAMILIES))
    raise InputError(f"family={family!r}: expected one of {accepted}, or a family class of catbayes.families.")


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


def _read_classes(y: np.ndarray[Any, Any], family: type[Family] | None, weight: Array | None) -> Target:
    if y.dtype.kind == "f":
        _check_finite(y)
    labels, codes = Categories.of(y)
    missing = codes == labels.missing
    if missing.any():
        raise InputError(f"Input y contains missing values, in {missing.sum()} rows. Drop those rows before fitting.")
    classes = _label_array(labels.values, y.dtype)
    used = np.unique(codes if weight is None else codes[weight > 0])
    if len(used) < 2:
        raise InputError(
            f"y holds only one class, {classes[used[0]]}, over n_samples={len(y)}: expected two or more. "
            "There is nothing to encode towards."
        )
    if family is None:
        family = BetaBernoulli if len(classes) == 2 else DirichletCategorical
        if len(classes) > MOST_INTEGER_CLASSES and y.dtype.kind in "iuf":
            raise InputError(
                f'y holds {len(classes)} different whole numbers: set family="normal" for an amount, "poisson" for a '
                'count, or "categorical" if each one names a class.'
            )
    if family is BetaBernoulli and len(classes) > 2:
        raise InputError(f'family="bernoulli" takes two classes, and y holds {len(classes)}: use "categorical".')
    return Target(codes.astype(np.intp), family, classes)


def _label_array(values: tuple[Any, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.kind in "biufUS":
        return np.array(values, dtype=dtype)
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


def _read_numbers(y: np.ndarray[Any, Any], family: type[Family], weight: Array | None) -> Target:
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"y must hold numbers for {family.__name__}: {error}.") from error
    _check_finite(values)
    used = values if weight is None else values[weight > 0]
    if used.min() == used.max():
        raise InputError(f"y is constant, {used[0]:g}, over n_samples={len(y)}: there is nothing to encode towards.")
    if family is GammaPoisson and used.min() < 0:
        raise InputError(f'family="poisson" takes counts ≥ 0, and y holds {used.min():g}: use "normal" for amounts.')
    return Target(values, family)
