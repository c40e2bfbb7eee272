"""SamplingBayesianEncoder: categories become draws from the posterior of the target, or its expectation."""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from catbayes.core.config import KeepCategories, Missing, Ordered, Settings, Strategy, Unseen, splitter_of
from catbayes.core.evidence import Evidence, check_classes, settle_family, why_uninformative
from catbayes.core.fitted import Fitted, PosteriorFrames, interactions_frame
from catbayes.core.leakage import TrainingDraws, training_draws
from catbayes.core.random import new_seed, row_keys
from catbayes.core.rows import Rows, read_rows
from catbayes.core.slots import Sampler
from catbayes.core.table import Table, input_names, library_of, make_frame, name_of, read_new, read_table, take_named
from catbayes.core.target import read_y
from catbayes.core.validation import (
    Array,
    ByRow,
    ByRowOrName,
    Codes,
    Columns,
    File,
    Interactions,
    Kinds,
    Labels,
    RowId,
    Seed,
    Source,
    TableLike,
    check_count,
    check_number,
)
from catbayes.effects.settings import EffectsLike
from catbayes.errors import InputError, asked_by_user, warn
from catbayes.export.lookups import lookup_frames, lookups
from catbayes.families import Family, find_family
from catbayes.io.gathering import gather_selected
from catbayes.io.save import load_encoder, save_encoder
from catbayes.io.sources import is_source
from catbayes.mappings import MappingLike
from catbayes.priors import Prior

