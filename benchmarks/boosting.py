"""What LightGBM on draws costs against LightGBM on TargetEncoder, and what pairs cost against CatBoost."""

from __future__ import annotations

import time
from functools import partial
from typing import Any
from unittest import mock

import lightgbm
import numpy as np
import pandas
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from measuring import alone, in_turn, peak
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder
from tables import make_table

from catbayes import SamplingBayesianEncoder, SamplingClassifier, recommended_encoder
from experiments.public import load

SETTINGS: dict[str, dict[str, Any]] = {
    "one draw, no pairs": {"n_draws": 1, "encoder__interactions": None},
    "five draws, no pairs": {"n_draws": 5, "encoder__interactions": None},
    "defaults": {},
}


def plain(X: pandas.DataFrame, booster: Any) -> Any:
    """The booster on TargetEncoder."""
    words = [column for column in X if not pandas.api.types.is_numeric_dtype(X[column])]
    encode = make_column_transformer((TargetEncoder(random_state=0), words), remainder="passthrough")
    return make_pipeline(encode, booster)


# ------------------------------------------------------------------------------------------------ copies


def wide(n_rows: int = 20_000) -> dict[str, Any]:
    """Ways to fit LightGBM on 300 numbers beside one column of categories."""
    containers, y = make_table(n_rows, (1_000,))
    numbers = np.random.default_rng(1).normal(size=(len(y), 300))
    X = pandas.DataFrame(numbers, columns=[f"number_{i}" for i in range(300)]).join(containers["pandas strings"])
    booster = LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1, random_state=0)
    sampling = SamplingClassifier(booster, recommended_encoder(booster, interactions=None), n_draws=5, random_state=0)

    def stacked() -> None:
        with mock.patch("catbayes.models.backends.lightgbm.LightGBM.takes_chunks", return_value=False):
            sampling.fit(X, y)

    return {
        "plain": partial(plain(X, booster).fit, X, y),
        "five draws": partial(sampling.fit, X, y),
        "five draws, stacked": stacked,
    }


def peak_of(way: str) -> float:
    """Peak of memory of one way, in a process of its own that has loaded all libraries."""
    wide(500)[way]()
    return peak(wide()[way])


def copies(repeat: int) -> list[str]:
    """Five copies of a wide table: in chunks that share what they have in common, or stacked."""
    ways = wide()
    times, peaks = in_turn(ways, repeat), {way: alone(peak_of, way) for way in ways}
    lines = [
        "## Five draws of a wide table",
        "",
        "LightGBM with 20 trees on 20,000 rows of 300 numbers and a column of categories, as multiples of the same on",
        "TargetEncoder. Copies come to it in chunks of Arrow that share the numbers; stacked is what other models get.",
        "",
        "| | time of `fit` | peak of memory |",
        "|---|---|---|",
    ]
    return lines + [f"| {n} | {times[n] / times['plain']:.2f} × | {peaks[n] / peaks['plain']:.2f} × |" for n in ways]


# ------------------------------------------------------------------------------------------------ models


def models(repeat: int) -> tuple[list[str], list[str]]:
    """Fitting and predicting on two tables, and pairs of their columns."""
    found = [on_table(name, repeat) for name in ("adult", "amazon")]
    fitting = [
        "## LightGBM on draws",
        "",
        "200 trees on four fifths of the rows, one thread, as multiples of the same on TargetEncoder, all included;",
        "*in LightGBM* is the part of a fit that is spent inside of its `train`, on as many rows as there are copies.",
        "*Nine in ten* are predictions of rows so chosen that one in ten has an uncertain category.",
        "",
        "| table | | `fit` | in LightGBM | `predict_proba` | nine in ten |",
        "|---|---|---|---|---|---|",
        *(line for lines, _ in found for line in lines),
    ]
    pairs = [
        "## Pairs of columns",
        "",
        '`interactions="auto"`, in seconds beyond a `fit` without, and as a part of the whole fit of CatBoost.',
        "",
        "| table | pairs | seconds | for 100,000 rows and 15 pairs | part of CatBoost's fit |",
        "|---|---|---|---|---|",
        *(line for _, line in found),
    ]
    return fitting, pairs


def on_table(name: str, repeat: int) -> tuple[list[str], str]:
    """A line for each setting of the model, and one for the pairs."""
    data = load(name)
    codes = [column for column in data.categorical if pandas.api.types.is_numeric_dtype(data.table[column])]
    X, y = data.table.astype(dict.fromkeys(codes, str)), data.y
    old, new = np.split(np.random.default_rng(0).permutation(len(X)), [len(X) * 4 // 5])
    known, target, rest = X.iloc[old], y[old], X.iloc[new]
    booster = LGBMClassifier(n_estimators=200, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0)
    ways = {"plain": plain(X, booster)}
    ways |= {label: SamplingClassifier(booster, random_state=0).set_params(**how) for label, how in SETTINGS.items()}
    fit = in_turn({label: partial(model.fit, known, target) for label, model in ways.items()}, repeat)
    predict = in_turn({label: partial(model.predict_proba, rest) for label, model in ways.items()}, 3 * repeat)
    lines = [
        f"| {name} | {label} | {fit[label] / fit['plain']:.2f} × "
        f"| {in_lightgbm(partial(ways[label].fit, known, target), repeat) / fit['plain']:.2f} × "
        f"| {predict[label] / predict['plain']:.2f} × | {nine_in_ten(ways['plain'], ways[label], rest, 5 * repeat)} |"
        for label in SETTINGS
    ]
    words = [column for column in X if not pandas.api.types.is_numeric_dtype(X[column])]
    n_pairs = len(words) * (len(words) - 1) // 2
    cat = CatBoostClassifier(
        random_state=0, thread_count=1, verbose=False, cat_features=words, allow_writing_files=False
    )
    whole = in_turn({"fit": partial(cat.fit, known.fillna(dict.fromkeys(words, "missing")), target)}, 1)["fit"]
    encoders = {how: SamplingBayesianEncoder(interactions=how, random_state=0) for how in ("auto", None)}
    timed = in_turn({str(how): partial(one.fit, known[words], target) for how, one in encoders.items()}, repeat)
    cost = timed["auto"] - timed["None"]
    usual = cost * 100_000 / len(known) * 15 / n_pairs
    return lines, f"| {name} | {n_pairs} | {cost:.2f} | {usual:.2f} | {cost / whole:.3f} |"


def in_lightgbm(fit: Any, repeat: int) -> float:
    """Seconds of processor that a fit spends inside of LightGBM's own `train`, the fewest of several times."""
    inside = 0.0

    def train(*given: Any, **how: Any) -> Any:
        nonlocal inside
        start = time.process_time()
        trained = lightgbm.train(*given, **how)
        inside += time.process_time() - start
        return trained

    found = []
    with mock.patch("lightgbm.sklearn.train", train):
        for _ in range(repeat):
            inside = 0.0
            fit()
            found.append(inside)
    return min(found)


def nine_in_ten(usual: Any, model: Any, rest: pandas.DataFrame, repeat: int) -> str:
    """How long predictions take, against plain ones, where one row in ten has an uncertain category."""
    doubtful = model._read_new(rest).uncertain(model._draws)
    few = min(int(doubtful.sum()), int((~doubtful).sum()) // 9)
    if few < 50:
        return "all uncertain"
    some = rest.iloc[np.append(np.flatnonzero(doubtful)[:few], np.flatnonzero(~doubtful)[: 9 * few])]
    times = in_turn({"plain": partial(usual.predict_proba, some), "ours": partial(model.predict_proba, some)}, repeat)
    return f"{times['ours'] / times['plain']:.2f} ×"
