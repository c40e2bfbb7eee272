"""A display holds the right numbers, and draws what it holds."""

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
from scipy.stats import beta
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from catbayes import (
    BetaBernoulli,
    InputError,
    MultiTargetEncoder,
    NormalGamma,
    SamplingBayesianEncoder,
    SamplingClassifier,
    SamplingRegressor,
    gather,
)
from catbayes.diagnostics import decompose_loss, leakage
from catbayes.displays import (
    DecompositionDisplay,
    DrawsDisplay,
    ImportanceDisplay,
    LeakageDisplay,
    PosteriorDisplay,
    PriorDisplay,
    ShrinkageDisplay,
)
from catbayes.displays.plotting import drawable
from sales import PLAIN

NASTY = [
    "$\\frac{$",
    "$5",
    "a $b$ c",
    "line\nbreak",
    "x" * 200,
    "שלום",
    "",
    "_hidden",
    "\\alpha $",
    "tab\t",
    "%s {}",
    "\ud800",
    "$",
]


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


def test_posteriors_are_those_of_the_encoder_and_are_drawn_so(table, encoder):
    display = PosteriorDisplay.from_estimator(encoder, "city")
    known = encoder.posteriors_["city"]
    frame = display.frame()
    assert len(frame) == 13  # twelve of sixteen, from the most frequent to the rarest, and the unseen one
    assert frame["kind"].tolist()[-1] == "unseen"
    seen = known.loc[known["kind"] != "unseen", "count"]
    assert {seen.max(), seen.min()} <= set(frame["count"][:-1])
    both = frame[:-1].merge(known, on=["category", "kind"], suffixes=("", "_known"))
    assert len(both) == 12
    for name in ("count", "raw_mean", "mean", "lower", "upper"):
        np.testing.assert_allclose(both[name], both[f"{name}_known"])
    ax = display.plot().ax_
    np.testing.assert_array_equal(lines_of(ax, "posterior mean")[0], frame["mean"])
    np.testing.assert_array_equal(lines_of(ax, "mean as counted")[0], frame["raw_mean"])
    (bars,) = (child for child in ax.collections if isinstance(child, LineCollection))
    np.testing.assert_array_equal([line[:, 0] for line in bars.get_segments()], frame[["lower", "upper"]])
    assert ax.get_xlabel() == "probability of class yes"
    assert ax.get_title(loc="left") == "city, 12 of 16 categories"
    assert [text.get_text() for text in ax.texts][:-1] == [f"{count:g}" for count in frame["count"]]


def test_categories_are_chosen_by_what_they_owe_the_prior():
    """Ten of a thousand categories are neither known well nor hardly at all, and these are where the prior acts."""
    counts = [*[1_000] * 200, *[3, 5, 8, 12, 20, 30, 50, 80, 120, 200], *[1] * 790]
    city = np.repeat(np.arange(1_000).astype(str), counts)
    rates = np.random.default_rng(0).beta(5, 5, 1_000)
    y = np.random.default_rng(1).random(len(city)) < np.repeat(rates, counts)
    encoder = SamplingBayesianEncoder(prior=BetaBernoulli(5, 5)).fit(city[:, None], y)
    display = PosteriorDisplay.from_estimator(encoder, 0)
    assert {1_000, 1} <= set(display.count[:-1])
    assert len(set(counts[200:210]) & set(display.count[:-1])) >= 7
    assert (np.diff(display.mean[:-1]) <= 0).all()
    flat = SamplingBayesianEncoder(prior=0).fit(city[:, None], y)  # nothing is shrunk: the frequent and the rare
    assert {1_000, 1} <= set(PosteriorDisplay.from_estimator(flat, 0).count[:-1])


