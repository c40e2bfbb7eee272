"""Ways that are seldom taken, and still lead to what is claimed."""

import datetime
import gzip
import json
import sys
import time
import types
from decimal import Decimal

import click.shell_completion
import dask.dataframe
import narwhals
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from sklearn import config_context
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import catbayes
import catbayes.__main__
from catbayes import InputError, MultiTargetEncoder, SamplingBayesianEncoder, SamplingRegressor, compare, fade, gather
from catbayes._atomic import replacing
from catbayes._categories import Categories
from catbayes._cli import run
from catbayes._comparison._deadline import deadline
from catbayes._comparison._rows import read_rows
from catbayes._comparison._scores import written as score_written
from catbayes._comparison._target import target_values
from catbayes._evidence._parts import _most_telling
from catbayes._evidence._screening import _some_rows
from catbayes._index import Index
from catbayes._sources import some_rows
from catbayes._tables import Table, called_columns
from catbayes._writing import number
from catbayes.displays import PriorDisplay
from catbayes.kinds import Bins, Spellings

ROWS = pandas.DataFrame({"city": ["a", "b", "c", "d"] * 15, "n": range(60), "y": [0, 1, 1, 0, 1] * 12})
X, Y = ROWS[["city", "n"]], ROWS["y"]


def fitted(**settings):
    return SamplingBayesianEncoder(["city"], prior=1.0, random_state=0, **settings).fit(X, Y)


# ------------------------------------------------------------------------------------------------ files, commands


def test_a_file_that_somebody_else_wrote_in_the_meantime_stays(tmp_path):
    path, writing = tmp_path / "new", replacing(tmp_path / "new", overwrite=False)
    writing.__enter__().write_text("ours")
    path.write_text("theirs")
    with pytest.raises(InputError, match="was written by somebody else"):
        writing.__exit__(None, None, None)
    assert [child.read_text() for child in tmp_path.iterdir()] == ["theirs"]


def test_an_interruption_while_starting_is_told_in_a_sentence(monkeypatch, capsys):
    def interrupted(name):
        raise KeyboardInterrupt

    slow = types.ModuleType("catbayes._cli")
    slow.__getattr__ = interrupted
    monkeypatch.setitem(sys.modules, "catbayes._cli", slow)
    with pytest.raises(SystemExit) as left:
        catbayes.__main__.main()
    assert left.value.code == 130
    assert capsys.readouterr().err == "catbayes: interrupted; nothing was written.\n"


