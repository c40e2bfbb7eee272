"""AutoGluon and skrub take our encoder and models; collected where both are installed."""

import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
from autogluon.tabular import TabularPredictor
from sklearn.metrics import r2_score
from skrub import TableVectorizer, tabular_pipeline

from catbayes import SamplingBayesianEncoder
from sales import make_table

sys.path.insert(0, str(Path(__file__).parents[1] / "integrations"))
from autogluon_features import BayesianEncodingFeatureGenerator, fit
from tabarena_model import SamplingLightGBMModel


def test_autogluon_trains_on_draws_and_predicts_at_posterior_means(tmp_path):
    X, y = make_table()
    train = X.assign(target=y)
    predictor = fit(train, "target", BayesianEncodingFeatureGenerator, str(tmp_path / "model"))
    assert r2_score(y, predictor.predict(X)) > 0.0
    generator = BayesianEncodingFeatureGenerator(random_state=0)
    columns = X.select_dtypes(exclude="number")
    drawn, fitted = generator.fit_transform(columns, y), generator.transform(columns)
    assert not np.allclose(drawn.to_numpy(), fitted.to_numpy())
    assert generator.transform(columns.head(3)).equals(fitted.head(3))


@pytest.mark.parametrize("way", ["vectorizer", "pipeline"])
def test_skrub_encodes_columns_of_many_categories(way):
    random = np.random.default_rng(0)
    X, y = make_table()
    X = X.assign(customer=[f"c{number}" for number in random.integers(0, 100, len(X))])
    encoder = SamplingBayesianEncoder(random_state=0)
    if way == "vectorizer":
        features = TableVectorizer(high_cardinality=encoder).fit_transform(X, y)
        assert features["customer"].nunique() > 100  # draws differ within a category
    else:
        model = tabular_pipeline("regressor").set_params(tablevectorizer__high_cardinality=encoder)
        assert np.isfinite(model.fit(X, y).predict(X)).all()


@pytest.mark.parametrize("problem", ["binary", "multiclass", "regression"])
def test_the_tabarena_model_fits_predicts_and_loads(tmp_path, problem):
    X, y = make_table()
    X = X.astype(dict.fromkeys(X.select_dtypes(exclude="number"), "category"))
    cuts = {"binary": [0.5], "multiclass": [0.3, 0.7]}.get(problem)
    y = y if cuts is None else np.digitize(y, np.quantile(y, cuts))
    y = pandas.Series(y, index=X.index)
    train, valid = X.index[::2], X.index[1::2]
    model = SamplingLightGBMModel(path=str(tmp_path), name="ours", problem_type=problem)
    model.fit(X=X.loc[train], y=y[train], X_val=X.loc[valid], y_val=y[valid], time_limit=60, num_cpus=1)
    assert 0 < model.params_trained["n_estimators"] < 10_000
    predicted = model.predict_proba(X.loc[valid])
    assert predicted.shape == ((len(valid), 3) if problem == "multiclass" else (len(valid),))
    assert np.array_equal(SamplingLightGBMModel.load(model.save()).predict_proba(X.loc[valid]), predicted)
    assert model.score(X.loc[train], y[train]) > model.score(X.loc[train], np.roll(y[train], 7))


def test_autogluon_bags_the_tabarena_model_and_refits_it_on_all_rows(tmp_path):
    X, y = make_table()
    predictor = TabularPredictor("target", path=str(tmp_path / "model"), verbosity=0)
    strategy = {"ag_args_ensemble": {"fold_fitting_strategy": "sequential_local"}, "ag_args_fit": {"num_cpus": 1}}
    predictor.fit(
        X.assign(target=y),
        hyperparameters={SamplingLightGBMModel: strategy},
        num_bag_folds=2,
        fit_weighted_ensemble=False,
        num_cpus=1,
    )
    predictor.refit_full()
    assert len(predictor.model_names()) == 2
    for name in predictor.model_names():
        assert r2_score(y, predictor.predict(X, model=name)) > 0.0
