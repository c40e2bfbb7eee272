"""Leakage: how much better a training encoding predicts y than held-out rows support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from catbayes.core.random import Purpose, stream
from catbayes.core.table import Table, find_columns, name_of
from catbayes.core.target import Target, read_target
from catbayes.core.validation import Array, Codes, check_count
from catbayes.errors import InputError
from catbayes.estimator_input import read_table, read_y
from catbayes.inspect._display import GREY, Display, drawable, height_of_rows, label_rows, library_of
from catbayes.inspect._one_column import check_encoder, for_columns, outputs, part

REPEATS = 2
COVERAGE = 0.9
ROWS_PER_LEAF = 20
COLORS = {"leaks": "C3", "no leak found": "C0", "cannot tell": GREY}


@dataclass(eq=False, repr=False)
class LeakageDisplay(Display):
    """Score of the training encoding of each column, less that of its held-out encoding.

    `plot(**style)` styles the points.

    Attributes
    ----------
    columns : list
        Names of the columns, or their positions in an array.
    score : "AUC" or "R²"
        What `trained` and `held_out` are; 0.5 or 0 is that of an uninformative encoding.
    trained, held_out : ndarray of shape (n_columns,)
        Scores on training encodings and on held-out ones, averaged over folds.
    gap, lower, upper : ndarray of shape (n_columns,)
        `trained` - `held_out`, and its 90 % interval.
    verdicts : list of str
        "leaks": the interval is above 0, and the gap above 0.01. "cannot tell": the interval contains 0 and reaches
        above 0.05, so more rows are needed. "no leak found": anything else.
    together : LeakageDisplay or None
        The same for all columns at once, as one entry with the tuple of their names: small leaks of several columns
        add up. None if there is only one column.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.inspect import LeakageDisplay
    >>> X, y = np.arange(100)[:, None] % 20, np.arange(100) % 3 == 0
    >>> LeakageDisplay.from_estimator(SamplingBayesianEncoder(), X, y, cv=2).score
    'AUC'
    """

    columns: list[Any]
    score: str
    trained: Array
    held_out: Array
    gap: Array
    lower: Array
    upper: Array
    verdicts: list[str]
    together: LeakageDisplay | None = None
    target: str | None = None
    library: Any = None

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **settings: Any) -> LeakageDisplay:
        """Measure the leakage of an encoder that is not fitted; the same as `leakage`."""
        return leakage(estimator, X, y, **settings)

    def _record(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("trained", "held_out", "gap", "lower", "upper")}
        scores = [self.score] * len(self.columns)
        return {"column": self.columns, "score": scores, **numbers, "verdict": self.verdicts}

    def _size(self) -> tuple[float, float]:
        return 6.8, height_of_rows(len(self.columns))

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        place = np.arange(len(self.columns))
        colors = [COLORS[verdict] for verdict in self.verdicts]
        ax.axvline(0.0, color=GREY, linewidth=1)
        ax.hlines(place, self.lower, self.upper, color=colors, linewidth=2, alpha=0.6)
        ax.scatter(self.gap, place, **({"color": colors, "zorder": 3} | style))
        for row, verdict in enumerate(self.verdicts):
            text = {"transform": ax.get_yaxis_transform(), "va": "center", "color": colors[row]}
            ax.text(1.02, row, verdict, **text)
        label_rows(ax, [drawable(name) for name in self.columns])
        ax.set_xlabel(f"{self.score} on training rows less {self.score} on held-out rows, with 90 % interval")


def leakage(
    encoder: Any, X: Any, y: Any, *, columns: Any = "auto", cv: int = 5, random_state: int = 0
) -> LeakageDisplay:
    """Measure whether an encoder lets a row's own target into its training features.

    Each column is encoded by itself, without interactions and hierarchies, and then all of them together. In every
    fold, `encoder.fit_transform` encodes the training rows. A decision tree learns y from the encodings of one half of
    them and is scored on the other half (`trained`) and on the held-out rows (`held_out`); then the halves are
    exchanged. Held-out rows are encoded by one draw if the encoder has `sample`, since its training encodings are
    draws too, and otherwise by `transform`. A model cannot use more of a column than held-out rows support: the
    difference, `gap`, misleads it.

    A tree also finds leaks that run backwards: leave-one-out means fall where the row's own target rises. It sees only
    this column; a model that sees the category in another way can find more. All columns together are scored by a
    linear model, which adds up the small leaks of each.

    The folds are repeated twice, and their training sets overlap; the interval is Student's, with the variance of the
    mean enlarged to s² (1/J + n_test/n_train) for J folds (Nadeau and Bengio, Machine Learning 52, 2003).

    Parameters
    ----------
    encoder : transformer
        With `fit_transform(X, y)` and `transform(X)`, not fitted: one of this library, scikit-learn's TargetEncoder, or
        any of category_encoders. It is cloned.
    X : table of shape (n_rows, n_columns)
        Array, or frame of pandas, polars or pyarrow.
    y : array-like of shape (n_rows,)
        Target. Classes are scored by AUC, one against the rest and averaged, numbers by R².
    columns : "auto", "all", or list of names or positions
        What to measure. "auto" takes the encoder's own `columns`, or the string, object, categorical, enum and boolean
        columns, or all of an array.
    cv : int, default=5
        Number of folds.
    random_state : int, default=0
        Seed of the folds, of the halves, and of an encoder that has none.

    Returns
    -------
    LeakageDisplay
        Numbers and a verdict for each column, and `plot()`.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes import SamplingBayesianEncoder, Scaled
    >>> from catbayes.inspect import leakage
    >>> random = np.random.default_rng(0)
    >>> X, y = random.integers(500, size=(2000, 1)), random.integers(2, size=2000)  # noise, four rows a category
    >>> leakage(SamplingBayesianEncoder(), X, y).verdicts
    ['no leak found']
    >>> leakage(SamplingBayesianEncoder(own_target="include", prior=Scaled(0)), X, y).verdicts
    ['leaks']
    """
    check_encoder(encoder)
    check_count("cv", cv, 2)
    check_count("random_state", random_state, 0)
    about = {"target": name_of(y), "library": library_of(X)}
    table, y = read_table(X, encoder), read_y(y)
    if table.n_rows < 4 * ROWS_PER_LEAF:
        raise InputError(f"X has {table.n_rows} rows: expected {4 * ROWS_PER_LEAF} or more to find a leak in.")
    target = read_target(y, getattr(encoder, "family", "auto"), table.n_rows)
    if isinstance(columns, str) and columns == "auto":
        columns = getattr(encoder, "columns", "auto")
    positions = find_columns(table.names, table.categorical(), columns)
    kind = RepeatedKFold if target.classes is None else RepeatedStratifiedKFold
    splits = list(kind(n_splits=cv, n_repeats=REPEATS, random_state=random_state).split(y, target.values))
    folds = _Folds(table, y, target, splits, random_state)
    names = [table.names[position] for position in positions]
    found = folds.compare(names, [folds.scores(encoder, [position]) for position in positions], about)
    if len(positions) == 1:
        return found
    return replace(found, together=folds.compare([tuple(names)], [folds.scores(encoder, positions)], about))


@dataclass(frozen=True, slots=True)
class _Folds:
    """The rows and their folds."""

    table: Table
    y: Any
    target: Target
    splits: list[tuple[Codes, Codes]]
    seed: int

    def compare(self, columns: list[Any], scores: list[Array], about: dict[str, Any]) -> LeakageDisplay:
        """Compare training and held-out scores, (fold, 2) for each column."""
        trained, held_out = np.moveaxis(np.array(scores), 2, 0)  # (column, fold)
        gaps, n_folds = trained - held_out, len(self.splits)
        overlap = np.mean([len(test) / len(train) for train, test in self.splits])
        error = np.sqrt(gaps.var(axis=1, ddof=1) * (1.0 / n_folds + overlap))
        gap, half = gaps.mean(axis=1), student.ppf((1.0 + COVERAGE) / 2.0, n_folds - 1) * error
        return LeakageDisplay(
            columns=columns,
            score="R²" if self.target.classes is None else "AUC",
            trained=trained.mean(axis=1),
            held_out=held_out.mean(axis=1),
            gap=gap,
            lower=gap - half,
            upper=gap + half,
            verdicts=[_verdict(*bounds) for bounds in zip(gap, gap - half, gap + half, strict=True)],
            **about,
        )

    def scores(self, encoder: Any, positions: Sequence[int]) -> Array:
        """Scores of one column, or of several together, on training and on held-out encodings, (fold, 2)."""
        one, classes = len(positions) == 1, self.target.classes is not None
        scores = []
        for number, (train, test) in enumerate(self.splits):
            # One generator per column and fold: its first number seeds the encoder, the rest shuffles the rows.
            random = stream(self.seed, Purpose.LEAKAGE, positions[0] if one else len(self.table.names), number)
            own_seed = int(random.integers(np.iinfo(np.int32).max))
            own = for_columns(encoder, self.table, positions, classes=classes, seed=own_seed)
            features = outputs(own.fit_transform(part(self.table, positions, train), self.y[train]))
            new = part(self.table, positions, test)
            held_out = outputs(own.sample(new, n_draws=1)[0] if hasattr(own, "sample") else own.transform(new))
            halves = np.array_split(random.permutation(len(train)), 2)
            scores.append(self._fold(_model(one, classes), features, held_out, train, test, halves))
        return np.array(scores)

    def _fold(self, model: Any, features: Array, held_out: Array, train: Codes, test: Codes, halves: Any) -> Array:
        """Learn from each half of the training rows; score on the other half and on the held-out rows."""
        values, n_classes = self.target.values, None if self.target.classes is None else len(self.target.classes)
        pairs = []
        for learn, check in (halves, halves[::-1]):
            fitted = clone(model).fit(features[learn], values[train[learn]])
            sides = ((features[check], values[train[check]]), (held_out, values[test]))
            pairs.append([_score(fitted, encoded, truth, n_classes) for encoded, truth in sides])
        return np.asarray(np.mean(pairs, axis=0))


def _model(one: bool, classes: bool) -> Any:
    """A tree for one column, which finds leaks that run backwards; a linear model for several, which adds them up."""
    if one:
        tree = DecisionTreeClassifier if classes else DecisionTreeRegressor
        return tree(min_samples_leaf=ROWS_PER_LEAF, random_state=0)
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000) if classes else Ridge())


def _score(model: Any, features: Array, values: Any, n_classes: int | None) -> float:
    """R² of numbers; AUC of each class against the rest, averaged, and 0.5 for rows of one class."""
    if n_classes is None:
        return float(r2_score(values, model.predict(features)))
    probabilities = np.zeros((len(features), n_classes))
    probabilities[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(features)
    present = [label for label in range(n_classes) if 0 < (values == label).sum() < len(values)]
    areas = [roc_auc_score(values == label, probabilities[:, label]) for label in present]
    return float(np.mean(areas)) if areas else 0.5


def _verdict(gap: float, lower: float, upper: float) -> str:
    if lower > 0 and gap > 0.01:
        return "leaks"
    return "cannot tell" if lower <= 0 and upper > 0.05 else "no leak found"
