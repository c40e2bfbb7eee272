"""Parameters of boosters that speak of columns: which are mapped to the features of a model, and which are refused.

A booster inside a sampling model does not see the columns of X, but the features that they become: a column "city" may
become "city", "city_effect" and "city_code". Whoever writes `categorical_feature=["city"]` means the column. So names
and numbers are those of the columns of X, and are replaced by the features that carry the same meaning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.errors import InputError

PARAMETERS: dict[str, dict[str, tuple[str, ...]]] = {
    "lightgbm": {
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
        "passed": (
            *("feature_fraction", "sub_feature", "colsample_bytree", "feature_fraction_seed", "feature_pre_filter"),
            *("feature_fraction_bynode", "colsample_bynode", "sub_feature_bynode", "saved_feature_importance_type"),
            *("monotone_constraints_method", "monotone_constraining_method", "monotone_penalty", "cegb_penalty_split"),
            *("monotone_splits_penalty", "ms_penalty", "mc_penalty", "max_cat_threshold", "max_cat_to_onehot"),
            *("cat_l2", "cat_smooth", "predict_contrib", "is_predict_contrib", "contrib"),
        ),
    },
    "xgboost": {
        "types": ("feature_types",),
        "signs": ("monotone_constraints",),
        "groups": ("interaction_constraints",),
        "amounts": ("feature_weights",),
        "passed": ("enable_categorical", "max_cat_threshold", "max_cat_to_onehot"),
    },
    "catboost": {
        "categories": ("cat_features",),
        "signs": ("monotone_constraints",),
        "amounts": ("feature_weights",),
        "refused": (
            *("text_features", "embedding_features", "ignored_features", "column_description", "graph"),
            *("per_float_feature_quantization", "per_feature_ctr", "input_borders", "fixed_binary_splits"),
            *("first_feature_use_penalties", "per_object_feature_penalties"),
        ),
        "passed": (
            *("output_borders", "feature_border_type", "feature_calcers", "text_processing", "penalties_coefficient"),
            *("sparse_features_conflict_fraction", "gpu_cat_features_storage", "simple_ctr", "combinations_ctr"),
            *("ctr_leaf_count_limit", "store_all_simple_ctr", "max_ctr_complexity", "final_ctr_computation_mode"),
            *("ctr_description", "ctr_target_border_count", "ctr_history_unit", "counter_calc_method", "target_border"),
            "border_count",
        ),
    },
    "sklearn": {
        "categories": ("categorical_features",),
        "signs": ("monotonic_cst",),
        "groups": ("interaction_cst",),
        "passed": ("max_features",),
    },
}
"""By library and role. Of "passed", names and numbers of columns are no part."""

NAMED = ("categories", "types", "refused")
"""Roles that have no meaning for features that the steps of a Pipeline made of others."""

GRIDS = ("param_grid", "param_distributions")

DEFAULTS = ("auto", "from_dtype", "pairwise", "")
"""Texts that name no column."""


def library(model: Any) -> str:
    """The package that a model comes from, or the one of a booster or tree that its class is derived from."""
    modules = [base.__module__ for base in type(model).__mro__]
    packages = [module.split(".")[0] for module in modules]
    boosters = [package for package in packages if package in ("lightgbm", "xgboost", "catboost")]
    trees = ["sklearn" for module in modules if module.startswith(("sklearn.ensemble", "sklearn.tree"))]
    return [*boosters, *trees, *packages][0]


def given(model: Any, role: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some parameters that have a role for this model, and are not at their default."""
    names = PARAMETERS.get(library(model), {}).get(role, ())
    return {name: params[name] for name in names if name in params and _says_something(params[name])}


def _says_something(value: Any) -> bool:
    return not (value is None or (isinstance(value, str) and value in DEFAULTS))


