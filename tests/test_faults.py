"""Processes that die, disks that are full and two writers at once: an output is the old one or the new one, whole.

In a process of its own, because children are forked, and engines that have run in this one have threads.
"""

import json
import subprocess
import sys
from pathlib import Path


def test_no_file_is_lost_or_halved(tmp_path):
    seen = tmp_path / "seen.json"
    options = ["--kills", "20", "--full", "10", "--together", "1", "--write", str(seen)]
    command = [sys.executable, str(Path(__file__).parent / "faults.py"), *options]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    record = json.loads(seen.read_text())
    assert sum(record["kills"].values()) == 20
    assert sum(record["full_disks"].values()) == 10
    assert len(record["shares_of_full_disks"]) == record["full_disks"]["refused, old file"] > 0
    assert record["killed_while_writing"] > 0
    assert record["reads_between_two_writers"] > 0
