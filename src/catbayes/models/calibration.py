"""What was learnt from held-out rows as named arrays, for a file; trees of a scale go by themselves."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from catbayes.models.next_class import NextClass, Tempered
from catbayes.models.next_target import Ladder, NextTarget, UsualError


def to_arrays(found: NextClass | NextTarget) -> bytes:
    """Arrays of a calibration, as numpy writes them."""
    arrays: dict[str, Any] = {"columns": found.columns, "kinds": len(found.ladders)}
    for number, ladder in enumerate(found.ladders):
        if ladder is not None:  # of kinds without a row there is none
            arrays |= {f"values_{number}": ladder.values, f"levels_{number}": ladder.levels}
    if isinstance(found, NextTarget):
        arrays |= {"noise": found.scale.noise, "trust": found.scale.trust, "extent": found.extent}
    else:
        arrays |= {"slopes": [change.slope for change in found.changes]}
        arrays |= {"offsets": np.stack([change.offsets for change in found.changes])}
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def from_arrays(content: bytes, trees: Any) -> NextClass | NextTarget:
    """A calibration from its arrays, and from the trees of its scale if there are some."""
    arrays: Mapping[str, Any] = np.load(io.BytesIO(content), allow_pickle=False)
    if not 0 <= int(arrays["kinds"]) <= len(content):
        raise ValueError("its kinds of rows are impossible")
    columns = arrays["columns"].astype(np.intp)
    ladders: list[Any] = [
        Ladder(arrays[f"values_{number}"], arrays[f"levels_{number}"]) if f"values_{number}" in arrays else None
        for number in range(int(arrays["kinds"]))
    ]
    if "noise" in arrays:
        scale = UsualError(float(arrays["noise"]), float(arrays["trust"]), trees)
        return NextTarget(scale, columns, ladders, arrays["extent"])
    pairs = zip(arrays["slopes"].tolist(), arrays["offsets"], strict=True)
    return NextClass(columns, [Tempered(slope, offsets) for slope, offsets in pairs], ladders)
