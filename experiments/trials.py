"""Trials and where their results are kept: one that is finished is not run again."""

from __future__ import annotations

import json
import math
import platform
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import Field, asdict, fields
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Protocol

from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits

from catbayes.errors import InputError
from catbayes.io.atomic import replacing

Progress = Callable[[int, int, str], None]
LIBRARIES = (
    *("catbayes", "numpy", "scipy", "scikit-learn", "pandas", "category_encoders", "statsmodels"),
    *("lightgbm", "catboost", "gpboost"),
)
DIGITS = 8  # that mean something


class Trial(Protocol):
    """Something to run once: a frozen dataclass of plain values, so that it can be sent to a process and compared."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def key(self) -> str:
        """What it is called, for a reader and in the file; no two trials of an experiment share it."""

    def run(self) -> dict[str, Any]:
        """Run it; the result can be written as JSON."""


class Store:
    """Results of one experiment, by the key of the trial, in a JSON file that is written after every trial.

    A trial whose values have changed since, or which failed, is run again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trials: dict[str, dict[str, Any]] = {}
        self.environments: list[dict[str, str]] = []  # a trial says which of them it ran in
        if path.exists():
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                self.trials, self.environments = dict(content["trials"]), list(content["environments"])
                for record in self.trials.values():
                    _ = record["digest"], record["seconds"], self.environments[record["environment"]]
            except (ValueError, LookupError, TypeError) as error:
                raise InputError(
                    f"{path} holds no results that can be read ({error!r}): move it away to begin anew."
                ) from error
        self._stamp = self._time()

    def run(self, trials: Sequence[Trial], *, n_jobs: int = 1, progress: Progress | None = None) -> None:
        """Run those that are not finished, several at a time; Ctrl-C keeps what is."""
        left = [trial for trial in trials if not self.finished(trial)]
        total, done = len(trials), len(trials) - len(left)
        report = progress or (lambda *_: None)
        here = self._here() if left else 0
        results: Any = (_run(trial) for trial in left)
        if n_jobs > 1:
            results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(_run)(trial) for trial in left)
        report(done, total, "")
        for key, record in results:
            self.trials[key] = record | {"environment": here}
            self.write()
            done += 1
            report(done, total, key)

    def _here(self) -> int:
        """The number of this environment."""
        here = environment()
        if here not in self.environments:
            self.environments.append(here)
        return self.environments.index(here)

    def finished(self, trial: Trial) -> bool:
        """Tell whether the result of exactly this trial is there."""
        record = self.trials.get(trial.key)
        return record is not None and "failed" not in record and record["digest"] == digest(trial)

    def result(self, trial: Trial) -> dict[str, Any] | None:
        """What the trial gave; None if it has not run, or failed."""
        return self.trials[trial.key]["result"] if self.finished(trial) else None

    def _time(self) -> int:
        return self.path.stat().st_mtime_ns if self.path.exists() else 0

    def write(self) -> None:
        """Write the file, one line a trial, in the order of their keys."""
        if self._time() != self._stamp:
            raise InputError(f"{self.path} is being written by somebody else: one run at a time in a folder.")
        lines = [f"{json.dumps(key)}: {json.dumps(self.trials[key])}" for key in sorted(self.trials)]
        body = ",\n".join(lines)
        with replacing(self.path) as temporary:
            temporary.write_text(
                f'{{"environments": {json.dumps(self.environments)},\n"trials": {{\n{body}\n}}}}\n', encoding="utf-8"
            )
        self._stamp = self._time()


def environment() -> dict[str, str]:
    """What the numbers were made with."""
    found = {"python": platform.python_version(), "cores": str(cpu_count())}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def digest(trial: Trial) -> str:
    """What tells whether the values of a trial have changed; fields that are not compared have no say."""
    values, compared = asdict(trial), [field.name for field in fields(trial) if field.compare]
    told = json.dumps({name: values[name] for name in compared}, sort_keys=True)
    return blake2b(told.encode(), digest_size=6).hexdigest()


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
    """Numbers with as many digits as mean something, in plain types."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(inner) for inner in value]
    if isinstance(value, int) or not hasattr(value, "__float__"):
        return value
    number = float(f"{float(value):.{DIGITS}g}")
    return number if math.isfinite(number) else None
