"""Compare encoders with models on a table of your own, by cross-validation over the same folds."""

from catbayes.comparison._compare import compare
from catbayes.comparison._contestants import ENCODERS
from catbayes.comparison._result import Comparison, Difference
from catbayes.comparison._running import Cell
from catbayes.comparison._scores import MEASURES

__all__ = ["ENCODERS", "MEASURES", "Cell", "Comparison", "Difference", "compare"]
