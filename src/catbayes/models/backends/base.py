"""Backend: what is known about one library of estimators."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from catbayes.core.layout import Layout
from catbayes.core.validation import Array

if TYPE_CHECKING:
    from catbayes.models.columns import Columns
    from catbayes.models.fitting import TrainingRows

DEFAULTS = ("auto", "from_dtype", "pairwise", "")
"""Texts that name no column."""


class Backend:
    """What one library of estimators needs; here is what holds for libraries without needs of their own."""

    package: str
    column_parameters: Mapping[str, tuple[str, ...]] = {}
    """Parameters about columns, by role: "categories", "types", "signs", "groups" and "amounts" are mapped to
    features, "refused" ones raise InputError, and "passed" ones name no column."""
    row_counts: tuple[str, ...] = ()
    """Parameters that count rows, whatever their weights."""
    fit_with: str | None = None
    """How estimators of this library are best fitted, if that is always the same."""
    n_members = 3
    """How many members are fitted by default."""
    categories_in_copies = True
    """Whether the library may know categories by their numbers among copies of a row."""
    gaps_in_categories = True
    """Whether the number of a category may be NaN."""
    clone_advice: str | None = None
    """What to do about parameters that prevent clones."""

    # ------------------------------------------------------------------------------ columns

    def given(self, role: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of some parameters that have a role here, and are not at their default."""
        names = self.column_parameters.get(role, ())
        return {name: params[name] for name in names if name in params and not _is_default(params[name])}

    def prepare(self, model: Any, columns: Columns, fit_params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return a model that knows its features, and the parameters of its `fit`; both name features now."""
        params = model.get_params(deep=False)
        for role in ("signs", "groups", "amounts"):
            for name, value in self.given(role, params).items():
                model.set_params(**{name: self.as_written(role, getattr(columns, role)(value, name))})
        amounts = {name: columns.amounts(value, name) for name, value in self.given("amounts", fit_params).items()}
        named = [*self.given("categories", {**params, **fit_params}), *self.given("types", params)]
        fit_params = {name: value for name, value in fit_params.items() if name not in named} | amounts
        return self.with_categories(model, columns, named, fit_params)

    def with_categories(
        self, model: Any, columns: Columns, named: list[str], fit_params: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Tell a model which features are categories; `named` are the parameters in which the user named some."""
        return model, fit_params

    def as_written(self, role: str, value: list[Any]) -> Any:
        """Write a mapped parameter in the form that the library takes."""
        return value

    def to_train(self, model: Any, X: Array, columns: Columns) -> Any:
        """Return the features as the model takes them to learn from."""
        return X

    def to_predict(self, model: Any, X: Array, columns: Columns) -> Any:
        """Return the features as the fitted model takes them to predict."""
        return self.to_train(model, X, columns)

    def name_features(self, model: Any, names: Sequence[str]) -> None:
        """Name the features of a fitted model, where it did not get their names before."""

    def keep_categories(self, model: Any, fit_with: str) -> dict[str, Any]:
        """Return how columns of few categories are best given to an estimator; None if it is unknown."""
        return {"keep_categories": "codes"}  # boosters know them for what they are

    def needs_values(self, model: Any) -> bool:
        """Tell whether each column has to have a value."""
        return False

    def predicts_in_steps(self, model: Any) -> bool:
        """Tell whether predictions are constant between jumps, so that they have no curvature."""
        return True

    # ------------------------------------------------------------------------------ copies

    def adapt_to_copies(self, model: Any, rows: TrainingRows) -> None:
        """Change the parameters whose meaning copies of the rows would change."""

    def validation_share(self, model: Any, rows: TrainingRows) -> Any:
        """Return the part of the rows that the model would hold out for early stopping by itself; None for none."""
        return None

    def takes_chunks(self, layout: Layout) -> bool:
        """Tell whether copies are given as an Arrow table, which stores columns once that all copies share."""
        return False


def _is_default(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value in DEFAULTS)


def without(params: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the parameters except for some."""
    return {name: value for name, value in params.items() if name not in names}


def plain_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names as LightGBM and XGBoost take them: without blanks, brackets and the like, and no two alike."""
    taken: dict[str, None] = {}
    for name in (re.sub(r"[\s\[\]{}\",:<]", "_", name) for name in names):
        number, free = 1, name
        while free in taken:
            number, free = number + 1, f"{name}_{number + 1}"
        taken[free] = None
    return tuple(taken)