_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""Of the encoders that are updated, one thread at a time; outside of them, so that they can be copied and pickled."""
PriorLike: TypeAlias = Literal["empirical"] | float | Prior | Family
"""What the parameter `prior` takes."""


class Augmented(NamedTuple):
    """K drawn copies of a table, one after the other."""

    X: Any
    y: Any
    sample_weight: Array
    row: Codes


class SamplingBayesianEncoder(TransformerMixin, BaseEstimator):
    """Encode categories by draws from the posterior of the target given the category.

    `fit_transform` gives what a model trains on: one draw a row, from a posterior without that row's own target.
    `transform` gives what it predicts on: the posterior expectation, deterministic. The two differ on purpose.

    Parameters
    ----------
    columns : "auto", "all", a name, list of names or positions, or callable
        What to encode. "auto" takes string, object, categorical, enum and boolean columns of a frame, and all columns
        of an array. A callable gets the table and returns columns, as scikit-learn's `make_column_selector` does. The
        other columns pass through.
    kinds : dict of column to kind, or None
        What the values of columns are, where they are more than names, by the classes of `catbayes.kinds`:
        `{"hour": Ordinal(cyclic=True), "age": Bins(20)}` for levels that are smoothed towards adjacent ones,
        `"postcode": Nested(["region", "country"])` for categories within others, `"title": Spellings()` for similar
        names, `("home", "away"): Shared()` for the same categories in several columns, `"genres": Tags("|")` for sets.
        With `columns="auto"` these columns are encoded too.
    interactions : list of tuples of columns, "pairs", "triples", "auto", or None
        Combinations of columns that are encoded as columns of their own, each with its own prior, after the others:
        `[("user", "door")]`, or all pairs (and triples) of the encoded columns. "auto" takes the pairs that are
        more informative than their columns one by one, by their out-of-sample log-likelihood; see `interactions_`.
    effects : bool, "slopes", or dict of column to list of columns, default=False
        Whether columns get a second output: the effect of each category where all other columns, encoded and numeric,
        are equal. Training rows get it by folds, their own targets excluded. Effects are estimated from all rows at
        once, in memory. `{"customer": ["price"]}` also estimates for each customer how the target changes with the
        price; "slopes" looks for such numbers, at most one a column, and takes those that are beyond chance.
    keep_categories : "codes", "one_hot", or None
        Whether informative columns give their categories as outputs too, after the posterior: as numbers for trees, or
        as columns of zeros and ones for linear models. They replace the posterior where it has as many outputs as there
        are categories. A category that was not seen has the next number, or zeros.
    max_categories : int or None, default=30
        `keep_categories` is for columns with at most this many categories; None is for all.
    family : "auto", a name in `catbayes.families.FAMILIES`, or a family class
        Likelihood of the target. "auto" takes a y with fractions as a number, and any other as classes. "lognormal" is
        for amounts > 0 that vary by factors: everything, the posteriors and "mean" included, is then about log y.
    prior : "empirical", number > 0, or prior object
        Where a category starts from. "empirical": what makes each column most likely; its mean is then that of the
        categories, each weighted by how well it is known. A number: the mean of y over all rows, worth that many rows,
        as `smooth` in scikit-learn's TargetEncoder. `Scaled(γ)` is the prior of the paper, worth the share γ of the
        table, and `Scaled(0)` is flat; `BetaBernoulli(alpha=2, beta=8)` and its like are your own.
    mapping : "mean", "mean_precision", "polynomial", "weight_of_evidence", "identity", "moments", callable or object
        From θ to features. "moments" draws nothing: mean and variance of the posterior. Of `catbayes.mappings`:
        `PosteriorMoments(4)`, or `PredictiveQuantiles()`, quantiles of the target of a new row. A callable gets θ of
        shape (…, parameter), and `transform` averages it over 50 quantiles of each posterior; with `temperature=1.0` a
        method `expected(posterior)` of it takes their place. With three classes or more, `Mean(drop_first=True)` and
        its like leave out the outputs of the first class, which the others imply.
    own_target : "exclude", "cross_fit", "ordered", "include", or `Ordered(column)`
        Whether a row's own y is in its training features. "exclude": it is left out of the posterior in closed form
        where the noise of the draw hides the removal, and by folds elsewhere; it only has its share in the prior.
        "cross_fit": by folds throughout. "ordered": a row knows only the rows of its category before it, as in
        CatBoost, in a new random order for each draw or, by `Ordered("day")`, in the order of a column. "include": as
        in the paper; it leaks where categories are rare.
    cv : int or splitter, default=5
        Folds of "exclude" and "cross_fit". A number means shuffled folds, which keep groups together if
        `fit_transform` gets them.
    temperature : "auto", or float from 0 to 1
        How far draws lie from the posterior mean, as a multiple of the posterior's spread: 1 is the posterior, as in
        the paper, 0 its mean. "auto" goes by count, √(n / (n + ν)) for n rows and a prior worth ν: as the mean itself
        would vary from sample to sample, which is what a model meets in new categories.
    sampler : "auto", "exact", "normal"
        "normal" is the large-sample approximation of Appendix B; "auto" uses it, corrected for skewness, where its
        error in distribution is below 0.005, and exact draws elsewhere.
    unseen : "prior", "nan", "error"
        What to do with a category that `fit` did not see: encode it by the prior or as NaN, or raise an error.
    missing : "category", "prior", "nan", "error"
        What to do with a missing value: a category of its own, as if unseen, NaN, or an error.
    random_state : int, RandomState or None
        The same seed gives the same draws for any container in which the columns have the same names. Encoders of
        arrays that share a ColumnTransformer need seeds of their own.

    Attributes
    ----------
    encoding_ : Fitted
        All that was learnt, as one frozen value.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes import SamplingBayesianEncoder, Scaled
    >>> X = np.array([["red"], ["red"], ["red"], ["red"], ["blue"], ["blue"], ["blue"], ["blue"]], dtype=object)
    >>> y = [1, 1, 1, 0, 0, 0, 0, 1]
    >>> encoder = SamplingBayesianEncoder(prior=Scaled(0), random_state=0)
    >>> encoder.fit_transform(X, y).shape  # a draw for each row
    (8, 1)
    >>> encoder.transform([["red"], ["blue"], ["never seen"]]).round(3)
    array([[0.667],
           [0.333],
           [0.5  ]])
    >>> encoder.sample([["red"], ["blue"]], n_draws=3).shape
    (3, 2, 1)
    """

    encoding_: Fitted
    _trained_on: Callable[[], Any] | None = None  # a weak reference to the table that `fit` was given

    def __init__(
        self,
        columns: Columns = "auto",
        *,
        kinds: Kinds = None,
        interactions: Interactions = None,
        effects: EffectsLike = False,
        keep_categories: KeepCategories | None = None,
        max_categories: int | None = 30,
        family: Any = "auto",
        prior: PriorLike = "empirical",
        mapping: MappingLike = "mean",
        own_target: Ordered | Strategy = "exclude",
        cv: Any = 5,
        temperature: float | Literal["auto"] = "auto",
        sampler: Sampler = "auto",
        unseen: Unseen = "prior",
        missing: Missing = "category",
        random_state: Seed = None,
    ) -> None:
        self.columns = columns
        self.kinds = kinds
        self.interactions = interactions
        self.effects = effects
        self.keep_categories = keep_categories
        self.max_categories = max_categories
        self.family = family
        self.prior = prior
        self.mapping = mapping
        self.own_target = own_target
        self.cv = cv
        self.temperature = temperature
        self.sampler = sampler
        self.unseen = unseen
        self.missing = missing
        self.random_state = random_state

    # -------------------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: Source | Evidence,
        y: ByRowOrName = None,
        sample_weight: ByRowOrName = None,
        exposure: ByRowOrName = None,
    ) -> Self:
        """Learn the posterior of every category. To train a model, take `fit_transform`.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns), or any source that `gather` takes
            Array, nested list, or frame of pandas, polars or pyarrow; a path or glob of Parquet or CSV files; a lazy
            frame of polars, DuckDB or Spark; a reader of Arrow record batches. Or what `gather` returned, without y.
        y : array-like of shape (n_rows,), str, or None
            Target: classes of any type, or numbers; or the name of its column in X.
        sample_weight : array-like of shape (n_rows,), or str, optional
            A row of weight 2 counts as two rows; scale survey weights to a mean of 1. Or the name of a column in X.
        exposure : array-like of shape (n_rows,), or str, optional
            For families of counts: in how many units of time or anything else the events of each row were counted,
            > 0; or the name of a column in X. θ is then the rate in one unit, and a row counts for as many observations
            as it has units, in `posteriors_` too.
        """
        if not (isinstance(X, Evidence) or is_source(X)):
            encoding, _ = self._learn(X, y, sample_weight, exposure)
            self._keep(encoding)
            if encoding.settings.own_target != "include":
                with suppress(TypeError):  # lists have no weak references
                    self._trained_on = weakref.ref(X)
            return self
        settings = Settings.of(self)
        evidence = self._gather(settings, X, y, sample_weight, exposure)
        check_classes(evidence)
        return self._keep(Fitted.fit(settings, evidence, new_seed(self.random_state), library_of(X)))

    def fit_transform(
        self,
        X: TableLike,
        y: ByRowOrName = None,
        sample_weight: ByRowOrName = None,
        groups: ByRow = None,
        exposure: ByRowOrName = None,
    ) -> Any:
        """Fit, and encode the training rows, their own targets left out: not the same as `fit(X, y).transform(X)`.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`; a table in memory.
        groups : array-like of shape (n_rows,), optional
            Rows of one group stay out of each other's features; passed to `cv`.
        exposure
            As for `fit`.

        Returns
        -------
        features : array or frame of shape (n_rows, n_outputs)
            One draw for each row, and what is not drawn; columns that are not encoded as they were.
        """
        encoding, rows = self._learn(X, y, sample_weight, exposure)
        features = self._assemble(rows.table, encoding, training_draws(encoding, rows, groups).blocks(0))
        self._keep(encoding)
        return features

    def fit_draws(
        self,
        X: TableLike,
        y: ByRowOrName = None,
        sample_weight: ByRowOrName = None,
        groups: ByRow = None,
        exposure: ByRowOrName = None,
    ) -> TrainingDraws:
        """Fit, and prepare draws of the training rows, to be made one at a time: fresh ones for every epoch.

        Parameters
        ----------
        X, y, sample_weight, groups, exposure
            As for `fit_transform`, whose result is draw 0.

        Returns
        -------
        TrainingDraws
            Its `features(k)` is draw k as an array.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder, Scaled
        >>> X, y = [["a"], ["a"], ["b"], ["b"]] * 5, [0, 1, 1, 1] * 5
        >>> draws = SamplingBayesianEncoder(prior=Scaled(0), random_state=0).fit_draws(X, y)
        >>> bool((draws.features(0) == draws.features(0)).all()), bool((draws.features(0) == draws.features(1)).all())
        (True, False)
        """
        encoding, rows = self._learn(X, y, sample_weight, exposure)
        draws = training_draws(encoding, rows, groups)
        self._keep(encoding)
        return draws

    def augment(
        self,
        X: TableLike,
        y: ByRowOrName = None,
        n_draws: int = 5,
        sample_weight: ByRowOrName = None,
        groups: ByRow = None,
        exposure: ByRowOrName = None,
    ) -> Augmented:
        """Fit, and stack `n_draws` drawn copies of the training rows: step 3 of the paper.

        Parameters
        ----------
        X, y
            As for `fit_transform`; the first copy is its result.
        n_draws : int, default=5
            K, the number of copies.
        sample_weight, groups, exposure
            As for `fit_transform`.

        Returns
        -------
        Augmented
            Named tuple of `X` (an array of K·N rows), `y`, `sample_weight` (each row's weight divided by K, so that
            leaf sizes and penalties keep their meaning) and `row`, the row that each copy came from. With `exposure`,
            y is the number of events in one unit, and the weight has been multiplied by the units.
        """
        check_count("n_draws", n_draws)
        encoding, rows = self._learn(X, y, sample_weight, exposure)
        copies = training_draws(encoding, rows, groups).copies(n_draws)
        self._keep(encoding)
        n_rows = rows.table.n_rows
        weight = np.ones(n_rows) if rows.weight is None else rows.weight
        row = np.tile(np.arange(n_rows), n_draws)
        return Augmented(copies, rows.y[row], weight[row] / n_draws, row)

    def partial_fit(
        self,
        X: Source | Evidence,
        y: ByRowOrName = None,
        sample_weight: ByRowOrName = None,
        classes: npt.ArrayLike | None = None,
        exposure: ByRowOrName = None,
    ) -> Self:
        """Learn from the next batch of rows; the batches together give what one fit on all of them would.

        While all targets so far are of one class or one value, other methods raise an error.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, optional
            All class labels, to encode by a first batch that holds only one of them. New ones may turn up later.
        exposure
            As for `fit`.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder
        >>> encoder = SamplingBayesianEncoder(random_state=0)
        >>> for X, y in [([["a"], ["b"]], [0, 1]), ([["b"], ["c"]], [1, 0])]:
        ...     encoder = encoder.partial_fit(X, y)
        >>> encoder.posteriors_[0]["count"].tolist()
        [1.0, 2.0, 1.0, 0.0]
        """
        with _lock_of(self):
            known = self._gathered()
            fresh = self._gather(Settings.of(self), X, y, sample_weight, exposure, classes, known)
            return self._update(fresh if known is None else known + fresh, library_of(X))

    def remove(
        self,
        X: Source | Evidence,
        y: ByRowOrName = None,
        sample_weight: ByRowOrName = None,
        exposure: ByRowOrName = None,
    ) -> Self:
        """Take rows out again, as if they had never been fitted on; a category of which nothing is left becomes unseen.

        Parameters
        ----------
        X, y, sample_weight, exposure
            The rows, as they were given to `fit` or `partial_fit`.
        """
        with _lock_of(self):
            known = self._fitted().evidence
            left = known - self._gather(Settings.of(self), X, y, sample_weight, exposure, like=known)
            check_classes(left)
            return self._update(left)

    def forget(self, rate: float) -> Self:
        """Discount all evidence so far: every row counts for `1 - rate` of what it did.

        Parameters
        ----------
        rate : float from 0 to 1
            Share that is forgotten. Called before each day's `partial_fit`, the encoder follows a drift. A category of
            which less than 1e-12 of all rows is left becomes unseen.
        """
        if check_number("rate", rate, 0.0, 1.0) == 1.0:
            raise InputError("rate=1 forgets everything: fit a new encoder instead.")
        with _lock_of(self):
            known = self._fitted().evidence
            left = known.discounted(1.0 - rate).without_traces()
            if left.total.count[0] < 1e-30:
                raise InputError(
                    f"rate={rate!r}: {known.total.count[0]:g} rows are left of all that was learnt, and next to "
                    "nothing would be. Add new rows between two calls, by partial_fit."
                )
            return self._update(left)

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
        >>> (north + south).posteriors_[0]["count"].tolist(), (north + south - south).posteriors_[0]["count"].tolist()
        ([1.0, 2.0, 1.0, 0.0], [1.0, 1.0, 0.0])
        """
        evidence = self.evidence_
        for other in others:
            if not isinstance(other, SamplingBayesianEncoder):
                raise InputError(f"merge takes fitted encoders, and was given a {type(other).__name__}.")
            evidence = evidence + other.evidence_
        return self._copy()._update(evidence)

    def __add__(self, other: Self) -> Self:
        return self.merge(other) if isinstance(other, SamplingBayesianEncoder) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, SamplingBayesianEncoder):
            return NotImplemented
        left = self._fitted().evidence - other._fitted().evidence
        check_classes(left)
        return self._copy()._update(left)

    # --------------------------------------------------------------------------------------- transforming

    def transform(self, X: TableLike) -> Any:
        """Encode new rows by the posterior expectation of f(θ): deterministic, the same for a row alone or in a batch.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`. For the training rows themselves, take `fit_transform`.

        Returns
        -------
        features : array or frame of shape (n_rows, n_outputs)
            Encoded columns in the place of the original ones; the others as they were.
        """
        encoding, table = self._fitted(), read_new(X, self)
        encoding = encoding.extended(table.column)
        if self._trained_on is not None and self._trained_on() is X and asked_by_user():
            warn(
                "transform was given the very table that fit learnt from, so each row's own target is a part of its "
                "features. To train a model on them, take fit_transform(X, y), or a Pipeline, which does."
            )
        return self._assemble(table, encoding, encoding.expectation(encoding.slots(table.column)))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels:
        """Name the outputs by their columns, and by the mapping's output where it has several: `city_square`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns, for an encoder fitted on an array.

        Returns
        -------
        names : ndarray of str
            One name for each output.
        """
        return np.array(self._fitted().layout.distinct_names(input_names(self, input_features)), dtype=object)

    def sample(
        self, X: TableLike, n_draws: int = 1, random_state: Seed = None, row_id: RowId = None
    ) -> np.ndarray[Any, Any]:
        """Draw features of rows that were not trained on, `n_draws` times.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.
        n_draws : int, default=1
            Number of draws; the first ones do not change when more are asked for.
        random_state : int, RandomState or None
            None takes the seed of the fit, so that the same call gives the same draws; any other seed gives others.
        row_id : array-like of int or str, str, or pair of file name and row numbers, optional
            What identifies the rows, or the name of its column in X. A row then has the same draws in any batch, order,
            library or engine, those of `catbayes.encode` included. Without it, draws go by the position of the row,
            which is faster.

        Returns
        -------
        draws : ndarray of shape (n_draws, n_rows, n_outputs)
            Columns that are not encoded are repeated in each draw.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder
        >>> encoder = SamplingBayesianEncoder(random_state=0).fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1])
        >>> batch = encoder.sample([["a"], ["b"]], row_id=["order 7", "order 8"])
        >>> bool(batch[0, 1] == encoder.sample([["b"]], row_id=["order 8"])[0, 0])
        True
        """
        encoding, table = self._fitted(), read_new(X, self)
        check_count("n_draws", n_draws)
        identity = None if row_id is None else row_keys(table.by_row(row_id), table.n_rows)
        seed = None if random_state is None else new_seed(random_state)
        encoding = encoding.extended(table.column)
        blocks = encoding.draws(encoding.slots(table.column), n_draws, seed=seed, identity=identity)
        layout = encoding.layout
        return np.stack([layout.stack(table, [block[k] for block in blocks]) for k in range(n_draws)])

    # ------------------------------------------------------------------------------------ what was learnt

    @property
    def posteriors_(self) -> PosteriorFrames:
        """Count, raw mean, posterior mean, sd, 90 % interval and shrinkage of every category: a frame per column.

        The row of the kind "unseen" is the prior. With `family="lognormal"`, all are about the logarithm of the target.
        """
        return PosteriorFrames(self._fitted())

    @property
    def interactions_(self) -> Any:
        """Frame of the interactions: their categories and, with "auto", their gain and whether they were kept."""
        return interactions_frame(self._fitted())

    @property
    def columns_(self) -> list[Any]:
        """Names of the encoded columns; tuples of names for interactions."""
        return [column.name for column in self.encoding_.columns]

    @property
    def classes_(self) -> Labels | None:
        """Class labels in the order of the outputs; for two, the output is about the second. None for numbers."""
        return self.encoding_.evidence.classes

    @property
    def family_(self) -> type[Family]:
        """Family of the target."""
        return self.encoding_.family

    @property
    def evidence_(self) -> Evidence:
        """The statistics of each category, before any prior."""
        known = self._gathered()
        return self._fitted().evidence if known is None else known

    # ------------------------------------------------------------------------------------------ elsewhere

    def save(self, path: File) -> None:
        """Write the fitted encoder to one file: a Parquet table of statistics with a JSON header, without pickle.

        Parameters
        ----------
        path : str, path or open binary file
            An existing file is replaced when the new one is complete.
        """
        encoding, settings = self._fitted(), Settings.of(self)
        if settings != encoding.settings:  # parameters that were set since the fit
            encoding = Fitted.fit(settings, encoding.evidence, encoding.seed, encoding.library)
        save_encoder(self.get_params(deep=False), encoding, path)

    @classmethod
    def load(cls, path: File) -> Self:
        """Read an encoder that `save` wrote. Loading never runs code; `catbayes.load` takes any kind of encoder.

        Parameters
        ----------
        path : str, path or open binary file
            What `save` wrote.
        """

        def build(parameters: dict[str, Any], fit: Callable[[Settings], Fitted]) -> Any:
            encoder = cls(**parameters)
            return encoder._keep(fit(Settings.of(encoder)))

        found: Self = load_encoder(path, build)
        return found

    def to_sql(self, dialect: str = "duckdb", table: str = "rows", lookup: str | None = None) -> str:
        """Write a query that adds to every row of a table what `transform` gives: the posterior expectations.

        Parameters
        ----------
        dialect : str
            Database that is to read the query, by the name that sqlglot has for it: "duckdb", "sqlite", "postgres",
            "bigquery", "snowflake", "spark" and many more.
        table : str
            Table to select from, with its schema if need be: `sales.visits`, or `sales."my visits"`.
        lookup : str, optional
            What the names of tables begin with that hold the frames of `to_frames`, such as `sales.known`: the query
            joins those instead of listing all categories itself.

        Returns
        -------
        query : str
            One SELECT of all columns of the table and the new ones, called as `catbayes.encode` calls them. The columns
            have to be of the types that they had at fit. Where `transform` would raise an error, for `unseen="error"`
            or `missing="error"`, the new columns are NULL; but a new combination, or a new child in a hierarchy, has an
            answer here.

        Notes
        -----
        NULL is a missing value, and so is NaN in databases that know it. Text is compared letter by letter, whatever
        the collation of the column, in SQLite, DuckDB, Postgres, MySQL and SQL Server. Other databases compare it by
        the collation: one that treats "Oslo" and "OSLO" as equal joins a row to both, if both are categories. SQLite
        has no dates: there they are compared as text, "2024-12-31", with the time after a blank if any has one.
        """
        encoding = self._fitted()
        from catbayes.export.sql import write_sql  # needs sqlglot

        return write_sql(lookups(encoding), dialect, table, lookup, encoding.evidence.inputs)

    def to_frames(self, lookup: str = "known") -> dict[str, Any]:
        """Make lookup tables: what `transform` gives for every category, to be stored as Parquet or in a database.

        Parameters
        ----------
        lookup : str
            What their names begin with.

        Returns
        -------
        frames : dict
            A frame for each encoded column, by the name of its table: the categories under the name of the column, and
            the outputs, called as `catbayes.encode` calls them. Combinations with missing parts and parents in a
            hierarchy have tables of their own. Missing and unseen categories have no line; `to_sql(lookup=…)` joins the
            tables and adds them.

        Examples
        --------
        >>> import pandas as pd
        >>> from catbayes import SamplingBayesianEncoder, Scaled
        >>> X = pd.DataFrame({"city": ["Oslo", "Oslo", "Rome", "Rome"]})
        >>> SamplingBayesianEncoder(prior=Scaled(0)).fit(X, [0, 1, 1, 1]).to_frames()["known_0"]
           city  city_encoded
        0  Oslo          0.50
        1  Rome          0.75
        """
        encoding = self._fitted()
        records = lookup_frames(encoding, lookup)
        return {name: make_frame(record, encoding.library) for name, record in records.items()}

    def to_onnx(self) -> Any:
        """Make an ONNX model that gives what `transform` gives for the encoded columns: the posterior expectations.

        Returns
        -------
        model : onnx.ModelProto
            Inputs: a tensor of shape (n, 1) for each encoded column, called like it, of strings, int64, double or
            booleans, whichever its categories were at fit. Outputs: a tensor of doubles of shape (n, n_outputs) for
            each encoded column, such as `city_encoded`. In names, all but letters, digits and underscores become
            underscores; the metadata of the model have the names as they were, and those of the outputs in a tensor.

        Notes
        -----
        The empty string is a missing value unless it is a category, and NaN is one; int64 and booleans have none.
        Outputs are NaN where those of `to_sql` are NULL. Columns that are not encoded are left out.
        """
        from catbayes.export.onnx import write_onnx  # needs onnx

        return write_onnx(lookups(self._fitted()))

    # --------------------------------------------------------------------------------------- scikit-learn

    def get_metadata_routing(self) -> MetadataRouter:
        """Route `sample_weight` and `exposure` to `fit`, and groups to the folds of `fit_transform`."""
        router = MetadataRouter(owner=self).add_self_request(self)
        splitter = splitter_of(self.own_target, self.cv)
        mapping = MethodMapping().add(caller="fit_transform", callee="split")
        return router.add(splitter=splitter, method_mapping=mapping)

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

    # ------------------------------------------------------------------------------------------ the parts

    def _fitted(self) -> Fitted:
        if not hasattr(self, "encoding_"):
            if (known := self._gathered()) is not None:
                settle_family(Settings.of(self).family, known)  # raises an error about what is missing
            check_is_fitted(self)
        return self.encoding_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoding_")

    def _gathered(self) -> Evidence | None:
        """What was learnt from so far, though there may be nothing to encode towards yet."""
        return self.encoding_.evidence if hasattr(self, "encoding_") else getattr(self, "_parts", None)

    def _update(self, evidence: Evidence, library: Any = None) -> Self:
        """Become fitted to other evidence by the same seed; store it until more follows, while it is uninformative."""
        known = getattr(self, "encoding_", None)
        if known is None and why_uninformative(evidence) is not None:
            self._parts = evidence
            return self._name_inputs(evidence)
        seed, library = (new_seed(self.random_state), library) if known is None else (known.seed, known.library)
        return self._keep(Fitted.fit(Settings.of(self), evidence, seed, library))

    def _learn(self, X: Any, y: Any, sample_weight: Any, exposure: Any) -> tuple[Fitted, Rows]:
        """Fit every column of a table in memory, without touching the encoder."""
        settings = Settings.of(self)
        target = name_of(y)
        table, y, sample_weight, exposure = self._read(X, y, sample_weight, exposure)
        if table.n_rows < 2:
            raise InputError(f"X has n_samples={table.n_rows}: expected two rows or more to learn from.")
        about: dict[str, Any] = {"family": settings.family, "effects": settings.effects}
        rows = read_rows(table, settings.selection, y, sample_weight, exposure, **about)
        check_classes(rows.evidence)
        evidence = replace(rows.evidence, target=target)
        return Fitted.fit(settings, evidence, new_seed(self.random_state), library_of(X)), rows

    def _gather(
        self,
        settings: Settings,
        X: Any,
        y: Any,
        sample_weight: Any,
        exposure: Any,
        classes: Any = None,
        like: Evidence | None = None,
    ) -> Evidence:
        """Gather from any source; columns, classes and kind of target as in `like`."""
        if isinstance(X, Evidence):
            extra = {"y": y, "sample_weight": sample_weight, "exposure": exposure, "classes": classes}
            for name, value in extra.items():
                if value is not None:
                    raise InputError(f"{name}: what was gathered holds its target and weights already. Leave it out.")
            settings.selection.require(list(X.columns), list(X.inputs))
            return X
        target = name_of(y)
        if not is_source(X):
            table, y, sample_weight, exposure = self._read(X, y, sample_weight, exposure)
            X = table.native
            if like is not None:
                validate_data(self, X, reset=False, skip_check_array=True)
        given = {"target": y, "weight": sample_weight, "exposure": exposure}
        given |= {"family": settings.family, "classes": classes}
        return replace(gather_selected(X, settings.selection, like, **given), target=target)

    def _read(self, X: Any, y: Any, sample_weight: Any, exposure: Any) -> tuple[Table, Any, Any, Any]:
        """Wrap a table in memory; target, weights and exposure that are given by name are taken out of it."""
        table, y, sample_weight, exposure = take_named(read_table(X, self), y, sample_weight, exposure)
        return table, read_y(y), sample_weight, exposure

    def _assemble(self, table: Table, encoding: Fitted, blocks: Iterable[Array]) -> Any:
        """Put encoded columns in their places, as an array or, where columns pass, as the frame of `set_output`."""
        # set_output stores its choice here; scikit-learn has no public name for reading it.
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        layout, inputs = encoding.layout, list(encoding.evidence.inputs)
        if chosen not in ("pandas", "polars") or table.frame is None or not layout.passing:
            return layout.stack(table, blocks)
        if not all(isinstance(name, str) for name in inputs):
            inputs = [f"x{position}" for position in range(len(inputs))]
        return layout.frame(table, blocks, layout.distinct_names(inputs), chosen)

    def _keep(self, encoding: Fitted) -> Self:
        """Become fitted, all at once."""
        if hasattr(self, "_parts"):
            del self._parts
        self.encoding_ = encoding
        self.__dict__.pop("_trained_on", None)
        return self._name_inputs(encoding.evidence)

    def _name_inputs(self, evidence: Evidence) -> Self:
        """Tell scikit-learn which columns there were."""
        inputs = evidence.inputs
        self.n_features_in_ = len(inputs)
        if all(isinstance(name, str) for name in inputs):
            self.feature_names_in_ = np.array(inputs, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the weak reference, which is about a table in this process."""
        return {name: value for name, value in super().__getstate__().items() if name != "_trained_on"}

    def _copy(self) -> Self:
        """A copy of this encoder, settings included."""
        other = copy.copy(self)
        if hasattr(self, "_sklearn_output_config"):  # what set_output chose, which copies would share
            other._sklearn_output_config = dict(self._sklearn_output_config)
        return other


def _lock_of(encoder: SamplingBayesianEncoder) -> Any:
    """The lock under which an encoder is updated."""
    return _LOCKS.setdefault(encoder, threading.Lock())
