"""compare: the same numbers as a loop written by hand, on tables of every kind."""

import json
from dataclasses import replace

import numpy as np
import pandas
import polars
import pyarrow
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

from catbayes import InputError, InputWarning, SamplingClassifier, compare, recommended_encoder
from catbayes.comparison import ENCODERS, Cell
from catbayes.comparison.contestants import BOOSTERS
from catbayes.datasets import make_transactions

QUICK = {"encoders": ["target"], "models": ["linear"], "repeats": 1, "cv": 2}
TIED = "statistically tied"
PAIR = {"cv": 2, "repeats": 1, "models": ["linear"]}


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    library, start, settings = BOOSTERS["CatBoost"]
    monkeypatch.setitem(BOOSTERS, "CatBoost", (library, start, settings | {"iterations": 10}))


def small(n_rows=300, target="fraud"):
    data = make_transactions(n_rows, target)
    return data.table.drop(columns=["time", "device"]), data.y


def read(table, y, **how):
    """Read a table without running anything."""
    with pytest.warns(InputWarning, match="Nothing was finished"):
        return compare(table, y, time_budget=0, **how)


# ------------------------------------------------------------------------------------------------ scores


def by_hand(name):
    """Build the pipeline of an encoder."""
    names, kept = ["merchant", "city", "channel"], ["hour", "amount"]
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    logistic = LogisticRegression(max_iter=1000)
    if name == "target":
        encoder = TargetEncoder(cv=StratifiedKFold(5, shuffle=True, random_state=0))
        return make_pipeline(make_column_transformer((encoder, names), (numbers, kept)), logistic)
    if name == "one-hot":
        encoder = OneHotEncoder(handle_unknown="infrequent_if_exist")
        return make_pipeline(make_column_transformer((encoder, names), (numbers, kept)), logistic)
    if name == "ordinal":
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
        forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
        return make_pipeline(make_column_transformer((codes, names), ("passthrough", kept)), forest)
    scaled = make_column_transformer((numbers, kept), remainder="passthrough", verbose_feature_names_out=False)
    ours = SamplingClassifier(logistic, recommended_encoder(logistic, columns=names), random_state=0)
    return make_pipeline(scaled.set_output(transform="pandas"), ours)


@pytest.mark.parametrize(
    ("name", "model"),
    [("target", "linear"), ("one-hot", "linear"), ("ordinal", "forest"), ("sampling", "linear")],
)
def test_scores_equal_those_of_cross_validate(name, model):
    X, y = small()
    found = compare(X, y, encoders=[name], models=[model], repeats=2, cv=3).best
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    expected = cross_validate(by_hand(name), X, y, cv=folds, scoring=["roc_auc", "neg_log_loss", "accuracy"])
    scores = {measure: [fold[measure] for fold in found.scores.values()] for measure in found.scores[0]}
    np.testing.assert_allclose(scores["auc"], expected["test_roc_auc"], rtol=1e-12)
    np.testing.assert_allclose(scores["log_loss"], -expected["test_neg_log_loss"], rtol=1e-12)
    np.testing.assert_allclose(scores["accuracy"], expected["test_accuracy"], rtol=1e-12)


@pytest.mark.parametrize("target", ["fraud", "outcome", "amount"])
def test_every_encoder_runs_on_every_task(target):
    X, y = small(120, target)
    names = [name for name in ENCODERS if name != "glmm"]
    result = compare(X, y, encoders=names, models=["boosting"], repeats=1, cv=2)
    assert {cell.status for cell in result.cells} == {"done"}, [cell.status for cell in result.cells]
    assert {cell.encoder for cell in result.cells} == set(names)
    for name in ("native", "sampling"):
        assert [cell.model for cell in result.cells if cell.encoder == name] == [*BOOSTERS]
    others = compare(X, y, encoders=["target", "one-hot", "paper"], models=["linear", "forest"], repeats=1, cv=2)
    assert {cell.status for cell in others.cells} == {"done"}


@pytest.mark.parametrize(
    ("y", "predicted", "error"),
    [
        ([1, 1, 1, 1], [0.5] * 4, 0.5),
        ([1, 0, 0, 0], [0.25] * 4, 0.0),
        ([0, 1, 0, 1], [0.1, 0.9, 0.1, 0.9], 0.1),
    ],
)
def test_calibration_error_is_the_distance_of_probability_and_share(y, predicted, error):
    class Fixed(BaseEstimator):
        _estimator_type = "classifier"

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            chance = np.tile(predicted, 5)[: len(X)]
            return np.column_stack([1 - chance, chance])

    X = pandas.DataFrame({"c": list("ab") * 20})
    folds = [(np.arange(20, 40), np.arange(20))]
    labels = np.concatenate([np.tile(y, 5), np.tile([0, 1], 10)])
    found = compare(X, labels, encoders=["target"], models={"fixed": Fixed()}, cv=folds, by="calibration_error")
    assert found.best.scores[0]["calibration_error"] == pytest.approx(error)


# ------------------------------------------------------------------------------------------------ verdicts


