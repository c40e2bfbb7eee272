"""How much is run: everything, in hours; the same in short, in minutes; or a trace of it, in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes of the experiments. The paper's: 400 trees, one split, 10 folds, K = 1..9, nine γ, 35 to 40 trials."""

    name: str
    n_rows: int | None  # of each table; None for all
    printed_trees: int  # on the paper's own split
    baseline_seeds: int  # of the baseline there, which is the cheaper and the noisier method
    repeats: int  # new splits
    trees: int  # on new splits
    figure_trees: int  # in figures, importances and mappings, which compare like with like
    folds: int  # of figures
    draws: tuple[int, ...]
    gammas: tuple[float, ...]
    search_trials: int  # of a search for the best parameters; 0 for none
    search_trees: int


def decades(low: int, high: int) -> tuple[float, ...]:
    """Powers of ten, both ends included."""
    return tuple(float(f"1e{power}") for power in range(low, high + 1))


FULL = Effort(
    name="full",
    n_rows=None,
    printed_trees=400,
    baseline_seeds=5,
    repeats=20,
    trees=50,
    figure_trees=20,
    folds=10,
    draws=tuple(range(1, 10)),
    gammas=(1e-10, 1e-6, 1e-4, 1e-3, 1e-2),
    search_trials=4,
    search_trees=8,
)
QUICK = Effort(
    name="quick",
    n_rows=None,
    printed_trees=100,
    baseline_seeds=1,
    repeats=5,
    trees=20,
    figure_trees=10,
    folds=5,
    draws=(1, 2, 4, 8),
    gammas=(1e-10, 1e-6, 1e-4, 1e-2),
    search_trials=0,
    search_trees=0,
)
TINY = Effort(
    name="tiny",
    n_rows=400,
    printed_trees=5,
    baseline_seeds=2,
    repeats=3,
    trees=3,
    figure_trees=2,
    folds=2,
    draws=(1, 2),
    gammas=(1e-6, 1e-2),
    search_trials=2,
    search_trees=3,
)
EFFORTS = {effort.name: effort for effort in (FULL, QUICK, TINY)}
