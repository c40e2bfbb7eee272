"""The paper's experiments, and ours: run, kept, judged and written down by one command."""

from catbayes.reproduce._run import EXPERIMENTS, reproduce
from catbayes.reproduce._verdict import Verdict, judge

__all__ = ["EXPERIMENTS", "Verdict", "judge", "reproduce"]
