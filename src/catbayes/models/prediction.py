"""Predictions of fitted models: draws of every category, made once, and new rows that look them up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

from catbayes.core.fitted import Fitted
from catbayes.core.layout import Layout
from catbayes.core.leakage import TrainingDraws
from catbayes.core.table import Table, read_table
from catbayes.core.validation import Array, Codes
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.models.backends import backend_of, last_step
from catbayes.models.fitting import as_numbers, origins, with_numbers

UNCERTAIN = 0.1
"""From here on a category is uncertain: the spread of its draws, relative to that between categories."""

STACKED_ROWS = 1 << 14
"""Rows to predict in one call, at least, where there are draws enough to stack."""

Respond = Callable[[Any, Array], Array]
"""Predictions of one fitted estimator for features: (row,) or (row, class)."""


class NewRows:
    """Rows to predict, read once: their numbers, and where each category stands in the tables of the columns."""

    def __init__(self, encoding: Fitted | None, layout: Layout, table: Table) -> None:
        encoding = encoding.extended(table.column) if encoding else None
        self.encoding = encoding
        self.columns = encoding.columns if encoding else ()
        self.row_weight = encoding.evidence.row_weight if encoding else 1.0
        self.layout, self.table = layout, with_numbers(table, layout)
        self.codes = encoding.slots(table.column) if encoding else []
        self.origins = origins(self.columns)
        expected = [column.expectation[code] for column, code in self._pairs()]
        self._features = as_numbers(layout.stack(self.table, expected), layout)

    def _pairs(self) -> Any:
        return zip(self.columns, self.codes, strict=True)

    def __len__(self) -> int:
        return len(self._features)

    def take(self, rows: Any) -> NewRows:
        """Return some of the rows."""
        some = copy(self)
        some.codes = [code[rows] for code in self.codes]
        some._features = self._features[rows]
        return some

    def uncertain(self, tables: Sequence[DrawnTable]) -> npt.NDArray[np.bool_]:
        """Tell which rows have an uncertain category."""
        found = np.zeros(self.table.n_rows, dtype=bool)
        for table, code in zip(tables, self.codes, strict=True):
            found |= table.uncertain[code]
        return found

    def seen(self) -> Array:
        """How many rows were seen of the row's category in each encoded column, (row, column); interactions aside."""
        found = [np.zeros((len(self._features), 0))]
        for column, code in self._pairs():
            if not column.is_interaction:
                index, count = column.index, column.statistics.count
                seen = np.where(np.arange(index.n_slots) < index.unseen, count / self.row_weight, 0.0)
                found.append(seen[code][:, None])
        return np.hstack(found)

    def means(self) -> Array:
        """Expected means of the categories in each encoded column, interactions aside, and the numbers that pass."""
        found = [self._features[:, [self.layout.places[place].start for place in self.layout.passing]]]
        for column, code in self._pairs():
            if not column.is_interaction:
                family = column.family
                found.append(family.mean()[:, family.location][code])
        return np.hstack(found)

    def reduced(self) -> tuple[NewRows, list[Codes]]:
        """Return rows for tables that hold only the slots that occur, and those slots."""
        found = [np.unique(code, return_inverse=True) for code in self.codes]
        some = copy(self)
        some.codes = [code for _, code in found]
        return some, [slots for slots, _ in found]

    def features(self, values: Sequence[Array] | None = None) -> Array:
        """Features for one (slot, output) table per column, by default the expectations; the next call overwrites."""
        self._features.setflags(write=True)  # CatBoost locks the arrays it was given
        values = [column.expectation for column in self.columns] if values is None else values
        for (column, code), value, origin in zip(self._pairs(), values, self.origins, strict=True):
            self._features[:, self.layout.places[column.position]] = column.flattened(value)[code] - origin
        self.layout.add_slopes(self._features.T)
        return self._features

    def drawn(self, draws: Sequence[Array], only: Collection[int] | None = None) -> Iterator[list[Array]]:
        """Yield draw after draw of every column; with `only`, of these columns, and the expectation of the others."""
        for k in range(len(draws[0]) if draws else 1):
            yield [
                table[k] if only is None or number in only else self.columns[number].expectation
                for number, table in enumerate(draws)
            ]


@dataclass(frozen=True, slots=True)
class DrawnTable:
    """Draws of the uncertain slots of a column, (draw, slot, output), made once."""

    uncertain: npt.NDArray[np.bool_]  # of every slot
    draws: Array  # of the uncertain ones
    expectation: Array  # of every slot

    @classmethod
    def of(cls, encoding: Fitted, n_draws: int) -> list[DrawnTable]:
        """Draw the uncertain slots of every column."""
        uncertain = [spread > UNCERTAIN for spread in encoding.relative_spread()]
        draws = encoding.strata(n_draws, slots=[np.flatnonzero(slots) for slots in uncertain])
        expected = [column.expectation for column in encoding.columns]
        return [cls(*table) for table in zip(uncertain, draws, expected, strict=True)]

    def whole(self) -> Array:
        """All slots, (draw, slot, output), the certain ones at their expectation."""
        found = np.repeat(self.expectation[None], len(self.draws), axis=0)
        found[:, self.uncertain] = self.draws
        return found


