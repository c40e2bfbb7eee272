"""Three tables with many rare categories, in the folds and next to the errors that F. Sigrist published.

"A Comparison of Machine Learning Methods for Data with High-Cardinality Categorical Variables", 2023. Published methods
were tuned for each fold; ours has one setting for all three tables.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMRegressor

from catbayes.errors import InputError
from experiments.deadline import TimeUp, deadline
from experiments.group_effects import GroupEffects
from experiments.holdout import mean
from experiments.quality_cells import HALVES, Settings, timed
from experiments.quality_models import around
from experiments.scores import score
from experiments.seeds import seed_of
from experiments.trials import Store, source
from experiments.verdict import judge

N_FOLDS = 5
OVERLAP = 1 / (N_FOLDS - 1)
PUBLISHED = {
    "gpboost": "GPBoost",
    "catboost": "CatBoost",
    "boost_cat": "LightGBM, categories",
    "boost_cont": "LightGBM, codes",
    "linear": "linear mixed model",
}
BOOSTING: Settings = (("n_estimators", 600), ("learning_rate", 0.05), ("num_leaves", 63))
LIMIT = 1200.0


@dataclass(frozen=True, slots=True)
class Table:
    """The target, the integer codes of categories, columns that no published tree got, and the bounds of y."""

    target: str
    categorical: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None


TABLES = {
    "imdb": Table("score", ("director_id", "type_id")),
    "spotify": Table(
        "danceability",
        ("artist_id", "album_id", "playlist_id", "subgenre_id"),
        ("track_id", "track_artist", "track_album_id", "track_album_release_date", "pl_subgenres", "playlist_ids"),
        (0.0, 1.0),  # published predictions were clipped
    ),
    "wages": Table("ln_wage", ("idcode",), ("t",)),
}


def folder() -> Path:
    """Return the folder of the tables."""
    place = Path(os.environ.get("CATBAYES_DATA", "")) / "random_effects"
    if not (place / "published.csv").is_file():
        raise InputError(
            f"{place} has no published.csv: set CATBAYES_DATA to a folder with random_effects in it, which has the "
            "three tables, their folds and the published errors."
        )
    return place


@cache
def read(name: str) -> tuple[Any, Any, Any]:
    """Read the columns to predict from, the target and the fold of each row."""
    import pandas

    table, place = TABLES[name], folder()
    frame = pandas.read_csv(place / f"{name}.csv.gz")
    fold = np.loadtxt(place / f"{name}.fold.txt.gz", dtype=np.intp)
    y = frame[table.target].to_numpy(np.float64)
    return frame.drop(columns=[table.target, *table.dropped]), y, fold


@cache
def published() -> dict[tuple[str, str, int], dict[str, float]]:
    """Read published errors and seconds by table, method and fold."""
    import pandas

    rows = pandas.read_csv(folder() / "published.csv")
    return {
        (row.table, row.method, int(row.fold)): {"mse": float(row.mse), "seconds": float(row.seconds)}
        for row in rows.itertuples()
    }


@dataclass(frozen=True, slots=True)
class PublishedFold:
    """Ours, or GPBoost with the same trees, on one published fold of one table."""

    table: str
    method: str
    fold: int
    boosting: Settings = BOOSTING
    settings: Settings = ()

    @property
    def key(self) -> str:
        """The name."""
        chosen = ", ".join(f"{name}={value!r}" for name, value in (*self.boosting, *self.settings))
        return f"{self.table}, {self.method}, fold {self.fold}, {chosen}"

    @property
    def group(self) -> Any:
        """All folds of a method."""
        return self.table, self.method, self.boosting, self.settings

    @property
    def ours(self) -> bool:
        """Tell whether the result depends on catbayes."""
        return self.method == "ours"

    def run(self) -> dict[str, Any]:
        """Return error and seconds, or why it was given up."""
        X, y, fold = read(self.table)
        test, model = fold == self.fold, self._build(seed_of(self.fold, 0))
        known, new = (X[part].reset_index(drop=True) for part in (~test, test))
        try:
            with deadline(LIMIT):
                predicted, seconds = timed([model], known, y[~test], new, None)
        except TimeUp:
            return {"skipped": f"more than {LIMIT:.0f} s"}
        bounds = TABLES[self.table].bounds
        found = score(y[test], predicted if bounds is None else np.clip(predicted, *bounds))
        return found | seconds | ({"source": source()} if self.ours else {"last_seconds": model.last_seconds_})

    def _build(self, seed: int) -> Any:
        columns = list(TABLES[self.table].categorical)
        if self.method == "gpboost":
            return GroupEffects(columns, dict(self.boosting) | {"seed": seed})
        booster = LGBMRegressor(**dict(self.boosting), random_state=seed, n_jobs=1, verbose=-1)
        return around(booster, columns, False, seed).set_params(**dict(self.settings))


@dataclass(frozen=True, slots=True)
class PublishedPlan:
    """What to run: the half that chooses has folds 0, 2 and 4; a report has all, and shows those of its own apart."""

    half: str = "report"
    boosting: Settings = BOOSTING
    settings: Settings = ()
    most_folds: int | None = None

    def folds(self) -> list[int]:
        """Return the folds that choose, or all; its own half first."""
        own = list(range(HALVES[self.half], N_FOLDS, 2))
        rest = [] if self.half == "choose" else [fold for fold in range(N_FOLDS) if fold not in own]
        return [*own, *rest][: self.most_folds]

    def ours(self, table: str) -> list[PublishedFold]:
        """Return our trials on the folds of a table."""
        return [PublishedFold(table, "ours", fold, self.boosting, self.settings) for fold in self.folds()]

    def theirs(self, table: str) -> PublishedFold:
        """Return GPBoost on the first of them, for its time."""
        return PublishedFold(table, "gpboost", self.folds()[0], self.boosting)

    def trials(self) -> list[PublishedFold]:
        """Return all of them; GPBoost only if it is installed."""
        found = [trial for table in TABLES for trial in self.ours(table)]
        return [*found, *map(self.theirs, TABLES)] if find_spec("gpboost") else found


def summarise(store: Store, plan: PublishedPlan) -> dict[str, Any]:
    """Summarise by table: mean errors of all, ours minus the best published one fold by fold, and times."""
    return {
        "methods": PUBLISHED,
        "boosting": dict(plan.boosting),
        "settings": dict(plan.settings),
        "own_folds": [fold for fold in plan.folds() if fold % 2 == HALVES[plan.half]],
        "tables": {table: _row(store, plan, table) for table in TABLES},
    }


def _row(store: Store, plan: PublishedPlan, table: str) -> dict[str, Any]:
    results = {trial.fold: store.result(trial) for trial in plan.ours(table)}
    ours = {fold: result for fold, result in results.items() if result is not None and "mse" in result}
    own = [fold for fold in ours if fold % 2 == HALVES[plan.half]]
    theirs = plan.theirs(table)
    return {
        "all": _compared(table, ours, sorted(ours)),
        "own": _compared(table, ours, own),
        "fold": theirs.fold,
        "seconds": ours.get(theirs.fold),
        "gpboost": store.result(theirs),
        "published_seconds": published()[table, "gpboost", theirs.fold]["seconds"],
    }


def _compared(table: str, ours: dict[int, dict[str, Any]], folds: Sequence[int]) -> dict[str, Any] | None:
    """Average errors on some folds, and judge the best published error minus ours; None without folds."""
    if not folds:
        return None
    theirs = {name: mean([published()[table, name, fold]["mse"] for fold in folds]) for name in PUBLISHED}
    best = min(theirs, key=lambda name: theirs[name] or np.inf)
    gaps = [published()[table, best, fold]["mse"] - ours[fold]["mse"] for fold in folds]
    return {
        "folds": list(folds),
        "ours": mean([ours[fold]["mse"] for fold in folds]),
        "published": theirs,
        "best": best,
        "gain": judge(gaps, overlap=OVERLAP) if len(gaps) > 1 else None,
    }
