"""Read encoders and models from files."""

from collections.abc import Collection
from typing import Any
from zipfile import is_zipfile

from catbayes._encoder import load as load_encoder
from catbayes._encoder import require_regular
from catbayes.core.types import File
from catbayes.models.classifier import SamplingClassifier
from catbayes.models.file import load_model
from catbayes.models.regressor import SamplingRegressor


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