@pytest.mark.parametrize("library", [pandas, polars])
def test_plots_name_the_target_where_it_has_a_name(table, library):
    X, labels = table
    numbers = np.arange(300) % 7 + 0.5
    named = pandas.DataFrame({"amount": numbers, "paid": labels})
    if library is polars:
        X, named = polars.from_pandas(X), polars.from_pandas(named)
    amount, paid = named["amount"], named["paid"]

    def told(y, **settings):
        encoder = SamplingBayesianEncoder(**settings).fit(X, y)
        return ShrinkageDisplay.from_estimator(encoder, "city").plot().ax_.get_xlabel().removesuffix(", as counted")

    assert told(paid) == "probability of paid = yes"
    assert told(amount) == "mean of amount"
    assert told(amount, family="lognormal") == "mean of log amount"
    assert told(labels) == "probability of class yes"
    assert told(numbers) == "mean of the target"
    assert told(numbers, family="lognormal") == "mean of the logarithm of the target"
    model = SamplingRegressor(Ridge(), n_draws=2, random_state=0, **PLAIN)
    for display in (
        DrawsDisplay.from_estimator(model, X, amount, n_draws=(1, 2), cv=2),
        PriorDisplay.from_estimator(SamplingBayesianEncoder(), X, amount, strengths=[1, 10]),
        LeakageDisplay.from_estimator(SamplingBayesianEncoder(), X, amount, cv=2),
        DecompositionDisplay.from_estimator(model.fit(X, amount), X, amount),
    ):
        assert display.plot().ax_.get_title(loc="left") == "Predicting amount"
    assert PosteriorDisplay.from_estimator(model, "city").target == "mean of amount"
    assert DrawsDisplay.from_estimator(model, X, numbers, n_draws=(1,), cv=2).plot().ax_.get_title(loc="left") == ""


def test_the_name_of_the_target_is_kept_in_files_parts_and_sums(table, tmp_path):
    X, labels = table
    whole = X.assign(paid=labels)
    halves = [SamplingBayesianEncoder().partial_fit(part, "paid") for part in (whole[:150], whole[150:])]
    (halves[0] + halves[1]).save(tmp_path / "encoder")
    whole.to_parquet(tmp_path / "table.parquet")
    rates = X.assign(claims=np.arange(300) % 3, days=2.0)
    by_days = SamplingBayesianEncoder(family="poisson").fit(rates, "claims", exposure="days")
    several = MultiTargetEncoder().fit(X, whole[["paid"]].assign(amount=np.arange(300) / 7))
    found = [
        *halves,
        halves[0] + halves[1],
        SamplingBayesianEncoder.load(tmp_path / "encoder"),
        SamplingBayesianEncoder().fit(tmp_path / "table.parquet", "paid"),
        SamplingBayesianEncoder().fit(gather(tmp_path / "table.parquet", target="paid")),
        several.encoders_["paid"],
    ]
    for encoder in found:
        assert PosteriorDisplay.from_estimator(encoder, "city").target == "probability of paid = yes"
    assert PosteriorDisplay.from_estimator(several.encoders_["amount"], "city").target == "mean of amount"
    assert PosteriorDisplay.from_estimator(by_days, "city").target == "mean of claims per unit of exposure"
    assert "about paid, 2 classes" in repr(halves[0].evidence_)


def test_large_numbers_are_written_with_their_thousands(table):
    X, _ = table
    salary = pandas.Series(40_000.5 + 90.0 * np.arange(300), name="salary")
    ax = PosteriorDisplay.from_estimator(SamplingBayesianEncoder(prior=0).fit(X, salary), "city").plot().ax_
    ax.figure.canvas.draw()
    assert {"50,000", "55,000"} & {label.get_text() for label in ax.get_xticklabels()}


def test_chosen_categories_come_in_the_order_asked_for_with_the_coverage_asked_for(encoder):
    display = PosteriorDisplay.from_estimator(encoder, "city", categories=["3", None, "1"], coverage=0.5)
    assert display.categories == ["3", None, "1", None]
    assert display.kinds == ["seen", "missing", "seen", "unseen"]
    wide = PosteriorDisplay.from_estimator(encoder, "city", categories=["3", None, "1"], coverage=0.99)
    assert (wide.upper - wide.lower > display.upper - display.lower).all()
    with pytest.raises(InputError, match="'Atlantis', which column 'city' does not hold"):
        PosteriorDisplay.from_estimator(encoder, "city", categories=["Atlantis"])
    with pytest.raises(InputError, match="no column 'age'"):
        PosteriorDisplay.from_estimator(encoder, "age")
    with pytest.raises(InputError, match=r"class_='maybe': expected one of \['yes'\]"):
        PosteriorDisplay.from_estimator(encoder, "city", class_="maybe")


