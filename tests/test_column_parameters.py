"""Parameters of boosters that speak of columns mean the columns of X, or are refused."""

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from xgboost import XGBClassifier, XGBRegressor

from catbayes import InputError, SamplingBayesianEncoder, SamplingClassifier, SamplingRegressor, recommended_encoder
from sales import SILENT

QUIET = {"n_estimators": 20, "verbose": -1, "n_jobs": 1}
CAT = {"iterations": 20, **SILENT}


def make_table(n_rows=900):
    """A column of 20 cities, whose rates differ, a code from 0 to 3, and a number."""
    random = np.random.default_rng(0)
    city, code = random.integers(0, 20, n_rows), random.integers(0, 4, n_rows)
    X = pd.DataFrame({"city": [f"c{n}" for n in city], "code": code, "age": random.normal(size=n_rows)})
    score = 2.0 * random.normal(size=20)[city] + np.array([1.5, -1.5, 1.5, -1.5])[code] + X["age"]
    return X, (score + random.logistic(size=n_rows) > 0).astype(int)


X, Y = make_table()


def probabilities(estimator, **fit_params):
    return SamplingClassifier(estimator, random_state=0).fit(X, Y, **fit_params).predict_proba(X)


CITY = [["city"], [0], "city", np.array(["city"]), (0,), "name:city"]


@pytest.mark.parametrize("named", CITY, ids=repr)
def test_a_column_that_is_encoded_may_be_called_a_category(named):
    """It is one already: the posterior of a city is not taken for the number of a category."""
    usual = probabilities(LGBMClassifier(**QUIET))
    np.testing.assert_array_equal(probabilities(LGBMClassifier(**QUIET), categorical_feature=named), usual)
    np.testing.assert_array_equal(probabilities(LGBMClassifier(**QUIET, cat_feature=named)), usual)


HISTOGRAMS = HistGradientBoostingClassifier(max_iter=20, random_state=0)


@pytest.mark.parametrize(
    ("usual", "naming", "fit_params"),
    [
        *((HISTOGRAMS, {"categorical_features": named}, {}) for named in (["city"], [0], [True, False, False])),
        (XGBClassifier(n_estimators=20), {"feature_types": ["c", "q", "q"], "enable_categorical": True}, {}),
        (CatBoostClassifier(**CAT), {}, {"cat_features": ["city"]}),
        (CatBoostClassifier(**CAT), {"cat_features": ("city",)}, {}),  # CatBoost itself takes no tuple
    ],
    ids=str,
)
def test_so_it_may_in_other_libraries(usual, naming, fit_params):
    named = clone(usual).set_params(**naming)
    np.testing.assert_array_equal(probabilities(named, **fit_params), probabilities(usual))
    clone(SamplingClassifier(named))


BOOSTERS = {
    "lightgbm": (LGBMClassifier(**QUIET), {"categorical_feature": ["city", "code"]}),
    "catboost": (CatBoostClassifier(**CAT), {"cat_features": ["code"]}),
    "xgboost": (XGBClassifier(n_estimators=20, feature_types=["c", "c", "q"]), {}),
    "histograms": (HistGradientBoostingClassifier(max_iter=20, categorical_features=["code"]), {}),
}


@pytest.mark.parametrize("name", BOOSTERS)
def test_a_column_that_is_not_encoded_becomes_a_category_of_the_booster(name, tmp_path):
    import catbayes

    estimator, fit_params = BOOSTERS[name]
    model = SamplingClassifier(estimator, random_state=0).fit(X, Y, **fit_params)
    place = model.get_feature_names_out().tolist().index("code")
    known = {
        "lightgbm": lambda fitted: fitted.booster_.dump_model()["tree_info"][0],
        "catboost": lambda fitted: fitted.get_cat_feature_indices(),
        "xgboost": lambda fitted: [n for n, kind in enumerate(fitted.feature_types) if kind == "c"],
        "histograms": lambda fitted: np.flatnonzero(fitted.is_categorical_),
    }[name](model.estimators_[0])
    if name == "lightgbm":  # splits by sets of categories are written with "=="
        assert "'decision_type': '=='" in str(model.estimator_.booster_.dump_model())
    else:
        assert place in known
    model.save(tmp_path / "model.catbayes")
    loaded = catbayes.load(tmp_path / "model.catbayes")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert (loaded.features(X).dtypes == model.features(X).dtypes).all()


