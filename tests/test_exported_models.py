"""Models without Python: ONNX graphs and SQL queries give what the model predicts."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from catbayes import InputError, SamplingClassifier, SamplingRegressor

onnxruntime = pytest.importorskip("onnxruntime")


def make_rows(n_rows=1200):
    """Rare categories whose slopes differ, an unseen and a missing one among the new rows."""
    random = np.random.default_rng(0)
    city, shop = random.integers(0, 150, n_rows), random.integers(0, 6, n_rows)
    X = pd.DataFrame({"city": np.char.add("c", city.astype(str)), "shop": np.char.add("s", shop.astype(str))})
    X["price"] = random.normal(5.0, 2.0, n_rows)
    slope = random.normal(size=150)
    y = random.normal(size=150)[city] + slope[city] * X["price"].to_numpy() + random.normal(size=n_rows)
    new = X.head(200).copy()
    new.loc[:20, "city"] = "unseen"
    new.loc[15:30, "shop"] = None
    return X, y, new


def run(graph, table):
    """Run a graph on a frame; a missing text is empty."""
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    feeds = {name: table[name].fillna("").to_numpy(dtype=object)[:, None] for name in ("city", "shop")}
    feeds["price"] = table["price"].to_numpy()[:, None]
    outputs = [output.name for output in session.get_outputs()]
    return dict(zip(outputs, session.run(None, feeds), strict=True))


REGRESSORS = {
    "linear": Ridge(),
    "pipeline": make_pipeline(StandardScaler(), Ridge()),
    "LightGBM": LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1),
    "XGBoost": XGBRegressor(n_estimators=20, n_jobs=1),
}
CLASSIFIERS = {
    "linear": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(20, min_samples_leaf=5, random_state=0),
    "LightGBM": LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1),
    "XGBoost": XGBClassifier(n_estimators=20, n_jobs=1),
}


@pytest.mark.parametrize("way", ["mean", "draws"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_graphs_of_regressors_predict_as_the_model(name, way):
    X, y, new = make_rows()
    model = SamplingRegressor(REGRESSORS[name], random_state=0).fit(X, y)
    found = run(model.to_onnx(way), new)["prediction"]
    np.testing.assert_allclose(found, model.set_params(predict_with=way).predict(new), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("way", ["mean", "draws"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_graphs_of_classifiers_predict_as_the_model(name, n_classes, way):
    X, y, new = make_rows()
    labels = np.array(["high", "low", "mid"])[np.digitize(y, np.quantile(y, [0.3, 0.6])[: n_classes - 1])]
    model = SamplingClassifier(CLASSIFIERS[name], random_state=0).fit(X, labels)
    found = run(model.to_onnx(way), new)
    model.set_params(predict_with=way)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(new), atol=1e-5)
    assert (found["label"] == model.predict(new)).mean() > 0.99


def test_members_share_the_draws_of_a_graph():
    X, y, new = make_rows()
    model = SamplingRegressor(Ridge(), fit_with="members", n_draws=2, random_state=0).fit(X, y)
    for way in ("mean", "draws"):
        expected = model.set_params(predict_with=way).predict(new)
        np.testing.assert_allclose(run(model.to_onnx(way), new)["prediction"], expected, rtol=1e-4, atol=1e-4)


def test_graphs_follow_the_draws_that_are_set_after_the_fit():
    X, y, new = make_rows()
    model = SamplingRegressor(Ridge(), random_state=0).fit(X, y).set_params(predict_with=3)
    np.testing.assert_allclose(run(model.to_onnx(), new)["prediction"], model.predict(new), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", ["number", "two classes", "three classes"])
def test_queries_of_linear_models_predict_as_the_model(target):
    duckdb = pytest.importorskip("duckdb")
    X, y, new = make_rows()
    rows = new.assign(row=range(len(new)))
    if target == "number":
        model = SamplingRegressor(Ridge(), predict_with="mean", random_state=0).fit(X, y)
        expected, names = model.predict(new), ["prediction"]
    else:
        labels = np.digitize(y, np.quantile(y, [0.3, 0.6])[: 1 if target == "two classes" else 2])
        linear = LogisticRegression(max_iter=1000)
        model = SamplingClassifier(linear, predict_with="mean", random_state=0).fit(X, labels)
        first = 1 if target == "two classes" else 0
        expected = model.predict_proba(new)[:, first:]
        names = [f"probability_{label}" for label in model.classes_[first:]]
    found = duckdb.sql(model.to_sql("duckdb", "rows")).df().set_index("row").sort_index()[names]
    np.testing.assert_allclose(found.to_numpy().reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)
    assert len(rows) == len(found)


def test_what_cannot_be_exported_gives_the_reason():
    X, y, _ = make_rows(300)
    with pytest.raises(InputError, match="no coef_"):
        SamplingRegressor(LGBMRegressor(n_estimators=5, verbose=-1), random_state=0).fit(X, y).to_sql()
    with pytest.raises(InputError, match="calibrate=None"):
        SamplingClassifier(LogisticRegression(), calibrate=3, random_state=0).fit(X, y > 0).to_onnx()
    with pytest.raises(InputError, match="no names"):
        SamplingRegressor(Ridge(), random_state=0).fit(X.to_numpy(), y).to_onnx()
