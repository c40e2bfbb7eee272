"""scikit-learn, and all estimators that no other backend knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import SGDClassifier, SGDRegressor

from catbayes.models.backends.base import Backend

if TYPE_CHECKING:
    from catbayes.models.columns import Columns
    from catbayes.models.fitting import TrainingRows

HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
STOPPING_ROWS = 10_000
"""Rows beyond which histogram boosting stops early by itself."""
TREES = (
    *("sklearn.tree", "sklearn.ensemble._forest", "sklearn.ensemble._gb", "sklearn.ensemble._hist_gradient_boosting"),
)
"""Where estimators come from that split categories by their numbers."""
SUMS = ("sklearn.linear_model", "sklearn.svm", "sklearn.neural_network")
"""Where estimators come from that add features up, and learn a number for each category from indicators."""


class ScikitLearn(Backend):
    """Estimators of scikit-learn, and those that follow its rules."""

    package = "sklearn"
    column_parameters = {  # noqa: RUF012 - constant
        "categories": ("categorical_features",),
        "signs": ("monotonic_cst",),
        "groups": ("interaction_cst",),
    }
    row_counts = ("min_samples_leaf", "min_samples_split")

    def with_categories(
        self, model: Any, columns: Columns, named: list[str], fit_params: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Give them to histogram boosting."""
        if isinstance(model, HISTOGRAMS) and (columns.categories or named):
            model.set_params(categorical_features=list(columns.categories) or None)
        return model, fit_params

    def keep_categories(self, model: Any, fit_with: str) -> dict[str, Any]:
        """Give trees numbers of categories, and sums columns of zeros and ones."""
        if _comes_from(model, TREES):
            return {"keep_categories": "codes"}
        return {"keep_categories": "one_hot"} if _comes_from(model, SUMS) else {}

    def needs_values(self, model: Any) -> bool:
        """Tell it of histogram boosting, whose own error does not name the column."""
        return isinstance(model, HISTOGRAMS)

    def predicts_in_steps(self, model: Any) -> bool:
        """Tell it of trees and of neighbours."""
        return type(model).__module__.startswith((*TREES, "sklearn.neighbors"))

    def adapt_to_copies(self, model: Any, rows: TrainingRows) -> None:
        """Divide the penalty of SGD, which acts at every step; stop histogram boosting by rows, not by copies."""
        if isinstance(model, SGDClassifier | SGDRegressor):
            model.set_params(alpha=model.alpha / rows.n_draws)
        if isinstance(model, HISTOGRAMS) and model.early_stopping == "auto" and "X_val" not in rows.fit_params:
            model.set_params(early_stopping=len(rows) > STOPPING_ROWS)

    def validation_share(self, model: Any, rows: TrainingRows) -> Any:
        """Return `validation_fraction` of those that stop early."""
        if rows.fit_params.get("X_val") is not None:
            return None
        params = model.get_params(deep=False)
        if isinstance(model, HISTOGRAMS):
            stopping = params["early_stopping"]
            stops = stopping is True or (stopping == "auto" and len(rows) > STOPPING_ROWS)
        elif isinstance(model, GradientBoostingClassifier | GradientBoostingRegressor):
            stops = params["n_iter_no_change"] is not None
        else:  # SGD, MLP
            stops = params.get("early_stopping") is True and hasattr(model, "partial_fit")
        return params.get("validation_fraction") if stops else None


def _comes_from(model: Any, modules: tuple[str, ...]) -> bool:
    return any(base.__module__.startswith(modules) for base in type(model).__mro__)
