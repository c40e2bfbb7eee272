"""The encoder that suits an estimator."""

from typing import Any

from catbayes.core.category_outputs import Kept
from catbayes.models.backends import backend_of, last_step


def suitable(estimator: Any, fit_with: str) -> Kept | None:
    """Return how an estimator is best given the categories of columns that have few; None if it is unknown."""
    last = last_step(estimator)
    # Inside of a Pipeline no booster knows its categories.
    return backend_of(last).keep_categories(last, fit_with if last is estimator else "copies")
