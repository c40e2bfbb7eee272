"""The benchmark against others: folds, planted verdicts, what is given up, pages, and a small cell of every method."""

import gzip
import json
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas
import pytest
from click.testing import CliRunner
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from catbayes import InputError, SamplingClassifier, SamplingRegressor
from experiments import noise, quality, quality_cells, random_effects, rdata
from experiments.noise import Noise, NoisePlan
from experiments.quality import Plans, command, measure
from experiments.quality_cells import N_FOLDS, OVERLAP, Cell, Plan, forget_limits, given_up, left, seed_of, split
from experiments.quality_findings import summarise
from experiments.quality_methods import METHODS, MODELS, GroupEffects
from experiments.quality_tables import read_table
from experiments.random_effects import PublishedFold, PublishedPlan
from experiments.trials import Store, digest

TABLES = ("amounts", "payments")  # simulated: a number, and two classes
FEW = Plan("report", 150, ("payments",), ("linear",), ("ours", "native", "target"), quick=True)
SMALL_NOISE = NoisePlan(rows=(2,), columns=(1, 2), models=("linear",), n_seeds=2, n_rows=200)


def plant(store, trial, result):
    """Put a result into a store as if the trial had run."""
    store.environments = [{"python": "3"}]
    store.trials[trial.key] = {"digest": digest(trial), "seconds": 1.0, "environment": 0, "result": result}


def plant_cells(store, plan, score):
    """A score for every cell, log-loss and MSE being its complement."""
    for cell in plan.cells():
        value = score(cell)
        pair = {"auc": value, "log_loss": 1 - value} if cell.table == "payments" else {"r2": value, "mse": 1 - value}
        plant(store, cell, pair | {"fit_seconds": 2.0, "predict_seconds": 1.0})
    return summarise(store, plan)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "quality.json")


# ----------------------------------------------------------------------------------- folds


@pytest.mark.parametrize("few_rows", [0, 20_000])
def test_the_half_that_chooses_and_the_half_that_reports_share_no_test_row(few_rows, monkeypatch):
    monkeypatch.setattr(quality_cells, "FEW_ROWS", few_rows)
    choose, report = (Plan(half).folds("payments", "LightGBM") for half in ("choose", "report"))
    assert choose == list(range(0, 20 if few_rows else 10, 2))
    assert sorted([*choose, *report]) == list(range(20 if few_rows else 10))
    chosen, reported = ({row for fold in half for row in split("payments", fold)[1]} for half in (choose, report))
    assert chosen.isdisjoint(reported)
    assert len(chosen | reported) == len(read_table("payments").y)


def test_every_division_tests_on_every_row_once_and_the_second_is_another():
    for repeat in (0, 1):
        rows = np.concatenate(quality_cells.divide("payments", repeat))
        assert sorted(rows) == list(range(10_000))
    assert set(split("payments", 1)[1]) != set(split("payments", 11)[1])


def test_fewer_training_rows_are_some_of_all_and_the_test_rows_stay():
    (train, test), (few, same) = split("payments", 3), split("payments", 3, 200)
    assert few.tolist() == train[:200].tolist()
    assert same.tolist() == test.tolist()
    assert sorted([*train, *test]) == list(range(10_000))
    assert not (np.diff(train) > 0).all()  # in random order


# ----------------------------------------------------------------------------------- cells


def last_step(estimator):
    if isinstance(estimator, SamplingClassifier | SamplingRegressor):
        return last_step(estimator.estimator)
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("model", MODELS)
def test_every_method_gets_the_same_model(model, table):
    rows, base = read_table(table), MODELS[model]
    wanted = base.make(rows.classes is not None, 7).get_params()
    for name, method in METHODS.items():
        if method.applies(rows, model) and name != "gpboost":
            found = last_step(method.build(rows, model, 7)).get_params()
            found.pop("cat_features", None)
            assert found == wanted, name


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.installed])
def test_a_small_cell_of_every_method_that_is_installed(method):
    for table in TABLES if not METHODS[method].numbers_only else TABLES[:1]:
        found = Cell(table, "LightGBM", method, 1, 120).run()
        names = ("auc", "log_loss") if table == "payments" else ("r2", "mse")
        assert np.isfinite([found[name] for name in (*names, "fit_seconds", "predict_seconds")]).all()
        assert ("source" in found) == (method == "ours")


