"""Training rows that go through transform bring a warning; whatever else goes through it does not."""

import copy
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from catbayes import InputWarning, SamplingBayesianEncoder

RANDOM = np.random.default_rng(0)
X = pd.DataFrame({"city": RANDOM.choice(list("abcdef"), 200), "age": RANDOM.normal(size=200)})
Y = RANDOM.integers(0, 2, 200)
VERY = "the very table that fit learnt from"


@pytest.fixture(autouse=True)
def strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        yield


@pytest.mark.parametrize("table", [X, pl.from_pandas(X), X.to_numpy(object)], ids=type)
@pytest.mark.parametrize("kind", [SamplingBayesianEncoder, partial(SamplingBayesianEncoder, mapping="moments")])
def test_the_table_that_fit_saw_brings_a_warning(kind, table):
    encoder = kind([0]).fit(table, Y)
    with pytest.warns(InputWarning, match=VERY):
        encoder.transform(table)
    encoder.transform(table[:100])
    encoder.transform(copy.copy(table))


def test_it_points_at_the_line_whatever_the_output():
    encoder = SamplingBayesianEncoder(interactions=[("city", "age")]).set_output(transform="pandas").fit(X, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoder.transform(X)
    assert [warning.filename for warning in caught if VERY in str(warning.message)] == [__file__]


def test_training_scores_searches_and_checks_of_scikit_learn_bring_none():
    encoder = SamplingBayesianEncoder(random_state=0)
    encoder.fit_transform(X, Y)
    encoder.transform(X)  # how good is the model on its own rows?
    pipeline = make_pipeline(
        make_column_transformer((encoder, ["city"]), remainder="passthrough"), LogisticRegression()
    )
    pipeline.fit(X, Y).score(X, Y)
    cross_val_score(pipeline, X, Y, cv=2, error_score="raise")
    GridSearchCV(pipeline, {"logisticregression__C": [1.0]}, cv=2, return_train_score=True).fit(X, Y).score(X, Y)
    make_pipeline(encoder, LogisticRegression()).fit(X, Y).predict(X)


def test_who_includes_targets_on_purpose_and_who_learns_more_is_left_alone():
    SamplingBayesianEncoder(own_target="include").fit(X, Y).transform(X)
    SamplingBayesianEncoder().fit(X, Y).partial_fit(X[:50], Y[:50]).transform(X)
