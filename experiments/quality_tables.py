"""The tables that encoders are compared on: public ones, those of R's packages, and two simulated ones."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from pandas.api.types import is_integer_dtype

from catbayes.datasets import Dataset, make_transactions
from experiments import rdata
from experiments.public import load
from experiments.trials import write_text

SIMULATED = {"payments": ("fraud", 0), "amounts": ("amount", 1)}
"""The target and the seed of each."""
N_SIMULATED = 10_000
SHAPES = Path(__file__).parents[1] / "results" / "shapes.json"
"""Of the tables of R's packages, so that their page can be rendered without them."""


@dataclass(frozen=True)
class Table:
    """A frame of categories and numbers, and the target as numbers or as classes from 0 on."""

    X: Any
    y: np.ndarray[Any, Any]
    task: str
    categorical: tuple[str, ...]
    numeric: tuple[str, ...]

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None for numbers."""
        return None if self.task == "regression" else int(self.y.max()) + 1


@dataclass(frozen=True, slots=True)
class Shape:
    """What a page has to know of a table: its task and its size."""

    task: str
    n_rows: int
    n_columns: int
    n_categorical: int

    @classmethod
    def of(cls, table: Table) -> Shape:
        """Describe a table."""
        return cls(table.task, len(table.y), table.X.shape[1], len(table.categorical))


@cache
def shape(name: str) -> Shape:
    """Return the stored shape of a table; read the table if there is none."""
    stored = json.loads(SHAPES.read_text(encoding="utf-8")) if name in rdata.TABLES and SHAPES.exists() else {}
    return Shape(**stored[name]) if name in stored else Shape.of(read_table(name))


def store_shapes() -> None:
    """Write the shapes of the tables of R's packages."""
    lines = [f"{json.dumps(name)}: {json.dumps(asdict(Shape.of(read_table(name))))}" for name in sorted(rdata.TABLES)]
    write_text(SHAPES, "{\n" + ",\n".join(lines) + "\n}\n")


@cache
def read_table(name: str) -> Table:
    """Read a table: categories as text or whole numbers, the rest as floats; counts are taken as numbers."""
    data = _load(name)
    names = [column for column in data.table if data.table[column].astype(str).nunique(dropna=False) > 1]
    categorical = tuple(column for column in names if column in data.categorical)
    numeric = tuple(column for column in names if column not in categorical)
    columns = {column: _categories(data.table[column]) for column in categorical}
    columns |= {column: data.table[column].astype(np.float64) for column in numeric}
    X = pandas.DataFrame({column: columns[column] for column in names})
    if data.task in ("regression", "count"):
        return Table(X, np.asarray(data.y, dtype=np.float64), "regression", categorical, numeric)
    y = np.unique(data.y, return_inverse=True)[1]
    return Table(X, y, "binary" if y.max() == 1 else "multiclass", categorical, numeric)


def _categories(column: Any) -> Any:
    if is_integer_dtype(column):
        return column.astype(np.int64)
    missing = column.isna()
    return column.astype(object).where(~missing, "").map(str).astype(object).where(~missing, np.nan)


def _load(name: str) -> Dataset:
    if name in rdata.TABLES:
        return rdata.load(name)
    if name not in SIMULATED:
        return load(name)
    target, seed = SIMULATED[name]
    data = make_transactions(N_SIMULATED, target=target, random_state=seed)
    return replace(data, table=data.table.drop(columns="time"))
