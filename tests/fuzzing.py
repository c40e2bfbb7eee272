"""Generated tables and lives of encoders: `tests/test_fuzz.py` tries a few, `make fuzz` tries new ones for an hour.

`Life` updates, merges, reduces, discounts, saves and loads an encoder in any order and from every container and engine,
and compares it with the plain loops of `reference`. `check_any_table` gives any table with any settings: the answer is
finite and has its shape, or an `InputError` is raised; a failed call changes nothing.

`python tests/fuzzing.py --seconds 3600` begins with the failures of earlier runs, which are in `.hypothesis/` of the
repository, and ends at the first new one, which Hypothesis reduces to a small one.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import io
import pickle
import tempfile
import time
import warnings
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
from hypothesis import HealthCheck, assume, settings
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import reference
from catbayes import InputError, InputWarning, SamplingBayesianEncoder, Scaled, gather, load
from catbayes.families import FAMILIES

FAILURES = Path(__file__).parents[1] / ".hypothesis" / "examples"
TRIED: Counter[str] = Counter()
"""How often each thing was done, for whoever wants to know."""

# ------------------------------------------------------------------------------------------ containers and engines


def plain(table):
    """Columns as lists, missing text as None."""
    typed = {name: table[name].tolist() for name in table}
    return {n: [None if v is None or v != v else v for v in values] for n, values in typed.items()}


def parquet(table, folder):
    path = Path(folder, "rows.parquet")
    pyarrow.parquet.write_table(pyarrow.table(plain(table)), path)
    return path


def text(table, folder):
    path = Path(folder, "rows.csv")
    table.to_csv(path, index=False)
    return path


CONTAINERS = {
    "pandas": lambda table, folder: table,
    "polars": lambda table, folder: polars.DataFrame(plain(table)),
    "pyarrow": lambda table, folder: pyarrow.table(plain(table)),
    "reader": lambda table, folder: pyarrow.table(plain(table)).to_reader(3),
    "polars lazy": lambda table, folder: polars.DataFrame(plain(table)).lazy(),
    **dict.fromkeys(["Parquet by DuckDB", "Parquet by polars"], parquet),
    **dict.fromkeys(["CSV by DuckDB", "CSV by polars"], text),
}


# ------------------------------------------------------------------------------------------ the life of an encoder

NAMES = ["a", "A", "b", "ä", "a b", "O'Hare", "x,y", 'say "so"', "Żary"]
"""Categories that every container holds as they are, a CSV file included."""

TOGETHER = [("c", "d")]
TARGETS = {
    "bernoulli": st.sampled_from(["no", "yes"]),
    "categorical": st.sampled_from(["x", "y", "z"]),
    "normal": st.integers(-40, 40).map(lambda n: n / 4 + 1e6),
    "lognormal": st.sampled_from([0.25, 1.0, 1.5, 8.0, 1e6]),
    "poisson": st.integers(0, 9).map(float),
}


def rows_of(family):
    """Some rows: two categories, a target, and a weight."""
    cell = st.one_of(st.sampled_from(NAMES), st.none())
    row = st.tuples(cell, cell, TARGETS[family], st.sampled_from([1.0, 1.0, 2.0, 0.5, 0.0]))
    return st.lists(row, min_size=1, max_size=12)


class Life(RuleBasedStateMachine):
    """An encoder beside a list of the rows it was told of, each with the weight that is left of it."""

    gamma = 0.25

    @initialize(family=st.sampled_from(sorted(TARGETS)))
    def begin(self, family):
        self.family, self.rows = family, []
        self.encoder = self.new()
        TRIED["lives"] += 1

    def new(self):
        how = {"family": self.family, "prior": Scaled(self.gamma), "random_state": 0}
        return SamplingBayesianEncoder(["c", "d"], interactions=TOGETHER, **how)

    def table(self, rows):
        table = pandas.DataFrame([row[:2] for row in rows], columns=["c", "d"], dtype=object)
        return table.assign(y=[row[2] for row in rows], w=[row[3] for row in rows])

    def call(self, method, container, rows):
        """Tell an encoder of some rows; by what polars counted, where a file is to be read by it."""
        TRIED[f"{method.__name__} from {container}"] += 1
        with tempfile.TemporaryDirectory() as folder:
            given = CONTAINERS[container](self.table(rows), folder)
            if not container.endswith("by polars"):
                return method(given, "y", sample_weight="w")
            how = {"interactions": TOGETHER, "family": self.family, "weight": "w", "engine": "polars"}
            return method(gather(given, ["c", "d"], "y", **how))

    @rule(data=st.data(), container=st.sampled_from(sorted(CONTAINERS)))
    def partial_fit(self, data, container):
        rows = data.draw(rows_of(self.family))
        typed = all(any(row[place] is not None for row in rows) for place in (0, 1))
        assume(container == "pandas" or typed)  # a column without a cell has no type
        try:
            self.call(self.encoder.partial_fit, container, rows)
        except InputError as error:
            if "zero for every row" not in str(error):
                raise
            assert all(row[3] == 0.0 for row in rows)
            return
        self.rows = [*self.rows, *rows]

    @rule(data=st.data())
    def merge(self, data):
        assume(self.rows)
        rows = data.draw(rows_of(self.family))
        assume(any(row[3] for row in rows))
        other = self.call(self.new().partial_fit, "pandas", rows)
        self.encoder = self.encoder.merge(other)
        self.rows = [*self.rows, *rows]

    @precondition(lambda self: self.rows)
    @rule(data=st.data(), minus=st.booleans())
    def remove(self, data, minus):
        gone = set(data.draw(st.lists(st.sampled_from(range(len(self.rows))), min_size=1, unique=True)))
        rows = [self.rows[n] for n in sorted(gone)]
        left = [row for n, row in enumerate(self.rows) if n not in gone]
        assume(any(row[3] for row in rows) and self.says_something(self.rows))
        before = self.encoder.evidence_
        try:
            if minus:
                self.encoder = self.encoder - self.call(self.new().partial_fit, "pandas", rows)
            else:
                self.call(self.encoder.remove, "pandas", rows)
        except InputError:
            assert not self.says_something(left) or (minus and not self.says_something(rows))
            assert self.encoder.evidence_ is before
            return
        self.rows = left

    @precondition(lambda self: self.rows)
    @rule(rate=st.sampled_from([0.0, 0.25, 0.5]))
    def forget(self, rate):
        assume(self.says_something(self.rows))
        self.encoder.forget(rate)
        TRIED["forget"] += 1
        self.rows = [(*row[:3], row[3] * (1.0 - rate)) for row in self.rows]

    @precondition(lambda self: self.rows)
    @rule(how=st.sampled_from(["file", "pickle", "copy"]))
    def go_elsewhere(self, how):
        assume(self.says_something(self.rows))
        TRIED[how] += 1
        if how == "pickle":
            self.encoder = pickle.loads(pickle.dumps(self.encoder))
        elif how == "copy":
            self.encoder = copy.deepcopy(self.encoder)
        else:
            file = io.BytesIO()
            self.encoder.save(file)
            self.encoder = load(io.BytesIO(file.getvalue()))

    def says_something(self, rows):
        return len({row[2] for row in rows if row[3] > 0}) > 1

    @invariant()
    def is_as_if_all_rows_had_come_at_once(self):
        """Counts and means are those of plain loops over the rows that are left."""
        if not getattr(self, "rows", None):
            return
        if not self.says_something(self.rows):
            return  # one class or value: the next rows may bring another
        heard = [row for row in self.rows if row[3] > 0]
        classes = [str(label) for label in self.encoder.classes_] if self.encoder.classes_ is not None else None
        prior = self.prior(heard, classes)
        seen = self.table(heard)[["c", "d"]].drop_duplicates()
        features = np.asarray(self.encoder.transform(seen), dtype=float)
        assert np.isfinite(features).all()
        expected = []
        for c, d in seen.itertuples(index=False):
            same = [lambda row, c=c: same_cell(row[0], c), lambda row, d=d: same_cell(row[1], d)]
            same.append(lambda row, one=same[0], two=same[1]: one(row) and two(row))
            parts = [[row for row in heard if of(row)] for of in same]
            expected.append(np.concatenate([self.mean(part, prior, classes) for part in parts]))
        np.testing.assert_allclose(features, np.array(expected), rtol=1e-7, atol=1e-9)
        TRIED["cells compared"] += features.size

    def prior(self, rows, classes):
        """The paper's γ, from all rows."""
        weight = [row[3] for row in rows]
        if classes is not None:
            counts = [sum(row[3] for row in rows if row[2] == label) for label in classes]
            alpha = np.array([1.0 + self.gamma * count for count in counts])
            return (alpha,) if self.family == "categorical" else (alpha[1], alpha[0])
        values = np.array([float(row[2]) for row in rows])
        values = np.log(values) if self.family == "lognormal" else values
        size, centre = self.gamma * sum(weight), float(np.average(values, weights=weight))
        return (size * centre, size) if self.family == "poisson" else (centre, size, size / 2.0, 1.0)

    def mean(self, rows, prior, classes):
        weight = [row[3] for row in rows]
        if classes is None:
            y = [float(row[2]) for row in rows]
            return np.atleast_1d(reference.mean(self.family, reference.posterior(self.family, prior, y, weight)))
        alpha = prior[0] if len(prior) == 1 else np.array([prior[1], prior[0]])
        counts = alpha + [sum(row[3] for row in rows if row[2] == label) for label in classes]
        shares = counts / counts.sum()
        return shares if len(prior) == 1 else shares[1:]


