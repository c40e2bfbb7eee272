"""A feature generator for AutoGluon: draws and posterior means in place of its out-of-fold target encoding.

pip install "autogluon.tabular[lightgbm]"
CATBAYES_DATA=... python integrations/autogluon_features.py    # measures it against AutoGluon's own
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from autogluon.common.features.types import R_CATEGORY, R_OBJECT, S_DATETIME_AS_OBJECT, S_TEXT
from autogluon.features.generators import AbstractFeatureGenerator

from catbayes import SamplingBayesianEncoder


# [class]
class BayesianEncodingFeatureGenerator(AbstractFeatureGenerator):
    """Encode categories by draws in training, and by posterior means in prediction."""

    def __init__(self, random_state: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.random_state = random_state

    def _fit_transform(self, X: Any, y: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        encoder = SamplingBayesianEncoder(list(X), interactions="auto", random_state=self.random_state)
        self.encoder = encoder.set_output(transform="pandas")
        return self.encoder.fit_transform(X, y).add_suffix("__bayes"), {}

    def _transform(self, X: Any) -> Any:
        return self.encoder.transform(X).add_suffix("__bayes")

    @staticmethod
    def get_default_infer_features_in_args() -> dict[str, Any]:
        """Take categories, and neither texts nor dates."""
        return {"valid_raw_types": [R_OBJECT, R_CATEGORY], "invalid_special_types": [S_TEXT, S_DATETIME_AS_OBJECT]}


# [/class]


def fit(train: Any, label: str, generator: Any, folder: str) -> Any:
    """Fit AutoGluon's LightGBM on features of a generator in place of categories."""
    from autogluon.tabular import TabularPredictor

    kwargs = {
        "feature_generators": [(generator, {})],
        "passthrough_types": {"invalid_raw_types": ["category", "object"]},
    }
    model = {"GBM": [{"ag.model_specific_feature_generator_kwargs": kwargs}]}
    predictor = TabularPredictor(label, path=folder, verbosity=0)
    return predictor.fit(train, hyperparameters=model, fit_weighted_ensemble=False, num_cpus=1)


def main() -> None:
    """Score both generators on three folds of three tables."""
    from sklearn.metrics import r2_score, roc_auc_score

    from experiments.quality_cells import split
    from experiments.quality_tables import read_table

    generators = {"AutoGluon's own": "OOFTargetEncodingFeatureGenerator", "catbayes": BayesianEncodingFeatureGenerator}
    for name in ("amazon", "employee_salaries", "payments"):
        table = read_table(name)
        X = table.X.astype(dict.fromkeys(table.categorical, "category"))
        scores: dict[str, list[float]] = {label: [] for label in generators}
        for fold in (1, 3, 5):
            train, test = split(name, fold)
            for label, generator in generators.items():
                with tempfile.TemporaryDirectory() as folder:
                    predictor = fit(X.iloc[train].assign(target=table.y[train]), "target", generator, folder)
                    if table.n_classes is None:
                        score = r2_score(table.y[test], predictor.predict(X.iloc[test]))
                    else:
                        score = roc_auc_score(table.y[test], predictor.predict_proba(X.iloc[test])[1])
                scores[label].append(score)
        gain = np.subtract(scores["catbayes"], scores["AutoGluon's own"])
        means = ", ".join(f"{label} {np.mean(values):.4f}" for label, values in scores.items())
        print(f"{name}: {means}; gain {gain.mean():+.4f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.4f}", flush=True)


if __name__ == "__main__":
    main()
