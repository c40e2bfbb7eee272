"""Effects given everything else: right, calibrated, without the own target, and the same wherever they go."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from scipy.stats import norm
from sklearn.ensemble import RandomForestRegressor

from catbayes import SamplingBayesianEncoder, SamplingRegressor, load, recommended_encoder
from catbayes.effects.gibbs import learn
from catbayes.effects.mixed import Components, Crossed, Equations, solve
from catbayes.errors import InputError

SIZES = (30, 12)


def crossed(seed, n_rows=600, scales=(1.0, 0.5), nested=False):
    """Rows of two columns and two numbers, drawn from the model itself, and the true effects."""
    random = np.random.default_rng(seed)
    slots = [random.integers(0, size, n_rows) for size in SIZES]
    if nested:
        slots[1] = slots[0] // 4
    numbers, weights = random.normal(size=(n_rows, 2)), random.normal(size=2)
    effects = [scale * random.normal(size=size) for scale, size in zip(scales, SIZES, strict=True)]
    z = 2.0 + numbers @ weights + random.normal(size=n_rows)
    z += sum(effect[slot] for effect, slot in zip(effects, slots, strict=True))
    return Crossed(tuple(slots), SIZES, numbers), z, effects


def frame(seed, n_rows=600, nested=False):
    """The same as a table, with categories as text."""
    design, z, effects = crossed(seed, n_rows, nested=nested)
    columns = {name: np.char.add(name, slots.astype(str)) for name, slots in zip("ab", design.slots, strict=True)}
    return pd.DataFrame(columns | {"x": design.numbers[:, 0], "w": design.numbers[:, 1]}), z, effects


@pytest.mark.parametrize(
    "limits",
    [{}, {"MOST_DENSE": 0}, {"MOST_DIRECT": 0}, {"MOST_DIRECT": 0, "MOST_DENSE": 0}, {"MOST_PRODUCTS": 0}],
    ids=["few", "some", "dense by steps", "sparse by steps", "by rows"],
)
def test_terms_solve_the_mixed_model_equations_of_all_rows_and_of_some(limits, monkeypatch):
    for name, limit in limits.items():
        monkeypatch.setattr(f"catbayes.effects.mixed.{name}", limit)
    design, z, _ = crossed(0, nested=True)
    design = replace(design, slots=(*design.slots, design.slots[1]), sizes=(*SIZES, SIZES[1]))
    design = replace(design, factors=(None, None, design.numbers[:, 0]))
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(z)).round(1)
    components = Components(noise=0.7, columns=(1.3, 0.2, 0.4), numbers=0.9)
    columns = [np.eye(n)[s] for s, n in zip(design.slots, design.sizes, strict=True)]
    X = np.hstack([np.ones((len(z), 1)), design.numbers, *columns[:2], design.numbers[:, :1] * columns[2]])
    inverse = np.repeat([0.0, 0.7 / 0.9, 0.7 / 1.3, 0.7 / 0.2, 0.7 / 0.4], [1, 2, *SIZES, SIZES[1]])
    rows = np.arange(0, len(z), 3)
    for equations in (Equations.of(design, z, weight), Equations.of(design, z, weight).without(rows)):
        expected = np.linalg.solve(X.T @ (weight[:, None] * X) + np.diag(inverse), X.T @ (weight * z))
        np.testing.assert_allclose(solve(equations, components), expected, atol=1e-6)
        weight[rows] = 0.0


@pytest.mark.calibration
@pytest.mark.parametrize("nested", [False, True], ids=["crossed", "nested"])
def test_intervals_of_effects_cover_the_truth(nested):
    """Ranks of the true effects in their posteriors are uniform: a fifth in each fifth."""
    ranks = []
    for seed in range(30):
        design, z, truth = crossed(seed, nested=nested)
        equations = Equations.of(design, z, np.ones(len(z)))
        components, variances = learn(equations, np.random.default_rng(seed))
        means = design.effects(solve(equations, components))
        pairs = zip(truth, means, variances, strict=True)
        ranks += [norm.cdf(t - t.mean(), m - m.mean(), np.sqrt(v)) for t, m, v in pairs]
    share = np.histogram(np.concatenate(ranks), bins=5, range=(0.0, 1.0))[0] / sum(map(len, ranks))
    np.testing.assert_allclose(share, 0.2, atol=0.035)


def test_eight_schools_are_as_in_the_book():
    """Means and deviations of A. Gelman's eight schools, by summing over a grid of what their deviation may be."""
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    tau = np.linspace(0.01, 200.0, 8000)[:, None]
    total = 1.0 / (sigma**2 + tau**2)
    centre, doubt = (total * y).sum(axis=1) / total.sum(axis=1), 1.0 / total.sum(axis=1)
    squares = (total * (y - centre[:, None]) ** 2).sum(axis=1)
    weight = np.exp(0.5 * (np.log(doubt) + np.log(total).sum(axis=1) - squares))
    weight /= 1.0 + tau[:, 0] ** 2 / np.average((y - np.average(y, weights=sigma**-2)) ** 2, weights=sigma**-2)
    weight /= weight.sum()
    share = tau**2 * total
    mean = share * (y - centre[:, None])  # next, about the average of the schools
    mean, common = mean - mean.mean(axis=1, keepdims=True), share - share.mean(axis=1, keepdims=True)
    own = share * sigma**2
    variance = 0.75 * own + own.sum(axis=1, keepdims=True) / 64.0 + common**2 * doubt[:, None]
    expected = weight @ mean
    deviation = np.sqrt(weight @ (variance + mean**2) - expected**2)

    design = Crossed((np.arange(8),), (8,), np.empty((8, 0)))
    equations = Equations.of(design, y, sigma**-2.0)
    found = [learn(equations, np.random.default_rng(seed), noise=1.0) for seed in range(12)]
    np.testing.assert_allclose(np.mean([np.sqrt(one.variances[0]) for one in found], axis=0), deviation, rtol=0.1)
    means = [design.effects(solve(equations, components))[0] for components, _ in found]
    assert (np.abs(np.mean(means, axis=0) - np.mean(means) - expected) < 0.1 * deviation).all()