def same_cell(one, other):
    return (one is None or one != one) if other is None or other != other else one == other


# ------------------------------------------------------------------------------------------ any table

ODD_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
CELLS = {
    "text": ODD_TEXT | st.sampled_from(["", " ", "NA", "nan", "\0", "\x1b[31m", "'; drop table x; --", "\u202e"]),
    "whole": st.integers(-(2**63), 2**63 - 1),
    "long": st.integers(-(10**40), 10**40),
    "floats": st.floats(),
    "truth": st.booleans(),
    "dates": st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)),
    "decimals": st.decimals(allow_nan=False, places=3) | st.just(Decimal("NaN")),
    "bytes": st.binary(max_size=4),
    "tuples": st.tuples(st.integers(0, 3), ODD_TEXT),
}
NUMBERS = st.floats(-1e30, 1e30) | st.floats(-10, 10) | st.integers(-5, 5).map(float)
Y = {
    "two": st.sampled_from([0, 1]),
    "words": st.sampled_from(["u", "v", "w", ""]),
    "numbers": NUMBERS,
    "counts": st.integers(0, 40) | st.integers(0, 10**15),
    "odd": NUMBERS | st.sampled_from([float("nan"), float("inf"), None, "x", 2**80, True]),
}
WEIGHTS = st.none() | st.floats(0, 10) | st.floats(-1, 1e30) | st.sampled_from([float("nan"), float("inf")])
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "family": st.sampled_from(sorted(FAMILIES)),
        "prior": st.sampled_from(["empirical", 0, 1e-3, 1.0, 1e50]),
        "mapping": st.sampled_from(["mean", "mean_precision", "polynomial", "weight_of_evidence", "identity"]),
        "own_target": st.sampled_from(["exclude", "cross_fit", "ordered", "include"]),
        "temperature": st.sampled_from(["auto", 0.0, 0.4, 1.0]),
        "interactions": st.sampled_from(["pairs", "auto"]),
        "keep_categories": st.sampled_from(["codes", "one_hot"]),
        "unseen": st.sampled_from(["prior", "error"]),
        "missing": st.sampled_from(["category", "prior", "error"]),
    },
)


