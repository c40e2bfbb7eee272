"""What both encoders share: fitting the columns, and transforming by the expectation of a mapping."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

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
from catbayes.combinations import Combinations
from catbayes.encoder._column import EncodedColumn, expect
from catbayes.encoder._output import Layout, PosteriorFrames, input_names
from catbayes.encoder._reading import read_parents, read_table, read_y
from catbayes.errors import InputError, InputWarning
from catbayes.evidence import (
    Candidate,
    ColumnEvidence,
    Evidence,
    Target,
    check_classes,
    choose,
    gather,
    gather_table,
    per_unit,
    read_target,
    settle_family,
    take_named,
)
from catbayes.families import BetaBernoulli, GammaPoisson, LogNormalGamma
from catbayes.hierarchy import Tree
from catbayes.mappings import Mapping
from catbayes.posteriors import ColumnPosterior
from catbayes.priors import resolve_prior
from catbayes.sampling import Entries, Spread
from catbayes.sources import is_source
from catbayes.statistics import Statistics
from catbayes.tables import Group, Table, find_columns, find_groups, make_frame

UNSEEN = ("prior", "error")
MISSING = ("category", "prior", "error")


@dataclass(frozen=True, slots=True)
class Learned:
    """What fitting finds: the columns, and for `fit_transform` the rows as codes with their targets."""

    table: Table
    evidence: Evidence
    columns: list[EncodedColumn]
    codes: list[Codes]
    y: np.ndarray[Any, Any]
    target: Target
    weight: Array | None
    seed: int


class PosteriorEncoder(TransformerMixin, BaseEstimator):
    """Fit posteriors, and transform by the expectation of a mapping of them."""

    # Parameters that every encoder has, set by the constructors below.
    columns: Any
    interactions: Any
    hierarchy: Any
    family: Any
    prior: Any
    cv: Any
    unseen: str
    missing: str
    drop_first: bool
    random_state: Any
    n_jobs: int | None

    _backend: Any = None  # the library that the table came in, and that posteriors_ are given in

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
        if self.family in ("bernoulli", BetaBernoulli):
            tags.classifier_tags = ClassifierTags(multi_class=False)
        if self.family in ("lognormal", "poisson", LogNormalGamma, GammaPoisson):
            tags.target_tags.positive_only = True
        return tags

    # ------------------------------------------------------------------ fitting

    def _mapping(self) -> Mapping:
        raise NotImplementedError

    def _spread(self, evidence: Evidence) -> Spread:
        """How far draws lie from the posterior mean."""
        return Spread()

    def _groups(self, names: list[Any], categorical: list[int]) -> list[Group]:
        """What to encode of a table with these columns."""
        aside = self._set_aside(names)
        return find_groups(names, categorical, self.columns, self.interactions, self.hierarchy, aside)

    def _set_aside(self, names: list[Any]) -> list[int]:
        """Positions of the columns that are neither encoded nor passed on."""
        return []

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

    def _new_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _learn(self, X: Any, y: Any, sample_weight: Any, exposure: Any = None) -> Learned:
        """Fit every column of a table in memory, without touching the encoder."""
        self._check()
        table, y, sample_weight, exposure = self._read(X, y, sample_weight, exposure)
        if table.n_rows < 2:
            raise InputError(f"X has n_samples={table.n_rows}: expected two rows or more to learn from.")
        weight = check_weights(sample_weight, table.n_rows)
        target = read_target(y, self.family, table.n_rows)
        if exposure is not None:
            target, weight = per_unit(target, weight, exposure)
            y = target.values
        groups = self._groups(table.names, table.categorical())
        evidence, codes = gather_table(table, groups, target, weight, self._parallel)
        check_classes(evidence)
        if isinstance(self.interactions, str) and self.interactions == "auto":
            slots = {column.name: code for column, code in zip(evidence.columns, codes, strict=True)}
            evidence = choose(evidence)
            codes = [slots[column.name] for column in evidence.columns]
        seed = self._new_seed()
        columns = self._fit_columns(evidence, seed)
        pairs = zip(columns, evidence.columns, codes, strict=True)
        codes = [self._admit(column, _moved(column, read, code)) for column, read, code in pairs]
        return Learned(table, evidence, columns, codes, y, target, weight, seed)

    def _read(self, X: Any, y: Any, sample_weight: Any, exposure: Any) -> tuple[Table, Any, Any, Any]:
        """Wrap a table in memory, with its target, weights and exposure; those given by name are taken out of it."""
        if is_source(X):
            raise InputError(
                "X is not in memory: fit and partial_fit take it as it is, catbayes.encode encodes it where it is, and "
                ".collect() or a reader brings it here."
            )
        table, y, sample_weight, exposure = take_named(read_table(X, self), y, sample_weight, exposure)
        return table, read_y(y), sample_weight, exposure

    def _gather_any(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        known: Evidence | None = None,
        classes: Any = None,
        exposure: Any = None,
    ) -> Evidence:
        """Gather from any source; columns, classes and kind of target as they are known."""
        if isinstance(X, Evidence):
            return self._check_evidence(X, y)
        if not is_source(X):
            table, y, sample_weight, exposure = self._read(X, y, sample_weight, exposure)
            if known is not None:
                self._check_inputs(table)
            X = _native(table)
        given = {"weight": sample_weight, "exposure": exposure, "classes": classes, "like": known}
        shape = {"interactions": self.interactions, "hierarchy": self.hierarchy, "family": self.family}
        evidence = gather(X, self.columns, y, **shape, **given)
        aside = self._set_aside(list(evidence.inputs))
        return replace(evidence, columns=tuple(c for c in evidence.columns if not {*c.parts} & {*aside}))

    def _check_evidence(self, evidence: Evidence, y: Any) -> Evidence:
        """Require evidence for the columns that the encoder is to encode."""
        if y is not None:
            raise InputError("y: what was gathered holds its target already. Leave y out.")
        found = [column.name for column in evidence.columns if not column.is_interaction]
        columns = found if isinstance(self.columns, str) else self.columns
        groups = find_groups(list(evidence.inputs), [], columns, self.interactions, self.hierarchy)
        wanted = {group.parts for group in groups}
        held = {column.parts for column in evidence.columns}
        optional = (
            {column.parts for column in evidence.columns if column.is_interaction} if not self.interactions else set()
        )
        if isinstance(self.interactions, str) and self.interactions == "auto":
            optional = {group.parts for group in groups if group.position not in group.parts}
        if wanted - optional != held - optional:
            names = [column.name for column in evidence.columns]
            raise InputError(
                f"columns={self.columns!r}, interactions={self.interactions!r} and hierarchy={self.hierarchy!r}, and "
                f"this was gathered from {names}: use the same for both."
            )
        return evidence

    def _fit_columns(self, evidence: Evidence, seed: int) -> list[EncodedColumn]:
        """Make priors and posteriors of what was gathered."""
        family, prior = settle_family(self.family, evidence), resolve_prior(self.prior)

        def fit_column(column: ColumnEvidence) -> EncodedColumn:
            statistics = self._settle_missing(column)
            # A column that says nothing has nothing to make a prior of: that of the target itself.
            speaking = statistics if statistics.varies() else evidence.total
            tree = self._tree(column, evidence)
            if tree is None:
                posterior = ColumnPosterior.fit(column.categories, statistics, family, prior, speaking)
            else:
                placed = tree.placed(column.categories, statistics)
                posterior = ColumnPosterior.fit_tree(tree, placed, family, prior, speaking)
            return self._map_column(column, posterior, evidence, seed)

        with threadpool_limits(1, user_api="blas"):  # an optimiser of four numbers only loses by waking threads
            return self._parallel(fit_column, evidence.columns)

    def _tree(self, column: ColumnEvidence, evidence: Evidence) -> Tree | None:
        """The hierarchy that a column is in, if it is in one."""
        if column.is_interaction:
            return None
        if isinstance(column.categories, Combinations):
            return Tree.of_columns(column.categories)
        tables = {
            find_columns(list(evidence.inputs), [], [name])[0]: table for name, table in (self.hierarchy or {}).items()
        }
        if column.position not in tables:
            return None
        return Tree.of_table(column.categories, read_parents(tables[column.position], column.name))

    def _map_column(
        self, column: ColumnEvidence, posterior: ColumnPosterior, evidence: Evidence, seed: int
    ) -> EncodedColumn:
        """Bind the mapping to a column's posterior, and work out what `transform` gives."""
        labels = None if evidence.classes is None else [str(label) for label in evidence.classes]
        bound = self._mapping().bind(posterior.prior, labels, self.drop_first)
        spread = self._spread(evidence)
        entries = Entries(posterior.posterior, posterior.statistics.count)
        expectation = expect(bound, entries, spread=spread, seed=seed, position=column.position)
        return EncodedColumn(column.position, column.name, column.parts, posterior, bound, spread, expectation)

    def _settle_missing(self, column: ColumnEvidence) -> Statistics:
        """What the categories say, once the policy for missing values agrees."""
        lacking = column.categories.lacking
        self._refuse_missing(float(column.statistics.count[lacking].sum()), column.name)
        return column.statistics if self.missing == "category" else column.statistics.without(lacking)

    def _keep(self, learned: Learned) -> None:
        """Become fitted, all at once, when the columns are fitted and their training features drawn."""
        table = learned.table
        validate_data(self, _native(table), skip_check_array=True)
        self._keep_columns(learned.evidence, learned.columns, learned.seed)
        self._backend = table.backend

    def _keep_columns(self, evidence: Evidence, columns: list[EncodedColumn], seed: int) -> None:
        self.columns_fitted_ = columns
        self.columns_ = [column.name for column in columns]
        self.family_ = settle_family(self.family, evidence)
        self.classes_ = evidence.classes
        self.evidence_ = evidence
        self._seed = seed

    def _become(self, evidence: Evidence, columns: list[EncodedColumn], seed: int) -> Self:
        """Become fitted to evidence that was gathered somewhere else."""
        self.n_features_in_ = len(evidence.inputs)
        if all(isinstance(name, str) for name in evidence.inputs):
            self.feature_names_in_ = np.array(evidence.inputs, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._keep_columns(evidence, columns, seed)
        return self

    def _refit(self, evidence: Evidence, seed: int) -> Self:
        return self._become(evidence, self._fit_columns(evidence, seed), seed)

    # ---------------------------------------------------------------- transforming

    def _read_new(self, X: Any) -> Table:
        check_is_fitted(self)
        table = read_table(X, self)
        self._check_inputs(table)
        return table

    def _check_inputs(self, table: Table) -> None:
        """Require the columns that the encoder was fitted on."""
        validate_data(self, _native(table), reset=False, skip_check_array=True)

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

    def _admit(self, column: EncodedColumn, codes: Codes) -> Codes:
        """Let missing values go by the policy: as categories, or as if unseen, which in a hierarchy is one level up."""
        categories = column.posterior.categories
        if self.missing == "category":
            return codes
        lacking = np.zeros(categories.n_slots, dtype=bool)
        lacking[categories.lacking] = True
        up = categories.up() if isinstance(categories, Tree) else np.full(categories.n_slots, categories.unseen)
        while lacking[codes].any():
            codes = np.where(lacking[codes], up[codes], codes)
        return codes

    def _refuse_missing(self, count: float, name: Any) -> None:
        if self.missing == "error" and count:
            raise InputError(
                f'Column {name!r} is missing in {count:g} rows. Fill them, or set missing="category" or "prior".'
            )

    def _parallel(self, function: Callable[[Any], Any], items: Any) -> list[Any]:
        """Threads, because numpy and the frame libraries let go of the interpreter; results keep their order."""
        if self.n_jobs in (None, 1):
            return [function(item) for item in items]
        return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(function)(item) for item in items))

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


def _moved(column: EncodedColumn, read: ColumnEvidence, codes: Codes) -> Codes:
    """Slots in the fitted column of rows that have slots in what was gathered."""
    categories = column.posterior.categories
    return categories.moved(read.categories)[codes] if isinstance(categories, Tree) else codes


def _native(table: Table) -> Any:
    """The table as scikit-learn's checks of names and widths want it."""
    return table.array if table.frame is None else table.frame.to_native()


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
