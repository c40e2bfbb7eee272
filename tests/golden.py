"""Answers that must not change: a hundred settings of the library, and what each of them gave when it was written down.

`python tests/golden.py` compares every answer with tests/golden.json, bit for bit, and exits with 1 if one differs;
`python tests/golden.py NAME…` runs some of the settings; `--write` writes the file anew, or the settings named.
A release of scikit-learn, LightGBM or PyTorch may change what their models answer: the file says what wrote it.

Parameters that are not named have their defaults. Nothing here is expected to be right: the other tests say what is.
"""

from __future__ import annotations

import argparse
import io
import json
import operator
import os
import re
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    os.environ["POLARS_MAX_THREADS"] = "1"  # the last bits of its sums depend on how threads share the rows

import duckdb
import narwhals as nw
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from catbayes import (
    InputError,
    InputWarning,
    MultiTargetEncoder,
    Ordered,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
    Scaled,
    encode,
    gather,
    load,
)
from catbayes.families import BetaBernoulli, DirichletCategorical, GammaPoisson, LogNormalGamma, NormalGamma
from catbayes.inspect import decompose_loss, shrinkage
from catbayes.kinds import Nested
from catbayes.mappings import MAPPINGS, PosteriorMoments, PredictiveQuantiles

FILE = Path(__file__).with_name("golden.json")
LIBRARIES = ["numpy", "scipy", "scikit-learn", "pandas", "polars", "pyarrow", "duckdb", "lightgbm", "sqlglot", "torch"]
RELATIVE, SINGLE, ABSOLUTE = 1e-6, 1e-4, 1e-9
"""How far other machines may be off: strengths of hierarchies are found by a search that stops at 1e-8 of their
logarithm, and the rest differs by less. With single precision, more."""

Answers = dict[str, Any]
SETTINGS: dict[str, Callable[[], Answers]] = {}


# ------------------------------------------------------------------------------ the names of parameters


def encoder(kind: str = "draws", **words: Any) -> Any:
    """An encoder with a seed, whose words are those of its parameters but for hierarchies, orders and moments."""
    order, drop_first = words.pop("order", None), words.pop("drop_first", False)
    kinds = {child: Nested(parents) for child, parents in words.pop("hierarchy", {}).items()}
    own_target = words.pop("own_target", "cross_fit" if kind == "moments" else "exclude")
    mapping = words.pop("mapping", "mean")
    if kind == "moments":
        mapping = PosteriorMoments(words.pop("n_moments", 2), drop_first=drop_first)
    elif drop_first:
        mapping = replace(MAPPINGS[mapping], drop_first=True)
    own_target = Ordered(order) if own_target == "ordered" else own_target
    given = {"kinds": kinds or None, "mapping": mapping, "own_target": own_target, "random_state": 7}
    return SamplingBayesianEncoder(**given | words)


def model(estimator: Any, kind: Any, fit_with: str, predict_with: str = "draws", **words: Any) -> Any:
    """A sampling model."""
    given = {"encoder": encoder(random_state=None), "n_draws": 4, "random_state": 3, **words}
    return kind(estimator, fit_with=fit_with, predict_with=predict_with, **given)


def counted(evidence: Any) -> Answers:
    """What evidence holds of each column."""
    found: Answers = {"counted rows": [evidence.squares, evidence.row_weight, evidence.weighted]}
    for column in evidence.columns:
        name = f"counted {column.name}"
        found[f"{name} categories"] = list(column.values)
        for statistic in ("weight", "count", "mean", "m2"):
            if hasattr(column.statistics, statistic):
                found[f"{name} {statistic}"] = getattr(column.statistics, statistic)
    return found


# ------------------------------------------------------------------------------ tables

Y = ("sold", "grade", "price", "amount", "visits")
"""The targets, one for each family."""
FAMILY = dict(zip(Y, ("bernoulli", "categorical", "normal", "lognormal", "poisson"), strict=True))
FEW, PLACES = ["town", "shop", "size"], ["town", "region", "country", "size"]


