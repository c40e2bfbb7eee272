"""Draw the picture of the front page: rows, posteriors, and the features that a model gets.

For white and dark pages, side by side and, for phones, one below the other: python docs/images/idea.py
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas

from catbayes import SamplingBayesianEncoder

INKS = {
    "": {"blue": "#2f6db5", "orange": "#e07b39", "grey": "#6b7280", "ink": "black", "paper": "white"},
    "-dark": {"blue": "#78aef0", "orange": "#f0a06a", "grey": "#9aa4b2", "ink": "#e6e8eb", "paper": "none"},
}
SHAPES = {"": ((1, 3), (10.4, 4.3)), "-narrow": ((3, 1), (4.6, 11.4))}
SHOWN = {"Oslo": "Oslo\n30 rows", "Rome": "Rome\n40 rows", "Kyiv": "Kyiv\n2 rows", "Paris": "Paris\nunseen"}


def main() -> None:
    """Draw all four."""
    matplotlib.use("Agg")
    for shape, ink in product(SHAPES, INKS):
        path = Path(__file__).with_name(f"idea{shape}{ink}.png")
        draw(path, *SHAPES[shape], **INKS[ink])


def draw(
    path: Path,
    shape: tuple[int, int],
    size: tuple[float, float],
    blue: str,
    orange: str,
    grey: str,
    ink: str,
    paper: str,
) -> None:
    """Fit the table of the README, and draw four of its cities."""
    import matplotlib.pyplot as plt

    city = ["Oslo"] * 30 + ["Rome"] * 40 + ["Bonn"] * 30 + ["Kyiv"] * 2
    X = pandas.DataFrame({"city": city})
    y = np.array([1] * 27 + [0] * 3 + [1, 0] * 20 + [1] * 3 + [0] * 27 + [1, 1])
    encoder = SamplingBayesianEncoder(random_state=0)
    drawn = encoder.fit_transform(X, y)[:, 0]
    fitted = encoder.encoding_.columns[0]
    cities = fitted.index.sources[0]
    prior = float(fitted.slot_priors.mean()[0])

    colors: dict[str, Any] = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), ink)
    colors |= dict.fromkeys(("xtick.color", "ytick.color"), ink) | {"axes.facecolor": paper, "figure.facecolor": paper}
    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False} | colors)
    figure, axes = plt.subplots(*shape, figsize=size, sharey=True, layout="constrained")
    grid, random = np.linspace(0.001, 0.999, 400), np.random.default_rng(1)
    for row, name in enumerate(SHOWN):
        own = np.flatnonzero(X["city"].to_numpy() == name)
        slot = cities.codes([name])[0]
        posterior = fitted.family.take([slot])
        alpha, beta = posterior.alpha[0], posterior.beta[0]
        mean = float(posterior.mean()[0, 0])
        if own.size:
            spot = y[own] + random.uniform(-0.05, 0.05, own.size)
            axes[0].scatter(spot, row - random.uniform(0.02, 0.55, own.size), s=14, color=grey, alpha=0.55, linewidth=0)
            axes[0].plot([y[own].mean()] * 2, [row - 0.66, row + 0.08], color=ink, linewidth=2)
        density = grid ** (alpha - 1) * (1 - grid) ** (beta - 1)
        color = blue if own.size else grey
        peak = density[(grid > 0.03) & (grid < 0.97)].max()
        axes[1].fill_between(
            grid, row, row - 0.7 * np.minimum(density / peak, 1.0), color=color, alpha=0.35, linewidth=0
        )
        axes[1].plot([mean] * 2, [row - 0.74, row + 0.08], color=color, linewidth=2)
        if own.size:
            place = row - random.uniform(0.02, 0.55, own.size)
            axes[2].scatter(drawn[own], place, s=14, color=orange, alpha=0.7, linewidth=0)
        axes[2].plot([mean], [row + 0.06], marker="D", color=blue, markersize=7)
    for ax in axes[1:]:
        ax.axvline(prior, color=grey, linestyle=":", linewidth=1, zorder=0)
    axes[1].text(prior - 0.02, -0.62, "the prior's mean", color=grey, fontsize=9, ha="right", va="bottom")
    titles = ("1. Rows", "2. Posteriors", "3. Features")
    labels = ("targets of the rows, 0 or 1,\nand their mean", "posterior of the rate, and its mean", "encoded value")
    for ax, title, label in zip(axes, titles, labels, strict=True):
        ax.set_title(title, loc="left", fontsize=13, fontweight="bold", pad=10)
        ax.set_xlabel(label)
        ax.set_xlim(-0.08, 1.08)
        ax.set_xticks([0, 0.5, 1])
        ax.tick_params(axis="y", length=0)
    for ax in axes:
        ax.set_yticks(np.arange(len(SHOWN)) - 0.25, list(SHOWN.values()))
        ax.set_ylim(3.25, -1.0)
    axes[2].scatter([], [], s=20, color=orange, label="to train: one draw per row,\nits own target excluded")
    axes[2].plot([], [], marker="D", linestyle="", color=blue, label="to predict: the posterior mean")
    figure.legend(loc="outside lower right", frameon=False, fontsize=10, ncols=2 if shape[0] == 1 else 1)
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
