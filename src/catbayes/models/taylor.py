"""Appendix B: the prediction at the posterior mean, and half the curvature times the covariance on top."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.models.native import TREES, last_step
from catbayes.models.predicting import NewRows, Respond

STEP = 0.1
"""Finite differences reach this many posterior standard deviations: small against any bend, large against rounding."""


def require_smooth(estimator: Any) -> None:
    """Refuse models that are constant between jumps: they have no curvature to correct by."""
    model = last_step(estimator)
    parts = [model, *model.get_params().values(), *np.ravel(getattr(model, "estimators_", [])).tolist()]
    votes = is_classifier(model) and not (hasattr(model, "predict_proba") or hasattr(model, "decision_function"))
    if votes or any(
        hasattr(part, "fit") and type(part).__module__.startswith((*TREES, "sklearn.neighbors")) for part in parts
    ):
        raise InputError(
            f'predict_with="taylor" needs a smooth model, and {type(model).__name__} predicts in steps, whose '
            'curvature is zero or infinite: use predict_with="draws".'
        )


def second_order(model: Any, rows: NewRows, respond: Respond) -> Array:
    """ŷ(ξ, θ̂) + ½ tr(H C): H in closed form for logistic regression, else by finite differences.

    A linear model has no curvature, so its finite differences vanish and the prediction at θ̂ is exact.
    """
    centres = [
        column.beside.behind(column.mapping.outputs(column.family.mean(), column.family)) for column in rows.columns
    ]
    centre = respond(model, rows.features(centres)).copy()
    if not rows.columns:
        return centre
    linear = all(column.mapping.linear for column in rows.columns)
    if linear and type(model) is LogisticRegression and _is_softmax(model):
        return centre + _logistic_correction(model, rows, centre)
    correction = np.zeros_like(centre)
    for number, column in enumerate(rows.columns):
        posterior = column.family
        factor = column.spread.factor(column.entries)[:, None]
        for direction in _roots(posterior.covariance()):  # C = Σ_j l_j l_jᵀ, so tr(H C) = Σ_j l_jᵀ H l_j
            around = -2.0 * centre
            for side in (-STEP, STEP):
                moved = column.mapping.outputs(posterior.mean() + side * factor * direction, posterior)
                beside = [*centres[:number], column.beside.behind(moved), *centres[number + 1 :]]
                around += respond(model, rows.features(beside))
            correction += around / STEP**2 / 2.0
    return np.asarray(centre + correction)


def _roots(covariance: Array) -> Array:
    """Vectors l_j with C = Σ_j l_j l_jᵀ, (j, slot, parameter); a variance that does not exist counts as none."""
    covariance = np.where(np.isfinite(covariance), covariance, 0.0)
    value, vector = np.linalg.eigh(covariance)
    return np.moveaxis(vector * np.sqrt(np.maximum(value, 0.0))[..., None, :], -1, 0)


def _is_softmax(model: LogisticRegression) -> bool:
    return len(model.classes_) == 2 or model.solver != "liblinear"


def _logistic_correction(model: LogisticRegression, rows: NewRows, centre: Array) -> Array:
    """Half of Σ_ab ∂²p_c/∂z_a∂z_b V_ab for p = softmax(z), where V = W C Wᵀ is the covariance of the logits z."""
    coefficients = model.coef_ if len(model.coef_) > 1 else np.concatenate([np.zeros_like(model.coef_), model.coef_])
    variance = np.zeros((len(centre), len(coefficients), len(coefficients)))
    for column, code in zip(rows.columns, rows.codes, strict=True):
        select, place = column.mapping.select, rows.layout.places[column.position]
        covariance = column.family.covariance()[..., select, :][..., select]
        covariance = covariance * column.spread.factor(column.entries)[:, None, None] ** 2
        covariance = np.where(np.isfinite(covariance), covariance, 0.0)
        weight = coefficients[:, place][:, : covariance.shape[-1]]  # drawn outputs come first
        variance += (weight @ covariance @ weight.T)[code]
    own = np.diagonal(variance, axis1=1, axis2=2)
    with_mean = np.einsum("nab,nb->na", variance, centre)
    shared = 2.0 * (centre * with_mean).sum(axis=1) - (centre * own).sum(axis=1)
    return np.asarray(0.5 * centre * (own - 2.0 * with_mean + shared[:, None]))


def as_probabilities(values: Array) -> Array:
    """Keep probabilities in range after a correction."""
    values = np.clip(values, 0.0, 1.0)
    return np.asarray(values / values.sum(axis=1, keepdims=True))
