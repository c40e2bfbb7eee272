"""Compare encoders with models on a table of your own, by cross-validation over the same folds."""

from catbayes._comparison._compare import compare
from catbayes._comparison._contestants import ENCODERS
from catbayes._comparison._deadline import TimeUp, deadline
from catbayes._comparison._result import Comparison, Difference, behind
from catbayes._comparison._rows import Rows
from catbayes._comparison._running import Cell
from catbayes._comparison._scores import MEASURES, written

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
