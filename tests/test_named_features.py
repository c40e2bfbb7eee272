"""What fitted estimators call their features, and the features themselves, for importances and explanations."""

import warnings

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from xgboost import XGBRegressor

from catbayes import SamplingBayesianEncoder, SamplingRegressor, recommended_encoder
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
    model = SamplingRegressor(LGBMRegressor(n_estimators=2, verbose=-1), SamplingBayesianEncoder())
    assert model.fit(X, y).estimator_.feature_name_ == ["a_b", "a_b_2", "number"]
