"""Fitting on draws: the training rows, K weighted copies, K members, or one model that grows on fresh draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_clusterer, is_outlier_detector, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupShuffleSplit,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    train_test_split,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from catbayes.core.column import FittedColumn
from catbayes.core.config import splitter_of
from catbayes.core.layout import Layout
from catbayes.core.leakage import TrainingDraws
from catbayes.core.random import Purpose, stream
from catbayes.core.table import Named, Table, name_of, read_table, take_named, times_as_numbers
from catbayes.core.target import check_weights, read_y
from catbayes.core.validation import Array
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError, warn
from catbayes.models.backends import BACKENDS, backend_of, last_step
from catbayes.models.columns import GRIDS, Columns
from catbayes.models.rounds import Job, grow, way_to_grow

NOT_BY_ROW = (
    *("X_val", "y_val", "sample_weight_val", "eval_set", "eval_X", "eval_y", "eval_sample_weight"),
    *("feature_name", "categorical_feature", "cat_features", "feature_weights"),
)
"""Fit parameters about other rows or features, even if they are as many."""


def read_training(X: Any, y: Any, sample_weight: Any, model: Any) -> tuple[Any, Table, Named, Array | None]:
    """Read X without the columns that y and sample_weight name; return it as given, as a table, y, and weights."""
    given = read_table(X, model)
    table, values, weight = take_named(given, y, sample_weight)
    values = read_y(values)
    if len(values) != table.n_rows:
        raise InputError(f"y has {len(values)} values and X has {table.n_rows} rows: expected one for each row.")
    return (
        X if table is given else table.native,
        table,
        Named.of(values, name_of(y)),
        check_weights(weight, table.n_rows),
    )


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows to fit on, with draws of their features; `index` has their places in the table."""

    draws: TrainingDraws
    y: np.ndarray[Any, Any]
    weight: Array | None
    groups: Any
    fit_params: dict[str, Any]
    n_draws: int
    seed: int
    classes: Any
    report: Callable[[str], None]
    columns: Columns
    index: Any = field(default_factory=lambda: slice(None))

    def __len__(self) -> int:
        return len(self.y)

    def features(self, k: int) -> Array:
        """Return draw k of the features, (row, output)."""
        return as_numbers(self.draws.features(k)[self.index], self.draws.layout)

    def fresh(self) -> Callable[[int], Array]:
        """Return a function that writes draw after draw into one array."""
        features, current = self.features(0), 0

        def feed(k: int) -> Array:
            nonlocal current
            if k != current:
                features.setflags(write=True)  # CatBoost locks the arrays it was given
                self.draws.write(k, features, self.index)
                current = k
            return features

        return feed

    def copies(self, chunked: bool = False) -> tuple[Any, np.ndarray[Any, Any], Array, dict[str, Any]]:
        """Return features, targets, weights and fit parameters of K stacked copies, each with 1/K of the weight.

        The features are an array or, `chunked`, an Arrow table that stores once what all copies have in common.
        """
        features: Any
        if chunked:
            features = self.draws.chunked(self.n_draws, self.features(0), self.index)
        else:
            features = as_numbers(self.draws.copies(self.n_draws, self.index), self.draws.layout)
        weight = np.ones(len(self)) if self.weight is None else self.weight
        row = np.tile(np.arange(len(self)), self.n_draws)
        return features, self.y[row], weight[row] / self.n_draws, params_of(self.fit_params, len(self), row)

    def hold_out(self, share: Any) -> tuple[TrainingRows, TrainingRows]:
        """Split the rows, and with each row all of its draws; by groups if there are any, else by classes."""
        random = int(stream(self.seed, Purpose.HELD_OUT).integers(np.iinfo(np.int32).max))
        every, how = np.arange(len(self)), {"test_size": share, "random_state": random}
        if self.groups is not None:
            train, valid = next(GroupShuffleSplit(1, **how).split(every, groups=self.groups))
        else:
            try:
                train, valid = train_test_split(every, stratify=None if self.classes is None else self.y, **how)
            except ValueError:  # one of the parts cannot have rows of every class
                train, valid = train_test_split(every, **how)
        if self.classes is not None:  # a class that only the held-out rows have could not be scored
            stray = ~np.isin(self.y[valid], self.y[train])
            train, valid = np.concatenate([train, valid[stray]]), valid[~stray]
        return self.take(train), self.take(valid)

    def take(self, row: Any) -> TrainingRows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[row]
        groups = None if self.groups is None else np.asarray(self.groups)[row]
        index = row if isinstance(self.index, slice) else self.index[row]
        params = params_of(self.fit_params, len(self), row)
        return replace(self, y=self.y[row], weight=weight, groups=groups, fit_params=params, index=index)


