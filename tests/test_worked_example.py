"""The worked example of docs/architecture.md, followed to the letter: its blocks are run, and the family is tested."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import integrate, stats
from sklearn.utils import get_tags

import cases
import test_families
from catbayes import Draws, InputError, PredictiveQuantiles, SamplingBayesianEncoder, Scaled, gather
from catbayes.core.statistics import Moments
from catbayes.families import FAMILIES, Family
from catbayes.families.arithmetic import around

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
NAME = "exponential"


@pytest.fixture(scope="module")
def blocks():
    """The Python of the page: the file, its name, its tests (two blocks), and a try."""
    found = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert len(found) == 5
    return found


@pytest.fixture(scope="module")
def family(blocks, tmp_path_factory):
    """The family, from a file as the page says."""
    path = tmp_path_factory.mktemp("families") / f"{NAME}.py"
    path.write_text(blocks[0], encoding="utf-8")
    assert len(blocks[0].splitlines()) < 150
    spec = importlib.util.spec_from_file_location(f"catbayes.families.{NAME}", path)
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module.InverseGammaExponential
    del sys.modules[spec.name]


@pytest.fixture
def registered(family, blocks, monkeypatch):
    """The family in the tables that the tests walk; what the page defines."""
    names = {"FAMILIES": dict(FAMILIES), "PRIORS": dict(cases.PRIORS), "InverseGammaExponential": family}
    exec("\n".join(blocks[1:4]), names)
    monkeypatch.setitem(FAMILIES, NAME, names["FAMILIES"][NAME])
    monkeypatch.setitem(cases.PRIORS, NAME, names["PRIORS"][NAME])
    monkeypatch.setattr(
        test_families, "make_target", lambda _, theta, random: names["make_waiting_times"](theta, random)
    )
    monkeypatch.setattr(test_families, "marginals", names["marginals_of_waiting_times"])
    return names


@pytest.mark.parametrize(
    "claim",
    [
        test_families.test_moments_and_quantiles_are_those_of_scipy,
        test_families.test_exact_draws_follow_the_marginal_distributions,
        test_families.test_transported_uniforms_are_draws,
        test_families.test_the_empirical_prior_is_a_maximum_of_the_marginal_likelihood,
        test_families.test_the_empirical_prior_finds_the_prior_that_made_the_data,
    ],
    ids=lambda claim: claim.__name__,
)
def test_the_new_family_passes_the_tests_of_families(claim, registered):
    claim(NAME)


@pytest.mark.parametrize("per_category", [1, 2, 50])
def test_the_new_family_flattens_a_column_without_signal(per_category, registered):
    test_families.test_without_signal_every_category_sits_on_the_prior(NAME, per_category)


def test_update_and_leave_out_equal_the_loop(registered):
    random, prior = np.random.default_rng(0), registered["PRIORS"][NAME]
    y, weight = random.exponential(3.0, 12), random.uniform(0.1, 4.0, 12)
    posterior = prior.update(Moments.from_codes(np.zeros(12, int), y, weight, n_slots=1))
    one_by_one = registered["waiting_times_one_by_one"]
    start = cases.parameters(prior)
    np.testing.assert_allclose(cases.parameters(posterior.take(0)), one_by_one(start, y, weight), rtol=1e-12)
    left = posterior.leave_out(y[-1:], weight[-1:]).take(0)
    np.testing.assert_allclose(cases.parameters(left), one_by_one(start, y[:-1], weight[:-1]), rtol=1e-10)


def test_the_marginal_likelihood_integrates_the_likelihood(registered):
    prior, y = registered["PRIORS"][NAME], np.array([0.5, 4.0, 1.5])
    density = registered["marginals_of_waiting_times"](prior)[0].pdf
    whole, _ = integrate.quad(lambda theta: density(theta) * np.prod(stats.expon(scale=theta).pdf(y)), 0, np.inf)
    found = prior.log_marginal(Moments.from_codes(np.zeros(3, int), y, n_slots=1))[0]
    assert found == pytest.approx(np.log(whole), abs=1e-8)


@pytest.mark.parametrize("strength", [2.5, 5.0, 20.0, 100.0, 1000.0, 100_000.0])
def test_the_normal_error_is_bounded_as_promised(strength, family):
    one, exact = family(centre=3.0, strength=strength), stats.invgamma(strength + 1, scale=strength * 3.0)
    assert test_families.distance_of_normal(one, 0, exact) <= one.normal_error()


def test_the_encoder_takes_it_by_name_and_as_a_class(registered, blocks, family):
    exec(blocks[4], {})
    exec(blocks[4].replace('family="exponential"', "family=family"), {"family": family})


def make_queue(how, n_rows=2_000, seed=0):
    """Waiting times by clerk, day and counter: noise, an effect of each, or one that clerk and day have together."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(random.integers(0, 8, (n_rows, 3)), columns=["clerk", "day", "counter"])
    one, other, both = random.normal(size=8), random.normal(size=8), random.normal(size=(8, 8))
    effect = {
        "noise": np.zeros(n_rows),
        "each": one[table["clerk"]] + other[table["day"]],
        "together": both[table["clerk"], table["day"]],
    }[how]
    return table, random.exponential(3.0 * np.exp(0.6 * effect))


