"""The paper's experiments: its tables, its methods, and verdicts on results that were planted."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, kstest, t
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from catbayes import Draws, SamplingBayesianEncoder, Scaled
from experiments import curves, importance, search
from experiments import mapping as mappings
from experiments import table as results
from experiments.effort import FULL, QUICK, TINY
from experiments.holdout import MOST_SPLITS, Holdout
from experiments.methods import LeaveOneOut, Linear, Sampling, _Draws, seeds
from experiments.paper import PRINTED_DRAWS, PRINTED_PRIOR, SYNTHETIC, TABLES
from experiments.trials import Store, digest

LITTLE = replace(TINY, n_rows=150, baseline_seeds=1, repeats=2, search_trials=1)
EXPERIMENTS = {
    "table": results,
    "search": search,
    "draws": curves.DRAWS,
    "prior": curves.PRIOR,
    "importance": importance,
    "mapping": mappings,
}
OF_ALL_TABLES = ("table", "search", "mapping")


def plant(store, trials, values, name="score"):
    """Put results into a store as if the trials had run; None is one that failed."""
    for trial, value in zip(trials, values, strict=True):
        outcome = {"failed": "planted"} if value is None else {"result": {name: value}}
        store.trials[trial.key] = {
            "digest": digest(trial),
            "seconds": 0.0,
            "environment": 0,
        } | outcome


def interval(gaps, overlap):
    """Nadeau and Bengio's, by hand."""
    error = np.sqrt(np.var(gaps, ddof=1) * (1 / len(gaps) + overlap))
    half = t.ppf(0.975, len(gaps) - 1) * error
    return np.mean(gaps) - half, np.mean(gaps) + half


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results.json")


