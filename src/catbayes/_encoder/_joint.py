"""Outputs of several encoders of one table, side by side."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from catbayes.errors import InputError


class JointLayout:
    """Which output of which encoder comes where: by input column, then by target; what passes through comes once."""

    def __init__(self, encoders: dict[Any, Any]) -> None:
        self.targets = list(encoders)
        self.layouts = [encoder._fitted().layout for encoder in encoders.values()]
        first, n_inputs = self.layouts[0], next(iter(encoders.values())).n_features_in_
        self.passing = {(0, first.places[position].start) for position in first.passing}
        places: list[tuple[int, slice]] = []
        for position in range(n_inputs):
            owners = self.layouts[:1] if position in first.passing else self.layouts
            places += [(number, owner.places[position]) for number, owner in enumerate(owners)]
        for number, layout in enumerate(self.layouts):  # outputs that belong to no single input
            places += [(number, place) for place in layout.places[n_inputs:]]
        self.order = [(number, output) for number, place in places for output in range(place.start, place.stop)]

    def names(self, inputs: list[Any]) -> list[str]:
        """Names that the encoders give, each followed by the target, where it is encoded towards one."""
        own = [layout.names(inputs) for layout in self.layouts]
        names = [
            own[number][output] + ("" if (number, output) in self.passing else f"_{self.targets[number]}")
            for number, output in self.order
        ]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"Two outputs would be called {twice!r}. Rename the input column or the target.")
        return names

    def stack(self, parts: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        """Outputs of the encoders, (…, output) each, as one array."""
        return np.stack([parts[number][..., output] for number, output in self.order], axis=-1)

    def join(self, parts: list[Any], inputs: list[Any]) -> Any:
        """Outputs of the encoders as one array, or as one frame in which each column keeps its type."""
        if isinstance(parts[0], np.ndarray):
            return self.stack(parts)
        frames = [nw.from_native(part, eager_only=True) for part in parts]
        pairs = zip(self.order, self.names(inputs), strict=True)
        return (
            frames[0].select(*(frames[number][:, output].alias(name) for (number, output), name in pairs)).to_native()
        )