def over_draws(models: list[Any], rows: NewRows, values: Iterator[list[Array]], respond: Respond) -> Iterator[Array]:
    """Predictions under each draw; of several models, each has its share of the draws.

    Draws of few rows are stacked: a call costs most models as much as a thousand rows do.
    """
    turns = max(1, STACKED_ROWS // max(1, len(rows)))
    while some := list(islice(values, turns * len(models))):
        found: list[Any] = [None] * len(some)
        for number, model in enumerate(models[: len(some)]):
            mine = some[number :: len(models)]
            features = [rows.features(value) if len(mine) == 1 else rows.features(value).copy() for value in mine]
            response = respond(model, features[0] if len(mine) == 1 else np.concatenate(features))
            found[number :: len(models)] = np.split(response, len(mine))
        yield from found


def average(predictions: Iterator[Array]) -> Array:
    """Mean of predictions that are made one at a time."""
    total, count = next(predictions).astype(np.float64), 1
    for prediction in predictions:
        total += prediction
        count += 1
    return np.asarray(total / count)


def encode_tables(
    params: dict[str, Any], encoder: SamplingBayesianEncoder | None, draws: TrainingDraws, classes: Any
) -> dict[str, Any]:
    """Encode validation tables among the fit parameters by the posterior expectation, and number their classes."""

    def encode(X: Any) -> Array:
        table = read_table(X, encoder)
        if table.names != draws.table.names:
            raise InputError(f"A validation table has the columns {table.names}: expected {draws.table.names}.")
        rows = NewRows(None if encoder is None else encoder.encoding_, draws.layout, table)
        return rows.features()

    def number(labels: Any) -> Any:
        if classes is None:
            return labels
        if not np.isin(labels, classes).all():
            raise InputError(f"A validation set holds labels that y does not: expected {classes.tolist()}.")
        return np.searchsorted(classes, labels)

    encoded = dict(params)
    for name, function in {"X_val": encode, "eval_X": encode, "y_val": number, "eval_y": number}.items():
        value = params.get(name)
        if value is not None:
            encoded[name] = tuple(map(function, value)) if isinstance(value, tuple) else function(value)
    if params.get("eval_set") is not None:
        pairs = [params["eval_set"]] if isinstance(params["eval_set"], tuple) else params["eval_set"]
        encoded["eval_set"] = [(encode(X), number(y)) for X, y in pairs]
    return encoded


# ------------------------------------------------------------------------------ second order (Appendix B)

STEP = 0.1
"""Finite differences reach this many posterior standard deviations: small against any bend, large against rounding."""


def require_smooth(estimator: Any) -> None:
    """Refuse models that are constant between jumps: they have no curvature to correct by."""
    model = last_step(estimator)
    parts = [model, *model.get_params().values(), *np.ravel(getattr(model, "estimators_", [])).tolist()]
    votes = is_classifier(model) and not (hasattr(model, "predict_proba") or hasattr(model, "decision_function"))
    if votes or any(hasattr(part, "fit") and backend_of(part).predicts_in_steps(part) for part in parts):
        raise InputError(
            f'predict_with="taylor" needs a smooth model, and {type(model).__name__} predicts in steps, whose '
            'curvature is zero or infinite: use predict_with="draws".'
        )


def second_order(model: Any, rows: NewRows, respond: Respond) -> Array:
    """ŷ(ξ, θ̂) + ½ tr(H C): H in closed form for logistic regression, else by finite differences.

    A linear model has no curvature, so its finite differences vanish and the prediction at θ̂ is exact.
    """
    centres = [
        column.with_extra(column.mapping.outputs(column.family.mean(), column.family)) for column in rows.columns
    ]
    centre = respond(model, rows.features(centres)).copy()
    if not rows.columns:
        return centre
    linear = all(column.mapping.linear for column in rows.columns)
    softmax = type(model) is LogisticRegression and (len(model.classes_) == 2 or model.solver != "liblinear")
    if linear and softmax:
        return centre + _logistic_correction(model, rows, centre)
    correction = np.zeros_like(centre)
    for number, column in enumerate(rows.columns):
        posterior = column.family
        factor = column.posterior.factor(column.temperature)[:, None]
        covariance = posterior.covariance()
        value, vector = np.linalg.eigh(np.where(np.isfinite(covariance), covariance, 0.0))
        roots = np.moveaxis(vector * np.sqrt(np.maximum(value, 0.0))[..., None, :], -1, 0)
        for direction in roots:  # C = Σ_j l_j l_jᵀ, so tr(H C) = Σ_j l_jᵀ H l_j
            around = -2.0 * centre
            for side in (-STEP, STEP):
                moved = column.mapping.outputs(posterior.mean() + side * factor * direction, posterior)
                shifted = [*centres[:number], column.with_extra(moved), *centres[number + 1 :]]
                around += respond(model, rows.features(shifted))
            correction += around / STEP**2 / 2.0
    return np.asarray(centre + correction)


def _logistic_correction(model: LogisticRegression, rows: NewRows, centre: Array) -> Array:
    """Half of Σ_ab ∂²p_c/∂z_a∂z_b V_ab for p = softmax(z), where V = W C Wᵀ is the covariance of the logits z."""
    coefficients = model.coef_ if len(model.coef_) > 1 else np.concatenate([np.zeros_like(model.coef_), model.coef_])
    variance = np.zeros((len(centre), len(coefficients), len(coefficients)))
    for column, code in zip(rows.columns, rows.codes, strict=True):
        select, place = column.mapping.select, rows.layout.places[column.position]
        covariance = column.family.covariance()[..., select, :][..., select]
        covariance = covariance * column.posterior.factor(column.temperature)[:, None, None] ** 2
        covariance = np.where(np.isfinite(covariance), covariance, 0.0)
        weight = coefficients[:, place][:, : covariance.shape[-1]]  # drawn outputs come first
        variance += (weight @ covariance @ weight.T)[code]
    own = np.diagonal(variance, axis1=1, axis2=2)
    with_mean = np.einsum("nab,nb->na", variance, centre)
    shared = 2.0 * (centre * with_mean).sum(axis=1) - (centre * own).sum(axis=1)
    return np.asarray(0.5 * centre * (own - 2.0 * with_mean + shared[:, None]))
