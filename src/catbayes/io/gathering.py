"""Gathering where the rows are: one group-by a column, run by the engine that owns them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from catbayes.core.categories import Categories
from catbayes.core.evidence import Candidate, ColumnEvidence, Evidence
from catbayes.core.rows import read_rows
from catbayes.core.selection import Selection
from catbayes.core.table import Table, categorical_columns, name_of, take_named
from catbayes.core.validation import ByRowOrName, Columns, Interactions, Kinds, Source, check_option
from catbayes.errors import InputError
from catbayes.families import resolve_family
from catbayes.io.engines import ENGINES, Engine
from catbayes.io.query import Query, per_unit_lazily
from catbayes.io.sources import Files, are_files, batches, is_reader, is_source, some_rows
from catbayes.kinds import Kind, Nested

READER_ROWS = 1 << 20
SAMPLE_ROWS = 100_000

Progress = Callable[[int, int], None]


def gather(
    source: Source,
    columns: Columns = "auto",
    target: ByRowOrName = None,
    *,
    interactions: Interactions = None,
    kinds: Kinds = None,
    family: Any = "auto",
    weight: ByRowOrName = None,
    exposure: ByRowOrName = None,
    classes: npt.ArrayLike | None = None,
    like: Evidence | None = None,
    engine: Engine = "auto",
    memory_limit: str | None = None,
    progress: Progress | None = None,
) -> Evidence:
    """Gather the statistics of the target by category, wherever the rows are.

    Parameters
    ----------
    source : table, lazy frame, reader, path, glob, or list of paths
        Frames and arrays in memory; lazy frames of polars, DuckDB, Spark, ibis, sqlframe and dask, which count by
        themselves; readers of Arrow record batches; Parquet and CSV files.
    columns : "auto", "all", a name, or list of names or positions
        What to encode, as for the encoders.
    target : str or array-like, not None
        Name of the target; for a table in memory, its values.
    interactions : list of tuples of columns, "pairs", "triples", "auto", or None
        Combinations of columns to count too, as for the encoders; "auto" weighs pairs on a sample of the rows, and
        counts those that pay.
    kinds : dict, optional
        What the values of columns are, as for the encoders. Bins are cut of rows in memory, or of the first batch of a
        reader.
    family : "auto", a name in `catbayes.families.FAMILIES`, or a family class
        Likelihood of the target.
    weight : str or array-like, optional
        Name of a column of weights; for a table in memory, their values.
    exposure : str or array-like, optional
        Name of a column, or its values: in how many units of time or anything else each row's events were counted. For
        families of counts; finite and > 0.
    classes : list, optional
        Class labels that are known already, though this table need not hold all of them.
    like : Evidence, optional
        Evidence that this is to be added to or taken from, for the same columns and kind of target.
    engine : "auto", "duckdb", "polars"
        What reads files; "auto" is DuckDB, if it is installed. Types of a CSV file are found by the same rules.
    memory_limit : str, optional
        Limit for DuckDB, such as "1GB"; what does not fit goes to disk.
    progress : callable, optional
        Called with the number of columns done, and of all columns.

    Returns
    -------
    Evidence
        What `SamplingBayesianEncoder.fit` takes in the place of a table; mergeable, so that `gather(monday) +
        gather(tuesday)` is `gather` of both.

    Examples
    --------
    >>> import polars as pl
    >>> from catbayes import SamplingBayesianEncoder, Scaled, gather
    >>> table = pl.LazyFrame({"city": ["Oslo", "Oslo", "Rome", None], "paid": [1, 0, 1, 1]})
    >>> evidence = gather(table, target="paid")
    >>> evidence.columns[0].statistics.weight.tolist()  # (zeros, ones) of Oslo, Rome, missing, unseen
    [[1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    >>> encoder = SamplingBayesianEncoder(prior=Scaled(0)).fit(evidence)
    >>> encoder.transform(pl.DataFrame({"city": ["Rome", "Bonn"]})).round(2)
    array([[0.67],
           [0.5 ]])
    """
    selection = Selection(columns, interactions, kinds=kinds)
    given = {"target": target, "weight": weight, "exposure": exposure, "family": family, "classes": classes}
    found = gather_selected(source, selection, like, engine, memory_limit, progress, **given)
    return replace(found, target=name_of(target))


def gather_selected(
    source: Any,
    selection: Selection,
    like: Evidence | None = None,
    engine: Engine = "auto",
    memory_limit: str | None = None,
    progress: Progress | None = None,
    **given: Any,
) -> Evidence:
    """Gather from any source what a selection asks for; with `like`, what was gathered before decides.

    `given` are the target, weight, exposure, family and classes, as in `gather`.
    """
    check_option("engine", engine, ENGINES)
    if like is not None:
        selection, given = _as_before(like, selection, given)
    if not is_source(source):
        return _gather_memory(Table.of(source), selection, **given)
    if is_reader(source):
        return _gather_batches(source, selection, given)
    for column, kind in selection.kinds.items():
        if kind.in_memory:
            raise InputError(
                f"kinds: {type(kind).__name__} of {column!r} looks at rows in memory, and this table stays where it "
                "is. Read it, or give a reader of Arrow record batches."
            )
    is_text = {} if like is None else like.is_text
    if are_files(source) and (labels := given.get("classes")) is not None:
        is_text |= {given["target"]: True} if all(isinstance(label, str) for label in labels) else {}
    opened = Files.of(source).scan(engine, memory_limit, is_text) if are_files(source) else nullcontext(source)
    with opened as native:
        frame = nw.from_native(native).lazy()
        candidates, informative = tuple[Candidate, ...](), None
        if selection.weigh or selection.is_auto:
            sample = _weigh_sample(frame, selection, given)
            candidates, informative = sample.candidates, sample.informative
        if selection.is_auto:
            selection = replace(selection, interactions=[found.columns for found in candidates if found.kept])
        found = _gather_lazy(frame, selection, progress or (lambda done, total: None), **given)
        return replace(found, candidates=candidates, informative=informative)


def _as_before(like: Evidence, selection: Selection, given: dict[str, Any]) -> tuple[Selection, dict[str, Any]]:
    """Ask for the columns, kind of target and classes of earlier evidence, and for classes that were named since."""
    names = [column.name for column in like.columns if not column.is_interaction]
    interactions = [column.name for column in like.columns if column.is_interaction]
    kinds: dict[Any, Kind] = {
        column.name: Nested([like.inputs[part] for part in reversed(column.parts[:-1])])
        for column in like.columns
        if len(column.parts) > 1 and not column.is_interaction
    }
    for columns, kind in selection.again(like.columns).items():
        if not kind.parent_columns:
            kinds[columns] = kind
    selection = Selection(names, interactions, selection.aside, kinds=kinds)
    if like.classes is None:
        return selection, given | {"family": like.family, "classes": None}
    more = given.get("classes")
    return selection, given | {"classes": [*like.classes.tolist(), *(more if more is not None else ())]}


def _gather_memory(
    table: Table, selection: Selection, target: Any, weight: Any = None, exposure: Any = None, **about: Any
) -> Evidence:
    table, y, weight, exposure = take_named(table, target, weight, exposure)
    if y is None:
        raise InputError("target: expected the name of a column of the table, or the values of the target.")
    return read_rows(table, selection, np.asarray(y), weight, exposure, **about).evidence


def _gather_lazy(
    frame: nw.LazyFrame[Any],
    selection: Selection,
    progress: Progress,
    target: Any,
    weight: Any = None,
    exposure: Any = None,
    family: Any = "auto",
    classes: Any = None,
) -> Evidence:
    """Let the engine group: one query a column, and one or two to look at the target."""
    wanted, units = resolve_family(family), 1.0
    if exposure is not None:
        frame, weight, units = per_unit_lazily(frame, target, weight, exposure, wanted)
    elif wanted is not None:
        wanted.check_unexposed()
    query, schema = Query.of(frame, target, weight, wanted, classes), frame.collect_schema()
    inputs = [name for name in schema.names() if name not in (target, weight)]
    categorical = categorical_columns([schema[name] for name in inputs])
    specs = selection.specs(inputs, categorical)
    found: dict[int, ColumnEvidence] = {}
    known: dict[int, Categories] = {}
    for spec in sorted(specs, key=lambda spec: len(spec.parts)):  # categories of single columns serve the others
        progress(len(found), len(specs))
        found[spec.position] = query.group(spec, inputs, schema, known)
    progress(len(found), len(specs))
    columns = tuple(found[spec.position] for spec in specs)
    return Evidence(columns, query.family, query.classes, tuple(inputs), query.squares, weight is not None, units)


def _weigh_sample(frame: nw.LazyFrame[Any], selection: Selection, given: dict[str, Any]) -> Evidence:
    """Weigh columns and interactions on some rows, in memory."""
    named = [given[what] for what in ("target", "weight", "exposure") if given.get(what) is not None]
    schema = frame.collect_schema()
    inputs = [name for name in schema.names() if name not in named]
    categorical = categorical_columns([schema[name] for name in inputs])
    columns = [spec.name for spec in selection.specs(inputs, categorical) if not spec.is_interaction]
    needed = [name for name in inputs if name in columns or schema[name].is_numeric()]
    sample = Table.of(some_rows(frame.select(*needed, *named), SAMPLE_ROWS))
    chosen = "auto" if selection.is_auto else None
    return _gather_memory(sample, Selection(columns, chosen, aside=selection.aside, weigh=True), whole=False, **given)


def _gather_batches(reader: Any, selection: Selection, given: dict[str, Any]) -> Evidence:
    """Read a stream once, a million rows at a time; the first ones settle the family and the columns."""
    import pyarrow

    evidence: Evidence | None = None
    parts: list[Any] = []

    def add() -> Evidence:
        table = Table.of(pyarrow.concat_tables(parts))
        parts.clear()
        if evidence is None:
            return _gather_memory(table, selection, whole=False, **given)
        again, known = _as_before(evidence, selection, given)
        return evidence + _gather_memory(table, again, whole=False, **known)

    for batch in batches(reader):
        parts.append(batch.table)
        if sum(map(len, parts)) >= READER_ROWS:
            evidence = add()
    if parts:
        evidence = add()
    if evidence is None:
        raise InputError("The reader holds no rows: there is nothing to learn from.")
    return evidence
