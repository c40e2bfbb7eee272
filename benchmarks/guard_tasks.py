"""Run one part of the guard with the catbayes that PYTHONPATH names. `guard.py` calls this for each version.

    PYTHONPATH=src python benchmarks/guard_tasks.py LABEL TRANSLATION OUTPUT PART [ARGUMENT]

A setting is a dictionary of plain values. `make_encoder` and `make_model` translate it into the interface of one
version: change only these two when a parameter is renamed. TRANSLATION is the copy of this file that belongs to the
version. Everything else here runs with both versions.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas
import polars
import pyarrow
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from measuring import in_turn, peak
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.metrics import mean_squared_error, r2_score, roc_auc_score
from tables import make_table

import catbayes
import catbayes.families
import catbayes.kinds
import catbayes.mappings

Setting = dict[str, Any]
Results = Iterator[tuple[str, Any]]

# ------------------------------------------------------------------------------------------------ translation


def make_encoder(setting: Setting) -> Any:
    """Make an encoder from plain values; a value that is not named has the default of the version."""
    given = dict(setting)
    if "slopes" in given:
        given["effects"] = given.pop("slopes")
    if isinstance(given.get("prior"), tuple):
        name, parameters = given["prior"]
        given["prior"] = (catbayes.Scaled if name == "Scaled" else getattr(catbayes.families, name))(**parameters)
    elif isinstance(given.get("prior"), int | float):
        given["prior"] = catbayes.Scaled(given["prior"])
    if given.get("mapping") == "quantiles":
        given["mapping"] = catbayes.mappings.PredictiveQuantiles((0.1, 0.5, 0.9))
    if "n_moments" in given:
        given["mapping"] = catbayes.mappings.PosteriorMoments(given.pop("n_moments"))
        given.setdefault("own_target", "cross_fit")
    kinds = given.pop("kinds", {})
    given["kinds"] = {column: getattr(catbayes.kinds, name)(**words) for column, (name, words) in kinds.items()}
    return catbayes.SamplingBayesianEncoder(**given)


def make_model(estimator: Any, setting: Setting, classes: bool, **parameters: Any) -> Any:
    """Make a model; what the setting of the encoder does not name is what the version recommends for the estimator."""
    encoder = make_encoder(setting)
    parts: tuple[str, ...] = ("interactions", "effects", "keep_categories")
    given = set(setting) - {"max_categories"} | ({"effects"} if "slopes" in setting else set())
    model = catbayes.SamplingClassifier if classes else catbayes.SamplingRegressor
    usual = catbayes.recommended_encoder(estimator, own_target=encoder.own_target)
    parts = (*parts, *(["max_categories"] if "keep_categories" not in setting else []))
    encoder.set_params(**{n: value for n, value in usual.get_params().items() if n in parts and n not in given})
    return model(estimator, encoder, **parameters)


# ------------------------------------------------------------------------------------------------ tables and estimators


def make_rows(n_rows: int, seed: int, unseen: bool = False) -> pandas.DataFrame:
    """Make a table with rare and missing categories, and a target of each family by its name."""
    random = np.random.default_rng(seed)
    town, shop = np.minimum(random.geometric(0.1, n_rows), 40), random.integers(0, 4, n_rows)
    home, size = random.integers(0, 8, n_rows), random.normal(size=n_rows).round(2)
    mean = np.sin(town) + 0.5 * np.cos(5 * shop) + 0.3 * size
    noisy = mean + random.normal(size=n_rows)
    table = pandas.DataFrame(
        {
            "town": [f"t{number}" for number in town],
            "region": [f"r{number % 5}" for number in town],
            "shop": [f"s{number}" for number in shop],
            "name": [f"street {number}{'x' * (number % 3)}" for number in town],
            "tags": ["|".join("pqrst"[: number % 5]) for number in town],
            "home": [f"h{number}" for number in home],
            "away": [f"h{number}" for number in (home + random.integers(1, 8, n_rows)) % 8],
            "size": size,
            "level": random.integers(0, 9, n_rows),
            "row": np.arange(n_rows) + 7,
            "light": random.uniform(0.5, 1.5, n_rows),
            "heavy": random.uniform(50.0, 150.0, n_rows),
            "groups": random.integers(0, n_rows // 3, n_rows),
            "exposure": random.integers(4, 8, n_rows),
            "bernoulli": np.where(noisy > 0, "yes", "no"),
            "categorical": np.where(noisy > 0.6, "x", np.where(noisy > -0.7, "y", "z")),
            "normal": noisy,
            "lognormal": np.exp(noisy),
            "poisson": random.poisson(np.exp(mean)),
            "negative_binomial": random.negative_binomial(2, 1 / (1 + np.exp(mean))),
            "binomial": random.integers(0, 5, n_rows) / 4,
            "survival": random.integers(0, 2, n_rows),
            "robust": mean + random.standard_t(2, n_rows),
        }
    )
    for name in ("town", "shop", "name", "tags"):
        table[name] = table[name].astype(object).mask(random.random(n_rows) < 0.04, None)
    if unseen:
        table.loc[::7, ["town", "region", "name", "tags", "home"]] = ["Atlantis", "sea", "street 99", "z", "h99"]
    return table


def make_estimator(name: str, classes: bool, n_trees: int = 10) -> Any:
    """Make an estimator by its name, with one thread and a seed."""
    if name == "linear":
        return LogisticRegression(max_iter=1000) if classes else Ridge()
    if name == "descent":
        how = {"max_iter": 10, "random_state": 0}
        return SGDClassifier(loss="log_loss", **how) if classes else SGDRegressor(**how)
    if name == "LightGBM":
        kind, quiet = LGBMClassifier if classes else LGBMRegressor, {"n_jobs": 1, "verbose": -1}
    else:
        kind = CatBoostClassifier if classes else CatBoostRegressor
        quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
    return kind(n_estimators=n_trees, random_state=0, **quiet)


def plain(value: Any) -> Any:
    """Turn an answer into an array of floats, or into text if it holds anything else."""
    array = np.asarray(value)
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        return repr(array.tolist())
    return np.where(np.isnan(numbers), np.nan, numbers)


# ------------------------------------------------------------------------------------------------ answers

PRIORS = {
    "bernoulli": ("BetaBernoulli", {"alpha": 2.0, "beta": 3.0}),
    "categorical": ("DirichletCategorical", {"alpha": [1.0, 2.0, 0.5]}),
    "normal": ("NormalGamma", {"centre": 0.3, "strength": 2.0, "alpha": 3.0, "beta": 4.0}),
    "lognormal": ("Scaled", {"gamma": 0.01, "strength": 0}),
    "poisson": ("GammaPoisson", {"alpha": 3.0, "beta": 1.5}),
    "negative_binomial": 0.01,
    "binomial": ("Scaled", {"gamma": 0.02}),
    "survival": 0.1,
    "robust": 0,
}
"""The families, and a prior of each."""
CLASSES = ("bernoulli", "categorical")
KINDS: dict[Any, tuple[str, Setting]] = {
    "level": ("Ordinal", {"cyclic": True}),
    "size": ("Bins", {"cuts": 5}),
    "name": ("Spellings", {}),
    "tags": ("Tags", {"separator": "|"}),
    ("home", "away"): ("Shared", {}),
    "town": ("Nested", {"parents": ["region"]}),
    "shop": ("Nested", {"parents": {"s0": "u", "s1": "u", "s2": "v", "s3": "v"}}),
}
CONTAINERS: dict[str, Callable[[pandas.DataFrame], Any]] = {
    "pandas": lambda table: table,
    "pandas categories": lambda table: table.astype({"town": "category"}),
    "polars": polars.from_pandas,
    "pyarrow": lambda table: pyarrow.Table.from_pandas(table, preserve_index=False),
    "numpy": lambda table: table.to_numpy(object),
    "numpy integers": lambda table: table.apply(lambda cells: pandas.factorize(cells, sort=True)[0]).to_numpy(),
}
TABLE = {"family": (*PRIORS,), "container": (*CONTAINERS,), "n_rows": (20, 60, 150, 300)}
ENCODER: dict[str, tuple[Any, ...]] = {
    "prior": (None, None, 1e-3, "given"),
    "interactions": (None, None, "pairs", "auto", [("town", "shop")]),
    "own_target": (None, "exclude", "cross_fit", "ordered", "include"),
    "cv": (None, 3),
    "unseen": (None, None, None, "nan", "error"),
    "missing": (None, None, "prior", "nan"),
    "kinds": (None, None, *KINDS),
}
SAMPLING: dict[str, tuple[Any, ...]] = {
    "mapping": (None, None, "mean_precision", "polynomial", "of the family"),
    "temperature": (None, None, 0.0, 0.1, 0.5, 1.0),
    "sampler": (None, None, "exact", "normal"),
    "effects": (*[None] * 9, True),
    "slopes": (*[None] * 9, {"town": ["size"]}),
    "keep_categories": (None, None, "codes", "one_hot"),
    "max_categories": (30, 3, None),
}
FIT = {"sample_weight": (None, None, "light", "heavy"), "groups": (None, None, "groups")}
MODEL: dict[str, tuple[Any, ...]] = {
    "n_draws": (None, 2),
    "fit_with": (None, "copies", "members"),
    "predict_with": (None, "mean", 3),
    "calibrate": (None, 3),
}
ESTIMATORS = {"estimator": ("linear", "descent", "LightGBM", "CatBoost")}


def random_setting(number: int) -> Setting:
    """Choose a table, an encoder and how to fit it; a model in every fourth setting, moments in every eighth."""
    random = np.random.default_rng(number)

    def choose(options: Any) -> Setting:
        chosen = {name: values[random.integers(len(values))] for name, values in options.items()}
        return {name: value for name, value in chosen.items() if value is not None}

    setting, encoder, sampling, fit = choose(TABLE), choose(ENCODER), choose(SAMPLING), choose(FIT)
    family, columns = setting["family"], ["town", "shop", "size", "region"]
    is_array, is_model, is_moments = "numpy" in setting["container"], number % 4 == 0, number % 8 == 1
    encoder |= {"n_moments": 3} if is_moments else sampling
    unsuited = {"kinds", "slopes", "interactions"} if is_array else set()
    if is_moments:
        unsuited |= {"own_target"}
    if family == "robust":
        unsuited |= {"kinds"}
    if encoder.get("own_target") == "ordered":
        unsuited |= {"kinds", "effects", "slopes"}
    encoder = {name: encoder[name] for name in encoder if name not in unsuited}
    if is_model:
        encoder = {name: value for name, value in encoder.items() if value != "nan"}
        encoder |= {"interactions": None, "effects": False, "keep_categories": None} if number % 8 == 0 else {}
        setting |= choose(ESTIMATORS) | {"model": choose(MODEL) | {"random_state": number}}
    if is_array:
        columns, encoder["columns"] = columns[:3], [0, 1]
    if "kinds" in encoder:
        chosen = encoder["kinds"]
        columns += [name for name in (chosen if isinstance(chosen, tuple) else [chosen]) if name not in columns]
        encoder["kinds"] = {chosen: KINDS[chosen]}
    if encoder.get("prior") == "given":
        encoder["prior"] = PRIORS[family]
    if encoder.get("mapping") == "of the family":
        encoder["mapping"] = "weight_of_evidence" if family in CLASSES else "quantiles"
    if encoder.get("keep_categories"):
        encoder.setdefault("max_categories", None)
    if family == "survival" or (family in ("poisson", "negative_binomial") and number % 4 == 2):
        fit["exposure"] = "exposure"
    encoder |= {"family": family, "random_state": number}
    return setting | {"columns": columns, "encoder": encoder, "fit": fit}


def answer(api: Any, setting: Setting) -> dict[str, Any]:
    """Fit a setting, and ask for everything that it answers; an error is an answer too."""
    seed, family, classes = setting["encoder"]["random_state"], setting["family"], setting["family"] in CLASSES
    known, contain = make_rows(setting["n_rows"], seed), CONTAINERS[setting["container"]]
    new = pandas.concat([make_rows(40, seed + 1_000_000, unseen=True), known.head(5)])
    X, new_X = contain(known[setting["columns"]]), contain(new[setting["columns"]])
    y, given = known[family].to_numpy(), {name: known[column].to_numpy() for name, column in setting["fit"].items()}
    if "estimator" in setting:
        estimator = make_estimator(setting["estimator"], classes)
        fitted = api.make_model(estimator, setting["encoder"], classes, **setting["model"])
        predict = fitted.predict_proba if classes else fitted.predict
        questions: dict[str, Callable[[], Any]] = {
            "fit": lambda: fitted.fit(X, y, **given).get_feature_names_out(),
            "predict": lambda: fitted.predict(new_X),
            "with deviations": lambda: np.stack(predict(new_X, return_std=True)),
            "predict_draws": lambda: fitted.predict_draws(new_X, n_draws=3),
            "calibrated": lambda: np.stack((fitted.predict_set if classes else fitted.predict_interval)(new_X)),
        }
    else:
        fitted = api.make_encoder(setting["encoder"])
        questions = {
            "fit_transform": lambda: fitted.fit_transform(X, y, **given),
            "names": lambda: fitted.get_feature_names_out(),
            "transform": lambda: fitted.transform(new_X),
        }
        if "n_moments" not in setting["encoder"]:
            questions["sample"] = lambda: fitted.sample(new_X, 2)
            questions["sample by row_id"] = lambda: fitted.sample(new_X, row_id=new["row"].to_numpy())
    found: dict[str, Any] = {}
    for name, ask in questions.items():
        try:
            found[name] = plain(ask())
        except Exception as error:
            found[name] = f"raised {type(error).__name__}: {error}"
            if len(found) == 1:
                return found
    encoder = getattr(fitted, "encoder_", fitted)
    for name in encoder.columns_:
        frame = nw.from_native(encoder.posteriors_[name], eager_only=True)
        found |= {f"posteriors_ {name} {column}": plain(frame[column].to_numpy()) for column in frame.columns}
    return found


def answers(api: Any, n_settings: str) -> Results:
    """Answer random settings."""
    for number in range(int(n_settings)):
        setting = random_setting(number)
        yield str(setting), answer(api, setting)


# ------------------------------------------------------------------------------------------------ scores


def scores(api: Any) -> Results:
    """Score models with the defaults on test rows: two tables, and a published fold of a third."""
    folder = Path(os.environ["CATBAYES_DATA"])
    amazon = pandas.read_csv(folder / "amazon_employee_access" / "train.csv", dtype=str).sample(6000, random_state=0)
    salaries = pandas.read_csv(folder / "employee_salaries" / "employee_salaries.csv").sample(6000, random_state=0)
    salaries = salaries.drop(columns=["department_name", "date_first_hired"])
    wages = pandas.read_csv(folder / "random_effects" / "wages.csv.gz").drop(columns="t")
    fold = np.loadtxt(folder / "random_effects" / "wages.fold.txt.gz", dtype=np.intp)
    last = np.arange(6000) >= 4500
    tables: list[tuple[pandas.DataFrame, str, Any, str, Any, Setting]] = [
        (amazon.astype({"ACTION": int}), "ACTION", last, "AUC", roc_auc_score, {}),
        (salaries, "current_annual_salary", last, "R²", r2_score, {}),
        (wages, "ln_wage", fold == 0, "MSE", mean_squared_error, {"columns": ["idcode"]}),
    ]
    for table, target, test, metric, score, setting in tables:
        X, y, classes = table.drop(columns=target), table[target].to_numpy(), metric == "AUC"
        for name in ("linear", "LightGBM", "CatBoost"):
            model = api.make_model(make_estimator(name, classes, 200), setting, classes, random_state=0)
            model.fit(X[~test], y[~test])
            predicted = model.predict_proba(X[test])[:, 1] if classes else model.predict(X[test])
            yield f"{target}, {name}, {metric}", (float(score(y[test], predicted)), plain(predicted))


# ------------------------------------------------------------------------------------------------ leakage

BRANCHES: dict[str, Setting] = {
    "closed form": {},
    "closed form, numbers": {"family": "normal"},
    "closed form, nested": {"kinds": {"category": ("Nested", {"parents": {str(n): str(n % 20) for n in range(1000)}})}},
    "folds, groups": {"groups": True},
    "folds, low temperature": {"temperature": 0.1},
    "folds, heavy weights": {"sample_weight": 100.0},
    "folds, overdispersed counts": {"family": "poisson"},
    "folds, precision is not drawn": {"mapping": "mean_precision"},
    "folds, quantiles are not drawn": {"family": "normal", "mapping": "quantiles"},
    "folds, effects": {"effects": True, "informative": True},
    "order of the rows": {"keep_categories": "codes", "max_categories": None, "informative": True},
    "control: include": {"own_target": "include"},
    "control: mean of the other rows": {"by hand": True},
}
SIZES = {"1 to 5 rows": (1, 5), "20 to 60 rows": (20, 60)}
SIZES_OF_CONTROLS = {"control: include": "1 to 5 rows", "control: mean of the other rows": "20 to 60 rows"}
"""A row is most of its own category if that is small; a mean of other rows shows the row if these are many."""
N_TABLES = 5


def leakage(api: Any) -> Results:
    """Correlate predictions from encoded noise with the target, on training rows that the model did not see."""
    for branch, setting in BRANCHES.items():
        for size, (low, high) in SIZES.items():
            if size != SIZES_OF_CONTROLS.get(branch, size):
                continue
            found = [leak(api, dict(setting), low, high, seed) for seed in range(N_TABLES)]
            yield f"{branch}, {size}", np.array(found)


def leak(api: Any, setting: Setting, low: int, high: int, seed: int) -> tuple[float, int]:
    """Measure the correlation on one table, and count the independent rows that it comes from.

    Only an informative column has effects and category outputs: there, the noise is the target less its mean.
    """
    random = np.random.default_rng(seed)
    sizes = random.integers(low, high + 1, size=6000 // (low + high))
    category = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    noise: dict[str, Callable[[], Any]] = {
        "bernoulli": lambda: random.integers(0, 2, len(category)),
        "normal": lambda: random.normal(size=len(category)),
        "poisson": lambda: random.poisson(5.0 * random.gamma(1.0, 1.0, len(category))),
    }
    y, group = noise[setting.get("family", "bernoulli")](), np.arange(len(category))
    mean = np.zeros(len(y))
    if setting.pop("informative", False):
        mean = random.beta(1.0, 1.0, len(sizes))[category]
        y = random.binomial(1, mean)
    given: Setting = {}
    if setting.pop("groups", False):  # of two rows that are the same
        category, y, group = (np.repeat(values, 2) for values in (category, y, group))
        given["groups"] = group
    if "sample_weight" in setting:
        given["sample_weight"] = np.full(len(y), setting.pop("sample_weight"))
    if setting.pop("by hand", False):
        count = np.bincount(category)[category]
        features = ((np.bincount(category, y)[category] - y + 0.5) / count)[:, None]
    else:
        encoder = api.make_encoder({"prior": 1e-3, "random_state": seed} | setting)
        features = encoder.fit_transform(pandas.DataFrame({"category": category.astype(str)}), y, **given)
    held_out = group % 2 == 1
    model = make_estimator("LightGBM", False, 60).fit(features[~held_out], y[~held_out])
    predicted = model.predict(features[held_out])
    correlation = np.corrcoef(predicted, (y - mean)[held_out])[0, 1] if np.ptp(predicted) > 0 else 0.0
    return float(correlation), len(np.unique(group[held_out]))


# ------------------------------------------------------------------------------------------------ rows

ROWS: dict[str, Setting] = {
    "categorical": {"interactions": [("town", "shop")], "keep_categories": "one_hot"},
    "normal": {"mapping": "polynomial", "temperature": 1.0},
    "poisson": {"kinds": {"town": KINDS["town"]}},
}


def start_spark() -> Any:
    """Start Spark whose workers run this Python; None without Java."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return None
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "1g")
    return builder.config("spark.log.level", "ERROR").getOrCreate()


