"""The rows that a model is fitted on: draws of their features, targets, weights, and which are held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from catbayes._random import Purpose, stream
from catbayes._validation import Array
from catbayes.encoder import TrainingDraws
from catbayes.encoder._column import EncodedColumn
from catbayes.errors import InputError
from catbayes.families import NormalGamma


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows to fit on, with as many draws of their features as a model asks for."""

    draws: TrainingDraws
    y: np.ndarray[Any, Any]
    weight: Array | None
    groups: Any
    fit_params: dict[str, Any]
    n_draws: int
    seed: int
    classify: bool
    report: Callable[[str], None]
    index: Any = field(default_factory=lambda: slice(None))

    def __len__(self) -> int:
        return len(self.y)

    def features(self, k: int) -> Array:
        """Draw k of the features, (row, output)."""
        return as_numbers(self.draws.features(k)[self.index], self.draws)

    def fresh(self) -> Callable[[int], Array]:
        """Give draw after draw in one and the same array: whoever asks for the next one has done with the last."""
        features = self.features(0)
        held = [0]

        def feed(k: int) -> Array:
            if k != held[0]:
                features.setflags(write=True)  # CatBoost locks the arrays it was given
                self.draws.write(k, features, self.index)
                held[0] = k
            return features

        return feed

    def copies(self) -> tuple[Array, np.ndarray[Any, Any], Array, dict[str, Any]]:
        """Features, targets, weights and fit parameters of K stacked copies, each row weighing 1/K of itself."""
        features = as_numbers(self.draws.copies(self.n_draws, self.index), self.draws)
        weight = np.ones(len(self)) if self.weight is None else self.weight
        row = np.tile(np.arange(len(self)), self.n_draws)
        return features, self.y[row], weight[row] / self.n_draws, self._params(row)

    def hold_out(self, share: Any) -> tuple[TrainingRows, TrainingRows]:
        """Split the rows, and with each row all of its draws; by groups if there are any, else by classes."""
        random = int(stream(self.seed, Purpose.HELD_OUT).integers(np.iinfo(np.int32).max))
        every = np.arange(len(self))
        if self.groups is not None:
            splitter = GroupShuffleSplit(1, test_size=share, random_state=random)
            train, valid = next(splitter.split(every, groups=self.groups))
        else:
            by_class = self.classify and np.unique(self.y, return_counts=True)[1].min() > 1
            labels = self.y if by_class else None
            train, valid = train_test_split(every, test_size=share, random_state=random, stratify=labels)
        return self._take(train), self._take(valid)

    def _take(self, row: Any) -> TrainingRows:
        weight = None if self.weight is None else self.weight[row]
        return replace(self, y=self.y[row], weight=weight, groups=None, fit_params=self._params(row), index=row)

    def _params(self, row: Any) -> dict[str, Any]:
        """Fit parameters, with those that hold a value for each row brought in line with `row`."""

        def align(value: Any) -> Any:
            by_row = hasattr(value, "__len__") and not isinstance(value, str | dict) and len(value) == len(self)
            return np.asarray(value)[row] if by_row else value

        return {name: align(value) for name, value in self.fit_params.items()}


def origins(columns: list[EncodedColumn]) -> list[Array]:
    """What is taken off each output of a numeric target: the expectation of an unseen category.

    Forests and XGBoost round features to single precision, in which amounts near 1e9 are 64 apart; differences from
    the usual amount are not.
    """
    return [
        column.expectation[column.posterior.categories.unseen]
        if isinstance(column.posterior.prior, NormalGamma)
        else np.zeros(column.expectation.shape[1])
        for column in columns
    ]


def from_origins(draws: TrainingDraws) -> TrainingDraws:
    """The same draws, as differences from the origins."""
    taken_off = origins(draws.layout.columns)
    return replace(draws, blocks=lambda k: [b - o for b, o in zip(draws.blocks(k), taken_off, strict=True)])


def as_numbers(features: np.ndarray[Any, Any], draws: Any) -> Array:
    """Require numbers in the columns that are not encoded, and name the one that holds none."""
    if features.dtype != object:
        return features
    try:
        return features.astype(np.float64)
    except (TypeError, ValueError):
        for position in draws.layout.passing:
            try:
                features[:, draws.layout.places[position].start].astype(np.float64)
            except (TypeError, ValueError) as error:
                name = draws.table.names[position]
                raise InputError(
                    f"Column {name!r} is not encoded and holds no numbers ({error}). Turn it into numbers, drop it, or "
                    "name it among the columns of the encoder."
                ) from error
        raise
