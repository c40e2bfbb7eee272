"""Models that learn from draws: whole tables in, predictions averaged over draws and their spread out."""

from collections.abc import Collection
from typing import Any
from zipfile import is_zipfile

from catbayes._encoder import load as load_encoder
from catbayes._encoder import require_regular
from catbayes._estimators._file import load_model
from catbayes._estimators._native import last_step
from catbayes._estimators.classifier import SamplingClassifier
from catbayes._estimators.regressor import SamplingRegressor
from catbayes._types import File

__all__ = ["SamplingClassifier", "SamplingRegressor", "last_step", "load"]


def load(path: File, trusted: Collection[str] = ()) -> Any:
    """Read an encoder or a model of any kind that its method `save` wrote.

    Parameters
    ----------
    path : str, path or open binary file
        What `save` wrote.
    trusted : list of str
        Types that the estimator of a model may be made of, beside those that the user guide lists.

    Returns
    -------
    encoder or model
        With the same settings, posteriors, seed, draws and predictions.

    Examples
    --------
    >>> import catbayes, io
    >>> file = io.BytesIO()
    >>> catbayes.ConjugateMomentEncoder().fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]).save(file)
    >>> catbayes.load(file)
    ConjugateMomentEncoder()
    """
    require_regular(path)
    if is_zipfile(path):
        return load_model(path, (SamplingClassifier, SamplingRegressor), trusted)
    return load_encoder(path)
