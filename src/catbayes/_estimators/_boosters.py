"""Boosters in files of their own libraries: trees and numbers, and no code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from catbayes._estimators._native import library


@dataclass(frozen=True, slots=True)
class Format:
    """How a library writes its models and reads them; `read` fills a new model, whose parameters are set."""

    kinds: tuple[str, ...]
    ending: str
    write: Callable[[Any], bytes]
    read: Callable[[Any, bytes, list[int] | None], None]  # with the classes that the model knows


def format_of(model: Any) -> Format | None:
    """The format of a model's own library; None if it has none, or a parameter is more than a plain value."""
    found = FORMATS.get(library(model))
    plain = found is not None and type(model).__name__ in found.kinds and _is_plain(model.get_params(deep=False))
    return found if plain else None


def new_booster(kind: str, params: dict[str, Any]) -> tuple[Any, Format]:
    """A booster by the name of its class, and the format of its library."""
    package, found = next((package, found) for package, found in FORMATS.items() if kind in found.kinds)
    return getattr(import_module(package), kind)(**params), found


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
    """Let a model of one round, fitted on next to nothing, become the one in the file.

    LightGBM reads its boosters, but not into the models that it has for scikit-learn; these are made by `fit` alone.
    """
    import lightgbm

    params, written = model.get_params(), lightgbm.Booster(model_str=content.decode())
    names = written.feature_name()
    own = names == [f"Column_{n}" for n in range(len(names))]

    def become(env: Any) -> None:
        env.model.model_from_string(content.decode())

    y = np.array([0.25, 0.75]) if classes is None else np.repeat(classes, 2)  # in the range of every objective
    model.set_params(n_estimators=1, verbose=-1)
    model.fit(np.zeros((len(y), len(names))), y, callbacks=[become], feature_name="auto" if own else names)
    model.set_params(n_estimators=params["n_estimators"], verbose=params.get("verbose"))


def _write_xgboost(model: Any) -> bytes:
    return bytes(model.get_booster().save_raw("ubj"))


def _read_xgboost(model: Any, content: bytes, classes: list[int] | None) -> None:
    model.load_model(bytearray(content))


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
