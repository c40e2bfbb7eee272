"""The command that compares encoders on a table, and how its result is printed."""

from __future__ import annotations

import json
import re
import sys
from textwrap import indent
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from catbayes import compare as compare_encoders
from catbayes.cli import INTERRUPTED, bar, check_output, split_names
from catbayes.comparison import ENCODERS, Comparison
from catbayes.comparison.contestants import BOOSTERS
from catbayes.families import FAMILIES
from catbayes.report import write as write_report

LEGEND = (
    "± is a standard error. behind: mean distance to the best on the same folds; statistically tied: its 95 % interval "
    "reaches zero. Times are seconds per fold."
)


class Seconds(click.ParamType):
    """A span of time such as 120s, 5m or 1h."""

    name = "time"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read the span, in seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(value))
        if found is None:
            return self.fail(f"{value!r}: expected a time such as 120s, 5m or 1h.", param, ctx)
        return float(found[1]) * {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}[found[2]]


@click.command(epilog="Example:  catbayes compare customers.csv --target churned --drop customer --report churn.html")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@click.option("--target", required=True, metavar="COLUMN", help="Column to predict.")
@click.option("--drop", metavar="A,B,…", help="Columns to leave out, such as identifiers.")
@click.option(
    "--columns", default="auto", metavar="A,B,…", help="Categorical columns, or all; by default not numbers or dates."
)
@click.option("--encoders", metavar="A,B,…", help=f"Some of: {', '.join(ENCODERS)}.")
@click.option("--models", metavar="A,B,…", help=f"Some of: boosting, linear, forest, {', '.join(BOOSTERS)}.")
@click.option("--family", type=click.Choice(["auto", *FAMILIES]), default="auto", show_default=True)
@click.option("--by", metavar="MEASURE", help="Measure that ranks, such as log_loss; AUC, log-loss or R² by default.")
@click.option("--cv", type=click.IntRange(2), default=5, show_default=True, help="Number of folds.")
@click.option(
    "--repeats", type=click.IntRange(1), help="How often to make new folds; by default by the number of rows."
)
@click.option("--groups", metavar="COLUMN", help="Hold out whole groups.")
@click.option("--time", metavar="COLUMN", help="Predict later rows from earlier ones.")
@click.option("--sample", type=click.IntRange(10), metavar="N", help="Use a random sample of N rows.")
@click.option("--time-budget", type=Seconds(), metavar="TIME", help="Start no fold after 120s, 5m, …")
@click.option("--random-state", type=click.IntRange(0), default=0, show_default=True, metavar="SEED")
@click.option(
    "--report",
    metavar="FILE",
    help="Write a page to look at, or Markdown or JSON: report.html, .md or .json.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--force", is_flag=True, help="Replace the report if it exists.")
def compare(
    tables: tuple[str, ...], target: str, report: str | None, as_json: bool, force: bool, **settings: Any
) -> None:
    """Compare encoders and models on your table."""
    if report is not None:
        check_output(report, force, tables)
    for name in ("drop", "columns", "encoders", "models"):
        settings[name] = split_names(settings[name])
    with bar("reading") as progress:
        result = compare_encoders(
            list(tables), target, progress=progress, **settings | {"drop": settings["drop"] or []}
        )
    if as_json:
        json.dump(result.to_dict(), sys.stdout, ensure_ascii=False, indent=1)
        click.echo()
    else:
        show(result)
    if report is not None and result.ranked:
        with bar("writing the report"):
            write_report(result, report, overwrite=force)
        click.echo(f"wrote {report}", err=True)
    if result.interrupted:
        click.echo("catbayes: interrupted; the above is what was finished.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    if not result.ranked:
        raise click.ClickException("there is no result" + ("." if report is None else ", and no report."))


def show(result: Comparison) -> None:
    """Print how the table was read, the ranking, what did not run, and the verdict."""
    console = Console()
    console.width = console.width if console.is_terminal else 120
    for text in (result.rows.described + ".", *(f"Note: {note}" for note in result.rows.notes), ""):
        console.print(Text(text))
    if result.ranked:
        table = result.table()
        grid = Table(box=None, pad_edge=False)
        for name in table:
            grid.add_column(name, justify="left" if name in ("encoder", "model", "") else "right")
        for line in table.itertuples(index=False):
            grid.add_row(*map(Text, line), style="bold" if "best" in line else "")
        console.print(grid)
    code = [LEGEND, "", "The best, in Python, for a pandas table X and its target y:", "", indent(result.code, "    ")]
    for text in (*result.reasons, "", result.sentence, *(code if result.ranked else [])):
        console.print(Text(text), soft_wrap=text == code[-1])
