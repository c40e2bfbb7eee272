"""The columns of X, and the features that they become inside of a model.

An estimator inside a model does not see the columns of X, but the features that they become: a column "city" may
become "city", "city_effect" and "city_code". Whoever writes `categorical_feature=["city"]` means the column. So names
and numbers are those of the columns of X, and are replaced by the features that carry the same meaning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catbayes.core.column import FittedColumn
from catbayes.core.fitted import Fitted
from catbayes.core.layout import Layout
from catbayes.core.statistics import Tally
from catbayes.errors import InputError, warn
from catbayes.models.backends import backend_of

NAMED = ("categories", "types", "refused")
"""Roles that have no meaning for features that the steps of a Pipeline made of others."""

GRIDS = ("param_grid", "param_distributions")
ENOUGH_ROWS = 100
"""Rows below which no column is suspicious."""


def refuse_columns(estimator: Any, fit_params: Mapping[str, Any]) -> None:
    """Refuse parameters that name columns in a way that the features of a model do not allow."""
    for name in backend_of(estimator).given("refused", {**estimator.get_params(deep=False), **fit_params}):
        raise InputError(
            f"{type(estimator).__name__}({name}=…) names columns of X, but the model sees the features that they "
            "become. Leave it out."
        )
    params = estimator.get_params()
    grids = [value for name, value in params.items() if name.split("__")[-1] in GRIDS]
    grids = [grid for given in grids for grid in (given if isinstance(given, list) else [given])]
    for step, part in params.items():
        if not hasattr(part, "get_params") or isinstance(part, type):
            continue
        prefix, asked = f"{step}__", part.get_params(deep=False)
        for names in (fit_params, *grids):
            asked |= {name.removeprefix(prefix): value for name, value in names.items() if name.startswith(prefix)}
            asked |= {name: value for name, value in names.items() if "__" not in name}
        for name in (name for role in NAMED for name in backend_of(part).given(role, asked)):
            raise InputError(
                f"{prefix}{name} names columns, which are not known inside of {type(estimator).__name__}. Leave it "
                "out: categories are encoded."
            )


def warn_of_columns(encoding: Fitted, n_rows: int) -> None:
    """Warn of encoded columns that look like identifiers, and of columns that determine the target.

    A column determines it if the variance within its categories is below a hundredth of that of all their rows.
    Categories of one row are left out, for they have no variance.
    """
    identifiers, determining = [], []
    for column, seen in zip(encoding.columns, encoding.evidence.columns, strict=True):
        if column.is_interaction:
            continue
        count, row = seen.statistics.count, encoding.evidence.row_weight
        if n_rows >= ENOUGH_ROWS and (count > 0).sum() > 0.95 * n_rows and column.links is None:
            identifiers.append(column.name)
        repeated = np.flatnonzero(count > 1.5 * row)
        if not len(repeated):
            continue
        several = seen.statistics.take(repeated)
        size, total = several.count.sum() / row, several.total()
        degrees = size - len(several.count)  # each category has a mean of its own
        if degrees < ENOUGH_ROWS or size < 0.5 * n_rows:
            continue
        within, among = (
            (part.count - (part.weight**2).sum(axis=-1) / part.count).sum()
            if isinstance(part, Tally)
            else part.m2.sum()
            for part in (several, total)
        )
        if within / degrees < 0.01 * among / size:
            determining.append(column.name)
    if identifiers:
        warn(
            f"Columns {identifiers!r} have another value in nearly every row, as identifiers have: they do not help on "
            "new rows. Drop them, or give them a kind, such as Nested or Bins."
        )
    if determining:
        warn(
            f"Columns {determining!r} determine the target almost entirely. Drop those that are not known when you "
            "predict, or that were made from the target."
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of X, and the features that they become."""

    inputs: tuple[Any, ...]  # names, or numbers where there are none
    names: tuple[str, ...]  # of the features
    plain_names: tuple[str, ...]  # of the features, as boosters take them
    layout: Layout
    means: tuple[int, ...]  # how many of the features of each column signs are for
    categories: tuple[int, ...] = ()  # features that are numbers of categories

    @classmethod
    def of(
        cls, layout: Layout, fitted: Sequence[FittedColumn], inputs: Sequence[Any], categories: Sequence[int] = ()
    ) -> Columns:
        """Find the features of each column."""
        names = tuple(
            layout.names(list(inputs) if isinstance(inputs[0], str) else [f"x{n}" for n in range(len(inputs))])
        )
        means = {column.position: len(column.mapping.names()) for column in fitted}
        counts = tuple(means.get(number, 1) for number in range(len(inputs)))
        return cls(tuple(inputs), names, plain_names(names), layout, counts, tuple(categories))

    def with_categories(
        self, estimator: Any, fit_with: str, fitted: Sequence[FittedColumn], fit_params: Mapping[str, Any]
    ) -> Columns:
        """Find the features that are categories: codes, and columns that the user names."""
        named = self._named(estimator, fit_params)
        if fit_with != "members" and not backend_of(estimator).categories_in_copies:
            if named:
                raise InputError(
                    f"{named[0][0]} goes with the members of CatBoost only, not with {fit_with}: among copies of a row "
                    'it would learn the target of one from the others. Use fit_with="members", or let the encoder '
                    "encode the column."
                )
            return self
        codes = {self.layout.places[c.position].stop - 1 for c in fitted if c.extra_names[-1:] == ("code",)}
        return replace(self, categories=tuple(sorted({*codes, *(place for _, place in named)})))

    def require_members(self, estimator: Any, fit_params: Mapping[str, Any]) -> bool:
        """Tell whether the user names categories that a booster must not have among copies of a row."""
        return not backend_of(estimator).categories_in_copies and bool(self._named(estimator, fit_params))

    def _named(self, estimator: Any, fit_params: Mapping[str, Any]) -> list[tuple[str, int]]:
        """Find the features that are no codes and that a parameter calls categories, with its name."""
        params = {**estimator.get_params(deep=False), **fit_params}
        return [
            (name, place)
            for role, read in (("categories", self._named_categories), ("types", self._named_types))
            for name, value in backend_of(estimator).given(role, params).items()
            for place in read(value, name)
        ]

    # ------------------------------------------------------------------------------ one method a role

    def _named_categories(self, value: Any, parameter: str) -> list[int]:
        """Return the features of columns that the user calls categories, but for encoded ones."""
        if isinstance(value, str) and value not in self.inputs:
            names = [name.strip() for name in value.removeprefix("name:").split(",")]
            value = [int(name) if name.isdecimal() else name for name in names]
        named = np.ravel(np.asarray(value, dtype=object)).tolist()
        if len(named) == len(self.inputs) and all(isinstance(one, bool | np.bool_) for one in named):
            named = np.flatnonzero(named).tolist()
        columns = [self._column(one, parameter) for one in named]
        return [self.layout.places[number].start for number in columns if number in self.layout.passing]

    def _named_types(self, value: Any, parameter: str) -> list[int]:
        """Return the same from a type for each column, of which "c" is a category."""
        kinds = self._by_column(value, parameter, "c")
        return self._named_categories([column for column, kind in kinds.items() if kind == "c"], parameter)

    def signs(self, value: Any, parameter: str) -> list[int]:
        """Return a sign for each feature; that of a column is for the mean of its categories."""
        signs = [0] * len(self.names)
        for name, sign in self._by_column(value, parameter, 1).items():
            if not (isinstance(sign, int | np.integer) and sign in (-1, 0, 1)):
                raise InputError(f"{parameter} is {sign!r} for {name!r}: expected -1, 0 or 1.")
            places = self._features(name, parameter)
            if name not in self.names or name in self.inputs:
                places = places[: self.means[self._column(name, parameter)]]
            if sign and len(places) != 1:
                names = [self.names[place] for place in places]
                raise InputError(f"{parameter} names {name!r}, which has {len(names)} means: expected one of {names}.")
            if sign and places[0] in self.categories:
                raise InputError(
                    f"{parameter} has a sign for {self.names[places[0]]!r}, which is a category of the booster: "
                    "expected signs for numbers."
                )
            if sign:
                signs[places[0]] = int(sign)
        return signs

    def groups(self, value: Any, parameter: str) -> list[list[int]]:
        """Return groups of features: those of their columns, and of combinations of columns of one group."""
        if value == "no_interactions":
            value = [[number] for number in range(len(self.inputs))]
        if isinstance(value, str) or any(isinstance(group, str) or not hasattr(group, "__iter__") for group in value):
            raise InputError(f"{parameter}={value!r}: expected lists of columns, such as [[{self.inputs[0]!r}]].")
        found = [{place for name in group for place in self._features(name, parameter)} for group in value]
        own = [set(self._places(number)) for number in range(len(self.inputs))]
        columns = [{number for number, places in enumerate(own) if group & places} for group in found]
        for column in self.layout.interactions:
            together = [
                group for group, numbers in zip(found, columns, strict=True) if numbers.issuperset(column.parts)
            ]
            if not together:
                raise InputError(
                    f"{parameter} keeps {[self.inputs[part] for part in column.parts]} apart, and the encoder combines "
                    "them: set interactions=None."
                )
            for group in together:
                group.update(self._places(column.position))
        return [sorted(group) for group in found]

    def amounts(self, value: Any, parameter: str) -> list[float]:
        """Return a number for each feature, that of its column, or 1."""
        amounts = [1.0] * len(self.names)
        for name, amount in self._by_column(value, parameter, 1.0).items():
            if not isinstance(amount, int | float | np.number) or not 0.0 <= amount < np.inf:
                raise InputError(f"{parameter} is {amount!r} for {name!r}: expected a number from 0 on.")
            for place in self._features(name, parameter):
                amounts[place] = float(amount)
        return amounts

    # ------------------------------------------------------------------------------ names

    def _column(self, name: Any, parameter: str) -> int:
        """Return the number of a column of X that is named or numbered."""
        if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < len(self.inputs):
            return int(name)
        if isinstance(name, str) and name in self.inputs:
            return self.inputs.index(name)
        known = list(dict.fromkeys([*self.inputs, *self.names]))
        raise InputError(f"{parameter} names {name!r}, which is no feature: expected some of {known}.")

    def _places(self, number: int) -> range:
        place = self.layout.places[number]
        return range(place.start, place.stop)

    def _features(self, name: Any, parameter: str) -> range:
        """Return the places of all features of a column, or of the feature of that name."""
        if isinstance(name, str) and name not in self.inputs and name in self.names:
            return range(self.names.index(name), self.names.index(name) + 1)
        return self._places(self._column(name, parameter))

    def _by_column(self, values: Any, parameter: str, example: Any) -> dict[Any, Any]:
        """Return values by name as they are, or those of all columns of X by number."""
        if isinstance(values, Mapping):
            return dict(values)
        if isinstance(values, str) or not hasattr(values, "__len__") or len(values) != len(self.inputs):
            raise InputError(
                f"{parameter}={values!r}: expected a dictionary by name, such as {{{self.inputs[-1]!r}: {example!r}}}, "
                f"or one value for each of the {len(self.inputs)} columns of X."
            )
        return dict(enumerate(values))


def plain_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names as LightGBM and XGBoost take them: without blanks, brackets and the like, and no two alike."""
    taken: dict[str, None] = {}
    for name in (re.sub(r"[\s\[\]{}\",:<]", "_", name) for name in names):
        number, free = 1, name
        while free in taken:
            number, free = number + 1, f"{name}_{number + 1}"
        taken[free] = None
    return tuple(taken)
