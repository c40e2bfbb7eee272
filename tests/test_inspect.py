"""Leakage, shrinkage and loss have their defined values, and each display draws the numbers that it holds."""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas
import polars
import pytest
from category_encoders import LeaveOneOutEncoder
from matplotlib.collections import LineCollection
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import TargetEncoder
from sklearn.utils import estimator_html_repr

from catbayes import (
    InputError,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
    Scaled,
)
from catbayes.families import BetaBernoulli, NormalGamma
from catbayes.inspect import (
    DecompositionDisplay,
    LeakageDisplay,
    PosteriorDisplay,
    PriorDisplay,
    ShrinkageDisplay,
    decompose_loss,
    leakage,
    shrinkage,
)
from sales import make_table

LEAKING = SamplingBayesianEncoder(own_target="include", temperature=0.0, prior=Scaled(1e-3))
NASTY = ["$\\frac{$", "$5", "a $b$ c", "line\nbreak", "x" * 200, "שלום", "", "_hidden", "\\alpha $", "%s {}", "\ud800"]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    """A column with signal, one without, and a number; two classes."""
    random = np.random.default_rng(0)
    city, shop = random.integers(15, size=300), random.integers(40, size=300)
    y = np.where(random.random(300) < 1 / (1 + np.exp(-random.normal(size=15)[city])), "yes", "no")
    X = pandas.DataFrame({"city": city.astype(str), "shop": shop.astype(str), "age": random.normal(size=300)})
    X.loc[:9, "city"] = None
    return X, y


@pytest.fixture(scope="module")
def encoder(table):
    return SamplingBayesianEncoder(random_state=0).fit(*table)


def lines_of(ax, label):
    (line,) = (line for line in ax.get_lines() if line.get_label().startswith(label))
    return line.get_xdata(), line.get_ydata()


# ------------------------------------------------------------------------------------------------ leakage


