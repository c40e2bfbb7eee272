"""Exposure: y events in e units, of time, distance or attempts, are a rate y / e that counts for e observations.

For a Poisson target y ~ Poisson(λ e) the posterior is Gamma(α + Σ y, rate β + Σ e). With the target y / e and the
weight e the ordinary update says the same: α + Σ e · (y / e), β + Σ e. So what reads a table turns exposure into that,
and keeps how many units a row has on average: priors are learnt in the unit of a row, which makes rates counts again.
Events out of attempts are no different: θ is Beta(α + Σ y, β + Σ (e - y)).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from catbayes.core.target import Target, check_size
from catbayes.core.validation import HEAVIEST, Array, check_weights, numbers_by_row
from catbayes.errors import InputError, warn
from catbayes.families import FAMILIES, Family, resolve_family
from catbayes.io.query import check_names, check_numeric, collect, how_many, read_column, unusable


def per_unit(target: Target, weight: Array | None, exposure: Any) -> tuple[Target, Array, float]:
    """Events per unit as the target, the weight of a row times its units, and the units of a row on average."""
    _check_family(target.family)
    n_rows = len(target.values)
    units = numbers_by_row("exposure", exposure, n_rows)
    _check_units(int((~(np.isfinite(units) & (units >= 1.0 / HEAVIEST) & (units <= HEAVIEST))).sum()))
    counts, rows = (units, float(n_rows)) if weight is None else (weight * units, float(weight.sum()))
    if target.family.exposure and target.family.exposure.whole_events:
        _warn_of_fractions(int((target.values % 1.0 != 0.0).sum()))
    rates = target.values / units
    check_size(float(rates.min()), float(rates.max()))
    target.family.check_target(float(rates.min()), float(rates.max()))
    check_weights(counts, n_rows, whole=False)
    return replace(target, values=rates), counts, float(counts.sum()) / rows if rows > 0 else 1.0


def per_unit_lazily(
    frame: nw.LazyFrame[Any], target: Any, weight: Any, exposure: Any, family: Any
) -> tuple[nw.LazyFrame[Any], str, float]:
    """The same for a lazy frame: the target is events per unit, and the column of the exposure becomes the weight."""
    wanted, schema = resolve_family(family), frame.collect_schema()
    _check_family(wanted)
    assert wanted is not None
    check_names(frame, list(schema.names()), target=target, weight=weight, exposure=exposure)
    check_numeric("exposure", exposure, schema[exposure])
    events = read_column(target, schema[target], wanted, None).cast(nw.Float64)
    units = nw.col(exposure).cast(nw.Float64)
    bad = unusable(units) | (units < 1.0 / HEAVIEST) | (units > HEAVIEST)
    counts, rows = units, nw.len()
    if weight is not None:
        check_numeric("sample_weight", weight, schema[weight])
        counts, rows = nw.col(weight).cast(nw.Float64) * units, nw.col(weight).cast(nw.Float64).sum()
    sums = {"bad": bad.cast(nw.Int64).sum(), "units": units.sum(), "counts": counts.sum(), "rows": rows}
    sums |= {"low": events.min(), "high": events.max(), "fractions": (events % 1.0 != 0.0).cast(nw.Int64).sum()}
    found = collect(frame.select(*(value.alias(name) for name, value in sums.items())))
    bad_rows, all_units, total, n_rows, low, high, fractions = (found[name].to_list()[0] or 0 for name in sums)
    _check_units(how_many(bad_rows, all_units))
    wanted.check_target(low, high, events=True)
    if wanted.exposure and wanted.exposure.whole_events:
        _warn_of_fractions(fractions)
    frame = frame.with_columns((events / units).alias(target), counts.alias(exposure))
    frame = frame if weight is None else frame.drop(weight)
    return frame, exposure, total / n_rows if n_rows > 0 else 1.0


def _check_family(family: type[Family] | None) -> None:
    if family is None or not family.exposure:
        given = "the family is to be found" if family is None else f"the target is for {family.__name__}"
        takers = " or ".join(f'family="{name}"' for name, known in FAMILIES.items() if known.exposure)
        raise InputError(f"exposure is for counts, and {given}. Set {takers}, or leave exposure out.")


def _warn_of_fractions(rows: int) -> None:
    if rows:
        warn(
            f"y holds fractions in {rows} rows where exposure= holds their attempts: expected whole numbers of events. "
            "If y is the share of attempts with an event, give the attempts as sample_weight= and leave exposure out."
        )


def _check_units(bad: float | str) -> None:
    if bad:
        raise InputError(
            f"exposure is missing, infinite, zero or negative in {bad} rows: expected numbers from {1 / HEAVIEST:g} to "
            f"{HEAVIEST:g}. Drop rows without exposure: they say nothing of a rate."
        )
