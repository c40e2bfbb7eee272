"""Commands that learn from files and write files: fit, encode, update, posteriors."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any, get_args

import click
import narwhals as nw

from catbayes._encoder import SamplingBayesianEncoder, load
from catbayes.cli._command import bar, chosen_columns, split_names
from catbayes.cli._completing import columns_of_model, columns_of_tables
from catbayes.comparison._text import column as written_below
from catbayes.comparison._text import printable
from catbayes.comparison._text import texts as names_as_text
from catbayes.core.category_outputs import KeepCategories
from catbayes.core.table import did_you_mean
from catbayes.errors import InputError
from catbayes.families import FAMILIES
from catbayes.io.atomic import check_output, replacing
from catbayes.io.encode import encode as encode_table
from catbayes.io.engines import ENGINES, Engine
from catbayes.io.gathering import gather
from catbayes.io.sources import find_files
from catbayes.kinds import Nested
from catbayes.mappings import MAPPINGS, MappingWord

FORMATS = ("table", "csv", "json", "parquet")


_tables = click.argument("tables", nargs=-1, required=True, type=click.Path(), metavar="TABLE...")


def _counting(command: Any) -> Any:
    """Options of the commands that count the rows of tables."""
    for option in (
        click.option("--memory-limit", metavar="SIZE", help='Limit for DuckDB, such as "1GB".'),
        click.option("--engine", type=click.Choice(ENGINES), default="auto", show_default=True),
        _tables,
    ):
        command = option(command)
    return command


def _column(*flags: str, **about: Any) -> Any:
    """An option that names columns of the tables."""
    return click.option(*flags, shell_complete=columns_of_tables, **({"metavar": "COLUMN"} | about))


_force = click.option("--force", is_flag=True, help="Replace the output if it exists.")
_model = click.option(
    "--model", required=True, type=click.Path(), metavar="FILE", help="An encoder that `catbayes fit` wrote."
)


@click.command(epilog="Example:  catbayes fit 'orders/*.parquet' --target paid -o orders.catbayes")
@_counting
@_column("--target", required=True, help="Column to encode towards.")
@click.option("-o", "--output", required=True, type=click.Path(), metavar="FILE", help="File for the fitted encoder.")
@_column("--columns", metavar="A,B,…", help="Columns to encode, or all; by default those of text and booleans.")
@_column("--weight", help="Column of row weights.")
@click.option("--family", type=click.Choice(["auto", *FAMILIES]), default="auto", show_default=True)
@click.option(
    "--prior", default="empirical", show_default=True, metavar="empirical|N", help="Prior of each column, or N rows."
)
@click.option("--mapping", type=click.Choice(list(MAPPINGS)), default="mean", show_default=True)
@_column("--interactions", metavar="auto|pairs|triples|A&B,…", help="Columns to encode together.")
@_column("--hierarchy", multiple=True, metavar="A:B,…", help="A leans on B, B on the next. May be given again.")
@click.option("--keep-categories", type=click.Choice(get_args(KeepCategories)), help="Keep those of small columns.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@_force
def fit(
    tables: tuple[str, ...],
    target: str,
    output: str,
    columns: str | None,
    weight: str | None,
    family: str,
    prior: str,
    mapping: MappingWord,
    interactions: str | None,
    hierarchy: tuple[str, ...],
    keep_categories: KeepCategories | None,
    seed: int,
    engine: Engine,
    memory_limit: str | None,
    force: bool,
) -> None:
    """Learn the posterior of every category of Parquet or CSV files.

    TABLE is a path, a folder or a pattern such as 'orders/*.parquet'.
    """
    check_output(output, force, find_files(tables))
    chosen: Any = chosen_columns(columns)
    together: Any = {"interactions": _interactions(interactions), "kinds": _hierarchy(hierarchy)}
    encoder = SamplingBayesianEncoder(
        chosen,
        **together,
        family=family,
        prior=_prior(prior),
        mapping=mapping,
        keep_categories=keep_categories,
        random_state=seed,
    )
    with bar("counting") as progress:
        evidence = gather(
            list(tables),
            chosen,
            target,
            **together,
            family=family,
            weight=weight,
            engine=engine,
            memory_limit=memory_limit,
            progress=progress,
        )
    with bar("learning"):
        encoder.fit(evidence)
    encoder.save(output)
    _report(encoder, output)


@click.command(epilog="Example:  catbayes encode new.parquet --model orders.catbayes -o encoded.parquet --draws 5")
@_tables
@_model
@click.option("-o", "--output", required=True, type=click.Path(), metavar="FILE", help="Parquet or CSV file to write.")
@click.option("--draws", type=click.IntRange(1), metavar="K", help="K draws; by default the posterior expectation.")
@_column("--row-id", help="Column that identifies rows; by default file name and row number.")
@_column("--target", help="Target of rows that were fitted on: each one's own is left out.")
@_column("--weight", help="Weights that they were fitted with.")
@click.option("--drop", is_flag=True, help="Leave the original columns out.")
@_force
def encode(
    tables: tuple[str, ...],
    model: str,
    output: str,
    draws: int | None,
    row_id: str | None,
    target: str | None,
    weight: str | None,
    drop: bool,
    force: bool,
) -> None:
    """Add encoded columns to Parquet or CSV files, and write one file of either kind."""
    check_output(output, force, [model, *find_files(tables)])
    with bar("encoding") as progress:
        encode_table(
            list(tables),
            load(model),
            output,
            n_draws=draws,
            row_id=row_id,
            target=target,
            weight=weight,
            drop=drop,
            overwrite=force,
            progress=progress,
        )
    click.echo(f"wrote {output}", err=True)


@click.command(epilog="Example:  catbayes update today.parquet --model orders.catbayes --target paid --force")
@_counting
@_model
@_column("--target", required=True, help="Column to encode towards.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="File for the updated encoder; by default the model itself.",
)
@_column("--weight", help="Column of row weights.")
@click.option("--remove", is_flag=True, help="Take these rows out again instead of adding them.")
@click.option("--forget", type=click.FloatRange(0.0, 1.0, max_open=True), default=0.0, help="First discount old rows.")
@_force
def update(
    tables: tuple[str, ...],
    model: str,
    target: str,
    output: str | None,
    weight: str | None,
    remove: bool,
    forget: float,
    engine: Engine,
    memory_limit: str | None,
    force: bool,
) -> None:
    """Add the rows of files to a fitted encoder, or take them out again."""
    output = output or model
    check_output(output, force, find_files(tables))
    before = _stamp(model)
    encoder = load(model)
    with bar("counting") as progress:
        fresh = gather(
            list(tables),
            target=target,
            weight=weight,
            like=encoder.evidence_,
            engine=engine,
            memory_limit=memory_limit,
            progress=progress,
        )
    with bar("learning"):
        if forget:
            encoder.forget(forget)
        encoder = encoder.remove(fresh) if remove else encoder.partial_fit(fresh)
    if output == model and _stamp(model) != before:
        raise InputError(f"{model} was changed by somebody else in the meantime, and is left as it is. Run this again.")
    encoder.save(output)
    _report(encoder, output)


@click.command(epilog="Example:  catbayes posteriors orders.catbayes --column city --format csv > city.csv")
@click.argument("model", type=click.Path())
@click.option(
    "--column", metavar="COLUMN", shell_complete=columns_of_model, help="One column; by default a line for each."
)
@click.option("--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True)
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="File to write; by default the terminal.")
@click.option("--rows", type=click.IntRange(0), default=20, show_default=True, help="Rows of a table; 0 for all.")
@_force
def posteriors(model: str, column: str | None, form: str, output: str | None, rows: int, force: bool) -> None:
    """Show what is believed of each category, and how firmly."""
    encoder = load(model)
    names = list(encoder.posteriors_)
    if column is not None and column not in names:
        near = did_you_mean(column, names)
        raise InputError(f"{model} encodes no column {column!r}.{near} It encodes {', '.join(map(str, names))}.")
    if form == "parquet" and output is None:
        raise InputError("Parquet is not for the terminal: name a file by -o.")
    if form == "table" and column is None and output is None and len(names) > 1:
        click.echo(repr(encoder.posteriors_))
        click.echo("--column NAME shows the categories of one.", err=True)
        return
    records = [
        {"column": str(name), **{key: _plain(value) for key, value in record.items()}}
        for name in (names if column is None else [column])
        for record in nw.from_native(encoder.posteriors_[name]).rows(named=True)
    ]
    if output is None:
        _print(records, form, rows, sys.stdout)
        return
    check_output(output, force, [model])
    with replacing(output, force) as temporary:
        if form == "parquet":
            _write_parquet(records, temporary)
        else:
            with temporary.open("w", newline="", encoding="utf-8") as file:
                _print(records, form, 0, file)


def _stamp(path: str) -> tuple[int, int, int]:
    """What changes when a file does."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        raise InputError(f"There is no file {path!r}.") from None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _prior(text: str) -> Any:
    if text == "empirical":
        return text
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f'{text!r}: expected "empirical" or a number of rows.', param_hint="--prior") from None


