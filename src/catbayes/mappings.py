"""The paper's f: from a draw of θ to the features of a column.

Outputs of a mapping are *drawn*, functions of θ, or *known*, functions of the posterior itself, such as its precision.
The difference matters: a known output of a leave-one-out posterior reveals the row's own target, because no sampling
noise masks it, so the encoder takes known outputs from other folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy.special import betaincinv, digamma, logit

from catbayes.core.arrays import namespace, positive, precision
from catbayes.core.validation import LARGEST, Array, check_count, is_number
from catbayes.errors import InputError
from catbayes.families import Family

__all__ = [
    "MAPPINGS",
    "Function",
    "Identity",
    "Mapping",
    "Mean",
    "MeanPrecision",
    "Polynomial",
    "PosteriorMoments",
    "PredictiveQuantiles",
    "WeightOfEvidence",
]

EDGE = float(np.finfo(np.float64).eps)
"""Log-odds are finite for probabilities from here to 1 less this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """f(θ) of one column: `bind` fits it to the prior of the column, then it maps draws and posteriors.

    Examples
    --------
    >>> from catbayes.families import DirichletCategorical
    >>> from catbayes.mappings import Polynomial
    >>> Polynomial(drop_first=True).bind(DirichletCategorical([1.0, 1.0, 2.0]), ["a", "b", "c"]).names()
    ['mean_b', 'mean_c', 'square_b', 'square_c']
    """

    drop_first: bool = False  # whether to leave out the outputs of the first of several classes, which the others imply
    # Set by `bind`: a label for each mean parameter that is used, and where those are in θ.
    labels: tuple[str, ...] = field(default=("",), repr=False)
    select: slice = field(default_factory=lambda: slice(None), repr=False)

    kinds: ClassVar[tuple[str, ...]] = ("",)  # outputs for each label
    quadratic: ClassVar[bool] = False  # whether f is a polynomial of degree two at most
    linear: ClassVar[bool] = False  # whether its drawn outputs are components of θ

    def bind(self, prior: Family, labels: Sequence[str] | None) -> Mapping:
        """Select the parts of θ that are used, and name the outputs."""
        select, n_means = prior.location, prior.mean()[..., prior.location].shape[-1]
        names = tuple(labels or map(str, range(n_means))) if n_means > 1 else ("",)
        if self.drop_first and prior.classes and len(names) > 1:
            select, names = slice(1, None), names[1:]
        return replace(self, labels=names, select=select)

    def arrays(self) -> dict[str, Array]:
        """Return the numbers that `bind` took from the prior, by the names of their fields."""
        return {}

    def names(self) -> list[str]:
        """Names of the outputs, drawn ones first; "" stands for the name of the column."""
        return ["_".join(filter(None, (kind, label))) for kind in self.kinds for label in self.labels]

    def drawn(self, theta: Array) -> Array:
        """f(θ), (…, output)."""
        return np.empty((*theta.shape[:-1], 0))

    def expected(self, posterior: Family) -> Array | None:
        """E f(θ) in closed form, (category, output); None if there is none."""
        return np.empty((*posterior.mean().shape[:-1], 0))

    def known(self, posterior: Family) -> Array | None:
        """Outputs that are functions of the posterior and not of θ, (category, output); None if there are none."""
        return None

    def outputs(self, theta: Array, posterior: Family) -> Array:
        """Return the drawn outputs of θ, (…, category, parameter), and then the known ones of the posterior."""
        return self.joined(self.drawn(theta), posterior)

    def joined(self, drawn: Array, posterior: Family) -> Array:
        """Append the known outputs to drawn ones, (…, category, output)."""
        known = self.known(posterior)
        if known is None:
            return drawn
        return np.concatenate([drawn, np.broadcast_to(known, (*drawn.shape[:-1], known.shape[-1]))], axis=-1)


