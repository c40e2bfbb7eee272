"""What catbayes raises and warns when it cannot use what it was given."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType

__all__ = ["InputError", "InputWarning"]

BETWEEN = frozenset({"catbayes", "sklearn", "joblib", "threading", "concurrent"})
"""Packages whose lines are none of the user's: ours, and those that call us."""


class InputError(ValueError):
    """The input cannot be used; the message says what was given, what is accepted and what to do.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> SamplingBayesianEncoder(prior=-1.0).fit([["a"], ["b"]], [0, 1])
    Traceback (most recent call last):
    ...
    catbayes.errors.InputError: prior=-1.0: expected "empirical", a number of rows > 0, or a prior object such as \
Scaled(0), which is flat.
    """


class InputWarning(UserWarning):
    """The input can be used, but perhaps not in the way that was meant.

    Examples
    --------
    >>> import warnings
    >>> from catbayes import InputWarning, SamplingBayesianEncoder
    >>> encoder = SamplingBayesianEncoder().fit([[7], [7], [8], [8]], [0, 1, 1, 1])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     features = encoder.transform([["7"], ["8"]])
    >>> issubclass(caught[0].category, InputWarning), str(caught[0].message).partition(":")[0]
    (True, 'Column 0 held number values at fit and holds str values now')
    """


def warn(message: str) -> None:
    """Warn about the input, at the line of whoever called us, however deep we are."""
    frame = _frame_above(lambda module: module.partition(".")[0] in BETWEEN)
    registry, module = frame.f_globals.setdefault("__warningregistry__", {}), frame.f_globals.get("__name__", "")
    warnings.warn_explicit(message, InputWarning, frame.f_code.co_filename, frame.f_lineno, module, registry)


def asked_by_user() -> bool:
    """Tell whether a line of the user's asks for something, and not scikit-learn: a Pipeline, a search, a check."""
    ours = ("catbayes", "sklearn.utils._set_output")  # the latter is around our methods
    frame = _frame_above(lambda module: module in ours or module.startswith("catbayes."))
    return frame.f_globals.get("__name__", "").partition(".")[0] not in BETWEEN


def _frame_above(passes: Callable[[str], bool]) -> FrameType:
    """The nearest frame whose module does not pass the call on."""
    frame = sys._getframe()
    while frame.f_back is not None and passes(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame
