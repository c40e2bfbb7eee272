"""Run the paper's experiments, store their results, draw the figures and write the page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments import importance, mapping, search, table
from experiments.curves import DRAWS, PRIOR
from experiments.effort import EFFORTS, Effort
from experiments.page import write
from experiments.public import load
from experiments.table import CLOSE
from experiments.trials import Progress, Store

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
    names: Sequence[str],
    folder: Path,
    *,
    effort: str = "full",
    pages: Sequence[Path] = (),
    run: bool = True,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run some of EXPERIMENTS, and write the pages.

    Results are stored in `folder`, one JSON file per experiment; a finished trial does not run again. `effort` is
    "full" (hours), "quick" (minutes) or "tiny" (a few rows, which only show that it runs). Pages are written to
    `pages`, or to `results.md` in the folder. Returns the findings by experiment, and under "failed" why trials failed.
    """
    chosen = EFFORTS[effort]
    if run and {"table", "mapping", "search"} & {*names}:
        for name in ("adult", "mercedes"):  # a missing table is an error before anything runs
            load(name)
    folder.mkdir(parents=True, exist_ok=True)
    stores = {name: Store(folder / f"{name}.json") for name in EXPERIMENTS}
    for name in names if run else ():
        stores[name].run(EXPERIMENTS[name].trials(chosen), n_jobs=n_jobs, progress=progress)
    found = {name: _found(name, store, chosen, folder) for name, store in stores.items()}
    for page in pages or [folder / "results.md"]:
        values = {
            "found": found,
            "effort": chosen,
            "pictures": Path(os.path.relpath(folder, page.parent)).as_posix(),
            "close": CLOSE,
            "environments": [one for part in found.values() if part for one in part["environments"]],
        }
        write("results.md", page, values)
    failed = [reason for name in names for reason in (found[name] or {"failed": {}})["failed"].values()]
    return {name: part["summary"] for name, part in found.items() if part is not None} | {"failed": failed}


def _found(name: str, store: Store, effort: Effort, folder: Path) -> dict[str, Any] | None:
    """Return the findings of an experiment, its figures and its cost; None if it has not run."""
    experiment = EXPERIMENTS[name]
    account = store.account(experiment.trials(effort))
    if not account["n_run"]:
        return None
    summary = experiment.summarise(store, effort)
    if hasattr(experiment, "draw"):
        experiment.draw(summary, folder)
    return {"summary": summary} | account
