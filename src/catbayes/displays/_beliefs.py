"""The posteriors of one column and class, out of whatever was fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes._encoder import fitted_encoding
from catbayes.core.fitted import Encoding
from catbayes.core.table import no_column
from catbayes.core.validation import Array, Codes
from catbayes.displays.plotting import drawable
from catbayes.errors import InputError
from catbayes.families import Family


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """What is believed of the categories of a column: a record, and the slots and parameter that it is about."""

    record: dict[str, Any]
    posterior: Family
    slots: Codes
    parameter: int
    target: str
    library: Any

    def quantiles(self, rows: Any, probabilities: Sequence[float] | Array) -> Array:
        """Quantiles of some rows of the record, (row, probability)."""
        chosen = self.posterior.take(self.slots[rows])
        return np.stack([chosen.quantile(p)[:, self.parameter] for p in probabilities], axis=1)


def class_labels(estimator: Any) -> list[Any]:
    """The classes whose probabilities can be shown: all of three and more, the second of two, none of numbers."""
    classes = fitted_encoding(estimator).evidence.classes
    return [] if classes is None else classes.tolist()[-1:] if len(classes) == 2 else classes.tolist()


def _meaning(encoding: Encoding, label: Any) -> str:
    """What the numbers of a column are: a probability, a mean, or a rate."""
    evidence = encoding.evidence
    name = None if evidence.target is None else drawable(evidence.target)
    if evidence.classes is not None:
        return f"probability of {'class' if name is None else f'{name} ='} {drawable(label)}"
    log = "the logarithm of " if name is None else "log "
    unit = " per unit of exposure" if evidence.exposure != 1.0 else ""
    return f"mean of {log if encoding.family.log_target else ''}{name or 'the target'}{unit}"


def read_column(estimator: Any, column: Any, class_: Any, coverage: float = 0.9) -> Beliefs:
    """Find a column of a fitted encoder or model, and the class to look at: the last one unless it is named."""
    encoding = fitted_encoding(estimator)
    columns = {entry.name: entry.posteriors for entry in encoding.columns}
    if column not in columns:
        raise no_column(column, list(columns))
    fitted, classes = columns[column], encoding.evidence.classes
    labels = [] if classes is None else classes.tolist()
    record = fitted.record(labels or None, coverage)
    shown = labels if "class" in record else labels[-1:]  # of two classes, the probability of the second is kept
    if class_ is not None and class_ not in shown:
        raise InputError(f"class_={class_!r}: expected {f'one of {shown}' if shown else 'None for a numeric target'}.")
    width = max(len(shown), 1)
    place = width - 1 if class_ is None else shown.index(class_)
    return Beliefs(
        record={name: values[place::width] for name, values in record.items()},
        posterior=fitted.told().family,
        slots=fitted.possible(),
        parameter=place,
        target=_meaning(encoding, shown[place] if shown else None),
        library=encoding.library,
    )
