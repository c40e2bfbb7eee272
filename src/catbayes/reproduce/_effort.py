"""How much is run: everything, in hours; the same in short, in minutes; or a trace of it, in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes of the experiments. The paper's are 400 trees, one split, 10 folds, K = 1..9, nine γ, 35 to 40 trials."""

    name: str
    n_rows: int | None  # of each table; None for all
    printed_trees: int  # on the paper's own split
    printed_seeds: int  # how often, with other seeds of the forest and the draws
    repeats: int  # new splits
    trees: int  # on new splits, in figures and in the search
    folds: int  # of figures
    draws: tuple[int, ...]
    gammas: tuple[float, ...]
    search_trials: int  # of a search for the best parameters; 0 for none
    search_trees: int
    ablation_repeats: int  # of the folds that report
    ablation_tables: tuple[str, ...] | None  # None for all


def decades(low: int, high: int) -> tuple[float, ...]:
    """Powers of ten, both ends included."""
    return tuple(float(f"1e{power}") for power in range(low, high + 1))


FULL = Effort("full", None, 400, 2, 20, 50, 10, tuple(range(1, 10)), decades(-10, -2), 8, 25, 3, None)
QUICK = Effort(
    "quick", None, 100, 1, 5, 25, 5, (1, 2, 4, 8), (1e-10, 1e-6, 1e-4, 1e-2), 0, 0, 2, ("insurance", "car", "amazon")
)
TINY = Effort("tiny", 400, 5, 2, 3, 3, 2, (1, 2), (1e-6, 1e-2), 2, 3, 2, ("insurance",))
EFFORTS = {effort.name: effort for effort in (FULL, QUICK, TINY)}
