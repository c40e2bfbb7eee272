"""Is a new batch still what the encoder learnt from? Values it never saw, and categories whose rate has changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logsumexp

from catbayes._encoder import fitted_encoding, read_table
from catbayes.core.evidence import Evidence
from catbayes.core.fitted import Encoding
from catbayes.core.table import Table, make_frame
from catbayes.core.validation import Array, Codes, check_number
from catbayes.core.writing import Written, counted
from catbayes.errors import InputError
from catbayes.io.gathering import Given, gather_selected
from catbayes.io.opening import is_source

STRENGTHS = (4.0, 16.0, 64.0)
"""Rows that a rate is still known from once it has changed: the fewer, the further it may have moved."""

__all__ = ["Changes", "monitor"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Changes(Written):
    """What is new in a batch: shares of missing and unseen values, and how likely it is that categories have changed.

    Attributes
    ----------
    columns : list
        Names of the encoded columns.
    rows : float
        Rows of the batch, or their weight.
    unseen, missing, missing_before : ndarray of shape (n_columns,)
        Share of the batch whose values were never seen, share whose values are missing, and that share at fit; of its
        exposure, where rows have one.
    of_column : ndarray of int
        Number of the column of each category that both have rows of: these are the ones that can be compared.
    categories : list
        Those categories; None for missing values.
    counts : ndarray
        Their rows in the batch, or their weight, in units of exposure where rows have one: as in `posteriors_`.
    before, now : ndarray
        What was believed of the mean of each, and the mean of its rows in the batch; NaN with three classes or more.
    bayes_factors : ndarray
        How many times likelier its rows are if its θ has moved than if it has not.
    chances : ndarray
        At most how likely rows are off by as much, if nothing has changed; of any one category.
    false_alarms : float
        Share of batches without change in which some category may be said to have changed.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.diagnostics import monitor
    >>> shops = np.repeat(["north", "south", "west"], 400)[:, None]
    >>> encoder = SamplingBayesianEncoder().fit(shops, np.tile([0, 0, 0, 1], 300))
    >>> batch = np.repeat(["north", "south", "new"], [200, 200, 100])[:, None]
    >>> found = monitor(encoder, batch, np.append(np.tile([0, 0, 0, 1], 50), np.tile([0, 1], 150)))
    >>> found.unseen.tolist(), found.changed().tolist()
    ([0.2], ['south'])
    """

    columns: list[Any]
    rows: float
    unseen: Array
    missing: Array
    missing_before: Array
    of_column: Codes
    categories: list[Any]
    counts: Array
    before: Array
    now: Array
    bayes_factors: Array
    chances: Array
    false_alarms: float
    library: Any = field(default=None, repr=False)

    @property
    def alarms(self) -> Any:
        """Which of the categories have changed: their chance is small even among as many as there are."""
        return self.chances * len(self.chances) <= self.false_alarms

    @property
    def surest(self) -> Any:
        """Numbers of the categories by their chances, the least likely first: alarms are ahead of the others."""
        return np.lexsort((-self.bayes_factors, self.chances))

    def changed(self) -> Any:
        """The categories that have changed, the surest first.

        Returns
        -------
        ndarray of object
            Their names.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder
        >>> from catbayes.diagnostics import monitor
        >>> X, y = [["a"], ["b"]] * 200, [0, 1, 0, 0] * 100
        >>> monitor(SamplingBayesianEncoder().fit(X, y), X, y).changed().tolist()
        []
        """
        names = np.empty(len(self.categories), dtype=object)
        names[:] = self.categories
        return names[self.surest[: int(self.alarms.sum())]]

    def frame(self) -> Any:
        """All categories as a frame, the surest changes first, in the library that the table came in.

        Returns
        -------
        frame
            Column, category, rows, both means, Bayes factor, chance, and whether it has changed.

        Examples
        --------
        >>> from catbayes import SamplingBayesianEncoder
        >>> from catbayes.diagnostics import monitor
        >>> X, y = [["a"], ["b"]] * 200, [0, 1, 0, 0] * 100
        >>> monitor(SamplingBayesianEncoder().fit(X, y), X, y).frame()["changed"].tolist()
        [False, False]
        """
        order = self.surest
        return make_frame(
            {
                "column": [self.columns[self.of_column[i]] for i in order],
                "category": [self.categories[i] for i in order],
                "count": self.counts[order],
                "before": self.before[order],
                "now": self.now[order],
                "bayes_factor": self.bayes_factors[order],
                "chance": self.chances[order],
                "changed": self.alarms[order],
            },
            self.library,
        )

    def _sentence(self) -> str:
        changed, tested = int(self.alarms.sum()), len(self.categories)
        told = f"{changed} of {counted(tested, 'category', 'categories')} that both hold changed"
        return f"What is new in {self.rows:,.0f} rows ({told}; frame() names them):"

    def _table(self) -> dict[str, Any]:
        n_columns = len(self.columns)
        return {
            "column": self.columns,
            "unseen": self.unseen,
            "missing": self.missing,
            "missing before": self.missing_before,
            "compared": np.bincount(self.of_column, minlength=n_columns),
            "changed": np.bincount(self.of_column[self.alarms], minlength=n_columns),
        }


def monitor(
    encoder: Any, X: Any, y: Any = None, sample_weight: Any = None, exposure: Any = None, *, false_alarms: float = 0.01
) -> Changes:
    """Compare a batch of new rows with what a fitted encoder knows; the encoder stays as it is.

    The Bayes factor of a category is p(its rows | θ has moved) / p(its rows | the posterior of θ), where a θ that has
    moved is one known from 4, 16 or 64 rows only. A category is said to have changed where the mean of its rows is off
    by what has a chance of at most `false_alarms` over the number of categories, by the posterior predictive
    distribution; for a family that does not say it (its method `tail`), the chance is 1 over the Bayes factor, which
    reaches k at most that often. Targets that vary more than the family says count for as much less.

    Parameters
    ----------
    encoder : fitted encoder, SamplingClassifier or SamplingRegressor
        One of ours.
    X : table, anything that `gather` reads, or Evidence
        The batch.
    y, sample_weight, exposure
        Its target, weights and exposure: arrays, or names of columns as for `gather`. Without y there are the shares
        alone.
    false_alarms : float, default=0.01
        Share of batches without change in which some category may be said to have changed.

    Returns
    -------
    Changes
        Shares for each column, and a Bayes factor for each category.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.diagnostics import monitor
    >>> encoder = SamplingBayesianEncoder().fit([["a"], ["b"], ["b"], [None]] * 50, [0, 1, 0, 0] * 50)
    >>> monitor(encoder, [["a"], [None], [None], ["c"]])
    What is new in 4 rows (0 of 0 categories that both hold changed; frame() names them):
    column  unseen  missing  missing before  compared  changed
    0       0.2500   0.5000          0.2500         0        0
    """
    encoding = fitted_encoding(encoder)
    check_number("false_alarms", false_alarms, 0.0, 1.0)
    known, told = encoding.evidence, True
    if isinstance(X, Evidence):
        batch = known.discounted(0.0) + X  # with the classes of both
    else:
        X = X if is_source(X) else read_table(X, encoder).native
        if y is None:
            told, y, exposure = False, *_no_target(known, X)
        given = Given(y, sample_weight, exposure)  # the family is that of what is known
        batch = gather_selected(X, encoding.settings.selection, given, known)
    if known.classes is not None and batch.classes is not None:
        strangers = [label for label in batch.classes.tolist() if label not in known.classes.tolist()]
        if strangers:
            raise InputError(f"y holds classes that fit never saw, such as {strangers[:3]}: fit anew.")
    rows = float(batch.total.count[0]) / batch.exposure
    found = [_compare(encoding, number, batch) for number in range(len(encoding.columns))]
    shares = [np.array(values) for values in zip(*(shares for shares, _ in found), strict=True)]
    parts = [part for _, part in found] if told else []
    joined = [np.concatenate([part[i] for part in parts]) if parts else np.empty(0) for i in range(1, 6)]
    return Changes(
        columns=[column.name for column in encoding.columns],
        rows=rows,
        unseen=shares[0],
        missing=shares[1],
        missing_before=shares[2],
        of_column=np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts]),
        categories=[name for part in parts for name in part[0]],
        counts=joined[0],
        before=joined[1],
        now=joined[2],
        bayes_factors=joined[3],
        chances=joined[4],
        false_alarms=false_alarms,
        library=encoding.library,
    )


def _no_target(known: Evidence, X: Any) -> tuple[Any, float | None]:
    """A target and an exposure that any rows may have, where only their values are asked for."""
    if is_source(X):
        raise InputError("monitor without y takes rows in memory. Bring them here by .collect(), or name their target.")
    one = 1.0 if known.classes is None else known.classes[0]
    return np.array([one] * Table.of(X).n_rows), 1.0 if known.family.exposure else None


def _compare(encoding: Encoding, number: int, batch: Evidence) -> tuple[Any, Any]:
    """Shares of a column, and its categories that both have rows of, with their Bayes factors."""
    column, fresh, known = encoding.columns[number], batch.columns[number], encoding.evidence.columns[number]
    joint, mine, theirs = known.index.union(fresh.index)
    before, now = known.statistics.place(mine, joint.n_slots), fresh.statistics.place(theirs, joint.n_slots)
    total, lacks = max(float(now.count.sum()), np.finfo(np.float64).tiny), joint.incomplete()
    new = (before.count <= 0) & ~lacks
    shares = [part / total for part in (now.count[new].sum(), now.count[lacks].sum())]
    shares.append(before.count[lacks].sum() / before.count.sum())
    index, posteriors = column.posteriors.index, column.posteriors
    place = np.full(joint.n_slots, -1)
    place[mine] = index.moved(known.index) if index is not known.index else np.arange(known.index.n_slots)
    both = np.flatnonzero((now.count > 0) & (place >= 0))
    both = both[posteriors.slots.count[place[both]] > 0]
    slots, rows = place[both], now.take(both)
    family = posteriors.told().family.take(slots)
    excess = _rows_as_one(encoding.evidence, batch) * posteriors.prior.prior.dispersion(
        known.statistics, encoding.evidence.row_weight
    )
    fewer = rows.scaled(1.0 / max(excess, 1.0))
    log_factor = _log_of_changed(family, fewer, encoding.evidence.exposure) - family.log_marginal(fewer)
    likelier = np.flatnonzero(log_factor > 0.0)  # the others are as they were
    chance = np.ones(len(both))
    found = family.take(likelier).tail(fewer.take(likelier))
    chance[likelier] = np.exp(-log_factor[likelier]) if found is None else found
    means, labels = family.mean()[:, family.location], joint.labels()
    observed = family.observed(rows)
    one = means.shape[1] == 1
    unknown = np.full(len(both), np.nan)
    told = [rows.count, means[:, 0] if one else unknown, observed[:, 0] if one else unknown]
    return shares, ([labels[slot] for slot in both], *told, np.exp(np.minimum(log_factor, 700.0)), chance)


def _rows_as_one(known: Evidence, batch: Evidence) -> float:
    """The weight of a row of the batch; exposure says more of a target, which its dispersion at fit knows already."""
    return batch.row_weight * known.exposure / batch.exposure


def _log_of_changed(family: Any, rows: Any, units: float) -> Array:
    """Log-probability of rows whose θ has moved: by as much as it would if it were known from a few rows only."""
    worth = (np.minimum(strength * units, family.strength) for strength in STRENGTHS)
    found = [family.worth(strength).log_marginal(rows) for strength in worth]
    return np.asarray(logsumexp(found, axis=0) - np.log(len(STRENGTHS)))