def rows(n_rows: int = 400, seed: int = 0) -> pandas.DataFrame:
    """Towns, many of them rare and some missing, in regions and countries; shops; numbers; a target of each kind."""
    random = np.random.default_rng(seed)
    town = np.minimum(random.geometric(0.06, n_rows) - 1, 59)
    shop = random.choice(6, n_rows, p=[0.6, 0.2, 0.1, 0.05, 0.03, 0.02])
    size, days = random.normal(size=n_rows).round(3), random.uniform(0.2, 3.0, n_rows).round(2)
    effect = np.random.default_rng(1).normal(size=60)[town] + 1.2 * np.cos(3.0 * shop * (town % 5)) + 0.3 * size
    table = pandas.DataFrame(
        {
            "town": np.char.add("t", town.astype(str)).astype(object),
            "region": np.char.add("r", (town % 12).astype(str)).astype(object),
            "country": np.char.add("c", (town % 3).astype(str)).astype(object),
            "shop": np.array(["Ängel", "b'q", "c c", 'd"e', "", "f"], dtype=object)[shop],
            "size": size,
            "when": random.integers(0, n_rows // 3, n_rows),
            "customer": random.integers(0, n_rows // 4, n_rows),
            "weight": random.uniform(0.5, 1.5, n_rows).round(3),
            "days": days,
            "row": np.arange(n_rows) + 1000 * seed,
        }
    )
    table.loc[random.random(n_rows) < 0.04, "town"] = None
    table.loc[random.random(n_rows) < 0.03, "shop"] = None
    noise = random.normal(size=n_rows) * (0.4 + 0.3 * (town % 4)) * (0.5 + 0.4 * shop)
    return table.assign(
        sold=np.array(["no", "yes"])[(effect + noise > 0.4).astype(int)],
        grade=np.array(["high", "low", "middle"])[np.digitize(effect + noise, [-0.5, 0.7])],
        price=(effect + noise).round(4),
        amount=np.exp(effect + 0.8 * noise).round(4),
        visits=random.poisson(np.exp(0.9 * effect) * days),
    )


def new_rows() -> pandas.DataFrame:
    """Rows of another seed, with towns and shops that were not seen."""
    table = rows(60, seed=5).drop(columns=[*Y])
    table.loc[::9, "town"] = "Atlantis"
    table.loc[::18, "region"] = "sea"
    table.loc[4::13, "shop"] = "none"
    return table


# ------------------------------------------------------------------------------ what is asked of an encoder


def posteriors(fitted: Any) -> Answers:
    return {f"posteriors {name}": fitted.posteriors_[name] for name in fitted.columns_}


def rest(fitted: Any, new: Any, row_id: Any) -> Answers:
    """What a fitted encoder gives for new rows, and what it knows."""
    found = {
        "names": fitted.get_feature_names_out(),
        "transform": fitted.transform(new),
        **posteriors(fitted),
    }
    if not isinstance(fitted.get_params().get("mapping"), PosteriorMoments):  # which draws nothing
        found["sample"] = fitted.sample(new, 2)
        found["sample by another seed"] = fitted.sample(new, random_state=11)
        found["sample by row"] = fitted.sample(new, 2, row_id=row_id)
    return found


def answers(
    target: str = "sold", columns: Any = FEW, n_rows: int = 400, weight: Any = None, given: Any = (), **words: Any
) -> Answers:
    """All that an encoder with these words gives for a table: draws of its rows, and answers for new ones."""
    table, new = rows(n_rows), new_rows()
    X, y, new_X = table[columns], table[target], new[columns]
    words = {"family": FAMILY[target], **words}
    extra = {name: table[{"groups": "customer", "exposure": "days"}[name]].to_numpy() for name in given}
    if weight is not None:
        extra["sample_weight"] = table["weight"].to_numpy() ** weight
    plain = {name: values for name, values in extra.items() if name != "groups"}
    found = {"fit_transform": encoder(**words).fit_transform(X, y, **extra)}
    draws = encoder(**words).fit_draws(X, y, **extra)
    for k in range(3):
        found[f"draw {k}"] = draws.features(k)
    copies = encoder(**words).augment(X, y, n_draws=2, **extra)
    found |= {f"augment {name}": values for name, values in copies._asdict().items()}
    fitted = encoder(**words).fit(X, y, **plain)
    if words.get("interactions"):
        found["interactions"] = fitted.interactions_
    return found | rest(fitted, new_X, new["row"].to_numpy())


def square_root(theta: Any) -> Any:
    """A callable mapping: two outputs of each θ."""
    return np.concatenate([np.sqrt(np.abs(theta)), theta**3], axis=-1)


GIVEN = {
    "sold": BetaBernoulli(alpha=2.0, beta=3.0),
    "grade": DirichletCategorical(alpha=[1.0, 2.0, 0.5]),
    "price": NormalGamma(centre=0.3, strength=2.0, alpha=3.0, beta=4.0),
    "amount": LogNormalGamma(centre=0.3, strength=2.0, alpha=3.0, beta=4.0),
    "visits": GammaPoisson(alpha=3.0, beta=1.5),
}
PARENTS = {f"t{town}": (f"r{town % 12}", f"c{town % 3}") for town in range(70)}
PARENT_FRAME = pandas.DataFrame({"town": list(PARENTS), "region": [region for region, _ in PARENTS.values()]})
WITHIN = {"columns": PLACES, "hierarchy": {"town": ["region", "country"]}}
QUANTILES = PredictiveQuantiles((0.1, 0.5, 0.9))

ENCODERS: dict[str, dict[str, Any]] = {
    **{f"family {FAMILY[y]}": {"target": y} for y in Y},
    "family auto": {"target": "price", "family": "auto", "n_rows": 90},
    "exposure": {"target": "visits", "given": ["exposure"]},
    "exposure and weights": {"target": "visits", "given": ["exposure"], "weight": 1, "mapping": "polynomial"},
    # priors
    **{f"prior given {FAMILY[y]}": {"target": y, "prior": GIVEN[y], "n_rows": 200} for y in Y},
    "prior number": {"prior": Scaled(1e-2)},
    "prior zero": {"target": "grade", "prior": Scaled(0), "n_rows": 150},
    "prior number of counts": {"target": "visits", "prior": Scaled(1e-3), "n_rows": 150},
    "prior of the paper": {"target": "price", "prior": Scaled(1e-6, strength=0), "own_target": "include"},
    # mappings
    "mean_precision": {"target": "price", "mapping": "mean_precision"},
    "mean_precision of classes": {"target": "grade", "mapping": "mean_precision", "drop_first": True},
    "polynomial": {"target": "price", "mapping": "polynomial", "temperature": 0.5},
    "polynomial of classes": {"target": "grade", "mapping": "polynomial", "drop_first": True},
    "weight_of_evidence": {"mapping": "weight_of_evidence"},
    "weight_of_evidence of classes": {"target": "grade", "mapping": "weight_of_evidence", "temperature": 1.0},
    "identity": {"target": "amount", "mapping": "identity"},
    "callable": {"mapping": square_root, "temperature": 1.0},
    "callable of classes": {"target": "grade", "mapping": square_root},
    "quantiles": {"target": "price", "mapping": QUANTILES},
    "quantiles of amounts": {"target": "amount", "mapping": QUANTILES, "own_target": "include"},
    "quantiles of rates": {"target": "visits", "mapping": QUANTILES, "given": ["exposure"]},
    # a row's own target
    "cross_fit": {"own_target": "cross_fit"},
    "cross_fit by a splitter": {"target": "price", "own_target": "cross_fit", "cv": KFold(3)},
    "cross_fit and groups": {"target": "visits", "own_target": "cross_fit", "given": ["groups"], "cv": 4},
    "exclude and groups": {"target": "grade", "own_target": "exclude", "given": ["groups"]},
    "ordered": {"own_target": "ordered"},
    "ordered numbers": {"target": "price", "own_target": "ordered", "mapping": "mean_precision"},
    "ordered by time": {"target": "amount", "own_target": "ordered", "order": "when", "columns": [*FEW, "when"]},
    "ordered and weights": {"target": "visits", "own_target": "ordered", "weight": 1},
    "include": {"target": "grade", "own_target": "include"},
    "include and groups": {"own_target": "include", "given": ["groups"], "n_rows": 100},
    # draws
    "temperature 1": {"temperature": 1.0},
    "temperature 0.5": {"target": "price", "temperature": 0.5},
    "temperature 0.1": {"target": "grade", "temperature": 0.1},
    "temperature 0": {"temperature": 0.0, "n_rows": 80},
    "amounts": {"target": "amount"},
    "sampler exact": {"target": "grade", "sampler": "exact"},
    "sampler normal": {"sampler": "normal"},
    "sampler normal of counts": {"target": "visits", "sampler": "normal", "temperature": 1.0},
    # rows
    "weights": {"weight": 1},
    "weights of numbers": {"target": "price", "weight": 1},
    "heavy weights": {"weight": 6},
    "missing prior": {"missing": "prior"},
    "few rows": {"target": "price", "n_rows": 60},
    "named columns": {"columns": ["town", "shop"], "target": "price"},
    # hierarchies
    **{f"hierarchy {FAMILY[y]}": {"target": y, **WITHIN} for y in Y},
    "hierarchy by table": {"columns": FEW, "hierarchy": {"town": PARENTS}},
    "hierarchy by frame": {"target": "price", "columns": FEW, "hierarchy": {"town": PARENT_FRAME}},
    "hierarchy and folds": {"target": "price", **WITHIN, "own_target": "cross_fit", "missing": "prior"},
    "hierarchy of the paper": {**WITHIN, "temperature": 1.0, "prior": Scaled(0.01), "own_target": "include"},
    # interactions
    "interactions": {"target": "price", "interactions": [("town", "shop")]},
    "interactions pairs": {"columns": PLACES, "interactions": "pairs", "n_rows": 150},
    "interactions triples": {"target": "visits", "columns": PLACES, "interactions": "triples", "n_rows": 100},
    "interactions auto": {"target": "price", "columns": [*FEW, "region"], "interactions": "auto"},
    "interactions auto of classes": {"target": "sold", "interactions": "auto"},
    "interactions auto of counts": {"target": "visits", "interactions": "auto"},
}  # fmt: skip
for _name, _words in ENCODERS.items():
    SETTINGS[_name] = partial(answers, **_words)


def setting(make: Callable[[], Answers]) -> Callable[[], Answers]:
    SETTINGS[make.__name__.replace("_", " ")] = make
    return make


# ------------------------------------------------------------------------------ containers and policies


def contained(X: Any, y: Any, new: Any, row_id: Any, output: Any = None, **words: Any) -> Answers:
    made = encoder(**words)
    if output is not None:
        made.set_output(transform=output)
    return {"fit_transform": made.fit_transform(X, y), **rest(made, new, row_id)}


def in_container(make: Callable[[pandas.DataFrame], Any], **words: Any) -> Answers:
    table, new = rows(), new_rows()
    return contained(make(table[FEW]), table["grade"], make(new[FEW]), new["row"].to_numpy(), **words)


def whole_numbers(table: pandas.DataFrame) -> Any:
    return np.stack([table["when"] % 7, table["customer"] % 13, table["row"]], axis=1)


def typed(table: pandas.DataFrame) -> pandas.DataFrame:
    when = pandas.Timestamp("2024-02-27") + pandas.to_timedelta(table["when"] % 5, "D")
    return table.astype({"shop": "category"}).assign(big=table["size"] > 0, day=when.astype(object))


SETTINGS |= {
    "container object array": partial(
        in_container, lambda table: table.assign(size=table["size"].astype(str)).to_numpy(object), columns=[0, 1, 2]
    ),
    "container array that passes text": partial(in_container, lambda table: table.to_numpy(object), columns=[0]),
    "container nested lists": partial(in_container, lambda table: table[["town", "shop"]].values.tolist()),
    "container polars": partial(in_container, polars.from_pandas, output="polars"),
    "container pyarrow": partial(in_container, lambda table: pyarrow.table(polars.from_pandas(table).to_arrow())),
    "container pandas": partial(in_container, lambda table: table, output="pandas"),
}


@setting
def container_integer_array() -> Answers:
    table, new = rows(), new_rows()
    words = {"columns": [0, 1], "interactions": [(0, 1)]}
    return contained(whole_numbers(table), table["price"], whole_numbers(new), new["row"].to_numpy(), **words)


@setting
def container_types() -> Answers:
    table, new = typed(rows()), typed(new_rows())
    columns = ["shop", "big", "day"]
    return contained(table[columns], table["visits"], new[columns], new["row"].to_numpy(), family="poisson")


@setting
def row_identities() -> Answers:
    table, new = rows(), new_rows()
    fitted = encoder(columns=["town"]).fit(table[["town", "row"]], table["sold"])
    return {
        "text": fitted.sample(new[["town", "row"]], row_id=[f"order {row}" for row in new["row"]]),
        "column": fitted.sample(new[["town", "row"]], row_id="row"),
        "file": fitted.sample(new[["town", "row"]], row_id=("part-0.parquet", np.arange(60))),
    }


@setting
def policies() -> Answers:
    table = rows().dropna(subset=["town", "shop"])
    found: Answers = {}
    for policy in ("unseen", "missing"):
        fitted = encoder(**{policy: "error"}).fit(table[FEW], table["sold"])
        found[f"{policy} transform"] = fitted.transform(table[FEW])
        try:
            fitted.transform(new_rows()[FEW])
        except InputError:
            found[f"{policy} refused"] = "yes"
    return found


# ------------------------------------------------------------------------------ growing, files and exports


@setting
def updating() -> Answers:
    table, new = rows(), new_rows()
    first, second = table[:250], table[250:]
    found: Answers = {}
    for target in ("grade", "price"):
        one, two = (encoder(interactions=[("town", "shop")]).fit(part[FEW], part[target]) for part in (first, second))
        grown = encoder(interactions=[("town", "shop")]).partial_fit(first[FEW], first[target])
        fitted = {
            "grown": grown.partial_fit(second[FEW], second[target]),
            "merged": one.merge(two),
            "difference": one + two - one,
            "removed": encoder().fit(table[FEW], table[target]).remove(first[FEW], first[target]),
            "forgotten": encoder().fit(table[FEW], table[target]).forget(0.3).partial_fit(first[FEW], first[target]),
        }
        for name, encoded in fitted.items():
            given = rest(encoded, new[FEW], new["row"].to_numpy()) | counted(encoded.evidence_)
            found |= {f"{target} {name}: {key}": value for key, value in given.items()}
    return found


@setting
def updating_classes() -> Answers:
    table, new = rows(), new_rows()
    made = encoder().partial_fit(table[:2][FEW], table[:2]["grade"], classes=["low", "high"])
    made.partial_fit(table[2:][FEW], table[2:]["grade"])
    middle = table[table["grade"] == "middle"]
    found = {f"grown {key}": value for key, value in counted(made.evidence_).items()}
    made.remove(middle[FEW], middle["grade"])
    return found | rest(made, new[FEW], new["row"].to_numpy()) | {"classes": made.classes_}


@setting
def updating_within_a_hierarchy() -> Answers:
    table, new = rows(), new_rows()
    words = {"hierarchy": {"town": ["region"]}, "columns": ["town"], "family": "poisson"}
    grown = encoder(**words)
    for part in (table[:200], table[200:]):
        grown.partial_fit(part[["town", "region"]], part["visits"], part["weight"], exposure=part["days"])
    return rest(grown, new[["town", "region"]], new["row"].to_numpy())


def saved(fitted: Any) -> Answers:
    """The table that `save` writes, and the priors in its header; settings are no answers."""
    file = io.BytesIO()
    fitted.save(file)
    table = pyarrow.parquet.read_table(file)
    found = {f"saved {name}": table[name].to_pylist() for name in table.column_names}
    header = json.loads(table.schema.metadata[b"catbayes"])
    for number, column in enumerate(header["columns"]):
        for name in ("prior", "unseen", "root", "strengths"):
            found[f"saved 0 {number} {name}"] = json.dumps(column.get(name), sort_keys=True)
    return found


@setting
def saving() -> Answers:
    table, new = rows(), new_rows()
    found: Answers = {}
    asked: dict[str, tuple[str, list[str], dict[str, Any]]] = {
        "pairs": ("grade", FEW, {"interactions": "pairs", "drop_first": True}),
        "hierarchy": ("price", PLACES, {"hierarchy": {"town": ["region", "country"]}, "mapping": "polynomial"}),
        "parents": ("sold", FEW, {"hierarchy": {"town": PARENTS}}),
        "given": ("visits", FEW, {"family": "poisson", "prior": GIVEN["visits"], "mapping": QUANTILES}),
        "paper": ("amount", FEW, {"family": "lognormal", "prior": Scaled(1e-3, strength=0), "temperature": 0.5}),
        "moments": ("sold", FEW, {"kind": "moments", "n_moments": 4}),
    }
    for name, (target, columns, words) in asked.items():
        fitted, file = encoder(**words).fit(table[columns], table[target]), io.BytesIO()
        fitted.save(file)
        given = saved(fitted) | rest(load(file), new[columns], new["row"].to_numpy())
        found |= {f"{name}: {key}": value for key, value in given.items()}
    return found


@setting
def export_to_sql_and_onnx() -> Answers:
    import onnxruntime

    table, new = rows(), new_rows()
    duck, lite = duckdb.connect(), sqlite3.connect(":memory:")
    duck.register("visits", pyarrow.Table.from_pandas(new, preserve_index=False))
    new.to_sql("visits", lite, index=False)
    found: Answers = {}
    asked: dict[str, tuple[str, list[str], dict[str, Any]]] = {
        "plain": ("grade", FEW, {}),
        "interactions": ("price", FEW, {"interactions": [("town", "shop")], "missing": "prior"}),
        "hierarchy": ("sold", PLACES, {"hierarchy": {"town": ["region"]}}),
        "moments": ("sold", FEW, {"kind": "moments"}),
    }
    for name, (target, columns, words) in asked.items():
        fitted = encoder(**words).fit(table[columns], table[target])
        for dialect in ("duckdb", "sqlite"):
            query = Query(fitted.to_sql(dialect, "visits"))
            found[f"{name}: {dialect} query"] = query
            ordered = f'SELECT * FROM ({query}) ORDER BY "row"'
            run = duck.execute(ordered) if dialect == "duckdb" else lite.execute(ordered)
            place = [column[0] for column in run.description]
            wanted = [number for number, column in enumerate(place) if "_encoded" in column]
            found[f"{name}: {dialect}"] = [[row[number] for number in wanted] for row in run.fetchall()]
        if not words.get("hierarchy"):
            session = onnxruntime.InferenceSession(fitted.to_onnx().SerializeToString())
            inputs = {of.name: new[[of.name]].fillna("").to_numpy(str).astype(object) for of in session.get_inputs()}
            outputs = [of.name for of in session.get_outputs()]
            results = zip(outputs, session.run(outputs, inputs), strict=True)
            found |= {f"{name}: onnx {output}": values for output, values in results}
    return found


@setting
def encoding_files() -> Answers:
    found: Answers = {}
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        table = rows().drop(columns=["customer", "when"])
        table.to_parquet(here / "rows.parquet", index=False)
        table.to_csv(here / "rows.csv", index=False)
        asked: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
            "expectation": ("rows.parquet", "grade", {}, {"drop": True}),
            "draws": ("rows.parquet", "price", {"interactions": [("town", "shop")]}, {"n_draws": 2}),
            "own target": ("rows.parquet", "sold", {}, {"n_draws": 2, "target": "sold"}),
            "own target by row": ("rows.csv", "grade", {}, {"n_draws": 1, "target": "grade", "row_id": "row"}),
            "own amount": ("rows.parquet", "amount", {"family": "lognormal"}, {"n_draws": 1, "target": "amount"}),
            "by polars": ("rows.parquet", "price", WITHIN | {"columns": ["town"]}, {"n_draws": 1}),
            "text": ("rows.csv", "sold", {"mapping": "weight_of_evidence"}, {}),
        }
        for name, (source, target, words, given) in asked.items():
            fitted = encoder(**{"columns": ["town", "shop"], **words}).fit(table.drop(columns=[*Y]), table[target])
            written = encode(here / source, fitted, here / f"{name}.parquet", **given)
            encoded = pyarrow.parquet.read_table(written)
            found[name] = encoded.select([c for c in encoded.column_names if c not in table or given.get("drop")])
        fitted = encoder(columns=["town"]).fit(here / "rows.parquet", "price", sample_weight="weight")
        given = {"n_draws": 1, "target": "price", "weight": "weight", "row_id": "row"}
        written = encode(polars.scan_parquet(here / "rows.parquet"), fitted, here / "lazy.parquet", **given)
        found["lazy, weights"] = pyarrow.parquet.read_table(written).select(["town_draw0"])
    return found


@setting
def gathering() -> Answers:
    found: Answers = {}
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        table = rows().drop(columns=["customer", "when", "row"])
        arrow = pyarrow.Table.from_pandas(table, preserve_index=False)
        pyarrow.parquet.write_table(arrow, here / "rows.parquet")
        table.to_csv(here / "rows.csv", index=False)
        sources: dict[str, Callable[[], Any]] = {
            "pandas": lambda: table,
            "polars": lambda: polars.from_pandas(table).lazy(),
            "parquet": lambda: here / "rows.parquet",
            "csv": lambda: here / "rows.csv",
            "reader": arrow.to_reader,
        }
        asked: dict[str, dict[str, Any]] = {
            "classes": {"target": "grade", "columns": ["town", "shop"], "interactions": "auto"},
            "numbers": {"target": "price", "columns": ["town", "shop"], "weight": "weight"},
            "amounts": {"target": "amount", "columns": ["shop"], "family": "lognormal"},
            "counts": {"target": "visits", "columns": ["shop"], "family": "poisson", "exposure": "days"},
            "many classes": {"target": "region", "columns": ["shop"], "weight": "weight"},
            "within": {"target": "sold", "columns": ["town"], "hierarchy": {"town": ["region", "country"]}},
        }
        for source, make in sources.items():
            for name, given in asked.items():
                words = {key: value for key, value in given.items() if key in ("family", "hierarchy")}
                asking = {key: value for key, value in given.items() if key != "hierarchy"}
                asking["kinds"] = {child: Nested(above) for child, above in given.get("hierarchy", {}).items()} or None
                engine = {"engine": "duckdb"} if source in ("parquet", "csv") else {}
                evidence = gather(make(), **asking, **engine)
                values = counted(evidence) | posteriors(encoder(**words).fit(evidence))
                found |= {f"{source} {name}: {key}": value for key, value in values.items()}
    return found


# ------------------------------------------------------------------------------ the other encoders


@setting
def moments() -> Answers:
    table, new = rows(), new_rows()
    found: Answers = {}
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "classes": ("grade", {"n_moments": 4, "drop_first": True}),
        "numbers": ("price", {"n_moments": 3, "own_target": "include", "interactions": "pairs"}),
        "amounts": ("amount", {"family": "lognormal", "cv": 3}),
        "counts": ("visits", {"family": "poisson", "n_moments": 1, "hierarchy": {"town": PARENTS}}),
    }
    for name, (target, words) in asked.items():
        made = encoder("moments", **words)
        given = {"fit_transform": made.fit_transform(table[FEW], table[target], table["weight"])}
        given |= rest(made, new[FEW], None)
        found |= {f"{name}: {key}": value for key, value in given.items()}
    return found


