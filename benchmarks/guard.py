"""Compare the working tree with an older commit: the same tasks with both, on one machine, in one run.

    python benchmarks/guard.py [--base REV] [--new SRC] [--only answers,scores,leakage,rows,cost] [--tolerance 1.15]

- answers: random settings of encoders and models answer bit for bit the same, or raise with both versions.
- scores: AUC, R² or MSE of three models on three tables from the folder in CATBAYES_DATA are not worse.
- leakage: on noise, no branch of own_target="exclude" lets a model predict training rows that it did not see.
- rows: the draws for a row id are the same by `sample`, from files and by Spark, and in both versions.
- cost: ratios, new / old, of time and of the peak of memory, from processes that take turns. Times are seconds of
  processor, so that others on the machine disturb them little, and the best of all rounds counts. Memory is what a
  task needs above its input.

The old version is unpacked into build/guard/. `guard_tasks.py` of the working tree runs with both, and the copy of it
that belongs to a version translates settings for that version (for commits before the guard, its first copy). The exit
code is 1 if anything is worse.
"""

from __future__ import annotations

import argparse
import io
import os
import pickle
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
TASKS = Path(__file__).with_name("guard_tasks.py")
Results = dict[str, Any]

COSTS = (
    *(f"fit_transform, {container}" for container in ("pandas objects", "pandas strings", "polars", "whole numbers")),
    "LightGBM, fit",
    "LightGBM, predict_proba",
    "Ridge, fit",
    "encode a file",
)
BARE = {
    "import catbayes": "import catbayes",
    "catbayes --help": "import sys; sys.argv[1:] = ['--help']; from catbayes.__main__ import main; main()",
}
MEASURED = """
import time
try:
    {code}
except SystemExit:
    pass
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak, time.process_time())
"""
ROUNDS, MOST_ROUNDS = 3, 9


@dataclass(frozen=True)
class Version:
    """One version of catbayes: the folder of its source, and the file that translates settings for it."""

    label: str
    source: Path
    translation: Path

    def start(self, command: list[str], **options: Any) -> subprocess.Popen[str]:
        """Start a process that imports this version."""
        one_thread = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "POLARS_MAX_THREADS": "1"}
        environment = os.environ | one_thread | {"PYTHONPATH": str(self.source)}
        return subprocess.Popen([sys.executable, *command], env=environment, text=True, **options)

    def measure(self, name: str) -> tuple[float, float]:
        """Measure memory and time of one task in a new process."""
        if name in BARE:
            process = self.start(["-c", MEASURED.format(code=BARE[name])], stdout=subprocess.PIPE)
            memory, seconds = process.communicate()[0].splitlines()[-1].split()
            return float(memory), float(seconds)
        (found,) = run([self], "cost", name)
        return found["memory"], found["time"]


