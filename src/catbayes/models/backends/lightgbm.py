"""LightGBM: names and categories are given to `fit`, copies share their unchanged columns."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from catbayes.core.layout import Layout
from catbayes.core.validation import Array
from catbayes.models.backends.base import Backend, without

if TYPE_CHECKING:
    from catbayes.models.columns import Columns
    from catbayes.models.fitting import TrainingRows

BINNED_ROWS = 20_000
"""Rows that bins are made of, of all copies, if the table has not more itself."""


class LightGBM(Backend):
    """LGBMClassifier, LGBMRegressor and classes derived from them."""

    package = "lightgbm"
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
    saved_classes = ("LGBMClassifier", "LGBMRegressor")
    ending = "txt"
    more_parameters = (
        *("bagging_fraction", "bagging_freq", "bagging_seed", "boost_from_average", "cat_l2", "cat_smooth"),
        *("cegb_tradeoff", "cegb_penalty_split", "data_sample_strategy", "deterministic", "device", "device_type"),
        *("drop_rate", "drop_seed", "early_stopping_round", "early_stopping_rounds", "enable_bundle", "extra_seed"),
        *("extra_trees", "alpha", "fair_c", "feature_fraction", "feature_fraction_bynode", "feature_fraction_seed"),
        *("force_col_wise", "force_row_wise", "is_unbalance", "lambda_l1", "lambda_l2", "linear_lambda", "linear_tree"),
        *("max_bin", "max_cat_threshold", "max_cat_to_onehot", "max_delta_step", "max_drop", "metric"),
        *("min_data", "min_data_in_bin", "min_data_in_leaf", "min_data_per_group", "min_gain_to_split"),
        *("min_sum_hessian_in_leaf", "monotone_constraints", "monotone_constraints_method", "monotone_penalty"),
        *("neg_bagging_fraction", "num_iterations", "num_thread", "num_threads", "nthread", "objective_seed"),
        *("other_rate", "path_smooth", "poisson_max_delta_step", "pos_bagging_fraction", "quant_train_renew_leaf"),
        *("reg_sqrt", "scale_pos_weight", "seed", "sigmoid", "skip_drop", "stochastic_rounding", "top_rate"),
        *("tweedie_variance_power", "uniform_drop", "use_missing", "use_quantized_grad", "verbose", "verbosity"),
        *("xgboost_dart_mode", "zero_as_missing"),
    )
    local_parameters = (
        *("machines", "num_machines", "local_listen_port", "machine_list_filename", "machine_list_file"),
        *("machine_list", "mlist", "num_machine", "local_port", "port", "workers", "nodes", "time_out"),
        *("forcedsplits_filename", "forcedbins_filename", "input_model", "output_model", "model_input", "model_output"),
    )
    thread_parameters = ("n_jobs", "nthread", "nthreads", "num_thread", "num_threads")

    def with_categories(
        self, model: Any, columns: Columns, named: list[str], fit_params: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Give them to `fit`, with names."""
        if set(named) & set(model.get_params(deep=False)):
            model = type(model)(**without(model.get_params(deep=False), named))
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

    def write(self, model: Any) -> bytes:
        """Write the trees as text."""
        return str(model.booster_.model_to_string()).encode()

    def read(self, model: Any, content: bytes, classes: list[int] | None) -> None:
        """Let a model of one round, fitted on next to nothing with our own parameters, become the one in the file.

        LightGBM reads its boosters, but not into its models for scikit-learn; these are made by `fit` alone.
        """
        import lightgbm

        written = lightgbm.Booster(model_str=content.decode())
        names = written.feature_name()
        own = names == [f"Column_{n}" for n in range(len(names))]

        def become(env: Any) -> None:
            env.model.model_from_string(content.decode())

        if classes is not None and written.num_model_per_iteration() not in {
            len(classes),
            1 if len(classes) == 2 else 0,
        }:
            raise ValueError("its trees are not those of its classes")
        y = np.array([0.25, 0.75]) if classes is None else np.repeat(classes, 2)
        stand_in = type(model)(n_estimators=1, n_jobs=1, verbose=-1)
        stand_in.fit(np.zeros((len(y), len(names))), y, callbacks=[become], feature_name="auto" if own else names)
        own_params = {*stand_in.get_params(), "_other_params"}
        vars(model).update({name: value for name, value in vars(stand_in).items() if name not in own_params})
        if model.objective is not None:
            model._objective = model.objective
