"""Rows to statistics: what each category of a column says about the target, wherever the rows are."""

from catbayes.evidence._choosing import choose
from catbayes.evidence._evidence import (
    Candidate,
    ColumnEvidence,
    Evidence,
    check_classes,
    gather_before,
    gather_codes,
    gather_table,
    settle_family,
)
from catbayes.evidence._exposure import per_unit
from catbayes.evidence._gathering import gather, take_named
from catbayes.evidence._target import Target, label_array, plain, read_target

__all__ = [
    "Candidate",
    "ColumnEvidence",
    "Evidence",
    "Target",
    "check_classes",
    "choose",
    "gather",
    "gather_before",
    "gather_codes",
    "gather_table",
    "label_array",
    "per_unit",
    "plain",
    "read_target",
    "settle_family",
    "take_named",
]