@pytest.mark.parametrize("method", ["ours", "native"])
@pytest.mark.parametrize("model", MODELS)
def test_a_small_cell_of_every_model(model, method):
    assert 0 < Cell("payments", model, method, 0, 120).run()["auc"] < 1


def test_five_seeds_are_averaged_as_by_hand():
    rows, (train, test) = read_table("payments"), split("payments", 1, 300)
    total = 0.0
    for number in range(5):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed_of(1, number))
        parts = [
            ("c", TargetEncoder(target_type="auto", cv=folds), list(rows.categorical)),
            ("n", StandardScaler(), list(rows.numeric)),
        ]
        model = make_pipeline(ColumnTransformer(parts), LogisticRegression(max_iter=1000))
        total = total + model.fit(rows.X.iloc[train], rows.y[train]).predict_proba(rows.X.iloc[test])[:, 1]
    found = Cell("payments", "linear", "target x5", 1, 300).run()
    assert found["auc"] == pytest.approx(roc_auc_score(rows.y[test], total / 5))


def test_other_settings_change_ours():
    cell = Cell("payments", "linear", "ours", 0, 200)
    other = replace(cell, settings=(("n_draws", 1),))
    assert other.key != cell.key
    assert other.run()["log_loss"] != cell.run()["log_loss"]


def test_a_dense_table_that_is_too_large_is_not_tried(monkeypatch):
    rows, (train, _) = read_table("payments"), split("payments", 1)
    assert METHODS["glmm"].too_large(rows, train[:100]) is None
    assert METHODS["glmm"].too_large(rows, np.tile(train, 10)) is not None
    assert METHODS["target"].too_large(rows, np.tile(train, 10)) is None
    monkeypatch.setattr("experiments.quality_methods.LARGEST", 10)
    assert "dense" in Cell("payments", "linear", "glmm", 1, 100).run()["skipped"]


@pytest.mark.skipif(not find_spec("gpboost"), reason="GPBoost is not installed")
def test_gpboost_finds_effects_of_categories_whatever_the_scale():
    random = np.random.default_rng(0)
    effect, city = 3.0 * random.standard_normal(40), random.integers(0, 40, 1500)
    number = random.standard_normal(1500)
    y = effect[city] + number + 0.3 * random.standard_normal(1500)
    X = pandas.DataFrame({"city": city, "number": number})
    parameters = {"n_estimators": 100, "num_leaves": 7, "seed": 0}
    for scale in (1.0, 1e4):
        model = GroupEffects(["city"], parameters).fit(X[:1000], scale * y[:1000])
        assert r2_score(scale * y[1000:], model.predict(X[1000:])) > 0.9
    unseen = model.predict(pandas.DataFrame({"city": [99], "number": [0.0]}))
    assert abs(unseen[0] - scale * effect.mean()) < 2 * scale


# ----------------------------------------------------------------------------------- verdicts


PLAN = Plan("report", None, TABLES)
NOISE = 0.002


def wobbling(cell):
    """Folds differ in the same way for all but ours."""
    return 0.01 * cell.fold + (NOISE * (cell.fold % 4 - 2) if cell.method == "ours" else 0.0)


def test_the_best_everywhere_has_rank_one_and_loses_nowhere(store):
    found = plant_cells(store, PLAN, lambda cell: 0.6 + wobbling(cell) + 0.2 * (cell.method == "ours"))
    assert found["ranks"]["n"] == len(TABLES) * len(MODELS)
    assert found["ranks"]["ranks"]["ours"] == 1.0
    assert found["ranks"]["ranks"]["native"] == pytest.approx(4.5)  # six that tie share 2 to 7
    assert found["losses"] == []
    assert {row["against"]["native"]["word"] for row in found["rows"]} == {"better"}
    assert found["counts"]["target x5"] == {"better": 8, "even": 0, "worse": 0}
    assert found["seconds"]["forest"]["fit"]["ours"] == 4.0  # two tables


def test_a_loss_is_told_first(store):
    def score(cell):
        loses = (cell.table, cell.model, cell.method) == ("payments", "forest", "ours")
        return 0.6 + wobbling(cell) + (0.1 if cell.method == "ours" else 0.0) - 0.3 * loses

    found = plant_cells(store, PLAN, score)
    assert (found["rows"][0]["table"], found["rows"][0]["model"]) == ("payments", "forest")
    assert {(loss["table"], loss["model"], loss["rival"]) for loss in found["losses"]} == {
        ("payments", "forest", rival) for rival in ("native", "target", "target x5")
    }
    assert found["counts"]["native"] == {"better": 7, "even": 0, "worse": 1}


