"""An Estimator and a Model for `pyspark.ml.Pipeline`."""

from __future__ import annotations

import io
from typing import Any

from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasInputCols, HasLabelCol, HasOutputCols, HasSeed, HasWeightCol
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from catbayes._encoder import SamplingBayesianEncoder
from catbayes.core.table import no_column
from catbayes.errors import InputError
from catbayes.io.plan import Plan
from catbayes.spark.frames import encode_frame, quoted

__all__ = ["BayesianEncoder", "BayesianEncoderModel"]


class _Parameters(HasInputCols, HasOutputCols, HasLabelCol, HasWeightCol, HasSeed):
    """Parameters that the Estimator and the Model share."""

    family: Any = Param(Params._dummy(), "family", "likelihood of the target", TypeConverters.toString)
    prior: Any = Param(Params._dummy(), "prior", '"empirical", or a number of rows as text', TypeConverters.toString)
    mapping: Any = Param(Params._dummy(), "mapping", "from θ to features", TypeConverters.toString)
    nDraws: Any = Param(Params._dummy(), "nDraws", "draws; 0 for the posterior expectation", TypeConverters.toInt)
    rowIdCol: Any = Param(Params._dummy(), "rowIdCol", "column that identifies rows", TypeConverters.toString)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(family="auto", prior="empirical", mapping="mean", nDraws=0, seed=0)

    def _optional(self, param: Any) -> Any:
        return self.getOrDefault(param) if self.isDefined(param) else None


class BayesianEncoder(Estimator, _Parameters, DefaultParamsReadable, DefaultParamsWritable):
    """Fit `SamplingBayesianEncoder` on a Spark data frame: one groupBy a column.

    String columns, any number of classes, and null keys (a category of their own) all work.

    Parameters
    ----------
    inputCols : list of str, or None
        Columns to encode; they may be set later, and must be before `fit`.
    labelCol : str, or None
        The target; None is Spark's "label".
    outputCols : list of str, optional
        One name for each input column; a column with several outputs becomes a vector. By default the outputs are
        columns of doubles, `city_encoded` or `city_draw0` and so on.
    weightCol : str, optional
        Column of weights.
    family : "auto", or a name in `catbayes.families.FAMILIES`
        As for `SamplingBayesianEncoder`.
    prior : "empirical", or a number of rows as text
        Such as "10".
    mapping : "mean", "mean_precision", "polynomial", "weight_of_evidence", "identity"
        As for `SamplingBayesianEncoder`.
    nDraws : int, default=0
        0 encodes by the posterior expectation, K by K draws.
    rowIdCol : str, optional
        Column that identifies the rows, for draws; a frame straight from Parquet files needs none.
    seed : int, default=0
        Seed of the draws.

    Examples
    --------
    >>> from catbayes.spark import BayesianEncoder
    >>> stage = BayesianEncoder(inputCols=["city"], labelCol="paid")
    >>> stage.getInputCols(), stage.getOrDefault("prior")
    (['city'], 'empirical')

    In a pipeline: `Pipeline(stages=[stage, VectorAssembler(inputCols=["city_encoded"], …), …]).fit(frame)`.
    """

    @keyword_only
    def __init__(
        self,
        *,
        inputCols: list[str] | None = None,
        labelCol: str | None = None,
        outputCols: list[str] | None = None,
        weightCol: str | None = None,
        family: str = "auto",
        prior: str = "empirical",
        mapping: str = "mean",
        nDraws: int = 0,
        rowIdCol: str | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)

    def setParams(self, **params: Any) -> BayesianEncoder:
        """Set parameters by name, as the constructor takes them."""
        self._set(**{name: value for name, value in params.items() if value is not None})
        return self

    def _fit(self, dataset: DataFrame) -> BayesianEncoderModel:
        if not self.isSet(self.inputCols):
            raise InputError("inputCols is not set: name the columns to encode.")
        columns, label, weight = list(self.getInputCols()), self.getLabelCol(), self._optional(self.weightCol)
        prior = self.getOrDefault(self.prior)
        encoder = SamplingBayesianEncoder(
            columns,
            family=self.getOrDefault(self.family),
            prior=prior if prior == "empirical" else _number(prior),
            mapping=self.getOrDefault(self.mapping),
            random_state=self.getSeed() % (1 << 32),
        )
        wanted = [*columns, label, *([weight] if weight else [])]
        for name in wanted:
            if name not in dataset.columns:
                raise no_column(name, dataset.columns)
        encoder.fit(dataset.select(*map(quoted, wanted)), label, weight)
        model: BayesianEncoderModel = self._copyValues(BayesianEncoderModel(encoder))
        return model


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f'prior="{text}": expected "empirical" or a number of rows as text, such as "10".') from error


class BayesianEncoderModel(Model, _Parameters, MLReadable, MLWritable):
    """A fitted encoder as a Spark transformer; `encoder` is the `SamplingBayesianEncoder` itself.

    For the rows that it was fitted on, `catbayes.encode(frame, model.encoder, n_draws=1, target="paid")` makes draws
    that leave each row's own target out.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.spark import BayesianEncoderModel
    >>> model = BayesianEncoderModel(SamplingBayesianEncoder(["city"]))
    >>> model.getOrDefault("nDraws")
    0
    """

    def __init__(self, encoder: SamplingBayesianEncoder | None = None) -> None:
        super().__init__()
        self.encoder = encoder

    def _transform(self, dataset: DataFrame) -> DataFrame:
        assert self.encoder is not None
        plan = Plan.of(self.encoder.encoding_, self.getOrDefault(self.nDraws) or None, self._optional(self.rowIdCol))
        encoded = encode_frame(dataset, plan)
        if not self.isSet(self.outputCols):
            return encoded
        outputs = list(self.getOutputCols())
        if len(outputs) != len(plan.columns):
            raise InputError(f"outputCols names {len(outputs)} columns for {len(plan.columns)} input columns.")
        taken = [name for name in outputs if name in dataset.columns or outputs.count(name) > 1]
        if taken:
            raise InputError(f"outputCols: the data frame has a column {taken[0]!r} already, or it is named twice.")
        named = []
        for output, column in zip(outputs, plan.columns, strict=True):
            names = [quoted(name) for name in plan.names(column)]
            value = F.col(names[0]) if len(names) == 1 else array_to_vector(F.array(*names))
            named.append(value.alias(output))
        return encoded.select(*map(quoted, dataset.columns), *named)

    def write(self) -> MLWriter:
        """Write the parameters as Spark does, and the encoder as the file that `encoder.save` makes."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[BayesianEncoderModel]:
        """Read what `write` wrote."""
        return _ModelReader()


class _ModelWriter(MLWriter):
    def __init__(self, model: BayesianEncoderModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        assert self.model.encoder is not None
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession)
        file = io.BytesIO()
        self.model.encoder.save(file)
        row = self.sparkSession.createDataFrame([(file.getvalue(),)], "encoder binary")
        row.coalesce(1).write.parquet(f"{path}/data")


class _ModelReader(MLReader[BayesianEncoderModel]):
    def load(self, path: str) -> BayesianEncoderModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        content = self.sparkSession.read.parquet(f"{path}/data").first()
        assert content is not None
        model = BayesianEncoderModel(SamplingBayesianEncoder.load(io.BytesIO(bytes(content[0]))))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
