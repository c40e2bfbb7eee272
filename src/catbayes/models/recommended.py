"""The encoder that suits an estimator."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

from catbayes.core.config import splitter_of
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.models.backends import backend_of, last_step
from catbayes.models.fitting import choose


def recommended_encoder(estimator: Any, fit_with: str = "auto", **parameters: Any) -> SamplingBayesianEncoder:
    """Return the encoder that a sampling model uses for an estimator if it is given none.

    It has the pairs of columns that pay (`interactions="auto"`); for regressors, the effects of categories where all
    else is equal, with the slopes that gain; and the categories of columns that have few, in the form that suits the
    estimator: trees and boosters get codes, which boosters treat as categories, and linear models and neural networks
    indicators. CatBoost gets the categories of all columns.

    Parameters
    ----------
    estimator : classifier, regressor or Pipeline
        The estimator of the model.
    fit_with : "auto", "copies", "members", "rounds"
        As the model has it.
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
    way = choose(estimator) if fit_with == "auto" else fit_with
    # Inside of a Pipeline no booster knows its categories.
    kept = backend_of(last).keep_categories(last, way if last is estimator else "copies")
    encoder = SamplingBayesianEncoder(**{"interactions": "auto", **kept, **parameters})
    excludes_own_target = splitter_of(encoder.own_target, encoder.cv) is not None
    if "effects" not in parameters and excludes_own_target and not is_classifier(estimator):
        encoder.set_params(effects="slopes")
    return encoder
