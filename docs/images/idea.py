"""Draws the picture of the front page: counts, what is believed, and what a model trains on.

python docs/images/idea.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas

from catbayes import SamplingBayesianEncoder

BLUE, ORANGE, GREY = "#2f6db5", "#e07b39", "#6b7280"
SHOWN = {"Oslo": "Oslo\n30 rows", "Rome": "Rome\n40 rows", "Kyiv": "Kyiv\n2 rows", "Paris": "Paris\nnever seen"}


def main() -> None:
    """Fit the table of the README, and draw four of its cities."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    city = ["Oslo"] * 30 + ["Rome"] * 40 + ["Bonn"] * 30 + ["Kyiv"] * 2 + ["Lima"]
    X = pandas.DataFrame({"city": city})
    y = np.array([1] * 27 + [0] * 3 + [1, 0] * 20 + [1] * 3 + [0] * 27 + [1, 1] + [0])
    encoder = SamplingBayesianEncoder(random_state=0)
    drawn = encoder.fit_transform(X, y)[:, 0]
    fitted = encoder.encoding_.columns[0]
    cities = fitted.posteriors.index.sources[0]
    prior = float(fitted.posteriors.prior.unseen.mean()[0])

    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, 3, figsize=(10.4, 4.3), sharey=True, layout="constrained")
    grid, random = np.linspace(0.001, 0.999, 400), np.random.default_rng(1)
    for row, name in enumerate(SHOWN):
        own = np.flatnonzero(X["city"].to_numpy() == name)
        slot = cities.codes([name])[0]
        belief = fitted.family.take([slot])
        alpha, beta = belief.alpha[0], belief.beta[0]
        mean = float(belief.mean()[0, 0])
        if own.size:
            spot = y[own] + random.uniform(-0.05, 0.05, own.size)
            axes[0].scatter(spot, row - random.uniform(0.02, 0.55, own.size), s=14, color=GREY, alpha=0.55, linewidth=0)
            axes[0].plot([y[own].mean()] * 2, [row - 0.66, row + 0.08], color="black", linewidth=2)
        density = grid ** (alpha - 1) * (1 - grid) ** (beta - 1)
        color = BLUE if own.size else GREY
        peak = density[(grid > 0.03) & (grid < 0.97)].max()
        axes[1].fill_between(
            grid, row, row - 0.7 * np.minimum(density / peak, 1.0), color=color, alpha=0.35, linewidth=0
        )
        axes[1].plot([mean] * 2, [row - 0.74, row + 0.08], color=color, linewidth=2)
        if own.size:
            place = row - random.uniform(0.02, 0.55, own.size)
            axes[2].scatter(drawn[own], place, s=14, color=ORANGE, alpha=0.7, linewidth=0)
        axes[2].plot([mean], [row + 0.06], marker="D", color=BLUE, markersize=7)
    for ax in axes[1:]:
        ax.axvline(prior, color=GREY, linestyle=":", linewidth=1, zorder=0)
    axes[1].text(prior - 0.02, -0.62, "the prior's mean", color=GREY, fontsize=9, ha="right", va="bottom")
    titles = ("1. What was counted", "2. What is believed", "3. What a model gets")
    labels = ("targets of the rows, 0 or 1,\nand their mean", "posterior of the rate, and its mean", "")
    for ax, title, label in zip(axes, titles, labels, strict=True):
        ax.set_title(title, loc="left", fontsize=13, fontweight="bold", pad=10)
        ax.set_xlabel(label)
        ax.set_xlim(-0.08, 1.08)
        ax.set_xticks([0, 0.5, 1])
        ax.tick_params(axis="y", length=0)
    axes[0].set_yticks(np.arange(len(SHOWN)) - 0.25, list(SHOWN.values()))
    axes[0].set_ylim(3.25, -1.0)
    axes[2].scatter([], [], s=20, color=ORANGE, label="training: a draw for each row,\nits own target left out")
    axes[2].plot([], [], marker="D", linestyle="", color=BLUE, label="predicting: the expectation")
    figure.legend(loc="outside lower right", frameon=False, fontsize=10, ncols=2)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    main()
