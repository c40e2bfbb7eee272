"""Gathering where the rows are: one group-by a column, run by the engine that owns them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from catbayes._validation import check_option, check_weights
from catbayes.errors import InputError
from catbayes.evidence._evidence import ColumnEvidence, Evidence, gather_table
from catbayes.evidence._query import Query
from catbayes.evidence._target import read_target
from catbayes.sources import ENGINES, batches, is_reader, is_source, lazy_frame
from catbayes.tables import CATEGORICAL, Table, find_columns, no_column

READER_ROWS = 1 << 20

Progress = Callable[[int, int], None]


def gather(
    source: Any,
    columns: Any = "auto",
    target: Any = None,
    *,
    family: Any = "auto",
    weight: Any = None,
    classes: Any = None,
    like: Evidence | None = None,
    engine: str = "auto",
    memory_limit: str | None = None,
    progress: Progress | None = None,
) -> Evidence:
    """Count what each category says about the target, wherever the rows are.

    Parameters
    ----------
    source : table, lazy frame, reader, path, glob, or list of paths
        Frames and arrays in memory; lazy frames of polars, DuckDB, Spark, ibis, sqlframe and dask, which count by
        themselves; readers of Arrow record batches; Parquet and CSV files.
    columns : "auto", "all", or list of names or positions
        What to encode, as for the encoders.
    target : str or array-like, not None
        Name of the target; for a table in memory, its values.
    family : "auto", "bernoulli", "categorical", "normal", "poisson", or a family class
        Likelihood of the target.
    weight : str or array-like, optional
        Name of a column of weights; for a table in memory, their values.
    classes : list, optional
        Class labels that are known already, though this table need not hold all of them.
    like : Evidence, optional
        Evidence that this is to be added to or taken from, for the same columns and kind of target.
    engine : "auto", "duckdb", "polars"
        What reads files; "auto" is DuckDB, if it is installed. Whether a column of a CSV file is text, a number or a
        date is the engine's guess, and they differ: DuckDB takes 007 for text.
    memory_limit : str, optional
        Limit for DuckDB, such as "1GB"; what does not fit goes to disk.
    progress : callable, optional
        Told the number of columns done and of all columns.

    Returns
    -------
    Evidence
        What `SamplingBayesianEncoder.fit` takes in the place of a table; mergeable, so that `gather(monday) +
        gather(tuesday)` is `gather` of both.

    Examples
    --------
    >>> import polars as pl
    >>> from catbayes import SamplingBayesianEncoder, gather
    >>> table = pl.LazyFrame({"city": ["Oslo", "Oslo", "Rome", None], "paid": [1, 0, 1, 1]})
    >>> evidence = gather(table, target="paid")
    >>> evidence.columns[0].statistics.weight.tolist()  # (zeros, ones) of Oslo, Rome, missing, unseen
    [[1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    >>> SamplingBayesianEncoder(prior=0).fit(evidence).transform(pl.DataFrame({"city": ["Rome", "Bonn"]})).round(2)
    array([[0.67],
           [0.5 ]])
    """
    check_option("engine", engine, ENGINES)
    asked = as_before(like, columns, family, classes)
    if not is_source(source):
        return _gather_memory(Table.of(source), asked.columns, target, asked.family, weight, asked.classes)
    if is_reader(source):
        return _gather_batches(source, asked.columns, target, asked.family, weight, asked.classes)
    progress = progress or (lambda done, total: None)
    with lazy_frame(source, engine, memory_limit, asked.text(target)) as frame:
        return _gather_lazy(frame, asked.columns, target, asked.family, weight, asked.classes, progress)


@dataclass(frozen=True, slots=True)
class Asked:
    """What to gather: as asked, or as in what was gathered before."""

    columns: Any
    family: Any
    classes: Any
    texts: tuple[str, ...] = ()

    def text(self, target: Any) -> tuple[str, ...]:
        """Columns of a CSV file that are text, whatever they look like."""
        words = self.classes is not None and all(isinstance(label, str) for label in self.classes)
        return (*self.texts, target) if words else self.texts


def as_before(like: Evidence | None, columns: Any, family: Any, classes: Any) -> Asked:
    """Ask for the columns, kind of target and classes of earlier evidence, and for classes that were named since."""
    if like is None:
        return Asked(columns, family, classes)
    texts = tuple(column.name for column in like.columns if column.categories.is_text)
    names = [column.name for column in like.columns]
    if like.classes is None:
        return Asked(names, like.family, None, texts)
    return Asked(names, family, [*like.classes.tolist(), *(classes if classes is not None else ())], texts)


def _gather_lazy(
    frame: nw.LazyFrame[Any],
    columns: Any,
    target: Any,
    family: Any,
    weight: Any,
    classes: Any,
    progress: Progress,
) -> Evidence:
    """Let the engine group: one query a column, and one or two to look at the target."""
    query, schema = Query.of(frame, target, weight, family, classes), frame.collect_schema()
    inputs = [name for name in schema.names() if name not in (target, weight)]
    categorical = [position for position, name in enumerate(inputs) if isinstance(schema[name], CATEGORICAL)]
    positions = find_columns(inputs, categorical, columns)
    found: list[ColumnEvidence] = []
    for position in positions:
        progress(len(found), len(positions))
        found.append(query.column(position, inputs[position], schema[inputs[position]]))
    progress(len(found), len(positions))
    return Evidence(tuple(found), query.family, query.classes, tuple(inputs), query.squares, weight is not None)


def take_named(table: Table, target: Any, weight: Any) -> tuple[Table, Any, Any]:
    """Take the target and the weight out of a table in memory, where they are given by name.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes.evidence import take_named
    >>> from catbayes.tables import Table
    >>> table, y, weight = take_named(Table.of(pd.DataFrame({"city": ["Oslo", "Rome"], "paid": [1, 0]})), "paid", None)
    >>> table.names, y.tolist(), weight
    (['city'], [1, 0], None)
    """
    named = [name for name in (target, weight) if isinstance(name, str)]
    for name in named:
        if table.frame is None or name not in table.names:
            raise no_column(name, table.names)
    y, weights = (
        table.values(table.names.index(given)) if isinstance(given, str) else given for given in (target, weight)
    )
    if named:
        assert table.frame is not None
        table = Table.of(table.frame.drop(named).to_native())
    return table, y, weights


def _gather_memory(
    table: Table, columns: Any, target: Any, family: Any, weight: Any, classes: Any, whole: bool = True
) -> Evidence:
    table, y, weights = take_named(table, target, weight)
    if y is None:
        raise InputError("target: expected the name of a column of the table, or the values of the target.")
    positions = find_columns(table.names, table.categorical(), columns)
    weights = check_weights(weights, table.n_rows, whole)
    evidence, _ = gather_table(table, positions, read_target(np.asarray(y), family, table.n_rows, classes), weights)
    return evidence


def _gather_batches(reader: Any, columns: Any, target: Any, family: Any, weight: Any, classes: Any) -> Evidence:
    """Read a stream once, a million rows at a time; the first ones settle the family and the columns."""
    import pyarrow

    evidence: Evidence | None = None
    parts: list[Any] = []

    def add() -> Evidence:
        table = Table.of(pyarrow.concat_tables(parts))
        asked = as_before(evidence, columns, family, classes)
        fresh = _gather_memory(table, asked.columns, target, asked.family, weight, asked.classes, whole=False)
        parts.clear()
        return fresh if evidence is None else evidence + fresh

    for batch in batches(reader):
        parts.append(batch.table)
        if sum(map(len, parts)) >= READER_ROWS:
            evidence = add()
    if parts:
        evidence = add()
    if evidence is None:
        raise InputError("The reader holds no rows: there is nothing to learn from.")
    return evidence
