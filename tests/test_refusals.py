"""Errors that users meet: each call with the words of its message."""

import warnings
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import LinearSVC

from cases import ROWS, X, Y, fitted
from catbayes import (
    InputError,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
    Scaled,
    compare,
    encode,
    gather,
)
from catbayes.families import BetaBernoulli
from catbayes.inspect import PriorDisplay, decompose_loss
from catbayes.kinds import Bins, Ordinal, Spellings


def model(estimator=None, **settings):
    encoder = SamplingBayesianEncoder(["city"], prior=Scaled(1.0))
    how = {"encoder": encoder, "random_state": 0, **settings}
    return SamplingRegressor(estimator or Ridge(), **how)


def compared(table=ROWS, y="y", **settings):
    return compare(table, y, **{"cv": 2, "time_budget": 0, **settings})


def of_names(names):
    table = pandas.DataFrame(np.array([["a", "b"], ["c", "d"]] * 5, dtype=object))
    table.columns = names
    return table


def gather_levels(levels):
    sizes = pandas.DataFrame({"size": pandas.Categorical(["S", "M"] * 5, levels, ordered=True)})
    return gather(sizes, ["size"], [0, 1, 1, 0, 1] * 2, kinds={"size": Ordinal()})


def spelled(**settings):
    encoder = SamplingBayesianEncoder("all", kinds={"city": Spellings()}, unseen="error", prior=Scaled(1.0), **settings)
    return encoder.fit(X.assign(city=["Trondheim", "Reykjavik"] * 30, n=X["n"] % 3), Y)


NO_ROWS = pyarrow.table({"city": pyarrow.array([], "string"), "y": pyarrow.array([], "int64")})

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
            SamplingBayesianEncoder(["city", "city_encoded"], prior=Scaled(1.0), family="categorical").fit(
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
        lambda: encode(ROWS, fitted(temperature=0.1), "out.parquet", n_draws=1, target="y"),
        "would not hide that the row's own target",
    ),
    "encode: no rows": (lambda: encode(ROWS[:0], fitted(), "out.parquet"), "there is nothing to encode"),
    "encode: unknown class": (
        lambda: encode(
            ROWS.assign(y=list("pqrs") * 15),
            SamplingBayesianEncoder(["city"], prior=Scaled(1.0)).fit(X, list("pqr") * 20),
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
        "needs all rows at once: partial_fit needs calibrate=None",
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
        lambda: SamplingBayesianEncoder(["city"], effects=5).fit(X, Y),
        "effects=5",
    ),
    "model: exposure": (
        lambda: SamplingRegressor(Ridge(), random_state=0).fit(X, Y, exposure=np.ones(60)),
        "exposure is for the encoder alone",
    ),
    "model: text that passes, of an array": (
        lambda: SamplingRegressor(Ridge(), SamplingBayesianEncoder([0], prior=Scaled(1.0)), random_state=0).fit(
            X.assign(n="x").to_numpy(object), Y
        ),
        "or name it among the columns of the encoder",
    ),
    "columns by a number": (lambda: SamplingBayesianEncoder(5).fit(X, Y), "expected .*a list of names or positions"),
    "a category that is no text": (
        lambda: SamplingBayesianEncoder(prior=Scaled(1.0)).fit([["\ud800"], ["a"]] * 3, [0, 1] * 3).save("model"),
        "no proper text",
    ),
    "events below zero": (
        lambda: SamplingBayesianEncoder(["city"], family="poisson").fit(X, -1.0 * Y, exposure=np.ones(60)),
        "-1",
    ),
    "no rows: compare": (lambda: compared(NO_ROWS.to_reader()), "there is nothing to read"),
    "no rows: reader": (lambda: fitted().fit(NO_ROWS.to_reader(), "y"), "holds no rows"),
    "no rows: lazy": (lambda: fitted().fit(polars.from_arrow(NO_ROWS).lazy(), "y"), "holds no rows"),
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
        lambda: gather_levels(["S", "M", "L"]) + gather_levels(["M", "S", "L"]),
        "Give both the same levels",
    ),
    "spelling like nothing": (lambda: spelled().transform(X[:1].assign(city="0123456789")), "0123456789"),
    "combination with a spelling like nothing": (
        lambda: spelled(interactions=[("city", "n")]).transform(X[:1].assign(city="0123456789")),
        "0123456789",
    ),
    **{
        f"cuts: {cuts}": (lambda cuts=cuts: Bins(cuts), r"Bins.cuts=")
        for cuts in ("abc", [1.0, "x"], [[1.0], [2.0]], [2.0, 1.0], 1)
    },
    "coefficients of a model that is not fitted": (lambda: model().coef_, "is not fitted yet, and has no coef_"),
    "coefficients of a Pipeline that makes features": (
        lambda: model(make_pipeline(PolynomialFeatures(), LinearRegression())).fit(X, Y).coef_,
        "features that the steps of the Pipeline made",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_error_is_one_line_and_leaves_no_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, words = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError, AttributeError), match=words) as caught:
            call()
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_draws_of_two_files_with_one_name_need_row_ids(tmp_path):
    paths = [tmp_path / folder / "rows.parquet" for folder in ("one", "two")]
    for path in paths:
        path.parent.mkdir()
        ROWS.to_parquet(path)
    with pytest.raises(InputError, match=r"Two files are called 'rows.parquet'"):
        encode(paths, fitted(), tmp_path / "out.parquet", n_draws=1)
    encode(paths, fitted(), tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").num_rows == 120


def test_encode_does_not_replace_a_file_that_appeared_while_it_ran(tmp_path):
    output = tmp_path / "out.parquet"
    with pytest.raises(InputError, match="was written by somebody else"):
        encode(ROWS, fitted(), output, progress=lambda *_: Path(output).write_text("theirs"))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["theirs"]
