"""A fitted encoder in one file: exact, readable by others, and safe to load."""

import datetime
import json
import os
from decimal import Decimal
from hashlib import sha256

import duckdb
import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

import catbayes
from catbayes import InputError, SamplingBayesianEncoder, SamplingRegressor, Scaled
from catbayes.families import BetaBernoulli, DirichletCategorical, NormalGamma
from catbayes.mappings import Mean, PosteriorMoments, PredictiveQuantiles
from catbayes.priors import Empirical

random = np.random.default_rng(0)
X = pandas.DataFrame({"city": random.choice(["a", "b", "ü", None], 400), "n": random.integers(0, 50, 400)})
TARGETS = {
    "bernoulli": random.choice(["no", "yes"], 400),
    "categorical": random.integers(3, 6, 400),
    "normal": random.normal(size=400),
    "poisson": random.poisson(2, 400),
    "lognormal": random.lognormal(size=400),
    "negative_binomial": random.negative_binomial(2.0, 0.4, 400),
    "robust": np.random.default_rng(2).standard_t(2, 400),
    "binomial": np.random.default_rng(1).integers(0, 5, 400) / 4,
}

ENCODERS = [
    *(SamplingBayesianEncoder(["city", "n"], family=family, random_state=1) for family in TARGETS),
    SamplingBayesianEncoder("all", prior=Scaled(0.01), mapping="polynomial", temperature=0.5),
    SamplingBayesianEncoder(prior=Scaled(0.1), missing="prior", sampler="exact", random_state=2),
    SamplingBayesianEncoder(prior=Empirical(), mapping="weight_of_evidence", unseen="error"),
    SamplingBayesianEncoder(prior=BetaBernoulli(2.0, 3.0), own_target="cross_fit", cv=3),
    SamplingBayesianEncoder(
        family="categorical", prior=DirichletCategorical([1.0, 2.0, 0.5]), mapping=Mean(drop_first=True)
    ),
    SamplingBayesianEncoder(family=NormalGamma, prior=Scaled(1e-6, strength=0), mapping="identity"),
    SamplingBayesianEncoder(family="poisson", mapping=PredictiveQuantiles((0.25, 0.999)), random_state=0),
    SamplingBayesianEncoder(random_state=0, mapping=PosteriorMoments(n_moments=4)),
]


def target_of(encoder):
    if encoder.family == NormalGamma:
        return TARGETS["normal"]
    return TARGETS["bernoulli" if encoder.family == "auto" else encoder.family]


@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
def test_what_is_loaded_is_what_was_saved(encoder, tmp_path):
    encoder.fit(X, target_of(encoder))
    path = tmp_path / "model.catbayes"
    encoder.save(path)
    loaded = catbayes.load(path)
    assert type(loaded) is type(encoder)
    for name, value in encoder.get_params().items():
        expected = "normal" if value is NormalGamma else value
        assert str(loaded.get_params()[name]) == str(expected)
    np.testing.assert_array_equal(loaded.transform(X), encoder.transform(X))
    assert loaded.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    if isinstance(encoder, SamplingBayesianEncoder):
        np.testing.assert_array_equal(loaded.sample(X, 2), encoder.sample(X, 2))
        np.testing.assert_array_equal(loaded.sample(X, 2, row_id="n"), encoder.sample(X, 2, row_id="n"))
    if encoder.classes_ is not None:
        assert loaded.classes_.tolist() == encoder.classes_.tolist()
        assert loaded.classes_.dtype.kind == encoder.classes_.dtype.kind
    pandas.testing.assert_frame_equal(loaded.posteriors_["city"], encoder.posteriors_["city"])
    y = target_of(encoder)
    np.testing.assert_array_equal(loaded.partial_fit(X, y).transform(X), encoder.partial_fit(X, y).transform(X))