@setting
def several_targets() -> Answers:
    """By column and then by target, whatever the order of the outputs is."""
    table, new = rows(), new_rows()
    targets, columns = ["grade", "price"], ["town", "shop", "size", "town&shop"]
    made = MultiTargetEncoder(encoder(interactions=[("town", "shop")]))
    trained, names = made.fit_transform(table[FEW], table[targets]), list(made.get_feature_names_out())
    order = [
        names.index(name)
        for column in columns
        for target in targets
        for name in names
        if (name.startswith(f"{column}_") and name.endswith(f"_{target}")) or (name == column and target == targets[0])
    ]
    found = {"fit_transform": trained[:, order], "names": [names[place] for place in order]}
    found |= {"transform": made.transform(new[FEW])[:, order], "sample": made.sample(new[FEW], 2)[..., order]}
    found["sample by row"] = made.sample(new[FEW], row_id=new["row"].to_numpy())[..., order]
    by_moments = MultiTargetEncoder(encoder("moments")).set_output(transform="pandas")
    frame = by_moments.fit_transform(table[FEW], table[["sold", "price"]], groups=table["customer"])
    ends = [f"_{moment}_{target}" for target in ("sold", "price") for moment in ("mean", "variance")]
    found["moments"] = frame[[*("town" + end for end in ends), *("shop" + end for end in ends), "size"]]
    return found


