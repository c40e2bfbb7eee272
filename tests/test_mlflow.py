"""MLflow's flavour of scikit-learn takes encoders, Pipelines and models; collected where MLflow is installed."""

import mlflow
import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from catbayes import SamplingBayesianEncoder, SamplingRegressor
from sales import make_table


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(SamplingBayesianEncoder(random_state=0), Ridge()),
        SamplingRegressor(LGBMRegressor(n_estimators=5, verbose=-1), random_state=0),
        SamplingRegressor(random_state=0),
    ],
    ids=["Pipeline", "LightGBM", "default"],
)
def test_a_logged_model_predicts_as_before(model, tmp_path):
    X, y = make_table()
    model.fit(X, y)
    signature = mlflow.models.infer_signature(X, model.predict(X))
    options = {"signature": signature, "pip_requirements": ["catbayes"], "serialization_format": "cloudpickle"}
    mlflow.sklearn.save_model(model, tmp_path / "model", **options)
    for load in (mlflow.sklearn.load_model, mlflow.pyfunc.load_model):
        np.testing.assert_array_equal(load(str(tmp_path / "model")).predict(X), model.predict(X))
