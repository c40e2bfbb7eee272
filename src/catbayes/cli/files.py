"""Commands that read and write files: fit, encode, update."""

from __future__ import annotations

from typing import Any

import click

from catbayes import SamplingBayesianEncoder, gather, load
from catbayes import encode as encode_table
from catbayes.cli import bar, check_output, split_names
from catbayes.families import FAMILIES
from catbayes.kinds import Nested
from catbayes.mappings import MAPPINGS

_tables = click.argument("tables", nargs=-1, required=True, metavar="TABLE...")


def _counting(command: Any) -> Any:
    """Add the options of the commands that count the rows of tables."""
    for option in (
        click.option("--memory-limit", metavar="SIZE", help='Limit for DuckDB, such as "1GB".'),
        click.option("--engine", type=click.Choice(["auto", "duckdb", "polars"]), default="auto", show_default=True),
        _tables,
    ):
        command = option(command)
    return command


_force = click.option("--force", is_flag=True, help="Replace the output if it exists.")
_model = click.option("--model", required=True, metavar="FILE", help="An encoder that `catbayes fit` wrote.")
_weight = click.option("--weight", metavar="COLUMN", help="Column of row weights.")


@click.command(epilog="Example:  catbayes fit 'orders/*.parquet' --target paid -o orders.catbayes")
@_counting
@click.option("--target", required=True, metavar="COLUMN", help="Column to encode towards.")
@click.option("-o", "--output", required=True, metavar="FILE", help="File for the fitted encoder.")
@click.option(
    "--columns", default="auto", metavar="A,B,…", help="Columns to encode, or all; by default text and booleans."
)
@_weight
@click.option("--family", type=click.Choice(["auto", *FAMILIES]), default="auto", show_default=True)
@click.option(
    "--prior", default="empirical", show_default=True, metavar="empirical|N", help="Prior of each column, or N rows."
)
@click.option("--mapping", type=click.Choice(list(MAPPINGS)), default="mean", show_default=True)
@click.option("--interactions", metavar="auto|pairs|triples|A&B,…", help="Columns to encode together.")
@click.option("--hierarchy", multiple=True, metavar="A:B,…", help="Parents of column A, the nearest first. Repeatable.")
@click.option("--keep-categories", type=click.Choice(["codes", "one_hot"]), help="Add columns of frequent categories.")
@click.option("--random-state", type=click.IntRange(0), default=0, show_default=True, metavar="SEED")
@_force
def fit(
    tables: tuple[str, ...],
    target: str,
    output: str,
    weight: str | None,
    engine: Any,
    memory_limit: str | None,
    force: bool,
    **settings: Any,
) -> None:
    """Fit an encoder to Parquet or CSV files.

    TABLE is a path, a folder or a pattern such as 'orders/*.parquet'.
    """
    check_output(output, force, tables)
    settings["columns"] = split_names(settings["columns"])
    settings["interactions"] = _interactions(settings["interactions"])
    settings["kinds"] = _hierarchy(settings.pop("hierarchy"))
    encoder = SamplingBayesianEncoder(**settings | {"prior": _prior(settings["prior"])})
    read = {"target": target, "weight": weight, "engine": engine, "memory_limit": memory_limit}
    read |= {name: settings[name] for name in ("columns", "family", "interactions", "kinds")}
    with bar("counting") as progress:
        evidence = gather(list(tables), **read, progress=progress)
    encoder.fit(evidence)
    encoder.save(output)
    _report(encoder, output)


@click.command(epilog="Example:  catbayes encode new.parquet --model orders.catbayes -o encoded.parquet --draws 5")
@_tables
@_model
@click.option("-o", "--output", required=True, metavar="FILE", help="Parquet or CSV file to write.")
@click.option(
    "--draws", "n_draws", type=click.IntRange(1), metavar="K", help="K draws; by default the posterior expectation."
)
@click.option("--row-id", metavar="COLUMN", help="Column that identifies rows; by default file name and row number.")
@click.option("--target", metavar="COLUMN", help="Target of training rows: each row's own target is excluded.")
@_weight
@click.option("--drop", is_flag=True, help="Leave the original columns out.")
@_force
def encode(tables: tuple[str, ...], model: str, output: str, force: bool, **settings: Any) -> None:
    """Add encoded columns to Parquet or CSV files, and write one file of either kind."""
    check_output(output, force, (model,))
    with bar("encoding") as progress:
        encode_table(list(tables), load(model), output, overwrite=force, progress=progress, **settings)
    click.echo(f"wrote {output}", err=True)


@click.command(epilog="Example:  catbayes update today.parquet --model orders.catbayes --target paid --force")
@_counting
@_model
@click.option("--target", required=True, metavar="COLUMN", help="Column to encode towards.")
@click.option("-o", "--output", metavar="FILE", help="File for the updated encoder; by default the model itself.")
@_weight
@click.option("--remove", is_flag=True, help="Remove these rows instead of adding them.")
@click.option("--forget", type=click.FloatRange(0.0, 1.0, max_open=True), default=0.0, help="First discount old rows.")
@_force
def update(
    tables: tuple[str, ...], model: str, output: str | None, remove: bool, forget: float, force: bool, **settings: Any
) -> None:
    """Add the rows of files to a fitted encoder, or remove them."""
    output = output or model
    check_output(output, force, tables)
    encoder = load(model)
    with bar("counting") as progress:
        fresh = gather(list(tables), like=encoder.evidence_, progress=progress, **settings)
    if forget:
        encoder.forget(forget)
    encoder = encoder.remove(fresh) if remove else encoder.partial_fit(fresh)
    encoder.save(output)
    _report(encoder, output)


def _prior(text: str) -> Any:
    if text == "empirical":
        return text
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f'{text!r}: expected "empirical" or a number of rows.', param_hint="--prior") from None


def _interactions(text: str | None) -> Any:
    """Read a word, or columns with "&" between them."""
    if text is None or text in ("auto", "pairs", "triples"):
        return text
    return [tuple(name.strip() for name in part.split("&")) for part in split_names(text)]


def _hierarchy(texts: tuple[str, ...]) -> dict[str, Nested] | None:
    """Read columns with their parents, such as postcode:region,country."""
    pairs = [text.partition(":") for text in texts]
    return {child.strip(): Nested(split_names(parents)) for child, _, parents in pairs} or None


def _report(encoder: Any, output: str) -> None:
    click.echo(f"wrote {output}", err=True)
    click.echo(repr(encoder.evidence_), err=True)
