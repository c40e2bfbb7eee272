"""Rows to statistics: what each category of a column says about the target, wherever the rows are."""

from catbayes._evidence._evidence import (
    Candidate,
    ColumnEvidence,
    Evidence,
    check_classes,
    says_nothing,
    settle_family,
)
from catbayes._evidence._gathering import Given, gather, gather_selected
from catbayes._evidence._rows import Rows, read_rows, take_named
from catbayes._evidence._screening import screen
from catbayes._evidence._target import Target, label_array, plain, read_target

__all__ = [
    "Candidate",
    "ColumnEvidence",
    "Evidence",
    "Given",
    "Rows",
    "Target",
    "check_classes",
    "gather",
    "gather_selected",
    "label_array",
    "plain",
    "read_rows",
    "read_target",
    "says_nothing",
    "screen",
    "settle_family",
    "take_named",
]
