"""Hierarchies: a category leans on its parent, learnt from its siblings; what is unseen draws from what is above it."""

import io
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMClassifier
from scipy.special import expit
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

import catbayes
from catbayes import InputError, SamplingBayesianEncoder, SamplingClassifier, encode, gather
from catbayes.core.posteriors import Posteriors
from catbayes.families import (
    BetaBernoulli,
    BetaBinomial,
    BetaNegativeBinomial,
    DirichletCategorical,
    GammaPoisson,
    NormalGamma,
)
from catbayes.families.arithmetic import around
from catbayes.kinds import Nested
from catbayes.kinds.linked_prior import LinkedPrior
from catbayes.kinds.tree import Tree as Links
from catbayes.kinds.tree import _variance

HIERARCHY = {"postcode": Nested(["region", "country"])}
TARGETS = ["bernoulli", "categorical", "normal", "poisson", "negative_binomial", "binomial"]


def simulate(n_postcodes=20_000, n_regions=500, n_rows=100_000, seed=0):
    """Postcodes whose log-odds vary about those of their regions, and regions about countries; many are rare."""
    random = np.random.default_rng(seed)
    country_of, region_of = random.integers(0, 10, n_regions), random.integers(0, n_regions, n_postcodes)
    country = random.normal(scale=0.5, size=10)
    region = country[country_of] + random.normal(scale=0.5, size=n_regions)
    postcode = region[region_of] + random.normal(scale=0.5, size=n_postcodes)
    share = random.pareto(1.2, n_postcodes) + 0.1
    code = random.choice(n_postcodes, n_rows, p=share / share.sum())
    table = pd.DataFrame({"postcode": code, "region": region_of[code], "country": country_of[region_of[code]]})
    chance = expit(postcode[code] - 1.0)
    return table.astype(str), random.binomial(1, chance), chance


def make_y(family, chance, seed=0):
    random = np.random.default_rng(seed)
    return {
        "bernoulli": lambda: random.binomial(1, chance),
        "categorical": lambda: random.binomial(2, chance),
        "normal": lambda: 1e6 + 5 * chance + random.normal(size=len(chance)),
        "poisson": lambda: random.poisson(3 * chance),
        "negative_binomial": lambda: random.negative_binomial(2.0, 2.0 / (2.0 + 3 * chance)),
        "binomial": lambda: random.binomial(1, chance).astype(float),
    }[family]()


def test_unseen_and_rare_postcodes_are_predicted_better_than_without_their_regions():
    table, y, chance = simulate()
    train, test = slice(0, 50_000), slice(50_000, None)
    found = {}
    for name, hierarchy in (("flat", None), ("tree", HIERARCHY)):
        encoder = SamplingBayesianEncoder(["postcode"], kinds=hierarchy, random_state=0).fit(table[train], y[train])
        found[name] = encoder.transform(table[test])[:, 0].astype(float)
    rows = table["postcode"][train].value_counts().reindex(table["postcode"][test]).fillna(0).to_numpy()
    for some, gain in ((rows == 0, 0.02), ((rows > 0) & (rows <= 5), 0.01), (rows > 50, -0.001)):
        loss = {name: log_loss(y[test][some], p[some]) for name, p in found.items()}
        assert loss["tree"] < loss["flat"] - gain
        assert loss["tree"] > log_loss(y[test][some], chance[test][some])  # nothing is better than the truth


