"""Spark: an Estimator and a Model for `pyspark.ml.Pipeline`, and `catbayes.encode` for Spark data frames.

Fitting is one groupBy per column, run by Spark. Encoding runs in `mapInArrow`: every task encodes its batches of rows
as `catbayes.encode` does for files, and draws are keyed by row, so that partitions and retries do not change them.
Workers need catbayes too. Errors about values, such as unseen ones with `unseen="error"`, come when Spark runs the job.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from catbayes.core.table import Table, no_column
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.io.plan import Plan

try:
    from pyspark import keyword_only
    from pyspark.errors import AnalysisException
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
    from pyspark.sql.types import DoubleType, StructField, StructType
except ImportError as error:
    raise ImportError('catbayes.spark needs pyspark and pyarrow: pip install "catbayes[spark]".') from error

__all__ = ["BayesianEncoder", "BayesianEncoderModel"]

FILE, ROW = "catbayes_file", "catbayes_row"


def encode_frame(frame: DataFrame, plan: Plan) -> DataFrame:
    """Add encoded columns to a data frame; `catbayes.encode` is its public interface."""
    names = list(frame.columns)
    plan.check(names)
    lower = [name.lower() for name in [*names, *plan.added]]
    if len(set(lower)) < len(lower):
        twice = next(name for name in lower if lower.count(name) > 1)
        raise InputError(f"Two columns would be called {twice!r}, and Spark's names ignore capitals. Rename one.")
    by_file = plan.n_draws is not None and plan.row_id is None
    if by_file:
        frame = _with_row_numbers(frame)
    originals = [name for name in names if not (plan.drop and name in plan.replaced)]
    added = [StructField(name, DoubleType(), False) for name in plan.added]
    schema = StructType([frame.schema[name] for name in originals] + added)
    return frame.mapInArrow(_Encode(plan, originals, by_file), schema)


def _with_row_numbers(frame: DataFrame) -> DataFrame:
    """Add the file name and row number of each row; only Parquet files have them."""
    files = [unquote(path).rpartition("/")[2] for path in frame.inputFiles()]
    if len(set(files)) < len(files):
        raise InputError("Two files have the same name, so their rows cannot be identified. Give row_id.")
    try:
        return frame.withColumns({FILE: F.col("_metadata.file_name"), ROW: F.col("_metadata.row_index")})
    except AnalysisException as error:
        raise InputError(
            "This data frame does not come straight from Parquet files, so its rows have no numbers. "
            "Give row_id, the column that identifies them."
        ) from error


@dataclass(frozen=True)
class _Encode:
    """Encodes batch after batch in a worker. Draws are keyed by row, so partitions and retries do not change them."""

    plan: Plan
    originals: list[str]
    by_file: bool

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            table = Table.of(pyarrow.table({name: _local(batch.column(name)) for name in batch.schema.names}))
            rows = None
            if self.by_file:
                files = [unquote(name) for name in batch.column(FILE).to_pylist()]  # Spark gives them as in a URL
                rows = files, batch.column(ROW).to_numpy()
            added = self.plan.encode(table, rows)
            arrays = [*map(batch.column, self.originals), *map(pyarrow.array, added.values())]
            yield pyarrow.RecordBatch.from_arrays(arrays, [*self.originals, *added])


def _local(column: Any) -> Any:
    """Turn Spark's timestamps into times of the session's zone without a zone, as `fit` reads them."""
    import pyarrow.compute

    has_zone = pyarrow.types.is_timestamp(column.type) and column.type.tz is not None
    return pyarrow.compute.local_timestamp(column) if has_zone else column


def _quoted(name: str) -> str:
    """Quote a column name, which may contain dots."""
    return f"`{name.replace('`', '``')}`"


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
    """Fit `SamplingBayesianEncoder` on a Spark data frame, by one groupBy per column.

    Columns may contain text and null, which is a category of its own; targets may have any number of classes.

    Parameters
    ----------
    inputCols : list of str, or None
        Columns to encode; they must be set before `fit`.
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
        encoder.fit(dataset.select(*map(_quoted, wanted)), label, weight)
        model: BayesianEncoderModel = self._copyValues(BayesianEncoderModel(encoder))
        return model


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f'prior="{text}": expected "empirical" or a number of rows as text, such as "10".') from error


class BayesianEncoderModel(Model, _Parameters, MLReadable, MLWritable):
    """A fitted encoder as a Spark transformer; `encoder` is the `SamplingBayesianEncoder` itself.

    For its training rows, `catbayes.encode(frame, model.encoder, n_draws=1, target="paid")` makes draws without each
    row's own target.

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
        plan = Plan(self.encoder.encoding_, self.getOrDefault(self.nDraws) or None, self._optional(self.rowIdCol))
        encoded = encode_frame(dataset, plan)
        if not self.isSet(self.outputCols):
            return encoded
        outputs = list(self.getOutputCols())
        if len(outputs) != len(plan.encoding.columns):
            raise InputError(f"outputCols names {len(outputs)} columns for {len(plan.encoding.columns)} input columns.")
        taken = [name for name in outputs if name in dataset.columns or outputs.count(name) > 1]
        if taken:
            raise InputError(f"outputCols: the data frame has a column {taken[0]!r} already, or it is named twice.")
        named = []
        for output, column in zip(outputs, plan.encoding.columns, strict=True):
            names = [_quoted(name) for name in plan.names(column)]
            value = F.col(names[0]) if len(names) == 1 else array_to_vector(F.array(*names))
            named.append(value.alias(output))
        return encoded.select(*map(_quoted, dataset.columns), *named)

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
