"""ConjugateMomentEncoder: a category becomes the first moments of its posterior."""

from __future__ import annotations

from typing import Any

import numpy as np

from catbayes._validation import Array, Codes, check_count, check_option
from catbayes.encoder._column import EncodedColumn, cross_fit
from catbayes.encoder._reading import read_folds
from catbayes.encoder._updating import UpdatableEncoder
from catbayes.mappings import Mapping, PosteriorMoments


class ConjugateMomentEncoder(UpdatableEncoder):
    """Encode categories by the first moments of the posterior of the target's mean, without drawing.

    The deterministic encoding of Slakey, Salas and Schamroth (*Encoding Categorical Variables with Conjugate Bayesian
    Models for WeWork Lead Scoring Engine*, 2019), on the same posteriors as `SamplingBayesianEncoder`.

    Parameters
    ----------
    columns : "auto", "all", or list of names or positions
        What to encode; the other columns pass through.
    interactions : list of tuples of columns, "pairs", "triples", "auto", or None
        As for `SamplingBayesianEncoder`.
    hierarchy : dict of column to list of parent columns, or to a table of parents, or None
        As for `SamplingBayesianEncoder`.
    n_moments : int from 1 to 4, default=2
        Mean, variance, skewness and excess kurtosis, as many as asked for.
    family : "auto", "bernoulli", "categorical", "normal", "lognormal", "poisson", or a family class
        Likelihood of the target.
    prior : "empirical", number ≥ 0, or prior object
        As for `SamplingBayesianEncoder`.
    own_target : "cross_fit", "include"
        Whether `fit_transform` keeps a row's own target out of its features, by folds. Leaving out one row in closed
        form is not offered: without draws to hide it, that gives the target back exactly.
    cv : int or splitter, default=5
        Folds of "cross_fit".
    unseen : "prior", "error"
        What to do with a category that `fit` did not see.
    missing : "category", "prior", "error"
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
        columns: Any = "auto",
        *,
        interactions: Any = None,
        hierarchy: Any = None,
        n_moments: int = 2,
        family: Any = "auto",
        prior: Any = "empirical",
        own_target: str = "cross_fit",
        cv: Any = 5,
        unseen: str = "prior",
        missing: str = "category",
        drop_first: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.columns = columns
        self.interactions = interactions
        self.hierarchy = hierarchy
        self.n_moments = n_moments
        self.family = family
        self.prior = prior
        self.own_target = own_target
        self.cv = cv
        self.unseen = unseen
        self.missing = missing
        self.drop_first = drop_first
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, exposure: Any = None) -> Any:
        """Fit, and encode the training rows, their own targets kept out by folds.

        .. note:: This is not `fit(X, y).transform(X)`: see `own_target`.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        groups : array-like of shape (n_rows,), optional
            Handed to `cv`.
        exposure
            As for `fit`.

        Returns
        -------
        features : array or frame of shape (n_rows, n_outputs)
            Moments for each row; columns that are not encoded as they were.
        """
        learned = self._learn(X, y, sample_weight, exposure)
        folds = []
        if self.own_target == "cross_fit":
            folds = read_folds(self.cv, learned.target, learned.y, groups, learned.seed)

        def encode(item: tuple[EncodedColumn, Codes]) -> Array:
            column, codes = item
            if not folds:
                return np.asarray(column.expectation[codes])
            entries, entry = cross_fit(column.posterior, codes, learned.target, learned.weight, folds)
            moments = column.mapping.known(entries.family)
            assert moments is not None
            return np.asarray(moments[entry])

        blocks = self._parallel(encode, list(zip(learned.columns, learned.codes, strict=True)))
        self._keep(learned)
        return self._assemble(learned.table, blocks)

    def _check(self) -> None:
        super()._check()
        check_option("own_target", self.own_target, ("cross_fit", "include"))
        check_count("n_moments", self.n_moments, 1, 4)

    def _mapping(self) -> Mapping:
        return PosteriorMoments(n_moments=self.n_moments)
