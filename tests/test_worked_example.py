"""The worked example of docs/architecture.md, followed to the letter: its blocks are run, and the family is tested."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

import cases
import test_families
from catbayes.families import FAMILIES
from catbayes.statistics import Moments

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
    one = family(centre=3.0, strength=strength)
    normal = stats.norm(one.mean()[0], np.sqrt(one.variance()[0]))
    at = normal.ppf(np.linspace(0.0005, 0.9995, 4001))
    distance = np.abs(stats.invgamma(strength + 1, scale=strength * 3.0).cdf(at) - normal.cdf(at)).max()
    assert distance <= one.normal_error()


def test_the_encoder_takes_it_by_name_and_as_a_class(registered, blocks, family):
    exec(blocks[4], {})
    exec(blocks[4].replace('family="exponential"', "family=family"), {"family": family})


def test_it_is_saved_and_loaded_by_its_name(registered, blocks, tmp_path):
    import catbayes

    names = {}
    exec(blocks[4], names)
    names["encoder"].save(tmp_path / "clerks.catbayes")
    again = catbayes.load(tmp_path / "clerks.catbayes")
    np.testing.assert_array_equal(again.transform(names["X"]), names["encoder"].transform(names["X"]))
