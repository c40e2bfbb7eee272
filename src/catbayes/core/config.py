"""The parameters of an encoder, read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from catbayes.core.category_outputs import CategoryOutputs
from catbayes.core.leakage import OwnTarget
from catbayes.core.selection import Selection
from catbayes.core.slots import Sampler
from catbayes.core.validation import check_option, is_number
from catbayes.effects.settings import Effects
from catbayes.errors import InputError
from catbayes.families import Family
from catbayes.mappings import Mapping
from catbayes.priors import Prior

__all__ = ["Missing", "Settings", "Unseen", "resolve_temperature"]

Unseen = Literal["prior", "nan", "error"]
Missing = Literal["category", "prior", "nan", "error"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of an encoder, read and checked."""

    selection: Selection
    family: type[Family] | None  # None where the target is to tell
    prior: Prior
    mapping: Mapping
    own_target: OwnTarget
    temperature: float | None  # of draws; None where it goes by count
    sampler: Sampler
    effects: Effects | None
    category_outputs: CategoryOutputs | None
    unseen: Unseen
    missing: Missing

    def __post_init__(self) -> None:
        """Require settings that go together."""
        check_option("unseen", self.unseen, ("prior", "nan", "error"))
        check_option("missing", self.missing, ("category", "prior", "nan", "error"))
        check_option("sampler", self.sampler, get_args(Sampler))
        if self.own_target.strategy != "ordered":
            return
        if linked := self.selection.linked:
            raise InputError(
                f'own_target="ordered" with kinds: a category of {linked[0]!r} is linked to others, whose rows come at '
                'all times. Use own_target="exclude" or "cross_fit".'
            )
        if self.effects:
            raise InputError('effects go with folds, and own_target="ordered" has none: use "exclude".')

    def refuse_nan(self, where: str) -> None:
        """Refuse the policies that make NaN of a row, where there is no such thing."""
        for name, policy in (("unseen", self.unseen), ("missing", self.missing)):
            if policy == "nan":
                raise InputError(f'{name}="nan" is not known to {where}: fit with {name}="prior" for it.')

    def refuse_missing(self, count: float, name: object) -> None:
        """Raise an error, where missing values call for one."""
        if self.missing == "error" and count:
            raise InputError(
                f'Column {name!r} is missing in {count:g} rows. Fill them, or set missing="category" or "prior".'
            )

    def refuse_unseen(self, strangers: list[object], name: object) -> None:
        """Raise an error for categories that were not seen, which `unseen="error"` calls for."""
        raise InputError(
            f"Column {name!r} holds categories that fit never saw, such as {strangers}. "
            'Fit on them, or set unseen="prior" to encode them by the prior.'
        )


def resolve_temperature(temperature: Any) -> float | None:
    """Read the parameter `temperature` of an encoder; None goes by count."""
    if isinstance(temperature, str) and temperature == "auto":
        return None
    if not is_number(temperature) or not 0.0 <= temperature <= 1.0:
        raise InputError(f'temperature={temperature!r}: expected "auto" or a number from 0 to 1.')
    return float(temperature)
