"""skrub's TableVectorizer with posteriors for high-cardinality columns, against its own encoder.

pip install skrub
CATBAYES_DATA=... python integrations/skrub_vectorizer.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from skrub import TableVectorizer

from catbayes import SamplingBayesianEncoder
from experiments.quality_cells import split
from experiments.quality_tables import read_table


def vectorizers() -> dict[str, Any]:
    """Return skrub's default, and the same with our encoder for columns of 40 categories or more."""
    return {
        "skrub's own": TableVectorizer(),
        "catbayes": TableVectorizer(high_cardinality=SamplingBayesianEncoder(random_state=0)),
    }


def main() -> None:
    """Score both on three folds of three tables."""
    for name in ("amazon", "employee_salaries", "payments"):
        table = read_table(name)
        text = {column: column + "_" + table.X[column].astype(str) for column in table.categorical}
        X = table.X.assign(**text)  # skrub takes text of digits as numbers
        scores: dict[str, list[float]] = {}
        for fold in (1, 3, 5):
            train, test = split(name, fold)
            for label, vectorizer in vectorizers().items():
                boosting = HistGradientBoostingRegressor if table.n_classes is None else HistGradientBoostingClassifier
                model = make_pipeline(vectorizer, boosting(random_state=0)).fit(X.iloc[train], table.y[train])
                if table.n_classes is None:
                    score = r2_score(table.y[test], model.predict(X.iloc[test]))
                else:
                    score = roc_auc_score(table.y[test], model.predict_proba(X.iloc[test])[:, 1])
                scores.setdefault(label, []).append(score)
        gain = np.subtract(scores["catbayes"], scores["skrub's own"])
        means = ", ".join(f"{label} {np.mean(values):.4f}" for label, values in scores.items())
        print(f"{name}: {means}; gain {gain.mean():+.4f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.4f}", flush=True)


if __name__ == "__main__":
    main()
