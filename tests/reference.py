"""Sampling Bayesian target encoding in plain numpy, to be read from top to bottom: the library must equal it.

Larionov, *Sampling Techniques in Bayesian Target Encoding* (2020); numbers of equations are the paper's. Here is the
whole method for one text column at a time, and nothing for speed: a posterior of the target for each category, a draw
from it for each row, in training without the row's own target, and predictions averaged over draws.

    model = fit(estimator, copies(columns, y, …))        average(model, columns, …)
"""

from __future__ import annotations

import json
from hashlib import blake2b

import numpy as np
from scipy import optimize, special, stats
from sklearn.model_selection import KFold

# ------------------------------------------------------------------------------------------------ 1. families
#
# A distribution of θ is a tuple of numbers, or of arrays with an entry for each row. Each family defines
#   scaled      the paper's prior: the whole table, scaled by γ
#   add         the posterior after an observation y of weight w
#   mean        E θ, (row, parameter), the mean of the target first
#   strength    how many observations the mean is worth
#   draw        a draw of θ for each row
#   quantile    θ at uniforms, one for each parameter
#   evidence    the log-probability of all observations of a category under a prior, θ integrated out
#   of          a prior of unbounded numbers, to search for the empirical one


class Bernoulli:
    """Two classes, y = 0 or 1: θ ~ Beta(α, β) is the probability of the second."""

    def scaled(self, y, w, gamma):
        """The paper's prior: α = 1 + γ Σ y (5), β = 1 + γ Σ (1 - y) (6)."""
        return 1 + gamma * (w * y).sum(), 1 + gamma * (w * (1 - y)).sum()

    def add(self, prior, y, w):
        """α + y (7), β + 1 - y (8)."""
        alpha, beta = prior
        return alpha + w * y, beta + w * (1 - y)

    def mean(self, p):
        return np.stack([p[0] / (p[0] + p[1])], axis=-1)

    def strength(self, p):
        return p[0] + p[1]

    def draw(self, p, random):
        return np.stack([random.beta(*p)], axis=-1)

    def quantile(self, p, u):
        return np.stack([stats.beta(*p).ppf(u[0])], axis=-1)

    def evidence(self, p, y, w):
        alpha, beta = self.add(p, (w * y).sum() / w.sum(), w.sum())
        return special.betaln(alpha, beta) - special.betaln(*p)

    def of(self, x):
        """A prior of two unbounded numbers: log α and log β."""
        return tuple(np.exp(x))

    start = (0.0, 0.0)


class Categorical:
    """Classes y = 0, 1, …: θ ~ Dirichlet(α) are their probabilities; α is (…, class)."""

    def __init__(self, n_classes=3):
        self.start = (0.0,) * n_classes

    def scaled(self, y, w, gamma):
        """α_c = 1 + γ Σ 1(y = c)  (9)."""
        return (1 + gamma * self._count(y, w),)

    def add(self, prior, y, w):
        """α_c + 1(y = c)  (10)."""
        return (prior[0] + np.asarray(w)[..., None] * (np.asarray(y)[..., None] == np.arange(len(self.start))),)

    def mean(self, p):
        return p[0] / p[0].sum(axis=-1, keepdims=True)

    def strength(self, p):
        return p[0].sum(axis=-1)

    def draw(self, p, random):
        """Independent Gamma(α_c) over their sum; Gamma(α) = Gamma(α + 1) U^(1 / α), which cannot underflow."""
        log = np.log(random.standard_gamma(p[0] + 1)) - random.spawn(1)[0].standard_exponential(p[0].shape) / p[0]
        share = np.exp(log - log.max(axis=-1, keepdims=True))
        return share / share.sum(axis=-1, keepdims=True)

    def quantile(self, p, u):
        """Stick-breaking: θ_c is a Beta share of what the classes before it left."""
        theta, left = np.zeros_like(p[0]), np.ones_like(p[0][..., 0])
        for c in range(p[0].shape[-1] - 1):
            theta[..., c] = left * stats.beta(p[0][..., c], p[0][..., c + 1 :].sum(axis=-1)).ppf(u[c])
            left = left - theta[..., c]
        theta[..., -1] = left
        return theta

    def evidence(self, p, y, w):
        after = p[0] + self._count(y, w)
        return self._log_beta(after) - self._log_beta(p[0])

    def of(self, x):
        return (np.exp(x),)

    def _count(self, y, w):
        return np.bincount(y, w, len(self.start))

    def _log_beta(self, alpha):
        return special.gammaln(alpha).sum() - special.gammaln(alpha.sum())


