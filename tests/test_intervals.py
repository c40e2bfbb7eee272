"""Intervals, quantiles and draws of the next target, sets of the next class, and intervals of predictions."""

import numpy as np
import pandas
import pytest
from catboost import CatBoostRegressor
from scipy.special import softmax
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import TimeSeriesSplit

from catbayes import InputError, SamplingBayesianEncoder, SamplingClassifier, SamplingRegressor
from sales import SILENT, make_table

SEEN = [0.5, 1.5, 5.5, 20.5]
"""Between rows of a category that was never seen, seen once, up to 5 times, up to 20 times, and more often."""


def make_shops(n_rows, n_known, seed=0, uneven=False, n_classes=0):
    """Shops of which many are rare: known rows, new rows, and how often the shops of the new ones were seen."""
    random = np.random.default_rng(seed)
    share = random.pareto(1.0, 2_000) + 0.05
    shop, x = random.choice(2_000, n_rows, p=share / share.sum()), random.normal(size=n_rows)
    if n_classes:
        rates = softmax(1.5 * random.normal(size=(2_000, n_classes))[shop] + np.outer(x, np.arange(n_classes)), axis=1)
        y = np.array(list("abcd"))[
            (random.random((n_rows, 1)) > rates.cumsum(axis=1)).sum(axis=1).clip(0, n_classes - 1)
        ]
    else:
        noise = random.normal(size=n_rows) * (np.exp(0.7 * x) if uneven else 1.0)
        y = 1.5 * random.normal(size=2_000)[shop] + x + noise
    X = pandas.DataFrame({"shop": np.char.add("s", shop.astype(str)), "x": x})
    seen = X["shop"][n_known:].map(X["shop"][:n_known].value_counts()).fillna(0)
    return X[:n_known], y[:n_known], X[n_known:].reset_index(drop=True), y[n_known:], np.digitize(seen, SEEN)


def inside(interval, y):
    return (interval[0] <= y) & (y <= interval[1])


def width(interval):
    return interval[1] - interval[0]


def calibrated(estimator=None, cv=5, encoder=None, seed=0):
    return SamplingRegressor(Ridge() if estimator is None else estimator, encoder, calibrate=cv, random_state=seed)


@pytest.fixture(scope="module")
def shops():
    X, y, *rest = make_shops(3_000, 1_500)
    return calibrated().fit(X, y), *rest


# ------------------------------------------------------------------------------ intervals of the next target


@pytest.mark.calibration
def test_the_interval_covers_the_next_target_however_rare_its_category_is():
    covered, kinds = {0.5: [], 0.9: []}, []
    for seed in range(6):
        X, y, new, y_new, kind = make_shops(6_000, 3_000, seed)
        model = calibrated().fit(X, y)
        kinds.append(kind)
        for coverage, found in covered.items():
            found.append(inside(model.predict_interval(new, coverage), y_new))
    kinds = np.concatenate(kinds)
    for coverage, found in covered.items():
        found = np.concatenate(found)
        assert found.mean() == pytest.approx(coverage, abs=0.02)
        for kind in np.flatnonzero(np.bincount(kinds) > 500):
            assert found[kinds == kind].mean() == pytest.approx(coverage, abs=0.06)


def test_intervals_of_amounts_that_were_never_negative_begin_at_zero_and_cover_as_many():
    X, y, new, y_new, _ = make_shops(3_000, 1_500)
    model = calibrated().fit(X, np.exp(y))
    for bounds in (model.predict_interval(new), model.predict_category_interval(new)):
        assert (bounds[0] == 0.0).any()
        assert min(bounds[0].min(), bounds[1].min()) == 0.0
    assert model.predict_quantiles(new, [0.01, 0.5]).min() == model.sample_targets(new).min() == 0.0
    free = calibrated().fit(X, np.append(-1.0, np.exp(y[1:])))  # one was negative
    assert free.predict_interval(new)[0].min() < 0.0
    clipped = np.maximum(free.predict_interval(new), 0.0)
    assert inside(clipped, np.exp(y_new)).mean() == inside(free.predict_interval(new), np.exp(y_new)).mean()


def test_batches_know_whether_a_target_was_ever_negative():
    X, y, new, *_ = make_shops(600, 300)
    model = SamplingRegressor(SGDRegressor(), random_state=0).partial_fit(X, np.exp(y))
    assert model.predict_category_interval(new)[0].min() >= 0.0
    assert model.partial_fit(X, y - 9.0).predict_category_interval(new)[0].min() < 0.0


