"""Models that grow step by step, each step on fresh draws: trees by `warm_start`, epochs by `partial_fit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.pipeline import Pipeline
from sklearn.utils.class_weight import compute_sample_weight

from catbayes.core.validation import Array
from catbayes.errors import InputError

FOREST_DRAWS, BOOSTING_DRAWS = 40, 20
"""Fresh draws of a fit, unless n_draws is larger. A booster scores all of its earlier trees on every new draw, which
costs; a forest does not."""

FOREST_POINTS = 32
"""A forest sorts its features for every split, nearly twice as fast if they take few values than if each row has its
own. On Adult and Amazon Employee Access its AUC was the same with 32 points, 128, or none; with 16 it was lower."""

Labelled = tuple[Array, Any, Any]
"""Features, targets and weights."""


@dataclass(frozen=True, slots=True)
class Job:
    """Rows to grow on: `feed(k)` returns the features of draw k."""

    feed: Callable[[int], Array]
    y: Any
    weight: Any
    held_out: Labelled | None
    n_draws: int
    report: Callable[[str], None]
    fit_params: dict[str, Any]
    steps: int | None = None  # at most; None is one for each draw

    def sizes(self, total: int, draws: int) -> list[int]:
        """Return the size of the model after each step."""
        steps = min(total, self.steps or max(draws, self.n_draws))
        return [int(size) for size in np.linspace(0, total, steps + 1)[1:].round()]

    def fit(self, model: Any, X: Array, **options: Any) -> None:
        """Let the model go on with these features, with weights if there are some and it takes them."""
        takes = "sample_weight" in signature(model.fit).parameters
        weights = {"sample_weight": self.weight} if takes and self.weight is not None else {}
        model.fit(X, self.y, **weights, **options, **self.fit_params)

    def loss(self, model: Any, X: Array) -> float:
        """Return the loss on held-out rows, else on training rows: log-loss, squared error, or 1 - score."""
        X, y, weight = self.held_out or (X, self.y, self.weight)
        if not is_classifier(model):
            return float(mean_squared_error(y, model.predict(X), sample_weight=weight))
        if hasattr(model, "predict_proba"):
            return float(log_loss(y, model.predict_proba(X), labels=model.classes_, sample_weight=weight))
        return 1.0 - float(model.score(X, y, sample_weight=weight))


class Patience:
    """Tell when a loss has not fallen by `tol` for a number of stages or epochs."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.limit = params.get("n_iter_no_change")
        self.tol = params.get("tol")
        self.best, self.since = np.inf, 0

    def lost(self, loss: float, size: int) -> bool:
        """Record the loss of a model of this size; tell whether it has stopped falling."""
        if self.limit is None or self.tol is None:
            return False
        if loss < self.best - self.tol:
            self.best, self.since = loss, size
        return bool(size - self.since >= self.limit)


def grow(model: Any, job: Job) -> Any:
    """Fit the model on fresh draws; steps of a Pipeline before the last are fitted on the first draw."""
    if not isinstance(model, Pipeline):
        return _grow_balanced(model, job)
    *before, (name, last) = model.steps
    own = {key: value for key, value in job.fit_params.items() if key.startswith(f"{name}__")}
    inner = replace(job, fit_params={key.removeprefix(f"{name}__"): value for key, value in own.items()})
    if before:
        prepare = model[:-1].fit(job.feed(0), job.y, **{k: v for k, v in job.fit_params.items() if k not in own})
        held_out = job.held_out and (prepare.transform(job.held_out[0]), *job.held_out[1:])
        inner = replace(inner, feed=lambda k: prepare.transform(job.feed(k)), held_out=held_out)
        before = prepare.steps
    return Pipeline([*before, (name, grow(last, inner))], memory=model.memory, verbose=model.verbose)


def _grow_balanced(model: Any, job: Job) -> Any:
    """Turn balanced classes into weights, once: a model that is fitted in parts would balance each by itself."""
    way, weighing = way_to_grow(model), model.get_params(deep=False).get("class_weight")
    if not (weighing == "balanced" or isinstance(weighing, dict)):
        return way(model, job)
    weight = compute_sample_weight(weighing, job.y) * (1.0 if job.weight is None else job.weight)
    return way(model.set_params(class_weight=None), replace(job, weight=weight)).set_params(class_weight=weighing)


def way_to_grow(model: Any) -> Callable[[Any, Job], Any]:
    """Find out how the model can go on with new features."""
    if isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        return _grow_histograms
    if {"warm_start", "n_estimators"} <= set(model.get_params(deep=False)):
        return _grow_trees
    if hasattr(model, "partial_fit"):
        return _grow_epochs
    raise InputError(
        f'fit_with="rounds": {type(model).__name__} cannot go on with new features, because it has neither '
        'partial_fit nor trees that warm_start adds to. Use fit_with="copies" or "members".'
    )


