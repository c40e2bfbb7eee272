"""MultiTargetEncoder: one table, several targets, and an encoder of its own for each of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn import clone, config_context, get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from catbayes._encoder._base import builders
from catbayes._encoder._each import fit_each, make_encoders, naming, require_same, target_seeds
from catbayes._encoder._joint import JointLayout
from catbayes._encoder._reading import input_names, read_table, read_targets
from catbayes._encoder._targets_file import build_targets, save_targets
from catbayes._encoder.sampling import SamplingBayesianEncoder
from catbayes.core.leakage import splitter_of
from catbayes.core.types import ByRow, ByRowOrName, File, Labels, Name, RowId, Seed, TableLike
from catbayes.errors import InputError
from catbayes.io.save import load_table
from catbayes.io.sources import is_source

KINDS = builders(SamplingBayesianEncoder)
"""What makes the encoder of one target from a file."""


class MultiTargetEncoder(TransformerMixin, BaseEstimator):
    """Encode the same columns towards several targets: each category becomes a feature for every target.

    Each target, whether a class or a number, has a clone of the encoder with a seed of its own. Columns that are not
    encoded pass through once. As with a single target, `fit_transform` keeps a row's own targets out of its features,
    each out of those that are made of it.

    Parameters
    ----------
    encoder : SamplingBayesianEncoder or None
        How to encode towards one target; None is `SamplingBayesianEncoder()`. Seeds of the targets are derived from its
        `random_state`. With `family="auto"` each target has the family that it asks for.

    Attributes
    ----------
    encoders_ : dict
        The fitted encoder of each target, by its name, or by its number if y was an array.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from catbayes import MultiTargetEncoder, SamplingBayesianEncoder, Scaled
    >>> X = pd.DataFrame({"city": ["Oslo", "Oslo", "Rome", "Rome"], "rooms": [2, 3, 1, 4]})
    >>> y = pd.DataFrame({"price": [9.5, 11.0, 2.5, 4.0], "sold": ["no", "yes", "yes", "yes"]})
    >>> encoder = MultiTargetEncoder(SamplingBayesianEncoder(prior=Scaled(0), random_state=0))
    >>> encoder = encoder.set_output(transform="pandas")
    >>> encoder.fit_transform(X, y).shape  # draws to train on
    (4, 3)
    >>> encoder.transform(X.iloc[::2]).round(2)
       city_price  city_sold  rooms
    0       10.25       0.50      2
    2        3.25       0.75      1
    >>> encoder.encoders_["sold"].classes_
    array(['no', 'yes'], dtype=object)

    Where only some rows have an amount at all, each target has its weights:

    >>> spent = pd.Series([0.0, 20.5, 0.0, 5.5])
    >>> y, weight = pd.DataFrame({"buys": spent > 0, "spends": spent}), pd.DataFrame({"buys": 1.0, "spends": spent > 0})
    >>> encoder.fit(X, y, weight.astype(float)).transform(X.iloc[::2]).round(2)
       city_buys  city_spends  rooms
    0        0.5         20.5      2
    2        0.5          5.5      1
    """

    def __init__(self, encoder: Any = None) -> None:
        self.encoder = encoder

    def fit(
        self,
        X: TableLike,
        y: TableLike | ByRowOrName = None,
        sample_weight: TableLike | ByRowOrName = None,
        exposure: ByRowOrName = None,
    ) -> Self:
        """Learn the posteriors of every target.

        .. note:: Train models on `fit_transform(X, y)`, which is not `fit(X, y).transform(X)`.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Array, nested list, or frame of pandas, polars or pyarrow.
        y : array-like or frame of shape (n_rows, n_targets) or (n_rows,), str or list of str, not None
            The targets, of any kinds; or the names of their columns in X.
        sample_weight, exposure
            As for `SamplingBayesianEncoder.fit`, the same for all targets. Weights may also be a frame or an array with
            a column for each target: 0 leaves a row out of what one target tells, and not of the others.

        Returns
        -------
        self
            The fitted encoder.
        """
        encoders, _ = self._fit_each("fit", X, y, sample_weight=sample_weight, exposure=exposure)
        return self._become(encoders)

    def fit_transform(
        self,
        X: TableLike,
        y: TableLike | ByRowOrName = None,
        sample_weight: TableLike | ByRowOrName = None,
        groups: ByRow = None,
        exposure: ByRowOrName = None,
    ) -> Any:
        """Fit, and encode the training rows, each target kept out of its own rows' features.

        .. note:: This is not `fit(X, y).transform(X)`: see `own_target` of the encoder.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        groups : array-like of shape (n_rows,), optional
            Rows of one group stay out of each other's features.
        exposure
            As for `fit`.

        Returns
        -------
        features : array or frame of shape (n_rows, n_outputs)
            Encoded columns in the place of the original ones, one target after the other.
        """
        given = {"sample_weight": sample_weight, "groups": groups, "exposure": exposure}
        with self._output():
            encoders, parts = self._fit_each("fit_transform", X, y, **given)
        return JointLayout(self._become(encoders).encoders_).join(parts, input_names(self))

    def transform(self, X: TableLike) -> Any:
        """Encode new rows by the posterior expectation for each target.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.

        Returns
        -------
        features : array or frame of shape (n_rows, n_outputs)
            Encoded columns in the place of the original ones, one target after the other.
        """
        check_is_fitted(self)
        with self._output():
            parts = [encoder.transform(X) for encoder in self.encoders_.values()]
        return JointLayout(self.encoders_).join(parts, input_names(self))

    @available_if(lambda self: hasattr(self._template(), "sample"))
    def sample(
        self, X: TableLike, n_draws: int = 1, random_state: Seed = None, row_id: RowId = None
    ) -> np.ndarray[Any, Any]:
        """Draw features of rows that were not trained on, `n_draws` times; targets are drawn independently.

        Parameters
        ----------
        X, n_draws, random_state, row_id
            As for `SamplingBayesianEncoder.sample`.

        Returns
        -------
        draws : ndarray of shape (n_draws, n_rows, n_outputs)
            Columns that are not encoded are repeated in each draw.
        """
        check_is_fitted(self)
        encoders = list(self.encoders_.values())
        seeds: list[Any] = [None] * len(encoders)
        if random_state is not None:
            seeds = target_seeds(random_state, len(encoders))
        parts = [e.sample(X, n_draws, seed, row_id) for e, seed in zip(encoders, seeds, strict=True)]
        return JointLayout(self.encoders_).stack(parts)

    def partial_fit(
        self,
        X: TableLike,
        y: TableLike | ByRowOrName = None,
        sample_weight: TableLike | ByRowOrName = None,
        classes: Mapping[Name, npt.ArrayLike] | None = None,
        exposure: ByRowOrName = None,
    ) -> Self:
        """Learn from the next batch of rows; the batches together give what one fit on all of them would.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`, with the same targets in every batch.
        classes : dict, optional
            All class labels of a target by its name or number, if its first batch may hold only one of them.
        exposure
            As for `fit`.

        Returns
        -------
        self
            The encoder, fitted to everything it was given so far.
        """
        known, given = getattr(self, "encoders_", None), {"sample_weight": sample_weight, "exposure": exposure}
        encoders, _ = self._fit_each("partial_fit", X, y, classes, known, **given)
        return self._become(encoders)

    def merge(self, *others: Self) -> Self:
        """Join encoders that were fitted on disjoint rows for the same targets; `a + b` is `a.merge(b)`.

        Parameters
        ----------
        *others : MultiTargetEncoder
            Fitted on the same columns. Settings and seeds are those of this one.

        Returns
        -------
        encoder
            A new one, fitted on all of the rows.
        """
        check_is_fitted(self)
        for other in others:
            if not isinstance(other, MultiTargetEncoder):
                raise InputError(f"merge takes fitted MultiTargetEncoders, and was given a {type(other).__name__}.")
            check_is_fitted(other)
            require_same(other.encoders_, self.encoders_)
        found = {}
        for name, encoder in self.encoders_.items():
            with naming(name):
                found[name] = encoder.merge(*(other.encoders_[name] for other in others))
        return cast(Self, clone(self)._become(found))

    def __add__(self, other: Self) -> Self:
        return self.merge(other) if isinstance(other, MultiTargetEncoder) else NotImplemented

    def save(self, path: File) -> None:
        """Write the fitted encoder to one Parquet file, without pickle; `catbayes.load` reads it.

        Parameters
        ----------
        path : str, path or open binary file
            An existing file is replaced when the new one is complete.
        """
        check_is_fitted(self)
        save_targets(self, path)

    @classmethod
    def load(cls, path: File) -> Self:
        """Read an encoder that `save` wrote. Loading never runs code.

        Parameters
        ----------
        path : str, path or open binary file
            What `save` wrote.

        Returns
        -------
        encoder
            With the same settings, posteriors, seeds and draws.
        """
        return cast(Self, load_table(path, {cls.__name__: partial(build_targets, cls, KINDS)}))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels:
        """Name the outputs: what the encoder of a target calls them, followed by the target; `city_price`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns, for an encoder fitted on an array.

        Returns
        -------
        names : ndarray of str
            One name for each output.
        """
        check_is_fitted(self)
        return np.array(JointLayout(self.encoders_).names(input_names(self, input_features)), dtype=object)

    def get_metadata_routing(self) -> MetadataRouter:
        """Route `sample_weight` and `exposure` to `fit`, and groups to the splitter `cv` of the encoder."""
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit_transform", callee="split")
        return router.add(
            splitter=splitter_of(self._template().own_target, self._template().cv), method_mapping=mapping
        )

    def __sklearn_tags__(self) -> Any:
        tags = get_tags(self._template())
        tags.target_tags.multi_output = True
        return tags

    # ------------------------------------------------------------------ the parts

    def _template(self) -> Any:
        return SamplingBayesianEncoder() if self.encoder is None else self.encoder

    def _fit_each(
        self, method: str, X: Any, y: Any, classes: Any = None, known: Any = None, **given: Any
    ) -> tuple[dict[Any, Any], list[Any]]:
        """Call a method that fits on an encoder for each target; nothing changes here until all are done."""
        if is_source(X):
            raise InputError("X is not in memory: fit one encoder for each target, or bring X here by .collect().")
        table, targets = read_targets(read_table(X, self), y)
        if known is None:
            encoders = make_encoders(self._template(), list(targets))
        else:
            require_same(targets, known)
            encoders = {name: copy.copy(encoder) for name, encoder in known.items()}
        return encoders, fit_each(encoders, method, table.native, targets, classes, **given)

    def _become(self, encoders: dict[Any, Any]) -> Self:
        """Become fitted, all at once."""
        first = next(iter(encoders.values()))
        self.encoders_, self.n_features_in_ = encoders, first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            self.feature_names_in_ = first.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _output(self) -> Any:
        """Let the encoders give what `set_output` asked for here."""
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        return config_context(transform_output=chosen)
