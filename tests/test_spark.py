"""Spark gives the same statistics and draws as files and frames, in a Pipeline, and when executors fail."""

import numpy as np
import pandas
import pytest

from catbayes import InputError, SamplingBayesianEncoder, Scaled, encode, gather
from catbayes.kinds import Nested
from engines import COLUMNS, INTERACTIONS, TABLE, start_spark, write_files

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.xdist_group("spark"),  # it is started once, by one worker
]


@pytest.fixture(scope="module")
def spark():
    session = start_spark()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    write_files(TABLE, folder)
    return folder


@pytest.fixture(scope="module")
def frame(spark, folder):
    return spark.read.parquet(str(folder / "*.parquet"))


def added(result):
    """New columns of a result, rows in the order of their ids."""
    rows = result.toPandas().sort_values("id", ignore_index=True)
    assert rows["id"].tolist() == TABLE["id"].tolist()
    return rows[[name for name in rows.columns if name not in TABLE.columns]]


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("bernoulli", {}),
        ("categorical", {"weight": "weight"}),
        ("normal", {"weight": "weight"}),
        ("lognormal", {}),
        ("poisson", {"weight": "weight", "exposure": "lognormal"}),
        ("negative_binomial", {"weight": "weight", "exposure": "lognormal"}),
    ],
    ids=str,
)
def test_spark_gives_the_same_statistics(frame, family, options):
    settings = {"interactions": INTERACTIONS[: 2 * bool(options)], "family": family, **options}  # queries take seconds
    found = gather(frame, COLUMNS, family, **settings)
    expected = gather(TABLE, COLUMNS, family, **settings)
    for one, other in zip(found.columns, expected.columns, strict=True):
        assert one.values == other.values
        for name in one.statistics.__slots__:
            mine, theirs = getattr(one.statistics, name), getattr(other.statistics, name)
            np.testing.assert_allclose(mine, theirs, rtol=1e-10 if name != "m2" else 1e-6)


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("categorical", {}),
        ("negative_binomial", {}),
        ("categorical", {"n_draws": 2, "row_id": "name"}),
        ("negative_binomial", {"n_draws": 2, "row_id": "name"}),
        ("bernoulli", {"n_draws": 1, "row_id": "id", "target": True}),
        ("normal", {"n_draws": 1, "row_id": "id", "target": True}),
        ("bernoulli", {"n_draws": 1, "row_id": "id", "target": True, "weight": "weight"}),
        ("lognormal", {"n_draws": 1, "row_id": "id", "target": True}),
        ("negative_binomial", {"n_draws": 1, "row_id": "id", "target": True}),
        ("normal", {"n_draws": 2, "row_id": "id", "temperature": "auto"}),
        ("normal", {"n_draws": 1, "row_id": "id", "mapping": "mean_precision"}),
    ],
    ids=str,
)
def test_spark_encodes_the_same(frame, family, options, tmp_path):
    options = dict(options)
    settings = {name: options.pop(name) for name in ("temperature", "mapping") if name in options}
    if options.get("target"):
        options["target"] = family
    some = TABLE.head(2_000)  # so that some categories are unseen
    if family != "normal" or "target" in options:
        settings |= {"interactions": INTERACTIONS, "kinds": {"zip": Nested(["vip"])}}
    encoder = SamplingBayesianEncoder(COLUMNS, family=family, random_state=0, **settings).fit(
        some, family, options.get("weight")
    )
    here = pandas.read_parquet(encode(TABLE, encoder, tmp_path / "here.parquet", **options))
    there = added(encode(frame, encoder, **options))
    np.testing.assert_array_equal(there, here[there.columns])


@pytest.mark.parametrize("mapping", ["mean", "polynomial"])
def test_an_exported_query_gives_what_transform_gives(spark, frame, mapping):
    encoder = SamplingBayesianEncoder(COLUMNS, mapping=mapping).fit(TABLE[COLUMNS], TABLE["categorical"])
    frame.createOrReplaceTempView("visits")
    found = added(spark.sql(encoder.to_sql("spark", table="visits")))
    np.testing.assert_allclose(found, encoder.transform(TABLE[COLUMNS]), rtol=1e-12)


def test_partitions_change_no_draw(frame):
    encoder = SamplingBayesianEncoder(COLUMNS, random_state=0).fit(TABLE, "bernoulli")
    one = added(encode(frame, encoder, n_draws=2, row_id="name"))
    for partitions in (1, 7):
        other = added(encode(frame.repartition(partitions), encoder, n_draws=2, row_id="name"))
        pandas.testing.assert_frame_equal(one, other)


def test_rows_of_parquet_files_need_no_id(frame, folder, tmp_path):
    encoder = SamplingBayesianEncoder(COLUMNS, random_state=0).fit(TABLE, "bernoulli")
    there = added(encode(frame, encoder, n_draws=1))
    here = pandas.read_parquet(encode(str(folder / "*.parquet"), encoder, tmp_path / "here.parquet", n_draws=1))
    np.testing.assert_array_equal(there, here[there.columns])
    with pytest.raises(InputError, match="Give row_id"):
        encode(frame.groupBy("id", "city", "zip", "size", "vip").count(), encoder, n_draws=1)


