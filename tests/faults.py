"""What is left of files when processes die, disks fill up and two write at once.

A child of this process runs a command of ours on files made for it, and is killed at a random moment of its life, or of
the time in which it writes, or may write no more than so many bytes to a file. Afterwards every input is as it was, and
the output is the old one or the new one, whole.

`python tests/faults.py --kills 200` tries more than `tests/test_faults.py` does, and writes what it saw to
`build/reliability/faults.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import duckdb  # noqa: F401  children need not import it again
import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet

import catbayes
import catbayes.cli.files
from catbayes import Scaled
from catbayes.__main__ import main as command_line

N_ROWS = 20_000
SENTENCE = 400
"""Bytes that a full disk still has room for: the sentence that says so."""
COMMANDS = {
    "fit": ["fit", "rows.parquet", "--target", "y", "-o", "new.model", "--force"],
    "encode": ["encode", "rows.parquet", "--model", "old.model", "-o", "new.parquet", "--force"],
    "encode to CSV": ["encode", "rows.csv", "--model", "old.model", "-o", "new.csv", "--force"],
    "update": ["update", "more.parquet", "--model", "old.model", "--target", "y", "-o", "new.model", "--force"],
    "update in place": ["update", "more.parquet", "--model", "old.model", "--target", "y", "--force"],
}
OUTPUTS = {"fit": "new.model", "encode": "new.parquet", "encode to CSV": "new.csv", "update": "new.model"}


def make_files(folder):
    """Rows, more rows, a model of the first ones, and what would be replaced."""
    source = np.random.default_rng(0)
    for name, n_rows in (("rows", N_ROWS), ("more", N_ROWS // 2)):
        table = pyarrow.table(
            {
                "city": [f"city {number}" for number in source.integers(1_000, size=n_rows)],
                "shop": [f"shop {number}" for number in source.integers(40, size=n_rows)],
                "y": source.integers(2, size=n_rows),
            }
        )
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    for name in set(OUTPUTS.values()):
        (folder / name).write_bytes(b"what was there before")


def contents(folder):
    """The files of a folder, hidden ones aside."""
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir()) if not p.name.startswith(".")}


def leftovers(folder):
    """What is not yet, or never was, given the name of an output."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def child(arguments, folder, most_bytes=None):
    """Start a command in a child; returns its process id."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    code = 99
    try:
        os.chdir(folder)
        silence = os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
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
    """How a child ended, and after how long."""
    start = time.monotonic()
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), time.monotonic() - start


def goes_on(process):
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def writes(process, folder):
    """Wait until a child has begun to write its output, or ended; returns whether it writes."""
    while goes_on(process):
        if leftovers(folder):
            return True
        time.sleep(0.0002)
    return False


class Trial:
    """Files, and what each command makes of them when nothing happens, in how many seconds of life and of writing."""

    def __init__(self, folder):
        self.folder, self.fresh = Path(folder) / "now", Path(folder) / "fresh"
        self.fresh.mkdir()
        make_files(self.fresh)
        first = ["fit", "rows.parquet", "--target", "y", "-o", "old.model"]
        assert wait(child(first, self.fresh))[0] == 0, (self.fresh / "said").read_text()
        (self.fresh / "said").unlink()
        self.before = contents(self.fresh)
        self.after, self.seconds, self.writing, self.sizes = {}, {}, {}, {}
        for name, arguments in COMMANDS.items():
            self.restore()
            start, process = time.monotonic(), child(arguments, self.folder)
            assert writes(process, self.folder), (name, (self.folder / "said").read_text())
            before = time.monotonic() - start
            code, self.writing[name] = wait(process)
            self.seconds[name] = before + self.writing[name]
            assert code == 0, (name, (self.folder / "said").read_text())
            self.after[name] = self.files()
            self.sizes[name] = (self.folder / OUTPUTS.get(name, "old.model")).stat().st_size

    def restore(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.fresh, self.folder)

    def files(self):
        return {name: digest for name, digest in contents(self.folder).items() if name != "said"}

    def verdict(self, name):
        """ "old" or "new", whole; anything else is a loss."""
        now, output = self.files(), OUTPUTS.get(name, "old.model")
        others = {file: digest for file, digest in now.items() if file != output}
        assert others == {file: digest for file, digest in self.before.items() if file != output}, "an input changed"
        if now[output] == self.before[output]:
            return "old"
        if now[output] == self.after[name][output]:
            return "new"
        assert output.endswith("model"), f"{output} is neither the old one nor the new one"
        same = catbayes.load(self.folder / output)  # the header of a model may be written in another order
        assert same.evidence_.total.count[0] > 0
        return "new"


def kill_some(trial, times, source):
    """Kill each command, every other time while it writes; returns what was left, counted, and how often it wrote."""
    seen, halves = Counter(), 0
    for number in range(times):
        name = list(COMMANDS)[number % len(COMMANDS)]
        how = (signal.SIGKILL, signal.SIGTERM)[number // len(COMMANDS) % 2]
        trial.restore()
        process = child(COMMANDS[name], trial.folder)
        if number // (2 * len(COMMANDS)) % 2:
            writes(process, trial.folder)
            time.sleep(source.uniform(0.0, 0.5) * trial.writing[name])
        else:
            time.sleep(source.uniform(0.0, 1.1) * trial.seconds[name])
        halves += bool(leftovers(trial.folder))
        with suppress(ProcessLookupError):
            os.kill(process, how)
        code, _ = wait(process)
        left = trial.verdict(name)
        seen[f"{how.name}: {'finished before' if code == 0 else left + ' file'}"] += 1
        said = (trial.folder / "said").read_text() if (trial.folder / "said").exists() else ""
        assert "Traceback" not in said, said
        if how == signal.SIGTERM:
            assert code in (0, 143, -signal.SIGTERM), (code, said)
            assert code == -signal.SIGTERM or not leftovers(trial.folder), leftovers(trial.folder)
    return seen, halves


def fill_some(trial, times, source):
    """Let each command write a random share of its output; returns what was left, counted, and the shares refused."""
    seen, shares = Counter(), []
    for number in range(times):
        name = list(COMMANDS)[number % len(COMMANDS)]
        trial.restore()
        most = source.randint(SENTENCE, int(1.2 * trial.sizes[name]))
        code, _ = wait(child(COMMANDS[name], trial.folder, most))
        left, said = trial.verdict(name), (trial.folder / "said").read_text()
        if code:
            assert "File too large" in said, said
            assert "Traceback" not in said, said
            assert left == "old", f"{name} failed and changed its output"
            assert not leftovers(trial.folder), leftovers(trial.folder)
            shares.append(most / trial.sizes[name])
        else:
            assert left == "new", f"{name} said that it had written"
        seen["finished" if code == 0 else "refused, old file"] += 1
    return seen, shares


def write_together(folder, seconds):
    """Two save different encoders to one path, and a third reads it all the time; returns how often it was read."""
    path = Path(folder) / "shared.model"
    encoders = [
        catbayes.SamplingBayesianEncoder(prior=Scaled(1.0), random_state=seed).fit(
            [["a"], ["b"]] * (seed + 1), [0, 1] * (seed + 1)
        )
        for seed in (1, 2)
    ]
    encoders[0].save(path)
    writers = []
    for encoder in encoders:
        process = os.fork()
        if process == 0:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                encoder.save(path)
            os._exit(0)
        writers.append(process)
    end, read = time.monotonic() + seconds, Counter()
    while time.monotonic() < end:
        read[catbayes.load(path).evidence_.total.count[0]] += 1
    assert all(wait(process)[0] == 0 for process in writers)
    assert set(read) <= {4.0, 6.0}
    assert not leftovers(Path(folder))
    return read


def main():
    """Try much, and write what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--full", type=int, default=100)
    parser.add_argument("--together", type=float, default=5.0, help="seconds of two writers at once")
    parser.add_argument("--write", type=Path, default=Path("build/reliability/faults.json"))
    given = parser.parse_args()
    start, source = time.monotonic(), random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(folder)
        kills, halves = kill_some(trial, given.kills, source)
        full, shares = fill_some(trial, given.full, source)
        record = {
            "kills": dict(kills),
            "killed_while_writing": halves,
            "full_disks": dict(full),
            "shares_of_full_disks": [round(share, 2) for share in sorted(shares)],
            "reads_between_two_writers": sum(write_together(folder, given.together).values()),
        }
    record["seconds"] = round(time.monotonic() - start)
    given.write.parent.mkdir(parents=True, exist_ok=True)
    given.write.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
