"""Unusable input raises an error that names the remedy, and changes nothing."""

import warnings

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse
from sklearn.compose import make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge

from catbayes import (
    InputError,
    InputWarning,
    MultiTargetEncoder,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
    gather,
)
from catbayes.families import DirichletCategorical, LogNormalGamma, NormalGamma
from catbayes.mappings import PosteriorMoments, PredictiveQuantiles

X = pandas.DataFrame({"city": ["a", "b", "a", "c"] * 5, "n": range(20)})
Y = np.array([0, 1, 1, 0] * 5)
NAN, INF = float("nan"), float("inf")

BAD_FITS = {
    "empty table": (X[:0], Y[:0], {}, "0 rows"),
    "no columns": (X[[]], Y, {}, "0 columns"),
    "one row": (X[:1], Y[:1], {}, "n_samples=1: expected two"),
    "one class": (X, np.zeros(20, int), {}, "only one class"),
    "one class by weight": (X, Y, {"sample_weight": 1.0 - Y}, "only one class"),
    "constant y": (X, np.full(20, 2.5), {}, "constant, 2.5"),
    "NaN in y": (X, np.where(Y, NAN, 0.5), {}, "NaN, in 10 rows. Drop"),
    "infinite y": (X, np.where(Y, INF, 0.5), {}, "infinity"),
    "missing label": (X, np.array(["x", None] * 10, dtype=object), {}, "missing values, in 10 rows"),
    "no y": (X, None, {}, "y is None"),
    "short y": (X, Y[:-1], {}, "19 values and X has 20 rows"),
    "negative weight": (X, Y, {"sample_weight": np.where(Y, -1.0, 1.0)}, "holds -1: expected weights ≥ 0"),
    "NaN weight": (X, Y, {"sample_weight": np.where(Y, NAN, 1.0)}, "NaN or infinite"),
    "zero weights": (X, Y, {"sample_weight": np.zeros(20)}, "zero for every row"),
    "weights of text": (X, Y, {"sample_weight": ["w"] * 20}, "sample_weight must hold numbers"),
    "dates for weights": (X, Y, {"sample_weight": np.full(20, "2024-01-01", "M8[D]")}, "sample_weight must hold num"),
    "short weights": (X, Y, {"sample_weight": np.ones(3)}, "one number for each of 20 rows"),
    "repeated names": (pandas.DataFrame([["a", "b"]] * 20, columns=["x", "x"]), Y, {}, "unique"),
    "lazy frame with an array": (polars.LazyFrame({"city": ["a"] * 20}), Y, {}, r"name of one of.*\.collect\(\)"),
    "unhashable cells": (pandas.DataFrame({"c": [[1], [2]] * 10}), Y, {}, "hashable"),
    "one dimension": (np.arange(20), Y, {}, "2D array"),
    "sparse": (scipy.sparse.eye_array(20).tocsr(), Y, {}, "[Ss]parse"),
    "series": (X["city"], Y, {}, r"X is a Series: expected a two-dim.*X\.to_frame\(\)"),
    "dictionary": ({"city": list(X["city"])}, Y, {}, r"X is a dict: expected a two-dim.*pandas\.DataFrame\(X\)"),
    "complex y": (X, Y + 1j, {}, "Complex data not supported"),
    "only numbers": (X[["n"]], Y, {}, 'found no string.*columns="all"'),
}

BAD_SETTINGS = {
    "negative γ": ({"prior": -1.0}, r'prior=-1\.0: expected "empirical", a number of rows > 0'),
    "unknown prior": ({"prior": "flat"}, "prior='flat'"),
    "prior of another family": ({"prior": NormalGamma(0, 1, 1, 1)}, "needs a BetaBernoulli"),
    "prior of another shape": (
        {"prior": DirichletCategorical([1, 1]), "family": "categorical", "labels": 3},
        r"shape \(2,\), and this target needs \(3,\)",
    ),
    "unknown column": ({"columns": ["town"]}, "'town', and X has no such column. It has 'city', 'n'"),
    "column twice": ({"columns": ["city", "city"]}, "names a column twice"),
    "no column": ({"columns": []}, "expected"),
    "unknown family": ({"family": "gauss"}, 'family=.gauss.: expected one of "auto", "bernoulli"'),
    "unknown mapping": ({"mapping": "median"}, "mapping='median': expected one of"),
    "mapping of the wrong shape": ({"mapping": lambda theta: theta[:1]}, "leading axes"),
    "weight of evidence of a number": ({"mapping": "weight_of_evidence", "family": "normal"}, "class target"),
    "one fold": ({"own_target": "cross_fit", "cv": 1}, "cv=1: expected a whole number ≥ 2"),
    "unknown unseen": ({"unseen": "ignore"}, "unseen"),
    "unknown missing": ({"missing": "drop"}, "missing"),
    "two classes wanted, three given": ({"family": "bernoulli", "labels": 3}, 'use "categorical"'),
    "amounts wanted, zero given": ({"family": "lognormal"}, "takes amounts > 0, and y holds 0: use"),
    "log-normal prior for a normal target": (
        {"family": "normal", "prior": LogNormalGamma(0, 1, 1, 1)},
        "prior is a LogNormalGamma, and the target needs a NormalGamma",
    ),
    "quantiles of a class": ({"mapping": PredictiveQuantiles()}, "a class has no quantiles"),
    "counts wanted, negative given": ({"family": "poisson", "labels": -1}, "counts ≥ 0"),
    "numbers wanted, words given": ({"family": "normal", "labels": "words"}, "must hold numbers"),
}


