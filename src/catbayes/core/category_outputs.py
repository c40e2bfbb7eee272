"""Categories that are kept beside their posteriors: which one a row has, where a column has few.

A posterior says what a category means for the target by itself. Two of the same mean, eight in the morning and five in
the afternoon, are then one to a model, though they differ beside other columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from catbayes.core.combinations import Index
from catbayes.core.evidence import ColumnEvidence, Evidence
from catbayes.core.extra_outputs import Beside
from catbayes.core.validation import check_count, check_option
from catbayes.errors import InputError
from catbayes.mappings import Mapping

__all__ = ["KeepCategories", "Kept", "resolve_kept"]

KeepCategories = Literal["codes", "one_hot"]
"""The words of the parameter `keep_categories`."""
FEW = 30
"""Categories of a column that are few, so that each of them has many rows."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Which columns keep their categories beside the posterior, and how.

    Parameters
    ----------
    kind : "codes", "one_hot"
        One number a category, in their order, for trees; or a column of zeros and ones for each, for linear models. A
        category that was not seen has a number behind the others, and zeros.
    most : int or None, default=30
        Columns of so many categories at most. None keeps those of all columns.
    only_signal : bool, default=True
        Only columns that have a say about the target, by themselves or beside another column of the table: the
        categories of others are chances to learn noise. Not known of what `gather` counted.
    instead : bool, default=False
        Give the categories instead of the posterior where there are as many classes to tell probabilities of as there
        are categories, or more: it says no more than they do. The models do so by default.

    Examples
    --------
    >>> from catbayes import Kept, SamplingBayesianEncoder
    >>> X, y = [["a"], ["b"], ["c"], ["b"]] * 10, [0, 1, 1, 1] * 10
    >>> encoder = SamplingBayesianEncoder(keep_categories=Kept("one_hot"), prior=0, random_state=0).fit(X, y)
    >>> encoder.get_feature_names_out().tolist()
    ['x0', 'x0_is_a', 'x0_is_b', 'x0_is_c']
    >>> encoder.transform([["c"], ["unseen"]]).round(2).tolist()
    [[0.92, 0.0, 0.0, 1.0], [0.5, 0.0, 0.0, 0.0]]
    """

    kind: KeepCategories = "codes"
    most: int | None = FEW
    only_signal: bool = True
    instead: bool = False

    def check(self) -> None:
        """Require usable values."""
        check_option("keep_categories.kind", self.kind, get_args(KeepCategories))
        if self.most is not None:
            check_count("keep_categories.most", self.most)

    def applies(self, column: ColumnEvidence, evidence: Evidence) -> bool:
        """Tell whether a column is to keep its categories."""
        if column.is_interaction or (self.most is not None and column.index.missing > self.most):
            return False
        return not self.only_signal or evidence.speaking is None or column.name in evidence.speaking

    def names_rare(self, column: ColumnEvidence, evidence: Evidence) -> bool:
        """Tell whether a model comes to know which one of many categories a row has, of a column or within a pair."""
        parts = (seen for seen in evidence.columns if seen.position in column.parts)
        known = any(part.index.missing > FEW and self.applies(part, evidence) for part in parts)
        return known and column.index.missing > FEW

    def replaces(self, column: ColumnEvidence, mapping: Mapping) -> bool:
        """Tell whether the posterior of a column takes as many numbers as there are categories, to say no more."""
        return self.instead and column.index.missing <= len(mapping.labels)

    def table(self, column: ColumnEvidence, index: Index) -> Beside:
        """The outputs of every slot; the index may have slots above those that were counted."""
        slots = np.minimum(np.arange(index.n_slots), index.unseen)[:, None]
        if self.kind == "codes":
            return Beside.sure(("code",), slots.astype(np.float64))
        labels = [f"is_{label}" for label in index.labels()[: index.missing]]
        if column.statistics.count[column.index.missing] > 0:
            labels.append("is_missing")
        return Beside.sure(tuple(labels), (slots == np.arange(len(labels))).astype(np.float64))


def resolve_kept(keep_categories: Any) -> Kept | None:
    """Read the parameter `keep_categories` of an encoder."""
    if keep_categories is None:
        return None
    if isinstance(keep_categories, Kept):
        keep_categories.check()
        return keep_categories
    for kind in get_args(KeepCategories):
        if isinstance(keep_categories, str) and keep_categories == kind:
            return Kept(kind)
    raise InputError(
        f'keep_categories={keep_categories!r}: expected "codes", "one_hot", None, or a Kept object, such as '
        'Kept("codes", most=100).'
    )