def _interactions(text: str | None) -> Any:
    """A word, or columns with "&" between them."""
    if text is None or text in ("auto", "pairs", "triples"):
        return text
    found = [tuple(name.strip() for name in part.split("&")) for part in split_names(text)]
    if any(len(names) < 2 or not all(names) for names in found):
        raise click.BadParameter(
            f"{text!r}: expected auto, pairs, triples, or columns such as city&shop,city&day.",
            param_hint="--interactions",
        )
    return found


def _hierarchy(texts: tuple[str, ...]) -> dict[str, Nested] | None:
    """Columns, each with those above it."""
    pairs = [(child.strip(), split_names(above)) for child, _, above in (text.partition(":") for text in texts)]
    if any(not child or not above for child, above in pairs):
        raise click.BadParameter(
            f"{' '.join(texts)!r}: expected a column and those above it, such as postcode:region,country.",
            param_hint="--hierarchy",
        )
    return {child: Nested(above) for child, above in pairs} or None


def _report(encoder: Any, output: str) -> None:
    counts = [f"{column.name} ({len(column.values):,})" for column in encoder.evidence_.columns]
    rows = encoder.evidence_.total.count[0]
    told = f"wrote {output}: {rows:,.15g} rows, {encoder.family_.__name__}; {', '.join(counts)}"
    click.echo(printable(told), err=True)


