"""Intervals, quantiles and draws of the next target, and sets of the next class, hold what they say."""

import pickle

import numpy as np
import pandas
import pytest
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import TimeSeriesSplit
from sklearn.svm import LinearSVC

from catbayes import InputError, SamplingBayesianEncoder, SamplingClassifier, SamplingRegressor, recommended_encoder
from catbayes.models.next_target import Ladder, kinds_of, voices
from sales import SILENT, make_table

KINDS = [0.5, 1.5, 5.5, 20.5]


def make_rows(n_rows, n_known, seed=0, uneven=False):
    """Shops of which many are rare; the first rows are to be known, the others are new."""
    random = np.random.default_rng(seed)
    share = random.pareto(1.0, 2_000) + 0.05
    shop, x = random.choice(2_000, n_rows, p=share / share.sum()), random.normal(size=n_rows)
    noise = random.normal(size=n_rows) * (np.exp(0.7 * x) if uneven else 1.0)
    y = 1.5 * random.normal(size=2_000)[shop] + x + noise
    X = pandas.DataFrame({"shop": np.char.add("s", shop.astype(str)), "x": x})
    seen = X["shop"][n_known:].map(X["shop"][:n_known].value_counts()).fillna(0)
    return X[:n_known], y[:n_known], X[n_known:].reset_index(drop=True), y[n_known:], np.digitize(seen, KINDS)


def inside(interval, y):
    return (interval[0] <= y) & (y <= interval[1])


class Keeping(SamplingRegressor):
    """Keeps the rows that were held out."""

    def _calibration_of(self, held, seed):
        self.held_ = held
        return super()._calibration_of(held, seed)


@pytest.fixture(scope="module")
def several():
    """Models of six tables, with new rows, their targets, and how well known these are."""
    tables = [make_rows(6_000, 3_000, seed) for seed in range(6)]
    encoder = recommended_encoder(Ridge(), interactions=None)
    return [(Keeping(Ridge(), encoder, calibrate=5, random_state=0).fit(X, y), *rest) for X, y, *rest in tables]


@pytest.fixture(scope="module")
def even(several):
    return several[0]


@pytest.mark.parametrize(("coverage", "near"), [(0.5, 0.06), (0.9, 0.04)])  # three standard errors of the rarest kind
def test_the_interval_covers_the_next_target_however_rare_its_category_is(several, coverage, near):
    covered = np.concatenate([inside(model.predict_interval(new, coverage), y) for model, new, y, _ in several])
    kinds = np.concatenate([kind for *_, kind in several])
    assert (np.bincount(kinds) > 500).all()
    for number in range(5):
        assert covered[kinds == number].mean() == pytest.approx(coverage, abs=near)
    assert covered.mean() == pytest.approx(coverage, abs=0.02)


def test_one_width_for_all_would_not_do_so_and_is_hardly_shorter(even):
    model, new, y, kind = even
    width = np.quantile(np.abs(model.held_.y - model.held_.told.response), 0.9)
    covered, mean = np.abs(y - model.predict(new)) <= width, model.predict(new)
    assert covered[kind == 0].mean() < 0.83  # which the test above would not let pass
    lower, upper = model.predict_interval(new)
    assert (upper - lower).mean() < 2.1 * width  # where noise is the same everywhere; below it is not
    assert (upper - lower)[kind == 0].mean() > 1.2 * (upper - lower)[kind == 4].mean()
    assert ((lower < mean) & (mean < upper)).all()


def test_rows_with_little_noise_have_short_intervals():
    X, y, new, y_new, _ = make_rows(9_000, 5_000, uneven=True)
    model = Keeping(Ridge(), calibrate=5, random_state=0).fit(X, y)
    lower, upper = model.predict_interval(new)
    calm, noisy = new["x"] < -0.5, new["x"] > 0.5
    assert (upper - lower)[noisy].mean() > 1.5 * (upper - lower)[calm].mean()
    for rows in (calm, noisy):
        assert inside((lower, upper), y_new)[rows].mean() == pytest.approx(0.9, abs=0.04)
    assert (upper - lower).mean() < 1.9 * np.quantile(np.abs(model.held_.y - model.held_.told.response), 0.9)