@pytest.fixture(scope="module")
def rows():
    """Two categorical columns, then a number, so that our features and the encoder's come in the same order."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"a": random.choice(list("uvw"), 240), "b": random.choice(list("pqrst"), 240)}, dtype=object)
    frame["number"] = random.normal(size=240)
    chance = 0.2 + 0.5 * (frame["a"] == "u") + 0.2 * (frame["b"] == "p")
    return frame, (random.random(240) < chance).to_numpy().astype(int), chance.to_numpy() + random.normal(size=240)


# ---------------------------------------------------------------------- what the paper prints


def test_in_figure_three_the_last_two_columns_are_categories():
    X, _, categorical = TABLES["make_classification"].read(n_binned=2)
    assert categorical == ["x8", "x9"]
    assert X.dtypes[:8].unique().tolist() == [np.dtype(float)]
    nine, _, _ = TABLES["make_classification"].read()
    assert (X["x9"] == nine["x9"]).all()


@pytest.mark.parametrize(("name", "n_rows"), [("make_classification", 10_000), ("make_hastie_10_2", 12_000)])
def test_synthetic_tables_have_nine_categories_of_2_to_15_levels(name, n_rows):
    X, y, categorical = TABLES[name].read()
    assert X.shape == (n_rows, 10)
    assert categorical == [f"x{number}" for number in range(1, 10)]
    assert [X[column].nunique() for column in categorical] == [2, 3, 4, 5, 7, 9, 11, 13, 15]
    assert X["x0"].dtype == np.float64
    assert set(y) == {0, 1}
    assert y.mean() == pytest.approx(0.5, abs=0.02)


def test_levels_are_bins_of_equal_width_in_a_broken_order():
    X, y, _ = TABLES["make_classification"].read()
    numbers, expected = make_classification(
        n_samples=10000, n_features=10, n_informative=5, n_redundant=0, class_sep=0.01, random_state=2834
    )
    np.testing.assert_array_equal(y, expected)
    last = numbers[:, 9]
    edges = np.linspace(last.min(), last.max(), 16)
    bins = np.searchsorted(edges[1:-1], last, side="right")
    assert list(X["x9"]) == [f"c{number * 103 % 15}" for number in bins]


def test_real_tables_are_those_of_the_paper(data_folder):
    X, y, categorical = TABLES["adult"].read()
    assert (X.shape, y.sum(), len(categorical)) == ((32_561, 14), 7_841, 8)
    X, y, categorical = TABLES["mercedes"].read()
    assert categorical == ["X0", "X1", "X2", "X3", "X4", "X5", "X6", "X8"]
    flags = X.drop(columns=categorical)
    assert X.shape == (4_209, 376 - 12 - 45)
    assert len({flags[column].to_numpy().tobytes() for column in flags}) == flags.shape[1]
    assert flags.nunique().min() == 2
    assert y.mean() == pytest.approx(100.67, abs=0.005)


def test_a_part_of_a_table_is_the_same_every_time_and_leaves_the_whole_alone():
    table = TABLES["make_classification"]
    X, y, _ = table.read(100)
    again, _, _ = table.read(100)
    assert len(X) == len(y) == 100
    pd.testing.assert_frame_equal(X, again)
    whole, _, _ = table.read()
    whole["x0"] = 0.0
    assert table.read()[0]["x0"].std() > 0


def test_best_parameters_lie_in_the_space_that_was_searched():
    for table in TABLES.values():
        space, ours, theirs = table.space, table.best_sampling, table.best_leave_one_out
        assert space.gamma[0] <= ours.gamma <= space.gamma[1]
        assert space.sigma[0] <= theirs.sigma <= space.sigma[1]
        assert space.n_draws[0] <= ours.n_draws <= space.n_draws[1]
        assert ours.mapping in space.mappings
        for method, leaf in ((ours, space.leaf_sampling), (theirs, space.leaf_leave_one_out)):
            assert leaf[0] <= method.min_samples_leaf <= leaf[1]
            assert space.max_depth[0] <= method.max_depth <= space.max_depth[1]
    assert all(len(curve) == 9 for printed in (PRINTED_DRAWS, PRINTED_PRIOR) for curve in printed.values())


# ---------------------------------------------------------------------- methods


def test_leave_one_out_is_category_encoders_and_a_forest(rows):
    from category_encoders import LeaveOneOutEncoder

    X, y, _ = rows
    method = LeaveOneOut(0.05, 4, 99, 2)
    encoder_seed, forest_seed, _ = seeds(3)
    for train_on in ("left out", "means"):
        encoder = LeaveOneOutEncoder(cols=["a", "b"], sigma=0.05, random_state=encoder_seed)
        left_out = encoder.fit_transform(X[:180], y[:180])
        features = left_out if train_on == "left out" else encoder.transform(X[:180])
        forest = RandomForestClassifier(
            7, max_depth=4, max_features=3, min_samples_leaf=2, random_state=forest_seed
        ).fit(features.to_numpy(), y[:180])
        fitted = replace(method, train_on=train_on).fit(X[:180], y[:180], ["a", "b"], 7, 3)
        expected = forest.predict_proba(encoder.transform(X[180:]).to_numpy())
        np.testing.assert_allclose(fitted.predict(X[180:]), expected)
    means = X[:180].assign(y=y[:180]).groupby("a")["y"].transform("mean")
    np.testing.assert_allclose(features["a"], means)


@pytest.mark.parametrize("numeric", [False, True])
def test_sampling_averages_what_a_forest_says_of_each_draw(rows, numeric):
    X, labels, numbers = rows
    y = numbers if numeric else labels
    method = Sampling(1e-3, 6, "polynomial", 4, 99, 3)
    encoder_seed, forest_seed, _ = seeds(8)
    prior = Scaled(1e-3, strength=0) if numeric else 1e-3
    encoder = SamplingBayesianEncoder(
        ["a", "b"],
        prior=prior,
        mapping="polynomial",
        own_target="include",
        draws=Draws(1.0),
        random_state=encoder_seed,
    )
    copies = encoder.augment(X[:180], y[:180], n_draws=6).X
    kind = RandomForestRegressor if numeric else RandomForestClassifier
    forest = kind(5, max_depth=4, max_features=5, min_samples_leaf=3, random_state=forest_seed)
    forest.fit(copies, np.tile(y[:180], 6))
    total = 0.0
    for draw in encoder.sample(X[180:], 6):
        total = total + (forest.predict(draw) if numeric else forest.predict_proba(draw))
    fitted = method.fit(X[:180], y[:180], ["a", "b"], 5, 8)
    np.testing.assert_allclose(fitted.predict(X[180:]), total / 6)
    assert fitted.columns == ["a", "a", "b", "b", "number"]
    assert sum(fitted.importance().values()) == pytest.approx(1.0)


def test_draws_of_a_probability_come_from_the_posterior_of_the_paper(rows):
    X, y, _ = rows
    gamma, n_draws = 0.02, 40
    draws = _Draws.fit(Sampling(gamma, n_draws, "mean", 5, 3, 1), X, y, ["a", "b"], 1)
    for level in "uvw":  # equations 5 to 8; rows of a level share a posterior only if none is left out of its own
        own = (X["a"] == level).to_numpy()
        alpha, rest = 1 + y[own].sum(), 1 + (1 - y[own]).sum()
        drawn = draws.copies[np.tile(own, n_draws), 0]
        assert kstest(drawn, beta(alpha + gamma * y.sum(), rest + gamma * (1 - y).sum()).cdf).pvalue > 1e-3
        if level == "u":  # far from the mean of all rows, so that the prior can be seen
            assert kstest(drawn, beta(alpha, rest).cdf).pvalue < 1e-6


def test_draws_of_a_mean_come_from_the_posterior_of_the_paper(rows):
    X, _, y = rows
    gamma, n_draws = 0.5, 40
    draws = _Draws.fit(Sampling(gamma, n_draws, "mean", 5, 3, 1), X, y, ["a", "b"], 1)
    for level in "uvw":  # equations 12 to 18 with ν = 0: μ is Student's t about the plain mean of the level
        own = (X["a"] == level).to_numpy()
        alpha = (gamma * len(y) + own.sum()) / 2
        rate = (gamma * np.sum((y - y.mean()) ** 2) + np.sum((y[own] - y[own].mean()) ** 2)) / 2
        posterior = t(2 * alpha, y[own].mean(), np.sqrt(rate / alpha / own.sum()))
        assert kstest(draws.copies[np.tile(own, n_draws), 0], posterior.cdf).pvalue > 1e-3


def test_the_linear_model_weighs_a_copy_by_one_over_k(rows):
    X, y, _ = rows
    fitted = Linear(1e-3, 4, "weight_of_evidence").fit(X, y, ["a", "b"], 0, 2)
    copies = _Draws.fit(Linear(1e-3, 4, "weight_of_evidence"), X, y, ["a", "b"], seeds(2)[0])
    scaled = StandardScaler().fit(copies.copies)
    # Weights of 1/K on the loss are the same as a penalty K times as strong.
    by_hand = LogisticRegression(C=1 / 4, max_iter=1000).fit(scaled.transform(copies.copies), copies.y)
    np.testing.assert_allclose(fitted.model[-1].coef_, by_hand.coef_, atol=1e-3)


def test_no_two_things_share_a_seed():
    drawn = [number for seed in (*range(30), 2834, 8506) for number in seeds(seed)]
    assert len(set(drawn) | {2834, 8506, *range(30)}) == len(drawn) + 32


def test_a_holdout_scores_the_fifth_that_it_did_not_train_on():
    trial = Holdout("make_classification", LeaveOneOut(0.01, 3, 5, 1), 2834, 3, 0, 300)
    X, y, categorical = TABLES["make_classification"].read(300)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=2834)
    chosen = trial.method.fit(X, y, categorical, 3, 0).predict(X_test).argmax(axis=1)
    assert trial.run() == {"score": accuracy_score(y_test, chosen)}
    expected = "make_classification, leave-one-out (left out) σ=0.01, depth 3, features 5, leaf 1"
    assert trial.key == f"{expected}, split 2834, 3 trees, seed 0, 300 rows"


# ---------------------------------------------------------------------- experiments, end to end


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_runs_once_from_its_trials_to_its_figures(name, request, store, tmp_path):
    if name in OF_ALL_TABLES:
        request.getfixturevalue("data_folder")
    experiment = EXPERIMENTS[name]
    trials = experiment.trials(LITTLE)
    if name in ("search", "mapping"):  # the other half differs in the table only
        trials = [trial for trial in trials if trial.table in ("make_classification", "mercedes")]
    empty = experiment.summarise(store, LITTLE)
    store.run(trials)
    assert not [record["failed"] for record in store.trials.values() if "failed" in record]
    summary = experiment.summarise(store, LITTLE)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary != empty

    reports = []
    again = Store(store.path)
    again.run(trials, progress=lambda *report: reports.append(report))
    assert reports == [(len(trials), len(trials), "")]
    assert experiment.summarise(again, LITTLE) == summary
    for path in experiment.draw(summary, tmp_path) if hasattr(experiment, "draw") else []:
        assert path.parent == tmp_path
        assert 5_000 < path.stat().st_size < 60_000


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("effort", [FULL, QUICK, TINY], ids=lambda effort: effort.name)
def test_trials_have_names_of_their_own(name, effort):
    keys = [trial.key for trial in EXPERIMENTS[name].trials(effort)]
    assert len(set(keys)) == len(keys)
    assert bool(keys) == (name != "search" or effort.search_trials > 0)


def test_a_changed_setting_is_run_again(store):
    trial = Holdout("make_classification", LeaveOneOut(0.01, 3, 5, 1), 0, 3, 0, 200)
    plant(store, [trial], [0.123])
    assert store.result(trial) == {"score": 0.123}
    finer = replace(trial, method=replace(trial.method, sigma=0.010001))
    assert finer.key == trial.key  # too small a change to be seen in the name
    assert store.result(finer) is None
    store.run([finer])
    assert store.result(finer)["score"] > 0.3
    assert store.result(trial) is None


def test_failed_trials_are_run_again(store):
    trial = Holdout("make_classification", LeaveOneOut(0.01, 3, 5, 1), 0, 3, 0, 200)
    plant(store, [trial], [None])
    store.run([trial])
    assert store.result(trial)["score"] > 0.3


# ---------------------------------------------------------------------- verdicts on planted results

NOISE = np.array([0.004, -0.002, 0.001, -0.003, 0.0] * 4)


@pytest.mark.parametrize(("gain", "word"), [(0.02, "holds"), (0.0, "within noise"), (-0.02, "does not hold")])
def test_the_table_finds_a_planted_gain(store, gain, word):
    table = TABLES["adult"]
    baseline = 0.8 + 10 * NOISE  # the splits differ far more than the methods do
    plant(store, results._repeats(FULL, table, table.best_leave_one_out), baseline)
    plant(store, results._repeats(FULL, table, table.best_sampling), baseline + gain + NOISE)
    summary = results.summarise(store, FULL)["tables"]
    found = summary["adult"]["repeats"]
    verdict = found["sampling_minus_leave_one_out"]
    assert verdict["word"] == word
    assert (verdict["low"], verdict["high"]) == pytest.approx(interval(gain + NOISE, 0.25))
    assert (found["leave_one_out"], found["sampling"]) == pytest.approx((0.8, 0.8 + gain))
    assert summary["mercedes"]["repeats"]["sampling_minus_leave_one_out"] is None


def test_a_failed_trial_takes_its_partner_out_of_the_verdict(store):
    table = TABLES["mercedes"]
    plant(store, results._repeats(FULL, table, table.best_leave_one_out), [None, *0.5 + 0 * NOISE[1:]])
    plant(store, results._repeats(FULL, table, table.best_sampling), [*0.6 + NOISE[:-1], None])
    verdict = results.summarise(store, FULL)["tables"]["mercedes"]["repeats"]["sampling_minus_leave_one_out"]
    assert verdict["n_splits"] == 18
    assert verdict["gain"] == pytest.approx(0.1 + NOISE[1:-1].mean())


def test_scores_on_the_printed_split_are_set_beside_the_printed_ones(store):
    table = TABLES["adult"]  # prints 0.8647 and 0.8652
    for name, scores in {"leave_one_out": [0.85, 0.86, 0.855, 0.85, 0.86], "sampling": [0.866]}.items():
        plant(store, results._printed(FULL, table, name, results._methods(table)[name]), scores)
    found = results.summarise(store, FULL)["tables"]["adult"]["printed_split"]
    ours = found["leave_one_out"]
    assert (ours["mean"], ours["min"], ours["max"], ours["n_seeds"]) == (pytest.approx(0.855), 0.85, 0.86, 5)
    assert ours["distance"] == pytest.approx(0.855 - 0.8647)
    assert not ours["close"]
    assert found["sampling"]["distance"] == pytest.approx(0.866 - 0.8652, abs=0.001)
    assert found["sampling"]["close"]
    assert found["category_means"] is None


def planted_curve(store, curve, table, level):
    """Scores by value, the same noise of the folds for all but what is paired."""
    for number, value in enumerate(curve._values(FULL)):
        plant(store, curve._folds(FULL, table, value), level(value) + 5 * NOISE[:10] + np.roll(NOISE[:10], number) / 10)


def test_curves_judge_the_claims_about_k(store):
    planted_curve(store, curves.DRAWS, "make_classification", lambda k: 0.65 if k < 2 else 0.67)
    planted_curve(store, curves.DRAWS, "make_hastie_10_2", lambda k: 0.8 + 0.002 * k)
    tables = curves.DRAWS.summarise(store, FULL)["tables"]
    (flat,), (growing,) = (tables[name]["claims"] for name in SYNTHETIC)
    assert (flat["value"], flat["reference"], flat["verdict"]["word"], flat["told"]) == (9, 2, "within noise", "agrees")
    assert (growing["verdict"]["word"], growing["told"]) == ("holds", "agrees")
    assert growing["verdict"]["gain"] == pytest.approx(0.002 * 7)
    gaps = 0.014 + (np.roll(NOISE[:10], 8) - np.roll(NOISE[:10], 1)) / 10
    assert (growing["verdict"]["low"], growing["verdict"]["high"]) == pytest.approx(interval(gaps, 1 / 9))
    assert tables["make_hastie_10_2"]["mean"] == pytest.approx([0.8 + 0.002 * k for k in range(1, 10)])
    assert tables["make_hastie_10_2"]["sd"][0] == pytest.approx(np.std(5 * NOISE[:10] + NOISE[:10] / 10))


def test_curves_contradict_a_claim_that_the_folds_do_not_bear_out(store):
    planted_curve(store, curves.DRAWS, "make_classification", lambda k: 0.65 + 0.002 * k)
    planted_curve(store, curves.DRAWS, "make_hastie_10_2", lambda k: 0.8 - 0.002 * k)
    tables = curves.DRAWS.summarise(store, FULL)["tables"]
    words = [(claim["verdict"]["word"], claim["told"]) for name in SYNTHETIC for claim in tables[name]["claims"]]
    assert words == [("holds", "does not agree"), ("does not hold", "does not agree")]


def test_a_wide_interval_is_no_proof_of_equality(store):
    for number, k in enumerate(curves.DRAWS._values(FULL)):
        trials = curves.DRAWS._folds(FULL, "make_classification", k)
        plant(store, trials, 0.67 + 10 * np.roll(NOISE[:10], number))
    (claim,) = curves.DRAWS.summarise(store, FULL)["tables"]["make_classification"]["claims"]
    assert (claim["verdict"]["word"], claim["told"]) == ("within noise", "cannot be told")


def test_curves_judge_the_claims_about_the_prior(store):
    planted_curve(store, curves.PRIOR, "make_classification", lambda gamma: 0.66 if gamma > 1e-3 else 0.67)
    planted_curve(store, curves.PRIOR, "make_hastie_10_2", lambda gamma: 0.8 + gamma)
    plant(store, curves.PRIOR._folds(FULL, "make_classification", "empirical"), 0.672 + NOISE[:10])
    tables = curves.PRIOR.summarise(store, FULL)["tables"]
    little, harm = tables["make_classification"]["claims"]
    assert (little["value"], little["reference"]) == (1e-4, 1e-10)
    assert (harm["value"], harm["reference"]) == (1e-10, 1e-2)
    assert (little["told"], harm["told"]) == ("agrees", "agrees")
    assert harm["verdict"]["gain"] == pytest.approx(0.01)
    assert [claim["told"] for claim in tables["make_hastie_10_2"]["claims"]] == ["agrees", "does not agree"]
    assert tables["make_classification"]["empirical"] == pytest.approx(0.672)
    assert tables["make_hastie_10_2"]["empirical"] is None


@pytest.mark.parametrize(("share", "word"), [(0.7, "holds"), (0.8, "within noise"), (0.9, "does not hold")])
def test_less_importance_under_sampling_is_what_the_claim_says(store, share, word):
    for name, method in importance._methods("make_hastie_10_2").items():
        values = (share if name == "sampling" else 0.8) + np.roll(NOISE[:MOST_SPLITS], len(name))
        for trial, value in zip(importance._splits(FULL, "make_hastie_10_2", method), values, strict=True):
            plant(store, [trial], [value], "categorical")
            store.trials[trial.key]["result"]["shares"] = {"x0": 1 - value, "x1": value}
    found = importance.summarise(store, FULL)["tables"]
    verdicts = found["make_hastie_10_2"]["reference_minus_sampling"]
    assert {verdict["word"] for verdict in verdicts.values()} == {word}
    assert verdicts["category_means"]["gain"] == pytest.approx(0.8 - share)
    assert found["make_hastie_10_2"]["methods"]["sampling"]["shares"]["x1"] == pytest.approx(share)
    assert found["make_classification"]["methods"]["sampling"] is None


def test_mappings_are_judged_against_the_mean_for_each_model(store):
    gains = {"mean": 0.0, "weight_of_evidence": 0.03, "mean_precision": 0.0, "polynomial": -0.03}
    for number, (mapping, gain) in enumerate(gains.items()):
        noise = np.roll(NOISE[:MOST_SPLITS], number)
        plant(store, mappings._splits(FULL, "adult", "linear", mapping), 0.8 + gain + noise)
    adult = mappings.summarise(store, FULL)["tables"]["adult"]
    found = adult["linear"]["mappings"]
    words = {mapping: part["minus_mean"]["word"] for mapping, part in found.items() if mapping != "mean"}
    expected = {"weight_of_evidence": "holds", "mean_precision": "within noise", "polynomial": "does not hold"}
    assert words == expected
    assert found["mean"] == {"score": pytest.approx(0.8), "minus_mean": None}
    assert adult["linear"]["best_minus_worst"] == pytest.approx(0.06)
    assert adult["forest"]["best_minus_worst"] is None
    numbers = mappings.summarise(store, FULL)["tables"]["mercedes"]["linear"]["mappings"]
    assert list(numbers) == ["mean", "identity", "polynomial", "mean_precision"]
