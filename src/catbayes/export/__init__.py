"""Lookups of a fitted encoder, for those who write them down: as a query, or as a graph that a server runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catbayes.export.tables import Kind, Level, Lookup, input_kinds, lookup_tables

__all__ = ["Kind", "Level", "Lookup", "input_kinds", "lookup_tables", "write_onnx", "write_sql"]


def write_sql(
    lookups: Sequence[Lookup], dialect: str, table: str, lookup: str | None = None, beside: Sequence[str] = ()
) -> str:
    """Write a query; sqlglot is imported here, for those who have it."""
    from catbayes.export import sql

    return sql.write_sql(lookups, dialect, table, lookup, beside)


def write_onnx(lookups: Sequence[Lookup], **versions: int) -> Any:
    """Make an ONNX model; onnx is imported here, for those who have it."""
    from catbayes.export import onnx

    return onnx.write_onnx(lookups, **versions)