def test_a_new_category_among_well_known_ones_has_a_wide_interval_though_none_was_held_out():
    covered = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        effect, code = 3 * random.normal(size=330), np.r_[np.repeat(np.arange(30), 20), np.arange(330)]
        X, y = pandas.DataFrame({"shop": np.char.add("s", code.astype(str))}), effect[code] + random.normal(size=930)
        model = SamplingRegressor(
            LinearRegression(),
            recommended_encoder(LinearRegression(), keep_categories=None),
            calibrate=5,
            random_state=0,
        )
        covered.append(inside(model.fit(X[:600], y[:600]).predict_interval(X[600:]), y[600:]))
    known = np.concatenate([some[:30] for some in covered])
    assert np.concatenate([some[30:] for some in covered]).mean() == pytest.approx(0.9, abs=0.05)
    assert known.mean() == pytest.approx(0.9, abs=0.05)


def test_a_new_category_is_covered_where_there_is_little_noise_as_well():
    """Little noise does not make a category known."""
    covered, calm = [], []
    for seed in range(4):
        random = np.random.default_rng(seed)
        effect, x = 3 * random.normal(size=1_000), random.random(3_000)
        code = np.r_[random.integers(0, 50, 1_500), random.integers(50, 1_000, 1_500)]
        y = effect[code] + (0.2 + 3 * x) * random.normal(size=3_000)
        X = pandas.DataFrame({"shop": np.char.add("s", code.astype(str)), "x": x})
        model = SamplingRegressor(
            Ridge(), recommended_encoder(Ridge(), keep_categories=None), calibrate=5, random_state=seed
        )
        model.fit(X[:1_500], y[:1_500])
        covered.append(inside(model.predict_interval(X[1_500:]), y[1_500:]))
        calm.append(x[1_500:] < 0.3)
    covered, calm = np.concatenate(covered), np.concatenate(calm)
    assert covered[calm].mean() == pytest.approx(0.9, abs=0.05)
    assert covered.mean() == pytest.approx(0.9, abs=0.03)


def test_targets_with_one_long_tail_have_short_intervals():
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"shop": random.choice(list("abcdef"), 6_000)})
    y = random.exponential(size=6_000)
    model = SamplingRegressor(Ridge(), calibrate=5, random_state=0).fit(X[:3_000], y[:3_000])
    lower, upper = model.predict_interval(X[3_000:])
    assert inside((lower, upper), y[3_000:]).mean() == pytest.approx(0.9, abs=0.02)
    alike = model.predict_quantiles(X[3_000:], [0.05, 0.95])
    assert (upper - lower).mean() < 0.9 * (alike[:, 1] - alike[:, 0]).mean()


def test_draws_of_targets_have_the_quantiles_that_are_predicted(even):
    model, new, _, _ = even
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    quantiles = model.predict_quantiles(new[:50], levels)
    assert (np.diff(quantiles, axis=1) > 0).all()
    draws = model.sample_targets(new[:50], 4_000, random_state=0)
    assert draws.shape == (4_000, 50)
    np.testing.assert_allclose((draws[:, :, None] <= quantiles).mean(axis=(0, 1)), levels, atol=0.01)
    np.testing.assert_array_equal(draws[:, :7], model.sample_targets(new[:50], 4_000, random_state=0)[:, :7])
    assert (draws[0] != model.sample_targets(new[:50], 1, random_state=1)[0]).any()
    assert abs(np.corrcoef(draws[:, 0], draws[:, 1])[0, 1]) < 0.06


def test_the_interval_of_a_row_alone_is_that_of_the_batch(even):
    model, new, _, _ = even
    batch, alone = model.predict_interval(new[:20]), model.predict_interval(new[7:8])
    np.testing.assert_allclose([bound[7] for bound in batch], [bound[0] for bound in alone], rtol=1e-12)


def test_a_larger_coverage_holds_the_smaller_one_on_average(even):
    model, new, _, _ = even
    widths = [np.subtract(*model.predict_interval(new, coverage)[::-1]).mean() for coverage in (0.5, 0.8, 0.9, 0.99)]
    assert (np.diff(widths) > 0).all()


def test_other_units_of_the_target_are_other_units_of_the_interval():
    X, y, new, _, _ = make_rows(900, 700)
    first = SamplingRegressor(LinearRegression(), calibrate=3, random_state=0).fit(X, y).predict_interval(new)
    other = SamplingRegressor(LinearRegression(), calibrate=3, random_state=0).fit(X, 1000 * y + 50)
    np.testing.assert_allclose(other.predict_interval(new), 1000 * np.array(first) + 50, atol=1.0)


