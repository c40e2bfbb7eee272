"""Mistakes that users make: each call with words that its message must have."""

import warnings
from decimal import Decimal

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
from catboost import CatBoostClassifier
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDRegressor
from sklearn.model_selection import FixedThresholdClassifier, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC
from xgboost import XGBRegressor

from cases import ROWS, X, Y, fitted
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
    fade,
    gather,
)
from catbayes.families import BetaBernoulli, DirichletCategorical, LogNormalGamma, NormalGamma
from catbayes.inspect import decompose_loss
from catbayes.kinds import Bins, Nested, Ordinal, Shared, Spellings, Tags
from catbayes.mappings import PosteriorMoments, PredictiveQuantiles

NAN, INF = float("nan"), float("inf")
SIZES = pandas.DataFrame({"size": ["S", "M", "L"] * 500, "many": range(1500), "other": ["S", "M", "L"] * 500})
THREE = pandas.DataFrame({"a": [1, 2, 3] * 9, "b": ["x", "y", "z"] * 9, "c": ["y", "z", "x"] * 9})
NO_ROWS = pyarrow.table({"city": pyarrow.array([], "string"), "y": pyarrow.array([], "int64")})
RECORDS = polars.DataFrame({"c": ["a", "b"] * 9, "r": [{"x": 1}] * 18})
SPARSE = pandas.DataFrame({"c": list("ababab"), "s": pandas.arrays.SparseArray([0, 0, 1.0, 0, 0, 2.0])})
WIDE = pandas.DataFrame(np.arange(400).reshape(10, 40).astype(str)).add_prefix("c")


def fit(table=X, y=Y, sample_weight=None, exposure=None, groups=None, **settings):
    """Fit an encoder of the cities."""
    encoder = SamplingBayesianEncoder(**{"columns": ["city"]} | settings)
    if groups is not None:
        return encoder.fit_transform(table, y, groups=groups)
    return encoder.fit(table, y, sample_weight, exposure=exposure)


def model(estimator=None, **settings):
    encoder = SamplingBayesianEncoder(["city"], prior=Scaled(1.0))
    return SamplingRegressor(estimator or Ridge(), **{"encoder": encoder, "random_state": 0} | settings)


def classify(estimator=None, y=Y, **settings):
    return SamplingClassifier(estimator, **{"n_draws": 2, "random_state": 0} | settings).fit(X, y)


def odd(*values, name="odd"):
    return SamplingBayesianEncoder("all").fit(pandas.DataFrame({name: pandas.Series(values, dtype=object)}), [0, 1, 1])


class Misnamed:
    names = ("a", "b")

    def __call__(self, theta):
        return theta


def kinds(given, **settings):
    return lambda: fit(SIZES, np.arange(1500) / 7, kinds=given, **{"columns": "auto"} | settings)


def kinds_of_three(given, **settings):
    y = np.arange(27) % 3 if settings.get("family") == "categorical" else np.arange(27) / 7
    return lambda: fit(THREE, y, kinds=given, **{"columns": "all"} | settings)


DAYS = [gather(ROWS, ["city"], "y")] * 3

