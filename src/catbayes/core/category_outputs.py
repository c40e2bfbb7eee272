"""Categories as outputs of their own, after the posterior: which one a row has, for columns of few categories.

A posterior describes a category by the target alone. Two categories of the same mean, eight in the morning and five in
the afternoon, are then the same to a model, though they differ together with other columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from catbayes.core.combinations import Index
from catbayes.core.evidence import ColumnEvidence, Evidence
from catbayes.core.extra_outputs import ExtraOutputs
from catbayes.mappings import Mapping

__all__ = ["CategoryOutputs", "KeepCategories"]

KeepCategories = Literal["codes", "one_hot"]
"""What the parameter `keep_categories` takes, besides None."""
FEW = 30
"""Categories of a column that are few, so that each of them has many rows."""


@dataclass(frozen=True, slots=True)
class CategoryOutputs:
    """Which columns give their categories as outputs too: informative ones, with at most so many categories.

    Informative by themselves or together with another column of the table. The categories of others would only add
    noise. `gather` does not find out which columns are informative: then all of them are taken.
    """

    kind: KeepCategories
    max_categories: int | None

    def applies(self, column: ColumnEvidence, evidence: Evidence) -> bool:
        """Tell whether a column gives its categories."""
        too_many = self.max_categories is not None and column.index.missing > self.max_categories
        if column.is_interaction or too_many:
            return False
        return evidence.informative is None or column.name in evidence.informative

    def shows_rare(self, column: ColumnEvidence, evidence: Evidence) -> bool:
        """Tell whether the outputs show which one of many categories a row has, of a column or within a pair."""
        parts = (seen for seen in evidence.columns if seen.position in column.parts)
        shown = any(part.index.missing > FEW and self.applies(part, evidence) for part in parts)
        return shown and column.index.missing > FEW

    def replaces(self, column: ColumnEvidence, mapping: Mapping) -> bool:
        """Tell whether the posterior has as many outputs as there are categories, and so adds nothing to them."""
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
