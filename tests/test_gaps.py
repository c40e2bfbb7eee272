"""unseen="nan" and missing="nan" give NaN, in memory, in files, queries and graphs."""

import duckdb
import numpy as np
import pandas
import pytest

from catbayes import InputError, SamplingBayesianEncoder, encode, load

X = pandas.DataFrame({"city": ["Oslo"] * 8 + ["Rome"] * 8 + [None] * 8, "shop": ["a", "b", "b"] * 8})
Y = np.array([1] * 6 + [0] * 2 + [1] * 2 + [0] * 6 + [1] * 7 + [0])
NEW = pandas.DataFrame({"city": ["Oslo", None, "Paris"], "shop": ["a", "b", "a"]})
GAPS = {"unseen": "nan", "missing": "nan"}


def fitted(**more):
    return SamplingBayesianEncoder(["city", "shop"], random_state=0, **GAPS, **more).fit(X, Y)


def test_other_rows_are_as_without_the_policies():
    like_unseen = SamplingBayesianEncoder(["city", "shop"], missing="prior", random_state=0)
    encoder, gap = fitted(), X["city"].isna().to_numpy()
    drawn, expected = encoder.fit_transform(X, Y), like_unseen.fit_transform(X, Y)
    assert np.isnan(drawn[gap, 0]).all()
    np.testing.assert_array_equal(drawn[~gap], expected[~gap])
    np.testing.assert_array_equal(drawn[:, 1], expected[:, 1])
    for features, others in (
        (encoder.transform(NEW), like_unseen.transform(NEW)),
        (encoder.sample(NEW)[0], like_unseen.sample(NEW)[0]),
    ):
        assert np.isnan(features[:, 0]).tolist() == [False, True, True]
        np.testing.assert_array_equal(features[0], others[0])
        np.testing.assert_array_equal(features[:, 1], others[:, 1])


@pytest.mark.parametrize(
    ("policies", "gaps"), [({"unseen": "nan"}, [2]), ({"missing": "nan"}, [1]), (GAPS, [1, 2]), ({}, [])]
)
def test_each_policy_is_about_its_own_rows(policies, gaps):
    for encoder in (
        SamplingBayesianEncoder("city", **policies),
        SamplingBayesianEncoder("city", **policies, mapping="moments"),
    ):
        city = encoder.fit(X, Y).transform(NEW)[:, 0].astype(float)
        assert np.flatnonzero(np.isnan(city)).tolist() == gaps


def test_queries_graphs_and_files_have_the_same_nan(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    encoder = fitted(interactions=[("city", "shop")])
    expected = encoder.transform(NEW)
    new = NEW  # noqa: F841, read by the query
    queried = duckdb.sql(encoder.to_sql("duckdb", table="new")).df()
    np.testing.assert_allclose(queried.iloc[:, 2:].to_numpy(dtype=float), expected, rtol=1e-12)
    session = onnxruntime.InferenceSession(encoder.to_onnx().SerializeToString())
    inputs = {name: NEW[[name]].fillna("").to_numpy(dtype=object) for name in NEW}
    answered = np.hstack([np.asarray(block) for block in session.run(None, inputs)])
    assert np.isnan(answered)[2].tolist() == [True, False, True]
    written = pandas.read_parquet(encode(NEW, encoder, tmp_path / "new.parquet"))
    np.testing.assert_array_equal(written.iloc[:, 2:].to_numpy(dtype=float), expected)
    encoder.save(tmp_path / "e.catbayes")
    np.testing.assert_array_equal(load(tmp_path / "e.catbayes").transform(NEW), expected)


def test_layers_raise_an_error(torch):
    from catbayes.torch import PosteriorEmbedding

    with pytest.raises(InputError, match='missing="nan" is not known to a layer'):
        PosteriorEmbedding(SamplingBayesianEncoder(missing="nan").fit(X, Y))
