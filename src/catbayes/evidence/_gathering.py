"""Gathering where the rows are: one group-by a column, run by the engine that owns them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from catbayes._validation import check_option, check_weights
from catbayes.categories import Categories
from catbayes.errors import InputError
from catbayes.evidence._choosing import choose
from catbayes.evidence._evidence import ColumnEvidence, Evidence, gather_table
from catbayes.evidence._exposure import per_unit, per_unit_lazily
from catbayes.evidence._query import Query
from catbayes.evidence._target import read_target
from catbayes.groups import Group, find_groups
from catbayes.sources import ENGINES, batches, is_reader, is_source, lazy_frame
from catbayes.tables import CATEGORICAL, Table, no_column

READER_ROWS = 1 << 20

Progress = Callable[[int, int], None]


def gather(
    source: Any,
    columns: Any = "auto",
    target: Any = None,
    *,
    interactions: Any = None,
    hierarchy: Any = None,
    family: Any = "auto",
    weight: Any = None,
    exposure: Any = None,
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
    interactions : list of tuples of columns, "pairs", "triples", "auto", or None
        Combinations of columns to count too, as for the encoders; "auto" counts all pairs and keeps those that pay.
    hierarchy : dict, optional
        Columns to count within those of their parents, as for the encoders.
    family : "auto", "bernoulli", "categorical", "normal", "lognormal", "poisson", or a family class
        Likelihood of the target.
    weight : str or array-like, optional
        Name of a column of weights; for a table in memory, their values.
    exposure : str or array-like, optional
        Name of a column, or its values: in how many units of time or anything else each row's events were counted. For
        `family="poisson"`; finite and > 0.
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
    asked = as_before(like, Asked(columns, interactions, hierarchy, family, classes))
    if not is_source(source):
        evidence = _gather_memory(Table.of(source), asked, target, weight, exposure)
    elif is_reader(source):
        evidence = _gather_batches(source, asked, target, weight, exposure)
    else:
        progress = progress or (lambda done, total: None)
        with lazy_frame(source, engine, memory_limit, asked.text(target)) as frame:
            if exposure is not None:
                frame, weight = per_unit_lazily(frame, target, weight, exposure, asked.family)
            evidence = _gather_lazy(frame, asked, target, weight, progress)
    return choose(evidence) if isinstance(asked.interactions, str) and asked.interactions == "auto" else evidence


@dataclass(frozen=True, slots=True)
class Asked:
    """What to gather: as asked, or as in what was gathered before."""

    columns: Any
    interactions: Any
    hierarchy: Any
    family: Any
    classes: Any
    texts: tuple[str, ...] = ()

    def groups(self, names: list[Any], categorical: list[int]) -> list[Group]:
        """What to encode of a table with these columns."""
        return find_groups(names, categorical, self.columns, self.interactions, self.hierarchy)

    def text(self, target: Any) -> tuple[str, ...]:
        """Columns of a CSV file that are text, whatever they look like."""
        words = self.classes is not None and all(isinstance(label, str) for label in self.classes)
        return (*self.texts, target) if words else self.texts


def as_before(like: Evidence | None, asked: Asked) -> Asked:
    """Ask for the columns, kind of target and classes of earlier evidence, and for classes that were named since."""
    if like is None:
        return asked
    names = [column.name for column in like.columns if not column.is_interaction]
    interactions = [column.name for column in like.columns if column.is_interaction]
    within = {
        column.name: [like.inputs[part] for part in reversed(column.parts[:-1])]
        for column in like.columns
        if len(column.parts) > 1 and not column.is_interaction
    }
    if like.classes is None:
        return Asked(names, interactions, within, like.family, None, like.texts)
    classes = [*like.classes.tolist(), *(asked.classes if asked.classes is not None else ())]
    return Asked(names, interactions, within, asked.family, classes, like.texts)


def _gather_lazy(frame: nw.LazyFrame[Any], asked: Asked, target: Any, weight: Any, progress: Progress) -> Evidence:
    """Let the engine group: one query a column, and one or two to look at the target."""
    query, schema = Query.of(frame, target, weight, asked.family, asked.classes), frame.collect_schema()
    inputs = [name for name in schema.names() if name not in (target, weight)]
    categorical = [position for position, name in enumerate(inputs) if isinstance(schema[name], CATEGORICAL)]
    groups = asked.groups(inputs, categorical)
    found: dict[int, ColumnEvidence] = {}
    known: dict[int, Categories] = {}
    for group in sorted(groups, key=lambda group: len(group.parts)):  # categories of single columns serve the others
        progress(len(found), len(groups))
        found[group.position] = query.group(group, inputs, schema, known)
    progress(len(found), len(groups))
    columns = tuple(found[group.position] for group in groups)
    return Evidence(columns, query.family, query.classes, tuple(inputs), query.squares, weight is not None)


def take_named(table: Table, *given: Any) -> tuple[Any, ...]:
    """Take the target, the weight and the exposure out of a table in memory, where they are given by name.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes.evidence import take_named
    >>> from catbayes.tables import Table
    >>> table, y, weight = take_named(Table.of(pd.DataFrame({"city": ["Oslo", "Rome"], "paid": [1, 0]})), "paid", None)
    >>> table.names, y.tolist(), weight
    (['city'], [1, 0], None)
    """
    named = list(dict.fromkeys(name for name in given if isinstance(name, str)))
    for name in named:
        if table.frame is None or name not in table.names:
            raise no_column(name, table.names)
    values = [table.values(table.names.index(one)) if isinstance(one, str) else one for one in given]
    if named:
        assert table.frame is not None
        table = Table.of(table.frame.drop(named).to_native())
    return table, *values


def _gather_memory(table: Table, asked: Asked, target: Any, weight: Any, exposure: Any, whole: bool = True) -> Evidence:
    table, y, weights, units = take_named(table, target, weight, exposure)
    if y is None:
        raise InputError("target: expected the name of a column of the table, or the values of the target.")
    groups = asked.groups(table.names, table.categorical())
    weights = check_weights(weights, table.n_rows, whole)
    known = read_target(np.asarray(y), asked.family, table.n_rows, asked.classes)
    if units is not None:
        known, weights = per_unit(known, weights, units)
    return gather_table(table, groups, known, weights)[0]


def _gather_batches(reader: Any, asked: Asked, target: Any, weight: Any, exposure: Any) -> Evidence:
    """Read a stream once, a million rows at a time; the first ones settle the family and the columns."""
    import pyarrow

    evidence: Evidence | None = None
    parts: list[Any] = []

    def add() -> Evidence:
        table = Table.of(pyarrow.concat_tables(parts))
        fresh = _gather_memory(table, as_before(evidence, asked), target, weight, exposure, whole=False)
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
