"""Who is compared: encoders, models, and models that handle categories by themselves.

An entry of a catalogue is data: what it is, which libraries it needs, and how to build it for a task. One whose library
is not installed is left out by name.

Boosters run on one thread, because those of OpenMP wait by spinning, which costs more than it saves on a shared
machine; forests and CatBoost have threads of their own, and use all cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from sklearn.utils import get_tags

from catbayes._encoder import SamplingBayesianEncoder
from catbayes.comparison._native import LIGHTGBM, NATIVE
from catbayes.comparison._rows import Rows
from catbayes.comparison._scaling import TargetUnits, filled, standardised
from catbayes.core.table import did_you_mean
from catbayes.errors import InputError
from catbayes.inspect.one_column import seed_if_none
from catbayes.models.classifier import SamplingClassifier
from catbayes.models.recommended import recommended_encoder
from catbayes.models.regressor import SamplingRegressor
from catbayes.priors import Scaled

N_DRAWS_OF_THE_PAPER = 5
GAMMA_OF_THE_PAPER = 1e-6
N_FIRST = 3


@dataclass(frozen=True, slots=True)
class Contestant:
    """An encoder with a model, to be built for a table; `missing` names the library that is not installed."""

    encoder: str
    model: str
    build: Callable[[Rows, int], Any]
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """A model by its name, and whether it needs complete numbers, those that are not encoded of one scale."""

    name: str
    estimator: Any
    scaled: bool = False


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder by its name: what it is, the libraries that it needs, and its transformer for a task and a seed."""

    about: str
    make: Callable[[Rows, int], Any]
    libraries: tuple[str, ...] = ()
    whole: bool = False  # makes a model of a model, instead of columns of columns
    codes: bool = False  # its numbers are names, and have no scale
    follows_family: bool = False  # encodes by the family's mean, which may be that of log y
    parameters: Callable[[Rows], dict[str, Any]] | None = None  # of the recommended encoder of a whole model


# ------------------------------------------------------------------------------------------------ models


def models_for(rows: Rows, chosen: Any, seed: int) -> list[Model]:
    """The models to compare with: named ones of the catalogue, or the caller's own."""
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


# ------------------------------------------------------------------------------------------------ encoders


def _family(rows: Rows) -> Any:
    """The family for our models: a classifier counts the classes of its own rows, which may be fewer."""
    return rows.family if rows.classes is None else "auto"


def _recommended(rows: Rows, seed: int) -> Any:
    sampling = SamplingRegressor if rows.classes is None else SamplingClassifier
    return sampling(random_state=seed)


def _columns_and_family(rows: Rows) -> dict[str, Any]:
    return {"columns": list(rows.categorical), "family": _family(rows)}


def _as_in_the_paper(rows: Rows, seed: int) -> Any:
    sampling = SamplingRegressor if rows.classes is None else SamplingClassifier
    return sampling(n_draws=N_DRAWS_OF_THE_PAPER, fit_with="copies", random_state=seed)


def _parameters_of_the_paper(rows: Rows) -> dict[str, Any]:
    prior = Scaled(GAMMA_OF_THE_PAPER, strength=0.0 if rows.family.free_strength else None)
    return _columns_and_family(rows) | {"prior": prior, "own_target": "include", "temperature": 1.0}


def _moments(rows: Rows, seed: int) -> Any:
    return SamplingBayesianEncoder(
        "all", family=rows.family, mapping="moments", own_target="cross_fit", random_state=seed
    )


def _target(rows: Rows, seed: int) -> Any:
    kind = "continuous" if rows.classes is None else "auto"
    return seed_if_none(TargetEncoder(target_type=kind), classes=rows.classes is not None, seed=seed)


def _peer(name: str, seeded: bool = False) -> Callable[[Rows, int], Any]:
    """An encoder of category_encoders; one against the rest where it knows two classes only."""

    def make(rows: Rows, seed: int) -> Any:
        import category_encoders
        from category_encoders.wrapper import PolynomialWrapper

        seeds = {"random_state": seed} if seeded else {}
        encoder = getattr(category_encoders, name)(cols=list(rows.categorical), **seeds)
        return PolynomialWrapper(encoder) if rows.task == "multiclass" else encoder

    return make


