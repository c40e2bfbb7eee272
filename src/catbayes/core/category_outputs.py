"""Category ids as outputs, in addition to posteriors, for columns of few categories.

Two categories with the same posterior, such as eight in the morning and five in the afternoon, are equal to a model,
though they may differ together with other columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from catbayes.core.combinations import Index
from catbayes.core.evidence import ColumnEvidence, Evidence
from catbayes.core.extra_outputs import ExtraOutputs
from catbayes.core.validation import check_count
from catbayes.errors import InputError
from catbayes.mappings import Mapping

__all__ = ["KeepCategories", "Kept", "resolve_kept"]

KeepCategories = Literal["codes", "one_hot"]
"""The words of the parameter `keep_categories`."""
FEW = 30
"""Categories of a column that are few, so that each of them has many rows."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Which columns give their categories as outputs too, and how.

    Those of at most so many categories, which have a say about the target, by themselves or beside another column of
    the table: the categories of others are chances to learn noise. That is not known of what `gather` counted.
    """

    kind: KeepCategories
    most: int | None

    def applies(self, column: ColumnEvidence, evidence: Evidence) -> bool:
        """Tell whether a column is to keep its categories."""
        if column.is_interaction or (self.most is not None and column.index.missing > self.most):
            return False
        return evidence.informative is None or column.name in evidence.informative

    def names_rare(self, column: ColumnEvidence, evidence: Evidence) -> bool:
        """Tell whether a model comes to know which one of many categories a row has, of a column or within a pair."""
        parts = (seen for seen in evidence.columns if seen.position in column.parts)
        known = any(part.index.missing > FEW and self.applies(part, evidence) for part in parts)
        return known and column.index.missing > FEW

    def replaces(self, column: ColumnEvidence, mapping: Mapping) -> bool:
        """Tell whether the posterior of a column takes as many numbers as there are categories, to say no more."""
        return column.index.missing <= len(mapping.labels)

    def table(self, column: ColumnEvidence, index: Index) -> ExtraOutputs:
        """The outputs of every slot; the index may have slots above those that were counted."""
        slots = np.minimum(np.arange(index.n_slots), index.unseen)[:, None]
        if self.kind == "codes":
            return ExtraOutputs.fixed(("code",), slots.astype(np.float64))
        labels = [f"is_{label}" for label in index.labels()[: index.missing]]
        if column.statistics.count[column.index.missing] > 0:
            labels.append("is_missing")
        return ExtraOutputs.fixed(tuple(labels), (slots == np.arange(len(labels))).astype(np.float64))


def resolve_kept(keep_categories: Any, max_categories: Any) -> Kept | None:
    """Read the parameters `keep_categories` and `max_categories` of an encoder."""
    if max_categories is not None:
        check_count("max_categories", max_categories)
    if keep_categories is None:
        return None
    if keep_categories not in ("codes", "one_hot"):
        raise InputError(f'keep_categories={keep_categories!r}: expected "codes", "one_hot" or None.')
    return Kept(keep_categories, max_categories)