@pytest.mark.parametrize(
    ("estimator", "fit_params", "message"),
    [
        (LGBMClassifier(**QUIET), {"categorical_feature": ["town"]}, r"names 'town', which is no feature: .*'city'"),
        (LGBMClassifier(**QUIET), {"categorical_feature": ["age"]}, r"'age' holds more than whole numbers"),
        (LGBMClassifier(**QUIET), {"feature_name": ["a", "b", "c"]}, r"\(feature_name=…\) names columns of X"),
        (LGBMClassifier(**QUIET, ignore_column=[0]), {}, r"\(ignore_column=…\) names columns of X"),
        (CatBoostClassifier(**CAT), {"text_features": ["city"]}, r"\(text_features=…\) names columns of X"),
        (CatBoostClassifier(**CAT, cat_features=["city"]), {}, r"cannot be cloned .*cat_features=\(\"city\",\)"),
        (XGBClassifier(feature_types=["c", "q"]), {}, r"one value for each of the 3 columns"),
        (XGBClassifier(monotone_constraints=(1, 0)), {}, r"one value for each of the 3 columns"),
        (XGBClassifier(monotone_constraints="(1,0,0)"), {}, r"expected a dictionary by name"),
        (XGBClassifier(interaction_constraints="[[0]]"), {}, r"expected lists of columns"),
        (
            make_pipeline(FunctionTransformer(), LGBMClassifier(**QUIET, categorical_feature=[0])),
            {},
            r"lgbmclassifier__categorical_feature names columns, which are not known inside of Pipeline",
        ),
        (
            make_pipeline(FunctionTransformer(), LGBMClassifier(**QUIET)),
            {"lgbmclassifier__categorical_feature": [0]},
            r"lgbmclassifier__categorical_feature names columns, which are not known inside of Pipeline",
        ),
        (XGBClassifier(monotone_constraints={"age": 0.5}), {}, r"is 0.5 for 'age': expected -1, 0 or 1"),
        (XGBClassifier(interaction_constraints=["city", "age"]), {}, r"expected lists of columns"),
        (XGBClassifier(feature_weights={"age": -1}), {}, r"is -1 for 'age': expected a number from 0 on"),
        (
            LGBMClassifier(**QUIET, monotone_constraints={"code": 1}),
            {"categorical_feature": ["code"]},
            "has a sign for",
        ),
        (HistGradientBoostingClassifier(categorical_features=[True, True]), {}, "names True, which is no feature"),
        (GridSearchCV(LGBMClassifier(**QUIET), {}), {"categorical_feature": [0]}, r"not known inside of GridSearchCV"),
        (GridSearchCV(LGBMClassifier(**QUIET), {"cat_feature": [[0]]}), {}, r"not known inside of GridSearchCV"),
        (
            GridSearchCV(HistGradientBoostingClassifier(categorical_features=["city"]), {}),
            {},
            r"estimator__categorical_features names columns, which are not known inside of GridSearchCV",
        ),
    ],
    ids=str,
)
def test_what_has_no_meaning_for_features_is_refused(estimator, fit_params, message):
    with pytest.raises(InputError, match=message):
        SamplingClassifier(estimator, random_state=0).fit(X, Y, **fit_params)


def test_the_sign_of_an_encoded_column_is_for_its_mean_in_arrays_too():
    for table, signs in ((X, {"city": 1}), (X, [1, 0, 0]), (X.to_numpy(), [1, 0, 0]), (X.to_numpy(), {0: 1})):
        booster = XGBRegressor(n_estimators=5, monotone_constraints=signs)
        model = SamplingRegressor(booster, SamplingBayesianEncoder(keep_categories="codes")).fit(table, Y)
        assert model.estimator_.get_params()["monotone_constraints"] == (1, 0, 0, 0)


