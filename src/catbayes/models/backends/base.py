"""Backend: what is known about one library; the base is for scikit-learn and all that follow its rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import SGDClassifier, SGDRegressor

from catbayes.core.layout import Layout
from catbayes.core.validation import Array

if TYPE_CHECKING:
    from catbayes.models.columns import Columns
    from catbayes.models.fitting import TrainingRows

HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
STOPPING_ROWS = 10_000
"""Rows beyond which histogram boosting stops early by itself."""
TREES = ("sklearn.tree", "sklearn.ensemble._forest", "sklearn.ensemble._gb", "sklearn.ensemble._hist_gradient_boosting")
"""Where estimators come from that split categories by their numbers."""
SUMS = ("sklearn.linear_model", "sklearn.svm", "sklearn.neural_network")
"""Where estimators come from that add features up, and learn a number for each category from indicators."""
DEFAULTS = ("auto", "from_dtype", "pairwise", "")
"""Texts that name no column."""


class Backend:
    """What one library of estimators needs; here, scikit-learn."""

    package = "sklearn"
    column_parameters: Mapping[str, tuple[str, ...]] = {
        "categories": ("categorical_features",),
        "signs": ("monotonic_cst",),
        "groups": ("interaction_cst",),
    }
    """Parameters about columns, by role: "categories", "types", "signs", "groups" and "amounts" are mapped to
    features, and "refused" ones raise InputError."""
    row_counts: tuple[str, ...] = ("min_samples_leaf", "min_samples_split")
    """Parameters that count rows, whatever their weights."""
    only_trees = False
    """Whether all estimators of the library are trees."""
    categories_in_copies = True
    """Whether the library may know categories by their numbers among copies of a row."""
    gaps_in_categories = True
    """Whether the number of a category may be NaN."""
    clone_advice: str | None = None
    """What to do about parameters that prevent clones."""

    # ------------------------------------------------------------------------------ columns

    def given(self, role: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of some parameters that have a role here, and are not at their default."""
        known = {name: params[name] for name in self.column_parameters.get(role, ()) if params.get(name) is not None}
        return {name: value for name, value in known.items() if not isinstance(value, str) or value not in DEFAULTS}

    def prepare(self, model: Any, columns: Columns, fit_params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return a model that knows its features, and the parameters of its `fit`; both name features now."""
        params = model.get_params(deep=False)
        for role in ("signs", "groups", "amounts"):
            for name, value in self.given(role, params).items():
                model.set_params(**{name: self.as_written(role, getattr(columns, role)(value, name))})
        amounts = {name: columns.amounts(value, name) for name, value in self.given("amounts", fit_params).items()}
        named = {*self.given("categories", {**params, **fit_params}), *self.given("types", params)}
        if named & set(params):
            params = model.get_params(deep=False)
            model = type(model)(**{name: value for name, value in params.items() if name not in named})
        fit_params = {name: value for name, value in fit_params.items() if name not in named} | amounts
        return self.with_categories(model, columns, fit_params)

    def with_categories(self, model: Any, columns: Columns, fit_params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Tell a model which features are categories."""
        if isinstance(model, HISTOGRAMS) and columns.categories:
            model.set_params(categorical_features=list(columns.categories))
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

    def keep_categories(self, model: Any) -> dict[str, Any]:
        """Return how columns of few categories are best given to an estimator: numbers to trees, indicators to sums."""
        if self._is_tree(model):
            return {"keep_categories": "codes"}
        return {"keep_categories": "one_hot"} if _comes_from(model, SUMS) else {}

    def needs_values(self, model: Any) -> bool:
        """Tell whether each column has to have a value: the error of histogram boosting does not name the column."""
        return isinstance(model, HISTOGRAMS)

    def predicts_in_steps(self, model: Any) -> bool:
        """Tell whether predictions are constant between jumps, so that they have no curvature."""
        return self._is_tree(model) or _comes_from(model, ("sklearn.neighbors",))

    def _is_tree(self, model: Any) -> bool:
        return self.only_trees or _comes_from(model, TREES)

    # ------------------------------------------------------------------------------ copies

    def adapt_to_copies(self, model: Any, rows: TrainingRows) -> None:
        """Change the parameters whose meaning copies of the rows would change."""
        if isinstance(model, SGDClassifier | SGDRegressor):  # whose penalty acts at every step
            model.set_params(alpha=model.alpha / rows.n_draws)
        if isinstance(model, HISTOGRAMS) and model.early_stopping == "auto" and "X_val" not in rows.fit_params:
            model.set_params(early_stopping=len(rows) > STOPPING_ROWS)  # not by the number of copies

    def validation_share(self, model: Any, rows: TrainingRows) -> Any:
        """Return the part of the rows that the model would hold out for early stopping by itself; None for none."""
        if rows.fit_params.get("X_val") is not None:
            return None
        params = model.get_params(deep=False)
        if isinstance(model, HISTOGRAMS):
            stops = params["early_stopping"] is True
            stops |= params["early_stopping"] == "auto" and len(rows) > STOPPING_ROWS
        elif isinstance(model, GradientBoostingClassifier | GradientBoostingRegressor):
            stops = params["n_iter_no_change"] is not None
        else:  # SGD, MLP
            stops = params.get("early_stopping") is True and hasattr(model, "partial_fit")
        return params.get("validation_fraction") if stops else None

    def takes_chunks(self, layout: Layout) -> bool:
        """Tell whether copies are given as an Arrow table, which stores columns once that all copies share."""
        return False


def _comes_from(model: Any, modules: tuple[str, ...]) -> bool:
    return any(base.__module__.startswith(modules) for base in type(model).__mro__)