TABLES = {
    "empty table": (lambda: fit(X[:0], Y[:0]), "0 rows"),
    "no columns": (lambda: fit(X[[]]), "0 columns"),
    "one row": (lambda: fit(X[:1], Y[:1]), "n_samples=1: expected two"),
    "repeated names": (lambda: fit(pandas.DataFrame([["a", "b"]] * 60, columns=["x", "x"])), "unique"),
    "a lazy frame with an array": (
        lambda: fit(polars.LazyFrame({"city": ["a"] * 60})),
        r"name of one of.*\.collect\(\)",
    ),
    "a column of lists": (
        lambda: fit(pandas.DataFrame({"city": [[1], [2]] * 30})),
        r"Column 'city' holds cells that are no hashable values.*Tags\(\)",
    ),
    "a column of records": (
        lambda: SamplingBayesianEncoder(["c"]).fit_transform(RECORDS, [0, 1] * 9),
        "Column 'r' is Struct.*several values in a cell. Split it",
    ),
    "a sparse column": (
        lambda: SamplingClassifier().fit(SPARSE, [0, 1] * 3),
        r"Column 's' is not encoded and is sparse\. Use \.sparse\.to_dense\(\)",
    ),
    "one dimension": (lambda: fit(np.arange(60)), "2D array"),
    "sparse": (lambda: fit(scipy.sparse.eye_array(60).tocsr()), "[Ss]parse"),
    "series": (lambda: fit(X["city"]), r"X is a Series: expected a two-dim.*X\.to_frame\(\)"),
    "dictionary": (lambda: fit(dict(X)), r"X is a dict: expected a two-dim.*pandas\.DataFrame\(X\)"),
    "only numbers": (lambda: fit(X[["n"]], columns="auto"), 'found no string.*columns="all"'),
    "no rows of a reader": (lambda: fitted().fit(NO_ROWS.to_reader(), "y"), "holds no rows"),
    "other order at transform": (lambda: fitted().transform(X[["n", "city"]]), "same order"),
    "a column less at transform": (lambda: fitted().transform(X[["city"]]), "missing"),
    "a column more at transform": (lambda: fitted().transform(X.assign(extra=1)), "unseen at fit time"),
    "an array of less columns": (lambda: fit(X.to_numpy(), columns=[0]).transform(X.to_numpy()[:, :1]), "features"),
    "names of several types": (
        lambda: fit(X.set_axis(["city", 1], axis=1)),
        "Column names are of several types, int, str",
    ),
    "a name for an array": (lambda: fit(X.to_numpy()), "'city', and X has no such column. It has 0, 1"),
    "other names of features": (lambda: fitted().get_feature_names_out(["a", "b"]), "input_features is not equal"),
    "too few names of features": (
        lambda: fit(X.to_numpy(), columns=[0]).get_feature_names_out(["a"]),
        "input_features should have length equal",
    ),
    "two outputs of one name": (
        lambda: fit(X.assign(city_mean=1.0), mapping="polynomial").get_feature_names_out(),
        "'city_mean'",
    ),
}
TARGETS = {
    "one class": (lambda: fit(y=np.zeros(60, int)), "only one class"),
    "one class by weight": (lambda: fit(sample_weight=1.0 - Y), "only one class"),
    "constant y": (lambda: fit(y=np.full(60, 2.5)), "constant, 2.5"),
    "NaN in y": (lambda: fit(y=np.where(Y, NAN, 0.5)), "NaN, in 36 rows. Drop"),
    "infinite y": (lambda: fit(y=np.where(Y, INF, 0.5)), "infinity"),
    "missing label": (lambda: fit(y=np.array(["x", None] * 30, dtype=object)), "missing values, in 30 rows"),
    "no y": (lambda: fit(y=None), "y is None"),
    "no y for features": (lambda: SamplingBayesianEncoder().fit_transform(X), "y is None"),
    "no y for a model": (lambda: SamplingClassifier().fit(X), "y is None"),
    "rows without a group": (lambda: fit(groups=["g", None, "h"] * 20), "groups is missing in 20 rows"),
    "folds of other rows": (
        lambda: fit(groups=[1, 2] * 30, cv=[(np.arange(40), np.arange(40, 80))]),
        "cv gives rows that are not among the 60 of X",
    ),
    "short y": (lambda: fit(y=Y[:-1]), "59 values and X has 60 rows"),
    "complex y": (lambda: fit(y=Y + 1j), "Complex data not supported"),
    "hundreds of whole numbers": (
        lambda: fit(pandas.concat([X] * 10), y=np.arange(600)),
        '600 different whole numbers: set family="normal"',
    ),
    "words after numbers": (
        lambda: fitted().partial_fit(X, list("ab") * 30),
        "text in the one and numbers in the other",
    ),
    "fractions after classes": (lambda: fitted().partial_fit(X, np.linspace(0.5, 2.0, 60)), "y holds fractions"),
    "negative weight": (lambda: fit(sample_weight=np.where(Y, -1.0, 1.0)), "holds -1: expected weights ≥ 0"),
    "NaN weight": (lambda: fit(sample_weight=np.where(Y, NAN, 1.0)), "NaN or infinite"),
    "zero weights": (lambda: fit(sample_weight=np.zeros(60)), "zero for every row"),
    "weights of text": (lambda: fit(sample_weight=["w"] * 60), "sample_weight must hold numbers"),
    "dates for weights": (lambda: fit(sample_weight=np.full(60, "2024-01-01", "M8[D]")), "sample_weight must hold num"),
    "short weights": (lambda: fit(sample_weight=np.ones(3)), "one number for each of 60 rows"),
    "groups by name": (lambda: fit(groups="g"), r"groups='g': expected the group of each row.*X\['g'\]"),
    "several targets": (lambda: fit(y=np.c_[Y, Y]), r"y has 2 columns: expected one target. MultiTargetEncoder"),
    "no encoder for several targets": (lambda: MultiTargetEncoder("mean").fit(X, Y), "expected a SamplingBayesianEnc"),
    "no y for several targets": (lambda: MultiTargetEncoder().fit(X), "y is None"),
    "one target of several is constant": (
        lambda: MultiTargetEncoder().fit(X, pandas.DataFrame({"a": Y, "price": 1.5})),
        r"Target 'price': y is constant, 1\.5",
    ),
    "targets of three axes": (lambda: MultiTargetEncoder().fit(X, np.zeros((60, 2, 2))), "y has 3 dimensions"),
}
SETTINGS = {
    **{
        f"prior {prior!s:.20}": (
            lambda prior=prior: fit(prior=prior),
            r'prior=.*: expected "empirical", a number of rows > 0, or a prior object',
        )
        for prior in (0, -1.0, INF, NAN, True, "flat", None, BetaBernoulli)
    },
    "prior of another family": (lambda: fit(prior=NormalGamma(0, 1, 1, 1)), "needs a BetaBernoulli"),
    "prior of another shape": (
        lambda: fit(y=np.arange(60) % 3, prior=DirichletCategorical([1, 1])),
        r"shape \(2,\), and this target needs \(3,\)",
    ),
    "prior with a zero": (
        lambda: fit(y=np.arange(60) % 3, prior=DirichletCategorical([1.0, 0.0, 1.0])),
        "expected finite numbers > 0",
    ),
    "log-normal prior for a normal target": (
        lambda: fit(family="normal", prior=LogNormalGamma(0, 1, 1, 1)),
        "prior is a LogNormalGamma, and the target needs a NormalGamma",
    ),
    "unknown column": (lambda: fit(columns=["town"]), "'town', and X has no such column. It has 'city', 'n'"),
    "column twice": (lambda: fit(columns=["city", "city"]), "names a column twice"),
    "no column": (lambda: fit(columns=[]), "expected"),
    "columns by a number": (lambda: fit(columns=5), "expected .*a list of names or positions"),
    "unknown family": (lambda: fit(family="gauss"), 'family=.gauss.: expected one of "auto", "bernoulli"'),
    "three classes for two": (lambda: fit(y=np.arange(60) % 3, family="bernoulli"), 'use "categorical"'),
    "a family of one's own": (
        lambda: fit(y=np.arange(60) % 3, family=type("Mine", (BetaBernoulli,), {"__slots__": ()})),
        "family=Mine takes two classes",
    ),
    "zero for amounts": (lambda: fit(family="lognormal"), "takes amounts > 0, and y holds 0: use"),
    "negative counts": (lambda: fit(y=Y - 5, family="poisson"), "counts ≥ 0"),
    "words for numbers": (lambda: fit(y=np.array(["x", "y"] * 30), family="normal"), "must hold numbers"),
    "unknown mapping": (lambda: fit(mapping="median"), "mapping='median': expected one of"),
    "mapping of another shape": (lambda: fit(mapping=lambda theta: theta[:1]), "leading axes"),
    "mapping of too many names": (lambda: fit(mapping=Misnamed()), "names 2"),
    "weight of evidence of a number": (lambda: fit(mapping="weight_of_evidence", family="normal"), "class target"),
    "quantiles of a class": (lambda: fit(mapping=PredictiveQuantiles()), "a class has no quantiles"),
    "a quantile of 1": (
        lambda: fit(family="normal", mapping=PredictiveQuantiles((0.5, 1.0))),
        "expected different numbers between 0 and 1",
    ),
    "five moments": (lambda: fit(mapping=PosteriorMoments(n_moments=5)), "n_moments=5"),
    "drop_first=1": (lambda: fit(mapping=PosteriorMoments(drop_first=1)), "drop_first=1: expected True or False"),
    "one fold": (lambda: fit(own_target="cross_fit", cv=1), "cv=1: expected a whole number ≥ 2"),
    "unknown unseen": (lambda: fit(unseen="ignore"), "unseen"),
    "unknown missing": (lambda: fit(missing="drop"), "missing"),
    "unknown category outputs": (lambda: fit(keep_categories="hash"), "keep_categories"),
    "no categories": (lambda: fit(max_categories=0), "max_categories"),
    **{
        f"own_target {way!s:.20}": (
            lambda way=way: fit(own_target=way),
            r'own_target=.*: expected one of "exclude", "cross_fit", "ordered", "include"',
        )
        for way in ("loo", None, 5, KFold(3), Ordered, ["exclude"])
    },
    **{
        f"temperature {value}": (
            lambda value=value: fit(temperature=value),
            r'^temperature=.*: expected "auto" or a number from 0 to 1',
        )
        for value in ("posterior", None, -0.1, 1.5, True, [1.0])
    },
    **{
        f"random_state {seed!s:.10}, {kind}": (
            lambda seed=seed, ask=ask: ask(seed),
            r"random_state=.*: expected a whole number from 0.*Of a Generator, draw",
        )
        for seed in (np.random.default_rng(0), "zero", -1, 1.5)
        for kind, ask in {
            "fit": lambda seed: fit(random_state=seed),
            "sample": lambda seed: fitted().sample(X, random_state=seed),
            "several targets": lambda seed: MultiTargetEncoder(SamplingBayesianEncoder(random_state=seed)).fit(X, Y),
        }.items()
    },
    **{
        f"n_draws {n}": (lambda n=n, ask=ask: ask(n), "n_draws=")
        for n in (0, -1, 2.5, "3", True)
        for ask in (lambda n: fitted().sample(X, n), lambda n: fitted().augment(X, Y, n))
    },
    "effects=yes": (lambda: fit(effects="yes"), "expected True, False"),
    "effects in an order": (lambda: fit(effects=True, own_target="ordered"), "go with folds"),
    "slopes of no encoded column": (lambda: fit(effects={"n": ["n"]}), "is not an encoded column"),
    "slopes of no number": (lambda: fit(effects={"city": ["price"]}), "is no column of numbers"),
    "slopes without a list": (lambda: fit(effects={"city": "n"}), "or columns with lists"),
    "slopes of a number twice": (lambda: fit(effects={"city": ["n", "n"]}), "twice"),
    "slopes of gaps": (lambda: fit(X.assign(gaps=NAN), effects={"city": ["gaps"]}), "no column of numbers"),
    "an order that is missing": (
        lambda: fit(X.assign(day=NAN), own_target=Ordered("day"), groups=None).fit_transform(X.assign(day=NAN), Y),
        "which orders the rows, is missing in 60 rows",
    ),
    "an order that is no column": (lambda: fit(own_target=Ordered("hour")), "no such column"),
    "a half-life in words": (lambda: fade(DAYS, half_life="guess"), 'expected "estimate" or a number > 0'),
    "times that fall": (lambda: fade(DAYS, times=[0, 2, 1]), "3 ascending numbers"),
    "batches that were not gathered": (lambda: fade([ROWS]), "the result of gather for each batch"),
}
COMBINED = {
    "interactions='all'": (lambda: fit(interactions="all"), "interactions='all': expected None, \"pairs\""),
    "interactions=3": (lambda: fit(interactions=3), "interactions=3: expected None"),
    "names for a combination": (lambda: fit(interactions=["city", "n"]), "list of tuples of columns"),
    "a combination of one": (lambda: fit(interactions=[("city",)]), "two or more columns, each one once"),
    "a column twice in it": (lambda: fit(interactions=[("city", "city")]), "two or more columns, each one once"),
    "a combination twice": (lambda: fit(interactions=[("city", "n"), ("n", "city")]), "names a combination twice"),
    "a combination of nothing": (lambda: fit(interactions=[("city", "x")]), "'x', and X has no such column"),
    "hundreds of pairs": (
        lambda: fit(WIDE, [0, 1] * 5, interactions="pairs", columns="auto"),
        r"makes 780 interactions of 40 columns.*interactions=\[\('c0', 'c1'\)\]",
    ),
    "a word for kinds": (kinds({"size": "ordinal"}), "expected a dictionary of columns to kinds"),
    "a class for a kind": (kinds({"size": Ordinal}), r"'size' has the class Ordinal: expected an object, Ordinal\(…\)"),
    "a kind of no column": (kinds({"siez": Ordinal()}), "Did you mean 'size'"),
    "an order of words": (kinds({"size": Ordinal()}), "text"),
    "a level too few": (kinds({"size": Ordinal(["S", "M"])}), r"\['L'\]"),
    "bins of words": (kinds({"size": Bins()}), "more than numbers"),
    "thousands of levels": (kinds({"many": Ordinal()}), "more than 1000"),
    "spellings of numbers": (kinds({"many": Spellings()}), "more than text"),
    "a parent that is missing": (kinds({"size": Nested(["town"])}), "'town', and X has no such column"),
    "its own parent": (kinds({"size": Nested(["size"])}), "names a column twice"),
    "shared by one": (kinds({"size": Shared()}), "a tuple of two"),
    "an order of two": (kinds({("size", "many"): Ordinal()}), "a tuple of two"),
    "two kinds of one column": (kinds({("size", "many"): Shared(), "size": Spellings()}), "twice"),
    "both roles in one row": (kinds({("size", "other"): Shared()}), "hold one category in both"),
    "three that are opposed": (kinds({("size", "many", "other"): Shared(opposed=True)}), "expected two columns"),
    "classes that rise": (
        kinds_of_three({"a": Ordinal(monotone="increasing")}, family="categorical"),
        "rise and fall together",
    ),
    "classes that are opposed": (
        kinds_of_three({("b", "c"): Shared(opposed=True)}, family="categorical"),
        "none is the opposite",
    ),
    "kinds in the order of rows": (kinds_of_three({"a": Ordinal()}, own_target="ordered"), "kinds"),
    "a kind of a column that passes": (kinds_of_three({"a": Ordinal()}, columns=["b"]), "not encoded"),
    "a kind of heavy tails": (kinds_of_three({"a": Ordinal()}, family="robust"), "does not support"),
    "a level twice": (lambda: Ordinal(["S", "S"]), "each level once"),
    "levels in a word": (lambda: Ordinal("SML"), "the lowest first"),
    "a ring that rises": (lambda: Ordinal(cyclic=True, monotone="increasing"), "cannot be monotone"),
    "a direction of one's own": (lambda: Bins(monotone="up"), "expected one of"),
    "cuts that fall": (lambda: Bins([3, 2]), "numbers that rise"),
    "one bin": (lambda: Bins(1), "whole number"),
    "a blank between members": (lambda: Tags(" "), "not blank"),
    "a parent without a list": (lambda: Nested("region"), "expected a list of parent columns"),
    "parents of some": (lambda: Nested({"1": ("a", "b"), "2": "a"}), "as many for all"),
    "a parent of itself": (lambda: Nested({"a": "b", "b": "c", "c": "a"}), "the parents are the categories themselves"),
    "two parents of each other": (
        lambda: Nested(pandas.DataFrame({"p": ["a", "b"], "r": ["b", "a"]})),
        "the parents are the categories themselves",
    ),
    "a child of two parents": (
        lambda: Nested(pandas.DataFrame({"p": ["1", "1"], "r": ["a", "b"]})),
        "names a category twice",
    ),
    "a separator inside of a member": (
        lambda: fit(pandas.DataFrame({"city": [["a|b"], ["c"]] * 30}), kinds={"city": Tags()}),
        "holds the separator",
    ),
}
FILES = {
    "a name of another format": (
        lambda: encode(ROWS, fitted(), "out.xlsx"),
        r"output='out.xlsx': what is written is Parquet, or CSV .* Let the name end in .parquet, .pq or .csv",
    ),
    "own target of effects": (
        lambda: encode(ROWS, fitted(effects=True), "out.parquet", n_draws=1, target="y"),
        "effects=True needs all rows together",
    ),
    "own target in sight": (
        lambda: encode(ROWS, fitted(temperature=0.1), "out.parquet", n_draws=1, target="y"),
        "would not hide that the row's own target",
    ),
    "own target in an order": (
        lambda: encode(ROWS, fitted(own_target="ordered"), "out.parquet", n_draws=1, target="y"),
        "needs all rows together",
    ),
    "no rows to encode": (lambda: encode(ROWS[:0], fitted(), "out.parquet"), "there is nothing to encode"),
    "an unknown class": (
        lambda: encode(ROWS.assign(y=list("pqrs") * 15), fit(y=list("pqr") * 20), "out.parquet", n_draws=1, target="y"),
        "classes that fit never saw",
    ),
}
MODELS = {
    "n_draws=0": (lambda: classify(n_draws=0), "n_draws=0: expected a whole number ≥ 1"),
    "fit_with='copy'": (
        lambda: classify(fit_with="copy"),
        'fit_with=\'copy\': expected one of "auto", "copies", "members", "rounds"',
    ),
    "predict_with='median'": (lambda: classify(predict_with="median"), "predict_with='median': expected one of"),
    "a class for an estimator": (lambda: classify(Ridge), "expected a scikit-learn estimator or Pipeline"),
    "another encoder": (lambda: classify(encoder=StandardScaler()), "expected a SamplingBayesianEncoder"),
    "numbers for a classifier": (
        lambda: classify(encoder=SamplingBayesianEncoder(family="normal")),
        "a classifier has classes",
    ),
    "a regressor for a classifier": (lambda: classify(Ridge()), "use SamplingRegressor for it"),
    "a threshold inside": (
        lambda: classify(FixedThresholdClassifier(LogisticRegression(), threshold=0.1)),
        "Put it around the model",
    ),
    "clusters": (lambda: classify(KMeans()), r"KMeans\(\), which predicts no target: expected a classifier"),
    "weights in a list": (
        lambda: classify(CatBoostClassifier(class_weights=[1, 2])),
        r"give a tuple, such as class_weights=\(1, 2\)",
    ),
    "names of classes": (lambda: classify(CatBoostClassifier(class_names=("a", "b"))), r"class_names=….*leave it out"),
    "a weight of no class": (
        lambda: classify(LogisticRegression(class_weight={"no": 2}), y=Y > 0),
        r"names 'no', which y does not hold: .*\[False, T",
    ),
    "calibrate=1": (lambda: classify(LogisticRegression(), calibrate=1), "calibrate=1: expected a whole number ≥ 2"),
    "sets of scores": (lambda: classify(LinearSVC(), calibrate=5), "LinearSVC has no predict_proba"),
    "a class in one fold": (
        lambda: classify(LogisticRegression(), y=[1] + [0] * 59, calibrate=5),
        "rows outside of a fold hold one class only",
    ),
    "draws without a value": (
        lambda: classify(encoder=SamplingBayesianEncoder(unseen="nan")),
        'unseen="nan" is not known to a model that averages over draws',
    ),
    "no value in a column": (
        lambda: SamplingClassifier(random_state=0).fit(X.assign(n=NAN), Y),
        "Column 'n' holds no value, and HistGradientBoostingClassifier",
    ),
    "a validation set of other classes": (
        lambda: SamplingClassifier(LogisticRegression(), random_state=0).fit(X, Y, eval_set=[(X, Y + 1)]),
        "labels that y does not",
    ),
    "batches of a calibrated model": (
        lambda: model(SGDRegressor(), calibrate=3).partial_fit(X, Y),
        "needs all rows at once: partial_fit needs calibrate=None",
    ),
    "draws of a column that passes": (
        lambda: model().fit(X, Y).predict_draws(X, columns=["n"]),
        "'n' is not encoded; those are",
    ),
    "coefficients before fit": (lambda: model().coef_, "is not fitted yet, and has no coef_"),
    "values of other features": (lambda: model().fit(X, Y).by_column(np.ones(9)), "as long as get_feature_names_out"),
    "two quantiles": (
        lambda: model(XGBRegressor(objective="reg:quantileerror", quantile_alpha=[0.1, 0.9])).fit(X, Y),
        "predicts 2 numbers for each row: expected one",
    ),
    "text that passes": (lambda: model().fit(X.assign(n="x"), Y), "or name it among the columns of the encoder"),
    "more rows for effects": (
        lambda: model(SGDRegressor(), encoder=SamplingBayesianEncoder(["city"], effects=True)).partial_fit(X, Y),
        "The encoder has effects",
    ),
    "missing labels": (lambda: classify(y=np.array(["a", None] * 30, dtype=object)), "contains missing values"),
    "words for a regressor": (lambda: model().fit(X, ["a", "b"] * 30), "must hold numbers for a regressor"),
    "classes for a regressor": (
        lambda: model(encoder=SamplingBayesianEncoder(family="bernoulli")).fit(X, Y),
        "bernoulli",
    ),
    "exposure for a model, before the encoder reads y": (
        lambda: model(encoder=SamplingBayesianEncoder(family="poisson")).fit(X, Y - 5, exposure=np.ones(60)),
        "exposure is for the encoder alone",
    ),
    "the loss of scores": (lambda: decompose_loss(classify(LinearSVC()), X, Y), "The log-loss needs probabilities"),
    "coefficients of features that a Pipeline made": (
        lambda: model(make_pipeline(PolynomialFeatures(), LinearRegression())).fit(X, Y).coef_,
        "features that the steps of the Pipeline made",
    ),
}
EXPORTS = {
    "several types in SQL": (lambda: odd(1, "a", 1).to_sql(), "of several types, text, whole numbers"),
    "several types in ONNX": (lambda: odd(1, "a", 1).to_onnx(), "of several types, text, whole numbers"),
    "decimals": (lambda: odd(Decimal(1), Decimal(2), Decimal(1)).to_sql(), r"the category Decimal\('1'\)"),
    "infinity": (lambda: odd(1.0, np.inf, 2.0).to_sql(), "no SQL for it"),
    "days": (lambda: odd(*pandas.date_range("2024-01-01", periods=3)).to_onnx(), "dates, and ONNX has no such type"),
    "more than 64 bits": (lambda: odd(1, 2**63, 2).to_onnx(), "more than 64 bits"),
    "an array": (lambda: fit(X.to_numpy(), columns=[0]).to_onnx(), "Fit it on a frame"),
    "an output that is a column": (
        lambda: fit(X.assign(city_encoded=1)).to_sql(),
        "has a column 'city_encoded' already",
    ),
    "a name that is empty": (
        lambda: odd("a", "b", "b", name="").to_sql(),
        r"A column is called ''.*Rename that column",
    ),
    "names in capitals": (lambda: fit(X.assign(City="a")).to_sql(), r"differ only in capitals.*Rename one"),
    "classes in capitals": (lambda: fit(y=["No", "no", "yes"] * 20).to_sql(), "or classes"),
}
ALL = EXPORTS | TABLES | TARGETS | SETTINGS | COMBINED | FILES | MODELS