def test_the_interval_knows_that_folds_overlap_and_more_is_better(store):
    found = plant_cells(store, PLAN, lambda cell: 0.6 + 0.01 * cell.fold * (1 if cell.method == "ours" else 0))
    for row in found["rows"]:
        gaps = 0.01 * np.array(PLAN.folds(row["table"], row["model"]))
        verdict, other = row["against"]["native"], row["against_other"]["native"]
        assert verdict["gain"] == pytest.approx(gaps.mean())
        assert verdict["error"] == pytest.approx(np.sqrt(gaps.var(ddof=1) * (1 / len(gaps) + OVERLAP)))
        assert other["gain"] == pytest.approx(verdict["gain"])  # log-loss and MSE: less is better


def test_a_difference_within_its_error_is_no_loss(store):
    found = plant_cells(
        store, PLAN, lambda cell: 0.6 + (0.01 * (cell.fold % 4 - 2.1) if cell.method == "ours" else 0.0)
    )
    assert found["losses"] == []
    assert {row["against"]["native"]["word"] for row in found["rows"]} == {"within noise"}


def test_a_method_without_a_score_is_last_and_its_table_is_told(store):
    plant_cells(store, PLAN, lambda cell: 0.6 + wobbling(cell) + 0.2 * (cell.method == "glmm"))
    for cell in PLAN.of("payments", "linear", "glmm"):
        del store.trials[cell.key]
    cell = PLAN.of("payments", "linear", "glmm")[0]
    store.trials[cell.key] = {"digest": digest(cell), "seconds": 1.0, "environment": 0, "failed": "ValueError: no"}
    found = summarise(store, PLAN)
    row = next(row for row in found["rows"] if (row["table"], row["model"]) == ("payments", "linear"))
    assert row["lost"] == {"glmm": "ValueError: no"}
    assert found["ranks"]["ranks"]["glmm"] == pytest.approx((7 * 1 + 7) / 8)


def test_the_other_half_has_no_say(store):
    other = replace(PLAN, half="choose")
    plant_cells(store, other, lambda cell: 0.9 if cell.method == "ours" else 0.1)
    assert summarise(store, PLAN)["rows"] == []
    found = plant_cells(store, PLAN, lambda cell: 0.1 + wobbling(cell) if cell.method == "ours" else 0.9)
    assert found["counts"]["native"]["worse"] == 8


def test_other_settings_are_judged_against_the_defaults(store):
    plan = replace(PLAN, half="choose", settings=(("n_draws", 9),))
    found = plant_cells(store, plan, lambda cell: 0.6 + 0.1 * bool(cell.settings) + 0.001 * cell.fold)
    name = "ours, n_draws=9"
    assert found["changed"] == [name]
    assert all(row["changed"][name]["gain"] == pytest.approx(0.1) for row in found["rows"])
    assert found["ranks"]["ranks"][name] == 1.0


# ----------------------------------------------------------------------------------- running


def run_few(folder, plan=FEW, **options):
    return measure(Plans(plan, noise=SMALL_NOISE), ["tables"], folder, **options)


def test_what_is_finished_is_not_run_again(tmp_path):
    def stop(done, total, what):
        seen.append((done, total))
        if done == 4:
            raise KeyboardInterrupt

    seen: list[tuple[int, int]] = []
    with pytest.raises(KeyboardInterrupt):
        run_few(tmp_path, progress=stop)
    assert len(Store(tmp_path / "quality.json").trials) == 4
    found = run_few(tmp_path, progress=lambda done, total, what: seen.append((done, total)))
    assert seen[0] == (0, 9)
    assert seen[-1] == (9, 9)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)  # nothing twice
    assert found["tables"]["missing"] == []
    kept = (tmp_path / "quality.json").read_text()
    run_few(tmp_path)
    assert (tmp_path / "quality.json").read_text() == kept
    run_few(tmp_path, again=True)
    before, after = (json.loads(text)["trials"] for text in (kept, (tmp_path / "quality.json").read_text()))
    anew = {key for key in after if after[key]["result"] != before[key]["result"]}  # at least the seconds differ
    assert anew == {key for key in after if ", ours," in key}


