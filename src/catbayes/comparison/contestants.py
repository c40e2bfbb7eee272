"""Encoders and models to compare, and models that handle categories by themselves.

Entries are data: a description, the library that is needed, and how to build it for a table.

Boosters and linear algebra run on one thread, because their threads wait by spinning, which costs more than it saves:
logistic regression on one-hot columns takes forty times as long on two. Forests and CatBoost have threads of their own,
and use all cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from catbayes import (
    InputError,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
    Scaled,
    recommended_encoder,
)
from catbayes.comparison.rows import Rows
from catbayes.families import FAMILIES
from catbayes.io import times_as_numbers

N_DRAWS_OF_THE_PAPER = 5
GAMMA_OF_THE_PAPER = 1e-6
N_FIRST = 3
MOST_OF_HISTOGRAMS = 254  # categories that HistGradientBoosting takes

BOOSTERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "LightGBM": ("lightgbm", "LGBM", {"reg_lambda": 1.0, "verbose": -1, "n_jobs": 1}),
    "HistGradient": ("sklearn.ensemble", "HistGradientBoosting", {}),
    "XGBoost": ("xgboost", "XGB", {"verbosity": 0, "n_jobs": 1}),
    "CatBoost": ("catboost", "CatBoost", {"iterations": 300, "verbose": 0, "allow_writing_files": False}),
}
"""Module, start of the class names, and parameters.

Without the penalty, which XGBoost has by default, LightGBM breaks down on classes of a few rows: on Nursery, where one
has two, its log-loss is above 1 with any encoding, and below 0.02 with it. CatBoost's 1,000 rounds would take minutes.
"""
OWN_CATEGORIES: dict[str, dict[str, Any]] = {
    "HistGradient": {"categorical_features": "from_dtype"},
    "XGBoost": {"enable_categorical": True},
}
"""Further parameters where a booster handles categories by itself: ordered target statistics (CatBoost), Fisher's
grouping (LightGBM), and so on."""


@dataclass(slots=True, eq=False)
class Cell:
    """One encoder with one model: scores and times by fold, or why there are none.

    `status` is "done", or begins with "failed", "not installed" or "not run" and gives the reason.

    Examples
    --------
    >>> from catbayes.comparison import Cell
    >>> cell = Cell("target", "ridge", status="not run: the time was up")
    >>> cell.name, cell.done
    ('target + ridge', False)
    """

    encoder: str
    model: str
    estimator: Any = None
    status: str = "open"
    scores: dict[int, dict[str, float]] = field(default_factory=dict)
    fit_seconds: dict[int, float] = field(default_factory=dict)
    predict_seconds: dict[int, float] = field(default_factory=dict)
    own: bool = False  # whether the encoder or the model is the caller's

    @property
    def name(self) -> str:
        """Encoder and model."""
        return f"{self.encoder} + {self.model}"

    @property
    def done(self) -> bool:
        """Tell whether it went through all folds."""
        return self.status == "done"


@dataclass(frozen=True, slots=True)
class Model:
    """A model by its name; `scaled` if it needs complete numbers of one scale."""

    name: str
    estimator: Any  # None if its library is not installed
    scaled: bool = False
    for_every_encoder: bool = True  # or only for ours, and with its own handling of categories


@dataclass(frozen=True, slots=True)
class Encoder:
    """A description, and how to make a transformer of columns, or a `whole` model, for a table, a seed and a model."""

    about: str
    make: Callable[[Rows, int, Any], Any]
    library: str | None = None
    whole: bool = False


# ------------------------------------------------------------------------------------------------ models


def models_for(rows: Rows, chosen: Any, seed: int) -> list[Model]:
    """Return the models to compare with: some of the catalogue, or the caller's own."""
    if isinstance(chosen, Mapping):
        return [Model(name, estimator) for name, estimator in chosen.items()]
    groups = ("boosting", "linear", "forest")
    found: list[Model] = []
    for name in _names("models", chosen or groups, (*groups, *BOOSTERS)):
        if name == "boosting":
            installed = [booster for booster, (library, *_) in BOOSTERS.items() if find_spec(library)]
            for booster in installed:
                found.append(Model(booster, _booster(booster, rows, seed), False, booster == installed[0]))
        elif name == "linear" and rows.classes is None:
            found.append(Model("ridge", Ridge(), scaled=True))
        elif name == "linear":
            found.append(Model("logistic", LogisticRegression(max_iter=1000), scaled=True))
        elif name == "forest":
            forest = RandomForestRegressor if rows.classes is None else RandomForestClassifier
            found.append(Model("forest", forest(100, min_samples_leaf=5, n_jobs=-1, random_state=seed)))
        else:
            found.append(Model(name, _booster(name, rows, seed) if find_spec(BOOSTERS[name][0]) else None))
    return found


