"""The parameters of an encoder, read and checked."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sklearn.model_selection import BaseCrossValidator, GroupKFold

from catbayes.core.extra_outputs import CategoryOutputs
from catbayes.core.leakage import Ordered, OwnTarget, Strategy, check_folds
from catbayes.core.selection import Selection
from catbayes.core.slots import Sampler
from catbayes.core.validation import check_count, check_option, is_number
from catbayes.effects.settings import Effects
from catbayes.errors import InputError
from catbayes.families import Family, resolve_family
from catbayes.mappings import Mapping, resolve_mapping
from catbayes.priors import Prior, resolve_prior

__all__ = ["Missing", "Settings", "Unseen", "splitter_of"]

Unseen = Literal["prior", "nan", "error"]
Missing = Literal["category", "prior", "nan", "error"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of an encoder, read and checked."""

    selection: Selection
    family: type[Family] | None  # None where the target decides
    prior: Prior
    mapping: Mapping
    own_target: OwnTarget
    temperature: float | None  # of draws; None where it goes by count
    sampler: Sampler
    effects: Effects | None
    category_outputs: CategoryOutputs | None
    unseen: Unseen
    missing: Missing

    @classmethod
    def of(cls, encoder: Any) -> Settings:
        """Read and check the parameters of an encoder."""
        own_target = _read_own_target(encoder.own_target, encoder.cv)
        category_outputs = _read_category_outputs(encoder.keep_categories, encoder.max_categories)
        aside = () if own_target.column is None else (own_target.column,)
        needs_signal = category_outputs is not None
        return cls(
            selection=Selection(encoder.columns, encoder.interactions, aside, needs_signal, encoder.kinds),
            family=resolve_family(encoder.family),
            prior=resolve_prior(encoder.prior),
            mapping=resolve_mapping(encoder.mapping),
            own_target=own_target,
            temperature=_read_temperature(encoder.temperature),
            sampler=encoder.sampler,
            effects=_read_effects(encoder.effects),
            category_outputs=category_outputs,
            unseen=encoder.unseen,
            missing=encoder.missing,
        )

    def __post_init__(self) -> None:
        """Require settings that go together."""
        check_option("unseen", self.unseen, ("prior", "nan", "error"))
        check_option("missing", self.missing, ("category", "prior", "nan", "error"))
        check_option("sampler", self.sampler, get_args(Sampler))
        if self.own_target.strategy != "ordered":
            return
        if kinds := self.selection.kinds:
            raise InputError(
                f'own_target="ordered" with kinds: a category of {next(iter(kinds))!r} is linked to others, whose rows '
                'come at all times. Use own_target="exclude" or "cross_fit".'
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

    def refuse_unseen(self, values: list[object], name: object) -> None:
        """Raise an error for categories that were not seen, which `unseen="error"` calls for."""
        raise InputError(
            f"Column {name!r} holds categories that fit never saw, such as {values}. "
            'Fit on them, or set unseen="prior" to encode them by the prior.'
        )


def _read_own_target(own_target: Any, cv: Any = 5) -> OwnTarget:
    """Read the parameters `own_target` and `cv` of an encoder."""
    if isinstance(own_target, Ordered):
        return OwnTarget("ordered", column=own_target.column)
    words = get_args(Strategy)
    if not isinstance(own_target, str) or own_target not in words:
        expected = ", ".join(f'"{word}"' for word in words)
        raise InputError(f"own_target={own_target!r}: expected one of {expected}, or an object such as Ordered('day').")
    if own_target in ("exclude", "cross_fit"):
        check_folds("cv", cv)
        return OwnTarget(own_target, cv)  # type: ignore[arg-type]
    return OwnTarget(own_target)  # type: ignore[arg-type]


def splitter_of(own_target: Any, cv: Any) -> BaseCrossValidator | None:
    """Find what takes the groups of rows, where metadata are routed; folds by number keep groups together."""
    if _read_own_target(own_target).strategy not in ("exclude", "cross_fit"):
        return None
    return GroupKFold() if is_number(cv) else cv


def _read_temperature(temperature: Any) -> float | None:
    """Read the parameter `temperature` of an encoder; None goes by count."""
    if isinstance(temperature, str) and temperature == "auto":
        return None
    if not is_number(temperature) or not 0.0 <= temperature <= 1.0:
        raise InputError(f'temperature={temperature!r}: expected "auto" or a number from 0 to 1.')
    return float(temperature)


def _read_effects(effects: Any) -> Effects | None:
    """Read the parameter `effects` of an encoder."""
    if isinstance(effects, bool):
        return Effects() if effects else None
    if isinstance(effects, str) and effects == "slopes":
        return Effects("auto")
    if isinstance(effects, abc.Mapping) and all(isinstance(numbers, list | tuple) for numbers in effects.values()):
        return Effects(effects)
    raise InputError(
        f'effects={effects!r}: expected True, False, "slopes", or columns with lists of columns of numbers, such as '
        '{"customer": ["price"]}.'
    )


def _read_category_outputs(keep_categories: Any, max_categories: Any) -> CategoryOutputs | None:
    """Read the parameters `keep_categories` and `max_categories` of an encoder."""
    if max_categories is not None:
        check_count("max_categories", max_categories)
    if keep_categories is None:
        return None
    if keep_categories not in ("codes", "one_hot"):
        raise InputError(f'keep_categories={keep_categories!r}: expected "codes", "one_hot" or None.')
    return CategoryOutputs(keep_categories, max_categories)