def _grow_trees(model: Any, job: Job) -> Any:
    """Add trees by warm_start: to forests, bagging, and GradientBoosting, which scores its old trees anew."""
    params = model.get_params(deep=False)
    paused = {name: params[name] for name in ("warm_start", "oob_score", "n_iter_no_change") if name in params}
    asleep = {"warm_start": True, "oob_score": False, "n_iter_no_change": None}
    model.set_params(**{name: asleep[name] for name in paused})
    patience = Patience(params)
    draws = BOOSTING_DRAWS if "learning_rate" in params else FOREST_DRAWS
    sizes = job.sizes(params["n_estimators"], draws)
    grid = Grid(job, FOREST_POINTS)
    for k, size in enumerate(sizes):
        if size == sizes[-1] and params.get("oob_score"):
            model.set_params(oob_score=params["oob_score"])
        X = grid.snap(job.feed(k))
        job.fit(model.set_params(n_estimators=size), X)
        job.report(f"{size} of {sizes[-1]} trees, draw {k + 1}")
        if patience.limit is not None and patience.lost(job.loss(model, X), size):
            break
    return model.set_params(**paused, n_estimators=params["n_estimators"])


def _grow_histograms(model: Any, job: Job) -> Any:
    """Add boosting rounds by warm_start, on a grid in which the bins do not move.

    Histogram boosting scores its earlier trees by the numbers of the bins. New draws would move the bins, and the
    old trees would be scored wrongly; on a grid whose points all occur in every draw they stay.
    """
    params = model.get_params(deep=False)
    model.set_params(warm_start=True)
    valid: dict[str, Any] = {}
    if job.held_out is not None:
        model.set_params(early_stopping=True)
        valid = dict(zip(("X_val", "y_val", "sample_weight_val"), job.held_out, strict=True))
    sizes = job.sizes(params["max_iter"], BOOSTING_DRAWS)
    grid = Grid(job, params["max_bins"], params["max_bins"])
    for k, size in enumerate(sizes):
        X = grid.snap(job.feed(k))
        job.fit(model.set_params(max_iter=size), X, **valid)
        job.report(f"{model.n_iter_} of {sizes[-1]} rounds, draw {k + 1}")
        if model.n_iter_ < size:
            break
    return model.set_params(**{name: params[name] for name in ("warm_start", "early_stopping", "max_iter")})


class Grid:
    """Points for each feature that changes from draw to draw; every point has a row in every draw.

    Values that stay, those of frequent categories, are points themselves, as long as there is room for them.
    """

    def __init__(self, job: Job, most: int, room: int = 255) -> None:
        first, self.points = job.feed(0).copy(), {}
        second = job.feed(1)
        changed = (first != second) & ~(np.isnan(first) & np.isnan(second))
        for column in np.flatnonzero(changed.any(axis=0)):
            moving, values = changed[:, column], first[:, column]
            still = np.unique(values[~moving])
            if len(still) > room - 2:
                moving, still = np.ones_like(moving), still[:0]
            size = min(most, max(2, moving.sum() // 8), room - len(still))
            levels = (np.arange(size) + 0.5) / size
            self.points[int(column)] = np.union1d(np.quantile(values[moving], levels), still)

    def snap(self, features: Array) -> Array:
        """Move each value to the nearest point, and to a point without values, the nearest value."""
        if not self.points:
            return features
        snapped = features.copy(order="F")
        for column, points in self.points.items():
            values = features[:, column]
            place = np.searchsorted((points[1:] + points[:-1]) / 2.0, values)
            taken = np.bincount(place, minlength=len(points))
            for point in np.flatnonzero(taken == 0):
                spare = np.flatnonzero(taken[place] > 1)
                row = spare[np.abs(values[spare] - points[point]).argmin()]
                taken[place[row]] -= 1
                place[row], taken[point] = point, 1
            snapped[:, column] = points[place]
        return snapped


def one_pass(model: Any, X: Array, y: Any, weight: Any, classes: Any, **options: Any) -> None:
    """Pass over the rows once by partial_fit, with the weights and all the classes where it takes them."""
    takes = signature(model.partial_fit).parameters
    if "sample_weight" in takes and weight is not None:
        options["sample_weight"] = weight
    if "classes" in takes:
        options["classes"] = classes
    model.partial_fit(X, y, **options)


def _grow_epochs(model: Any, job: Job) -> Any:
    """One pass of partial_fit over each draw, until the loss stops falling or max_iter is reached."""
    params = model.get_params(deep=False)
    if "early_stopping" in params:  # partial_fit refuses it; the loss of the rows held out is watched here
        model.set_params(early_stopping=False)
    patience = Patience(params)
    epochs = params.get("max_iter") or job.n_draws
    classes = np.unique(job.y)
    for k in range(epochs):
        X = job.feed(k)
        one_pass(model, X, job.y, job.weight, classes, **job.fit_params)
        loss = job.loss(model, X)
        job.report(f"epoch {k + 1} of {epochs} at most, loss {loss:.4f}")
        if patience.lost(loss, k + 1):
            break
    if "early_stopping" in params:
        model.set_params(early_stopping=params["early_stopping"])
    return model
