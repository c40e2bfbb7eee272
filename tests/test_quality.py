"""Benchmarks against others: folds, every method on a few rows, verdicts on planted results, and pages."""

import json
from importlib.util import find_spec

import numpy as np
import pandas
import pytest
from click.testing import CliRunner

from experiments import random_effects, uncertainty
from experiments.noise import NoisePlan
from experiments.quality import Plans, command, measure
from experiments.quality_cells import OVERLAP, Cell, Plan, split
from experiments.quality_findings import summarise
from experiments.quality_methods import METHODS
from experiments.quality_models import MODELS
from experiments.quality_tables import read_table
from experiments.trials import Store, digest
from experiments.uncertainty_methods import COVERAGES
from experiments.uncertainty_methods import METHODS as METHODS_OF_NUMBERS

TABLES = ("amounts", "payments")  # simulated: numbers, and two classes
PLAN = Plan("report", None, TABLES)
FEW = Plan("report", 150, ("payments",), ("linear",), ("ours", "native", "target"), most_folds=3)
SMALL_NOISE = NoisePlan(rows=(2,), columns=(1, 2), models=("linear",), n_seeds=2, n_rows=200)


def plant(store, trial, result):
    """Store a result as if the trial had run."""
    store.environments = [{"python": "3"}]
    store.trials[trial.key] = {"digest": digest(trial), "seconds": 1.0, "environment": 0, "result": result}


def plant_cells(store, plan, score):
    """Store a score for every cell; log-loss and MSE are its complement."""
    for cell in plan.trials():
        value = score(cell)
        pair = {"auc": value, "log_loss": 1 - value} if cell.table == "payments" else {"r2": value, "mse": 1 - value}
        plant(store, cell, pair | {"fit_seconds": 2.0, "predict_seconds": 1.0})
    return summarise(store, plan)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "quality.json")


# ----------------------------------------------------------------------------------- folds and cells


def test_choosing_and_reporting_share_no_test_row():
    choose, report = (Plan(half).folds("payments", "LightGBM") for half in ("choose", "report"))
    chosen, reported = ({row for fold in half for row in split("payments", fold)[1]} for half in (choose, report))
    assert chosen.isdisjoint(reported)
    assert len(chosen | reported) == len(read_table("payments").y)


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.installed])
def test_every_method_predicts(method):
    for table in TABLES if not METHODS[method].numbers_only else TABLES[:1]:
        found = Cell(table, "LightGBM", method, 1, 120).run()
        names = ("auc", "log_loss") if table == "payments" else ("r2", "mse")
        assert np.isfinite([found[name] for name in (*names, "fit_seconds", "predict_seconds")]).all()


@pytest.mark.parametrize("method", ["ours", "native"])
@pytest.mark.parametrize("model", MODELS)
def test_every_model_predicts(model, method):
    assert 0 < Cell("payments", model, method, 0, 120).run()["auc"] < 1


# ----------------------------------------------------------------------------------- verdicts


def wobbling(cell):
    """Differ between folds, in the same way for all but ours."""
    return 0.01 * cell.fold + (0.002 * (cell.fold % 4 - 2) if cell.method == "ours" else 0.0)


def test_the_best_everywhere_has_rank_one_and_no_loss(store):
    found = plant_cells(store, PLAN, lambda cell: 0.6 + wobbling(cell) + 0.2 * (cell.method == "ours"))
    assert found["ranks"]["ranks"]["ours"] == 1.0
    assert found["ranks"]["ranks"]["native"] == pytest.approx(4.5)  # six that tie share 2 to 7
    assert found["losses"] == []
    assert found["counts"]["target x5"] == {"better": 8, "even": 0, "worse": 0}
    assert found["seconds"]["forest"]["fit"]["ours"] == 4.0  # two tables


def test_intervals_allow_for_shared_training_rows(store):
    found = plant_cells(store, PLAN, lambda cell: 0.6 + 0.01 * cell.fold * (1 if cell.method == "ours" else 0))
    for row in found["rows"]:
        gaps = 0.01 * np.array(PLAN.folds(row["table"], row["model"]))
        verdict, other = row["against"]["native"], row["against_other"]["native"]
        assert verdict["gain"] == pytest.approx(gaps.mean())
        assert verdict["error"] == pytest.approx(np.sqrt(gaps.var(ddof=1) * (1 / len(gaps) + OVERLAP)))
        assert other["gain"] == pytest.approx(verdict["gain"])  # lower log-loss and MSE are better


# ----------------------------------------------------------------------------------- runs and pages