def planted(scores, by="auc"):
    """Return a result with these scores, on folds of a fifth of the rows."""
    table, y = pandas.DataFrame({"a": ["u", "v"] * 50}), np.arange(100) % 3 == 0
    result = read(table, y, by=by, cv=5, repeats=1)
    measures = ("auc", "log_loss", "accuracy", "calibration_error")
    cells = [
        Cell(name, "m", None, "done", {i: dict.fromkeys(measures, v) for i, v in enumerate(values)}, {0: 1.0}, {0: 1.0})
        for name, values in scores.items()
    ]
    return replace(result, cells=tuple(cells))


def test_the_standard_error_allows_for_shared_training_rows():
    result = planted({"one": [0.9, 0.8, 0.7, 0.9, 0.8], "other": [0.8, 0.8, 0.6, 0.7, 0.8]})
    gap, differences = result.difference(result.cells[1]), np.array([0.1, 0.0, 0.1, 0.2, 0.0])
    assert gap.behind == pytest.approx(0.08)
    assert gap.standard_error == pytest.approx(np.sqrt(differences.var(ddof=1) * (1 / 5 + 20 / 80)))
    assert gap.margin == pytest.approx(stats.t.ppf(0.975, 4) * gap.standard_error)


def test_differences_within_noise_are_ties():
    result = planted({"a": [0.90, 0.91, 0.92, 0.91, 0.90], "b": [0.9, 0.9, 0.93, 0.9, 0.91], "c": [0.5] * 5})
    assert result.frame()[["encoder", "verdict"]].to_numpy().tolist() == [["a", "best"], ["b", TIED], ["c", "worse"]]
    assert "1 of the other 2 is statistically tied" in result.sentence
    lower_is_better = planted({"a": [0.5] * 5, "b": [0.4, 0.41, 0.4, 0.41, 0.4]}, by="log_loss")
    assert lower_is_better.best.encoder == "b"
    assert lower_is_better.difference(lower_is_better.cells[0]).behind == pytest.approx(0.096)


def test_a_single_fold_gives_no_verdict():
    X, y = small()
    found = compare(X, y, encoders=["target", "ordinal"], models=["linear"], cv=[(np.arange(200), np.arange(200, 300))])
    assert set(found.frame()["verdict"]) == {"best", "cannot tell"}


def test_folds_of_a_single_class_are_left_out():
    X, y = small()
    X, late = X.assign(day=range(len(X))), np.arange(len(X)) >= 250  # the last of five folds, 50 rows each
    settings = {"encoders": ["target"], "models": ["linear"], "time": "day"}
    result = compare(X, np.where(late, 0, y), **settings)
    assert result.common == [0, 1, 2, 3]
    json.dumps(result.to_dict(), allow_nan=False)
    early = compare(X, np.where(np.arange(len(X)) < 120, 0, y), **settings)  # nothing to learn from in the first two
    assert "2 of them left out" in early.folding
    with pytest.warns(InputWarning, match="No fold has a value of AUC"):
        compare(X, np.where(np.arange(len(X)) < 3, [1, 1, 1] * 100, 0), **settings)


# ------------------------------------------------------------------------------------------------ input


def test_containers_and_files_give_the_same_scores(tmp_path):
    X, y = small(200)
    table = X.assign(fraud=y)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    expected = [fold["log_loss"] for fold in compare(X, y, **QUICK).best.scores.values()]
    tables = [table, polars.from_pandas(table), polars.from_pandas(table).lazy(), pyarrow.Table.from_pandas(table)]
    for source in (*tables, tmp_path / "t.csv", str(tmp_path / "*.parquet")):
        found = compare(source, "fraud", **QUICK)
        assert found.rows.categorical == ("merchant", "city", "channel")
        assert [fold["log_loss"] for fold in found.best.scores.values()] == pytest.approx(expected, rel=1e-9)
    array = compare(X.to_numpy(dtype=object), y, columns=["x0", "x1", "x2"], **QUICK)
    assert array.rows.numeric == ("x3", "x4")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": [1] * 300}, "fewer than two different values"),
        ({"y": "churned"}, "no column 'churned'"),
        ({"y": [f"t{i}" for i in range(300)]}, r"300 different values.*Is it the right column"),
        ({"table": lambda X: X[["hour", "amount"]]}, "No column has texts or categories"),
        ({"columns": ["merchant", "channel"]}, "'city' is not numeric"),
        ({"groups": "city", "time": "hour"}, "both given"),
        ({"groups": [1, 2]}, "one value for each of 300 rows"),
        ({"drop": "city"}, r"drop=\[\"city\"\]"),
        ({"by": "r2"}, "by='r2': expected one of auc"),
        ({"encoders": ["tarot"]}, "'tarot' is not one of target, sampling"),
        ({"encoders": ["native"], "models": ["linear"]}, 'needs "boosting" among models'),
    ],
)
@pytest.mark.filterwarnings("ignore::catbayes.InputWarning")
def test_what_cannot_be_compared_is_an_error(given, message):
    X, y = small()
    table = given.pop("table", lambda X: X)(X)
    with pytest.raises(InputError, match=message):
        compare(table, given.pop("y", y), **given)