def _booster(name: str, rows: Rows, seed: int, **settings: Any) -> Any:
    library, start, known = BOOSTERS[name]
    return getattr(import_module(library), start + kind_of(rows))(random_state=seed, **known | settings)


def kind_of(rows: Rows) -> str:
    """Return how the names of the models of a task end."""
    return "Regressor" if rows.classes is None else "Classifier"


class CategoryTypes(TransformerMixin, BaseEstimator):
    """Turn columns into pandas categories, the most frequent of the training rows; any other is missing."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the categories of each column."""
        import pandas

        frequent = {name: X[name].value_counts().index[: self.most] for name in X}
        self.types_ = {name: pandas.CategoricalDtype(sorted(values)) for name, values in frequent.items()}
        return self

    def transform(self, X: Any) -> Any:
        """Give the columns their types."""
        types = self.types_.items()
        return X.assign(**{name: X[name].where(X[name].isin(kind.categories)).astype(kind) for name, kind in types})

    def get_feature_names_out(self, input_features: Any = None) -> list[str]:
        """Return the names, which stay as they are."""
        return list(self.types_)


def as_text(X: Any) -> Any:
    """Convert categories of a pandas frame to text, a missing one to a category of its own."""
    return X.astype(object).where(X.notna(), "(missing)").astype(str)


# ------------------------------------------------------------------------------------------------ encoders


def _sampling(rows: Rows, seed: int, estimator: Any, fit_with: Any = "auto", **settings: Any) -> Any:
    # A classifier counts the classes of its own rows, which may be fewer.
    family = rows.family if rows.classes is None else "auto"
    parameters = {"columns": list(rows.categorical), "family": family} | settings.pop("encoder", {})
    encoder = recommended_encoder(estimator, **parameters)
    model = SamplingRegressor if rows.classes is None else SamplingClassifier
    return model(estimator, encoder, fit_with=fit_with, random_state=seed, **settings)


def _paper(rows: Rows, seed: int, estimator: Any) -> Any:
    prior = Scaled(GAMMA_OF_THE_PAPER, strength=0.0 if rows.family.free_strength else None)
    encoder = {"prior": prior, "own_target": "include", "temperature": 1.0}
    return _sampling(rows, seed, estimator, "copies", n_draws=N_DRAWS_OF_THE_PAPER, encoder=encoder)


def _seeded(encoder: Any, classes: bool, seed: int) -> Any:
    """Give an encoder a seed if it has none; that of a TargetEncoder belongs to its folds."""
    if isinstance(encoder, TargetEncoder):
        folds = StratifiedKFold if classes else KFold
        return encoder.set_params(cv=folds(5, shuffle=True, random_state=seed)) if encoder.cv == 5 else encoder
    if encoder.get_params().get("random_state", 0) is None:
        encoder.set_params(random_state=seed)
    return encoder


def _target(rows: Rows, seed: int, estimator: Any) -> Any:
    encoder = TargetEncoder(target_type="continuous" if rows.classes is None else "auto")
    return _seeded(encoder, rows.classes is not None, seed)


def _peer(name: str, seeded: bool = False, library: str = "category_encoders") -> Encoder:
    """Return the entry of an encoder of category_encoders, one class against the rest if there are several."""

    def make(rows: Rows, seed: int, estimator: Any) -> Any:
        import category_encoders
        from category_encoders.wrapper import PolynomialWrapper

        seeds = {"random_state": seed} if seeded else {}
        encoder = getattr(category_encoders, name)(cols=list(rows.categorical), **seeds)
        return PolynomialWrapper(encoder) if rows.task == "multiclass" else encoder

    return Encoder(f"category_encoders' {name}", make, library)


ENCODERS: dict[str, Encoder] = {
    "target": Encoder("scikit-learn's TargetEncoder", _target),
    "sampling": Encoder("catbayes: draws from the posterior, with its defaults", _sampling, whole=True),
    "native": Encoder("the model's own handling of categories", lambda rows, seed, estimator: None),
    "one-hot": Encoder(
        "scikit-learn's OneHotEncoder",
        lambda rows, seed, estimator: OneHotEncoder(handle_unknown="infrequent_if_exist"),
    ),
    "ordinal": Encoder(
        "scikit-learn's OrdinalEncoder",
        lambda rows, seed, estimator: OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        ),
    ),
    "leave-one-out": _peer("LeaveOneOutEncoder", True),
    "ordered": _peer("CatBoostEncoder", True),
    "smoothed": _peer("TargetEncoder"),
    "james-stein": _peer("JamesSteinEncoder"),
    "quantile": _peer("QuantileEncoder"),
    "moments": Encoder(
        "catbayes: mean and variance of the posterior (Slakey et al.; with two classes, the beta encoder)",
        lambda rows, seed, estimator: SamplingBayesianEncoder(
            "all", family=rows.family, mapping="moments", own_target="cross_fit", random_state=seed
        ),
    ),
    "paper": Encoder(
        f"catbayes: draws as in the paper (own target included, γ = {GAMMA_OF_THE_PAPER:g}, "
        f"{N_DRAWS_OF_THE_PAPER} copies)",
        _paper,
        whole=True,
    ),
    "glmm": _peer("GLMMEncoder", True, "statsmodels"),
}
"""By the names that `compare` takes, the most useful first, and the slowest last."""


