"""`python -m experiments`, which `make reproduce` calls: run the paper's experiments, and write the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from catbayes.cli._command import INTERRUPTED, described_bar
from catbayes.errors import InputError
from experiments.run import EXPERIMENTS, reproduce


@click.command(
    epilog="Example:  python -m experiments table --quick",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("what", type=click.Choice([*EXPERIMENTS, "all"]), metavar="[WHAT]", default="all")
@click.option("--quick", is_flag=True, help="Minutes instead of hours: fewer trees and splits.")
@click.option("--folder", default="catbayes-results", show_default=True, help="Where results and figures are kept.")
@click.option("--page", "pages", multiple=True, metavar="FILE", help="Page to write; RESULTS.md in the folder if none.")
@click.option("--no-run", is_flag=True, help="Only write down what is in the folder already.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; all cores by default.")
def command(what: str, quick: bool, folder: str, pages: tuple[str, ...], no_run: bool, jobs: int | None) -> None:
    """Run the paper's experiments, and write down what they say.

    WHAT is one of: table (its four results), draws, prior, importance (its figures), mapping, search (its parameters),
    all.

    Real tables come from the folder that CATBAYES_DATA names, or from OpenML. What is finished is kept in the folder,
    and not run again: after Ctrl-C, the same command goes on.
    """
    settings: dict[str, Any] = {"effort": "quick" if quick else "full", "pages": pages, "run": not no_run}
    try:
        with described_bar("starting") as progress:
            found = reproduce(what, folder, n_jobs=jobs, progress=progress, **settings)
    except KeyboardInterrupt:
        click.echo(f"Interrupted; what is finished is in {folder}. The same command goes on.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except InputError as error:
        raise click.ClickException(str(error)) from error
    for line in _lines(found):
        click.echo(line)
    for page in pages or [str(Path(folder) / "RESULTS.md")]:
        click.echo(f"wrote {page}", err=True)
    if found["failed"]:
        raise click.ClickException(f"{len(found['failed'])} trials failed, the first with: {found['failed'][0]}")


def _lines(found: dict[str, Any]) -> list[str]:
    """The verdicts on the paper's claim, one a line."""
    lines = []
    for table, row in found.get("table", {}).get("tables", {}).items():
        verdict = row["repeats"]["sampling_minus_leave_one_out"]
        if verdict is not None:
            ends = f"{verdict['low']:+.4f} to {verdict['high']:+.4f}"
            lines.append(f"{table}: sampling - leave-one-out {verdict['gain']:+.4f} ({ends}): {verdict['word']}")
    return lines


if __name__ == "__main__":
    command(prog_name="python -m experiments")
