"""Models in files: what comes back predicts the same, holds no pickle, and is made of what one trusts."""

import io
import json
import pickletools
import zipfile

import numpy as np
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier, XGBRegressor

import catbayes
from catbayes import (
    InputError,
    SamplingClassifier,
    SamplingRegressor,
    recommended_encoder,
)
from sales import BOOSTER_WAYS, SILENT, make_table

CLASSIFIERS = [
    HistGradientBoostingClassifier(max_iter=5),
    LGBMClassifier(n_estimators=5, verbose=-1, class_weight="balanced"),
    XGBClassifier(n_estimators=5),
    CatBoostClassifier(iterations=5, **SILENT),
    LogisticRegression(),
    LinearSVC(),
    RandomForestClassifier(5),
    make_pipeline(StandardScaler(), LGBMClassifier(n_estimators=5, verbose=-1)),
    make_pipeline(StandardScaler(), XGBClassifier(n_estimators=5)),
]
BOOSTERS = [
    LGBMRegressor(n_estimators=5, verbose=-1, objective="poisson"),
    XGBRegressor(n_estimators=5),
    CatBoostRegressor(iterations=5, **SILENT),
]


def through_a_file(model, **options):
    file = io.BytesIO()
    model.save(file)
    return catbayes.load(file, **options)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda estimator: repr(estimator)[:40])
def test_a_classifier_comes_back_as_it_was(estimator):
    X, y = make_table()
    labels = ["no", "yes"] if isinstance(estimator, Pipeline | LogisticRegression) else ["a", "b", "c"]
    y = np.array(labels)[np.digitize(y, np.quantile(y, [0.5, 0.8][: len(labels) - 1]))]
    model = SamplingClassifier(estimator, random_state=3).fit(X, y)
    loaded = through_a_file(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(loaded.predict_draws(X[:9]), model.predict_draws(X[:9]))
    assert vars(loaded).keys() == vars(model).keys()  # nothing that a fit leaves is forgotten
    assert repr(loaded) == repr(model)
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


@pytest.mark.parametrize("way", BOOSTER_WAYS)
@pytest.mark.parametrize("estimator", BOOSTERS, ids=lambda estimator: type(estimator).__name__)
def test_boosters_come_back_as_they_were(estimator, way):
    X, y = make_table()
    model = SamplingRegressor(estimator, fit_with=way, random_state=0).fit(X, np.exp(y / 3))
    loaded = through_a_file(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_allclose(loaded.feature_importances_, model.feature_importances_)
    assert loaded.features(X[:3]).equals(model.features(X[:3]))
    again = loaded.fit(X, np.exp(y / 3))  # the parameters are there too
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "n_rows", "method"),
    [
        (SamplingRegressor(Ridge(), recommended_encoder(Ridge(), effects=False)), 150, "predict_interval"),
        (SamplingRegressor(Ridge(), recommended_encoder(Ridge(), effects=False)), 900, "predict_interval"),
        (SamplingClassifier(LogisticRegression()), 300, "predict_proba"),
        (SamplingClassifier(LogisticRegression()), 300, "predict_set"),
    ],
    ids=["plain scale", "scale by trees", "probabilities", "sets"],
)
def test_calibrated_predictions_come_back(model, n_rows, method):
    X, y = make_table(n_rows)
    y = np.digitize(y, [-1, 1]) if isinstance(model, SamplingClassifier) else y
    model.set_params(calibrate=3, random_state=0).fit(X, y)
    loaded = through_a_file(model)
    np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))
    assert vars(loaded).keys() == vars(model).keys()


class Guess(RegressorMixin, BaseEstimator):
    """An estimator that nobody knows."""

    def fit(self, X, y, sample_weight=None):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_unknown_types_are_named_and_loaded_only_if_trusted():
    X, y = make_table()
    model = SamplingRegressor(Guess(), random_state=0).fit(X, y)
    with pytest.raises(InputError, match=r"made of .*Guess, which are not trusted types"):
        through_a_file(model)
    name = f"{Guess.__module__}.Guess"
    np.testing.assert_array_equal(through_a_file(model, trusted=[name]).predict(X), model.predict(X))


def test_files_hold_no_pickle():
    X, y = make_table()
    for estimator in (None, LGBMClassifier(n_estimators=2, verbose=-1), CatBoostClassifier(iterations=2, **SILENT)):
        file = io.BytesIO()
        SamplingClassifier(estimator, random_state=0).fit(X, y > 0).save(file)
        for name in (archive := zipfile.ZipFile(file)).namelist():
            with pytest.raises(ValueError):  # noqa: PT011 - it stumbles over the first bytes, in many words
                list(pickletools.genops(archive.read(name)))


def test_damaged_and_foreign_files_are_refused(tmp_path):
    X, y = make_table()
    path = tmp_path / "model.catbayes"
    SamplingRegressor(Ridge(), random_state=0).fit(X, y).save(path)
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 255
    for name, damaged in (("cut", content[: len(content) // 2]), ("flipped", flipped)):
        (tmp_path / name).write_bytes(damaged)
        for load in (catbayes.load, SamplingRegressor.load):
            with pytest.raises(InputError, match="damaged"):
                load(tmp_path / name)
    with pytest.raises(InputError, match="holds a 'SamplingRegressor': expected one of SamplingClassifier"):
        SamplingClassifier.load(path)
    with pytest.raises(InputError, match="There is no file"):
        SamplingClassifier.load(tmp_path / "none")


ZEROS = bytes(60 << 20)


@pytest.mark.parametrize(
    ("header", "entries", "message"),
    [
        ({"version": 99}, {}, "written in version 99 of the format"),
        ({"format": "other"}, {}, "is no catbayes model, but 'other'"),
        ({"inputs": []}, {}, "damaged"),
        ({"settings": {"n_trees": 3}}, {}, "damaged"),
        ({}, {"schema.json": ZEROS}, "uncompressed, it is more than 200 times its size"),
    ],
    ids=["version", "format", "inputs", "settings", "large entry"],
)
def test_crafted_files_are_refused(header, entries, message):
    X, y = make_table(100)
    written, new = io.BytesIO(), io.BytesIO()
    SamplingRegressor(Ridge(), random_state=0).fit(X, y).save(written)
    with zipfile.ZipFile(written) as old, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as file:
        changed = {"model.json": json.dumps(json.loads(old.read("model.json")) | header), **entries}
        for name in old.namelist():
            file.writestr(name, changed.get(name, old.read(name)))
    with pytest.raises(InputError, match=message):
        catbayes.load(new)


def test_what_is_not_fitted_or_holds_code_is_not_saved():
    X, y = make_table()
    with pytest.raises(NotFittedError):
        SamplingRegressor().save(io.BytesIO())
    model = SamplingRegressor(Ridge(), random_state=np.random.RandomState(0)).fit(X, y)
    with pytest.raises(InputError, match=r"random_state=.* cannot be saved, because a file holds no code"):
        model.save(io.BytesIO())