def contestants(rows: Rows, encoders: Any, models: Any, seed: int) -> tuple[list[Cell], list[str]]:
    """Return all pairs to compare, the most useful first, and the libraries that more of them would need.

    An encoder or model that was named is a pair even if its library is missing.
    """
    chosen = models_for(rows, models, seed)
    own = isinstance(encoders, Mapping)
    names = list(encoders) if own else _names("encoders", encoders, ENCODERS)
    missing = [] if models is not None else [lib for lib, *_ in BOOSTERS.values() if not find_spec(lib)]
    found: list[Cell] = []
    for name in names:
        entry = _own(encoders[name]) if own else ENCODERS[name]
        if encoders is None and entry.library is not None and not find_spec(entry.library):
            missing.append(entry.library)
            continue
        native = name == "native" and not own
        for model in chosen:
            if (native and model.name in BOOSTERS) or (not native and (model.for_every_encoder or name == "sampling")):
                found.append(_cell(name, entry, model, rows, seed, native, own or isinstance(models, Mapping)))
    if not found:
        raise InputError('encoders names only "native", which needs "boosting" among models. Add it.')
    order = [model.name for model in chosen]  # the first encoders model by model: they can be compared soon
    found.sort(key=lambda c: (0, order.index(c.model)) if c.encoder in names[:N_FIRST] else (1, 0))
    return found, list(dict.fromkeys(missing))


def _cell(name: str, entry: Encoder, model: Model, rows: Rows, seed: int, native: bool, own: bool) -> Cell:
    cell = Cell(name, model.name, own=own)
    libraries = [entry.library, BOOSTERS[model.name][0] if model.estimator is None else None]
    missing = [library for library in libraries if library is not None and not find_spec(library)]
    if missing:
        cell.status = f"not installed: pip install {missing[0]}"
        return cell
    try:
        cell.estimator = _native(model.name, rows, seed) if native else _pipeline(entry, model, rows, seed)
    except Exception as error:
        cell.status = failure(error)
    return cell


def failure(error: Exception) -> str:
    """Return the status of a contestant that failed."""
    first = next(iter(str(error).splitlines()), "")
    return f"failed: {type(error).__name__}: {first}"[:300]


def _own(given: Any) -> Encoder:
    """Return an entry for the caller's encoder, or one of the catalogue by its name."""
    if isinstance(given, str):
        return ENCODERS[_names("encoders", given, [name for name in ENCODERS if name != "native"])[0]]
    whole = hasattr(given, "predict")

    def make(rows: Rows, seed: int, estimator: Any) -> Any:
        made = _seeded(clone(given), rows.classes is not None, seed)
        return made.set_params(estimator=estimator) if whole else made

    return Encoder("given by the caller", make, whole=whole)


def _names(parameter: str, chosen: Any, known: Any) -> list[str]:
    names = list(known) if chosen is None else [chosen] if isinstance(chosen, str) else list(chosen)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        given = repr(unknown[0]) if unknown else "an empty list"
        raise InputError(f"{parameter}: {given} is not one of {', '.join(known)}.")
    return names


# ------------------------------------------------------------------------------------------------ pipelines


