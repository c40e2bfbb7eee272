"""What both encoders share: fitting the columns, and transforming by the expectation of a mapping."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from catbayes._validation import Array, Codes, check_count, check_option, check_weights, is_number
from catbayes.categories import Categories
from catbayes.encoder._column import EncodedColumn, expect
from catbayes.encoder._output import Layout, PosteriorFrames, input_names, make_frame
from catbayes.encoder._reading import find_columns, read_table
from catbayes.encoder._target import read_target
from catbayes.errors import InputError, InputWarning
from catbayes.families import BetaBernoulli, GammaPoisson
from catbayes.gather import Target, gather_codes
from catbayes.mappings import Mapping
from catbayes.posteriors import ColumnPosterior
from catbayes.priors import resolve_prior
from catbayes.tables import Table

UNSEEN = ("prior", "error")
MISSING = ("category", "prior", "error")


@dataclass(frozen=True, slots=True)
class Learned:
    """What fitting finds: the columns, and for `fit_transform` the rows as codes with their targets."""

    table: Table
    columns: list[EncodedColumn]
    codes: list[Codes]
    target: Target
    weight: Array | None
    seed: int


class PosteriorEncoder(TransformerMixin, BaseEstimator):
    """Fit posteriors, and transform by the expectation of a mapping of them."""

    # Parameters that every encoder has, set by the constructors below.
    columns: Any
    family: Any
    prior: Any
    cv: Any
    unseen: str
    missing: str
    drop_first: bool
    random_state: Any
    n_jobs: int | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn the posterior of every category.

        .. note:: `fit(X, y).transform(X)` is not `fit_transform(X, y)`: the latter keeps a row's own target out of
           its features. Train models on `fit_transform`.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Array, nested list, or frame of pandas, polars or pyarrow.
        y : array-like of shape (n_rows,)
            Target: classes of any type, or numbers.
        sample_weight : array-like of shape (n_rows,), optional
            A row of weight 2 counts as two rows; scale survey weights to a mean of 1.

        Returns
        -------
        self
            The fitted encoder.
        """
        self._keep(self._learn(X, y, sample_weight), X)
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
        """
        table = self._read_new(X)

        def encode(column: EncodedColumn) -> Array:
            return np.asarray(column.expectation.take(self._codes(table, column), axis=0))

        return self._assemble(table, self._parallel(encode, self.columns_fitted_))

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
        """
        check_is_fitted(self)
        names = self._layout().names(input_names(self, input_features))
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"Two outputs would be called {twice!r}. Rename the input column of that name.")
        return np.array(names, dtype=object)

    @property
    def posteriors_(self) -> PosteriorFrames:
        """Count, raw mean, posterior mean, sd, 90 % interval and shrinkage of every category, a frame per column."""
        check_is_fitted(self)
        fitted = {column.name: column for column in self.columns_fitted_}

        def make(name: Any) -> Any:
            classes = self.classes_ if self.classes_ is None else list(self.classes_)
            return make_frame(fitted[name].posterior.record(classes), self._backend)

        return PosteriorFrames(make, list(fitted))

    def get_metadata_routing(self) -> Any:
        """Route `sample_weight` to `fit`, and groups to the splitter `cv` of `fit_transform`."""
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit_transform", callee="split"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True  # fit_transform is not fit().transform(), on purpose
        if self.family in ("bernoulli", BetaBernoulli):
            tags.classifier_tags = ClassifierTags(multi_class=False)
        if self.family in ("poisson", GammaPoisson):
            tags.target_tags.positive_only = True
        return tags

    # ------------------------------------------------------------------ fitting

    def _mapping(self) -> Mapping:
        raise NotImplementedError

    def _temperature(self) -> float:
        return 1.0

    def _check(self) -> None:
        """Check the parameters; the encoders add theirs."""
        check_option("unseen", self.unseen, UNSEEN)
        check_option("missing", self.missing, MISSING)
        if is_number(self.cv):
            check_count("cv", self.cv, 2)
        elif isinstance(self.cv, str):
            raise InputError(f"cv={self.cv!r}: expected a number of folds or a splitter.")
        if not isinstance(self.drop_first, bool):
            raise InputError(f"drop_first={self.drop_first!r}: expected True or False.")

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Learned:
        """Fit every column, without touching the encoder."""
        self._check()
        prior, mapping = resolve_prior(self.prior), self._mapping()
        table = read_table(X, self)
        weight = check_weights(sample_weight, table.n_rows)
        if table.n_rows < 2:
            raise InputError(f"X has n_samples={table.n_rows}: expected two rows or more to learn from.")
        target = read_target(y, self.family, table.n_rows, weight)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        labels = None if target.classes is None else [str(label) for label in target.classes]

        def fit_column(position: int) -> tuple[EncodedColumn, Codes]:
            name = table.names[position]
            categories, codes = Categories.of(table.column(position))
            codes = self._admit(categories, codes, name)
            statistics = gather_codes(codes, target, weight, categories.n_slots)
            evidence = statistics
            if not statistics.varies():  # nothing to make a prior of: that of the target itself
                evidence = gather_codes(np.zeros_like(codes), target, weight, categories.n_slots)
            posterior = ColumnPosterior.fit(categories, statistics, target.family, prior, evidence)
            bound = mapping.bind(posterior.prior, labels, self.drop_first)
            expectation = expect(
                bound, posterior.posterior, temperature=self._temperature(), seed=seed, position=position
            )
            return EncodedColumn(position, name, posterior, bound, expectation), codes

        positions = find_columns(table, self.columns)
        with threadpool_limits(1, user_api="blas"):  # an optimiser of four numbers only loses by waking threads
            fitted = self._parallel(fit_column, positions)
        return Learned(table, [column for column, _ in fitted], [codes for _, codes in fitted], target, weight, seed)

    def _keep(self, learned: Learned, X: Any) -> None:
        """Become fitted, all at once, when the columns are fitted and their training features drawn."""
        table = learned.table
        validate_data(self, X if table.frame is not None else table.array, skip_check_array=True)
        self.columns_fitted_ = learned.columns
        self.columns_ = [column.name for column in learned.columns]
        self.family_ = learned.target.family
        self.classes_ = learned.target.classes
        self._seed = learned.seed
        self._backend = table.backend

    # ---------------------------------------------------------------- transforming

    def _read_new(self, X: Any) -> Table:
        check_is_fitted(self)
        table = read_table(X, self)
        validate_data(self, X if table.frame is not None else table.array, reset=False, skip_check_array=True)
        return table

    def _codes(self, table: Table, column: EncodedColumn) -> Codes:
        """Slots of the rows of a column, once the policies for missing and unseen values agree."""
        values = table.column(column.position)
        categories = column.posterior.categories
        codes = self._admit(categories, categories.codes(values), column.name)
        if self.unseen == "prior" and (codes == categories.unseen).all():
            _warn_of_other_types(categories, values, column.name)
        if self.unseen == "error" and (codes == categories.unseen).any():
            strangers = categories.strangers(values)
            if strangers:
                raise InputError(
                    f"Column {column.name!r} holds categories that fit never saw, such as {strangers}. "
                    'Fit on them, or set unseen="prior" to encode them by the prior.'
                )
        return codes

    def _admit(self, categories: Categories, codes: Codes, name: Any) -> Codes:
        """Apply the policy for missing values."""
        if self.missing == "category":
            return codes
        missing = codes == categories.missing
        if self.missing == "error" and missing.any():
            raise InputError(
                f'Column {name!r} is missing in {missing.sum()} rows. Fill them, or set missing="category" or "prior".'
            )
        return np.where(missing, codes.dtype.type(categories.unseen), codes)

    def _parallel(self, function: Callable[[Any], Any], items: Any) -> list[Any]:
        """Threads, because numpy and the frame libraries let go of the interpreter; results keep their order."""
        if self.n_jobs in (None, 1):
            return [function(item) for item in items]
        return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(function)(item) for item in items))

    # ------------------------------------------------------------------------ output

    def _layout(self) -> Layout:
        return Layout(self.n_features_in_, self.columns_fitted_)

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
        return {"number" if isinstance(cell, Number) else type(cell).__name__ for cell in cells}

    known, new = kinds(categories.values), kinds(categories.strangers(values))
    if known and new and not known & new:
        warnings.warn(
            f"Column {name!r} held {', '.join(sorted(known))} values at fit and holds {', '.join(sorted(new))} values "
            "now: every one of them counts as unseen. Convert the column to its former type.",
            InputWarning,
            stacklevel=4,
        )
