"""compare: the same numbers as a loop written by hand, and no table that stops it."""

import json
import time
from decimal import Decimal

import numpy as np
import pandas
import polars
import pyarrow.feather
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

from catbayes import InputError, InputWarning, SamplingBayesianEncoder, SamplingClassifier, compare
from catbayes.comparison import ENCODERS, Cell, Comparison, _native
from catbayes.comparison._rows import read_rows
from catbayes.comparison._running import make_folds
from catbayes.comparison._scores import OF_TASK, calibration_error, score
from catbayes.datasets import make_transactions


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    monkeypatch.setattr(_native, "CATBOOST_ROUNDS", 10)


QUICK = {"encoders": ["target"], "models": ["linear"], "repeats": 1, "cv": 2}


def small(n_rows=300, target="fraud"):
    data = make_transactions(n_rows, target)
    return data.table.drop(columns=["time", "device"]), data.y


# ------------------------------------------------------------------------------------------------ what it computes


def by_hand(name):
    """The pipeline that the name stands for, spelled out."""
    names, kept = ["merchant", "city", "channel"], ["hour", "amount"]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    logistic = LogisticRegression(max_iter=1000)
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
    if name == "target":
        return make_pipeline(make_column_transformer((TargetEncoder(cv=folds), names), (numbers, kept)), logistic)
    if name == "one-hot":
        return make_pipeline(
            make_column_transformer((OneHotEncoder(handle_unknown="infrequent_if_exist"), names), (numbers, kept)),
            logistic,
        )
    if name == "ordinal":
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
        return make_pipeline(make_column_transformer((codes, names), ("passthrough", kept)), forest)
    scaled = make_column_transformer((numbers, kept), remainder="passthrough", verbose_feature_names_out=False)
    ours = SamplingClassifier(logistic, SamplingBayesianEncoder(names), random_state=0)
    return make_pipeline(scaled.set_output(transform="pandas"), ours)


@pytest.mark.parametrize(
    ("name", "model"),
    [("target", "linear"), ("one-hot", "linear"), ("ordinal", "forest"), ("sampling", "linear")],
)
def test_equals_a_loop_over_cross_validate(name, model):
    X, y = small()
    found = compare(X, y, encoders=[name], models=[model], repeats=2, cv=3).best
    expected = cross_validate(
        by_hand(name),
        X,
        y,
        cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        scoring=["roc_auc", "neg_log_loss", "accuracy"],
    )
    scores = {measure: [fold[measure] for fold in found.scores.values()] for measure in found.scores[0]}
    np.testing.assert_allclose(scores["auc"], expected["test_roc_auc"], rtol=1e-12)
    np.testing.assert_allclose(scores["log_loss"], -expected["test_neg_log_loss"], rtol=1e-12)
    np.testing.assert_allclose(scores["accuracy"], expected["test_accuracy"], rtol=1e-12)


@pytest.mark.parametrize("encoder", ["target", "sampling", "one-hot", "ordinal"])
def test_a_linear_model_does_not_care_in_what_unit_anything_is_measured(encoder):
    X, y = small(400, "amount")
    settings = {"encoders": [encoder], "models": ["linear"], "repeats": 1, "cv": 2}
    usual = compare(X, y, **settings).best.scores[0]["r2"]
    tiny = compare(X.assign(hour=X["hour"] * 1e4), y * 1e-6, **settings).best.scores[0]["r2"]
    assert usual > 0.01
    assert tiny == pytest.approx(usual, rel=1e-3)