def rows(api: Any) -> Results:
    """Draw for the same row ids by `sample`, by the engines of files, and by Spark."""
    table, names, spark = make_rows(2000, 0), ["town", "shop", "region"], start_spark()
    if spark is None:
        print("rows: there is no Java, so Spark is not compared")
    else:
        file = spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("catbayes").__file__).first()
        require_version(file)
    asked: Setting = {"n_draws": 1, "row_id": "row"}
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "rows.parquet"), Path(folder, "encoded.parquet")
        table[[*names, "row"]].to_parquet(source, row_group_size=300)
        for family, setting in ROWS.items():
            words = {"columns": ["town", "shop"], "family": family, "random_state": 3} | setting
            encoder = api.make_encoder(words).fit(table[names].head(1500), table[family].head(1500))
            passed = encoder.get_feature_names_out() == "region"
            drawn = encoder.sample(table[names], row_id=table["row"].to_numpy())[0]
            yield f"{family}, sample", plain(drawn[:, ~passed])
            encoded = {"file": pandas.read_parquet(catbayes.encode(source, encoder, output, overwrite=True, **asked))}
            if spark is not None:
                frame = spark.read.parquet(str(source)).repartition(3)
                encoded["spark"] = catbayes.encode(frame, encoder, **asked).toPandas()
            for way, result in encoded.items():
                added = result.sort_values("row").drop(columns=[*names, "row"])
                yield f"{family}, {way}", plain(added.to_numpy())


