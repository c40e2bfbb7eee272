"""Encoders for scikit-learn: categorical columns in, features from the posterior of the target out."""

from catbayes.encoder._training import TrainingDraws
from catbayes.encoder.moments import ConjugateMomentEncoder
from catbayes.encoder.sampling import Augmented, SamplingBayesianEncoder

__all__ = ["Augmented", "ConjugateMomentEncoder", "SamplingBayesianEncoder", "TrainingDraws"]