@pytest.mark.parametrize("target", ["fraud", "outcome", "amount"])
def test_every_contestant_runs_on_every_task(target):
    X, y = small(120, target)
    result = compare(X, y, encoders=[name for name in ENCODERS if name != "glmm"], models=["boosting"], repeats=1, cv=2)
    assert {cell.status for cell in result.cells} == {"done"}, [cell.status for cell in result.cells]
    assert {cell.encoder for cell in result.cells} == set(ENCODERS) - {"glmm"}
    natives = [cell.model for cell in result.cells if cell.encoder == "native"]
    assert natives == ["LightGBM", "CatBoost", "HistGradient", "XGBoost"]
    others = compare(X, y, encoders=["target", "one-hot", "paper"], models=["linear", "forest"], repeats=1, cv=2)
    assert {cell.status for cell in others.cells} == {"done"}


def test_integer_codes_are_categories_to_every_encoder():
    random = np.random.default_rng(0)
    codes = random.integers(0, 12, 240)
    y = random.random(240) < random.random(12)[codes]
    encoders = [name for name in ENCODERS if name not in ("ordinal", "native")]
    quick = {"encoders": encoders, "models": ["linear"], "columns": ["code"], "repeats": 1, "cv": 2}
    numbers = compare(pandas.DataFrame({"code": codes}), y, **quick)
    texts = compare(pandas.DataFrame({"code": [f"{code:02}" for code in codes]}), y, **quick)
    for one, other in zip(numbers.cells, texts.cells, strict=True):
        assert one.scores[0]["auc"] == pytest.approx(other.scores[0]["auc"], abs=1e-6), one.name
        assert one.done


def test_folds_of_one_class_are_left_out():
    X, y = small()
    late = np.arange(len(X)) >= 250  # the last of five folds, 50 rows each
    X = X.assign(day=range(len(X)))
    settings = {"encoders": ["target"], "models": ["linear"], "time": "day"}
    result = compare(X, np.where(late, 0, y), **settings)
    assert result.common == [0, 1, 2, 3]
    assert result.frame()["folds"].tolist() == [4]
    json.dumps(result.to_dict(), allow_nan=False)
    early = compare(X, np.where(np.arange(len(X)) < 120, 0, y), **settings)  # nothing to learn from in the first two
    assert len(early.folds) == 3
    assert "2 of them left out" in early.folding
    with pytest.warns(InputWarning, match="No fold has a value of AUC"):
        never = compare(X, np.where(np.arange(len(X)) < 3, [1, 1, 1] * 100, 0), **settings)
    assert "rank by another measure" in never.sentence
    assert never.frame()["status"].tolist() == ["done"]


