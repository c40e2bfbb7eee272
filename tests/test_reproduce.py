"""The paper's experiments: its tables, its methods, verdicts on planted results, and the command."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import beta, kstest, t

from experiments import effort, table
from experiments.__main__ import command
from experiments.effort import FULL, TINY
from experiments.holdout import Holdout
from experiments.methods import Sampling, _Draws
from experiments.paper import TABLES
from experiments.run import EXPERIMENTS, reproduce
from experiments.trials import Store, digest
from experiments.verdict import judge

LITTLE = replace(TINY, n_rows=150, baseline_seeds=1, repeats=2, search_trials=1)
NOISE = np.array([0.004, -0.002, 0.001, -0.003, 0.0] * 4)


def plant(store, trials, values, name="score"):
    """Store results as if the trials had run; None is a failed one."""
    store.environments = [{"python": "3"}]
    for trial, value in zip(trials, values, strict=True):
        outcome = {"failed": "planted"} if value is None else {"result": {name: value}}
        store.trials[trial.key] = {"digest": digest(trial), "seconds": 0.0, "environment": 0} | outcome


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results.json")


@pytest.fixture(scope="module")
def rows():
    """Two categorical columns and a number, two classes and a numeric target."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"a": random.choice(list("uvw"), 240), "b": random.choice(list("pqrst"), 240)}, dtype=object)
    frame["number"] = random.normal(size=240)
    chance = 0.2 + 0.5 * (frame["a"] == "u") + 0.2 * (frame["b"] == "p")
    return frame, (random.random(240) < chance).to_numpy().astype(int), chance.to_numpy() + random.normal(size=240)


# ---------------------------------------------------------------------- tables and methods


@pytest.mark.parametrize(("name", "n_rows"), [("make_classification", 10_000), ("make_hastie_10_2", 12_000)])
def test_synthetic_tables_have_nine_categorical_columns_of_2_to_15_levels(name, n_rows):
    X, y, categorical = TABLES[name].read()
    assert X.shape == (n_rows, 10)
    assert [X[column].nunique() for column in categorical] == [2, 3, 4, 5, 7, 9, 11, 13, 15]
    assert y.mean() == pytest.approx(0.5, abs=0.02)
    assert TABLES[name].read(n_binned=2)[2] == categorical[-2:]  # as in figure 3


def test_draws_of_a_probability_have_the_posterior_of_the_paper(rows):
    X, y, _ = rows
    gamma, n_draws = 0.02, 40
    draws = _Draws.fit(Sampling(gamma, n_draws, "mean", 5, 3, 1), X, y, ["a", "b"], 1)
    for level in "uvw":  # equations 5 to 8
        own = (X["a"] == level).to_numpy()
        alpha, rest = 1 + y[own].sum(), 1 + (1 - y[own]).sum()
        drawn = draws.copies[np.tile(own, n_draws), 0]
        assert kstest(drawn, beta(alpha + gamma * y.sum(), rest + gamma * (1 - y).sum()).cdf).pvalue > 1e-3
        if level == "u":  # far from the mean of all rows, so that the prior matters
            assert kstest(drawn, beta(alpha, rest).cdf).pvalue < 1e-6


def test_draws_of_a_mean_have_the_posterior_of_the_paper(rows):
    X, _, y = rows
    gamma, n_draws = 0.5, 40
    draws = _Draws.fit(Sampling(gamma, n_draws, "mean", 5, 3, 1), X, y, ["a", "b"], 1)
    for level in "uvw":  # equations 12 to 18 with ν = 0: μ is Student's t about the plain mean of the level
        own = (X["a"] == level).to_numpy()
        alpha = (gamma * len(y) + own.sum()) / 2
        rate = (gamma * np.sum((y - y.mean()) ** 2) + np.sum((y[own] - y[own].mean()) ** 2)) / 2
        posterior = t(2 * alpha, y[own].mean(), np.sqrt(rate / alpha / own.sum()))
        assert kstest(draws.copies[np.tile(own, n_draws), 0], posterior.cdf).pvalue > 1e-3


# ---------------------------------------------------------------------- runs


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_runs_from_its_trials_to_its_figures(name, request, store, tmp_path):
    if name in ("table", "search", "mapping"):
        request.getfixturevalue("data_folder")
    experiment = EXPERIMENTS[name]
    trials = experiment.trials(LITTLE)
    assert len({trial.key for trial in experiment.trials(FULL)}) == len(experiment.trials(FULL))
    if name in ("search", "mapping"):  # the other half differs in the table only
        trials = [trial for trial in trials if trial.table in ("make_classification", "mercedes")]
    store.run(trials)
    assert not [record["failed"] for record in store.trials.values() if "failed" in record]
    summary = experiment.summarise(store, LITTLE)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    for path in experiment.draw(summary, tmp_path) if hasattr(experiment, "draw") else []:
        assert 5_000 < path.stat().st_size < 60_000


def test_the_command_goes_on_after_an_interruption_and_writes_its_page(monkeypatch, tmp_path):
    monkeypatch.setitem(effort.EFFORTS, "quick", LITTLE)

    def stop(done, total, what):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(["draws"], tmp_path, effort="quick", progress=stop)
    kept = Store(tmp_path / "draws.json").trials
    assert len(kept) == 3
    page = tmp_path / "docs" / "results.md"
    page.parent.mkdir()
    given = ["draws", "--quick", "--folder", str(tmp_path), "--page", str(page), "--jobs", "1"]
    assert CliRunner().invoke(command, given).exit_code == 0
    assert Store(tmp_path / "draws.json").trials.items() >= kept.items()
    assert "(../draws.png)" in page.read_text(encoding="utf-8")


# ---------------------------------------------------------------------- verdicts on planted results


def test_the_interval_is_that_of_nadeau_and_bengio():
    verdict = judge([1.0, 2.0, 3.0], overlap=0.5)
    assert verdict["gain"] == 2.0
    assert verdict["error"] == pytest.approx(np.sqrt(1.0 * (1 / 3 + 0.5)))
    assert verdict["high"] - verdict["low"] == pytest.approx(2 * t.ppf(0.975, 2) * verdict["error"])


@pytest.mark.parametrize(("gain", "word"), [(0.02, "holds"), (0.0, "within noise"), (-0.02, "does not hold")])
def test_the_table_finds_a_planted_gain(store, tmp_path, gain, word):
    adult = TABLES["adult"]
    baseline = 0.8 + 10 * NOISE  # the splits differ far more than the methods
    of = {method: [Holdout("adult", method, n, FULL.trees, n, None) for n in range(20)] for method in _both(adult)}
    plant(store, of[adult.best_leave_one_out], baseline)
    plant(store, of[adult.best_sampling], baseline + gain + NOISE)
    found = table.summarise(store, FULL)["tables"]
    assert found["adult"]["repeats"]["sampling_minus_leave_one_out"]["word"] == word
    assert found["adult"]["repeats"]["sampling_minus_leave_one_out"]["gain"] == pytest.approx(gain)
    assert found["mercedes"]["repeats"]["sampling_minus_leave_one_out"] is None
    store.trials[of[adult.best_sampling][0].key] = {"digest": "", "failed": "planted", "seconds": 0.0, "environment": 0}
    assert table.summarise(store, FULL)["tables"]["adult"]["repeats"]["sampling_minus_leave_one_out"]["n_splits"] == 19


def _both(paper_table):
    return paper_table.best_leave_one_out, paper_table.best_sampling