class Mean(Mapping):
    """The mean of the target given θ: the probability, the class probabilities, μ, or the rate.

    In the log-normal family μ is the mean of log y: the logarithm of the median of y, not of its mean.

    Examples
    --------
    >>> from catbayes.families import BetaBernoulli
    >>> Mean().expected(BetaBernoulli(alpha=[1.0, 3.0], beta=[1.0, 1.0])).tolist()
    [[0.5], [0.75]]
    """

    __slots__ = ()
    quadratic = True
    linear = True

    def drawn(self, theta: Array) -> Array:
        """Select the mean parameters."""
        return theta[..., self.select]

    def expected(self, posterior: Family) -> Array:
        """E θ."""
        return posterior.mean()[..., self.select]


class MeanPrecision(Mean):
    """The drawn mean, and the precision of its posterior, 1 / Var θ, which is not drawn.

    Examples
    --------
    >>> from catbayes.families import BetaBernoulli
    >>> MeanPrecision().known(BetaBernoulli(alpha=[1.0, 50.0], beta=[1.0, 50.0])).round().tolist()
    [[12.0], [404.0]]
    """

    __slots__ = ()
    kinds = ("mean", "precision")

    def known(self, posterior: Family) -> Array:
        """1 / Var θ; 0 where the variance is infinite, and a large number where rounding leaves none of it."""
        return np.asarray(1.0 / posterior.variance()[..., self.select].clip(1.0 / LARGEST))