class Normal:
    """Numbers: y ~ N(μ, 1 / τ), τ ~ Gamma(α, rate β), μ | τ ~ N(μ₀, 1 / (ν τ)); θ = (μ, τ)."""

    start = (0.0, 0.0, 1.0, 0.0)

    def scaled(self, y, w, gamma):
        """μ₀ = ȳ (11), α = γ N / 2 (13), β = γ / 2 Σ (y - ȳ)² (14); ν = γ N, where the paper has 0 (12)."""
        n, mean = w.sum(), (w * y).sum() / w.sum()
        return mean, gamma * n, gamma * n / 2, gamma / 2 * (w * (y - mean) ** 2).sum()

    def add(self, prior, y, w):
        """Equations 15 to 18 for one observation."""
        centre, nu, alpha, beta = prior
        after = nu + w
        return centre + w * (y - centre) / after, after, alpha + w / 2, beta + w * nu / after * (y - centre) ** 2 / 2

    def mean(self, p):
        return np.stack([p[0], p[2] / p[3]], axis=-1)

    def strength(self, p):
        return p[1]

    def draw(self, p, random):
        tau = random.standard_gamma(p[2]) / p[3]
        return np.stack([p[0] + random.spawn(1)[0].standard_normal(tau.shape) / np.sqrt(p[1] * tau), tau], axis=-1)

    def quantile(self, p, u):
        tau = stats.gamma(p[2], scale=1 / p[3]).ppf(u[1])
        return np.stack([stats.norm(p[0], 1 / np.sqrt(p[1] * tau)).ppf(u[0]), tau], axis=-1)

    def evidence(self, p, y, w):
        (_, nu, alpha, beta), (_, nu_n, alpha_n, beta_n) = p, observe(self, p, y, w)
        rising = special.gammaln(alpha_n) - special.gammaln(alpha) + alpha * np.log(beta) - alpha_n * np.log(beta_n)
        return rising + 0.5 * np.log(nu / nu_n) - w.sum() / 2 * np.log(2 * np.pi)

    def of(self, x):
        return x[0], np.exp(x[1]), np.exp(x[2]), np.exp(x[3])


class Poisson:
    """Counts: θ ~ Gamma(α, rate β) is the rate. The paper stops at three families; this one follows its recipe."""

    start = (0.0, 0.0)

    def scaled(self, y, w, gamma):
        return gamma * (w * y).sum(), gamma * w.sum()

    def add(self, prior, y, w):
        return prior[0] + w * y, prior[1] + w

    def mean(self, p):
        return np.stack([p[0] / p[1]], axis=-1)

    def strength(self, p):
        return p[1]

    def draw(self, p, random):
        return np.stack([random.standard_gamma(p[0]) / p[1]], axis=-1)

    def quantile(self, p, u):
        return np.stack([stats.gamma(p[0], scale=1 / p[1]).ppf(u[0])], axis=-1)

    def evidence(self, p, y, w):
        """But for Σ log y!, which no prior changes."""
        alpha, beta = self.add(p, (w * y).sum() / w.sum(), w.sum())
        return special.gammaln(alpha) - special.gammaln(p[0]) + p[0] * np.log(p[1]) - alpha * np.log(beta)

    def of(self, x):
        return tuple(np.exp(x))


