"""What both encoders share: `fit`, and `transform` by the expectation of a mapping."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import TransformerMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from catbayes._validation import Array, Codes
from catbayes.categories import Categories
from catbayes.encoder._column import EncodedColumn
from catbayes.encoder._fitting import ColumnFitter
from catbayes.encoder._output import Layout, PosteriorFrames, input_names
from catbayes.encoder._reading import read_table
from catbayes.errors import InputError, InputWarning
from catbayes.evidence import (
    Candidate,
    Evidence,
    check_classes,
)
from catbayes.families import find_family
from catbayes.sources import is_source
from catbayes.tables import Table, make_frame


class PosteriorEncoder(TransformerMixin, ColumnFitter):
    """Fit posteriors, and transform by the expectation of a mapping of them."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, exposure: Any = None) -> Any:
        """Learn the posterior of every category.

        .. note:: `fit(X, y).transform(X)` is not `fit_transform(X, y)`: the latter keeps a row's own target out of
           its features. Train models on `fit_transform`.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns), or any source that `gather` takes
            Array, nested list, or frame of pandas, polars or pyarrow; or a table that stays where it is: a path or
            glob of Parquet or CSV files, a lazy frame of polars, DuckDB or Spark, a reader of Arrow record batches. Or
            what `gather` returned, and then no y.
        y : array-like of shape (n_rows,), str, or None
            Target: classes of any type, or numbers; or the name of its column in X. None only with what `gather`
            returned.
        sample_weight : array-like of shape (n_rows,), or str, optional
            A row of weight 2 counts as two rows; scale survey weights to a mean of 1. Or the name of a column in X.
        exposure : array-like of shape (n_rows,), or str, optional
            For `family="poisson"`: in how many units of time or anything else the events of each row were counted,
            finite and > 0; or the name of a column in X. θ is then the rate in one unit, and a row counts for as many
            observations as it has units, in `posteriors_` too.

        Returns
        -------
        self
            The fitted encoder.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder
        >>> encoder = SamplingBayesianEncoder().fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1])
        >>> encoder.columns_, encoder.classes_.tolist()
        ([0], [0, 1])
        """
        if isinstance(X, Evidence) or is_source(X):
            self._check()
            evidence = self._gather_any(X, y, sample_weight, exposure=exposure)
            check_classes(evidence)
            self._refit(evidence, self._new_seed())
            self._backend = "polars" if type(X).__module__.startswith("polars") else None
            return self
        self._keep(self._learn(X, y, sample_weight, exposure))
        return self

    def transform(self, X: Any) -> Any:
        """Encode by the posterior expectation of f(θ): deterministic, the same for a row alone or in a batch.

        .. note:: `fit(X, y).transform(X)` is not `fit_transform(X, y)`. Use this for new rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.

        Returns
        -------
        features : array or frame of shape (n_rows, n_outputs)
            Encoded columns in the place of the original ones; the others as they were.

        Examples
        --------
        >>> from catbayes import BetaBernoulli, SamplingBayesianEncoder
        >>> encoder = SamplingBayesianEncoder(prior=BetaBernoulli(alpha=1, beta=1))
        >>> encoder.fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]).transform([["a"], ["b"], ["unseen"]])
        array([[0.5 ],
               [0.75],
               [0.5 ]])
        """
        table = self._read_new(X)

        def encode(item: tuple[EncodedColumn, Codes]) -> Array:
            column, codes = item
            return np.asarray(column.expectation.take(codes, axis=0))

        blocks = self._parallel(encode, list(zip(self.columns_fitted_, self._codes(table.column), strict=True)))
        return self._assemble(table, blocks)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
        """Name the outputs: the column's own name, followed by the mapping's output where it has several.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns, for an encoder fitted on an array.

        Returns
        -------
        names : ndarray of str
            One name for each output.

        Examples
        --------
        >>> import pandas as pd
        >>> from catbayes import SamplingBayesianEncoder
        >>> X = pd.DataFrame({"city": ["Oslo", "Rome"] * 2, "age": [31, 45, 27, 60]})
        >>> SamplingBayesianEncoder(mapping="polynomial").fit(X, [0, 1, 1, 1]).get_feature_names_out().tolist()
        ['city_mean', 'city_square', 'age']
        """
        check_is_fitted(self)
        names = self._layout().names(input_names(self, input_features))
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"Two outputs would be called {twice!r}. Rename the input column of that name.")
        return np.array(names, dtype=object)

    @property
    def posteriors_(self) -> PosteriorFrames:
        """Count, raw mean, posterior mean, sd, 90 % interval and shrinkage of every category, a frame per column.

        They are about the mean of the target; with `family="lognormal"`, about the mean of its logarithm.
        """
        check_is_fitted(self)
        fitted = {column.name: column for column in self.columns_fitted_}

        def make(name: Any) -> Any:
            classes = self.classes_ if self.classes_ is None else list(self.classes_)
            return make_frame(fitted[name].posterior.record(classes), self._backend)

        return PosteriorFrames(make, list(fitted))

    @property
    def interactions_(self) -> Any:
        """The interactions: how many categories each has, the gain of those that "auto" weighed, and which it kept."""
        check_is_fitted(self)
        found = self.evidence_.candidates or [
            Candidate(column.name, column.categories.missing, np.nan, True)
            for column in self.evidence_.columns
            if column.is_interaction
        ]
        record = {
            "interaction": ["&".join(map(str, candidate.columns)) for candidate in found],
            "categories": [candidate.categories for candidate in found],
            "gain": np.array([candidate.gain for candidate in found], dtype=np.float64),
            "kept": [candidate.kept for candidate in found],
        }
        return make_frame(record, self._backend)

    def get_metadata_routing(self) -> Any:
        """Route `sample_weight` and `exposure` to `fit`, and groups to the splitter `cv` of `fit_transform`."""
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit_transform", callee="split"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True  # fit_transform is not fit().transform(), on purpose
        family = find_family(self.family)
        if family is not None and family.binary:
            tags.classifier_tags = ClassifierTags(multi_class=False)
        if family is not None and family.support is not None:
            tags.target_tags.positive_only = True
        return tags

    # ---------------------------------------------------------------- transforming

    def _read_new(self, X: Any) -> Table:
        check_is_fitted(self)
        table = read_table(X, self)
        self._check_inputs(table)
        return table

    def _codes(self, column_of: Callable[[int], Any]) -> list[Codes]:
        """Slots of rows in every fitted column, once the policies for missing and unseen values agree.

        `column_of` gives the column of the table that has a position. Each one is read once.
        """
        sources = {(part, id(known)): known for column in self.columns_fitted_ for part, known in column.sources}

        def read(item: tuple[tuple[int, int], Categories]) -> Codes:
            (part, _), categories = item
            return self._read_codes(categories, column_of(part), self.evidence_.inputs[part])

        slots = dict(zip(sources, self._parallel(read, list(sources.items())), strict=True))

        def combine(column: EncodedColumn) -> Codes:
            return self._admit(column, column.slots([slots[part, id(known)] for part, known in column.sources]))

        return self._parallel(combine, self.columns_fitted_)

    def _read_codes(self, categories: Categories, values: Any, name: Any) -> Codes:
        """Slots of the rows of a column; errors where a policy calls for one."""
        codes = categories.codes(values)
        self._refuse_missing(int((codes == categories.missing).sum()), name)
        unseen = codes == categories.unseen
        if self.unseen == "prior" and unseen.all():
            _warn_of_other_types(categories, values, name)
        if self.unseen == "error" and unseen.any():
            strangers = categories.strangers(values)
            if strangers:
                raise self._unseen_error(name, strangers)
        return codes

    def _unseen_error(self, name: Any, strangers: list[Any]) -> InputError:
        return InputError(
            f"Column {name!r} holds categories that fit never saw, such as {strangers}. "
            'Fit on them, or set unseen="prior" to encode them by the prior.'
        )

    # ------------------------------------------------------------------------ output

    def _layout(self) -> Layout:
        return self._layout_of(list(self.evidence_.inputs), self.columns_fitted_)

    def _layout_of(self, names: list[Any], columns: list[EncodedColumn]) -> Layout:
        """Where the outputs go, of a table with columns of these names."""
        return Layout(len(names), columns, self._set_aside(names))

    def _assemble(self, table: Table, blocks: list[Array]) -> Any:
        """Put encoded columns in their places, as an array or as the frame that `set_output` asked for."""
        # set_output keeps its choice here; scikit-learn has no public name for reading it.
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        layout = self._layout()
        if chosen in ("pandas", "polars") and table.frame is not None and layout.passing:
            return layout.frame(table, blocks, self.get_feature_names_out(), chosen)
        return layout.stack(table, blocks)


def _warn_of_other_types(categories: Categories, values: Any, name: Any) -> None:
    """Say so where every value is unseen because it is of another type, such as "7" for 7."""

    def kinds(cells: Any) -> set[str]:
        return {"number" if isinstance(cell, int | float) else type(cell).__name__ for cell in cells}

    known, new = kinds(categories.values), kinds(categories.strangers(values))
    if known and new and not known & new:
        warnings.warn(
            f"Column {name!r} held {', '.join(sorted(known))} values at fit and holds {', '.join(sorted(new))} values "
            "now: every one of them counts as unseen. Convert the column to its former type.",
            InputWarning,
            stacklevel=4,
        )
