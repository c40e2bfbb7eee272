"""Encoding tables that stay where they are: files to a file, in bounded memory, and Spark frames to Spark frames."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from catbayes.core.table import Table
from catbayes.core.validation import Source
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.io.atomic import check_output, replacing
from catbayes.io.plan import Plan
from catbayes.io.sources import Batch, Files, are_files, batches, find_files, is_reader, is_source, require_arrow

__all__ = ["encode"]

Progress = Callable[[int, int | None], None]


def encode(
    source: Source,
    encoder: SamplingBayesianEncoder,
    output: str | os.PathLike[str] | None = None,
    *,
    n_draws: int | None = None,
    row_id: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    drop: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Any:
    """Add encoded columns to a table that need not fit in memory.

    Without `n_draws` each encoded column gets its posterior expectation, `city_encoded`: what `transform` gives, for
    rows that were not trained on. With it, it gets draws, `city_draw0` and so on: what `sample` gives. With `target`
    too, the draws leave each row's own target out: what a model may be trained on.

    Parameters
    ----------
    source : path, glob, list of paths, lazy frame, reader, table in memory, or Spark data frame
        What to encode. Columns go by name; others are left as they are. Lazy frames of libraries
        other than polars and DuckDB are brought into memory.
    encoder : fitted encoder
        Fitted on a table with column names, or loaded from a file.
    output : path, optional
        The file to write, CSV if its name ends in .csv, and Parquet if it ends in .parquet or .pq, or has no ending; it
        is there in full or not at all. None for a Spark data frame, which is returned.
    n_draws : int, optional
        Number of draws.
    row_id : str, optional
        Column of whole numbers or text that identifies the rows. A row has the same draws in any engine, file,
        partition and order, those of `encoder.sample(X, row_id=…)` included. Without it the rows of a file go by its
        name and their number in it, `row_id=("part-0.parquet", numbers)`; a lazy frame has no such thing.
    target : str, optional
        Column of the target, for draws of the rows that the encoder was fitted on.
    weight : str, optional
        Column of the weights that it was fitted with. For an encoder that was fitted with `exposure`, the target is a
        column of events per unit, y / e, and the weight one of w · e: the exposure itself, if there were no weights.
    drop : bool, default=False
        Leave the original columns out, where they were encoded.
    overwrite : bool, default=False
        Whether an existing output may be replaced.
    progress : callable, optional
        Called with the number of rows done, and of all rows, or None where that is unknown.

    Returns
    -------
    path or Spark data frame
        The output.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> from catbayes import SamplingBayesianEncoder, Scaled, encode
    >>> folder = tempfile.mkdtemp()
    >>> orders = os.path.join(folder, "orders.parquet")
    >>> pd.DataFrame({"city": ["Oslo", "Oslo", "Rome", "Rome"], "paid": [1, 0, 1, 1]}).to_parquet(orders)
    >>> encoder = SamplingBayesianEncoder(prior=Scaled(0), random_state=0).fit(orders, "paid")
    >>> written = encode(orders, encoder, os.path.join(folder, "encoded.parquet"))
    >>> pd.read_parquet(written).round(2)
       city  paid  city_encoded
    0  Oslo     1          0.50
    1  Oslo     0          0.50
    2  Rome     1          0.75
    3  Rome     1          0.75
    """
    if not isinstance(encoder, SamplingBayesianEncoder) or not hasattr(encoder, "encoding_"):
        raise InputError(f"encoder is a {type(encoder).__name__}: expected a fitted encoder of catbayes.")
    plan = Plan(encoder.encoding_, n_draws, row_id, target, weight, drop)
    if type(source).__module__.startswith("pyspark"):
        from catbayes.spark import encode_frame

        if output is not None:
            raise InputError("output: a Spark data frame is returned, not written. Leave output out, and write it.")
        return encode_frame(source, plan)
    if output is None:
        raise InputError("output: expected the path of the file to write.")
    if Path(output).suffix.lower() not in ("", ".parquet", ".pq", ".csv"):
        raise InputError(
            f"output={str(output)!r}: what is written is Parquet, or CSV without compression. Let the name end in "
            ".parquet, .pq or .csv."
        )
    require_arrow("Encoding files")
    check_output(output, overwrite, find_files(source) if are_files(source) else ())
    rows, total = _open(source, plan)
    return _write(rows, plan, output, overwrite, total, progress)


def _open(source: Any, plan: Plan) -> tuple[Iterator[Batch], int | None]:
    """Batches of a source, and its number of rows where that is known."""
    named_rows = plan.n_draws is None or plan.row_id is not None
    if not is_source(source):
        return _one_batch(source), Table.of(source).n_rows
    if is_reader(source):
        return batches(source), None
    if are_files(source):
        files = Files.of(source)
        plan.check(list(files.names))
        names = [path.name for path in files.paths]
        if not named_rows and len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"Two files are called {twice!r}, so their rows cannot be identified. Give row_id.")
        return files.batches(plan.is_text)
    if not named_rows:
        raise InputError(
            "Draws of a lazy frame need row_id, the column that identifies its rows: their order may change."
        )
    return batches(source), None


def _one_batch(table: Any) -> Iterator[Batch]:
    """A table in memory, without its index."""
    frame = nw.from_native(table, eager_only=True)
    if not len(frame):
        return
    try:
        yield Batch(frame.to_arrow().select(frame.columns), "", 0)
    except (TypeError, ValueError) as error:
        raise InputError(f"The table cannot be written to Parquet: {str(error).splitlines()[0]}") from error


def _write(
    rows: Iterator[Batch], plan: Plan, output: Any, overwrite: bool, total: int | None, progress: Progress | None
) -> Path:
    """Encode batch after batch into one file, in their order; one is written while the next are encoded."""
    done, file = 0, None
    with replacing(output, overwrite) as temporary, ExitStack() as stack:
        for table in _encoded(rows, plan):
            if file is None:
                is_text = str(output).lower().endswith(".csv")
                file = stack.enter_context(_writer(temporary, table.schema, is_text, plan))
            file.write_table(table)
            done += len(table)
            if progress is not None:
                progress(done, total)
        if not done:
            raise InputError("The table holds no rows: there is nothing to encode.")
    return Path(output)


def _writer(path: Path, schema: Any, is_text: bool, plan: Plan) -> Any:
    """Open a CSV or Parquet file; draws repeat too little for a dictionary."""
    from pyarrow.csv import CSVWriter
    from pyarrow.parquet import ParquetWriter

    if is_text:
        return CSVWriter(path, schema)
    draws = [] if plan.n_draws is None else plan.added
    return ParquetWriter(path, schema, use_dictionary=[name for name in schema.names if name not in draws])


def _encoded(rows: Iterator[Batch], plan: Plan) -> Iterator[Any]:
    """Tables with their new columns, in their order, two at a time: most of the work lets go of the interpreter."""
    first = next(rows, None)
    if first is None:
        return
    plan.check(first.table.column_names)
    yield _add_columns(first, plan)  # by itself: what it looks up for the first time is there for the others
    with ThreadPoolExecutor(2) as workers:
        pending: deque[Future[Any]] = deque()
        for batch in rows:
            pending.append(workers.submit(_add_columns, batch, plan))
            if len(pending) == 2:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _add_columns(batch: Batch, plan: Plan) -> Any:
    import pyarrow

    table = batch.table
    numbers = np.arange(batch.start, batch.start + len(table))
    for name, values in plan.encode(Table.of(table), (batch.file, numbers)).items():
        table = table.append_column(name, pyarrow.array(values))
    return table.drop_columns(plan.replaced) if plan.drop else table
