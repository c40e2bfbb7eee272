"""The command that compares encoders on a table of one's own, and how its result is printed."""

from __future__ import annotations

import json
import re
import sys
import time as clock
import warnings
from contextlib import suppress
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from catbayes.cli._command import INTERRUPTED, bar, chosen_columns, described_bar, split_names
from catbayes.cli._completing import by_name, columns_of_tables
from catbayes.cli._wording import flags_of, in_flags
from catbayes.comparison import ENCODERS, MEASURES, Comparison, behind, written
from catbayes.comparison import compare as compare_encoders
from catbayes.comparison._text import printable
from catbayes.errors import InputError, InputWarning
from catbayes.families import FAMILIES
from catbayes.io.atomic import check_output
from catbayes.io.sources import find_files
from catbayes.report import write as write_report

MODELS = ("boosting", "linear", "forest")
WIDE = 100  # letters a line, below which the less important columns are left out
SHARE_OF_REPORT, LEAST_OF_REPORT = 0.15, 15.0  # of a time budget, and seconds, but never more than a third


def _without_exposure() -> list[str]:
    """Families that can do without exposure, of which a comparison takes none."""
    found = []
    for name, family in FAMILIES.items():
        with suppress(InputError):
            family.check_unexposed()
            found.append(name)
    return found


