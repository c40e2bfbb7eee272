"""Intervals and standard deviations of predictions hold the doubt about categories, and no other."""

import numpy as np
import pandas
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from catbayes import SamplingBayesianEncoder, SamplingClassifier, SamplingRegressor, Scaled
from sales import make_table


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_the_interval_covers_the_prediction_at_the_true_means(coverage):
    """Its claim: where the model's answer would lie if it knew the true mean of the category."""
    inside, rows = 0, 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        truth = random.normal(size=200)
        code = random.integers(0, 200, 1500)
        y = truth[code] + 2 * random.normal(size=1500)
        X = pandas.DataFrame({"city": np.char.add("c", code.astype(str))})
        model = SamplingRegressor(LinearRegression(), n_draws=5, random_state=seed).fit(X, y)
        new = pandas.DataFrame({"city": np.char.add("c", np.arange(200).astype(str))})
        lower, upper = model.predict_category_interval(new, coverage)
        usual = model.encoder_.transform([["unseen"]])  # what the features of a numeric target are measured from
        known = model.estimator_.predict(truth[:, None] - usual)
        inside += ((lower <= known) & (known <= upper)).sum()
        rows += 200
    assert inside / rows == pytest.approx(coverage, abs=0.03)


def test_the_interval_of_a_probability_covers_the_true_rate_when_the_model_returns_it():
    """A model that gives the drawn rate back as its probability has the posterior interval of the rate."""
    inside, rows = 0, 0

    class Returns(LogisticRegression):
        def predict_proba(self, X):
            return np.column_stack([1 - X[:, 0], X[:, 0]])

    for seed in range(20):
        random = np.random.default_rng(seed)
        truth = random.beta(2, 6, 200)
        code = random.integers(0, 200, 1500)
        y = random.random(1500) < truth[code]
        X = pandas.DataFrame({"city": np.char.add("c", code.astype(str))})
        model = SamplingClassifier(Returns(), n_draws=3, random_state=seed).fit(X, y)
        new = pandas.DataFrame({"city": np.char.add("c", np.arange(200).astype(str))})
        lower, upper = model.predict_category_interval(new, 0.8)
        inside += ((lower[:, 1] <= truth) & (truth <= upper[:, 1])).sum()
        rows += 200
    assert inside / rows == pytest.approx(0.8, abs=0.03)


def test_the_interval_holds_at_any_temperature_of_the_draws():
    X, y = make_table()
    cold, warm = (
        SamplingRegressor(Ridge(), SamplingBayesianEncoder(temperature=t), random_state=0).fit(X, y) for t in (0.3, 1.0)
    )
    widths = [np.diff(model.predict_category_interval(X), axis=0).mean() / model.coef_[0] for model in (cold, warm)]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)
    assert cold.predict(X, return_std=True)[1].mean() > 0.5 * warm.predict(X, return_std=True)[1].mean()


def test_the_interval_of_a_row_alone_is_that_of_the_batch():
    X, y = make_table()
    model = SamplingRegressor(Ridge(), random_state=0).fit(X, y)
    batch, alone = model.predict_category_interval(X), model.predict_category_interval(X[7:8])
    np.testing.assert_allclose([bound[7] for bound in batch], [bound[0] for bound in alone], rtol=1e-12)


@pytest.mark.parametrize("coverage", [0.1, 0.9])
def test_the_interval_holds_the_prediction_of_a_forest(coverage):
    """It is predicted at the mean of a well-known category, where a forest may jump to what few draws say."""
    random = np.random.default_rng(0)
    truth, code = 1.5 * random.normal(size=20), random.integers(0, 20, 10_000)
    X, y = pandas.DataFrame({"city": np.char.add("c", code.astype(str))}), truth[code] + random.normal(size=10_000)
    cities = X.drop_duplicates()
    forest = RandomForestClassifier(30, random_state=0)
    for calibrate in (None, 2):
        model = SamplingClassifier(forest, calibrate=calibrate, random_state=0).fit(X, y > 0)
        lower, upper = model.predict_category_interval(cities, coverage)
        predicted = model.predict_proba(cities)
        assert ((lower <= predicted) & (predicted <= upper)).all()
    model = SamplingRegressor(RandomForestRegressor(30, random_state=0), random_state=0).fit(X, y)
    lower, upper = model.predict_category_interval(cities, coverage)
    assert ((lower <= model.predict(cities)) & (model.predict(cities) <= upper)).all()


def test_rare_categories_have_wide_intervals_and_probabilities_stay_in_range():
    random = np.random.default_rng(0)
    city = np.concatenate([np.repeat("often", 500), np.repeat("rare", 3)])
    X = pandas.DataFrame({"city": np.concatenate([city, np.repeat([f"c{i}" for i in range(50)], 10)])})
    y = random.random(len(X)) < 0.3
    model = SamplingClassifier(LogisticRegression(), SamplingBayesianEncoder(prior=Scaled(1e-3)), random_state=0).fit(
        X, y
    )
    lower, upper = model.predict_category_interval(pandas.DataFrame({"city": ["often", "rare", "new"]}))
    width = (upper - lower)[:, 1]
    assert width[0] < width[1] < width[2]
    assert (lower >= 0).all()
    assert (upper <= 1).all()


def test_a_scaler_does_not_make_doubt_of_a_column_without_signal():
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"noise": random.choice(list("abcdefghij"), 3_000), "size": random.normal(size=3_000)})
    y = random.binomial(1, expit(table["size"]))
    model = SamplingClassifier(make_pipeline(StandardScaler(), LogisticRegression()), random_state=0).fit(table, y)
    _, spread = model.predict_proba(table, return_std=True)
    assert spread.max() < 0.1
    lower, upper = model.predict_category_interval(table)
    assert (upper - lower).max() < 0.2