def test_a_pipeline_fits_predicts_and_survives_a_round_trip(spark, frame, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler

    from catbayes.spark import BayesianEncoder

    stages = [
        BayesianEncoder(inputCols=["city", "zip"], labelCol="bernoulli", weightCol="weight", seed=3),
        VectorAssembler(inputCols=["city_encoded", "zip_encoded"], outputCol="features"),
        LogisticRegression(labelCol="bernoulli", maxIter=5),
    ]
    pipeline = Pipeline(stages=stages)
    pipeline.write().overwrite().save(str(tmp_path / "pipeline"))
    model = Pipeline.load(str(tmp_path / "pipeline")).fit(frame)
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    before, after = (
        part.transform(frame).select("id", "city_encoded", "prediction").toPandas() for part in (model, loaded)
    )
    pandas.testing.assert_frame_equal(before, after)
    reference = SamplingBayesianEncoder(["city", "zip"], random_state=3)
    reference.fit(TABLE[["city", "zip", "bernoulli", "weight"]], "bernoulli", "weight")
    expected = dict(zip(TABLE["id"], reference.transform(TABLE[["city", "zip"]])[:, 0], strict=True))
    np.testing.assert_allclose(before["city_encoded"], before["id"].map(expected), rtol=1e-9)
    assert loaded.stages[0].encoder.posteriors_["city"]["count"].sum() == TABLE["weight"].sum()


def test_values_that_are_refused_end_the_job(frame):
    from pyspark.errors import PythonException

    encoder = SamplingBayesianEncoder(["zip"], unseen="error", missing="error").fit(TABLE.head(50), "bernoulli")
    with pytest.raises(PythonException, match=r"never saw, such as|missing"):
        encode(frame, encoder).toPandas()


def test_columns_and_parameters_are_checked_before_the_job(frame):
    from catbayes.spark import BayesianEncoder

    for stage, message in (
        (BayesianEncoder(inputCols=["town"], labelCol="bernoulli"), "no column 'town'"),
        (BayesianEncoder(labelCol="bernoulli"), "inputCols is not set"),
        (BayesianEncoder(inputCols=["city"], labelCol="bernoulli", prior="flat"), 'prior="flat"'),
        (BayesianEncoder(inputCols=["zip"], labelCol="city"), "'city' is missing in"),
    ):
        with pytest.raises(InputError, match=message):
            stage.fit(frame)
    with pytest.raises(InputError, match="Spark takes the dot for a field"):
        gather(frame.withColumnRenamed("city", "my.city"), ["my.city"], "bernoulli")
    model = BayesianEncoder(inputCols=["city", "zip"], labelCol="bernoulli").fit(frame)
    for names in (["zip", "z"], ["bernoulli", "z"], ["z", "z"]):
        with pytest.raises(InputError, match="already, or it is named twice"):
            model.copy({model.outputCols: names}).transform(frame)
    with pytest.raises(InputError, match="outputCols names 1 columns for 2 input columns"):
        model.copy({model.outputCols: ["z"]}).transform(frame)
    named = model.copy({model.outputCols: ["zip_encoded", "city_encoded"]}).transform(frame)
    assert named.columns == [*frame.columns, "zip_encoded", "city_encoded"]
    with pytest.raises(InputError, match="Leave output out"):
        encode(frame, model.encoder, "out.parquet")
    with pytest.raises(InputError, match="Spark's names ignore capitals"):
        encode(frame.withColumnRenamed("name", "ZIP_encoded"), model.encoder)


def test_numbers_of_another_precision_are_compared_as_numbers(spark):
    close = pandas.DataFrame({"p": [0.1, 0.1 + 1e-12, 0.2, 0.25] * 4, "y": [0, 1, 1, 0] * 4})
    encoder = SamplingBayesianEncoder(["p"], prior=Scaled(0)).fit(close, "y")
    rows = encode(spark.createDataFrame([(1, 0.1), (2, 0.25)], "id int, p float"), encoder).orderBy("id").collect()
    expected = encoder.transform(pandas.DataFrame({"p": [7.0, 0.25]}))[:, 0]  # 0.1 in single precision is unseen
    assert [row["p_encoded"] for row in rows] == expected.tolist()


def test_spellings_vectors_and_gaps_pass_through_spark(spark):
    """Kinds that are not looked up by their values, columns of any other type, and encodings that are NaN."""
    from pyspark.ml.linalg import Vectors

    from catbayes.kinds import Spellings

    table = pandas.DataFrame({"job": ["nurse", "Nurse ", "teacher", "Teachr"] * 10, "y": [0, 0, 1, 1] * 10})
    encoder = SamplingBayesianEncoder(["job"], kinds={"job": Spellings()}, missing="nan").fit(table, "y")
    jobs = ["nurze", "teacher", None]
    frame = spark.createDataFrame([(job, Vectors.dense([float(i)])) for i, job in enumerate(jobs)], ["job", "v"])
    found = encode(frame, encoder).toPandas()
    assert [vector[0] for vector in found["v"]] == [0.0, 1.0, 2.0]
    np.testing.assert_array_equal(found["job_encoded"], encoder.transform(pandas.DataFrame({"job": jobs}))[:, 0])


def test_files_are_identified_by_their_names(spark, tmp_path):
    encoder = SamplingBayesianEncoder(["city"], random_state=0).fit(TABLE, "bernoulli")
    path = tmp_path / "é a%20+b#c.parquet"
    TABLE.head(100).to_parquet(path)
    here = pandas.read_parquet(encode(path, encoder, tmp_path / "here.parquet", n_draws=1))["city_draw0"]
    there = encode(spark.read.parquet(f"{tmp_path}/*c.parquet"), encoder, n_draws=1).toPandas()["city_draw0"]
    np.testing.assert_array_equal(here, there)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        TABLE.head(10).to_parquet(tmp_path / name / "part.parquet")
    with pytest.raises(InputError, match="Two files have the same name"):
        encode(spark.read.parquet(f"{tmp_path}/one", f"{tmp_path}/two"), encoder, n_draws=1)