class TargetUnits(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply columns by the standard deviation of the target, or of its logarithm, to a power.

    A column without signal is encoded as nearly a constant. Standardised, it would be as wide as the others, and all
    noise; left as it is, a penalised model hardly uses it. Encodings of a number have the scale of the target, so the
    other columns get that scale, and all of them are divided by it in the end.
    """

    def __init__(self, power: int = 1, log: bool = False) -> None:
        self.power = power
        self.log = log

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the scale of the target."""
        validate_data(self, X)
        self.scale_ = float(np.std(np.log(y) if self.log else y)) or 1.0
        return self

    def transform(self, X: Any) -> Any:
        """Multiply."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False) * self.scale_**self.power


def _filled() -> SimpleImputer:
    """Replace missing numbers by the median, with an indicator."""
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def _pipeline(encoder: Encoder, model: Model, rows: Rows, seed: int) -> Any:
    """Return the pipeline of an encoder and a model for a table and a seed."""
    estimator = clone(model.estimator)
    made: Any = None if encoder.whole else encoder.make(rows, seed, estimator)
    one_hot = isinstance(made, OneHotEncoder)
    if one_hot and not get_tags(estimator).input_tags.sparse:
        made.set_params(sparse_output=False, max_categories=255)
    up: list[Any] = []
    if model.scaled and not one_hot:  # zeros and ones have one scale and no gaps
        if rows.classes is None:
            log = rows.family.log_target and (encoder.whole or hasattr(made, "family"))
            up = [TargetUnits(1, log)]
            estimator = make_pipeline(TargetUnits(-1, log), estimator)
        estimator = make_pipeline(_filled(), estimator)
        if isinstance(made, OrdinalEncoder):  # its numbers are names without a scale
            made = make_pipeline(made, StandardScaler(), *up)
    # Sparse one-hot columns admit no gaps.
    numbers = [_filled(), StandardScaler(), *up] if model.scaled else [_filled()] if one_hot else []
    steps: list[Any] = []
    if numbers and (rows.numeric or rows.dates):
        steps.append(("numbers", _some_columns(make_pipeline(*numbers), [*rows.numeric, *rows.dates])))
    if encoder.whole:
        return _joined(rows, [*steps, ("model", encoder.make(rows, seed, estimator))])
    encode = ColumnTransformer([("categories", made, list(rows.categorical))], remainder="passthrough")
    return _joined(rows, [*steps, ("encode", encode), ("model", estimator)])


def _native(name: str, rows: Rows, seed: int) -> Any:
    """Return a booster that handles categories by itself, with the input that it needs."""
    columns = list(rows.categorical)
    settings = {"cat_features": columns} if name == "CatBoost" else OWN_CATEGORIES.get(name, {})
    encode: Any = CategoryTypes(MOST_OF_HISTOGRAMS if name == "HistGradient" else None)
    if name == "CatBoost":
        encode = FunctionTransformer(as_text, feature_names_out="one-to-one")
    steps = [("encode", _some_columns(encode, columns)), ("model", _booster(name, rows, seed, **settings))]
    return _joined(rows, steps)


def _some_columns(step: Any, columns: list[str]) -> Any:
    """Transform some columns of a pandas frame, and pass the others."""
    parts = [("columns", step, columns)]
    found = ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=False)
    return found.set_output(transform="pandas")


def _joined(rows: Rows, steps: list[Any]) -> Any:
    """Return a pipeline of the steps, dates turned into numbers first; a single step is itself."""
    if rows.dates:
        days = FunctionTransformer(times_as_numbers, feature_names_out="one-to-one")
        steps = [("dates", _some_columns(days, list(rows.dates))), *steps]
    return Pipeline(steps) if len(steps) > 1 else steps[0][1]


# ------------------------------------------------------------------------------------------------ code


def code_of(cell: Cell, rows: Rows, seed: int) -> str:
    """Write the lines of Python that fit a contestant to a pandas table X and its target y."""
    fit = "model = result.best.estimator.fit(result.rows.X, result.rows.y)"
    if cell.own:
        return f"{fit}  # of result = catbayes.compare(…)"
    family = next((f", family={name!r}" for name, known in FAMILIES.items() if known is rows.family), "")
    family = family if rows.classes is None else ""
    columns = f"columns = {list(rows.categorical)!r}"
    if cell.model not in BOOSTERS or cell.encoder not in ("sampling", "native") or rows.dates:
        name = {"logistic": "linear", "ridge": "linear"}.get(cell.model, cell.model)
        how = f"encoders=[{cell.encoder!r}], models=[{name!r}], columns=columns{family}, random_state={seed}"
        return "\n".join(["from catbayes import compare", columns, f"result = compare(X, y, {how}, cv=2)", fit])
    library, start, settings = BOOSTERS[cell.model]
    kind, native, is_catboost = kind_of(rows), cell.encoder == "native", cell.model == "CatBoost"
    if native:
        settings = settings | ({"cat_features": "columns"} if is_catboost else OWN_CATEGORIES.get(cell.model, {}))
    arguments = ", ".join(f"{name}={value!r}" for name, value in {"random_state": seed, **settings}.items())
    lines = [
        f"from {library} import {start}{kind}",
        columns,
        f"booster = {start}{kind}({arguments})".replace("'columns'", "columns"),
    ]
    if native:
        lines.insert(2, f"X[columns] = X[columns].astype({'str' if is_catboost else 'category'!r})")
        texts = cell.model == "XGBoost" and rows.classes is not None and not isinstance(rows.classes[0], int)
        target = "y.astype('category').cat.codes" if texts else "y"
        return "\n".join([*lines, f"model = booster.fit(X, {target})"])
    own = f"recommended_encoder(booster, columns=columns{family})"
    lines.insert(0, f"from catbayes import Sampling{kind}, recommended_encoder")
    return "\n".join([*lines, f"model = Sampling{kind}(booster, {own}, random_state={seed}).fit(X, y)"])
