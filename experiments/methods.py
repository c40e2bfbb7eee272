"""The methods that are compared: how each makes features of a table, and the model that learns from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from category_encoders import LeaveOneOutEncoder
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from catbayes import SamplingBayesianEncoder, Scaled
from experiments.scores import Array, predict

Target = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted model and its encoding; what several draws predict is averaged."""

    model: Any
    encode: Callable[[Any], list[Array]]  # of new rows: a table of features for each draw
    columns: list[str]  # of the table: the one that each feature comes from
    numeric: bool

    def predict(self, X: Any) -> Array:
        """Class probabilities (row, class), or numbers (row,)."""
        drawn = [predict(self.model, features, None if self.numeric else 2) for features in self.encode(X)]
        return np.asarray(np.mean(drawn, axis=0))

    def importance(self) -> dict[str, float]:
        """What the forest says of each column of the table, as shares of 1."""
        shares = dict.fromkeys(self.columns, 0.0)
        for column, share in zip(self.columns, self.model.feature_importances_, strict=True):
            shares[column] += float(share)
        return shares


class Method(Protocol):
    """Plain values that say how to encode and to learn; a target of floats is a number, any other is 0 or 1."""

    @property
    def name(self) -> str:
        """The method and its values, for a reader."""

    def fit(self, X: Any, y: Target, categorical: list[str], trees: int, seed: int) -> Fitted:
        """Encode the categorical columns of a frame and fit the model."""


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """The paper's baseline: category_encoders' LeaveOneOutEncoder and a forest.

    The forest learns from `fit_transform`, noise and all ("left out"), or from `transform`, which without y gives plain
    means of the categories ("means").
    """

    sigma: float
    max_depth: int
    max_features: int
    min_samples_leaf: int
    train_on: str = "left out"

    @property
    def name(self) -> str:
        """The method and its values."""
        return f"leave-one-out ({self.train_on}) σ={self.sigma:.3g}, {_leaves(self)}"

    def fit(self, X: Any, y: Target, categorical: list[str], trees: int, seed: int) -> Fitted:
        """Encode and fit."""
        encoder_seed, forest_seed, _ = seeds(seed)
        encoder = LeaveOneOutEncoder(cols=categorical, sigma=self.sigma, random_state=encoder_seed)
        features = encoder.fit_transform(X, y)
        if self.train_on == "means":
            features = encoder.transform(X)
        forest = _forest(self, y, X.shape[1], trees, forest_seed).fit(features.to_numpy(np.float64), y)
        return Fitted(forest, lambda new: [encoder.transform(new).to_numpy(np.float64)], list(X), _numeric(y))


@dataclass(frozen=True, slots=True)
class Sampling:
    """The paper's method to the letter: own target included, prior γ, K stacked copies, K draws to predict."""

    gamma: float | str  # or "empirical"
    n_draws: int
    mapping: Any
    max_depth: int
    max_features: int
    min_samples_leaf: int

    @property
    def name(self) -> str:
        """The method and its values."""
        return f"sampling {_draws(self)}, {_leaves(self)}"

    def fit(self, X: Any, y: Target, categorical: list[str], trees: int, seed: int) -> Fitted:
        """Encode and fit."""
        encoder_seed, forest_seed, _ = seeds(seed)
        draws = _Draws.fit(self, X, y, categorical, encoder_seed)
        forest = _forest(self, y, draws.copies.shape[1], trees, forest_seed)
        # Unweighted, as in the paper, so min_samples_leaf counts copies. Weights of 1/K would not cure that: a forest
        # counts rows in a leaf whatever they weigh, and draws its bootstrap by relative weight.
        forest.fit(draws.copies, draws.y)
        return Fitted(forest, draws.encode, draws.columns, _numeric(y))


