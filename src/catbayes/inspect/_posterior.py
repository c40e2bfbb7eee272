"""Posteriors of the categories of a column, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.core.fitted import posterior_record
from catbayes.core.table import no_column
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.inspect._display import GREY, Display, drawable, fitted_encoding, height_of_rows, label_rows

NUMBERS = ("count", "raw_mean", "mean", "lower", "upper")
MOST_CATEGORIES = 12


def read_column(estimator: Any, column: Any, class_: Any, coverage: float = 0.9) -> tuple[dict[str, Any], str, Any]:
    """Return a record of the posteriors of a column for one class, their meaning, and the library of the table."""
    encoding = fitted_encoding(estimator)
    columns = {entry.name: entry for entry in encoding.columns}
    if column not in columns:
        raise no_column(column, list(columns))
    classes = encoding.evidence.classes
    labels = [] if classes is None else classes.tolist()
    record = posterior_record(columns[column], labels or None, coverage)
    shown = labels[-1:] if len(labels) == 2 else labels  # of two classes, the second has the probability
    if class_ is not None and class_ not in shown:
        raise InputError(f"class_={class_!r}: expected {f'one of {shown}' if shown else 'None for a numeric target'}.")
    width = max(len(shown), 1)
    place = width - 1 if class_ is None else shown.index(class_)
    record = {name: values[place::width] for name, values in record.items()}
    return record, _description(encoding, shown[place] if shown else None), encoding.library


def _description(encoding: Any, label: Any) -> str:
    """Describe what the numbers of a column are: a probability, a mean or a rate."""
    evidence = encoding.evidence
    name = None if evidence.target is None else drawable(evidence.target)
    if evidence.classes is not None:
        return f"probability of {'class' if name is None else f'{name} ='} {drawable(label)}"
    log = "the logarithm of " if name is None else "log "
    unit = " per unit of exposure" if evidence.exposure != 1.0 else ""
    return f"mean of {log if encoding.family.log_target else ''}{name or 'the target'}{unit}"


@dataclass(eq=False, repr=False)
class PosteriorDisplay(Display):
    """Posterior intervals of the target's mean in each category, and in an unseen one.

    `plot(**style)` styles the points. The plot shows the range of the intervals; an observed mean outside of it is
    drawn at its edge.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.families import BetaBernoulli
    >>> from catbayes.inspect import PosteriorDisplay
    >>> X, y = [["Oslo"]] * 8 + [["Rome"]] * 4, [1] * 6 + [0] * 6
    >>> encoder = SamplingBayesianEncoder(prior=BetaBernoulli(alpha=1, beta=1)).fit(X, y)
    >>> display = PosteriorDisplay.from_estimator(encoder, 0)
    >>> display.categories, display.mean.round(2)  # 7 / 10, 1 / 6, and the prior
    (['Oslo', 'Rome', None], array([0.7 , 0.17, 0.5 ]))
    """

    column: Any
    categories: list[Any]
    kinds: list[str]
    count: Array
    raw_mean: Array
    mean: Array
    lower: Array
    upper: Array
    coverage: float
    n_categories: int  # of the column; fewer may be shown

    @classmethod
    def from_estimator(
        cls, estimator: Any, column: Any, *, categories: Any = None, class_: Any = None, coverage: float = 0.9
    ) -> PosteriorDisplay:
        """Read the posteriors of a fitted encoder or sampling model.

        Parameters
        ----------
        estimator : fitted encoder, SamplingClassifier or SamplingRegressor
            One of this library.
        column : name or position
            An encoded column.
        categories : list, optional
            Which to show, in this order, None for missing values; by default 12 of them, sorted by their mean,
            from the least shrunk to the most shrunk.
        class_ : label, optional
            The class whose probability is shown, of three or more; by default the last.
        coverage : float from 0 to 1, default=0.9
            Share of the posterior inside the interval.

        Returns
        -------
        PosteriorDisplay
            An unseen category, drawn from the prior, comes last.
        """
        record, target, library = read_column(estimator, column, class_, coverage)
        rows = _choose(record, categories, column)
        return cls(
            column=column,
            categories=[record["category"][row] for row in rows],
            kinds=[record["kind"][row] for row in rows],
            **{name: record[name][rows] for name in NUMBERS},
            coverage=coverage,
            n_categories=len(record["kind"]) - 1,  # less the unseen one
            target=target,
            library=library,
        )

    def _record(self) -> dict[str, Any]:
        return {"category": self.categories, "kind": self.kinds} | {name: getattr(self, name) for name in NUMBERS}

    def _title(self) -> str:
        shown = len(self.categories) - 1  # without the unseen one
        part = "" if shown == self.n_categories else f"{shown} of "
        return f"{drawable(self.column)}, {part}{self.n_categories:,} categories"

    def _size(self) -> tuple[float, float]:
        return 7.2, height_of_rows(len(self.categories))

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        special = {"missing": "(missing)", "unseen": "(unseen)"}
        pairs = zip(self.categories, self.kinds, strict=True)
        names = [special.get(kind) or drawable(name) for name, kind in pairs]
        place = np.arange(len(names))
        color = style.pop("color", "C0")
        ax.axvline(self.mean[-1], color=GREY, linestyle="--", linewidth=1, label="prior mean")
        ax.hlines(place, self.lower, self.upper, color=color, linewidth=2, alpha=0.6)
        style = {"marker": "o", "linestyle": "", "color": color} | style
        ax.plot(self.mean, place, label=f"posterior mean, {self.coverage:.0%} interval", **style)
        low, high = float(self.lower.min()), float(self.upper.max())
        pad = 0.04 * (high - low) or 0.5
        ax.set_xlim(low - pad, high + pad)
        observed = {"marker": "|", "linestyle": "", "color": "black", "markersize": 11, "clip_on": False}
        ax.plot(np.clip(self.raw_mean, low - pad, high + pad), place, label="observed mean", **observed)
        label_rows(ax, names, [f"{count:,g}" for count in self.count])
        ax.text(1.02, -0.75, "rows", transform=ax.get_yaxis_transform(), va="bottom", color="0.35")
        ax.set_xlabel(self.target)


def _spread_over(shrinkage: Array) -> list[int]:
    """Choose places in a sorted array at even steps of its values; among equal values, at logarithmic steps."""
    total = len(shrinkage)
    if total <= MOST_CATEGORIES:
        return list(range(total))
    share = (shrinkage - shrinkage[0]) / max(shrinkage[-1] - shrinkage[0], 1e-9)
    height = share + 0.2 * np.log1p(np.arange(total)) / np.log(total)
    places = np.searchsorted(height, np.linspace(0.0, height[-1], MOST_CATEGORIES))
    for step in range(MOST_CATEGORIES):  # each one once
        least = places[step - 1] + 1 if step else 0
        places[step] = np.clip(places[step], least, total - MOST_CATEGORIES + step)
    return [int(place) for place in places]


def _choose(record: dict[str, Any], categories: Any, column: Any) -> list[int]:
    """Rows of the given categories, or of a range from least to most shrunk; the unseen one last."""
    known = [row for row, kind in enumerate(record["kind"]) if kind != "unseen"]
    if categories is None:
        ordered = sorted(known, key=lambda row: (record["shrinkage"][row], -record["count"][row]))
        chosen = _spread_over(np.array([record["shrinkage"][row] for row in ordered]))
        rows = sorted((ordered[place] for place in chosen), key=lambda row: -record["mean"][row])
    else:
        names = [record["category"][row] for row in known]
        unknown = [name for name in categories if name not in names]
        if unknown:
            raise InputError(f"categories names {unknown[0]!r}, which is not in column {column!r}.")
        rows = [known[names.index(name)] for name in categories]
    return [*rows, record["kind"].index("unseen")]