def test_an_effect_is_nearer_to_the_truth_than_a_mean_where_columns_go_together():
    """Dear shops lie in the dear part of the town: the mean of a shop is that of the part as well."""
    random = np.random.default_rng(0)
    part = random.integers(0, 2, 4_000)
    shop = random.integers(0, 20, 4_000) + 20 * (random.random(4_000) < 0.1 + 0.8 * part)
    truth = random.normal(size=40)
    y = truth[shop] + 5.0 * part + random.normal(size=4_000)
    X = pd.DataFrame({"shop": shop.astype(str), "part": part.astype(str)})
    found = SamplingBayesianEncoder(effects=True, random_state=0).fit(X, y).posteriors_["shop"]
    found = found[found["kind"] == "seen"]
    told = truth[found["category"].astype(int)]
    gaps = {name: np.std(found[name] - told) for name in ("mean", "effect")}
    assert gaps["effect"] < 0.2 * gaps["mean"]


@pytest.mark.parametrize("kind", ["numbers", "classes", "three classes", "rates"])
def test_effects_are_found_on_the_scale_of_the_target(kind):
    random = np.random.default_rng(0)
    X, _, (truth, _) = frame(0, n_rows=8_000)
    score = 0.7 * truth[X["a"].str[1:].astype(int)] + X["x"]
    family = "auto"
    if kind == "classes":
        y = np.where(random.random(8_000) < 1.0 / (1.0 + np.exp(-score)), "yes", "no")
    elif kind == "three classes":
        y = np.where(random.random(8_000) < 1.0 / (1.0 + np.exp(-score)), 2, random.integers(0, 2, 8_000))
    elif kind == "rates":
        y, family = random.poisson(np.exp(score)), "poisson"
    else:
        y = score + random.normal(size=8_000)
    encoder = SamplingBayesianEncoder(effects=True, family=family, random_state=0).fit(X, y)
    found = encoder.posteriors_["a"].query("kind == 'seen'")
    if kind == "three classes":
        found = found[found["class"] == 2]
    told = 0.7 * truth[found["category"].str[1:].astype(int)]
    told = told - told.mean()
    slope, _ = np.polyfit(told, found["effect"], 1)
    assert 0.85 < slope < 1.15
    assert np.mean(((found["effect"] - told) / found["effect_sd"]) ** 2) < 2.0