# ------------------------------------------------------------------------------ models

CLASSES, NUMBERS = SamplingClassifier, SamplingRegressor
SMOOTH, STEPS = ("draws", "mean", "taylor"), ("draws", "mean")


def predicted(
    estimator: Any, kind: Any, fit_with: str, target: str, ways: Any = STEPS, given: Any = (), **words: Any
) -> Answers:
    """What a fitted model predicts, in every way, and what it says of its features and its loss."""
    table, new = rows(320), new_rows()[FEW]
    extra = {{"weight": "sample_weight"}.get(name, "groups"): table[name].to_numpy() for name in given}
    made = model(estimator, kind, fit_with, **words).fit(table[FEW], table[target], **extra)
    found: Answers = {"names": made.get_feature_names_out(), "way": made.fit_with_}
    for way in ways:
        found[f"predict {way}"] = made.set_params(predict_with=way).predict(new)
        if kind is CLASSES:
            found[f"predict_proba {way}"] = made.predict_proba(new)
    made.set_params(predict_with="draws")
    spread = made.predict if kind is NUMBERS else made.predict_proba
    found |= {"std": spread(new, return_std=True)[1], "predict_draws": made.predict_draws(new)}
    found["interval"] = np.stack(made.predict_category_interval(new, 0.8, n_draws=30))
    found["one column"] = made.predict_draws(new, columns=["shop"])
    loss = decompose_loss(made, table[FEW], table[target])
    found["loss"] = [loss.total, loss.of_average, loss.penalty, *loss.shares.values(), loss.between_members]
    found["shrinkage"] = shrinkage(made).drop(columns="signal")
    for name in ("coef_", "feature_importances_"):
        if hasattr(made, name):
            found[f"by_column {name}"] = np.stack([*map(np.asarray, made.by_column(getattr(made, name)).values())])
    return found