@pytest.mark.parametrize("strength", [0.8, 20])
def test_densities_are_those_of_the_posterior(strength):
    prior = BetaBernoulli(alpha=strength / 2, beta=strength / 2)
    encoder = SamplingBayesianEncoder(prior=prior).fit([["a"]] * 5 + [["b"]] * 9, [0, 1] * 7)
    display = PosteriorDisplay.from_estimator(encoder, 0, kind="density")
    law = beta(strength / 2, strength / 2)
    np.testing.assert_allclose(display.quantiles[-1], law.ppf(np.linspace(0.002, 0.998, 250)), atol=1e-9)
    fill = display.plot().ax_.collections[-1].get_paths()[0].vertices  # the unseen one
    height = 2.3 - fill[:, 1]
    inner = (np.abs(fill[:, 0] - 0.5) < 0.2) & (height > 1e-9)
    assert inner.sum() > 20
    ratio = height[inner] / law.pdf(fill[inner, 0])
    np.testing.assert_allclose(ratio, ratio.mean(), rtol=0.02)


def test_classes_and_models_are_read_too(table):
    X, _ = table
    y = np.arange(300) % 3
    several = SamplingBayesianEncoder(random_state=0).fit(X, y)
    known = several.posteriors_["city"].query("kind == 'seen' and category == '1'")
    for class_ in (0, 1, 2, None):
        display = PosteriorDisplay.from_estimator(several, "city", categories=["1"], class_=class_)
        own = known[known["class"] == (2 if class_ is None else class_)]
        np.testing.assert_allclose([display.mean[0], display.upper[0]], own[["mean", "upper"]].iloc[0])
    model = SamplingRegressor(Ridge(), random_state=0, **PLAIN).fit(X, y.astype(float))
    numbers = ShrinkageDisplay.from_estimator(model, "city")
    known = model.encoder_.posteriors_["city"].query("kind != 'unseen'")
    np.testing.assert_array_equal(numbers.mean, known["mean"])
    assert numbers.target == "mean of the target"


def test_shrinkage_is_drawn_with_the_prior_and_areas_by_count(encoder):
    display = ShrinkageDisplay.from_estimator(encoder, "shop")
    known = encoder.posteriors_["shop"]
    ax = display.plot(alpha=0.3).ax_
    (points,) = ax.collections
    seen = known[known["kind"] == "seen"]
    np.testing.assert_array_equal(points.get_offsets(), seen[["raw_mean", "mean"]])
    assert np.corrcoef(points.get_sizes(), seen["count"])[0, 1] > 1 - 1e-12
    assert points.get_alpha() == 0.3
    assert lines_of(ax, "prior mean")[1] == [known["mean"].iloc[-1]] * 2
    given = ShrinkageDisplay.from_predictions([0, 1], [0.4, 0.6], [3, 4]).plot().ax_.collections[0].get_offsets()
    np.testing.assert_array_equal(given, [[0, 0.4], [1, 0.6]])
    with pytest.raises(InputError, match="expected one number for each category"):
        ShrinkageDisplay.from_predictions([0, 1], [0.5], [1, 1])


