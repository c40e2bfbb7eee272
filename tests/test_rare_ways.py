"""Ways that are seldom taken, and still lead to what is claimed."""

import datetime
import gzip
from decimal import Decimal

import duckdb
import numpy as np
import onnxruntime
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from scipy.stats import betanbinom
from sklearn import config_context
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils import get_tags

import catbayes
import catbayes.__main__
from cases import ROWS, X, Y, fitted
from catbayes import (
    InputError,
    MultiTargetEncoder,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
    Scaled,
    compare,
    fade,
    gather,
)
from catbayes.comparison.rows import read_rows
from catbayes.core.categories import Categories
from catbayes.core.combinations import Index
from catbayes.core.table import Table, called_columns
from catbayes.effects import parts as _parts
from catbayes.effects.parts import _most_telling
from catbayes.families import BetaBernoulli, BetaNegativeBinomial
from catbayes.inspect import shrinkage
from catbayes.interactions import _some_rows
from catbayes.io.atomic import replacing
from catbayes.kinds import Bins, Nested, Spellings, Tags

# ------------------------------------------------------------------------------------------------ files, commands


def test_a_file_that_somebody_else_wrote_in_the_meantime_stays(tmp_path):
    path, writing = tmp_path / "new", replacing(tmp_path / "new", overwrite=False)
    writing.__enter__().write_text("ours")
    path.write_text("theirs")
    with pytest.raises(InputError, match="was written by somebody else"):
        writing.__exit__(None, None, None)
    assert [child.read_text() for child in tmp_path.iterdir()] == ["theirs"]