class Seconds(click.ParamType):
    """A span of time such as 120s, 5m or 1h."""

    name = "time"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Read the span, in seconds."""
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|h|)\s*", str(value))
        seconds = float(found[1]) * {"s": 1, "": 1, "m": 60, "h": 3600}[found[2]] if found else 0.0
        if not seconds:
            self.fail(f"{value!r}: expected a time such as 120s, 5m or 1h.", param, ctx)
        return seconds


@click.command(epilog="Example:  catbayes compare customers.csv --target churned --id customer --report churn.html")
@click.argument("tables", nargs=-1, required=True, type=click.Path(), metavar="TABLE...")
@click.option("--target", required=True, metavar="COLUMN", shell_complete=columns_of_tables, help="Column to predict.")
@click.option(
    "--id",
    "ids",
    default="",
    metavar="A,B,…",
    shell_complete=columns_of_tables,
    help="Columns to leave out, such as identifiers.",
)
@click.option(
    "--columns",
    metavar="A,B,…",
    shell_complete=columns_of_tables,
    help="Categorical columns, or all; by default those without numbers or dates.",
)
@click.option("--encoders", metavar="A,B,…", shell_complete=by_name(ENCODERS), help=f"Some of: {', '.join(ENCODERS)}.")
@click.option("--family", type=click.Choice(["auto", *_without_exposure()]), default="auto", show_default=True)
@click.option("--models", metavar="A,B,…", shell_complete=by_name(MODELS), help=f"Some of: {', '.join(MODELS)}.")
@click.option(
    "--by",
    metavar="MEASURE",
    shell_complete=by_name(MEASURES),
    help="Measure that ranks, such as log_loss; AUC, log-loss or R² by default.",
)
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True)
@click.option(
    "--repeats", type=click.IntRange(1), help="How often to make new folds; by default by the number of rows."
)
@click.option("--groups", metavar="COLUMN", shell_complete=columns_of_tables, help="Hold out whole groups.")
@click.option(
    "--time", metavar="COLUMN", shell_complete=columns_of_tables, help="Predict later rows from earlier ones."
)
@click.option("--sample", type=click.IntRange(10), metavar="N", help="Use a random sample of N rows.")
@click.option("--time-budget", type=Seconds(), metavar="TIME", help="Compare for 120s, 5m, …, the most useful first.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@click.option("--report", type=click.Path(), metavar="FILE", help="Write a page to look at, such as report.html.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--force", is_flag=True, help="Replace the report if it exists.")
def compare(
    tables: tuple[str, ...],
    target: str,
    ids: str,
    columns: str | None,
    encoders: str | None,
    models: str | None,
    family: str,
    by: str | None,
    folds: int,
    repeats: int | None,
    groups: str | None,
    time: str | None,
    sample: int | None,
    time_budget: float | None,
    seed: int,
    report: str | None,
    as_json: bool,
    force: bool,
) -> None:
    """Tell which encoder is best on your table, with which model, and by how much."""
    if report is not None:
        check_output(report, force, find_files(tables))
    start, for_report = clock.monotonic(), 0.0
    if time_budget is not None and report is not None:
        for_report = min(max(SHARE_OF_REPORT * time_budget, LEAST_OF_REPORT), time_budget / 3)
    result = run_compare(
        list(tables),
        target,
        encoders=None if encoders is None else split_names(encoders),
        models=None if models is None else split_names(models),
        columns=chosen_columns(columns),
        drop=split_names(ids),
        family=family,
        by=by,
        cv=folds,
        repeats=repeats,
        groups=groups,
        time=time,
        sample=sample,
        time_budget=None if time_budget is None else time_budget - for_report,
        random_state=seed,
    )
    if as_json:
        json.dump(result.to_dict(), sys.stdout, ensure_ascii=False, indent=1)
        click.echo()
    else:
        show(result)
    if report is not None and result.ranked:
        left = None if time_budget is None else max(start + time_budget - clock.monotonic(), 0.0)
        with bar("writing the report"):
            write_report(result, report, overwrite=force, time_budget=left)
        click.echo(f"wrote {report}", err=True)
    if not result.ranked:
        click.echo("catbayes: there is no result" + ("." if report is None else ", and no report."), err=True)
    if result.interrupted:
        click.echo("catbayes: interrupted; the above is what was finished.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    if not result.ranked:
        raise click.exceptions.Exit(1)


def run_compare(table: Any, y: Any, **settings: Any) -> Comparison:
    """Compare, behind a progress bar; suspicious columns are told with the result."""
    with described_bar("reading") as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        return compare_encoders(table, y, progress=progress, **settings)


def show(result: Comparison) -> None:
    """Print what was guessed, the table, what did not run, and the verdict."""
    console = Console()
    console.width = console.width if console.is_terminal else 120
    flags = flags_of(click.get_current_context().command.params)
    paragraphs = [
        result.rows.described + ".",
        *(f"Note: {in_flags(note, flags)}" for note in (*result.rows.notes, *result.rows.warnings)),
    ]
    for text in paragraphs:
        console.print(Text(printable(text)))
    console.print()
    if result.ranked:
        console.print(_grid(result, console.width))
    for reason in result.reasons:
        console.print(Text(printable(reason)))
    console.print()
    for text in (result.sentence, LEGEND) if result.ranked else (result.sentence,):
        console.print(Text(printable(text)))


LEGEND = (
    "behind: mean distance to the best on the same folds ± its standard error; a tie is a distance whose 95 % interval "
    "reaches zero. Times are seconds a fold."
)


def _grid(result: Comparison, width: int) -> Grid:
    """The cells that ran, with as many columns as there is room for."""
    measures = result.measures if width >= WIDE else result.measures[:2]
    times = ["fit", "predict"] if width >= WIDE else []
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("encoder", "model"):
        grid.add_column(heading, overflow="fold")
    for name in measures:
        grid.add_column(MEASURES[name].label, justify="right")
    for heading in ("behind", "", *(f"{name} s" for name in times)):
        grid.add_column(heading, justify="left" if not heading else "right", no_wrap=True)
    for record in result.records():
        if record["status"] != "done":
            continue
        cells = [record["encoder"], record["model"], *(written(record[name]) for name in measures)]
        cells += [behind(record), record["verdict"], *(f"{record[f'{name}_seconds']:.2f}" for name in times)]
        grid.add_row(*map(Text, cells), style="bold" if record["verdict"] == "best" else "")
    return grid
