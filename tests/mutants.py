"""Changes that mutmut makes to the arithmetic, and which of them no test notices: a sample of each module.

mutmut makes thousands of changes, and finds which tests call each function (`mutmut run none` stops there). From then
on it would take days. So a sample of fixed seed (`--seed` for another) is taken of every module, and each change is met
by the tests that call its function, the fastest first, until one fails or they have taken `--seconds`. What was found
goes to `build/reliability/mutants.json` after each change: it may be stopped at any time. `--again` tries what was not
noticed once more, when tests have been written for it, and keeps how much was noticed at first, which says more of the
rest.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

FOLDER = Path("mutants")
NOTICED, NOT_NOTICED = 1, 0

EQUIVALENT = {
    "catbayes.core.random_keys.x_row_keys__mutmut_10": "names of files are the same text in numpy's own type",
    "catbayes.core.random_keys.x_row_keys__mutmut_12": "names of files are the same text in numpy's own type",
    "catbayes.priors.xǁGivenǁfit__mutmut_14": "only the shapes of what is expected are read",
    "catbayes.families._arithmetic.x_maximise__mutmut_9": "scipy takes L-BFGS-B by itself where there are bounds",
    "catbayes.families.poisson.xǁGammaPoissonǁinside__mutmut_6": "the same numbers, in another array",
    "catbayes.families.normal.xǁNormalGammaǁof_nodes__mutmut_2": "a start: three rounds end within 1e-7 of each other",
}
"""Why a change that no test notices changes nothing, or nothing that is claimed."""


def made():
    """The changes of each module; families are one."""
    found: dict[str, list[str]] = {}
    for path in sorted((FOLDER / "src").rglob("*.meta")):
        module = ".".join(path.relative_to(FOLDER / "src").parts).removesuffix(".py.meta")
        name = "catbayes.families" if module.startswith("catbayes.families") else module
        found.setdefault(name, []).extend(json.loads(path.read_text())["exit_code_by_key"])
    return {name: sorted(changes) for name, changes in found.items() if changes}


def tests_of(change, stats, seconds):
    """The tests that call what was changed, the fastest first, as many as the time allows."""
    took = stats["duration_by_test"]
    tests = sorted(stats["tests_by_mangled_function_name"].get(change.rpartition("__mutmut_")[0], ()), key=took.get)
    chosen, total = [], 0.0
    for test in tests:
        total += took[test]
        if total > seconds:
            break
        chosen.append(test)
    return chosen


def tried(change, tests, seconds):
    """Run tests in a child that has the change; returns "killed", "survived" or "timeout"."""
    process = os.fork()
    if process == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.environ["MUTANT_UNDER_TEST"] = change
        import pytest

        quick = ["-x", "-q", "-p", "no:cacheprovider", "--rootdir=.", "--hypothesis-profile=mutants"]
        os._exit(pytest.main([*quick, *tests]))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            assert code in (NOTICED, NOT_NOTICED) or code < 0, (change, code)
            return "survived" if code == NOT_NOTICED else "killed"
        time.sleep(0.02)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "timeout"


def main():
    """Try a sample."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--each", type=int, default=40, help="changes of each module")
    parser.add_argument("--seconds", type=float, default=40.0, help="of tests for each change")
    parser.add_argument("--seed", default="", help="a word, for another sample")
    parser.add_argument("--only", nargs="*", default=[], help="changes by their names, in the place of a sample")
    parser.add_argument("--again", action="store_true", help="what the record says was not noticed, once more")
    parser.add_argument("--write", type=Path, default=Path("build/reliability/mutants.json"))
    given = parser.parse_args()
    write, changes = given.write.absolute(), made()
    before = json.loads(write.read_text(encoding="utf-8")) if given.again else None
    if before is not None:
        given.only = list(before["survivors"])
    sample = {
        name: random.Random(name + given.seed).sample(names, min(given.each, len(names)))
        for name, names in changes.items()
    }
    if given.only:
        sample = {name: [change for change in given.only if change in names] for name, names in changes.items()}
    stats = json.loads((FOLDER / "mutmut-stats.json").read_text())
    os.chdir(FOLDER)
    sys.path[:0] = [str(Path("src").absolute())]
    os.environ["PYTHONPATH"] = sys.path[0]
    os.environ["MUTANT_UNDER_TEST"] = ""
    import_once()
    record = {"made": {name: len(of) for name, of in changes.items()}, "modules": {}, "survivors": {}}
    for number in range(max(map(len, sample.values()))):  # a module after the other, so that it may be stopped
        for name, chosen in sample.items():
            if number < len(chosen):
                change, counts = chosen[number], record["modules"].setdefault(name, {})
                tests = tests_of(change, stats, given.seconds)
                result = tried(change, tests, 4 * given.seconds + 60) if tests else "no tests"
                counts[result] = counts.get(result, 0) + 1
                if result not in ("killed", "timeout"):
                    record["survivors"][change] = EQUIVALENT.get(change, result)
                write.parent.mkdir(parents=True, exist_ok=True)
                write.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if before is not None:
        record = together(before, record)
        write.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=1))


def noticed(record):
    """How many changes the tests noticed."""
    return sum(counts.get("killed", 0) + counts.get("timeout", 0) for counts in record["modules"].values())


def together(before, again):
    """A record, with what became of its survivors."""
    modules = {name: dict(counts) for name, counts in before["modules"].items()}
    for name, counts in again["modules"].items():
        for missed in ("survived", "no tests"):
            modules[name].pop(missed, None)
        for result, count in counts.items():
            modules[name][result] = modules[name].get(result, 0) + count
    first = before.get("at_first", noticed(before))  # it may be the second time
    return {**before, "modules": modules, "survivors": again["survivors"], "at_first": first}


def import_once():
    """What the children need not import again."""
    for name in (
        "duckdb",
        "hypothesis",
        "pandas",
        "polars",
        "pyarrow.parquet",
        "pytest",
        "scipy.stats",
        "sklearn.ensemble",
    ):
        import_module(name)
    import catbayes

    for name in catbayes.__all__:
        getattr(catbayes, name)


if __name__ == "__main__":
    main()
