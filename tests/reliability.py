"""RELIABILITY.md, from what was run: `make reliability` runs the parts, each of which writes its JSON, and then this.

A part that was not run since stays as the page has it. Nothing on the page is written by hand but the words.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "RELIABILITY.md"
FOLDER = ROOT / "build" / "reliability"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "polars", "pyarrow", "duckdb", "hypothesis")
NOT_RUN = "Not run: `{}` does.\n"


def main():
    """Write the page."""
    parts = [
        OPENING.format(
            day=datetime.now(UTC).strftime("%Y-%m-%d"),
            python=platform.python_version(),
            libraries=", ".join(f"{name} {version(name)}" for name in LIBRARIES),
            cores=len(os.sched_getaffinity(0)),
        ),
        section("Inputs tried", "fuzz.json", "make fuzz", fuzzed),
        section("Faults survived", "faults.json", "python tests/faults.py", faults),
        section("Names and values that were made to break queries", "databases.xml", "make reliability", databases),
        section("Leaks", "leaks.json", "python tests/leaks.py", leaks),
        section("Load", "load.json", "python tests/load.py", load),
        section("Coverage", "coverage.json", "make coverage", coverage),
        section("Mutants", "mutants.json", "make mutants", mutants),
        section("Calibration", "calibration.json", "make calibration", calibration),
    ]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


OPENING = """# Reliability