@pytest.mark.parametrize(
    "booster",
    [
        XGBRegressor(n_estimators=5, interaction_constraints=[["city"], ["shop", "code", "age"]]),
        HistGradientBoostingRegressor(max_iter=5, interaction_cst="no_interactions"),
    ],
    ids=["groups", "no interactions"],
)
def test_columns_of_different_groups_are_not_combined(booster):
    both = X.assign(shop=np.where(X["code"] % 2, "a", "b"))
    model = SamplingRegressor(booster, recommended_encoder(booster, interactions="pairs", effects=False))
    with pytest.raises(InputError, match=r"keeps \['city', 'shop'\] apart, and the encoder combines them"):
        model.fit(both, Y)
    model.set_params(encoder__interactions=None).fit(both, Y)


def test_categories_of_catboost_are_for_members_only():
    with pytest.raises(InputError, match=r"cat_features goes with the members of CatBoost only, not with copies"):
        SamplingClassifier(CatBoostClassifier(**CAT), fit_with="copies", random_state=0).fit(
            X, Y, cat_features=["code"]
        )


@pytest.mark.parametrize(
    "estimator",
    [
        LGBMRegressor(verbose=-1, monotone_constraints={"age": -1}),
        LGBMRegressor(verbose=-1, mc=[0, 0, -1]),
        XGBRegressor(monotone_constraints={"age": -1}),
        XGBRegressor(monotone_constraints=(0, 0, -1)),
        CatBoostRegressor(**CAT, monotone_constraints=(0, 0, -1)),  # of which no dictionary can be cloned
        HistGradientBoostingRegressor(monotonic_cst={"age": -1}),
        HistGradientBoostingRegressor(monotonic_cst=[0, 0, -1]),
    ],
    ids=str,
)
def test_signs_are_those_of_columns_wherever_their_features_stand(estimator):
    """The target rises with age, so a model that may only fall with it is flat."""
    encoder = SamplingBayesianEncoder(keep_categories="one_hot")  # 20 features before that of age
    model = SamplingRegressor(estimator, encoder).fit(X, Y)
    assert len(model.get_feature_names_out()) == 23
    moved = X.assign(age=X["age"] + 1.0)
    assert (model.predict(moved) <= model.predict(X) + 1e-6).all()


def test_a_group_of_columns_holds_all_their_features():
    encoder = SamplingBayesianEncoder(keep_categories="one_hot")
    booster = XGBRegressor(n_estimators=20, max_depth=3, interaction_constraints=[["city"], ["code", 2]])
    model = SamplingRegressor(booster, encoder).fit(X, Y)
    used = model.estimator_.get_booster().trees_to_dataframe().query("Feature != 'Leaf'")
    groups = used.groupby("Tree")["Feature"].agg(set)
    assert all(features <= {"code", "age"} or not features & {"code", "age"} for features in groups)
    assert any(len(features) > 1 and not features & {"code", "age"} for features in groups)  # city and city_is_…


@pytest.mark.parametrize("amounts", [{"age": 0.0}, [1.0, 1.0, 0.0]], ids=["by name", "by column"])
def test_amounts_of_columns_go_to_their_features(amounts):
    encoder = SamplingBayesianEncoder(keep_categories="one_hot")
    for booster, fit_params in (
        (LGBMRegressor(verbose=-1, feature_contri=amounts), {}),
        (XGBRegressor(n_estimators=20, colsample_bynode=0.5), {"feature_weights": amounts}),
    ):
        model = SamplingRegressor(booster, encoder).fit(X, Y, **fit_params)
        importance = dict(zip(model.get_feature_names_out(), model.feature_importances_, strict=True))
        assert importance["age"] == 0
        assert importance["code"] > 0
