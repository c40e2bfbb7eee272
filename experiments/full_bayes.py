"""Effects against full Bayes: the mixed model of `catbayes.effects.mixed` beside NUTS on tables small enough for it.

    pip install ".[experiments]"
    python -m experiments.full_bayes [--folder results]

Five tables drawn from the model itself (crossed, nested, few categories, weak effects, slopes) and A. Gelman's eight
schools. NUTS has the same priors: half-Cauchy standard deviations with the scale of the response. What is told of each
column is how far our means lie from those of NUTS, in its standard deviations, and how our standard deviations compare.
Effects are those about the average of their column, as encoders give them: what all share is as well part of μ.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from catbayes.core.validation import Array
from catbayes.effects.gibbs import learn
from catbayes.effects.mixed import Crossed, Equations, solve

SCHOOLS = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0], [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]
SIZES = {"crossed": (30, 12), "nested": (40, 8), "few categories": (4, 5), "weak effects": (30, 12), "slopes": (40,)}
SCALES = {"crossed": (1.0, 0.5), "nested": (0.8, 0.6), "few categories": (1.0, 1.0), "weak effects": (0.2, 0.1)}
N_ROWS = 400
N_CHAINS = 3
"""Runs of ours with other seeds, averaged: what is left between them is told too."""


def table(name: str, seed: int = 0) -> tuple[Crossed, Array, Array, float | None]:
    """A design, a response, weights, and the noise if it is known."""
    if name == "eight schools":
        y, deviation = map(np.array, SCHOOLS)
        return Crossed((np.arange(8),), (8,), np.empty((8, 0))), y, deviation**-2.0, 1.0
    random, sizes = np.random.default_rng(seed), SIZES[name]
    slots = [random.integers(0, size, N_ROWS) for size in sizes]
    if name == "nested":
        slots[1] = slots[0] // 5
    numbers = random.normal(size=(N_ROWS, 2))
    z = numbers @ random.normal(size=2) + random.normal(size=N_ROWS)
    for slot, size, scale in zip(slots, sizes, SCALES.get(name, (1.0,)), strict=True):
        z += scale * random.normal(size=size)[slot]
    if name != "slopes":
        return Crossed(tuple(slots), sizes, numbers), z, np.ones(N_ROWS), None
    z += 0.7 * random.normal(size=sizes[0])[slots[0]] * numbers[:, 0]
    design = Crossed((slots[0],) * 2, sizes * 2, numbers, (None, numbers[:, 0]))
    return design, z, np.ones(N_ROWS), None


def ours(design: Crossed, z: Array, weight: Array, noise: float | None) -> tuple[list[Array], list[Array]]:
    """Means and standard deviations of the effects of each column."""
    equations = Equations.of(design, z, weight)
    found = [learn(equations, np.random.default_rng(seed), noise) for seed in range(N_CHAINS)]
    means = [design.effects(solve(equations, components)) for components, _ in found]
    deviations = [[np.sqrt(variance) for variance in variances] for _, variances in found]
    return [np.mean(one, axis=0) - np.mean(one) for one in zip(*means, strict=True)], [
        np.mean(one, axis=0) for one in zip(*deviations, strict=True)
    ]


def nuts(design: Crossed, z: Array, weight: Array, noise: float | None) -> tuple[list[Array], list[Array]]:
    """The same by NUTS."""
    import jax
    import numpyro
    from numpyro import distributions

    jax.config.update("jax_enable_x64", True)
    centre = float(np.average(z, weights=weight))
    scale = float(np.sqrt(np.average((z - centre) ** 2, weights=weight)))

    def model() -> None:
        sample: Any = numpyro.sample
        total = sample("mu", distributions.Normal(centre, 100.0 * scale))
        if design.numbers.shape[1]:
            own = sample("tau_w", distributions.HalfCauchy(scale))
            normals = distributions.Normal(0.0, 1.0).expand([design.numbers.shape[1]])
            total = total + design.numbers @ (own * sample("w", normals))
        for number, (slots, size) in enumerate(zip(design.slots, design.sizes, strict=True)):
            tau = sample(f"tau_{number}", distributions.HalfCauchy(scale))
            raw = sample(f"raw_{number}", distributions.Normal(0.0, 1.0).expand([size]))
            effects = numpyro.deterministic(f"u_{number}", tau * raw)
            factor = design.factor(number)
            total = total + effects[slots] * (1.0 if factor is None else factor)
        sigma = sample("sigma", distributions.HalfCauchy(scale)) if noise is None else np.sqrt(noise)
        sample("z", distributions.Normal(total, sigma / np.sqrt(weight)), obs=z)

    kernel = numpyro.infer.NUTS(model, target_accept_prob=0.95)
    chain = numpyro.infer.MCMC(kernel, num_warmup=1000, num_samples=12000, progress_bar=False)
    chain.run(jax.random.PRNGKey(0))
    draws = chain.get_samples()
    effects = [np.asarray(draws[f"u_{number}"]) for number in range(len(design.sizes))]
    effects = [one - one.mean(axis=1, keepdims=True) for one in effects]
    return [one.mean(axis=0) for one in effects], [one.std(axis=0) for one in effects]


def compare(name: str) -> list[dict[str, Any]]:
    """For each column: how far means lie apart, on average and at most, and the ratio of standard deviations."""
    given = table(name)
    (mean, sd), (true_mean, true_sd) = ours(*given), nuts(*given)
    return [
        {
            "table": name,
            "column": number,
            "categories": len(b),
            "mean_gap": float(np.mean(np.abs(a - b) / d)),
            "largest_gap": float(np.max(np.abs(a - b) / d)),
            "sd_ratio": float(np.mean(c / d)),
        }
        for number, (a, b, c, d) in enumerate(zip(mean, true_mean, sd, true_sd, strict=True))
    ]


def main() -> None:
    """Run all tables and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, default=Path("results"))
    asked = parser.parse_args()
    found = [record for name in ("eight schools", *SIZES) for record in compare(name)]
    print("| table | column | categories | means apart, in sd | at most | sd, ours over NUTS |")
    print("|---|---|---|---|---|---|")
    for record in found:
        numbers = (f"{record[key]:.2f}" for key in ("mean_gap", "largest_gap", "sd_ratio"))
        print(f"| {record['table']} | {record['column']} | {record['categories']} | {' | '.join(numbers)} |")
    (asked.folder / "full_bayes.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