class Polynomial(Mapping):
    """The mean and its square.

    Examples
    --------
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
        """(E θ, (E θ)² + Var θ)."""
        mean = posterior.mean()[..., self.select]
        return np.concatenate([mean, mean**2 + _finite_variance(posterior)[..., self.select]], axis=-1)


class Identity(Mean):
    """All of θ: for numeric targets the drawn mean and the drawn precision of the target, as in the paper.

    Examples
    --------
    >>> from catbayes.families import NormalGamma
    >>> Identity().bind(NormalGamma(0.0, 1.0, 2.0, 2.0), None).names()
    ['mean', 'precision']
    """

    __slots__ = ()

    def bind(self, prior: Family, labels: Sequence[str] | None) -> Mapping:
        """Select every parameter of a family whose θ is more than means."""
        if prior.location == slice(None):
            return super().bind(prior, labels)
        return replace(self, labels=prior.parameters, select=slice(None))


@dataclass(frozen=True, slots=True)
class WeightOfEvidence(Mapping):
    """log(θ / (1 - θ)) less the log-odds of the prior mean: 0 is neutral, positive is evidence for the class.

    Examples
    --------
    >>> from catbayes.families import BetaBernoulli
    >>> bound = WeightOfEvidence().bind(BetaBernoulli(alpha=1.0, beta=3.0), None)
    >>> bound.expected(BetaBernoulli(alpha=[1.0, 30.0], beta=[3.0, 10.0])).round(2).tolist()
    [[-0.4], [2.23]]
    """

    baseline: Any = field(default=0.0, repr=False)

    def bind(self, prior: Family, labels: Sequence[str] | None) -> Mapping:
        """Measure from the prior mean of each class."""
        if not prior.classes:
            raise InputError(
                'mapping="weight_of_evidence" needs a class target, and this one is numeric. '
                'Use "mean", "mean_precision", "polynomial" or "identity".'
            )
        bound: Any = Mapping.bind(self, prior, labels)
        found: Mapping = replace(bound, baseline=logit(np.clip(prior.mean()[..., bound.select], EDGE, 1.0 - EDGE)))
        return found

    def arrays(self) -> dict[str, Array]:
        """The log-odds of the prior mean."""
        return {"baseline": np.asarray(self.baseline)}

    def drawn(self, theta: Array) -> Array:
        """Log-odds, finite even for a draw that rounds to 0 or 1."""
        xp, edge = namespace(theta), precision(theta)
        inside = xp.clip(theta[..., self.select], edge, 1.0 - edge)
        odds: Array = (logit(inside) if xp is np else xp.logit(inside)) - self.baseline
        return odds

    def expected(self, posterior: Any) -> Array:
        """E log-odds = ψ(α) - ψ(β); an average over quantiles where the bounds of the draws cut off a tail."""
        alpha, beta = posterior.class_betas()
        beta = positive(beta)
        odds = digamma(alpha) - digamma(beta)
        cut = np.minimum(alpha, beta) < 0.2
        if cut.any():
            probability = (np.arange(500) + 0.5) / 500
            theta = betaincinv(alpha[cut][:, None], beta[cut][:, None], probability)
            odds[cut] = logit(np.clip(theta, EDGE, 1.0 - EDGE)).mean(axis=-1)
        return np.asarray(odds[..., self.select] - self.baseline)


@dataclass(frozen=True, slots=True)
class Function(Mapping):
    """A callable of θ, (…, parameter) to (…) or (…, output); its attribute `names`, if any, names the outputs.

    Its attribute `expected`, if any, is called with the posterior for E f(θ); otherwise quantiles are averaged over.

    Examples
    --------
    >>> Function(function=lambda theta: np.sqrt(theta[..., 0])).drawn(np.array([[0.25], [0.49]])).tolist()
    [[0.5], [0.7]]
    """

    function: Any = None
    output_names: tuple[str, ...] = ()

    def bind(self, prior: Family, labels: Sequence[str] | None) -> Mapping:
        """Try the function on two draws at the prior mean, to find how many outputs it has."""
        n_outputs = self.drawn(np.stack([prior.mean(), prior.mean()])).shape[-1]
        names = getattr(self.function, "names", None)
        if names is None:
            names = [""] if n_outputs == 1 else [str(number) for number in range(n_outputs)]
        if len(names) != n_outputs:
            raise InputError(f"mapping gives {n_outputs} outputs and names {len(names)}: {list(names)!r}.")
        return replace(self, output_names=tuple(names))

    def names(self) -> list[str]:
        """Names given by the function, or numbers."""
        return list(self.output_names)

    def drawn(self, theta: Array) -> Array:
        """Call the function."""
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

    def expected(self, posterior: Family) -> Array | None:
        """Call the closed form, if the function has one."""
        closed_form = getattr(self.function, "expected", None)
        if closed_form is None:
            return None
        expected = np.asarray(closed_form(posterior), dtype=np.float64)
        return expected.reshape(len(posterior.strength), len(self.output_names))


# ------------------------------------------------------------------------------ nothing is drawn


@dataclass(frozen=True, slots=True)
class PosteriorMoments(Mapping):
    """Mean, variance, skewness and excess kurtosis of the posterior of the mean: the first `n_moments`, none drawn.

    The deterministic encoding of Slakey, Salas and Schamroth (*Encoding Categorical Variables with Conjugate Bayesian
    Models for WeWork Lead Scoring Engine*, 2019). In training a row's own target is excluded by folds.

    Examples
    --------
    >>> from catbayes.families import BetaBernoulli
    >>> PosteriorMoments(n_moments=2).known(BetaBernoulli(alpha=[1.0], beta=[1.0])).round(3).tolist()
    [[0.5, 0.083]]
    """

    n_moments: int = 2

    quadratic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Require one to four."""
        check_count("n_moments", self.n_moments, 1, 4)

    def names(self) -> list[str]:
        """The first `n_moments` of the four."""
        kinds = ("mean", "variance", "skewness", "kurtosis")[: self.n_moments]
        if kinds == ("mean",):
            return list(self.labels)
        return ["_".join(filter(None, (kind, label))) for kind in kinds for label in self.labels]

    def known(self, posterior: Family) -> Array:
        """Moments of the posterior; a skewness or kurtosis that does not exist is 0."""
        moments = [posterior.mean(), _finite_variance(posterior)][: self.n_moments]
        moments = [moment[..., self.select] for moment in moments]
        if self.n_moments > 2:
            where = self.select if posterior.location == slice(None) else slice(None)
            moments += [moment[..., where] for moment in posterior.skewness_and_kurtosis()[: self.n_moments - 2]]
        return np.nan_to_num(np.concatenate(moments, axis=-1), nan=0.0)