def test_intervals_are_wider_for_rare_categories_and_for_noisy_rows(shops):
    model, new, y, kind = shops
    bounds = model.predict_interval(new)
    assert inside(bounds, y).mean() == pytest.approx(0.9, abs=0.04)
    assert width(bounds)[kind == 0].mean() > 1.2 * width(bounds)[kind == 4].mean()
    X, y, new, y_new, _ = make_shops(9_000, 5_000, uneven=True)
    bounds = calibrated().fit(X, y).predict_interval(new)
    calm, noisy = new["x"] < -0.5, new["x"] > 0.5
    assert width(bounds)[noisy].mean() > 1.5 * width(bounds)[calm].mean()
    for rows in (calm, noisy):
        assert inside(bounds, y_new)[rows].mean() == pytest.approx(0.9, abs=0.05)


@pytest.mark.calibration
@pytest.mark.parametrize("calm", [False, True])
def test_a_new_category_is_covered_where_noise_differs_and_none_was_held_out(calm):
    covered = []
    for seed in range(6):
        random = np.random.default_rng(seed)
        effect, x = 3 * random.normal(size=1_000), random.random(3_000)
        code = np.r_[random.integers(0, 50, 1_500), random.integers(50, 1_000, 1_500)]
        y = effect[code] + (0.2 + 3 * x if calm else 1.0) * random.normal(size=3_000)
        X = pandas.DataFrame({"shop": np.char.add("s", code.astype(str)), "x": x})
        model = calibrated(encoder=SamplingBayesianEncoder(), seed=seed).fit(X[:1_500], y[:1_500])
        covered.append(inside(model.predict_interval(X[1_500:]), y[1_500:])[x[1_500:] < 0.3])
    assert np.concatenate(covered).mean() == pytest.approx(0.9, abs=0.05)


def test_draws_of_targets_have_the_quantiles_that_are_predicted(shops):
    model, new, *_ = shops
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    quantiles = model.predict_quantiles(new[:50], levels)
    assert (np.diff(quantiles, axis=1) > 0).all()
    widths = [width(model.predict_interval(new, coverage)).mean() for coverage in (0.5, 0.8, 0.9, 0.99)]
    assert (np.diff(widths) > 0).all()
    draws = model.sample_targets(new[:50], 4_000, random_state=0)
    np.testing.assert_allclose((draws[:, :, None] <= quantiles).mean(axis=(0, 1)), levels, atol=0.01)
    np.testing.assert_array_equal(draws, model.sample_targets(new[:50], 4_000, random_state=0))
    assert (draws[0] != model.sample_targets(new[:50], 1, random_state=1)[0]).any()
    assert abs(np.corrcoef(draws[:, 0], draws[:, 1])[0, 1]) < 0.06


@pytest.mark.parametrize("name", ["predict_interval", "predict_category_interval"])
def test_the_interval_of_a_row_alone_is_that_of_the_batch(shops, name):
    model, new, *_ = shops
    batch, alone = getattr(model, name)(new[:20]), getattr(model, name)(new[7:8])
    np.testing.assert_allclose([bound[7] for bound in batch], [bound[0] for bound in alone], rtol=1e-12)


def test_folds_cost_nothing_unless_asked_for_and_do_not_change_predictions():
    X, y = make_table()
    fits = []

    class Counting(Ridge):
        def fit(self, X, y, sample_weight=None):
            fits.append(len(X))
            return super().fit(X, y, sample_weight)

    models = [calibrated(Counting(), cv).fit(X, y) for cv in (None, 4)]
    assert len(fits) == 1 + 1 + 4
    np.testing.assert_array_equal(*(model.predict(X) for model in models))
    np.testing.assert_array_equal(*(model.predict_category_interval(X) for model in models))
    fits.clear()
    calibrated(Counting(), TimeSeriesSplit(3)).fit(X, y)
    assert len(fits) == 1 + 3