def test_the_names_of_commands_are_completed():
    from catbayes._cli._command import COMMANDS, Commands

    completion = click.shell_completion.ShellComplete(Commands("catbayes"), {}, "catbayes", "_CATBAYES_COMPLETE")
    assert [item.value for item in completion.get_completions([], "")] == list(COMMANDS)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_posteriors_are_written_to_files(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted().save("model")
    assert run(["posteriors", "model", "--format", form, "-o", "out"]) == 0
    read = pandas.read_csv("out") if form == "csv" else pandas.DataFrame(json.loads((tmp_path / "out").read_text()))
    assert read["category"].tolist()[:4] == ["a", "b", "c", "d"]
    assert run(["posteriors", "nowhere", "--format", form]) == 1


def test_a_long_table_says_how_much_is_left(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fitted().save("model")
    assert run(["posteriors", "model", "--column", "city", "--rows", "2"]) == 0
    assert capsys.readouterr().err == "… 3 more; --rows 0 shows all.\n"  # two cities, and missing


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
    heavy = SamplingBayesianEncoder(["city"], prior=1.0).fit(X, Y, sample_weight=2.0)
    same = SamplingBayesianEncoder(["city"], prior=1.0).fit(X, Y, sample_weight=np.full(60, 2.0))
    np.testing.assert_array_equal(heavy.transform(X[:8]), same.transform(X[:8]))


def test_categorical_targets_of_lazy_frames_are_their_words():
    table = polars.DataFrame(
        {"city": ["a", "b"] * 4, "y": ["no", "yes"] * 4}, schema_overrides={"y": polars.Categorical}
    )
    encoder = SamplingBayesianEncoder(["city"], prior=1.0).fit(table.lazy(), "y")
    assert encoder.classes_.tolist() == ["no", "yes"]


def test_a_row_with_an_unseen_part_is_unseen_among_combinations():
    first, codes = Categories.of(["a", "b"])
    second, others = Categories.of(["u", "v"])
    codes = np.append(codes, first.unseen)
    index, slots = Index.of([first, second], [codes, np.append(others, 0)])
    assert slots.tolist() == [0, 1, index.unseen]


# ------------------------------------------------------------------------------------------------ kinds


def test_what_resembles_nothing_is_an_error_where_unseen_is_one():
    spelt = SamplingBayesianEncoder(["city"], kinds={"city": Spellings()}, unseen="error", prior=1.0)
    names = pandas.DataFrame({"city": ["Trondheim", "Reykjavik"] * 30})
    spelt.fit(names, Y)
    assert spelt.transform(names[:1].assign(city="Trondhiem")).shape == (1, 1)
    with pytest.raises(InputError, match="0123456789"):
        spelt.transform(names[:1].assign(city="0123456789"))


def test_every_number_has_its_bin_even_where_unseen_is_an_error():
    binned = SamplingBayesianEncoder(["n"], kinds={"n": Bins(4)}, unseen="error", prior=1.0).fit(X[["n"]], Y)
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


def test_a_cluster_sends_no_more_rows_than_were_asked_for():
    frame = dask.dataframe.from_pandas(pandas.DataFrame({"n": range(1000)}), npartitions=4)
    found = some_rows(narwhals.from_native(frame), 100)
    assert 50 < found.num_rows < 200
    assert len(set(found.column("n").to_pylist())) == found.num_rows


def test_screening_looks_at_a_sample_of_many_rows_in_their_order():
    some = _some_rows(10_000_000, 10, 0)
    assert len(some) < 10_000_000
    assert (np.diff(some) > 0).all()


# ------------------------------------------------------------------------------------------------ models


def test_features_of_an_array_are_an_array():
    table = X.to_numpy(object)
    model = SamplingRegressor(Ridge(), SamplingBayesianEncoder([0], prior=1.0), random_state=0).fit(table, Y)
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
                make_pipeline(scaled, ridge),
                SamplingBayesianEncoder(["city"], prior=1.0),
                random_state=0,
                effects=False,
            )
            copies[asks] = model.set_fit_request(sample_weight=True).fit(X, Y, sample_weight=weight).predict(X)
    assert np.abs(copies[True] - copies[False]).max() > 1e-6


def test_faded_evidence_tells_how_much_is_left():
    day = gather(ROWS, ["city"], "y")
    assert "half of it after 2" in repr(fade([day, day], half_life=2.0))
    assert "nothing is forgotten" in repr(fade([day, day], half_life=float("inf")))


def test_classes_of_one_column_and_scores_that_are_tiny_or_missing():
    assert [score_written(value) for value in (float("nan"), 1e-6, 0.25)] == ["", "1.0e-06", "0.2500"]
    assert target_values(Y.to_numpy()[:, None]).tolist() == Y.tolist()


def test_errors_before_the_time_is_up_are_their_own():
    with pytest.raises(ZeroDivisionError), deadline(time.monotonic() + 60.0):
        raise ZeroDivisionError


def test_without_lightgbm_the_boosted_model_is_of_scikit_learn(monkeypatch):
    monkeypatch.setattr("catbayes._comparison._contestants.find_spec", lambda name: None if name == "lightgbm" else 1)
    result = compare(ROWS, "y", cv=2, encoders=["one-hot", "native"], models=["boosting"])
    ran = {(cell.encoder, cell.model): cell.status for cell in result.cells}
    assert ran["one-hot", "HistGradient"] == "done"


def test_an_encoder_that_cannot_be_built_fails_alone():
    class Broken(SamplingBayesianEncoder):
        def __sklearn_clone__(self):
            raise RuntimeError("no such luck\nat all")

    encoders = {"broken": Broken(), "fine": SamplingBayesianEncoder()}
    result = compare(ROWS, "y", cv=2, encoders=encoders, models=["linear"])
    assert [cell.status for cell in result.cells if cell.encoder == "broken"] == ["failed: RuntimeError: no such luck"]


def test_one_fold_cannot_tell_encoders_apart():
    folds = [(np.arange(40), np.arange(40, 60))]
    assert "cannot tell" in repr(compare(ROWS, "y", cv=folds, encoders=["target", "sampling"], models=["linear"]))


def test_errors_of_commands_are_one_line_whatever_they_are():
    from catbayes._cli._command import _sentence
    from catbayes._cli._wording import in_flags

    assert _sentence(RuntimeError("first\nsecond")) == "RuntimeError: first"
    assert in_flags("X has 2 rows, and prior=3.", {}) == "The table has 2 rows, and prior=3."


def test_targets_of_a_frame_and_then_of_an_array_leave_no_names_behind():
    encoder = MultiTargetEncoder(SamplingBayesianEncoder(prior=1.0)).fit(X[["city"]], np.stack([Y, 1 - Y], axis=1))
    assert list(encoder.feature_names_in_) == ["city"]
    encoder.fit(X[["city"]].to_numpy(object), np.stack([Y, 1 - Y], axis=1))
    assert not hasattr(encoder, "feature_names_in_")


def test_effects_and_draws_of_rows_take_included_targets(tmp_path):
    included = SamplingBayesianEncoder(["city"], own_target="include", effects=True, random_state=0)
    assert np.isfinite(np.asarray(included.fit_transform(X, Y), dtype=float)).all()
    plain = SamplingBayesianEncoder(["city"], own_target="include", prior=1.0, random_state=0).fit(X, Y)
    catbayes.encode(ROWS, plain, tmp_path / "out.parquet", n_draws=1, target="y")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").num_rows == 60


def test_numbers_that_go_with_the_target_are_kept_where_there_is_room_for_few():
    random = np.random.default_rng(0)
    y = random.normal(size=(1, 200))
    numbers = {0: random.normal(size=200), 1: y[0] + random.normal(size=200), 2: random.normal(size=200)}
    assert _most_telling(numbers, y, 1)[0] is numbers[1]


def test_a_gzip_file_that_breaks_off_is_refused(tmp_path):
    random, path = np.random.default_rng(0), tmp_path / "t.csv.gz"
    lines = "\n".join(f"{number:.17f},0" for number in random.random(5_000))
    whole = gzip.compress(f"c,y\n{lines}\n".encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read as CSV"):
        gather(path, ["c"], "y")


def test_infinite_numbers_are_written_as_people_do():
    assert (number(float("inf")), number(float("-inf"))) == ("∞", "-∞")


def test_scores_of_priors_are_told():
    single = SamplingRegressor(Ridge(), SamplingBayesianEncoder(["city"]), random_state=0)
    shown = PriorDisplay.from_estimator(single, X, Y, strengths=[0.1, 1.0], cv=2)
    assert "by the strength γ of the prior" in repr(shown)


def test_bins_of_a_constant_are_one():
    kinds = {"n": Bins(4, merge=True)}
    encoder = SamplingBayesianEncoder(["n"], kinds=kinds, prior=1.0, family="normal", missing="category")
    even = encoder.fit(X[["n"]], np.tile([0.0, 1.0], 30))
    assert len(set(np.asarray(even.transform(X[["n"]]))[:, 0])) == 1


def test_text_that_is_empty_is_a_category_in_graphs_too():
    import onnxruntime

    names = pandas.DataFrame({"city": ["", "a", "b"] * 20})
    encoder = SamplingBayesianEncoder(prior=1.0, random_state=0).fit(names, Y)
    session = onnxruntime.InferenceSession(encoder.to_onnx().SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: names[:3].to_numpy(object)})[0]
    np.testing.assert_allclose(np.ravel(found), encoder.transform(names)[:3, 0], rtol=1e-6)
