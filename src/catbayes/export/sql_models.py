"""Fitted linear models as SQL: the query of the encoder, and a sum over its outputs and the numeric columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sqlglot import exp

from catbayes.core.fitted import Fitted
from catbayes.core.layout import Layout
from catbayes.errors import InputError
from catbayes.export.lookups import lookups
from catbayes.export.sql import write_sql
from catbayes.models.fitting import origins

ROWS = "catbayes_features"


def write_linear(
    estimator: Any, encoding: Fitted, layout: Layout, dialect: str, table: str, classes: Any = None
) -> str:
    """Write the query that adds the outputs of the encoder and the prediction to every row of a table."""
    if not hasattr(estimator, "coef_") or not hasattr(estimator, "intercept_"):
        raise InputError(f"to_sql is for linear models, and {type(estimator).__name__} has no coef_. Use to_onnx.")
    found = lookups(replace(encoding, layout=replace(layout, slopes=())))
    names = _names(encoding, layout, found)
    shifts = np.zeros(layout.places[-1].stop)
    for column, origin in zip(encoding.columns, origins(encoding.columns), strict=True):
        shifts[layout.places[column.position]] = origin
    coefficients = np.atleast_2d(estimator.coef_)
    intercepts = np.broadcast_to(estimator.intercept_, len(coefficients)) - coefficients @ shifts

    def output(place: int) -> str:
        return str(exp.column(names[place], table=ROWS, quoted=True).sql(dialect=dialect))

    scores = []
    for own, intercept in zip(coefficients, intercepts.tolist(), strict=True):
        terms = [repr(intercept), *(f"({number!r}) * {output(place)}" for place, number in enumerate(own.tolist()))]
        for effect, slope, number, line in layout.slopes:
            factor = f"({output(number)} - ({line.centre!r})) / {line.unit!r}"
            terms.append(f"({float(own[effect])!r}) * {factor} * {output(slope)}")
        scores.append(" + ".join(terms))
    outputs = {"prediction": scores[0]} if classes is None else _probabilities(scores, classes)
    quoted = {name: exp.to_identifier(name, quoted=True).sql(dialect=dialect) for name in outputs}
    given = [f"{value} AS {quoted[name]}" for name, value in outputs.items()]
    inner = write_sql(found, dialect, table, None, encoding.evidence.inputs)
    lines = ",\n  ".join([f"{ROWS}.*", *given])
    return f"SELECT\n  {lines}\nFROM (\n{inner}\n) AS {ROWS}"


def _names(encoding: Fitted, layout: Layout, found: Any) -> list[str]:
    """Name each feature as the inner query does."""
    names: dict[int, list[str]] = {position: [encoding.evidence.inputs[position]] for position in layout.passing}
    names |= {column.position: one.outputs for column, one in zip(encoding.columns, found, strict=True)}
    return [name for position in range(len(layout.places)) for name in names.get(position, ())]


def _probabilities(scores: list[str], classes: Any) -> dict[str, str]:
    """Turn scores into probabilities: of the second of two classes, or of each of several."""
    if len(scores) == 1:
        return {f"probability_{classes[1]}": f"1 / (1 + EXP(-({scores[0]})))"}
    total = " + ".join(f"EXP({score})" for score in scores)
    return {f"probability_{label}": f"EXP({score}) / ({total})" for label, score in zip(classes, scores, strict=True)}