def test_scores_by_draws_are_those_of_cross_validation(table):
    X, y = table
    model = SamplingClassifier(LogisticRegression(), random_state=0)
    display = DrawsDisplay.from_estimator(model, X, y, n_draws=(1, 3), cv=3, scoring="roc_auc")
    for number, scores in zip((1, 3), display.scores, strict=True):
        one = SamplingClassifier(LogisticRegression(), n_draws=number, random_state=0)
        expected = [
            cross_val_score(one, X, y, cv=[fold], scoring="roc_auc")[0] for fold in StratifiedKFold(3).split(X, y)
        ]
        np.testing.assert_allclose(scores, expected)
    frame, ax = display.frame(), display.plot(color="red").ax_
    np.testing.assert_allclose(frame["sd"], display.scores.std(axis=1))
    at, drawn = lines_of(ax, "mean over folds")
    np.testing.assert_array_equal(at, [1, 3])
    np.testing.assert_array_equal(drawn, frame["mean"])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose(
        [band.min(), band.max()], [(frame["mean"] - frame["sd"]).min(), (frame["mean"] + frame["sd"]).max()]
    )
    assert model.n_draws is None
    with pytest.raises(InputError, match="expected a SamplingClassifier"):
        DrawsDisplay.from_estimator(LogisticRegression(), X, y)


def test_all_settings_are_scored_on_the_same_random_folds(table):
    X, y = table
    model = SamplingClassifier(LogisticRegression(), random_state=0)
    display = DrawsDisplay.from_estimator(model, X, y, n_draws=(2, 2), cv=KFold(3, shuffle=True))
    np.testing.assert_array_equal(*display.scores)


@pytest.mark.parametrize("family", ["bernoulli", "normal"])
def test_likelihood_by_strength_is_the_family_s_and_peaks_at_the_empirical_prior(table, family):
    X, y = table
    y = (y == "yes").astype(int) if family == "bernoulli" else np.random.default_rng(0).normal(size=300) + (y == "yes")
    display = PriorDisplay.from_estimator(SamplingBayesianEncoder(family=family), X, y, column="city")
    fitted = SamplingBayesianEncoder(family=family).fit(X, y).encoding_.columns[0].posteriors
    prior = fitted.prior.prior
    for strength, value in zip(display.strengths[::20], display.values[0, ::20], strict=True):
        if family == "bernoulli":
            share = prior.alpha / prior.strength
            other = BetaBernoulli(strength * share, strength * (1 - share))
        else:
            other = NormalGamma(prior.centre, strength, prior.alpha, prior.beta)
        seen = fitted.statistics.take(np.flatnonzero(fitted.statistics.count))
        np.testing.assert_allclose(value, other.log_marginal(seen).sum())
    assert display.best_strength == [prior.strength]
    assert display.best_value[0] >= display.values.max() - 1e-3
    ax = display.plot().ax_
    at, drawn = lines_of(ax, "city: best at")
    np.testing.assert_array_equal(at, display.strengths)
    np.testing.assert_allclose(drawn, display.values[0] - display.best_value[0])


def test_a_column_without_signal_is_marked_at_the_edge():
    X, y = np.repeat(np.arange(30), 10)[:, None], np.tile([1, 1, 1, 0, 0, 0, 0, 0, 0, 0], 30)
    ax = PriorDisplay.from_estimator(SamplingBayesianEncoder(), X, y).plot().ax_
    assert lines_of(ax, "0: best beyond 3,000 rows")[0].max() == 3000
    assert ax.get_lines()[-1].get_xdata() == [3000]


def test_scores_by_gamma_are_those_of_cross_validation(table):
    X, y = table
    display = PriorDisplay.from_estimator(
        SamplingClassifier(LogisticRegression(), random_state=0), X, y, strengths=[0, 0.1], cv=2
    )
    for prior, value in zip((0, 0.1, "empirical"), [*display.values[0], display.best_value[0]], strict=True):
        model = SamplingClassifier(LogisticRegression(), SamplingBayesianEncoder(prior=prior), random_state=0)
        np.testing.assert_allclose(value, cross_val_score(model, X, y, cv=2).mean())
    ax = display.plot().ax_
    np.testing.assert_array_equal(lines_of(ax, "mean over folds")[1], display.frame()["mean"])
    assert lines_of(ax, "empirical prior")[1] == [display.best_value[0]] * 2


