"""Rows to statistics: what each category of a column says about the target, wherever the rows are."""

from catbayes._evidence._effects import Effects, EffectTable, RowEffects, resolve_effects
from catbayes._evidence._evidence import (
    Candidate,
    ColumnEvidence,
    Evidence,
    check_classes,
    says_nothing,
    settle_family,
)
from catbayes._evidence._fading import Faded, fade
from catbayes._evidence._gathering import Given, gather, gather_selected
from catbayes._evidence._rows import Rows, read_rows, take_named
from catbayes._evidence._scale import Scale, scale_of
from catbayes._evidence._screening import screen
from catbayes._evidence._slopes import Slope, gain
from catbayes._evidence._target import Target, label_array, plain, read_target, refuse_complex

__all__ = [
    "Candidate",
    "ColumnEvidence",
    "EffectTable",
    "Effects",
    "Evidence",
    "Faded",
    "Given",
    "RowEffects",
    "Rows",
    "Scale",
    "Slope",
    "Target",
    "check_classes",
    "fade",
    "gain",
    "gather",
    "gather_selected",
    "label_array",
    "plain",
    "read_rows",
    "read_target",
    "refuse_complex",
    "resolve_effects",
    "says_nothing",
    "scale_of",
    "screen",
    "settle_family",
    "take_named",
]
