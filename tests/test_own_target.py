"""Strategies for the own target, and ways to draw, as objects: words and numbers are their shorthands."""

import dataclasses
import io
import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, TimeSeriesSplit

import catbayes
from catbayes import (
    ConjugateMomentEncoder,
    CrossFit,
    Draws,
    Exclude,
    Include,
    InputError,
    MultiTargetEncoder,
    Ordered,
    SamplingBayesianEncoder,
    SamplingClassifier,
    encode,
)
from catbayes.core.leakage import STRATEGIES

random = np.random.default_rng(0)
X = pandas.DataFrame(
    {"city": random.choice(list("abcdefgh"), 300), "day": np.arange(300) // 3, "size": random.random(300)}
)
Y = X["city"].isin([*"abc"]).to_numpy().astype(int) ^ (random.random(300) < 0.3)
WORDS = {word: kind() for word, kind in STRATEGIES.items()}
OBJECTS = [*WORDS.values(), Exclude(3), CrossFit(np.int64(7)), Ordered("day"), Ordered(1)]
WAYS = ["estimate", 0.4, 1, Draws(0.4), Draws(per="category"), Draws(sampler="exact")]


def encoder(**settings):
    return SamplingBayesianEncoder(["city"], random_state=0, **settings)


def saved(fitted):
    """The encoder after a journey through a file."""
    file = io.BytesIO()
    fitted.save(file)
    return catbayes.load(file)


def known(strategy):
    """Settings whose features are not drawn: every strategy, "exclude" included, has to give them from somewhere."""
    return {"own_target": strategy, "mapping": "mean_precision"}


def test_strategies_are_public_and_listed_by_their_words():
    assert {*WORDS.values()} == {Exclude(), CrossFit(), Ordered(), Include()}
    for word, kind in STRATEGIES.items():
        assert kind.word == word
        assert getattr(catbayes, kind.__name__) is kind


def test_how_precisely_a_category_is_known_is_the_same_in_training_as_in_prediction():
    """Its mean comes from other folds, and is as precise as all rows make it."""
    table, y = pandas.DataFrame({"city": ["a"] * 200 + ["b"] * 20}), np.tile([0, 1], 110)
    one = SamplingBayesianEncoder(mapping="mean_precision", prior=1e-9, random_state=0)
    trained, new = one.fit_transform(table, y)[:, 1], one.transform(table)[:, 1]
    np.testing.assert_allclose(trained[:200], new[:200], rtol=0.02)
    assert (trained[200:] < 0.2 * new[:20]).all()


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_short_for_the_object(word):
    for settings in ({}, {"mapping": "mean_precision"}):
        by_word, by_object = (encoder(own_target=own, **settings) for own in (word, WORDS[word]))
        np.testing.assert_array_equal(by_word.fit_transform(X, Y), by_object.fit_transform(X, Y))
        np.testing.assert_array_equal(by_word.augment(X, Y, 3).X, by_object.augment(X, Y, 3).X)
        np.testing.assert_array_equal(by_word.transform(X), by_object.transform(X))
    if word in ("cross_fit", "include"):
        by_word, by_object = (
            ConjugateMomentEncoder(["city"], own_target=own, random_state=0) for own in (word, WORDS[word])
        )
        np.testing.assert_array_equal(by_word.fit_transform(X, Y), by_object.fit_transform(X, Y))


def test_each_strategy_gives_features_of_its_own():
    """The same seed and table: what differs is what a row may know. Other folds and another order are others too."""
    features = {repr(own): encoder(**known(own)).fit_transform(X, Y)[:, 1].astype(float) for own in OBJECTS[:-1]}
    same = {
        frozenset(name for name, other in features.items() if np.array_equal(other, one)) for one in features.values()
    }
    assert same == {frozenset({repr(own)}) for own in OBJECTS[:-1]}
    drawn = [encoder(own_target=own).fit_transform(X, Y)[:, 0] for own in OBJECTS[:-1] if own != Exclude(3)]
    assert all((one != other).mean() > 0.9 for n, one in enumerate(drawn) for other in drawn[:n])


def test_a_position_names_the_column_of_time_too():
    by_name, by_position = (encoder(own_target=Ordered(column)) for column in ("day", 1))
    np.testing.assert_array_equal(by_name.fit_transform(X, Y), by_position.fit_transform(X, Y))
    assert by_position.get_feature_names_out().tolist() == ["city", "size"]


@pytest.mark.parametrize(
    "own_target", ["exclude", "ordered", Exclude(), Exclude(3), Ordered(), Ordered("day")], ids=repr
)
def test_moments_take_no_strategy_that_needs_draws(own_target):
    accepted = r'expected one of "cross_fit", "include", or an object CrossFit\(\), Include\(\)\.'
    given = repr(own_target).replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(InputError, match=f"^own_target={given}: {accepted}$"):
        ConjugateMomentEncoder(["city"], own_target=own_target).fit(X, Y)


@pytest.mark.parametrize("own_target", ["loo", None, 5, KFold(3), CrossFit, ["exclude"], Draws()], ids=repr)
def test_what_is_no_strategy_is_refused(own_target):
    expected = r'expected one of "exclude", "cross_fit", "ordered", "include", or an object Exclude\(\), CrossFit\(\), '
    for kind in (encoder, lambda own_target: MultiTargetEncoder(encoder(own_target=own_target))):
        with pytest.raises(InputError, match=f"own_target=.*: {expected}"):
            kind(own_target=own_target).fit(X, Y)


@pytest.mark.parametrize("draws", ["posterior", None, -0.1, 1.5, True, {"temperature": 1.0}, [1.0], Draws], ids=repr)
def test_what_is_no_way_to_draw_is_refused(draws):
    with pytest.raises(
        InputError, match=r'^draws=.*: expected "estimate", a temperature from 0 to 1, or a Draws object'
    ):
        encoder(draws=draws).fit(X, Y)


@pytest.mark.parametrize(
    ("short", "long"), [("estimate", Draws()), (0.4, Draws(0.4)), (1, Draws(1.0)), (0, Draws(0.0))]
)
def test_a_number_is_short_for_a_temperature(short, long):
    one, other = (encoder(draws=draws) for draws in (short, long))
    np.testing.assert_array_equal(one.fit_transform(X, Y), other.fit_transform(X, Y))
    np.testing.assert_array_equal(one.sample(X, 2), other.sample(X, 2))


@pytest.mark.parametrize("own_target", [*WORDS, *OBJECTS], ids=repr)
def test_a_strategy_is_saved_with_its_encoder(own_target):
    fitted = encoder(own_target=own_target).fit(X, Y)
    loaded = saved(fitted)
    assert loaded.own_target == own_target
    assert type(loaded.own_target) is type(own_target)
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))
    np.testing.assert_array_equal(loaded.fit_transform(X, Y), clone(fitted).fit_transform(X, Y))
    assert saved(MultiTargetEncoder(encoder(own_target=own_target)).fit(X, Y)).encoder.own_target == own_target