def noise(rows_per_category=4, n_rows=2000, seed=0):
    """A column without signal, and a target that is 1 in three rows of ten."""
    random = np.random.default_rng(seed)
    codes = random.integers(n_rows // rows_per_category, size=n_rows)
    return codes[:, None], (random.random(n_rows) < 0.3).astype(int), random


class Oracle(TransformerMixin, BaseEstimator):
    """Encodes training rows by their own target, and new rows by 0."""

    def fit(self, X, y):
        return self

    def fit_transform(self, X, y):
        return np.asarray(y, dtype=float)[:, None]

    def transform(self, X):
        return np.zeros((len(X), 1))


class SamplingOracle(Oracle):
    def sample(self, X, n_draws):
        return np.ones((n_draws, len(X), 1))

    def transform(self, X):
        raise AssertionError("training encodings are draws, so held-out rows are drawn as well")


@pytest.mark.parametrize("encoder", [Oracle(), SamplingOracle()])
def test_an_encoding_that_is_the_target_has_a_gap_of_one_half(encoder):
    X, y, _ = noise(n_rows=300)
    found = leakage(encoder, X, y)
    for numbers, expected in ((found.trained, 1.0), (found.held_out, 0.5), (found.lower, 0.5), (found.upper, 0.5)):
        np.testing.assert_allclose(numbers, expected)
    assert found.verdicts == ["leaks"]


@pytest.mark.parametrize(
    ("encoder", "rows", "verdict"),
    [
        (LEAKING, 4, "leaks"),
        (SamplingBayesianEncoder(own_target="include", prior=Scaled(0)), 4, "leaks"),
        (LeaveOneOutEncoder(), 20, "leaks"),
        (SamplingBayesianEncoder(), 4, "no leak found"),
        (SamplingBayesianEncoder(prior=Scaled(0)), 4, "no leak found"),
        (SamplingBayesianEncoder(), 20, "no leak found"),
        (TargetEncoder(), 4, "no leak found"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
)
def test_noise_leaks_only_if_the_own_target_is_included(encoder, rows, verdict):
    X, y, _ = noise(rows, n_rows=4000)
    assert leakage(encoder, X, y).verdicts == [verdict]


@pytest.mark.parametrize("target", ["numbers", "classes"])
def test_leaks_of_numbers_and_several_classes_are_found(target):
    X, _, random = noise(4)
    y = random.normal(size=2000) if target == "numbers" else random.choice(["a", "b", "c"], size=2000)
    found = leakage(LEAKING, X, y)
    assert (found.score, found.verdicts) == ("R²" if target == "numbers" else "AUC", ["leaks"])
    assert leakage(SamplingBayesianEncoder(), X, y).verdicts == ["no leak found"]


class SmallLeaks(Oracle):
    """Noise, with a little of the own target in each column: too little to be found in one."""

    def fit_transform(self, X, y):
        return self.transform(X) + 0.06 * y[:, None]

    def transform(self, X):
        return np.random.default_rng(len(X)).normal(size=X.shape)


def test_small_leaks_of_many_columns_are_found_in_all_together():
    random = np.random.default_rng(0)
    X, y = random.integers(9, size=(1500, 25)), random.normal(size=1500)
    found = leakage(SmallLeaks(), X, y, cv=3)
    assert "leaks" not in found.verdicts
    assert (found.together.columns, found.together.verdicts) == ([tuple(range(25))], ["leaks"])
    assert leakage(SmallLeaks(), X[:, :1], y, cv=3).together is None
    X, y = random.integers(100, size=(1500, 12)), random.integers(3, size=1500)
    assert leakage(SamplingBayesianEncoder(), X, y, cv=3).together.verdicts != ["leaks"]
    assert leakage(LEAKING, X, y, cv=3).together.verdicts == ["leaks"]


def test_few_rows_give_no_verdict_or_an_error():
    X, y, _ = noise(4, n_rows=120)
    assert leakage(SamplingBayesianEncoder(prior=Scaled(0)), X, y).verdicts == ["cannot tell"]
    with pytest.raises(InputError, match="40 rows: expected 80"):
        leakage(SamplingBayesianEncoder(), X[:40], y[:40])
    with pytest.raises(InputError, match="expected a transformer"):
        leakage(SamplingBayesianEncoder, X, y)


def test_leakage_is_drawn_as_measured(table):
    X, y = table
    display = LeakageDisplay.from_estimator(SamplingBayesianEncoder(own_target="include", random_state=0), X, y, cv=2)
    ax = display.plot().ax_
    np.testing.assert_array_equal(ax.collections[1].get_offsets()[:, 0], display.gap)
    intervals = [line[:, 0] for line in ax.collections[0].get_segments()]
    np.testing.assert_array_equal(intervals, np.c_[display.lower, display.upper])
    assert [text.get_text() for text in ax.texts] == display.verdicts


# ------------------------------------------------------------------------------------------------ shrinkage


def test_shrinkage_is_the_share_of_the_prior():
    X = pandas.DataFrame({"city": ["a"] * 12 + ["b"] * 4 + ["c"] * 3 + [None]})
    encoder = SamplingBayesianEncoder(prior=BetaBernoulli(alpha=1, beta=3)).fit(X, [0, 1] * 10)
    found = shrinkage(encoder).iloc[0]
    counts = np.array([12, 4, 3, 1])
    assert (found["column"], found["categories"], found["rows"]) == ("city", 4, 20)
    assert (found["prior_mean"], found["prior_strength"]) == (0.25, 4)
    assert found["mostly_prior"] == 2  # c and missing: b has as many rows as the prior
    assert found["rows_mostly_prior"] == 4 / 20
    assert found["mean_shrinkage"] == pytest.approx((counts * 4 / (4 + counts)).sum() / 20)
    table = encoder.posteriors_["city"].query("kind != 'unseen'")
    assert found["mean_shrinkage"] == pytest.approx(np.average(table["shrinkage"], weights=table["count"]))
    centre = np.average(table["mean"], weights=table["count"])
    assert found["signal"] == pytest.approx(np.sqrt(np.average((table["mean"] - centre) ** 2, weights=table["count"])))


@pytest.mark.parametrize(
    ("strength", "verdict"), [(0.5, "mostly data"), (5, "partly"), (60, "mostly prior"), (1e6, "no signal")]
)
def test_the_verdict_depends_on_the_strength_of_the_prior(strength, verdict):
    X, y = polars.DataFrame({"c": ["a"] * 10 + ["b"] * 10}), np.arange(20) / 3
    prior = NormalGamma(centre=1, strength=strength, alpha=3, beta=2)
    found = shrinkage(SamplingBayesianEncoder(prior=prior).fit(X, y))
    assert isinstance(found, polars.DataFrame)
    assert found["mean_shrinkage"][0] == pytest.approx(strength / (strength + 10))
    assert found["prior_mean"][0] == 1.0
    assert found["verdict"][0].startswith(verdict)


def test_shrinkage_is_drawn_with_the_prior_and_areas_by_count(encoder):
    known = encoder.posteriors_["shop"]
    _, given = plt.subplots()
    ax = ShrinkageDisplay.from_estimator(encoder, "shop").plot(given, alpha=0.3).ax_
    assert ax is given
    (points,) = ax.collections
    seen = known[known["kind"] == "seen"]
    np.testing.assert_array_equal(points.get_offsets(), seen[["raw_mean", "mean"]])
    assert np.corrcoef(points.get_sizes(), seen["count"])[0, 1] > 1 - 1e-12
    assert points.get_alpha() == 0.3
    assert lines_of(ax, "prior mean")[1] == [known["mean"].iloc[-1]] * 2


# ------------------------------------------------------------------------------------------------ loss


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_over_draws_is_that_of_the_average_and_the_penalty(weighted):
    X, y = make_table()
    weight = np.random.default_rng(0).uniform(size=600) if weighted else None
    model = SamplingRegressor(Ridge(), random_state=0).fit(X, y)
    parts = decompose_loss(model, X, y, weight, n_draws=7)
    draws = model.predict_draws(X, n_draws=7)
    total = np.average(np.mean((y - draws) ** 2, axis=0), weights=weight)
    assert parts.total == pytest.approx(total, rel=1e-12)
    assert parts.of_average == pytest.approx(np.average((y - draws.mean(axis=0)) ** 2, weights=weight), rel=1e-12)
    assert parts.penalty == pytest.approx(np.average(draws.var(axis=0), weights=weight), rel=1e-9)
    assert sum(parts.shares.values()) == pytest.approx(parts.penalty, rel=1e-9)


def test_the_loss_refuses_other_models_and_targets():
    X, y = make_table()
    model = SamplingRegressor(Ridge(), random_state=0).fit(X, y)
    with pytest.raises(InputError, match="expected one for each row"):
        decompose_loss(model, X, y[:1])
    with pytest.raises(InputError, match="expected a fitted SamplingClassifier"):
        decompose_loss(Ridge().fit([[0]], [0]), X, y)
    labels = SamplingClassifier(LogisticRegression(), n_draws=2).fit(X, y > 0)
    with pytest.raises(InputError, match="not fitted on"):
        decompose_loss(labels, X, ["maybe"] * 600)


def test_the_parts_of_a_loss_are_drawn_as_shares(table):
    X, y = table
    target = (y == "yes") + X["age"].to_numpy()
    model = SamplingRegressor(Ridge(), fit_with="members", n_draws=4, random_state=0).fit(X, target)
    parts = DecompositionDisplay.from_estimator(model, X, target)
    frame = parts.frame().set_index("part")
    np.testing.assert_allclose(frame["loss"].sum(), parts.total)
    np.testing.assert_allclose(frame["share"].sum(), 1)
    assert dict(zip(frame["column"]["penalty"], frame["loss"]["penalty"], strict=True)) == parts.shares
    alone = model.predict_draws(X, columns=[]).var(axis=0).mean()
    assert parts.between_members == pytest.approx(alone, rel=1e-9)
    widths = [bars[0].get_width() for bars in parts.plot().ax_.containers]
    np.testing.assert_allclose(widths[:2], [100 * parts.of_average / parts.total, 100 * parts.penalty / parts.total])
    rest = np.array([*parts.shares.values(), parts.between_members])
    np.testing.assert_allclose(widths[2:], 100 * rest / parts.penalty)


# ------------------------------------------------------------------------------------------------ posteriors


def test_posteriors_are_those_of_the_encoder_and_are_drawn(table, encoder):
    display = PosteriorDisplay.from_estimator(encoder, "city")
    known = encoder.posteriors_["city"]
    frame = display.frame()
    assert len(frame) == 13  # twelve of sixteen, and the unseen one
    assert frame["kind"].tolist()[-1] == "unseen"
    seen = known.loc[known["kind"] != "unseen", "count"]
    assert {seen.max(), seen.min()} <= set(frame["count"][:-1])
    both = frame[:-1].merge(known, on=["category", "kind"], suffixes=("", "_known"))
    assert len(both) == 12
    for name in ("count", "raw_mean", "mean", "lower", "upper"):
        np.testing.assert_allclose(both[name], both[f"{name}_known"])
    ax = display.plot().ax_
    np.testing.assert_array_equal(lines_of(ax, "posterior mean")[0], frame["mean"])
    np.testing.assert_array_equal(lines_of(ax, "observed mean")[0], frame["raw_mean"])
    (bars,) = (child for child in ax.collections if isinstance(child, LineCollection))
    np.testing.assert_array_equal([line[:, 0] for line in bars.get_segments()], frame[["lower", "upper"]])
    assert ax.get_xlabel() == "probability of class yes"
    assert ax.get_title(loc="left") == "city, 12 of 16 categories"
    assert [text.get_text() for text in ax.texts][:-1] == [f"{count:g}" for count in frame["count"]]


def test_categories_coverage_and_class_can_be_chosen(table, encoder):
    display = PosteriorDisplay.from_estimator(encoder, "city", categories=["3", None, "1"], coverage=0.5)
    assert display.categories == ["3", None, "1", None]
    assert display.kinds == ["seen", "missing", "seen", "unseen"]
    wide = PosteriorDisplay.from_estimator(encoder, "city", categories=["3", None, "1"], coverage=0.99)
    assert (wide.upper - wide.lower > display.upper - display.lower).all()
    several = SamplingBayesianEncoder(random_state=0).fit(table[0], np.arange(300) % 3)
    known = several.posteriors_["city"].query("kind == 'seen' and category == '1'")
    for class_ in (0, 1, 2, None):
        display = PosteriorDisplay.from_estimator(several, "city", categories=["1"], class_=class_)
        own = known[known["class"] == (2 if class_ is None else class_)]
        np.testing.assert_allclose([display.mean[0], display.upper[0]], own[["mean", "upper"]].iloc[0])
    with pytest.raises(InputError, match="'Atlantis', which is not in column 'city'"):
        PosteriorDisplay.from_estimator(encoder, "city", categories=["Atlantis"])
    with pytest.raises(InputError, match="no column 'age'"):
        PosteriorDisplay.from_estimator(encoder, "age")


# ------------------------------------------------------------------------------------------------ priors


@pytest.mark.parametrize("family", ["bernoulli", "normal"])
def test_the_likelihood_is_largest_at_the_empirical_prior(table, family):
    X, y = table
    y = (y == "yes").astype(int) if family == "bernoulli" else np.random.default_rng(0).normal(size=300) + (y == "yes")
    encoder = SamplingBayesianEncoder(family=family)
    display = PriorDisplay.from_estimator(encoder, X, y, column="city")
    assert display.best_strength[0] == shrinkage(encoder.fit(X, y))["prior_strength"][0]
    assert display.best_value[0] >= display.values.max() - 1e-3
    near = PriorDisplay.from_estimator(encoder, X, y, column="city", strengths=[display.best_strength[0]])
    np.testing.assert_allclose(near.values[0], display.best_value)
    at, drawn = lines_of(display.plot().ax_, "city: best at")
    np.testing.assert_array_equal(at, display.strengths)
    np.testing.assert_allclose(drawn, display.values[0] - display.best_value[0])


# ------------------------------------------------------------------------------------------------ all displays


def test_names_with_special_characters_are_drawn():
    names = np.array([*NASTY, None, np.nan], dtype=object)
    X, y = np.repeat(names, 4)[:, None], np.tile([0, 0, 1, 1], len(names))
    encoder = SamplingBayesianEncoder(prior=Scaled(1e-3)).fit(X, y)
    display = PosteriorDisplay.from_estimator(encoder, 0, categories=[*NASTY, None]).plot()
    display.figure_.canvas.draw()
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels[3:5] == ["line break", "x" * 29 + "…"]
    assert labels[6] == "(empty)"
    assert labels[-2:] == ["(missing)", "(unseen)"]
    frame = pandas.DataFrame({"$c_1$ \n": ["a", "b"] * 10})
    fitted = SamplingBayesianEncoder().fit(frame, [0, 1] * 10)
    ShrinkageDisplay.from_estimator(fitted, "$c_1$ \n").plot().figure_.canvas.draw()


def test_frames_come_in_the_library_of_the_table_and_are_shown(table):
    X, y = polars.from_pandas(table[0]), table[1]
    encoder = SamplingBayesianEncoder().fit(X, y)
    model = SamplingClassifier(LogisticRegression(), random_state=0)
    for display in (
        PosteriorDisplay.from_estimator(encoder, "city"),
        ShrinkageDisplay.from_estimator(encoder, "city"),
        PriorDisplay.from_estimator(encoder, X, y, strengths=[1, 2]),
        leakage(encoder, X, y, cv=2),
        decompose_loss(model.fit(X, y), X, y),
    ):
        assert isinstance(display.frame(), polars.DataFrame)
        assert repr(display) == f"{type(display).__name__}\n{display.frame()}"


def test_without_matplotlib_numbers_remain_and_plots_name_the_extra(encoder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = ShrinkageDisplay.from_estimator(encoder, "city")
    assert len(display.frame()) == 16
    with pytest.raises(ImportError, match=r'Plots need matplotlib: pip install "catbayes\[plot\]"\.'):
        display.plot()


# ------------------------------------------------------------------------------------------------ notebooks


def test_a_notebook_shows_what_a_fitted_model_encodes(table):
    encoder = SamplingBayesianEncoder(interactions=[("city", "shop")])
    model = SamplingClassifier(RandomForestClassifier(5), encoder, random_state=0)
    assert "RandomForestClassifier" in estimator_html_repr(model)
    assert "recommended_encoder" in estimator_html_repr(SamplingRegressor())
    page = estimator_html_repr(model.fit(*table))
    assert "encoder: city, shop, city &amp; shop" in page
    assert "fit_with=copies" in page
    numbers = SamplingRegressor(Ridge(), random_state=0).fit(table[0][["age"]], np.arange(300.0))
    assert "no categorical column" in estimator_html_repr(numbers)
    assert "columns_" in estimator_html_repr(model.encoder_)
