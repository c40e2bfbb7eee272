"""How often the next target lies in its interval: `python -m experiments.uncertainty`."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from experiments.deadline import TimeUp, deadline
from experiments.page import write
from experiments.seeds import seed_of
from experiments.trials import Progress, Store, show, source
from experiments.uncertainty_methods import FOLDS, LEVELS, METHODS, METHODS_OF_CLASSES, Said, SaidOfClasses
from experiments.uncertainty_tables import KINDS, MADE, N_FOLDS, N_ROWS, OF_CLASSES, TABLES, read

LIMIT = 150.0
ENOUGH = 500  # test rows of a kind, to hold a coverage against
NEAR = 0.02


@dataclass(frozen=True, slots=True)
class UncertaintyCell:
    """A method on one fold of one table; sums of what it said, by how well known the rarest category is."""

    table: str
    method: str
    fold: int
    n_rows: int = N_ROWS

    @property
    def key(self) -> str:
        """What it is called."""
        return f"{self.table}, {self.method}, fold {self.fold}, {self.n_rows} rows"

    @property
    def group(self) -> tuple[str, str]:
        """All folds of a method."""
        return self.table, self.method

    @property
    def ours(self) -> bool:
        """Tell whether the result depends on catbayes."""
        return self.method.startswith("catbayes")

    def run(self) -> dict[str, Any]:
        """Sums and seconds, or why it was given up."""
        table = read(self.table, self.n_rows)
        train, test = table.fold(self.fold)
        X, new = (table.X.iloc[part].reset_index(drop=True) for part in (train, test))
        say = (METHODS_OF_CLASSES if table.classes else METHODS)[self.method]
        start = time.perf_counter()
        try:
            with deadline(LIMIT):
                said = say(table, X, table.y[train], new, seed_of(self.fold, 0), test)
        except TimeUp:
            return {"skipped": f"more than {LIMIT:.0f} s"}
        seconds, kinds = time.perf_counter() - start, table.kinds(train, test)
        found = {name: _sums(one, table.y[train], table.y[test], kinds) for name, one in said.items()}
        return {"said": found, "seconds": seconds} | ({"source": source()} if self.ours else {})


def _sums(said: Any, known: Any, y: Any, kinds: Any) -> dict[str, list[float]]:
    """By kind of row: how many there are, covered at each coverage, widths or sizes of sets, and losses."""
    by_row: dict[str, Any] = {"rows": np.ones(len(y))}
    if isinstance(said, Said):
        for coverage, (low, high) in said.intervals.items():
            by_row[f"covered {coverage}"] = (low <= y) & (y <= high)
            by_row[f"width {coverage}"] = high - low
        gap = y[:, None] - said.quantiles
        by_row["crps"] = 2 * np.maximum(LEVELS * gap, (np.array(LEVELS) - 1) * gap).mean(axis=1)
    else:
        assert isinstance(said, SaidOfClasses)
        own = np.searchsorted(np.unique(known), y)
        for coverage, sets in said.sets.items():
            by_row[f"covered {coverage}"] = sets[np.arange(len(y)), own]
            by_row[f"width {coverage}"] = sets.sum(axis=1)
        probability = np.clip(said.probabilities, 1e-15, 1)
        by_row["log_loss"] = -np.log(probability[np.arange(len(y)), own])
        by_row["brier"] = ((said.probabilities - np.eye(probability.shape[1])[own]) ** 2).sum(axis=1)
    return {name: np.bincount(kinds, values, len(KINDS)).tolist() for name, values in by_row.items()}


def cells(tables: Sequence[str], n_rows: int = N_ROWS, n_folds: int = N_FOLDS) -> list[UncertaintyCell]:
    """All that there is to run, the first fold of everything first."""
    found = []
    for fold in range(n_folds):
        for table in tables:
            for method in METHODS_OF_CLASSES if table in OF_CLASSES else METHODS:
                if method != "truth" or table in MADE:
                    found.append(UncertaintyCell(table, method, fold, n_rows))
    return found


def summarise(store: Store, trials: Sequence[UncertaintyCell]) -> dict[str, Any]:
    """Shares and means by table and method, from the sums of all folds; and where a coverage is off."""
    tables: dict[str, dict[str, Any]] = {}
    for trial in trials:
        result, rows = store.result(trial), tables.setdefault(trial.table, {})
        if result is None:
            continue
        if "skipped" in result:
            rows[trial.method] = {"skipped": result["skipped"]}  # whatever other folds say
            continue
        for name, sums in result["said"].items():
            row = rows.setdefault(name, {"sums": {key: np.zeros(len(KINDS)) for key in sums}, "seconds": 0.0})
            if "sums" in row:
                row["sums"] = {key: total + sums[key] for key, total in row["sums"].items()}
                row["seconds"] += result["seconds"] if name == trial.method else 0.0
    for rows in tables.values():
        for row in rows.values():
            row |= _shares(row["sums"]) if "sums" in row else {}
    rows_of = {
        name: next((row["rows"] for row in rows.values() if "sums" in row), None) for name, rows in tables.items()
    }
    about = {"off": _off(tables), "best": _best(tables), "widths": _widths(tables)}
    return {"tables": tables, "rows": rows_of} | about


def _shares(sums: dict[str, Any]) -> dict[str, Any]:
    rows = sums["rows"]
    with np.errstate(invalid="ignore"):
        by_kind = {key: total / rows for key, total in sums.items() if key != "rows"}
    return {
        "rows": rows.astype(int).tolist(),
        "by_kind": {key: [None if np.isnan(v) else float(v) for v in values] for key, values in by_kind.items()},
        "all": {key: float(total.sum() / rows.sum()) for key, total in sums.items() if key != "rows"},
    }


def _off(tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By method: of kinds with rows enough, where 90 % are more than two points off, and which lies farthest."""
    found: dict[str, dict[str, Any]] = {}
    for table, rows in tables.items():
        for name, row in rows.items():
            if "sums" not in row or table in OF_CLASSES:
                continue
            entry = found.setdefault(name, {"n": 0, "off": [], "farthest": 0.9})
            for kind, n, share in zip(KINDS, row["rows"], row["by_kind"]["covered 0.9"], strict=True):
                if n >= ENOUGH:
                    entry["n"] += 1
                    entry["farthest"] = max(entry["farthest"], share, key=lambda found: abs(found - 0.9))
                    if abs(share - 0.9) > NEAR:
                        entry["off"].append(f"{table}, {kind}: {100 * share:.1f} %")
    return found