def test_predictions_are_those_of_a_model_that_is_not_calibrated():
    X, y = make_table()
    plain, calibrated = (SamplingRegressor(Ridge(), calibrate=cv, random_state=0).fit(X, y) for cv in (None, 5))
    np.testing.assert_array_equal(plain.predict(X), calibrated.predict(X))
    for bounds in zip(plain.predict_category_interval(X), calibrated.predict_category_interval(X), strict=True):
        np.testing.assert_array_equal(*bounds)


def test_only_who_asks_for_folds_pays_for_them():
    X, y = make_table()
    fits = []

    class Counting(Ridge):
        def fit(self, X, y, sample_weight=None):
            fits.append(len(X))
            return super().fit(X, y, sample_weight)

    SamplingRegressor(Counting(), random_state=0).fit(X, y)
    assert len(fits) == 1
    SamplingRegressor(Counting(), calibrate=4, random_state=0).fit(X, y)
    assert len(fits) == 1 + 1 + 4


def test_rows_without_weight_say_nothing():
    X, y, new, _, _ = make_rows(900, 700)
    weight = np.r_[np.ones(600), np.zeros(100)]
    models = [
        Keeping(Ridge(), calibrate=3, random_state=0).fit(X, y + wild * (weight == 0), weight) for wild in (0, 1e6)
    ]
    np.testing.assert_allclose(models[0].predict_interval(new), models[1].predict_interval(new), rtol=1e-6)
    np.testing.assert_array_equal(np.sort(models[1].held_.y), np.sort(y[:600]))


def test_weights_say_whose_targets_are_to_be_covered():
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"shop": random.choice(list("abcd"), 4_000)})
    noisy = np.arange(4_000) % 2 == 0  # which nobody can tell from X
    y = random.normal(size=4_000) * np.where(noisy, 10.0, 1.0)
    weight = np.where(noisy, 0.001, 1.999)
    model = SamplingRegressor(Ridge(), calibrate=5, random_state=0).fit(X, y, weight)
    covered = inside(model.predict_interval(X), y)
    assert covered[~noisy].mean() == pytest.approx(0.9, abs=0.03)
    assert covered[noisy].mean() < 0.3


def test_groups_are_held_out_together():
    X, y, _, _, _ = make_rows(900, 800)
    plain = Keeping(Ridge(), calibrate=4, random_state=0).fit(X, y)
    by_shop = Keeping(Ridge(), calibrate=4, random_state=0).fit(X, y, groups=X["shop"])
    assert (by_shop.held_.told.known == 0).all()
    assert (plain.held_.told.known > 0).mean() > 0.5


def test_folds_may_be_those_of_a_splitter():
    X, y, new, _, _ = make_rows(900, 800)
    model = Keeping(Ridge(), calibrate=TimeSeriesSplit(3), random_state=0).fit(X, y)
    assert len(model.held_.y) == 600  # the first fold is never held out
    np.testing.assert_array_equal(model.held_.y, y[200:])
    assert model.predict_interval(new)[0].shape == (100,)


@pytest.mark.parametrize(
    ("estimator", "fit_with"),
    [
        (HistGradientBoostingRegressor(max_iter=20), "auto"),
        (RandomForestRegressor(10), "members"),
        (RandomForestRegressor(10), "rounds"),
        (SGDRegressor(), "rounds"),
        (LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1), "auto"),
        (CatBoostRegressor(20, **SILENT), "auto"),
    ],
)
def test_every_way_to_fit_can_be_calibrated(estimator, fit_with):
    X, y, new, y_new, _ = make_rows(2_000, 1_000)
    model = SamplingRegressor(estimator, fit_with=fit_with, calibrate=3, random_state=0).fit(X, y)
    assert 0.84 < inside(model.predict_interval(new), y_new).mean() < 0.96


def test_tables_of_all_kinds_can_be_calibrated():
    import polars

    X, y, new, _, _ = make_rows(400, 300)
    expected = SamplingRegressor(Ridge(), calibrate=3, random_state=0).fit(X, y).predict_interval(new)
    for convert in (polars.from_pandas, lambda table: polars.from_pandas(table).to_arrow()):
        model = SamplingRegressor(Ridge(), calibrate=3, random_state=0).fit(convert(X), y)
        np.testing.assert_allclose(model.predict_interval(convert(new)), expected, rtol=1e-9)
    numbers = SamplingRegressor(Ridge(), SamplingBayesianEncoder([0]), calibrate=3, random_state=0)
    numbers.fit(X.to_numpy().tolist(), y)
    assert numbers.predict_interval(new.to_numpy().tolist())[0].shape == (100,)


