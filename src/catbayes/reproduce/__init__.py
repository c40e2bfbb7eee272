"""The paper's experiments, and ours: run, kept, judged and written down by one command."""

from catbayes.reproduce._trials import Store
from catbayes.reproduce._verdict import Verdict, judge

__all__ = ["Store", "Verdict", "judge"]