@pytest.mark.parametrize("name", ALL)
def test_a_mistake_has_a_message_and_leaves_no_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, words = ALL[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError, AttributeError), match=words) as caught:
            call()
    assert str(caught.value).count("\n") < 8  # those of scikit-learn have several lines
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("table", "y", "settings"),
    [(X, np.zeros(60), {}), (X[["n"]], Y, {}), (X, Y, {"prior": "flat"}), (X, Y, {"kinds": {"town": Tags()}})],
)
def test_a_fit_that_fails_leaves_the_encoder_as_it_was(table, y, settings):
    encoder = SamplingBayesianEncoder(["city"], random_state=0).fit(X, Y).set_params(**settings)
    before = dict(vars(encoder))
    with pytest.raises(InputError):
        encoder.fit(table, y)
    assert vars(encoder).keys() == before.keys()
    assert all(vars(encoder)[name] is value for name, value in before.items())


@pytest.mark.parametrize("method", ["transform", "sample", "get_feature_names_out"])
def test_an_encoder_must_be_fitted_first(method):
    encoder = SamplingBayesianEncoder()
    with pytest.raises(NotFittedError):
        getattr(encoder, method)(*([] if method.startswith("get") else [X]))
    with pytest.raises(NotFittedError):
        _ = encoder.posteriors_