def test_what_is_over_the_limit_is_given_up_until_the_limit_is_higher(store, monkeypatch):
    monkeypatch.setattr(quality_cells, "QUICK_LIMIT", 0.001)
    found = measure(Plans(replace(FEW, methods=("native", "target"))), ["tables"], store.path.parent)
    cells = replace(FEW, methods=("native", "target")).cells()
    store = Store(store.path)
    assert len(store.trials) == 2  # the first fold of each, and no other
    assert set(given_up(store, cells).values()) == {"more than 0 s"}
    assert found["tables"]["missing"] == []
    assert left(store, cells) == []
    later = [replace(cell, limit=60.0) for cell in cells]
    assert digest(later[0]) == digest(cells[0])
    forget_limits(store, later)
    assert len(left(store, later)) == 6


def test_a_failure_is_told_and_tried_again(tmp_path, monkeypatch):
    run = Cell.run

    def fail(cell):
        if cell.method == "target":
            raise RuntimeError("no luck")
        return run(cell)

    monkeypatch.setattr(Cell, "run", fail)
    found = run_few(tmp_path)
    assert set(found["tables"]["failed"].values()) == {"RuntimeError: no luck"}
    text = (tmp_path / "quality.md").read_text(encoding="utf-8")
    assert "3 trials of tables failed" in text
    monkeypatch.setattr(Cell, "run", run)
    assert run_few(tmp_path)["tables"]["failed"] == {}


def test_results_of_another_version_of_the_library_are_noticed(tmp_path, monkeypatch):
    run_few(tmp_path)
    monkeypatch.setattr("experiments.quality_findings.source", lambda: "another")
    assert run_few(tmp_path)["tables"]["summary"]["sources"]["n_other"] == 3


# ----------------------------------------------------------------------------------- pages


def test_a_page_tells_the_losses_first_and_how_much_is_missing(tmp_path):
    store, plan = Store(tmp_path / "quality.json"), replace(PLAN, quick=True)
    plant_cells(store, plan, lambda cell: 0.5 + wobbling(cell) + 0.1 * (cell.method != "ours"))
    dropped = plan.of("payments", "CatBoost", "ordered")[0]
    del store.trials[dropped.key]
    store.write()
    found = measure(Plans(plan), ["tables"], tmp_path, run=False, pages=[tmp_path / "docs.md"])
    text = (tmp_path / "quality.md").read_text(encoding="utf-8")
    assert not (tmp_path / "docs.md").exists()
    assert found["tables"]["missing"] == [dropped.key]
    assert f"1 of {len(plan.cells())} trials of tables have not run" in text
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles[0] == "## Every table with every model, losses first"
    assert titles[-1] == "## What it was run on"
    assert "| payments | forest | AUC | 0." in text
    assert text.count("**worse**") > 8
    assert "not to be quoted" not in text
    assert "to be quoted" not in text
    assert "LGBMClassifier(n_estimators=100, learning_rate=0.1" in text


def test_a_page_of_the_half_that_chooses_is_not_to_be_quoted(tmp_path):
    store, plan = Store(tmp_path / "quality.json"), replace(PLAN, half="choose")
    plant_cells(store, plan, lambda cell: 0.5 + wobbling(cell))
    store.write()
    measure(Plans(plan), ["tables"], tmp_path, run=False)
    assert "nothing on this page is to be quoted" in (tmp_path / "quality.md").read_text(encoding="utf-8")


def test_a_page_of_the_documentation_takes_all_parts_in_full(tmp_path, monkeypatch, published_folder):
    page = tmp_path / "docs.md"
    plans = Plans(PLAN, PublishedPlan(), SMALL_NOISE)
    plant_all(tmp_path, plans)
    assert not measure(plans, ["tables"], tmp_path, run=False, pages=[page])["complete"]
    assert not page.exists()
    monkeypatch.setattr(Plans, "full", True)
    assert measure(plans, ["tables"], tmp_path, run=False, pages=[page])["complete"]
    text = page.read_text(encoding="utf-8")
    assert "This page was written by `make bench-quality`" in text
    assert "not the whole run" not in text
    for title in ("published folds and errors", "Columns of pure noise", "Mean rank"):
        assert title in text
    (tmp_path / "noise.json").unlink()
    page.unlink()
    assert not measure(plans, ["tables"], tmp_path, run=False, pages=[page])["complete"]
    assert not page.exists()


def test_only_the_plans_by_default_are_full():
    assert Plans().full
    assert not Plans(Plan("choose")).full
    assert not Plans(Plan(n_rows=6000)).full
    assert not Plans(Plan(tables=TABLES)).full
    assert not Plans(noise=SMALL_NOISE).full


