"""What an encoding does to the data and to a model, and whether it still holds: leakage, shrinkage, loss, changes."""

from catbayes.diagnostics._changes import Changes, monitor
from catbayes.diagnostics._leakage import Leakage, leakage
from catbayes.diagnostics._loss import LossParts, decompose_loss
from catbayes.diagnostics._shrinkage import Shrinkage, shrinkage

__all__ = ["Changes", "Leakage", "LossParts", "Shrinkage", "decompose_loss", "leakage", "monitor", "shrinkage"]
