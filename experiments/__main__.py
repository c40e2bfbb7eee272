"""`python -m experiments`, which `make reproduce` calls: run the paper's experiments, and write the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from joblib import cpu_count

from experiments.run import EXPERIMENTS, reproduce
from experiments.trials import show


@click.command(epilog="Example:  python -m experiments table --quick")
@click.argument("what", type=click.Choice([*EXPERIMENTS, "all"]), metavar="[WHAT]", default="all")
@click.option("--quick", is_flag=True, help="Minutes instead of hours: fewer trees and splits.")
@click.option("--folder", type=Path, default="catbayes-results", show_default=True, help="Results and figures.")
@click.option("--page", "pages", type=Path, multiple=True, help="Page to write; results.md in the folder if none.")
@click.option("--no-run", is_flag=True, help="Only write the page of what is in the folder already.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; all cores by default.")
def command(what: str, quick: bool, folder: Path, pages: tuple[Path, ...], no_run: bool, jobs: int | None) -> None:
    """Run the paper's experiments, and write the page.

    WHAT is one of: table (its four results), draws, prior, importance (its figures), mapping, search (its parameters),
    all.

    Real tables come from the folder that CATBAYES_DATA names, or from OpenML. A finished trial does not run again:
    after Ctrl-C, the same command goes on.
    """
    names = list(EXPERIMENTS) if what == "all" else [what]
    settings: dict[str, Any] = {"effort": "quick" if quick else "full", "pages": pages, "run": not no_run}
    found = reproduce(names, folder, n_jobs=jobs or int(cpu_count()), progress=show, **settings)
    for line in _lines(found):
        click.echo(line)
    for page in pages or [folder / "results.md"]:
        click.echo(f"wrote {page}", err=True)
    if found["failed"]:
        raise click.ClickException(f"{len(found['failed'])} trials failed, the first with: {found['failed'][0]}")


def _lines(found: dict[str, Any]) -> list[str]:
    """Return the verdicts on the paper's claim, one per line."""
    lines = []
    for table, row in found.get("table", {}).get("tables", {}).items():
        verdict = row["repeats"]["sampling_minus_leave_one_out"]
        if verdict is not None:
            ends = f"{verdict['low']:+.4f} to {verdict['high']:+.4f}"
            lines.append(f"{table}: sampling - leave-one-out {verdict['gain']:+.4f} ({ends}): {verdict['word']}")
    return lines


if __name__ == "__main__":
    command(prog_name="python -m experiments")
