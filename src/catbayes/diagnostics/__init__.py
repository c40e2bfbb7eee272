"""What an encoding does to the data and to a model: leakage, shrinkage, and the loss over draws taken apart."""

from catbayes.diagnostics._leakage import Leakage, leakage
from catbayes.diagnostics._loss import LossParts, decompose_loss
from catbayes.diagnostics._shrinkage import Shrinkage, shrinkage

__all__ = ["Leakage", "LossParts", "Shrinkage", "decompose_loss", "leakage", "shrinkage"]