@pytest.mark.parametrize("own_target", [CrossFit(7), Include()], ids=repr)
def test_a_strategy_of_moments_is_saved_too(own_target):
    fitted = ConjugateMomentEncoder(["city"], own_target=own_target, random_state=0).fit(X, Y)
    assert saved(fitted).own_target == own_target
    np.testing.assert_array_equal(saved(fitted).fit_transform(X, Y), clone(fitted).fit_transform(X, Y))


@pytest.mark.parametrize("draws", WAYS, ids=repr)
def test_a_way_to_draw_is_saved_with_its_encoder(draws):
    fitted = encoder(draws=draws).fit(X, Y)
    loaded = saved(fitted)
    assert loaded.draws == draws
    np.testing.assert_array_equal(loaded.sample(X, 2), fitted.sample(X, 2))


@pytest.mark.parametrize("kind", [Exclude, CrossFit])
def test_a_splitter_cannot_be_saved_and_a_number_of_folds_can(kind):
    fitted = encoder(own_target=kind(cv=KFold(3))).fit(X, Y)
    message = r"own_target=KFold\(.*\) cannot be saved, because a file holds no code.*set_params\(own_target=…\)"
    with pytest.raises(InputError, match=message):
        fitted.save(io.BytesIO())
    assert saved(fitted.set_params(own_target=kind(cv=3))).own_target == kind(3)


@pytest.mark.parametrize("value", [*OBJECTS, Draws(0.5)], ids=repr)
def test_they_are_values(value):
    name = "draws" if isinstance(value, Draws) else "own_target"
    made = encoder(**{name: value})
    for other in (clone(made), pickle.loads(pickle.dumps(made))):
        assert other.get_params()[name] == value
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, 1)
    assert hash(value) == hash(clone(made).get_params()[name])


def test_strategies_and_draws_can_be_searched_over():
    model = SamplingClassifier(LogisticRegression(), encoder(), n_draws=2, random_state=0)
    grid = {"encoder__own_target": ["exclude", CrossFit(3)], "encoder__draws": [1.0, Draws(0.5)]}
    found = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, Y)
    assert len(found.cv_results_["params"]) == 4
    assert found.best_estimator_.encoder_.own_target == found.best_params_["encoder__own_target"]


def test_folds_of_another_splitter_are_used():
    """Of time series, the first rows are never held out: they have the prior."""
    features = encoder(own_target=Exclude(TimeSeriesSplit(2)), draws=Draws(0.0)).fit_transform(X, Y)
    assert len(np.unique(features[:100, 0].astype(float))) == 1
    assert len(np.unique(features[100:, 0].astype(float))) > 8


@pytest.mark.parametrize("strategy", [Ordered(), CrossFit(GroupKFold(2)), Exclude(GroupKFold(2))], ids=str)
def test_what_needs_all_rows_together_refuses_a_stream_of_rows(strategy, tmp_path):
    table = pandas.DataFrame({"city": ["a", "b"] * 10, "y": [0, 1, 1, 1] * 5})
    encoder = SamplingBayesianEncoder(["city"], own_target=strategy, random_state=0).fit(table[["city"]], table["y"])
    with pytest.raises(InputError, match="needs all rows together"):
        encode(table, encoder, tmp_path / "x.parquet", n_draws=1, target="y")
