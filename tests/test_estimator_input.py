"""What SamplingClassifier and SamplingRegressor take: tables, labels, weights, parameters; and what they are called."""

import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy.stats import uniform
from sklearn import config_context
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge, SGDRegressor
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from catbayes import (
    InputError,
    InputWarning,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
    recommended_encoder,
)
from sales import PLAIN, make_table


def test_containers_give_the_same_model():
    X, y = make_table()
    models = [SamplingRegressor(Ridge(), random_state=0).fit(table, y) for table in (X, polars.from_pandas(X))]
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(polars.from_pandas(X)), rtol=1e-12)
    cells = X.to_numpy(dtype=object)  # the column of numbers is found among the objects
    model = SamplingRegressor(Ridge(), random_state=0).fit(cells, y)
    assert model.encoder_.columns_ == [0, 1]
    assert np.corrcoef(model.predict(cells), models[0].predict(X))[0, 1] > 0.999  # draws go by names, which it has not


@pytest.mark.parametrize("library", [pandas.DataFrame, polars.DataFrame])
def test_target_and_weights_may_be_named_as_for_an_encoder(library):
    X, y = make_table()
    weight = 1.0 + np.arange(len(y)) % 2
    whole = library({name: X[name].tolist() for name in X.columns} | {"price": y, "w": weight})
    named = SamplingRegressor(Ridge(), random_state=0, **PLAIN).fit(whole, "price", "w")
    apart = SamplingRegressor(Ridge(), random_state=0, **PLAIN).fit(X, y, weight)
    assert named.feature_names_in_.tolist() == X.columns.tolist()
    assert named.encoder_.evidence_.target == "price"
    new = library({name: X[name].tolist() for name in X.columns})
    np.testing.assert_allclose(named.predict(new), apart.predict(X), rtol=1e-9)
    with pytest.raises(InputError, match="'cost'"):
        SamplingRegressor(Ridge()).fit(whole, "cost")
    model = SamplingRegressor(SGDRegressor(random_state=0), random_state=0)
    for _ in range(2):
        model = model.partial_fit(whole, "price", sample_weight="w")
    assert model.feature_names_in_.tolist() == X.columns.tolist()


def test_a_table_without_categories_is_fitted_with_a_warning():
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0)
    for table in (X, pandas.DataFrame(X, columns=["a", "b"])):
        with pytest.warns(InputWarning, match=r"nothing to encode.*columns=\["):
            model = SamplingRegressor(Ridge()).fit(table, y)
        assert model.encoder_ is None
        np.testing.assert_allclose(model.predict(table), Ridge().fit(X, y).predict(X))


@pytest.mark.parametrize("library", [lambda frame: frame, polars.from_pandas, pyarrow.Table.from_pandas])
def test_dates_are_days_since_1970_and_spans_of_time_seconds(library):
    X, y = make_table(60)
    day, span = pandas.date_range("2026-01-01", periods=60, tz="Asia/Tokyo"), pandas.to_timedelta(range(60), unit="h")
    numbers = X.assign(day=np.arange(60.0) + 20_453.625, span=np.arange(60.0) * 3600)  # midnight in Tokyo is 15:00 UTC
    X = library(X.assign(day=day, span=span))
    model = SamplingRegressor(HistGradientBoostingRegressor(max_iter=5), random_state=0)
    with pytest.warns(InputWarning, match=r"days since 1970 .*\['day', 'span'\]") as told:
        found = model.fit(X, y).predict(X)
    assert len(told) == 1
    np.testing.assert_array_equal(found, model.fit(numbers, y).predict(numbers))


def test_a_missing_date_is_a_missing_number_and_batches_take_dates():
    X, y = make_table(60)
    day = pandas.date_range("2026-01-01", periods=60)
    table = X.assign(day=pandas.Series(day).where(np.arange(60) > 5))
    model = SamplingRegressor(SGDRegressor(), random_state=0)
    with pytest.warns(InputWarning, match="days since 1970"):
        model.partial_fit(X.assign(day=day), y)
    assert np.isfinite(model.partial_fit(X.assign(day=day), y).predict(X.assign(day=day))).all()
    with pytest.warns(InputWarning, match="days since 1970"):
        boosted = SamplingRegressor(random_state=0).fit(table, y)
    assert np.isnan(np.asarray(boosted.features(table)["day"])[:6]).all()


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC(), KNeighborsClassifier()], ids=repr)
def test_a_class_without_weight_is_known_and_never_predicted(estimator):
    X, y = make_table()
    named = np.array(["a", "b", "c"])[np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        model = SamplingClassifier(estimator, n_draws=2, random_state=0).fit(X, named, (named != "b").astype(float))
    assert model.classes_.tolist() == ["a", "b", "c"]
    predicted = model.predict(X)
    assert "b" not in predicted
    assert (predicted == named)[named != "b"].mean() > 0.8
    if hasattr(model, "predict_proba"):
        assert (model.predict_proba(X)[:, 1] == 0).all()


def test_weights_of_classes_go_by_the_labels_in_searches_too():
    X, y = make_table()
    named = np.where(y > 0, "yes", "no")
    inner, steps = LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())
    weights = [{"yes": 10.0, "no": 1.0}]
    searches = [
        LogisticRegression(class_weight=weights[0]),
        GridSearchCV(inner, [{"C": [1.0]}, {"class_weight": weights}], cv=2, error_score="raise", scoring=share_of_yes),
        RandomizedSearchCV(inner, {"class_weight": weights, "C": uniform(1, 2)}, n_iter=1, cv=2, error_score="raise"),
        GridSearchCV(steps, {"logisticregression__class_weight": weights}, cv=2, error_score="raise"),
    ]
    for search in searches:
        model = SamplingClassifier(search, n_draws=1, random_state=0).fit(X, named)
        assert model.predict_proba(X)[:, 1].mean() > 0.7