def test_saving_follows_links_and_preserves_modes(tmp_path):
    target, link = tmp_path / "real", tmp_path / "link"
    target.write_bytes(b"")
    target.chmod(0o640)
    link.symlink_to(target)
    SamplingBayesianEncoder().fit(X, TARGETS["bernoulli"]).save(link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    catbayes.load(target)


def test_categories_of_any_plain_type_survive(tmp_path):
    day, hour = datetime.datetime(2024, 2, 29, 12, 30), datetime.timedelta(microseconds=123456789)
    values = [True, 7, 2**70, -1.5, "7", "", day, datetime.time(1, 2), hour, Decimal("1.10"), b"\x00\xff"]
    table = np.array([[value] for value in values * 2], dtype=object)
    encoder = SamplingBayesianEncoder(random_state=0).fit(table, [0, 1] * len(values))
    encoder.save(tmp_path / "m")
    loaded = SamplingBayesianEncoder.load(tmp_path / "m")
    assert loaded.evidence_.columns[0].values == encoder.evidence_.columns[0].values
    kinds = [type(value) for value in loaded.evidence_.columns[0].values]
    assert kinds == [type(value) for value in encoder.evidence_.columns[0].values]


def test_other_tools_can_read_it(tmp_path):
    SamplingBayesianEncoder(["city"]).fit(X, TARGETS["bernoulli"]).save(tmp_path / "m.catbayes")
    path = str(tmp_path / "m.catbayes")
    rows = duckdb.sql(
        f"SELECT category, counts[1] + counts[2] FROM read_parquet('{path}') ORDER BY category"
    ).fetchall()
    counts = X["city"].value_counts(dropna=False)
    assert dict(rows) == {(None if city != city else city): count for city, count in counts.items()}
    header = json.loads(pyarrow.parquet.read_schema(path).metadata[b"catbayes"])
    assert header["settings"]["prior"] == "empirical"


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.catbayes"
    SamplingBayesianEncoder(random_state=0).fit(X, TARGETS["bernoulli"]).save(path)
    return path


def test_cut_short_at_any_place_is_noticed(saved):
    content = saved.read_bytes()
    for size in [*range(0, len(content), 97), len(content) - 1]:
        saved.write_bytes(content[:size])
        with pytest.raises(InputError, match=r"damaged|no catbayes encoder"):
            catbayes.load(saved)


def test_a_flipped_byte_is_noticed_or_harmless(saved):
    """Wherever a byte is changed, loading fails with one sentence, or gives the same encoder."""
    content, reference = saved.read_bytes(), catbayes.load(saved).transform(X)
    errors = []
    for place in range(0, len(content), 13):
        saved.write_bytes(content[:place] + bytes([content[place] ^ 0x5A]) + content[place + 1 :])
        try:
            np.testing.assert_array_equal(catbayes.load(saved).transform(X), reference)
        except InputError as error:
            errors.append(str(error))
    assert len(errors) > len(content) / 13 / 2
    assert not any("\n" in error for error in errors)


def rewrite(path, change, digest=True):
    """Change the header of a saved encoder."""
    table = pyarrow.parquet.read_table(path)
    header = json.loads(table.schema.metadata[b"catbayes"])
    change(header)
    text = json.dumps(header).encode()
    checksum = sha256(text).hexdigest().encode() if digest else table.schema.metadata[b"catbayes.sha256"]
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"catbayes": text, b"catbayes.sha256": checksum}), path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header.update(version=99), "version 99 of the format.*this one reads version"),
        (lambda header: header.update(version=1), "version 1 of the format.*fit again"),
        (lambda header: header.update(format="something else"), "no catbayes encoder, but 'something else'"),
        (lambda header: header["settings"].update(mapping="eval"), "damaged"),
        (lambda header: header["columns"][0].update(rows=1), "damaged"),
        (lambda header: header["columns"][0].update(position=9), "damaged"),
        (lambda header: header.pop("seed"), "damaged"),
        (lambda header: header.update(classes=[["decimal", "x"], ["str", "a"]]), "damaged"),
        (lambda header: header["columns"][0]["prior"].update(family="poisson"), "damaged"),
        *(
            (lambda header, value=value, change=change: change(header, value), "damaged")
            for value in (float("nan"), None, -1.0, float("inf"), [1.0, 2.0])
            for change in (
                lambda header, value: header["columns"][0]["prior"].update(alpha=value),
                lambda header, value: header["columns"][0]["unseen"].update(beta=value),
                lambda header, value: header.update(squares=value),
                lambda header, value: header.update(exposure=value),
            )
        ),
    ],
)
def test_impossible_headers_are_refused(saved, change, message):
    rewrite(saved, change)
    with pytest.raises(InputError, match=message):
        catbayes.load(saved)