def _plain(value: Any) -> Any:
    """A cell as JSON takes it: NaN is nothing, and whatever is no number, text or truth is text."""
    if value is None or value != value:
        return None
    return value if isinstance(value, str | bool | int | float) else str(value)


def _print(records: list[dict[str, Any]], form: str, rows: int, file: Any) -> None:
    if form == "json":
        json.dump(records, file, ensure_ascii=False, indent=1)
        file.write("\n")
    elif form == "csv":
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    else:
        from rich.console import Console
        from rich.table import Column
        from rich.table import Table as Grid
        from rich.text import Text

        ordered = sorted(records, key=lambda record: -record["count"])  # those with most rows first
        shown = ordered[:rows] if rows else ordered
        texts = {name: written_below(names_as_text(name, [record[name] for record in shown])) for name in records[0]}
        if len({record["column"] for record in records}) == 1:
            del texts["column"]
        words = ("column", "category", "class", "kind")
        sides = [Column(name, overflow="fold", justify="left" if name in words else "right") for name in texts]
        grid = Grid(*sides, box=None, pad_edge=False)
        for line in zip(*texts.values(), strict=True):
            grid.add_row(*map(Text, line))
        console = Console(file=file)
        console.width = console.width if console.is_terminal else 200
        console.print(grid)
        if len(shown) < len(records):
            click.echo(f"… {len(records) - len(shown):,} more; --rows 0 shows all.", err=True)


def _write_parquet(records: list[dict[str, Any]], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    columns = {name: [record[name] for record in records] for name in records[0]}
    columns["category"] = [None if value is None else str(value) for value in columns["category"]]
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