def share_of_yes(estimator, X, y):
    """Prefer estimators that predict yes."""
    return estimator.predict(X).mean()


def test_the_default_estimator_warns_of_many_classes_and_another_does_not():
    X, _ = make_table(104)
    named = np.arange(104) // 2
    with pytest.warns(InputWarning, match="y holds 52 classes, and the default estimator grows a tree for each"):
        SamplingClassifier(n_draws=1, random_state=0).fit(X, named)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SamplingClassifier(GaussianNB(), n_draws=1, random_state=0).fit(X, named)


def test_a_model_uses_the_encoder_that_it_is_given_as_it_is():
    X, y = make_table()
    given = SamplingBayesianEncoder(interactions=None, effects=False, keep_categories=None)
    model = SamplingRegressor(Ridge(), given, random_state=0).fit(X, y)
    assert model.get_feature_names_out().tolist() == ["city", "shop", "number"]
    unchanged = {"interactions", "effects", "keep_categories", "prior", "mapping", "own_target", "unseen"}
    fitted = model.encoder_.get_params()
    assert all(str(fitted[name]) == str(given.get_params()[name]) for name in unchanged)


def test_the_recommended_encoder_is_that_of_a_model_without_one():
    X, y = make_table()
    for estimator in (Ridge(), RandomForestRegressor(5, random_state=0)):
        own = SamplingRegressor(estimator, recommended_encoder(estimator), random_state=0).fit(X, y)
        default = SamplingRegressor(estimator, random_state=0).fit(X, y)
        np.testing.assert_array_equal(own.predict(X), default.predict(X))
        assert own.get_feature_names_out().tolist() == default.get_feature_names_out().tolist()
        assert "city_effect" in own.get_feature_names_out()
    changed = recommended_encoder(Ridge(), effects=False, keep_categories=None, columns=["city"])
    names = SamplingRegressor(Ridge(), changed, random_state=0).fit(X[["city", "number"]], y).get_feature_names_out()
    assert names.tolist() == ["city", "number"]
    assert not recommended_encoder(LogisticRegression()).effects
    assert not recommended_encoder(Ridge(), own_target="include").effects  # which folds would have to keep apart


def test_parameters_of_fit_are_routed_to_the_estimator():
    X, y = make_table(300)
    seen = {}

    class Recorder(Ridge):
        def fit(self, X, y, sample_weight=None, price=None):
            seen.update(price=price, weight=sample_weight)
            return super().fit(X, y, sample_weight)

    model = SamplingRegressor(Recorder(), fit_with="copies", n_draws=2)
    model.fit(X, y, price=np.arange(300))
    np.testing.assert_array_equal(seen["price"], np.tile(np.arange(300), 2))
    with config_context(enable_metadata_routing=True):
        routed = SamplingRegressor(Recorder().set_fit_request(price=True), fit_with="members", n_draws=2)
        routed.fit(X, y, sample_weight=np.ones(300), price=np.arange(300))
        np.testing.assert_array_equal(seen["price"], np.arange(300))
        with pytest.raises(Exception, match="price"):
            SamplingRegressor(Recorder(), fit_with="members", n_draws=2).fit(X, y, price=np.arange(300))


def test_importances_and_coefficients_have_names_and_can_be_averaged_by_column():
    X, y = make_table()
    encoder = SamplingBayesianEncoder(mapping="polynomial")
    model = SamplingRegressor(RandomForestRegressor(10), encoder, random_state=0).fit(X, y)
    names = ["city_mean", "city_square", "shop_mean", "shop_square", "number"]
    assert model.get_feature_names_out().tolist() == names
    by_column = model.by_column(model.feature_importances_)
    assert list(by_column) == ["city", "shop", "number"]
    assert by_column["city"] == pytest.approx(model.feature_importances_[:2].mean())
    assert not hasattr(model, "coef_")
    linear = SamplingRegressor(Ridge(), random_state=0, **PLAIN).fit(X, y)
    assert linear.coef_.shape == (3,)
    assert not hasattr(linear, "feature_importances_")


def test_nested_parameters_reach_the_default_parts():
    X, y = make_table(200)
    grid = {"encoder__prior": ["empirical", 1e-3], "estimator__max_depth": [2, 3], "n_draws": [2]}
    search = GridSearchCV(SamplingRegressor(random_state=0), grid, cv=2).fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert search.best_estimator_.estimator_.max_depth == search.best_params_["estimator__max_depth"]
