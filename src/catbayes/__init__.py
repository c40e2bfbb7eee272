"""Encode categorical columns by draws from the posterior of the target."""

from catbayes._drawing import Draws
from catbayes._encoding import CrossFit, Exclude, Include, Ordered, TrainingDraws
from catbayes.comparison import Comparison, compare
from catbayes.encoder import Augmented, ConjugateMomentEncoder, MultiTargetEncoder, SamplingBayesianEncoder, load
from catbayes.encoding import encode
from catbayes.errors import InputError, InputWarning
from catbayes.estimators import SamplingClassifier, SamplingRegressor
from catbayes.evidence import Evidence, gather
from catbayes.families import BetaBernoulli, DirichletCategorical, GammaPoisson, LogNormalGamma, NormalGamma
from catbayes.mappings import PredictiveQuantiles
from catbayes.priors import Empirical, Scaled

__version__ = "0.1.0.dev0"

__all__ = [
    "Augmented",
    "BetaBernoulli",
    "Comparison",
    "ConjugateMomentEncoder",
    "CrossFit",
    "DirichletCategorical",
    "Draws",
    "Empirical",
    "Evidence",
    "Exclude",
    "GammaPoisson",
    "Include",
    "InputError",
    "InputWarning",
    "LogNormalGamma",
    "MultiTargetEncoder",
    "NormalGamma",
    "Ordered",
    "PredictiveQuantiles",
    "SamplingBayesianEncoder",
    "SamplingClassifier",
    "SamplingRegressor",
    "Scaled",
    "TrainingDraws",
    "compare",
    "encode",
    "gather",
    "load",
]
