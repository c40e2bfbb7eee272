"""Processes that are killed, disks that are full and two writers at once: an output is the old one or the new one."""

import subprocess
import sys
from pathlib import Path


def test_no_output_is_lost_or_halved():
    command = [sys.executable, str(Path(__file__).parent / "faults.py"), "--times", "16"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
