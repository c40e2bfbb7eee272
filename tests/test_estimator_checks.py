"""scikit-learn's own checks, for both models in every way to fit and to predict, with no expected failure.

The checks hand out numeric arrays. With `columns="auto"` nothing in them is a category and nothing is drawn, so that
one way to fit and predict shows it; the others run with the last column encoded. Predicting does not ask how the model
was fitted, so each way to predict goes with one way to fit; tests/test_predicting.py crosses them. The encoding is
deterministic (temperature 0, own target included): two of the checks ask that a row of weight 2 be as good as two rows,
which no two independent draws are.

The estimators are among those that pass the same checks by themselves; scikit-learn expects forests that bootstrap and
SGD to fail those two.
"""

import warnings

import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPRegressor
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from catbayes import InputWarning, SamplingBayesianEncoder, SamplingClassifier, SamplingRegressor

SMOOTH = {SamplingClassifier: LogisticRegression(), SamplingRegressor: Ridge()}
TREES = {SamplingClassifier: ExtraTreesClassifier(5), SamplingRegressor: ExtraTreesRegressor(5)}
EPOCHS = {
    SamplingClassifier: GaussianNB(),
    SamplingRegressor: MLPRegressor(
        hidden_layer_sizes=8, shuffle=False, learning_rate_init=0.02, max_iter=400, n_iter_no_change=50
    ),
}


def settings():
    for model in (SamplingClassifier, SamplingRegressor):
        yield model()
        # What is weighed leaves rows out: of two rows one tells the other, and one of weight 2 nobody.
        how = {"n_draws": 3}
        nothing, last = (SamplingBayesianEncoder(c, own_target="include", temperature=0.0) for c in ("auto", [-1]))
        yield model(SMOOTH[model], nothing, **how, fit_with="copies")
        yield model(EPOCHS[model], nothing, **how, fit_with="rounds")
        yield model(SMOOTH[model], last, **how, fit_with="copies", predict_with="taylor")
        yield model(SMOOTH[model], last, **how, fit_with="members", predict_with="draws")
        yield model(EPOCHS[model], last, **how, fit_with="rounds", predict_with="mean")
        yield model(TREES[model], last, **how, fit_with="rounds")


def run(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        check(estimator)


@parametrize_with_checks(list(settings()))
def test_scikit_learn_checks(estimator, check):
    run(estimator, check)


# With draws at random, all but the check that asks for two rows to be as good as one of weight 2.


def _check_name(check):
    return getattr(check, "func", check).__name__


AT_RANDOM = [
    model(estimators[model], SamplingBayesianEncoder([-1]), n_draws=3, fit_with=fit_with)
    for model in (SamplingClassifier, SamplingRegressor)
    for fit_with, estimators in (("copies", SMOOTH), ("members", SMOOTH), ("rounds", TREES))
]
# Folds of tables that small may hold one value of y, if they are made at random.
CALIBRATED = {"calibrate": 3, "random_state": 0}
AT_RANDOM += [model(SMOOTH[model], SamplingBayesianEncoder([-1]), **CALIBRATED) for model in SMOOTH]
CHECKS = [
    pytest.param(estimator, check, id=f"{type(estimator).__name__}-{estimator.fit_with}-{_check_name(check)}")
    for model in AT_RANDOM
    for estimator, check in estimator_checks_generator(model)
    if "sample_weight_equivalence" not in _check_name(check)
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_checks_with_draws_at_random(estimator, check):
    run(estimator, check)