# ------------------------------------------------------------------------------------------------ cost


def prepare(api: Any, name: str, size: float, folder: str) -> Callable[[], Any]:
    """Make the input of a task at a share of its full size, and return the task."""
    if name == "encode a file":
        containers, y = make_table(int(1_000_000 * size))
        table, source = containers["polars"], Path(folder, "rows.parquet")
        table.write_parquet(source)
        encoder = api.make_encoder({"random_state": 0}).fit(table.head(100_000), y[:100_000])
        output = Path(folder, "encoded.parquet")
        return lambda: catbayes.encode(source, encoder, output, n_draws=1, overwrite=True)
    if name.startswith("fit_transform, "):
        containers, y = make_table(int(400_000 * size))
        table = containers[name.removeprefix("fit_transform, ")]
        return lambda: api.make_encoder({"random_state": 0}).fit_transform(table, y)
    containers, y = make_table(int(40_000 * size))
    table = containers["pandas strings"].assign(number=np.random.default_rng(0).normal(size=len(y)))
    classes = name.startswith("LightGBM")
    y = y if classes else y + 0.1 * table["number"].to_numpy()
    estimator = make_estimator("LightGBM" if classes else "linear", classes, 50)
    model = api.make_model(estimator, {}, classes, random_state=0)
    if name.endswith("predict_proba"):
        model.fit(table, y)
        return lambda: model.predict_proba(table)
    return lambda: model.fit(table, y)


