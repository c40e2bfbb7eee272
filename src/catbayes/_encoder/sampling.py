"""SamplingBayesianEncoder: a category becomes a draw from the posterior of the target."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from catbayes._encoder._base import PosteriorEncoder, PriorLike
from catbayes._encoder._reading import new_seed, read_new, read_row_keys
from catbayes.core.category_outputs import KeepCategories, resolve_kept
from catbayes.core.config import Missing, Settings, Unseen, resolve_temperature
from catbayes.core.fitted import TrainingDraws
from catbayes.core.leakage import Ordered, Strategy, resolve_own_target
from catbayes.core.selection import Selection
from catbayes.core.slots import Sampler
from catbayes.core.types import ByRow, ByRowOrName, Columns, Interactions, Kinds, RowId, Seed, TableLike
from catbayes.core.validation import Array, Codes, check_count
from catbayes.effects.settings import EffectsLike, resolve_effects
from catbayes.families import resolve_family
from catbayes.mappings import MappingLike, resolve_mapping
from catbayes.priors import resolve_prior


class Augmented(NamedTuple):
    """K drawn copies of a table, one after the other.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]
    >>> features, target, weight, row = SamplingBayesianEncoder(random_state=0).augment(X, y, n_draws=2)
    >>> features.shape, target.tolist(), weight.tolist()
    ((8, 1), [0, 1, 1, 1, 0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """

    X: Any
    y: Any
    sample_weight: Array
    row: Codes


class SamplingBayesianEncoder(PosteriorEncoder):
    """Encode categories by draws from the posterior of the target given the category.

    `fit_transform` gives what a model trains on: one draw a row, from a posterior without that row's own target.
    `transform` gives what it predicts on: the posterior expectation, deterministic. The two differ on purpose.

    Parameters
    ----------
    columns : "auto", "all", a name, list of names or positions, or callable
        What to encode. "auto" takes string, object, categorical, enum and boolean columns of a frame, and all columns
        of an array. A callable gets the table, and says which, as scikit-learn's `make_column_selector` does. The other
        columns pass through.
    kinds : dict of column to kind, or None
        What the values of columns are, where they are more than names, by the classes of `catbayes.kinds`:
        `{"hour": Ordinal(cyclic=True), "age": Bins(20)}` for levels that are smoothed towards adjacent ones,
        `"postcode": Nested(["region", "country"])` for categories within others, `"title": Spellings()` for similar
        names, `("home", "away"): Shared()` for the same categories in several columns, `"genres": Tags("|")` for sets.
        With `columns="auto"` these columns are encoded too.
    interactions : list of tuples of columns, "pairs", "triples", "auto", or None
        Combinations of columns that are encoded as columns of their own, each with its own prior, behind the others:
        `[("user", "door")]`, or all pairs (and triples) of the encoded columns. "auto" takes the pairs that say more
        than their columns do one by one, by the gain in marginal likelihood; `interactions_` tells which and why.
    effects : bool, "slopes", or dict of column to list of columns, default=False
        Whether columns get a second output: the effect of each category where all other columns, encoded and numeric,
        are equal. Training rows get it by folds, their own targets left out. Effects are learnt from all rows at once,
        in memory. `{"customer": ["price"]}` also learns for each customer how the target goes with the price;
        "slopes" looks for such numbers, at most one a column, and takes those that are beyond chance.
    keep_categories : "codes", "one_hot", or None
        Whether informative columns give their categories as outputs too, after the posterior: as numbers for trees, or
        as columns of zeros and ones for linear models. They replace the posterior where it has as many outputs as there
        are categories. A category that was not seen has the next number, or zeros.
    max_categories : int or None, default=30
        `keep_categories` is for columns of so many categories at most; None is for all.
    family : "auto", a name in `catbayes.families.FAMILIES`, or a family class
        Likelihood of the target. "auto" takes a y with fractions as a number, and any other as classes. "lognormal" is
        for amounts > 0 that vary by factors: everything, the posteriors and "mean" included, is then about log y.
    prior : "empirical", number > 0, or prior object
        Where a category starts from. "empirical": what makes each column most likely. Its mean is then the mean of the
        categories, each weighted by how well it is known, because that is what a new category is a draw from: frequent
        categories do not count in proportion to their rows. A number: the mean of y over all rows, worth so many rows,
        as `smooth` in scikit-learn's TargetEncoder. `Scaled(γ)` is the prior of the paper, worth the share γ of the
        table, and `Scaled(0)` is flat; `BetaBernoulli(alpha=2, beta=8)` and its like are your own.
    mapping : "mean", "mean_precision", "polynomial", "weight_of_evidence", "identity", "moments", callable or object
        From θ to features. "moments" draws nothing: mean and variance of the posterior. Of `catbayes.mappings`:
        `PosteriorMoments(4)`, or `PredictiveQuantiles()`, quantiles of the target of a new row. A callable gets θ of
        shape (…, parameter), and `transform` averages it over draws of each category; with `temperature=1.0` a method
        `expected(posterior)` of it takes their place. With three classes or more, `Mean(drop_first=True)` and its like
        leave out the outputs of the first class, which the others imply.
    own_target : "exclude", "cross_fit", "ordered", "include", or `Ordered(column)`
        Whether a row's own y is in its training features. "exclude": it is left out of the posterior in closed form
        where the draw hides the step, and by folds elsewhere; it only has its share in the prior of all rows.
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
        "normal" is the large-sample approximation of Appendix B; "auto" uses it, corrected for skewness, for
        categories of which so much is known that its error in distribution is below 0.005, and exact draws for others.
    unseen : "prior", "nan", "error"
        What to do with a category that `fit` did not see: encode it by the prior or as NaN, or refuse it.
    missing : "category", "prior", "nan", "error"
        What to do with a missing value: a category of its own, as if unseen, NaN, or an error.
    random_state : int, RandomState or None
        The same seed gives the same draws for any container in which the columns have the same names. Encoders of
        arrays that share a ColumnTransformer need seeds of their own.

    Attributes
    ----------
    posteriors_ : mapping of column name to frame
        Count, raw mean, posterior mean, sd, 90 % interval and shrinkage of each category; with "lognormal", of log y.
    columns_ : list
        Names of the encoded columns; tuples of names for interactions.
    interactions_ : frame
        The interactions, with their categories and, where "auto" weighed them, their gain and whether it kept them.
    classes_ : ndarray or None
        Class labels in the order of the outputs; for two classes the output is the probability of the second.
    family_ : type
        Family of the target.
    evidence_ : Evidence
        What was gathered: the statistics of each category, before any prior.
    encoding_ : Encoding
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

    def fit_draws(
        self,
        X: TableLike,
        y: ByRowOrName,
        sample_weight: ByRowOrName = None,
        groups: ByRow = None,
        exposure: ByRowOrName = None,
    ) -> TrainingDraws:
        """Fit, and prepare as many draws of the training rows as a model asks for, to be made one at a time.

        Parameters
        ----------
        X, y, sample_weight, groups, exposure
            As for `fit_transform`, whose result is draw 0.

        Returns
        -------
        TrainingDraws
            Its `features(k)` is draw k as an array, for fresh draws at every epoch.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder, Scaled
        >>> X, y = [["a"], ["a"], ["b"], ["b"]] * 5, [0, 1, 1, 1] * 5
        >>> draws = SamplingBayesianEncoder(prior=Scaled(0), random_state=0).fit_draws(X, y)
        >>> bool((draws.features(0) == draws.features(0)).all()), bool((draws.features(0) == draws.features(1)).all())
        (True, False)
        """
        encoding, rows = self._learn(X, y, sample_weight, exposure)
        draws = encoding.training_draws(rows, groups)
        self._keep(encoding)
        return draws

    def augment(
        self,
        X: TableLike,
        y: ByRowOrName,
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

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder
        >>> X, y = [["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]
        >>> copies = SamplingBayesianEncoder(random_state=0).augment(X, y, n_draws=3)
        >>> copies.X.shape, round(float(copies.sample_weight.sum()), 6), copies.row.tolist()
        ((12, 1), 4.0, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3])
        """
        check_count("n_draws", n_draws)
        encoding, rows = self._learn(X, y, sample_weight, exposure)
        copies = encoding.training_draws(rows, groups).copies(n_draws)
        self._keep(encoding)
        n_rows = rows.table.n_rows
        weight = np.ones(n_rows) if rows.weight is None else rows.weight
        row = np.tile(np.arange(n_rows), n_draws)
        return Augmented(copies, rows.y[row], weight[row] / n_draws, row)

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
            What identifies the rows, or the name of the column of X that does. A row then has the same draws in any
            batch, order, library or engine, those of `catbayes.encode` included; rows of one id share theirs. Without
            it, draws go by the position of the row, which is faster.

        Returns
        -------
        draws : ndarray of shape (n_draws, n_rows, n_outputs)
            Columns that are not encoded are repeated in each draw.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder
        >>> encoder = SamplingBayesianEncoder(random_state=0).fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1])
        >>> batch = encoder.sample([["a"], ["b"]], row_id=["order 7", "order 8"])
        >>> alone = encoder.sample([["b"]], row_id=["order 8"])
        >>> bool(batch[0, 1] == alone[0, 0])
        True
        """
        encoding, table = self._fitted(), read_new(X, self)
        check_count("n_draws", n_draws)
        identity = None if row_id is None else read_row_keys(table, row_id)
        seed = None if random_state is None else new_seed(random_state)
        encoding = encoding.extended(table.column)
        blocks = encoding.draws(encoding.slots(table.column), n_draws, seed=seed, identity=identity)
        layout = encoding.layout
        return np.stack([layout.stack(table, [block[k] for block in blocks]) for k in range(n_draws)])

    def _settings(self) -> Settings:
        own_target = resolve_own_target(self.own_target, self.cv)
        kept = resolve_kept(self.keep_categories, self.max_categories)
        aside = () if own_target.column is None else (own_target.column,)
        return Settings(
            selection=Selection(self.columns, self.interactions, aside, kept is not None, self.kinds),
            family=resolve_family(self.family),
            prior=resolve_prior(self.prior),
            mapping=resolve_mapping(self.mapping),
            own_target=own_target,
            temperature=resolve_temperature(self.temperature),
            sampler=self.sampler,
            effects=resolve_effects(self.effects),
            kept=kept,
            unseen=self.unseen,
            missing=self.missing,
        )