def test_files_of_one_name_need_ids_for_draws(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        ROWS.to_parquet(tmp_path / folder / "rows.parquet")
    paths = [tmp_path / "one" / "rows.parquet", tmp_path / "two" / "rows.parquet"]
    with pytest.raises(InputError, match=r"Two files are called 'rows.parquet'"):
        catbayes.encode(paths, fitted(), tmp_path / "out.parquet", n_draws=1)
    catbayes.encode(paths, fitted(), tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").num_rows == 120


def test_a_table_without_rows_is_not_encoded(tmp_path):
    with pytest.raises(InputError, match="there is nothing to encode"):
        catbayes.encode(ROWS[:0], fitted(), tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------ values and names


def test_spans_of_time_are_those_of_python_whoever_holds_them():
    hour = datetime.timedelta(hours=1)
    categories, codes = Categories.of([pandas.Timedelta(hour), hour, pandas.NaT])
    assert categories.values == (hour,)
    assert codes.tolist() == [0, 0, categories.missing]


def test_an_error_of_a_cell_that_is_not_about_hashing_is_its_own():
    class Odd:
        def __hash__(self):
            raise TypeError("no key for this")

    with pytest.raises(TypeError, match="no key for this"):
        Categories.of([Odd(), Odd()])


def test_a_function_may_choose_one_column_by_its_name():
    assert called_columns(lambda table: "city", Table.of(X)) == ["city"]


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


def test_a_row_with_an_unseen_part_is_unseen_among_combinations():
    first, codes = Categories.of(["a", "b"])
    second, others = Categories.of(["u", "v"])
    codes = np.append(codes, first.unseen)
    index, slots = Index.of([first, second], [codes, np.append(others, 0)])
    assert slots.tolist() == [0, 1, index.unseen]


# ------------------------------------------------------------------------------------------------ kinds


def test_what_resembles_nothing_is_an_error_where_unseen_is_one():
    spelt = SamplingBayesianEncoder(["city"], kinds={"city": Spellings()}, unseen="error", prior=Scaled(1.0))
    names = pandas.DataFrame({"city": ["Trondheim", "Reykjavik"] * 30})
    spelt.fit(names, Y)
    assert spelt.transform(names[:1].assign(city="Trondhiem")).shape == (1, 1)
    with pytest.raises(InputError, match="0123456789"):
        spelt.transform(names[:1].assign(city="0123456789"))


def test_every_number_has_its_bin_even_where_unseen_is_an_error():
    binned = SamplingBayesianEncoder(["n"], kinds={"n": Bins(4)}, unseen="error", prior=Scaled(1.0)).fit(X[["n"]], Y)
    assert np.isfinite(binned.transform(X[["n"]] * 1000.0 - 1e5)).all()


@pytest.mark.parametrize("cuts", ["abc", [1.0, "x"], [[1.0], [2.0]], [2.0, 1.0]])
def test_cuts_that_are_no_rising_numbers_are_refused(cuts):
    with pytest.raises(InputError, match=r"Bins.cuts="):
        Bins(cuts)


# ------------------------------------------------------------------------------------------------ comparing


def test_folds_of_a_splitter_are_taken():
    result = compare(ROWS, "y", cv=ShuffleSplit(3, random_state=0), encoders=["target"], models=["linear"])
    assert [len(cell.scores) for cell in result.cells] == [3]


def test_rows_without_a_time_are_the_latest():
    table = ROWS.assign(day=pandas.to_datetime(["2024-01-02"] * 30 + [None] * 30))
    how = {"columns": "auto", "drop": (), "family": "auto", "groups": None, "sample": None, "seed": 0}
    rows = read_rows(table, "y", time="day", **how)
    assert any("30 rows without a 'day' are taken for the latest" in note for note in rows.notes)
    assert rows.X["n"].tolist() == list(range(60))


def test_decimals_are_numbers_and_one_column_may_be_named_by_text():
    cells = [Decimal(number) for number in range(60)]
    table = pyarrow.table({"city": ROWS["city"].tolist(), "n": cells, "y": ROWS["y"].tolist()})
    how = {"drop": (), "family": "auto", "groups": None, "time": None, "sample": None, "seed": 0}
    rows = read_rows(table, "y", columns="city", **how)
    assert list(rows.categorical) == ["city"]
    assert rows.X["n"].tolist() == list(map(float, range(60)))


# ------------------------------------------------------------------------------------------------ samples


def test_screening_looks_at_a_sample_of_many_rows_in_their_order():
    some = _some_rows(10_000_000, 10, 0)
    assert len(some) < 10_000_000
    assert (np.diff(some) > 0).all()


# ------------------------------------------------------------------------------------------------ models


def test_features_of_an_array_are_an_array():
    table = X.to_numpy(object)
    model = SamplingRegressor(Ridge(), SamplingBayesianEncoder([0], prior=Scaled(1.0)), random_state=0).fit(table, Y)
    features = model.features(table)
    assert isinstance(features, np.ndarray)
    assert features.shape == (60, len(model.get_feature_names_out()))


def test_importances_that_are_not_there_are_told():
    model = SamplingRegressor(make_pipeline(PolynomialFeatures(), LinearRegression()), random_state=0)
    with pytest.raises(AttributeError, match="is not fitted yet, and has no coef_"):
        _ = model.coef_
    model.fit(X, Y)
    with pytest.raises(AttributeError, match="features that the steps of the Pipeline made"):
        _ = model.coef_


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


def test_faded_evidence_tells_how_much_is_left():
    day = gather(ROWS, ["city"], "y")
    assert "half_life=2," in repr(fade([day, day], half_life=2.0))


def test_targets_of_a_frame_and_then_of_an_array_leave_no_names_behind():
    encoder = MultiTargetEncoder(SamplingBayesianEncoder(prior=Scaled(1.0))).fit(
        X[["city"]], np.stack([Y, 1 - Y], axis=1)
    )
    assert list(encoder.feature_names_in_) == ["city"]
    encoder.fit(X[["city"]].to_numpy(object), np.stack([Y, 1 - Y], axis=1))
    assert not hasattr(encoder, "feature_names_in_")


def test_effects_and_draws_of_rows_take_included_targets(tmp_path):
    included = SamplingBayesianEncoder(["city"], own_target="include", effects=True, random_state=0)
    assert np.isfinite(np.asarray(included.fit_transform(X, Y), dtype=float)).all()
    plain = SamplingBayesianEncoder(["city"], own_target="include", prior=Scaled(1.0), random_state=0).fit(X, Y)
    catbayes.encode(ROWS, plain, tmp_path / "out.parquet", n_draws=1, target="y")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").num_rows == 60


def test_numbers_that_go_with_the_target_are_kept_where_there_is_room_for_few():
    random = np.random.default_rng(0)
    y = random.normal(size=(1, 200))
    numbers = {0: random.normal(size=200), 1: y[0] + random.normal(size=200), 2: random.normal(size=200)}
    assert _most_telling(numbers, y, 1)[0] is numbers[1]


def test_bins_of_a_batch_whose_target_never_differs_are_one():
    table = pandas.DataFrame({"amount": np.arange(40.0)})
    evidence = gather(table, ["amount"], np.ones(40), kinds={"amount": Bins(4, merge=True)}, family="normal")
    assert evidence.columns[0].index.sources[0].edges == ()


def test_layers_refuse_sets_of_strangers_where_the_encoder_does(torch):
    from catbayes.torch import PosteriorEmbedding

    sets = pandas.DataFrame({"genres": ["a|b", "a", "b", "a|b"] * 10})
    encoder = SamplingBayesianEncoder(kinds={"genres": Tags("|")}, unseen="error").fit(sets, [0, 1, 1, 0] * 10)
    with pytest.raises(InputError, match=r"categories that fit never saw, such as \['a\|z'\]"):
        PosteriorEmbedding(encoder).codes(pandas.DataFrame({"genres": ["a|z"]}))


def test_effects_of_counts_end_where_steps_do(monkeypatch):
    """Steps that have not settled are ended; those that have are not moved by more of them."""
    random = np.random.default_rng(0)
    shop = random.integers(0, 8, 400)
    table, y = pandas.DataFrame({"shop": shop.astype(str)}), random.poisson(np.exp(0.5 * shop))
    few, many = [], []
    for steps, found in ((_parts.NEWTON_STEPS, many), (max(_parts.LEARN_AT) + 1, few)):
        monkeypatch.setattr(_parts, "NEWTON_STEPS", steps)
        encoder = SamplingBayesianEncoder(family="poisson", effects=True, random_state=0)
        found.append(np.asarray(encoder.fit_transform(table, y), dtype=float))
    np.testing.assert_allclose(few[0], many[0], rtol=0.05)


def test_quantiles_of_counts_rise_where_rounded_chances_do_not_add_up_to_the_level():
    family = BetaNegativeBinomial(centre=0.5, strength=1000.0, size=100.0)
    low, high = (family.predictive_quantile(level) for level in (0.999999, 1.0 - 1e-15))
    assert betanbinom.ppf(0.999999, 100.0, *map(float, family._shapes())) == low < high < np.inf


def test_a_gzip_file_that_breaks_off_is_refused(tmp_path):
    random, path = np.random.default_rng(0), tmp_path / "t.csv.gz"
    lines = "\n".join(f"{number:.17f},0" for number in random.random(5_000))
    whole = gzip.compress(f"c,y\n{lines}\n".encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read as CSV"):
        gather(path, ["c"], "y")


def test_bins_of_a_constant_are_one():
    kinds = {"n": Bins(4, merge=True)}
    encoder = SamplingBayesianEncoder(["n"], kinds=kinds, prior=Scaled(1.0), family="normal", missing="category")
    even = encoder.fit(X[["n"]], np.tile([0.0, 1.0], 30))
    assert len(set(np.asarray(even.transform(X[["n"]]))[:, 0])) == 1


def test_text_that_is_empty_is_a_category_in_graphs_too():
    names = pandas.DataFrame({"city": ["", "a", "b"] * 20})
    encoder = SamplingBayesianEncoder(prior=Scaled(1.0), random_state=0).fit(names, Y)
    session = onnxruntime.InferenceSession(encoder.to_onnx().SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: names[:3].to_numpy(object)})[0]
    np.testing.assert_allclose(np.ravel(found), encoder.transform(names)[:3, 0], rtol=1e-6)


def test_boosters_of_their_own_need_boosting_and_are_left_out_without():
    result = compare(ROWS, "y", cv=2, encoders=["one-hot", "native"], models=["linear"])
    assert {cell.encoder for cell in result.cells} == {"one-hot"}


def test_a_column_in_which_nothing_was_seen_has_no_signal():
    empty = X.assign(city=[None] * 60)
    encoder = SamplingBayesianEncoder(["city"], prior=BetaBernoulli(2.0, 2.0), missing="prior").fit(empty, Y)
    assert shrinkage(encoder)["signal"][0] == 0.0


def test_ancestors_that_are_missing_survive_in_files(tmp_path):
    parents = {"a": ("north", None), "b": ("south", "land"), "c": ("south", "land")}
    encoder = SamplingBayesianEncoder(["city"], kinds={"city": Nested(parents)}, random_state=0).fit(X, Y)
    encoder.save(tmp_path / "e")
    assert catbayes.load(tmp_path / "e").kinds == {"city": Nested(parents)}


def test_a_pipeline_of_one_step_is_that_step():
    boosted = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    encoder = SamplingBayesianEncoder(["city"], prior=Scaled(1.0))
    how = {"encoder": encoder, "random_state": 0, "fit_with": "rounds"}
    alone, piped = (SamplingRegressor(model, **how).fit(X, Y) for model in (boosted, make_pipeline(boosted)))
    np.testing.assert_array_equal(alone.predict(X), piped.predict(X))


def test_intervals_of_models_with_combinations_go_by_single_columns():
    encoder = SamplingBayesianEncoder("all", prior=Scaled(1.0), interactions=[("city", "n")])
    table = X.assign(n=X["n"] % 3)
    model = SamplingRegressor(Ridge(), encoder, random_state=0).fit(table, Y)
    rows = model._read_new(table)
    assert (rows.known().shape, rows.plain().shape) == ((60, 2), (60, 2))


def test_taylor_of_a_table_without_categories_is_the_prediction_itself():
    model = SamplingRegressor(Ridge(), predict_with="taylor", random_state=0).fit(X[["n"]], Y)
    np.testing.assert_allclose(model.predict(X[["n"]]), Ridge().fit(X[["n"]], Y).predict(X[["n"]]), rtol=1e-9)


def test_a_classifier_of_something_else_is_still_one():
    assert get_tags(SamplingClassifier(Ridge())).classifier_tags is not None


def test_steps_that_never_settle_end_where_settled_ones_do(monkeypatch):
    settled = SamplingBayesianEncoder("all", effects=True, random_state=0).fit(X, Y).transform(X[:9])
    monkeypatch.setattr(_parts, "SETTLED", 0.0)
    ended = SamplingBayesianEncoder("all", effects=True, random_state=0).fit(X, Y).transform(X[:9])
    np.testing.assert_allclose(ended, settled, atol=0.01)


def test_numbers_of_an_array_of_objects_count_among_effects():
    cells = X.assign(n=X["n"] % 7).to_numpy(object)
    of_array, of_frame = (
        SamplingBayesianEncoder([first], effects=True, random_state=0).fit(table, Y).transform(table[:5])
        for first, table in ((0, cells), ("city", X.assign(n=X["n"] % 7)))
    )
    np.testing.assert_allclose(np.asarray(of_array, dtype=float), np.asarray(of_frame, dtype=float))
    odd = cells.copy()
    odd[0, 1] = [1]
    assert Table.of(odd).numbers(1) is None


def test_classes_that_are_fractions_may_come_again():
    encoder = SamplingBayesianEncoder(["city"], prior=Scaled(1.0), family="bernoulli").fit(X, Y + 0.5)
    encoder.set_params(family="auto").partial_fit(X, Y + 0.5)
    assert encoder.classes_.tolist() == [0.5, 1.5]


def test_days_and_moments_of_one_column_are_moments_in_queries():
    moments = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 12)] * 30
    table = pandas.DataFrame({"at": moments})
    encoder = SamplingBayesianEncoder(["at"], prior=Scaled(1.0)).fit(table, Y)
    queried = duckdb.sql(encoder.to_sql("duckdb", table="table")).df()
    np.testing.assert_allclose(queried.iloc[:, -1], encoder.transform(table[:60].copy())[:, 0])


def test_combinations_that_nobody_has_are_unseen():
    sources = [Categories.of(list(map(str, range(1000))))[0] for _ in range(3)]
    index = Index(tuple(sources), np.empty((0, 3), dtype=np.intp))
    assert index.slots([np.array([0, 5])] * 3).tolist() == [index.unseen] * 2


def test_sets_that_say_nothing_sit_on_the_mean():
    tags = pandas.DataFrame({"tags": np.random.default_rng(0).choice(["a|b", "a", "b", "b|c", "c"], 60)})
    encoder = SamplingBayesianEncoder(["tags"], kinds={"tags": Tags("|")}).fit(tags, np.tile([0, 1], 30))
    assert np.ptp(encoder.transform(tags[:30])) < 0.02


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


@pytest.mark.parametrize("probability", [0.5, 0.99])
def test_quantiles_of_counts_beyond_the_first_are_those_of_scipy(probability):
    prior = BetaNegativeBinomial(300.0, 8.0, 3.0)
    a, b = prior._shapes()
    expected = betanbinom(3.0, a, b).ppf(probability)
    assert expected > 64
    assert prior.predictive_quantile(probability).item() == expected


def test_whole_numbers_of_graphs_have_no_gaps_that_are_an_error():
    table = pandas.DataFrame({"n": [1, 2, 3] * 20})
    encoder = SamplingBayesianEncoder(["n"], missing="error", prior=Scaled(1.0)).fit(table, Y)
    session = onnxruntime.InferenceSession(encoder.to_onnx().SerializeToString())
    found = session.run(None, {"n": table[:3].to_numpy(np.int64)})[0]
    np.testing.assert_allclose(np.ravel(found), encoder.transform(table[:3])[:, 0])


def test_a_model_that_cannot_be_cloned_says_so_itself():
    class Broken(Ridge):
        def __sklearn_clone__(self):
            raise RuntimeError("no such luck")

    with pytest.raises(RuntimeError, match="no such luck"):
        SamplingRegressor(Broken()).fit(X, np.arange(len(X)) / 2)


def test_the_missing_value_of_pandas_is_missing_in_a_list_too():
    assert Categories.of(["b", pandas.NA, "a"])[1].tolist() == [1, 2, 0]