@pytest.mark.parametrize("encoder", [SamplingBayesianEncoder(), SamplingBayesianEncoder(mapping="moments")])
@pytest.mark.parametrize("case", BAD_FITS)
def test_a_bad_table_raises_an_error_and_leaves_the_encoder_as_it_was(case, encoder):
    table, y, more, message = BAD_FITS[case]
    encoder = type(encoder)(random_state=0).fit(X, Y)
    before = dict(vars(encoder))
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        encoder.fit(table, y, **more)
    assert str(caught.value).count("\n") < 8
    assert vars(encoder).keys() == before.keys()
    assert all(vars(encoder)[name] is value for name, value in before.items())


@pytest.mark.parametrize("given", [np.random.default_rng(0), "zero", -1, 1.5])
def test_an_unusable_seed_raises_an_error(given):
    encoder = SamplingBayesianEncoder().fit(X, Y)
    model = SamplingRegressor(Ridge(), calibrate=2, random_state=0).fit(X, np.arange(20.0))
    for ask in (
        lambda: model.sample_targets(X, random_state=given),
        lambda: encoder.sample(X, random_state=given),
        lambda: SamplingBayesianEncoder(random_state=given).fit(X, Y),
        lambda: MultiTargetEncoder(SamplingBayesianEncoder(random_state=given)).fit(X, Y),
    ):
        with pytest.raises(InputError, match=r"random_state=.*: expected a whole number from 0.*Of a Generator, draw"):
            ask()


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_an_unusable_setting_raises_an_error(case):
    settings, message = BAD_SETTINGS[case]
    settings = dict(settings)
    labels = settings.pop("labels", 2)
    y = {2: Y, 3: np.arange(20) % 3, -1: Y - 5, "words": np.array(["x", "y"] * 10)}[labels]
    encoder = SamplingBayesianEncoder(**settings)
    with pytest.raises(InputError, match=message):
        encoder.fit(X, y)
    with pytest.raises(NotFittedError):
        encoder.transform(X)


