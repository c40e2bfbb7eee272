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

from catbayes.core.config import splitter_of
from catbayes.core.random import new_seeds
from catbayes.core.table import Named, Table, input_names, read_table, take_named
from catbayes.core.target import read_y
from catbayes.core.validation import ByRow, ByRowOrName, Labels, RowId, Seed, TableLike
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError


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
        y : array-like or frame of shape (n_rows, n_targets) or (n_rows,), str or list of str, not None
            The targets, of any kinds; or the names of their columns in X.
        sample_weight, exposure
            As for `SamplingBayesianEncoder.fit`, the same for all targets. Weights may also be a frame or an array with
            a column for each target: 0 leaves a row out for one target, and not for the others.
        """
        self._fit("fit", X, y, sample_weight, exposure=exposure)
        return self

    def fit_transform(
        self, X: TableLike, y: Any = None, sample_weight: Any = None, groups: ByRow = None, exposure: ByRowOrName = None
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
        encoders = list(self.encoders_.values())
        seeds = [None] * len(encoders) if random_state is None else new_seeds(random_state, len(encoders))
        return self._join([e.sample(X, n_draws, seed, row_id) for e, seed in zip(encoders, seeds, strict=True)])

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels:
        """Name the outputs as the encoder of each target does, followed by the target: `city_price`."""
        check_is_fitted(self)
        names = [name for _, _, name in self._outputs(input_features)]
        if len({*names}) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"Two outputs would be called {twice!r}. Rename the input column or the target.")
        return np.array(names, dtype=object)

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
        table, targets = _read_targets(read_table(X, self), y)
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

    def _outputs(self, input_features: Any = None) -> list[tuple[int, int, str]]:
        """The encoder of each output, its number there, and its name; columns pass through with the first one alone."""
        found = []
        for number, (target, encoder) in enumerate(self.encoders_.items()):
            layout = encoder.encoding_.layout
            passing = {layout.places[position].start for position in layout.passing}
            for output, name in enumerate(layout.names(input_names(self, input_features))):
                if output not in passing:
                    found.append((number, output, f"{name}_{target}"))
                elif number == 0:
                    found.append((number, output, name))
        return found

    def _join(self, parts: list[Any]) -> Any:
        """Put the outputs of all encoders side by side, as an array or a frame."""
        outputs = self._outputs()
        if isinstance(parts[0], np.ndarray):
            return np.stack([parts[number][..., output] for number, output, _ in outputs], axis=-1)
        frames = [nw.from_native(part, eager_only=True) for part in parts]
        columns = (frames[number][:, output].alias(name) for number, output, name in outputs)
        return frames[0].select(*columns).to_native()

    def _output(self) -> Any:
        """Let the encoders give what `set_output` asked for here."""
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        return config_context(transform_output=chosen)


def _weights(sample_weight: Any, targets: list[Any]) -> dict[Any, Any]:
    """The weights of the rows for each target: columns of a frame or an array, or the same for all."""
    if Table.is_frame(sample_weight):
        table = Table.of(sample_weight)
        columns = {name: table.values(place) for place, name in enumerate(table.names)}
    elif isinstance(sample_weight, np.ndarray) and sample_weight.ndim == 2:
        same = sample_weight.shape[1] == len(targets)
        columns = dict(zip(targets, sample_weight.T, strict=True)) if same else {}
    else:
        return dict.fromkeys(targets, sample_weight)
    if set(columns) != set(targets):
        raise InputError(f"sample_weight: expected one column for each of the targets {targets}, or one for all.")
    return columns


def _read_targets(table: Table, y: Any) -> tuple[Table, dict[Any, Any]]:
    """Take several targets, of an array, a frame or columns of the table, by name or number; also the table without."""
    named = [y] if isinstance(y, str) else list(y) if isinstance(y, list | tuple) else []
    if named and all(isinstance(name, str) and name in table.names for name in named) and len({*named}) == len(named):
        table, *values = take_named(table, *named)
        return table, dict(zip(named, values, strict=True))
    if y is None:
        read_y(y)
    if Table.is_frame(y):
        targets = Table.of(y)
        return table, {name: targets.values(i) for i, name in enumerate(targets.names)}
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return table, {series.name or 0: series.to_numpy()}
    array = np.asarray(y)
    if array.dtype.kind in "US" and not isinstance(y, np.ndarray):  # a list of mixed cells, turned into text
        array = np.asarray(y, dtype=object)
    if array.ndim > 2:
        raise InputError(f"y has {array.ndim} dimensions: expected a row for each row of X, and a column a target.")
    return table, dict(enumerate(array.T)) if array.ndim == 2 else {0: read_y(array)}