def comparison(scores, n_rows=100, by="auc"):
    """A result with these scores of two cells, on folds of a fifth of the rows."""
    rows = read_rows(
        pandas.DataFrame({"a": ["u", "v"] * (n_rows // 2)}),
        np.arange(n_rows) % 3 == 0,
        columns="auto",
        drop=(),
        family="auto",
        groups=None,
        time=None,
        sample=None,
        seed=0,
    )
    cells = [
        Cell(
            name,
            "m",
            None,
            "done",
            {i: dict.fromkeys(OF_TASK["binary"], value) for i, value in enumerate(values)},
            {0: 1.0},
            {0: 1.0},
        )
        for name, values in scores.items()
    ]
    folds, folding = make_folds(rows, 5, 1, 0)
    return Comparison(rows, by, tuple(cells), folds[0], folding, 0.0, 0)


def test_the_standard_error_allows_for_overlapping_training_rows():
    result = comparison({"one": [0.9, 0.8, 0.7, 0.9, 0.8], "other": [0.8, 0.8, 0.6, 0.7, 0.8]})
    gap = result.difference(result.cells[1])
    differences = np.array([0.1, 0.0, 0.1, 0.2, 0.0])
    assert gap.behind == pytest.approx(0.08)
    assert gap.standard_error == pytest.approx(np.sqrt(differences.var(ddof=1) * (1 / 5 + 20 / 80)))
    assert gap.margin == pytest.approx(stats.t.ppf(0.975, 4) * gap.standard_error)
    assert gap.verdict == "tie"


def test_a_tie_is_shown_as_a_tie_and_a_difference_as_a_difference():
    result = comparison({"a": [0.90, 0.91, 0.92, 0.91, 0.90], "b": [0.9, 0.9, 0.93, 0.9, 0.91], "c": [0.5] * 5})
    assert result.frame()[["encoder", "verdict"]].to_numpy().tolist() == [["a", "best"], ["b", "tie"], ["c", "worse"]]
    lower_is_better = comparison({"a": [0.5] * 5, "b": [0.4, 0.41, 0.4, 0.41, 0.4]}, by="log_loss")
    assert lower_is_better.best.encoder == "b"
    assert lower_is_better.difference(lower_is_better.cells[0]).behind == pytest.approx(0.096)


def test_calibration_error_is_the_distance_between_promise_and_outcome():
    promised = np.repeat([0.25, 0.75], 50)
    y = np.concatenate([np.arange(50) % 4 == 0, np.arange(50) % 4 != 0]).astype(int)  # 13 and 37 of 50
    sure = np.column_stack([1 - promised, promised])
    assert calibration_error(y, sure) == pytest.approx(0.01)
    assert calibration_error(np.sort(y[:50]), sure[:50]) == pytest.approx(0.01)  # the order of equals says nothing
    assert calibration_error(1 - y, sure) == pytest.approx(0.49)
    assert calibration_error(np.zeros(100, dtype=int), np.tile([0.7, 0.2, 0.1], (100, 1))) == pytest.approx(0.3)


def test_scores_of_several_classes_leave_out_a_class_that_the_fold_lacks():
    y = np.array([0, 0, 1, 1])
    predicted = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1]])
    assert score(y, predicted)["auc"] == 1.0
    assert score(y, predicted)["log_loss"] == pytest.approx(-np.log([0.7, 0.6, 0.7, 0.6]).mean())


# ------------------------------------------------------------------------------------------------ what it takes


