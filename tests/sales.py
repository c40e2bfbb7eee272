"""Tables for tests of models: cities and shops, and ways to fit on their draws."""

import numpy as np
import pandas
from sklearn.preprocessing import StandardScaler

from catbayes import SamplingBayesianEncoder

WAYS = ["copies", "members", "rounds"]
BOOSTER_WAYS = ["copies", "members"]


DRAWN = SamplingBayesianEncoder(temperature=1.0)
"""Draws from the whole posterior, as in the paper."""


PLAIN = {"encoder": SamplingBayesianEncoder()}
"""Posteriors of single columns, and nothing beside them."""


SILENT = {"verbose": False, "allow_writing_files": False, "thread_count": 1}


def make_table(n_rows=600, n_categories=30, seed=0):
    """Two categorical columns and a number; the target is a number."""
    random = np.random.default_rng(seed)
    city, shop = random.integers(0, n_categories, n_rows), random.integers(0, 5, n_rows)
    data = {"city": np.char.add("c", city.astype(str)), "shop": np.char.add("s", shop.astype(str))}
    number = data["number"] = random.normal(size=n_rows)
    y = random.normal(size=n_categories)[city] + random.normal(size=5)[shop] + number + random.normal(size=n_rows)
    return pandas.DataFrame(data), y


def noise_category(n_rows=400, seed=0):
    """A number that matters, of few values, and a category that means nothing."""
    random = np.random.default_rng(seed)
    number = random.integers(0, 40, n_rows) / 10.0
    X = pandas.DataFrame({"city": np.char.add("c", random.integers(0, 4, n_rows).astype(str)), "number": number})
    return X, number + random.normal(size=n_rows)


class IgnoresTheCategory(StandardScaler):
    """Sees the number only, as a model does that gives the category no part."""

    def fit(self, X, y=None, sample_weight=None):
        self.mean_ = 0.0
        return self

    def transform(self, X):
        return X[:, [-1]]