LOGISTIC = LogisticRegression(C=2.0, tol=1e-10, solver="newton-cholesky")
FOREST = {"n_estimators": 12, "max_depth": 4, "random_state": 0, "n_jobs": 1}
HISTOGRAMS = {"max_iter": 12, "max_depth": 3, "min_samples_leaf": 10, "random_state": 0}
DESCENT = SGDClassifier(loss="log_loss", alpha=0.01, max_iter=20, class_weight="balanced", random_state=0)
PAIRS = encoder(interactions=[("town", "shop")], mapping="polynomial", random_state=5)
MODELS: dict[str, tuple[Any, ...]] = {
    "logistic copies": (LOGISTIC, CLASSES, "copies", "sold", SMOOTH),
    "logistic members": (LOGISTIC, CLASSES, "members", "grade", SMOOTH, ["weight"]),
    "pipeline": (make_pipeline(StandardScaler(), LOGISTIC), CLASSES, "auto", "sold", SMOOTH, ["customer"]),
    "ridge copies": (Ridge(2.0), NUMBERS, "copies", "price", SMOOTH),
    "ridge members": (Ridge(2.0), NUMBERS, "members", "price", SMOOTH, ["weight", "customer"]),
    "forest copies": (RandomForestRegressor(**FOREST), NUMBERS, "copies", "price"),
    "forest rounds": (RandomForestClassifier(**FOREST), CLASSES, "rounds", "grade"),
    "histograms copies": (HistGradientBoostingClassifier(**HISTOGRAMS), CLASSES, "copies", "sold"),
    "histograms members": (HistGradientBoostingRegressor(**HISTOGRAMS), NUMBERS, "members", "price"),
    "boosting copies": (
        GradientBoostingClassifier(n_estimators=30, max_depth=2, n_iter_no_change=4, random_state=0),
        CLASSES, "copies", "sold", STEPS, ["customer"],
    ),
    "histograms rounds": (
        HistGradientBoostingClassifier(**HISTOGRAMS, early_stopping=True), CLASSES, "rounds", "sold",
    ),
    "descent rounds": (make_pipeline(StandardScaler(), DESCENT), CLASSES, "auto", "grade", SMOOTH),
}  # fmt: skip
for _name, _asked in MODELS.items():
    SETTINGS[f"model {_name}"] = partial(predicted, *_asked)