def test_rows_are_covered_by_their_weight_and_not_at_all_without():
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"shop": random.choice(list("abcd"), 4_000)})
    noisy = np.arange(4_000) % 2 == 0  # which nobody can see in X
    y = random.normal(size=4_000) * np.where(noisy, 10.0, 1.0)
    covered = inside(calibrated().fit(X, y, np.where(noisy, 0.001, 1.999)).predict_interval(X), y)
    assert covered[~noisy].mean() == pytest.approx(0.9, abs=0.03)
    assert covered[noisy].mean() < 0.3
    weight = np.where(noisy, 0.0, 1.0)
    wild = (calibrated(cv=3).fit(X, y + 1e6 * shift * noisy, weight).predict_interval(X) for shift in (0, 1))
    np.testing.assert_allclose(*wild, rtol=1e-6)


@pytest.mark.parametrize(
    ("estimator", "fit_with"),
    [
        (RandomForestRegressor(10), "members"),
        (SGDRegressor(), "rounds"),
        (CatBoostRegressor(20, **SILENT), "members"),
    ],
    ids=str,
)
def test_every_way_to_fit_can_be_calibrated(estimator, fit_with):
    X, y, new, y_new, _ = make_shops(2_000, 1_000)
    model = calibrated(estimator, 3).set_params(fit_with=fit_with).fit(X, y)
    assert 0.84 < inside(model.predict_interval(new), y_new).mean() < 0.96


# ------------------------------------------------------------------------------ sets and probabilities of classes


@pytest.mark.calibration
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_set_holds_the_next_class_however_rare_its_category_is(n_classes):
    covered, kinds = [], []
    for seed in range(3):
        X, y, new, y_new, kind = make_shops(6_000, 2_000, seed, n_classes=n_classes)
        model = SamplingClassifier(LogisticRegression(max_iter=1000), calibrate=5, random_state=0).fit(X, y)
        sets = model.predict_set(new, 0.9)
        assert 1 < sets.sum(axis=1).mean() < n_classes
        covered.append(sets[np.arange(4_000), np.searchsorted(model.classes_, y_new)])
        kinds.append(kind)
    covered, kinds = np.concatenate(covered), np.concatenate(kinds)
    for kind in np.flatnonzero(np.bincount(kinds) >= 500):
        assert 0.86 < covered[kinds == kind].mean() < 0.97  # the likeliest class is always inside
    wide = model.predict_set(new, 0.97)
    assert (wide | ~sets).all()
    assert wide.sum() > sets.sum()


@pytest.mark.calibration
@pytest.mark.parametrize("n_rare", [200, 20, 0])
def test_sets_hold_the_next_class_of_shops_of_which_few_or_none_were_held_out(n_rare):
    found, known = [], 1_200 + n_rare
    for seed in range(6):
        random = np.random.default_rng(seed)
        rate, code = random.beta(0.5, 0.5, 1_000), np.r_[np.repeat(np.arange(30), 40), np.arange(30, 1_000)]
        X, y = pandas.DataFrame({"shop": np.char.add("s", code.astype(str))}), random.random(len(code)) < rate[code]
        model = SamplingClassifier(LogisticRegression(), SamplingBayesianEncoder(), calibrate=5, random_state=0)
        sets = model.fit(X[:known], y[:known]).predict_set(X[known:], 0.9)
        found.append(sets[np.arange(len(sets)), y[known:].astype(int)].mean())
    assert np.mean(found) > 0.88


class Bold(LogisticRegression):
    """Has probabilities that are too far from even."""

    def predict_proba(self, X):
        return softmax(3 * np.log(super().predict_proba(X)), axis=1)


def test_calibrated_probabilities_come_true_where_those_of_the_model_are_too_bold():
    X, y, new, y_new, _ = make_shops(6_000, 3_000, n_classes=2)
    bold, calm = (SamplingClassifier(Bold(), calibrate=cv, random_state=0).fit(X, y) for cv in (None, 5))
    before, after = bold.predict_proba(new), calm.predict_proba(new)
    assert log_loss(y_new, after) < 0.9 * log_loss(y_new, before)
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        rows = (after[:, 1] > low) & (after[:, 1] < low + 0.2)
        assert (y_new[rows] == "b").mean() == pytest.approx(after[rows, 1].mean(), abs=0.06)
    np.testing.assert_allclose(after.sum(axis=1), 1.0)
    np.testing.assert_array_equal(calm.predict(new), calm.classes_[after.argmax(axis=1)])
    sets = calm.predict_set(new)
    assert sets[np.arange(len(new)), np.searchsorted(calm.classes_, y_new)].mean() > 0.86
    lower, upper = calm.predict_category_interval(new[:50])
    assert ((lower >= 0) & (upper <= 1) & (lower <= upper)).all()


