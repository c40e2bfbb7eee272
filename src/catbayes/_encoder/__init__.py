"""Encoders for scikit-learn: categorical columns in, features from the posterior of the target out."""

from catbayes._encoder._reading import fitted_encoding, input_names, new_seed, read_new, read_table, read_y
from catbayes._encoder.sampling import Augmented, SamplingBayesianEncoder
from catbayes._encoder.targets import MultiTargetEncoder
from catbayes.io.save import require_regular, size_of
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

load = SamplingBayesianEncoder.load
