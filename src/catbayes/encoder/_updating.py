"""Encoders as values: fitted piece by piece, joined, taken apart, and allowed to forget."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, Self, cast

from sklearn.utils.validation import check_is_fitted

from catbayes._validation import check_number
from catbayes.encoder._base import PosteriorEncoder
from catbayes.encoder._exporting import ExportableEncoder
from catbayes.encoder._file import build_encoder, load_encoder, save_encoder
from catbayes.errors import InputError
from catbayes.evidence import Evidence, check_classes


class UpdatableEncoder(ExportableEncoder):
    """A posterior encoder whose evidence may grow, shrink and fade."""

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None, exposure: Any = None
    ) -> Self:
        """Learn from the next batch of rows; the batches together give what one fit on all of them would.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, optional
            All class labels, if the first batch may hold only one of them. New ones may turn up later.
        exposure : array-like of shape (n_rows,), or str, optional
            As for `fit`.

        Returns
        -------
        self
            The encoder, fitted to everything it was given so far.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder
        >>> encoder = SamplingBayesianEncoder(random_state=0)
        >>> for X, y in [([["a"], ["b"]], [0, 1]), ([["b"], ["c"]], [1, 0])]:
        ...     encoder = encoder.partial_fit(X, y)
        >>> encoder.posteriors_[0]["count"].tolist()
        [1.0, 2.0, 1.0, 0.0]
        """
        self._check()
        known = getattr(self, "evidence_", None)
        fresh = self._gather_any(X, y, sample_weight, known, classes, exposure)
        if known is None:
            return self._refit(fresh, self._new_seed())
        return self._refit(known + fresh, self._seed)

    def remove(self, X: Any, y: Any = None, sample_weight: Any = None, exposure: Any = None) -> Self:
        """Take rows out again, as if they had never been fitted on: a customer asks to be forgotten.

        Parameters
        ----------
        X, y, sample_weight, exposure
            The rows, as they were given to `fit` or `partial_fit`.

        Returns
        -------
        self
            The encoder without them; a category of which nothing is left becomes unseen.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder
        >>> encoder = SamplingBayesianEncoder().fit([["a"], ["b"], ["b"], ["c"]], [0, 1, 1, 0])
        >>> encoder.remove([["c"]], [0]).evidence_.columns[0].categories.values
        ('a', 'b')
        """
        known = self._known()
        left = known - self._gather_any(X, y, sample_weight, known, exposure=exposure)
        check_classes(left)
        return self._refit(left, self._seed)

    def merge(self, *others: Self) -> Self:
        """Join encoders that were fitted on disjoint rows: the result is an encoder fitted on all of them.

        Parameters
        ----------
        *others : encoders
            Fitted on the same columns. Settings and seed are those of this one.

        Returns
        -------
        encoder
            A new one; `a + b` is `a.merge(b)`, and `a - b` takes the rows of b out of a again.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder
        >>> north = SamplingBayesianEncoder(random_state=0).fit([["a"], ["b"]], [0, 1])
        >>> south = SamplingBayesianEncoder(random_state=0).fit([["b"], ["c"]], [1, 0])
        >>> (north + south).posteriors_[0]["count"].tolist()
        [1.0, 2.0, 1.0, 0.0]
        >>> (north + south - south).posteriors_[0]["count"].tolist()
        [1.0, 1.0, 0.0]
        """
        evidence = self._known()
        for other in others:
            if not isinstance(other, PosteriorEncoder):
                raise InputError(f"merge takes fitted encoders, and was given a {type(other).__name__}.")
            check_is_fitted(other)
            evidence = evidence + other.evidence_
        return self._like(evidence)

    def forget(self, rate: float) -> Self:
        """Discount all evidence so far: every row counts for `1 - rate` of what it did.

        Parameters
        ----------
        rate : float from 0 to 1
            Share that is forgotten. Called before each day's `partial_fit`, it makes an encoder that follows a drift.

        Returns
        -------
        self
            The encoder, less sure of itself.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder
        >>> encoder = SamplingBayesianEncoder().fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1])
        >>> encoder.forget(0.25).posteriors_[0]["count"].tolist()
        [1.5, 1.5, 0.0]
        """
        evidence = self._known()
        if check_number("rate", rate, 0.0, 1.0) == 1.0:
            raise InputError("rate=1 forgets everything: fit a new encoder instead.")
        return self._refit(evidence.discounted(1.0 - rate), self._seed)

    def save(self, path: Any) -> None:
        """Write the fitted encoder to one file: a Parquet table of statistics with a JSON header, without pickle.

        Parameters
        ----------
        path : str, path or open binary file
            An existing file is replaced when the new one is complete.

        Examples
        --------
        >>> import catbayes, os, tempfile
        >>> from catbayes import SamplingBayesianEncoder
        >>> encoder = SamplingBayesianEncoder(random_state=0).fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1])
        >>> path = os.path.join(tempfile.mkdtemp(), "model.catbayes")
        >>> encoder.save(path)
        >>> SamplingBayesianEncoder.load(path).transform([["a"]]) == encoder.transform([["a"]])
        array([[ True]])
        """
        self._known()
        save_encoder(self, path)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read an encoder that `save` wrote. Loading never runs code; `catbayes.load` takes any kind of encoder.

        Parameters
        ----------
        path : str, path or open binary file
            What `save` wrote.

        Returns
        -------
        encoder
            With the same settings, posteriors, seed and draws.

        Examples
        --------
        >>> import io
        >>> from catbayes import SamplingBayesianEncoder
        >>> file = io.BytesIO()
        >>> SamplingBayesianEncoder(prior=0).fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]).save(file)
        >>> SamplingBayesianEncoder.load(file).transform([["a"]])
        array([[0.5]])
        """
        return cast(Self, load_encoder(path, {cls.__name__: partial(build_encoder, cls)}))

    def __add__(self, other: Self) -> Self:
        return self.merge(other) if isinstance(other, PosteriorEncoder) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, PosteriorEncoder):
            return NotImplemented
        check_is_fitted(other)
        left = self._known() - other.evidence_
        check_classes(left)
        return self._like(left)

    def _known(self) -> Evidence:
        check_is_fitted(self)
        return self.evidence_

    def _like(self, evidence: Evidence) -> Self:
        """A copy of this encoder, settings and seed included, fitted to other evidence."""
        other = copy.copy(self)
        if hasattr(self, "_sklearn_output_config"):  # what set_output chose, which copies would share
            other._sklearn_output_config = dict(self._sklearn_output_config)
        return other._refit(evidence, self._seed)
