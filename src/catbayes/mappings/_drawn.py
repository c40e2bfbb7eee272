"""Mappings of a draw of θ: the paper's f, its expectation, and names for its outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaincinv, digamma, logit

from catbayes.core.arrays import at_least, namespace, positive, precision
from catbayes.core.validation import LARGEST, Array
from catbayes.errors import InputError
from catbayes.families import Family


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """f(θ) for one column: `bind` fits it to a family and prior, then draws and posteriors go through it.

    Examples
    --------
    >>> from catbayes import DirichletCategorical
    >>> from catbayes.mappings import Polynomial
    >>> Polynomial(drop_first=True).bind(DirichletCategorical([1.0, 1.0, 2.0]), ["a", "b", "c"]).names()
    ['mean_b', 'mean_c', 'square_b', 'square_c']
    """

    drop_first: bool = False  # whether to leave out the outputs of the first of several classes, which the others imply
    labels: tuple[str, ...] = field(default=("",), repr=False)  # one for each mean parameter that is kept
    select: slice = field(default_factory=lambda: slice(None), repr=False)  # where those are in θ

    kinds: ClassVar[tuple[str, ...]] = ("",)  # outputs for each label
    quadratic: ClassVar[bool] = False  # whether f is a polynomial of degree two at most
    linear: ClassVar[bool] = False  # whether its drawn outputs are components of θ as they are

    def bind(self, prior: Family, labels: Sequence[str] | None) -> Mapping:
        """Fit the mapping to a family: which parts of θ are used, and what the outputs are called."""
        select, names = prior.components(labels)
        if self.drop_first and prior.classes and len(names) > 1:
            select, names = slice(1, None), names[1:]
        return replace(self, labels=names, select=select)

    def arrays(self) -> dict[str, Array]:
        """Numbers that it took from the prior when it was bound, by the names of its fields."""
        return {}

    def names(self) -> list[str]:
        """What the outputs are called, drawn ones first; "" means like the column."""
        return ["_".join(filter(None, (kind, label))) for kind in self.kinds for label in self.labels]

    def drawn(self, theta: Array) -> Array:
        """f(θ), (…, output)."""
        return np.empty((*theta.shape[:-1], 0))

    def expected(self, posterior: Family) -> Array | None:
        """E f(θ) in closed form, (category, output); None if there is none."""
        return np.empty((*posterior.mean().shape[:-1], 0))

    def known(self, posterior: Family) -> Array | None:
        """Outputs that are no function of θ, (category, output); None if there are none."""
        return None

    def outputs(self, theta: Array, posterior: Family) -> Array:
        """All outputs, the drawn ones of θ, (…, category, parameter), before the known ones of the posterior."""
        return self.joined(self.drawn(theta), posterior)

    def joined(self, drawn: Array, posterior: Family) -> Array:
        """Drawn outputs, (…, category, output), and behind them the known ones, which are the same for every draw."""
        known = self.known(posterior)
        if known is None:
            return drawn
        return np.concatenate([drawn, np.broadcast_to(known, (*drawn.shape[:-1], known.shape[-1]))], axis=-1)


class Mean(Mapping):
    """The mean of the target given θ: the probability, the class probabilities, μ, or the rate.

    μ is the mean of log y in the log-normal family: the logarithm of y's median, not of its mean.

    Examples
    --------
    >>> from catbayes import BetaBernoulli
    >>> from catbayes.mappings import Mean
    >>> Mean().expected(BetaBernoulli(alpha=[1.0, 3.0], beta=[1.0, 1.0])).tolist()
    [[0.5], [0.75]]
    """

    __slots__ = ()
    quadratic = True
    linear = True

    def drawn(self, theta: Array) -> Array:
        """Keep the mean parameters."""
        return theta[..., self.select]

    def expected(self, posterior: Family) -> Array:
        """E θ."""
        return posterior.mean()[..., self.select]


class MeanPrecision(Mean):
    """The drawn mean, and how precisely it is known: 1 / Var θ, which is not drawn.

    Examples
    --------
    >>> from catbayes import BetaBernoulli
    >>> from catbayes.mappings import MeanPrecision
    >>> MeanPrecision().known(BetaBernoulli(alpha=[1.0, 50.0], beta=[1.0, 50.0])).round().tolist()
    [[12.0], [404.0]]
    """

    __slots__ = ()
    kinds = ("mean", "precision")

    def known(self, posterior: Family) -> Array:
        """1 / Var θ; 0 where the variance is infinite, and a large number where rounding leaves none of it."""
        return np.asarray(1.0 / at_least(posterior.variance()[..., self.select], 1.0 / LARGEST))


class Polynomial(Mapping):
    """The mean and its square.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes.mappings import Polynomial
    >>> Polynomial().drawn(np.array([[0.5], [0.2]])).round(2).tolist()
    [[0.5, 0.25], [0.2, 0.04]]
    """

    __slots__ = ()
    quadratic = True
    kinds = ("mean", "square")

    def drawn(self, theta: Array) -> Array:
        """(θ, θ²)."""
        mean = theta[..., self.select]
        both: Array = namespace(mean).concatenate([mean, mean**2], axis=-1)
        return both

    def expected(self, posterior: Family) -> Array:
        """(E θ, (E θ)² + Var θ); a variance that does not exist gives way to the squared quartile distance."""
        mean = posterior.mean()[..., self.select]
        return np.concatenate([mean, mean**2 + finite_variance(posterior)[..., self.select]], axis=-1)


def finite_variance(posterior: Family) -> Array:
    """Var θ, or the squared quartile distance where it is infinite."""
    variance = posterior.variance()
    if np.isfinite(variance).all():
        return variance
    spread = posterior.quantile(0.75) - posterior.quantile(0.25)
    return np.where(np.isfinite(variance), variance, spread**2)


class Identity(Mapping):
    """All of θ: for numeric targets the drawn mean and the drawn precision of the target, as in the paper.

    Examples
    --------
    >>> from catbayes import NormalGamma
    >>> from catbayes.mappings import Identity
    >>> Identity().bind(NormalGamma(0.0, 1.0, 2.0, 2.0), None).names()
    ['mean', 'precision']
    """

    __slots__ = ()
    quadratic = True
    linear = True

    def bind(self, prior: Family, labels: Sequence[str] | None) -> Mapping:
        """Keep every parameter of a family whose θ is more than means."""
        if prior.location == slice(None):
            return super().bind(prior, labels)
        return replace(self, labels=prior.parameters, select=slice(None))

    def drawn(self, theta: Array) -> Array:
        """Return θ."""
        return theta[..., self.select]

    def expected(self, posterior: Family) -> Array:
        """E θ."""
        return posterior.mean()[..., self.select]


@dataclass(frozen=True, slots=True)
class WeightOfEvidence(Mapping):
    """log(θ / (1 - θ)) less the log-odds of the prior mean: 0 says nothing, positive speaks for the class.

    Examples
    --------
    >>> from catbayes import BetaBernoulli
    >>> from catbayes.mappings import WeightOfEvidence
    >>> bound = WeightOfEvidence().bind(BetaBernoulli(alpha=1.0, beta=3.0), None)
    >>> bound.expected(BetaBernoulli(alpha=[1.0, 30.0], beta=[3.0, 10.0])).round(2).tolist()
    [[-0.4], [2.23]]
    """

    baseline: Any = field(default=0.0, repr=False)

    EDGE: ClassVar[float] = float(np.finfo(np.float64).eps)

    def bind(self, prior: Family, labels: Sequence[str] | None) -> Mapping:
        """Measure from the prior mean of each class."""
        prior.class_betas()  # a number has none, and says so
        bound = Mapping.bind(self, prior, labels)
        assert isinstance(bound, WeightOfEvidence)
        mean = np.clip(prior.mean()[..., bound.select], self.EDGE, 1.0 - self.EDGE)
        return replace(bound, baseline=logit(mean))

    def arrays(self) -> dict[str, Array]:
        """The log-odds of the prior mean."""
        return {"baseline": np.asarray(self.baseline)}

    def drawn(self, theta: Array) -> Array:
        """Log-odds, finite even for a draw that rounds to 0 or 1."""
        xp, edge = namespace(theta), precision(theta)
        inside = xp.clip(theta[..., self.select], edge, 1.0 - edge)
        odds: Array = (logit(inside) if xp is np else xp.logit(inside)) - self.baseline
        return odds

    def expected(self, posterior: Family) -> Array:
        """E log-odds = ψ(α) - ψ(β); an average over quantiles where the bounds of the draws cut off a tail."""
        alpha, beta = posterior.class_betas()
        beta = positive(beta)
        odds = digamma(alpha) - digamma(beta)
        cut = np.minimum(alpha, beta) < 0.2
        if cut.any():
            probability = (np.arange(500) + 0.5) / 500
            theta = betaincinv(alpha[cut][:, None], beta[cut][:, None], probability)
            odds[cut] = logit(np.clip(theta, self.EDGE, 1.0 - self.EDGE)).mean(axis=-1)
        return np.asarray(odds[..., self.select] - self.baseline)


@dataclass(frozen=True, slots=True)
class Function(Mapping):
    """A callable of θ, (…, parameter) to (…) or (…, output); its attribute `names`, if any, names the outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes import SamplingBayesianEncoder
    >>> encoder = SamplingBayesianEncoder(mapping=lambda theta: np.sqrt(theta[..., 0]), prior=0, random_state=0)
    >>> encoder.fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]).transform([["a"]]).shape
    (1, 1)
    """

    function: Callable[[Array], Any] | None = None
    output_names: tuple[str, ...] = ()

    def bind(self, prior: Family, labels: Sequence[str] | None) -> Mapping:
        """Try the function on two draws at the prior mean, to learn how many outputs it has."""
        probe = np.stack([prior.mean(), prior.mean()])
        n_outputs = self._apply(probe).shape[-1]
        names = getattr(self.function, "names", None)
        if names is None:
            names = [""] if n_outputs == 1 else [str(number) for number in range(n_outputs)]
        if len(names) != n_outputs:
            raise InputError(f"mapping gives {n_outputs} outputs and names {len(names)}: {list(names)!r}.")
        return replace(self, output_names=tuple(names))

    def _apply(self, theta: Array) -> Array:
        assert self.function is not None
        result = np.asarray(self.function(theta), dtype=np.float64)
        rows = theta.shape[:-1]
        if result.shape == rows:
            return result[..., None]
        if result.shape[:-1] == rows and result.ndim == theta.ndim:
            return result
        raise InputError(
            f"mapping returned shape {result.shape} for θ of shape {theta.shape}: expected {rows} or {rows} with one "
            "more axis for several outputs. Keep the leading axes, and work on theta[..., i]."
        )

    def names(self) -> list[str]:
        """Names given by the function, or numbers."""
        return list(self.output_names)

    def drawn(self, theta: Array) -> Array:
        """Call the function."""
        return self._apply(theta)

    def expected(self, posterior: Family) -> Array | None:
        """Ask the function for a closed form, if it has one; otherwise the encoder averages draws."""
        closed_form = getattr(self.function, "expected", None)
        if closed_form is None:
            return None
        expected = np.asarray(closed_form(posterior), dtype=np.float64)
        return expected.reshape(len(posterior.strength), len(self.output_names))
