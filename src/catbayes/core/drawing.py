"""The parameter `draws` of the encoders: how θ is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from catbayes.core.slots import Sampler
from catbayes.core.validation import check_number, check_option, is_number
from catbayes.errors import InputError

__all__ = ["Draws", "resolve_draws"]

Per = Literal["row", "category"]

HIDING_TEMPERATURE = 0.3
"""Below this, draws are too narrow to hide that a row's own target was taken out in closed form: on Adult and Amazon
Employee Access, LightGBM and a forest lost nothing at 0.3, little at 0.15 and up to 0.05 of AUC at 0.05; the value has
a margin, because tables differ."""


@dataclass(frozen=True, slots=True)
class Draws:
    """How θ is drawn: how far from the posterior mean, how often, and by what.

    Parameters
    ----------
    temperature : "estimate", or float from 0 to 1
        Spread of the draws about the posterior mean: 1 is the posterior, as in the paper, 0 its mean. "estimate" goes
        by count, √(n / (n + ν)) for n rows and a prior worth ν: as the mean itself would vary from sample to sample,
        which is what a model meets in new categories. A category of which little is known is then near the prior's
        mean, and not anywhere in the prior.
    per : "row", "category"
        A fresh θ for each row (the paper), or one for all rows of a category (in training, of a category and fold).
    sampler : "auto", "exact", "normal"
        "normal" is the large-sample approximation of Appendix B; "auto" uses it, corrected for skewness, for
        categories of which so much is known that its error in distribution is below 0.005, and exact draws for the
        others.

    Examples
    --------
    >>> from catbayes import Draws, SamplingBayesianEncoder
    >>> paper = SamplingBayesianEncoder(draws=Draws(temperature=1.0, sampler="exact"))
    """

    temperature: float | Literal["estimate"] = "estimate"
    per: Per = "row"
    sampler: Sampler = "auto"

    def check(self) -> None:
        """Require usable values."""
        check_option("draws.per", self.per, get_args(Per))
        check_option("draws.sampler", self.sampler, get_args(Sampler))
        if isinstance(self.temperature, str):
            check_option("draws.temperature", self.temperature, ("estimate",))
        else:
            check_number("draws.temperature", self.temperature, 0.0, 1.0)

    @property
    def factor(self) -> float | None:
        """The temperature as a number; None where it goes by count."""
        return None if isinstance(self.temperature, str) else float(self.temperature)

    def hide(self, excess: float) -> bool:
        """Tell whether draws hide a target that was taken out in closed form.

        Only if every row has a draw of its own, spread at least HIDING_TEMPERATURE times as wide as n rows of weight 1
        would have it. Rows of weight w shift the posterior w times as far and spread it √w as wide; counts that vary
        more than Poisson's shift it further than it is spread. `excess` is the product of the two.
        """
        temperature = 1.0 if isinstance(self.temperature, str) else self.temperature
        return bool(self.per == "row" and temperature >= HIDING_TEMPERATURE * np.sqrt(excess))


def resolve_draws(draws: Any) -> Draws:
    """Read the parameter `draws` of an encoder."""
    if isinstance(draws, Draws):
        draws.check()
        return draws
    if isinstance(draws, str) and draws == "estimate":
        return Draws()
    if not is_number(draws) or not 0.0 <= draws <= 1.0:
        raise InputError(f'draws={draws!r}: expected "estimate", a temperature from 0 to 1, or a Draws object.')
    return Draws(float(draws))
