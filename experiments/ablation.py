"""Which settings are best: ours, one changed at a time, and the peers, on real and simulated tables.

The full product of all factors would be thousands of models a table, and most of it is of no interest. Instead each
factor is varied alone around two centres, the candidate for our default and the paper's setting, and the factors that
act on the same thing (own target, temperature, steady categories, prior) are also crossed at the values that rival each
other. A gain is then a difference of two rows, on the same folds.

The first half of the folds of a cross-validation chooses, and the other half reports: no test row does both.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from catbayes import Draws
from catbayes._comparison._contestants import ENCODERS, Encoder, Model, builder, models_for, native
from catbayes._comparison._rows import Rows, read_rows
from catbayes._comparison._running import make_folds
from catbayes._comparison._scores import OF_TASK, predict, score
from catbayes._encoder import SamplingBayesianEncoder
from catbayes._encoding import Strategy
from catbayes._estimators import SamplingClassifier, SamplingRegressor
from catbayes._validation import Codes
from catbayes.datasets import NAMES, Dataset, load, make_transactions
from catbayes.datasets._recipes import RECIPES
from catbayes.mappings import MappingWord
from catbayes.priors import Scaled
from experiments.effort import Effort
from experiments.paper import SYNTHETIC, TABLES
from experiments.trials import Trial

MODELS = ("linear", "forest", "boosting")
GENERATED = ("payments", "amounts", *SYNTHETIC)
N_FOLDS = 4
CHOOSING = range(N_FOLDS // 2)
REPORTING = range(N_FOLDS // 2, N_FOLDS)
N_GENERATED = 10_000
TREES = 50


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings of our encoder and estimator; the defaults are the ones to be justified."""

    own_target: Strategy = "exclude"
    prior: float | str = "empirical"
    temperature: float | Literal["estimate"] = "estimate"
    steady: int | None = 200
    draw_per: Literal["row", "category"] = "row"
    fit_with: Literal["copies", "members", "rounds"] = "copies"
    n_draws: int = 5
    mapping: MappingWord = "mean"

    @property
    def name(self) -> str:
        """What differs from the default."""
        changed = [f"{key}={value}" for key, value in asdict(self).items() if value != getattr(DEFAULT, key)]
        return ", ".join(changed) or "default"

    @property
    def label(self) -> str:
        """All values in a line."""
        return ", ".join(f"{key}={value}" for key, value in asdict(self).items())

    def encoder(self) -> Encoder:
        """Our estimator with these settings."""

        def make(rows: Rows, seed: int) -> Any:
            prior: Any = self.prior
            if rows.classes is None and self.own_target == "include" and not isinstance(prior, str):
                prior = Scaled(prior, strength=0.0)  # the paper's, to the letter
            encoder = SamplingBayesianEncoder(
                list(rows.categorical),
                prior=prior,
                mapping=self.mapping,
                own_target=self.own_target,
                draws=Draws(self.temperature, self.steady, self.draw_per),
            )
            sampling = SamplingRegressor if rows.classes is None else SamplingClassifier
            return sampling(encoder=encoder, n_draws=self.n_draws, fit_with=self.fit_with, random_state=seed)

        return Encoder(self.name, make, whole=True)


DEFAULT = Setting()
CENTRE = replace(DEFAULT, steady=100)
"""What the settings were varied around. The default differs in `steady`: twice as many rows score the same, and columns
without signal cost less (`tests/test_leakage.py`)."""
PAPER = Setting(
    own_target="include", prior=1e-7, temperature=1.0, steady=None, draw_per="row", fit_with="copies", n_draws=5
)


@dataclass(frozen=True, slots=True)
class Peer:
    """Somebody else's encoder by the name it has in a comparison; with several seeds, what they predict is averaged."""

    encoder: str
    n_seeds: int = 1

    @property
    def name(self) -> str:
        """Its name, and the number of seeds."""
        return self.encoder if self.n_seeds == 1 else f"{self.encoder}, {self.n_seeds} seeds averaged"

    @property
    def label(self) -> str:
        """The same."""
        return self.name


TARGET = Peer("target")
PEERS = (TARGET, Peer("target", n_seeds=5), Peer("leave-one-out"), Peer("ordered"))
NATIVE = ("LightGBM", "CatBoost")


def settings() -> list[Setting]:
    """The design: two stars, and the crosses between them."""
    star: dict[str, tuple[Any, ...]] = {
        "own_target": ("cross_fit", "include"),
        "prior": (1e-7, 1e-4, 1e-3),
        "temperature": (0.0, 0.3, 1.0),
        "steady": (None, DEFAULT.steady, 300),
        "draw_per": ("category",),
        "fit_with": ("members", "rounds"),
        "n_draws": (1, 20),
        "mapping": ("mean_precision",),
    }
    chosen = [CENTRE, *(_changed(CENTRE, name, value) for name, values in star.items() for value in values)]
    around = {"own_target": ("exclude", "cross_fit"), "prior": ("empirical",), "temperature": (0.0,)}
    chosen += [PAPER, *(_changed(PAPER, name, value) for name, values in around.items() for value in values)]
    plain = replace(CENTRE, steady=None)
    chosen += [replace(plain, own_target=own, temperature=t) for own, t in CROSSED]
    return list(dict.fromkeys(chosen))


CROSSED: tuple[tuple[Strategy, float], ...] = (
    ("exclude", 1.0),
    ("exclude", 0.3),
    ("cross_fit", 0.3),
    ("cross_fit", 0.0),
)


