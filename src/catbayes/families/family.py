"""What every conjugate family defines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, cast

import numpy as np

from catbayes.core.arrays import namespace, where
from catbayes.core.validation import Array
from catbayes.errors import InputError

Random: TypeAlias = Any
"""A source of random numbers: numpy's generator, or one with its methods `standard_gamma`, `standard_normal`,
`standard_exponential`, `beta` and `spawn`. A second draw takes a spawned source, or the draw of a row would depend on
the number of rows."""


@dataclass(frozen=True, slots=True)
class Support:
    """The numbers that a target may be: those above zero, zero itself if `zero`, and none above `most`.

    `refusal` is the error for other targets, whose values go from {lowest} to {highest}. Events in units of exposure
    may be up to `most_events`.
    """

    refusal: str
    zero: bool = False
    most: float = np.inf
    most_events: float = np.inf


@dataclass(frozen=True, slots=True, eq=False)
class Normals:
    """Normals in place of posteriors (Appendix B): θ = level + slope · z + bend · z², z ~ N(0, 1); (…, parameter) each.

    They have the mean and the variance of the posterior. Corrected for skewness, as Cornish and Fisher do it, they have
    its third moment too, to the order that counts: the error falls with 1 / n in place of 1 / √n. What a draw needs is
    computed once for every entry. Draws are clipped to the values that θ can take, from `low` to `high`.
    """

    level: Array
    slope: Array
    bend: Array
    low: Any = -np.inf
    high: Any = np.inf

    @classmethod
    def of(cls, mean: Array, scale: Array, skewness: Array, low: Any = -np.inf, high: Any = np.inf) -> Self:
        """θ = mean + scale · (z + skewness / 6 · (z² - 1))."""
        bend = scale * skewness / 6.0
        return cls(mean - bend, scale, bend, low, high)

    def straight(self) -> Self:
        """Leave the skewness out: the normals of the same means and variances."""
        return replace(self, level=self.level + self.bend, bend=0.0 * self.bend)

    def closer(self, factor: Array) -> Self:
        """Multiply the distance of draws from their means by a factor for each entry."""
        factor = factor[..., None]
        level = self.level + (1.0 - factor) * self.bend
        return replace(self, level=level, slope=factor * self.slope, bend=factor * self.bend)

    def take(self, index: Any) -> Self:
        """Pick entries, as often as the index asks."""
        level, slope, bend = (values.take(index, axis=0) for values in (self.level, self.slope, self.bend))
        return replace(self, level=level, slope=slope, bend=bend)

    def draw(self, noise: Array) -> Array:
        """Turn standard normals, (…, parameter), into draws of θ."""
        theta = self.bend * noise
        theta += self.slope
        theta *= noise
        theta += self.level
        return np.clip(theta, self.low, self.high, out=theta)


class Family(ABC):
    """An array of distributions of θ: the prior of a column, or the posteriors of its categories.

    Examples
    --------
    >>> from catbayes.families import FAMILIES, Family
    >>> all(issubclass(family, Family) for family in FAMILIES.values())
    True
    >>> beta = FAMILIES["bernoulli"](alpha=[1.0, 9.0], beta=[1.0, 1.0])  # two distributions
    >>> beta.mean().tolist(), beta.take([1]).strength.tolist()
    ([[0.5], [0.9]], [10.0])
    """

    __slots__ = ()

    classes: ClassVar[bool] = False  # whether the target is a class (a Tally) or a number (Moments)
    binary: ClassVar[bool] = False  # whether it takes two classes only
    support: ClassVar[Support | None] = None  # the numbers that it takes; all of them if None
    log_target: ClassVar[bool] = False  # whether the number is the logarithm of what was given
    # What exposure counts: units, such as time, in which a prior is made too (see `per`), or attempts, of which events
    # are a part. y events in e of them are a rate y / e that counts for e rows.
    exposure: ClassVar[Literal["units", "attempts"] | None] = None
    linkable: ClassVar[bool] = True  # whether categories can be linked by hierarchies and kinds
    parameters: ClassVar[tuple[str, ...]] = ("mean",)  # names of θ's components, where they are fixed
    location: ClassVar[slice] = slice(None)  # the components of θ that are means of the target
    as_differences: ClassVar[bool] = False  # whether θ shifts with the target (its field `centre`), so that models get
    # means as differences from that of an unseen category
    signed: ClassVar[tuple[str, ...]] = ()  # parameters of a prior that may be zero or negative
    free_strength: ClassVar[bool] = False  # whether the strength of a scaled prior may be set apart from the rest of it

    # ------------------------------------------------------------------------ an array of distributions

    def __post_init__(self) -> None:
        """Turn numbers into arrays."""
        for name, values in self.arrays().items():
            if type(values) is np.ndarray and values.dtype == np.float64:
                continue
            if namespace(values) is np:
                object.__setattr__(self, name, np.asarray(values, dtype=np.float64))

    def arrays(self) -> dict[str, Array]:
        """Return the parameters by their names."""
        return {entry.name: getattr(self, entry.name) for entry in fields(cast(Any, self))}  # a dataclass

    def take(self, index: Any) -> Self:
        """Pick entries, as often as the index asks."""
        return type(self)(*(values[index] for values in self.arrays().values()))

    def join(self, others: Sequence[Self]) -> Self:
        """Concatenate the entries of this and other arrays of distributions."""
        columns = zip(*(part.arrays().values() for part in (self, *others)), strict=True)
        return type(self)(*map(np.concatenate, columns))

    def where(self, keep: Any, other: Self) -> Self:
        """Take entries from `self` where `keep`, else from `other`."""

        def choose(mine: Array, theirs: Array) -> Array:
            mask = keep[..., None] if mine.ndim > keep.ndim else keep
            return where(mask, mine, theirs)

        return type(self)(*map(choose, self.arrays().values(), other.arrays().values()))

    # --------------------------------------------------------------------------------- the target

    @classmethod
    def check_target(cls, lowest: float, highest: float, events: bool = False) -> None:
        """Refuse a target, or events in units of exposure, with values that the family does not take."""
        known = cls.support
        if known is None:
            return
        most = known.most_events if events else known.most
        if lowest < 0.0 or (lowest == 0.0 and not known.zero) or highest > most:
            raise InputError(known.refusal.format(lowest=lowest, highest=highest))

    @classmethod
    def check_unexposed(cls) -> None:
        """Refuse a table without exposure, if the family needs it."""
        return

    @classmethod
    def observed(cls, statistics: Any) -> Array:
        """Return means or shares of the target, which θ estimates, (category, parameter)."""
        mean = statistics.mean if cls.classes else statistics.mean[..., None]
        return np.asarray(mean[..., 1:] if cls.binary else mean)

    # ----------------------------------------------------------------------------------- the prior

    @classmethod
    @abstractmethod
    def scaled(cls, total: Any, gamma: float) -> Self:
        """Make the paper's prior: the statistics of the whole table, scaled by γ."""

    @classmethod
    def from_rows(cls, total: Any, n_rows: float) -> Self:
        """Make a prior with the mean of the whole table and a strength of `n_rows`."""
        return cls.scaled(total, n_rows / total.count[0])

    def for_unseen(self) -> Self:
        """Strengthen a scaled prior that is too weak to be drawn from; an unseen category draws from the result."""
        return self

    def per(self, units: float) -> Self:
        """Turn the distribution of a rate in one unit of exposure into that in `units`."""
        return self

    @classmethod
    @abstractmethod
    def empirical(cls, statistics: Any) -> Self:
        """Estimate the prior by marginal likelihood."""

    def dispersion(self, statistics: Any, row: float = 1.0) -> float:
        """Variance of targets within categories, for rows of weight `row`, as a multiple of what this prior implies."""
        return 1.0

    # ---------------------------------------------------------------------------------- strengths

    if TYPE_CHECKING:  # a field or a property; an abstract property would become the default of the field

        @property
        def strength(self) -> Array:
            """The number of observations with as much information about the mean."""

    @property
    def curvature(self) -> float | Array:
        """v₂, where targets of mean m vary by V = v₀ + v₁ m + v₂ m², so that Var θ = V / (S - v₂).

        A number of the family, or one for each entry where parameters decide how much targets vary.
        """
        return 0.0

    def worth(self, strength: Any) -> Self:
        """Set the strength of each entry and retain the means."""
        raise InputError(
            f"{type(self).__name__} does not define another strength (its method `worth`), which hierarchies and kinds "
            "need. Leave those out, or choose another family."
        )

    def varying_as(self, other: Self) -> Self:
        """Retain the means, and take everything else in θ from one other distribution."""
        return self

    @classmethod
    def of_nodes(cls, messages: Any, root: Self) -> Self:
        """Estimate the root of a hierarchy from the messages of the nodes below it, and from the former root."""
        return cls.empirical(messages) if messages.varies() else root

    # -------------------------------------------------------------------------------- the posterior

    @abstractmethod
    def update(self, statistics: Any) -> Self:
        """Return the posterior after the statistics."""

    @abstractmethod
    def leave_out(self, target: Any, weight: Any) -> Self:
        """Take one weighted observation out of each entry again."""

    @abstractmethod
    def mean(self) -> Array:
        """E θ, (…, parameter)."""

    @abstractmethod
    def variance(self) -> Array:
        """Var θ, (…, parameter)."""

    def covariance(self) -> Array:
        """Cov θ, (…, parameter, parameter); diagonal unless a family overrides it."""
        return np.asarray(self.variance()[..., None] * np.eye(self.mean().shape[-1]))

    @abstractmethod
    def skewness_and_kurtosis(self) -> tuple[Array, Array]:
        """Skewness and excess kurtosis of the mean parameters, (…, parameter) each; NaN where they do not exist."""

    @abstractmethod
    def quantile(self, probability: Any) -> Array:
        """Quantile of each parameter by itself, (…, parameter); of one probability, or of one for each entry."""

    # --------------------------------------------------------------------------------- new targets

    @abstractmethod
    def log_marginal(self, statistics: Any) -> Array:
        """Log-probability of each category's observations under this prior, θ integrated out."""

    def predictive_quantile(self, probability: float) -> Array:
        """Quantile of the target of a new row, θ integrated out, one for each entry; classes have none."""
        raise InputError(
            f"{type(self).__name__} does not define the quantiles of a target (its method `predictive_quantile`). "
            'Use mapping="mean_precision", or another family.'
        )

    def tail(self, statistics: Any) -> Array | None:
        """Two-sided p-value of the mean of these rows, θ integrated out, for each entry; None if unknown."""
        return None

    # -------------------------------------------------------------------------------------- draws

    @abstractmethod
    def sample(self, random: Random) -> Array:
        """Draw θ once for each entry, exactly, (…, parameter)."""

    def transport(self, uniform: Array) -> Array:
        """Turn independent uniforms, (…, parameter), into draws of θ, the first parameter by its quantile."""
        return self.quantile(uniform)

    @abstractmethod
    def normal(self) -> Normals:
        """The normals of the same means and covariances (Appendix B of the paper), corrected for skewness."""

    @abstractmethod
    def normal_error(self) -> Array:
        """Bound the Kolmogorov distance between the distribution of any parameter and that of `normal`."""