def test_a_finished_trial_runs_again_only_on_request(tmp_path):
    def stop(done, total, what):
        if done == 4:
            raise KeyboardInterrupt

    plans, file = Plans(FEW), tmp_path / "quality.json"
    with pytest.raises(KeyboardInterrupt):
        measure(plans, ["tables"], tmp_path, progress=stop)
    assert len(Store(file).trials) == 4
    assert measure(plans, ["tables"], tmp_path)["tables"]["missing"] == []
    before = file.read_text()
    measure(plans, ["tables"], tmp_path)
    assert file.read_text() == before
    measure(plans, ["tables"], tmp_path, again=True)
    old, new = (json.loads(text)["trials"] for text in (before, file.read_text()))
    assert {key for key in new if new[key]["result"] != old[key]["result"]} == {key for key in new if ", ours," in key}


def test_the_command_writes_a_page_of_all_parts(tmp_path, monkeypatch, published_folder):
    monkeypatch.setattr("experiments.quality.Plan", lambda *args: FEW)
    monkeypatch.setattr("experiments.quality.NoisePlan", lambda *args, **words: SMALL_NOISE)
    given = ["--all", "--folder", str(tmp_path), "--jobs", "1", "--page", str(tmp_path / "no.md"), "--folds", "2"]
    result = CliRunner().invoke(command, [*given, "--boosting", "n_estimators=5", "--boosting", "min_child_samples=2"])
    assert result.exit_code == 0, result.output
    assert "payments, linear: AUC 0." in result.output
    text = (tmp_path / "quality.md").read_text(encoding="utf-8")
    assert "## Columns of pure noise" in text
    assert "n_estimators=5" in text
    assert not (tmp_path / "no.md").exists()  # it is not the whole run


# ----------------------------------------------------------------------------------- published folds


@pytest.fixture
def published_folder(tmp_path, monkeypatch):
    """Three small tables of the published form, and errors of 1 + fold for all methods but catboost, with half."""
    folder, random = tmp_path / "data" / "random_effects", np.random.default_rng(0)
    folder.mkdir(parents=True)
    lines = ["table,method,fold,mse,seconds"]
    for name, table in random_effects.TABLES.items():
        frame = {column: random.integers(0, 12, 150) for column in table.categorical}
        frame |= {column: ["a word"] * 150 for column in table.dropped} | {"number": random.standard_normal(150)}
        frame[table.target] = 0.1 * frame[table.categorical[0]] + 0.05 * random.standard_normal(150)
        pandas.DataFrame(frame).to_csv(folder / f"{name}.csv.gz", index=False)
        np.savetxt(folder / f"{name}.fold.txt.gz", np.arange(150) % 5, fmt="%d")
        for method in random_effects.PUBLISHED:
            lines += [f"{name},{method},{k},{(1 + k) / (2 if method == 'catboost' else 1)},9" for k in range(5)]
    (folder / "published.csv").write_text("\n".join(lines))
    monkeypatch.setenv("CATBAYES_DATA", str(folder.parent))
    random_effects.read.cache_clear()
    random_effects.published.cache_clear()
    yield folder
    random_effects.read.cache_clear()
    random_effects.published.cache_clear()


def test_our_errors_are_compared_with_the_best_published_one(store, published_folder):
    plan = random_effects.PublishedPlan()
    for trial in plan.trials():
        times = {"fit_seconds": 3.0, "predict_seconds": 1.0, "last_seconds": 2.0}
        plant(store, trial, {"mse": 0.1 + 0.5 * trial.fold, "r2": 0.5} | times)
    for row in random_effects.summarise(store, plan)["tables"].values():
        assert row["all"]["folds"] == [0, 1, 2, 3, 4]
        assert row["all"]["best"] == "catboost"
        assert row["all"]["published"]["gpboost"] == pytest.approx(3.0)
        assert row["all"]["gain"]["gain"] == pytest.approx(0.4)  # (1 + k) / 2 against 0.1 + k / 2
        assert row["own"]["folds"] == [1, 3]


# ----------------------------------------------------------------------------------- coverage of intervals


@pytest.mark.parametrize("method", [name for name in METHODS_OF_NUMBERS if name != "GPBoost" or find_spec("gpboost")])
def test_every_method_gives_intervals(method):
    for sums in uncertainty.UncertaintyCell("even noise", method, 0, 600).run()["said"].values():
        covered = [sum(sums[f"covered {coverage}"]) for coverage in COVERAGES]
        assert (np.diff(covered) >= 0).all()
        assert 20 < covered[0] < covered[-1] <= 200
        assert 0.2 < sum(sums["crps"]) / 200 < 1.5


def test_the_true_distribution_has_its_nominal_coverage():
    found = uncertainty.UncertaintyCell("uneven noise", "truth", 0, 9_000).run()["said"]["truth"]
    for coverage in COVERAGES:
        assert sum(found[f"covered {coverage}"]) / 3_000 == pytest.approx(coverage, abs=0.03)
