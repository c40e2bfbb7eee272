"""SamplingClassifier and SamplingRegressor around LightGBM, as a model of AutoGluon and of TabArena.

pip install "autogluon.tabular[lightgbm]" tabarena
python integrations/tabarena_model.py    # three tables of TabArena-Lite against its leaderboard; downloads them
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from autogluon.core.models import AbstractModel
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from lightgbm.callback import EarlyStopException

from catbayes import InputWarning, SamplingClassifier, SamplingRegressor

TABLES = ["Amazon_employee_access", "in_vehicle_coupon_recommendation", "Food_Delivery_Time"]


class SamplingLightGBMModel(AbstractModel):
    """LightGBM on draws of the categories, with early stopping where AutoGluon gives validation rows.

    `n_draws`, `predict_with` and `encoder` are those of the model, the other hyperparameters those of LightGBM.
    """

    ag_key = "CATBAYES"
    ag_name = "SamplingLightGBM"
    ag_priority = 40
    seed_name = "random_state"
    _supported_problem_types: ClassVar[list[str]] = ["binary", "multiclass", "regression"]
    _default_auxiliary_params_extra: ClassVar[dict[str, Any]] = {
        "valid_raw_types": ["bool", "int", "float", "category"]
    }
    default_resources_physical_cores_only = True

    def _set_default_params(self) -> None:
        for name, value in {"learning_rate": 0.05, "patience": 50}.items():
            self._set_default_param_value(name, value)

    def _fit(
        self,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        time_limit: float | None = None,
        num_cpus: int = 1,
        sample_weight: Any = None,
        **kwargs: Any,
    ) -> None:
        start = time.monotonic()
        params = self._get_model_params()
        own = {name: params.pop(name) for name in ("encoder", "n_draws", "predict_with") if name in params}
        patience, seed = params.pop("patience"), params["random_state"]
        params.setdefault("n_estimators", 300 if X_val is None else 10_000)
        if self.stopping_metric.name == "roc_auc":  # LightGBM's own metrics are those of AutoGluon otherwise
            params["metric"] = "auc"
        regression = self.problem_type == "regression"
        booster = (LGBMRegressor if regression else LGBMClassifier)(n_jobs=num_cpus, verbose=-1, **params)
        self.model = (SamplingRegressor if regression else SamplingClassifier)(booster, random_state=seed, **own)

        callbacks = [] if time_limit is None else [stop_at(start + 0.9 * time_limit)]
        validation = {}
        if X_val is not None:
            validation = {"eval_X": self.preprocess(X_val), "eval_y": y_val}
            callbacks.append(early_stopping(patience, verbose=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # of tables without categories
            self.model.fit(self.preprocess(X), y, sample_weight, callbacks=callbacks, **validation)
        if X_val is not None:  # to refit on all rows
            self.params_trained["n_estimators"] = self.model.estimators_[0].best_iteration_

    @classmethod
    def config_generator(cls) -> Any:
        """Return the defaults and the search space, as TabArena takes them."""
        from autogluon.common.space import Categorical, Int, Real
        from tabarena.utils.config_utils import ConfigGenerator

        space = {
            "n_draws": Categorical(3, 1, 5),
            "learning_rate": Real(0.005, 0.1, default=0.05, log=True),
            "num_leaves": Int(8, 200, default=31),
            "min_child_samples": Int(2, 100, default=20),
            "colsample_bytree": Real(0.4, 1.0, default=1.0),
            "reg_lambda": Real(1e-4, 10.0, default=1e-4, log=True),
        }
        return ConfigGenerator(model_cls=cls, manual_configs=[{}], search_space=space)


def stop_at(deadline: float) -> Callable[[Any], None]:
    """Make a callback of LightGBM that ends the fit at a time."""

    def callback(state: Any) -> None:
        if time.monotonic() > deadline:
            raise EarlyStopException(state.iteration, state.evaluation_result_list)

    return callback


def main() -> None:
    """Run the defaults on the first split of three tables, and print the leaderboard."""
    from tabarena.benchmark.experiment import TabArenaV0pt1ExperimentBundle
    from tabarena.contexts import TabArenaContext

    context = TabArenaContext()
    models = [(SamplingLightGBMModel.config_generator(), 0)]
    context.build_and_run_jobs(
        TabArenaV0pt1ExperimentBundle(models=models).build_experiments(),
        expname="build/tabarena",
        subset="lite",
        build_kwargs={"dataset_names": TABLES},
        debug_mode=True,  # in this process: the class is in __main__
    )
    print(context.compare(output_dir="build/tabarena/leaderboard").to_string())


if __name__ == "__main__":
    main()
