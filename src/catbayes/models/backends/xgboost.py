"""XGBoost: categories are given as types of features, names after the fit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from catbayes.models.backends.base import Backend

if TYPE_CHECKING:
    from catbayes.models.columns import Columns


class XGBoost(Backend):
    """XGBClassifier, XGBRegressor, their forests, and classes derived from them."""

    package = "xgboost"
    only_trees = True
    row_counts = ()
    column_parameters = {  # noqa: RUF012 - constant
        "types": ("feature_types",),
        "signs": ("monotone_constraints",),
        "groups": ("interaction_constraints",),
        "amounts": ("feature_weights",),
    }

    def with_categories(self, model: Any, columns: Columns, fit_params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Set the types of the features."""
        if columns.categories:
            kinds = ["c" if place in columns.categories else "q" for place in range(len(columns.names))]
            model.set_params(feature_types=kinds, enable_categorical=True)
        return model, fit_params

    def as_written(self, role: str, value: list[Any]) -> Any:
        """Write groups as JSON and signs as a tuple."""
        if role == "groups":
            return json.dumps(value)
        return tuple(value) if role == "signs" else value

    def name_features(self, model: Any, names: Sequence[str]) -> None:
        """Name the features of trees; gblinear would ask for the names in every array."""
        if model.get_params().get("booster") in (None, "gbtree", "dart"):
            model.get_booster().feature_names = list(names)