LIGHT = LGBMClassifier(
    n_estimators=12, min_child_samples=10, n_jobs=1, deterministic=True, force_row_wise=True, verbose=-1
)
SETTINGS |= {
    "model with pairs": partial(predicted, Ridge(2.0), NUMBERS, "auto", "price", SMOOTH, encoder=PAIRS, n_draws=3),
    "model of counts": partial(
        predicted, Ridge(2.0), NUMBERS, "copies", "visits", SMOOTH,
        encoder=encoder(family="poisson", temperature=1.0, random_state=None),
    ),
    "model lightgbm": partial(predicted, LIGHT, CLASSES, "auto", "sold"),
    "model descent copies": partial(predicted, DESCENT, CLASSES, "copies", "sold"),
}  # fmt: skip


@setting
def models_and_their_input() -> Answers:
    """An array, a table to validate on, scores instead of probabilities, rows of no weight, and nothing to encode."""
    table, new = rows(320), new_rows()[FEW]
    grade, weight = table["grade"].to_numpy(), (table["size"] > -0.5).to_numpy(float)
    array = model(LOGISTIC, CLASSES, "copies").fit(table[FEW].to_numpy(object), grade)
    scores = model(LinearSVC(tol=1e-10, max_iter=20_000, random_state=0), CLASSES, "members").fit(table[FEW], grade)
    rare = model(LOGISTIC, CLASSES, "members").fit(table[FEW], np.where(weight > 0, grade, "none"), weight)
    watched = LGBMRegressor(n_estimators=20, n_jobs=1, deterministic=True, force_row_wise=True, verbose=-1)
    seen, known = table[:90][FEW], table["price"][:90]
    validated = model(watched, NUMBERS, "copies").fit(table[FEW], table["price"], eval_X=seen, eval_y=known)
    plain = model(Ridge(), NUMBERS, "copies").fit(table[["size"]], table["price"])
    return {
        "array": array.predict_proba(new.to_numpy(object)),
        "scores": scores.decision_function(new),
        "votes": scores.predict(new),
        "no weight": rare.predict_proba(new),
        "validated": validated.predict(new),
        "validation": validated.estimator_.evals_result_["valid_0"]["l2"],
        "nothing encoded": plain.predict(new[["size"]]),
    }


