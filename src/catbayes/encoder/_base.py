"""What both encoders share: reading the table, fitting the columns, and putting features in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from catbayes._random import Purpose, stream
from catbayes._validation import Array, Codes, check_option, check_weights, is_number
from catbayes.categories import Categories
from catbayes.encoder._target import read_target
from catbayes.errors import InputError
from catbayes.families import BetaBernoulli, Family, GammaPoisson
from catbayes.gather import Target, gather_codes
from catbayes.mappings import Mapping as FeatureMapping
from catbayes.posteriors import ColumnPosterior
from catbayes.priors import resolve_prior
from catbayes.sampling import draw
from catbayes.tables import Table

UNSEEN = ("prior", "error")
MISSING = ("category", "prior", "error")
EXPECTATION_DRAWS = 100


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """A fitted column: where it stands, its posteriors, its mapping, and E f(θ) of every slot, (slot, output)."""

    position: int
    name: Any
    posterior: ColumnPosterior
    mapping: FeatureMapping
    expectation: Array


@dataclass(frozen=True, slots=True)
class Learned:
    """What fitting leaves in hand for `fit_transform`: the rows as codes, and their targets."""

    table: Table
    codes: list[Codes]
    target: Target
    weight: Array | None


class PosteriorFrames(Mapping[Any, Any]):
    """The posteriors of each encoded column, as a frame made when it is asked for."""

    def __init__(self, make: Callable[[Any], Any], names: list[Any]) -> None:
        self._make = make
        self._names = names

    def __getitem__(self, name: Any) -> Any:
        """Frame of one column: a row per category, and per class if there are more than two."""
        if name not in self._names:
            raise KeyError(f"{name!r} is not an encoded column; those are {self._names}.")
        return self._make(name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"PosteriorFrames({self._names})"


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
            A row of weight 2 counts as two rows.

        Returns
        -------
        self
            The fitted encoder.
        """
        self._learn(X, y, sample_weight)
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
        return self._assemble(table, self._expectations(table))

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
        inputs = self._input_names(input_features)
        encoded = {column.position: column.mapping.names() for column in self.columns_fitted_}
        names = [
            "_".join(filter(None, (str(name), output)))
            for position, name in enumerate(inputs)
            for output in encoded.get(position, [""])
        ]
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

    def _mapping(self) -> FeatureMapping:
        raise NotImplementedError

    def _check(self) -> None:
        """Check the parameters; the encoders add theirs."""
        check_option("unseen", self.unseen, UNSEEN)
        check_option("missing", self.missing, MISSING)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Learned:
        """Fit every column; nothing of the encoder changes unless all of it succeeds."""
        self._check()
        prior, mapping = resolve_prior(self.prior), self._mapping()
        table = _read_table(X, self)
        weight = check_weights(sample_weight, table.n_rows)
        if table.n_rows < 2:
            raise InputError(f"X has n_samples={table.n_rows}: expected two rows or more to learn from.")
        target = read_target(y, self.family, table.n_rows, weight)
        positions = _find_columns(table, self.columns)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        labels = None if target.classes is None else [str(label) for label in target.classes]

        def fit_column(position: int) -> tuple[EncodedColumn, Codes]:
            name = table.names[position]
            categories, codes = Categories.of(table.column(position))
            codes = self._admit(categories, codes, name)
            statistics = gather_codes(codes, target, weight, categories.n_slots)
            posterior = ColumnPosterior.fit(categories, statistics, target.family, prior)
            bound = mapping.bind(posterior.prior, labels, self.drop_first)
            table_of_means = self._expect(bound, posterior.posterior, seed, position)
            return EncodedColumn(position, name, posterior, bound, table_of_means), codes

        fitted = self._parallel(fit_column, positions)
        validate_data(self, X if table.frame is not None else table.array, skip_check_array=True)
        self.columns_fitted_ = [column for column, _ in fitted]
        self.columns_ = [column.name for column in self.columns_fitted_]
        self.family_ = target.family
        self.classes_ = target.classes
        self._seed = seed
        self._backend = table.backend
        return Learned(table, [codes for _, codes in fitted], target, weight)

    def _expect(self, mapping: FeatureMapping, posterior: Family, seed: int, position: int) -> Array:
        """All outputs of every slot, the drawn ones by their expectation."""
        expected = mapping.expected(posterior)
        if expected is None:
            expected = self._average_draws(mapping, posterior, seed, position)
        at_mean = mapping.drawn(posterior.mean())
        # To second order in the spread: exact at temperatures 0 and 1, and for polynomials everywhere.
        expected = at_mean + self._temperature() ** 2 * (expected - at_mean)
        known = mapping.known(posterior)
        return expected if known is None else np.concatenate([expected, known], axis=-1)

    def _temperature(self) -> float:
        return 1.0

    def _average_draws(self, mapping: FeatureMapping, posterior: Family, seed: int, position: int) -> Array:
        n_slots = len(posterior.strength)
        keys = ((Purpose.EXPECTATION, position, number) for number in range(EXPECTATION_DRAWS))
        draws = (draw(posterior.take, mapping.drawn, n_slots, seed=seed, key=key, sampler="exact") for key in keys)
        return np.asarray(sum(draws) / EXPECTATION_DRAWS)

    # ---------------------------------------------------------------- transforming

    def _read_new(self, X: Any) -> Table:
        check_is_fitted(self)
        table = _read_table(X, self)
        validate_data(self, X if table.frame is not None else table.array, reset=False, skip_check_array=True)
        return table

    def _codes(self, table: Table, column: EncodedColumn) -> Codes:
        """Slots of the rows of a column, once the policies for missing and unseen values agree."""
        values = table.column(column.position)
        categories = column.posterior.categories
        codes = self._admit(categories, categories.codes(values), column.name)
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

    def _expectations(self, table: Table) -> list[Array]:
        def encode(column: EncodedColumn) -> Array:
            return np.asarray(column.expectation.take(self._codes(table, column), axis=0))

        return self._parallel(encode, self.columns_fitted_)

    def _parallel(self, function: Callable[[Any], Any], items: Any) -> list[Any]:
        """Threads, because numpy and the frame libraries let go of the interpreter; results keep their order."""
        if self.n_jobs in (None, 1):
            return [function(item) for item in items]
        return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(function)(item) for item in items))

    # ------------------------------------------------------------------- cross-fitting

    def _folds(self, learned: Learned, y: Any, groups: Any) -> list[tuple[Codes, Codes]]:
        """Training and held-out rows of each fold; a row is held out at most once."""
        n_rows = learned.table.n_rows
        if is_number(self.cv):
            if self.cv < 2:
                raise InputError(f"cv={self.cv!r}: expected 2 folds or more, or a splitter.")
            shuffle = stream(self._seed, Purpose.FOLDS).integers(np.iinfo(np.int32).max)
            splitter = KFold(min(int(self.cv), n_rows), shuffle=True, random_state=int(shuffle))
        else:
            splitter = check_cv(self.cv, learned.target.values, classifier=learned.target.classes is not None)
        splits = list(splitter.split(np.empty((n_rows, 1)), y, groups))
        held_out = np.concatenate([test for _, test in splits])
        if len(np.unique(held_out)) < len(held_out):
            raise InputError(f"cv={self.cv!r} holds some rows out more than once: expected a splitter without repeats.")
        return splits

    def _cross_fit(
        self, column: EncodedColumn, codes: Codes, learned: Learned, folds: list[tuple[Codes, Codes]]
    ) -> tuple[Family, Codes]:
        """Posteriors of every fold from its training rows, one after the other, and each row's entry among them.

        The prior is that of the whole table: one made per fold would tell the folds, and so the targets, apart.
        """
        n_slots = column.posterior.categories.n_slots
        entry = np.full(len(codes), column.posterior.categories.unseen, dtype=np.intp)
        families = []
        for number, (train, test) in enumerate(folds):
            statistics = gather_codes(codes, learned.target, learned.weight, n_slots, train)
            families.append(column.posterior.given(statistics))
            entry[test] = number * n_slots + codes[test]
        return families[0].join(families[1:]), entry

    # ------------------------------------------------------------------------ output

    def _input_names(self, input_features: Any = None) -> list[Any]:
        known = getattr(self, "feature_names_in_", None)
        if input_features is None:
            return list(known) if known is not None else [f"x{i}" for i in range(self.n_features_in_)]
        given = list(input_features)
        if known is not None and list(known) != given:
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(given) != self.n_features_in_:
            raise ValueError("input_features should have length equal to number of features")
        return given

    def _places(self) -> dict[int, slice]:
        """Which outputs each input column has."""
        width = {column.position: column.expectation.shape[1] for column in self.columns_fitted_}
        places, start = {}, 0
        for position in range(self.n_features_in_):
            places[position] = slice(start, start + width.get(position, 1))
            start = places[position].stop
        return places

    def _assemble(self, table: Table, blocks: list[Array]) -> Any:
        """Put encoded columns in their places, as an array or as the frame that `set_output` asked for."""
        # set_output keeps its choice here; scikit-learn has no public name for reading it.
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        if chosen in ("pandas", "polars") and table.frame is not None and self._others():
            return self._frame(table, blocks, chosen)
        return self._stack(table, blocks)

    def _others(self) -> list[int]:
        """Positions of the columns that pass through."""
        encoded = {column.position for column in self.columns_fitted_}
        return [position for position in range(self.n_features_in_) if position not in encoded]

    def _stack(self, table: Table, blocks: list[Array]) -> np.ndarray[Any, Any]:
        """All features as one array, of objects if a column that passes through holds no numbers."""
        places, others = self._places(), self._others()
        dtype = np.float64 if table.numeric(others) or not others else object
        features = np.empty((table.n_rows, places[self.n_features_in_ - 1].stop), dtype=dtype, order="F")
        for column, block in zip(self.columns_fitted_, blocks, strict=True):
            features[:, places[column.position]] = block
        for position in others:
            features[:, places[position].start] = table.values(position)
        return features

    def _frame(self, table: Table, blocks: list[Array], library: str) -> Any:
        """All features as a frame, in which columns that pass through keep their types."""
        assert table.frame is not None
        names, places = self.get_feature_names_out(), self._places()
        kept = table.frame[:, self._others()]
        native = kept.to_pandas() if library == "pandas" else kept.to_polars()
        data: dict[str, Any] = dict.fromkeys(names)
        for position, name in zip(self._others(), native.columns, strict=True):
            data[names[places[position].start]] = native[name]
        for column, block in zip(self.columns_fitted_, blocks, strict=True):
            data |= zip(names[places[column.position]], block.T, strict=True)
        if library == "pandas":
            return type(native)(data, index=native.index)
        return type(native)(data)


