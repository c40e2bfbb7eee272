"""What catbayes raises and warns when it cannot use what it was given."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

__all__ = ["InputError", "InputWarning", "warn"]

_THREAD = threading.local()

BETWEEN = frozenset({"catbayes", "sklearn", "joblib", "threading", "concurrent"})
"""Packages whose lines are none of the user's: ours, and those that call us."""


class Line(NamedTuple):
    """A line of a program, and what was warned of in its module."""

    file: str
    number: int
    module: str
    registry: dict[Any, Any]


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
    """Warn about the input, at the line of whoever called us, however deep we are.

    Examples
    --------
    >>> import warnings
    >>> from catbayes.errors import warn
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("The table has one row.")
    >>> caught[0].category.__name__, str(caught[0].message)
    ('InputWarning', 'The table has one row.')
    """
    line = getattr(_THREAD, "caller", None) or caller()
    warnings.warn_explicit(message, InputWarning, *line)


def caller() -> Line:
    """The nearest line that is none of ours."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    return Line(frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", ""), registry)


def asked_by_user() -> bool:
    """Tell whether a line of the user's asks for something, and not scikit-learn: a Pipeline, a search, a check."""
    frame = sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "").partition(".")[0] not in BETWEEN


def _is_ours(module: str) -> bool:
    """Lines of the package, and what set_output puts around its methods."""
    return module.partition(".")[0] == "catbayes" or module == "sklearn.utils._set_output"


@contextmanager
def called_from(line: Line) -> Iterator[None]:
    """Warn at a line of another thread, in which the caller is not."""
    _THREAD.caller = line
    try:
        yield
    finally:
        _THREAD.caller = None
