"""Does a training encoding give y back? What it tells of y, less what held-out rows support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from catbayes._encoder import read_table, read_y
from catbayes.core.one_column import alone, check_encoder, outputs, part, together
from catbayes.core.random import Purpose, stream
from catbayes.core.table import Table, find_columns, make_frame
from catbayes.core.target import Target, read_target
from catbayes.core.validation import Array, Codes, check_count
from catbayes.core.writing import Written
from catbayes.errors import InputError
from catbayes.models.scoring import all_classes, area_under_curve, corrected_interval, overlap_of

REPEATS = 2
COVERAGE = 0.9
ROWS_PER_LEAF = 20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Leakage(Written):
    """How much better the training encoding of columns tells y than their held-out encoding does.

    Attributes
    ----------
    columns : list
        Names of the columns, or their positions in an array.
    score : "AUC" or "R²"
        What `trained` and `held_out` are: 0.5 or 0 says that the encoding tells nothing.
    trained, held_out : ndarray of shape (n_columns,)
        Scores on training encodings and on held-out ones, averaged over folds.
    gap, lower, upper : ndarray of shape (n_columns,)
        `trained` - `held_out`, and its 90 % interval.
    verdicts : list of str
        "leaks": the interval lies above 0, and the gap above 0.01. "cannot tell": the interval holds 0 and reaches
        above 0.05, so more rows are needed. "no leak found": anything else.
    together : Leakage or None
        The same for all columns at once, as one entry that has the tuple of their names: leaks that are too small to be
        seen in one column add up. None where there is one column only.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.diagnostics import leakage
    >>> random = np.random.default_rng(0)
    >>> X, y = random.integers(9, size=(200, 2)), random.integers(2, size=200)
    >>> found = leakage(SamplingBayesianEncoder(), X, y, cv=2)
    >>> found.columns, found.score, found.gap.shape
    ([0, 1], 'AUC', (2,))
    """

    columns: list[Any]
    score: str
    trained: Array
    held_out: Array
    gap: Array
    lower: Array
    upper: Array
    verdicts: list[str]
    together: Leakage | None = None
    library: Any = field(default=None, repr=False)

    def record(self) -> dict[str, Any]:
        """All of it as columns, one entry for each column of the table."""
        numbers = {name: getattr(self, name) for name in ("trained", "held_out", "gap", "lower", "upper")}
        scores = [self.score] * len(self.columns)
        return {"column": self.columns, "score": scores, **numbers, "verdict": self.verdicts}

    def frame(self) -> Any:
        """All of it as a frame, one row for each column, in the library that the table came in."""
        return make_frame(self.record(), self.library)

    def _sentence(self) -> str:
        sentence = f"{self.score} of training encodings and of held-out ones, and what the gap between them says"
        if self.together is None:
            return f"{sentence}:"
        lower, upper = self.together.lower[0], self.together.upper[0]
        gap = f"{self.together.gap[0]:+.4f} ({lower:+.4f} to {upper:+.4f}), {self.together.verdicts[0]}"
        return f"{sentence}; of all columns together it is {gap}:"

    def _table(self) -> dict[str, Any]:
        return {name: values for name, values in self.record().items() if name != "score"}


def leakage(encoder: Any, X: Any, y: Any, *, columns: Any = "auto", cv: int = 5, random_state: int = 0) -> Leakage:
    """Measure whether an encoder lets a row's own target into its training features.

    Each column is encoded by itself, without interactions and hierarchies, and then all of them together. In every
    fold, `encoder.fit_transform` encodes the training rows; a decision tree learns y from the encodings of one half of
    them and is scored on the other half (`trained`), and on the held-out rows (`held_out`), and the same with the
    halves exchanged. Held-out rows are encoded by one draw if the encoder has `sample`, since its training encodings
    are draws too, and else by `transform`. A model can use no more of a column than held-out rows support: the rest,
    `gap`, is what it is misled by.

    A tree is asked, and no monotone measure, because a leak may run backwards: leave-one-out means fall where the own
    target rises. The tree sees this column alone. Models that also see the category by another route can read more. Of
    all columns together a linear model is asked, standardised: what each of them tells too much is added up.

    The folds are repeated twice, and their training sets overlap; the interval is Student's, with the variance of the
    mean enlarged to s² (1/J + n_test/n_train) for J folds (Nadeau and Bengio, Machine Learning 52, 2003).

    Parameters
    ----------
    encoder : transformer
        With `fit_transform(X, y)` and `transform(X)`, not fitted: one of ours, scikit-learn's TargetEncoder, or any
        of category_encoders. It is cloned.
    X : table of shape (n_rows, n_columns)
        Array, or frame of pandas, polars or pyarrow.
    y : array-like of shape (n_rows,)
        Target. Classes are scored by AUC, one against the rest and averaged, numbers by R²; which of them y holds is
        read as `SamplingBayesianEncoder` reads it, and by the encoder's `family` if it has one.
    columns : "auto", "all", or list of names or positions
        What to measure. "auto" takes the columns that the encoder names in its own `columns`, and else string, object,
        categorical, enum and boolean ones, or all of an array.
    cv : int, default=5
        Number of folds.
    random_state : int, default=0
        Seed of the folds, of the halves, and of an encoder that has none.

    Returns
    -------
    Leakage
        Numbers and a verdict for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.diagnostics import leakage
    >>> random = np.random.default_rng(0)
    >>> X, y = random.integers(500, size=(2000, 1)), random.integers(2, size=2000)  # noise, four rows a category
    >>> leakage(SamplingBayesianEncoder(), X, y).verdicts
    ['no leak found']
    >>> leakage(SamplingBayesianEncoder(own_target="include", prior=0), X, y).verdicts
    ['leaks']
    """
    check_encoder(encoder)
    check_count("cv", cv, 2)
    check_count("random_state", random_state, 0)
    table, y = read_table(X, encoder), read_y(y)
    if table.n_rows < 4 * ROWS_PER_LEAF:
        raise InputError(f"X has {table.n_rows} rows: expected {4 * ROWS_PER_LEAF} or more to find a leak in.")
    target = read_target(y, getattr(encoder, "family", "auto"), table.n_rows)
    if isinstance(columns, str) and columns == "auto":
        columns = getattr(encoder, "columns", "auto")
    positions = find_columns(table.names, table.categorical(), columns)
    kind = RepeatedKFold if target.classes is None else RepeatedStratifiedKFold
    splits = list(kind(n_splits=cv, n_repeats=REPEATS, random_state=random_state).split(y, target.values))
    measured = _Measured(table, y, target, splits, random_state)
    names = [table.names[position] for position in positions]
    found = measured.found(names, [measured.scores(encoder, [position]) for position in positions])
    if len(positions) == 1:
        return found
    return replace(found, together=measured.found([tuple(names)], [measured.scores(encoder, positions)]))


@dataclass(frozen=True, slots=True)
class _Measured:
    """The rows that are measured, and their folds."""

    table: Table
    y: Any
    target: Target
    splits: list[tuple[Codes, Codes]]
    seed: int

    def found(self, columns: list[Any], scores: list[Array]) -> Leakage:
        """What the scores of some columns, (fold, 2) each, say."""
        trained, held_out = np.moveaxis(np.array(scores), 2, 0)  # (column, fold)
        gap, _, half = corrected_interval(trained - held_out, overlap_of(self.splits), COVERAGE)
        return Leakage(
            columns=columns,
            score="R²" if self.target.classes is None else "AUC",
            trained=trained.mean(axis=1),
            held_out=held_out.mean(axis=1),
            gap=gap,
            lower=gap - half,
            upper=gap + half,
            verdicts=[_verdict(*bounds) for bounds in zip(gap, gap - half, gap + half, strict=True)],
            library=self.table.backend,
        )

    def scores(self, encoder: Any, positions: Sequence[int]) -> Array:
        """Scores of one column, or of several together, on training and on held-out encodings, (fold, 2)."""
        one, classes = len(positions) == 1, self.target.classes is not None
        scores = []
        for number, (train, test) in enumerate(self.splits):
            # One generator a column and fold: its first number seeds the encoder, the rest shuffles the rows.
            random = stream(self.seed, Purpose.LEAKAGE, positions[0] if one else self.table.n_columns, number)
            own_seed = int(random.integers(np.iinfo(np.int32).max))
            if one:
                own = alone(encoder, self.table, positions[0], classes=classes, seed=own_seed)
            else:
                own = together(encoder, self.table, positions, classes=classes, seed=own_seed)
            features = outputs(own.fit_transform(part(self.table, positions, train), self.y[train]))
            new = part(self.table, positions, test)
            held_out = outputs(own.sample(new, n_draws=1)[0] if hasattr(own, "sample") else own.transform(new))
            halves = np.array_split(random.permutation(len(train)), 2)
            scores.append(self._fold(_model(one, classes), features, held_out, train, test, halves))
        return np.array(scores)

    def _fold(self, model: Any, features: Array, held_out: Array, train: Codes, test: Codes, halves: Any) -> Array:
        """Learn from each half of the training rows, and be scored on the other half and on the held-out rows."""
        values, n_classes = self.target.values, None if self.target.classes is None else len(self.target.classes)
        pairs = []
        for learn, check in (halves, halves[::-1]):
            fitted = clone(model).fit(features[learn], values[train[learn]])
            sides = ((features[check], values[train[check]]), (held_out, values[test]))
            pairs.append([_score(fitted, told, of, n_classes) for told, of in sides])
        return np.asarray(np.mean(pairs, axis=0))


def _model(one: bool, classes: bool) -> Any:
    """A tree for one column, which finds what runs backwards; a linear model for several, which adds them up."""
    if one:
        tree = DecisionTreeClassifier if classes else DecisionTreeRegressor
        return tree(min_samples_leaf=ROWS_PER_LEAF, random_state=0)
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000) if classes else Ridge())


def _score(model: Any, features: Array, values: Any, n_classes: int | None) -> float:
    """R² of numbers, AUC of classes; 0.5 for rows of one class."""
    if n_classes is None:
        return float(r2_score(values, model.predict(features)))
    return float(np.nan_to_num(area_under_curve(values, all_classes(model, features, n_classes)), nan=0.5))


def _verdict(gap: float, lower: float, upper: float) -> str:
    if lower > 0 and gap > 0.01:
        return "leaks"
    return "cannot tell" if lower <= 0 and upper > 0.05 else "no leak found"
