"""
From how many categories on does it pay?
========================================

LightGBM splits a column of few categories well. The more categories a column has, the fewer rows each of them has, and
the more the encoding matters. Here only the number of categories changes.
"""

# %%
# Customers and shops change the probability of a sale, and so does the price. The number of rows stays the same:
# 20,000 to train on, 50,000 to test on. Few categories then have thousands of rows each, 5,000 categories have four.
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from catbayes import SamplingClassifier

COLUMNS = ["customer", "shop"]


def simulate(n_categories: int, n_rows: int = 70_000) -> tuple[Any, Any, Any]:
    """Simulate a table, its target and the true probabilities."""
    random = np.random.default_rng(n_categories)
    codes = random.integers(n_categories, size=(2, n_rows))
    price = random.normal(size=n_rows)
    effects = random.normal(size=(2, n_categories))
    probability = expit(effects[0][codes[0]] + effects[1][codes[1]] - 0.5 * price - 1)
    X = pd.DataFrame(codes.T.astype(str), columns=COLUMNS).assign(price=price)
    return X, (random.random(n_rows) < probability).astype(int), probability


# %%
# Three ways to give the columns to the same model: LightGBM's own categories, scikit-learn's TargetEncoder, and
# `SamplingClassifier`.
def as_categories(X: Any) -> Any:
    """Declare the columns as categories, as LightGBM expects them."""
    return X.astype({name: pd.CategoricalDtype(sorted(X[name].unique())) for name in COLUMNS})


def auc_by_way(n_categories: int) -> dict[str, float]:
    """Score the three ways and the true probabilities on new rows."""
    X, y, truth = simulate(n_categories)
    train, test = slice(20_000), slice(20_000, None)
    native = as_categories(X)
    encode = make_column_transformer((TargetEncoder(), COLUMNS), remainder="passthrough")
    ways = {
        "LightGBM's own categories": (LGBMClassifier(verbose=-1), native),
        "TargetEncoder": (make_pipeline(encode, LGBMClassifier(verbose=-1)).set_output(transform="pandas"), X),
        "SamplingClassifier": (SamplingClassifier(LGBMClassifier(verbose=-1), random_state=0), X),
    }
    scores = {"best possible": roc_auc_score(y[test], truth[test])}
    for name, (model, table) in ways.items():
        predicted = model.fit(table[train], y[train]).predict_proba(table[test])[:, 1]
        scores[name] = roc_auc_score(y[test], predicted)
    return scores


numbers = [5, 20, 100, 500, 2000, 5000]
scores = pd.DataFrame([auc_by_way(number) for number in numbers], index=numbers)
print(scores.round(3).to_string())

# %%
# With 20 categories the three are equal. From about a hundred on it pays to encode: LightGBM's own categories fall
# behind, because its trees split by averages of few rows. The distance to the best possible score grows for all: four
# rows are not enough to know a category.
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
colors = {"best possible": "#9aa4b2", "LightGBM's own categories": "#6b7280", "TargetEncoder": "#2f6db5"}
for name, values in scores.items():
    ax.plot(numbers, values, marker="o", label=name, color=colors.get(name, "#e07b39"))
ax.set_xscale("log")
ax.set_xticks(numbers, [f"{number:,}" for number in numbers])
ax.minorticks_off()
ax.set_xlabel("categories of each column, of 20,000 rows")
ax.set_ylabel("AUC on new rows")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