def test_dozens_of_whole_numbers_become_classes_with_a_warning():
    table, y = pandas.DataFrame({"c": ["a", "b"] * 300}), np.arange(600) % 40
    with pytest.warns(InputWarning, match='40 different whole numbers, and each becomes a class: set family="normal"'):
        SamplingBayesianEncoder().fit(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        SamplingBayesianEncoder(family="categorical").fit(table, y)
        SamplingBayesianEncoder().fit(table, y % 30)
        SamplingClassifier().fit(table, y)


def test_columns_are_named_as_for_a_column_transformer():
    X = pandas.DataFrame({"city": ["Oslo", "Rome"] * 10, "shop": ["a", "b"] * 10, "age": range(20)})
    y = [0, 1] * 10
    chosen = {
        "city": ["city"],
        make_column_selector(dtype_exclude="number"): ["city", "shop"],
        (lambda X: [column for column in X if column != "age"]): ["city", "shop"],
        (lambda X: [False, True, False]): ["shop"],
        (lambda X: slice(0, 2)): ["city", "shop"],
    }
    for columns, expected in chosen.items():
        encoder = SamplingBayesianEncoder(columns, random_state=0)
        assert encoder.fit(X, y).columns_ == expected
        again = encoder.partial_fit(X, y).transform(X)
        assert SamplingBayesianEncoder(expected, random_state=0).fit(X, y).partial_fit(X, y).transform(X).tolist() == (
            again.tolist()
        )
    array = SamplingBayesianEncoder(lambda X: [X.shape[1] - 1]).fit(X.to_numpy(dtype=object)[:, :2], y)
    assert array.columns_ == [1]


def test_hundreds_of_whole_numbers_raise_an_error():
    table = pandas.DataFrame({"c": ["a", "b"] * 300})
    with pytest.raises(InputError, match='600 different whole numbers: set family="normal"'):
        SamplingBayesianEncoder().fit(table, np.arange(600))
    assert SamplingBayesianEncoder(family="normal").fit(table, np.arange(600)).classes_ is None


@pytest.mark.parametrize("method", ["transform", "sample", "get_feature_names_out"])
def test_an_encoder_must_be_fitted_first(method):
    encoder = SamplingBayesianEncoder()
    with pytest.raises(NotFittedError):
        getattr(encoder, method)(*([] if method.startswith("get") else [X]))
    with pytest.raises(NotFittedError):
        _ = encoder.posteriors_


def test_columns_missing_or_reordered_at_transform_raise_an_error():
    encoder = SamplingBayesianEncoder().fit(X, Y)
    with pytest.raises(ValueError, match="same order"):
        encoder.transform(X[["n", "city"]])
    with pytest.raises(ValueError, match="missing"):
        encoder.transform(X[["city"]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        encoder.transform(X.assign(extra=1))
    with pytest.raises(ValueError, match="features"):
        SamplingBayesianEncoder().fit(X.to_numpy(), Y).transform(X.to_numpy()[:, :1])


def test_a_number_of_draws_must_be_a_number():
    encoder = SamplingBayesianEncoder().fit(X, Y)
    for n_draws in (0, -1, 2.5, "3", True):
        with pytest.raises(InputError, match="n_draws="):
            encoder.sample(X, n_draws)
        with pytest.raises(InputError, match="n_draws="):
            encoder.augment(X, Y, n_draws)
    with pytest.raises(InputError, match="n_moments=5"):
        SamplingBayesianEncoder(mapping=PosteriorMoments(n_moments=5)).fit(X, Y)
    with pytest.raises(InputError, match="drop_first=1: expected True or False"):
        SamplingBayesianEncoder(mapping=PosteriorMoments(drop_first=1)).fit(X, Y)


def test_two_outputs_of_one_name_raise_an_error_where_names_matter():
    table = X.assign(city_mean=1.0)
    encoder = SamplingBayesianEncoder(mapping="polynomial").fit(table, Y)
    assert encoder.transform(table).shape == (20, 4)
    with pytest.raises(InputError, match="'city_mean'"):
        encoder.get_feature_names_out()
    model = SamplingClassifier(LogisticRegression(), encoder=encoder, random_state=0).fit(table, Y)
    with pytest.raises(InputError, match="'city_mean'"):
        model.get_feature_names_out()
    assert len(set(model.features(table).columns)) == model.features(table).shape[1]


@pytest.mark.parametrize("lazy", [False, True])
def test_a_target_of_text_that_holds_numbers_gives_a_warning(lazy):
    y = [str(number) for number in np.linspace(0.5, 9.5, len(X)).round(2)]
    table = polars.DataFrame({"city": X["city"].tolist(), "y": y})
    with pytest.warns(InputWarning, match=r"text that holds numbers, such as '9.5', and each of its 20 values becomes"):
        gather(table.lazy() if lazy else table, ["city"], "y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gather(table, ["city"], "y", family="categorical")
        for labels in (["1", "2"], ["1.0", "2.0"], ["1.5", "high"], ["nan", "inf"]):
            gather(table.with_columns(y=polars.Series(labels * 10)), ["city"], "y")


def test_groups_are_values_and_not_a_name():
    table = polars.DataFrame({"c": list("abab") * 3, "g": list("xxyy") * 3})
    with pytest.raises(InputError, match=r"groups='g': expected the group of each row.*X\['g'\]"):
        SamplingBayesianEncoder(["c"]).fit_transform(table, [0, 1, 1, 0] * 3, groups="g")


@pytest.mark.parametrize("settings", [{"interactions": "auto"}, {"keep_categories": "codes"}])
def test_a_batch_of_one_class_is_accepted_by_partial_fit_only(settings):
    encoder = SamplingBayesianEncoder(**settings)
    with pytest.raises(InputError, match="only one class"):
        encoder.fit(X, np.zeros(20, int))
    encoder.partial_fit(X, np.zeros(20, int)).partial_fit(X, Y)
    assert encoder.classes_.tolist() == [0, 1]


def test_a_column_without_a_value_is_named():
    with pytest.raises(InputError, match="Column 'n' holds no value, and HistGradientBoostingClassifier"):
        SamplingClassifier(random_state=0).fit(X.assign(n=NAN), Y)
