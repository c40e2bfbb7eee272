"""Errors that users meet: each call with the words of its message."""

import warnings

import numpy as np
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
    encode,
)
from catbayes.inspect import decompose_loss


def model(estimator=None, **settings):
    encoder = SamplingBayesianEncoder(["city"], prior=Scaled(1.0))
    how = {"encoder": encoder, "random_state": 0, **settings}
    return SamplingRegressor(estimator or Ridge(), **how)


NO_ROWS = pyarrow.table({"city": pyarrow.array([], "string"), "y": pyarrow.array([], "int64")})

REFUSED = {
    "encode: a name of another format": (
        lambda: encode(ROWS, fitted(), "out.xlsx"),
        r"output='out.xlsx': what is written is Parquet, or CSV .* Let the name end in .parquet, .pq or .csv",
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
    "model: a validation set of other classes": (
        lambda: SamplingClassifier(LogisticRegression(), random_state=0).fit(X, Y, eval_set=[(X, Y + 1)]),
        "labels that y does not",
    ),
    "model: text that passes": (
        lambda: model().fit(X.assign(n="x"), Y),
        "or name it among the columns of the encoder",
    ),
    "model: grows with effects": (
        lambda: model(SGDRegressor(), encoder=SamplingBayesianEncoder(["city"], effects=True)).partial_fit(X, Y),
        "The encoder has effects",
    ),
    "classifier: missing labels": (
        lambda: SamplingClassifier().fit(X, np.array(["a", None] * 30, dtype=object)),
        "contains missing values",
    ),
    "regressor: words": (lambda: SamplingRegressor().fit(X, ["a", "b"] * 30), "must hold numbers for a regressor"),
    "regressor: a family of classes": (
        lambda: SamplingRegressor(encoder=SamplingBayesianEncoder(family="bernoulli")).fit(X, Y),
        "bernoulli",
    ),
    "model: exposure": (
        lambda: SamplingRegressor(Ridge(), random_state=0).fit(X, Y, exposure=np.ones(60)),
        "exposure is for the encoder alone",
    ),
    "columns by a number": (lambda: SamplingBayesianEncoder(5).fit(X, Y), "expected .*a list of names or positions"),
    "no rows: reader": (lambda: fitted().fit(NO_ROWS.to_reader(), "y"), "holds no rows"),
    "loss without probabilities": (
        lambda: decompose_loss(SamplingClassifier(LinearSVC(), random_state=0).fit(X, Y), X, Y),
        "The log-loss needs probabilities",
    ),
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
