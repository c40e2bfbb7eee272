"""A rare category of a kind is shrunk towards those that it is linked to; tests/test_links.py has the arithmetic."""

import io
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import catbayes
from catbayes import (
    InputError,
    InputWarning,
    SamplingBayesianEncoder,
    encode,
    gather,
)
from catbayes.families import BetaBernoulli
from catbayes.kinds import Bins, Nested, Ordinal, Shared, Spellings, Tags

FAMILIES = ["bernoulli", "categorical", "normal", "lognormal", "poisson", "negative_binomial"]


def target(family, effect, seed=0):
    """A target whose mean rises with the effect of a row, which has a variance of about 1."""
    random, chance = np.random.default_rng(seed + 100), 1 / (1 + np.exp(-effect))
    return {
        "bernoulli": lambda: random.binomial(1, chance),
        "categorical": lambda: random.binomial(2, chance),
        "normal": lambda: 1e6 + effect + random.normal(size=len(effect)),
        "lognormal": lambda: np.exp(effect + 0.5 * random.normal(size=len(effect))),
        "poisson": lambda: random.poisson(5 * chance),
        "negative_binomial": lambda: random.negative_binomial(2.0, 2.0 / (2.0 + 5 * chance)),
    }[family]()


# Each makes rows whose effect is known: the table, and the effect of each row.


def hours(n_rows=1_000, seed=0):
    """Levels whose effect goes round; some are rare."""
    random = np.random.default_rng(seed)
    share = random.pareto(1.0, 24) + 0.05
    hour = random.choice(24, n_rows, p=share / share.sum())
    return pd.DataFrame({"c": hour}), 1.5 * np.sin(2 * np.pi * hour / 24)


def amounts(n_rows=1_000, seed=0):
    amount = np.random.default_rng(seed).uniform(0, 24, n_rows)
    return pd.DataFrame({"c": amount}), 1.5 * np.sin(2 * np.pi * amount / 24)


def towns(n_rows=1_000, seed=0):
    """Towns in regions in countries, most of them rare."""
    random = np.random.default_rng(seed)
    country_of, region_of = random.integers(0, 4, 20), random.integers(0, 20, 300)
    region = random.normal(scale=0.6, size=4)[country_of] + random.normal(scale=0.8, size=20)
    town = region[region_of] + random.normal(scale=0.3, size=300)
    code = random.choice(300, n_rows)
    table = pd.DataFrame({"c": code, "region": region_of[code], "country": country_of[region_of[code]]})
    return table.astype(str), town[code]


def titles(n_rows=1_000, seed=0):
    """Things of several grades that people spell in several ways."""
    random = np.random.default_rng(seed)
    syllables = ["ka", "lo", "mi", "ner", "ros", "tev", "vin", "sta", "bur", "gen", "hol", "dam", "ford", "pex", "wick"]
    heads = ["".join(random.choice(syllables, 4)) for _ in range(40)]
    effect = random.normal(size=(40, 1)) + 0.2 * random.normal(size=(40, 6))
    thing, grade, way = (random.integers(0, size, n_rows) for size in (40, 6, 4))
    ways = [str, str.upper, str.title, lambda name: f" {name.replace(' ', '-')}!"]
    cells = [ways[w](f"{heads[t]} {g}") for t, g, w in zip(thing, grade, way, strict=True)]
    return pd.DataFrame({"c": cells}), effect[thing, grade]


def carts(n_rows=1_000, seed=0):
    """Sets of up to four members, some without any."""
    random = np.random.default_rng(seed)
    effect, often = random.normal(size=40), 1 / np.arange(1, 41) ** 0.7
    sets = [random.choice(40, random.integers(0, 5), False, often / often.sum()) for _ in range(n_rows)]
    table = pd.DataFrame({"c": [[f"m{member}" for member in some] for some in sets]})
    return table, np.array([effect[some].sum() for some in sets])


def games(n_rows=1_000, seed=0, n_teams=100):
    """Games of teams, which are as good at home as away."""
    random = np.random.default_rng(seed)
    home, away = random.integers(0, n_teams, (2, n_rows))
    away = np.where(away == home, (away + 1) % n_teams, away)
    skill = random.normal(size=n_teams)
    return pd.DataFrame({"c": home, "d": away}).astype(str), skill[home]


