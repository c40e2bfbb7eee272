"""Where the prior of a column comes from: the column itself, the mean of all rows, the paper's γ, or the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from catbayes.core.validation import LARGEST, check_number, is_number
from catbayes.errors import InputError

__all__ = ["Empirical", "Prior", "Scaled"]


class Prior(Protocol):
    """A rule that makes a prior from the statistics of a column.

    Examples
    --------
    >>> from catbayes.priors import Empirical, Prior
    >>> rule: Prior = Empirical()
    """

    learnt: ClassVar[bool]  # whether the prior is estimated from the column, and uncertain itself

    def fit(self, family: Any, statistics: Any, units: float = 1.0) -> tuple[Any, Any]:
        """Return the prior, and the distribution that an unseen category draws from.

        `units` is the mean exposure of a row, 1 where there is none.
        """


@dataclass(frozen=True, slots=True)
class Empirical:
    """The prior that makes the column most likely, θ integrated out: `prior="empirical"`.

    Its mean is the mean of the categories, each weighted by its precision, because a new category is a draw from the
    categories: frequent ones do not count in proportion to their rows. A column without signal gets a prior so strong
    that every category has its mean. Heavy-tailed numbers, and counts that are far from Poisson, can look like signal.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> SamplingBayesianEncoder(prior=Empirical())
    SamplingBayesianEncoder(prior=Empirical())
    """

    learnt: ClassVar[bool] = True

    def fit(self, family: Any, statistics: Any, units: float = 1.0) -> tuple[Any, Any]:
        """Maximise the marginal likelihood."""
        prior = family.empirical(statistics.per(units)).per(1.0 / units)
        return prior, prior


@dataclass(frozen=True, slots=True)
class Scaled:
    """The paper's prior: the statistics of the whole table, scaled by γ.

    Parameters
    ----------
    gamma : float ≥ 0
        Share of the table that the prior is worth; 0 is flat.
    strength : float ≥ 0, optional
        ν of the normal family, in rows. By default γN, which is proper; 0 is the paper's own setting (equation 12), in
        which nothing shrinks the mean. Unseen categories draw at ν = 1 or more either way.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder, Scaled
    >>> paper = SamplingBayesianEncoder(prior=Scaled(1e-6, strength=0), own_target="include")
    """

    gamma: float
    strength: float | None = None

    learnt: ClassVar[bool] = False

    def fit(self, family: Any, statistics: Any, units: float = 1.0) -> tuple[Any, Any]:
        """Scale the whole table."""
        check_number("gamma", self.gamma, 0.0, LARGEST)
        prior = family.scaled(statistics.total().per(units), self.gamma)
        if self.strength is not None:
            check_number("strength", self.strength, 0.0, LARGEST)
            if not family.free_strength:
                raise InputError(
                    f"Scaled(strength={self.strength!r}): only the normal families have one; leave it out for "
                    f"{family.__name__}."
                )
            prior = prior.worth(self.strength)
        return prior.per(1.0 / units), prior.for_unseen().per(1.0 / units)


@dataclass(frozen=True, slots=True)
class InRows:
    """The mean of all rows, with the weight of a number of rows: `prior=10`, as `smooth` in scikit-learn."""

    rows: float

    learnt: ClassVar[bool] = False

    def fit(self, family: Any, statistics: Any, units: float = 1.0) -> tuple[Any, Any]:
        """Take the mean of the whole table."""
        prior = family.from_rows(statistics.total().per(units), self.rows)
        return prior.per(1.0 / units), prior.for_unseen().per(1.0 / units)


@dataclass(frozen=True, slots=True)
class Given:
    """A prior with the parameters of the user, such as `BetaBernoulli(alpha=2, beta=8)`."""

    prior: Any

    learnt: ClassVar[bool] = False

    def fit(self, family: Any, statistics: Any, units: float = 1.0) -> tuple[Any, Any]:
        """Return the prior as it is, if it is for this target."""
        if type(self.prior) is not family:
            raise InputError(
                f"prior is a {type(self.prior).__name__}, and the target needs a {family.__name__}. "
                "Give that one, or set family= to match the prior."
            )
        expected = family.scaled(statistics.total(), 0.0).arrays()
        for name, values in self.prior.arrays().items():
            if not np.isfinite(values).all() or (name not in family.signed and (values <= 0).any()):
                accepted = "finite numbers" if name in family.signed else "finite numbers > 0"
                raise InputError(f"{family.__name__}: {name}={values.tolist()}: expected {accepted}.")
            if values.shape != expected[name].shape:
                raise InputError(
                    f"prior: {name} has shape {values.shape}, and this target needs {expected[name].shape}."
                )
        return self.prior, self.prior


def resolve_prior(prior: Any) -> Prior:
    """Read the parameter `prior` of an encoder."""
    if isinstance(prior, str) and prior == "empirical":
        return Empirical()
    if is_number(prior) and 0 < prior < float("inf"):
        return InRows(float(prior))
    if isinstance(prior, Empirical | Scaled):
        return prior
    if hasattr(prior, "leave_out") and not isinstance(prior, type):
        return Given(prior)
    raise InputError(
        f'prior={prior!r}: expected "empirical", a number of rows > 0, or a prior object such as Scaled(0), which is '
        "flat."
    )