def test_importances_are_those_of_the_two_forests(table):
    X, y = table[0], (table[1] == "yes").astype(int)
    forest = RandomForestClassifier(20, random_state=3)
    model = SamplingClassifier(forest, SamplingBayesianEncoder(mapping="polynomial"), random_state=0, **PLAIN)
    display = ImportanceDisplay.from_estimator(model, X, y, reference=LeaveOneOutEncoder())
    each = model.fit(X, y).estimator_.feature_importances_
    np.testing.assert_allclose(display.sampling, [each[:2].sum(), each[2:4].sum(), each[4]])
    features = LeaveOneOutEncoder(["city", "shop"]).fit_transform(X, y).to_numpy()
    plain = RandomForestClassifier(20, random_state=3).fit(features, y)
    np.testing.assert_allclose(display.reference, plain.feature_importances_)
    assert display.frame()["encoded"].tolist() == [True, True, False]
    ax = display.plot().ax_
    order = np.argsort(-display.reference)
    for bars, shares in zip(ax.containers, (display.reference, display.sampling), strict=True):
        np.testing.assert_allclose([bar.get_width() for bar in bars], shares[order])
    with pytest.raises(InputError, match="has no feature_importances_"):
        ImportanceDisplay.from_estimator(SamplingClassifier(LogisticRegression()), X, y)
    with pytest.raises(InputError, match="of an estimator that has"):
        ImportanceDisplay.from_estimator(SamplingClassifier(), X, y)


def test_the_reference_is_scikit_learn_s_encoder_and_repeats(table):
    model = SamplingClassifier(RandomForestClassifier(10), random_state=0)
    one, two = (ImportanceDisplay.from_estimator(model, *table) for _ in range(2))
    assert one.reference_name == "TargetEncoder"
    np.testing.assert_array_equal(one.reference, two.reference)


def test_leakage_is_drawn_as_measured(table):
    X, y = table
    encoder = SamplingBayesianEncoder(own_target="include", draws=0.0, random_state=0)
    found = leakage(encoder, X, y, cv=2)
    display = LeakageDisplay.from_estimator(encoder, X, y, cv=2)
    pandas.testing.assert_frame_equal(display.frame(), found.frame())
    ax = LeakageDisplay(found).plot().ax_
    np.testing.assert_array_equal(ax.collections[1].get_offsets()[:, 0], found.gap)
    np.testing.assert_array_equal(
        [line[:, 0] for line in ax.collections[0].get_segments()], np.c_[found.lower, found.upper]
    )
    assert [text.get_text() for text in ax.texts] == found.verdicts


def test_the_parts_of_a_loss_add_up_and_are_drawn_as_shares(table):
    X, y = table
    target = (y == "yes") + X["age"].to_numpy()
    model = SamplingRegressor(Ridge(), fit_with="members", n_draws=4, random_state=0).fit(X, target)
    display, parts = DecompositionDisplay.from_estimator(model, X, target), decompose_loss(model, X, target)
    frame = display.frame().set_index("part")
    assert frame.loc["of_average", "loss"] == parts.of_average
    np.testing.assert_allclose(frame["loss"].sum(), parts.total)
    np.testing.assert_allclose(frame["share"].sum(), 1)
    assert dict(zip(frame["column"]["penalty"], frame["loss"]["penalty"], strict=True)) == parts.shares
    widths = [bars[0].get_width() for bars in display.plot().ax_.containers]
    np.testing.assert_allclose(widths[:2], [100 * parts.of_average / parts.total, 100 * parts.penalty / parts.total])
    rest = np.array([*parts.shares.values(), parts.between_members])
    np.testing.assert_allclose(widths[2:], 100 * rest / parts.penalty)


def test_predictions_alone_can_be_taken_apart():
    random = np.random.default_rng(0)
    y, draws = random.normal(size=50), random.normal(size=(4, 50))
    parts = DecompositionDisplay.from_predictions(y, draws).plot().parts
    np.testing.assert_allclose(parts.total, ((draws - y) ** 2).mean())
    np.testing.assert_allclose(parts.of_average, ((draws.mean(axis=0) - y) ** 2).mean())
    with pytest.raises(InputError, match="expected \\(n_draws, n_rows\\)"):
        DecompositionDisplay.from_predictions(y, draws.T)