def params_of(fit_params: dict[str, Any], n_rows: int, row: Any) -> dict[str, Any]:
    """Return fit parameters, those with a value for each of the rows at the rows `row`."""

    def align(value: Any) -> Any:
        by_row = hasattr(value, "__len__") and not isinstance(value, str | dict) and len(value) == n_rows
        return np.asarray(value)[row] if by_row else value

    return fit_params | {name: align(value) for name, value in fit_params.items() if name not in NOT_BY_ROW}


def origins(columns: Sequence[FittedColumn]) -> list[Array]:
    """Return what is subtracted from outputs of amounts: the expectation of an unseen category.

    Nothing is subtracted from counts and classes. Forests and XGBoost round features to single precision, in which
    amounts near 1e9 are 64 apart; differences from the usual amount are not.
    """
    found = []
    for column in columns:
        usual = column.expectation[column.index.unseen]
        drawn = np.arange(len(usual)) < len(usual) - len(column.extra_names)  # what is no function of θ is no amount
        found.append(np.where(drawn & column.family.as_differences, usual, 0.0))
    return found


def from_origins(draws: TrainingDraws) -> TrainingDraws:
    """Return draws as differences from the origins; columns without signal are constant."""
    columns, own = draws.columns, origins(draws.columns)

    def blocks(k: int) -> Iterator[Array]:
        for column, block, origin in zip(columns, draws.blocks(k), own, strict=True):
            flat = column.flattened(block)
            yield flat - origin if origin.any() else flat

    return replace(draws, blocks=blocks)


def fit_and_draw(
    encoder: SamplingBayesianEncoder | None, X: Any, table: Table, y: Named, weight: Array | None, groups: Any = None
) -> TrainingDraws:
    """Fit the encoder and return draws of the rows; without an encoder, the numbers as they are."""
    if encoder is None:
        draws = TrainingDraws(table, Layout.of(len(table.names)), (), lambda k: [])
    else:
        draws = from_origins(encoder.fit_draws(X, y, weight, groups))
    passing, table = draws.layout.passing, with_numbers(draws.table, draws.layout)
    times = [table.names[n] for n in passing if table is not draws.table and not draws.table.numeric([n])]
    if times:
        warn(f"Dates are days since 1970 for the estimator, and spans of time seconds: columns {times!r}.")
    return replace(draws, table=table)


def draws_before(encoder: SamplingBayesianEncoder | None, table: Table, layout: Layout) -> TrainingDraws:
    """Draw rows from what was known before them, so that their own targets are excluded."""
    if encoder is None:
        return TrainingDraws(with_numbers(table, layout), layout, (), lambda k: [])
    fitted = encoder.encoding_
    seed = int(stream(fitted.seed, Purpose.PART, int(fitted.evidence.total.count.sum())).integers(2**31 - 1))
    fitted = fitted.extended(table.column)
    blocks = [block[0] for block in fitted.draws(fitted.slots(table.column), 1, seed=seed)]
    return from_origins(TrainingDraws(with_numbers(table, layout), layout, fitted.columns, lambda k: blocks))