def test_effects_exclude_the_own_target_of_training_rows():
    """Pure noise, rare categories: a forest of deep trees learns nothing from effects that it could not without."""
    random = np.random.default_rng(0)
    for rows in (1, 2, 4, 40):
        X = pd.DataFrame({name: random.integers(0, 3_000 // rows, 3_000).astype(str) for name in "abc"})
        X["nested"] = X["a"].str[:1]
        X["x"] = random.normal(size=3_000)
        y = X["x"] + random.normal(size=3_000)
        forest = RandomForestRegressor(40, min_samples_leaf=1, random_state=0)
        scores = {}
        for effects in (False, True):
            encoder = SamplingBayesianEncoder(effects=effects, random_state=0)
            features = encoder.fit_transform(X[:2_000], y[:2_000])
            scores[effects] = forest.fit(features, y[:2_000]).score(encoder.transform(X[2_000:]), y[2_000:])
        assert scores[True] > scores[False] - 0.03


def test_order_of_rows_changes_nothing_and_a_weight_of_two_is_two_rows():
    X, y, _ = frame(3, n_rows=300)
    X["half"] = np.where(X["b"] < "b5", "first", "second")
    X.loc[X["half"].eq("first").idxmax(), "half"] = "second"  # b lies within its halves, but for one row
    y = y + 5.0 * (X["half"] == "first").to_numpy()
    weight = np.random.default_rng(0).integers(1, 3, 300)
    encoder = SamplingBayesianEncoder(effects=True, random_state=0)
    once = encoder.fit(X, y, sample_weight=weight).transform(X)
    for order in (np.random.default_rng(1).permutation(300), np.arange(300)[::-1]):
        turned = encoder.fit(X.iloc[order], y[order], sample_weight=weight[order]).transform(X)
        np.testing.assert_allclose(turned, once, atol=1e-5)
    twice = np.repeat(np.arange(300), weight)
    repeated = encoder.fit(X.iloc[twice], y[twice]).transform(X)
    np.testing.assert_allclose(repeated[:, [1, 3]], once[:, [1, 3]], atol=0.02)  # quantiles of numbers differ a bit


def test_an_unseen_category_has_no_effect_and_a_missing_one_by_its_policy():
    X, y, _ = frame(5)
    X.loc[X.index % 5 == 0, "a"] = None
    y = y + 5.0 * (X.index % 5 == 0)
    new = pd.DataFrame({"a": ["stranger", None], "b": ["b1", "b1"], "x": [0.0, 0.0], "w": [0.0, 0.0]})
    for missing, known in (("category", True), ("prior", False)):
        encoder = SamplingBayesianEncoder(effects=True, missing=missing, random_state=0).set_output(transform="pandas")
        trained = encoder.fit_transform(X, y)["a_effect"][X.index % 5 == 0]
        found = encoder.transform(new)["a_effect"]
        assert found[0] == 0.0
        assert (found[1] > 3.0) == known
        assert (trained.mean() > 3.0) == known


def test_a_file_and_a_query_have_the_same_effects():
    duckdb = pytest.importorskip("duckdb")
    X, y, _ = frame(6)
    encoder = SamplingBayesianEncoder(effects=True, keep_categories="codes", random_state=0).fit(X, y)
    file = io.BytesIO()
    encoder.save(file)
    loaded = load(file)
    np.testing.assert_array_equal(loaded.transform(X), encoder.transform(X))
    assert loaded.posteriors_["a"].equals(encoder.posteriors_["a"])
    np.testing.assert_array_equal(loaded.sample(X, 2), encoder.sample(X, 2))
    found = duckdb.from_df(X).query("rows", encoder.to_sql(table="rows")).df()
    named = [name for name in found.columns if "_encoded" in name]
    places = [number for number, name in enumerate(encoder.get_feature_names_out()) if name not in ("x", "w")]
    np.testing.assert_allclose(found[named].to_numpy(), encoder.transform(X)[:, places], rtol=1e-12)
    session = pytest.importorskip("onnxruntime").InferenceSession(encoder.to_onnx().SerializeToString())
    given = {name: X[[name]].to_numpy(object) for name in "ab"}
    graph = np.hstack(session.run(["a_encoded", "b_encoded"], given))
    np.testing.assert_allclose(graph, encoder.transform(X)[:, places], rtol=1e-12)


def test_updates_of_effects_raise_an_error():
    X, y, _ = frame(7)
    encoder = SamplingBayesianEncoder(effects=True, random_state=0).fit(X, y)
    for call in (
        lambda: encoder.partial_fit(X, y),
        lambda: encoder + encoder,
        lambda: SamplingBayesianEncoder(effects=True).fit(encoder.evidence_ + encoder.evidence_),
    ):
        with pytest.raises(InputError, match="all rows at once"):
            call()


def test_layers_have_no_effects(torch):
    from catbayes.torch import PosteriorEmbedding

    X, y, _ = frame(7)
    encoder = SamplingBayesianEncoder(effects=True, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="a layer cannot"):
        PosteriorEmbedding(encoder)


def imports(seed, slopes=1.0, n_rows=6_000, n_categories=600):
    """Amounts that go with a number, more in some of many categories than in others."""
    random = np.random.default_rng(seed)
    category, x = random.integers(0, n_categories, n_rows), random.normal(size=n_rows)
    own = random.normal(size=(2, n_categories))
    y = own[0][category] + (0.5 + slopes * own[1][category]) * x + random.normal(size=n_rows)
    return pd.DataFrame({"category": category.astype(str), "x": x, "other": random.normal(size=n_rows)}), y, own


def test_slopes_are_found_with_their_standard_errors():
    X, y, (_, truth) = imports(0)
    X = X.assign(x=4.0 * X["x"])  # slopes are for one unit of the number
    encoder = SamplingBayesianEncoder(effects={"category": ["x"]}, random_state=0).fit(X, y)
    found = encoder.posteriors_["category"].query("kind == 'seen'")
    expected = (truth - truth.mean())[found["category"].astype(int)] / 4.0  # about the slope that all have in common
    ranks = norm.cdf(expected, found["slope_x"], found["slope_x_sd"])
    np.testing.assert_allclose(np.histogram(ranks, bins=4, range=(0, 1))[0] / len(ranks), 0.25, atol=0.06)
    assert np.corrcoef(expected, found["slope_x"])[0, 1] > 0.9
    assert abs(encoder.posteriors_["category"].query("kind == 'unseen'")["slope_x"].item()) < 1e-9


def test_an_effect_is_that_at_the_number_of_the_row():
    X, y, _ = imports(1)
    encoder = SamplingBayesianEncoder(effects={"category": ["x"]}, random_state=0)
    encoder.set_output(transform="pandas").fit(X, y)
    found, table = encoder.transform(X), encoder.posteriors_["category"].set_index("category")
    line = (X["x"] - X["x"].mean()) / X["x"].std(ddof=0)
    expected = table["effect"].reindex(X["category"]).to_numpy() + line * found["category_slope_x"]
    np.testing.assert_allclose(found["category_effect"], expected, rtol=1e-9)
    array = SamplingBayesianEncoder(["category"], effects=encoder.effects, random_state=0).fit(X, y).transform(X)
    np.testing.assert_allclose(array, found.to_numpy())


def test_slopes_that_are_there_are_found_and_gain_and_others_are_left_out():
    """The number that counts for more in some categories is found among others; where there is none, nothing is."""
    trees = LGBMRegressor(n_estimators=100, verbose=-1, n_jobs=1)
    for slopes, names in ((1.0, {"category_slope_x"}), (0.0, set())):
        X, y, _ = imports(2, slopes)
        scores = {}
        for effects in ("auto", True):
            own = None if effects == "auto" else recommended_encoder(trees, effects=effects)
            model = SamplingRegressor(trees, own, n_draws=1, random_state=0).fit(X[:4_000], y[:4_000])
            scores[effects] = 1.0 - model.score(X[4_000:], y[4_000:])
            found = {name for name in model.get_feature_names_out() if "slope" in name}
            assert found == (names if effects == "auto" else set())
        assert scores["auto"] < (0.75 if names else 1.005) * scores[True]


def test_slopes_go_to_files_and_not_to_queries():
    X, y, _ = imports(3, n_rows=1_000, n_categories=50)
    encoder = SamplingBayesianEncoder(effects={"category": ["x"]}, random_state=0).fit(X, y)
    file = io.BytesIO()
    encoder.save(file)
    np.testing.assert_array_equal(load(file).transform(X), encoder.transform(X))
    with pytest.raises(InputError, match="lookup tables have none"):
        encoder.to_sql()


def test_of_hundreds_of_columns_the_informative_ones_have_effects():
    random = np.random.default_rng(0)
    slots = random.integers(0, 8, (800, 300))
    truth = random.normal(size=8)
    X = pd.DataFrame(np.char.add("c", slots.astype(str)), columns=[f"x{number}" for number in range(300)])
    y = truth[slots[:, 290]] + truth[slots[:, 150]] + random.normal(size=800)
    encoder = SamplingBayesianEncoder(effects=True, random_state=0).set_output(transform="pandas")
    for found in (encoder.fit(X, y).transform(X), encoder.fit_transform(X, y)):
        effects = found[[f"x{number}_effect" for number in range(300)]].to_numpy()
        assert np.flatnonzero(effects.any(axis=0)).tolist() == [150, 290]
        assert np.corrcoef(effects[:, 290], truth[slots[:, 290]])[0, 1] > 0.95