def _best(tables: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Whose CRPS or log-loss is lowest on each table, the truth aside."""
    found = {}
    for table, rows in tables.items():
        measure = "log_loss" if table in OF_CLASSES else "crps"
        known = {name: row["all"][measure] for name, row in rows.items() if "sums" in row and name != "truth"}
        if known:
            found[table] = min(known, key=lambda name: known[name])
    return found


def _widths(tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean width of ours at 90 %, as a part of one width for all, by table and model."""
    found: dict[str, dict[str, float]] = {}
    for table, rows in tables.items():
        for name, row in rows.items():
            one = rows.get(name.replace("catbayes", "one width"))
            if name.startswith("catbayes") and one is not None and "sums" in one:
                share = row["all"]["width 0.9"] / one["all"]["width 0.9"]
                found.setdefault(table, {})[name.removeprefix("catbayes, ")] = share
    return found


def measure(
    folder: Path,
    pages: Sequence[Path],
    tables: Sequence[str],
    *,
    n_rows: int = N_ROWS,
    n_folds: int = N_FOLDS,
    run: bool = True,
    again: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run what is not finished, and write the pages if all of it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    store, trials = Store(folder / "uncertainty.json"), cells(tables, n_rows, n_folds)
    if again:
        store.forget_ours(trials)
    if run:
        store.run(trials, progress=progress)
    complete = not store.left(trials) and {*tables} == {*TABLES, *OF_CLASSES}
    found = summarise(store, trials) | {"complete": complete} | store.account(trials)
    values = {
        "found": found,
        "kinds": KINDS,
        "scored": [name for name in found["off"] if not name.startswith("one width")],
        "same_model": [name for name in found["off"] if not name.endswith((", linear", ", forest"))],
        "timed": [name for name in found["off"] if not name.startswith(("one width", "truth"))],
        "n_levels": len(LEVELS),
        "n_rows": n_rows,
        "n_folds": n_folds,
        "calibrate": FOLDS,
        "enough": ENOUGH,
        "of_classes": OF_CLASSES,
        "limit": LIMIT,
    }
    slopes = folder / "slopes.json"  # by `python -m experiments.slopes`
    values["slopes"] = json.loads(slopes.read_text(encoding="utf-8")) if slopes.exists() else []
    found["written"] = [folder / "uncertainty.md", *(pages if complete else ())]
    for page in found["written"]:
        write("uncertainty.md", page, values)
    return found


@click.command()
@click.option("--tables", metavar="NAMES", help="Some of the tables, with commas; all by default.")
@click.option("--rows", type=click.IntRange(300), default=N_ROWS, show_default=True, help="Rows of a table, at most.")
@click.option("--folds", type=click.IntRange(1, N_FOLDS), default=N_FOLDS, show_default=True, help="How many to run.")
@click.option("--folder", default="catbayes-results", show_default=True, help="Folder of the results.")
@click.option("--page", "pages", multiple=True, metavar="FILE", help="Page to write as well, if nothing is missing.")
@click.option("--no-run", is_flag=True, help="Only write down what is in the folder already.")
@click.option("--again", is_flag=True, help="Run ours anew where it is finished: the library has changed.")
def command(
    tables: str | None, rows: int, folds: int, folder: str, pages: tuple[str, ...], no_run: bool, again: bool
) -> None:
    """Measure how often the next target lies in its interval, by the frequency of its rarest category.

    Tables come from the folder that CATBAYES_DATA names. A finished trial does not run again.
    """
    known = (*TABLES, *OF_CLASSES)
    chosen = known if tables is None else tuple(tables.split(","))
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(known)}.")
    options: dict[str, Any] = {"n_rows": rows, "n_folds": folds, "run": not no_run, "again": again}
    found = measure(Path(folder), [Path(page) for page in pages], chosen, progress=show, **options)
    for name, row in found["off"].items():
        click.echo(f"{name}: {len(row['off'])} of {row['n']} kinds are off: {'; '.join(row['off'])}")
    for page in found["written"]:
        click.echo(f"wrote {page}", err=True)


if __name__ == "__main__":
    command()
