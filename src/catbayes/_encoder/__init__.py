"""Encoders for scikit-learn: categorical columns in, features from the posterior of the target out."""

from functools import partial
from typing import Any

from catbayes._encoder._reading import fitted_encoding, input_names, new_seed, read_new, read_table, read_y
from catbayes._encoder._targets_file import build_targets
from catbayes._encoder.sampling import Augmented, SamplingBayesianEncoder
from catbayes._encoder.targets import KINDS, MultiTargetEncoder
from catbayes.io.save import build_encoder, load_table, require_regular, size_of
from catbayes.io.settings import read_settings, read_value, write_settings, write_values

__all__ = [
    "Augmented",
    "MultiTargetEncoder",
    "SamplingBayesianEncoder",
    "fitted_encoding",
    "input_names",
    "load",
    "new_seed",
    "read_new",
    "read_settings",
    "read_table",
    "read_value",
    "read_y",
    "require_regular",
    "size_of",
    "write_settings",
    "write_values",
]


def load(path: Any) -> Any:
    """Read an encoder of any kind that its method `save` wrote, from a path or an open binary file."""
    single = {name: partial(build_encoder, build) for name, build in KINDS.items()}
    return load_table(path, {**single, "MultiTargetEncoder": partial(build_targets, MultiTargetEncoder, KINDS)})