ENCODERS: dict[str, Encoder] = {
    "target": Encoder("scikit-learn's TargetEncoder", _target),
    "sampling": Encoder(
        "catbayes: draws from the posterior, as it recommends",
        _recommended,
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
    "leave-one-out": Encoder(
        "category_encoders' LeaveOneOutEncoder", _peer("LeaveOneOutEncoder", True), ("category_encoders",)
    ),
    "ordered": Encoder("category_encoders' CatBoostEncoder", _peer("CatBoostEncoder", True), ("category_encoders",)),
    "smoothed": Encoder("category_encoders' TargetEncoder", _peer("TargetEncoder"), ("category_encoders",)),
    "james-stein": Encoder("category_encoders' JamesSteinEncoder", _peer("JamesSteinEncoder"), ("category_encoders",)),
    "quantile": Encoder("category_encoders' QuantileEncoder", _peer("QuantileEncoder"), ("category_encoders",)),
    "moments": Encoder(
        "catbayes: mean and variance of the posterior (Slakey et al.; with two classes, the beta encoder)",
        _moments,
        follows_family=True,
    ),
    "paper": Encoder(
        f"catbayes: draws as in the paper (own target included, γ = {GAMMA_OF_THE_PAPER:g}, "
        f"{N_DRAWS_OF_THE_PAPER} copies)",
        _as_in_the_paper,
        whole=True,
        follows_family=True,
        parameters=_parameters_of_the_paper,
    ),
    "glmm": Encoder("category_encoders' GLMMEncoder", _peer("GLMMEncoder", True), ("category_encoders", "statsmodels")),
}
"""By the names that `compare` takes, the most useful first, and those that take long last."""


def contestants(rows: Rows, encoders: Any, models: Any, seed: int) -> list[Contestant]:
    """All pairs to compare, the most useful first."""
    chosen = models_for(rows, models, seed)
    own = isinstance(encoders, Mapping)
    names = list(encoders) if own else _names("encoders", encoders, ENCODERS)
    found = []
    for name in names:
        if not own and name == "native":
            if models is None or "boosting" in models:
                found += [native(model) for model in NATIVE]
            elif names == ["native"]:
                raise InputError('encoders names only "native", which needs "boosting" among models. Add it.')
            continue
        entry = _own(encoders[name]) if own else ENCODERS[name]
        missing = _missing(*entry.libraries)
        found += [Contestant(name, model.name, builder(entry, model), missing) for model in chosen]
    return _in_order(found, names[:N_FIRST], [model.name for model in chosen])


def _in_order(found: list[Contestant], first: list[str], models: list[str]) -> list[Contestant]:
    """The first encoders model by model, so that they can be compared soon; then the others encoder by encoder.

    Models that handle categories by themselves, and nothing else, come after the first model: they are what the
    encoders have to beat.
    """
    alone = [c.model for c in found if c.model not in models]
    order = list(dict.fromkeys([*models[:1], *alone, *models[1:]]))
    return sorted(found, key=lambda c: (c.encoder not in first, order.index(c.model) if c.encoder in first else 0))


def _own(given: Any) -> Encoder:
    """An encoder of the caller's, or one of the catalogue by its name; one that predicts is a model of models."""
    if isinstance(given, str):
        return ENCODERS[_names("encoders", given, {name: e for name, e in ENCODERS.items() if name != "native"})[0]]

    def make(rows: Rows, seed: int) -> Any:
        return seed_if_none(clone(given), classes=rows.classes is not None, seed=seed)

    return Encoder(
        "given by the caller", make, whole=hasattr(given, "predict"), follows_family=hasattr(given, "family")
    )


def native(model: str) -> Contestant:
    """A model that takes the categories as they are."""

    def build(rows: Rows, seed: int) -> Any:
        parts = [
            ("categories", NATIVE[model].categories(), list(rows.categorical)),
            ("numbers", "passthrough", [*rows.numeric, *rows.dates]),
        ]
        encode = ColumnTransformer(parts, verbose_feature_names_out=False).set_output(transform="pandas")
        return _joined(rows, [("encode", encode), ("model", NATIVE[model].make(rows, seed))])

    return Contestant("native", model, build, _missing(NATIVE[model].library.partition(".")[0]))


def _missing(*libraries: str) -> str | None:
    return next((name for name in libraries if not find_spec(name)), None)


def _names(parameter: str, chosen: Any, known: Mapping[str, Any]) -> list[str]:
    if chosen is None:
        return list(known)
    names = [chosen] if isinstance(chosen, str) else list(chosen)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        given = repr(unknown[0]) if unknown else "an empty list"
        near = did_you_mean(unknown[0], list(known)) if unknown else ""
        raise InputError(f"{parameter}: {given} is not one of {', '.join(known)}.{near}")
    return names


# ------------------------------------------------------------------------------------------------ pipelines


def builder(encoder: Encoder, model: Model) -> Callable[[Rows, int], Any]:
    """How to build the pipeline of an encoder and a model for a table and a seed."""

    def build(rows: Rows, seed: int) -> Any:
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
                estimator = make_pipeline(filled(), estimator)
            made = make_pipeline(made, StandardScaler(), *up) if encoder.codes else made
        numbers = [*standardised(), *up] if model.scaled else [filled()] if one_hot else []  # sparse ones take no gaps
        before = _numbers(rows, numbers) if numbers and (rows.numeric or rows.dates) else []
        if encoder.whole:
            made.set_params(estimator=estimator)
            if encoder.parameters is not None:
                own = recommended_encoder(estimator, made.fit_with, **encoder.parameters(rows))
                made.set_params(encoder=own)
            return _joined(rows, [*before, ("model", made)])
        encode = ColumnTransformer([("categories", made, list(rows.categorical))], remainder="passthrough")
        return _joined(rows, [*before, ("encode", encode), ("model", estimator)])

    return build


def _numbers(rows: Rows, steps: list[Any]) -> list[Any]:
    """A step for the columns that are no categories."""
    parts = [("numbers", make_pipeline(*steps), [*rows.numeric, *rows.dates])]
    step = ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=False)
    return [("numbers", step.set_output(transform="pandas"))]


def _joined(rows: Rows, steps: list[Any]) -> Any:
    """A pipeline of the steps, dates turned into numbers first; a single step is itself."""
    if rows.dates:
        steps = [("dates", _dates(rows)), *steps]
    return Pipeline(steps) if len(steps) > 1 else steps[0][1]


def _dates(rows: Rows) -> Any:
    days = FunctionTransformer(days_since_1970, feature_names_out="one-to-one")
    turned = ColumnTransformer(
        [("days", days, list(rows.dates))], remainder="passthrough", verbose_feature_names_out=False
    )
    return turned.set_output(transform="pandas")


def days_since_1970(X: Any) -> Any:
    """Dates of a pandas frame as numbers; a missing one is NaN."""
    import pandas

    start, day = pandas.Timestamp(0, tz="UTC"), pandas.Timedelta(days=1)
    return X.apply(lambda column: (pandas.to_datetime(column, utc=True) - start) / day)
