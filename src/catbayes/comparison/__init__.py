"""Compare encoders with models on a table of your own, by cross-validation over the same folds."""

from catbayes.comparison._compare import compare
from catbayes.comparison._contestants import ENCODERS
from catbayes.comparison._deadline import TimeUp, deadline
from catbayes.comparison._result import Comparison, Difference, behind
from catbayes.comparison._rows import Rows
from catbayes.comparison._running import Cell
from catbayes.comparison._scores import MEASURES, written

__all__ = [
    "ENCODERS",
    "MEASURES",
    "Cell",
    "Comparison",
    "Difference",
    "Rows",
    "TimeUp",
    "behind",
    "compare",
    "deadline",
    "written",
]