def run(versions: list[Version], part: str, *arguments: str) -> list[Results]:
    """Run a part with some versions at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        started = []
        for version in versions:
            output = Path(folder, version.label)
            about = [version.label, str(version.translation), str(output), part, *arguments]
            started.append((version.start([str(TASKS), *about]), output))
        codes = [process.wait() for process, _ in started]
        if any(codes):
            labels = [version.label for version, code in zip(versions, codes, strict=True) if code]
            raise RuntimeError(f"{part} failed with the {' and the '.join(labels)} version")
        return [pickle.loads(output.read_bytes()) for _, output in started]


# ------------------------------------------------------------------------------------------------ parts


def difference(old: Any, new: Any) -> str | None:
    """Describe how two answers differ; None if they are the same, or if both are errors."""
    if isinstance(old, str) or isinstance(new, str):
        raised = [str(one).startswith("raised") for one in (old, new)]
        same = all(raised) or (not any(raised) and isinstance(old, type(new)) and old == new)
        return None if same else f"{str(old)[:100]!r} → {str(new)[:100]!r}"
    if old is None or new is None:
        return "new" if old is None else "missing"
    if old.shape != new.shape:
        return f"shape {old.shape} → {new.shape}"
    if old.tobytes() == new.tobytes():
        return None
    if not np.array_equal(np.isfinite(old), np.isfinite(new)):
        return "other values are finite"
    differ = np.isfinite(old) & (old != new)
    largest = np.max(np.abs(new - old)[differ] / np.maximum(np.abs(old[differ]), 1e-300), initial=0.0)
    return f"largest relative difference {largest:.2g}"


def compare_answers(versions: list[Version], n_settings: int) -> list[str]:
    """Compare every answer of every setting."""
    old, new = run(versions, "answers", str(n_settings))
    worse = []
    for setting, before in old.items():
        for name in before | new[setting]:
            differs = difference(before.get(name), new[setting].get(name))
            if differs is not None:
                worse.append(f"answers, {name}: {differs}\n    of {setting}")
    answered = sum(not str(next(iter(found.values()))).startswith("raised") for found in old.values())
    if answered < 0.8 * len(old):
        worse.append(f"answers: of {len(old)} settings only {answered} can be fitted with the old version")
    print(f"{len(old)} settings, {answered} fitted with the old version, {len(worse)} differences")
    return worse


def compare_scores(versions: list[Version]) -> list[str]:
    """Compare scores, and show all that differ."""
    old, new = run(versions, "scores")
    worse = []
    for name, (score, predicted) in old.items():
        after, now = new[name]
        change = after - score
        note = difference(predicted, now)
        print(f"{name:45} {score:14.6f} {after:14.6f} {change:+.2g} {'' if note is None else f'predictions: {note}'}")
        if (change > 0 if name.endswith("MSE") else change < 0) or not np.isfinite(after):
            worse.append(f"scores, {name}: {score:.6f} → {after:.6f}")
    return worse


def compare_leakage(versions: list[Version]) -> list[str]:
    """Compare correlations with four standard errors of a correlation of independent rows; controls exceed these."""
    old, new = run(versions, "leakage")
    worse = []
    print(f"{'correlation with the target on noise':50} {'old':>8} {'new':>8} {'bound':>8}")
    for name, before in old.items():
        after = new[name]
        bound = 4.0 / np.sqrt(after[:, 1].sum())
        found, control = after[:, 0].mean(), name.startswith("control")
        print(f"{name:50} {before[:, 0].mean():8.4f} {found:8.4f} {bound:8.4f}")
        if not control and not found <= bound:
            worse.append(f"leakage, {name}: {found:.4f} is above {bound:.4f}")
        if control and found <= bound:
            worse.append(f"leakage, {name}: {found:.4f} is below {bound:.4f}: leakage is not measured any more")
    return worse


def compare_rows(versions: list[Version]) -> list[str]:
    """Compare the draws of all ways and both versions with those of `sample` in the old version."""
    worse = []
    found = dict(zip(("old", "new"), run(versions, "rows"), strict=True))
    for label, drawn in found.items():
        for name, draws in drawn.items():
            expected = found["old"][name.partition(",")[0] + ", sample"]
            differs = difference(expected, draws)
            print(f"{label}, {name:25} {draws.shape} {differs or 'the same'}")
            if differs is not None:
                worse.append(f"rows, {label}, {name}: {differs}")
    return worse + [f"rows, {name}: missing" for name in found["old"].keys() - found["new"].keys()]


def compare_cost(versions: list[Version], tolerance: float) -> list[str]:
    """Measure both versions in turn; a ratio above the tolerance is measured again, and the best counts."""
    worse = []
    print(f"{'new / old':35} {'time':>8} {'memory':>8}   {'time':>8} {'memory':>8}")
    for name in (*COSTS, *BARE):
        best = {version.label: np.array([np.inf, np.inf]) for version in versions}
        for number in range(MOST_ROUNDS):
            for version in versions:
                best[version.label] = np.minimum(best[version.label], version.measure(name))
            ratios = best["new"] / best["old"]
            if number + 1 >= ROUNDS and (ratios <= tolerance).all():
                break
        memory, seconds = best["new"]
        unit = "KB" if name in BARE else "MB"
        print(f"{name:35} {ratios[1]:8.2f} {ratios[0]:8.2f}   {seconds:6.2f} s {memory:6.0f} {unit}", flush=True)
        for what, ratio in zip(("memory", "time"), ratios, strict=True):
            if not ratio <= tolerance:
                worse.append(f"cost, {name}: {ratio:.2f} × the {what}")
    return worse


# ------------------------------------------------------------------------------------------------ command


def unpack(revision: str) -> Path:
    """Write the source and the benchmarks of a commit to build/guard/, unless they are there."""

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout

    commit = git("rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
    folder = ROOT / "build" / "guard" / commit[:12]
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(git("archive", commit, "src", "benchmarks"))) as archive:
            archive.extractall(part, filter="data")
        translation = part / "benchmarks" / TASKS.name
        if not translation.exists():
            name = f"benchmarks/{TASKS.name}"
            commits = git("log", "--reverse", "--format=%H", "--diff-filter=A", "--", name).decode().split()
            translation.write_bytes(git("show", f"{commits[0]}:{name}") if commits else TASKS.read_bytes())
        part.rename(folder)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="HEAD", help="the older commit, by default the last one")
    parser.add_argument("--new", type=Path, default=ROOT / "src", help="the folder of the new source")
    parser.add_argument("--only", default="answers,scores,leakage,rows,cost", help="parts, with commas between them")
    parser.add_argument("--settings", type=int, default=300, help="number of random settings")
    parser.add_argument("--tolerance", type=float, default=1.15, help="a higher ratio of cost is worse")
    options = parser.parse_args()
    base = unpack(options.base)
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "src")  # others may edit the working tree in the meantime
        shutil.copytree(options.new, copied, ignore=shutil.ignore_patterns("__pycache__"))
        versions = [
            Version("old", base / "src", base / "benchmarks" / TASKS.name),
            Version("new", copied, TASKS),
        ]
        parts: dict[str, Callable[[], list[str]]] = {
            "answers": lambda: compare_answers(versions, options.settings),
            "scores": lambda: compare_scores(versions),
            "leakage": lambda: compare_leakage(versions),
            "rows": lambda: compare_rows(versions),
            "cost": lambda: compare_cost(versions, options.tolerance),
        }
        worse: list[str] = []
        for name in options.only.split(","):
            start = time.monotonic()
            print(f"\n{name}", flush=True)
            try:
                found = parts[name]()
            except RuntimeError as error:
                found = [str(error)]
            worse += found
            print(f"{name}: {len(found)} worse, {time.monotonic() - start:.0f} s", flush=True)
    print("\nnothing is worse" if not worse else "\nworse:")
    print(*worse, sep="\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
