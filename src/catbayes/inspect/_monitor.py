"""Monitoring: values that were never seen, and categories whose rate has changed since the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from catbayes.core.evidence import Evidence
from catbayes.core.fitted import Fitted
from catbayes.core.table import Table, make_frame, read_table
from catbayes.core.validation import Array, Codes, check_number
from catbayes.errors import InputError
from catbayes.inspect._display import fitted_encoding
from catbayes.io.gathering import gather_selected
from catbayes.io.sources import is_source

STRENGTHS = (4.0, 16.0, 64.0)
"""Rows that a changed rate is known from: the fewer, the further it may have moved."""
SHARES = ("unseen", "missing", "missing_before")
NUMBERS = ("counts", "before", "now", "bayes_factors", "chances")


@dataclass(frozen=True, eq=False, repr=False)
class Changes:
    """Differences of a batch from the training rows: unseen and missing values, and categories that changed.

    Attributes
    ----------
    columns : list
        Names of the encoded columns.
    rows : float
        Rows of the batch, or their weight.
    unseen, missing, missing_before : ndarray of shape (n_columns,)
        Share of the batch with unseen values, share with missing values, and that share at fit; of the exposure, if
        rows have one.
    of_column : ndarray of int
        Number of the column of each category that occurs in both: these are compared.
    categories : list
        Those categories; None for missing values.
    counts : ndarray
        Their rows in the batch, or their weight, in units of exposure if rows have one, as in `posteriors_`.
    before, now : ndarray
        Posterior mean of each, and the mean of its rows in the batch; NaN with three classes or more.
    bayes_factors : ndarray
        How many times likelier its rows are if its θ has moved than if it has not.
    chances : ndarray
        Upper bound of the probability of rows that differ as much if nothing has changed, for each category.
    false_alarms : float
        Share of batches without change in which some category may be reported.
    overall : dict or None
        The test of all rows as one category: "before", "now", "bayes_factor", "chance" and "changed"; None without y.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.inspect import monitor
    >>> encoder = SamplingBayesianEncoder().fit([["north"], ["south"]] * 400, [0, 0, 0, 0, 0, 0, 1, 1] * 100)
    >>> found = monitor(encoder, [["north"], ["south"]] * 200, [0, 1, 0, 0, 0, 1, 1, 1] * 50)
    >>> found.changed().tolist(), found.overall["changed"]
    (['south'], True)
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
    overall: dict[str, Any] | None = None
    library: Any = None

    @property
    def alarms(self) -> Any:
        """Which of the categories have changed, with Bonferroni's correction for their number."""
        return self.chances * len(self.chances) <= self.false_alarms

    @property
    def surest(self) -> Any:
        """Numbers of the categories, the least likely first: alarms before the others."""
        return np.lexsort((-self.bayes_factors, self.chances))

    def changed(self) -> Any:
        """Return the categories that have changed as an array, the surest first."""
        names = np.empty(len(self.categories), dtype=object)
        names[:] = self.categories
        return names[self.surest[: int(self.alarms.sum())]]

    def frame(self) -> Any:
        """Return all compared categories as a frame in the library of the table, the surest changes first."""
        order = self.surest
        record = {
            "column": [self.columns[self.of_column[i]] for i in order],
            "category": [self.categories[i] for i in order],
            "count": self.counts[order],
            "before": self.before[order],
            "now": self.now[order],
            "bayes_factor": self.bayes_factors[order],
            "chance": self.chances[order],
            "changed": self.alarms[order],
        }
        return make_frame(record, self.library)

    def by_column(self) -> Any:
        """Return the shares of all columns, with the numbers of categories that are compared and that have changed."""
        n_columns = len(self.columns)
        record = {
            "column": self.columns,
            "unseen": self.unseen,
            "missing": self.missing,
            "missing_before": self.missing_before,
            "compared": np.bincount(self.of_column, minlength=n_columns),
            "changed": np.bincount(self.of_column[self.alarms], minlength=n_columns),
        }
        return make_frame(record, self.library)

    def __repr__(self) -> str:
        lines = [f"Changes in {self.rows:,.0f} rows"]
        if self.overall is not None:
            before, now = self.overall["before"], self.overall["now"]
            what = "Shares of the classes" if np.isnan(now) else f"Mean {before:.3g} → {now:.3g}"
            lines.append(f"{what}: {'changed' if self.overall['changed'] else 'no change found'}")
        return "\n".join([*lines, str(self.by_column())])


