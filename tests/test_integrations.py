"""AutoGluon and skrub take our encoder; collected where both are installed."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import r2_score
from skrub import TableVectorizer, tabular_pipeline

from catbayes import SamplingBayesianEncoder
from sales import make_table

sys.path.insert(0, str(Path(__file__).parents[1] / "integrations"))
from autogluon_features import BayesianEncodingFeatureGenerator, fit


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
