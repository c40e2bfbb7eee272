"""`Ordered`: of its category, a row knows the rows before it, and no others."""

import io

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import catbayes
import reference
from cases import PRIORS, parameters
from catbayes import InputError, InputWarning, Ordered, SamplingBayesianEncoder, SamplingClassifier, encode

N = 200
RANDOM = np.random.default_rng(0)
TARGETS = {
    "bernoulli": RANDOM.integers(0, 2, N),
    "categorical": RANDOM.integers(0, 3, N),
    "normal": 1e6 + RANDOM.normal(size=N),
    "poisson": RANDOM.poisson(2.0, N),
    "negative_binomial": np.random.default_rng(1).negative_binomial(2.0, 0.4, N),
}
CITY = RANDOM.choice(["a", "b", "c", "d"], N, p=[0.6, 0.3, 0.09, 0.01])
DAY = RANDOM.integers(0, 60, N)  # with ties
WEIGHT = RANDOM.random(N) + 0.5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", TARGETS)
def test_features_are_those_of_a_loop_over_the_rows_before(family, weighted):
    table, y, weight = pd.DataFrame({"city": CITY, "day": DAY}), TARGETS[family], WEIGHT if weighted else None
    encoder = SamplingBayesianEncoder(family=family, own_target=Ordered("day"), temperature=0.0, prior=PRIORS[family])
    found = encoder.fit_transform(table, y, sample_weight=weight)
    prior = parameters(PRIORS[family])
    weights = np.ones(N) if weight is None else weight
    expected = reference.encode(family, prior, CITY, y, weights, lambda n, m: DAY[m] < DAY[n])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("rows", [1, 3, 10, 100])
@pytest.mark.parametrize("mapping", ["mean", "mean_precision"])
@pytest.mark.parametrize("order", [None, "time"])
def test_noise_does_not_give_the_own_target_away(rows, mapping, order):
    """A model on features of noise is no worse than one on random numbers: one that found a leak would be, by far."""
    gaps = []
    for seed in range(3):
        random = np.random.default_rng([rows, seed])
        table = pd.DataFrame({"id": random.permutation(np.arange(12_000) // rows).astype(str)})
        if order:
            table["time"] = np.arange(12_000)
        y = random.binomial(1, 0.3, 12_000)
        encoder = SamplingBayesianEncoder(own_target=Ordered(order), mapping=mapping, random_state=0)
        features = encoder.fit_transform(table[:8_000], y[:8_000]).astype(float)
        new = encoder.transform(table[8_000:]).astype(float)
        noise = random.normal(size=(12_000, features.shape[1]))
        losses = []
        for train, test in ((features, new), (noise[:8_000], noise[8_000:])):
            model = LGBMClassifier(n_estimators=40, min_child_samples=50, verbose=-1, n_jobs=1).fit(train, y[:8_000])
            losses.append(log_loss(y[8_000:], model.predict_proba(test)))
        gaps.append(losses[0] - losses[1])
    assert np.mean(gaps) < 0.01


def test_the_column_of_time_is_not_among_the_outputs():
    table = pd.DataFrame({"city": CITY, "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(DAY, unit="D"), "n": DAY})
    encoder = SamplingBayesianEncoder(own_target=Ordered("day"), random_state=0)
    by_date = encoder.fit_transform(table, TARGETS["bernoulli"])
    assert encoder.get_feature_names_out().tolist() == ["city", "n"]
    text = table.assign(day=table["day"].astype(str))  # text, which would be encoded if it did not tell the time
    np.testing.assert_array_equal(encoder.fit_transform(text, TARGETS["bernoulli"]), by_date)
    assert encoder.columns_ == ["city"]
    file = io.BytesIO()
    encoder.save(file)
    np.testing.assert_array_equal(catbayes.load(file).transform(text), encoder.transform(text))
    model = SamplingClassifier(LogisticRegression(), encoder).fit(table, TARGETS["bernoulli"])
    assert list(model.by_column(model.coef_)) == ["city", "n"]
    assert model.predict_proba(table).shape == (N, 2)


def test_what_cannot_be_ordered_is_refused(tmp_path):
    table, y = pd.DataFrame({"city": CITY, "day": DAY}), TARGETS["bernoulli"]
    with pytest.raises(InputError, match="Column 'day', which orders the rows, is missing in 1 rows"):
        SamplingBayesianEncoder(own_target=Ordered("day")).fit_transform(table.assign(day=[np.nan, *DAY[1:]]), y)
    with pytest.raises(InputError, match="no such column"):
        SamplingBayesianEncoder(own_target=Ordered("hour")).fit(table, y)
    with pytest.warns(InputWarning, match="groups do nothing"):
        SamplingBayesianEncoder(own_target="ordered").fit_transform(table, y, groups=DAY)
    encoder = SamplingBayesianEncoder(own_target=Ordered("day")).fit(table, y)
    with pytest.raises(InputError, match="needs all rows together"):
        encode(table.assign(y=y), encoder, tmp_path / "out.parquet", n_draws=1, target="y")