@st.composite
def any_tables(draw):
    """A table as columns of cells, a target, weights or none, settings, and the container that holds it."""
    n_rows = draw(st.integers(1, 25))
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=3))
    columns = {}
    for number, kind in enumerate(kinds):
        pool = draw(st.lists(CELLS[kind] | st.none(), min_size=1, max_size=6))
        columns[f"c{number}"] = draw(st.lists(st.sampled_from(pool), min_size=n_rows, max_size=n_rows))
    y = draw(st.lists(Y[draw(st.sampled_from(sorted(Y)))], min_size=n_rows, max_size=n_rows))
    weight = draw(st.none() | st.lists(WEIGHTS, min_size=n_rows, max_size=n_rows))
    held_by = (
        ["pandas", "array"] if {"tuples", "long", "decimals"} & {*kinds} else ["pandas", "polars", "pyarrow", "array"]
    )
    container = draw(st.sampled_from(held_by))
    return columns, y, weight, draw(SETTINGS), container


def contained(columns, container):
    """The columns in a container, or None where it cannot hold them."""
    try:
        if container == "pandas":
            return pandas.DataFrame({name: pandas.Series(cells, dtype=object) for name, cells in columns.items()})
        if container == "polars":
            return polars.DataFrame(columns, strict=False)
        if container == "pyarrow":
            return pyarrow.table(columns)
    except (Exception, polars.exceptions.PanicException):  # it is theirs to hold their own
        return None
    array = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for number, cells in enumerate(columns.values()):
        array[:, number] = cells
    return array


