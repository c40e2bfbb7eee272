"""The choice of the defaults, its verdicts on planted results, and the command that runs it all."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from click.testing import CliRunner
from lightgbm import LGBMClassifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from catbayes import Draws, InputError, SamplingBayesianEncoder, SamplingClassifier
from catbayes._drawing import resolve_draws
from catbayes._estimators._fitting import choose
from catbayes.datasets import NAMES
from experiments import ablation, effort, findings
from experiments.__main__ import command
from experiments.ablation import (
    CENTRE,
    DEFAULT,
    MODELS,
    PAPER,
    TARGET,
    Fold,
    Peer,
    choosing,
    measure_of,
    reported,
    reporting,
    settings,
)
from experiments.advice import advise
from experiments.effort import FULL, TINY
from experiments.page import number, signed
from experiments.run import reproduce
from experiments.trials import Store, digest
from experiments.verdict import judge

PLAIN = replace(CENTRE, temperature=0.0)
FEW = replace(
    TINY,
    n_rows=150,
    repeats=2,
    baseline_seeds=1,
    folds=2,
    draws=(1, 2),
    gammas=(1e-6, 1e-2),
    ablation_tables=("payments",),
)


def plant(store, trial, loss):
    """Put a result into a store as if the trial had run."""
    measure = measure_of(trial.table)
    result = {measure: loss if measure == "log_loss" else 1 - loss}
    store.trials[trial.key] = {
        "digest": digest(trial),
        "seconds": 1.0,
        "environment": 0,
        "result": result,
    }


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "ablation.json")


# ----------------------------------------------------------------------------------- the design


def test_the_folds_that_choose_and_those_that_report_share_no_rows():
    chosen = {row for fold in ablation.CHOOSING for row in ablation.folds("payments", 300, 0)[fold][1]}
    parts = [ablation.folds("payments", 300, repeat) for repeat in range(3)]
    for folds in parts:
        tested = [row for fold in ablation.REPORTING for row in folds[fold][1]]
        assert {*tested}.isdisjoint(chosen)
        assert sorted([*tested, *chosen]) == list(range(300))
        for train, test in folds:
            assert sorted([*train, *test]) == list(range(300))
    assert parts[0][3][1].tolist() != parts[1][3][1].tolist()


def test_the_design_varies_every_factor_alone_and_holds_the_paper():
    found = settings()
    assert len(set(found)) == len(found)
    assert {CENTRE, DEFAULT, PAPER} <= set(found)
    for name in asdict(DEFAULT):
        alone = [s for s in found if [k for k, v in asdict(s).items() if v != getattr(CENTRE, k)] == [name]]
        assert alone, name
    assert {(s.own_target, s.temperature) for s in found if s.steady is None} >= {("exclude", 1.0), ("cross_fit", 0.0)}


def test_the_defaults_that_are_justified_are_those_of_the_encoder_and_the_estimators():
    encoder, model = SamplingBayesianEncoder().get_params(), SamplingClassifier().get_params()
    wanted = asdict(DEFAULT)
    for name in ("own_target", "prior", "mapping"):
        assert encoder[name] == wanted[name], name
    assert resolve_draws(encoder["draws"]) == Draws(wanted["temperature"], wanted["steady"], wanted["draw_per"])
    assert model["n_draws"] == wanted["n_draws"]
    for estimator in (LogisticRegression(), RandomForestClassifier(), LGBMClassifier()):
        assert choose(estimator) == wanted["fit_with"]


def test_keys_tell_trials_apart():
    trials = ablation.trials(FULL)
    assert len({trial.key for trial in trials}) == len(trials)


def test_a_fold_is_a_pipeline_by_hand():
    trial = Fold("payments", "linear", Peer("target", n_seeds=2), 0, 3, 300)
    rows, (train, test) = ablation.read_table("payments", 300), ablation.folds("payments", 300, 0)[3]
    assert rows.classes is not None
    total = 0.0
    for member in range(2):
        seed = int(np.random.SeedSequence([0, 3, member]).generate_state(1)[0])
        encode = ColumnTransformer(
            [
                ("c", TargetEncoder(random_state=seed), list(rows.categorical)),
                ("n", StandardScaler(), list(rows.numeric)),
            ]
        )
        model = make_pipeline(encode, LogisticRegression(max_iter=1000))
        model.fit(rows.X.iloc[train], rows.y[train])
        total = total + model.predict_proba(rows.X.iloc[test])[:, 1]
    assert trial.run()["auc"] == pytest.approx(roc_auc_score(rows.y[test], total / 2))


# ----------------------------------------------------------------------------------- verdicts


def planted_costs(store, factors):
    """The centre loses 0.2 everywhere, a rival 0.2 times a factor of the table."""
    for table, factor in zip(ablation.tables(FULL), factors, strict=True):
        for setting, loss in ((CENTRE, 0.2), (PLAIN, 0.2 * factor)):
            for trial in choosing(FULL, setting):
                if trial.table == table:
                    plant(store, trial, loss)
    return next(cost for cost in findings.summarise(store, FULL)["costs"] if cost["changed"] == {"temperature": 0.0})


@pytest.mark.parametrize(
    ("factors", "word", "worse_on"),
    [
        ([1.1] * 12, "worse", 12),
        ([1 / 1.1] * 12, "better", 0),
        ([1.1, 1 / 1.1] * 6, "within noise", 6),
        ([9.0] + [1 / 1.1] * 11, "better", 1),  # one table does not outvote the others
        ([1.1] * 3 + [1.0] * 9, "within noise", 3),  # nor do three decide
    ],
)
def test_a_planted_cost_is_found(store, factors, word, worse_on):
    cost = planted_costs(store, factors)
    assert (cost["word"], cost["worse_on"], cost["n_tables"]) == (word, worse_on, 12)
    assert cost["cost"] == pytest.approx(100 * np.mean(np.log(factors)))
    assert set(cost["models"]) == set(MODELS)
    assert cost["models"]["forest"] == pytest.approx(cost["cost"])


def planted_standing(store, loss):
    for method in reported():
        for trial in reporting(FULL, method):
            noise = 1 + 0.01 * ((trial.fold + trial.repeat) % 2)
            plant(store, trial, loss(trial) * noise)
    return findings.summarise(store, FULL)["standing"]


def test_the_best_everywhere_has_rank_one_and_is_nowhere_worse(store):
    found = planted_standing(store, lambda trial: 0.1 if trial.method == DEFAULT else 0.2)
    assert found["ranks"]["default"] == 1.0
    assert found["ranks"]["target"] == pytest.approx(4.0)  # five that tie share 2 to 6
    assert found["n_cells"] == len(NAMES) * len(MODELS)
    for verdict in found["against_target"].values():
        assert verdict["gain"] == pytest.approx(100 * np.log(2))
        assert verdict["word"] == "holds"
        assert not verdict["worse_by_more_than_one_error"]


def test_a_table_on_which_the_default_loses_is_told(store):
    def loss(trial):
        if trial.table == "adult" and trial.method == DEFAULT:
            return 0.3
        return 0.1 if trial.method == DEFAULT else 0.2

    found = planted_standing(store, loss)
    worse = [name for name, verdict in found["against_target"].items() if verdict["worse_by_more_than_one_error"]]
    assert worse == ["adult"]
    assert found["against_target"]["adult"]["word"] == "does not hold"
    assert 1.0 < found["ranks"]["default"] < 2.0


def test_a_difference_smaller_than_its_error_is_no_loss(store):
    """On one fold a per cent better, on the other one worse by 1.2 per cent."""

    def loss(trial):
        if trial.method == DEFAULT:
            return 0.2
        return 0.2 * (1.01 if (trial.fold + trial.repeat) % 2 else 0.988)

    found = planted_standing(store, loss)
    assert not any(verdict["worse_by_more_than_one_error"] for verdict in found["against_target"].values())
    assert {verdict["word"] for verdict in found["against_target"].values()} == {"within noise"}


def test_what_did_not_run_is_left_out(store):
    for trial in reporting(FULL, TARGET):
        plant(store, trial, 0.2)
    found = findings.summarise(store, FULL)
    assert found["costs"] == []
    assert found["standing"]["scores"] == []


def test_advice_follows_what_was_measured(store):
    cost = planted_costs(store, [1.1] * 12)
    assert cost["models"]["boosting"] > 0
    found = planted_standing(store, lambda trial: 0.1 if trial.method == DEFAULT else 0.2)
    costs = [{"changed": {"n_draws": 1}, "models": {"boosting": 3.21}, "cost": 2.0}]
    told = advise({"costs": costs, "standing": found})
    assert told[0] == "Leave the defaults as they are: mean rank 1.00, and the next best has 4.00."
    assert "CatBoost's own handling of categories is better than our encoding with LightGBM on 0 of 12 tables." in told
    assert told[-1].endswith("LightGBM's loss is 3.2 % larger.")
    costs[0]["models"]["boosting"] = -0.3
    assert advise({"costs": costs, "standing": found})[-1].endswith("changes by less than 1 %.")


def test_advice_does_not_praise_a_default_that_lost(store):
    found = planted_standing(store, lambda trial: 0.2 if trial.method == DEFAULT else 0.1)
    told = advise({"costs": [], "standing": found})
    assert "is better" in told[0]
    assert "default (6.00)" in told[0]
    assert "on 12 of 12 tables: adult, amazon" in told[1]


def test_an_interval_by_hand():
    verdict = judge([1.0, 2.0, 3.0], overlap=0.5)
    assert verdict.gain == 2.0
    assert verdict.error == pytest.approx(np.sqrt(1.0 * (1 / 3 + 0.5)))
    assert verdict.high - verdict.low == pytest.approx(2 * 4.302652729911275 * verdict.error)  # t with 2 degrees


# ----------------------------------------------------------------------------------- end to end


@pytest.fixture
def few(monkeypatch):
    """All experiments that need no files, as small as can be."""
    chosen, told = [CENTRE, PLAIN], [DEFAULT, TARGET, Peer("native")]
    monkeypatch.setitem(effort.EFFORTS, "quick", FEW)
    monkeypatch.setattr(ablation, "settings", lambda: chosen)
    monkeypatch.setattr(findings, "settings", lambda: chosen)
    monkeypatch.setattr(ablation, "reported", lambda: told)
    monkeypatch.setattr(findings, "reported", lambda: told)


def test_the_command_runs_writes_its_page_and_goes_on_where_it_was(few, tmp_path):
    folder, page = tmp_path / "kept", tmp_path / "docs" / "results.md"
    page.parent.mkdir()
    arguments = ["--quick", "--folder", str(folder), "--page", str(page), "--jobs", "1"]
    for name in ("draws", "importance", "ablation"):
        result = CliRunner().invoke(command, [name, *arguments])
        assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert "(../kept/draws.png)" in text
    assert (folder / "draws.png").stat().st_size > 5_000
    assert "| ablation |" in text
    assert "The paper's four results" not in text  # did not run
    assert "payments: default against TargetEncoder" in result.output
    kept = (folder / "ablation.json").read_text(encoding="utf-8")
    assert CliRunner().invoke(command, ["ablation", *arguments]).exit_code == 0
    assert (folder / "ablation.json").read_text(encoding="utf-8") == kept
    for cell in json.loads(kept)["trials"].values():
        assert "failed" not in cell


def test_an_interruption_keeps_what_is_finished(few, tmp_path):
    seen = []

    def stop(done, total, what):
        seen.append(done)
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce("draws", tmp_path, effort="quick", n_jobs=1, progress=stop)
    assert len(Store(tmp_path / "draws.json").trials) == 3
    reproduce("draws", tmp_path, effort="quick", n_jobs=1, progress=lambda done, *_: seen.append(done))
    assert seen[4:6] == [3, 4]  # goes on with the fourth


def test_a_failure_is_told_and_tried_again(few, tmp_path, monkeypatch):
    run = ablation.Fold.run

    def fail(self):
        raise RuntimeError("no luck")

    monkeypatch.setattr(ablation.Fold, "run", fail)
    assert "RuntimeError: no luck" in reproduce("ablation", tmp_path, effort="quick", n_jobs=1)["failed"]
    result = CliRunner().invoke(command, ["ablation", "--quick", "--folder", str(tmp_path), "--jobs", "1"])
    assert result.exit_code == 1
    assert "trials failed, the first with: RuntimeError: no luck" in result.output
    assert "failed, the first with: RuntimeError: no luck" in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    monkeypatch.setattr(ablation.Fold, "run", run)
    reproduce("ablation", tmp_path, effort="quick", n_jobs=1)
    assert "no luck" not in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")


def test_what_cannot_be_run_is_told(tmp_path):
    with pytest.raises(InputError, match="what='figures'"):
        reproduce("figures", tmp_path)
    with pytest.raises(InputError, match="effort='some'"):
        reproduce("draws", tmp_path, effort="some")
    with pytest.raises(InputError, match="empty"):
        reproduce([], tmp_path)
    with pytest.raises(InputError, match="not a folder"):
        reproduce("draws", tmp_path, pages=[tmp_path / "nowhere" / "page.md"])
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        reproduce("draws", tmp_path / "file")
    for content in ("{", '{"trials": [1], "environments": []}', '{"trials": {"a": {}}, "environments": []}'):
        (tmp_path / "draws.json").write_text(content)
        with pytest.raises(InputError, match=r"draws\.json holds no results"):
            reproduce("draws", tmp_path, effort="tiny", n_jobs=1)


def test_tables_that_are_not_to_be_had_are_told_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("CATBAYES_DATA", str(tmp_path / "nothing"))
    with pytest.raises(InputError, match="adult"):
        reproduce("table", tmp_path / "kept", effort="tiny", n_jobs=1)
    assert not (tmp_path / "kept").exists()


def test_two_runs_in_one_folder_do_not_erase_each_other(store):
    trial = Fold("payments", "linear", TARGET, 0, 2, 150)
    other = Store(store.path)
    store.run([trial])
    with pytest.raises(InputError, match="one run at a time"):
        other.run([replace(trial, fold=3)])
    assert Store(store.path).result(trial) is not None


def test_numbers_are_written_for_a_reader():
    assert (number(None), number(0.12345), number(2.0, 1)) == ("–", "0.1235", "2.0")
    assert (signed(None), signed(-0.5, 2), signed(0.5, 1)) == ("–", "−0.50", "+0.5")