def test_containers_and_files_give_the_same_scores(tmp_path):
    X, y = small(200)
    table = X.assign(fraud=y)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_csv(tmp_path / "t.data", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    pyarrow.feather.write_feather(pyarrow.Table.from_pandas(table), tmp_path / "t.arrow")
    expected = [fold["log_loss"] for fold in compare(X, y, **QUICK).best.scores.values()]
    tables = [table, polars.from_pandas(table), polars.from_pandas(table).lazy(), pyarrow.Table.from_pandas(table)]
    for source in (*tables, *(tmp_path / f"t.{end}" for end in ("csv", "data", "parquet", "arrow"))):
        found = compare(source, "fraud", **QUICK)
        assert found.rows.categorical == ("merchant", "city", "channel")
        assert [fold["log_loss"] for fold in found.best.scores.values()] == pytest.approx(expected, rel=1e-9)
    array = compare(X.to_numpy(dtype=object), y, columns=["x0", "x1", "x2"], **QUICK)
    assert array.rows.numeric == ("x3", "x4")


@pytest.mark.parametrize(
    ("y", "task", "told"),
    [
        ([1.5, None, 2.0, 4.5] * 30, "regression", "30 of 120 rows are left out"),
        ([Decimal("1.5"), Decimal("2.5"), Decimal("3.5"), None] * 30, "regression", "30 of 120"),
        (np.ma.masked_array([1, 2, -999, 2] * 30, [0, 0, 1, 0] * 30), "binary", "30 of 120"),
        (pandas.array([1, 0, None, 1] * 30, dtype="Int64"), "binary", "30 of 120"),
        (pandas.array([True, None, None, False] * 30, dtype="boolean"), "binary", "60 of 120"),
    ],
)
def test_a_target_with_gaps_keeps_its_kind(y, task, told):
    rows = compare(pandas.DataFrame({"a": ["u", "v", "w"] * 40}), y, time_budget=0).rows
    assert rows.task == task
    assert told in rows.warnings[0]
    assert rows.classes in (None, (0, 1), (1, 2), (False, True))


def test_time_is_no_text_out_of_order():
    X, y = small()
    days = pandas.date_range("2024-01-28", periods=len(X))
    settings = {
        "columns": "auto",
        "drop": (),
        "family": "auto",
        "sample": None,
        "seed": 0,
        "groups": None,
        "time": "day",
    }
    shuffled = np.random.default_rng(0).permutation(len(X))
    rows = read_rows(X.assign(day=days.strftime("%Y-%m-%d")).iloc[shuffled], y[shuffled], **settings)
    np.testing.assert_array_equal(rows.y, y)
    with pytest.raises(InputError, match="no dates such as 2024-12-31"):
        read_rows(X.assign(day=days.strftime("%d/%m/%Y")), y, **settings)


def test_own_encoders_and_models_go_by_their_names():
    X, y = small()
    result = compare(
        X,
        y,
        encoders={"mine": TargetEncoder(), "whole": SamplingClassifier(), "theirs": "target"},
        models={"logistic": LogisticRegression(max_iter=1000)},
        repeats=1,
        cv=2,
    )
    assert [cell.name for cell in result.cells] == ["mine + logistic", "whole + logistic", "theirs + logistic"]
    assert result.cells[0].scores == result.cells[2].scores  # a seed is given to what has none
    with pytest.raises(InputError, match='needs "boosting" among models'):
        compare(X, y, encoders=["native"], models=["linear"])
    with pytest.raises(InputError, match=r"encoders: 'tarot' is not one of target, sampling"):
        compare(X, y, encoders=["tarot"])
    with pytest.raises(InputError, match=r"models: 'svm' is not one of boosting, linear, forest"):
        compare(X, y, models="svm")


def test_the_best_estimator_can_be_fitted_on_the_table():
    X, y = small()
    best = compare(X, y, **QUICK).best.estimator
    assert best.fit(X, y).predict_proba(X).shape == (300, 2)


def test_groups_stay_together_and_time_runs_forward():
    X, y = small()
    X.loc[:5, "merchant"] = None
    rows = {"columns": "auto", "drop": (), "family": "auto", "sample": None, "seed": 0}
    grouped = read_rows(X, y, groups="merchant", time=None, **rows)
    assert "merchant" not in grouped.X
    for train, test in make_folds(grouped, 5, None, 0)[0][0]:
        assert not set(grouped.groups[train]) & set(grouped.groups[test])
    table = X.assign(day=np.random.default_rng(0).permutation(len(X)))
    ordered = read_rows(table, y, groups=None, time="day", **rows)
    assert "day" not in ordered.X
    np.testing.assert_array_equal(ordered.y, y[np.argsort(table["day"])])
    for train, test in make_folds(ordered, 5, None, 0)[0][0]:
        assert train.max() < test.min()
    with pytest.raises(InputError, match="both given"):
        compare(X, y, groups="city", time="hour")


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 20, "binary"),
        ([True, False] * 20, "binary"),
        ([3, 7] * 20, "binary"),
        ([1, 2, 3, 4] * 10, "multiclass"),
        ([*range(8)] * 5, "multiclass"),
        ([0.5, 1.5, 2.5, 3.0] * 10, "regression"),
    ],
)
def test_the_task_is_guessed_and_told(y, task):
    rows = compare(pandas.DataFrame({"a": ["u", "v"] * 20}), y, time_budget=0).rows
    assert rows.task == task
    assert ("number" if task == "regression" else "classes") in rows.described


# ------------------------------------------------------------------------------------------------ what it survives


def test_identifiers_are_told():
    X, y = small()
    with pytest.warns(InputWarning, match=r"'code' has another value in 100% of the rows.*Consider dropping it"):
        result = compare(X.assign(code=[f"id-{i}" for i in range(len(X))]), y, **QUICK)
    assert result.best.done
    with pytest.warns(InputWarning, match="'row' numbers the rows"):
        compare(X.assign(row=range(len(X))), y, **QUICK)