@dataclass(frozen=True, slots=True)
class PredictiveQuantiles(Mapping):
    """Quantiles of the target of a new row of the category, one for each of the `probabilities`.

    They are those of the posterior predictive distribution: Student's t for the normal family, its exponential for the
    log-normal one (quantiles of the amount itself, not of its logarithm), and a negative binomial for counts, in one
    unit of exposure. A class has no quantiles. Nothing is drawn, so `fit_transform` takes them from other folds.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.families import GammaPoisson
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], [0, 1, 8, 12]
    >>> prior = GammaPoisson(alpha=1.0, beta=0.5)
    >>> encoder = SamplingBayesianEncoder(family="poisson", prior=prior, mapping=PredictiveQuantiles((0.1, 0.9)))
    >>> encoder.fit(X, y).transform([["a"], ["b"]])
    array([[ 0.,  2.],
           [ 4., 13.]])
    >>> encoder.get_feature_names_out(["shop"])
    array(['shop_q10', 'shop_q90'], dtype=object)
    """

    probabilities: Sequence[float] = (0.1, 0.5, 0.9)

    quadratic: ClassVar[bool] = True

    def bind(self, prior: Family, labels: Sequence[str] | None) -> Mapping:
        """Refuse classes, and numbers that are not probabilities."""
        if prior.classes:
            raise InputError(
                "PredictiveQuantiles needs a numeric target, and a class has no quantiles. Use "
                'mapping="mean_precision", or set family= if the classes are numbers.'
            )
        given = list(self.probabilities) if isinstance(self.probabilities, Iterable) else []
        if not given or not all(is_number(p) and 0.0 < p < 1.0 for p in given) or len(set(given)) < len(given):
            raise InputError(
                f"PredictiveQuantiles(probabilities={self.probabilities!r}): expected different numbers between 0 "
                "and 1, such as (0.1, 0.5, 0.9)."
            )
        return Mapping.bind(self, prior, labels)

    def names(self) -> list[str]:
        """Name each by its percentage."""
        return [f"q{100.0 * probability:.10g}" for probability in self.probabilities]

    def known(self, posterior: Family) -> Array:
        """Quantiles of a new target, (category, probability)."""
        return np.stack([posterior.predictive_quantile(probability) for probability in self.probabilities], axis=-1)


def _finite_variance(posterior: Family) -> Array:
    """Var θ, or the squared quartile distance where it is infinite."""
    variance = posterior.variance()
    if np.isfinite(variance).all():
        return variance
    spread = posterior.quantile(0.75) - posterior.quantile(0.25)
    return np.where(np.isfinite(variance), variance, spread**2)


# --------------------------------------------------------------------------------------- by name

MAPPINGS: dict[str, Mapping] = {
    "mean": Mean(),
    "mean_precision": MeanPrecision(),
    "polynomial": Polynomial(),
    "weight_of_evidence": WeightOfEvidence(),
    "identity": Identity(),
    "moments": PosteriorMoments(),
}
"""By the names that the parameter `mapping` of the encoders takes."""

MappingWord: TypeAlias = Literal["mean", "mean_precision", "polynomial", "weight_of_evidence", "identity", "moments"]
MappingLike: TypeAlias = MappingWord | Mapping | Callable[[Array], Any]
"""What the parameter `mapping` takes."""


def resolve_mapping(mapping: Any) -> Mapping:
    """Read the parameter `mapping` of an encoder."""
    if isinstance(mapping, str) and mapping in MAPPINGS:
        return MAPPINGS[mapping]
    if isinstance(mapping, Mapping):
        if not isinstance(mapping.drop_first, bool):
            raise InputError(f"drop_first={mapping.drop_first!r}: expected True or False.")
        return mapping
    if callable(mapping):
        return Function(function=mapping)
    accepted = ", ".join(f'"{name}"' for name in MAPPINGS)
    raise InputError(f"mapping={mapping!r}: expected one of {accepted}, a callable of θ or a mapping object.")
