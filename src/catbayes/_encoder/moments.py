"""ConjugateMomentEncoder: a category becomes the first moments of its posterior."""

from __future__ import annotations

from typing import Any, Literal

from catbayes._encoder._base import PosteriorEncoder, PriorLike
from catbayes.core.drawing import Draws
from catbayes.core.fitted import Missing, Settings, Unseen
from catbayes.core.leakage import CrossFit, Include, resolve_own_target
from catbayes.core.selection import Selection
from catbayes.core.types import Columns, Hierarchy, Interactions, Kinds, Seed
from catbayes.core.validation import check_count
from catbayes.families import resolve_family
from catbayes.mappings import PosteriorMoments, resolve_mapping
from catbayes.priors import resolve_prior


class ConjugateMomentEncoder(PosteriorEncoder):
    """Encode categories by the first moments of the posterior of the target's mean, without drawing.

    The deterministic encoding of Slakey, Salas and Schamroth (*Encoding Categorical Variables with Conjugate Bayesian
    Models for WeWork Lead Scoring Engine*, 2019), on the same posteriors as `SamplingBayesianEncoder`.

    Parameters
    ----------
    columns : "auto", "all", a name, list of names or positions, or callable
        What to encode; the other columns pass through.
    interactions : list of tuples of columns, "pairs", "triples", "auto", or None
        As for `SamplingBayesianEncoder`.
    hierarchy : dict of column to list of parent columns, or to a table of parents, or None
        As for `SamplingBayesianEncoder`.
    kinds : dict of column to kind, or None
        As for `SamplingBayesianEncoder`.
    n_moments : int from 1 to 4, default=2
        Mean, variance, skewness and excess kurtosis, as many as asked for.
    family : "auto", a name in `catbayes.families.FAMILIES`, or a family class
        Likelihood of the target.
    prior : "empirical", number ≥ 0, or prior object
        As for `SamplingBayesianEncoder`.
    own_target : "cross_fit", "include", `CrossFit(cv)` or `Include()`
        Whether `fit_transform` keeps a row's own target out of its features, by folds. Leaving out one row in closed
        form is not offered: without draws to hide it, that gives the target back exactly.
    unseen : "prior", "nan", "error"
        What to do with a category that `fit` did not see: encode it by the prior or as NaN, or refuse it.
    missing : "category", "prior", "nan", "error"
        What to do with a missing value.
    drop_first : bool, default=False
        With three classes or more, leave out the outputs of the first class.
    random_state : int, RandomState or None
        Seed of the shuffled folds.
    n_jobs : int or None
        Threads over columns.

    Attributes
    ----------
    posteriors_, columns_, interactions_, classes_, family_, n_features_in_, feature_names_in_
        As for `SamplingBayesianEncoder`.

    Examples
    --------
    >>> from catbayes import BetaBernoulli, ConjugateMomentEncoder
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]
    >>> encoder = ConjugateMomentEncoder(prior=BetaBernoulli(alpha=1, beta=1)).fit(X, y)
    >>> encoder.transform([["a"], ["b"]])
    array([[0.5   , 0.05  ],
           [0.75  , 0.0375]])
    >>> encoder.get_feature_names_out(["letter"])
    array(['letter_mean', 'letter_variance'], dtype=object)
    """

    def __init__(
        self,
        columns: Columns = "auto",
        *,
        interactions: Interactions = None,
        hierarchy: Hierarchy = None,
        kinds: Kinds = None,
        n_moments: int = 2,
        family: Any = "auto",
        prior: PriorLike = "empirical",
        own_target: CrossFit | Include | Literal["cross_fit", "include"] = "cross_fit",
        unseen: Unseen = "prior",
        missing: Missing = "category",
        drop_first: bool = False,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.columns = columns
        self.interactions = interactions
        self.hierarchy = hierarchy
        self.kinds = kinds
        self.n_moments = n_moments
        self.family = family
        self.prior = prior
        self.own_target = own_target
        self.unseen = unseen
        self.missing = missing
        self.drop_first = drop_first
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        check_count("n_moments", self.n_moments, 1, 4)
        return Settings(
            selection=Selection(self.columns, self.interactions, self.hierarchy, kinds=self.kinds),
            family=resolve_family(self.family),
            prior=resolve_prior(self.prior),
            mapping=resolve_mapping(PosteriorMoments(n_moments=self.n_moments, drop_first=self.drop_first)),
            own_target=resolve_own_target(self.own_target, (CrossFit, Include)),
            draws=Draws(),
            effects=None,
            kept=None,
            unseen=self.unseen,
            missing=self.missing,
            n_jobs=self.n_jobs,
        )
