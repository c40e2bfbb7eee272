"""The parameter `draws` of the encoders: how θ is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from catbayes.core.slots import Sampler
from catbayes.core.validation import check_option, is_number
from catbayes.errors import InputError

__all__ = ["Draws", "resolve_draws"]


HIDING_TEMPERATURE = 0.3
"""Below this, draws are too narrow to hide that a row's own target was taken out in closed form: on Adult and Amazon
Employee Access, LightGBM and a forest lost nothing at 0.3, little at 0.15 and up to 0.05 of AUC at 0.05; the value has
a margin, because tables differ."""


@dataclass(frozen=True, slots=True)
class Draws:
    """How θ is drawn: how far from the posterior mean, by count of rows if None, and by which sampler."""

    temperature: float | None = None
    sampler: Sampler = "auto"

    @property
    def factor(self) -> float | None:
        """The temperature; None where it goes by count."""
        return self.temperature

    def hide(self, excess: float) -> bool:
        """Tell whether draws hide a target that was taken out in closed form.

        Only if they are spread at least HIDING_TEMPERATURE times as wide as n rows of weight 1 would have it. Rows of
        weight w shift the posterior w times as far and spread it √w as wide; counts that vary more than Poisson's shift
        it further than it is spread. `excess` is the product of the two.
        """
        temperature = 1.0 if self.temperature is None else self.temperature
        return bool(temperature >= HIDING_TEMPERATURE * np.sqrt(excess))


def resolve_draws(temperature: Any, sampler: Any) -> Draws:
    """Read the parameters `temperature` and `sampler` of an encoder."""
    check_option("sampler", sampler, get_args(Sampler))
    if isinstance(temperature, str) and temperature == "auto":
        return Draws(None, sampler)
    if not is_number(temperature) or not 0.0 <= temperature <= 1.0:
        raise InputError(f'temperature={temperature!r}: expected "auto" or a number from 0 to 1.')
    return Draws(float(temperature), sampler)