@dataclass(frozen=True, slots=True)
class Linear:
    """The same draws before a logistic or ridge regression, each copy weighted 1/K so that the penalty keeps its size.

    There are no trees and nothing in the model is random, so `trees` does nothing.
    """

    gamma: float | str
    n_draws: int
    mapping: Any

    @property
    def name(self) -> str:
        """The method and its values."""
        return f"linear {_draws(self)}"

    def fit(self, X: Any, y: Target, categorical: list[str], trees: int, seed: int) -> Fitted:
        """Encode and fit."""
        draws = _Draws.fit(self, X, y, categorical, seeds(seed)[0])
        last = Ridge() if _numeric(y) else LogisticRegression(max_iter=1000)
        model = make_pipeline(StandardScaler(), last)
        model.fit(draws.copies, draws.y, **{f"{model.steps[-1][0]}__sample_weight": draws.weight})
        return Fitted(model, draws.encode, draws.columns, _numeric(y))


def seeds(seed: int) -> tuple[int, int, int]:
    """Three seeds from one, for the encoder, the forest and a search: none is a number that splits rows."""
    encoder, forest, search = np.random.SeedSequence(seed).generate_state(3)
    return int(encoder), int(forest), int(search)


def _numeric(y: Target) -> bool:
    return bool(y.dtype.kind == "f")


@dataclass(frozen=True, slots=True)
class _Draws:
    """K stacked copies of the training rows, and K draws of new ones.

    The encoder sees the categorical columns only and the others are put beside its draws, because `sample` would read
    every column anew for each draw, and Mercedes has 311 that are not drawn.
    """

    encoder: SamplingBayesianEncoder
    n_draws: int
    copies: Array
    y: Target
    weight: Array
    columns: list[str]

    @classmethod
    def fit(cls, method: Sampling | Linear, X: Any, y: Target, categorical: list[str], seed: int) -> _Draws:
        """Draw the training rows by the paper's rule."""
        prior: Any = method.gamma
        if not isinstance(prior, str):
            prior = Scaled(prior, strength=0 if _numeric(y) else None)  # equation 12: nothing shrinks the mean
        encoder = SamplingBayesianEncoder(
            categorical,
            prior=prior,
            mapping=method.mapping,
            own_target="include",
            temperature=1.0,
            random_state=seed,
        )
        drawn = encoder.augment(X[categorical], y, n_draws=method.n_draws)
        copies = np.hstack([drawn.X, np.tile(_others(X, categorical), (method.n_draws, 1))])
        n_outputs = drawn.X.shape[1] // len(categorical)  # the same for all columns
        columns = [name for name in categorical for _ in range(n_outputs)]
        columns += [name for name in X if name not in categorical]
        return cls(encoder, method.n_draws, copies, drawn.y, drawn.sample_weight, columns)

    def encode(self, X: Any) -> list[Array]:
        """Draw new rows."""
        categorical = self.encoder.columns_
        others = _others(X, categorical)
        return [np.hstack([draw, others]) for draw in self.encoder.sample(X[categorical], self.n_draws)]


def _others(X: Any, categorical: list[str]) -> Array:
    return np.asarray(X.drop(columns=categorical), dtype=np.float64)


def _forest(method: LeaveOneOut | Sampling, y: Target, n_features: int, trees: int, seed: int) -> Any:
    kind = RandomForestRegressor if _numeric(y) else RandomForestClassifier
    return kind(
        trees,
        max_depth=method.max_depth,
        max_features=min(method.max_features, n_features),
        min_samples_leaf=method.min_samples_leaf,
        n_jobs=1,  # trials run side by side already
        random_state=seed,
    )


def _draws(method: Sampling | Linear) -> str:
    gamma = method.gamma if isinstance(method.gamma, str) else f"{method.gamma:.3g}"
    return f"K={method.n_draws} γ={gamma} {method.mapping}"


def _leaves(method: LeaveOneOut | Sampling) -> str:
    return f"depth {method.max_depth}, features {method.max_features}, leaf {method.min_samples_leaf}"
