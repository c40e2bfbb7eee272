"""Simulated card transactions with known truth: which merchants matter, how much, and that devices do not.

Every target follows a generalised linear model: a linear predictor adds up the effects of a row's merchant, city,
channel, hour and amount, and the target is drawn around its inverse link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from catbayes.errors import InputError

__all__ = ["Dataset", "make_transactions"]

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Task = Literal["binary", "multiclass", "regression", "count"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Dataset:
    """A table, the target to predict from it, and what is known of both.

    Parameters
    ----------
    name : str
        What the data set is called.
    table : frame
        The columns to predict from; the target is not among them.
    y : ndarray of shape (row,)
        The target: 0 or 1, labels, floats or whole numbers, as the task says.
    target : str
        Name of the target.
    task : {"binary", "multiclass", "regression", "count"}
        What kind of target it is.
    categorical : tuple of str
        The columns to encode, integer codes included.
    source : str
        Where the table is from, and its licence.
    truth : ndarray of shape (row,) or (row, class), optional
        What y was drawn from: the probability of 1, the probabilities of the classes in the order of their sorted
        labels, or the mean. None for a real table.
    effects : dict
        The true effect of each level of each categorical column, `effects["city"]["C042"]`: a number, or one for each
        class. Empty for a real table.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from catbayes.datasets import Dataset
    >>> table = pd.DataFrame({"city": ["Rome", "Oslo"], "age": [31, 45]})
    >>> Dataset("trips", table, np.array([0, 1]), "late", "binary", ("city",), "made up")
    Data set trips: 2 rows, 2 columns, binary target late
    """

    name: str
    table: Any
    y: np.ndarray[Any, Any]
    target: str
    task: Task
    categorical: tuple[str, ...]
    source: str
    truth: Array | None = None
    effects: dict[str, dict[str, float | tuple[float, ...]]] = field(default_factory=dict)

    def __repr__(self) -> str:
        rows, columns = self.table.shape
        return f"Data set {self.name}: {rows:,} rows, {columns:,} columns, {self.task} target {self.target}"


TASKS: dict[str, Task] = {"fraud": "binary", "outcome": "multiclass", "amount": "regression", "visits": "count"}
PREDICTORS = ("disputed", "fraud", "amount", "visits")
INTERCEPTS = np.array([-2.8, -2.8, 3.5, 0.5])
SCALES = np.array([1.0, 1.0, 0.5, 0.5])
CHANNELS = ("chip", "contactless", "online", "phone")
CATEGORICAL = ("merchant", "city", "device", "channel")
N_CITIES, MISSING_CITY = 200, 0.03
AMOUNT, AMOUNT_SHAPE = PREDICTORS.index("amount"), 4.0
YEAR_START, YEAR_SECONDS = np.datetime64("2024-01-01", "us"), 366 * 86_400


def make_transactions(
    n_rows: int = 20_000, target: str = "fraud", *, frame: Any = "pandas", random_state: int = 0
) -> Dataset:
    """Simulate a year of card transactions, in order of time, with known truth.

    The columns have what makes categories hard. Merchants are many and most of them rare, one in five has a large
    effect and the others next to none, and they open during the year, so that late rows hold merchants that earlier
    rows lack. Cities matter moderately, and three per cent of them are missing, which has effect 0. Devices are
    thousands of codes that mean nothing. The same seed gives the same columns for each target.

    Parameters
    ----------
    n_rows : int, default=20_000
        Number of transactions. There is a merchant for every eight of them, and a device for every four.
    target : {"fraud", "outcome", "amount", "visits"}, default="fraud"
        What to predict: fraud or not (0 or 1), the outcome ("disputed", "fraud" or "paid"), the amount, which then is
        not a column, or the number of visits. Effects are log-odds for fraud, log-odds against "paid" for the
        outcome, and logarithms of the mean for the others.
    frame : {"pandas", "polars", "pyarrow"}, default="pandas"
        The library of the table.
    random_state : int, default=0
        The seed.

    Returns
    -------
    Dataset
        With `truth` and `effects`.

    Examples
    --------
    >>> from catbayes.datasets import make_transactions
    >>> data = make_transactions(1_000, "visits", random_state=7)
    >>> data
    Data set transactions: 1,000 rows, 7 columns, count target visits
    >>> list(data.table)
    ['time', 'merchant', 'city', 'device', 'channel', 'hour', 'amount']
    >>> set(data.effects["device"].values())
    {0.0}
    """
    if target not in TASKS:
        raise InputError(f"target={target!r}: expected one of {', '.join(TASKS)}.")
    seeds = np.random.SeedSequence(random_state).spawn(2 + len(TASKS))
    columns, effects, *targets = map(np.random.default_rng, seeds)
    random = dict(zip(TASKS, targets, strict=True))

    time = np.sort(columns.random(n_rows))
    codes, levels = _draw_levels(columns, time)
    level_effects = _draw_effects(effects, levels)
    hour = (time * YEAR_SECONDS // 3600 % 24).astype(np.int64)
    predictor = INTERCEPTS + 0.4 * SCALES * np.cos(2 * np.pi * (hour - 3) / 24)[:, None]
    for name in CATEGORICAL:
        predictor += level_effects[name][codes[name]]
    expected_amount = np.exp(predictor[:, AMOUNT])
    amount = random["amount"].gamma(AMOUNT_SHAPE, expected_amount / AMOUNT_SHAPE)
    predictor += 0.3 * SCALES * (np.log(amount) - INTERCEPTS[AMOUNT])[:, None]

    truth, y = (expected_amount, amount) if target == "amount" else _draw_target(random[target], target, predictor)
    table: dict[str, Any] = {"time": YEAR_START + (time * YEAR_SECONDS).astype("timedelta64[s]")}
    table |= {name: [levels[name][code] for code in codes[name]] for name in CATEGORICAL}
    table |= {"hour": hour} | ({"amount": amount} if target != "amount" else {})
    return Dataset(
        name="transactions",
        table=nw.from_dict(table, backend=frame).to_native(),
        y=y,
        target=target,
        task=TASKS[target],
        categorical=CATEGORICAL,
        source="generated by catbayes.datasets.make_transactions",
        truth=truth,
        effects={name: _name_effects(levels[name], level_effects[name], target) for name in CATEGORICAL},
    )


def _draw_levels(random: np.random.Generator, time: Array) -> tuple[dict[str, Codes], dict[str, list[str | None]]]:
    """Draw the codes of each categorical column, and the names that they stand for; the last city is missing."""
    n_rows = len(time)
    n_merchants, n_devices = max(n_rows // 8, 10), max(n_rows // 4, 10)
    # Half of the merchants are open from the start. Popularity falls with rank as Zipf's law says, in any order.
    opening = np.sort(np.maximum(random.uniform(-1, 1, n_merchants), 0))
    opening[0] = 0
    popularity = np.cumsum(1 / random.permutation(np.arange(1, n_merchants + 1)))
    open_popularity = popularity[np.searchsorted(opening, time, side="right") - 1]
    city = random.choice(N_CITIES, n_rows, p=random.dirichlet(np.full(N_CITIES, 2.0)))
    codes = {
        "merchant": np.searchsorted(popularity, random.random(n_rows) * open_popularity, side="right"),
        "city": np.where(random.random(n_rows) < MISSING_CITY, N_CITIES, city),
        "device": random.integers(0, n_devices, n_rows),
        "channel": random.choice(len(CHANNELS), n_rows, p=[0.3, 0.4, 0.25, 0.05]),
    }
    levels: dict[str, list[str | None]] = {
        "merchant": [f"M{number:05}" for number in range(n_merchants)],
        "city": [*(f"C{number:03}" for number in range(N_CITIES)), None],
        "device": [f"D{number:05}" for number in range(n_devices)],
        "channel": list(CHANNELS),
    }
    return codes, levels


def _draw_effects(random: np.random.Generator, levels: dict[str, list[str | None]]) -> dict[str, Array]:
    """Draw effects of each level on each linear predictor, (level, predictor)."""
    n_merchants = len(levels["merchant"])
    spread = np.where(random.random(n_merchants) < 0.2, 2.0, 0.1)[:, None]
    effects = {
        "merchant": random.normal(size=(n_merchants, len(PREDICTORS))) * spread,
        "city": random.normal(size=(N_CITIES + 1, len(PREDICTORS))) * 0.4,
        "device": np.zeros((len(levels["device"]), len(PREDICTORS))),
        "channel": random.normal(size=(len(CHANNELS), len(PREDICTORS))) * 0.4,
    }
    effects["city"][-1] = 0
    return {name: effect * SCALES for name, effect in effects.items()}


def _draw_target(random: np.random.Generator, target: str, predictor: Array) -> tuple[Array, np.ndarray[Any, Any]]:
    """Return truth and target of each row, from the linear predictors (row, predictor)."""
    if target == "visits":
        mean = np.exp(predictor[:, PREDICTORS.index("visits")])
        return mean, random.poisson(mean)
    if target == "fraud":
        probability = 1 / (1 + np.exp(-predictor[:, PREDICTORS.index("fraud")]))
        return probability, (random.random(len(predictor)) < probability).astype(np.int64)
    odds = np.exp(np.column_stack([predictor[:, :2], np.zeros(len(predictor))]))
    probabilities = odds / odds.sum(axis=1, keepdims=True)
    drawn = (random.random(len(predictor))[:, None] > probabilities.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return probabilities, np.array(["disputed", "fraud", "paid"])[drawn]


def _name_effects(levels: list[str | None], effects: Array, target: str) -> dict[str, float | tuple[float, ...]]:
    if target == "outcome":
        values: list[Any] = [(*row, 0.0) for row in effects[:, :2].tolist()]
    else:
        values = effects[:, PREDICTORS.index(target)].tolist()
    return {level: effect for level, effect in zip(levels, values, strict=True) if level is not None}