def _read_table(X: Any, estimator: Any) -> Table:
    """Wrap X; whatever is no frame must become a two-dimensional array."""
    if Table.is_frame(X):
        table = Table.of(X)
        if table.n_rows == 0 or table.n_columns == 0:
            raise InputError(f"X has {table.n_rows} rows and {table.n_columns} columns: expected at least one of each.")
        return table
    array = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):  # a list of mixed cells, turned into text
        array = check_array(X, dtype=object, ensure_all_finite=False, estimator=estimator, input_name="X")
    return Table.of(array)


def _find_columns(table: Table, columns: Any) -> list[int]:
    """Positions of the columns to encode."""
    if isinstance(columns, str):
        check_option("columns", columns, ("auto", "all"))
        if columns == "all":
            return list(range(table.n_columns))
        found = table.categorical()
        if not found and not any(isinstance(name, str) for name in table.names):
            return list(range(table.n_columns))  # columns numbered 0, 1, …: an array that was put in a frame
        if not found:
            raise InputError(
                'columns="auto" found no string, categorical, boolean or object column. Integer codes have to be '
                f'named: columns={table.names[:2]!r}, or columns="all".'
            )
        return found
    if not isinstance(columns, list | tuple | np.ndarray) or len(columns) == 0:
        raise InputError(f'columns={columns!r}: expected "auto", "all" or a list of names or positions.')
    names = table.names
    positions = []
    for column in columns:
        if table.frame is not None and column in names:
            positions.append(names.index(column))
        elif is_number(column) and column == int(column) and -len(names) <= column < len(names):
            positions.append(int(column) % len(names))
        else:
            shown = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
            raise InputError(f"columns names {column!r}, and X has no such column. It has {shown}.")
    if len(set(positions)) < len(positions):
        raise InputError(f"columns={list(columns)!r} names a column twice. Name each one once.")
    return positions


def make_frame(record: dict[str, Any], backend: Any) -> Any:
    """Make a frame in the library that the table came in; for an array, in one that is installed."""
    if backend is None:
        backend = next((name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None)
        if backend is None:
            raise ImportError("posteriors_ are frames: install pandas, polars or pyarrow.")
    kinds = {type(value) for value in record["category"] if value is not None}
    if len(kinds) > 1:  # frames want one type in a column
        record = record | {"category": [value if value is None else str(value) for value in record["category"]]}
    return nw.from_dict(record, backend=backend).to_native()
