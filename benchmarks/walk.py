"""How far does a call walk through the code? Calls, and how often they lead from one file to another.

    python benchmarks/walk.py [--columns 3] [--write]

Five things that users do, each run once to warm up and then under a profile, on a table of 500 rows with three columns
of text, two of numbers and two classes. Counted are frames of Python whose code lies in this package:

- calls: frames that begin, or go on, as generators do. Comprehensions and generator expressions are part of the
  function that holds them, and what dataclasses generate is no file of ours.
- switches: those calls whose file is another than that of the frame of ours that they were called from, whatever lies
  between the two, such as scipy. The first frame of a thread is no switch.
- functions: distinct ones among the calls; unlike calls and switches, they do not grow with columns and with the steps
  of an optimiser.
- files: distinct ones.
- depth: the most frames of ours that lie on each other.

`--write` puts the table into docs/architecture.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pandas
from sklearn.linear_model import LogisticRegression

import catbayes
from catbayes import SamplingBayesianEncoder, SamplingClassifier, encode

PACKAGE = str(Path(catbayes.__file__).parent)
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
WITHIN = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}


class Walk:
    """Counts what a task walks through; `hook` is what `sys.setprofile` takes."""

    def __init__(self) -> None:
        self.calls = 0
        self.switches = 0
        self.depth = 0
        self.functions: set[CodeType] = set()
        self._threads = threading.local()

    def hook(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note that a frame begins or ends."""
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(PACKAGE) or code.co_name in WITHIN:
            return
        files: list[str] = self._threads.__dict__.setdefault("files", [])
        if event == "return":
            if files:
                files.pop()
            return
        self.calls += 1
        self.switches += bool(files) and files[-1] != code.co_filename
        self.functions.add(code)
        files.append(code.co_filename)
        self.depth = max(self.depth, len(files))

    @property
    def files(self) -> int:
        """Distinct files."""
        return len({code.co_filename for code in self.functions})


def walk(task: Callable[[], Any]) -> Walk:
    """Run a task twice, and count the second time, so that imports and caches have no part."""
    task()
    found = Walk()
    threading.setprofile(found.hook)
    sys.setprofile(found.hook)
    try:
        task()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def make_table(n_columns: int, n_rows: int = 500) -> tuple[pandas.DataFrame, np.ndarray[Any, Any]]:
    """Text columns that matter, with 8, 16, 32, … categories, and two numbers."""
    random = np.random.default_rng(0)
    codes = [random.integers(0, 8 << number, n_rows) for number in range(n_columns)]
    table = pandas.DataFrame({f"text{number}": np.char.add("c", code.astype(str)) for number, code in enumerate(codes)})
    score = sum(random.normal(size=8 << number)[code] for number, code in enumerate(codes))
    y = (score + random.normal(size=n_rows) > 0).astype(int)
    return table.assign(size=random.normal(size=n_rows), age=random.integers(18, 90, n_rows)), y


def tasks(n_columns: int, folder: Path) -> dict[str, Callable[[], Any]]:
    """What users do."""
    X, y = make_table(n_columns)
    source = folder / "rows.parquet"
    X.to_parquet(source)

    def classifier() -> SamplingClassifier:
        return SamplingClassifier(LogisticRegression(max_iter=1000), random_state=0)

    encoder, model = SamplingBayesianEncoder(random_state=0).fit(X, y), classifier().fit(X, y)
    return {
        "SamplingBayesianEncoder.fit_transform": lambda: SamplingBayesianEncoder(random_state=0).fit_transform(X, y),
        "SamplingBayesianEncoder.transform": lambda: encoder.transform(X),
        "SamplingClassifier.fit": lambda: classifier().fit(X, y),
        "SamplingClassifier.predict_proba": lambda: model.predict_proba(X),
        "catbayes.encode": lambda: encode(source, encoder, folder / "encoded.parquet", overwrite=True),
    }


def table(n_columns: int) -> str:
    """All walks as a table of Markdown."""
    lines = ["| | calls | switches | functions | files | depth |", "|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for name, task in tasks(n_columns, Path(folder)).items():
            found = walk(task)
            numbers = (found.calls, found.switches, len(found.functions), found.files, found.depth)
            lines.append(f"| `{name}` | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def write(text: str, page: Path = PAGE) -> None:
    """Put the table between its marks."""
    before = page.read_text(encoding="utf-8")
    after, marks = re.subn(r"(<!-- walk -->\n).*?(\n<!-- /walk -->)", rf"\g<1>\n{text}\n\g<2>", before, flags=re.DOTALL)
    if marks != 1:
        raise SystemExit(f"{page} has {marks} places between <!-- walk --> and <!-- /walk -->: expected one.")
    page.write_text(after, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--columns", type=int, default=3, help="columns of text")
    parser.add_argument("--write", action="store_true", help="put the table into docs/architecture.md")
    asked = parser.parse_args()
    found = table(asked.columns)
    print(found)
    if asked.write:
        write(found)


if __name__ == "__main__":
    main()
