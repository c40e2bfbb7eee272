"""Encoders for scikit-learn: categorical columns in, features from the posterior of the target out."""

from typing import Any

from catbayes.encoder._file import load_encoder
from catbayes.encoder._training import TrainingDraws
from catbayes.encoder.moments import ConjugateMomentEncoder
from catbayes.encoder.sampling import Augmented, SamplingBayesianEncoder

__all__ = ["Augmented", "ConjugateMomentEncoder", "SamplingBayesianEncoder", "TrainingDraws", "load"]


def load(path: Any) -> SamplingBayesianEncoder | ConjugateMomentEncoder:
    """Read an encoder of any kind that its method `save` wrote.

    Parameters
    ----------
    path : str, path or open binary file
        What `save` wrote.

    Returns
    -------
    encoder
        With the same settings, posteriors, seed and draws.

    Examples
    --------
    >>> import catbayes, io
    >>> file = io.BytesIO()
    >>> catbayes.ConjugateMomentEncoder().fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]).save(file)
    >>> catbayes.load(file)
    ConjugateMomentEncoder()
    """
    kinds = {kind.__name__: kind for kind in (SamplingBayesianEncoder, ConjugateMomentEncoder)}
    return load_encoder(path, kinds)
