"""The encoders of several targets in one file: their tables one below the other, with a column for the target."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from catbayes.io.save import (
    FORMAT,
    HEADER,
    VERSION,
    Build,
    build_encoder,
    encoder_table,
    save_table,
    with_header,
)
from catbayes.io.settings import read_settings, write_name, write_settings


def save_targets(fitted: Any, path: Any) -> None:
    """Write a fitted MultiTargetEncoder to a path, or to an open binary file."""
    save_table(lambda: _targets_table(fitted), path)


def _targets_table(fitted: Any) -> Any:
    import pyarrow

    tables = {
        name: encoder_table(type(encoder).__name__, encoder.get_params(deep=False), encoder._fitted())
        for name, encoder in fitted.encoders_.items()
    }
    header = {
        "format": FORMAT,
        "version": VERSION,
        "catbayes": version("catbayes"),
        "encoder": type(fitted).__name__,
        "settings": None if fitted.encoder is None else write_settings(fitted.encoder.get_params(deep=False)),
        "targets": [
            {"name": write_name(name), "rows": len(table), "header": json.loads(table.schema.metadata[HEADER])}
            for name, table in tables.items()
        ],
    }
    columns = {name: pyarrow.array([str(name)] * len(table), pyarrow.string()) for name, table in tables.items()}
    parts = [table.add_column(0, "target", columns[name]) for name, table in tables.items()]
    return with_header(pyarrow.concat_tables(parts, promote_options="default"), header)


def build_targets(kind: Any, kinds: dict[str, Build], header: Any, table: Any) -> Any:
    """Make a fitted MultiTargetEncoder of what was read; `kinds` make the encoder of one target."""
    encoders, start = {}, 0
    for record in header["targets"]:
        part = table.slice(start, record["rows"])
        start += record["rows"]
        encoders[record["name"]] = build_encoder(kinds[record["header"]["encoder"]], record["header"], part)
    if start != len(table):
        raise ValueError("rows are missing")
    first = next(iter(encoders.values()))
    encoder = None if header["settings"] is None else type(first)(**read_settings(header["settings"]))
    return kind(encoder)._become(encoders)