def places(value, path=()):
    """The path to every value inside of a header."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield (*path, key)
        yield from places(entry, (*path, key))


STRANGE = [None, {}, True, "x", {"object": "Popen"}, {"tuple": 3}, {"table": [[[1], 2]]}, {"text": ["int", "x"]}]


@pytest.mark.parametrize("strange", STRANGE, ids=str)
def test_a_header_with_any_value_replaced_is_refused_or_loads(saved, strange):
    table = X[["city"]].assign(shop=X["city"].fillna("none").str.upper())
    SamplingBayesianEncoder(["city", "shop"], random_state=0).fit(table, TARGETS["bernoulli"]).save(saved)
    content, found = saved.read_bytes(), []
    rewrite(saved, lambda header: found.extend(places(header)))

    def replace(header, path):
        for key in path[:-1]:
            header = header[key]
        header[path[-1]] = strange

    for path in found:
        saved.write_bytes(content)
        rewrite(saved, lambda header, path=path: replace(header, path))
        try:
            catbayes.load(saved).transform(table)
        except ValueError as error:  # that of scikit-learn, if columns have other names
            assert isinstance(error, InputError) or "feature names" in str(error)  # noqa: PT017


def test_headers_need_their_checksum(saved):
    rewrite(saved, lambda header: header.update(seed=7), digest=False)
    with pytest.raises(InputError, match="checksum"):
        catbayes.load(saved)


def altered(path, **columns):
    """Change columns of the table of a saved file, each by a function of its cells; the header stays as it is."""
    table = pyarrow.parquet.read_table(path)
    for name, change in columns.items():
        field = table.schema.field(name)
        cells = pyarrow.array(change(table[name].to_pylist()), field.type)
        table = table.set_column(table.schema.get_field_index(name), field, cells)
    pyarrow.parquet.write_table(table, path)


PLAIN = SamplingBayesianEncoder(["city"], prior=Scaled(1.0))
EFFECTS = SamplingBayesianEncoder(["city"], effects=True, prior=Scaled(1.0))


@pytest.mark.parametrize(
    ("encoder", "columns", "message"),
    [
        (PLAIN, {"kind": lambda cells: ["missing", *cells[1:]]}, "categories of column 0 are not in their places"),
        (PLAIN, {"category": lambda cells: [cells[1], *cells[1:]]}, "categories of 'city' are not distinct"),
        (PLAIN, {"counts": lambda cells: [[-1.0, 2.0], *cells[1:]]}, "statistics of 'city' are impossible"),
        (PLAIN, {"counts": lambda cells: [[0.0, 0.0]] * len(cells)}, "nothing is left to learn from"),
        (PLAIN, {"counts": lambda cells: [[float("nan"), 2.0], *cells[1:]]}, "statistics of 'city' are impossible"),
        (EFFECTS, {"effect_known": lambda cells: [[-1.0], *cells[1:]]}, "effects are impossible"),
        (EFFECTS, {"effect_sd": lambda cells: [[float("nan")], *cells[1:]]}, "effects are impossible"),
    ],
)
def test_impossible_rows_are_refused(saved, encoder, columns, message):
    encoder.fit(X, TARGETS["bernoulli"]).save(saved)
    altered(saved, **columns)
    with pytest.raises(InputError, match=f"damaged: its table does not fit its header .*{message}"):
        catbayes.load(saved)


def test_the_file_of_a_model_is_no_damaged_encoder(tmp_path):
    SamplingRegressor(Ridge(), random_state=0).fit(X, TARGETS["normal"]).save(tmp_path / "model.catbayes")
    with pytest.raises(InputError, match=r"of a saved model, and no encoder. Read it by catbayes.load"):
        SamplingBayesianEncoder.load(tmp_path / "model.catbayes")


def test_foreign_files_are_refused(tmp_path):
    X.to_parquet(tmp_path / "table.parquet")
    (tmp_path / "text").write_text("hello")
    for name, message in [
        ("table.parquet", "no catbayes encoder"),
        ("text", "no catbayes"),
        ("none", "There is no file"),
    ]:
        with pytest.raises(InputError, match=message):
            catbayes.load(tmp_path / name)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mapping": lambda theta: theta[..., :1]}, "mapping=.* cannot be saved, because a file holds no code"),
        ({"own_target": "exclude", "cv": KFold(3)}, r"set_params\(cv=…\)"),
        ({"random_state": np.random.RandomState(0)}, "random_state"),
    ],
)
def test_an_encoder_that_cannot_be_saved_leaves_the_old_file(settings, message, saved):
    before = saved.read_bytes()
    with pytest.raises(InputError, match=message):
        SamplingBayesianEncoder(**settings).fit(X, TARGETS["bernoulli"]).save(saved)
    pairs = pandas.Series([(0,), (1,)] * 200)
    with pytest.raises(InputError, match=r"^A class is a tuple, \(0,\), which cannot be saved. Turn such values into"):
        PLAIN.fit(X, pairs).save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]
