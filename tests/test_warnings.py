"""A warning points at the line of the user's call, through frames of ours and of scikit-learn."""

import inspect
import warnings

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from catbayes import (
    InputWarning,
    MultiTargetEncoder,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
    gather,
)
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


def suspicions(X, y, **settings):
    """Fit a model and return what it warns of."""
    model = SamplingRegressor if np.asarray(y).dtype.kind == "f" else SamplingClassifier
    estimator = Ridge() if model is SamplingRegressor else LogisticRegression()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model(estimator, n_draws=1, random_state=0).fit(X, y, **settings)
    return [str(one.message).partition(":")[0] for one in caught if one.category is InputWarning]


@pytest.mark.parametrize("weight", [None, np.full(300, 2.0)])
def test_a_model_warns_of_identifiers_and_of_columns_that_determine_the_target(weight):
    random = np.random.default_rng(0)
    y, shop = random.integers(0, 2, 300), random.choice(["a", "b", "c"], 300)
    names = pandas.DataFrame({"order": [f"o{n}" for n in range(300)], "shop": shop})
    (message,) = suspicions(names, y, sample_weight=weight)
    assert message.startswith("Columns ['order'] have another value in nearly every row")
    names = pandas.DataFrame({"refund": np.where(y == 1, random.choice(["paid", "sent"], 300), "none"), "shop": shop})
    (message,) = suspicions(names, y, sample_weight=weight)
    assert message.startswith("Columns ['refund'] determine the target almost entirely")
    (message,) = suspicions(names, (names["refund"].map({"paid": 1.0, "sent": 2.0, "none": 0.5})), sample_weight=weight)
    assert message.startswith("Columns ['refund']")


def test_a_model_does_not_warn_of_rare_categories_rare_targets_or_pairs_that_determine_the_target():
    random = np.random.default_rng(0)
    rare = pandas.DataFrame({"c": random.integers(0, 2000, 1000).astype(str), "d": random.choice(["x", "y"], 1000)})
    assert suspicions(rare, random.integers(0, 2, 1000)) == []
    assert suspicions(rare, np.append([1, 1, 1], np.zeros(997, dtype=int))) == []
    assert suspicions(rare, random.normal(size=1000)) == []
    one, other = random.choice(["p", "q"], (2, 1000))
    assert suspicions(pandas.DataFrame({"one": one, "other": other}), (one == other).astype(int)) == []
    assert suspicions(pandas.DataFrame({"order": list(map(str, range(60)))}), [0, 1] * 30) == []
