"""The worked examples of docs/architecture.md, followed to the letter: a family, a kind of column, and a backend."""

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.tree import DecisionTreeRegressor

import cases
import catbayes
import reference
import test_families
from catbayes import InputError, SamplingBayesianEncoder, SamplingRegressor, Scaled
from catbayes.core.categories import Categories
from catbayes.families import FAMILIES, Family
from catbayes.kinds import KINDS, Nested
from catbayes.kinds.kind import NormalisedCategories
from catbayes.mappings import PredictiveQuantiles
from catbayes.models import backends, fitting

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
NAME = "exponential"


@pytest.fixture(scope="module")
def blocks():
    """The Python of the page: a family, its name, its tests, a try; a kind, and a try; a backend, and its place."""
    found = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert len(found) == 8
    return found


def load(name, code, folder):
    """The module in a file, as the page says."""
    path = folder / "example.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def family(blocks, tmp_path_factory):
    yield load(f"catbayes.families.{NAME}", blocks[0], tmp_path_factory.mktemp("family")).InverseGammaExponential
    del sys.modules[f"catbayes.families.{NAME}"]


@pytest.fixture
def registered(family, blocks, monkeypatch):
    """The family in the tables that the tests walk."""
    tables = {"PRIORS": cases.PRIORS, "TARGETS": cases.TARGETS, "MARGINALS": cases.MARGINALS, "FAMILIES": FAMILIES}
    names = {name: dict(table) for name, table in tables.items()} | {"stats": stats, family.__name__: family}
    exec(blocks[1] + blocks[2], names)
    for name, table in tables.items():
        monkeypatch.setitem(table, NAME, names[name][NAME])
    monkeypatch.setitem(reference.FAMILIES, NAME, names["Exponential"]())


@pytest.mark.parametrize(
    "claim",
    [
        test_families.test_moments_and_quantiles_are_those_of_scipy,
        test_families.test_the_empirical_prior_is_a_maximum_of_the_marginal_likelihood,
        test_families.test_the_empirical_prior_finds_the_prior_that_made_the_data,
    ],
    ids=lambda claim: claim.__name__,
)
def test_the_new_family_passes_the_tests_of_families(claim, registered):
    claim(NAME)


def test_the_encoder_takes_it_by_name_and_as_a_class_and_files_hold_it(registered, blocks, family, tmp_path):
    names = {}
    exec(blocks[3], names)
    exec(blocks[3].replace('family="exponential"', "family=family"), {"family": family})
    names["encoder"].save(tmp_path / "clerks.catbayes")
    again = catbayes.load(tmp_path / "clerks.catbayes")
    np.testing.assert_array_equal(again.transform(names["X"]), names["encoder"].transform(names["X"]))


