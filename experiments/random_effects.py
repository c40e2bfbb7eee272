"""Three tables with many rare categories, in the folds and beside the errors that F. Sigrist published.

"A Comparison of Machine Learning Methods for Data with High-Cardinality Categorical Variables", 2023. Published methods
were tuned for each fold; ours has one setting for all three tables.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMRegressor
from sklearn.metrics import r2_score

from catbayes import SamplingBayesianEncoder, SamplingRegressor
from catbayes.comparison import TimeUp, deadline
from catbayes.errors import InputError
from experiments.holdout import mean
from experiments.quality_cells import HALVES, Settings, seed_of, source, timed
from experiments.quality_methods import GroupEffects
from experiments.trials import Store
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
    """What to predict, the integer codes that name categories, what no published tree saw, and where y has to be."""

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
        (0.0, 1.0),  # published predictions were clipped, so ours are too
    ),
    "wages": Table("ln_wage", ("idcode",), ("t",)),
}


def folder() -> Path:
    """Where the tables are."""
    place = Path(os.environ.get("CATBAYES_DATA", "")) / "random_effects"
    if not (place / "published.csv").is_file():
        raise InputError(
            f"{place} holds no published.csv: set CATBAYES_DATA to a folder that holds random_effects, with the three "
            "tables, their folds and the published errors."
        )
    return place


@cache
def read(name: str) -> tuple[Any, Any, Any]:
    """The columns to predict from, the target and the fold of each row."""
    import pandas

    table, place = TABLES[name], folder()
    frame = pandas.read_csv(place / f"{name}.csv.gz")
    fold = np.loadtxt(place / f"{name}.fold.txt.gz", dtype=np.intp)
    y = frame[table.target].to_numpy(np.float64)
    return frame.drop(columns=[table.target, *table.dropped]), y, fold


@cache
def published() -> dict[tuple[str, str, int], dict[str, float]]:
    """Error and seconds by table, method and fold."""
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
    limit: float = field(default=LIMIT, compare=False)

    @property
    def key(self) -> str:
        """What it is called."""
        chosen = ", ".join(f"{name}={value!r}" for name, value in (*self.boosting, *self.settings))
        return f"{self.table}, {self.method}, fold {self.fold}, {chosen}"

    def run(self) -> dict[str, Any]:
        """Error and seconds, or why it was given up."""
        X, y, fold = read(self.table)
        test, seed = fold == self.fold, seed_of(self.fold, 0)
        known, new = (X[part].reset_index(drop=True) for part in (~test, test))
        try:
            with deadline(time.monotonic() + self.limit):
                predicted, seconds = timed([made := self._build(seed)], known, y[~test], new, None)
        except TimeUp:
            return {"skipped": f"more than {self.limit:.0f} s"}
        bounds = TABLES[self.table].bounds
        predicted = predicted if bounds is None else np.clip(predicted, *bounds)
        found = {"mse": float(np.mean((y[test] - predicted) ** 2)), "r2": float(r2_score(y[test], predicted))}
        own = {"source": source()} if self.method == "ours" else {"last_seconds": made.last_seconds_}
        return found | seconds | own

    def _build(self, seed: int) -> Any:
        columns = list(TABLES[self.table].categorical)
        if self.method == "gpboost":
            return GroupEffects(columns, dict(self.boosting) | {"seed": seed})
        booster = LGBMRegressor(**dict(self.boosting), random_state=seed, n_jobs=1, verbose=-1)
        ours = SamplingRegressor(booster, SamplingBayesianEncoder(columns), random_state=seed)
        return ours.set_params(**dict(self.settings))


@dataclass(frozen=True, slots=True)
class PublishedPlan:
    """What to run: the half that chooses has folds 0, 2 and 4; a report has all, and tells those of its own apart."""

    half: str = "report"
    boosting: Settings = BOOSTING
    settings: Settings = ()
    n_folds: int | None = None
    limit: float = LIMIT

    def folds(self) -> list[int]:
        """Those that choose, or all; its own half first."""
        own = list(range(HALVES[self.half], N_FOLDS, 2))
        rest = [] if self.half == "choose" else [fold for fold in range(N_FOLDS) if fold not in own]
        return [*own, *rest][: self.n_folds]

    def ours(self, table: str) -> list[PublishedFold]:
        """Our estimator on the folds of a table."""
        return [PublishedFold(table, "ours", fold, self.boosting, self.settings, self.limit) for fold in self.folds()]

    def theirs(self, table: str) -> PublishedFold:
        """GPBoost on the first of them, for its time."""
        return PublishedFold(table, "gpboost", self.folds()[0], self.boosting, limit=self.limit)

    def trials(self) -> list[PublishedFold]:
        """All of them; GPBoost only if it is installed."""
        found = [trial for table in TABLES for trial in self.ours(table)]
        found.sort(key=lambda trial: self.folds().index(trial.fold))
        return [*found, *map(self.theirs, TABLES)] if find_spec("gpboost") else found


def summarise(store: Store, plan: PublishedPlan) -> dict[str, Any]:
    """By table: mean errors of all, ours against the best published one fold by fold, and times."""
    return {
        "methods": PUBLISHED,
        "boosting": dict(plan.boosting),
        "settings": dict(plan.settings),
        "own_folds": [fold for fold in plan.folds() if fold % 2 == HALVES[plan.half]],
        "n_folds": len(plan.folds()),
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
    """Mean errors on some folds, and the verdict on the best published error less ours; None if there are none."""
    if not folds:
        return None
    theirs = {name: mean([published()[table, name, fold]["mse"] for fold in folds]) for name in PUBLISHED}
    best = min(theirs, key=lambda name: theirs[name] or np.inf)
    gaps = [published()[table, best, fold]["mse"] - ours[fold]["mse"] for fold in folds]
    verdict = judge(gaps, overlap=OVERLAP) if len(gaps) > 1 else None
    return {
        "folds": list(folds),
        "ours": mean([ours[fold]["mse"] for fold in folds]),
        "published": theirs,
        "best": best,
        "gain": None if verdict is None else asdict(verdict) | {"word": verdict.word},
    }