@pytest.mark.parametrize("how", ["noise", "each", "together"])
def test_auto_weighs_its_pairs(how, registered):
    for seed in range(8):
        table, y = make_queue(how, seed=seed)
        encoder = SamplingBayesianEncoder("all", family=NAME, interactions="auto").fit(table, y)
        assert encoder.columns_[3:4] == ([("clerk", "day")] if how == "together" else [])


def test_pairs_of_it_are_encoded(registered):
    table, y = make_queue("together")
    features = SamplingBayesianEncoder("all", family=NAME, interactions="pairs", random_state=0).fit_transform(table, y)
    assert features.shape == (2_000, 6)
    assert np.corrcoef(np.log(features[:, 3]), np.log(y))[0, 1] > 0.3


def test_variances_of_a_parent_and_of_its_children_add_up(family):
    child = around(family(centre=[3.0], strength=[20.0]), 9.0)
    within = 9.0 * 20 / 19 / 8  # E θ² / (ν - 1)
    assert child.variance()[0, 0] == pytest.approx(9.0 / 19 + within, rel=1e-12)


def test_it_leans_on_its_parents_in_a_hierarchy(registered):
    random = np.random.default_rng(0)
    clerk = np.repeat(np.arange(120), random.choice([1, 3, 9], 120))
    table = pd.DataFrame({"office": clerk // 30, "clerk": clerk})
    wait = np.array([1.0, 3.0, 9.0, 27.0])
    y = random.exponential(wait[table["office"]])
    encoder = SamplingBayesianEncoder(["clerk"], hierarchy={"clerk": ["office"]}, family=NAME, random_state=0)
    drawn = encoder.fit_transform(table, y)[:, 1]
    assert np.isfinite(drawn).all()
    assert (drawn > 0).all()
    for office, expected in enumerate(wait):  # a clerk who was never seen waits as his office does
        found = encoder.transform(pd.DataFrame({"office": [office], "clerk": [999]}))[0, 1]
        assert found == pytest.approx(expected, rel=0.35)


@pytest.mark.parametrize("lazy", [False, True])
def test_times_that_it_does_not_take_are_refused(lazy, registered):
    table = pl.DataFrame({"clerk": ["Ada", "Bo"] * 4, "minutes": [3.0, 0.0] * 4})
    message = 'family="exponential" takes times > 0, and y holds 0: drop or shift such rows'
    with pytest.raises(InputError, match=message):
        gather(table.lazy() if lazy else table, target="minutes", family=NAME)
    whole = gather(table.with_columns(minutes=2.0), target="minutes", family=NAME)
    with pytest.raises(InputError, match="Take out only what was put in"):
        whole - gather(table[:1].with_columns(minutes=90.0), target="minutes", family=NAME)
    assert get_tags(SamplingBayesianEncoder(family=NAME)).target_tags.positive_only


def test_what_a_family_does_not_say_is_refused_in_a_sentence(family):
    class Taciturn(family):
        worth = Family.worth

    table, y = make_queue("noise", 200)
    with pytest.raises(InputError, match=r"Taciturn does not define another strength.*Leave those out"):
        SamplingBayesianEncoder(["clerk"], family=Taciturn, hierarchy={"clerk": ["day"]}).fit(table, y)
    with pytest.raises(InputError, match=r"Taciturn does not define the quantiles.*mean_precision"):
        SamplingBayesianEncoder("all", family=Taciturn, mapping=PredictiveQuantiles()).fit(table, y)
    with pytest.raises(InputError, match="needs a class target"):
        SamplingBayesianEncoder("all", family=Taciturn, mapping="weight_of_evidence").fit(table, y)
    with pytest.raises(InputError, match="exposure is for counts, and the target is for Taciturn"):
        SamplingBayesianEncoder("all", family=Taciturn).fit(table, y, exposure=np.ones(200))
    with pytest.raises(InputError, match=r"only the normal families have one; leave it out for Taciturn"):
        SamplingBayesianEncoder("all", family=Taciturn, prior=Scaled(0.1, strength=0)).fit(table, y)
    SamplingBayesianEncoder("all", family=Taciturn).fit_transform(table, y)  # all else it can do


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_it_is_drawn_in_torch(precision, registered, torch):
    from catbayes.torch import PosteriorEmbedding

    table, y = make_queue("each", 300)
    encoder = SamplingBayesianEncoder(["clerk"], family=NAME, draws=Draws(1.0), random_state=0)
    encoder.fit(table, y)
    layer = PosteriorEmbedding(encoder, generator=torch.Generator().manual_seed(0)).to(getattr(torch, precision))
    row = layer.codes(table[:1]).repeat(4_000, 1)
    posterior = encoder.encoding_.columns[0].family.take(row[:, 0].numpy())
    for target, wanted in ((None, posterior), (torch.full((4_000,), y[0]), posterior.leave_out(y[0], 1.0))):
        drawn = layer(row, target).numpy()[:, 0]
        assert stats.ks_2samp(drawn, wanted.sample(np.random.default_rng(1))[:, 0]).pvalue > 1e-3
    found = layer.eval()(layer.codes(table)).numpy()
    np.testing.assert_allclose(found, encoder.transform(table)[:, :1].astype(float), rtol=1e-6)


def test_it_is_saved_and_loaded_by_its_name(registered, blocks, tmp_path):
    import catbayes

    names = {}
    exec(blocks[4], names)
    names["encoder"].save(tmp_path / "clerks.catbayes")
    again = catbayes.load(tmp_path / "clerks.catbayes")
    np.testing.assert_array_equal(again.transform(names["X"]), names["encoder"].transform(names["X"]))
