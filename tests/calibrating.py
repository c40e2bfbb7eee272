"""Simulation-based calibration of encoders, of all that goes together: families, priors, strategies, pairs, trees.

A true θ is drawn for every category from the prior, and targets from θ. Among draws from the posterior every rank of
the truth is then as likely as any other, whether a row's own target is in that posterior, left out, in another fold, or
later (Talts et al., 2018). Posterior SBC asks the same of what was learnt: θ is drawn from the posterior of some rows,
more rows are made of it, and `partial_fit` is told of them (Säilynoja et al., 2025).

A learnt prior is a little off, in one direction for all categories of a table. So ranks are counted in many tables, and
each rank is held against how much its count differs from table to table.

`python tests/calibrating.py` goes through all cells, and writes the p-values of their ranks, and how large an error
would have been seen, to `build/reliability/calibration.json`.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from scipy import stats

from cases import PRIORS, make_target, repeated
from catbayes import Ordered, SamplingBayesianEncoder
from catbayes.kinds import Nested

N_TABLES, N_CATEGORIES, N_ROWS, N_RANKS = 25, 800, 5, 10
LEARNT = ("given", "learnt")
HIERARCHIES = ("bernoulli", "categorical", "normal", "poisson", "negative_binomial", "binomial")
LEVEL = 0.01
"""Chance that any p-value of a run is called too small, where nothing is wrong."""


def truths(family, random):
    """θ of every category, from the prior."""
    return repeated(PRIORS[family], N_CATEGORIES).sample(random)


def tables(codes, structure):
    """Rows of categories: as one column, or as two that tell it together, or one below another."""
    if structure == "column":
        return codes[:, None]
    return np.column_stack([codes // 40, codes % 40 if structure == "pair" else codes])


def encoder(family, prior, structure, seed, own_target="exclude"):
    """An encoder of such a table that draws from the posterior as it is; each table has a seed of its own."""
    how = {"family": family, "prior": PRIORS[family] if prior == "given" else "empirical", "mapping": "identity"}
    how |= {"temperature": 1.0, "random_state": seed, "own_target": own_target}
    if structure == "pair":
        return SamplingBayesianEncoder([0, 1], interactions=[(0, 1)], **how)
    if structure == "hierarchy":
        return SamplingBayesianEncoder([1], kinds={1: Nested([0])}, **how)
    return SamplingBayesianEncoder([0], **how)


def ranks(truth, draws):
    """How often a truth, (category, parameter), has each rank among draws, (draw, category, parameter)."""
    below = (draws < truth).sum(axis=0)
    return np.stack([np.bincount(column, minlength=N_RANKS) for column in below.T])


def uniformity(counts):
    """p-value of each parameter, from counts of (table, parameter, rank): that of the rank that is furthest off."""
    counts = np.stack(list(counts))
    error = counts.std(axis=0, ddof=1) / np.sqrt(len(counts))
    t = (counts.mean(axis=0) - counts.sum(axis=-1).mean() / N_RANKS) / error
    return np.minimum(1.0, N_RANKS * 2.0 * stats.t.sf(np.abs(t), len(counts) - 1).min(axis=-1)).tolist()


def outputs(table, n_parameters):
    """The outputs of what was asked about, which stand last."""
    return np.asarray(table, dtype=float)[..., -n_parameters:]


def prior_sbc(family, prior, own_target, structure, seed):
    """Ranks among draws of new rows ("new") or of training rows under a strategy; of the last row of each category."""
    random = np.random.default_rng(seed)
    truth, codes = truths(family, random), np.tile(np.arange(N_CATEGORIES), N_ROWS)
    y, X = make_target(family, truth[codes], random), tables(codes, structure)
    last = slice(-N_CATEGORIES, None)
    if own_target == "new":
        fitted = encoder(family, prior, structure, seed).fit(X, y)
        drawn = outputs(fitted.sample(X[last], n_draws=N_RANKS - 1), truth.shape[1])
        return ranks(truth, drawn)
    if own_target == "ordered":  # by a time, because an order for each draw would give each a posterior of its own
        X, own_target = np.column_stack([X, np.arange(len(X))]), Ordered(X.shape[1])
    copies = encoder(family, prior, structure, seed, own_target).augment(X, y, n_draws=N_RANKS - 1).X
    drawn = np.reshape(copies, (N_RANKS - 1, len(X), -1))[:, last]
    return ranks(truth, outputs(drawn, truth.shape[1]))


def posterior_sbc(family, prior, structure, seed):
    """Ranks of draws from a posterior, once rows that were made of them have been told."""
    random = np.random.default_rng(seed)
    truth, every = truths(family, random), np.arange(N_CATEGORIES)
    if structure == "hierarchy":  # siblings are alike
        order = np.argsort(truth[:, 0] + random.normal(scale=truth[:, 0].std(), size=N_CATEGORIES))
        truth = truth[order]
    codes = np.tile(every, 3)
    fitted = encoder(family, prior, structure, seed).fit(
        tables(codes, structure), make_target(family, truth[codes], random)
    )
    asked = tables(every, structure)
    believed = outputs(fitted.sample(asked, n_draws=1), truth.shape[1])[0]
    more = np.tile(every, N_ROWS)
    fitted.partial_fit(tables(more, structure), make_target(family, believed[more], random))
    drawn = outputs(fitted.sample(asked, n_draws=N_RANKS), truth.shape[1])[1:]  # the first is the one believed
    return ranks(believed, drawn)


def cells():
    """All that is tried: what it is called, a function of its settings and a seed, and those settings."""
    for family, prior, structure in product(PRIORS, LEARNT, ("column", "pair")):
        for own_target in ("new", "cross_fit", "exclude", "include", "ordered"):
            yield ("SBC", family, prior, own_target, structure), prior_sbc, (family, prior, own_target, structure)
    for family, prior, structure in product(PRIORS, LEARNT, ("column", "pair", "hierarchy")):
        if family != "robust" and (structure != "hierarchy" or (family in HIERARCHIES and prior == "learnt")):
            yield ("posterior SBC", family, prior, "new", structure), posterior_sbc, (family, prior, structure)


def power(level, times=40):
    """The smallest errors that are seen nine times of ten: of the spread, and of the mean in standard deviations."""
    random, seen = np.random.default_rng(0), {}
    for name in ("spread", "mean"):
        for error in (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2):
            found = sum(uniformity(wrong_ranks(name, error, random))[0] < level for _ in range(times))
            if found >= 0.9 * times:
                seen[name] = error
                break
    return seen


def wrong_ranks(name, error, random):
    """Ranks where the spread of draws, or their mean, is off by so many standard deviations."""
    for _ in range(N_TABLES):
        truth, draws = random.normal(size=(N_CATEGORIES, 1)), random.normal(size=(N_RANKS - 1, N_CATEGORIES, 1))
        yield ranks(truth, draws * (1.0 + error) if name == "spread" else draws + error)


def main():
    """Go through all cells."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, default=Path("build/reliability/calibration.json"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    start, found = time.monotonic(), []
    for name, ask, about in cells():
        seeds = range(given.seed, given.seed + N_TABLES)
        found.append({"what": name, "p": uniformity(ask(*about, seed) for seed in seeds)})
    level = LEVEL / sum(len(cell["p"]) for cell in found)
    record = {
        "cells": found,
        "categories": N_CATEGORIES,
        "tables": N_TABLES,
        "level": level,
        "power": power(level),
        "seconds": round(time.monotonic() - start),
    }
    given.write.parent.mkdir(parents=True, exist_ok=True)
    given.write.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    least = sorted((min(cell["p"]), *cell["what"]) for cell in found)[:12]
    print(json.dumps({"level": level, "power": record["power"], "least": least}, indent=1))


if __name__ == "__main__":
    main()
