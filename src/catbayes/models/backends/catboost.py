"""CatBoost: categories as whole numbers in a frame, none in copies, and lists that prevent clones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from catbayes.core.validation import Array
from catbayes.models.backends.base import Backend

if TYPE_CHECKING:
    from catbayes.models.columns import Columns
    from catbayes.models.fitting import TrainingRows


class CatBoost(Backend):
    """CatBoostClassifier, CatBoostRegressor and classes derived from them."""

    package = "catboost"
    only_trees = True
    column_parameters = {  # noqa: RUF012 - constant
        "categories": ("cat_features",),
        "signs": ("monotone_constraints",),
        "amounts": ("feature_weights",),
        "refused": (
            *("text_features", "embedding_features", "ignored_features", "column_description", "graph"),
            *("per_float_feature_quantization", "per_feature_ctr", "input_borders", "fixed_binary_splits"),
            *("first_feature_use_penalties", "per_object_feature_penalties"),
        ),
    }
    row_counts = ("min_data_in_leaf", "min_child_samples")
    categories_in_copies = False  # it would learn the target of a row from the categories of its copies
    gaps_in_categories = False
    clone_advice = (
        "CatBoost copies lists and dictionaries, which scikit-learn does not allow: give a tuple, such as "
        'class_weights=(1, 2), monotone_constraints=(0, 1) or cat_features=("city",), which may be left out where the '
        "encoder encodes them."
    )

    def with_categories(self, model: Any, columns: Columns, fit_params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Give them to `fit`, and frames to validate on."""
        if columns.categories:
            fit_params = {"cat_features": list(columns.categories)} | fit_params
            if fit_params.get("eval_set"):
                sets = [(self.to_train(model, X, columns), y) for X, y in fit_params["eval_set"]]
                fit_params = fit_params | {"eval_set": sets}
        return model, fit_params

    def as_written(self, role: str, value: list[Any]) -> Any:
        """Write a text, because CatBoost copies lists, which prevents clones."""
        return f"({','.join(f'{one:g}' for one in value)})"

    def to_train(self, model: Any, X: Array, columns: Columns) -> Any:
        """Return a frame whose categories are whole numbers, if there are some."""
        if not columns.categories:
            return X
        import pandas

        codes = {n: np.where(np.isfinite(X[:, n]), X[:, n], -1.0).astype(np.int64) for n in columns.categories}
        values = {n: codes.get(n, X[:, n]) for n in range(X.shape[1])}
        return pandas.DataFrame(values).set_axis(list(columns.plain_names), axis=1)

    def name_features(self, model: Any, names: Sequence[str]) -> None:
        """Set the names."""
        model.set_feature_names(list(names))

    def adapt_to_copies(self, model: Any, rows: TrainingRows) -> None:
        """Multiply the penalty, which CatBoost multiplies by the mean weight, and retain the learning rate.

        CatBoost chooses a rate by the number of rows, and only if it is given no penalty: one round on the rows
        themselves shows which.
        """
        params = model.get_params()
        if params.get("learning_rate") is None and params.get("eta") is None:
            trial = clone(model).fit(rows.features(0), rows.y, sample_weight=rows.weight, callbacks=[_OneRound()])
            model.set_params(learning_rate=trial.get_all_params()["learning_rate"])
        name = "reg_lambda" if params.get("reg_lambda") else "l2_leaf_reg"
        model.set_params(**{name: rows.n_draws * float(params.get(name) or 3.0)})


class _OneRound:
    """A callback that stops after the first round."""

    def after_iteration(self, info: Any) -> bool:
        return False