class NegativeBinomial:
    """Counts that vary more: y ~ NB(r, p) of mean θ = r (1 - p) / p, where p ~ Beta(r ν + 1, ν c)."""

    def add(self, prior, y, w):
        centre, nu, size = prior
        return (nu * centre + w * y) / (nu + w), nu + w, size

    def mean(self, p):
        return np.stack([p[0]], axis=-1)


class Robust:
    """Numbers with outliers: θ is normal given the variance of its category, which is one of several."""

    def add(self, prior, y, w):
        centre, precision, noise, log_chance = prior
        after, spread = precision + w / noise, 1 / precision + noise / w  # `spread` of a target of this weight
        log_chance = log_chance - 0.5 * ((y - centre) ** 2 / spread + np.log(spread) + (w - 1) * np.log(noise))
        return (precision * centre + w / noise * y) / after, after, noise, log_chance - log_chance.max()

    def mean(self, p):
        chance = np.exp(p[3])
        return np.stack([(chance * p[0]).sum(axis=-1) / chance.sum(axis=-1)], axis=-1)


FAMILIES = {
    "bernoulli": Bernoulli(),
    "categorical": Categorical(),
    "normal": Normal(),
    "lognormal": Normal(),  # of log y
    "poisson": Poisson(),
    "binomial": Bernoulli(),  # y events of w attempts as the share y / w
    "negative_binomial": NegativeBinomial(),
    "robust": Robust(),
}


def observe(family, prior, y, w):
    """The posterior after all observations, one after the other."""
    for value, weight in zip(y, w, strict=True):
        prior = family.add(prior, value, weight)
    return prior


def empirical(family, column, y, w):
    """The prior that makes the categories most likely, each independent of the others given the prior."""

    def cost(x):
        return -sum(family.evidence(family.of(x), y[column == c], w[column == c]) for c in np.unique(column))

    return family.of(optimize.minimize(cost, family.start, method="Nelder-Mead", options={"maxfev": 4000}).x)


def posterior(family, prior, y, w):
    """The same by the name of a family, of targets as they were given."""
    return observe(FAMILIES[family], prior, np.log(y) if family == "lognormal" else y, w)


def mean(family, p):
    """The mean of the target under a posterior."""
    return f(FAMILIES[family], FAMILIES[family].mean(p)[None])[0]


# -------------------------------------------------------------------------------------------- 2. posteriors
#
# Of each row: the posterior of its category from the rows that it may know, and how many these are. A category of
# which no row is known has the prior.


def posteriors(family, prior, column, y, w, visible):
    """For row n, the posterior after the rows m of its category for which visible(n, m), and their weight."""
    found, counts = [], []
    for n, value in enumerate(column):
        rows = [m for m in range(len(y)) if column[m] == value and visible(n, m)]
        found.append(observe(family, prior, y[rows], w[rows]))
        counts.append(w[rows].sum())
    return tuple(np.array(part) for part in zip(*found, strict=True)), np.array(counts)


def visible_rows(own_target, n_rows, seed, k):
    """Which rows inform which in draw k of training, so that no row's own target leaks into its features."""
    if own_target == "include":  # the paper: all rows of the category
        return lambda n, m: True
    if own_target == "exclude":  # leave-one-out
        return lambda n, m: n != m
    if own_target == "cross_fit":  # the rows of the other folds
        shuffle, fold = int(stream(seed, FOLDS).integers(np.iinfo(np.int32).max)), np.empty(n_rows)
        for number, (_, test) in enumerate(KFold(5, shuffle=True, random_state=shuffle).split(np.empty((n_rows, 1)))):
            fold[test] = number
        return lambda n, m: fold[n] != fold[m]
    order = stream(seed, ORDER, k).permutation(n_rows)  # "ordered": the rows before it, in an order of this draw
    return lambda n, m: order[m] < order[n]


# ------------------------------------------------------------------------------------------------- 3. draws
#
# A draw is a function of its key (seed, purpose, column, number of the draw), never of what was drawn before it.

TRAIN, SAMPLE, FOLDS, PREDICT, ORDER = 0, 1, 3, 4, 7


