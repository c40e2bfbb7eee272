"""LightGBM: names and categories are given to `fit`, copies share their unchanged columns."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from catbayes.core.layout import Layout
from catbayes.core.validation import Array
from catbayes.models.backends.base import Backend

if TYPE_CHECKING:
    from catbayes.models.columns import Columns
    from catbayes.models.fitting import TrainingRows

BINNED_ROWS = 20_000
"""Rows that bins are made of, of all copies, if the table has not more itself."""


class LightGBM(Backend):
    """LGBMClassifier, LGBMRegressor and classes derived from them."""

    package = "lightgbm"
    only_trees = True
    column_parameters = {  # noqa: RUF012 - constant
        "categories": (
            *("categorical_feature", "categorical_features", "categorical_column", "cat_feature", "cat_column"),
        ),
        "signs": ("monotone_constraints", "mc", "monotone_constraint", "monotonic_cst"),
        "groups": ("interaction_constraints",),
        "amounts": ("feature_contri", "feature_contrib", "fc", "fp", "feature_penalty"),
        "refused": (
            *("feature_name", "ignore_column", "blacklist", "ignore_feature", "max_bin_by_feature"),
            *("cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled", "forcedbins_filename"),
            *("forcedsplits_filename", "fs", "forced_splits", "forced_splits_file", "forced_splits_filename"),
            *("label_column", "weight_column", "group_column", "query_column"),
        ),
    }
    row_counts = ("min_child_samples", "min_data_in_leaf", "min_data_per_leaf", "min_data")

    def with_categories(self, model: Any, columns: Columns, fit_params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Give them to `fit`, with names."""
        categories = {"categorical_feature": list(columns.categories)} if columns.categories else {}
        # To predict, it wants frames from those who gave it names: see `to_predict`.
        names = {"feature_name": list(columns.plain_names)} if find_spec("pandas") else {}
        return model, names | categories | fit_params

    def to_predict(self, model: Any, X: Array, columns: Columns) -> Any:
        """Return a frame, because LightGBM warns of features without the names that it knows."""
        if getattr(model, "feature_name_", None) != list(columns.plain_names):
            return X
        import pandas

        return pandas.DataFrame(X, columns=list(columns.plain_names))

    def adapt_to_copies(self, model: Any, rows: TrainingRows) -> None:
        """Make bins of as many rows as the table has: LightGBM stores and sorts all values that it makes them of."""
        params = model.get_params(deep=False)
        most = min(params["subsample_for_bin"], max(len(rows), BINNED_ROWS))
        times = int(np.clip(round(most / len(rows)), 1, rows.n_draws))
        model.set_params(
            subsample_for_bin=most,
            min_data_in_bin=times * int(params.get("min_data_in_bin") or 3),
            min_data_per_group=rows.n_draws * int(params.get("min_data_per_group") or 100),
        )

    def takes_chunks(self, layout: Layout) -> bool:
        """Take an Arrow table if most columns are shared by all copies; the model is the same.

        `benchmarks/boosting.py` measures what that saves: with 300 columns in addition to one that is encoded, five
        copies take hardly more memory than one.
        """
        if find_spec("pyarrow") is None or find_spec("pandas") is None:
            return False
        known = tuple(map(int, version("lightgbm").split(".")[:2])) >= (4, 7)  # earlier ones need another package
        shared = len(layout.passing)
        return known and shared > layout.places[-1].stop - shared
