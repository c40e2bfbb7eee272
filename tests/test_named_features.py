"""What fitted estimators call their features, and the features themselves, for importances and explanations."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from xgboost import XGBRegressor

from catbayes import InputError, SamplingBayesianEncoder, SamplingRegressor, recommended_encoder
from sales import BOOSTER_WAYS, SILENT, make_table

NAMES = {
    LGBMRegressor: lambda model: model.feature_name_,
    XGBRegressor: lambda model: model.get_booster().feature_names,
    CatBoostRegressor: lambda model: model.feature_names_,
}
BOOSTERS = [
    LGBMRegressor(n_estimators=4, verbose=-1),
    XGBRegressor(n_estimators=4),
    CatBoostRegressor(iterations=4, **SILENT),
]


def hard_names():
    X, y = make_table()
    return X.rename(columns={"city": "home city", "shop": 'shop["a"]'}), y


@pytest.mark.parametrize("way", BOOSTER_WAYS)
@pytest.mark.parametrize("estimator", BOOSTERS, ids=lambda booster: type(booster).__name__)
def test_boosters_know_the_names_of_their_features_and_do_not_warn(estimator, way):
    X, y = hard_names()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SamplingRegressor(
            estimator, recommended_encoder(estimator, interactions=None), fit_with=way, random_state=0
        ).fit(X, y)
        model.predict(X, return_std=True)
    spelled = [name.replace(" ", "_").replace('["a"]', "__a__") for name in model.get_feature_names_out()]
    for member in model.estimators_:
        assert list(NAMES[type(estimator)](member)) == spelled


@pytest.mark.parametrize("estimator", BOOSTERS, ids=lambda booster: type(booster).__name__)
def test_features_of_new_rows_are_what_the_fitted_estimator_predicts_from(estimator):
    X, y = hard_names()
    model = SamplingRegressor(estimator, predict_with="mean", n_draws=1, random_state=0).fit(X, y)
    features = model.features(X)
    assert list(features) == list(NAMES[type(estimator)](model.estimator_))
    np.testing.assert_allclose(model.estimator_.predict(features), model.predict(X), rtol=1e-6)


def test_names_stay_apart_where_a_library_spells_two_alike():
    X, y = make_table()
    X = pd.DataFrame({"a b": X["city"], "a:b": X["shop"], "number": X["number"]})
    plain = {"encoder": SamplingBayesianEncoder()}
    model = SamplingRegressor(LGBMRegressor(n_estimators=2, verbose=-1), **plain)
    assert model.fit(X, y).estimator_.feature_name_ == ["a_b", "a_b_2", "number"]


def test_features_come_in_the_library_of_the_table_and_belong_to_its_own_coefficients():
    X, y = make_table()
    model = SamplingRegressor(Ridge(), predict_with="mean", random_state=0).fit(pl.from_pandas(X), y)
    features = model.features(pl.from_pandas(X[:7]))
    assert isinstance(features, pl.DataFrame)
    assert features.columns == model.get_feature_names_out().tolist()
    by_hand = features.to_numpy() @ model.coef_ + model.estimator_.intercept_
    np.testing.assert_allclose(by_hand, model.predict(pl.from_pandas(X[:7])))


def test_as_many_rows_as_features_are_not_taken_for_names():
    X, y = make_table(3)
    booster = LGBMRegressor(n_estimators=1, verbose=-1, min_child_samples=1)
    plain = {"encoder": SamplingBayesianEncoder()}
    model = SamplingRegressor(booster, fit_with="copies", n_draws=2, random_state=0, **plain).fit(X, y)
    assert model.estimator_.feature_name_ == list(X)


@pytest.mark.parametrize("way", BOOSTER_WAYS)
@pytest.mark.parametrize(
    "estimator",
    [
        XGBRegressor(n_estimators=30, monotone_constraints={"number": -1}),
        HistGradientBoostingRegressor(max_iter=30, monotonic_cst={"number": -1}),
    ],
    ids=lambda booster: type(booster).__name__,
)
def test_constraints_go_by_the_names_of_features(estimator, way):
    """The target rises with the number, so a model that may only fall with it is flat."""
    X, y = make_table()
    model = SamplingRegressor(estimator, fit_with=way, n_draws=2, random_state=0).fit(X, y)
    moved = X.assign(number=X["number"] + 1.0)
    assert (model.predict(moved) <= model.predict(X) + 1e-6).all()
    free = SamplingRegressor(type(estimator)(), random_state=0).fit(X, y)
    assert (free.predict(moved) > free.predict(X)).any()


@pytest.mark.parametrize("groups", [[["city"], ["shop", "number"]], [[0], [1, 2]]], ids=["names", "places"])
def test_features_of_xgboost_act_together_where_names_allow_it(groups):
    X, y = make_table()
    plain = {"encoder": SamplingBayesianEncoder()}
    booster = XGBRegressor(n_estimators=20, max_depth=3, interaction_constraints=groups)
    trees = SamplingRegressor(booster, n_draws=1, random_state=0, **plain).fit(X, y).estimator_.get_booster()
    used = trees.trees_to_dataframe().query("Feature != 'Leaf'").groupby("Tree")["Feature"].agg(set)
    assert all(features == {"city"} or features <= {"shop", "number"} for features in used)
    assert {"city"} in list(used)


@pytest.mark.parametrize(
    "given",
    [{"monotone_constraints": {"nummer": 1}}, {"interaction_constraints": [["city", "nummer"]]}],
    ids=lambda given: next(iter(given)),
)
def test_constraints_of_a_name_that_is_no_feature_name_those_that_are(given):
    X, y = make_table()
    plain = {"encoder": SamplingBayesianEncoder()}
    with pytest.raises(InputError, match=r"_constraints names 'nummer', which is no feature: .*'city', 'shop', 'numb"):
        SamplingRegressor(XGBRegressor(n_estimators=2, **given), random_state=0, **plain).fit(X, y)
