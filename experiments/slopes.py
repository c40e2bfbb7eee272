"""Slopes by category against intercepts and LightGBM's own handling, on simulated imports.

    python -m experiments.slopes [--folder results]

Amounts of thousands of articles go with a price, more for some articles than for others; or for all alike. LightGBM is
the same throughout: with its own handling of categories, with ours without effects, with effects, and with slopes. What
is told is 1 - R² on as many new rows, and its ratio to that of effects without slopes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMRegressor
from sklearn.metrics import r2_score

from catbayes import SamplingRegressor, recommended_encoder
from experiments.scores import Array

N_ROWS, N_ARTICLES, N_SEEDS = 30_000, 3_000, 4
WAYS: dict[str, dict[str, Any] | None] = {
    "LightGBM's own": None,
    "no effects": {"effects": False},
    "effects": {"effects": True},
    "slopes": {"effects": {"article": ["price"]}},
    'effects="slopes", the default': {},
}


def imports(seed: int, deviation: float) -> tuple[Any, Array]:
    """Rows of an article, its price and a number that says nothing; slopes that vary by so much."""
    import pandas

    random = np.random.default_rng(seed)
    article, price = random.integers(0, N_ARTICLES, 2 * N_ROWS), random.normal(size=2 * N_ROWS)
    level, slope = random.normal(size=(2, N_ARTICLES))
    y = level[article] + (0.5 + deviation * slope[article]) * price + random.normal(size=2 * N_ROWS)
    text = np.char.add("article ", article.astype(str))
    return pandas.DataFrame({"article": text, "price": price, "other": random.normal(size=2 * N_ROWS)}), y


def left_over(way: Any, X: Any, y: Array, seed: int) -> float:
    """The part of the variance of new rows that is not explained: 1 - R²."""
    model: Any = LGBMRegressor(n_estimators=300, learning_rate=0.05, verbose=-1, n_jobs=1, random_state=seed)
    if way is None:
        X = X.assign(article=X["article"].astype("category"))
    else:
        model = SamplingRegressor(model, recommended_encoder(model, **way), random_state=seed)
    model.fit(X[:N_ROWS], y[:N_ROWS])
    return 1.0 - float(r2_score(y[N_ROWS:], model.predict(X[N_ROWS:])))


def main() -> None:
    """Run both tables with all ways and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, default=Path("results"))
    asked = parser.parse_args()
    found = []
    print("| slopes vary by | way | 1 - R² | times that of effects | standard error |")
    print("|---|---|---|---|---|")
    for deviation in (1.0, 0.0):
        tables = [imports(seed, deviation) for seed in range(N_SEEDS)]
        scores = {
            name: [left_over(way, *table, seed) for seed, table in enumerate(tables)] for name, way in WAYS.items()
        }
        for name, values in scores.items():
            ratio = np.array(values) / scores["effects"]
            error = float(ratio.std(ddof=1) / np.sqrt(N_SEEDS))
            record = {"deviation": deviation, "way": name, "left_over": float(np.mean(values))}
            found.append(record | {"ratio": float(ratio.mean()), "error": error})
            print(f"| {deviation:g} | {name} | {np.mean(values):.4f} | {ratio.mean():.4f} | {error:.4f} |", flush=True)
    (asked.folder / "slopes.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
