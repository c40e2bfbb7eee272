"""Whole Pipelines that skl2onnx converts: the answers of the graph are those of scikit-learn."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from skl2onnx import to_onnx
from skl2onnx.common.data_types import (
    BooleanTensorType,
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import catbayes.skl2onnx
from catbayes import InputError, SamplingBayesianEncoder, Scaled
from catbayes.kinds import Nested

TYPES = {"float": (FloatTensorType, "float32"), "double": (DoubleTensorType, "float64")}


@pytest.fixture(autouse=True)
def registered():
    catbayes.skl2onnx.register()


def make_table(n_rows=400):
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "city": random.choice(["Oslo", "Rome", "Kyiv"], n_rows).astype(object),
            "age": random.normal(size=n_rows),
            "shop": random.choice(["a", "b", "c", "d"], n_rows).astype(object),
            "door": random.integers(0, 9, n_rows),
            "rate": random.choice([0.5, 1.25, 7.0], n_rows),
            "card": random.random(n_rows) < 0.4,
        }
    )
    score = X["city"].map({"Oslo": -1.0, "Rome": 0.0, "Kyiv": 1.0}) + X["age"] + 0.3 * X["door"] * X["card"]
    return X, score + random.normal(size=n_rows)


def answer(pipeline, X, number="float", **options):
    """What the graph gives for the rows of a frame, a tensor a column."""
    kind, dtype = TYPES[number]
    kinds = {"O": StringTensorType, "i": Int64TensorType, "b": BooleanTensorType, "f": kind}
    types = [(name, kinds[X[name].dtype.kind]([None, 1])) for name in X]
    model = to_onnx(pipeline, initial_types=types, **options)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    dtypes = {"O": object, "i": "int64", "b": bool, "f": dtype}
    rows = {name: X[[name]].to_numpy(dtypes[X[name].dtype.kind]) for name in X}
    return session.run(None, rows)


NEW = {"city": "Paris", "door": 77, "rate": 9.0}


@pytest.mark.parametrize(
    ("encoder", "left_out"),
    [
        (SamplingBayesianEncoder("all", interactions=[("city", "shop", "card")]), []),
        (SamplingBayesianEncoder(["city", "door"], mapping="polynomial", keep_categories="one_hot"), ["shop"]),
        (SamplingBayesianEncoder(["city", "shop"], kinds={"city": Nested(["shop"])}), []),
        (SamplingBayesianEncoder(["shop"], unseen="nan", missing="nan"), ["city"]),
        (SamplingBayesianEncoder(["city", "rate"], mapping="moments"), ["shop"]),
    ],
    ids=["all kinds", "several outputs", "hierarchy", "gaps", "moments"],
)
def test_a_pipeline_gives_what_it_gives_in_scikit_learn(encoder, left_out):
    X, y = make_table()
    X = X.drop(columns=left_out)
    pipeline = make_pipeline(encoder, Ridge()).fit(X, y)
    new = X[:50].copy()
    for name, value in NEW.items():
        if name in new:
            new.loc[:9, name] = value
    np.testing.assert_allclose(answer(pipeline, new, "double")[0].ravel(), pipeline.predict(new), rtol=1e-9)
    np.testing.assert_allclose(answer(pipeline, new)[0].ravel(), pipeline.predict(new), rtol=1e-3, atol=1e-5)


def test_a_column_transformer_hands_some_columns_over():
    X, y = make_table()
    names = make_column_transformer(
        (SamplingBayesianEncoder(random_state=0), ["city", "shop"]), (StandardScaler(), ["age", "rate"])
    )
    pipeline = make_pipeline(names, LogisticRegression()).fit(X, y > 0)
    found = answer(pipeline, X[["city", "age", "shop", "rate"]], options={"zipmap": False})
    np.testing.assert_allclose(found[1], pipeline.predict_proba(X), atol=1e-5)


def test_one_tensor_of_text_is_taken_apart():
    X, y = make_table()
    X = X[["city", "shop"]]
    pipeline = make_pipeline(SamplingBayesianEncoder(random_state=0), Ridge()).fit(X, y)
    model = to_onnx(pipeline, initial_types=[("rows", StringTensorType([None, 2]))])
    found = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"rows": X.to_numpy(object)})[0]
    np.testing.assert_allclose(found.ravel(), pipeline.predict(X), rtol=1e-4)
    with pytest.raises(InputError, match="fitted on 2 columns, and skl2onnx gives it 1"):
        to_onnx(pipeline, initial_types=[("rows", StringTensorType([None, 1]))])


def test_missing_numbers_and_empty_text_are_missing_values():
    X, y = make_table()
    X = X[["city", "rate"]].copy()
    X.loc[::7, "rate"], X.loc[::5, "city"] = np.nan, None
    pipeline = make_pipeline(SamplingBayesianEncoder("all", random_state=0), Ridge()).fit(X, y)
    found = answer(pipeline, X.fillna({"city": ""}))[0].ravel()
    np.testing.assert_allclose(found, pipeline.predict(X), rtol=1e-4)


def test_numbers_that_are_equal_in_single_precision_are_refused():
    X, y = pd.DataFrame({"rate": [0.1, 0.1 + 1e-12] * 20}), [0, 1] * 20
    pipeline = make_pipeline(SamplingBayesianEncoder(["rate"], prior=Scaled(0)), Ridge()).fit(X, y)
    with pytest.raises(InputError, match="differ only in double precision"):
        answer(pipeline, X)