def test_a_table_without_categories_can_be_calibrated():
    random = np.random.default_rng(0)
    X = random.normal(size=(1_000, 2))
    y = X[:, 0] + random.normal(size=1_000)
    with pytest.warns(UserWarning, match="nothing to encode") as told:
        model = SamplingRegressor(Ridge(), calibrate=5, random_state=0).fit(X[:500], y[:500])
    assert len(told) == 1  # folds do not repeat what was said
    assert inside(model.predict_interval(X[500:]), y[500:]).mean() == pytest.approx(0.9, abs=0.05)


def test_categories_that_a_fold_lacks_are_no_error_where_unseen_ones_are():
    X, y, new, _, _ = make_rows(400, 300)
    model = SamplingRegressor(Ridge(), SamplingBayesianEncoder(unseen="error"), calibrate=3, random_state=0).fit(X, y)
    assert model.predict_interval(X)[0].shape == (300,)
    with pytest.raises(InputError):
        model.predict_interval(new)


def test_a_copy_by_pickle_says_the_same_and_a_clone_starts_anew():
    X, y = make_table()
    plain = SamplingRegressor(Ridge(), calibrate=3, random_state=0).fit(X, y)
    copied = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(copied.predict_interval(X), plain.predict_interval(X))
    again = clone(plain).fit(X, y)
    np.testing.assert_array_equal(again.predict_interval(X), plain.predict_interval(X))


# ------------------------------------------------------------------------------------- classes


def make_classes(n_rows, n_known, n_classes=2, seed=0):
    random = np.random.default_rng(seed)
    share = random.pareto(1.0, 1_000) + 0.05
    shop, x = random.choice(1_000, n_rows, p=share / share.sum()), random.normal(size=n_rows)
    rates = softmax(1.5 * random.normal(size=(1_000, n_classes))[shop] + np.outer(x, np.arange(n_classes)), axis=1)
    y = np.array(list("abcdef"))[(random.random((n_rows, 1)) > rates.cumsum(axis=1)).sum(axis=1).clip(0, n_classes - 1)]
    X = pandas.DataFrame({"shop": np.char.add("s", shop.astype(str)), "x": x})
    seen = X["shop"][n_known:].map(X["shop"][:n_known].value_counts()).fillna(0)
    return X[:n_known], y[:n_known], X[n_known:].reset_index(drop=True), y[n_known:], np.digitize(seen, KINDS)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_set_holds_the_next_class_however_rare_its_category_is(n_classes):
    covered, kinds = [], []
    for seed in range(3):
        X, y, new, y_new, kind = make_classes(6_000, 2_000, n_classes, seed)
        model = SamplingClassifier(
            LogisticRegression(max_iter=1000),
            recommended_encoder(LogisticRegression(max_iter=1000), interactions=None),
            calibrate=5,
            random_state=0,
        )
        sets = model.fit(X, y).predict_set(new, 0.9)
        assert sets.shape == (4_000, n_classes)
        assert 1 < sets.sum(axis=1).mean() < n_classes
        covered.append(sets[np.arange(4_000), np.searchsorted(model.classes_, y_new)])
        kinds.append(kind)
    covered, kinds = np.concatenate(covered), np.concatenate(kinds)
    for number in np.flatnonzero(np.bincount(kinds) >= 500):
        assert covered[kinds == number].mean() == pytest.approx(0.9, abs=0.04)
    wide = model.predict_set(new, 0.97)
    assert (wide | ~sets).all()
    assert wide.sum() > sets.sum()