def with_numbers(table: Table, layout: Layout) -> Table:
    """Turn the dates and times that are not encoded into numbers; every other text or object raises an error."""
    if table.frame is None or table.numeric(layout.passing):
        return table
    names = [table.names[position] for position in layout.passing]
    numbers = Table.of(times_as_numbers(table.frame[:, list(layout.passing)].to_native()))
    for position, name in enumerate(names):
        if not numbers.numeric([position]):
            if str(getattr(table.frame[:, name].to_native(), "dtype", "")).startswith("Sparse"):
                raise InputError(f"Column {name!r} is not encoded and is sparse. Use .sparse.to_dense() of it.")
            raise InputError(
                f"Column {name!r} is not encoded and holds no numbers. Turn it into numbers, drop it, or name it among "
                "the columns of the encoder."
            )
    return replace(table, frame=table.frame.with_columns(*(numbers.frame[:, n] for n in range(len(names)))))


def as_numbers(features: np.ndarray[Any, Any], layout: Layout) -> Array:
    """Require numbers in the columns of an array that are not encoded, and name the one that holds none."""
    if features.dtype != object:
        return features
    for position in layout.passing:
        try:
            features[:, layout.places[position].start].astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"Column {position} is not encoded and holds no numbers ({error}). Turn it into numbers, drop it, or "
                "name it among the columns of the encoder."
            ) from error
    return features.astype(np.float64)


MEMBERS = 3
"""Members that are fitted by default."""

COPIED_ROWS, SUMMED_ROWS = 100_000, 10_000
"""Rows of copies, at most, by default: more of them cost much and gain little. Linear models need fewer: they see
nothing of the noise of draws but its average over the rows."""
MANY_CODES = 1 << 24
"""Whole numbers up to this are exact in single precision, to which boosters round features."""
PASSING_ON = (TransformedTargetRegressor, VotingClassifier, VotingRegressor, GridSearchCV, RandomizedSearchCV)
"""Estimators that hand weights on to those inside them."""
COUNTS = {name for backend in BACKENDS for name in backend.row_counts}


