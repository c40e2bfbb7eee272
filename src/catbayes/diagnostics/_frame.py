"""Numbers as a frame, in the library that the table came in."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import narwhals as nw

from catbayes.encoder._output import make_frame


def frame_of(record: dict[str, Any], library: Any) -> Any:
    """Make a frame; for an array, in a library that is installed."""
    if "category" in record:
        return make_frame(record, library)
    if library is None:
        library = next((name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None)
        if library is None:
            raise ImportError("frame() makes a frame: install pandas, polars or pyarrow.")
    names = record.get("column", [])
    if len({type(name) for name in names if name is not None}) > 1:  # frames want one type in a column
        record = record | {"column": [name if name is None else str(name) for name in names]}
    return nw.from_dict(record, backend=library).to_native()
