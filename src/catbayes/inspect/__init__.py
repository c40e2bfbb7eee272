"""Diagnostics and plots of encoders and models: leakage, shrinkage, loss, changes, posteriors, priors.

A display holds its numbers; `frame()` returns them as a frame and `plot()` draws them.
"""

from catbayes.inspect._leakage import LeakageDisplay, leakage
from catbayes.inspect._loss import DecompositionDisplay, decompose_loss
from catbayes.inspect._monitor import Changes, monitor
from catbayes.inspect._posterior import PosteriorDisplay
from catbayes.inspect._prior import PriorDisplay, ShrinkageDisplay, shrinkage

__all__ = [
    "Changes",
    "DecompositionDisplay",
    "LeakageDisplay",
    "PosteriorDisplay",
    "PriorDisplay",
    "ShrinkageDisplay",
    "decompose_loss",
    "leakage",
    "monitor",
    "shrinkage",
]