PARENTS = dict(zip(map(str, range(300)), zip(map(str, np.arange(300) // 15), strict=False), strict=False))
KINDS = {
    "line": ({"c": Ordinal(range(24))}, hours),
    "ring": ({"c": Ordinal(range(24), cyclic=True)}, hours),
    "one direction": ({"c": Ordinal(range(24), monotone="increasing")}, hours),
    "bins": ({"c": Bins([3, 6, 9, 12, 15, 18, 21])}, amounts),
    "parents in columns": ({"c": Nested(["region", "country"])}, towns),
    "parents in a table": ({"c": Nested(PARENTS)}, towns),
    "spellings": ({"c": Spellings()}, titles),
    "sets": ({"c": Tags()}, carts),
    "roles": ({("c", "d"): Shared()}, games),
}
IN_MEMORY = ("bins", "sets", "roles")


def encoder(name, **settings):
    return SamplingBayesianEncoder(kinds=KINDS[name][0], **{"columns": "auto", "random_state": 0} | settings)


def saved(fitted):
    file = io.BytesIO()
    fitted.save(file)
    return catbayes.load(file)


# --------------------------------------------------------------------------- claims about every kind


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ["line", "ring", "bins", "parents in columns", "spellings", "sets"])
def test_kinds_estimate_rare_categories_better(name, family):
    """In small tables, means of categories correlate more with what they are means of."""
    scores, make = {"plain": [], "linked": []}, KINDS[name][1]
    for seed in range(4):
        (table, effect), (new, truth) = make(300, seed), make(2_000, seed)
        y = target(family, effect, seed)
        linked = encoder(name, family=family)
        plain = SamplingBayesianEncoder(["c"], family=family)
        for way, one in (("plain", plain), ("linked", linked)):
            read = (lambda rows: rows.astype({"c": str})) if way == "plain" else (lambda rows: rows)
            found = one.fit(read(table), y).transform(read(new))
            first = found[:, 0].astype(float)
            scores[way].append(abs(np.corrcoef(first, truth)[0, 1]) if first.std() > 0 else 0.0)
    assert np.mean(scores["linked"]) > np.mean(scores["plain"])


@pytest.mark.parametrize("family", ["bernoulli", "normal", "negative_binomial"])
@pytest.mark.parametrize("name", KINDS)
def test_parts_give_what_the_whole_gives_weights_are_rows_and_files_hold_it(name, family):
    table, effect = KINDS[name][1]()
    y, make = target(family, effect), encoder(name, family=family)
    whole = clone(make).fit(table, y)
    expected = whole.transform(table)
    loaded = saved(whole)
    assert loaded.kinds == whole.kinds
    np.testing.assert_array_equal(loaded.transform(table), expected)
    first, second = clone(make).fit(table[:400], y[:400]), clone(make).fit(table[400:], y[400:])
    close = {"rtol": 1e-3, "atol": 1e-3 if family == "normal" else 1e-9}

    def assert_same(fitted, wanted):
        np.testing.assert_allclose(fitted.transform(table).astype(float), wanted.astype(float), **close)

    assert_same(first + second, expected)
    assert_same(whole - second, first.transform(table))
    assert_same(first.partial_fit(table[400:], y[400:]), expected)
    twice = clone(make).fit(pd.concat([table, table]), np.append(y, y))
    assert_same(clone(make).fit(table, y, sample_weight=np.full(1_000, 2.0)), twice.transform(table))


@pytest.mark.parametrize("own_target", ["exclude", "cross_fit"])
@pytest.mark.parametrize("name", KINDS)
def test_noise_does_not_reveal_the_own_target(name, own_target):
    """Leaving a row out in closed form moves its mean the other way, which draws mask; folds do not."""
    found = []
    for seed in range(5):
        table, _ = KINDS[name][1](1_500, seed)
        y = np.random.default_rng(seed + 100).binomial(1, 0.3, 1_500)
        make = encoder(name, own_target=own_target, prior=BetaBernoulli(3.0, 7.0), random_state=seed)
        found.append(np.corrcoef(make.fit_transform(table, y)[:, 0].astype(float), y)[0, 1])
    assert (-0.3 if own_target == "exclude" else -0.1) < np.mean(found) < 0.04


@pytest.mark.parametrize("name", KINDS)
def test_engines_count_it_or_refuse(name, tmp_path):
    table, effect = KINDS[name][1](400)
    y, path, output = target("normal", effect), tmp_path / "rows.parquet", tmp_path / "encoded.parquet"
    table.assign(y=y).to_parquet(path)
    make = encoder(name, columns=list(dict.fromkeys(np.ravel(list(KINDS[name][0])))), family="normal")
    here = clone(make).fit(table, y)
    encode(str(path), here, str(output))
    found = pd.read_parquet(output)["c_encoded"].to_numpy()
    np.testing.assert_allclose(found, here.transform(table)[:, 0].astype(float), rtol=1e-9)
    if name in IN_MEMORY:
        with pytest.raises(InputError, match="rows in memory"):
            clone(make).fit(str(path), "y")
    else:
        there = clone(make).fit(str(path), "y").transform(table.assign(y=y)[[*table.columns]])
        np.testing.assert_allclose(there[:, 0].astype(float), found, rtol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("missing", ["category", "prior"])
@pytest.mark.parametrize("kind", [Ordinal(), Ordinal([1, 2]), Bins(5), Spellings(), Tags()], ids=repr)
def test_columns_without_a_value_are_encoded_by_the_mean(kind, missing):
    table, y = pd.DataFrame({"a": pd.Series([None] * 60, dtype=object)}), np.random.default_rng(0).normal(3.0, size=60)
    fitted = SamplingBayesianEncoder(["a"], kinds={"a": kind}, missing=missing, random_state=0)
    assert np.abs(fitted.fit_transform(table, y) - y.mean()).max() < 0.5
    new = pd.DataFrame({"a": pd.Series([None, "1" if isinstance(kind, Spellings | Tags) else 1], dtype=object)})
    np.testing.assert_allclose(fitted.transform(new)[:, 0], y.mean(), atol=0.5)


@pytest.mark.calibration
@pytest.mark.parametrize("name", ["ring", "nested", "spellings", "roles"])
def test_ranks_of_the_truth_among_draws_are_uniform(name):
    """θ is drawn as the model assumes; some categories have no rows."""
    random, ranks = np.random.default_rng(0), {True: [], False: []}
    for number in range(40):
        group = np.repeat(np.arange(30), 5)
        theta, names = np.repeat(random.normal(size=30), 5) + 0.5 * random.normal(size=150), np.arange(150).astype(str)
        kinds = {"c": Nested(dict(zip(names, group.astype(str).tolist(), strict=True)))}
        if name == "spellings":
            words = ["".join(random.choice(list("abcdefghijklmnopqrstuvwxyz"), 12)) for _ in range(30)]
            names = np.array(
                [f"{words[g]} {end}" for g, end in zip(group, ["i", "ii", "iii", "iv", "v"] * 30, strict=True)]
            )
            kinds = {"c": Spellings()}
        if name == "ring":
            steps = 0.2 * np.eye(150) + 3.0 * (
                2 * np.eye(150) - np.roll(np.eye(150), 1, 0) - np.roll(np.eye(150), -1, 0)
            )
            theta, names = np.linalg.cholesky(np.linalg.inv(steps)) @ random.normal(size=150), np.arange(150)
            kinds = {"c": Ordinal(range(150), cyclic=True)}
        seen = np.arange(150) % 5 != 4
        code = np.repeat(np.flatnonzero(seen), 4)
        table, y = pd.DataFrame({"c": names[code]}), theta[code] + random.normal(size=len(code))
        if name == "roles":  # the same things in another column tell of those without rows in this one
            other = np.repeat(np.arange(150), 4)
            y = np.append(y, theta[other] + 0.1 * random.normal(size=150)[other] + random.normal(size=600))
            table = pd.DataFrame({"c": [*names[code], *[None] * 600], "d": [*[None] * len(code), *names[other]]})
            kinds = {("c", "d"): Shared()}
        make = SamplingBayesianEncoder(kinds=kinds, missing="prior", temperature=1.0, random_state=number)
        new = pd.DataFrame({"c": names}).assign(**({"d": None} if name == "roles" else {}))
        rank = (make.fit(table, y).sample(new, 99)[:, :, 0].astype(float) < theta).mean(axis=0)
        for known in ranks:
            ranks[known].append(rank[seen == known][:: 4 if known else 1])
    for some in map(np.concatenate, ranks.values()):
        assert abs(some.mean() - 0.5) < 0.05
        assert abs(some.var() - 1 / 12) < 0.02


SPELLINGS = [f"{word} {letter}" for word in ("officer", "police") for letter in "uvwxyz"]


@pytest.mark.parametrize(
    ("kind", "cells", "more"),
    [
        (Ordinal(), [1.0, 2.0, 4.0, 7.0], [3.0, 5.5, 9.0]),
        (Ordinal(), [1, 2, 4, 7], [30, 31, 32]),
        (
            Spellings(),
            ["police officer", "Police officer 2", "bus driver", "nurse"],
            [f"{a} {b}" for a in ("officer", "police") for b in "uvwxyz"],
        ),
        (Tags(), ["a|b", "b", "b|c", "c"], ["a|d", "d", "c|d"]),
    ],
    ids=["numbers", "whole numbers", "spellings", "sets"],
)
def test_rows_of_weight_zero_change_nothing_in_memory_and_in_an_engine(kind, cells, more):
    random, codes = np.random.default_rng(0), np.random.default_rng(1).integers(0, 4, 60)
    table, y = pd.DataFrame({"c": np.array(cells)[codes]}), codes + random.normal(size=60)
    make = SamplingBayesianEncoder(["c"], kinds={"c": kind}, random_state=0)
    expected = clone(make).fit(table, y).transform(table)
    both = pd.concat([table, pd.DataFrame({"c": more})], ignore_index=True)
    both = both.assign(y=np.append(y, np.full(len(more), 9.0)), w=np.repeat([1.0, 0.0], [60, len(more)]))
    here, there = clone(make), clone(make)
    here.fit_transform(both[["c"]], both["y"], sample_weight=both["w"])
    np.testing.assert_allclose(here.transform(table), expected, rtol=1e-9)
    if not kind.in_memory:
        there.fit(pl.from_pandas(both).lazy(), "y", sample_weight="w")
        # An engine adds up in any order, and the search for strengths may end a little further on.
        np.testing.assert_allclose(there.transform(table), expected, rtol=1e-3)


# --------------------------------------------------------------------------------- levels in an order


def test_levels_without_rows_are_estimated_from_adjacent_ones():
    table = pd.DataFrame({"c": np.repeat([0, 1, 2, 12, 13, 14, 22], 60)})
    y = np.where(table["c"].isin([12, 13, 14]), 9.0, 1.0) + np.random.default_rng(0).normal(size=len(table))
    new = pd.DataFrame({"c": [13, 11, 7, 23]})
    line, ring = (encoder(name).fit(table, y).transform(new)[:, 0] for name in ("line", "ring"))
    assert line[0] > line[1] > line[2]
    assert abs(ring[3] - 1.0) < abs(line[3] - 1.0) + 0.5
    frame = SamplingBayesianEncoder(kinds={"c": Ordinal()}).fit(table, y).posteriors_["c"]
    assert frame["category"].dropna().tolist() == list(range(23))  # whole numbers, with those that no row has


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_type_of_a_column_gives_its_order(library):
    sizes, cells = ["S", "M", "L", "XL"], ["S"] * 30 + ["L"] * 30 + ["XL"] * 30
    if library == "pandas":
        table = pd.DataFrame({"c": pd.Categorical(cells, sizes, ordered=True)})
    else:
        table = pl.DataFrame({"c": pl.Series(cells, dtype=pl.Enum(sizes))})
    y = np.repeat([0.0, 2.0, 3.0], 30) + np.random.default_rng(0).normal(size=90)
    by_type = SamplingBayesianEncoder(kinds={"c": Ordinal()}, random_state=0).fit(table, y)
    named = SamplingBayesianEncoder(kinds={"c": Ordinal(sizes)}, random_state=0).fit(table, y)
    np.testing.assert_array_equal(by_type.transform(table[:3]), named.transform(table[:3]))
    assert saved(by_type + by_type).posteriors_["c"]["category"].tolist()[:4] == sizes


def test_values_that_are_no_level_are_warned_of():
    X, y = pd.DataFrame({"size": ["S", "M", "L"] * 20}), [0, 1, 1, 0, 1, 0] * 10
    fitted = SamplingBayesianEncoder(kinds={"size": Ordinal(["S", "M", "L"])}).fit(X, y)
    with pytest.warns(InputWarning, match=r"Column 'size' holds \['XL'\], none of its levels"):
        fitted.transform(pd.DataFrame({"size": ["S", "XL"]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.transform(pd.DataFrame({"size": ["S", None]}))


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "categorical"])
@pytest.mark.parametrize("direction", ["increasing", "decreasing"])
def test_means_only_go_in_one_direction_if_asked(family, direction):
    grade = np.random.default_rng(0).integers(0, 12, 240)
    sign = 1 if direction == "increasing" else -1
    table, y, new = pd.DataFrame({"c": grade}), target(family, sign * grade / 4), pd.DataFrame({"c": np.arange(12)})
    free, held = (
        SamplingBayesianEncoder(kinds={"c": Ordinal(monotone=one)}, family=family, random_state=0).fit(table, y)
        for one in (None, direction)
    )
    means = held.transform(new)[:, 0]
    assert (sign * np.diff(means) >= -1e-9 * np.abs(means).max()).all()
    in_order = (sign * np.diff(free.transform(new)[:, 0]) >= 0).all()
    assert not in_order or np.allclose(means, free.transform(new)[:, 0], rtol=1e-9)  # nothing to change
    assert np.isfinite(held.sample(new, 5)).all()


# ------------------------------------------------------------------------------------- numbers in bins


def test_bins_hold_about_as_many_rows_each_and_missing_stays_missing():
    random = np.random.default_rng(0)
    table = pd.DataFrame({"c": np.append(np.exp(random.normal(size=1_000)), [np.nan] * 50)})
    y = np.append(np.log(table["c"][:1_000]) + random.normal(size=1_000), [9.0] * 50)
    fitted = SamplingBayesianEncoder(kinds={"c": Bins(10)}).fit(table, y)
    frame = fitted.posteriors_["c"]
    np.testing.assert_allclose(frame["count"][:10], 100, atol=1)
    assert frame["count"][frame["kind"] == "missing"].item() == 50
    new = pd.DataFrame({"c": [-1e9, 1e9, np.nan]})
    expected = [frame["mean"][0], frame["mean"][9], frame["mean"][frame["kind"] == "missing"].item()]
    for same in (new, pl.from_pandas(new), new.astype(object)):
        np.testing.assert_allclose(fitted.transform(same)[:, 0].astype(float), expected)


def bins_of(table, y, kind, **settings):
    """The names of the bins that were made."""
    frame = (
        SamplingBayesianEncoder(["c"], kinds={"c": kind}, family="normal").fit(table, y, **settings).posteriors_["c"]
    )
    return frame["category"][frame["kind"] == "seen"].tolist()


def test_bins_are_merged_where_neighbours_do_not_differ_whatever_the_weights_are():
    random = np.random.default_rng(0)
    amount = random.uniform(0, 100, 4_000)
    y = random.binomial(1, np.where(amount < 30, 0.2, np.where(amount < 60, 0.5, 0.8))).astype(float)
    table, kind = pd.DataFrame({"c": amount}), Bins(40, merge=True)
    assert 3 <= len(bins_of(table, y, kind)) <= 4  # a bin that lies on both sides of a step may stay by itself
    assert bins_of(table, random.permutation(y), kind) == ["any"]
    assert bins_of(table, random.permutation(y), kind, sample_weight=np.full(4_000, 100.0)) == ["any"]


def test_bins_that_were_found_apart_are_not_merged_but_later_rows_go_by_the_first():
    table, effect = amounts()
    y = target("normal", effect)
    one, other = (
        SamplingBayesianEncoder(kinds={"c": Bins(8)}, random_state=0).fit(table[some], y[some])
        for some in (np.s_[:400], np.s_[400:])
    )
    with pytest.raises(InputError, match="cut apart"):
        one + other
    before = one.posteriors_["c"]["category"].tolist()
    assert one.partial_fit(table[400:], y[400:]).posteriors_["c"]["category"].tolist() == before
    evidence = gather(table, ["c"], y, kinds={"c": Bins(6)})
    fitted = SamplingBayesianEncoder(["c"], kinds={"c": Bins(6)}, random_state=0)
    np.testing.assert_array_equal(
        clone(fitted).fit(evidence).transform(table), clone(fitted).fit(table, y).transform(table)
    )
    with pytest.raises(InputError, match="gathered without cuts"):
        fitted.fit(gather(table, ["c"], y))


# ------------------------------------------------------------------------------------------ hierarchies


def test_unseen_categories_are_drawn_from_the_nearest_parent_that_was_seen():
    table, effect = towns(5_000)
    fitted = encoder("parents in columns", columns=["c"], temperature=1.0).fit(table, target("bernoulli", effect))
    region, country = table["region"].iloc[0], table["country"].iloc[0]
    new = pd.DataFrame({"c": ["new"] * 3, "region": [region, "new", "new"], "country": [country, country, "new"]})
    frame = fitted.posteriors_["c"].set_index("category")
    unseen = frame[frame["kind"] == "unseen"]
    found = fitted.transform(new)[:, 0].astype(float)
    np.testing.assert_allclose(found, [frame["mean"][f"{country}&{region}"], frame["mean"][country], *unseen["mean"]])
    drawn = fitted.sample(new, 4_000)[:, :, 0].astype(float)
    np.testing.assert_allclose(drawn.mean(axis=0), found, atol=0.01)
    sd = [frame["sd"][f"{country}&{region}"], frame["sd"][country], *unseen["sd"]]
    assert sd[0] < sd[1] < sd[2]  # the less is known, the wider


def test_a_category_may_have_the_name_of_its_parent():
    parents = Nested({"New York": ("New York", "USA"), "Albany": ("New York", "USA"), "Oslo": ("Oslo", "Norway")})
    table = pd.DataFrame({"c": ["New York", "Albany", "Oslo"] * 20})
    fitted = SamplingBayesianEncoder(kinds={"c": parents}).fit(table, [0, 0, 1] * 20)
    assert fitted.transform(pd.DataFrame({"c": ["Albany"]}))[0, 0] < 0.2


@pytest.mark.parametrize("missing", ["category", "prior"])
def test_missing_children_go_by_the_policy(missing):
    table, effect = towns(3_000)
    table.loc[::7, "c"] = None
    fitted = encoder("parents in columns", columns=["c"], missing=missing).fit(table, target("bernoulli", effect))
    row = table[:1].assign(c=None)
    frame = fitted.posteriors_["c"].set_index("category")
    label = f"{row['country'].item()}&{row['region'].item()}"
    expected = frame["mean"][label if missing == "prior" else f"{label}&(missing)"]
    assert fitted.transform(row)[0, 0] == pytest.approx(expected)


def test_a_table_of_parents_equals_columns_and_places_unseen_children():
    table, effect = towns(3_000)
    y, places = target("bernoulli", effect), table.drop_duplicates("c")
    expected = encoder("parents in columns", columns=["c"]).fit(table, y).transform(table)[:, 0].astype(float)
    tables = [
        dict(zip(places["c"], zip(places["region"], places["country"], strict=True), strict=True)),
        places[["c", "region", "country"]],
        pl.from_pandas(places[["c", "region", "country"]]),
    ]
    for parents in tables:
        fitted = SamplingBayesianEncoder(["c"], kinds={"c": Nested(parents)}).fit(table[["c"]], y)
        np.testing.assert_allclose(fitted.transform(table[["c"]])[:, 0].astype(float), expected, rtol=1e-6)
    table, parents = pd.DataFrame({"town": [1, 2, 3, 4] * 50}), {1: "n", 2: "n", 9: "n", 3: "s", 4: "s"}
    fitted = saved(SamplingBayesianEncoder(kinds={"town": Nested(parents)}).fit(table, [1, 1, 0, 0] * 50))
    new, unknown, north = fitted.transform(pd.DataFrame({"town": [9, 77, 1]}))[:, 0]
    assert north > new > unknown


@pytest.mark.parametrize("n_named", [1, 4, 30])
def test_categories_that_a_table_of_parents_does_not_name_inform_the_root(n_named):
    """Learnt from the named ones alone, a root below one parent of ones would expect nothing else."""
    random, shop = np.random.default_rng(0), np.repeat([f"s{number}" for number in range(60)], 10)
    table, y = pd.DataFrame({"c": shop}), np.where(shop == "s1", 1, random.integers(0, 2, 600))
    parents = {f"s{number}": "ab"[number % 2] for number in range(1, n_named + 1)}
    new = pd.DataFrame({"c": ["s2", "s40", "new"]})
    linked = SamplingBayesianEncoder(["c"], kinds={"c": Nested(parents)}).fit(table, y)
    np.testing.assert_allclose(
        linked.transform(new), SamplingBayesianEncoder(["c"]).fit(table, y).transform(new), atol=0.1
    )


# ----------------------------------------------------------------------------------------- typed text


def test_unseen_spellings_are_encoded_by_what_they_resemble():
    table, effect = titles(2_000)
    fitted = encoder("spellings").fit(table[:1_000], target("normal", effect)[:1_000])
    assert fitted.transform(table[:1].map(str.upper))[0, 0] == fitted.transform(table[:1].map(str.lower))[0, 0]
    frame = fitted.posteriors_["c"].set_index("category")
    known = table["c"][0].lower().strip(" !").replace("-", " ")
    parent = frame.loc[known, "parent"]
    assert frame.loc[parent, "parent"].startswith("vaguely like")
    new = pd.DataFrame({"c": [f"{known.split()[0]} 77", "####", None]})
    similar, nothing, missing = fitted.transform(new)[:, 0]
    assert similar == pytest.approx(frame.loc[parent, "mean"])
    assert nothing == pytest.approx(missing)  # both are as any might be


# ------------------------------------------------------------------------------- sets, and shared columns


def test_sets_have_neither_order_nor_repeats_and_unseen_ones_are_encoded_by_members():
    table, effect = carts(600)
    y = target("normal", effect)
    fitted = SamplingBayesianEncoder(kinds={"c": Tags(";")}, random_state=0).fit(table, y)
    expected = fitted.transform(table)
    text = pd.DataFrame({"c": table["c"].map(lambda some: " ; ".join(reversed(some)))})
    for same in (text, pl.DataFrame({"c": table["c"].tolist()}), pa.table({"c": table["c"].tolist()})):
        np.testing.assert_allclose(fitted.transform(same).astype(float), expected, rtol=1e-9)
    new = pd.DataFrame({"c": [["m3", "m1", "m0"], ["m0", "m1", "m3", "m3"], ["m1", "unknown"], [], None]})
    found = fitted.transform(new)[:, 0]
    assert found[0] == found[1]
    assert fitted.transform(new[:1])[0, 0] == pytest.approx(found[0], rel=1e-9)  # whatever comes with it
    np.testing.assert_allclose(fitted.sample(new, 800)[:, :, 0].mean(axis=0), found, rtol=1e-6, atol=0.15)


def test_a_team_that_was_never_at_home_is_estimated_from_its_games_away():
    random = np.random.default_rng(0)
    skill, home, away = 3.0 * random.normal(size=40), random.integers(0, 39, 3_000), random.integers(0, 40, 3_000)
    away = np.where(away == home, 39, away)  # team 39 is never at home
    table = pd.DataFrame({"c": home, "d": away}).astype(str)
    y = 10.0 + skill[home] + skill[away] + random.normal(size=3_000)
    new = pd.DataFrame({"c": ["39", "new"], "d": ["0", "0"]})
    fitted = encoder("roles", temperature=1.0).fit(table, y)
    known, unseen = fitted.transform(new)[:, 0]
    assert known - unseen == pytest.approx(skill[39], abs=1.5)
    drawn = fitted.sample(new, 500)[:, :, 0]
    assert drawn[:, 0].std() < drawn[:, 1].std()
    opposed = SamplingBayesianEncoder(kinds={("c", "d"): Shared(opposed=True)}, random_state=0)
    known, unseen = opposed.fit(table, y - 2.0 * skill[away]).transform(new)[:, 0]
    assert known - unseen == pytest.approx(skill[39], abs=1.5)


# ---------------------------------------------------------------------------------------------- torch


def test_torch_layers_draw_and_expect_what_the_encoder_does(torch):
    from catbayes.torch import PosteriorEmbedding

    for name in KINDS:
        if name in ("parents in columns", "sets"):
            continue
        table, effect = KINDS[name][1](400)
        y = target("normal", effect) - 1e6
        fitted = encoder(name, columns=list(dict.fromkeys(np.ravel(list(KINDS[name][0]))))).fit(table, y)
        layer = PosteriorEmbedding(fitted)
        codes = layer.codes(table)
        assert torch.isfinite(layer.train()(codes)).all()
        width = layer.eval()(codes).numpy().shape[1]
        gap = layer.eval()(codes).numpy() - fitted.transform(table)[:, :width].astype(float)
        assert np.ptp(gap, axis=0).max() < 1e-3  # means are given as differences
        if name == "one direction":
            with pytest.raises(InputError, match="monotone: rows of one level of 'c'"):
                layer.train()(codes, torch.tensor(y))
