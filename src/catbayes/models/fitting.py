"""Three ways to fit a model on draws: K weighted copies, K members, or one model that grows on fresh draws."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from catbayes.core.random import Purpose, stream
from catbayes.core.validation import Array
from catbayes.errors import InputError, warn
from catbayes.models.column_parameters import library
from catbayes.models.growing import Job, grow, way_to_grow
from catbayes.models.named import classes_by_number
from catbayes.models.native import as_trained, last_step, named, takes_chunks, told
from catbayes.models.rows import TrainingRows

HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
COPIED_ROWS, SUMMED_ROWS = 100_000, 10_000
"""Rows of copies, at most, if nobody says how many: more of them cost more than they are worth. Linear models need
fewer: they see nothing of the noise of draws but its average over the rows."""
MANY_CODES = 1 << 24
"""Whole numbers up to this are exact in single precision, to which boosters round features."""
BINNED_ROWS = 20_000
"""Rows that LightGBM makes bins of, of all copies, if the table has not more itself."""
PASSING_ON = (TransformedTargetRegressor, VotingClassifier, VotingRegressor, GridSearchCV, RandomizedSearchCV)
"""Estimators that hand weights on to those inside them."""
COUNTS = (
    *("min_samples_leaf", "min_samples_split", "min_child_samples"),
    *("min_data_in_leaf", "min_data_per_leaf", "min_data"),
)
"""Parameters that count rows, whatever they weigh."""


def choose(estimator: Any) -> str:
    """Pick a way to fit, by what `make bench-quality` shows on the folds that choose.

    Copies are best for linear models, forests and boosters alike. Models that pass over the table many times get a draw
    for each pass; those that take no weights, or make folds of their own, which copies would spoil, become members.
    So does CatBoost, which would learn the target of a row from its copies.
    """
    last = last_step(estimator)
    if library(last) == "catboost":
        return "members"
    if hasattr(last, "partial_fit") and "max_iter" in last.get_params(deep=False):
        return "rounds"
    return "members" if weight_name(estimator) is None or _reason_to_part(last) else "copies"


def usual_draws(estimator: Any, way: str, n_rows: int) -> int:
    """How many draws a model is fitted on, if its user does not say.

    Three are enough for small tables, and the more rows there are, the less do draws differ from each other. Two
    members of CatBoost average what one makes of the noise of its draw.
    """
    last = last_step(estimator)
    if way == "members":
        return 2 if library(last) == "catboost" else 3
    linear = way == "copies" and type(last).__module__.startswith("sklearn.linear_model")
    most = SUMMED_ROWS if linear else COPIED_ROWS
    return int(np.clip(most // n_rows, 1, 3))


def fit(estimator: Any, way: str, rows: TrainingRows, *, seeded: bool, n_jobs: int | None) -> list[Any]:
    """Fit clones of the estimator; one for "copies" and "rounds", K for "members"."""
    fitted = _fit_way(estimator, way, rows, seeded, n_jobs)
    return [named(model, rows.known) for model in fitted]


def _fit_way(estimator: Any, way: str, rows: TrainingRows, seeded: bool, n_jobs: int | None) -> list[Any]:
    if way == "rounds":
        way_to_grow(last_step(estimator))
    if way == "copies":
        _require_no_splits(last_step(estimator))
    if isinstance(estimator, HISTOGRAMS):
        _require_values(estimator, rows)
    _require_codes(estimator, rows)
    if rows.weight is not None and weight_name(estimator) is None:
        warn(f"{type(last_step(estimator)).__name__} takes no sample_weight: it learns from all rows alike.")
    if not rows.varies or (rows.n_draws == 1 and way != "rounds"):
        return [_fit_plain(*_prepared(estimator, rows, seeded, 0), 0)]
    if way == "copies":
        return [_fit_copies(*_prepared(estimator, rows, seeded, 0))]
    if way == "rounds":
        return [_fit_rounds(*_prepared(estimator, rows, seeded, 0))]

    def member(k: int) -> Any:
        fitted = _fit_plain(*_prepared(estimator, rows, seeded, k), k)
        rows.report(f"member {k + 1} of {rows.n_draws}")
        return fitted

    # Threads: nothing is copied, nothing is left running, and what takes long lets go of the interpreter.
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(member)(k) for k in range(rows.n_draws)))


def _require_values(estimator: Any, rows: TrainingRows) -> None:
    """Refuse columns without a single value, at which histograms end in an error of their own."""
    table = rows.draws.table
    for position in rows.draws.layout.passing:
        if table.numeric([position]) and np.isnan(np.asarray(table.values(position), dtype=np.float64)).all():
            raise InputError(
                f"Column {table.names[position]!r} holds no value, and {type(estimator).__name__} takes no such "
                "column. Drop it."
            )


def _require_codes(estimator: Any, rows: TrainingRows) -> None:
    """Refuse columns that the user called categories of the estimator, but that do not hold whole numbers."""
    table, layout = rows.draws.table, rows.draws.layout
    for position in layout.passing:
        if layout.places[position].start in rows.known.categories and table.numeric([position]):
            values = np.asarray(table.values(position), dtype=np.float64)
            gaps = np.isnan(values) & (library(estimator) != "catboost")
            codes = (values >= 0) & (values <= MANY_CODES) & (values == np.round(values))
            if not (gaps | codes).all():
                raise InputError(
                    f"Column {table.names[position]!r} holds more than whole numbers from 0 to {MANY_CODES:,}, which "
                    f"{type(estimator).__name__} needs of a category. Name it among the columns of the encoder."
                )


def _prepared(estimator: Any, rows: TrainingRows, seeded: bool, member: int) -> tuple[Any, TrainingRows]:
    """A clone that knows its features, and the rows with what its `fit` has to be told of them."""
    model, fit_params = told(fresh_clone(estimator, rows, seeded, member), rows.known, rows.fit_params)
    return model, replace(rows, fit_params=fit_params)


def fresh_clone(estimator: Any, rows: TrainingRows, seeded: bool, member: int) -> Any:
    """Clone the estimator, with seeds of its own wherever the model has one and the estimator has none."""
    model = clone(estimator)
    if rows.classes is not None:
        model.set_params(**classes_by_number(model.get_params(), rows.classes))
    if seeded:
        unset = sorted(
            name for name, value in model.get_params().items() if name.endswith("random_state") and value is None
        )
        random = stream(rows.seed, Purpose.ESTIMATOR, member)
        model.set_params(**{name: int(random.integers(np.iinfo(np.int32).max)) for name in unset})
    return model


def weight_name(estimator: Any) -> str | None:
    """Name of the fit parameter that takes weights; None if there is none."""
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


def _fit_plain(model: Any, rows: TrainingRows, k: int) -> Any:
    X = as_trained(model, rows.features(k), rows.known)
    return fit_weighted(model, X, rows.y, rows.weight, rows.fit_params)


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
            'penalties and neighbours mean less than they say. fit_with="members" keeps their meaning.'
        )
    chunked = takes_chunks(model, rows.draws.layout)
    _keep_meaning(model, rows)
    share = _held_out_share(last, rows)
    if isinstance(last, HISTOGRAMS) and last.early_stopping == "auto" and "X_val" not in rows.fit_params:
        last.set_params(early_stopping=len(rows) > 10_000)  # by rows, not by copies
    if share is None:
        rows.report(f"fitting on {rows.n_draws} copies of {len(rows)} rows")
        return fit_weighted(model, *rows.copies(chunked))
    train, valid = rows.hold_out(share)
    X, y, weight, params = train.copies()
    rows.report(f"fitting on {rows.n_draws} copies of {len(train)} rows, with {len(valid)} rows held out")
    steps = Job.steps_for_copies(last)
    job = Job(lambda k: X, y, weight, valid.copies()[:3], rows.n_draws, rows.report, params, steps=steps)
    return grow(model, job)


def _keep_meaning(model: Any, rows: TrainingRows) -> None:
    """Change the parameters whose meaning K copies would change.

    SGD's penalty acts at every step, of which there are K times as many; CatBoost multiplies its own by the mean
    weight.
    """
    last, params = last_step(model), last_step(model).get_params(deep=False)
    _keep_counts(model, rows)
    if isinstance(last, SGDClassifier | SGDRegressor):
        last.set_params(alpha=params["alpha"] / rows.n_draws)
    if library(last) == "lightgbm":
        # It holds and sorts all values that it makes bins of: those of as many rows as the table has tell as much.
        most = min(params["subsample_for_bin"], max(len(rows), BINNED_ROWS))
        times = int(np.clip(round(most / len(rows)), 1, rows.n_draws))
        last.set_params(
            subsample_for_bin=most,
            min_data_in_bin=times * int(params.get("min_data_in_bin") or 3),
            min_data_per_group=rows.n_draws * int(params.get("min_data_per_group") or 100),
        )
    if library(last) == "catboost":
        _keep_catboost(last, rows)


def _keep_counts(model: Any, rows: TrainingRows) -> None:
    """Multiply parameters that count rows by the number of copies of a row that a tree sees.

    There are K of them, unless the estimator, or one around it, draws bags: those stay as large as they were, or every
    row would be in every bag, and hold fewer copies of a row.
    """
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    bags = dict[str, float]()
    for name, part in {"": model, **model.get_params()}.items():
        if not hasattr(part, "get_params") or isinstance(part, type) or any(_is_within(name, bag) for bag in bags):
            continue
        params = part.get_params(deep=False)
        if "max_samples" in params and (params["bootstrap"] or isinstance(part, BaggingClassifier | BaggingRegressor)):
            most: Any = params["max_samples"]
            if most is None or not isinstance(most, Integral):
                most = len(rows) if most is None else round(float(most) * float(weight.sum()))
            size = max(1, int(most) if params["bootstrap"] else min(int(most), len(rows)))
            part.set_params(max_samples=size)
            bags[name] = _copies_in_bag(weight, rows.n_draws, size) if params["bootstrap"] else 1.0
    for name, value in model.get_params().items():
        if name.split("__")[-1] not in COUNTS or not isinstance(value, Real):
            continue
        copies = next((copies for bag, copies in bags.items() if _is_within(name, bag)), float(rows.n_draws))
        if isinstance(value, Integral):
            model.set_params(**{name: round(int(value) * copies)})
        else:  # a share of all copies
            model.set_params(**{name: float(value) * copies / rows.n_draws})


def _is_within(name: str, part: str) -> bool:
    """Tell whether a nested parameter belongs to a part, of which the estimator itself has no name."""
    return not part or name.startswith(f"{part}__")


def _copies_in_bag(weight: Array, n_draws: int, size: int) -> float:
    """Different copies of a row in a bag that holds any of them: what a bag of copies holds, over one of rows.

    A row that is drawn with probability p is in a bag of n with probability 1 - exp(-n p), each of its K copies with
    1 - exp(-n p / K). For equal weights and n rows the ratio is K (1 - exp(-1/K)) / (1 - exp(-1)), 1.35 for K = 3.
    """
    expected = size * weight / weight.sum()
    return float(n_draws * np.expm1(-expected / n_draws).sum() / np.expm1(-expected).sum())


def _keep_catboost(model: Any, rows: TrainingRows) -> None:
    """Multiply CatBoost's penalty, and keep the learning rate that it would choose by itself.

    It chooses one by the number of rows, and only if it is given no penalty: one round on the rows themselves tells.
    """
    params = model.get_params()
    if params.get("learning_rate") is None and params.get("eta") is None:

        class Once:
            def after_iteration(self, info: Any) -> bool:
                return False

        trial = fit_weighted(clone(model), rows.features(0), rows.y, rows.weight, {"callbacks": [Once()]})
        model.set_params(learning_rate=trial.get_all_params()["learning_rate"])
    name = "reg_lambda" if params.get("reg_lambda") else "l2_leaf_reg"
    model.set_params(**{name: rows.n_draws * float(params.get(name) or 3.0)})


def _reason_to_part(last: Any) -> str | None:
    """Why the estimator would part the copies of a row from each other, if it would and cannot be kept from it."""
    params = last.get_params()
    for name, value in params.items():
        inner, _, leaf = name.rpartition("__")
        if leaf == "cv" and value != "prefit":
            return "makes folds of its own, which would part the copies of a row"
        if leaf == "oob_score" and value:
            return "scores rows out of bag whose copies it was trained on"
        stops = leaf == "early_stopping" and value in (True, "auto")
        stops |= leaf == "n_iter_no_change" and value is not None and f"{inner}__early_stopping" not in params
        if inner and stops:
            return f"holds rows out by itself ({name}={value!r}), which would part the copies of a row"
    return None


def _require_no_splits(last: Any) -> None:
    reason = _reason_to_part(last)
    if reason:
        raise InputError(
            f'{type(last).__name__} {reason}: use fit_with="members", or "rounds" where the estimator can grow, or put '
            "searches around the sampling model."
        )


def _held_out_share(last: Any, rows: TrainingRows) -> Any:
    """What part of the rows the estimator would hold out for early stopping by itself; None for none."""
    if rows.fit_params.get("X_val") is not None:
        return None
    params = last.get_params(deep=False)
    if isinstance(last, HISTOGRAMS):
        stops = params["early_stopping"] is True or (params["early_stopping"] == "auto" and len(rows) > 10_000)
    elif isinstance(last, GradientBoostingClassifier | GradientBoostingRegressor):
        stops = params["n_iter_no_change"] is not None
    else:  # SGD, MLP
        stops = params.get("early_stopping") is True and hasattr(last, "partial_fit")
    return params.get("validation_fraction") if stops else None


# ------------------------------------------------------------------------------------------------ rounds


def _fit_rounds(model: Any, rows: TrainingRows) -> Any:
    share = _held_out_share(last_step(model), rows)
    valid = None
    if share is not None:
        rows, held_out = rows.hold_out(share)
        valid = held_out.copies()[:3]
    return grow(model, Job(rows.fresh(), rows.y, rows.weight, valid, rows.n_draws, rows.report, rows.fit_params))
