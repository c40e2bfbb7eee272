"""reproduce: run the experiments, keep what they gave, draw the figures and write the page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joblib import cpu_count

from catbayes.core.validation import check_count, check_option
from catbayes.datasets import load
from catbayes.errors import InputError
from catbayes.io.atomic import check_output
from experiments import importance, mapping, search, table
from experiments.curves import DRAWS, PRIOR
from experiments.effort import EFFORTS, Effort
from experiments.page import render
from experiments.trials import Progress, Store, Trial

EXPERIMENTS: dict[str, Any] = {
    "table": table,
    "draws": DRAWS,
    "prior": PRIOR,
    "importance": importance,
    "mapping": mapping,
    "search": search,
}
"""By the names that users type: something with `trials`, `summarise` and perhaps `draw`."""


def reproduce(
    what: str | Sequence[str] = "all",
    folder: str | os.PathLike[str] = "catbayes-results",
    *,
    effort: str = "full",
    pages: Sequence[str | os.PathLike[str]] = (),
    run: bool = True,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the paper's experiments, and write down what they say.

    Results are kept in `folder`, one JSON file an experiment; a trial that is finished is not run again, so Ctrl-C
    costs little. Real tables come from the folder that CATBAYES_DATA names, or from OpenML.

    `what` is one of EXPERIMENTS, some of them or "all"; `effort` is "full" (hours), "quick" (minutes) or "tiny" (a few
    rows, which only show that it runs). Pages are written to `pages`, or to `RESULTS.md` in the folder; without `run`,
    they say what is there already. `progress` is called with the number of trials done, that of all, and what was done
    last. Returns what each experiment found, by its name, and under "failed" why trials failed.
    """
    names = _names(what)
    check_option("effort", effort, tuple(EFFORTS))
    chosen, place = EFFORTS[effort], Path(folder)
    if place.exists() and not place.is_dir():
        raise InputError(f"{place} is a file: expected a folder to keep results in.")
    for page in pages:
        check_output(page, overwrite=True)
    if run:
        _require_tables(names)
    place.mkdir(parents=True, exist_ok=True)
    stores = {name: Store(place / f"{name}.json") for name in EXPERIMENTS}
    if run:
        _run(names, stores, chosen, _n_jobs(n_jobs), progress)
    found = {name: _found(name, stores[name], chosen, place) for name in EXPERIMENTS}
    for page in pages or [place / "RESULTS.md"]:
        render(found, chosen, place, Path(page))
    failed = [reason for name in names for reason in (found[name] or {"failed": []})["failed"]]
    return {name: part["summary"] for name, part in found.items() if part is not None} | {"failed": failed}


def _names(what: str | Sequence[str]) -> list[str]:
    names = [what] if isinstance(what, str) else list(what)
    for name in names:
        check_option("what", name, (*EXPERIMENTS, "all"))
    if "all" in names:
        return list(EXPERIMENTS)
    if not names:
        raise InputError(f"what is empty: expected some of {', '.join(EXPERIMENTS)}, or all.")
    return [name for name in EXPERIMENTS if name in names]


def _require_tables(names: list[str]) -> None:
    """Read the real tables once, so that one that is not to be had is told before anything runs."""
    for name in ("adult", "mercedes") if {"table", "mapping", "search"} & {*names} else ():
        load(name)


def _n_jobs(n_jobs: int | None) -> int:
    return int(cpu_count()) if n_jobs is None else check_count("n_jobs", n_jobs)


def _run(names: list[str], stores: dict[str, Store], effort: Effort, n_jobs: int, progress: Progress | None) -> None:
    trials: dict[str, list[Trial]] = {name: EXPERIMENTS[name].trials(effort) for name in names}
    total, before = sum(map(len, trials.values())), 0
    for name in names:

        def report(done: int, _: int, what: str, name: str = name, before: int = before) -> None:
            if progress is not None:
                progress(before + done, total, f"{name}: {what}")

        stores[name].run(trials[name], n_jobs=n_jobs, progress=report)
        before += len(trials[name])


def _found(name: str, store: Store, effort: Effort, folder: Path) -> dict[str, Any] | None:
    """What an experiment found, its figures and its cost; None if it has not run."""
    experiment = EXPERIMENTS[name]
    records = [store.trials[trial.key] for trial in experiment.trials(effort) if trial.key in store.trials]
    if not records:
        return None
    summary = experiment.summarise(store, effort)
    figures = experiment.draw(summary, folder) if hasattr(experiment, "draw") else []
    failed = [record["failed"] for record in records if "failed" in record]
    minutes = sum(record["seconds"] for record in records) / 60
    environments = [store.environments[number] for number in sorted({record["environment"] for record in records})]
    counts = {"trials": len(records), "minutes": minutes, "failed": failed, "environments": environments}
    return {"summary": summary, "figures": [path.name for path in figures]} | counts
