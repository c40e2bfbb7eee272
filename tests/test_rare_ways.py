"""Ways that are seldom taken, and still lead to what is claimed."""

import datetime

import duckdb
import numpy as np
import onnxruntime
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from sklearn import config_context
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import catbayes
import catbayes.__main__
from cases import ROWS, X, Y, fitted
from catbayes import (
    InputError,
    SamplingBayesianEncoder,
    SamplingRegressor,
    Scaled,
)
from catbayes.kinds import Bins, Nested, Spellings

# ------------------------------------------------------------------------------------------------ files, commands


def test_files_of_one_name_need_ids_for_draws(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        ROWS.to_parquet(tmp_path / folder / "rows.parquet")
    paths = [tmp_path / "one" / "rows.parquet", tmp_path / "two" / "rows.parquet"]
    with pytest.raises(InputError, match=r"Two files are called 'rows.parquet'"):
        catbayes.encode(paths, fitted(), tmp_path / "out.parquet", n_draws=1)
    catbayes.encode(paths, fitted(), tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").num_rows == 120


# ------------------------------------------------------------------------------------------------ values and names


def test_a_weight_for_all_is_the_weight_of_each():
    heavy = SamplingBayesianEncoder(["city"], prior=Scaled(1.0)).fit(X, Y, sample_weight=2.0)
    same = SamplingBayesianEncoder(["city"], prior=Scaled(1.0)).fit(X, Y, sample_weight=np.full(60, 2.0))
    np.testing.assert_array_equal(heavy.transform(X[:8]), same.transform(X[:8]))


def test_categorical_targets_of_lazy_frames_are_their_words():
    table = polars.DataFrame(
        {"city": ["a", "b"] * 4, "y": ["no", "yes"] * 4}, schema_overrides={"y": polars.Categorical}
    )
    encoder = SamplingBayesianEncoder(["city"], prior=Scaled(1.0)).fit(table.lazy(), "y")
    assert encoder.classes_.tolist() == ["no", "yes"]


# ------------------------------------------------------------------------------------------------ kinds


# ------------------------------------------------------------------------------------------------ comparing


# ------------------------------------------------------------------------------------------------ samples


# ------------------------------------------------------------------------------------------------ models


def test_weights_reach_the_steps_of_a_pipeline_that_ask_for_them():
    weight, copies = np.tile([1.0, 3.0], 30), {}
    with config_context(enable_metadata_routing=True):
        for asks in (True, False):
            ridge = Ridge().set_fit_request(sample_weight=asks)
            scaled = StandardScaler().set_fit_request(sample_weight=asks)
            model = SamplingRegressor(
                make_pipeline(scaled, ridge), SamplingBayesianEncoder(["city"], prior=Scaled(1.0)), random_state=0
            )
            copies[asks] = model.set_fit_request(sample_weight=True).fit(X, Y, sample_weight=weight).predict(X)
    assert np.abs(copies[True] - copies[False]).max() > 1e-6


def test_effects_and_draws_of_rows_take_included_targets(tmp_path):
    included = SamplingBayesianEncoder(["city"], own_target="include", effects=True, random_state=0)
    assert np.isfinite(np.asarray(included.fit_transform(X, Y), dtype=float)).all()
    plain = SamplingBayesianEncoder(["city"], own_target="include", prior=Scaled(1.0), random_state=0).fit(X, Y)
    catbayes.encode(ROWS, plain, tmp_path / "out.parquet", n_draws=1, target="y")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").num_rows == 60


def test_text_that_is_empty_is_a_category_in_graphs_too():
    names = pandas.DataFrame({"city": ["", "a", "b"] * 20})
    encoder = SamplingBayesianEncoder(prior=Scaled(1.0), random_state=0).fit(names, Y)
    session = onnxruntime.InferenceSession(encoder.to_onnx().SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: names[:3].to_numpy(object)})[0]
    np.testing.assert_allclose(np.ravel(found), encoder.transform(names)[:3, 0], rtol=1e-6)


def test_ancestors_that_are_missing_survive_in_files(tmp_path):
    parents = {"a": ("north", None), "b": ("south", "land"), "c": ("south", "land")}
    encoder = SamplingBayesianEncoder(["city"], kinds={"city": Nested(parents)}, random_state=0).fit(X, Y)
    encoder.save(tmp_path / "e")
    assert catbayes.load(tmp_path / "e").kinds == {"city": Nested(parents)}


def test_taylor_of_a_table_without_categories_is_the_prediction_itself():
    model = SamplingRegressor(Ridge(), predict_with="taylor", random_state=0).fit(X[["n"]], Y)
    np.testing.assert_allclose(model.predict(X[["n"]]), Ridge().fit(X[["n"]], Y).predict(X[["n"]]), rtol=1e-9)


def test_days_and_moments_of_one_column_are_moments_in_queries():
    moments = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 12)] * 30
    table = pandas.DataFrame({"at": moments})
    encoder = SamplingBayesianEncoder(["at"], prior=Scaled(1.0)).fit(table, Y)
    queried = duckdb.sql(encoder.to_sql("duckdb", table="table")).df()
    np.testing.assert_allclose(queried.iloc[:, -1], encoder.transform(table[:60].copy())[:, 0])


def test_combinations_of_spellings_that_were_not_seen_are_refused():
    kinds, table = {"city": Spellings()}, X.assign(n=X["n"] % 3)
    encoder = SamplingBayesianEncoder(
        "all", kinds=kinds, interactions=[("city", "n")], unseen="error", prior=Scaled(1.0)
    )
    encoder.fit(table, Y)
    assert encoder.transform(table[:1].assign(city=" A ")).shape == (1, 3)
    with pytest.raises(InputError, match="zzz"):
        encoder.transform(table[:1].assign(city="zzz"))


def test_bins_stay_in_combinations_that_are_forgotten():
    encoder = SamplingBayesianEncoder(
        "all", kinds={"n": Bins([20.0, 40.0])}, interactions=[("city", "n")], prior=Scaled(1.0)
    )
    encoder.fit(X, Y).remove(X[:20], Y[:20])
    rest = SamplingBayesianEncoder(
        "all", kinds={"n": Bins([20.0, 40.0])}, interactions=[("city", "n")], prior=Scaled(1.0)
    )
    np.testing.assert_allclose(encoder.transform(X), rest.fit(X[20:], Y[20:]).transform(X), rtol=1e-9)
