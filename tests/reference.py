"""The method in plain loops, slow and obvious: what every fast path must equal."""

import numpy as np


def posterior(family, prior, y, weight):
    """Parameters of the posterior after observations y with weights, one at a time."""
    if family in ("bernoulli", "binomial"):
        alpha, beta = prior
        for value, w in zip(y, weight, strict=True):
            alpha, beta = alpha + w * value, beta + w * (1 - value)
        return alpha, beta
    if family == "categorical":
        alpha = list(prior[0])
        for value, w in zip(y, weight, strict=True):
            alpha[value] += w
        return (np.array(alpha),)
    if family == "poisson":
        alpha, beta = prior
        for value, w in zip(y, weight, strict=True):
            alpha, beta = alpha + w * value, beta + w
        return alpha, beta
    if family == "negative_binomial":
        centre, strength, size = prior
        a, b = size * strength + 1, strength * centre  # p ~ Beta(a, b)
        for value, w in zip(y, weight, strict=True):
            a, b = a + w * size, b + w * value
        return size * b / (a - 1), (a - 1) / size, size
    if family == "robust":
        parts = [_normal_one_by_one(part, y, weight) for part in zip(*prior, strict=True)]
        centre, precision, noise, log_chance = (np.array(values) for values in zip(*parts, strict=True))
        return centre, precision, noise, log_chance - log_chance.max()
    if family == "lognormal":
        y = np.log(y)
    centre, strength, alpha, beta = prior
    for value, w in zip(y, weight, strict=True):  # each observation updates the posterior of those before it
        beta = beta + w * strength * (value - centre) ** 2 / (2 * (strength + w))
        centre = (strength * centre + w * value) / (strength + w)
        strength, alpha = strength + w, alpha + w / 2
    return centre, strength, alpha, beta


def _normal_one_by_one(part, y, weight):
    """A normal mean of targets of known variance, and how likely each of them was after those before it."""
    centre, precision, noise, log_chance = part
    for value, w in zip(y, weight, strict=True):
        spread = 1 / precision + noise / w  # of a target of this weight
        log_chance += -0.5 * ((value - centre) ** 2 / spread + np.log(spread) + w * np.log(noise) - np.log(noise / w))
        centre = (precision * centre + w / noise * value) / (precision + w / noise)
        precision += w / noise
    return centre, precision, noise, log_chance


def mean(family, parameters):
    """Expectation of the target's mean."""
    if family == "categorical":
        return parameters[0] / parameters[0].sum()
    if family == "robust":
        chance = np.exp(parameters[3])
        return np.array([(chance * parameters[0]).sum() / chance.sum()])
    if family in ("normal", "lognormal", "negative_binomial"):
        return np.array([parameters[0]])
    alpha, beta = parameters
    return np.array([alpha / (alpha + beta) if family in ("bernoulli", "binomial") else alpha / beta])


def encode(family, prior, column, y, weight, visible):
    """Posterior mean for each row n, learnt from the rows m of its category for which visible(n, m)."""
    features = []
    for n, value in enumerate(column):
        rows = [m for m in range(len(column)) if column[m] == value and visible(n, m)]
        features.append(mean(family, posterior(family, prior, [y[m] for m in rows], [weight[m] for m in rows])))
    return np.array(features)
