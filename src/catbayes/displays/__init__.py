"""Plots that hold their numbers: `from_estimator` computes them, `frame()` shows them and `plot()` draws them."""

from catbayes.displays.decomposition import DecompositionDisplay
from catbayes.displays.draws import DrawsDisplay
from catbayes.displays.importance import ImportanceDisplay
from catbayes.displays.leakage import LeakageDisplay
from catbayes.displays.posterior import PosteriorDisplay
from catbayes.displays.prior import PriorDisplay
from catbayes.displays.shrinkage import ShrinkageDisplay

__all__ = [
    "DecompositionDisplay",
    "DrawsDisplay",
    "ImportanceDisplay",
    "LeakageDisplay",
    "PosteriorDisplay",
    "PriorDisplay",
    "ShrinkageDisplay",
]