def cost(api: Any, name: str) -> Results:
    """Measure seconds of processor and the peak of memory of a task, after a small run that loads all libraries."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(api, name, 0.01, folder)()
        task = prepare(api, name, 1.0, folder)
        yield "memory", peak(task)
        yield "time", in_turn({name: task}, 3)[name]


# ------------------------------------------------------------------------------------------------ command


def require_version(file: str) -> None:
    """Require that catbayes comes from the folder in PYTHONPATH."""
    if not Path(file).is_relative_to(os.environ["PYTHONPATH"].split(os.pathsep)[0]):
        raise SystemExit(f"catbayes is imported from {file}, and not from {os.environ['PYTHONPATH']}.")


def main() -> None:
    label, translation, output, part, *arguments = sys.argv[1:]
    require_version(catbayes.__file__)
    spec = importlib.util.spec_from_file_location("translation", translation)
    assert spec is not None
    assert spec.loader is not None
    api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(api)
    warnings.simplefilter("ignore")
    parts: dict[str, Callable[..., Results]] = {
        "answers": answers,
        "scores": scores,
        "leakage": leakage,
        "rows": rows,
        "cost": cost,
    }
    results: dict[str, Any] = {}
    start = shown = time.monotonic()
    for name, result in parts[part](api, *arguments):
        results[name] = result
        if part == "scores" or time.monotonic() > shown + 20:
            shown = time.monotonic()
            print(f"  {label}: {len(results)} done in {shown - start:.0f} s, the last is {name[:60]}", flush=True)
    Path(output).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main()
