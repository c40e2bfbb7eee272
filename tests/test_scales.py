"""Categories of very different scales, and targets of Arrow."""

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.linear_model import Ridge

from catbayes import SamplingBayesianEncoder, SamplingRegressor
from catbayes.families import NormalGamma


def test_a_category_of_large_numbers_costs_others_no_digits():
    """What a row knows of the rows before it is the same whatever the scale of another category."""
    random = np.random.default_rng(0)
    code, noise = random.integers(0, 2, 4000), random.normal(size=4000)
    X, features = pd.DataFrame({"c": code.astype(str), "t": np.arange(4000)}), {}
    for scale in (1.0, 1e8):
        encoder = SamplingBayesianEncoder(
            ["c"],
            family="normal",
            own_target="ordered",
            mapping="mean_precision",
            temperature=1.0,
            prior=NormalGamma(centre=0.0, strength=1.0, alpha=2.0, beta=2.0),
            random_state=0,
        )
        features[scale] = encoder.fit_transform(X, np.where(code == 0, scale, 1.0) * noise)[code == 1, 1]
    np.testing.assert_allclose(np.median(features[1e8]), np.median(features[1.0]), rtol=1e-6)


def test_effects_are_shown_for_both_classes():
    X = pd.DataFrame({"a": list("ppqqrr") * 5, "v": np.arange(30.0)})
    encoder = SamplingBayesianEncoder(family="categorical", effects=True, random_state=0)
    found = encoder.fit(X, [0, 1, 1, 0, 1, 1] * 5).posteriors_["a"]
    effects = found["effect"].to_numpy().reshape(-1, 2)
    np.testing.assert_array_equal(effects[:, 0], -effects[:, 1])


def test_targets_may_be_arrow_arrays():
    X = pd.DataFrame({"a": list("pq") * 15})
    for labels in (["u", "v", "v"] * 10, [True, False, True] * 10):
        expected = SamplingBayesianEncoder().fit(X, labels).transform(X.head(2))
        found = SamplingBayesianEncoder().fit(X, pa.array(labels)).transform(X.head(2))
        np.testing.assert_array_equal(found, expected)


def test_a_column_in_which_every_row_differs_can_be_fitted():
    X = pd.DataFrame({"id": [f"row {number}" for number in range(60)], "v": np.arange(60.0)})
    model = SamplingRegressor(Ridge(), random_state=0).fit(X, np.arange(60.0))
    assert np.isfinite(model.predict(X)).all()
