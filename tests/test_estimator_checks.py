"""scikit-learn's own checks of both models, with no expected failure.

The checks give numeric arrays, in which `columns="auto"` finds nothing to encode; others encode the last column.
They ask that a row of weight 2 equals two rows, which no two independent draws do: so the encoding is deterministic
(temperature 0, own target included), except for the last test. The estimators pass the same checks by themselves.
"""

import warnings

import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPRegressor
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from catbayes import InputWarning, SamplingBayesianEncoder, SamplingClassifier, SamplingRegressor

EPOCHS = MLPRegressor(hidden_layer_sizes=8, shuffle=False, learning_rate_init=0.02, max_iter=400, n_iter_no_change=50)
LAST = SamplingBayesianEncoder([-1], own_target="include", temperature=0.0)
DRAWN = SamplingBayesianEncoder([-1])
SETTINGS = [
    SamplingClassifier(),
    SamplingRegressor(),
    SamplingClassifier(LogisticRegression(), LAST, n_draws=3, fit_with="copies", predict_with="taylor"),
    SamplingRegressor(Ridge(), LAST, n_draws=3, fit_with="members"),
    SamplingClassifier(GaussianNB(), LAST, n_draws=3, fit_with="rounds", predict_with="mean"),
    SamplingRegressor(EPOCHS, LAST, n_draws=3, fit_with="rounds"),
    SamplingClassifier(ExtraTreesClassifier(5), LAST, n_draws=3, fit_with="rounds"),
    SamplingRegressor(ExtraTreesRegressor(5), LAST, n_draws=3, fit_with="rounds"),
]
AT_RANDOM = [  # folds of so small tables may hold one value of y, if they have no seed
    SamplingClassifier(LogisticRegression(), DRAWN, n_draws=3, fit_with="copies"),
    SamplingRegressor(Ridge(), DRAWN, calibrate=3, random_state=0),
    SamplingClassifier(LogisticRegression(), DRAWN, calibrate=3, random_state=0),
]


def run(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        check(estimator)


@parametrize_with_checks(SETTINGS)
def test_scikit_learn_checks(estimator, check):
    run(estimator, check)


def name_of(check):
    return getattr(check, "func", check).__name__


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=f"{type(estimator).__name__}-{estimator.calibrate}-{name_of(check)}")
        for model in AT_RANDOM
        for estimator, check in estimator_checks_generator(model)
        if "sample_weight_equivalence" not in name_of(check)
    ],
)
def test_scikit_learn_checks_with_draws_at_random(estimator, check):
    run(estimator, check)
