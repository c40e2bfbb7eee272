"""What `mutmut run` found, as JSON for RELIABILITY.md: changes that were noticed, and those that were not."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path


def main():
    """Read mutmut's results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, default=Path("build/reliability/mutants.json"))
    given = parser.parse_args()
    command = [str(Path(sys.executable).parent / "mutmut"), "results", "--all", "true"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    results = dict(line.strip().rsplit(": ", 1) for line in said.splitlines() if "__mutmut_" in line)
    judged = {name: result for name, result in results.items() if result not in ("not checked", "no tests")}
    record = {
        **dict.fromkeys(("killed", "survived", "timeout", "no tests", "not checked"), 0),
        **Counter(results.values()),
        "modules": sorted({name.partition(".x")[0] for name in judged}),
        "survivors": sorted(name for name, result in judged.items() if result == "survived"),
    }
    given.write.parent.mkdir(parents=True, exist_ok=True)
    given.write.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
