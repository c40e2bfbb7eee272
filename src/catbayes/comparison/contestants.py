"""Encoders and models to compare, and models that handle categories by themselves.

Entries are data: a description, the libraries that are needed, and how to build it for a table. An entry without its
library is reported as not installed.

Boosters run on one thread, because OpenMP's threads wait by spinning, which costs more than it saves on a shared
machine; forests and CatBoost have threads of their own, and use all cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
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

N_DRAWS_OF_THE_PAPER = 5
GAMMA_OF_THE_PAPER = 1e-6
N_FIRST = 3
LIGHTGBM = {"reg_lambda": 1.0, "verbose": -1, "n_jobs": 1}
"""Without the penalty, which XGBoost has by default, LightGBM breaks down on classes of a few rows: on Nursery, where
one has two, its log-loss is above 1 with any encoding, and below 0.02 with it."""
CATBOOST_ROUNDS = 300  # of 1,000 by default, which take minutes; the others have their own default of 100


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
    """A model by its name, and whether it needs complete numbers of one scale."""

    name: str
    estimator: Any
    scaled: bool = False


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder by its name: a description, its libraries, and its transformer for a table and a seed."""

    about: str
    make: Callable[[Rows, int], Any]
    libraries: tuple[str, ...] = ()
    whole: bool = False  # makes a model of a model, instead of columns of columns
    codes: bool = False  # its numbers are names without a scale
    follows_family: bool = False  # encodes by the family's mean, which may be that of log y
    parameters: Callable[[Rows], dict[str, Any]] | None = None  # of the recommended encoder of a whole model


# ------------------------------------------------------------------------------------------------ models


def models_for(rows: Rows, chosen: Any, seed: int) -> list[Model]:
    """Return the models to compare with: some of the catalogue, or the caller's own."""
    classes = rows.classes is not None
    known = {"boosting": _boosting(classes, seed), "linear": _linear(classes), "forest": _forest(classes, seed)}
    if isinstance(chosen, Mapping):
        return [Model(name, estimator) for name, estimator in chosen.items()]
    return [known[name] for name in _names("models", chosen, known)]


def _linear(classes: bool) -> Model:
    if classes:
        return Model("logistic", LogisticRegression(max_iter=1000), scaled=True)
    return Model("ridge", Ridge(), scaled=True)


def _forest(classes: bool, seed: int) -> Model:
    forest = RandomForestClassifier if classes else RandomForestRegressor
    return Model("forest", forest(100, min_samples_leaf=5, n_jobs=-1, random_state=seed))


def _boosting(classes: bool, seed: int) -> Model:
    if find_spec("lightgbm"):
        import lightgbm

        booster = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        return Model("LightGBM", booster(random_state=seed, **LIGHTGBM))
    histograms = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return Model("HistGradient", histograms(random_state=seed))


class CategoryTypes(TransformerMixin, BaseEstimator):
    """Turn columns into pandas categories, those of the training rows; an unseen one is missing."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the categories of each column."""
        import pandas

        self.types_ = {name: pandas.CategoricalDtype(sorted(X[name].dropna().unique())) for name in X}
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


NATIVE = {
    "LightGBM": ("lightgbm", "LGBM"),
    "CatBoost": ("catboost", "CatBoost"),
    "HistGradient": ("sklearn.ensemble", "HistGradientBoosting"),
    "XGBoost": ("xgboost", "XGB"),
}
"""Models that handle categories by themselves, with their libraries and what the names of their classes begin with:
ordered target statistics (CatBoost), Fisher's grouping (LightGBM), and so on."""


# ------------------------------------------------------------------------------------------------ encoders


def _sampling(rows: Rows, seed: int, **settings: Any) -> Any:
    return (SamplingRegressor if rows.classes is None else SamplingClassifier)(random_state=seed, **settings)


def _columns_and_family(rows: Rows) -> dict[str, Any]:
    # A classifier counts the classes of its own rows, which may be fewer.
    return {"columns": list(rows.categorical), "family": rows.family if rows.classes is None else "auto"}


def _parameters_of_the_paper(rows: Rows) -> dict[str, Any]:
    numbers = rows.family.free_strength
    prior = Scaled(GAMMA_OF_THE_PAPER, strength=0.0 if numbers else None)
    return _columns_and_family(rows) | {"prior": prior, "own_target": "include", "temperature": 1.0}


def _moments(rows: Rows, seed: int) -> Any:
    return SamplingBayesianEncoder(
        "all", family=rows.family, mapping="moments", own_target="cross_fit", random_state=seed
    )


def _target(rows: Rows, seed: int) -> Any:
    kind = "continuous" if rows.classes is None else "auto"
    return _seeded(TargetEncoder(target_type=kind), rows.classes is not None, seed)


