"""Spark: an Estimator and a Model for `pyspark.ml.Pipeline`, and the encoding of data frames behind them.

Fitting is one groupBy a column, run by Spark. Encoding is a broadcast join with the posteriors; draws are then made in
`mapInArrow`, keyed by row identity, so that no task, partition or retry can change one. For those who want no Pipeline,
`catbayes.gather`, `SamplingBayesianEncoder.fit` and `catbayes.encode` take Spark data frames as they are. Workers need
catbayes too.
"""

from importlib.util import find_spec

if not find_spec("pyspark"):
    raise ImportError('catbayes.spark needs pyspark and pyarrow: pip install "catbayes[spark]".')

from catbayes.spark.frames import encode_frame as encode_frame  # for catbayes.encode
from catbayes.spark.ml import BayesianEncoder, BayesianEncoderModel

__all__ = ["BayesianEncoder", "BayesianEncoderModel"]