def test_dozens_of_whole_numbers_become_classes_with_a_warning():
    table, y = pandas.DataFrame({"c": ["a", "b"] * 300}), np.arange(600) % 40
    with pytest.warns(InputWarning, match='40 different whole numbers, and each becomes a class: set family="normal"'):
        SamplingBayesianEncoder().fit(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        SamplingBayesianEncoder(family="categorical").fit(table, y)
        SamplingBayesianEncoder().fit(table, y % 30)
        SamplingClassifier().fit(table, y)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_target_of_text_that_holds_numbers_gives_a_warning(lazy):
    table = polars.DataFrame({"city": ["a", "b"] * 10, "y": np.linspace(0.5, 9.5, 20).round(2).astype(str)})
    with pytest.warns(InputWarning, match=r"text that holds numbers, such as '9.5', and each of its 20 values becomes"):
        gather(table.lazy() if lazy else table, ["city"], "y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gather(table, ["city"], "y", family="categorical")
        for labels in (["1", "2"], ["1.0", "2.0"], ["1.5", "high"], ["nan", "inf"]):
            gather(table.with_columns(y=polars.Series(labels * 10)), ["city"], "y")


@pytest.mark.parametrize("settings", [{"interactions": "auto"}, {"keep_categories": "codes"}])
@pytest.mark.parametrize("classes", [None, [0, 1]])
@pytest.mark.parametrize("n_rows", [1, 60])
def test_a_batch_of_one_class_or_row_is_accepted_by_partial_fit_only(settings, classes, n_rows):
    encoder = SamplingBayesianEncoder(**settings)
    with pytest.raises(InputError, match=r"only one class|n_samples=1"):
        encoder.fit(X[:n_rows], np.zeros(n_rows, int))
    encoder.partial_fit(X[:n_rows], np.zeros(n_rows, int), classes=classes).partial_fit(X, Y)
    assert encoder.classes_.tolist() == [0, 1]
    assert encoder.transform(X).shape[1] == 2 + (settings.get("keep_categories") is not None)


def test_groups_of_several_types_are_groups():
    groups = [1, "a", 2.5] * 20
    encoder = SamplingBayesianEncoder(["city"], random_state=0)
    np.testing.assert_array_equal(
        encoder.fit_transform(X, Y, groups=groups), encoder.fit_transform(X, Y, groups=[0, 2, 1] * 20)
    )


def test_draws_of_two_files_with_one_name_need_row_ids(tmp_path):
    paths = [tmp_path / folder / "rows.parquet" for folder in ("one", "two")]
    for path in paths:
        path.parent.mkdir()
        ROWS.to_parquet(path)
    with pytest.raises(InputError, match=r"Two files are called 'rows.parquet'"):
        encode(paths, fitted(), tmp_path / "out.parquet", n_draws=1)
    assert len(pandas.read_parquet(encode(paths, fitted(), tmp_path / "out.parquet"))) == 120


def test_spans_of_time_are_no_target_of_a_regressor():
    X = pandas.DataFrame({"s": list("ab") * 10})
    with pytest.raises(InputError, match="dates or spans of time"):
        SamplingRegressor(Ridge()).fit(X, pandas.Series(pandas.to_timedelta(np.arange(20), unit="D")))
