"""The command line: what it writes, what it says, and what it returns when something is wrong."""

import csv
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pandas
import pyarrow.parquet
import pytest
from click.shell_completion import ShellComplete
from rich.console import Console

import catbayes
from catbayes import InputError, SamplingBayesianEncoder, encode
from catbayes.cli import run
from catbayes.cli._command import COMMANDS, commands
from catbayes.kinds import Nested
from engines import COLUMNS, TABLE, write_files


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with files in it, as the current one."""
    write_files(TABLE, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(*more):
    return run(["fit", "*.parquet", "--target", "bernoulli", "--columns", ",".join(COLUMNS), "-o", "m.catbayes", *more])


def files(work):
    return {path.name: path.read_bytes() for path in work.iterdir()}


def test_from_files_to_files(work, capsys):
    assert fit() == 0
    assert "wrote m.catbayes: 3,000 rows, BetaBernoulli; city (4), zip (" in capsys.readouterr().err
    reference = SamplingBayesianEncoder(COLUMNS, random_state=0).fit(TABLE, "bernoulli")
    assert run(["encode", "part-0.parquet", "--model", "m.catbayes", "-o", "out.parquet"]) == 0
    assert (
        run(["encode", "*.csv", "--model", "m.catbayes", "-o", "draws.parquet", "--draws", "2", "--row-id", "id"]) == 0
    )
    X = TABLE[list(reference.feature_names_in_)]
    expected = reference.transform(X)[:1_000, 3].astype(float)
    np.testing.assert_allclose(pandas.read_parquet("out.parquet")["zip_encoded"], expected, rtol=1e-12)
    drawn = pandas.read_parquet("draws.parquet")[["zip_draw0", "zip_draw1"]].to_numpy()
    np.testing.assert_allclose(drawn.T, reference.sample(X, 2, row_id="id")[:, :, 3].astype(float), rtol=1e-9)


def test_csv_holds_what_parquet_holds(work):
    assert fit() == 0
    for name in ("out.parquet", "out.csv"):
        assert run(["encode", "part-0.parquet", "--model", "m.catbayes", "-o", name, "--drop"]) == 0
    written, expected = pandas.read_csv("out.csv"), pandas.read_parquet("out.parquet")
    assert list(written) == list(expected)
    np.testing.assert_allclose(written["zip_encoded"], expected["zip_encoded"], rtol=1e-15)
    assert run(["encode", "part-0.parquet", "--model", "m.catbayes", "-o", "out.csv.gz"]) == 1


def test_all_columns_can_be_asked_for(work, capsys):
    assert run(["fit", "part-0.parquet", "--target", "bernoulli", "--columns", "all", "-o", "all.catbayes"]) == 0
    assert catbayes.load("all.catbayes").columns_ == [name for name in TABLE if name != "bernoulli"]


def test_interactions_levels_and_kept_categories_have_flags(work, capsys):
    first, second, *_ = COLUMNS
    flags = ["--interactions", f"{first}&{second}", "--hierarchy", f"{second}:{first}", "--keep-categories", "codes"]
    assert fit(*flags) == 0
    settings = {"interactions": [(first, second)], "kinds": {second: Nested([first])}, "keep_categories": "codes"}
    reference = SamplingBayesianEncoder(COLUMNS, random_state=0, **settings).fit(TABLE, "bernoulli")
    found = catbayes.load("m.catbayes")
    assert found.get_params() == reference.get_params()
    assert found.columns_ == reference.columns_
    assert fit("--interactions", "pairs", "--force") == 0
    assert len(catbayes.load("m.catbayes").columns_) > len(COLUMNS)
    capsys.readouterr()
    assert fit("--interactions", first, "--force") == 2
    assert "expected auto, pairs, triples, or columns such as city&shop" in capsys.readouterr().err
    assert fit("--hierarchy", first, "--force") == 2
    assert "expected a column and those above it, such as postcode:region,country" in capsys.readouterr().err


def test_columns_and_names_are_completed(work):
    assert fit() == 0

    def offered(*words, begun):
        shell = ShellComplete(commands, {}, "catbayes", "_CATBAYES_COMPLETE")
        return [item.value for item in shell.get_completions(list(words), begun)]

    assert offered("compare", "part-0.csv", "--target", begun="ber") == ["bernoulli"]
    assert offered("fit", "part-0.parquet", "--columns", begun="city,zi") == ["city,zip"]
    assert offered("compare", "part-0.csv", "--encoders", begun="target,or") == ["target,ordinal", "target,ordered"]
    assert offered("posteriors", "m.catbayes", "--column", begun="ci") == ["city"]
    assert offered("fit", "no such file", "--target", begun="") == []


def test_updating_is_fitting_on_everything(work):
    target, columns = ["--target", "bernoulli"], ["--columns", ",".join(COLUMNS)]
    assert run(["fit", "part-0.parquet", *target, *columns, "-o", "a.catbayes"]) == 0
    assert (
        run(["update", "part-1.parquet", "part-2.csv", *target, "--model", "a.catbayes", "--force"]) == 1
    )  # two kinds
    assert run(["update", "part-1.parquet", "part-2.parquet", *target, "--model", "a.catbayes", "--force"]) == 0
    assert fit() == 0
    one, other = catbayes.load("a.catbayes"), catbayes.load("m.catbayes")
    X = TABLE[list(one.feature_names_in_)]
    np.testing.assert_allclose(
        one.transform(X)[:, 2:6].astype(float), other.transform(X)[:, 2:6].astype(float), rtol=1e-9
    )
    assert run(["update", "part-2.csv", *target, "--model", "a.catbayes", "-o", "b.catbayes", "--remove"]) == 0
    assert catbayes.load("b.catbayes").evidence_.total.count[0] == 2_000
    assert run(["update", "part-2.csv", *target, "--model", "a.catbayes", "-o", "c.catbayes", "--forget", "0.5"]) == 0
    assert catbayes.load("c.catbayes").evidence_.total.count[0] == 2_500


def test_posteriors_in_every_format(work, capsys):
    fit()
    capsys.readouterr()
    frame = catbayes.load("m.catbayes").posteriors_["city"]
    assert run(["posteriors", "m.catbayes", "--column", "city"]) == 0
    shown = capsys.readouterr().out
    assert "Żary" in shown
    assert len(shown.splitlines()) == 1 + len(frame)
    counts = [int(found.replace(",", "")) for found in re.findall(r"(?:seen|missing|unseen) +([\d,]+)", shown)]
    assert counts == sorted(frame["count"].astype(int), reverse=True)
    assert run(["posteriors", "m.catbayes"]) == 0
    overview = capsys.readouterr().out
    assert len(overview.splitlines()) == 2 + len(COLUMNS)
    assert re.search(r"city +5 +3,000 +\d", overview)
    assert run(["posteriors", "m.catbayes", "--column", "city", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [float(row["mean"]) for row in rows] == frame["mean"].tolist()
    assert run(["posteriors", "m.catbayes", "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert {record["column"] for record in records} == set(COLUMNS)
    assert records[0]["mean"] == frame["mean"][0]
    assert run(["posteriors", "m.catbayes", "--column", "zip", "--format", "parquet", "-o", "zip.parquet"]) == 0
    assert len(pyarrow.parquet.read_table("zip.parquet")) == len(catbayes.load("m.catbayes").posteriors_["zip"])


def test_every_command_has_help_with_an_example(capsys):
    assert run(["--help"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    for name in COMMANDS:
        assert run([name, "--help"]) == 0
        said = capsys.readouterr().out
        assert f"Example:  catbayes {name} " in said
        first = said.split("\n\n")[1]
        assert f" {name} {' '.join(first.split())} " in f" {listed} "  # told alike in the list of commands
    assert run(["--version"]) == 0
    assert catbayes.__version__ in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["fit", "none*.parquet", "--target", "y", "-o", "x"], 1, "No file matches 'none*.parquet'."),
        (["fit", "part-0.parquet", "--target", "paid", "-o", "x"], 1, "no column 'paid'"),
        (["fit", "part-0.parquet", "--target", "bernuli", "-o", "x"], 1, "Did you mean 'bernoulli'?"),
        (["fit", "part-0.parquet", "--target", "bernoulli", "--columns", "ctiy", "-o", "x"], 1, "mean 'city'?"),
        (["fit", "part-0.parquet", "--target", "city", "-o", "x"], 1, "'city' is missing in"),
        (["fit", "part-0.parquet", "--target", "id", "-o", "x"], 1, "set --family normal"),
        (["fit", "part-0.parquet", "--target", "bernoulli", "-o", "m.catbayes"], 1, "to be replaced (--force)."),
        (["fit", "part-0.parquet", "--target", "bernoulli", "-o", "no/x"], 1, "not a folder"),
        (["fit", "part-0.parquet", "--target", "bernoulli", "-o", "."], 1, "is a folder"),
        (["fit", "part-0.parquet", "--target", "bernoulli", "-o", "x", "--prior", "flat"], 2, "empirical"),
        (["fit", "part-0.parquet", "-o", "x"], 2, "Missing option '--target'"),
        (["fit", "--target", "y", "-o", "x"], 2, "Missing argument"),
        (["fit", "part-0.parquet", "--target", "y", "-o", "x", "--engine", "spark"], 2, "'spark' is not one of"),
        (["encode", "part-0.parquet", "--model", "none", "-o", "x"], 1, "There is no file 'none'"),
        (["encode", "part-0.parquet", "--model", "part-1.parquet", "-o", "x"], 1, "no catbayes encoder"),
        (["encode", "part-0.parquet", "--model", "m.catbayes", "-o", "part-1.parquet"], 1, "exists already"),
        (["encode", "part-0.parquet", "--model", "m.catbayes", "-o", "x", "--draws", "0"], 2, "0 is not in the range"),
        (["encode", "part-0.parquet", "--model", "m.catbayes", "-o", "x", "--draws", "1", "--row-id", "q"], 1, "'q'"),
        (["encode", "part-0.parquet", "--model", "m.catbayes", "-o", "x", "--target", "bernoulli"], 1, "Ask for draws"),
        (["update", "part-0.parquet", "--model", "m.catbayes", "--target", "bernoulli"], 1, "exists already"),
        (["update", "part-0.parquet", "--model", "m.catbayes", "--target", "normal", "-o", "x"], 1, "fractions"),
        (["posteriors", "m.catbayes", "--column", "q"], 1, "encodes no column 'q'"),
        (["posteriors", "m.catbayes", "--column", "City"], 1, "Did you mean 'city'?"),
        (["posteriors", "m.catbayes", "--format", "parquet"], 1, "name a file by -o"),
        (["compare", "none.csv", "--target", "y"], 1, "No file matches 'none.csv'"),
        (["compare", "part-0.csv", "--target", "paid"], 1, "no column 'paid'"),
        (["compare", "part-0.csv", "--target", "bernoulli", "--encoders", "tarot"], 1, "'tarot' is not one of"),
        (["compare", "part-0.csv", "--target", "bernoulli", "--encoders", "targt"], 1, "Did you mean 'target'?"),
        (
            ["fit", "part-0.csv", "--target", "bernoulli", "--columns", "citty", "-o", "x"],
            1,
            "and the table has no such",
        ),
        (["compare", "part-0.csv", "--target", "bernoulli", "--by", "r2"], 1, "--by r2: expected one of"),
        (["compare", "part-0.csv", "--target", "bernoulli", "--folds", "900"], 1, "--folds 900 for 1000 rows"),
        (
            ["compare", "part-0.csv", "--target", "bernoulli", "--groups", "a", "--time", "b"],
            1,
            "--groups and --time",
        ),
        (["compare", "part-0.csv", "--target", "bernoulli", "--time-budget", "soon"], 2, "such as 120s, 5m or 1h"),
        (["compare", "part-0.csv", "--target", "bernoulli", "--report", "m.catbayes"], 1, "exists already"),
        (["demo", "--report", "m.catbayes"], 1, "exists already"),
        (["compare", "part-0.csv", "--target", "bernoulli", "--family", "survival"], 2, "'survival' is not one of"),
        (["nonsense"], 2, "No such command"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(arguments, code, message, work, capsys):
    fit()
    before = files(work)
    capsys.readouterr()
    assert run(arguments) == code
    said = capsys.readouterr()
    assert message in said.err
    assert "Traceback" not in said.err
    assert not said.out
    if code == 1:
        assert len(said.err.strip().splitlines()) == 1
    assert files(work) == before


TARGET = ["--target", "bernoulli"]
WRITING = {
    "fit": (["fit", "part-?.parquet", *TARGET, "-o"], ["part-1.parquet", "hard link"]),
    "encode": (["encode", ".", "--model", "m.catbayes", "-o"], ["part-0.parquet", "m.catbayes"]),
    "update": (["update", "part-0.parquet", "--model", "m.catbayes", *TARGET, "-o"], ["part-0.parquet"]),
    "posteriors": (["posteriors", "m.catbayes", "-o"], ["m.catbayes"]),
    "compare": (["compare", "part-0.csv", *TARGET, "--report"], ["part-0.csv"]),
    "demo": (["demo", "--report"], []),
}


@pytest.mark.parametrize("command", WRITING)
def test_no_command_replaces_what_it_reads_nor_what_is_no_file(command, work, capsys):
    fit()
    for path in work.glob("*.csv" if command != "compare" else "no files"):
        path.unlink()  # a folder of one kind of files
    os.link("part-1.parquet", "hard link")
    before = files(work)
    os.mkfifo("pipe")
    arguments, inputs = WRITING[command]
    told = {"pipe": "is a device, a pipe or a socket", "-": "stands for no stream"} | dict.fromkeys(
        inputs, "is to be read"
    )
    for output, message in told.items():
        for force in ([], ["--force"]):
            capsys.readouterr()
            assert run([*arguments, output, *force]) == 1
            assert message in capsys.readouterr().err
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    os.unlink("pipe")
    assert files(work) == before


def test_a_link_to_an_open_pipe_is_no_file_to_write(work):
    encoder = SamplingBayesianEncoder(COLUMNS, random_state=0).fit(TABLE, "bernoulli")
    ends = os.pipe()
    with pytest.raises(InputError, match="is a device, a pipe or a socket"):
        encode(work / "part-0.parquet", encoder, f"/dev/fd/{ends[1]}")
    for end in ends:
        os.close(end)


def test_encode_does_not_replace_what_it_reads(work):
    before = files(work)
    encoder = SamplingBayesianEncoder(COLUMNS, random_state=0).fit(TABLE, "bernoulli")
    with pytest.raises(InputError, match="is to be read"):
        encode(work / "part-0.parquet", encoder, work / "part-0.parquet", overwrite=True)
    assert files(work) == before


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_no_numerical_library(option):
    """They are what is asked for first, and must not take seconds."""
    heavy = ("numpy", "scipy", "sklearn", "pandas", "narwhals", "duckdb", "rich", "matplotlib", "jinja2")
    code = (
        "import sys; from catbayes.cli import run; "
        f"assert run([{option!r}]) == 0; print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stderr.strip() == "[]"


def test_a_missing_library_of_the_command_line_is_named_with_the_extra(work, monkeypatch, capsys):
    fit()
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, "rich.table", None)
    assert run(["posteriors", "m.catbayes", "--column", "city"]) == 1
    assert 'pip install "catbayes[cli]"' in capsys.readouterr().err


def test_a_full_disk_leaves_nothing_behind(work, monkeypatch, capsys):
    fit()
    before = files(work)

    def full(self, table, *more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pyarrow.parquet.ParquetWriter, "write_table", full)
    assert run(["encode", "part-0.parquet", "--model", "m.catbayes", "-o", "x.parquet"]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert files(work) == before


def test_a_folder_that_cannot_be_written_to_is_said_so(work, monkeypatch, capsys):
    fit()
    locked = work / "locked"
    locked.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) != "locked")  # root may write anywhere
    capsys.readouterr()
    assert run(["encode", "part-0.parquet", "--model", "m.catbayes", "-o", "locked/x.parquet"]) == 1
    assert "locked is a folder that cannot be written to" in capsys.readouterr().err
    assert not list(locked.iterdir())


def interrupted(work, number):
    """Send a signal to an encoding that has begun to write; returns its exit code."""
    fit()
    pandas.concat([TABLE] * 300).to_parquet("big.parquet")
    command = [sys.executable, "-m", "catbayes", "encode", "big.parquet", "--model", "m.catbayes", "-o", "x.parquet"]
    process = subprocess.Popen([*command, "--draws", "50"], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not list(work.glob(".x.parquet*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    assert "Traceback" not in said
    assert not list(work.glob("*x.parquet*"))
    return process.returncode


def test_an_interruption_leaves_nothing_behind(work):
    assert interrupted(work, signal.SIGINT) == 130


def test_settings_are_saved_as_they_were_given(work):
    assert run(["fit", "part-0.parquet", "--target", "bernoulli", "--columns", "zip, city", "-o", "z.catbayes"]) == 0
    assert catbayes.load("z.catbayes").columns == ["zip", "city"]


def test_two_updates_at_once_lose_nothing(work, monkeypatch, capsys):
    fit()
    real = catbayes.gather

    def meanwhile(*arguments, **options):
        catbayes.load("m.catbayes").forget(0.5).save("m.catbayes")  # somebody else is faster
        return real(*arguments, **options)

    monkeypatch.setattr("catbayes.cli._files.gather", meanwhile)
    capsys.readouterr()
    assert run(["update", "part-0.parquet", "--model", "m.catbayes", "--target", "bernoulli", "--force"]) == 1
    assert "changed by somebody else" in capsys.readouterr().err
    assert catbayes.load("m.catbayes").evidence_.total.count[0] == 1_500


def test_termination_leaves_nothing_behind(work):
    assert interrupted(work, signal.SIGTERM) == 143


def test_progress_counts_all_rows(work):
    fit()
    told = []
    encode(
        "*.parquet", catbayes.load("m.catbayes"), "x.parquet", progress=lambda done, total: told.append((done, total))
    )
    assert told[-1] == (3_000, 3_000)


QUICK = [
    "--target",
    "bernoulli",
    "--encoders",
    "target,ordinal",
    "--models",
    "linear",
    "--folds",
    "2",
    "--repeats",
    "1",
]


def test_compare_prints_a_table_and_writes_a_report(work, capsys, monkeypatch):
    monkeypatch.setattr("catbayes.report._summary.DRAWS", (1, 2))
    monkeypatch.setattr("catbayes.report._summary.N_ROUNDS", 5)
    arguments = ["compare", "part-0.csv", *QUICK, "--id", "id,zip", "--sample", "400"]
    assert run([*arguments, "--report", "r.html", "--time-budget", "5m"]) == 0
    said = capsys.readouterr()
    assert "400 rows" in said.out
    assert "Note: A random sample of 400 rows is used." in said.out
    assert "Best AUC:" in said.out
    assert "wrote r.html" in said.err
    assert (work / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run([*arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    python = catbayes.compare(
        work / "part-0.csv",
        "bernoulli",
        encoders=["target", "ordinal"],
        models=["linear"],
        cv=2,
        repeats=1,
        drop=["id", "zip"],
        sample=400,
    )
    assert [cell["auc"] for cell in result["cells"]] == python.frame()["auc"].tolist()
    assert [len(cell["scores"]["auc"]) for cell in result["cells"]] == [2, 2]


def test_compare_says_what_did_not_fit_in_the_time(work, capsys):
    assert run(["compare", "part-0.csv", *QUICK, "--time-budget", "0.001s", "--report", "r.html"]) == 1
    said = capsys.readouterr()
    assert "target and ordinal with logistic: not run: the time was up" in said.out
    assert "there is no result, and no report" in said.err
    assert not (work / "r.html").exists()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_fits_the_terminal(work, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("catbayes.cli._comparing.Console", lambda **more: Console(force_terminal=True, **more))
    assert run(["compare", "part-0.csv", *QUICK]) == 0
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    row = next(line for line in shown.splitlines() if line.strip().startswith("target "))
    assert re.search(r"target +logistic +0\.\d{4} +\d\.\d{4}", row)
    assert max(map(len, shown.splitlines())) <= width


def test_ctrl_c_prints_what_is_finished(work, capsys, monkeypatch):
    def stop(done, total, what):
        if what.startswith("ordinal"):
            raise KeyboardInterrupt

    monkeypatch.setattr(
        "catbayes.cli._comparing.compare_encoders",
        lambda table, y, progress, **settings: catbayes.compare(table, y, progress=stop, **settings),
    )
    assert run(["compare", "part-0.csv", *QUICK]) == 130
    said = capsys.readouterr()
    assert "Best AUC: target + logistic" in said.out
    assert "ordinal with logistic: not run: interrupted" in said.out
    assert "interrupted; the above is what was finished" in said.err


def test_the_demo_tells_its_story_on_a_small_table(work, capsys, monkeypatch):
    monkeypatch.setattr("catbayes.report._summary.DRAWS", (1, 2))
    monkeypatch.setattr("catbayes.report._summary.N_ROUNDS", 5)
    assert run(["demo", "--rows", "800"]) == 0
    said = capsys.readouterr().out
    for words in ("800 simulated card payments", "Best AUC", "What to notice", "Three lines to do it yourself"):
        assert words in said
    assert (work / "catbayes-demo.html").exists()


def test_names_do_not_write_to_the_terminal(work, capsys):
    """Escape sequences in names of columns and categories move no cursor and change no colour."""
    evil = "\x1b[31mred\x07"
    table = pandas.DataFrame({evil: [evil, "b"] * 10, "c": ["u", "v"] * 10, "y": [0, 1] * 10})
    table.to_parquet("evil.parquet")
    assert run(["fit", "evil.parquet", "--target", "y", "-o", "evil.model"]) == 0
    assert run(["posteriors", "evil.model"]) == 0
    assert run(["posteriors", "evil.model", "--column", evil]) == 0
    assert run(["posteriors", "evil.model", "--column", "\x1b[2J"]) == 1
    assert run(["fit", "evil.parquet", "--target", evil + "x", "-o", "b.model"]) == 1
    shown = capsys.readouterr()
    assert "\\x1b[31mred" in shown.out + shown.err
    assert "\x1b" not in shown.out + shown.err
    assert "\x07" not in shown.out + shown.err
