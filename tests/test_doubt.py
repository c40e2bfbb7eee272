"""The benchmark of doubt: a small cell of every method, planted verdicts, and pages that tell what is missing."""

from importlib.util import find_spec

import numpy as np
import pytest
from click.testing import CliRunner

from experiments import doubt, doubt_tables
from experiments.doubt import DoubtCell, cells, command, left, measure, summarise
from experiments.doubt_methods import COVERAGES, LEVELS, METHODS, METHODS_OF_CLASSES, Said, SaidOfClasses
from experiments.doubt_tables import KINDS, DoubtTable, read
from experiments.trials import Store
from test_quality import plant


@pytest.mark.parametrize("method", [name for name in METHODS if name != "GPBoost" or find_spec("gpboost")])
def test_every_method_says_something_of_every_row(method):
    found = DoubtCell("even noise", method, 0, 600).run()
    assert method in found["said"]
    for sums in found["said"].values():
        assert sum(sums["rows"]) == 200
        covered = [sum(sums[f"covered {coverage}"]) for coverage in COVERAGES]
        assert (np.diff(covered) >= 0).all()
        assert 20 < covered[0] < covered[-1] <= 200
        assert 0.2 < sum(sums["crps"]) / 200 < 1.5


@pytest.mark.parametrize("method", METHODS_OF_CLASSES)
def test_every_method_for_classes_says_something_of_every_row(method, monkeypatch):
    table = read("even noise", 600)
    classes = DoubtTable(table.X, (table.y > 0).astype(int), table.categorical, classes=True)
    monkeypatch.setattr(doubt, "read", lambda name, n_rows: classes)
    for sums in DoubtCell("adult", method, 0, 600).run()["said"].values():
        covered = [sum(sums[f"covered {coverage}"]) for coverage in COVERAGES]
        assert (np.diff(covered) >= 0).all()
        assert sum(sums["log_loss"]) / 200 < 1.2


def test_rows_are_of_the_kind_of_their_rarest_category():
    import pandas

    often, rare = np.repeat("a", 40), np.array([*("b" * 4), *("c" * 30), *"defghi"])
    table = DoubtTable(pandas.DataFrame({"u": often, "v": rare}), np.zeros(40), ("u", "v"))
    train, test = np.r_[0:3, 4:34], np.r_[3, 33, 34:40]
    assert [KINDS[kind] for kind in table.kinds(train, test)] == ["2–5", "> 20", *["unseen"] * 6]


def test_the_truth_is_covered_as_often_as_it_says():
    said = DoubtCell("uneven noise", "truth", 0, 9_000).run()["said"]["truth"]
    for coverage in COVERAGES:
        assert sum(said[f"covered {coverage}"]) / 3_000 == pytest.approx(coverage, abs=0.03)


def test_normal_quantiles_and_sets_are_what_they_are_by_hand():
    said = Said.normal(np.array([10.0]), np.array([2.0]))
    assert said.quantiles[0, LEVELS.index(0.975)] == pytest.approx(13.92, abs=0.001)
    assert said.intervals[0.9][0][0] == pytest.approx(10 - 2 * 1.645, abs=0.001)
    sets = SaidOfClasses.of_probabilities(np.array([[0.1, 0.85, 0.05], [0.0, 0.0, 1.0]])).sets
    assert sets[0.5].tolist() == [[False, True, False], [False, False, True]]
    assert sets[0.9].tolist() == [[True, True, False], [False, False, True]]


def said(rows, covered, crps):
    sums = {"rows": rows, "crps": [crps * n for n in rows]}
    for coverage in COVERAGES:
        sums |= {f"covered {coverage}": [share * n for share, n in zip(covered, rows, strict=True)]}
        sums |= {f"width {coverage}": [2.0 * n for n in rows]}
    return sums


def test_a_coverage_that_is_off_is_told_where_there_are_rows_enough(tmp_path):
    store, rows = Store(tmp_path / "doubt.json"), [300, 100, 400, 0, 700]
    trials = [DoubtCell("wages", method, fold) for method in ("catbayes, linear", "GPBoost") for fold in range(2)]
    for trial in trials:
        covered = [0.87, 0.5, 0.9, 0.0, 0.95] if trial.method == "GPBoost" else [0.9, 0.5, 0.89, 0.0, 0.91]
        result = {trial.method: said(rows, covered, 0.3 if trial.method == "GPBoost" else 0.2)}
        plant(store, trial, {"said": result, "seconds": 1.0})
    found = summarise(store, trials)
    assert found["off"]["GPBoost"]["off"] == ["wages, unseen: 87.0 %", "wages, > 20: 95.0 %"]
    assert [found["off"]["GPBoost"][key] for key in ("n", "farthest")] == pytest.approx([3, 0.95])
    assert found["off"]["catbayes, linear"]["off"] == []
    assert found["best"] == {"wages": "catbayes, linear"}
    assert found["tables"]["wages"]["GPBoost"]["seconds"] == 2.0


def test_what_took_too_long_once_is_not_tried_again(tmp_path):
    store = Store(tmp_path / "doubt.json")
    trials = cells(["wages"])
    plant(store, next(t for t in trials if t.method == "GPBoost"), {"skipped": "more than 150 s"})
    assert all(trial.method != "GPBoost" for trial in left(store, trials))
    assert len(left(store, trials)) == len(trials) - 3


def test_the_page_is_written_from_all_there_is_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(doubt_tables, "TABLES", ("even noise",))
    page = tmp_path / "page.md"
    found = measure(tmp_path, [page], ["even noise"], n_rows=600, n_folds=1, run=False)
    assert not page.exists()
    assert "**This is not the whole run**: 0 of 7" in found["written"][0].read_text(encoding="utf-8")
    monkeypatch.setattr(doubt, "TABLES", ("even noise",))
    monkeypatch.setattr(doubt, "OF_CLASSES", ())
    store = Store(tmp_path / "doubt.json")
    for trial in cells(["even noise"], 600, 1):
        names = [trial.method, *([trial.method.replace("catbayes", "one width")] if trial.mine else [])]
        result = {name: said([100] * 5, [0.9] * 5, 0.2) for name in names}
        plant(store, trial, {"said": result, "seconds": 1.0})
    store.write()
    measure(tmp_path, [page], ["even noise"], n_rows=600, n_folds=1)
    text = page.read_text(encoding="utf-8")
    assert "make bench-doubt" in text
    assert "| catbayes, linear | 90.0 | 90.0 | 90.0 | 90.0 | 2 | 90.0 | 90.0 | 90.0 | 90.0 | 90.0 | 0.2 | 1.0 |" in text


def test_a_table_that_there_is_not_is_refused():
    told = CliRunner().invoke(command, ["--tables", "nobody"])
    assert told.exit_code == 2
    assert "'nobody' is not one of" in told.output
