"""One encoder for each of several targets: made with seeds of their own, fitted one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn import clone

from catbayes._encoder._base import PosteriorEncoder
from catbayes._encoder._reading import new_seeds
from catbayes.core.table import Named, Table
from catbayes.errors import InputError


def make_encoders(template: Any, targets: list[Any]) -> dict[Any, Any]:
    """Clone an encoder for each target."""
    if not isinstance(template, PosteriorEncoder):
        raise InputError(f"encoder is a {type(template).__name__}: expected a SamplingBayesianEncoder or None.")
    pairs = zip(targets, target_seeds(template.random_state, len(targets)), strict=True)
    encoders = {name: clone(template).set_params(random_state=seed) for name, seed in pairs}
    for encoder in encoders.values():
        vars(encoder).pop("_sklearn_output_config", None)  # the meta-estimator chooses the output
    return encoders


def target_seeds(random_state: Any, n_targets: int) -> list[int]:
    """A seed for each target; the first ones do not change when more targets follow."""
    return new_seeds(random_state, n_targets)


def fit_each(
    encoders: dict[Any, Any], method: str, X: Any, targets: dict[Any, Any], classes: Any = None, **given: Any
) -> list[Any]:
    """Call a method that fits on every encoder, and return what it returns."""
    results, weights = [], _weights(given.pop("sample_weight", None), list(targets))
    for name, encoder in encoders.items():
        labels = {"classes": classes[name]} if classes and name in classes else {}
        with naming(name):
            y = targets[name] if isinstance(name, int) else Named.of(targets[name], str(name))
            results.append(getattr(encoder, method)(X, y, sample_weight=weights[name], **labels, **given))
    return results


def _weights(sample_weight: Any, targets: list[Any]) -> dict[Any, Any]:
    """The weights of the rows for each target: columns of a frame or an array, or the same for all."""
    if Table.is_frame(sample_weight):
        table = Table.of(sample_weight)
        columns = {name: table.values(place) for place, name in enumerate(table.names)}
        if set(columns) != set(targets):
            raise InputError(
                f"sample_weight has the columns {list(columns)}, and the targets are {targets}: expected the same."
            )
        return columns
    if isinstance(sample_weight, np.ndarray) and sample_weight.ndim == 2:
        if sample_weight.shape[1] != len(targets):
            raise InputError(
                f"sample_weight has {sample_weight.shape[1]} columns, and there are {len(targets)} targets: expected "
                "one for each, or one for all."
            )
        return dict(zip(targets, sample_weight.T, strict=True))
    return dict.fromkeys(targets, sample_weight)


def require_same(targets: Any, known: Any) -> None:
    """Require the targets that were there before."""
    if list(targets) != list(known):
        raise InputError(f"The targets are {list(targets)}, and were {list(known)} before: give the same ones.")


@contextmanager
def naming(name: Any) -> Iterator[None]:
    """Say which target an error is about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"Target {name!r}: {error}") from error
