"""Fitting the columns of an encoder: from a table, or from what was gathered of one, to posteriors."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from catbayes._validation import Array, Codes, check_count, check_option, check_weights, is_number
from catbayes.combinations import Combinations
from catbayes.encoder._column import EncodedColumn, expect
from catbayes.encoder._reading import read_parents, read_table, read_y
from catbayes.errors import InputError, InputWarning
from catbayes.evidence import (
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
from catbayes.groups import Group, find_groups
from catbayes.hierarchy import Tree
from catbayes.mappings import Mapping
from catbayes.posteriors import ColumnPosterior
from catbayes.priors import resolve_prior
from catbayes.sampling import Entries, Spread
from catbayes.sources import is_source
from catbayes.statistics import Statistics
from catbayes.tables import Table, find_columns

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


class ColumnFitter(BaseEstimator, ABC):
    """The parameters that say what is encoded and how, and the fitting of each column by them."""

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

    @abstractmethod
    def _mapping(self) -> Mapping:
        """From θ to features."""

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
        evidence, slots = gather_table(table, groups, target, weight, self._parallel)
        check_classes(evidence)
        if _is_auto(self.interactions):
            evidence = choose(evidence)
        seed = self._new_seed()
        columns = self._fit_columns(evidence, seed)
        pairs = list(zip(columns, evidence.columns, strict=True))

        def find(pair: tuple[EncodedColumn, ColumnEvidence]) -> Codes:
            column, gathered = pair
            return self._admit(column, _moved(column, gathered, slots(gathered)))

        codes = self._parallel(find, pairs)
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
            X = native(table)
        given = {"weight": sample_weight, "exposure": exposure, "classes": classes, "like": known}
        shape = {"interactions": self.interactions, "hierarchy": self.hierarchy, "family": self.family}
        evidence = gather(X, self.columns, y, **shape, **given)
        aside = self._set_aside(list(evidence.inputs))
        return replace(evidence, columns=tuple(c for c in evidence.columns if not {*c.parts} & {*aside}))

    def _check_evidence(self, evidence: Evidence, y: Any) -> Evidence:
        """Require evidence for the columns that the encoder is to encode."""
        if y is not None:
            raise InputError("y: what was gathered holds its target already. Leave y out.")
        held = {column.parts: column.is_interaction for column in evidence.columns}
        names = [column.name for column in evidence.columns]
        columns = (
            [name for name in names if not isinstance(name, tuple)] if isinstance(self.columns, str) else self.columns
        )
        groups = find_groups(list(evidence.inputs), [], columns, self.interactions, self.hierarchy)
        wanted = {group.parts: group.position not in group.parts for group in groups}
        if self.interactions is None or _is_auto(self.interactions):  # those that were gathered will do
            held, wanted = ({parts: False for parts, pair in each.items() if not pair} for each in (held, wanted))
        if held != wanted:
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
        for name, parents in (self.hierarchy or {}).items():
            if find_columns(list(evidence.inputs), [], [name]) == [column.position]:
                table = read_parents(parents, column.name)
                if column.categories.values and not {*column.categories.values} & table.keys():
                    warnings.warn(
                        f"hierarchy: the table of parents of {column.name!r} names none of its categories, such as "
                        f"{list(column.categories.values[:3])}. Are they of the same type?",
                        InputWarning,
                        stacklevel=2,
                    )
                return Tree.of_table(column.categories, table)
        return None

    def _map_column(
        self, column: ColumnEvidence, posterior: ColumnPosterior, evidence: Evidence, seed: int
    ) -> EncodedColumn:
        """Bind the mapping to a column's posterior, and work out what `transform` gives."""
        labels = None if evidence.classes is None else [str(label) for label in evidence.classes]
        mapping = self._mapping()
        bound = replace(mapping, drop_first=self.drop_first or mapping.drop_first).bind(posterior.prior, labels)
        spread = self._spread(evidence)
        entries = Entries(posterior.posterior, posterior.statistics.count, posterior.doubt)
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
        validate_data(self, native(table), skip_check_array=True)
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

    def _check_inputs(self, table: Table) -> None:
        """Require the columns that the encoder was fitted on."""
        validate_data(self, native(table), reset=False, skip_check_array=True)

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


def _is_auto(interactions: Any) -> bool:
    return isinstance(interactions, str) and interactions == "auto"


def _moved(column: EncodedColumn, read: ColumnEvidence, codes: Codes) -> Codes:
    """Slots in the fitted column of rows that have slots in what was gathered."""
    categories = column.posterior.categories
    return categories.moved(read.categories)[codes] if isinstance(categories, Tree) else codes


def native(table: Table) -> Any:
    """The table as scikit-learn's checks of names and widths want it."""
    return table.array if table.frame is None else table.frame.to_native()