def test_sets_of_a_kind_of_few_rows_or_none_are_what_the_probabilities_say():
    covered = {200: [], 20: [], 0: []}
    for seed in range(6):
        random = np.random.default_rng(seed)
        rate, code = random.beta(0.5, 0.5, 1_000), np.r_[np.repeat(np.arange(30), 40), np.arange(30, 1_000)]
        X, y = pandas.DataFrame({"shop": np.char.add("s", code.astype(str))}), random.random(len(code)) < rate[code]
        for n_rare, found in covered.items():  # shops of one row, which a fold has never seen
            known = 1_200 + n_rare
            model = SamplingClassifier(
                LogisticRegression(),
                recommended_encoder(LogisticRegression(), keep_categories=None),
                calibrate=5,
                random_state=0,
            )
            sets = model.fit(X[:known], y[:known]).predict_set(X[known:], 0.9)
            found.append(sets[np.arange(len(sets)), y[known:].astype(int)].mean())
    assert all(np.mean(found) > 0.88 for found in covered.values())


def test_sets_of_rows_that_all_have_one_probability_hold_the_next_class():
    """Unseen shops are all the same to the model, and what its folds said of them was a little more, or less."""
    covered = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        code = np.r_[np.repeat(np.arange(2), 300), np.repeat(np.arange(2, 202), 2), np.arange(202, 602)]
        y = np.r_[22, 18, random.normal(20, 3, 600)][code] + random.normal(size=len(code)) > 21
        X = pandas.DataFrame({"shop": np.char.add("s", code.astype(str))})
        model = SamplingClassifier(LogisticRegression(), calibrate=5, random_state=seed).fit(X[:1_000], y[:1_000])
        covered.append(model.predict_set(X[1_000:])[np.arange(400), y[1_000:].astype(int)].mean())
    assert np.mean(covered) > 0.88


class Bold(LogisticRegression):
    """Says everything too loudly."""

    def predict_proba(self, X):
        return softmax(3 * np.log(super().predict_proba(X)), axis=1)


def test_calibrated_probabilities_come_true_where_those_of_the_model_are_too_bold():
    X, y, new, y_new, _ = make_classes(6_000, 3_000)
    bold, calm = (SamplingClassifier(Bold(), calibrate=cv, random_state=0).fit(X, y) for cv in (None, 5))
    before, after = bold.predict_proba(new), calm.predict_proba(new)
    assert log_loss(y_new, after) < 0.9 * log_loss(y_new, before)
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        rows = (after[:, 1] > low) & (after[:, 1] < low + 0.2)
        assert (y_new[rows] == "b").mean() == pytest.approx(after[rows, 1].mean(), abs=0.06)
    np.testing.assert_allclose(after.sum(axis=1), 1.0)
    np.testing.assert_array_equal(calm.predict(new), calm.classes_[after.argmax(axis=1)])
    lower, upper = calm.predict_category_interval(new[:50])
    assert ((lower >= 0) & (upper <= 1) & (lower <= upper)).all()


def test_a_class_of_one_row_is_no_obstacle():
    X, y, new, _, _ = make_classes(600, 500, 3)
    y = y.copy()
    y[0] = "f"
    model = SamplingClassifier(LogisticRegression(max_iter=1000), calibrate=5, random_state=0).fit(X, y)
    assert model.predict_proba(new).shape == (100, 4)
    assert model.predict_set(new).any(axis=1).all()


def test_probabilities_of_the_second_order_can_be_calibrated():
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"shop": random.choice(list("abcdefgh"), 600)})
    y = random.random(600) < expit(X["shop"].map(ord).to_numpy() - 100.0)
    model = SamplingClassifier(LogisticRegression(), predict_with="taylor", calibrate=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


# ------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("ask", "more"), [("predict_interval", ()), ("predict_quantiles", ([0.5],)), ("sample_targets", ())]
)
def test_without_held_out_rows_nothing_is_said_of_the_next_target(ask, more):
    X, y = make_table()
    model = SamplingRegressor(Ridge(), random_state=0).fit(X, y)
    with pytest.raises(
        InputError, match=f"{ask} needs rows that the model did not learn from: fit it with calibrate=5"
    ):
        getattr(model, ask)(X, *more)


def test_without_held_out_rows_there_are_no_sets():
    X, y, _, _, _ = make_classes(300, 200)
    model = SamplingClassifier(LogisticRegression(), random_state=0).fit(X, y)
    with pytest.raises(InputError, match="predict_set needs rows"):
        model.predict_set(X)


@pytest.mark.parametrize(
    ("calibrate", "message"),
    [
        (1, "calibrate=1: expected a whole number ≥ 2"),
        (True, "calibrate=True: expected a number of folds or a splitter"),
        ("yes", "calibrate='yes': expected a number of folds or a splitter"),
    ],
)
def test_what_makes_no_folds_is_refused(calibrate, message):
    X, y = make_table()
    with pytest.raises(InputError, match=message):
        SamplingRegressor(Ridge(), calibrate=calibrate).fit(X, y)


