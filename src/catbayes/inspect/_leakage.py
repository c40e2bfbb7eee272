"""Leakage: how much better a training encoding predicts y than held-out rows support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, RepeatedKFold, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from catbayes.core.random import Purpose, stream
from catbayes.core.table import Table, find_column, find_columns, library_of, name_of, read_table
from catbayes.core.target import read_target, read_y
from catbayes.core.validation import Array, is_number
from catbayes.errors import InputError
from catbayes.inspect._display import GREY, Display, drawable, height_of_rows, label_rows

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
        label_rows(ax, [drawable(name) for name in self.columns], self.verdicts, colors)
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
    if isinstance(encoder, type) or not (hasattr(encoder, "fit_transform") and hasattr(encoder, "get_params")):
        raise InputError(
            f"encoder={encoder!r}: expected a transformer with scikit-learn's fit_transform(X, y) and transform(X), "
            "such as SamplingBayesianEncoder()."
        )
    about = {"target": name_of(y), "library": library_of(X)}
    table, y = read_table(X, encoder), read_y(y)
    if table.n_rows < 4 * ROWS_PER_LEAF:
        raise InputError(f"X has {table.n_rows} rows: expected {4 * ROWS_PER_LEAF} or more to find a leak in.")
    target = read_target(y, getattr(encoder, "family", "auto"), table.n_rows)
    is_class = target.classes is not None
    if isinstance(columns, str) and columns == "auto":
        columns = getattr(encoder, "columns", "auto")
    positions = find_columns(table.names, table.categorical(), columns)
    kind = RepeatedStratifiedKFold if is_class else RepeatedKFold
    splits = list(kind(n_splits=cv, n_repeats=REPEATS, random_state=random_state).split(y, target.values))

    def scores(chosen: Sequence[int]) -> Array:
        """Scores of one column, or of several together, on training and on held-out encodings, (fold, 2)."""
        # A tree finds leaks that run backwards; a linear model adds up the leaks of several columns.
        tree = DecisionTreeClassifier if is_class else DecisionTreeRegressor
        linear = LogisticRegression(max_iter=1000) if is_class else Ridge()
        one = len(chosen) == 1
        model = tree(min_samples_leaf=ROWS_PER_LEAF, random_state=0) if one else make_pipeline(StandardScaler(), linear)
        found = []
        for number, (train, test) in enumerate(splits):
            # One generator per column and fold: its first number seeds the encoder, the rest shuffles the rows.
            random = stream(random_state, Purpose.LEAKAGE, chosen[0] if one else len(table.names), number)
            own = _for_columns(encoder, table, chosen, is_class, int(random.integers(np.iinfo(np.int32).max)))
            features = _array(own.fit_transform(_part(table, chosen, train), y[train]))
            new = _part(table, chosen, test)
            held_out = _array(own.sample(new, n_draws=1)[0] if hasattr(own, "sample") else own.transform(new))
            halves = np.array_split(random.permutation(len(train)), 2)
            pairs = []
            for learn, check in (halves, halves[::-1]):
                fitted = clone(model).fit(features[learn], target.values[train[learn]])
                sides = ((features[check], target.values[train[check]]), (held_out, target.values[test]))
                pairs.append([_score(fitted, encoded, truth) for encoded, truth in sides])
            found.append(np.mean(pairs, axis=0))
        return np.array(found)

    def measure(names: list[Any], groups: list[list[int]]) -> LeakageDisplay:
        trained, held_out = np.moveaxis(np.array([scores(group) for group in groups]), 2, 0)  # (column, fold)
        gaps, n_folds = trained - held_out, len(splits)
        overlap = np.mean([len(test) / len(train) for train, test in splits])
        error = np.sqrt(gaps.var(axis=1, ddof=1) * (1.0 / n_folds + overlap))
        gap, half = gaps.mean(axis=1), student.ppf((1.0 + COVERAGE) / 2.0, n_folds - 1) * error
        return LeakageDisplay(
            columns=names,
            score="AUC" if is_class else "R²",
            trained=trained.mean(axis=1),
            held_out=held_out.mean(axis=1),
            gap=gap,
            lower=gap - half,
            upper=gap + half,
            verdicts=[_verdict(*bounds) for bounds in zip(gap, gap - half, gap + half, strict=True)],
            **about,
        )

    names = [table.names[position] for position in positions]
    found = measure(names, [[position] for position in positions])
    if len(positions) > 1:
        found.together = measure([tuple(names)], [positions])
    return found


def _for_columns(encoder: Any, table: Table, positions: Sequence[int], is_class: bool, seed: int) -> Any:
    """Clone an encoder for a table of these columns, with a seed; for a single one without interactions."""
    encoder = clone(encoder)
    known = encoder.get_params(deep=False)
    if len(positions) == 1 and "interactions" in known:
        encoder.set_params(interactions=None)
    if len(positions) == 1 and known.get("kinds"):
        every = known["kinds"].items()
        alone = [(name, kind) for name, kind in every if not isinstance(name, tuple) and not kind.parent_columns]
        by_position = {find_column(table.names, name, "kinds"): kind for name, kind in alone}
        encoder.set_params(kinds={0: by_position[positions[0]]} if positions[0] in by_position else None)
    if "columns" in known:
        encoder.set_params(columns="all")
    if known.get("random_state", 0) is None:
        encoder.set_params(random_state=seed)
    seed_in_folds = isinstance(encoder, TargetEncoder) and known.get("random_state", "deprecated") == "deprecated"
    if seed_in_folds and is_number(encoder.cv):  # from scikit-learn 1.9 on
        folds = StratifiedKFold if is_class else KFold
        encoder.set_params(cv=folds(encoder.cv, shuffle=True, random_state=seed))
    if "cols" in known:  # category_encoders reads it in the constructor only, and names columns of an array by numbers
        own = list(range(len(positions))) if table.frame is None else [table.names[position] for position in positions]
        return type(encoder)(**(encoder.get_params(deep=False) | {"cols": own}))
    return encoder


def _part(table: Table, positions: Sequence[int], rows: Any) -> Any:
    """Columns of some rows, as a table of the same kind."""
    return table.native[rows][:, positions] if table.frame is None else table.frame[rows, list(positions)].to_native()


def _array(encoded: Any) -> Array:
    return np.asarray(encoded.toarray() if hasattr(encoded, "toarray") else encoded, dtype=np.float64)


def _score(model: Any, features: Array, truth: Any) -> float:
    """R² of numbers; AUC of each class against the rest, averaged, and 0.5 for rows of one class."""
    if not is_classifier(model):
        return float(r2_score(truth, model.predict(features)))
    present = np.unique(truth)
    if len(present) < 2:
        return 0.5
    probabilities = dict(zip(model.classes_, model.predict_proba(features).T, strict=True))
    never = np.zeros(len(truth))  # of a class without training rows
    return float(np.mean([roc_auc_score(truth == label, probabilities.get(label, never)) for label in present]))


def _verdict(gap: float, lower: float, upper: float) -> str:
    if lower > 0 and gap > 0.01:
        return "leaks"
    return "cannot tell" if lower <= 0 and upper > 0.05 else "no leak found"
