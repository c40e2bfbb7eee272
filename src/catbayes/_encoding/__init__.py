"""A fitted encoder as one frozen value, and what is made of it."""

from catbayes._encoding._beside import Beside
from catbayes._encoding._column import EncodedColumn
from catbayes._encoding._effects import effect_names
from catbayes._encoding._encoding import Encoding, Missing, Settings, Unseen
from catbayes._encoding._features import Layout, TrainingDraws
from catbayes._encoding._kept import KeepCategories, Kept, resolve_kept
from catbayes._encoding._lookups import lookups
from catbayes._encoding._own_target import (
    STRATEGIES,
    CrossFit,
    Exclude,
    Include,
    Ordered,
    OwnTarget,
    Strategy,
    check_folds,
    make_folds,
    resolve_own_target,
    splitter_of,
)
from catbayes._encoding._plan import Plan, read_known_target

__all__ = [
    "STRATEGIES",
    "Beside",
    "CrossFit",
    "EncodedColumn",
    "Encoding",
    "Exclude",
    "Include",
    "KeepCategories",
    "Kept",
    "Layout",
    "Missing",
    "Ordered",
    "OwnTarget",
    "Plan",
    "Settings",
    "Strategy",
    "TrainingDraws",
    "Unseen",
    "check_folds",
    "effect_names",
    "lookups",
    "make_folds",
    "read_known_target",
    "resolve_kept",
    "resolve_own_target",
    "splitter_of",
]
