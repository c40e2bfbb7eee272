"""Compare encoders with models on a table of your own, by cross-validation over the same folds."""

from catbayes.comparison.contestants import ENCODERS, Cell
from catbayes.comparison.result import MEASURES, Comparison, Difference
from catbayes.comparison.rows import Rows
from catbayes.comparison.running import compare

__all__ = ["ENCODERS", "MEASURES", "Cell", "Comparison", "Difference", "Rows", "compare"]