def _seeded(encoder: Any, classes: bool, seed: int) -> Any:
    """Give an encoder a seed if it has none; that of a TargetEncoder belongs to its folds."""
    if isinstance(encoder, TargetEncoder):
        folds = StratifiedKFold if classes else KFold
        return encoder.set_params(cv=folds(5, shuffle=True, random_state=seed)) if encoder.cv == 5 else encoder
    if encoder.get_params().get("random_state", 0) is None:
        encoder.set_params(random_state=seed)
    return encoder


def _peer(name: str, seeded: bool = False, *more: str) -> Encoder:
    """Return the entry of an encoder of category_encoders, one class against the rest if there are several."""

    def make(rows: Rows, seed: int) -> Any:
        import category_encoders
        from category_encoders.wrapper import PolynomialWrapper

        seeds = {"random_state": seed} if seeded else {}
        encoder = getattr(category_encoders, name)(cols=list(rows.categorical), **seeds)
        return PolynomialWrapper(encoder) if rows.task == "multiclass" else encoder

    return Encoder(f"category_encoders' {name}", make, ("category_encoders", *more))


ENCODERS: dict[str, Encoder] = {
    "target": Encoder("scikit-learn's TargetEncoder", _target),
    "sampling": Encoder(
        "catbayes: draws from the posterior, with its defaults",
        _sampling,
        whole=True,
        follows_family=True,
        parameters=_columns_and_family,
    ),
    "native": Encoder("the model's own handling of categories", lambda rows, seed: None),
    "one-hot": Encoder(
        "scikit-learn's OneHotEncoder", lambda rows, seed: OneHotEncoder(handle_unknown="infrequent_if_exist")
    ),
    "ordinal": Encoder(
        "scikit-learn's OrdinalEncoder",
        lambda rows, seed: OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        ),
        codes=True,
    ),
    "leave-one-out": _peer("LeaveOneOutEncoder", True),
    "ordered": _peer("CatBoostEncoder", True),
    "smoothed": _peer("TargetEncoder"),
    "james-stein": _peer("JamesSteinEncoder"),
    "quantile": _peer("QuantileEncoder"),
    "moments": Encoder(
        "catbayes: mean and variance of the posterior (Slakey et al.; with two classes, the beta encoder)",
        _moments,
        follows_family=True,
    ),
    "paper": Encoder(
        f"catbayes: draws as in the paper (own target included, γ = {GAMMA_OF_THE_PAPER:g}, "
        f"{N_DRAWS_OF_THE_PAPER} copies)",
        partial(_sampling, n_draws=N_DRAWS_OF_THE_PAPER, fit_with="copies"),
        whole=True,
        follows_family=True,
        parameters=_parameters_of_the_paper,
    ),
    "glmm": _peer("GLMMEncoder", True, "statsmodels"),
}
"""By the names that `compare` takes, the most useful first, and the slowest last."""


def contestants(rows: Rows, encoders: Any, models: Any, seed: int) -> list[Cell]:
    """Return all pairs to compare, the most useful first, each with its estimator or why there is none."""
    chosen = models_for(rows, models, seed)
    own = isinstance(encoders, Mapping)
    names = list(encoders) if own else _names("encoders", encoders, ENCODERS)
    found: list[Cell] = []
    for name in names:
        if not own and name == "native":
            if models is None or "boosting" in models:
                for model, (library, _) in NATIVE.items():
                    found.append(_cell(name, model, [library], partial(_native, model, rows, seed)))
            elif names == ["native"]:
                raise InputError('encoders names only "native", which needs "boosting" among models. Add it.')
            continue
        entry = _own(encoders[name]) if own else ENCODERS[name]
        for each in chosen:
            found.append(_cell(name, each.name, entry.libraries, partial(_pipeline, entry, each, rows, seed)))
    return _in_order(found, names[:N_FIRST], [model.name for model in chosen])


def _cell(encoder: str, model: str, libraries: Sequence[str], build: Callable[[], Any]) -> Cell:
    cell = Cell(encoder, model)
    missing = next((library for library in libraries if not find_spec(library)), None)
    if missing is not None:
        cell.status = f"not installed: pip install {missing}"
        return cell
    try:
        cell.estimator = build()
    except Exception as error:
        cell.status = failure(error)
    return cell


def failure(error: Exception) -> str:
    """Return the status of a contestant that failed."""
    first = next(iter(str(error).splitlines()), "")
    return f"failed: {type(error).__name__}: {first}"[:300]


def _in_order(found: list[Cell], first: list[str], models: list[str]) -> list[Cell]:
    """Sort: the first encoders model by model, so that they can be compared soon; then the others encoder by encoder.

    Models that handle categories by themselves come after the first model: they are what encoders have to beat.
    """
    alone = [c.model for c in found if c.model not in models]
    order = list(dict.fromkeys([*models[:1], *alone, *models[1:]]))
    return sorted(found, key=lambda c: (c.encoder not in first, order.index(c.model) if c.encoder in first else 0))


