"""What every conjugate family can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast

import numpy as np
from scipy.optimize import minimize_scalar

from catbayes.core.arrays import namespace, where
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.families._arithmetic import no_signal
from catbayes.families._normals import Normals


class Random(Protocol):
    """What draws: numpy's generator, one whose numbers go by the identity of the row, or one of torch's tensors.

    Examples
    --------
    >>> from catbayes.families import GammaPoisson, Random
    >>> random: Random = np.random.default_rng(0)
    >>> GammaPoisson(alpha=[3.0, 300.0], beta=[1.0, 1.0]).sample(random).shape
    (2, 1)
    """

    def standard_gamma(self, shape: Any, /) -> Any:
        """Gamma of these shapes, and scale 1."""

    def standard_normal(self, size: Any, /) -> Any:
        """N(0, 1), an array of this size."""

    def standard_exponential(self, size: Any, /) -> Any:
        """Exponential of mean 1."""

    def beta(self, a: Any, b: Any, /) -> Any:
        """Beta(a, b)."""

    def spawn(self, n_children: int, /) -> Sequence[Any]:
        """Sources independent of this one: a second draw takes one, or rows would depend on how many there are."""


@dataclass(frozen=True, slots=True)
class Support:
    """The numbers that a target may be: those above zero, zero itself if it says so, and none above `most`.

    `refusal` is what to say of a target with others, whose values go from {lowest} to {highest}.

    Examples
    --------
    >>> counts = Support('family="poisson" takes counts ≥ 0, and y holds {lowest:g}.', zero=True)
    >>> counts.check(lowest=0.0, highest=3.0)
    """

    refusal: str
    zero: bool = False
    most: float = np.inf

    def check(self, lowest: float, highest: float) -> None:
        """Refuse a target whose lowest or highest value is none of them."""
        if lowest < 0.0 or (lowest == 0.0 and not self.zero) or highest > self.most:
            raise InputError(self.refusal.format(lowest=lowest, highest=highest))


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
    binary: ClassVar[bool] = False  # whether it takes two classes and no more
    support: ClassVar[Support | None] = None  # the numbers that it takes; all of them if None
    log_target: ClassVar[bool] = False  # whether the number is the logarithm of what was given
    takes_exposure: ClassVar[bool] = False  # whether y events in e units are a rate y / e that counts for e rows
    whole_events: ClassVar[bool] = False  # whether those events are counted one by one, so that fractions are a mistake
    row_units: ClassVar[bool] = False  # whether a prior is made in the units of exposure that a row has; then see `per`
    parameters: ClassVar[tuple[str, ...]] = ("mean",)  # names of θ's components, where they are fixed
    location: ClassVar[slice] = slice(None)  # the components of θ that are means of the target
    as_differences: ClassVar[bool] = False  # whether models get means as differences from that of an unseen category
    signed: ClassVar[tuple[str, ...]] = ()  # parameters of a prior that may be zero or negative
    free_strength: ClassVar[bool] = False  # whether the strength of a scaled prior may be set apart from the rest of it

    def __post_init__(self) -> None:
        """Hold arrays, whatever numbers were given."""
        for name, values in self.arrays().items():
            if type(values) is np.ndarray and values.dtype == np.float64:
                continue
            if namespace(values) is np:
                object.__setattr__(self, name, np.asarray(values, dtype=np.float64))

    @classmethod
    def check_target(cls, lowest: float, highest: float) -> None:
        """Refuse a target with values that the family does not take."""
        if cls.support is not None:
            cls.support.check(lowest, highest)

    @classmethod
    def check_events(cls, lowest: float, highest: float) -> None:
        """Refuse events, of whatever exposure: each may be more than what the family takes in one unit."""
        if lowest < 0.0:
            cls.check_target(lowest, highest)

    @classmethod
    def check_linked(cls) -> None:
        """Refuse categories that lean on each other, where the family knows of none; most know them."""
        return

    @classmethod
    def check_unexposed(cls) -> None:
        """Refuse a table without exposure, if the family cannot do without."""
        return

    @classmethod
    def impossible(cls, statistics: Any) -> Any:
        """Tell for each category whether no rows that the family takes can have these statistics."""
        if cls.support is None or cls.log_target:
            return False
        return (statistics.mean < -1e-9) | (statistics.mean > cls.support.most * (1.0 + 1e-9))

    def arrays(self) -> dict[str, Array]:
        """Its parameters by their names."""
        return {entry.name: getattr(self, entry.name) for entry in fields(cast(Any, self))}  # a dataclass

    def check(self) -> None:
        """Require usable parameters of a prior that somebody typed."""
        for name, values in self.arrays().items():
            if not np.isfinite(values).all() or (name not in self.signed and (values <= 0).any()):
                accepted = "finite numbers" if name in self.signed else "finite numbers > 0"
                raise InputError(f"{type(self).__name__}: {name}={values.tolist()}: expected {accepted}.")

    def take(self, index: Any) -> Self:
        """Pick entries, as often as the index asks."""
        return type(self)(*(values[index] for values in self.arrays().values()))

    def join(self, others: Sequence[Self]) -> Self:
        """Put the entries of this and other arrays of distributions one after the other."""
        columns = zip(*(part.arrays().values() for part in (self, *others)), strict=True)
        return type(self)(*map(np.concatenate, columns))

    def where(self, keep: Any, other: Self) -> Self:
        """Take entries from `self` where `keep`, else from `other`."""

        def choose(mine: Array, theirs: Array) -> Array:
            mask = keep[..., None] if mine.ndim > keep.ndim else keep
            return where(mask, mine, theirs)

        return type(self)(*map(choose, self.arrays().values(), other.arrays().values()))

    @classmethod
    @abstractmethod
    def scaled(cls, total: Any, gamma: float) -> Self:
        """Make the paper's prior: the statistics of the whole table, scaled by γ."""

    def for_unseen(self) -> Self:
        """Where a scaled prior is too weak to be drawn from, the prior that an unseen category draws from."""
        return self

    def per(self, units: float) -> Self:
        """What is believed of a rate in one unit of exposure, of the rate in so many; see `row_units`."""
        return self

    @classmethod
    @abstractmethod
    def empirical(cls, statistics: Any) -> Self:
        """Find the prior that makes the whole column most likely."""

    if TYPE_CHECKING:  # a field of one family, a property of the others

        @property
        def strength(self) -> Array:
            """How many observations the distribution of the mean is worth."""

    @property
    def curvature(self) -> float | Array:
        """v₂, where targets of mean m vary by V = v₀ + v₁ m + v₂ m², so that Var θ = V / (S - v₂).

        A number of the family, or one for each entry where parameters decide how much targets vary.
        """
        return 0.0

    def worth(self, strength: Any) -> Self:
        """The same means, worth so many observations; of an array of distributions, each of them so many."""
        raise InputError(
            f"{type(self).__name__} does not say how it is given another strength (its method `worth`), which "
            "hierarchies and kinds need. Leave those out, or choose another family."
        )

    def around(self, strength: Any) -> Self:
        """The distribution of θ of a child of which nothing is known, about a parent of which this is known.

        Children vary about their parent as the mean of so many rows would. The variances of both add up where the
        child is worth S ν / (S + ν - v₂), and at most as much as either.
        """
        known = self.strength
        most = np.maximum(known, strength)
        return self.worth(known * strength / np.maximum(known + strength - self.curvature, most))

    def varying_as(self, other: Self) -> Self:
        """The same means, with what else θ says of the target as in one other distribution; here θ is means alone."""
        return self

    @classmethod
    def of_nodes(cls, told: Any, root: Self) -> Self:
        """The root of a hierarchy, from what the nodes below it were told by theirs, and from what it was before."""
        return cls.empirical(told) if told.varies() else root

    def dispersion(self, statistics: Any, row: float = 1.0) -> float:
        """Variance of targets within categories, for rows of weight `row`, as a multiple of what this prior says."""
        return 1.0

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
        """Cov θ, (…, parameter, parameter); diagonal unless a family says otherwise."""
        return np.asarray(self.variance()[..., None] * np.eye(self.mean().shape[-1]))

    def less(self, origin: Any) -> Self:
        """The distribution of θ where all targets, and so their means, are less by so much."""
        raise InputError(
            f"{type(self).__name__} does not say how it moves with its targets (its method `less`), so its means are "
            "never given as differences. Leave `as_differences` False."
        )

    def components(self, labels: Sequence[str] | None) -> tuple[slice, tuple[str, ...]]:
        """Where the means are in θ, and what sets each of them apart: labels of classes, or nothing if it is alone."""
        return self.location, ("",)

    @classmethod
    def observed(cls, statistics: Any) -> Array:
        """What was counted or averaged, in the place of the means of θ, (category, parameter)."""
        return np.asarray(statistics.mean if cls.classes else statistics.mean[..., None])

    def class_betas(self) -> tuple[Array, Array]:
        """The Beta(α, β) of the probability of each class by itself, (…, class)."""
        why = f"{type(self).__name__} does not say the odds of its classes" if self.classes else "this one is numeric"
        raise InputError(
            f'mapping="weight_of_evidence" needs a class target, and {why}. '
            'Use "mean", "mean_precision", "polynomial" or "identity".'
        )

    @abstractmethod
    def shape(self) -> tuple[Array, Array]:
        """Skewness and excess kurtosis of the mean parameters, (…, parameter) each; NaN where they do not exist."""

    @abstractmethod
    def quantile(self, probability: float) -> Array:
        """Quantile of each parameter by itself, (…, parameter)."""

    def predictive_quantile(self, probability: float) -> Array:
        """Quantile of the target of a new row, θ integrated out, one for each entry; classes have none."""
        raise InputError(
            f"{type(self).__name__} does not say the quantiles of a target (its method `predictive_quantile`). "
            'Use mapping="mean_precision", or another family.'
        )

    def tail(self, statistics: Any) -> Array | None:
        """At most how likely rows are whose mean is as far off as that of these, θ integrated out; None if unknown.

        For each entry, on the side on which they are off, times two.
        """
        return None

    @abstractmethod
    def sample(self, random: Random) -> Array:
        """Draw θ once for each entry, exactly, (…, parameter)."""

    @abstractmethod
    def transport(self, uniform: Array) -> Array:
        """Carry independent uniforms, (…, parameter), to draws of θ; the first one rises with the first parameter."""

    @abstractmethod
    def normal(self) -> Normals:
        """The normals of the same means and covariances (Appendix B of the paper), corrected for skewness."""

    @classmethod
    def inside(cls, theta: Array) -> Array:
        """Bring draws of a normal to where θ can be, in place; everywhere, unless a family says otherwise."""
        return theta

    @abstractmethod
    def normal_error(self) -> Array:
        """Bound the Kolmogorov distance of any parameter's distribution to that of `normal`."""

    @abstractmethod
    def log_marginal(self, statistics: Any) -> Array:
        """Log-probability of each category's observations under this prior, θ integrated out."""


def likeliest_strength(parents: Family, statistics: Any, root: Family) -> float:
    """The strength of children about their parents, one for each, that makes the children most likely.

    Examples
    --------
    >>> from catbayes.families import BetaBernoulli, likeliest_strength
    >>> from catbayes.core.statistics import Tally
    >>> parents = BetaBernoulli(alpha=[50.0, 50.0], beta=[50.0, 50.0])
    >>> children = Tally(np.array([[8.0, 2.0], [1.0, 9.0]]))
    >>> round(likeliest_strength(parents, children, parents.take(0)), 1)
    2.0
    """
    seen = np.flatnonzero(statistics.count > 0)
    parents, statistics = parents.take(seen), statistics.take(seen)

    def cost(x: float) -> float:
        return -float(parents.around(np.exp(x)).varying_as(root).log_marginal(statistics).sum())

    low, high = np.log(1e-2), np.log(no_signal(statistics.count.sum()))
    best = minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    if cost(high) - best.fun < 1e-2:  # children that differ by nothing, or of whom one row each cannot tell
        return float(np.exp(high))
    return float(np.exp(best.x))
