"""`python -m experiments.quality`, which `make bench-quality` calls: measure us against others, and write the page."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from joblib import cpu_count

from catbayes.cli._command import INTERRUPTED, described_bar, split_names
from catbayes.datasets import NAMES
from catbayes.errors import InputError
from catbayes.io.atomic import check_output
from experiments import noise, quality_findings, random_effects
from experiments.noise import NoisePlan, Pairs
from experiments.page import distinct, gap, score, write
from experiments.quality_cells import (
    HALVES,
    N_FOLDS,
    QUICK_LIMIT,
    QUICK_ROWS,
    Cell,
    Plan,
    Settings,
    forget_limits,
    given_up,
    left,
)
from experiments.quality_findings import AGAINST, LABELS
from experiments.quality_methods import METHODS, MODELS
from experiments.random_effects import BOOSTING, PublishedPlan
from experiments.trials import Progress, Store

TEMPLATE = Path(__file__).with_name("quality.md")
FILES = {"tables": "quality.json", "random_effects": "random_effects.json", "noise": "noise.json"}
QUICK_NOISE: dict[str, Any] = {"rows": (1, 20, 250), "columns": (1, 10), "n_seeds": 2, "n_rows": 2_000}


@dataclass(frozen=True, slots=True)
class Plans:
    """What to run of the three parts."""

    tables: Plan = field(default_factory=Plan)
    random_effects: PublishedPlan = field(default_factory=PublishedPlan)
    noise: NoisePlan = field(default_factory=NoisePlan)

    @property
    def full(self) -> bool:
        """Tell whether it is all there is to report."""
        return self == Plans()

    def trials(self, part: str) -> list[Any]:
        """All trials of a part."""
        return self.tables.cells() if part == "tables" else getattr(self, part).trials()


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
    """Run the parts, keep what they give in the folder, and write down what is there.

    A trial that is finished is not run again, unless it is ours and `again` is set. The page in the folder tells how
    much is missing; `pages` are written only if nothing is, of all that there is to report. Returns what was found, by
    part, and under "written" the pages.
    """
    for page in pages:
        check_output(page, overwrite=True)
    folder.mkdir(parents=True, exist_ok=True)
    stores = {part: Store(folder / file) for part, file in FILES.items()}
    for part in parts if run else ():
        trials = plans.trials(part)
        if again:
            _forget_ours(stores[part], part, trials)
        _run(stores[part], part, trials, n_jobs, progress)
    found = {part: _found(plans, part, store) for part, store in stores.items() if part in parts or store.trials}
    complete = plans.full and set(found) == set(FILES) and not any(part["missing"] for part in found.values())
    chosen = [folder / "quality.md", *(pages if complete else ())]
    for page in chosen:
        _render(found, plans, complete, page)
    return found | {"written": chosen, "complete": complete}


def _forget_ours(store: Store, part: str, trials: Sequence[Any]) -> None:
    for trial in trials:
        ours = trial.way in noise.WAYS if part == "noise" else trial.method == "ours"
        if ours and trial.key in store.trials:
            del store.trials[trial.key]


def _run(store: Store, part: str, trials: list[Any], n_jobs: int, progress: Progress | None) -> None:
    """Run what is left of a part: of cells the first fold first, because what is given up there is not tried again."""

    def report(before: int) -> Progress:
        def tell(done: int, _: int, what: str) -> None:
            if progress is not None:
                progress(before + done, len(trials), f"{part}: {what}")

        return tell

    if part != "tables":
        store.run(trials, n_jobs=n_jobs, progress=report(0))
        return
    forget_limits(store, trials)
    first = {cell.table: min(other.fold for other in trials if other.table == cell.table) for cell in trials}
    for stage in ([cell for cell in trials if cell.fold == first[cell.table]], trials):
        before = len(trials) - len(left(store, trials))
        store.run(left(store, stage), n_jobs=n_jobs, progress=report(before))


def _found(plans: Plans, part: str, store: Store) -> dict[str, Any]:
    """What a part says, what it cost, and what is missing of it."""
    trials = plans.trials(part)
    records = [store.trials[trial.key] for trial in trials if trial.key in store.trials]
    failed = {
        trial.key: record["failed"] for trial in trials if "failed" in (record := store.trials.get(trial.key, {}))
    }
    lost = given_up(store, trials) if part == "tables" else {}
    open_ = [trial for trial in trials if not store.finished(trial) and trial.key not in failed]
    missing = [trial.key for trial in open_ if not _lost(trial, lost)]
    summarise: dict[str, Callable[..., dict[str, Any]]] = {
        "tables": quality_findings.summarise,
        "random_effects": random_effects.summarise,
        "noise": noise.summarise,
    }
    return {
        "summary": summarise[part](store, getattr(plans, part)),
        "n_trials": len(trials),
        "missing": missing,
        "failed": failed,
        "minutes": sum(record["seconds"] for record in records) / 60,
        "environments": [
            store.environments[number] for number in sorted({record["environment"] for record in records})
        ],
    }


def _lost(trial: Any, lost: dict[tuple[str, str, str], str]) -> bool:
    return isinstance(trial, Cell) and (trial.table, trial.model, trial.name) in lost


def _render(found: dict[str, Any], plans: Plans, complete: bool, page: Path) -> None:
    write(
        TEMPLATE,
        page,
        {
            "found": found,
            "plans": plans,
            "complete": complete,
            "models": MODELS,
            "methods": METHODS,
            "labels": {name: measure.label for name, measure in LABELS.items()},
            "against": AGAINST,
            "n_folds": N_FOLDS,
            "environments": distinct([one for part in found.values() for one in part["environments"]]),
            "score": score,
            "gap": gap,
        },
    )


# ------------------------------------------------------------------------------------------- on the terminal


def lines(found: dict[str, Any]) -> list[str]:
    """What was found in short, the losses first."""
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
        told.append(f"{row['table']}, {row['model']}: {LABELS[row['measure']].label} {score(ours)}")
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
    """Names that were given with commas between them."""

    def check(context: Any, parameter: Any, given: str | None) -> tuple[str, ...]:
        names = split_names(given) if given else list(known)
        unknown = [name for name in names if name not in known]
        if unknown:
            raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(known)}.")
        return tuple(name for name in known if name in names)

    return check


def _pairs(context: Any, parameter: Any, given: tuple[str, ...]) -> Settings:
    """Settings that were given as NAME=VALUE; a value that is no Python is a word."""
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


@click.command(
    epilog="Example:  python -m experiments.quality --quick --half choose --rows 2000 --models linear,LightGBM",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--half", type=click.Choice(list(HALVES)), default="report", show_default=True, help="Which folds to run."
)
@click.option("--rows", type=click.IntRange(20), help="Training rows at most; all by default.")
@click.option("--quick", is_flag=True, help="Minutes instead of hours: three folds, 2,000 training rows.")
@click.option("--tables", callback=_chosen(NAMES), metavar="NAMES", help="Some of the tables, with commas.")
@click.option("--models", callback=_chosen(tuple(MODELS)), metavar="NAMES", help="Some of the models, with commas.")
@click.option("--methods", callback=_chosen(tuple(METHODS)), metavar="NAMES", help="Some of the methods, with commas.")
@click.option("--setting", "settings", multiple=True, callback=_pairs, metavar="NAME=VALUE", help="Ours with this too.")
@click.option("--random-effects", "published", is_flag=True, help="The three tables with published folds instead.")
@click.option("--boosting", multiple=True, callback=_pairs, metavar="NAME=VALUE", help="LightGBM's parameters there.")
@click.option("--noise", "noisy", is_flag=True, help="What columns of pure noise cost instead.")
@click.option("--pairs", type=click.Choice(["auto", "pairs"]), default="auto", show_default=True, help="Pairs there.")
@click.option("--all", "everything", is_flag=True, help="All three parts.")
@click.option("--folder", default="catbayes-results", show_default=True, help="Where results are kept.")
@click.option("--page", "pages", multiple=True, metavar="FILE", help="Page to write as well, if nothing is missing.")
@click.option("--no-run", is_flag=True, help="Only write down what is in the folder already.")
@click.option("--again", is_flag=True, help="Run ours anew where it is finished: the library has changed.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; all cores by default.")
def command(
    half: str,
    rows: int | None,
    quick: bool,
    tables: tuple[str, ...],
    models: tuple[str, ...],
    methods: tuple[str, ...],
    settings: Settings,
    published: bool,
    boosting: Settings,
    noisy: bool,
    pairs: Pairs,
    everything: bool,
    folder: str,
    pages: tuple[str, ...],
    no_run: bool,
    again: bool,
    jobs: int | None,
) -> None:
    """Measure our encoding against others, on public tables with four models.

    Settings are chosen on the even folds (--half choose) and reported on the odd ones. Tables come from the folder that
    CATBAYES_DATA names. What is finished is kept in the folder and not run again: after Ctrl-C, the same command goes
    on. The page in the folder is written every time; one named by --page only from all there is to report.
    """
    if settings and half != "choose":
        raise click.UsageError("--setting is for --half choose: what is reported has the defaults.")
    n_rows = QUICK_ROWS if quick and rows is None else rows
    quickly: dict[str, Any] = {"n_folds": 1, "limit": 5 * QUICK_LIMIT} if quick else {}
    grown = tuple((dict(BOOSTING) | dict(boosting)).items())
    plans = Plans(
        Plan(half, n_rows, tables, models, methods, settings, quick),
        PublishedPlan(half, grown, settings, **quickly),
        NoisePlan(half, pairs=pairs, **(QUICK_NOISE if quick else {})),
    )
    wanted = {"tables": not (published or noisy), "random_effects": published, "noise": noisy}
    parts = [part for part, chosen in wanted.items() if chosen or everything]
    options: dict[str, Any] = {"pages": [Path(page) for page in pages], "run": not no_run, "again": again}
    try:
        with described_bar("starting") as progress:
            found = measure(plans, parts, Path(folder), n_jobs=jobs or int(cpu_count()), progress=progress, **options)
    except KeyboardInterrupt:
        click.echo(f"Interrupted; what is finished is in {folder}. The same command goes on.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except InputError as error:
        raise click.ClickException(str(error)) from error
    _tell({part: found[part] for part in parts}, found["written"], pages)


def _tell(found: dict[str, Any], chosen: Sequence[Path], pages: Sequence[str]) -> None:
    """Print what was found, what is missing, and where it was written."""
    for line in lines(found):
        click.echo(line)
    other = found.get("tables", {}).get("summary", {}).get("sources", {}).get("n_other", 0)
    if other:
        click.echo(
            f"{other} cells of ours were run with another version of the library: --again runs them anew.", err=True
        )
    for page in chosen:
        click.echo(f"wrote {page}", err=True)
    for name in pages if len(chosen) == 1 else ():
        click.echo(f"{name} is not written: it takes all tables, models, methods and parts, on the half that reports.")
    failed = [f"{key}: {reason}" for part in found.values() for key, reason in part["failed"].items()]
    for reason in failed:
        click.echo(f"failed: {reason}", err=True)
    if failed:
        raise click.ClickException(
            f"{len(failed)} trials failed; the page tells which, and the same command tries again."
        )


if __name__ == "__main__":
    command(prog_name="python -m experiments.quality")