def test_groups_stay_together_and_may_be_values():
    X, y = small()
    groups = X["merchant"].to_numpy()
    named, given = (
        compare(X, y, groups="merchant", **QUICK),
        compare(X.drop(columns="merchant"), y, groups=groups, **QUICK),
    )
    assert "merchant" not in named.rows.X
    assert [cell.scores for cell in named.cells] == [cell.scores for cell in given.cells]
    for train, test in named.folds:
        assert not set(named.rows.groups[train]) & set(named.rows.groups[test])


def test_rows_are_predicted_from_earlier_ones():
    X, y = small()
    days = pandas.date_range("2024-01-28", periods=len(X))
    shuffled = np.random.default_rng(0).permutation(len(X))
    found = read(X.assign(day=days.strftime("%Y-%m-%d")).iloc[shuffled], y[shuffled], time="day")
    np.testing.assert_array_equal(found.rows.y, y)
    assert all(train.max() < test.min() for train, test in found.folds)
    with pytest.raises(InputError, match="not dates such as 2024-12-31"):
        compare(X.assign(day=days.strftime("%d/%m/%Y")), y, time="day")


# ------------------------------------------------------------------------------------------------ runs


class Failing(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        raise ValueError("I cannot\nreally")

    def transform(self, X):
        return X


def test_a_failure_is_reported_and_stops_nothing():
    X, y = small()
    result = compare(X, y, encoders={"bad": Failing(), "good": "target"}, **PAIR)
    assert [cell.status for cell in result.cells] == ["failed: ValueError: I cannot", "done"]
    assert result.reasons == ["bad + logistic: failed: ValueError: I cannot"]
    assert "I cannot" in result._repr_html_()


def test_a_library_that_is_not_installed_is_reported(monkeypatch):
    from importlib.util import find_spec

    hidden = ("catboost", "lightgbm")
    monkeypatch.setattr(
        "catbayes.comparison.contestants.find_spec", lambda name: None if name in hidden else find_spec(name)
    )
    named = compare(*small(), encoders=["native"], models=["CatBoost", "HistGradient"], repeats=1, cv=2)
    assert [cell.status for cell in named.cells] == ["not installed: pip install catboost", "done"]
    whole = read(*small())
    assert {cell.model for cell in whole.cells} == {"HistGradient", "XGBoost", "logistic", "forest"}
    assert whole.rows.notes == ("Not installed, so left out: lightgbm, catboost.",)


def test_no_fold_starts_after_the_time_budget():
    X, y = small()
    nothing = read(X, y)
    assert nothing.reasons[0].endswith("not run: the time was up")
    order = [cell.name for cell in nothing.cells]
    first = ["target + LightGBM", "sampling + LightGBM", "native + LightGBM"]
    assert order[:4] == [*first, "sampling + HistGradient"]  # the most useful first
    with pytest.raises(InputError, match="Nothing was finished"):
        _ = nothing.best


def test_ctrl_c_returns_what_is_finished():
    def progress(done, total, what):
        if what.startswith("second"):
            raise KeyboardInterrupt

    result = compare(*small(), encoders={"first": "target", "second": "target"}, progress=progress, **PAIR)
    assert result.interrupted
    assert [cell.status for cell in result.cells] == ["done", "not run: interrupted"]


def test_the_plot_shows_the_numbers_of_the_frame():
    result = compare(*small(), encoders=["target", "ordinal"], models=["linear"], repeats=1, cv=3)
    ax = result.plot()
    drawn = [container.lines[0].get_xdata()[0] for container in ax.containers]
    np.testing.assert_allclose(drawn, result.frame()["behind"])
    assert [label.get_text() for label in ax.get_yticklabels()] == [cell.name for cell in result.ranked]


def test_text_is_short_and_html_escapes_names():
    found = compare(*small(), encoders={"<script>alert(1)</script>": "target", "fine": "ordinal"}, **PAIR)
    text, page = repr(found), found._repr_html_()
    assert text.startswith(found.sentence)
    assert len(text.splitlines()) == 5  # its code is one line, as the encoders are the caller's
    assert text.endswith(found.code)
    assert "nan" not in text + page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


OF_BOOSTERS = [(encoder, model) for encoder in ("sampling", "native") for model in BOOSTERS]


@pytest.mark.parametrize(("encoder", "model"), [*OF_BOOSTERS, ("target", "linear"), ("sampling", "forest")])
@pytest.mark.parametrize("target", ["fraud", "visits"])
def test_the_code_of_the_best_fits_it(encoder, model, target):
    X, y = small(200, target)
    X = X.fillna("(missing)")
    family = "auto" if target == "fraud" else "poisson"
    best = compare(X, y, encoders=[encoder], models=[model], family=family, repeats=1, cv=2)
    names = {"X": X, "y": y}
    exec(best.code, names)
    assert 4 <= len(best.code.splitlines()) <= 5
    expected = best.best.estimator.fit(best.rows.X, best.rows.y).predict(best.rows.X)
    np.testing.assert_allclose(names["model"].predict(names["X"]), expected)
    assert best.code in repr(best)