def refuse_columns(estimator: Any, fit_params: Mapping[str, Any]) -> None:
    """Refuse parameters that name columns in a way that the features of a model do not allow."""
    for name in given(estimator, "refused", {**estimator.get_params(deep=False), **fit_params}):
        raise InputError(
            f"{type(estimator).__name__}({name}=…) names columns of X, but the model sees the features that they "
            "become. Leave it out."
        )
    parts = {name: part for name, part in estimator.get_params().items() if hasattr(part, "get_params")}
    for step, part in parts.items():
        if isinstance(part, type):
            continue
        prefix, asked = f"{step}__", part.get_params(deep=False)
        for names in (fit_params, *_grids(estimator)):
            asked |= {name.removeprefix(prefix): value for name, value in names.items() if name.startswith(prefix)}
            asked |= {name: value for name, value in names.items() if "__" not in name}
        for role in NAMED:
            for name in given(part, role, asked):
                raise InputError(
                    f"{prefix}{name} names columns, which are not known inside of {type(estimator).__name__}. Leave it "
                    "out: categories are encoded."
                )


def _grids(estimator: Any) -> list[Mapping[str, Any]]:
    """Grids of a search, whose candidates are parameters of the estimator inside."""
    grids = [value for name, value in estimator.get_params().items() if name.split("__")[-1] in GRIDS]
    return [grid for given in grids for grid in (given if isinstance(given, list) else [given])]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of X, and the features that they become."""

    inputs: tuple[Any, ...]  # names, or numbers where there are none
    names: tuple[str, ...]  # of the features
    places: tuple[range, ...]  # the features of each column
    means: tuple[range, ...]  # those of them that signs are for
    passing: frozenset[int]  # columns that are not encoded
    pairs: tuple[tuple[tuple[int, ...], range], ...]  # combined columns, and the features of each combination

    def column(self, name: Any, parameter: str) -> int:
        """The number of a column of X that is named or numbered."""
        if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < len(self.inputs):
            return int(name)
        if isinstance(name, str) and name in self.inputs:
            return self.inputs.index(name)
        raise InputError(f"{parameter} names {name!r}, which is no feature: expected some of {self._known()}.")

    def _known(self) -> list[Any]:
        return list(dict.fromkeys([*self.inputs, *self.names]))

    def features(self, name: Any, parameter: str) -> range:
        """Places of all features of a column, or of the one that is called so."""
        if isinstance(name, str) and name not in self.inputs and name in self.names:
            return range(self.names.index(name), self.names.index(name) + 1)
        return self.places[self.column(name, parameter)]

    def by_column(self, values: Any, parameter: str, example: Any) -> dict[Any, Any]:
        """Values by name as they are, or one for each column of X by number."""
        if isinstance(values, Mapping):
            return dict(values)
        if isinstance(values, str) or not hasattr(values, "__len__") or len(values) != len(self.inputs):
            raise InputError(
                f"{parameter}={values!r}: expected a dictionary by name, such as {{{self.inputs[-1]!r}: {example!r}}}, "
                f"or one value for each of the {len(self.inputs)} columns of X."
            )
        return dict(enumerate(values))

    # ------------------------------------------------------------------------------ one method a role

    def categories(self, value: Any, parameter: str) -> list[int]:
        """Features that are categories because the user said it of their column, which is not encoded.

        An encoded column stands for its categories by itself.
        """
        if isinstance(value, str) and value not in self.inputs:
            names = [name.strip() for name in value.removeprefix("name:").split(",")]
            value = [int(name) if name.isdecimal() else name for name in names]
        said = np.ravel(np.asarray(value, dtype=object)).tolist()
        if len(said) == len(self.inputs) and all(isinstance(one, bool | np.bool_) for one in said):
            said = np.flatnonzero(said).tolist()
        columns = [self.column(one, parameter) for one in said]
        return [self.places[number].start for number in columns if number in self.passing]

    def types(self, value: Any, parameter: str) -> list[int]:
        """As `categories`, from a type for each column, of which "c" is a category."""
        kinds = self.by_column(value, parameter, "c")
        return self.categories([column for column, kind in kinds.items() if kind == "c"], parameter)

    def signs(self, value: Any, parameter: str) -> list[int]:
        """A sign for each feature; that of a column is for the mean of its categories."""
        signs = [0] * len(self.names)
        for name, sign in self.by_column(value, parameter, 1).items():
            if not (isinstance(sign, int | np.integer) and sign in (-1, 0, 1)):
                raise InputError(f"{parameter} is {sign!r} for {name!r}: expected -1, 0 or 1.")
            if sign:
                signs[self._mean(name, parameter)] = int(sign)
        return signs

    def _mean(self, name: Any, parameter: str) -> int:
        """The feature that a sign is for: of that name, or the mean of a column."""
        if isinstance(name, str) and name not in self.inputs:
            return self.features(name, parameter).start
        number = self.column(name, parameter)
        if len(self.means[number]) == 1:
            return self.means[number].start
        names = [self.names[place] for place in self.means[number]]
        raise InputError(f"{parameter} names {name!r}, which has {len(names)} means: expected one of {names}.")

    def groups(self, value: Any, parameter: str) -> list[list[int]]:
        """Groups of features: all those of their columns, and of combinations of columns of one group."""
        if value == "no_interactions":
            value = [[number] for number in range(len(self.inputs))]
        if isinstance(value, str) or not hasattr(value, "__iter__") or any(not _is_group(group) for group in value):
            raise InputError(f"{parameter}={value!r}: expected lists of columns, such as [[{self.inputs[0]!r}]].")
        columns = [{self._parent(name, parameter) for name in group} for group in value]
        found = [{place for name in group for place in self.features(name, parameter)} for group in value]
        for parts, places in self.pairs:
            holding = [group for group, own in zip(found, columns, strict=True) if own.issuperset(parts)]
            if not holding:
                raise InputError(
                    f"{parameter} keeps {[self.inputs[part] for part in parts]} apart, and the encoder combines them: "
                    "set interactions=None."
                )
            for group in holding:
                group.update(places)
        return [sorted(group) for group in found]

    def _parent(self, name: Any, parameter: str) -> int | None:
        place = self.features(name, parameter).start
        return next((number for number, places in enumerate(self.places) if place in places), None)

    def amounts(self, value: Any, parameter: str) -> list[float]:
        """A number for each feature, that of its column; 1 if nothing is said of it."""
        amounts = [1.0] * len(self.names)
        for name, amount in self.by_column(value, parameter, 1.0).items():
            if not isinstance(amount, int | float | np.number) or not 0.0 <= amount < np.inf:
                raise InputError(f"{parameter} is {amount!r} for {name!r}: expected a number from 0 on.")
            for place in self.features(name, parameter):
                amounts[place] = float(amount)
        return amounts


def _is_group(group: Any) -> bool:
    return hasattr(group, "__iter__") and not isinstance(group, str)


def map_columns(model: Any, columns: Columns, categories: Sequence[int]) -> None:
    """Set the constraints and weights of a model for features, where they were given for columns."""
    found, params = library(model), model.get_params(deep=False)
    for role in ("signs", "groups", "amounts"):
        for name, value in given(model, role, params).items():
            mapped = getattr(columns, role)(value, name)
            for place in categories if role == "signs" else ():
                if mapped[place]:
                    raise InputError(
                        f"{name} has a sign for {columns.names[place]!r}, which is a category of the booster: expected "
                        "signs for numbers."
                    )
            model.set_params(**{name: _written(found, role, mapped)})


def _written(library: str, role: str, value: list[Any]) -> Any:
    """A value in the form that the library takes; CatBoost copies lists, which prevents clones."""
    if library == "catboost":
        return f"({','.join(f'{one:g}' for one in value)})"
    if library == "xgboost" and role == "groups":
        return json.dumps(value)
    return tuple(value) if library == "xgboost" and role == "signs" else value


def without(params: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Parameters but for some."""
    return {name: value for name, value in params.items() if name not in names}
