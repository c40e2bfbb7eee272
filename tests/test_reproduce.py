"""The command that runs the paper's experiments, keeps what they gave, and writes the page."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from catbayes import InputError
from experiments import curves, effort, table
from experiments.__main__ import command
from experiments.effort import FULL, TINY
from experiments.holdout import Holdout
from experiments.methods import LeaveOneOut
from experiments.page import number, signed
from experiments.paper import TABLES
from experiments.run import reproduce
from experiments.trials import Store, digest
from experiments.verdict import judge

FEW = replace(TINY, n_rows=150, repeats=2, baseline_seeds=1, folds=2, draws=(1, 2), gammas=(1e-6, 1e-2))


@pytest.fixture
def few(monkeypatch):
    """All experiments as small as can be."""
    monkeypatch.setitem(effort.EFFORTS, "quick", FEW)


def test_the_command_runs_writes_its_page_and_goes_on_where_it_was(few, tmp_path):
    folder, page = tmp_path / "kept", tmp_path / "docs" / "results.md"
    page.parent.mkdir()
    arguments = ["--quick", "--folder", str(folder), "--page", str(page), "--jobs", "1"]
    for name in ("draws", "importance"):
        result = CliRunner().invoke(command, [name, *arguments])
        assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert "(../kept/draws.png)" in text
    assert (folder / "draws.png").stat().st_size > 5_000
    assert "| importance |" in text
    assert "The paper's four results" not in text  # did not run
    kept = (folder / "importance.json").read_text(encoding="utf-8")
    assert CliRunner().invoke(command, ["importance", *arguments]).exit_code == 0
    assert (folder / "importance.json").read_text(encoding="utf-8") == kept
    for cell in json.loads(kept)["trials"].values():
        assert "failed" not in cell


def test_verdicts_that_are_there_are_told_and_written_down(tmp_path):
    store, adult = Store(tmp_path / "table.json"), TABLES["adult"]
    store.environments = [{"python": "3"}]
    for method, gain in ((adult.best_leave_one_out, 0.0), (adult.best_sampling, 0.02)):
        for trial in table._repeats(FULL, adult, method):
            result = {"score": 0.8 + gain + 0.001 * (trial.split % 2 if gain else 0)}
            store.trials[trial.key] = {"digest": digest(trial), "seconds": 1.0, "environment": 0, "result": result}
    store.write()
    result = CliRunner().invoke(command, ["--no-run", "--folder", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "adult: sampling - leave-one-out +0.0205 (+0.0" in result.output
    assert "): holds" in result.output
    assert "mercedes" not in result.output
    text = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| adult | 0.8000 | 0.8205 | +0.0205 | +0.0" in text


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
    run = curves.Fold.run

    def fail(self):
        raise RuntimeError("no luck")

    monkeypatch.setattr(curves.Fold, "run", fail)
    assert "RuntimeError: no luck" in reproduce("draws", tmp_path, effort="quick", n_jobs=1)["failed"]
    result = CliRunner().invoke(command, ["draws", "--quick", "--folder", str(tmp_path), "--jobs", "1"])
    assert result.exit_code == 1
    assert "trials failed, the first with: RuntimeError: no luck" in result.output
    assert "failed, the first with: RuntimeError: no luck" in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    monkeypatch.setattr(curves.Fold, "run", run)
    reproduce("draws", tmp_path, effort="quick", n_jobs=1)
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


def test_two_runs_in_one_folder_do_not_erase_each_other(tmp_path):
    trial = Holdout("make_classification", LeaveOneOut(0.01, 3, 5, 1), 0, 2, 0, 150)
    store, other = (Store(tmp_path / "table.json") for _ in range(2))
    store.run([trial])
    with pytest.raises(InputError, match="one run at a time"):
        other.run([replace(trial, split=1)])
    assert Store(store.path).result(trial) is not None


def test_numbers_are_written_for_a_reader():
    assert (number(None), number(0.12345), number(2.0, 1)) == ("–", "0.1235", "2.0")
    assert (signed(None), signed(-0.5, 2), signed(0.5, 1)) == ("–", "−0.50", "+0.5")


def test_an_interval_by_hand():
    verdict = judge([1.0, 2.0, 3.0], overlap=0.5)
    assert verdict.gain == 2.0
    assert verdict.error == pytest.approx(np.sqrt(1.0 * (1 / 3 + 0.5)))
    assert verdict.high - verdict.low == pytest.approx(2 * 4.302652729911275 * verdict.error)  # t with 2 degrees