What was tried to make catbayes lose a row, give a wrong number or end in an error that is not its own.
`python tests/reliability.py`, the last step of `make reliability`, wrote this page on {day} from what was run
before it, with Python {python}, {libraries}, on {cores} shared cores.
Parts have commands of their own, and say how much they tried and when; those that were not run say so.
"""


def section(title, file, command, write):
    """A heading and what a part says; as the page has it, or that it was not run, if it has written nothing."""
    path = FOLDER / file
    if path.exists():
        day = datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%d")
        return f"## {title}\n\n{write(path)}\n\nRun on {day}.\n"
    before = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return before[0].rstrip() + "\n" if before else f"## {title}\n\n{NOT_RUN.format(command)}"


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def table(headings, rows):
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (headings, ["---"] * len(headings), *rows)]
    return "\n".join(lines)


def fuzzed(path):
    """Lives and tables."""
    found = read(path)
    tried = found["tried"]
    told = sum(count for name, count in tried.items() if " from " in name)
    first = (
        f"`make fuzz` for {found['seconds']:,} s: {tried.get('lives', 0):,} lives of encoders, which were told "
        f"of rows "
        f"{told:,} times (merged, removed, forgotten, saved, loaded and copied in between) and compared with "
        f"plain loops in "
        f"{tried.get('cells compared', 0):,} cells; {tried.get('tables', 0):,} tables of any cells, targets, "
        f"weights and "
        f"settings, of which {tried.get('refused', 0):,} were refused in a sentence and the others encoded in "
        f"finite "
        f"numbers. "
    )
    finding = "**Finding**: " + found["finding"].split("\n")[0] if found["finding"] else "No finding."
    rows = sorted((name, f"{count:,}") for name, count in tried.items() if " from " in name)
    return first + finding + "\n\n" + table(["rows told by", "times"], rows)


def faults(path):
    """Kills, full disks, writers."""
    found = read(path)
    seen = {key: sorted(found[key].items()) for key in ("kills", "full_disks")}
    kills, full = (", ".join(f"{name} {number}" for name, number in counts) for counts in seen.values())
    shares = found["shares_of_full_disks"]
    return (
        f"`fit`, `encode` (Parquet and CSV) and `update` (to another file and in place) were killed at "
        f"{sum(found['kills'].values())} random moments ({kills}), {found['killed_while_writing']} of them while the "
        f"output was being written, and run {sum(found['full_disks'].values())} times with a limit on the bytes of a "
        f"file, as a full disk sets it ({full}); refused were limits of {min(shares):.0%} to {max(shares):.0%} of the "
        f"output, with a median of {median(shares):.0%}. Each time all inputs were as before, and the output was the "
        f"old file or the new one, whole: 0 rows lost or changed. A file that two processes replaced all the time was "
        f"read {found['reads_between_two_writers']:,} times, and was always one of the two."
    )


def outcomes(path):
    """How many tests of a report passed, and how many there were."""
    suites = list(ElementTree.parse(path).getroot().iter("testsuite"))
    kinds = ("tests", "failures", "errors", "skipped")
    count = {name: sum(int(suite.get(name, 0)) for suite in suites) for name in kinds}
    return count["tests"] - count["failures"] - count["errors"] - count["skipped"], count


def databases(path):
    """Queries that were executed."""
    passed, count = outcomes(path)
    return (
        f"`to_sql` was executed by DuckDB, SQLite, a server of PostgreSQL and one of MariaDB on quotes, "
        f"backslashes, comments, "
        f"blanks, cases, combining letters and keywords, as names of columns and as values: {passed} of "
        f"{count['tests']} "
        f""
        f"databases gave the numbers of `transform` and left the table as it was."
    )


def leaks(path):
    """Noise."""
    found = read(path)
    cells = found["cells"]
    again = [c for c in cells if "again" in c]
    rows = []
    for key in dict.fromkeys((c["rows"], c["columns"]) for c in cells):
        some = [c for c in cells if (c["rows"], c["columns"]) == key]
        ours, theirs = (sum(c[name] for c in some) / len(some) for name in ("ours", "theirs"))
        most = max(some, key=lambda c: c["ours"] - c["theirs"])
        at_worst = f"{most['ours'] - most['theirs']:+.4f} ({most['model']}, {most['target']})"
        rows.append([*key, f"{ours:+.4f}", f"{theirs:+.4f}", at_worst])
    text = (
        f"What columns of pure noise cost on new rows (log-loss, or 1 - R²), averaged over "
        f"{len({c['model'] for c in cells})} models, {len({c['target'] for c in cells})} targets and {found['seeds']} "
        f"tables of 1,000 rows, by the default encoder and by scikit-learn's TargetEncoder. In {len(again)} of "
        f"{len(cells)} cells we lost more, by more than two standard errors of so few tables; those were tried on "
        f"others, and there we lost "
    )
    named = [
        f"{c['again']['ours']:+.4f} and it {c['again']['theirs']:+.4f} (± {c['again']['error']:.4f}, {c['model']}, "
        f"{c['target']}, {c['rows']} rows, {c['columns']} columns, {c['again']['tables']} tables)"
        for c in again
    ]
    text += ("; ".join(named) if named else "nothing") + ".\n\n"
    headings = ["rows a category", "columns", "default", "TargetEncoder", "most that we lose more"]
    return text + table(headings, rows)


def load(path):
    """Threads, categories, columns, classes, batches."""
    found = read(path)
    seen = {name: numbers for name, numbers in found.items() if name != "seconds"}
    lines = [[name, ", ".join(f"{key} {value:,}" for key, value in numbers.items())] for name, numbers in seen.items()]
    return "Seconds are those of busy, shared cores.\n\n" + table(["what", "seen"], lines)


def coverage(path):
    """Lines and branches."""
    found = read(path)
    total, left = found["totals"], [of["summary"] for of in found["files"].values()]
    files = sum(of["missing_lines"] + of["missing_branches"] > 0 for of in left)
    return (
        f"{total['percent_covered']:.1f} % of {total['num_statements']:,} statements and {total['num_branches']:,} "
        f"branches of `src` are run by the tests that `make coverage` ran, subprocesses, forks and Spark's workers "
        f"included. {total['missing_lines']} statements and {total['missing_branches']} branches, in {files} of "
        f"{len(left)} files, are not."
    )


def mutants(path):
    """What mutmut changed, and what noticed."""
    found = read(path)
    kinds = ("killed", "timeout", "survived", "no tests")
    rows = [
        [name, f"{found['made'][name]:,}", sum(counts.values()), *(counts.get(kind, 0) for kind in kinds)]
        for name, counts in sorted(found["modules"].items())
    ]
    tried, killed, late = (sum(row[place] for row in rows) for place in (2, 3, 4))
    first = ""
    if "at_first" in found:
        first = f" (at first {found['at_first'] / max(tried, 1):.1%}, before tests were written for what was missed)"
    harmless = sum(reason not in kinds for reason in found["survivors"].values())
    left = "".join(f"\n- `{name}`: {reason}" for name, reason in sorted(found["survivors"].items()))
    return (
        f"mutmut made {sum(found['made'].values()):,} changes to the arithmetic, keys and files. Of {tried}, a random "
        f"sample of each module, the tests that call the function noticed {killed}, {late} more by not coming to an "
        f"end: {(killed + late) / max(tried, 1):.1%}{first}. Of the others {harmless} change nothing that is claimed, "
        f"which leaves {(killed + late) / max(tried - harmless, 1):.1%} of those that do.\n\n"
        + table(["module", "made", "tried", "noticed", "no end", "not noticed", "no test"], rows)
        + (f"\n\nNot noticed:\n{left}" if left else "")
    )


def calibration(path):
    """Ranks of the truth among draws."""
    found = read(path)
    cells, power = found["cells"], found["power"]
    values = [p for cell in cells for p in cell["p"]]
    small = sum(p < found["level"] for p in values)
    rows = []
    for key in dict.fromkeys((cell["what"][0], cell["what"][1]) for cell in cells):
        some = [cell for cell in cells if tuple(cell["what"][:2]) == key]
        least = min(some, key=lambda cell: min(cell["p"]))
        rows.append([*key, len(some), f"{min(least['p']):.2g}", ", ".join(least["what"][2:])])
    return (
        f"In {found['tables']} tables a true θ was drawn for each of {found['categories']:,} categories, and targets "
        f"from it; its ranks among draws of the encoder were held against equal ones in {len(values)} tests of "
        f"{len(cells)} combinations of family, prior (given or learnt), strategy for the own target (or new rows), and "
        f"one column, pairs or hierarchies. Posterior SBC draws θ from what was learnt, makes rows of it and tells the "
        f"encoder of them. {small} p-values are below {found['level']:.1e}, as any would be in one run of a hundred. "
        f"Nine times of ten a test sees a spread that is {power['spread']:.0%} too wide, or a mean that is "
        f"{power['mean']:.0%} of a standard deviation off. Priors by γ are no distribution that θ was drawn from, and "
        f"are not tried; nor is posterior SBC of `robust`, whose draws do not hold the noise of a category.\n\n"
        + table(["", "family", "combinations", "smallest p", "of"], rows)
    )


if __name__ == "__main__":
    sys.exit(main())
