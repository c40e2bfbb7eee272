"""What is refused in a sentence of ours wherever it is asked: each call beside the words that it must meet."""

import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from sklearn.linear_model import LogisticRegression, Ridge, SGDRegressor
from sklearn.svm import LinearSVC

from cases import ROWS, X, Y, fitted
from catbayes import (
    BetaBernoulli,
    ConjugateMomentEncoder,
    Draws,
    Effects,
    InputError,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
    compare,
    encode,
)
from catbayes.cli._files import _stamp
from catbayes.core.categories import Categories
from catbayes.core.table import Table
from catbayes.diagnostics import decompose_loss
from catbayes.displays import PriorDisplay
from catbayes.io.opening import read_arrow


def model(estimator=None, **settings):
    encoder = SamplingBayesianEncoder(["city"], prior=1.0)
    how = {"encoder": encoder, "random_state": 0, "effects": False, "keep_categories": None, **settings}
    return SamplingRegressor(estimator or Ridge(), **how)


def compared(table=ROWS, y="y", **settings):
    return compare(table, y, **{"cv": 2, "time_budget": 0, **settings})


def of_names(names):
    table = pandas.DataFrame(np.array([["a", "b"], ["c", "d"]] * 5, dtype=object))
    table.columns = names
    return table


REFUSED = {
    "compare: drop is text": (lambda: compared(drop="n"), r'drop="n": expected a list of columns'),
    "compare: drops the target": (lambda: compared(drop=["y"]), "'y' is the target"),
    "compare: three dimensions": (lambda: compared(np.zeros((3, 2, 2)), [0, 1, 0]), "has 3 dimensions"),
    "compare: names equal as text": (lambda: compared(of_names([1, "1"]), [0, 1] * 5), "must differ as text"),
    "compare: too few targets": (lambda: compared(X, [0, 1]), "y has 2 values and the table 60 rows"),
    "compare: encoded and dropped": (lambda: compared(columns=["city"], drop=["city"]), "among columns, and dropped"),
    "compare: nothing left": (lambda: compared(ROWS[["y"]].assign(c="a")), "No column is left to predict from"),
    "compare: one value only": (lambda: compared(ROWS.assign(c="a"), columns=["c"]), "none of them holds more than"),
    "compare: one group": (lambda: compared(groups=np.zeros(60)), "groups holds one group only"),
    "compare: folds of one class": (
        lambda: compared(y=np.repeat([0, 1], 30), cv=[(np.arange(30), np.arange(30, 60))]),
        "The training rows of every fold hold one class only",
    ),
    "compare: targets of two columns": (lambda: compared(X, np.zeros((60, 2))), r"The target has the shape \(60, 2\)"),
    "encode: draws of moments": (
        lambda: encode(ROWS, ConjugateMomentEncoder(["city"]).fit(X, Y), "out.parquet", n_draws=2),
        "makes no draws",
    ),
    "encode: a name of another format": (
        lambda: encode(ROWS, fitted(), "out.xlsx"),
        r"output='out.xlsx': what is written is Parquet, or CSV .* Let the name end in .parquet, .pq or .csv",
    ),
    "encode: cells of two types": (
        lambda: encode(ROWS.assign(n=[1, "x"] * 30), fitted(), "out.parquet"),
        "cannot be written to Parquet",
    ),
    "encode: two columns of one name": (
        lambda: encode(
            ROWS.assign(city_encoded="a"),
            SamplingBayesianEncoder(["city", "city_encoded"], prior=1.0, family="categorical").fit(
                ROWS.assign(city_encoded="a")[["city", "city_encoded"]], np.tile(["encoded", "z", "encoded_z"], 20)
            ),
            "out.parquet",
        ),
        "Two new columns would have one name",
    ),
    "encode: own target of effects": (
        lambda: encode(ROWS, fitted(effects=True), "out.parquet", n_draws=1, target="y"),
        "effects=True needs all rows together",
    ),
    "encode: own target in sight": (
        lambda: encode(ROWS, fitted(draws=Draws(0.1)), "out.parquet", n_draws=1, target="y"),
        "would not hide that the row's own target",
    ),
    "encode: unknown class": (
        lambda: encode(
            ROWS.assign(y=list("pqrs") * 15),
            SamplingBayesianEncoder(["city"], prior=1.0).fit(X, list("pqr") * 20),
            "out.parquet",
            n_draws=1,
            target="y",
        ),
        "classes that fit never saw",
    ),
    "names of two types": (lambda: SamplingBayesianEncoder().fit(of_names(["a", 1]), [0, 1] * 5), "of several types"),
    "input_features that differ": (lambda: fitted().get_feature_names_out(["c", "d"]), "input_features is not equal"),
    "input_features too few": (
        lambda: SamplingBayesianEncoder([0]).fit(X.to_numpy(object), Y).get_feature_names_out(["c"]),
        "input_features should have length",
    ),
    "model: values of other features": (lambda: model().fit(X, Y).by_column([1.0]), "as long as get_feature_names_out"),
    "model: one fold": (
        lambda: model(calibrate=[([*range(30)], [*range(30, 60)])]).fit(X, Y),
        "makes one fold: expected two or more",
    ),
    "model: a validation set of other classes": (
        lambda: SamplingClassifier(LogisticRegression(), random_state=0).fit(X, Y, eval_set=[(X, Y + 1)]),
        "labels that y does not",
    ),
    "model: text that passes": (
        lambda: model().fit(X.assign(n="x"), Y),
        "or name it among the columns of the encoder",
    ),
    "model: grows with members that need all rows": (
        lambda: model(SGDRegressor(), calibrate=2).partial_fit(X, Y),
        "needs all rows at once: partial_fit goes with",
    ),
    "model: grows with effects": (
        lambda: model(SGDRegressor(), encoder=SamplingBayesianEncoder(["city"], effects=True)).partial_fit(X, Y),
        "The encoder has effects",
    ),
    "classifier: missing labels": (
        lambda: SamplingClassifier().fit(X, np.array(["a", None] * 30, dtype=object)),
        "contains missing values",
    ),
    "classifier: labels without an order": (
        lambda: SamplingClassifier().fit(X, np.array(["a", 1] * 30, dtype=object)),
        "labels that cannot be sorted",
    ),
    "regressor: words": (lambda: SamplingRegressor().fit(X, ["a", "b"] * 30), "must hold numbers for a regressor"),
    "regressor: a family of classes": (
        lambda: SamplingRegressor(encoder=SamplingBayesianEncoder(family="bernoulli")).fit(X, Y),
        "bernoulli",
    ),
    "slopes that are no dictionary": (
        lambda: SamplingBayesianEncoder(["city"], effects=Effects(slopes=5)).fit(X, Y),
        "slopes=5",
    ),
    "model: exposure": (
        lambda: SamplingRegressor(Ridge(), random_state=0).fit(X, Y, exposure=np.ones(60)),
        "exposure is for the encoder alone",
    ),
    "model: text that passes, of an array": (
        lambda: SamplingRegressor(Ridge(), SamplingBayesianEncoder([0], prior=1.0), random_state=0).fit(
            X.assign(n="x").to_numpy(object), Y
        ),
        "or name it among the columns of the encoder",
    ),
    "columns by a number": (lambda: SamplingBayesianEncoder(5).fit(X, Y), "expected .*a list of names or positions"),
    "a table that is none": (lambda: Table.of({"city": ["a"]}), "X is a dict: expected a two-dimensional array"),
    "a file that went away": (lambda: _stamp("nowhere"), "There is no file 'nowhere'"),
    "a category that is no text": (
        lambda: SamplingBayesianEncoder(prior=1.0).fit([["\ud800"], ["a"]] * 3, [0, 1] * 3).save("model"),
        "no proper text",
    ),
    "events below zero": (
        lambda: SamplingBayesianEncoder(["city"], family="poisson").fit(X, -1.0 * Y, exposure=np.ones(60)),
        "-1",
    ),
    "no rows: read": (
        lambda: read_arrow(pyarrow.table({"c": pyarrow.array([], "string")}).to_reader()),
        "there is nothing to read",
    ),
    "no rows: reader": (
        lambda: fitted().fit(
            pyarrow.table({"city": pyarrow.array([], "string"), "y": pyarrow.array([], "int64")}).to_reader(), "y"
        ),
        "holds no rows",
    ),
    "no rows: lazy": (
        lambda: fitted().fit(
            polars.LazyFrame({"city": [], "y": []}, schema={"city": polars.String, "y": polars.Int64}), "y"
        ),
        "holds no rows",
    ),
    "no weight: lazy": (
        lambda: fitted().fit(
            polars.LazyFrame({"city": ["a", "b"], "y": [0, 1], "w": [0.0, 0.0]}), "y", sample_weight="w"
        ),
        "sample_weight is zero for every row",
    ),
    "lists: lazy": (
        lambda: fitted().fit(polars.LazyFrame({"city": [["a"], ["b"]], "y": [0, 1]}), "y"),
        "a category must be a single value",
    ),
    "lists: pandas of Arrow": (
        lambda: SamplingBayesianEncoder("all").fit(
            pandas.DataFrame({"c": pandas.array([["a"], ["b"]], pandas.ArrowDtype(pyarrow.list_(pyarrow.string())))}),
            [0, 1],
        ),
        "must be hashable",
    ),
    "loss of no model": (lambda: decompose_loss(Ridge(), X, Y), "expected a fitted SamplingClassifier"),
    "loss without probabilities": (
        lambda: decompose_loss(SamplingClassifier(LinearSVC(), random_state=0).fit(X, Y), X, Y),
        "The log-loss needs probabilities",
    ),
    "display of another column": (lambda: PriorDisplay.from_estimator(fitted(), X, Y, column="town"), "town"),
    "family that is nobody's": (
        lambda: (
            SamplingBayesianEncoder(["city"], family=type("Mine", (BetaBernoulli,), {"__slots__": ()}))
            .fit(X, Y)
            .save("model")
        ),
        "Mine cannot be saved",
    ),
    "difference of two things": (lambda: fitted() - 3, "unsupported operand"),
    "levels that differ": (
        lambda: Categories(("a",), ("a", "b")).union(Categories(("a",), ("b", "a"))),
        "Give both the same levels",
    ),
    "less of classes": (lambda: BetaBernoulli(1.0, 2.0).less(1.0), "."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_in_a_sentence(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, words = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((InputError, ValueError, TypeError), match=words) as caught:
            call()
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())