def _own(given: Any) -> Encoder:
    """Return an entry for the caller's encoder, or one of the catalogue by its name."""
    if isinstance(given, str):
        return ENCODERS[_names("encoders", given, {name: e for name, e in ENCODERS.items() if name != "native"})[0]]

    def make(rows: Rows, seed: int) -> Any:
        return _seeded(clone(given), rows.classes is not None, seed)

    return Encoder(
        "given by the caller", make, whole=hasattr(given, "predict"), follows_family=hasattr(given, "family")
    )


def _native(name: str, rows: Rows, seed: int) -> Any:
    """Return a model that handles categories by itself, with the input that it needs."""
    settings: dict[str, Any] = {
        "LightGBM": LIGHTGBM,
        "CatBoost": {
            "cat_features": list(rows.categorical),
            "iterations": CATBOOST_ROUNDS,
            "verbose": 0,
            "allow_writing_files": False,
        },
        "HistGradient": {"categorical_features": "from_dtype"},
        "XGBoost": {"enable_categorical": True, "verbosity": 0, "n_jobs": 1},
    }
    library, start = NATIVE[name]
    booster = getattr(import_module(library), start + ("Regressor" if rows.classes is None else "Classifier"))
    text = FunctionTransformer(as_text, feature_names_out="one-to-one")
    parts = [
        ("categories", text if name == "CatBoost" else CategoryTypes(), list(rows.categorical)),
        ("numbers", "passthrough", [*rows.numeric, *rows.dates]),
    ]
    encode = ColumnTransformer(parts, verbose_feature_names_out=False).set_output(transform="pandas")
    return _joined(rows, [("encode", encode), ("model", booster(random_state=seed, **settings[name]))])


def _names(parameter: str, chosen: Any, known: Mapping[str, Any]) -> list[str]:
    if chosen is None:
        return list(known)
    names = [chosen] if isinstance(chosen, str) else list(chosen)
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
    made, estimator = encoder.make(rows, seed), clone(model.estimator)
    one_hot = isinstance(made, OneHotEncoder)
    if one_hot and not get_tags(estimator).input_tags.sparse:
        made.set_params(sparse_output=False, max_categories=255)
    up: list[Any] = []
    if model.scaled:
        if rows.classes is None and not one_hot:  # zeros and ones keep their scale
            log = encoder.follows_family and rows.family.log_target
            up, down = [TargetUnits(1, log)], [TargetUnits(-1, log)]
            estimator = make_pipeline(*down, estimator)
        if not one_hot:  # an encoder may leave gaps
            estimator = make_pipeline(_filled(), estimator)
        made = make_pipeline(made, StandardScaler(), *up) if encoder.codes else made
    # Sparse one-hot columns admit no gaps.
    numbers = [_filled(), StandardScaler(), *up] if model.scaled else [_filled()] if one_hot else []
    before = _numbers(rows, numbers) if numbers and (rows.numeric or rows.dates) else []
    if encoder.whole:
        made.set_params(estimator=estimator)
        if encoder.parameters is not None:
            own = recommended_encoder(estimator, made.fit_with, **encoder.parameters(rows))
            made.set_params(encoder=own)
        return _joined(rows, [*before, ("model", made)])
    encode = ColumnTransformer([("categories", made, list(rows.categorical))], remainder="passthrough")
    return _joined(rows, [*before, ("encode", encode), ("model", estimator)])


def _numbers(rows: Rows, steps: list[Any]) -> list[Any]:
    """Return a step for the columns that are not categorical."""
    parts = [("numbers", make_pipeline(*steps), [*rows.numeric, *rows.dates])]
    step = ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=False)
    return [("numbers", step.set_output(transform="pandas"))]


def _joined(rows: Rows, steps: list[Any]) -> Any:
    """Return a pipeline of the steps, dates turned into numbers first; a single step is itself."""
    if rows.dates:
        days = FunctionTransformer(days_since_1970, feature_names_out="one-to-one")
        parts = [("days", days, list(rows.dates))]
        turned = ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=False)
        steps = [("dates", turned.set_output(transform="pandas")), *steps]
    return Pipeline(steps) if len(steps) > 1 else steps[0][1]


def days_since_1970(X: Any) -> Any:
    """Convert dates of a pandas frame to numbers; a missing one is NaN."""
    import pandas

    start, day = pandas.Timestamp(0, tz="UTC"), pandas.Timedelta(days=1)
    return X.apply(lambda column: (pandas.to_datetime(column, utc=True) - start) / day)