def test_a_classifier_s_loss_is_named(table):
    X, y = table
    model = SamplingClassifier(LogisticRegression(), random_state=0).fit(X, y)
    ax = DecompositionDisplay.from_estimator(model, X, y).plot().ax_
    assert ax.get_yticklabels()[0].get_text().startswith("log-loss")


@pytest.mark.parametrize("kind", ["interval", "density"])
def test_nasty_names_are_drawn(kind):
    names = np.array([*NASTY, None, np.nan], dtype=object)
    X, y = np.repeat(names, 4)[:, None], np.tile([0, 0, 1, 1], len(names))
    encoder = SamplingBayesianEncoder(prior=1e-3).fit(X, y)
    for display in (
        PosteriorDisplay.from_estimator(encoder, 0, categories=[*NASTY, None], kind=kind),
        ShrinkageDisplay.from_estimator(encoder, 0),
    ):
        figure = display.plot().figure_
        figure.canvas.draw()
    frame = pandas.DataFrame({"$c_1$ \n": ["a", "b"] * 10})
    fitted = SamplingBayesianEncoder().fit(frame, [0, 1] * 10)
    ShrinkageDisplay.from_estimator(fitted, "$c_1$ \n").plot().figure_.canvas.draw()


def test_names_are_cut_and_kept_from_mathematics():
    assert drawable("x" * 200) == "x" * 29 + "…"
    assert drawable("a $b$\nc") == r"a \$b\$ c"
    assert [drawable(name) for name in (None, float("nan"), "", "\n", 7)] == ["(missing)"] * 2 + ["(empty)"] * 2 + ["7"]
    assert drawable("\ud800").isprintable()


def test_plots_go_into_the_axes_given(encoder):
    figure, (left, right) = plt.subplots(1, 2)
    display = ShrinkageDisplay.from_estimator(encoder, "city").plot(ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert right.has_data()
    assert not left.has_data()


def test_frames_come_in_the_library_of_the_table(table):
    X, y = polars.from_pandas(table[0]), table[1]
    encoder = SamplingBayesianEncoder().fit(X, y)
    model = SamplingClassifier(LogisticRegression(), random_state=0)
    displays = [
        PosteriorDisplay.from_estimator(encoder, "city"),
        ShrinkageDisplay.from_estimator(encoder, "city"),
        DrawsDisplay.from_estimator(model, X, y, n_draws=[1], cv=2),
        PriorDisplay.from_estimator(encoder, X, y, strengths=[1, 2]),
        PriorDisplay.from_estimator(model, X, y, strengths=[0.1], cv=2),
        ImportanceDisplay.from_estimator(SamplingClassifier(RandomForestClassifier(5), random_state=0), X, y),
        LeakageDisplay.from_estimator(encoder, X, y, cv=2),
        DecompositionDisplay.from_estimator(model.fit(X, y), X, y),
    ]
    assert all(isinstance(display.frame(), polars.DataFrame) for display in displays)


def test_without_matplotlib_numbers_remain_and_plots_say_what_to_install(encoder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = ShrinkageDisplay.from_estimator(encoder, "city")
    assert len(display.frame()) == 16
    with pytest.raises(ImportError, match=r'Plots need matplotlib: pip install "catbayes\[plot\]"\.'):
        display.plot()


def test_displays_of_all_classes_show_the_same_categories_and_add_up_to_one():
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"city": random.integers(0, 40, 900).astype(str)})
    y = random.choice(["bus", "car", "walk"], 900)
    found = PosteriorDisplay.by_class(SamplingBayesianEncoder().fit(X, y), "city", kind="density")
    assert list(found) == ["bus", "car", "walk"]
    assert len({tuple(display.categories) for display in found.values()}) == 1
    np.testing.assert_allclose(sum(display.mean for display in found.values()), 1.0)
    assert [display.target for display in found.values()] == [f"probability of class {label}" for label in found]
    binary = PosteriorDisplay.by_class(SamplingBayesianEncoder().fit(X, y == "bus"), "city")
    assert list(binary) == [True]
    with pytest.raises(InputError, match="has no classes"):
        PosteriorDisplay.by_class(SamplingBayesianEncoder().fit(X, random.normal(size=900)), "city")