def stream(seed, *key):
    """The generator of a key."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


def seed_of(random_state):
    """The seed of an encoder with this random_state."""
    return int(np.random.RandomState(random_state).randint(np.iinfo(np.int32).max))


def key_of(name):
    """The part of the key that stands for a column."""
    return int.from_bytes(blake2b(json.dumps(name).encode(), digest_size=8).digest(), "little")


def closer(family, p, count, theta, temperature):
    """Bring draws closer to their mean: by a factor, or as the mean itself varies with its sample of n rows."""
    factor = np.sqrt(count / family.strength(p)) if temperature is None else temperature
    mean = family.mean(p)
    return mean + np.broadcast_to(factor, count.shape)[:, None] * (theta - mean)


def draw(family, p, count, temperature, seed, purpose, name, k):
    """Draw k of θ for each row. A column and a draw have a stream for each 32,768 rows; here is one."""
    theta = family.draw(p, stream(seed, purpose, key_of(name), k, 0, 0))
    return closer(family, p, count, theta, temperature)


def encode(family, prior, column, y, w, visible):
    """Features of rows without a draw: the posterior means of the rows that each row may know."""
    y = np.log(y) if family == "lognormal" else np.asarray(y)
    p, _ = posteriors(FAMILIES[family], prior, column, y, np.asarray(w), visible)
    return f(FAMILIES[family], FAMILIES[family].mean(p))


def training_features(family, prior, name, column, y, w, *, own_target, temperature, seed, k=0):
    """Features of the training rows in draw k: θ without the own target, and of it the mean of the target (f)."""
    known = posteriors(family, prior, column, y, w, visible_rows(own_target, len(y), seed, k))
    return f(family, draw(family, *known, temperature, seed, TRAIN, name, k))


def new_features(family, prior, name, column, y, w, new, *, temperature, seed, k):
    """Draw k of the features of new rows; an unseen category is drawn from the prior."""
    everything = np.append(column, new)
    p, count = posteriors(family, prior, everything, y, w, lambda n, m: True)
    own = slice(len(column), None)
    return f(family, draw(family, tuple(a[own] for a in p), count[own], temperature, seed, SAMPLE, name, k))


def expected_features(family, prior, column, y, w, new):
    """E f(θ) of new rows: plain target encoding with this prior."""
    p, _ = posteriors(family, prior, np.append(column, new), y, w, lambda n, m: True)
    return f(family, family.mean(p))[len(column) :]


def f(family, theta):
    """The mapping "mean": the mean of the target, or the probability of each class."""
    return theta[:, :1] if isinstance(family, Normal) else theta


# --------------------------------------------------------------------------------- 4. a model on the features


def copies(family, prior, columns, y, w, n_draws, **how):
    """K copies of the rows, each with a draw of its own (the paper's augmented set)."""

    def table(k):
        return np.hstack([training_features(family, prior, name, c, y, w, k=k, **how) for name, c in columns.items()])

    return np.vstack([table(k) for k in range(n_draws)]), np.tile(y, n_draws), np.tile(w, n_draws)


def average(predict, family, prior, columns, y, w, new, n_draws, *, temperature, seed):
    """Equation 4: predictions, averaged over K draws of θ for each category.

    The K draws of a column are stratified (a Latin hypercube): each uniform visits each of K strata once, in an order
    of its own, and all categories share them.
    """
    blocks = []
    for name, column in columns.items():
        random = stream(seed, PREDICT, key_of(name), n_draws)
        p, count = posteriors(family, prior, np.append(column, new[name]), y, w, lambda n, m: True)
        order = random.permuted(np.tile(np.arange(n_draws), (family.mean(p).shape[-1], 1)), axis=1).T
        uniform = (order + random.random(order.shape)) / n_draws
        theta = (closer(family, p, count, family.quantile(p, u), temperature) for u in uniform)
        blocks.append([f(family, one)[len(column) :] for one in theta])
    return np.mean([predict(np.hstack(draws)) for draws in zip(*blocks, strict=True)], axis=0)