def odd_tables():
    X, y = small()
    random = np.random.default_rng(0)
    yield "all missing", X.assign(void=None), y, "hold no value: 'void'"
    yield "constant", X.assign(same="x"), y, "hold one value only: 'same'"
    yield "200 columns", X.join(pandas.DataFrame({f"n{i}": random.random(len(X)) for i in range(196)})), y, ""
    times = pandas.date_range("2024-01-01", periods=len(X), tz="Europe/Oslo")
    yield "time zones", X.assign(day=times), y, ""
    yield "three rows of a class", X, np.where(np.arange(len(X)) < 3, "rare", np.where(y, "yes", "no")), ""
    yield "dates", X.assign(day=pandas.date_range("2024-01-01", periods=len(X)).where(y == 0)), y, ""
    yield "50 rows", X[:50], y[:50], ""
    yield "missing target", X, pandas.Series(np.where(np.arange(len(X)) < 7, np.nan, y)), "7 of 300 rows are left out"
    yield "infinite numbers", X.assign(amount=X["amount"].where(X["amount"] > 50, np.inf)), y, "Infinite values"
    yield "missing numbers", X.assign(amount=X["amount"].where(X["amount"] > 50)), y, ""
    yield "mixed cells", X.assign(mixed=[1, "one", None, 2.5, True] * 60), y, ""


@pytest.mark.parametrize(
    ("X", "y", "note"), [case[1:] for case in odd_tables()], ids=[case[0] for case in odd_tables()]
)
def test_odd_tables_are_survived(X, y, note):
    encoders = ["target", "one-hot", "leave-one-out", "moments", "sampling"]
    result = compare(X, y, encoders=encoders, models=["linear"], repeats=1, cv=2)
    forest = compare(X, y, encoders=["one-hot"], models={"forest": RandomForestClassifier(5)}, repeats=1, cv=2)
    assert forest.cells[0].status == "done"
    native = compare(X.iloc[:, :12], y, encoders=["native"], repeats=1, cv=2)
    assert {cell.status for cell in native.cells} == {"done"}, [(cell.name, cell.status) for cell in native.cells]
    assert {cell.status for cell in result.cells} == {"done"}, [(cell.name, cell.status) for cell in result.cells]
    assert note in " ".join([*result.rows.notes, *result.rows.warnings])


def test_what_cannot_be_compared_is_told():
    X, y = small()
    with pytest.raises(InputError, match="holds only 1: there is nothing to predict"):
        compare(X, np.ones(len(X), dtype=int))
    with pytest.raises(InputError, match="no column 'churned'"):
        compare(X, "churned")
    with pytest.raises(InputError, match="No column holds texts or categories"):
        compare(X[["hour", "amount"]], y)
    with pytest.raises(InputError, match=r"300 different values.*Is it the right column"):
        compare(X, [f"t{i}" for i in range(300)])
    with pytest.raises(InputError, match=r"holds only 1\.5: there is nothing to predict"):
        compare(X, np.full(len(X), 1.5))
    with pytest.raises(InputError, match="holds no value at all"):
        compare(X, np.full(len(X), np.nan))
    with pytest.raises(InputError, match="'city' holds no numbers, and is not among columns"):
        compare(X, y, columns=["merchant", "channel"])
    with pytest.raises(InputError, match="too few"):
        compare(X[:6], [0, 1] * 3)


class Passing(TransformerMixin, BaseEstimator):
    def transform(self, X):
        return X


class Failing(Passing):
    def fit(self, X, y=None):
        raise ValueError("I cannot\nreally")


class Slow(Passing):
    def fit(self, X, y=None):
        time.sleep(600)


class Clock:
    """Time that passes where somebody says so."""

    now = 0.0
    monotonic = perf_counter = staticmethod(lambda: Clock.now)


class Sluggish(Passing):
    def fit(self, X, y=None):
        Clock.now += 40
        return self

    def transform(self, X):
        return np.zeros((len(X), 1))


