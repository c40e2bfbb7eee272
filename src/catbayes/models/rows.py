"""The rows that a model is fitted on: draws of their features, targets, weights, and which are held out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from catbayes.core.column import FittedColumn
from catbayes.core.fitted import TrainingDraws
from catbayes.core.random import Purpose, stream
from catbayes.core.rows import take_named
from catbayes.core.table import Named, Table
from catbayes.core.target import check_weights
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.estimator_input import read_table, read_y
from catbayes.models.columns import Columns

NOT_BY_ROW = (
    *("X_val", "y_val", "sample_weight_val", "eval_set", "eval_X", "eval_y", "eval_sample_weight"),
    *("feature_name", "categorical_feature", "cat_features", "feature_weights"),
)
"""Fit parameters that speak of other rows or of features, even if they are as many."""


def read_training(X: Any, y: Any, sample_weight: Any, model: Any) -> tuple[Any, Table, Named, Array | None]:
    """Read X without the columns that y and sample_weight name; return it as given, as a table, y, and weights."""
    given = read_table(X, model)
    table, values, weight = take_named(given, y, sample_weight)
    values = read_y(values)
    if len(values) != table.n_rows:
        raise InputError(f"y has {len(values)} values and X has {table.n_rows} rows: expected one for each row.")
    return X if table is given else table.native, table, Named.like(y, values), check_weights(weight, table.n_rows)


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows to fit on, with draws of their features; `index` has their places in the table."""

    draws: TrainingDraws
    y: np.ndarray[Any, Any]
    weight: Array | None
    groups: Any
    fit_params: dict[str, Any]
    n_draws: int
    seed: int
    classes: Any
    report: Callable[[str], None]
    columns: Columns
    index: Any = field(default_factory=lambda: slice(None))

    def __len__(self) -> int:
        return len(self.y)

    @property
    def varies(self) -> bool:
        """Tell whether draws differ from each other."""
        return not all(column.is_silent for column in self.draws.columns)

    def features(self, k: int) -> Array:
        """Return draw k of the features, (row, output)."""
        return as_numbers(self.draws.features(k)[self.index], self.draws)

    def fresh(self) -> Callable[[int], Array]:
        """Return a function that writes draw after draw into one array."""
        features, current = self.features(0), 0

        def feed(k: int) -> Array:
            nonlocal current
            if k != current:
                features.setflags(write=True)  # CatBoost locks the arrays it was given
                self.draws.write(k, features, self.index)
                current = k
            return features

        return feed

    def copies(self, chunked: bool = False) -> tuple[Any, np.ndarray[Any, Any], Array, dict[str, Any]]:
        """Return features, targets, weights and fit parameters of K stacked copies, each with 1/K of the weight.

        The features are an array or, `chunked`, an Arrow table that stores once what all copies have in common.
        """
        features: Any
        if chunked:
            features = self.draws.chunked(self.n_draws, self.features(0), self.index)
        else:
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
            labels = self.y if self.classes is not None and self._has_enough(share) else None
            train, valid = train_test_split(every, test_size=share, random_state=random, stratify=labels)
        if self.classes is not None:  # a class that only the held-out rows have could not be scored
            stray = ~np.isin(self.y[valid], self.y[train])
            train, valid = np.concatenate([train, valid[stray]]), valid[~stray]
        return self.take(train), self.take(valid)

    def _has_enough(self, share: Any) -> bool:
        """Tell whether both parts of a split can have rows of every class."""
        _, counts = np.unique(self.y, return_counts=True)
        size = np.ceil(share * len(self)) if share < 1 else share
        return bool(counts.min() > 1 and len(counts) <= size <= len(self) - len(counts))

    def take(self, row: Any) -> TrainingRows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[row]
        groups = None if self.groups is None else np.asarray(self.groups)[row]
        index = row if isinstance(self.index, slice) else self.index[row]
        return replace(self, y=self.y[row], weight=weight, groups=groups, fit_params=self._params(row), index=index)

    def _params(self, row: Any) -> dict[str, Any]:
        return params_of(self.fit_params, len(self), row)


def params_of(fit_params: dict[str, Any], n_rows: int, row: Any) -> dict[str, Any]:
    """Return fit parameters, those with a value for each of the rows at the rows `row`."""

    def align(value: Any) -> Any:
        by_row = hasattr(value, "__len__") and not isinstance(value, str | dict) and len(value) == n_rows
        return np.asarray(value)[row] if by_row else value

    return fit_params | {name: align(value) for name, value in fit_params.items() if name not in NOT_BY_ROW}


def origins(columns: Sequence[FittedColumn]) -> list[Array]:
    """Return what is subtracted from outputs of amounts: the expectation of an unseen category.

    Nothing is subtracted from counts and classes. Forests and XGBoost round features to single precision, in which
    amounts near 1e9 are 64 apart; differences from the usual amount are not.
    """

    def origin(column: FittedColumn) -> Array:
        usual = column.expectation[column.index.unseen]
        differs = np.arange(len(usual)) < len(usual) - len(column.extra_names)  # what is no function of θ is no amount
        return np.where(differs & column.family.as_differences, usual, 0.0)

    return [origin(column) for column in columns]


def from_origins(draws: TrainingDraws) -> TrainingDraws:
    """Return draws as differences from the origins; columns without signal are constant."""
    columns = draws.columns
    taken_off = origins(columns)

    def blocks(k: int) -> Iterator[Array]:
        found = zip(columns, draws.blocks(k), taken_off, strict=True)
        flat = ((column.flattened(block), origin) for column, block, origin in found)
        return (block - origin if origin.any() else block for block, origin in flat)

    return replace(draws, blocks=blocks)


def as_numbers(features: np.ndarray[Any, Any], draws: Any) -> Array:
    """Require numbers in the columns that are not encoded, and name the one that holds none."""
    table, passing = draws.table, draws.layout.passing
    for position in passing if table.frame is not None and not table.numeric(passing) else ():
        if not table.numeric([position]):
            if table.frame[:, position].dtype.is_temporal():
                raise InputError(
                    f"Column {table.names[position]!r} holds dates or times. Turn it into numbers, such as days since "
                    "a fixed date, which is what compare does by itself, drop it, or name it among the columns of the "
                    "encoder."
                )
            raise InputError(
                f"Column {table.names[position]!r} is not encoded and holds no numbers. Turn it into numbers, drop it, "
                "or name it among the columns of the encoder."
            )
    if features.dtype != object:
        return features
    for position in passing:
        try:
            features[:, draws.layout.places[position].start].astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"Column {position} is not encoded and holds no numbers ({error}). Turn it into numbers, drop it, "
                "or name it among the columns of the encoder."
            ) from error
    return features.astype(np.float64)


def wordy_columns(table: Table) -> list[int]:
    """Find the columns of an array that hold no numbers."""
    return [position for position in range(len(table.names)) if table.numbers(position) is None]
