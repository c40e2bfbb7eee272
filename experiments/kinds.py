"""What kinds of columns are worth: levels in their order, and bins, against names.

    python -m experiments.kinds [--repeats 20] [--write]

Reads the tables in CATBAYES_DATA. Each repeat trains on rows drawn at random and is scored on others; a gain is the
difference of two scores of one repeat, told with the interval of two standard errors over the repeats. `--write` puts
the tables into docs/user_guide/kinds.md.

- hours: bike_sharing, counts of rented bicycles, by the hour alone and in a booster with all columns; root mean square
  error on 8,000 rows that are the same for all sizes.
- bins: insurance's age and bike_sharing's temperature, by themselves.
- titles: employee_salaries' job titles, a fifth of which are held out with all their rows, by themselves; the error is
  of log salaries, of the rows of titles that were held out, and of a fifth of the rows of the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMRegressor

from catbayes import SamplingBayesianEncoder, SamplingRegressor, recommended_encoder
from catbayes.kinds import Bins, Kind, Ordinal, Spellings
from experiments.page import put, table
from experiments.public import load
from experiments.scores import Array

PAGE = Path(__file__).parents[1] / "docs" / "user_guide" / "kinds.md"
SIZES = (500, 2_000, 8_000)
Predict = Callable[[Any, Any, Any], Array]
"""Predictions for new rows, from training rows and their targets."""


def by_itself(kinds: dict[str, Kind] | None, column: str, family: str = "normal") -> Predict:
    """The posterior mean of one column's category."""

    def predict(X: Any, y: Any, new: Any) -> Array:
        encoder = SamplingBayesianEncoder([column], family=family, kinds=kinds, random_state=0)
        return np.asarray(encoder.fit(X[[column]], y).transform(new[[column]])[:, 0], dtype=np.float64)

    return predict


def in_a_booster(kinds: dict[str, Kind] | None, columns: list[str]) -> Predict:
    """LightGBM on draws of the columns, and on the others."""

    def predict(X: Any, y: Any, new: Any) -> Array:
        booster = LGBMRegressor(n_estimators=200, num_leaves=15, min_child_samples=10, verbose=-1, n_jobs=1)
        encoder = recommended_encoder(booster, columns=columns, family="normal", kinds=kinds)
        return np.asarray(SamplingRegressor(booster, encoder, random_state=0).fit(X, y).predict(new))

    return predict


def score(ways: dict[str, Predict], X: Any, y: Array, sizes: Sequence[int], n_test: int, repeats: int) -> Any:
    """Root mean square errors, (size, repeat, way)."""
    found = np.empty((len(sizes), repeats, len(ways)))
    for repeat in range(repeats):
        order = np.random.default_rng(repeat).permutation(len(y))
        test, rest = order[:n_test], order[n_test:]
        for number, size in enumerate(sizes):
            train = rest[:size]
            for place, predict in enumerate(ways.values()):
                gap = predict(X.iloc[train], y[train], X.iloc[test]) - y[test]
                found[number, repeat, place] = np.sqrt(np.mean(gap**2))
    return found


def described(what: str, ways: dict[str, Predict], sizes: Sequence[int], found: Any) -> list[list[str]]:
    """A row of a table for each size: the error of the first way, and what the others gain, in per cent of it."""
    rows = []
    for size, errors in zip(sizes, found, strict=True):
        cells = [what, f"{size:,}", f"{errors[:, 0].mean():.4g}"]
        for place in range(1, len(ways)):
            gain = 100.0 * (1.0 - errors[:, place] / errors[:, 0])
            cells.append(f"{gain.mean():+.2f} ± {2.0 * gain.std(ddof=1) / np.sqrt(len(gain)):.2f}")
        rows.append(cells)
    return rows


def header(ways: Sequence[str]) -> list[str]:
    """The head of such a table."""
    first, *others = ways
    return ["", "rows", f"error, {first}", *(f"gain of {other}, %" for other in others)]


def hours(repeats: int) -> str:
    """Hours as names, in order, and round the clock."""
    data = load("bike_sharing")
    X, y = data.table.copy(), np.asarray(data.y, dtype=np.float64)
    hour, columns = "hr", ["hr", "weekday", "mnth"]
    levels = list(range(24))
    X[hour] = X[hour].astype(int)
    kinds: dict[str, Any] = {
        "names": None,
        "their order": {hour: Ordinal(levels)},
        "the ring": {hour: Ordinal(levels, cyclic=True)},
    }
    rows = []
    alone = {name: by_itself(kind, hour) for name, kind in kinds.items()}
    rows += described("the hour alone", alone, (100, *SIZES), score(alone, X, y, (100, *SIZES), 8_000, repeats))
    boosted = {name: in_a_booster(kind, columns) for name, kind in kinds.items()}
    few = max(repeats // 4, 3)
    rows += described("all columns, LightGBM", boosted, SIZES, score(boosted, X, y, SIZES, 8_000, few))
    return table(header(list(kinds)), rows)


def bins(repeats: int) -> str:
    """Numbers as names, in bins, and in bins that are merged."""
    rows = []
    for name, column, sizes in (("bike_sharing", "temp", (200, 2_000)), ("insurance", "age", (200, 800))):
        data = load(name)
        X, y = data.table.copy(), np.asarray(data.y, dtype=np.float64)
        X[column] = X[column].astype(float)
        ways = {
            "names": by_itself(None, column),
            "20 bins": by_itself({column: Bins(20)}, column),
            "merged bins": by_itself({column: Bins(20, merge=True)}, column),
        }
        found = score(ways, X, y, sizes, min(8_000, len(y) - max(sizes)), repeats)
        rows += described(f"{name}, {column}", ways, sizes, found)
    return table(header(list(ways)), rows)


def titles(repeats: int) -> str:
    """Titles as names and as spellings, of which a fifth was never seen."""
    data, column = load("employee_salaries"), "employee_position_title"
    X, y = data.table.copy(), np.log(np.asarray(data.y, dtype=np.float64))
    levels = np.sort(X[column].unique())
    ways = {"names": by_itself(None, column), "spellings": by_itself({column: Spellings()}, column)}
    found = np.empty((2, repeats, len(ways)))
    for repeat in range(repeats):
        random = np.random.default_rng(repeat)
        unseen = X[column].isin(random.permutation(levels)[: len(levels) // 5]).to_numpy()
        known = ~unseen & (random.random(len(y)) < 0.2)
        train = ~unseen & ~known
        for place, predict in enumerate(ways.values()):
            for number, test in enumerate((unseen, known)):
                gap = predict(X[train], y[train], X[test]) - y[test]
                found[number, repeat, place] = np.sqrt(np.mean(gap**2))
    size = [int(train.sum())]
    rows = described("titles never seen", ways, size, found[:1])
    return table(header(list(ways)), rows + described("titles that were seen", ways, size, found[1:]))


PARTS: dict[str, Callable[[int], str]] = {"hours": hours, "bins": bins, "titles": titles}


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/user_guide/kinds.md")
    asked = parser.parse_args()
    for part in asked.parts or PARTS:
        found = PARTS[part](asked.repeats)
        print(f"{part}\n\n{found}\n", flush=True)
        if asked.write:
            put(PAGE, f"kinds-{part}", found)


if __name__ == "__main__":
    main()
