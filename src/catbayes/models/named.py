"""Parameters of estimators that call classes by their labels, which go by numbers inside a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catbayes.errors import InputError

__all__ = ["classes_by_number"]

GRIDS = ("param_grid", "param_distributions")


def classes_by_number(params: Mapping[str, Any], classes: Any) -> dict[str, Any]:
    """Those of the parameters that weigh classes by their labels, and grids of a search that do, with numbers."""

    def numbered(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        known = {int(np.searchsorted(classes, label)): weight for label, weight in value.items() if label in classes}
        strangers = [label for label in value if label not in classes]
        if strangers and len(known) < len(classes):  # a part of the rows may lack a class, if all others have weights
            raise InputError(
                f"class_weight names {strangers[0]!r}, which y does not hold: expected {classes.tolist()}."
            )
        return known

    def of_grid(grid: Any) -> Any:
        if not isinstance(grid, dict):
            return [of_grid(one) for one in grid]
        weighs = {name: values for name, values in grid.items() if name.endswith("class_weight")}
        return grid | {n: [*map(numbered, values)] for n, values in weighs.items() if isinstance(values, Sequence)}

    found = {
        name: numbered(value)
        for name, value in params.items()
        if name.endswith("class_weight") and isinstance(value, dict)
    }
    return found | {name: of_grid(value) for name, value in params.items() if name.endswith(GRIDS)}