def test_what_has_no_probabilities_is_not_calibrated():
    X, y, _, _, _ = make_classes(300, 200)
    with pytest.raises(InputError, match="LinearSVC has no predict_proba"):
        SamplingClassifier(LinearSVC(), calibrate=5).fit(X, y)


def test_folds_that_leave_one_class_are_refused():
    with pytest.raises(InputError, match="rows outside of a fold hold one class only"):
        SamplingClassifier(LogisticRegression(), calibrate=5, random_state=0).fit([["a"], ["b"]] * 5, [1] + [0] * 9)


@pytest.mark.parametrize(("ask", "word"), [({"coverage": 1.5}, "coverage"), ({"coverage": "most"}, "coverage")])
def test_coverages_are_shares(even, ask, word):
    model, new, _, _ = even
    with pytest.raises(InputError, match=f"{word}=.*: expected a number from 0 to 1"):
        model.predict_interval(new, **ask)


# ---------------------------------------------------------------------------------- the parts


def test_a_ladder_of_weighted_values_is_that_of_repeated_ones():
    random = np.random.default_rng(0)
    values, weight = random.normal(size=500), random.integers(1, 4, 500)
    levels = np.linspace(0.05, 0.95, 19)
    repeated = Ladder.of(np.repeat(values, weight), np.ones(weight.sum())).at(levels)
    np.testing.assert_allclose(Ladder.of(values, weight.astype(float)).at(levels), repeated, atol=0.02)
    np.testing.assert_allclose(Ladder.of(values, 7.0 * weight).at(levels), Ladder.of(values, 1.0 * weight).at(levels))


def test_a_kind_of_many_rows_speaks_for_itself_and_one_of_none_by_all_others():
    random = np.random.default_rng(0)
    values, own = random.normal(size=20_000), np.arange(20_000) < 10_000
    values[own] += 5
    assert Ladder.of(values, voices(own, np.ones(20_000))).at(0.5) == pytest.approx(5, abs=0.05)
    assert Ladder.of(values, voices(np.zeros(20_000, dtype=bool), np.ones(20_000))).at(0.25) == pytest.approx(
        0, abs=0.05
    )
    few = Ladder.of(values, voices(np.arange(20_000) < 10, np.ones(20_000)))  # ten against a hundred
    assert few.at(0.5) < Ladder.of(values, np.ones(20_000)).at(0.6)
    np.testing.assert_allclose(voices(own, np.full(20_000, 0.3)), 0.3 * voices(own, np.ones(20_000)))


def test_the_kind_of_a_row_is_that_of_its_rarest_category_in_columns_that_have_a_say():
    known = np.array([[0.0, 9.0], [1.0, 9.0], [5.0, 9.0], [6.0, 9.0], [21.0, 21.0]])
    assert kinds_of(known, [0, 1]).tolist() == [0, 1, 2, 3, 4]
    assert kinds_of(known, [1]).tolist() == [3, 3, 3, 3, 4]
    assert kinds_of(known, []).tolist() == [4] * 5


def test_a_column_of_noise_makes_no_row_rare():
    X, y, new, _, _ = make_rows(900, 700)
    X, new = (table.assign(id=[f"id {number}" for number in range(len(table))]) for table in (X, new))
    model = Keeping(Ridge(), calibrate=3, random_state=0).fit(X, y)
    assert model.held_.told.known.shape == (700, 2)
    assert model.held_.relevant.tolist() == [0]


def test_no_count_is_said_to_be_below_zero():
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"c": random.choice(list("abcdef"), 400)})
    y = random.poisson(X["c"].map(dict(zip("abcdef", [0.1, 0.2, 0.5, 1.0, 3.0, 9.0], strict=True)))).astype(float)
    model = SamplingRegressor(Ridge(), SamplingBayesianEncoder(family="poisson"), calibrate=5, random_state=0).fit(X, y)
    lower, upper = model.predict_interval(X)
    assert lower.min() == 0.0
    assert ((lower <= y) & (y <= upper)).mean() > 0.88
    assert model.sample_targets(X[:9], 50, random_state=0).min() >= 0.0
