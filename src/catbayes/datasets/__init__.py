"""Tables to try things on: card transactions whose truth is known, and public data sets by name.

`make_transactions` draws a table and keeps what it was drawn from; `load` reads a real one, from a folder or OpenML.
"""

from catbayes.datasets._dataset import Dataset
from catbayes.datasets.public import NAMES, load
from catbayes.datasets.transactions import make_transactions

__all__ = ["NAMES", "Dataset", "load", "make_transactions"]