class Translating(Passing):
    """Says in its own words what stopped it, as CatBoost does."""

    def __init__(self, says):
        self.says = says

    def fit(self, X, y=None):
        try:
            time.sleep(600)
        except BaseException:
            raise self.says from None


def test_one_that_fails_says_so_and_stops_nothing():
    X, y = small()
    result = compare(X, y, encoders={"bad": Failing(), "good": "target"}, models=["linear"], repeats=1, cv=2)
    assert [cell.status for cell in result.cells] == ["failed: ValueError: I cannot", "done"]
    assert result.frame()["status"].tolist() == ["done", "failed: ValueError: I cannot"]
    assert "I cannot" in result._repr_html_()


def test_a_library_that_is_not_installed_is_left_out_by_name(monkeypatch):
    import catbayes.comparison._contestants as contestants

    find = contestants.find_spec
    monkeypatch.setattr(contestants, "find_spec", lambda name: None if name == "catboost" else find(name))
    X, y = small()
    result = compare(X, y, encoders=["native"], repeats=1, cv=2)
    status = {cell.model: cell.status for cell in result.cells}
    assert status["CatBoost"] == "not installed: pip install catboost"
    assert status["XGBoost"] == "done"


def test_the_time_budget_ends_even_a_fit_and_says_what_was_not_run():
    X, y = small()
    encoders = {"first": "target", "slow": Slow(), "late": "target"}
    result = compare(X, y, encoders=encoders, models=["linear"], repeats=1, cv=2, time_budget=2)
    assert [cell.status for cell in result.cells] == ["done", "not run: the time was up", "not run: the time was up"]
    assert not result.interrupted
    with pytest.warns(InputWarning, match=r"Nothing was finished.*not run: the time was up"):
        nothing = compare(X, y, time_budget=0)
    assert not nothing.ranked
    assert "no verdict" in nothing.sentence
    with pytest.raises(InputError, match="Nothing was finished"):
        _ = nothing.best


@pytest.mark.parametrize("says", [KeyboardInterrupt(), RuntimeError("stopped")])
def test_a_library_that_renames_what_stops_it_is_still_out_of_time(says):
    X, y = small()
    encoders = {"first": "target", "slow": Translating(says), "late": "target"}
    result = compare(X, y, encoders=encoders, models=["linear"], repeats=1, cv=2, time_budget=2)
    assert [cell.status for cell in result.cells] == ["done", "not run: the time was up", "not run: the time was up"]
    assert not result.interrupted


def test_those_without_a_score_are_told_in_a_line_a_reason():
    X, y = small()
    encoders = {"bad": Failing(), "late": "target", "later": "ordinal"}
    found = compare(X, y, encoders=encoders, models=["linear", "forest"], repeats=1, cv=2, time_budget=0)
    assert found.reasons == ["bad, late and later with logistic and forest: not run: the time was up"]
    mixed = compare(X, y, encoders={"bad": Failing(), "good": "target"}, models=["linear"], repeats=1, cv=2)
    assert mixed.reasons == ["bad with logistic: failed: ValueError: I cannot"]


def test_groups_may_be_given_as_values():
    X, y = small()
    groups = X["merchant"].to_numpy()
    gaps = np.where(np.arange(len(X)) < 20, np.nan, y)
    by_name = compare(X.assign(shop=groups), gaps, groups="shop", **QUICK | {"repeats": 1})
    by_value = compare(X, gaps, groups=groups, **QUICK | {"repeats": 1})
    assert by_value.folding == "2 folds of whole groups"
    assert [fold["auc"] for fold in by_value.best.scores.values()] == [
        fold["auc"] for fold in by_name.best.scores.values()
    ]
    with pytest.raises(InputError, match="one value for each row, or the name of a column"):
        compare(X, y, groups=groups[:5])
    with pytest.raises(InputError, match="only shuffled folds can be repeated"):
        compare(X, y, groups=groups, repeats=2)


