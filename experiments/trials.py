"""Trials and a store of their results: a finished trial is not run again."""

from __future__ import annotations

import json
import math
import os
import platform
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import Field, asdict, fields
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Protocol

import click
from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits

import catbayes
from catbayes.errors import InputError

Progress = Callable[[int, int, str], None]
LIBRARIES = (
    *("catbayes", "numpy", "scipy", "scikit-learn", "pandas", "category_encoders", "statsmodels"),
    *("lightgbm", "catboost", "gpboost"),
)
DIGITS = 8  # significant digits of stored results


class Trial(Protocol):
    """A frozen dataclass of plain values, which can be sent to a process and compared.

    Trials of cross-validation have a `fold` and a `group`, and one that takes too long returns {"skipped": reason}:
    the other folds of its group do not run. Trials whose result depends on catbayes have `ours` set.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def key(self) -> str:
        """The name in the file, unique within an experiment."""

    def run(self) -> dict[str, Any]:
        """Return a result that can be written as JSON."""


class Store:
    """Results of one experiment by trial key, in a JSON file that is written after every trial.

    A trial whose values have changed since, or that failed, runs again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trials: dict[str, dict[str, Any]] = {}
        self.environments: list[dict[str, str]] = []  # each trial has the number of its own
        if path.exists():
            content = json.loads(path.read_text(encoding="utf-8"))
            self.trials, self.environments = content["trials"], content["environments"]
        self._stamp = self._time()

    def run(self, trials: Sequence[Any], *, n_jobs: int = 1, progress: Progress | None = None) -> None:
        """Run the trials that are left, several at a time, fold after fold; Ctrl-C preserves what is finished."""
        left, total = self.left(trials), len(trials)
        report = progress or (lambda *_: None)
        here = self._number_of_environment() if left else 0
        done = total - len(left)
        report(done, total, "")
        for fold in sorted({_fold(trial) for trial in left}):
            chosen = [trial for trial in self.left(trials) if _fold(trial) == fold]
            results: Any = map(_run, chosen)
            if n_jobs > 1:
                parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
                results = parallel(delayed(_run)(trial) for trial in chosen)
            for key, record in results:
                self.trials[key] = record | {"environment": here}
                self.write()
                done += 1
                report(done, total, key)

    def finished(self, trial: Trial) -> bool:
        """Tell whether the result of exactly this trial is there."""
        record = self.trials.get(trial.key)
        return record is not None and "failed" not in record and record["digest"] == digest(trial)

    def result(self, trial: Trial) -> dict[str, Any] | None:
        """Return the result of a trial; None if it has not run, or failed."""
        return self.trials[trial.key]["result"] if self.finished(trial) else None

    def given_up(self, trials: Sequence[Any]) -> dict[Any, str]:
        """Return why groups of trials were given up."""
        results = [(trial, self.result(trial)) for trial in trials]
        return {trial.group: found["skipped"] for trial, found in results if found and "skipped" in found}

    def left(self, trials: Sequence[Any]) -> list[Any]:
        """Return the trials that still have to run."""
        given_up = self.given_up(trials)
        return [trial for trial in trials if not self.finished(trial) and getattr(trial, "group", None) not in given_up]

    def forget_ours(self, trials: Sequence[Any]) -> None:
        """Remove the results that depend on catbayes, because it has changed."""
        for trial in trials:
            if trial.ours:
                self.trials.pop(trial.key, None)

    def account(self, trials: Sequence[Trial]) -> dict[str, Any]:
        """Count what has run, what is missing and what failed; with the time it took and the libraries' versions."""
        records = {trial.key: self.trials[trial.key] for trial in trials if trial.key in self.trials}
        failed = {key: record["failed"] for key, record in records.items() if "failed" in record}
        numbers = sorted({record["environment"] for record in records.values()})
        return {
            "n_trials": len(trials),
            "n_run": len(records),
            "n_done": sum(map(self.finished, trials)),
            "missing": [trial.key for trial in self.left(trials) if trial.key not in failed],
            "failed": failed,
            "minutes": sum(record["seconds"] for record in records.values()) / 60,
            "environments": [self.environments[number] for number in numbers],
        }

    def write(self) -> None:
        """Write the file, one line per trial, sorted by key."""
        if self._time() != self._stamp:
            raise InputError(f"{self.path} was changed by another process: use one run at a time per folder.")
        lines = [f"{json.dumps(key)}: {json.dumps(self.trials[key])}" for key in sorted(self.trials)]
        body = ",\n".join(lines)
        write_text(self.path, f'{{"environments": {json.dumps(self.environments)},\n"trials": {{\n{body}\n}}}}\n')
        self._stamp = self._time()

    def _number_of_environment(self) -> int:
        here = environment()
        if here not in self.environments:
            self.environments.append(here)
        return self.environments.index(here)

    def _time(self) -> int:
        return self.path.stat().st_mtime_ns if self.path.exists() else 0


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole: an interruption leaves the old one."""
    temporary = path.with_name(f"{path.name}.part")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def show(done: int, total: int, what: str) -> None:
    """Print progress."""
    if what:
        click.echo(f"{done} of {total}: {what}", err=True)


def environment() -> dict[str, str]:
    """Return the versions that results depend on."""
    found = {"python": platform.python_version(), "cores": str(cpu_count())}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


@cache
def source() -> str:
    """Return a digest of the source of catbayes, which tells whether it has changed."""
    folder = Path(catbayes.__file__).parent
    files = sorted(folder.rglob("*.py"))
    content = b"".join(file.relative_to(folder).as_posix().encode() + file.read_bytes() for file in files)
    return blake2b(content, digest_size=6).hexdigest()


def digest(trial: Trial) -> str:
    """Return a digest of the values of a trial, without fields that are not compared."""
    values, compared = asdict(trial), [field.name for field in fields(trial) if field.compare]
    text = json.dumps({name: values[name] for name in compared}, sort_keys=True)
    return blake2b(text.encode(), digest_size=6).hexdigest()


def _fold(trial: Any) -> int:
    return int(getattr(trial, "fold", 0))


def _run(trial: Trial) -> tuple[str, dict[str, Any]]:
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            outcome = {"result": _rounded(trial.run())}
    except Exception as error:
        outcome = {"failed": f"{type(error).__name__}: {error}"[:300]}
    return trial.key, {"digest": digest(trial), "seconds": round(time.perf_counter() - start, 2)} | outcome


def _rounded(value: Any) -> Any:
    """Convert to plain types, numbers with a few significant digits."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(inner) for inner in value]
    if isinstance(value, int) or not hasattr(value, "__float__"):
        return value
    number = float(f"{float(value):.{DIGITS}g}")
    return number if math.isfinite(number) else None
