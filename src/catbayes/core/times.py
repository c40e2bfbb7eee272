"""Times as categories: one with a zone is an instant, in UTC, and none is cut.

Python compares two times of one zone by what the clock shows, which at the end of summer time is the same for two
instants; and such times equal none of another zone. Its types hold whole microseconds: what is finer is refused,
because values that differ would become one category.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

from catbayes.errors import InputError

__all__ = ["by_the_clock", "cells_of", "python_time"]

_FINE = ("ns", "ps", "fs", "as")  # units of numpy below the microsecond


def python_time(value: Any) -> Any:
    """One spelling for a date, a time or a span of any library, in Python's types; None for NaT."""
    if isinstance(value, np.generic):
        return cells_of(np.array([value]))[0]
    if value != value:  # NaT
        return None
    if hasattr(value, "to_pydatetime"):  # of pandas, as the next
        if value.nanosecond:
            raise _too_fine(value)
        value = value.to_pydatetime()
    if isinstance(value, datetime.datetime):
        return value if value.tzinfo is None else _instant(value)
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    if not hasattr(value, "to_pytimedelta"):
        return value
    if value.nanoseconds:
        raise _too_fine(value)
    return value.to_pytimedelta()


def by_the_clock(values: Iterable[Any]) -> bool:
    """Whether some are times of a zone, so that Python may take two instants for one."""
    if not any(issubclass(kind, datetime.datetime) for kind in set(map(type, values))):
        return False
    return any(not isinstance(getattr(value, "tzinfo", None), datetime.timezone | None) for value in values)


def cells_of(column: Any) -> list[Any]:
    """Cells of a column that its library holds, in Python's types; slow, so ask for distinct ones."""
    library = type(column).__module__.partition(".")[0]
    if library == "polars":
        return _cells_of_polars(column)
    if library == "pyarrow":
        return _cells_of_arrow(column)
    if hasattr(column.dtype, "pyarrow_dtype"):  # of pandas
        return _cells_of_arrow(column.array.__arrow_array__())
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "mM":
        return _cells_of_numpy(np.asarray(column))
    return list(column.tolist())


def _cells_of_numpy(column: np.ndarray[Any, Any]) -> list[Any]:
    cut = column.astype(f"{column.dtype.kind}8[us]")
    if np.datetime_data(column.dtype)[0] in _FINE:
        fine = column[(cut.astype(column.dtype) != column) & ~np.isnat(column)]
        if len(fine):
            raise _too_fine(fine[0])
    return list(cut.tolist())


def _cells_of_polars(column: Any) -> list[Any]:
    import polars

    if column.dtype == polars.Time or getattr(column.dtype, "time_unit", None) == "ns":
        _check_whole(column.drop_nulls().to_physical().to_numpy(), "M" if column.dtype == polars.Datetime else "m")
    if getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.convert_time_zone("UTC")
    return list(column.to_list())


def _cells_of_arrow(column: Any) -> list[Any]:
    import pyarrow

    kind, unit = column.type, getattr(column.type, "unit", None)
    moment = pyarrow.types.is_timestamp(kind)
    if unit == "ns":
        _check_whole(np.asarray(column.drop_null().cast("int64")), "M" if moment else "m")
        unit = "us"  # without pandas, Arrow has no type of Python for nanoseconds
        kind = pyarrow.duration(unit) if pyarrow.types.is_duration(kind) else kind
        kind = pyarrow.time64(unit) if pyarrow.types.is_time64(kind) else kind
    if moment:
        kind = pyarrow.timestamp(unit, kind.tz and "UTC")
    return list((column if kind == column.type else column.cast(kind)).to_pylist())


def _instant(moment: datetime.datetime) -> datetime.datetime:
    """The same instant in UTC; a time without a zone is none, and stays."""
    offset = moment.utcoffset()
    if offset is None:
        return moment
    try:
        return moment.astimezone(datetime.UTC)
    except OverflowError:  # an hour at an end of the calendar, which UTC does not have
        return moment.replace(tzinfo=datetime.timezone(offset), fold=0)


def _check_whole(nanoseconds: np.ndarray[Any, Any], kind: str) -> None:
    """Refuse what is finer than a microsecond."""
    fine = nanoseconds[nanoseconds % 1000 != 0]
    if len(fine):
        raise _too_fine(fine[:1].astype(np.int64).view(f"{kind}8[ns]")[0])


def _too_fine(value: Any) -> InputError:
    return InputError(
        f"A column holds {value}, finer than a microsecond: such values would become one category. Round the column "
        "to microseconds, or turn it into text or whole numbers."
    )