# ------------------------------------------------------------------------------ torch


def embedded(target: str, double: bool = True, columns: Any = FEW, weight: Any = None, **words: Any) -> Answers:
    """What the layer gives in training and after it."""
    import torch

    from catbayes.torch import PosteriorEmbedding

    table, new = rows(), new_rows()[columns]
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if double else torch.float32)
    try:
        weights = None if weight is None else table["weight"].to_numpy(copy=True)
        fitted = encoder(**{"family": FAMILY[target], **words}).fit(table[columns], table[target], weights)
        labels = table[target].to_numpy(copy=True)
        own = torch.as_tensor(labels if fitted.classes_ is None else np.searchsorted(fitted.classes_, labels))
        layer = PosteriorEmbedding(fitted, generator=torch.Generator().manual_seed(5))
        codes, new_codes = layer.codes(table[columns]), layer.codes(new)
        found = {"codes": codes, "new codes": new_codes, "training": layer(codes), "again": layer(codes)}
        found["own target"] = layer(codes, own, None if weights is None else torch.as_tensor(weights))
        found["expectation"] = layer.eval()(new_codes)
        found["eval draws"] = PosteriorEmbedding(fitted, eval_draws=3).eval()(new_codes)
        return {name: values.numpy() for name, values in found.items()}
    finally:
        torch.set_default_dtype(before)


TORCH: dict[str, Any] = {
    **{f"torch {FAMILY[y]}": partial(embedded, y) for y in Y},
    "torch in single precision": partial(embedded, "price", double=False),
    "torch hierarchy": partial(embedded, "sold", **WITHIN),
    "torch hierarchy of numbers": partial(embedded, "price", **WITHIN),
    "torch weights": partial(embedded, "grade", weight=1, mapping="polynomial", temperature=1.0),
    "torch weight_of_evidence": partial(embedded, "sold", mapping="weight_of_evidence", temperature=0.5),
}
SETTINGS |= TORCH


# ------------------------------------------------------------------------------ answers as fingerprints


class Query(str):
    """A query, whose wording is sqlglot's: what it gives is compared, and the words only on this machine."""


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """An answer as named arrays of numbers and texts; a frame as its numbers and its words."""
    if hasattr(value, "column_names") or hasattr(value, "columns"):
        frame = nw.from_native(value, eager_only=True)
        numbers = [column for column in frame.columns if frame[column].dtype.is_numeric()]
        if numbers:
            yield name, np.stack([frame[column].to_numpy().astype(np.float64) for column in numbers], axis=1)
        others = [lines(frame[column].to_list()) for column in frame.columns if column not in numbers]
        yield f"{name} words", "\n".join([lines(frame.columns), *others])
    elif isinstance(value, str):
        yield name, value
    else:
        array = np.asarray(value, dtype=object if _ragged(value) else None)
        yield name, array if array.dtype.kind in "fiub" else lines(array.tolist())


def _ragged(value: Any) -> bool:
    """Whether numpy would make text of everything, or fail."""
    if not isinstance(value, list | tuple):
        return False
    return any(isinstance(cell, str | tuple) or cell is None for cell in value)


def lines(cells: Any) -> str:
    """One line for each cell, whatever it is."""

    def word(cell: Any) -> str:
        if isinstance(cell, list | tuple):
            return "(" + ", ".join(map(word, cell)) + ")"
        if isinstance(cell, float) and cell != cell:
            cell = None
        return repr(cell.item() if isinstance(cell, np.generic) else cell)

    return "\n".join(map(word, cells))


