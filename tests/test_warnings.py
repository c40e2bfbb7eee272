"""A warning points at the line of the user's call, through frames of ours and of scikit-learn."""

import inspect
import warnings

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from catbayes import InputWarning, MultiTargetEncoder, SamplingBayesianEncoder, SamplingClassifier, gather
from catbayes.kinds import Nested

X = pandas.DataFrame({"shop": [1, 2, 3, 4] * 10, "size": np.arange(40.0)})
TEXT = X.assign(shop=X["shop"].astype(str))
Y = np.array([0, 1, 1, 1] * 10)
TINY = np.full(40, 1e-4)
STRANGE = {"shop": Nested({"1": "north"})}  # text, and the shops are numbers


def encoder(**settings):
    return SamplingBayesianEncoder(["shop"], random_state=0, **settings)


FITTED = encoder().fit(X, Y)
FRAMES = encoder().set_output(transform="pandas").fit(X, Y)
PIPELINE = make_pipeline(encoder(), LogisticRegression()).fit(X, Y)
MODEL = SamplingClassifier(LogisticRegression(), encoder(), n_draws=2, random_state=0).fit(X, Y)
NEIGHBOURS = SamplingClassifier(KNeighborsClassifier(3), encoder(), n_draws=2, fit_with="copies", random_state=0)

CALLS = {
    "fit": lambda: encoder().fit(X, Y, sample_weight=TINY),
    "fit_transform": lambda: encoder(own_target="include").fit_transform(X, Y, groups=X["shop"]),
    "fit_transform in order": lambda: encoder(own_target="ordered").fit_transform(X, Y, groups=X["shop"]),
    "a hierarchy": lambda: encoder(kinds=STRANGE).fit(X, Y),
    "transform": lambda: FITTED.transform(TEXT),
    "sample": lambda: FITTED.sample(TEXT, 2),
    "set_output": lambda: FRAMES.transform(TEXT),
    "a pipeline fits": lambda: make_pipeline(encoder(kinds=STRANGE)).fit_transform(X, Y),
    "a pipeline predicts": lambda: PIPELINE.predict(TEXT),
    "cross-validation": lambda: cross_val_score(make_pipeline(encoder(kinds=STRANGE), LogisticRegression()), X, Y),
    "moments": lambda: SamplingBayesianEncoder(["shop"], own_target="include", mapping="moments").fit_transform(
        X, Y, groups=X["shop"]
    ),
    "several targets": lambda: MultiTargetEncoder(encoder()).fit(X, np.c_[Y, 1 - Y], sample_weight=TINY),
    "gather": lambda: gather(X, ["shop"], Y, weight=TINY),
    "a model fits": lambda: NEIGHBOURS.fit(X, Y),
    "a model of weights": lambda: NEIGHBOURS.fit(X, Y, sample_weight=np.ones(40)),
    "a model predicts": lambda: MODEL.predict(TEXT),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_warning_points_at_the_calling_line(case):
    call = CALLS[case]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [warning for warning in caught if warning.category is InputWarning]
    assert ours
    assert {warning.filename for warning in ours} == {__file__}
    assert {warning.lineno for warning in ours} == {inspect.getsourcelines(call)[1]}


def test_one_line_warns_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", InputWarning)
        for _ in range(3):
            FITTED.transform(TEXT)
    assert len(caught) == 1
