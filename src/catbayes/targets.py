"""MultiTargetEncoder: one table, several targets, and an encoder of its own for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import narwhals as nw
import numpy as np
from sklearn import clone, config_context, get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from catbayes.core.leakage import splitter_of
from catbayes.core.table import Named, Table
from catbayes.core.types import ByRow, ByRowOrName, Labels, RowId, Seed, TableLike
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.estimator_input import input_names, new_seeds, read_table, read_targets


class MultiTargetEncoder(TransformerMixin, BaseEstimator):
    """Encode the same columns towards several targets: each category becomes a feature for every target.

    Each target, whether a class or a number, has a clone of the encoder with a seed of its own: `encoders_["price"]`,
    which can be updated and saved by itself. Outputs are those of the first target's encoder, then the encoded columns
    for each of the others; columns that are not encoded pass through once.

    Parameters
    ----------
    encoder : SamplingBayesianEncoder or None
        How to encode towards one target; None is `SamplingBayesianEncoder()`. Seeds of the targets are derived from its
        `random_state`. With `family="auto"` each target has the family that suits it.

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
    >>> encoder.fit_transform(X, y).shape  # draws to train on
    (4, 3)
    >>> encoder.set_output(transform="pandas").transform(X.iloc[::2]).round(2)
       city_price  rooms  city_sold
    0       10.25      2       0.50
    2        3.25      1       0.75
    """

    def __init__(self, encoder: SamplingBayesianEncoder | None = None) -> None:
        self.encoder = encoder

    def fit(self, X: TableLike, y: Any = None, sample_weight: Any = None, exposure: ByRowOrName = None) -> Self:
        """Learn the posteriors of every target; train models on `fit_transform(X, y)`, not on `fit(X, y).transform(X)`.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Array, nested list, or frame of pandas, polars or pyarrow.
        y : array-like or frame of shape (n_rows, n_targets) or (n_rows,), str or list of str
            The targets, of any kinds; or the names of their columns in X.
        sample_weight, exposure
            As for `SamplingBayesianEncoder.fit`, the same for all targets. Weights may also be a frame or an array with
            a column for each target: 0 leaves a row out for one target, and not for the others.
        """
        self._fit("fit", X, y, sample_weight, exposure=exposure)
        return self

    def fit_transform(
        self,
        X: TableLike,
        y: Any = None,
        sample_weight: Any = None,
        groups: ByRow = None,
        exposure: ByRowOrName = None,
    ) -> Any:
        """Fit, and encode the training rows, each row's own targets excluded; parameters are as for `fit`."""
        with self._output():
            parts = self._fit("fit_transform", X, y, sample_weight, groups=groups, exposure=exposure)
        return self._join(parts)

    def transform(self, X: TableLike) -> Any:
        """Encode new rows by the posterior expectation for each target."""
        check_is_fitted(self)
        with self._output():
            return self._join([encoder.transform(X) for encoder in self.encoders_.values()])

    def sample(self, X: TableLike, n_draws: int = 1, random_state: Seed = None, row_id: RowId = None) -> Any:
        """Draw features of new rows, as `SamplingBayesianEncoder.sample` does, independently for each target."""
        check_is_fitted(self)
        n_targets = len(self.encoders_)
        seeds: list[Any] = [None] * n_targets if random_state is None else new_seeds(random_state, n_targets)
        pairs = zip(self.encoders_.values(), seeds, strict=True)
        return self._join([encoder.sample(X, n_draws, seed, row_id) for encoder, seed in pairs])

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels:
        """Name the outputs as the encoder of each target does, followed by the target: `city_price`."""
        check_is_fitted(self)
        inputs, found = input_names(self, input_features), []
        for target, (encoder, outputs) in zip(self.encoders_, self._own_outputs(), strict=True):
            names, passing = encoder.encoding_.layout.names(inputs), _passing(encoder)
            found += [names[output] if output in passing else f"{names[output]}_{target}" for output in outputs]
        if len({*found}) < len(found):
            twice = next(name for name in found if found.count(name) > 1)
            raise InputError(f"Two outputs would be called {twice!r}. Rename the input column or the target.")
        return np.array(found, dtype=object)

    def get_metadata_routing(self) -> MetadataRouter:
        """Route `sample_weight` and `exposure` to `fit`, and groups to the splitter `cv` of the encoder."""
        encoder = self._template()
        mapping = MethodMapping().add(caller="fit_transform", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=splitter_of(encoder.own_target, encoder.cv), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = get_tags(self._template())
        tags.target_tags.multi_output = True
        return tags

    def _template(self) -> SamplingBayesianEncoder:
        if self.encoder is not None and not isinstance(self.encoder, SamplingBayesianEncoder):
            raise InputError(f"encoder={self.encoder!r}: expected a SamplingBayesianEncoder or None.")
        return SamplingBayesianEncoder() if self.encoder is None else self.encoder

    def _fit(self, method: str, X: Any, y: Any, sample_weight: Any, **given: Any) -> list[Any]:
        """Call a method that fits on an encoder for each target; nothing changes here until all are done."""
        table, targets = read_targets(read_table(X, self), y)
        weights = _weights(sample_weight, list(targets))
        seeds = new_seeds(self._template().random_state, len(targets))
        encoders, results = {}, []
        for (name, values), seed in zip(targets.items(), seeds, strict=True):
            encoders[name] = encoder = clone(self._template()).set_params(random_state=seed)
            vars(encoder).pop("_sklearn_output_config", None)  # this estimator chooses the output
            values = values if isinstance(name, int) else Named.of(values, str(name))
            try:
                results.append(getattr(encoder, method)(table.native, values, sample_weight=weights[name], **given))
            except InputError as error:
                raise InputError(f"Target {name!r}: {error}") from error
        self.encoders_ = encoders
        self.__dict__.pop("feature_names_in_", None)
        first = vars(next(iter(encoders.values())))
        self.__dict__.update({name: first[name] for name in ("n_features_in_", "feature_names_in_") if name in first})
        return results

    def _own_outputs(self) -> list[tuple[SamplingBayesianEncoder, list[int]]]:
        """Each encoder, and its outputs that are outputs here: columns pass through with the first one alone."""
        found: list[tuple[SamplingBayesianEncoder, list[int]]] = []
        for encoder in self.encoders_.values():
            outputs = range(encoder.encoding_.layout.places[-1].stop)
            found.append((encoder, [output for output in outputs if not found or output not in _passing(encoder)]))
        return found

    def _join(self, parts: list[Any]) -> Any:
        """Put the outputs of all encoders side by side, as an array or a frame."""
        own = [outputs for _, outputs in self._own_outputs()]
        if isinstance(parts[0], np.ndarray):
            return np.concatenate([part[..., outputs] for part, outputs in zip(parts, own, strict=True)], axis=-1)
        frames = [nw.from_native(part, eager_only=True) for part in parts]
        columns = [frame[:, output] for frame, outputs in zip(frames, own, strict=True) for output in outputs]
        named = (column.alias(name) for column, name in zip(columns, self.get_feature_names_out(), strict=True))
        return frames[0].select(*named).to_native()

    def _output(self) -> Any:
        """Let the encoders give what `set_output` asked for here."""
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        return config_context(transform_output=chosen)


def _passing(encoder: SamplingBayesianEncoder) -> set[int]:
    """The outputs of an encoder that are columns passed through."""
    layout = encoder.encoding_.layout
    return {layout.places[position].start for position in layout.passing}


def _weights(sample_weight: Any, targets: list[Any]) -> dict[Any, Any]:
    """The weights of the rows for each target: columns of a frame or an array, or the same for all."""
    columns: Any = None
    if Table.is_frame(sample_weight):
        table = Table.of(sample_weight)
        columns = {name: table.values(place) for place, name in enumerate(table.names)}
    elif isinstance(sample_weight, np.ndarray) and sample_weight.ndim == 2:
        columns = dict(zip(targets, sample_weight.T, strict=False)) if sample_weight.shape[1] == len(targets) else {}
    if columns is not None and set(columns) != set(targets):
        raise InputError(f"sample_weight: expected one column for each of the targets {targets}, or one for all.")
    return dict.fromkeys(targets, sample_weight) if columns is None else columns
