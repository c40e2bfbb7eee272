"""Priors of linked categories equal a dense normal model of all of them, and their strengths are found.

For the normal family everything is exact: θ has a covariance, each category adds n rows of noise, and the prior of a
category is θ given the rows of all others.
"""

import numpy as np
import pytest

from cases import PRIORS, gather
from catbayes.core.categories import Categories
from catbayes.core.combinations import Index
from catbayes.core.statistics import Moments
from catbayes.families import (
    FAMILIES,
    BetaBernoulli,
    BetaNegativeBinomial,
    DirichletCategorical,
    GammaPoisson,
    NormalGamma,
)
from catbayes.families.arithmetic import around
from catbayes.kinds import Ordinal, Shared, Tags
from catbayes.kinds.random_walk import RandomWalk
from catbayes.kinds.shared import Roles
from catbayes.kinds.tags import Members, Sets
from catbayes.kinds.tree import Tree
from catbayes.priors import Empirical

MEAN, KAPPA, OMEGA = 5.0, 0.4, 3.0
COUNTS = np.array([3.0, 0.0, 5.0, 1.0, 0.0, 12.5])


def index_of(values, kind=None):
    seen = Index.of_column(Categories(tuple(values)))
    return seen if kind is None else kind.index(seen, "c")


def laplacian(n_levels, ring):
    steps = [(k, k + 1) for k in range(n_levels - 1)] + ([(n_levels - 1, 0)] if ring else [])
    found = np.zeros((n_levels, n_levels))
    for one, other in steps:
        found[[one, other], [one, other]] += 1.0
        found[[one, other], [other, one]] -= 1.0
    return found


def walk(ring):
    """Levels in their order, and the covariance of their θ."""
    index = index_of(range(6), Ordinal(cyclic=ring))
    return index, RandomWalk, (OMEGA,), np.linalg.inv(KAPPA * np.eye(6) + OMEGA * laplacian(6, ring))


