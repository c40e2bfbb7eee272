"""scikit-learn's own checks of the encoders.

A transformer whose fit_transform is not fit().transform() has the tag `non_deterministic`, for which scikit-learn
leaves out some checks. The tests at the end of this file replace them.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from catbayes import MultiTargetEncoder, SamplingBayesianEncoder
from catbayes.kinds import Nested

ENCODERS = [
    SamplingBayesianEncoder(),
    SamplingBayesianEncoder(family="normal", mapping="mean_precision", prior=10),
    SamplingBayesianEncoder(interactions="pairs", own_target="ordered"),
    SamplingBayesianEncoder(kinds={0: Nested({0.0: "low", 1.0: "high"})}, mapping="moments", own_target="cross_fit"),
    MultiTargetEncoder(),
]
# Amounts are > 0, and these checks give a y with a zero in spite of the tag `positive_only`; tests below replace them.
WITH_ZERO = ("check_transformer_general", "check_transformer_data_not_an_array", "check_transformer_preserve_dtypes")
AMOUNTS = SamplingBayesianEncoder(family="lognormal")
POSITIVE = [check for _, check in estimator_checks_generator(AMOUNTS) if check.func.__name__ not in WITH_ZERO]


@parametrize_with_checks(ENCODERS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", POSITIVE, ids=lambda check: check.func.__name__)
def test_scikit_learn_checks_of_amounts(check):
    check(clone(AMOUNTS))


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
@pytest.mark.parametrize("name", ["check_methods_sample_order_invariance", "check_methods_subset_invariance"])
def test_transform_does_not_depend_on_the_order_or_the_batch(encoder, name):
    """transform is deterministic, so scikit-learn's two checks of it pass as they are."""
    getattr(estimator_checks, name)(type(encoder).__name__, encoder)


def read_only(values):
    values = np.array(values)
    values.setflags(write=False)
    return values


@pytest.mark.parametrize("container", [list, read_only, estimator_checks._NotAnArray], ids=lambda c: c.__name__)
@pytest.mark.parametrize("encoder", [*ENCODERS, AMOUNTS], ids=repr)
def test_fit_transform_repeats_itself_in_every_container_and_in_a_pipeline(encoder, container):
    X, y = make_blobs(30, centers=3, n_features=2, cluster_std=0.1, random_state=0)
    X, y = X.round(0), y + 1
    seed = "random_state" if hasattr(encoder, "random_state") else "encoder"
    encoder = clone(encoder).set_params(
        **{seed: 0 if seed == "random_state" else SamplingBayesianEncoder(random_state=0)}
    )
    given = [container(values.tolist() if container is list else values) for values in (X, y)]
    first = encoder.fit_transform(*given)
    np.testing.assert_array_equal(encoder.fit_transform(*given), first)
    np.testing.assert_array_equal(clone(encoder).fit_transform(X, y), first)
    np.testing.assert_array_equal(make_pipeline(clone(encoder)).fit_transform(X, y), first)
    np.testing.assert_array_equal(encoder.transform(given[0]), clone(encoder).fit(X, y).transform(X))
    assert first.shape == encoder.transform(X).shape
    with pytest.raises(ValueError, match="features"):
        encoder.transform(X[:, :-1])