def require_suitable(estimator: Any, model: str, *, classes: bool) -> None:
    """Refuse what cannot learn a target of classes or of numbers inside a sampling model."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise InputError(f"estimator={estimator!r}: expected a scikit-learn estimator or Pipeline, not yet fitted.")
    if (is_regressor if classes else is_classifier)(estimator):
        other = "SamplingRegressor" if classes else "SamplingClassifier"
        raise InputError(f"{model} was given {estimator!r}: use {other} for it.")
    if is_clusterer(estimator) or is_outlier_detector(estimator) or not hasattr(estimator, "predict"):
        kind = "classifier" if classes else "regressor"
        raise InputError(f"{model} was given {estimator!r}, which predicts no target: expected a {kind}.")
    last = last_step(estimator)
    kind = type(last).__name__
    if isinstance(last, FixedThresholdClassifier | TunedThresholdClassifierCV):
        raise InputError(
            f"{kind} inside {model}: probabilities are averaged over draws, which no threshold of one estimator acts "
            f"on. Put it around the model: {kind}({model}(…))."
        )
    if hasattr(last, "get_params") and last.get_params(deep=False).get("class_names") is not None:
        raise InputError(
            f"{kind}(class_names=…) inside {model}, which numbers the classes in their order: leave it out, and give "
            "class_weights=(…) in that order."
        )
    try:
        clone(estimator)
    except RuntimeError as error:
        advice = backend_of(last).clone_advice
        if advice is None:
            raise
        raise InputError(f"{kind} cannot be cloned ({error}). {advice}") from error


def choose(estimator: Any) -> str:
    """Pick a way to fit, by what `make quality` shows on the folds that choose.

    Copies are best for linear models, forests and boosters alike. Models that pass over the table many times get a draw
    for each pass; those that take no weights, or make folds of their own, which copies would spoil, become members.
    """
    last = last_step(estimator)
    if hasattr(last, "partial_fit") and "max_iter" in last.get_params(deep=False):
        return "rounds"
    return "members" if weight_name(estimator) is None or _reason_against_copies(last) else "copies"


def usual_draws(estimator: Any, way: str, n_rows: int) -> int:
    """Return how many draws a model is fitted on by default.

    Three are enough for small tables, and the more rows there are, the less do draws differ from each other.
    """
    last = last_step(estimator)
    if way == "members":
        return MEMBERS
    linear = way == "copies" and type(last).__module__.startswith("sklearn.linear_model")
    most = SUMMED_ROWS if linear else COPIED_ROWS
    return int(np.clip(most // n_rows, 1, 3))


def fit(estimator: Any, way: str, rows: TrainingRows, *, seeded: bool, n_jobs: int | None) -> list[Any]:
    """Fit clones of the estimator; one for "copies" and "rounds", K for "members"."""
    last = last_step(estimator)
    if way == "rounds":
        way_to_grow(last)
    reason = _reason_against_copies(last) if way == "copies" else None
    if reason:
        raise InputError(
            f'{type(last).__name__} {reason}: use fit_with="members", or "rounds" where the estimator can grow, or put '
            "searches around the sampling model."
        )
    _check_columns(estimator, rows)
    if rows.weight is not None and weight_name(estimator) is None:
        warn(f"{type(last).__name__} takes no sample_weight: it learns from all rows alike.")
    draws_differ = not all(column.is_silent for column in rows.draws.columns)
    if not draws_differ or (rows.n_draws == 1 and way != "rounds"):
        way = "one draw"

    def member(k: int) -> Any:
        model = fresh_clone(estimator, rows.classes, rows.seed if seeded else None, k)
        model, fit_params = backend_of(model).prepare(model, rows.columns, rows.fit_params)
        known = replace(rows, fit_params=fit_params)
        if way == "copies":
            fitted = _fit_copies(model, known)
        elif way == "rounds":
            fitted = _fit_rounds(model, known)
        else:
            X = backend_of(model).to_train(model, known.features(k), known.columns)
            fitted = fit_weighted(model, X, known.y, known.weight, known.fit_params)
        backend_of(fitted).name_features(fitted, rows.columns.plain_names)
        if way == "members":
            rows.report(f"member {k + 1} of {rows.n_draws}")
        return fitted

    if way != "members":
        return [member(0)]
    # Threads copy nothing and leave nothing running, and long fits release the interpreter.
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(member)(k) for k in range(rows.n_draws)))


def _check_columns(estimator: Any, rows: TrainingRows) -> None:
    """Refuse columns without values, and categories that are not whole numbers, where the estimator takes none."""
    table, layout, backend = rows.draws.table, rows.draws.layout, backend_of(estimator)
    for position in layout.passing:
        is_category = layout.places[position].start in rows.columns.categories
        if not table.numeric([position]) or not (is_category or backend.needs_values(estimator)):
            continue
        name, values = table.names[position], np.asarray(table.values(position), dtype=np.float64)
        if backend.needs_values(estimator) and np.isnan(values).all():
            raise InputError(
                f"Column {name!r} holds no value, and {type(estimator).__name__} takes no such column. Drop it."
            )
        gaps = np.isnan(values) & backend.gaps_in_categories
        codes = (values >= 0) & (values <= MANY_CODES) & (values == np.round(values))
        if is_category and not (gaps | codes).all():
            raise InputError(
                f"Column {name!r} holds more than whole numbers from 0 to {MANY_CODES:,}, which "
                f"{type(estimator).__name__} needs of a category. Name it among the columns of the encoder."
            )


def fresh_clone(estimator: Any, classes: Any, seed: int | None, member: int = 0) -> Any:
    """Clone an estimator, with numbers for its classes, and seeds where the model has one and the estimator none."""
    model = clone(estimator)
    if classes is not None:
        model.set_params(**classes_by_number(model.get_params(), classes))
    if seed is not None:
        random = stream(seed, Purpose.ESTIMATOR, member)
        for name, value in sorted(model.get_params().items(), key=itemgetter(0)):
            if name.endswith("random_state") and value is None:
                model.set_params(**{name: int(random.integers(np.iinfo(np.int32).max))})
    return model


def classes_by_number(params: dict[str, Any], classes: Any) -> dict[str, Any]:
    """Return weights of classes, and grids of a search with such weights, by numbers instead of labels."""

    def numbered(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        known = {int(np.searchsorted(classes, label)): weight for label, weight in value.items() if label in classes}
        unknown = [label for label in value if label not in classes]
        if unknown and len(known) < len(classes):  # a part of the rows may lack a class, if all others have weights
            raise InputError(f"class_weight names {unknown[0]!r}, which y does not hold: expected {classes.tolist()}.")
        return known

    def of_grid(grid: Any) -> Any:
        if not isinstance(grid, dict):
            return [of_grid(one) for one in grid]
        weighs = {name: values for name, values in grid.items() if name.endswith("class_weight")}
        return grid | {n: [*map(numbered, values)] for n, values in weighs.items() if isinstance(values, Sequence)}

    weights = {name: value for name, value in params.items() if name.endswith("class_weight")}
    found = {name: numbered(value) for name, value in weights.items() if isinstance(value, dict)}
    return found | {name: of_grid(value) for name, value in params.items() if name.endswith(GRIDS)}


def weight_name(estimator: Any) -> str | None:
    """Return the name of the fit parameter that takes weights; None if there is none."""
    if isinstance(estimator, Pipeline):
        if get_config()["enable_metadata_routing"]:
            asked = get_routing_for_object(estimator).consumes("fit", ["sample_weight"])
            return "sample_weight" if asked else None
        name, last = estimator.steps[-1]
        inner = weight_name(last)
        return None if inner is None else f"{name}__{inner}"
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if not isinstance(estimator, PASSING_ON) or get_config()["enable_metadata_routing"]:
        return None
    parts = [part for part in estimator.get_params(deep=False).values() if hasattr(part, "fit")]
    parts += [part for _, part in getattr(estimator, "estimators", [])]
    return "sample_weight" if parts and all(weight_name(part) == "sample_weight" for part in parts) else None


def fit_weighted(model: Any, X: Any, y: Any, weight: Any, params: dict[str, Any]) -> Any:
    """Fit, with weights where there are some and the model takes them."""
    name = weight_name(model)
    weights = {} if weight is None or name is None else {name: weight}
    return model.fit(X, y, **weights, **params)


# ------------------------------------------------------------------------------------------------ copies


def _fit_copies(model: Any, rows: TrainingRows) -> Any:
    last = last_step(model)
    if weight_name(model) is None:
        warn(
            f"{type(last).__name__} takes no sample_weight, so each copy of a row counts as a whole row: leaf sizes, "
            'penalties and neighbours mean less than without copies. Use fit_with="members", which does not copy rows.'
        )
    chunked = backend_of(model).takes_chunks(rows.draws.layout)
    _scale_counts(model, rows)
    share = backend_of(last).validation_share(last, rows)
    backend_of(last).adapt_to_copies(last, rows)
    if share is None:
        rows.report(f"fitting on {rows.n_draws} copies of {len(rows)} rows")
        return fit_weighted(model, *rows.copies(chunked))
    train, valid = rows.hold_out(share)
    X, y, weight, params = train.copies()
    rows.report(f"fitting on {rows.n_draws} copies of {len(train)} rows, with {len(valid)} rows held out")
    params_of_last = last.get_params(deep=False)
    steps = 1  # other models than GradientBoosting stop by themselves
    if "n_estimators" in params_of_last:
        steps = 2 * params_of_last["n_estimators"] // params_of_last["n_iter_no_change"]
    job = Job(lambda k: X, y, weight, valid.copies()[:3], rows.n_draws, rows.report, params, steps=steps)
    return grow(model, job)


def _scale_counts(model: Any, rows: TrainingRows) -> None:
    """Multiply parameters that count rows by the number of copies of a row that a tree gets.

    There are K of them, unless the estimator, or one around it, draws bags: those stay as large as they were, or every
    row would be in every bag, and hold fewer copies of a row.
    """
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    bags = dict[str, float]()  # how many copies of a row there are, by the prefix of parameters inside of the bag
    for name, part in {"": model, **model.get_params()}.items():
        if not hasattr(part, "get_params") or isinstance(part, type) or name.startswith(tuple(bags)):
            continue
        params = part.get_params(deep=False)
        if "max_samples" in params and (params["bootstrap"] or isinstance(part, BaggingClassifier | BaggingRegressor)):
            most: Any = params["max_samples"]
            if most is None or not isinstance(most, Integral):
                most = len(rows) if most is None else round(float(most) * float(weight.sum()))
            size = max(1, int(most) if params["bootstrap"] else min(int(most), len(rows)))
            part.set_params(max_samples=size)
            copies = _copies_in_bag(weight, rows.n_draws, size) if params["bootstrap"] else 1.0
            bags[f"{name}__" if name else ""] = copies
    for name, value in model.get_params().items():
        if name.split("__")[-1] not in COUNTS or not isinstance(value, Real):
            continue
        copies = next((copies for bag, copies in bags.items() if name.startswith(bag)), float(rows.n_draws))
        if isinstance(value, Integral):
            model.set_params(**{name: round(int(value) * copies)})
        else:  # a share of all copies
            model.set_params(**{name: float(value) * copies / rows.n_draws})


def _copies_in_bag(weight: Array, n_draws: int, size: int) -> float:
    """Return the expected number of different copies of a row in a bag that has any of them.

    A row that is drawn with probability p is in a bag of n with probability 1 - exp(-n p), each of its K copies with
    1 - exp(-n p / K). For equal weights and n rows the ratio is K (1 - exp(-1/K)) / (1 - exp(-1)), 1.35 for K = 3.
    """
    expected = size * weight / weight.sum()
    return float(n_draws * np.expm1(-expected / n_draws).sum() / np.expm1(-expected).sum())


def _reason_against_copies(last: Any) -> str | None:
    """Return why the estimator would separate the copies of a row, if it would and this cannot be prevented."""
    params = last.get_params()
    for name, value in params.items():
        inner, _, leaf = name.rpartition("__")
        if leaf == "cv" and value != "prefit":
            return "makes folds of its own, which would separate the copies of a row"
        if leaf == "oob_score" and value:
            return "scores rows out of bag whose copies it was trained on"
        stops = leaf == "early_stopping" and value in (True, "auto")
        stops |= leaf == "n_iter_no_change" and value is not None and f"{inner}__early_stopping" not in params
        if inner and stops:
            return f"holds rows out by itself ({name}={value!r}), which would separate the copies of a row"
    return None


# ------------------------------------------------------------------------------------------------ rounds


def _fit_rounds(model: Any, rows: TrainingRows) -> Any:
    last = last_step(model)
    share = backend_of(last).validation_share(last, rows)
    valid = None
    if share is not None:
        rows, held_out = rows.hold_out(share)
        valid = held_out.copies()[:3]
    return grow(model, Job(rows.fresh(), rows.y, rows.weight, valid, rows.n_draws, rows.report, rows.fit_params))


def recommended_encoder(estimator: Any, **parameters: Any) -> SamplingBayesianEncoder:
    """Return the encoder that a sampling model uses for an estimator if it is given none.

    It has the pairs of columns that pay (`interactions="auto"`); for regressors, effects with slopes; and the
    categories of columns that have few: codes for trees and boosters, indicators for linear models and neural networks.

    Parameters
    ----------
    estimator : classifier, regressor or Pipeline
        The estimator of the model.
    **parameters
        Parameters of `SamplingBayesianEncoder`, which replace these defaults.

    Returns
    -------
    encoder : SamplingBayesianEncoder
        Not fitted. A model uses it as it is.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from catbayes import SamplingRegressor, recommended_encoder
    >>> encoder = recommended_encoder(Ridge(), columns=["city"], effects=False)
    >>> encoder.get_params()["interactions"]
    'auto'
    >>> model = SamplingRegressor(Ridge(), encoder)
    """
    last = last_step(estimator)
    categories = backend_of(last).keep_categories(last)
    encoder = SamplingBayesianEncoder(**{"interactions": "auto", **categories, **parameters})
    excludes_own_target = splitter_of(encoder.own_target, encoder.cv) is not None
    if "effects" not in parameters and excludes_own_target and not is_classifier(estimator):
        encoder.set_params(effects="slopes")
    return encoder
