"""Lookups of a fitted encoder, for those who write them down: as a query, or as a graph that a server runs."""

from catbayes.export._lookup import Kind, Level, Lookup, input_kinds

__all__ = ["Kind", "Level", "Lookup", "input_kinds"]