def test_rows_without_a_target_are_told():
    X, y = small()
    with pytest.warns(InputWarning, match="7 of 300 rows are left out: their 'y' is missing"):
        compare(X, np.where(np.arange(len(X)) < 7, np.nan, y), **QUICK)


def test_what_takes_most_of_the_time_left_waits_for_the_others(monkeypatch):
    X, y = small()
    told = []
    Clock.now = time.monotonic()
    monkeypatch.setattr("catbayes.comparison._running.time", Clock)
    encoders = {"first": "target", "slow": Sluggish(), "late": "target"}
    quick = {"models": ["linear"], "repeats": 1, "cv": 5, "progress": lambda done, total, what: told.append(what)}
    result = compare(X, y, encoders=encoders, time_budget=300, **quick)
    once = [*["first + logistic"] * 5, *["slow + logistic"] * 2, *["late + logistic"] * 5]  # five of 40 s in 260 s
    assert told == [*once, *["slow + logistic"] * 4]
    assert [cell.status for cell in result.cells] == ["done"] * 3
    told.clear()
    compare(X, y, encoders=encoders, **quick)
    assert told == ["first + logistic"] * 5 + ["slow + logistic"] * 5 + ["late + logistic"] * 5


@pytest.mark.parametrize(("budget", "finished"), [(300, ["slow", "late"]), (150, ["late"])])  # five folds of 40 s
def test_the_first_one_waits_for_nobody_if_it_can_be_finished(monkeypatch, budget, finished):
    """Of the others nobody knows what they take: in the end nothing would be finished."""
    X, y = small()
    told, Clock.now = [], time.monotonic()
    monkeypatch.setattr("catbayes.comparison._running.time", Clock)
    quick = {"models": ["linear"], "repeats": 1, "cv": 5, "progress": lambda done, total, what: told.append(what)}
    result = compare(X, y, encoders={"slow": Sluggish(), "late": "target"}, time_budget=budget, **quick)
    assert [cell.encoder for cell in result.cells if cell.done] == finished
    assert ("1 of 2 had no time: allow more" in result.sentence) == (budget == 150)
    assert told[:2] == ["slow + logistic"] * 2
    assert (told[2] == "slow + logistic") == (budget == 300)


def test_models_with_their_own_handling_of_categories_run_right_after_the_first_model():
    X, y = small()
    order = [cell.name for cell in compare(X, y, time_budget=0).cells]
    assert order[:5] == [
        "target + LightGBM",
        "sampling + LightGBM",
        "native + LightGBM",
        "native + CatBoost",
        "native + HistGradient",
    ]
    assert order.index("native + XGBoost") < order.index("target + logistic") < order.index("one-hot + LightGBM")


def test_ctrl_c_returns_what_is_finished():
    X, y = small()

    def progress(done, total, what):
        if what.startswith("second"):
            raise KeyboardInterrupt

    encoders = {"first": "target", "second": "target"}
    result = compare(X, y, encoders=encoders, models=["linear"], repeats=1, cv=2, progress=progress)
    assert result.interrupted
    assert [cell.status for cell in result.cells] == ["done", "not run: interrupted"]
    assert result.best.encoder == "first"


def test_the_picture_shows_the_numbers_of_the_frame():
    X, y = small()
    result = compare(X, y, encoders=["target", "ordinal"], models=["linear"], repeats=1, cv=3)
    ax = result.plot()
    drawn = [container.lines[0].get_xdata()[0] for container in ax.containers]
    np.testing.assert_allclose(drawn, result.frame()["behind"])
    assert [label.get_text() for label in ax.get_yticklabels()] == [cell.name for cell in result.ranked]


def test_html_shows_names_as_text():
    X, y = small()
    shown = compare(
        X, y, encoders={"<script>alert(1)</script>": "target"}, models=["linear"], repeats=1, cv=2
    )._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