def make_queue(n_rows=2_000, seed=0):
    """Waiting times by clerk and day, which have an effect together."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(random.integers(0, 8, (n_rows, 3)), columns=["clerk", "day", "counter"])
    effect = random.normal(size=(8, 8))[table["clerk"], table["day"]]
    return table, random.exponential(3.0 * np.exp(0.6 * effect))


def test_it_goes_with_interactions_and_hierarchies(registered):
    table, y = make_queue()
    encoder = SamplingBayesianEncoder("all", family=NAME, interactions="auto", random_state=0)
    features = encoder.fit_transform(table, y)
    assert encoder.columns_[3:4] == [("clerk", "day")]
    assert np.corrcoef(np.log(features[:, 3]), np.log(y))[0, 1] > 0.3
    random = np.random.default_rng(0)
    clerk = np.repeat(np.arange(120), random.choice([1, 3, 9], 120))
    table, wait = pd.DataFrame({"office": clerk // 30, "clerk": clerk}), np.array([1.0, 3.0, 9.0, 27.0])
    encoder = SamplingBayesianEncoder(["clerk"], kinds={"clerk": Nested(["office"])}, family=NAME, random_state=0)
    drawn = encoder.fit_transform(table, random.exponential(wait[table["office"]]))[:, 1]
    assert (drawn > 0).all()
    for office, expected in enumerate(wait):  # an unseen clerk waits as his office does
        found = encoder.transform(pd.DataFrame({"office": [office], "clerk": [999]}))[0, 1]
        assert found == pytest.approx(expected, rel=0.35)


def test_what_a_family_does_not_define_is_refused(family):
    class Plain(family):
        worth = Family.worth

    table, y = make_queue(200)
    for settings, message in (
        ({"columns": ["clerk"], "kinds": {"clerk": Nested(["day"])}}, "Plain does not define another strength"),
        ({"mapping": PredictiveQuantiles()}, "Plain does not define the quantiles"),
        ({"mapping": "weight_of_evidence"}, "needs a class target"),
        ({"prior": Scaled(0.1, strength=0)}, "only the normal families have one; leave it out for Plain"),
    ):
        with pytest.raises(InputError, match=message):
            SamplingBayesianEncoder(**{"columns": "all", "family": Plain} | settings).fit(table, y)
    with pytest.raises(InputError, match="exposure is for counts, and the target is for Plain"):
        SamplingBayesianEncoder("all", family=Plain).fit(table, y, exposure=np.ones(200))
    SamplingBayesianEncoder("all", family=Plain).fit_transform(table, y)


def test_the_new_kind_shrinks_rare_codes_towards_their_group(blocks, tmp_path):
    module = load("catbayes.kinds.prefix", blocks[4], tmp_path)
    names = {"np": np, "pd": pd, "SamplingBayesianEncoder": SamplingBayesianEncoder, "Prefix": module.Prefix}
    exec(blocks[5], names)
    assert np.isfinite(names["linked"].sample(names["rare"], 5)).all()
    del sys.modules["catbayes.kinds.prefix"]


@dataclass(frozen=True, slots=True)
class Lowered(NormalisedCategories):
    """Text in lower case."""

    def cells(self, column):
        return [cell.lower() for cell in column.to_list()]


@dataclass(frozen=True)
class AnyCase(Nested):
    """Text whose case means nothing, within its first letter."""

    categories = Lowered

    def read(self, column, name, target, weight):
        found, codes = Categories.of(np.array([cell.lower() for cell in column.to_list()]))
        return Lowered(found.values), codes


def test_one_line_registers_a_kind_that_has_categories_of_its_own(monkeypatch, tmp_path):
    X, y = pd.DataFrame({"name": ["Ann", "ANN", "Bob", "bob"] * 20}), [0.0, 1.0, 4.0, 5.0] * 20
    encoder = SamplingBayesianEncoder(kinds={"name": AnyCase({"ann": "a", "bob": "b"})}, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="cannot be saved"):
        encoder.save(tmp_path / "names.catbayes")
    monkeypatch.setitem(KINDS, "AnyCase", AnyCase)
    encoder.save(tmp_path / "names.catbayes")
    new = pd.DataFrame({"name": ["aNN", "Bob", "Cy"]})
    again = catbayes.load(tmp_path / "names.catbayes").transform(new)
    np.testing.assert_array_equal(again, encoder.transform(new))
    monkeypatch.setattr(AnyCase, "categories", Categories)
    with pytest.raises(InputError, match="'name' has Lowered as categories, which no kind in KINDS names"):
        encoder.save(tmp_path / "others.catbayes")


class AcmeRegressor(RegressorMixin, BaseEstimator):
    """An estimator of the library that the example is about: a tree that stores what it was given."""

    __module__ = "acmeboost.sklearn"

    def __init__(self, min_rows=5, penalty=1.0, monotone=None):
        self.min_rows, self.penalty, self.monotone = min_rows, penalty, monotone

    def fit(self, X, y, sample_weight=None, categories=None):
        self.given_ = self.get_params() | {"categories": categories, "shape": X.shape}
        self.tree_ = DecisionTreeRegressor(min_samples_leaf=self.min_rows).fit(X, y, sample_weight)
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def test_the_new_backend_gives_its_library_what_it_takes(blocks, tmp_path, monkeypatch):
    module = load("catbayes.models.backends.acme", blocks[6], tmp_path)
    names = {**vars(backends), **vars(module)}
    exec(blocks[7], names)
    monkeypatch.setattr(backends, "BACKENDS", names["BACKENDS"])
    monkeypatch.setattr(fitting, "COUNTS", fitting.COUNTS | {*module.AcmeBoost.row_counts})  # as imported with it
    X, y = make_queue()
    X = X.astype({"clerk": str})
    model = SamplingRegressor(AcmeRegressor(monotone={"day": 1}), n_draws=3, fit_with="copies", random_state=0).fit(
        X, y
    )
    outputs = list(model.estimator_.given_["monotone"])
    assert model.estimator_.given_ == {
        "min_rows": 15,
        "penalty": 3.0,
        "monotone": outputs,
        "categories": [list(model.encoder_.get_feature_names_out()).index("clerk_code")],
        "shape": (6_000, len(outputs)),
    }
    assert outputs == [int(name == "day") for name in model.encoder_.get_feature_names_out()]
    assert model.predict(X).shape == y.shape
    del sys.modules["catbayes.models.backends.acme"]
