"""Models that learn from draws: whole tables in, predictions averaged over draws and their spread out."""

from catbayes._estimators._native import last_step
from catbayes._estimators.classifier import SamplingClassifier
from catbayes._estimators.regressor import SamplingRegressor

__all__ = ["SamplingClassifier", "SamplingRegressor", "last_step"]
