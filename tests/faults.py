"""Processes that are killed, full disks and two writers at once: an output is the old file or the new one, whole.

Each trial runs a command in a child on files made for it, and kills it at a random moment, or limits the bytes that it
may write. Afterwards every input is as it was, and the output is the old or the new file. `tests/test_faults.py` runs
this in a process of its own, because children are forked, and engines that have run in a process have threads there.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import duckdb  # noqa: F401  children need not import it again
import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet

import catbayes
from catbayes.__main__ import main as command_line

N_ROWS = 20_000
COMMANDS = {
    "fit": ("new.model", ["fit", "rows.parquet", "--target", "y", "-o", "new.model", "--force"]),
    "encode": ("new.parquet", ["encode", "rows.parquet", "--model", "old.model", "-o", "new.parquet", "--force"]),
    "encode to CSV": ("new.csv", ["encode", "rows.csv", "--model", "old.model", "-o", "new.csv", "--force"]),
    "update": ("old.model", ["update", "more.parquet", "--model", "old.model", "--target", "y", "--force"]),
}
"""The output of each command, and its arguments."""


def make_files(folder):
    """Write rows, more rows, a model of the first ones, and files that would be replaced."""
    source = np.random.default_rng(0)
    for name, n_rows in (("rows", N_ROWS), ("more", N_ROWS // 2)):
        columns = {"city": 1_000, "shop": 40}
        table = {k: [f"{k} {number}" for number in source.integers(n, size=n_rows)] for k, n in columns.items()}
        table = pyarrow.table({**table, "y": source.integers(2, size=n_rows)})
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    for name in ("new.model", "new.parquet", "new.csv"):
        (folder / name).write_bytes(b"what was there before")
    assert wait(child(["fit", "rows.parquet", "--target", "y", "-o", "old.model"], folder)) == 0


def contents(folder):
    """Checksums of the files of a folder, hidden ones and messages aside."""
    files = (path for path in folder.iterdir() if not path.name.startswith(".") and path.name != "messages")
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in files}


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def child(arguments, folder, most_bytes=None):
    """Start a command in a child, which may write so many bytes to a file; returns its process id."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    code = 99
    try:
        os.chdir(folder)
        messages = os.open("messages", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(messages, 1)
        os.dup2(messages, 2)
        if most_bytes is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        sys.argv = ["catbayes", *arguments]
        try:
            command_line()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0
    finally:
        with suppress(SystemExit):  # of a signal that comes this late: it would go on as the parent
            os._exit(code)
        os._exit(code)


def wait(process):
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def wait_for_writing(process, folder):
    """Wait until a child has begun to write its output, or ended."""
    while os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and not leftovers(folder):
        time.sleep(0.0002)


def restored(fresh, folder):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(fresh, folder)
    return contents(folder)


def check(folder, before, output):
    """Require that the inputs are as they were, and the output is whole; tell whether it is new."""
    now = contents(folder)
    assert {**now, output: ""} == {**before, output: ""}, "an input changed"
    if now[output] == before[output]:
        return False
    if output.endswith("model"):
        assert catbayes.load(folder / output).evidence_.total.count[0] >= N_ROWS
    elif output.endswith("csv"):
        assert pyarrow.csv.read_csv(folder / output).num_rows == N_ROWS
    else:
        assert pyarrow.parquet.read_table(folder / output).num_rows == N_ROWS
    return True


def kill_some(fresh, folder, times, source):
    """Kill each command, every other time while it writes; returns how often it was writing."""
    writing = 0
    for number in range(times):
        output, arguments = list(COMMANDS.values())[number % len(COMMANDS)]
        how = (signal.SIGKILL, signal.SIGTERM)[number // len(COMMANDS) % 2]
        before, process = restored(fresh, folder), child(arguments, folder)
        if number // (2 * len(COMMANDS)) % 2 == 0:
            wait_for_writing(process, folder)
        time.sleep(source.uniform(0.0, 0.02 if leftovers(folder) else 1.0))
        writing += bool(leftovers(folder))
        with suppress(ProcessLookupError):
            os.kill(process, how)
        code = wait(process)
        check(folder, before, output)
        messages = folder / "messages"
        assert not messages.exists() or "Traceback" not in messages.read_text()
        if how == signal.SIGTERM:
            assert code in (0, 143, -signal.SIGTERM)
            assert code == -signal.SIGTERM or not leftovers(folder), leftovers(folder)
    return writing


def fill_some(fresh, folder, times, source):
    """Let each command write a random number of bytes; returns how often they were too few."""
    refused = 0
    for number in range(times):
        output, arguments = list(COMMANDS.values())[number % len(COMMANDS)]
        before = restored(fresh, folder)
        most = source.choice([400, 2_000, 20_000, 1 << 30])
        code, messages = wait(child(arguments, folder, most)), (folder / "messages").read_text()
        is_new = check(folder, before, output)
        assert is_new == (code == 0)
        if code:
            refused += 1
            assert "File too large" in messages, messages
            assert not leftovers(folder), leftovers(folder)
    return refused


def write_together(folder, seconds):
    """Let two processes save to one path while a third reads it; returns how often it was read."""
    path = folder / "shared.model"
    encoders = [
        catbayes.SamplingBayesianEncoder(prior=catbayes.Scaled(1.0)).fit([["a"], ["b"]] * n, [0, 1] * n) for n in (2, 3)
    ]
    encoders[0].save(path)
    writers, end, reads = [], time.monotonic() + seconds, 0
    for encoder in encoders:
        process = os.fork()
        if process == 0:
            while time.monotonic() < end:
                encoder.save(path)
            os._exit(0)
        writers.append(process)
    while time.monotonic() < end:
        assert catbayes.load(path).evidence_.total.count[0] in (4.0, 6.0)
        reads += 1
    assert [wait(process) for process in writers] == [0, 0]
    assert not leftovers(folder)
    return reads


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--times", type=int, default=100, help="of kills, and of full disks")
    times, source = parser.parse_args().times, random.Random(0)
    with tempfile.TemporaryDirectory() as place:
        fresh, folder = Path(place, "fresh"), Path(place, "now")
        fresh.mkdir()
        make_files(fresh)
        assert kill_some(fresh, folder, times, source) > 0
        assert fill_some(fresh, folder, times, source) > 0
        assert write_together(folder, 1.0) > 0


if __name__ == "__main__":
    main()