@pytest.mark.parametrize("family", TARGETS)
@pytest.mark.parametrize(("ours", "top"), [(40.0, 10.0), (2.0, 1.5), (0.3, 0.5)])
def test_strengths_of_every_level_are_found(family, ours, top):
    """θ of 200 parents about a root, of 30 children about each: each with the strength that it was drawn with."""
    random = np.random.default_rng(3)
    children = np.repeat(np.arange(200), 30)
    root = {
        "bernoulli": BetaBernoulli([0.3 * top], [0.7 * top]),
        "categorical": DirichletCategorical([[0.2 * top, 0.3 * top, 0.5 * top]]),
        "normal": NormalGamma([5.0], [top], [1e6], [1e6]),
        "poisson": GammaPoisson([2.0 * top], [top]),
        "negative_binomial": BetaNegativeBinomial([2.0], [top], [10.0]),
        "binomial": BetaBinomial([0.3 * top], [0.7 * top]),
    }[family]

    def of_children(theta, strength):
        if family in ("bernoulli", "binomial"):
            return random.beta(strength * theta[:, 0], strength * (1 - theta[:, 0]))[:, None]
        if family == "categorical":
            return np.stack([random.dirichlet(strength * row) for row in theta])
        if family == "poisson":
            return random.gamma(strength * theta[:, 0], 1 / strength)[:, None]
        if family == "negative_binomial":
            shape = np.ones(len(theta))
            return BetaNegativeBinomial(theta[:, 0], strength * shape, 10.0 * shape).sample(random)
        return random.normal(theta[:, 0], 1 / np.sqrt(strength))[:, None]

    above = root.take(np.zeros(200, dtype=int)).sample(random)
    below = of_children(above[children], ours)
    codes = np.repeat(np.arange(6_000), 20)
    theta = below[codes]
    y = {
        "bernoulli": lambda: random.binomial(1, theta[:, 0]),
        "categorical": lambda: (random.random(len(codes))[:, None] > np.cumsum(theta, axis=1)[:, :2]).sum(axis=1),
        "normal": lambda: random.normal(theta[:, 0]),
        "poisson": lambda: random.poisson(theta[:, 0]),
        "negative_binomial": lambda: random.negative_binomial(10.0, 10.0 / (10.0 + theta[:, 0])),
        "binomial": lambda: random.binomial(1, theta[:, 0]).astype(float),
    }[family]()
    table = pd.DataFrame({"child": codes, "parent": children[codes]}).astype(str)
    encoder = SamplingBayesianEncoder(["child"], kinds={"child": Nested(["parent"])}, family=family).fit(table, y)
    own, outer = encoder.encoding_.columns[0].posteriors.prior.links.strengths
    assert 0.7 < own / ours < 1.4
    assert 0.6 < outer / top < 1.6