def _changed(setting: Setting, name: str, value: Any) -> Setting:
    change: dict[str, Any] = {name: value}
    return replace(setting, **change)


@dataclass(frozen=True, slots=True)
class Fold:
    """One method with one model on one fold of one table."""

    table: str
    model: str
    method: Setting | Peer
    repeat: int
    fold: int
    n_rows: int | None

    @property
    def key(self) -> str:
        """What it is called."""
        rows = "" if self.n_rows is None else f", {self.n_rows} rows"
        return f"{self.table}, {self.model}, {self.method.label}, repeat {self.repeat} fold {self.fold}{rows}"

    def run(self) -> dict[str, Any]:
        """Scores by every measure of the task."""
        rows = read_table(self.table, self.n_rows)
        train, test = folds(self.table, self.n_rows, self.repeat)[self.fold]
        X, X_new = (rows.X.iloc[part].reset_index(drop=True) for part in (train, test))
        predicted = [
            predict(self._build(rows, number).fit(X, rows.y[train]), X_new, rows.n_classes)
            for number in range(getattr(self.method, "n_seeds", 1))
        ]
        return score(rows.y[test], np.mean(predicted, axis=0))

    def _build(self, rows: Rows, number: int) -> Any:
        seed = int(np.random.SeedSequence([self.repeat, self.fold, number]).generate_state(1)[0])
        if isinstance(self.method, Peer) and self.method.encoder == "native":
            return native(self.model).build(rows, seed)
        model = models_for(rows, [self.model], seed)[0]
        estimator = clone(model.estimator)
        if self.model == "forest":
            estimator.set_params(n_estimators=TREES, n_jobs=1)  # trials run side by side already
        encoder = self.method.encoder() if isinstance(self.method, Setting) else ENCODERS[self.method.encoder]
        return builder(encoder, Model(model.name, estimator, model.scaled))(rows, seed)


@cache
def read_table(name: str, n_rows: int | None) -> Rows:
    """A table as a comparison takes it; counts are taken for numbers."""
    data = _load(name)
    family = "normal" if data.task in ("regression", "count") else "auto"
    return read_rows(
        data.table,
        data.y,
        columns=list(data.categorical),
        drop=(),
        family=family,
        groups=None,
        time=None,
        sample=n_rows,
        seed=0,
    )


def _load(name: str) -> Dataset:
    if name in SYNTHETIC:
        X, y, categorical = TABLES[name].read()
        return Dataset(name, X, y, "y", "binary", tuple(categorical), "scikit-learn")
    if name in GENERATED:
        target, seed = ("fraud", 0) if name == "payments" else ("amount", 1)
        data = make_transactions(N_GENERATED, target=target, random_state=seed)
        return replace(data, name=name, table=data.table.drop(columns="time"))
    return load(name)


@cache
def folds(name: str, n_rows: int | None, repeat: int) -> list[tuple[Codes, Codes]]:
    """The folds of a repeat, the same for every method; later repeats divide anew the rows that report."""
    rows = read_table(name, n_rows)
    first: list[tuple[Codes, Codes]] = make_folds(rows, N_FOLDS, 1, seed=0)[0][0]
    if repeat == 0:
        return first
    telling = np.concatenate([first[fold][1] for fold in REPORTING])
    splitter = (KFold if rows.classes is None else StratifiedKFold)(len(REPORTING), shuffle=True, random_state=repeat)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds
        parts = [telling[test] for _, test in splitter.split(telling, rows.y[telling])]
    return [*first[: len(CHOOSING)], *((np.setdiff1d(np.arange(len(rows.y)), test), test) for test in parts)]


def trials(effort: Effort) -> list[Trial]:
    """The choice on the first half of the folds, then the report on the other half."""
    chosen = [trial for setting in settings() for trial in choosing(effort, setting)]
    return [*chosen, *(trial for method in reported() for trial in reporting(effort, method))]


def measure_of(table: str) -> str:
    """The measure that ranks: AUC for two classes, log-loss for several, R² for numbers."""
    task = RECIPES[table].task if table in RECIPES else "regression" if table == "amounts" else "binary"
    return OF_TASK["regression" if task == "count" else task][0]


def tables(effort: Effort) -> tuple[str, ...]:
    """The public data sets, and simulated ones."""
    return (*NAMES, *GENERATED) if effort.ablation_tables is None else effort.ablation_tables


def reported() -> list[Setting | Peer]:
    """What is compared on the other half of the folds."""
    return [DEFAULT, *PEERS, PAPER, Peer("native")]


def choosing(effort: Effort, setting: Setting) -> list[Trial]:
    """A setting on the folds that choose; "rounds" only for models that grow."""
    models = [model for model in MODELS if not (setting.fit_with == "rounds" and model == "linear")]
    return [
        Fold(table, model, setting, 0, fold, effort.n_rows)
        for table in tables(effort)
        for model in models
        for fold in CHOOSING
    ]


def reporting(effort: Effort, method: Setting | Peer) -> list[Trial]:
    """A method on the folds that report."""
    models = NATIVE if isinstance(method, Peer) and method.encoder == "native" else MODELS
    return [
        Fold(table, model, method, repeat, fold, effort.n_rows)
        for table in tables(effort)
        for model in models
        for repeat in range(effort.ablation_repeats)
        for fold in REPORTING
    ]
