"""`python -m experiments.quality`, which `make quality` calls: measure catbayes against others, and write the page."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from joblib import cpu_count

from experiments import noise, quality_findings, random_effects
from experiments.noise import NoisePlan, Pairs
from experiments.page import gap, score, write
from experiments.public import NAMES
from experiments.quality_cells import HALVES, N_FOLDS, Plan, Settings
from experiments.quality_findings import AGAINST
from experiments.quality_methods import METHODS
from experiments.quality_models import MODELS
from experiments.random_effects import BOOSTING, PublishedPlan
from experiments.scores import LABELS
from experiments.trials import Progress, Store, show

FILES = {"tables": "quality.json", "random_effects": "random_effects.json", "noise": "noise.json"}
SUMMARISE: dict[str, Callable[[Store, Any], dict[str, Any]]] = {
    "tables": quality_findings.summarise,
    "random_effects": random_effects.summarise,
    "noise": noise.summarise,
}


@dataclass(frozen=True, slots=True)
class Plans:
    """What to run of the three parts."""

    tables: Plan = field(default_factory=Plan)
    random_effects: PublishedPlan = field(default_factory=PublishedPlan)
    noise: NoisePlan = field(default_factory=NoisePlan)


def measure(
    plans: Plans,
    parts: Sequence[str],
    folder: Path,
    *,
    pages: Sequence[Path] = (),
    run: bool = True,
    again: bool = False,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the parts, store their results in the folder, and write the page there.

    A finished trial does not run again, unless it depends on catbayes and `again` is set. `pages` are written only if
    nothing is missing of all that there is to report. Returns the findings by part, and under "written" the pages.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stores = {part: Store(folder / file) for part, file in FILES.items()}
    for part in parts if run else ():
        trials = getattr(plans, part).trials()
        if again:
            stores[part].forget_ours(trials)
        stores[part].run(trials, n_jobs=n_jobs, progress=progress)
    found = {
        part: {"summary": SUMMARISE[part](store, getattr(plans, part))} | store.account(getattr(plans, part).trials())
        for part, store in stores.items()
        if part in parts or store.trials
    }
    complete = plans == Plans() and set(found) == set(FILES) and not any(part["missing"] for part in found.values())
    chosen = [folder / "quality.md", *(pages if complete else ())]
    values = {
        "found": found,
        "plans": plans,
        "complete": complete,
        "models": MODELS,
        "methods": METHODS,
        "labels": LABELS,
        "against": AGAINST,
        "n_folds": N_FOLDS,
        "environments": [one for part in found.values() for one in part["environments"]],
    }
    for page in chosen:
        write("quality.md", page, values)
    return found | {"written": chosen, "complete": complete}


# ------------------------------------------------------------------------------------------- on the terminal


def lines(found: dict[str, Any]) -> list[str]:
    """Describe the findings in short, the losses first."""
    told: list[str] = []
    if "tables" in found:
        told += _lines_of_tables(found["tables"]["summary"])
    if "random_effects" in found:
        for table, row in found["random_effects"]["summary"]["tables"].items():
            part = row["all"]
            if part is not None:
                rest = ", ".join(f"{name} {score(error)}" for name, error in part["published"].items())
                told.append(f"{table}: MSE {score(part['ours'])} on {len(part['folds'])} folds; published: {rest}")
    if "noise" in found:
        summary = found["noise"]["summary"]
        told.append(f"noise: {summary['n_costly']} of {summary['n_settings']} settings cost; the worst:")
        told += [f"  {_of_noise(row)}" for row in summary["worst"]]
    return told


def _lines_of_tables(summary: dict[str, Any]) -> list[str]:
    told = []
    for row in summary["rows"]:
        ours = row["scores"].get("ours", {}).get(row["measure"])
        told.append(f"{row['table']}, {row['model']}: {LABELS[row['measure']]} {score(ours)}")
        for rival, verdict in row["against"].items():
            if verdict is not None:
                ends = f"{gap(verdict['low'])} to {gap(verdict['high'])}"
                told[-1] += f"; {rival} {gap(verdict['gain'])} ({ends}){' WORSE' if verdict['worse'] else ''}"
    ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in summary["ranks"]["ranks"].items())
    return [*told, f"mean rank over {summary['ranks']['n']} tables and models: {ranks}"]


def _of_noise(row: dict[str, Any]) -> str:
    pairs = f", interactions={row['pairs']}" if row["pairs"] else ""
    return (
        f"{row['model']}, {row['way']}{pairs}, {row['columns']} columns of {row['rows']} rows a category: AUC "
        f"{gap(row['change'])} ± {row['error']:.4f}, {gap(row['against_target'])} against TargetEncoder"
    )


def _chosen(known: Sequence[str]) -> Callable[..., tuple[str, ...]]:
    """Return a callback that reads names with commas between them."""

    def check(context: Any, parameter: Any, given: str | None) -> tuple[str, ...]:
        names = given.split(",") if given else list(known)
        unknown = [name for name in names if name not in known]
        if unknown:
            raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(known)}.")
        return tuple(name for name in known if name in names)

    return check


def _settings(context: Any, parameter: Any, given: tuple[str, ...]) -> Settings:
    """Read NAME=VALUE; a value that is not Python is a word."""
    found = []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r}: expected NAME=VALUE, such as n_draws=10.")
        try:
            found.append((name, ast.literal_eval(value)))
        except (ValueError, SyntaxError):
            found.append((name, value))
    return tuple(found)


@click.command(epilog="Example:  python -m experiments.quality --half choose --rows 2000 --folds 3 --models linear")
@click.option("--half", type=click.Choice(list(HALVES)), default="report", show_default=True, help="Folds to run.")
@click.option("--rows", type=click.IntRange(20), help="Training rows at most; all by default.")
@click.option("--folds", type=click.IntRange(2), help="Folds at most; all of the half by default.")
@click.option("--tables", callback=_chosen(NAMES), metavar="NAMES", help="Some of the tables, with commas.")
@click.option("--models", callback=_chosen(tuple(MODELS)), metavar="NAMES", help="Some of the models, with commas.")
@click.option("--methods", callback=_chosen(tuple(METHODS)), metavar="NAMES", help="Some of the methods, with commas.")
@click.option("--setting", "settings", multiple=True, callback=_settings, metavar="NAME=VALUE", help="Change catbayes.")
@click.option("--random-effects", "published", is_flag=True, help="The three tables with published folds instead.")
@click.option("--boosting", multiple=True, callback=_settings, metavar="NAME=VALUE", help="LightGBM's parameters.")
@click.option("--noise", "noisy", is_flag=True, help="What columns of pure noise cost instead.")
@click.option("--pairs", type=click.Choice(["auto", "pairs"]), default="auto", show_default=True, help="Pairs there.")
@click.option("--all", "everything", is_flag=True, help="All three parts.")
@click.option("--folder", type=Path, default="catbayes-results", show_default=True, help="Folder of the results.")
@click.option("--page", "pages", type=Path, multiple=True, help="Page to write as well, if nothing is missing.")
@click.option("--no-run", is_flag=True, help="Only write the page of what is in the folder already.")
@click.option("--again", is_flag=True, help="Run the trials of catbayes again: the library has changed.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; all cores by default.")
def command(
    half: str,
    rows: int | None,
    folds: int | None,
    tables: tuple[str, ...],
    models: tuple[str, ...],
    methods: tuple[str, ...],
    settings: Settings,
    published: bool,
    boosting: Settings,
    noisy: bool,
    pairs: Pairs,
    everything: bool,
    folder: Path,
    pages: tuple[Path, ...],
    no_run: bool,
    again: bool,
    jobs: int | None,
) -> None:
    """Measure catbayes against others, on public tables with four models.

    Settings are chosen on the even folds (--half choose) and reported on the odd ones. Tables come from the folder that
    CATBAYES_DATA names. A finished trial does not run again: after Ctrl-C, the same command goes on.
    """
    if settings and half != "choose":
        raise click.UsageError("--setting is for --half choose: what is reported has the defaults.")
    plans = Plans(
        Plan(half, rows, tables, models, methods, settings, folds),
        PublishedPlan(half, tuple((dict(BOOSTING) | dict(boosting)).items()), settings, folds),
        NoisePlan(half, pairs=pairs),
    )
    wanted = {"tables": not (published or noisy), "random_effects": published, "noise": noisy}
    parts = [part for part, chosen in wanted.items() if chosen or everything]
    options: dict[str, Any] = {"pages": pages, "run": not no_run, "again": again, "progress": show}
    found = measure(plans, parts, folder, n_jobs=jobs or int(cpu_count()), **options)
    for line in lines({part: found[part] for part in parts}):
        click.echo(line)
    if "tables" in found and (other := found["tables"]["summary"]["sources"]["n_other"]):
        click.echo(f"{other} cells ran with another version of catbayes: --again runs them again.", err=True)
    for page in found["written"]:
        click.echo(f"wrote {page}", err=True)
    if pages and not found["complete"]:
        click.echo("--page is written only from all tables, models, methods and parts, on the half that reports.")
    failed = [f"{key}: {reason}" for part in parts for key, reason in found[part]["failed"].items()]
    if failed:
        raise click.ClickException(
            "\n".join([f"{len(failed)} trials failed, and run again with the same command.", *failed])
        )


if __name__ == "__main__":
    command(prog_name="python -m experiments.quality")