def test_the_command_runs_and_tells_what_it_may_not_do(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.quality.Plan", lambda *args: FEW)
    result = CliRunner().invoke(command, ["--quick", "--folder", str(tmp_path), "--jobs", "1", "--page", "none.md"])
    assert result.exit_code == 0, result.output
    assert "payments, linear: AUC 0." in result.output
    assert "mean rank over 1 tables and models" in result.output
    assert "none.md is not written" in result.output
    for arguments, words in [
        (["--setting", "n_draws=9"], "--half choose"),
        (["--half", "choose", "--setting", "n_draws"], "NAME=VALUE"),
        (["--tables", "penguins"], "'penguins' is not one of"),
    ]:
        refused = CliRunner().invoke(command, [*arguments, "--folder", str(tmp_path)])
        assert refused.exit_code == 2
        assert words in refused.output


def test_settings_are_read_as_python_or_as_words():
    given = ("n_draws=10", "interactions=auto", "encoder__prior=1e-3", "interactions=[('a', 'b')]")
    assert quality._pairs(None, None, given) == (
        ("n_draws", 10),
        ("interactions", "auto"),
        ("encoder__prior", 1e-3),
        ("interactions", [("a", "b")]),
    )


# ----------------------------------------------------------------------------------- published folds


@pytest.fixture
def published_folder(tmp_path, monkeypatch):
    """Three tables of the published form, small, and errors of 1 + fold for all methods but catboost, with half."""
    folder, random = tmp_path / "data" / "random_effects", np.random.default_rng(0)
    folder.mkdir(parents=True)
    lines = ["table,method,fold,mse,seconds"]
    for name, table in random_effects.TABLES.items():
        n = 150
        frame = {column: random.integers(0, 12, n) for column in table.categorical}
        frame |= {column: ["a word"] * n for column in table.dropped} | {"number": random.standard_normal(n)}
        frame[table.target] = 0.1 * frame[table.categorical[0]] + 0.05 * random.standard_normal(n)
        pandas.DataFrame(frame).to_csv(folder / f"{name}.csv.gz", index=False)
        with gzip.open(folder / f"{name}.fold.txt.gz", "wt") as file:
            file.write("\n".join(str(row % 5) for row in range(n)))
        for method in (*random_effects.PUBLISHED, "lme4"):
            lines += [f"{name},{method},{k},{(1 + k) / (2 if method == 'catboost' else 1)},9" for k in range(5)]
    (folder / "published.csv").write_text("\n".join(lines))
    monkeypatch.setenv("CATBAYES_DATA", str(folder.parent))
    random_effects.read.cache_clear()
    random_effects.published.cache_clear()
    yield folder
    random_effects.read.cache_clear()
    random_effects.published.cache_clear()


def plant_all(folder, plans):
    stores = {part: Store(folder / file) for part, file in quality.FILES.items()}
    plant_cells(stores["tables"], plans.tables, lambda cell: 0.5 + wobbling(cell))
    for trial in plans.random_effects.trials():
        times = {"fit_seconds": 3.0, "predict_seconds": 1.0, "last_seconds": 2.0}
        plant(stores["random_effects"], trial, {"mse": 0.1 + 0.5 * trial.fold, "r2": 0.5} | times)
    for trial in plans.noise.trials():
        plant(stores["noise"], trial, {"auc": 0.7 + 0.001 * trial.seed - 0.01 * (trial.way == "model")})
    for store in stores.values():
        store.write()
    return stores


def test_ours_stands_beside_the_best_published_error(tmp_path, published_folder):
    stores = plant_all(tmp_path, Plans(PLAN, noise=SMALL_NOISE))
    found = random_effects.summarise(stores["random_effects"], PublishedPlan())
    for row in found["tables"].values():
        assert row["all"]["folds"] == [0, 1, 2, 3, 4]
        assert row["all"]["best"] == "catboost"
        assert row["all"]["published"]["gpboost"] == pytest.approx(3.0)
        assert row["all"]["gain"]["gain"] == pytest.approx(0.4)  # (1 + k) / 2 against 0.1 + k / 2
        assert row["own"]["folds"] == [1, 3]
        assert row["published_seconds"] == 9.0
    chosen = random_effects.summarise(stores["random_effects"], PublishedPlan("choose"))
    assert chosen["tables"]["wages"]["all"]["folds"] == [0, 2, 4]


def test_a_published_fold_is_predicted_and_clipped_where_they_clipped(published_folder):
    plan = PublishedPlan(boosting=(("n_estimators", 5), ("min_child_samples", 2)), n_folds=1)
    for trial in plan.trials():
        found = trial.run()
        assert found["mse"] < 1
        assert (trial.method == "gpboost") == ("last_seconds" in found)
    assert plan.trials()[0].key != PublishedFold("imdb", "ours", 1).key
    X, _, fold = random_effects.read("spotify")
    assert list(X) == [*random_effects.TABLES["spotify"].categorical, "number"]
    assert np.bincount(fold).tolist() == [30] * 5


def test_without_the_published_tables_the_command_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("CATBAYES_DATA", str(tmp_path))
    random_effects.read.cache_clear()
    with pytest.raises(InputError, match=r"published\.csv"):
        random_effects.folder()


# ----------------------------------------------------------------------------------- noise


def test_noise_stands_beside_the_same_numbers_whatever_there_is_of_it():
    without, some = Noise("linear", "without", 1, n_rows=200), Noise("linear", "model", 1, 4, 3, n_rows=200)
    (X, y, none), (more, same, names) = without.table(), some.table()
    assert none == []
    assert len(names) == 3
    assert (more[list(X)] == X).all(axis=None)
    assert (y == same).all()
    assert more[names].nunique().tolist() == [50] * 3  # 400 rows, half of them to test on


def test_a_small_table_of_noise_with_every_way(tmp_path):
    found = measure(Plans(FEW, noise=SMALL_NOISE), ["noise"], tmp_path)
    assert found["noise"]["failed"] == {}
    summary = found["noise"]["summary"]
    assert summary["n_settings"] == 6  # two ways, pairs only of two columns
    assert len(summary["groups"]) == 5  # TargetEncoder's too
    assert "## Columns of pure noise" in (tmp_path / "quality.md").read_text(encoding="utf-8")
    assert any("the worst" in line for line in quality.lines(found))


def test_a_planted_cost_of_noise_is_found(tmp_path, published_folder):
    stores = plant_all(tmp_path, Plans(PLAN, noise=SMALL_NOISE))
    found = noise.summarise(stores["noise"], SMALL_NOISE)
    assert found["n_costly"] == 3
    assert {row["way"] for row in found["worst"][:3]} == {"model"}
    assert found["worst"][0]["change"] == pytest.approx(-0.01)
    assert found["worst"][0]["against_target"] == pytest.approx(-0.01)
    assert found["worst"][0]["error"] == pytest.approx(0.0, abs=1e-12)


def test_keys_tell_trials_apart(published_folder):
    for plans in (
        Plans(PLAN),
        Plans(replace(PLAN, half="choose", settings=(("n_draws", 1),)), PublishedPlan("choose")),
    ):
        for part in quality.FILES:
            trials = plans.trials(part)
            assert len({trial.key for trial in trials}) == len(trials)


def test_seeds_of_noise_are_those_of_the_half():
    chosen, reported = ({trial.seed for trial in NoisePlan(half).trials()} for half in ("choose", "report"))
    assert chosen == {0, 2, 4}
    assert reported == {1, 3, 5}
    assert N_FOLDS % 2 == 0  # so that the halves of every division are the same


# ----------------------------------------------------------------------------------- other tables


def test_tables_of_r_packages_are_words_and_numbers_with_their_target(monkeypatch):
    given = pandas.DataFrame(
        {
            "rownames": range(60),
            "city": pandas.Categorical(["Oslo", "Rome", None] * 20),
            "age": pandas.array([1, 2, None] * 20, dtype="Int64"),
            "only": "one",
            "when": pandas.date_range("2020-01-01", periods=60),
            "user": [1, 2] * 30,
            "vote": ["yes", "no"] * 25 + ["rare"] * 10,
        }
    )
    monkeypatch.setitem(rdata.TABLES, "votes", rdata.Source("some", "votes", "vote", codes=("user",)))
    monkeypatch.setattr(rdata, "_read", lambda source: given)
    data = rdata.load("votes")
    assert (data.categorical, list(data.table)) == (("city", "user"), ["city", "age", "user"])
    assert (data.task, len(data.y), data.y[:2].tolist()) == ("binary", 50, [1, 0])
    assert data.table.loc[2, ["city", "user"]].tolist() == ["missing", "1"]
    assert data.table["age"].isna().tolist()[:3] == [False, False, True]
    monkeypatch.setitem(rdata.TABLES, "votes", rdata.Source("some", "votes", "user"))
    assert rdata.load("votes").task == "binary"  # two numbers are two classes
