"""The paper's search for the best parameters, run anew."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import optuna
from sklearn.model_selection import check_cv

from experiments.effort import Effort
from experiments.holdout import Holdout, mean, split
from experiments.methods import LeaveOneOut, Sampling, seeds
from experiments.paper import SEED, TABLES
from experiments.scores import score
from experiments.trials import Store, Trial

METHODS = ("leave_one_out", "sampling")
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Search:
    """One study: TPE by cross-validation on 80 % of the rows; the best parameters are then scored on the others."""

    table: str
    method: str
    n_trials: int
    search_trees: int
    trees: int
    n_rows: int | None
    seed: int = 0

    @property
    def key(self) -> str:
        """What it is called."""
        rows = "" if self.n_rows is None else f", {self.n_rows} rows"
        sizes = f"{self.n_trials} trials of {self.search_trees} trees, then {self.trees}"
        return f"{self.table}, {self.method.replace('_', '-')}, {sizes}, seed {self.seed}{rows}"

    def run(self) -> dict[str, Any]:
        """Search, refit and score."""
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        X, _, y, _, categorical = split(self.table, SEED, self.n_rows)
        measure = TABLES[self.table].measure
        folds = list(check_cv(FOLDS, y, classifier=measure == "accuracy").split(X, y))

        def objective(trial: Any) -> float | None:
            method = self.suggest(trial, X.shape[1])
            found = []
            for number, (train, test) in enumerate(folds):
                fitted = method.fit(X.iloc[train], y[train], categorical, self.search_trees, number)
                found.append(score(y[test], fitted.predict(X.iloc[test]))[measure])
            return mean(found)

        start = max(1, self.n_trials // 3)  # of TPE's usual ten random trials, so that it has something to learn
        sampler = optuna.samplers.TPESampler(n_startup_trials=start, seed=seeds(self.seed)[2])
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.optimize(objective, n_trials=self.n_trials)
        best = self.suggest(optuna.trial.FixedTrial(study.best_params), X.shape[1])
        refit = Holdout(self.table, best, SEED, self.trees, len(folds), self.n_rows)  # a seed that no fold had
        return {"cv_score": study.best_value, "test_score": refit.run()["score"], "best": asdict(best)}

    def suggest(self, trial: Any, n_columns: int) -> LeaveOneOut | Sampling:
        """A point of the printed space."""
        space = TABLES[self.table].space
        leaf = space.leaf_sampling if self.method == "sampling" else space.leaf_leave_one_out
        forest = {
            "max_depth": trial.suggest_int("max_depth", *space.max_depth),
            "max_features": trial.suggest_int("max_features", 1, n_columns),
            "min_samples_leaf": trial.suggest_int("min_samples_leaf", *leaf),
        }
        if self.method == "leave_one_out":
            return LeaveOneOut(trial.suggest_float("sigma", *space.sigma, log=True), **forest)
        return Sampling(
            gamma=trial.suggest_float("gamma", *space.gamma, log=True),
            n_draws=trial.suggest_int("n_draws", *space.n_draws),
            mapping=trial.suggest_categorical("mapping", list(space.mappings)),
            **forest,
        )


def trials(effort: Effort) -> list[Trial]:
    """A study for each table and method; none where no trials are asked for."""
    if effort.search_trials == 0:
        return []
    return [_study(effort, table, method) for table in TABLES for method in METHODS]


def summarise(store: Store, effort: Effort) -> dict[str, Any]:
    """By table and method: cross-validated and test score beside the printed ones, and the parameters found."""
    summary: dict[str, Any] = {}
    for name, table in TABLES.items():
        summary[name] = {"measure": table.measure}
        for method in METHODS:
            found = store.result(_study(effort, name, method)) if effort.search_trials else None
            printed = {"cv_score": getattr(table, f"cv_{method}"), "test_score": getattr(table, method)}
            summary[name][method] = {"printed": printed, "found": found}
    return {"n_trials": effort.search_trials, "tables": summary}


def _study(effort: Effort, table: str, method: str) -> Search:
    return Search(table, method, effort.search_trials, effort.search_trees, effort.trees, effort.n_rows)