def monitor(
    encoder: Any, X: Any, y: Any = None, sample_weight: Any = None, exposure: Any = None, *, false_alarms: float = 0.01
) -> Changes:
    """Compare a batch of new rows with a fitted encoder, which stays as it is.

    The Bayes factor of a category is p(its rows | θ has moved) / p(its rows | the posterior of θ), where a θ that has
    moved is one known from 4, 16 or 64 rows only. A category has changed if its chance, the probability of a mean at
    least that far off under the posterior predictive distribution, is at most `false_alarms` over the number of
    categories. For a family without this distribution (its method `tail`), the chance is 1 over the Bayes factor, which
    reaches k with a probability of at most 1/k. Targets that vary more than the family expects get less weight.

    Parameters
    ----------
    encoder : fitted encoder, SamplingClassifier or SamplingRegressor
        One of this library.
    X : table, anything that `gather` reads, or Evidence
        The batch.
    y, sample_weight, exposure
        Its target, weights and exposure: arrays, or names of columns as for `gather`. Without y there are only the
        shares of unseen and missing values.
    false_alarms : float, default=0.01
        Share of batches without change in which some category may be reported, and share in which all rows together may
        be, which are tested as one category.

    Returns
    -------
    Changes
        Shares for each column, and a Bayes factor for each category.

    Examples
    --------
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.inspect import monitor
    >>> encoder = SamplingBayesianEncoder().fit([["a"], ["b"], ["b"], [None]] * 50, [0, 1, 0, 0] * 50)
    >>> monitor(encoder, [["a"], [None], [None], ["c"]])
    Changes in 4 rows
       column  unseen  missing  missing_before  compared  changed
    0       0    0.25      0.5            0.25         0        0
    """
    encoding = fitted_encoding(encoder)
    check_number("false_alarms", false_alarms, 0.0, 1.0)
    known, has_target = encoding.evidence, True
    if isinstance(X, Evidence):
        batch = known.discounted(0.0) + X  # with the classes of both
    else:
        X = X if is_source(X) else read_table(X, encoder).native
        if y is None and is_source(X):
            raise InputError(
                "monitor without y takes rows in memory. Bring them here by .collect(), or name their target."
            )
        if y is None:  # any target: only shares are returned
            label = 1.0 if known.classes is None else known.classes[0]
            has_target, y = False, np.array([label] * Table.of(X).n_rows)
            exposure = 1.0 if known.family.exposure else None
        given = {"target": y, "weight": sample_weight, "exposure": exposure}
        batch = gather_selected(X, encoding.settings.selection, known, **given)
    if known.classes is not None and batch.classes is not None:
        new = [label for label in batch.classes.tolist() if label not in known.classes.tolist()]
        if new:
            raise InputError(f"y has classes that fit never saw, such as {new[:3]}: fit again.")
    found = [_compare(encoding, i, batch) for i in range(len(encoding.columns))]
    compared = [categories for _, categories in found] if has_target else []
    shares = {name: np.array([share[name] for share, _ in found]) for name in SHARES}
    numbers = {name: np.concatenate([part[name] for part in compared] or [np.empty(0)]) for name in NUMBERS}
    return Changes(
        columns=[column.name for column in encoding.columns],
        rows=float(batch.total.count[0]) / batch.exposure,
        **shares,
        of_column=np.repeat(np.arange(len(compared)), [len(part["categories"]) for part in compared]),
        categories=[name for part in compared for name in part["categories"]],
        **numbers,
        false_alarms=false_alarms,
        overall=_compare_all(known, batch, false_alarms) if has_target else None,
        library=encoding.library,
    )


def _compare(encoding: Fitted, number: int, batch: Evidence) -> tuple[dict[str, float], dict[str, Any]]:
    """Compare a column: its shares, and the categories that occur in both, with their Bayes factors."""
    column, fresh, known = encoding.columns[number], batch.columns[number], encoding.evidence.columns[number]
    joint, mine, theirs = known.index.union(fresh.index)
    before, now = known.statistics.place(mine, joint.n_slots), fresh.statistics.place(theirs, joint.n_slots)
    total, missing = max(float(now.count.sum()), np.finfo(np.float64).tiny), joint.incomplete()
    shares = {
        "unseen": now.count[(before.count <= 0) & ~missing].sum() / total,
        "missing": now.count[missing].sum() / total,
        "missing_before": before.count[missing].sum() / before.count.sum(),
    }
    index = column.index
    place = np.full(joint.n_slots, -1)
    place[mine] = index.moved(known.index) if index is not known.index else np.arange(known.index.n_slots)
    both = np.flatnonzero((now.count > 0) & (place >= 0))
    both = both[column.posterior.count[place[both]] > 0]
    rows, family = now.take(both), column.widened().family.take(place[both])

    noise = column.prior.dispersion(known.statistics, encoding.evidence.row_weight)
    return shares, {
        "categories": [joint.labels()[slot] for slot in both],
        "counts": rows.count,
        **_test(family, rows, noise, encoding.evidence, batch),
    }


def _compare_all(known: Evidence, batch: Evidence, false_alarms: float) -> dict[str, Any]:
    """Compare all rows as one category, whose posterior is that of a prior worth one row."""
    prior = known.family.from_rows(known.total, 1.0)
    noise = prior.dispersion(known.total, known.row_weight)
    posterior = prior.update(known.total.scaled(1.0 / max(noise * known.row_weight, 1.0)))
    found = {name: float(values[0]) for name, values in _test(posterior, batch.total, noise, known, batch).items()}
    return {
        "before": found["before"],
        "now": found["now"],
        "bayes_factor": found["bayes_factors"],
        "chance": found["chances"],
        "changed": found["chances"] <= false_alarms,
    }


def _test(family: Any, rows: Any, noise: float, known: Evidence, batch: Evidence) -> dict[str, Array]:
    """Compare the rows of each category with the posterior of its θ."""
    # The dispersion includes the exposure.
    fewer = rows.scaled(1.0 / max(noise * batch.row_weight * known.exposure / batch.exposure, 1.0))
    # The θ of a category that has changed is known from a few rows only.
    worths = [np.minimum(strength * known.exposure, family.strength) for strength in STRENGTHS]
    changed = logsumexp([family.worth(worth).log_marginal(fewer) for worth in worths], axis=0) - np.log(len(worths))
    log_factor = changed - family.log_marginal(fewer)
    likelier = np.flatnonzero(log_factor > 0.0)
    chances = np.ones(len(log_factor))
    tail = family.take(likelier).tail(fewer.take(likelier))
    chances[likelier] = np.exp(-log_factor[likelier]) if tail is None else tail

    means, observed = family.mean()[:, family.location], family.observed(rows)
    one = means.shape[1] == 1
    return {
        "before": means[:, 0] if one else np.full(len(means), np.nan),
        "now": observed[:, 0] if one else np.full(len(means), np.nan),
        "bayes_factors": np.exp(np.minimum(log_factor, 700.0)),
        "chances": chances,
    }