# ------------------------------------------------------------------------------ intervals of predictions


@pytest.mark.calibration
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_the_category_interval_covers_the_prediction_at_the_true_means(coverage):
    covered = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        truth, code = random.normal(size=200), random.integers(0, 200, 1500)
        X = pandas.DataFrame({"city": np.char.add("c", code.astype(str))})
        model = SamplingRegressor(LinearRegression(), n_draws=5, random_state=seed)
        model.fit(X, truth[code] + 2 * random.normal(size=1500))
        new = pandas.DataFrame({"city": np.char.add("c", np.arange(200).astype(str))})
        usual = model.encoder_.transform([["unseen"]])  # features of numeric targets are differences from it
        known = model.estimator_.predict(truth[:, None] - usual)
        covered.append(inside(model.predict_category_interval(new, coverage), known).mean())
    assert np.mean(covered) == pytest.approx(coverage, abs=0.03)


@pytest.mark.parametrize("coverage", [0.1, 0.9])
def test_the_category_interval_contains_the_prediction_of_a_forest(coverage):
    """A forest may jump at the mean of a category to what few of its draws give."""
    random = np.random.default_rng(0)
    truth, code = 1.5 * random.normal(size=20), random.integers(0, 20, 5_000)
    X, y = pandas.DataFrame({"city": np.char.add("c", code.astype(str))}), truth[code] + random.normal(size=5_000)
    cities = X.drop_duplicates()
    classifier = SamplingClassifier(RandomForestClassifier(30, random_state=0), calibrate=2, random_state=0)
    probabilities = classifier.fit(X, y > 0).predict_proba(cities)
    assert inside(classifier.predict_category_interval(cities, coverage), probabilities).all()
    model = SamplingRegressor(RandomForestRegressor(30, random_state=0), random_state=0).fit(X, y)
    assert inside(model.predict_category_interval(cities, coverage), model.predict(cities)).all()


# ------------------------------------------------------------------------------ errors


@pytest.mark.parametrize("name", ["predict_interval", "predict_quantiles", "sample_targets", "predict_set"])
def test_without_held_out_rows_there_are_no_intervals_and_no_sets(name):
    X, y = make_table()
    kind = (SamplingClassifier, LogisticRegression) if name == "predict_set" else (SamplingRegressor, Ridge)
    model = kind[0](kind[1](), random_state=0).fit(X, y > 0)
    with pytest.raises(InputError, match=f"{name} needs rows that the model did not learn from: fit it with calibrate"):
        getattr(model, name)(X, *([[0.5]] if name == "predict_quantiles" else []))


def test_a_coverage_is_a_number_from_0_to_1(shops):
    with pytest.raises(InputError, match=r"coverage=1.5: expected a number from 0 to 1"):
        shops[0].predict_interval(shops[1], 1.5)


def test_the_error_of_a_slope_is_independent_of_that_of_the_effect():
    """A line is known best near the mean of its number, and less well at both ends."""
    random = np.random.default_rng(0)
    office, years = random.integers(0, 150, 1500), random.uniform(0, 30, 1500)
    effect, slope = random.normal(0, 8, 150), random.normal(0, 0.5, 150)
    salary = 40 + effect[office] + (0.6 + slope[office]) * years + random.normal(0, 6, 1500)
    X = pandas.DataFrame({"office": np.char.add("o", office.astype(str)), "years": years})
    model = SamplingRegressor(LinearRegression(), random_state=0).fit(X, salary)
    assert any("slope" in name for name in model.get_feature_names_out())
    number = np.unique(office)
    offices = np.char.add("o", number.astype(str))
    width, inside = {}, {}
    for at in (0.0, 15.0, 30.0):
        lower, upper = model.predict_category_interval(pandas.DataFrame({"office": offices, "years": at}))
        truth = 40 + effect[number] + (0.6 + slope[number]) * at
        width[at], inside[at] = np.mean(upper - lower), np.mean((lower <= truth) & (truth <= upper))
    assert width[15.0] < min(width[0.0], width[30.0])
    assert min(inside.values()) > 0.75, inside
