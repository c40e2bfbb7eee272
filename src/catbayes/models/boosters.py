"""Boosters in files of their own libraries: trees and numbers, and no code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Format:
    """How a library writes its models and reads them; `read` fills a new model, whose parameters are set."""

    kinds: tuple[str, ...]
    ending: str
    write: Callable[[Any], bytes]
    read: Callable[[Any, bytes, list[int] | None], None]  # with the classes that the model knows


THREADS = ("n_jobs", "nthread", "nthreads", "num_thread", "num_threads", "thread_count")
"""Parameters that say how many threads there are."""

MORE = {
    "lightgbm": (
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
    ),
    "xgboost": ("nthread", "seed", "eta"),
    "catboost": (),
}
"""Parameters that a library takes beside those of its signature. No file may name files, machines or ports by them."""

LOCAL = (
    *("machines", "num_machines", "local_listen_port", "machine_list_filename", "machine_list_file", "machine_list"),
    *("mlist", "num_machine", "local_port", "port", "workers", "nodes", "time_out", "node_type", "node_port"),
    *("train_dir", "snapshot_file", "input_borders", "output_borders", "device_config", "forcedsplits_filename"),
    *("forcedbins_filename", "input_model", "output_model", "model_input", "model_output", "memory"),
)
"""Parameters that name machines, ports, files or folders of where a model was fitted: no file brings them along."""


def format_of(model: Any) -> Format | None:
    """The format of a model's own library; None if it has none, or a parameter is more than a plain value."""
    found = FORMATS.get(type(model).__module__.split(".")[0])
    if found is None or type(model).__name__ not in found.kinds:
        return None
    params = {name: value for name, value in model.get_params(deep=False).items() if name not in LOCAL}
    return found if _is_plain(params) and not _unknown(type(model), params) else None


def new_booster(kind: str, params: dict[str, Any]) -> tuple[Any, Format]:
    """A booster by the name of its class, with parameters of a file, and the format of its library."""
    package, found = next((package, found) for package, found in FORMATS.items() if kind in found.kinds)
    made = getattr(import_module(package), kind)
    unknown = _unknown(made, params)
    if unknown:
        raise ValueError(f"{kind} has no parameters {sorted(unknown)}")
    usual = made().get_params()
    for name, value in params.items():
        if not _is_like(value, usual.get(name)):
            raise ValueError(f"{name}={value!r} is no parameter of {kind}")
    return made(**params), found


def without_local(estimator: Any) -> Any:
    """An estimator of a file without parameters that name machines, files or folders."""
    for part in _parts(estimator):
        params = part.get_params(deep=False)
        named = {name: None for name in LOCAL if params.get(name) is not None}
        if named:
            part.set_params(**named)
    return estimator


def limit_threads(estimator: Any) -> Any:
    """An estimator of a file with no more threads than this machine has cores, all those inside of it too."""
    most = os.cpu_count() or 1
    for part in _parts(estimator):
        asked = {name: value for name, value in part.get_params(deep=False).items() if name in THREADS}
        fine = {name for name, value in asked.items() if value is None or (type(value) is int and abs(value) <= most)}
        if asked.keys() - fine:
            part.set_params(**dict.fromkeys(asked.keys() - fine, most))
    return estimator


def _parts(value: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """An estimator, and all that it holds: parameters, steps, and what was fitted."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    if isinstance(value, dict):
        inside = list(value.values())
    elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        inside = list(value)
    elif hasattr(value, "get_params"):
        yield value
        inside = list(vars(value).values())
    else:
        return
    for part in inside:
        yield from _parts(part, seen)


def _unknown(kind: type[Any], params: dict[str, Any]) -> set[str]:
    package = kind.__module__.split(".")[0]
    usual = signature(kind.__init__).parameters if package == "catboost" else kind().get_params()
    return {*params} - ({*usual, *MORE[package]} - {*LOCAL})


def _is_like(value: Any, usual: Any) -> bool:
    """Tell whether a value of a file is plain, and a number or a text where the default is one."""
    if not _is_plain(value):
        return False
    if value is None or usual is None:
        return True
    kinds = [bool, str] if isinstance(usual, bool) else [int, float] if isinstance(usual, int | float) else [str]
    return type(value) in kinds or not isinstance(usual, bool | int | float | str)


def _is_plain(value: Any) -> bool:
    """Tell whether JSON gives a value back as it is."""
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(_is_plain, value.values()))
    if type(value) is list:
        return all(map(_is_plain, value))
    return value is None or type(value) in (str, bool, int, float)


def _write_lightgbm(model: Any) -> bytes:
    return str(model.booster_.model_to_string()).encode()


def _read_lightgbm(model: Any, content: bytes, classes: list[int] | None) -> None:
    """Let a model of one round, fitted on next to nothing with our own parameters, become the one in the file.

    LightGBM reads its boosters, but not into the models that it has for scikit-learn; these are made by `fit` alone.
    """
    import lightgbm

    written = lightgbm.Booster(model_str=content.decode())
    names = written.feature_name()
    own = names == [f"Column_{n}" for n in range(len(names))]

    def become(env: Any) -> None:
        env.model.model_from_string(content.decode())

    if classes is not None and written.num_model_per_iteration() not in {len(classes), 1 if len(classes) == 2 else 0}:
        raise ValueError("its trees are not those of its classes")
    y = np.array([0.25, 0.75]) if classes is None else np.repeat(classes, 2)
    stand_in = type(model)(n_estimators=1, n_jobs=1, verbose=-1)
    stand_in.fit(np.zeros((len(y), len(names))), y, callbacks=[become], feature_name="auto" if own else names)
    own_params = {*stand_in.get_params(), "_other_params"}
    vars(model).update({name: value for name, value in vars(stand_in).items() if name not in own_params})
    if model.objective is not None:
        model._objective = model.objective


def _write_xgboost(model: Any) -> bytes:
    return bytes(model.get_booster().save_raw("ubj"))


def _read_xgboost(model: Any, content: bytes, classes: list[int] | None) -> None:
    params = model.get_params(deep=False)
    model.load_model(bytearray(content))
    model.set_params(**params)  # some of which it takes from the booster


def _write_catboost(model: Any) -> bytes:
    with TemporaryDirectory() as folder:
        model.save_model(str(Path(folder) / "model.cbm"))
        return (Path(folder) / "model.cbm").read_bytes()


def _read_catboost(model: Any, content: bytes, classes: list[int] | None) -> None:
    model.load_model(blob=content)
    model.get_feature_importance()  # which it keeps from then on, as after a fit


FORMATS = {
    "lightgbm": Format(("LGBMClassifier", "LGBMRegressor"), "txt", _write_lightgbm, _read_lightgbm),
    "xgboost": Format(
        ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor"), "ubj", _write_xgboost, _read_xgboost
    ),
    "catboost": Format(("CatBoostClassifier", "CatBoostRegressor"), "cbm", _write_catboost, _read_catboost),
}
"""By the name of the library."""
