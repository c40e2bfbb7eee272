"""Commands that are killed, full disks and two writers at once: an output is the old file or the new one, whole."""

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas
import pytest

import catbayes
from catbayes import SamplingBayesianEncoder, Scaled

N_ROWS = 60_000
COLUMNS = {"city": 20_000, "shop": 40}
COMMANDS = {
    "fit": ("new.model", "fit rows.parquet --target y -o new.model --force"),
    "encode": ("new.parquet", "encode rows.parquet --model old.model -o new.parquet --draws 9 --force"),
    "encode to CSV": ("new.csv", "encode rows.parquet --model old.model -o new.csv --draws 9 --force"),
    "update": ("old.model", "update rows.parquet --model old.model --target y --force"),
}
"""The output of each command, and its arguments."""
READ = {
    "model": lambda path: catbayes.load(path).evidence_.total.count[0],
    "parquet": lambda path: len(pandas.read_parquet(path)),
    "csv": lambda path: len(pandas.read_csv(path)),
}


@pytest.fixture
def folder(tmp_path):
    """Rows, a model of them, and files that would be replaced."""
    random = np.random.default_rng(0)
    columns = {name: np.char.add(name, random.integers(n, size=N_ROWS).astype(str)) for name, n in COLUMNS.items()}
    table = pandas.DataFrame(columns).assign(y=random.integers(2, size=N_ROWS))
    table.to_parquet(tmp_path / "rows.parquet")
    SamplingBayesianEncoder().fit(table.head(1000), "y").save(tmp_path / "old.model")
    for name in ("new.model", "new.parquet", "new.csv"):
        (tmp_path / name).write_bytes(b"what was there before")
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def start(arguments, folder, limit=""):
    command = ["sh", "-c", f"{limit} exec {sys.executable} -m catbayes {arguments}"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def is_replaced(folder, before, output):
    """Require that the inputs are as they were and the output is whole, and return whether it is new."""
    after = contents(folder)
    assert {**after, output: b""} == {**before, output: b""}
    if after[output] != before[output]:
        assert READ[output.partition(".")[2]](folder / output) >= N_ROWS
    return after[output] != before[output]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", ["fit", "encode to CSV"])
def test_a_command_that_is_ended_leaves_the_old_file_or_the_new_one(name, number, folder):
    output, arguments = COMMANDS[name]
    before, process = contents(folder), start(arguments, folder)
    while process.poll() is None and not list(folder.glob(".*")):
        time.sleep(0.001)  # until it begins to write
    process.send_signal(number)
    _, printed = process.communicate(timeout=120)
    is_new = is_replaced(folder, before, output)
    if number != signal.SIGKILL:
        assert is_new or process.returncode == 128 + number
        assert "Traceback" not in printed
        assert not list(folder.glob(".*"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_leaves_the_old_file(name, folder):
    output, arguments = COMMANDS[name]
    before, process = contents(folder), start(arguments, folder, "ulimit -f 20;")
    _, printed = process.communicate(timeout=120)
    assert not is_replaced(folder, before, output)
    assert "File too large" in printed
    assert not list(folder.glob(".*"))


def test_what_two_threads_save_to_one_path_can_always_be_read(tmp_path):
    path, n_saves = tmp_path / "shared.model", 60
    encoders = [SamplingBayesianEncoder(prior=Scaled(1.0)).fit([["a"], ["b"]] * n, [0, 1] * n) for n in (2, 3)]
    encoders[0].save(path)
    with ThreadPoolExecutor() as threads:
        writers = [threads.submit(encoder.save, path) for encoder in encoders * n_saves]
        while not all(writer.done() for writer in writers):
            assert catbayes.load(path).evidence_.total.count[0] in (4.0, 6.0)
    assert [writer.result() for writer in writers] == [None] * 2 * n_saves
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
