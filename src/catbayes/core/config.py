"""The parameters of an encoder, read and checked."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sklearn.model_selection import BaseCrossValidator, GroupKFold

from catbayes.core.selection import Selection
from catbayes.core.slots import Sampler
from catbayes.core.validation import check_count, check_option, is_number
from catbayes.effects.settings import Effects
from catbayes.errors import InputError
from catbayes.families import Family, resolve_family
from catbayes.mappings import Mapping, resolve_mapping
from catbayes.priors import Prior, resolve_prior

__all__ = ["KeepCategories", "Missing", "Ordered", "Settings", "Strategy", "Unseen", "check_folds", "splitter_of"]

Strategy = Literal["exclude", "cross_fit", "ordered", "include"]
Unseen = Literal["prior", "nan", "error"]
Missing = Literal["category", "prior", "nan", "error"]
KeepCategories = Literal["codes", "one_hot"]


@dataclass(frozen=True, slots=True)
class Ordered:
    """Encode a row by the earlier rows of its category only, as in CatBoost.

    Parameters
    ----------
    column : name or position of a column, or None
        The column with the time of each row; it is not among the outputs, and rows of one time do not know each
        other. None is a new random order for each draw.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import Ordered, SamplingBayesianEncoder
    >>> X = pd.DataFrame({"city": ["Oslo", "Rome"] * 4, "day": range(8)})
    >>> SamplingBayesianEncoder(own_target=Ordered("day"), random_state=0).fit_transform(X, [0, 1, 1, 1] * 2).shape
    (8, 1)
    """

    column: Any = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of an encoder, read and checked."""

    selection: Selection
    family: type[Family] | None  # None where the target decides
    prior: Prior
    mapping: Mapping
    own_target: Strategy
    order: Any  # column with the time of each row, of "ordered"
    cv: Any
    temperature: float | None  # of draws; None where it goes by count
    sampler: Sampler
    effects: Effects | None
    keep_categories: KeepCategories | None
    max_categories: int | None
    unseen: Unseen
    missing: Missing

    @classmethod
    def of(cls, encoder: Any) -> Settings:
        """Read and check the parameters of an encoder."""
        own_target: Any = encoder.own_target
        order = None
        if isinstance(own_target, Ordered):
            own_target, order = "ordered", own_target.column
        check_option("own_target", own_target, get_args(Strategy))
        if own_target in ("exclude", "cross_fit"):
            check_folds("cv", encoder.cv)
        temperature = encoder.temperature
        if isinstance(temperature, str) and temperature == "auto":
            temperature = None
        elif not is_number(temperature) or not 0.0 <= temperature <= 1.0:
            raise InputError(f'temperature={temperature!r}: expected "auto" or a number from 0 to 1.')
        keep_categories = encoder.keep_categories
        if keep_categories is not None and keep_categories not in get_args(KeepCategories):
            raise InputError(f'keep_categories={keep_categories!r}: expected "codes", "one_hot" or None.')
        if encoder.max_categories is not None:
            check_count("max_categories", encoder.max_categories)
        check_option("unseen", encoder.unseen, get_args(Unseen))
        check_option("missing", encoder.missing, get_args(Missing))
        check_option("sampler", encoder.sampler, get_args(Sampler))
        aside = () if order is None else (order,)
        selection = Selection(
            encoder.columns, encoder.interactions, aside, weigh=keep_categories is not None, kinds=encoder.kinds
        )
        effects = _read_effects(encoder.effects)
        if own_target == "ordered" and selection.kinds:
            raise InputError(
                f'own_target="ordered" with kinds: a category of {next(iter(selection.kinds))!r} is linked to others, '
                'whose rows come at all times. Use own_target="exclude" or "cross_fit".'
            )
        if own_target == "ordered" and effects:
            raise InputError('effects go with folds, and own_target="ordered" has none: use "exclude".')
        return cls(
            selection=selection,
            family=resolve_family(encoder.family),
            prior=resolve_prior(encoder.prior),
            mapping=resolve_mapping(encoder.mapping),
            own_target=own_target,
            order=order,
            cv=encoder.cv,
            temperature=None if temperature is None else float(temperature),
            sampler=encoder.sampler,
            effects=effects,
            keep_categories=keep_categories,
            max_categories=encoder.max_categories,
            unseen=encoder.unseen,
            missing=encoder.missing,
        )

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


def check_folds(name: str, cv: Any) -> None:
    """Require a number of folds, two or more, or a splitter."""
    if is_number(cv):
        check_count(name, cv, 2)
    elif isinstance(cv, str | bool):
        raise InputError(f"{name}={cv!r}: expected a number of folds or a splitter.")


def splitter_of(own_target: Any, cv: Any) -> BaseCrossValidator | None:
    """Find what takes the groups of rows, where metadata are routed; folds by number keep groups together."""
    if own_target not in ("exclude", "cross_fit"):
        return None
    return GroupKFold() if is_number(cv) else cv


def _read_effects(effects: Any) -> Effects | None:
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
