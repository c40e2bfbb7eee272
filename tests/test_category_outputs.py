"""Categories as outputs after their posteriors: of which columns, in which form, and how models use them."""

import io

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from xgboost import XGBClassifier

import catbayes
from catbayes import (
    SamplingBayesianEncoder,
    SamplingClassifier,
    encode,
)

CITIES = ["Bonn", "Kyiv", "Oslo", "Rome"]


def make_table(n_rows=600, seed=0):
    """An informative column, one of noise, two that are informative together only, and one of many categories."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "city": random.choice(CITIES, n_rows),
            "noise": random.choice(list("abcdef"), n_rows),
            "user": random.choice(list("uv"), n_rows),
            "door": random.choice(list("xyz"), n_rows),
            "street": random.integers(0, 60, n_rows).astype(str),
            "age": random.normal(size=n_rows),
        }
    )
    score = X["city"].map(dict(zip(CITIES, [-1.5, -0.5, 0.5, 1.5], strict=True)))
    score += 2.0 * ((X["user"] == "u") ^ (X["door"] == "x")) - 1.0
    return X, (random.random(n_rows) < 1 / (1 + np.exp(-score))).astype(int)


def fitted(kind, **settings):
    X, y = make_table()
    encoder = SamplingBayesianEncoder(["city"], keep_categories=kind, random_state=0, **settings)
    return encoder.fit(X[["city", "age"]], y), X[["city", "age"]], y


def test_codes_follow_the_order_of_the_categories_and_unseen_ones_come_last():
    encoder, _, _ = fitted("codes")
    new = pd.DataFrame({"city": ["Rome", "Bonn", None, "Paris"], "age": 0.0})
    assert encoder.get_feature_names_out().tolist() == ["city", "city_code", "age"]
    np.testing.assert_array_equal(encoder.transform(new)[:, 1], [3, 0, 4, 5])


def test_one_hot_columns_are_those_of_the_categories_and_of_missing_values_that_were_seen():
    encoder, X, y = fitted("one_hot")
    assert encoder.get_feature_names_out().tolist() == ["city", *(f"city_is_{city}" for city in CITIES), "age"]
    np.testing.assert_array_equal(encoder.transform(X)[:, 1:5], X["city"].to_numpy()[:, None] == CITIES)
    assert not encoder.transform(pd.DataFrame({"city": ["Paris"], "age": [0.0]}))[0, 1:5].any()
    holes = X.assign(city=X["city"].where(X["city"] != "Bonn"))
    names = SamplingBayesianEncoder(["city"], keep_categories="one_hot").fit(holes, y).get_feature_names_out()
    assert names.tolist() == ["city", "city_is_Kyiv", "city_is_Oslo", "city_is_Rome", "city_is_missing", "age"]


def test_only_informative_columns_of_few_categories_have_category_outputs():
    X, y = make_table(2_000)
    names = SamplingBayesianEncoder(keep_categories="codes").fit(X, y).get_feature_names_out().tolist()
    assert [name for name in names if name.endswith("_code")] == ["city_code", "user_code", "door_code"]
    every = SamplingBayesianEncoder(keep_categories="codes", max_categories=None).fit(X, y)
    assert "street_code" not in every.get_feature_names_out()  # of many categories, without a say


def test_a_column_that_is_informative_with_a_number_only_has_category_outputs():
    random = np.random.default_rng(3)
    X = pd.DataFrame({"shop": random.choice(list("abc"), 3_000), "age": random.normal(size=3_000)})
    y = X["shop"].map({"a": -1.0, "b": 0.0, "c": 1.0}) * X["age"] + random.normal(size=3_000)
    assert "shop_code" in SamplingBayesianEncoder(keep_categories="codes").fit(X, y).get_feature_names_out()


@pytest.mark.parametrize("kind", ["codes", "one_hot"])
def test_training_rows_new_rows_and_draws_have_the_same_category_outputs(kind):
    encoder, X, y = fitted(kind)
    kept = encoder.transform(X)[:, 1:-1]
    np.testing.assert_array_equal(encoder.fit_transform(X, y)[:, 1:-1], kept)
    for draw in encoder.sample(X, 2):
        np.testing.assert_array_equal(draw[:, 1:-1], kept)
    for own_target in ("cross_fit", "ordered", "include"):
        encoder.set_params(own_target=own_target)
        np.testing.assert_array_equal(encoder.fit_transform(X, y)[:, 1:-1], kept)


@pytest.mark.parametrize("kind", ["codes", "one_hot", "instead"])
def test_files_queries_graphs_and_saved_encoders_agree(kind, tmp_path):
    import duckdb

    encoder, X, y = fitted("codes" if kind == "instead" else kind)
    if kind == "instead":
        encoder.fit(X, 2 * y + (X["age"] > 0))  # of four classes, like the cities
        assert encoder.get_feature_names_out().tolist() == ["city_code", "age"]
    expected, width = encoder.transform(X), len(encoder.get_feature_names_out()) - 1
    file = io.BytesIO()
    encoder.save(file)
    np.testing.assert_array_equal(catbayes.load(file).transform(X), expected)
    X.to_parquet(tmp_path / "rows.parquet")
    encode(tmp_path / "rows.parquet", encoder, tmp_path / "encoded.parquet")
    np.testing.assert_allclose(pd.read_parquet(tmp_path / "encoded.parquet").iloc[:, 2:], expected[:, :width])
    with duckdb.connect() as connection:
        connection.register("rows", X)
        answer = connection.sql(encoder.to_sql("duckdb", table="rows")).df()
    found = answer[[name for name in answer if name.startswith("city_encoded")]]
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(expected[:, :width], axis=0))
    session = onnxruntime.InferenceSession(encoder.to_onnx().SerializeToString())
    inputs = {"city": X[["city"]].to_numpy(dtype=object), "age": X[["age"]].to_numpy(np.float64)}
    given = {one.name: inputs[one.name] for one in session.get_inputs() if one.name in inputs}
    outputs = np.hstack([np.asarray(one).reshape(len(X), -1) for one in session.run(None, given)])
    np.testing.assert_allclose(outputs[:, :width], expected[:, :width], rtol=1e-6)


@pytest.mark.parametrize("kind", ["codes", "one_hot", "instead"])
def test_torch_layers_have_the_same_category_outputs(kind, torch):
    from catbayes.torch import PosteriorEmbedding

    encoder, X, y = fitted("codes" if kind == "instead" else kind)
    if kind == "instead":
        encoder.fit(X, 2 * y + (X["age"] > 0))  # of four classes, like the cities
    expected = encoder.transform(X)[:, :-1]
    layer = PosteriorEmbedding(encoder)
    drawn = layer(layer.codes(X)).numpy()
    np.testing.assert_array_equal(drawn[:, 1:], expected[:, 1:].astype(np.float32))
    np.testing.assert_allclose(layer.eval()(layer.codes(X)).numpy(), expected, rtol=1e-6)
    assert torch.is_tensor(layer.codes(X))


# ------------------------------------------------------------------------------------------ models


def coded(model):
    return [name for name in model.get_feature_names_out() if name.endswith("_code")]


def test_the_estimator_determines_the_form_of_category_outputs():
    X, y = make_table()
    forest = SamplingClassifier(RandomForestClassifier(5), random_state=0).fit(X, y)
    assert coded(forest) == ["city_code", "user_code", "door_code"]
    linear = SamplingClassifier(LogisticRegression(), random_state=0).fit(X, y).get_feature_names_out()
    assert {"city_is_Oslo", "user_is_u", "door_is_x"} <= {*linear}
    assert not coded(SamplingClassifier(GaussianNB(), random_state=0).fit(X, y))
    assert not coded(SamplingClassifier(RandomForestClassifier(5), SamplingBayesianEncoder()).fit(X, y))
    own = SamplingBayesianEncoder(keep_categories="codes", max_categories=100)
    assert "street_code" not in coded(SamplingClassifier(RandomForestClassifier(5), own).fit(X, y))  # has no say


def test_boosters_treat_codes_as_categories():
    X, y = make_table()
    for fit_with in ("copies", "members"):
        model = SamplingClassifier(LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1), fit_with=fit_with, n_draws=2)
        booster = model.fit(X, y).estimators_[0].booster_
        assert '"decision_type": "=="' in str(booster.dump_model()).replace("'", '"')
    histograms = SamplingClassifier(HistGradientBoostingClassifier(max_iter=5), random_state=0).fit(X, y)
    at = [list(histograms.get_feature_names_out()).index(name) for name in coded(histograms)]
    assert np.flatnonzero(histograms.estimator_.is_categorical_).tolist() == at
    trees = SamplingClassifier(XGBClassifier(n_estimators=5, n_jobs=1), random_state=0).fit(X, y)
    assert [n for n, kind in enumerate(trees.estimator_.feature_types) if kind == "c"] == at
    assert trees.predict(X.assign(city="Paris")).shape == (600,)  # never seen
    loud = X["street"].astype(int) < 30  # of sixty streets
    assert coded(SamplingClassifier(LGBMClassifier(n_estimators=5, verbose=-1), random_state=0).fit(X, loud)) == []


def test_catboost_knows_categories_as_a_member_and_not_among_copies():
    X, y = make_table()
    catboost = CatBoostClassifier(5, verbose=0, allow_writing_files=False)
    names = {}
    for fit_with in ("auto", "members"):
        model = SamplingClassifier(catboost, fit_with=fit_with, random_state=0).fit(X, y)
        indices = model.estimators_[0].get_cat_feature_indices()
        names[model.fit_with_] = model.get_feature_names_out()[indices].tolist()
        assert model.predict_proba(X.assign(city="Paris")).shape == (600, 2)
    assert names == {"copies": [], "members": ["city_code", "user_code", "door_code"]}


@pytest.mark.calibration
def test_one_training_draw_is_as_good_as_five():
    """The prediction is over draws all the same."""
    random = np.random.default_rng(2)
    effect, code = random.normal(size=500), random.integers(0, 500, 6_000)
    X = pd.DataFrame({"code": code.astype(str), "number": random.normal(size=6_000)})
    y = (random.random(6_000) < 1 / (1 + np.exp(-effect[code] - X["number"]))).astype(int)
    forest = RandomForestClassifier(50, random_state=0)
    loss = {}
    for n_draws, predict_with in ((1, "draws"), (1, "mean"), (5, "draws")):
        model = SamplingClassifier(forest, n_draws=n_draws, predict_with=predict_with, random_state=0)
        model.fit(X[:3_000], y[:3_000])
        loss[n_draws, predict_with] = log_loss(y[3_000:], model.predict_proba(X[3_000:]))
    assert loss[1, "draws"] < loss[1, "mean"]
    assert loss[1, "draws"] < loss[5, "draws"] + 0.02


@pytest.mark.calibration
@pytest.mark.parametrize("rows", [20, 250, 1_000])
def test_ten_columns_of_noise_cost_no_more_than_leaving_them_out(rows):
    """Whether a category has few rows or many: there is no step."""
    gaps = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        numbers = random.normal(size=(8_000, 2))
        y = (random.random(8_000) < 1 / (1 + np.exp(-numbers @ [1.0, 0.5]))).astype(int)
        noise = {f"n{c}": random.permutation(np.arange(8_000) // (2 * rows)).astype(str) for c in range(10)}
        X = pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], **noise})
        trees = LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1, random_state=0)
        model = SamplingClassifier(trees, random_state=0).fit(X[:4_000], y[:4_000])
        plain = LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1, random_state=0)
        plain.fit(numbers[:4_000], y[:4_000])
        scores = [model.predict_proba(X[4_000:])[:, 1], plain.predict_proba(numbers[4_000:])[:, 1]]
        gaps.append(np.subtract(*(roc_auc_score(y[4_000:], score) for score in scores)))
    assert np.mean(gaps) > -0.004