def tree():
    """Three parents of two children each."""
    index = index_of(range(6)).below({child: (child // 2,) for child in range(6)})
    parents = np.equal.outer(np.arange(6) // 2, np.arange(6) // 2)
    return index, Tree, (OMEGA, KAPPA), np.eye(6) / OMEGA + parents / KAPPA


def members(averaged):
    """Sets of the members a, b and c; one more member is in every set."""
    texts = ("a", "a|b", "a|b|c", "b", "b|c", "c")
    index = Tags().index(Index.of_column(Sets(texts)), "c")
    design = np.array([[member in text.split("|") for member in "abc"] for text in texts], dtype=float)
    design /= design.sum(axis=1, keepdims=True) if averaged else 1.0
    design = np.column_stack([design, np.ones(6)])
    return index, Members, (KAPPA, OMEGA, float(averaged)), design @ design.T / KAPPA + np.eye(6) / OMEGA


@pytest.mark.parametrize("case", [walk(False), walk(True), tree(), members(False), members(True)], ids=lambda c: c[1])
def test_priors_of_linked_categories_equal_a_dense_normal_model(case):
    index, links, strengths, covariance = case
    own = np.append(COUNTS, np.zeros(index.n_slots - 6))
    means = np.where(own > 0, MEAN + np.random.default_rng(0).normal(size=len(own)), 0.0)
    root = NormalGamma(MEAN, KAPPA, 3.0, 2.0)
    found, variance, outer = links(root, strengths).slot_priors(index, Moments(own, means, np.ones(len(own))))
    for slot in range(6):
        others = [k for k in range(6) if k != slot and COUNTS[k] > 0]
        noisy = covariance[np.ix_(others, others)] + np.diag(1.0 / COUNTS[others])
        weight = np.linalg.solve(noisy, covariance[others, slot])
        assert found.centre[slot] - MEAN == pytest.approx(weight @ (means[others] - MEAN), rel=1e-9, abs=1e-10)
        left = covariance[slot, slot] - weight @ covariance[others, slot]
        assert found.strength[slot] == pytest.approx(1.0 / left, rel=1e-9)
        if links is RandomWalk:  # of ȳ, given θ
            assert variance[slot] == pytest.approx((weight**2 / COUNTS[others]).sum(), rel=1e-8)
    np.testing.assert_allclose([*found.alpha, *found.beta], [3.0] * len(own) + [2.0] * len(own))
    assert found.strength[index.unseen] == pytest.approx(outer.strength)


@pytest.mark.parametrize("opposed", [False, True])
def test_priors_of_roles_equal_a_dense_normal_model(opposed):
    random, sign = np.random.default_rng(0), -1.0 if opposed else 1.0
    index = Shared(opposed).index(index_of(range(4)), "home")
    counts = random.integers(1, 5, (2, 4)).astype(float)
    others = tuple(
        Moments(np.append(n, [1.0, 0.0]), np.append(random.normal(size=4), [0.0, 0.0]), np.ones(6)) for n in counts
    )
    links = Roles.of(index, NormalGamma(MEAN, KAPPA, 3.0, 2.0), (OMEGA,), others)
    found, variance, _ = links.slot_priors(index, None)
    covariance = np.linalg.inv(KAPPA * np.eye(3) + OMEGA * (3 * np.eye(3) - np.ones((3, 3))))
    for slot in range(4):
        noisy = covariance[1:, 1:] + np.diag(1.0 / counts[:, slot])
        weight = np.linalg.solve(noisy, covariance[1:, 0])
        gaps = [other.mean[slot] - np.average(other.mean[:4], weights=other.count[:4]) for other in others]
        assert found.centre[slot] - MEAN == pytest.approx(sign * weight @ gaps, rel=1e-9)
        assert found.strength[slot] == pytest.approx(1.0 / (covariance[0, 0] - weight @ covariance[1:, 0]), rel=1e-9)
        assert variance[slot] == pytest.approx((weight**2 / counts[:, slot]).sum(), rel=1e-9)


def test_the_variances_of_a_parent_and_of_its_children_add_up():
    """Var θ = Var E(θ | parent) + E Var(θ | parent), worked out for each family by hand."""
    beta = around(BetaBernoulli([6.0], [14.0]), 9.0)
    assert beta.mean()[0, 0] == pytest.approx(0.3)
    assert beta.variance()[0, 0] == pytest.approx(0.3 * 0.7 / 21 + 0.3 * 0.7 * 20 / 21 / 10, rel=1e-12)
    dirichlet = around(DirichletCategorical([[6.0, 4.0, 10.0]]), 9.0)
    assert dirichlet.variance()[0, 0] == pytest.approx(beta.variance()[0, 0], rel=1e-12)
    gamma = around(GammaPoisson([6.0], [3.0]), 9.0)
    assert gamma.variance()[0, 0] == pytest.approx(2.0 / 3 + 2.0 / 9, rel=1e-12)
    counts = around(BetaNegativeBinomial([2.0], [3.0], [0.5]), 9.0)
    above = (2.0 + 2.0**2 / 0.5) / (3.0 - 2.0)
    within = (2.0 + (2.0**2 + above) / 0.5) / (9.0 - 2.0)  # E (θ + θ²/r) / (ν - 1/r) over the parent's θ
    assert counts.variance()[0, 0] == pytest.approx(above + within, rel=1e-12)
    normal = around(NormalGamma([1.0], [4.0], [3.0], [2.0]), 9.0)
    assert normal.variance()[0, 0] == pytest.approx(2.0 / 2.0 * (1 / 4 + 1 / 9), rel=1e-12)  # E σ² = β / (α - 1)


# ------------------------------------------------------------------------------------ strengths


def fit(index, links, family, y, codes):
    statistics = gather(family, y, codes=codes, n_slots=index.n_slots)
    return links.fit(index, statistics, Empirical().fit(FAMILIES[family], statistics), True)


@pytest.mark.parametrize("family", ["bernoulli", "categorical", "normal", "poisson", "negative_binomial", "binomial"])
@pytest.mark.parametrize(("ours", "top"), [(40.0, 10.0), (2.0, 1.5)])
def test_strengths_of_every_level_of_a_tree_are_found(family, ours, top):
    """θ of 200 parents about a root, of 30 children about each, drawn from the family itself."""
    random, prior = np.random.default_rng(3), PRIORS[family].take(np.newaxis)
    if family == "normal":
        prior = NormalGamma([5.0], [top], [1e6], [1e6])
    parents = prior.worth(np.array([top])).take(np.zeros(200, int)).sample(random)[:, prior.location]
    theta = parents[np.repeat(np.arange(200), 30)]
    if family in ("bernoulli", "binomial"):
        theta = random.beta(ours * theta, ours * (1 - theta))
    elif family == "categorical":
        theta = np.stack([random.dirichlet(ours * row + 1e-9) for row in theta])
    elif family == "normal":
        theta = random.normal(theta, 1 / np.sqrt(ours))
    elif family == "poisson":
        theta = random.gamma(ours * theta, 1 / ours)
    else:
        shape = np.ones(len(theta))
        theta = BetaNegativeBinomial(theta[:, 0], ours * shape, prior.size * shape).sample(random)
    codes = np.repeat(np.arange(6_000), 20)
    theta = theta[codes]
    y = {
        "categorical": lambda: (random.random((len(codes), 1)) > np.cumsum(theta, axis=1)[:, :2]).sum(axis=1),
        "normal": lambda: random.normal(theta[:, 0]),
        "poisson": lambda: random.poisson(theta[:, 0]),
        "negative_binomial": lambda: random.negative_binomial(prior.size, prior.size / (prior.size + theta[:, 0])),
    }.get(family, lambda: random.binomial(1, theta[:, 0]))()
    index = index_of(range(6_000)).below({child: (child // 30,) for child in range(6_000)})
    own, outer = fit(index, Tree, family, y, codes).strengths
    assert 0.7 < own / ours < 1.4
    assert 0.6 < outer / top < 1.6


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize(("kappa", "omega"), [(0.05, 2.0), (0.5, 20.0), (5.0, 0.01)])
def test_the_smoothness_of_levels_is_found(ring, kappa, omega):
    random, n_levels = np.random.default_rng(3), 400
    precision = kappa * np.eye(n_levels) + omega * laplacian(n_levels, ring)
    theta = np.linalg.cholesky(np.linalg.inv(precision)) @ random.normal(size=n_levels)
    codes = np.repeat(np.arange(n_levels), 40)
    index = index_of(range(n_levels), Ordinal(cyclic=ring))
    links = fit(index, RandomWalk, "normal", theta[codes] + random.normal(size=len(codes)), codes)
    if omega > kappa:
        assert links.step == pytest.approx(omega, rel=0.5)
    else:
        assert links.root.strength == pytest.approx(kappa, rel=0.3)


def test_a_tie_between_roles_is_found():
    random = np.random.default_rng(0)
    covariance = np.linalg.inv(0.5 * np.eye(2) + 2.0 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    theta = random.multivariate_normal([0.0, 0.0], covariance, 600).T
    codes, index = np.repeat(np.arange(600), 20), Shared().index(index_of(range(600)), "home")
    own, other = (gather("normal", one[codes] + random.normal(size=12_000), codes=codes, n_slots=602) for one in theta)
    links = Roles.fit(index, own, Empirical().fit(NormalGamma, own), True, (other,))
    assert links.strengths[0] == pytest.approx(2.0, rel=0.35)
    assert links.root.strength == pytest.approx(0.5, rel=0.35)
