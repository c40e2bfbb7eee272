"""What families of odd targets are worth, how often changes are found, which half-lives, and what intervals cover.

    python -m experiments.targets [tails] [trials] [changes] [drift] [coverage] [--repeats 20] [--write]

Reads the tables in CATBAYES_DATA. Each repeat trains on rows drawn at random and is scored on others; a gain is the
difference of two scores of one repeat, told with the interval of two standard errors over the repeats. `--write` puts
the tables into the user guide.

- tails: means of categories of targets with heavy tails, `family="robust"` against "normal": simulated ones, of
  Student's t, by their distance from the truth; real ones by the error on new rows.
- trials: bike_sharing, the riders of an hour who are not registered out of all, by hour and weekday: "binomial" with
  its attempts against "normal" for the shares; error of the share, rows weighted by their attempts.
- changes: how many of 1,000 batches without change give an alarm, and how often a rate that has doubled in 200 rows of
  its category is found, among 20 categories.
- drift: half-lives that are found where the best one is known; and bike_sharing week by week, the rides of an hour
  predicted from those of the same hour in the weeks before, all of them or faded.
- coverage: how often 90 % intervals of `posteriors_` contain the true mean of a category, seen and unseen. Two classes;
  rates of categories vary by as much as those of 20 or of 2 rows.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from catbayes import SamplingBayesianEncoder, fade, gather
from catbayes.inspect import monitor
from experiments.page import put, table
from experiments.public import load
from experiments.scores import Array

GUIDE = Path(__file__).parents[1] / "docs" / "user_guide"


def percent(gains: Any) -> str:
    """A gain in per cent, with two standard errors."""
    gains = 100.0 * np.asarray(gains)
    return f"{gains.mean():+.1f} ± {2.0 * gains.std(ddof=1) / np.sqrt(len(gains)):.1f}"


def tails(repeats: int) -> str:
    """The robust family against the normal one."""
    rows = []
    for freedom, size in ((2, 5), (2, 20), (2, 80), (3, 20), (30, 20)):
        errors = np.empty((repeats, 2))
        for repeat in range(repeats):
            random = np.random.default_rng(repeat)
            truth, codes = random.normal(0.0, 0.5, 300), np.repeat(np.arange(300), size)
            y = truth[codes] + random.standard_t(freedom, len(codes))
            for place, family in enumerate(("normal", "robust")):
                encoder = SamplingBayesianEncoder("all", family=family).fit(codes[:, None], y)
                found = encoder.transform(np.arange(300)[:, None])[:, 0]
                errors[repeat, place] = np.sqrt(np.mean((found - truth) ** 2))
        name = f"Student's t of {freedom} degrees, {size} rows a category"
        rows.append([name, f"{errors[:, 0].mean():.3f}", percent(1.0 - errors[:, 1] / errors[:, 0])])
    real = (
        ("employee_salaries", "employee_position_title", 1_000),
        ("employee_salaries", "division", 2_000),
        ("mercedes", "X0", 500),
        ("mercedes", "X0", 2_000),
    )
    for name, column, size in real:
        data = load(name)
        X, y = data.table[[column]], np.asarray(data.y, dtype=np.float64)
        errors = np.empty((repeats, 2))
        for repeat in range(repeats):
            order = np.random.default_rng(repeat).permutation(len(y))
            train, test = order[:size], order[size:]
            for place, family in enumerate(("normal", "robust")):
                encoder = SamplingBayesianEncoder([column], family=family).fit(X.iloc[train], y[train])
                gap = np.asarray(encoder.transform(X.iloc[test])[:, 0], dtype=np.float64) - y[test]
                errors[repeat, place] = np.sqrt(np.mean(gap**2))
        gain = percent(1.0 - errors[:, 1] / errors[:, 0])
        rows.append([f"{name}, {column}, {size:,} rows", f"{errors[:, 0].mean():.4g}", gain])
    return table(["", 'error, `"normal"`', 'gain of `"robust"`, %'], rows)


def hours() -> Any:
    """bike_sharing as it is published, in its order."""
    return pd.read_csv(Path(os.environ["CATBAYES_DATA"]) / "bike_sharing" / "hour.csv")


def trials(repeats: int) -> str:
    """Attempts that are counted, against shares."""
    bikes = hours()
    X = pd.DataFrame({"hour": bikes["weekday"].astype(str) + " " + bikes["hr"].astype(str)})
    events, attempts = (np.asarray(bikes[name], dtype=np.float64) for name in ("casual", "cnt"))
    rows = []
    for size in (500, 2_000, 8_000):
        errors = np.empty((repeats, 3))
        for repeat in range(repeats):
            order = np.random.default_rng(repeat).permutation(len(X))
            train, test = order[:size], order[size:]
            how: tuple[tuple[str, Any, Any], ...] = (
                ("normal", events / attempts, {}),
                ("normal", events / attempts, {"sample_weight": attempts[train] / attempts[train].mean()}),
                ("binomial", events, {"exposure": attempts[train]}),
            )
            for place, (family, y, given) in enumerate(how):
                encoder = SamplingBayesianEncoder(["hour"], family=family).fit(X.iloc[train], y[train], **given)
                gap = np.asarray(encoder.transform(X.iloc[test])[:, 0], dtype=np.float64) - (events / attempts)[test]
                errors[repeat, place] = np.sqrt(np.average(gap**2, weights=attempts[test]))
        gains = [percent(1.0 - errors[:, place] / errors[:, 0]) for place in (1, 2)]
        rows.append([f"{size:,}", f"{errors[:, 0].mean():.4f}", *gains])
    head = ["rows", 'error, `"normal"`', "gain of weights, %", 'gain of `"binomial"`, %']
    return table(head, rows)


def changes(repeats: int) -> str:
    """False alarms, and doubled rates."""
    rows = []
    for family, rate in (
        ("bernoulli", 0.1),
        ("bernoulli", 0.2),
        ("bernoulli", 0.3),
        ("poisson", 0.3),
        ("poisson", 1.0),
    ):
        random = np.random.default_rng(0)
        theta = rate * random.gamma(20.0, 0.05, 20)
        theta[0] = rate

        def draw(mean: Array, family: str = family, random: Any = random) -> Any:
            return (random.random(len(mean)) < mean).astype(int) if family == "bernoulli" else random.poisson(mean)

        codes = random.integers(0, 20, 20_000)
        encoder = SamplingBayesianEncoder("all", family=family).fit(codes[:, None], draw(theta[codes]))
        alarms = 0
        for _ in range(1_000):
            codes = random.integers(0, 20, 1_000)
            alarms += bool(monitor(encoder, codes[:, None], draw(theta[codes])).alarms.any())
        doubled, found = np.where(np.arange(20) == 0, 2.0, 1.0) * theta, []
        for size in (100, 200, 400):
            hits = 0
            for _ in range(10 * repeats):
                codes = np.append(np.zeros(size, dtype=int), random.integers(1, 20, 1_000))
                hits += 0 in monitor(encoder, codes[:, None], draw(doubled[codes])).changed().tolist()
            found.append(f"{hits / (10 * repeats):.0%}")
        rows.append([f'`"{family}"`, {rate:g}', f"{alarms} of 1,000", *found])
    return table(["rate", "false alarms", "found in 100 rows", "in 200", "in 400"], rows)


def drift(repeats: int) -> str:
    """Half-lives that are known, and weeks of bicycles."""
    rows = []
    for walk in (0.003, 0.01, 0.05):
        spread = (walk + np.sqrt(walk**2 + 0.8 * walk)) / 2.0  # five rows of variance 1 for each category and batch
        best = np.log(0.5) / np.log(0.2 / (spread + 0.2))
        found = []
        for repeat in range(max(repeats // 2, 3)):
            random, codes = np.random.default_rng(repeat), np.repeat(np.arange(100), 5)
            theta, days = random.standard_normal(100), []
            for _ in range(80):
                theta = theta + random.normal(0.0, np.sqrt(walk), 100)
                days.append(gather(pd.DataFrame({"c": codes}), ["c"], random.normal(theta[codes])))
            found.append(fade(days).half_life)
        rows.append(
            [f"walks, {best:.2f}", f"{np.mean(found):.2f} ± {2.0 * np.std(found) / np.sqrt(len(found)):.2f}", ""]
        )
    bikes = hours()
    week = (pd.to_datetime(bikes["dteday"]) - pd.Timestamp("2011-01-01")).dt.days // 7
    X, y = bikes[["hr"]].astype(str), np.asarray(bikes["cnt"], dtype=np.float64)
    weeks = [gather(X[week == number], ["hr"], y[week == number], family="normal") for number in range(week.max())]
    errors, lives = [], []
    for last in range(20, len(weeks), 5):
        faded, new = fade(weeks[:last]), (week == last).to_numpy()
        lives.append(faded.half_life)
        pair = []
        for evidence in (sum(weeks[1:last], weeks[0]), faded.evidence):
            encoder = SamplingBayesianEncoder(["hr"], family="normal").fit(evidence)
            gap = np.asarray(encoder.transform(X[new])[:, 0], dtype=np.float64) - y[new]
            pair.append(np.sqrt(np.mean(gap**2)))
        errors.append(pair)
    gains = 1.0 - np.array(errors)[:, 1] / np.array(errors)[:, 0]
    rows.append(["bike_sharing, hours of the next week", f"{np.median(lives):.1f} weeks", percent(gains)])
    return table(["best half-life", "found", "gain over all of the past, %"], rows)


def coverage(repeats: int) -> str:
    """Measure the coverage of 90 % intervals of the means of categories."""
    rows = []
    for n_categories, size in ((3, 20), (10, 20), (30, 20), (300, 20), (3, 200), (10, 200), (30, 200)):
        cells = [f"{n_categories} of {size} rows"]
        for strength in (None, 20.0, 2.0):
            random, codes, inside = np.random.default_rng(0), np.repeat(np.arange(n_categories), size), []
            for _ in range(10 * repeats):
                theta = np.full(n_categories + 10, 0.3)
                if strength is not None:
                    theta = random.beta(0.3 * strength, 0.7 * strength, len(theta))
                y = random.binomial(1, theta[codes])
                if y.all() or not y.any():  # three categories that all are of one class
                    continue
                encoder = SamplingBayesianEncoder("all").fit(pd.DataFrame({"c": codes}), y)
                found = encoder.posteriors_["c"]
                unseen = found[found["kind"] == "unseen"]
                found = pd.concat([found[found["kind"] == "seen"].sort_values("category"), *[unseen] * 10])
                held = found["lower"].to_numpy() <= theta
                held &= theta <= found["upper"].to_numpy()
                inside.append([held[:n_categories].mean(), held[n_categories:].mean()])
            cells += [f"{share:.0f}" for share in 100.0 * np.mean(inside, axis=0)]
        rows.append(cells)
    signals = ("no signal", "some", "much")
    return table(["categories", *(f"{signal}, {kind}" for signal in signals for kind in ("seen", "unseen"))], rows)


PARTS: dict[str, tuple[Callable[[int], str], str]] = {
    "tails": (tails, "families.md"),
    "trials": (trials, "families.md"),
    "changes": (changes, "time.md"),
    "drift": (drift, "time.md"),
    "coverage": (coverage, "priors.md"),
}


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/user_guide")
    asked = parser.parse_args()
    for part in asked.parts or PARTS:
        text = PARTS[part][0](asked.repeats)
        print(text, flush=True)
        if asked.write:
            put(GUIDE / PARTS[part][1], f"targets-{part}", text)


if __name__ == "__main__":
    main()