def fingerprint(value: Any) -> dict[str, Any]:
    """Shape, type and hash of an array or a text, and some of its numbers; for a text, the hash of its words too."""
    if isinstance(value, Query):
        return {"shape": [], "type": "query", "sha256": _hash(value), "sum": 0, "entries": []}
    if isinstance(value, str):
        found = {"shape": [len(value.splitlines())], "type": "text", "sha256": _hash(value)}
        numbers = np.array([float(number) for number in NUMBER.findall(value)])
        found["words"] = _hash(NUMBER.sub("#", value))[:16]
    else:
        kind = value.dtype.kind + (str(value.dtype.itemsize) if value.dtype.kind == "f" else "")
        numbers = value.astype("<f8").ravel()
        numbers[np.isnan(numbers)] = np.nan  # one of the many
        found = {"shape": list(value.shape), "type": kind, "sha256": sha256(numbers.tobytes()).hexdigest()}
    finite = numbers[np.isfinite(numbers)]
    chosen = numbers[np.unique(np.linspace(0, len(numbers) - 1, 5).astype(int))] if len(numbers) else numbers
    return {**found, "sum": _short(finite.sum()), "entries": [_short(entry) for entry in chosen]}


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _short(number: Any) -> Any:
    """Round to twelve digits; NaN and infinities become words."""
    return float(f"{number:.12g}") if np.isfinite(number) else str(number)


def run(name: str) -> dict[str, dict[str, Any]]:
    """Fingerprints of all answers of a setting."""
    with warnings.catch_warnings(), threadpool_limits(1):
        for known in (InputWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", known)
        found = SETTINGS[name]()
    named = [pair for key, value in found.items() for pair in flat(key, value)]
    return {key: fingerprint(value) for key, value in named}


def stored_numbers(entry: dict[str, Any]) -> Any:
    """The sum and the entries of a fingerprint."""
    return np.array([float(number) for number in (entry["sum"], *entry["entries"])])


def near(stored: dict[str, Any], found: dict[str, Any]) -> bool:
    """Whether two answers are the same but for the rounding of other machines."""
    if any(stored[part] != found[part] for part in ("type", "shape", "words") if part in stored):
        return False
    tolerance = SINGLE if stored["type"] == "f4" else RELATIVE
    return np.allclose(stored_numbers(found), stored_numbers(stored), tolerance, ABSOLUTE, equal_nan=True)


def differences(name: str, stored: dict[str, Any], found: dict[str, Any], same: Any = operator.eq) -> list[str]:
    """What differs between two runs of a setting: bit for bit, or by more than `near`."""
    report = [f"{name}: {key}: {'no longer there' if key in stored else 'new'}" for key in stored.keys() ^ found.keys()]
    for key in stored.keys() & found.keys():
        old, new = stored[key], found[key]
        if not same(old, new):
            parts = [part for part in ("shape", "type", "sum", "entries", "sha256") if old[part] != new[part]]
            report.append(f"{name}: {key}: {parts[0]} {old[parts[0]]} → {new[parts[0]]}")
    return sorted(report)


def read() -> dict[str, Any]:
    """What was written down."""
    return dict(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.exists() else {"libraries": {}, "settings": {}}


def libraries() -> dict[str, str]:
    """Versions of all that has a part in the answers."""
    return {name: version(name) for name in LIBRARIES if find_spec({"scikit-learn": "sklearn"}.get(name, name))}


def can_run(name: str) -> bool:
    """Whether all that a setting needs is installed."""
    return name not in TORCH or find_spec("torch") is not None


def main() -> int:
    parser = argparse.ArgumentParser(description="Answers bit for bit as in tests/golden.json.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="settings to run; all if none is named")
    parser.add_argument("--write", action="store_true", help="write the file, or the settings that are named")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in SETTINGS]
    if unknown:
        parser.error(f"no setting {unknown[0]!r}; there are {', '.join(SETTINGS)}")
    stored, report, names = read(), [], asked.names or list(SETTINGS)
    start = time.perf_counter()
    for name in names:
        if not can_run(name):
            print(f"{name}: not run, because PyTorch is not installed")
            continue
        found = run(name)
        if asked.write:
            stored["settings"][name] = found
        elif name not in stored["settings"]:
            report.append(f"{name}: not written down yet")
        else:
            report += differences(name, stored["settings"][name], found)
    if asked.write:
        settings = {name: stored["settings"][name] for name in SETTINGS if name in stored["settings"]}
        FILE.write_text(as_json({"libraries": libraries(), "settings": settings}), encoding="utf-8")
    if not asked.names and not asked.write:
        report += [f"{name}: no longer there" for name in stored["settings"] if name not in SETTINGS]
    print(*report, sep="\n", end="\n" if report else "")
    if report and stored["libraries"] != libraries():
        print(f"written with {stored['libraries']}\nand this is {libraries()}")
    print(f"{len(names)} settings, {len(report)} differences, {time.perf_counter() - start:.0f} s")
    return 1 if report else 0


def as_json(record: dict[str, Any]) -> str:
    """One line for each answer, so that a change of one is a line of a diff."""

    def entries(found: dict[str, Any]) -> str:
        return ",\n".join(f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(entry)}" for key, entry in found.items())

    settings = [
        f"{json.dumps(name, ensure_ascii=False)}: {{\n{entries(of)}\n}}" for name, of in record["settings"].items()
    ]
    return f'{{"libraries": {json.dumps(record["libraries"])},\n"settings": {{\n' + ",\n".join(settings) + "\n}}\n"


if __name__ == "__main__":
    sys.exit(main())
