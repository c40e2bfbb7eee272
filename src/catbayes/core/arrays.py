"""One formula for numpy's arrays and for torch's tensors, which have functions of the same names."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from catbayes.core.validation import Array

TINY = float(np.finfo(np.float64).tiny)
"""The smallest normal number: the lower bound of positive parameters."""


def namespace(values: Any) -> Any:
    """The module whose functions take such arrays: torch for its tensors, and numpy for all else."""
    if isinstance(values, np.ndarray):
        return np
    torch = sys.modules.get("torch")  # whoever has a tensor has imported it
    return torch if isinstance(values, getattr(torch, "Tensor", ())) else np


def precision(values: Any) -> float:
    """How far numbers near 1 are apart."""
    return float(namespace(values).finfo(values.dtype).eps)


def tiny(values: Any) -> float:
    """The smallest normal number of their precision."""
    return float(namespace(values).finfo(values.dtype).tiny)


def rounding(values: Any) -> float:
    """Below this share of a number, what a subtraction left of it is rounding alone."""
    return max(1e-9, 8.0 * precision(values))


def positive(values: Any) -> Array:
    """Clip values to be positive, at least the smallest normal number of their precision."""
    clipped: Array = np.maximum(values, TINY) if namespace(values) is np else values.clip(tiny(values))
    return clipped


def where(keep: Any, one: Any, other: Any) -> Array:
    """Take entries of `one` where `keep`, else of `other`."""
    chosen: Array = namespace(keep).where(keep, one, other)
    return chosen


def row_sums(values: Array) -> Array:
    """Sums along the last axis; where it is a pair, as of two classes, numpy adds columns many times as fast."""
    return np.asarray(values[..., 0] + values[..., 1] if values.shape[-1] == 2 else values.sum(axis=-1))


def column(values: Any) -> Array:
    """The only parameter of θ, as (…, 1)."""
    array: Array = np.asarray(values) if namespace(values) is np else values
    return array[..., None]


def one_blas_thread() -> Any:
    """Limit linear algebra to one thread: on many small matrices, threads mostly wait for each other."""
    return _threadpools().limit(limits=1, user_api="blas")


@cache
def _threadpools() -> ThreadpoolController:
    """Those of the libraries that are loaded: to look for them takes as long as to fit a small table."""
    return ThreadpoolController()