def test_priors_are_calibrated_for_unseen_children():
    """Where the truth is drawn as the model says, the ranks of true θ of unseen children among draws are uniform."""
    random = np.random.default_rng(0)
    parent = random.beta(3.0, 7.0, 2_000)
    child = random.beta(20.0 * np.repeat(parent, 4), 20.0 * (1.0 - np.repeat(parent, 4)))
    codes = np.repeat(np.arange(8_000), 5)
    codes = codes[codes % 4 != 3]  # one child in four has no rows
    table = pd.DataFrame({"child": codes, "parent": codes // 4}).astype(str)
    y = random.binomial(1, child[codes])
    encoder = SamplingBayesianEncoder(["child"], kinds={"child": Nested(["parent"])}, temperature=1.0, random_state=0)
    encoder.fit(table, y)
    for missing in (True, False):
        which = np.arange(8_000)[(np.arange(8_000) % 4 == 3) == missing]
        new = pd.DataFrame({"child": which, "parent": which // 4}).astype(str)
        draws = encoder.sample(new, 99)[:, :, 0].astype(float)
        rank = (draws < child[which]).mean(axis=0)
        assert kstest(rank[:: 1 if missing else 3], "uniform").pvalue > 1e-3
        assert abs(rank.mean() - 0.5) < 0.02
        assert abs(rank.var() - 1 / 12) < 0.008


def test_nothing_is_counted_twice():
    """The prior of a child has no part of its own rows: it is the same whatever they say."""
    table, y, _ = simulate(200, 20, 4_000)
    mine = (table["postcode"] == table["postcode"].iloc[0]).to_numpy()
    links = Links(BetaBernoulli(2.0, 5.0), (10.0, 20.0, 30.0))

    def prior(target):
        column = gather(table, ["postcode"], target, kinds=HIERARCHY).columns[0]
        index = column.index.nested()
        statistics = column.statistics.place(index.moved(column.index), index.n_slots)
        posteriors = Posteriors.of(index, statistics, LinkedPrior.of(index, links, statistics))
        slot = [value[-1] for value in column.values].index(table["postcode"].iloc[0])
        return posteriors.prior.unseen.take(slot)

    one, other = prior(y), prior(np.where(mine, 1 - y, y))
    np.testing.assert_allclose(one.alpha, other.alpha, rtol=1e-9)
    np.testing.assert_allclose(one.beta, other.beta, rtol=1e-9)
    sibling = (table["region"] == table["region"].iloc[0]).to_numpy() & ~mine
    assert prior(np.where(sibling, 1, y)).mean() > one.mean() + 0.05


def test_the_variances_of_a_parent_and_of_its_children_add_up():
    """Var θ = Var E(θ | parent) + E Var(θ | parent), worked out for each family by hand."""
    beta = around(BetaBernoulli(np.array([6.0]), np.array([14.0])), 9.0)
    assert beta.mean()[0, 0] == pytest.approx(0.3)
    assert beta.variance()[0, 0] == pytest.approx(0.3 * 0.7 / 21 + 0.3 * 0.7 * 20 / 21 / 10, rel=1e-12)
    dirichlet = around(DirichletCategorical(np.array([[6.0, 4.0, 10.0]])), 9.0)
    assert dirichlet.variance()[0, 0] == pytest.approx(beta.variance()[0, 0], rel=1e-12)
    gamma = around(GammaPoisson(np.array([6.0]), np.array([3.0])), 9.0)
    assert gamma.variance()[0, 0] == pytest.approx(2.0 / 3 + 2.0 / 9, rel=1e-12)
    counts = around(BetaNegativeBinomial(np.array([2.0]), np.array([3.0]), np.array([0.5])), 9.0)
    above = (2.0 + 2.0**2 / 0.5) / (3.0 - 2.0)
    within = (2.0 + (2.0**2 + above) / 0.5) / (9.0 - 2.0)  # E (θ + θ²/r) / (ν - 1/r) over the parent's θ
    assert counts.variance()[0, 0] == pytest.approx(above + within, rel=1e-12)
    normal = around(NormalGamma(np.array([1.0]), np.array([4.0]), np.array([3.0]), np.array([2.0])), 9.0)
    assert normal.variance()[0, 0] == pytest.approx(2.0 / 2.0 * (1 / 4 + 1 / 9), rel=1e-12)  # E σ² = β / (α - 1)


def test_what_is_unseen_draws_from_what_is_above_it():
    table, y, _ = simulate(400, 20, 5_000)
    encoder = SamplingBayesianEncoder(["postcode"], kinds=HIERARCHY, random_state=0, temperature=1.0).fit(table, y)
    region, country = table["region"].iloc[0], table["country"].iloc[0]
    new = pd.DataFrame(
        {"postcode": ["new"] * 3, "region": [region, "new", "new"], "country": [country, country, "new"]}
    )
    frame = encoder.posteriors_["postcode"].set_index("category")
    means = encoder.transform(new)[:, 0].astype(float)
    assert means[0] == pytest.approx(frame["mean"][f"{country}&{region}"])
    assert means[1] == pytest.approx(frame["mean"][country])
    assert means[2] == pytest.approx(frame["mean"][frame["kind"] == "unseen"].item())
    assert len(set(means)) == 3
    drawn = encoder.sample(new, 4_000)[:, :, 0].astype(float)
    np.testing.assert_allclose(drawn.mean(axis=0), means, atol=0.01)
    wanted = [frame["sd"][f"{country}&{region}"], frame["sd"][country], frame["sd"][frame["kind"] == "unseen"].item()]
    np.testing.assert_allclose(drawn.std(axis=0), wanted, rtol=0.1)
    assert wanted[0] < wanted[1] < wanted[2]  # the less is known, the wider


def test_one_postcode_in_two_regions_is_two_categories():
    table = pd.DataFrame({"postcode": ["1", "1", "2", "2"] * 20, "region": ["a", "b", "a", "b"] * 20})
    encoder = SamplingBayesianEncoder(["postcode"], kinds={"postcode": Nested(["region"])}).fit(
        table, [0, 1, 0, 1] * 20
    )
    low, high = encoder.transform(pd.DataFrame({"postcode": ["1", "1"], "region": ["a", "b"]}))[:, 0]
    assert low < 0.2
    assert high > 0.8


@pytest.mark.parametrize("missing", ["category", "prior"])
def test_missing_values_go_by_the_policy(missing):
    table, y, _ = simulate(100, 10, 3_000)
    table.loc[::7, "postcode"] = None
    settings = {"kinds": HIERARCHY, "missing": missing, "random_state": 0}
    encoder = SamplingBayesianEncoder(["postcode"], **settings).fit(table, y)
    row = pd.DataFrame({"postcode": [None], "region": table["region"][:1], "country": table["country"][:1]})
    frame = encoder.posteriors_["postcode"].set_index("category")
    label = f"{row['country'].item()}&{row['region'].item()}"
    expected = frame["mean"][label if missing == "prior" else f"{label}&(missing)"]
    assert encoder.transform(row)[0, 0] == pytest.approx(expected)
    assert np.isfinite(encoder.fit_transform(table, y)[:, 0].astype(float)).all()


# ------------------------------------------------------------------------- a table of parents


def test_a_table_of_parents_says_what_columns_say():
    table, y, _ = simulate(2_000, 50, 10_000)
    towns = table.drop_duplicates("postcode")
    by_columns = SamplingBayesianEncoder(["postcode"], kinds=HIERARCHY).fit(table, y)
    expected = by_columns.transform(table)[:, 0].astype(float)
    tables = [
        dict(zip(towns["postcode"], zip(towns["region"], towns["country"], strict=True), strict=True)),
        towns[["postcode", "region", "country"]],
        pl.from_pandas(towns[["postcode", "region", "country"]]),
    ]
    for parents in tables:
        encoder = SamplingBayesianEncoder(["postcode"], kinds={"postcode": Nested(parents)}).fit(table[["postcode"]], y)
        np.testing.assert_allclose(encoder.transform(table[["postcode"]])[:, 0], expected, rtol=1e-6)


def test_a_table_of_parents_knows_children_that_were_never_seen():
    table = pd.DataFrame({"town": ["a", "b", "c", "d"] * 50})
    y = [1, 1, 0, 0] * 50
    parents = {"a": "north", "b": "north", "new": "north", "c": "south", "d": "south"}
    encoder = SamplingBayesianEncoder(kinds={"town": Nested(parents)}, random_state=0).fit(table, y)
    new, stranger, north = encoder.transform(pd.DataFrame({"town": ["new", "stranger", "a"]}))[:, 0]
    assert north > new > stranger
    frame = encoder.posteriors_["town"].set_index("category")
    assert frame["mean"]["new"] == pytest.approx(new)
    assert frame["kind"]["north"] == "parent"


# ------------------------------------------------------------- training, updating, other engines


ENCODERS = [
    SamplingBayesianEncoder(temperature=1.0),
    SamplingBayesianEncoder(own_target="cross_fit", temperature=0.0),
    SamplingBayesianEncoder(mapping="mean_precision"),
    SamplingBayesianEncoder(mapping="moments"),
]
TOWNS = [(SamplingBayesianEncoder(), *size) for size in ((1, 3), (1, 600), (3, 30))]
TOWNS += [(encoder, 1, 600) for encoder in ENCODERS]  # where there is most to be read off


@pytest.mark.parametrize(("encoder", "rows", "n_parents"), TOWNS, ids=repr)
def test_parents_with_signal_do_not_give_the_own_target_away(encoder, rows, n_parents):
    """A booster on children that say nothing of their own is no worse on new rows than one on their parents.

    By five seeds together: by one of them, what a booster makes of the noise varies by a third of what is allowed.
    """
    random = np.random.default_rng(rows + n_parents)
    child = random.permutation(np.arange(12_000) // rows)
    parent = random.integers(0, n_parents, child.max() + 1)[child]
    table = pd.DataFrame({"child": child.astype(str), "parent": parent.astype(str)})
    y = random.binomial(1, random.beta(2.0, 3.0, n_parents)[parent])
    train, test = slice(0, 6_000), slice(6_000, None)
    losses = {"child": 0.0, "parent": 0.0}
    for name, seed in product(losses, range(5)):
        within = {"child": Nested(["parent"])} if name == "child" else None
        fitted = clone(encoder).set_params(columns=[name], kinds=within, random_state=seed)
        width = slice(0, None) if name == "child" else slice(1, None)
        features = fitted.fit_transform(table[train], y[train])[:, width]
        features = features[:, [i for i in range(features.shape[1]) if not isinstance(features[0, i], str)]]
        new = fitted.transform(table[test])[:, width]
        new = new[:, [i for i in range(new.shape[1]) if not isinstance(new[0, i], str)]]
        model = LGBMClassifier(n_estimators=60, min_child_samples=40, verbose=-1, n_jobs=1)
        model.fit(features.astype(float), y[train])
        losses[name] += log_loss(y[test], model.predict_proba(new.astype(float))) / 5
    drawn = isinstance(encoder, SamplingBayesianEncoder) and encoder.mapping == "mean"
    # A precision of all rows is larger than those of the folds, which a model has not seen: that costs, too.
    assert losses["child"] < losses["parent"] + (0.03 if drawn else 0.07)


@pytest.mark.parametrize("own_target", ["exclude", "cross_fit"])
def test_noise_in_a_hierarchy_does_not_give_the_own_target_away(own_target):
    """The feature of a row must not tell its target: with noise, the two do not correlate."""
    random = np.random.default_rng(0)
    found = []
    for _ in range(10):
        child = random.integers(0, 2_000, 6_000)
        table = pd.DataFrame({"child": child, "parent": child // 4}).astype(str)
        y = random.binomial(1, 0.3, 6_000)
        settings = {
            "prior": BetaBernoulli(3.0, 7.0),
            "kinds": {"child": Nested(["parent"])},
        }  # weak, or all would be one
        encoder = SamplingBayesianEncoder(["child"], own_target=own_target, random_state=0, **settings)
        found.append(np.corrcoef(encoder.fit_transform(table, y)[:, 0].astype(float), y)[0, 1])
    # Leaving a row out in closed form moves its mean the other way, which the draws hide; folds and order do not.
    assert (-0.25 if own_target == "exclude" else -0.05) < np.mean(found) < 0.02


@pytest.mark.parametrize("family", TARGETS)
@pytest.mark.parametrize("kind", [SamplingBayesianEncoder, partial(SamplingBayesianEncoder, mapping="moments")])
def test_parts_of_a_table_give_what_the_whole_gives_and_files_keep_it(kind, family):
    table, _, chance = simulate(300, 20, 4_000)
    y = make_y(family, chance)
    settings = {"kinds": HIERARCHY, "interactions": [("region", "country")], "family": family, "random_state": 0}
    whole = kind(["postcode", "region"], **settings).fit(table, y)
    first = kind(["postcode", "region"], **settings).fit(table[:1_000], y[:1_000])
    second = kind(["postcode", "region"], **settings).fit(table[1_000:], y[1_000:])
    expected = whole.transform(table).astype(float)
    np.testing.assert_allclose((first + second).transform(table).astype(float), expected, rtol=1e-4)
    first.partial_fit(table[1_000:], y[1_000:])
    np.testing.assert_allclose(first.transform(table).astype(float), expected, rtol=1e-4)
    file = io.BytesIO()
    whole.save(file)
    np.testing.assert_array_equal(catbayes.load(file).transform(table), whole.transform(table))


def test_a_table_of_parents_is_saved_with_the_encoder():
    table, y = pd.DataFrame({"shop": [1, 2, 3, 4] * 10}), [1, 1, 0, 0] * 10
    parents = {1: (True, "n"), 2: (True, "n"), 3: (False, "s"), 9: (False, "s")}
    encoder = SamplingBayesianEncoder("all", kinds={"shop": Nested(parents)}, random_state=0).fit(table, y)
    file = io.BytesIO()
    encoder.save(file)
    loaded = catbayes.load(file)
    assert loaded.kinds == {"shop": Nested(parents)}
    new = pd.DataFrame({"shop": [1, 9, 77]})
    np.testing.assert_array_equal(loaded.transform(new), encoder.transform(new))


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_files_give_the_same_hierarchy(tmp_path, engine):
    table, y, _ = simulate(300, 20, 4_000)
    path, output = tmp_path / "rows.parquet", tmp_path / "encoded.parquet"
    table.assign(y=y, id=np.arange(4_000)).to_parquet(path)
    here = SamplingBayesianEncoder(["postcode"], kinds=HIERARCHY, random_state=0).fit(table, y)
    evidence = gather(path, ["postcode"], "y", kinds=HIERARCHY, engine=engine)
    there = SamplingBayesianEncoder(["postcode"], kinds=HIERARCHY, random_state=0).fit(evidence)
    new, _, _ = simulate(600, 30, 1_000, seed=5)
    ids = new.assign(id=0)
    np.testing.assert_allclose(
        there.transform(ids)[:, 0].astype(float), here.transform(new)[:, 0].astype(float), rtol=1e-6
    )
    new.to_parquet(tmp_path / "new.parquet")
    encode(tmp_path / "new.parquet", here, output)
    np.testing.assert_array_equal(pd.read_parquet(output)["postcode_encoded"], here.transform(new)[:, 0].astype(float))


def test_a_query_falls_back_to_the_parents():
    import duckdb

    table, y, _ = simulate(300, 20, 4_000)
    encoder = SamplingBayesianEncoder(["postcode"], kinds=HIERARCHY).fit(table, y)
    new, _, _ = simulate(600, 30, 1_000, seed=5)
    new.loc[:20, "postcode"] = None
    with duckdb.connect() as connection:
        connection.register("rows", new.assign(id=np.arange(1_000)))
        found = connection.sql(encoder.to_sql() + " ORDER BY id").df()
    np.testing.assert_allclose(found["postcode_encoded"], encoder.transform(new)[:, 0].astype(float), rtol=1e-12)


def test_a_model_in_a_pipeline_is_cloned_with_its_hierarchy():
    table, y, _ = simulate(300, 20, 4_000)
    encoder = SamplingBayesianEncoder(["postcode"], kinds=HIERARCHY)
    model = clone(make_pipeline(SamplingClassifier(LogisticRegression(), encoder, random_state=0))).fit(
        table.astype({"region": int, "country": int}), y
    )
    assert model.predict_proba(table.astype({"region": int, "country": int})).shape == (4_000, 2)


def test_a_given_prior_serves_every_level():
    table, y, _ = simulate(300, 20, 4_000)
    encoder = SamplingBayesianEncoder(["postcode"], kinds=HIERARCHY, prior=BetaBernoulli(2.0, 8.0)).fit(table, y)
    assert encoder.encoding_.columns[0].posteriors.prior.links.strengths == (10.0, 10.0, 10.0)


@pytest.mark.parametrize(
    ("column", "parents", "message"),
    [
        ("postcode", "region", "Nested: expected a list of parent columns"),
        ("postcode", ["town"], "'town', and X has no such column"),
        ("postcode", ["postcode"], "names a column twice"),
        ("country", ["region"], "'country', which is not encoded"),
        ("postcode", {"1": ("a", "b"), "2": "a"}, "as many for all"),
        ("postcode", pd.DataFrame({"p": ["1", "1"], "r": ["a", "b"]}), "names a category twice"),
    ],
)
def test_other_hierarchies_are_refused(column, parents, message):
    table, y, _ = simulate(50, 5, 200)
    with pytest.raises(InputError, match=message):
        SamplingBayesianEncoder(["postcode"], kinds={column: Nested(parents)}).fit(table, y)


def test_a_table_of_parents_may_have_numbered_columns_or_lists():
    table, y = pd.DataFrame({"town": ["a", "b", "c", "d"] * 30}), [1, 1, 0, 0] * 30
    pairs = [("a", "north"), ("b", "north"), ("c", "south"), ("d", "south")]
    expected = SamplingBayesianEncoder(kinds={"town": Nested(dict(pairs))}).fit(table, y).transform(table)
    for parents in (pd.DataFrame(pairs), {town: [parent] for town, parent in pairs}):
        found = SamplingBayesianEncoder(kinds={"town": Nested(parents)}).fit(table, y).transform(table)
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("n_named", [1, 4, 30])
def test_categories_that_a_table_of_parents_does_not_name_speak_for_the_root(n_named):
    """Learnt from the named ones alone, a root below one parent of ones would believe in nothing else."""
    random = np.random.default_rng(0)
    shop = np.repeat([f"s{number}" for number in range(60)], 10)
    y = np.where(shop == "s1", 1, random.integers(0, 2, 600))
    table, new = pd.DataFrame({"shop": shop}), pd.DataFrame({"shop": ["s2", "s40", "new"]})
    parents = {f"s{number}": "ab"[number % 2] for number in range(1, n_named + 1)}
    with_parents = SamplingBayesianEncoder(["shop"], kinds={"shop": Nested(parents)}).fit(table, y)
    alone = SamplingBayesianEncoder(["shop"]).fit(table, y)
    np.testing.assert_allclose(with_parents.transform(new), alone.transform(new), atol=0.1)
    assert with_parents.posteriors_["shop"]["sd"].iloc[-1] < 0.3


def test_a_mean_varies_with_its_rows_and_with_its_prior():
    """The mean of ν = 2 and 6 rows is (2 m + Σ y) / 8: 6 / 64 of the variance of a target, and 4 / 64 of that of m."""
    prior = NormalGamma(np.zeros(1), np.array([2.0]), np.ones(1), np.ones(1))
    posterior = prior.worth(np.array([8.0]))
    assert _variance(prior, posterior, np.zeros(1)) == pytest.approx(6 / 64)
    assert _variance(prior, posterior, np.array([0.5])) == pytest.approx(6 / 64 + 0.5 * 4 / 64)