def check_any_table(case):
    """Right, or one sentence: no warning of numpy, no error of anybody else, and nothing but finite numbers."""
    columns, y, weight, given, container = case
    X = contained(columns, container)
    assume(X is not None)
    n_rows = len(y)
    encoder = SamplingBayesianEncoder("all", random_state=0, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", InputWarning)
        warnings.filterwarnings("ignore", category=UserWarning, module="sklearn")
        try:
            TRIED["tables"] += 1
            trained = encoder.fit_transform(X, np.array(y, dtype=object), weight)
        except InputError:
            TRIED["refused"] += 1
            assert not hasattr(encoder, "columns_")
            return
        outputs = [trained, encoder.transform(X), encoder.sample(X, n_draws=2).reshape(2 * n_rows, -1)]
        for output in outputs:
            assert np.isfinite(np.asarray(output, dtype=float)).all()
        assert len(outputs[0]) == len(outputs[1]) == n_rows
        for name in encoder.columns_:
            encoder.posteriors_[name]
        repr(encoder.posteriors_)
        file = io.BytesIO()
        try:
            encoder.save(file)
        except InputError:
            TRIED["not to be saved"] += 1
            return
        again = load(io.BytesIO(file.getvalue()))
        np.testing.assert_array_equal(np.asarray(again.transform(X)), np.asarray(outputs[1]))
        TRIED["saved and loaded"] += 1


# ------------------------------------------------------------------------------------------ trying

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example]


def try_lives(examples, steps=10, **how):
    """Live some lives."""
    run_state_machine_as_test(
        Life,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=QUIET, **how
        ),
    )


def try_tables(examples, **how):
    """Give some tables."""
    test = hypothesis_given(any_tables())(check_any_table)
    settings(max_examples=examples, deadline=None, suppress_health_check=QUIET, **how)(test)()


def main():
    """Go on until the time is up; the first finding is raised."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3600.0)
    end = time.monotonic() + parser.parse_args().seconds
    how = {"database": DirectoryBasedExampleDatabase(FAILURES), "print_blob": True}
    while time.monotonic() < end:
        try_tables(300, **how)
        try_lives(60, **how)
    print(dict(TRIED))


if __name__ == "__main__":
    main()
