"""What a data set is: a table, its target, and where both come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from catbayes.core.validation import Array
from catbayes.core.writing import Written, counted

__all__ = ["Dataset", "Task"]

Task = Literal["binary", "multiclass", "regression", "count"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Dataset(Written):
    """A table, the target to predict from it, and what is known of both.

    Parameters
    ----------
    name : str
        What the data set is called.
    table : frame
        The columns to predict from; the target is not among them.
    y : ndarray of shape (row,)
        The target: 0 or 1, labels, floats or whole numbers, as the task says.
    target : str
        Name of the target.
    task : {"binary", "multiclass", "regression", "count"}
        What kind of target it is.
    categorical : tuple of str
        The columns to encode, integer codes included.
    source : str
        Where the table is from, and its licence.
    truth : ndarray of shape (row,) or (row, class), optional
        What y was drawn from: the probability of 1, the probabilities of the classes in the order of their sorted
        labels, or the mean. None for a real table.
    effects : dict
        The true effect of each level of each categorical column, `effects["city"]["C042"]`: a number, or one for each
        class. Empty for a real table.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from catbayes.datasets import Dataset
    >>> table = pd.DataFrame({"city": ["Rome", "Oslo"], "age": [31, 45]})
    >>> Dataset("trips", table, np.array([0, 1]), "late", "binary", ("city",), "made up")
    Data set trips: 2 rows, 2 columns, binary target late
    """

    name: str
    table: Any
    y: np.ndarray[Any, Any]
    target: str
    task: Task
    categorical: tuple[str, ...]
    source: str
    truth: Array | None = None
    effects: dict[str, dict[str, float | tuple[float, ...]]] = field(default_factory=dict)

    def _sentence(self) -> str:
        rows, columns = (counted(n, noun) for n, noun in zip(self.table.shape, ("row", "column"), strict=True))
        return f"Data set {self.name}: {rows}, {columns}, {self.task} target {self.target}"
