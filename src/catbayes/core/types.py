"""Types of arguments, for editors and type checkers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from narwhals.typing import IntoDataFrame, IntoLazyFrame, IntoSeries

Name: TypeAlias = str | int
"""A column, by its name or position."""
Columns: TypeAlias = Literal["auto", "all"] | Name | Sequence[Name] | Callable[[Any], Any]
Interactions: TypeAlias = Literal["pairs", "triples", "auto"] | Sequence[tuple[Name, ...]] | None
Kinds: TypeAlias = Mapping[Any, Any] | None
"""Columns to kinds: see `catbayes.kinds`."""

TableLike: TypeAlias = IntoDataFrame | npt.ArrayLike
"""A table in memory."""
Source: TypeAlias = TableLike | IntoLazyFrame | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A table in memory, or one that stays where it is: files, lazy frames, readers of record batches."""
ByRow: TypeAlias = IntoSeries | npt.ArrayLike | None
"""A value for each row."""
ByRowOrName: TypeAlias = ByRow | str
"""A value for each row, or the name of a column that holds them."""
RowId: TypeAlias = ByRowOrName | tuple[str | Sequence[str], npt.ArrayLike]
"""What identifies rows: ids, the column that holds them, or the name of a file with the numbers of its rows."""
Labels: TypeAlias = np.ndarray[Any, Any]
"""Values of one type that the user chose: class labels, names."""
Seed: TypeAlias = int | np.random.RandomState | None
File: TypeAlias = str | os.PathLike[str] | IO[bytes]
