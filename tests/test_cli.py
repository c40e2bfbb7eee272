"""The command line: what it writes and prints, and its exit codes."""

import json
import subprocess
import sys

import numpy as np
import pandas
import pytest

import catbayes
from catbayes import SamplingBayesianEncoder
from catbayes.cli import run
from engines import COLUMNS, TABLE, write_files

TARGET = ["--target", "bernoulli"]
QUICK = [*TARGET, "--encoders", "target,ordinal", "--models", "linear", "--cv", "2", "--repeats", "1"]


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with files in it, as the current one."""
    write_files(TABLE, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(*more):
    return run(["fit", "*.parquet", *TARGET, "--columns", ",".join(COLUMNS), "-o", "m.catbayes", *more])


def files(work):
    return {path.name: path.read_bytes() for path in work.iterdir()}


def test_fit_and_encode_do_as_in_python(work, capsys):
    assert fit() == 0
    assert "wrote m.catbayes" in capsys.readouterr().err
    reference = SamplingBayesianEncoder(COLUMNS, random_state=0).fit(TABLE, "bernoulli")
    model = ["--model", "m.catbayes"]
    assert run(["encode", "part-0.parquet", *model, "-o", "out.parquet"]) == 0
    assert run(["encode", "part-0.parquet", *model, "-o", "out.csv", "--drop"]) == 0
    assert run(["encode", "part-?.csv", *model, "-o", "draws.parquet", "--draws", "2", "--row-id", "id"]) == 0
    X = TABLE[list(reference.feature_names_in_)]
    expected = reference.transform(X)[:1_000, 3].astype(float)
    np.testing.assert_allclose(pandas.read_parquet("out.parquet")["zip_encoded"], expected, rtol=1e-12)
    np.testing.assert_allclose(pandas.read_csv("out.csv")["zip_encoded"], expected, rtol=1e-12)
    drawn = pandas.read_parquet("draws.parquet")[["zip_draw0", "zip_draw1"]].to_numpy()
    np.testing.assert_allclose(drawn.T, reference.sample(X, 2, row_id="id")[:, :, 3].astype(float), rtol=1e-9)


def test_flags_of_fit_are_parameters_of_the_encoder(work):
    first, second, *_ = COLUMNS
    together = ["--interactions", f"{first}&{second}", "--hierarchy", f"{second}:{first}"]
    assert fit(*together, "--keep-categories", "codes", "--prior", "2", "--random-state", "3") == 0
    found = catbayes.load("m.catbayes")
    assert (found.columns, found.interactions, found.prior) == (COLUMNS, [(first, second)], 2.0)
    assert (found.keep_categories, found.random_state) == ("codes", 3)
    assert (first, second) in found.posteriors_
    assert fit("--columns", "all", "--force") == 0
    assert catbayes.load("m.catbayes").columns_ == [name for name in TABLE if name != "bernoulli"]


def test_update_adds_removes_and_forgets_rows(work):
    columns = ["--columns", ",".join(COLUMNS)]
    assert run(["fit", "part-0.parquet", *TARGET, *columns, "-o", "a.catbayes"]) == 0
    update = [*TARGET, "--model", "a.catbayes"]
    assert run(["update", "part-1.parquet", "part-2.parquet", *update, "--force"]) == 0
    assert fit() == 0
    one, other = catbayes.load("a.catbayes"), catbayes.load("m.catbayes")
    X = TABLE[list(one.feature_names_in_)]
    np.testing.assert_allclose(*(each.transform(X)[:, 2:6].astype(float) for each in (one, other)), rtol=1e-9)
    for flag, rows in ((["--remove"], 2_000), (["--forget", "0.5"], 2_500)):
        assert run(["update", "part-2.csv", *update, "-o", "b.catbayes", "--force", *flag]) == 0
        assert catbayes.load("b.catbayes").posteriors_["city"]["count"].sum() == pytest.approx(rows)


@pytest.mark.parametrize("name", ["demo", "compare", "fit", "encode", "update"])
def test_every_command_has_help_with_an_example(name, capsys):
    assert run(["--help"]) == 0
    assert name in capsys.readouterr().out
    assert run([name, "--help"]) == 0
    assert f"Example:  catbayes {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["fit", "none*.parquet", "--target", "y", "-o", "x"], 1, "No file matches 'none*.parquet'."),
        (["fit", "part-0.parquet", "--target", "paid", "-o", "x"], 1, "no column 'paid'"),
        (["fit", "part-0.parquet", *TARGET, "-o", "m.catbayes"], 1, "replace it by --force"),
        (["fit", "part-0.parquet", *TARGET, "-o", "part-0.parquet", "--force"], 1, "is read by this command"),
        (["fit", "part-0.parquet", *TARGET, "-o", "x", "--prior", "flat"], 2, "empirical"),
        (["fit", "part-0.parquet", "-o", "x"], 2, "Missing option '--target'"),
        (["encode", "part-0.parquet", "--model", "part-1.parquet", "-o", "x"], 1, "no catbayes encoder"),
        (["encode", "part-0.parquet", "--model", "m.catbayes", "-o", "part-1.parquet"], 1, "exists already"),
        (["encode", "*.parquet", "--model", "m.catbayes", "-o", "part-1.parquet", "--force"], 1, "is to be read"),
        (["compare", "part-0.csv", *TARGET, "--encoders", "tarot"], 1, "'tarot' is not one of"),
        (["compare", "part-0.csv", *TARGET, "--time-budget", "soon"], 2, "such as 120s, 5m or 1h"),
        (["compare", "part-0.csv", *TARGET, "--report", "m.catbayes"], 1, "exists already"),
        (["nonsense"], 2, "No such command"),
    ],
)
def test_errors_have_a_message_and_an_exit_code_and_change_no_file(arguments, code, message, work, capsys):
    fit()
    before = files(work)
    capsys.readouterr()
    assert run(arguments) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert not printed.out
    assert files(work) == before


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_no_numerical_library(option):
    heavy = ("numpy", "scipy", "sklearn", "pandas", "narwhals", "duckdb", "rich", "matplotlib", "jinja2")
    code = (
        "import sys; from catbayes.cli import run; "
        f"assert run([{option!r}]) == 0; print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stderr.strip() == "[]"


def test_without_its_libraries_the_command_line_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "catbayes.cli", None)
    from catbayes.__main__ import main

    with pytest.raises(SystemExit, match=r"catbayes\[cli\]"):
        main()


def test_compare_prints_a_table_and_writes_a_report(work, capsys):
    arguments = ["compare", "part-0.csv", *QUICK, "--drop", "id,zip", "--sample", "400"]
    assert run([*arguments, "--report", "r.html"]) == 0
    printed = capsys.readouterr()
    assert "Note: A random sample of 400 rows is used." in printed.out
    assert "Best AUC:" in printed.out
    assert "wrote r.html" in printed.err
    assert (work / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run([*arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    how = {"encoders": ["target", "ordinal"], "models": ["linear"], "cv": 2, "repeats": 1}
    python = catbayes.compare(work / "part-0.csv", "bernoulli", drop=["id", "zip"], sample=400, **how)
    assert [cell["auc"] for cell in result["cells"]] == python.frame()["auc"].tolist()


def test_compare_without_enough_time_has_no_result(work, capsys):
    assert run(["compare", "part-0.csv", *QUICK, "--time-budget", "0s", "--report", "r.html"]) == 1
    printed = capsys.readouterr()
    assert "not run: the time was up" in printed.out
    assert "there is no result, and no report" in printed.err
    assert not (work / "r.html").exists()


def test_the_demo_opens_with_its_result(work, capsys):
    assert run(["demo", "--rows", "800"]) == 0
    printed = capsys.readouterr().out
    assert printed.strip().startswith("catbayes around LightGBM has an AUC of 0.")
    for words in ("with TargetEncoder has", "of what is possible", "Who should care", "800 simulated payments"):
        assert words in printed
    assert (work / "catbayes-demo.html").exists()
